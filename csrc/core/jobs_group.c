/* SPDX-License-Identifier: MIT */
/*
** jobs_group.c - groups: many jobs, one word, one who waits.
**
** The word is `count << 2 | OUTSIDE | WAITER`. The owner counts what it begins in `begun`, a plain
** number, and adds it to the word when it has to wait; until then the word is below what is under way
** by that much, and nobody minds: an end matters only to one who waits. The jobs' own additions and all
** ends go to the word at once. Who takes the count to zero touches the group again only if it saw one of
** the two bits, for without them the owner may be gone with the group by then; and the bit for a strand
** is set when the strand's registers are saved. One addition each: no lock, no "is switched" flag.
*/
#include "core/jobs_hot.h"

static _Atomic int32_t *failed_of(const weft_group *group)
{
  return (_Atomic int32_t *)(uintptr_t)&group->failed;
}

WEFT_NOINLINE void weft_group_begin(weft_group *group, weft_pool *pool,
                                    weft_job_priority priority)
{
  weft__seat *seat = weft__running;
  if (WEFT_UNLIKELY(!seat || seat->pool != pool)) seat = weft__seat_here(pool);
  uint32_t level = LEVEL_NORMAL;
  if (priority != WEFT_PRIORITY_NORMAL) {
    WEFT_CHECK(weft__level_of(priority, &level));
  } else if (seat && seat->frame->slot) {
    level = seat->frame->level;
  }
  *group = (weft_group){
      .pool = pool,
      .owner = seat ? (void *)seat->frame : NULL,
      .level = level,
  };
}

void weft__group_fail(weft_group *group, weft_status status)
{
  int32_t none = WEFT_OK;
  (void)atomic_compare_exchange_strong_explicit(failed_of(group), &none, status,
                                                memory_order_relaxed, memory_order_relaxed);
}

weft_status weft_group_failed(const weft_group *group)
{
  return atomic_load_explicit(failed_of(group), memory_order_relaxed);
}

void weft__group_end(weft_pool *pool, weft__seat *seat, weft_group *group, int64_t count)
{
  /* Acquire and release: who waits has seen all that the jobs did. */
  int64_t old = atomic_fetch_sub_explicit(weft__group_word(group), count * GROUP_ONE,
                                          memory_order_acq_rel);
  if (old / GROUP_ONE != count || old < 0) return;
  if (old & GROUP_WAITER) {
    weft__strand_ready(pool, seat, group->waiter);
  } else if (old & GROUP_OUTSIDE) {
    weft__event_raise(group);
  }
}

/* An addition of nothing, not a load: it comes before the addition of who falls asleep, who then sees
   what was queued, or after it. */
void weft__group_call(weft_group *group)
{
  if (atomic_fetch_add_explicit(weft__group_word(group), 0, memory_order_acq_rel) &
      GROUP_OUTSIDE)
    weft__event_raise(group);
}

void weft__seat_pay(weft__seat *seat)
{
  weft_group *group = seat->owed;
  if (!group) return;
  int64_t count = seat->owed_count;
  seat->owed = NULL;
  seat->owed_count = 0;
  weft__group_end(seat->pool, seat, group, count);
}

/* --- Waiting ------------------------------------------------------------------------------- */

static weft_status clear(weft_group *group)
{
  atomic_store_explicit(weft__group_word(group), 0, memory_order_relaxed);
  group->begun = 0;
  return WEFT_OK;
}

static inline bool is_over(const weft_group *group)
{
  /* Acquire: its partner is the end of the last job. */
  int64_t word = atomic_load_explicit(weft__group_word(group), memory_order_acquire);
  return word / GROUP_ONE + group->begun == 0;
}

/* Runs a job of the group on behalf of its owner: as if it had never been counted. */
static inline weft__seat *run_owned(weft__seat *seat, weft__slot *slot, weft_group *group)
{
  weft_status status;
  seat = weft__slot_call(seat, slot, group->level, &status);
  weft__slot_end(seat, slot, group, status);
  group->begun--;
  return seat;
}

/* The newest jobs of the group, while they are on top of the own queue. */
static weft__seat *help(weft__seat *seat, weft_group *group)
{
  weft__slot *slot;
  if (!weft__job_has_room(seat)) return seat;
  weft__seat *before = seat;
  if (!seat->strand && (before = weft__seat_running()) != seat) weft__seat_run_as(seat);
  if (WEFT_UNLIKELY(seat->owed && seat->owed != group)) weft__seat_pay(seat);
  while (!is_over(group) && (slot = weft__seat_pop_of_group(seat, group))) {
    seat = run_owned(seat, slot, group);
  }
  if (!seat->strand && before != seat) weft__seat_run_as(before);
  return seat;
}

/* Adds what is not counted yet and one of the bits; false if nothing is under way. */
static bool arm(weft_group *group, int64_t bit)
{
  int64_t begun = group->begun;
  group->begun = 0;
  /* Release: who takes the count to zero finds `waiter`. Acquire, in case it is zero. */
  int64_t old = atomic_fetch_add_explicit(weft__group_word(group), begun * GROUP_ONE + bit,
                                          memory_order_acq_rel);
  return old / GROUP_ONE + begun != 0;
}

bool weft__group_arm(weft__strand *strand)
{
  weft_group *group = strand->target;
  group->waiter = strand;
  return arm(group, GROUP_WAITER);
}

#define SPINS 400

/* Some ten microseconds in which it may be over without anybody having to be woken. */
static bool spin(const weft_group *group)
{
  for (int i = 0; i < SPINS; i++) {
    if (is_over(group)) return true;
    weft__pause();
  }
  return false;
}

/* What a thread that is going to sleep must not leave lying: the group's jobs wherever they are, for the
   others may all be asleep in the same way. A pool without threads has nobody else for any job. */
static weft__seat *run_all_of(weft_group *group, weft__seat *seat)
{
  uint32_t entry;
  if (!seat) return NULL;
  weft__seat *before = seat->strand ? NULL : weft__seat_run_as(seat);
  while (weft__seat_dig_for_group(seat, group, &entry))
    seat = run_owned(seat, &seat->pool->slots[entry], group);
  if (!seat->strand) weft__seat_run_as(before);
  while (!group->pool->threads && !is_over(group) && weft__seat_run_any(group->pool, seat)) {
  }
  return seat;
}

/* A thread of the pool looks again now and then: somebody else's sleep may have moved jobs of the group
   to where only this one looks for them. */
#define LOOK_EVERY 1000000

static int64_t look_again(const weft__seat *seat)
{
  return seat && !weft__seat_is_guest(seat) ? weft__clock_ns() + LOOK_EVERY : INT64_MAX;
}

static weft_status wait_asleep(weft_group *group, weft__seat *seat)
{
  atomic_uint *event = weft__event_of(group);
  int64_t bit = GROUP_OUTSIDE;
  if (seat) weft__seat_pay(seat);
  seat = run_all_of(group, seat);
  if (spin(group)) return clear(group);
  for (;;) {
    unsigned turn = atomic_load_explicit(event, memory_order_acquire);
    seat = run_all_of(group, seat);
    if (!arm(group, bit)) return clear(group);
    if (bit) {
      bit = 0; /* it is there; what was queued before it was has called nobody */
      continue;
    }
    weft__park(event, turn, look_again(seat));
  }
}

weft_status weft__group_wait_asleep(weft_group *group)
{
  weft__seat *seat = weft__seat_here(group->pool);
  if (seat) seat = help(seat, group);
  return is_over(group) ? clear(group) : wait_asleep(group, seat);
}

weft_status weft_group_wait(weft_group *group)
{
  weft__seat *seat = weft__seat_here(group->pool);
  if ((seat ? (void *)seat->frame : NULL) != group->owner) return WEFT_THREAD;
  if (seat) seat = help(seat, group);
  if (WEFT_LIKELY(is_over(group))) return clear(group);
  if (!weft__seat_can_suspend(seat)) return wait_asleep(group, seat);
  weft_status status = weft__strand_leave(seat, LEAVE_FOR_GROUP, group, 0);
  return status ? status : clear(group);
}
