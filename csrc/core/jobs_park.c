/* SPDX-License-Identifier: MIT */
/*
** jobs_park.c - how threads with nothing to do sleep, and who wakes them.
**
** A wake-up costs the one who wakes as much as hundreds of jobs, so there are as few as can be: none
** while a thread of the side is searching, for it will find what was queued; and who searches alone and
** finds something wakes the next one if there is more. No wake-up is lost, because both sides write
** first and look afterwards, with a fence in between: who queues writes the entry, then looks at
** `searching` and `asleep`; who goes to sleep gives up `searching`, sets its bit, then looks at the
** queues. The first happens at each job, so that its fence is the light one.
*/
#include "core/jobs_hot.h"

#include <limits.h>

/* --- Threads of the pool ------------------------------------------------------------------- */

static uint64_t bit_of(weft__seat *seat)
{
  return UINT64_C(1) << (seat->number - weft__seat_side(seat)->first);
}

/* The one who clears a bit counts the sleeper as searching, on its behalf, and hands it the token. */
static bool wake(weft__seat *seat, weft__side *side, uint64_t bit)
{
  uint64_t asleep = atomic_fetch_and_explicit(&side->asleep, ~bit, memory_order_seq_cst);
  if (!(asleep & bit)) return false;
  atomic_fetch_add_explicit(&side->searching, 1, memory_order_seq_cst);
  /* Release: its partner is the exchange in weft__seat_park. */
  atomic_store_explicit(&seat->token, 1, memory_order_release);
  weft__park_wake(&seat->token, 1);
  return true;
}

void weft__side_wake_one(weft_pool *pool, weft__side *side)
{
  for (;;) {
    uint64_t asleep = atomic_load_explicit(&side->asleep, memory_order_seq_cst);
    if (!asleep) return;
    uint32_t number = (uint32_t)__builtin_ctzll(asleep);
    if (wake(&pool->seats[side->first + number], side, UINT64_C(1) << number)) return;
  }
}

/* An addition of nothing instead of a load: it comes either before the subtraction of who stops
   searching, who then sees what was queued, or after it. */
void weft__side_wake_if_none_searches(weft_pool *pool, weft__side *side)
{
  if (!atomic_fetch_add_explicit(&side->searching, 0, memory_order_seq_cst))
    weft__side_wake_one(pool, side);
}

void weft__pool_notify(weft_pool *pool, uint32_t level)
{
  weft__pool_notify_hot(pool, level);
}

void weft__seat_wake(weft__seat *seat)
{
  (void)wake(seat, weft__seat_side(seat), bit_of(seat));
}

void weft__pool_wake_all(weft_pool *pool)
{
  for (uint32_t i = 0; i < pool->threads; i++) weft__seat_wake(&pool->seats[i]);
}

void weft__seat_park(weft__seat *seat)
{
  weft__side *side = weft__seat_side(seat);
  uint64_t bit = bit_of(seat);
  atomic_fetch_or_explicit(&side->asleep, bit, memory_order_seq_cst);
  weft__fence_heavy();
  if (weft__seat_sees_work(seat)) {
    uint64_t asleep = atomic_fetch_and_explicit(&side->asleep, ~bit, memory_order_seq_cst);
    if (asleep & bit) {
      atomic_fetch_add_explicit(&side->searching, 1, memory_order_seq_cst);
      return;
    }
    /* Somebody is waking this thread at this moment: its token is on the way. */
  }
  while (!atomic_exchange_explicit(&seat->token, 0, memory_order_acquire)) {
    weft__park(&seat->token, 0, INT64_MAX);
  }
}

/* --- Threads outside ----------------------------------------------------------------------- */

#define EVENTS 16

static struct {
  _Alignas(64) atomic_uint turn;
} events[EVENTS];

atomic_uint *weft__event_of(const void *address)
{
  uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
  return &events[mixed >> 60].turn;
}

void weft__event_raise(const void *address)
{
  atomic_uint *turn = weft__event_of(address);
  atomic_fetch_add_explicit(turn, 1, memory_order_seq_cst);
  weft__park_wake(turn, INT_MAX);
}
