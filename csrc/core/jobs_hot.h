/* SPDX-License-Identifier: MIT */
/*
** jobs_hot.h - what a job of a group costs: taking a slot, queueing it, finding it again, running it,
** giving the slot back. Inlined into the two or three functions that do it, for together these are some
** fifteen nanoseconds, and calls between them would double that.
*/
#ifndef WEFT_CORE_JOBS_HOT_H
#define WEFT_CORE_JOBS_HOT_H

#include <string.h>

#include "core/jobs.h"

/* --- Slots --------------------------------------------------------------------------------- */

static inline uint32_t weft__slot_number(const weft_pool *pool, const weft__slot *slot)
{
  return (uint32_t)(slot - pool->slots);
}

/* What is wanted so many jobs later is fetched now. */
#define WEFT__AHEAD 6

/* NULL if it is not that easy: then weft__slot_take. */
static inline weft__slot *weft__slot_take_hot(weft_pool *pool, weft__seat *seat)
{
  if (WEFT_UNLIKELY(!seat || !seat->hot.count || seat->tight)) return NULL;
  uint32_t count = --seat->hot.count;
  if (count >= WEFT__AHEAD) WEFT_PREFETCH(&pool->slots[seat->hot.slots[count - WEFT__AHEAD]]);
  return &pool->slots[seat->hot.slots[count]];
}

static inline void weft__slot_give_hot(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  if (WEFT_UNLIKELY(!seat || seat->hot.count == MAGAZINE)) {
    weft__slot_give(pool, seat, slot, false);
  } else {
    seat->hot.slots[seat->hot.count++] = weft__slot_number(pool, slot);
  }
}

/* Most jobs are given two or three pointers. */
static inline void weft__slot_fill(weft__slot *slot, const void *data, size_t size)
{
  if (size == 16) {
    memcpy(slot->data, data, 16);
  } else if (size) {
    memcpy(slot->data, data, size);
  }
}

/* --- Queues -------------------------------------------------------------------------------- */

static inline void weft__pool_notify_hot(weft_pool *pool, uint32_t level)
{
  bool apart = level == LEVEL_BACKGROUND && pool->background;
  weft__side *side = &pool->sides[apart ? SIDE_BACKGROUND : SIDE_WORKERS];
  if (WEFT_UNLIKELY(atomic_load_explicit(&side->asleep, memory_order_seq_cst)) &&
      !atomic_load_explicit(&side->searching, memory_order_seq_cst))
    weft__side_wake_one(pool, side);
}

static inline void weft__pool_push_hot(weft_pool *pool, weft__seat *seat, uint32_t level,
                                       uint32_t entry)
{
  if (WEFT_UNLIKELY(!seat || level == LEVEL_CRITICAL ||
                    !weft__deque_push(&seat->queues[level], entry))) {
    weft__pool_push(pool, seat, level, entry);
  } else {
    weft__pool_notify_hot(pool, level);
  }
}

/* The slot of the newest entry of the seat's queue, which is out of it then, if that is a job of the
   group; else NULL. */
static inline weft__slot *weft__seat_pop_of_group(weft__seat *seat, const weft_group *group)
{
  weft_pool *pool = seat->pool;
  weft__deque *queue = &seat->queues[group->level];
  uint32_t newest, entry;
  if (!weft__deque_peek(queue, &newest) || newest & ENTRY_STRAND) return NULL;
  weft__slot *slot = &pool->slots[newest];
  if (atomic_load_explicit(&slot->group, memory_order_relaxed) != group) return NULL;
  WEFT_PREFETCH(&pool->slots[weft__deque_ahead(queue, WEFT__AHEAD) & ~ENTRY_STRAND]);
  if (!weft__deque_pop(queue, &entry)) return NULL;
  if (WEFT_UNLIKELY(group->level == LEVEL_CRITICAL))
    atomic_fetch_sub_explicit(&pool->critical, 1, memory_order_seq_cst);
  WEFT_ASSERT(entry == newest);
  return slot;
}

/* --- Running ------------------------------------------------------------------------------- */

/* Calls the function of a job of a group; returns the seat it has ended on, which is another if it
   waited meanwhile. */
static inline weft__seat *weft__slot_call(weft__seat *seat, weft__slot *slot, uint32_t level,
                                          weft_status *status)
{
  weft__frame frame = {
      .up = seat->frame,
      .slot = slot,
      .seat = seat,
      .level = level,
      .depth = seat->frame->depth + 1,
  };
  seat->frame = &frame;
  TALLY(seat->pool, seat, begun);
  *status = slot->fn(slot->data);
  seat = frame.seat;
  seat->frame = frame.up;
  frame.up->seat = seat;
  return seat;
}

/* The end of a job of a group, all but telling the group. */
static inline void weft__slot_end(weft__seat *seat, weft__slot *slot, weft_group *group,
                                  weft_status status)
{
  weft_pool *pool = seat->pool;
  weft__slot_give_hot(pool, seat, slot);
  if (WEFT_UNLIKELY(status < 0)) {
    weft__group_fail(group, status);
    TALLY(pool, seat, failed);
  } else {
    TALLY(pool, seat, completed);
  }
}

#endif
