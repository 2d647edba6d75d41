/* SPDX-License-Identifier: MIT */
/*
** jobs_wait.c - waiting for single jobs and for all, cancelling.
*/
#include "core/jobs_hot.h"

/* --- Deadlines ----------------------------------------------------------------------------- */

int64_t weft__deadline_in(int64_t timeout)
{
  int64_t deadline;
  if (timeout < 0) return INT64_MAX;
  if (__builtin_add_overflow(weft__clock_ns(), timeout, &deadline)) return INT64_MAX;
  return deadline;
}

bool weft__deadline_passed(int64_t deadline)
{
  return deadline != INT64_MAX && weft__clock_ns() >= deadline;
}

/* --- One job ------------------------------------------------------------------------------- */

/* Whether the handle's job has ended, or is so long gone that nobody knows. */
static bool is_over(uint64_t word, uint64_t key)
{
  return !weft__slot_is(word, key) || (word & SLOT_STATE) == STATE_FREE ||
         (word & SLOT_STATE) >= STATE_COMPLETED;
}

static uint64_t word_of(const weft__slot *slot)
{
  /* Acquire: its partner is the end of the job. */
  return atomic_load_explicit(&slot->word, memory_order_acquire);
}

bool weft__job_arm(weft__strand *strand)
{
  weft__slot *slot = strand->target;
  uint64_t word = word_of(slot);
  uint64_t me = (uint64_t)(strand->index + 1) << SLOT_WAITER_SHIFT;
  if (weft__strand_refused(strand)) return false;
  do {
    if (is_over(word, strand->key)) return weft__strand_disarm(strand);
    strand->next_wait = (uint32_t)((word & SLOT_WAITERS) >> SLOT_WAITER_SHIFT);
    /* Release: who ends the job reads `next_wait`. */
  } while (!atomic_compare_exchange_weak_explicit(&slot->word, &word,
                                                  (word & ~SLOT_WAITERS) | me,
                                                  memory_order_seq_cst, memory_order_acquire));
  return weft__strand_armed(strand);
}

/* Gives a queued job the waiter's priority, by one more entry on that level. What stands in the old
   queue is forgotten when it is come upon. */
static void raise_to(weft_pool *pool, weft__seat *seat, weft__slot *slot, uint64_t key,
                     uint32_t level)
{
  uint32_t own = weft__slot_traits(slot) & TRAIT_LEVEL;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  if (own <= level) return;
  do {
    uint64_t entries = (word & SLOT_ENTRIES) / SLOT_ENTRY;
    if (!weft__slot_is(word, key) || (word & SLOT_STATE) != STATE_QUEUED || entries > 3) return;
  } while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, word + SLOT_ENTRY,
                                                  memory_order_acquire, memory_order_relaxed));
  weft__pool_push(pool, seat && !weft__seat_is_guest(seat) ? seat : NULL, level,
                  (uint32_t)(slot - pool->slots));
}

static bool is_running_here(const weft__seat *seat, const weft__slot *slot)
{
  for (const weft__frame *frame = seat ? seat->frame : NULL; frame; frame = frame->up) {
    if (frame->slot == slot) return true;
  }
  return false;
}

/* Runs the job inside the wait, if it has not begun and may run here. */
static bool run_here(weft__seat *seat, weft__slot *slot, uint64_t key)
{
  if (!seat || !weft__job_has_room(seat)) return false;
  bool outside = !weft__seat_can_suspend(seat);
  if (outside && weft__slot_traits(slot) & TRAIT_WORKERS) return false;
  if (!weft__slot_claim(slot, key, false)) return false;
  weft__seat_unqueue(seat, slot);
  weft__seat *before = outside ? weft__seat_run_as(seat) : NULL;
  weft__job_run(seat, slot);
  if (outside) weft__seat_run_as(before);
  return true;
}

/* Says in the slot's word that a thread outside waits. */
static bool mark_outside(weft__slot *slot, uint64_t key)
{
  uint64_t word = word_of(slot);
  do {
    if (is_over(word, key)) return false;
    if (word & SLOT_OUTSIDE) return true;
  } while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, word | SLOT_OUTSIDE,
                                                  memory_order_acq_rel, memory_order_acquire));
  return true;
}

static weft_status wait_outside(weft_pool *pool, weft__seat *seat, weft__slot *slot,
                                uint64_t key, int64_t timeout)
{
  int64_t deadline = weft__deadline_in(timeout);
  atomic_uint *event = weft__event_of(slot);
  if (seat) weft__seat_pay(seat);
  while (!is_over(word_of(slot), key)) {
    if (!pool->threads && weft__seat_run_any(pool, seat)) continue;
    unsigned turn = atomic_load_explicit(event, memory_order_acquire);
    if (weft__pool_is_gone(pool)) return WEFT_STOPPED;
    if (!mark_outside(slot, key)) break;
    if (weft__deadline_passed(deadline)) return WEFT_TIMEOUT;
    weft__park(event, turn, deadline);
  }
  return WEFT_OK;
}

weft_status weft_job_wait(weft_pool *pool, weft_job job, int64_t timeout)
{
  uint64_t key;
  weft__slot *slot = weft__slot_at(pool, job, &key);
  if (!slot) return WEFT_EXPIRED;
  uint64_t word = word_of(slot);
  if (!weft__slot_is(word, key) || !(word & SLOT_STATE)) return WEFT_EXPIRED;
  if (is_over(word, key)) return WEFT_OK;
  if (weft__pool_is_gone(pool)) return WEFT_STOPPED;
  weft__seat *seat = weft__seat_here(pool);
  if (is_running_here(seat, slot)) return WEFT_OWN_JOB;
  if (timeout == 0) return WEFT_TIMEOUT;
  bool inside = weft__seat_can_suspend(seat);
  if (inside && timeout > 0) return WEFT_INVALID;
  /* Who wants to be back in time begins nothing that may take longer. */
  if (timeout < 0 && run_here(seat, slot, key)) return WEFT_OK;
  raise_to(pool, seat, slot, key, inside ? seat->frame->level : LEVEL_NORMAL);
  if (inside) return weft__strand_leave(seat, LEAVE_FOR_JOB, slot, key);
  return wait_outside(pool, seat, slot, key, timeout);
}

bool weft_job_cancel(weft_pool *pool, weft_job job)
{
  uint64_t key;
  weft__slot *slot = weft__slot_at(pool, job, &key);
  if (!slot || weft__pool_is_gone(pool)) return false;
  weft__seat *seat = weft__seat_here(pool);
  if (!weft__slot_claim(slot, key, false)) return false;
  if (seat) {
    weft__seat_unqueue(seat, slot);
  }
  weft__job_drop(pool, seat, slot);
  return true;
}

/* --- All jobs ------------------------------------------------------------------------------ */

weft_status weft_pool_wait_all(weft_pool *pool, int64_t timeout)
{
  int64_t deadline = weft__deadline_in(timeout);
  atomic_uint *event = weft__event_of(pool);
  weft_status status = WEFT_OK;
  if (weft_job_pool() == pool) return WEFT_BUSY;
  weft__seat *seat = weft__seat_here(pool);
  atomic_fetch_add_explicit(&pool->draining, 1, memory_order_seq_cst);
  weft__fence_heavy(); /* who ends a job counts it and then looks whether anybody waits for all */
  for (;;) {
    unsigned turn = atomic_load_explicit(event, memory_order_acquire);
    if (weft__pool_is_gone(pool)) status = WEFT_STOPPED;
    if (status || weft__pool_settled(pool)) break;
    if (timeout != 0 && weft__seat_run_one(pool, seat)) continue;
    if (weft__deadline_passed(deadline)) status = WEFT_TIMEOUT;
    if (!status) weft__park(event, turn, deadline);
  }
  atomic_fetch_sub_explicit(&pool->draining, 1, memory_order_seq_cst);
  return status;
}
