/* SPDX-License-Identifier: MIT */
/*
** jobs_barrier.c - counts that are waited for to become zero, round after round.
**
** One word: `round: 19 | first waiting strand + 1: 24 | OUTSIDE | count: 20`. Who takes the count to
** zero takes the list of waiters out of the word in the same step, so that a new round begins with
** nobody in it. A thread outside remembers the round in which it began to wait. References keep the
** memory: one is the maker's, one each job's that was submitted with the barrier.
*/
#include "core/jobs.h"

#include "platform/system.h"

#define COUNT_ONE UINT64_C(1)
#define COUNT_MASK UINT64_C(0xfffff)
#define BIT_OUTSIDE (UINT64_C(1) << 20)
#define WAITER_SHIFT 21
#define WAITERS (UINT64_C(0xffffff) << WAITER_SHIFT)
#define ROUND_ONE (UINT64_C(1) << 45)

struct weft_barrier {
  _Atomic uint64_t word;
  _Atomic uint32_t references;
  weft_pool *pool;
};

_Static_assert(WEFT_BARRIER_MAX == COUNT_MASK, "the count has 20 bits");

weft_status weft_barrier_new(weft_pool *pool, uint32_t count, weft_barrier **out)
{
  if (count > WEFT_BARRIER_MAX) return WEFT_INVALID;
  weft_barrier *barrier = weft__alloc(sizeof *barrier);
  if (!barrier) return WEFT_NOMEM;
  *barrier = (weft_barrier){.pool = pool};
  atomic_init(&barrier->word, count);
  atomic_init(&barrier->references, 1);
  *out = barrier;
  return WEFT_OK;
}

static void drop_reference(weft_barrier *barrier)
{
  /* Acquire and release: who frees it has seen all that was done with it. */
  if (atomic_fetch_sub_explicit(&barrier->references, 1, memory_order_acq_rel) == 1)
    weft__free(barrier);
}

void weft_barrier_delete(weft_barrier *barrier)
{
  if (barrier) drop_reference(barrier);
}

uint32_t weft_barrier_count(const weft_barrier *barrier)
{
  return (uint32_t)(atomic_load_explicit(&barrier->word, memory_order_acquire) & COUNT_MASK);
}

uint32_t weft_barrier_round(const weft_barrier *barrier)
{
  return (uint32_t)(atomic_load_explicit(&barrier->word, memory_order_acquire) / ROUND_ONE);
}

weft_status weft_barrier_add(weft_barrier *barrier, uint32_t count)
{
  uint64_t word = atomic_load_explicit(&barrier->word, memory_order_relaxed);
  if (count == 0) return WEFT_INVALID;
  do {
    if (count > WEFT_BARRIER_MAX - (word & COUNT_MASK)) return WEFT_FULL;
  } while (!atomic_compare_exchange_weak_explicit(&barrier->word, &word, word + count,
                                                  memory_order_acq_rel, memory_order_relaxed));
  return WEFT_OK;
}

static weft_status release(weft__seat *seat, weft_barrier *barrier)
{
  weft_pool *pool = barrier->pool;
  uint64_t word = atomic_load_explicit(&barrier->word, memory_order_relaxed);
  uint64_t next;
  do {
    if (!(word & COUNT_MASK)) return WEFT_INVALID;
    next = word - COUNT_ONE;
    if (!(next & COUNT_MASK)) next = (next & ~(WAITERS | BIT_OUTSIDE)) + ROUND_ONE;
    /* Acquire and release: who gets through has seen all that came before the releases. */
  } while (!atomic_compare_exchange_weak_explicit(&barrier->word, &word, next,
                                                  memory_order_acq_rel, memory_order_relaxed));
  if (next & COUNT_MASK) return WEFT_OK;
  /* From here on the barrier may be gone. */
  uint32_t first = (uint32_t)((word & WAITERS) >> WAITER_SHIFT);
  if (first) weft__strand_ready_all(pool, seat, first);
  if (word & BIT_OUTSIDE) weft__event_raise(barrier);
  return WEFT_OK;
}

weft_status weft_barrier_release(weft_barrier *barrier)
{
  if (weft__pool_is_gone(barrier->pool)) return WEFT_STOPPED;
  return release(weft__seat_here(barrier->pool), barrier);
}

weft_status weft__barrier_hold(weft_barrier *barrier)
{
  weft_status status = weft_barrier_add(barrier, 1);
  if (!status) atomic_fetch_add_explicit(&barrier->references, 1, memory_order_relaxed);
  return status;
}

/* One that was released by hand in the job's stead has nothing left to be released. */
void weft__barrier_let_go(weft__seat *seat, weft_barrier *barrier)
{
  (void)release(seat, barrier);
  drop_reference(barrier);
}

/* --- Waiting ------------------------------------------------------------------------------- */

static uint64_t word_of(const weft_barrier *barrier)
{
  /* Acquire: its partner is the last release. */
  return atomic_load_explicit(&barrier->word, memory_order_acquire);
}

bool weft__barrier_arm(weft__strand *strand)
{
  weft_barrier *barrier = strand->target;
  uint64_t word = word_of(barrier);
  uint64_t me = (uint64_t)(strand->index + 1) << WAITER_SHIFT;
  if (weft__strand_refused(strand)) return false;
  do {
    if (!(word & COUNT_MASK) || word / ROUND_ONE != strand->key)
      return weft__strand_disarm(strand);
    strand->next_wait = (uint32_t)((word & WAITERS) >> WAITER_SHIFT);
    /* Release: who opens the barrier reads `next_wait`. */
  } while (!atomic_compare_exchange_weak_explicit(&barrier->word, &word, (word & ~WAITERS) | me,
                                                  memory_order_seq_cst, memory_order_acquire));
  return weft__strand_armed(strand);
}

/* Whether the round is still going on; says in the word that a thread outside waits. */
static bool mark_outside(weft_barrier *barrier, uint64_t round)
{
  uint64_t word = word_of(barrier);
  do {
    if (!(word & COUNT_MASK) || word / ROUND_ONE != round) return false;
  } while (!atomic_compare_exchange_weak_explicit(&barrier->word, &word, word | BIT_OUTSIDE,
                                                  memory_order_acq_rel, memory_order_acquire));
  return true;
}

static weft_status wait_outside(weft_barrier *barrier, uint64_t round, int64_t timeout)
{
  weft_pool *pool = barrier->pool;
  weft__seat *seat = weft__seat_here(pool);
  int64_t deadline = weft__deadline_in(timeout);
  atomic_uint *event = weft__event_of(barrier);
  if (seat) weft__seat_pay(seat);
  for (;;) {
    unsigned turn = atomic_load_explicit(event, memory_order_acquire);
    if (!mark_outside(barrier, round)) return WEFT_OK;
    if (weft__pool_is_gone(pool)) return WEFT_STOPPED;
    if (!pool->threads && weft__seat_run_any(pool, seat)) continue;
    if (weft__deadline_passed(deadline)) return WEFT_TIMEOUT;
    weft__park(event, turn, deadline);
  }
}

weft_status weft_barrier_wait(weft_barrier *barrier, int64_t timeout)
{
  uint64_t word = word_of(barrier);
  if (!(word & COUNT_MASK)) return WEFT_OK;
  if (timeout == 0) return WEFT_TIMEOUT;
  weft__seat *seat = weft__seat_here(barrier->pool);
  if (!weft__seat_can_suspend(seat)) return wait_outside(barrier, word / ROUND_ONE, timeout);
  if (timeout > 0) return WEFT_INVALID;
  return weft__strand_leave(seat, LEAVE_FOR_BARRIER, barrier, word / ROUND_ONE);
}
