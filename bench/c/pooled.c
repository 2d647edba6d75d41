/* SPDX-License-Identifier: MIT */
/*
** pooled.c - start and finish of a fiber on a pooled stack, one at a time.
*/
#include "measure.h"

#include "weft.h"

static uint64_t finished;

static void body(void *arg)
{
  finished += *(uint64_t *)arg;
}

static void run(void *state, uint64_t rounds)
{
  uint64_t one = 1;
  for (uint64_t round = 0; round < rounds; round++) {
    weft_fiber *fiber;
    CHECK(weft_fiber_start(state, body, &one, &fiber) == WEFT_OK);
    weft_fiber_resume(fiber);
  }
}

static uint64_t asked;

static void counted_run(void *state, uint64_t rounds)
{
  asked += rounds;
  run(state, rounds);
}

int main(void)
{
  weft_fiber_pool *pool;
  CHECK(weft_fiber_pool_new(64 * 1024, 16, &pool) == WEFT_OK);
  run(pool, 10);
  CHECK(finished == 10);
  finished = 0;
  double ns = measure_loop(counted_run, pool, 1);
  CHECK(finished == asked);
  weft_fiber_stats stats;
  weft_fiber_pool_stats(pool, &stats);
  CHECK(stats.busy == 0 && stats.max_busy == 1);
  measure_print("ns", ns);
  weft_fiber_pool_delete(pool);
  return 0;
}
