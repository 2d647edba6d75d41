/* SPDX-License-Identifier: MIT */
/*
** jobs_range_spec.c - ranges: each number in exactly one part, of any size, from anywhere, nested, as
** jobs of their own, ended early, and kernels.
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/jobs.h"
#include "support/pool.h"
#include "support/random.h"
#include "support/unit.h"

typedef struct cover {
  _Atomic unsigned char *times;
  size_t grain; /* no part is longer; 0: any */
  atomic_bool wrong;
} cover;

static weft_status cover_part(size_t first, size_t last, void *arg)
{
  cover *mine = arg;
  if (first >= last || (mine->grain && last - first > mine->grain))
    atomic_store(&mine->wrong, true);
  for (size_t i = first; i < last; i++)
    atomic_fetch_add_explicit(&mine->times[i], 1, memory_order_relaxed);
  return WEFT_OK;
}

static void assert_covered(cover *mine, size_t count)
{
  for (size_t i = 0; i < count; i++) assert_int_equal(mine->times[i], 1);
  assert_false(mine->wrong);
}

static void run_cover(size_t count, size_t grain, weft_job_priority priority)
{
  cover mine = {.times = calloc(count + 1, 1), .grain = grain};
  weft_range range = {.count = count, .grain = grain, .fn = cover_part, .arg = &mine};
  assert_int_equal(weft_range_run(pool, &range, priority), WEFT_OK);
  assert_covered(&mine, count);
  free((void *)mine.times);
}

static void each_number_is_in_exactly_one_part(void **state)
{
  (void)state;
  static const size_t counts[] = {0, 1, 2, 3, 63, 64, 65, 1000, 100003};
  static const size_t grains[] = {0, 1, 2, 7, 64, 1000, 1000000, SIZE_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    for (size_t j = 0; j < sizeof grains / sizeof *grains; j++)
      run_cover(counts[i], grains[j], WEFT_PRIORITY_NORMAL);
    run_cover(counts[i], 5, WEFT_PRIORITY_CRITICAL);
    run_cover(counts[i], 5, WEFT_PRIORITY_BACKGROUND);
  }
}

static const char *random_range(uint64_t seed)
{
  unit_random random = {seed};
  size_t count = unit_random_below(&random, 3000);
  run_cover(count, unit_random_below(&random, 50), WEFT_PRIORITY_NORMAL);
  return NULL;
}

static void ranges_of_any_size_are_covered(void **state)
{
  (void)state;
  unit_for_seeds(500, random_range);
}

static weft_status nested_part(size_t first, size_t last, void *arg)
{
  cover *mine = arg;
  for (size_t i = first; i < last; i++) {
    cover inner = {.times = mine->times + i * 100};
    weft_range range = {.count = 100, .grain = 3, .fn = cover_part, .arg = &inner};
    weft_status status = weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL);
    if (status) return status;
  }
  return WEFT_OK;
}

static void ranges_in_ranges_are_covered_with_any_number_of_workers(void **state)
{
  for (int workers = -1; workers <= 4; workers++) {
    if (workers == 0) continue;
    for (uint32_t flags = 0; flags < 4; flags++) {
      weft_pool_config config = {.workers = workers, .flags = flags};
      assert_int_equal(make_pool_like(&config), 0);
      cover mine = {.times = calloc(10000, 1)};
      weft_range range = {.count = 100, .grain = 1, .fn = nested_part, .arg = &mine};
      assert_int_equal(weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL), WEFT_OK);
      assert_covered(&mine, 10000);
      free((void *)mine.times);
      assert_int_equal(drop_pool(state), 0);
    }
  }
}

static weft_status pause_until_others_join(size_t first, size_t last, void *arg)
{
  atomic_int *threads = arg;
  (void)first, (void)last;
  static _Thread_local int counted;
  if (!counted) {
    counted = 1;
    atomic_fetch_add(threads, 1);
  }
  int64_t end = weft_clock() + INT64_C(20000000000);
  while (atomic_load(threads) < POOL_WORKERS + 1 && weft_clock() < end)
    weft_sleep_until(weft_clock() + 100000);
  return WEFT_OK;
}

/* No part ends before every thread has one: who works on the range gives the others of it. */
static void all_threads_take_part(void **state)
{
  (void)state;
  atomic_int threads = 0;
  weft_range range = {.count = 64, .grain = 1, .fn = pause_until_others_join, .arg = &threads};
  assert_int_equal(weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL), WEFT_OK);
  assert_int_equal(threads, POOL_WORKERS + 1);
}

typedef struct tail {
  pthread_t caller;
  atomic_bool begun, helped;
} tail;

/* The other thread's half begins before the caller's ends, and its first part ends after the caller has
   had one of that half. */
static weft_status wait_for_help(size_t first, size_t last, void *arg)
{
  tail *t = arg;
  (void)last;
  if (!pthread_equal(pthread_self(), t->caller)) {
    atomic_store(&t->begun, true);
    while (!atomic_load(&t->helped)) weft_sleep_until(weft_clock() + 100000);
  } else if (first < 32) {
    while (!atomic_load(&t->begun)) weft_sleep_until(weft_clock() + 100000);
  } else {
    atomic_store(&t->helped, true);
  }
  return WEFT_OK;
}

static void who_is_done_with_its_half_takes_of_the_others(void **state)
{
  weft_pool_config config = {.workers = 1, .background = -1};
  assert_int_equal(make_pool_like(&config), 0);
  for (int round = 0; round < 50; round++) {
    tail t = {.caller = pthread_self()};
    weft_range range = {.count = 64, .grain = 1, .fn = wait_for_help, .arg = &t};
    assert_int_equal(weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL), WEFT_OK);
    assert_true(t.helped);
  }
  assert_int_equal(drop_pool(state), 0);
}

/* --- Ending early -------------------------------------------------------------------------- */

typedef struct early {
  size_t bad;
  atomic_bool failed;
  atomic_int after; /* parts that began on a thread that knew */
} early;

static weft_status fail_at(size_t first, size_t last, void *arg)
{
  early *mine = arg;
  if (first <= mine->bad && mine->bad < last) {
    atomic_store(&mine->failed, true);
    return WEFT_DISABLED;
  }
  if (atomic_load(&mine->failed)) atomic_fetch_add(&mine->after, 1);
  return WEFT_OK;
}

static void the_first_failure_ends_a_range(void **state)
{
  (void)state;
  for (size_t bad = 0; bad < 100000; bad += 7919) {
    early mine = {.bad = bad};
    weft_range range = {.count = 100000, .grain = 1, .fn = fail_at, .arg = &mine};
    assert_int_equal(weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL), WEFT_DISABLED);
    /* A part may be on its way on each other thread, between the failure and its being told; no more
       than that, but for a thread that was not let run. */
    assert_true(mine.after < 50000);
  }
  hold_threads();
  early alone = {.bad = 500};
  weft_range range = {.count = 100000, .grain = 1, .fn = fail_at, .arg = &alone};
  assert_int_equal(weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL), WEFT_DISABLED);
  assert_int_equal(alone.after, 0);
  release_threads();
}

/* --- As jobs ------------------------------------------------------------------------------- */

static void a_range_can_be_a_job(void **state)
{
  (void)state;
  weft_job_options keep = {.flags = WEFT_JOB_KEEP};
  weft_job jobs[20];
  cover covers[20];
  for (int i = 0; i < 20; i++) {
    covers[i] = (cover){.times = calloc(5000, 1), .grain = 10};
    weft_range range = {.count = 5000, .grain = 10, .fn = cover_part, .arg = &covers[i]};
    assert_int_equal(weft_range_start(pool, &range, &keep, &jobs[i]), WEFT_OK);
  }
  for (int i = 0; i < 20; i++) {
    assert_int_equal(weft_job_wait(pool, jobs[i], -1), WEFT_OK);
    assert_int_equal(weft_job_result(pool, jobs[i], NULL, 0), WEFT_OK);
    assert_covered(&covers[i], 5000);
    free((void *)covers[i].times);
    weft_job_release(pool, jobs[i]);
  }
}

static void a_range_as_a_job_fails_as_its_parts_do(void **state)
{
  (void)state;
  early mine = {.bad = 77};
  weft_job_options keep = {.flags = WEFT_JOB_KEEP | WEFT_JOB_WORKERS};
  weft_range range = {.count = 1000, .fn = fail_at, .arg = &mine};
  weft_job job;
  assert_int_equal(weft_range_start(pool, &range, &keep, &job), WEFT_OK);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_FAILED);
  assert_int_equal(weft_job_result(pool, job, NULL, 0), WEFT_DISABLED);
  weft_job_release(pool, job);
}

static weft_status yield_often(size_t first, size_t last, void *arg)
{
  bool stays = *(bool *)arg;
  for (size_t i = first; i < last; i++) {
    int32_t where = weft_job_worker();
    weft_status status = weft_job_yield();
    if (status) return status;
    if ((weft_job_worker() == where) != stays) return WEFT_THREAD;
  }
  return WEFT_OK;
}

static void the_parts_of_a_range_that_stays_go_on_where_they_began(void **state)
{
  weft_pool_config config = {.workers = 3, .flags = WEFT_POOL_MIGRATE};
  for (int stays = 0; stays < 2; stays++) {
    bool told = stays;
    weft_job_options options = {.flags = WEFT_JOB_WORKERS | (stays ? WEFT_JOB_STAYS : 0)};
    weft_range range = {.count = 300, .grain = 3, .fn = yield_often, .arg = &told};
    assert_int_equal(make_pool_like(&config), 0);
    weft_job job;
    assert_int_equal(weft_range_start(pool, &range, &options, &job), WEFT_OK);
    assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
    assert_int_equal(weft_job_result(pool, job, NULL, 0), WEFT_OK);
    assert_int_equal(drop_pool(state), 0);
  }
}

/* --- Kernels ------------------------------------------------------------------------------- */

static void scale(size_t first, size_t last, const weft_value *args, size_t nargs)
{
  double *numbers = args[0].as.data;
  for (size_t i = first; i < last; i++) numbers[i] = (double)i * args[1].as.number;
  if (nargs != 2) numbers[first] = -1;
}

static void a_kernel_gets_its_arguments_in_each_part(void **state)
{
  (void)state;
  enum { COUNT = 10000 };
  static double numbers[COUNT];
  weft_value args[2] = {
      {.kind = WEFT_VALUE_BUFFER, .size = COUNT, .as = {.data = numbers}},
      {.kind = WEFT_VALUE_NUMBER, .as = {.number = 0.5}},
  };
  assert_int_equal(weft_parallel_for(pool, COUNT, 10, scale, args, 2), WEFT_OK);
  for (int i = 0; i < COUNT; i++) assert_true(numbers[i] == i * 0.5);
  memset(numbers, 0, sizeof numbers);
  weft_range range = {.count = COUNT, .kernel = scale, .args = args, .nargs = 2};
  weft_job job;
  assert_int_equal(weft_range_start(pool, &range, NULL, &job), WEFT_OK);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  for (int i = 0; i < COUNT; i++) assert_true(numbers[i] == i * 0.5);
}

static weft_status kernel_inside(void *data)
{
  double *numbers = *(double **)data;
  weft_value args[2] = {
      {.kind = WEFT_VALUE_BUFFER, .size = 1000, .as = {.data = numbers}},
      {.kind = WEFT_VALUE_NUMBER, .as = {.number = 2}},
  };
  int32_t where = weft_job_worker();
  weft_status status = weft_parallel_for(pool, 1000, 1, scale, args, 2);
  return status ? status : weft_job_worker() == where ? WEFT_OK : WEFT_THREAD;
}

/* LuaJIT calls it from compiled code, which a switch of stacks would crash. */
static void parallel_for_never_leaves_the_stack_it_is_called_on(void **state)
{
  for (uint32_t flags = 0; flags < 4; flags++) {
    weft_pool_config config = {.workers = 3, .flags = flags};
    static double numbers[50][1000];
    assert_int_equal(make_pool_like(&config), 0);
    weft_job_options options = {.flags = WEFT_JOB_WORKERS};
    for (int i = 0; i < 50; i++) {
      double *given = numbers[i];
      submit_with(kernel_inside, &given, sizeof given, &options);
    }
    settle();
    assert_int_equal(pool_stats().failed, 0);
    assert_int_equal(pool_stats().suspended, 0);
    assert_int_equal(drop_pool(state), 0);
  }
}

static void ranges_that_make_no_sense_are_refused(void **state)
{
  (void)state;
  weft_job job = 77;
  const weft_range wrong[] = {
      {.count = 1},
      {.count = 1, .fn = cover_part, .kernel = scale},
      {.count = 1, .kernel = scale, .nargs = 1},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(weft_range_run(pool, &wrong[i], WEFT_PRIORITY_NORMAL), WEFT_INVALID);
    assert_int_equal(weft_range_start(pool, &wrong[i], NULL, &job), WEFT_INVALID);
  }
  cover mine = {0};
  weft_range range = {.count = 0, .fn = cover_part, .arg = &mine};
  assert_int_equal(weft_range_run(pool, &range, (weft_job_priority)3), WEFT_INVALID);
  assert_int_equal(weft_parallel_for(pool, 1, 0, NULL, NULL, 0), WEFT_INVALID);
  assert_int_equal(weft_parallel_for(pool, 1, 0, scale, NULL, 2), WEFT_INVALID);
  assert_int_equal(job, 77);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, drop_pool)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(each_number_is_in_exactly_one_part),
      TEST(ranges_of_any_size_are_covered),
      cmocka_unit_test(ranges_in_ranges_are_covered_with_any_number_of_workers),
      cmocka_unit_test(who_is_done_with_its_half_takes_of_the_others),
      TEST(all_threads_take_part),
      TEST(the_first_failure_ends_a_range),
      TEST(a_range_can_be_a_job),
      TEST(a_range_as_a_job_fails_as_its_parts_do),
      cmocka_unit_test(the_parts_of_a_range_that_stays_go_on_where_they_began),
      TEST(a_kernel_gets_its_arguments_in_each_part),
      cmocka_unit_test(parallel_for_never_leaves_the_stack_it_is_called_on),
      TEST(ranges_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
