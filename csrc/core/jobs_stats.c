/* SPDX-License-Identifier: MIT */
/*
** jobs_stats.c - what a pool has done, and whether it is sound.
**
** Each thread counts for itself, and times whole stretches of work: two looks at the clock cost more
** than a small job. Who asks adds up.
*/
#include "core/jobs.h"
#include "core/spans.h"

void weft__seat_stretch_begins(weft__seat *seat)
{
  atomic_store_explicit(&seat->tally.busy_since, weft__clock_ns(), memory_order_relaxed);
}

void weft__seat_stretch_ends(weft__seat *seat)
{
  weft__tally *tally = &seat->tally;
  int64_t since = atomic_load_explicit(&tally->busy_since, memory_order_relaxed);
  int64_t busy = atomic_load_explicit(&tally->busy, memory_order_relaxed);
  int64_t now = weft__clock_ns();
  if (!since) return;
  atomic_store_explicit(&tally->busy_since, 0, memory_order_relaxed);
  atomic_store_explicit(&tally->busy, busy + now - since, memory_order_relaxed);
  if (WEFT_UNLIKELY(weft__spans()))
    weft__span(WEFT_SPAN_WORKER, "at work", seat->number, since, now);
}

static int64_t busy_of(const weft__seat *seat, int64_t now)
{
  int64_t since = atomic_load_explicit(&seat->tally.busy_since, memory_order_relaxed);
  int64_t busy = atomic_load_explicit(&seat->tally.busy, memory_order_relaxed);
  return busy + (since ? now - since : 0);
}

static uint64_t read_count(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_acquire);
}

double weft_pool_utilisation(const weft_pool *pool, uint32_t worker)
{
  int64_t now = weft__clock_ns();
  if (worker >= pool->threads || now <= pool->since) return 0;
  double share = (double)busy_of(&pool->seats[worker], now) / (double)(now - pool->since);
  return share > 1 ? 1 : share;
}

static void add_threads(const weft_pool *pool, weft_pool_stats *out)
{
  int64_t now = weft__clock_ns();
  int64_t busy = 0;
  for (uint32_t i = 0; i < pool->threads; i++) {
    const weft__seat *seat = &pool->seats[i];
    if (atomic_load_explicit(&seat->tally.busy_since, memory_order_relaxed)) out->active++;
    busy += busy_of(seat, now);
    out->utilisation += weft_pool_utilisation(pool, i) / pool->threads;
  }
  uint64_t ended = out->completed + out->failed;
  if (ended) out->average_ms = (double)busy / 1e6 / (double)ended;
}

void weft_pool_stats_get(const weft_pool *pool, weft_pool_stats *out)
{
  uint64_t submitted = 0, begun = 0;
  weft_pool_stats sum = {.workers = pool->threads};
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    const weft__tally *tally = &pool->seats[i].tally;
    begun += read_count(&tally->begun);
    sum.completed += read_count(&tally->completed);
    sum.failed += read_count(&tally->failed);
    sum.cancelled += read_count(&tally->cancelled);
    sum.stolen += read_count(&tally->stolen);
  }
  for (uint32_t i = 0; i < pool->seat_count; i++)
    submitted += read_count(&pool->seats[i].tally.submitted);
  sum.pending = (uint32_t)(submitted - begun);
  sum.suspended = atomic_load_explicit(&pool->suspended, memory_order_relaxed);
  add_threads(pool, &sum);
  *out = sum;
}

/* --- Checking ------------------------------------------------------------------------------ */

bool weft__pool_valid(weft_pool *pool)
{
  bool sound = weft__stocks_valid(pool);
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    const weft__seat *seat = &pool->seats[i];
    for (uint32_t level = 0; level < LEVELS; level++) {
      sound = sound && weft__deque_valid(&seat->queues[level]);
    }
    sound = sound && !seat->owed && !seat->post && !atomic_load(&seat->mail);
  }
  for (uint32_t level = 0; level < LEVELS; level++) {
    sound = sound && weft__inbox_valid(&pool->inboxes[level]);
  }
  return sound && atomic_load(&pool->critical) == 0 && weft__pool_settled(pool);
}
