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

/* A slot that had no handle needs nothing. */
static inline void weft__slot_open_hot(weft__slot *slot)
{
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  if (WEFT_UNLIKELY(word & SLOT_STATE)) weft__slot_void(slot);
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

/* The fence stands between what was queued and the look for sleepers; see jobs_park.c. */
static inline void weft__pool_notify_hot(weft_pool *pool, uint32_t level)
{
  weft__fence_light();
  bool apart = level == LEVEL_BACKGROUND && pool->background;
  weft__side *side = &pool->sides[apart ? SIDE_BACKGROUND : SIDE_WORKERS];
  if (WEFT_UNLIKELY(atomic_load_explicit(&side->asleep, memory_order_relaxed)))
    weft__side_wake_if_none_searches(pool, side);
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

/* --- Groups -------------------------------------------------------------------------------- */

static inline _Atomic int64_t *weft__group_word(const weft_group *group)
{
  return (_Atomic int64_t *)(uintptr_t)&group->word;
}

#define GROUP_WAITER 1  /* a strand */
#define GROUP_OUTSIDE 2 /* a thread, on the group's event */
#define GROUP_ONE 4

/* One more is about to be queued. */
static inline void weft__group_count_up(weft_group *group, weft__seat *seat)
{
  if (seat && seat->frame == group->owner) {
    group->begun++;
  } else {
    /* Relaxed: who adds is a job of the group, or its owner, and the count is not zero. */
    atomic_fetch_add_explicit(weft__group_word(group), GROUP_ONE, memory_order_relaxed);
  }
}

/* On a thread's own stack nobody knows how much is left; there depth is counted. */
#define WEFT__GUEST_DEPTH 32

/* Whether half of this stack is left for a job inside a wait. */
static inline bool weft__job_has_room(weft__seat *seat)
{
  char *here = __builtin_frame_address(0);
  const weft_pool *pool = seat->pool;
  if (WEFT_LIKELY(seat->strand != NULL))
    return here > seat->strand->half && !(pool->flags & WEFT_POOL_SUSPEND);
  if (!seat->frame->slot) return weft__guest_sees_room(seat);
  if (seat->half) return here > seat->half;
  return seat->frame->depth < WEFT__GUEST_DEPTH || !pool->threads;
}

/* Whether the next job may well be one of the group: what is next in the own queue is, or there is nothing
   and it has to be stolen. If it is another's, then whoever waits for the group is better told before it
   begins. */
static inline bool weft__seat_goes_on_with(const weft__seat *seat, const weft_group *group)
{
  uint32_t newest;
  if (!weft__deque_peek(&seat->queues[group->level], &newest)) return true;
  if (newest & ENTRY_STRAND) return false;
  const weft__slot *slot = &seat->pool->slots[newest];
  return atomic_load_explicit(&slot->group, memory_order_relaxed) == group;
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
