/* SPDX-License-Identifier: MIT */
/*
** pool.c - a pool for a test, and jobs that hold its workers.
*/
#include <stdatomic.h>

#include "core/jobs.h"
#include "failing.h"
#include "pool.h"

weft_pool *pool;

static atomic_bool held_may_go;
static atomic_uint holding;
static weft_job held_last;
static uint32_t held_ever;

/* Long, for only a hang may reach it: machines are busy, and tools slow. */
#define PATIENCE INT64_C(100000000000)

int make_pool_like(const weft_pool_config *config)
{
  failing_install();
  held_ever = 0;
  return weft_pool_new(config, &pool);
}

int make_pool(void **state)
{
  (void)state;
  weft_pool_config config = {.workers = POOL_WORKERS};
  return make_pool_like(&config);
}

int drop_pool(void **state)
{
  (void)state;
  settle();
  bool valid = weft__pool_valid(pool);
  weft_status stopped = weft_pool_delete(pool, PATIENCE);
  bool clean = failing_blocks() == 0 && failing_mapped() == 0;
  failing_remove();
  return valid && stopped == WEFT_OK && clean ? 0 : -1;
}

static weft_status hold(void *data)
{
  (void)data;
  atomic_fetch_add(&holding, 1);
  while (!atomic_load(&held_may_go)) weft_sleep_until(weft_clock() + 100000);
  return WEFT_OK;
}

void hold_threads(void)
{
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  atomic_store(&held_may_go, false);
  atomic_store(&holding, 0);
  for (uint32_t i = 0; i < pool->workers; i++) {
    held_last = submit_with(hold, NULL, 0, &options);
    held_ever++;
  }
  while (atomic_load(&holding) < pool->workers) weft_sleep_until(weft_clock() + 100000);
}

void release_threads(void)
{
  atomic_store(&held_may_go, true);
}

weft_job held_job(void)
{
  return held_last;
}

uint32_t held_count(void)
{
  return held_ever;
}

static bool all_asleep(void)
{
  for (int i = 0; i < SIDES; i++) {
    const weft__side *side = &pool->sides[i];
    uint64_t all = side->count == 64 ? UINT64_MAX : (UINT64_C(1) << side->count) - 1;
    if (atomic_load(&side->asleep) != all || atomic_load(&side->searching)) return false;
  }
  return true;
}

void settle(void)
{
  int64_t end = weft_clock() + PATIENCE;
  assert_int_equal(weft_pool_wait_all(pool, PATIENCE), WEFT_OK);
  while (!all_asleep()) {
    assert_true(weft_clock() < end);
    weft_sleep_until(weft_clock() + 100000);
  }
}

weft_status nothing(void *data)
{
  (void)data;
  return WEFT_OK;
}

weft_status add_to_counter(void *data)
{
  atomic_fetch_add(*(atomic_int **)data, 1);
  return WEFT_OK;
}

weft_status wait_at_gate(void *data)
{
  return weft_barrier_wait(*(weft_barrier **)data, -1);
}

weft_job submit(weft_job_fn fn)
{
  return submit_with(fn, NULL, 0, NULL);
}

weft_job submit_with(weft_job_fn fn, const void *data, size_t size,
                     const weft_job_options *options)
{
  weft_job job = 0;
  assert_int_equal(weft_job_submit(pool, fn, data, size, options, &job), WEFT_OK);
  assert_true(job != 0);
  return job;
}

weft_status run_as_job(weft_job_fn fn, const void *data, size_t size)
{
  weft_job_options options = {.flags = WEFT_JOB_WORKERS | WEFT_JOB_KEEP};
  weft_job job = submit_with(fn, data, size, &options);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  weft_status status = weft_job_result(pool, job, NULL, 0);
  weft_job_release(pool, job);
  return status;
}

weft_pool_stats pool_stats(void)
{
  weft_pool_stats stats;
  weft_pool_stats_get(pool, &stats);
  return stats;
}
