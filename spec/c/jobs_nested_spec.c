/* SPDX-License-Identifier: MIT */
/*
** jobs_nested_spec.c - jobs that wait for jobs that wait: groups in groups, trees and chains, with any
** number of threads, and again and again.
*/
#include <stdatomic.h>
#include <stdlib.h>

#include "support/pool.h"
#include "support/random.h"

/* --- Nested groups ------------------------------------------------------------------------- */

typedef struct nest {
  atomic_int *leaves;
  int depth;
} nest;

static weft_status nest_run(void *data)
{
  nest mine = *(nest *)data;
  if (mine.depth == 0) {
    atomic_fetch_add(mine.leaves, 1);
    return WEFT_OK;
  }
  weft_group group;
  nest child = {mine.leaves, mine.depth - 1};
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 4; i++) {
    weft_status status = weft_group_run(&group, nest_run, &child, sizeof child);
    if (status) return status;
  }
  return weft_group_wait(&group);
}

static void run_nest(int depth, int expected)
{
  atomic_int leaves = 0;
  nest root = {&leaves, depth};
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 8; i++)
    assert_int_equal(weft_group_run(&group, nest_run, &root, sizeof root), WEFT_OK);
  assert_int_equal(weft_group_wait(&group), WEFT_OK);
  assert_int_equal(weft_group_failed(&group), WEFT_OK);
  assert_int_equal(leaves, expected);
}

static void groups_in_groups_end_with_any_number_of_workers(void **state)
{
  static const uint32_t flags[] = {0, WEFT_POOL_SUSPEND, WEFT_POOL_MIGRATE,
                                   WEFT_POOL_SUSPEND | WEFT_POOL_MIGRATE};
  int most = unit_is_slow() ? 3 : 8, depth = unit_is_slow() ? 2 : 3;
  for (int workers = -1; workers <= most; workers++) {
    if (workers == 0) continue;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
      weft_pool_config config = {.workers = workers, .fibers = 4096, .flags = flags[i]};
      assert_int_equal(make_pool_like(&config), 0);
      run_nest(depth, 8 << 2 * depth);
      assert_int_equal(drop_pool(state), 0);
    }
  }
}

/* --- A tree and a chain -------------------------------------------------------------------- */

typedef struct tree {
  int depth;
  int64_t *sum;
} tree;

static weft_status tree_run(void *data)
{
  tree mine = *(tree *)data;
  int64_t left = 0, right = 0;
  weft_group group;
  if (mine.depth > 0) {
    tree children[2] = {{mine.depth - 1, &left}, {mine.depth - 1, &right}};
    weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
    for (int i = 0; i < 2; i++) {
      weft_status status = weft_group_run(&group, tree_run, &children[i], sizeof *children);
      if (status) return status;
    }
    weft_status status = weft_group_wait(&group);
    if (status) return status;
  }
  *mine.sum = left + right + 1;
  return WEFT_OK;
}

static void a_tree_of_depth_twenty_runs_on_one_worker(void **state)
{
  weft_pool_config config = {.workers = 1};
  int depth = unit_on_valgrind() || unit_has_tsan() ? 12 : 20;
  for (uint32_t flags = 0; flags <= WEFT_POOL_SUSPEND; flags += WEFT_POOL_SUSPEND) {
    int64_t sum = 0;
    tree root = {depth, &sum};
    config.flags = flags;
    assert_int_equal(make_pool_like(&config), 0);
    assert_int_equal(run_as_job(tree_run, &root, sizeof root), WEFT_OK);
    assert_int_equal(sum, (INT64_C(2) << depth) - 1);
    assert_int_equal(drop_pool(state), 0);
  }
}

typedef struct link {
  weft_job next;
  int number;
} link;

static atomic_int chain_sum;

static weft_status link_run(void *data)
{
  link mine = *(link *)data;
  if (mine.next) {
    weft_status status = weft_job_wait(pool, mine.next, -1);
    if (status) return status;
  }
  /* Each adds itself once everything behind it has been added. */
  return atomic_fetch_add(&chain_sum, 1) == mine.number ? WEFT_OK : WEFT_INVALID;
}

/* The jobs that wait are begun before those that they wait for. */
static void a_chain_of_dependent_jobs_runs_on_one_worker(void **state)
{
  int length = unit_on_valgrind() || unit_has_tsan() ? 500 : 10000;
  weft_job_options options = {.flags = WEFT_JOB_WORKERS | WEFT_JOB_KEEP};
  for (uint32_t flags = 0; flags <= WEFT_POOL_SUSPEND; flags += WEFT_POOL_SUSPEND) {
    weft_pool_config config = {
        .workers = 1, .capacity = 20000, .fibers = 10000, .stack_bytes = 16384, .flags = flags};
    assert_int_equal(make_pool_like(&config), 0);
    chain_sum = 0;
    hold_threads();
    weft_job last = 0;
    weft_job *jobs = calloc((size_t)length, sizeof *jobs);
    for (int i = 0; i < length; i++) {
      link given = {last, i};
      last = jobs[i] = submit_with(link_run, &given, sizeof given, &options);
    }
    release_threads();
    assert_int_equal(weft_job_wait(pool, last, -1), WEFT_OK);
    settle();
    assert_int_equal(chain_sum, length);
    for (int i = 0; i < length; i++) {
      assert_int_equal(weft_job_result(pool, jobs[i], NULL, 0), WEFT_OK);
      weft_job_release(pool, jobs[i]);
    }
    free(jobs);
    assert_int_equal(drop_pool(state), 0);
  }
}

/* --- The same again and again -------------------------------------------------------------- */

typedef struct fib {
  int n;
  int64_t *result;
} fib;

static weft_status fib_run(void *data)
{
  fib mine = *(fib *)data;
  int64_t one = mine.n, two = 0;
  weft_group group;
  if (mine.n >= 2) {
    fib first = {mine.n - 1, &one}, second = {mine.n - 2, &two};
    weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
    weft_status status = weft_group_run(&group, fib_run, &first, sizeof first);
    if (status) return status;
    fib_run(&second);
    if ((status = weft_group_wait(&group))) return status;
  }
  *mine.result = one + two;
  return WEFT_OK;
}

static void two_hundred_times_fib_of_22_is_right_each_time(void **state)
{
  static const uint32_t flags[] = {0, WEFT_POOL_SUSPEND, WEFT_POOL_MIGRATE};
  bool slow = unit_on_valgrind() || unit_has_tsan() || unit_has_asan();
  int n = slow ? 12 : 22;
  int64_t expected = slow ? 144 : 17711;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    weft_pool_config config = {.workers = 2 + (int)i, .flags = flags[i], .fibers = 4000};
    assert_int_equal(make_pool_like(&config), 0);
    for (int round = 0; round < (i ? 20 : 200); round++) {
      int64_t result = -1;
      fib root = {n, &result};
      assert_int_equal(run_as_job(fib_run, &root, sizeof root), WEFT_OK);
      assert_int_equal(result, expected);
    }
    assert_int_equal(drop_pool(state), 0);
  }
}

static void scribble(void)
{
  volatile char bytes[512];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)0xee;
}

static void one_group(void)
{
  atomic_int done = 0;
  atomic_int *counter = &done;
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  weft_group_run(&group, add_to_counter, &counter, sizeof counter);
  weft_group_run(&group, add_to_counter, &counter, sizeof counter);
  assert_int_equal(weft_group_wait(&group), WEFT_OK);
  assert_int_equal(done, 2);
}

static weft_status many_groups(void *data)
{
  int rounds = *(int *)data;
  for (int i = 0; i < rounds; i++) {
    one_group();
    scribble();
  }
  return WEFT_OK;
}

/* Nobody touches a group once its wait has returned: its memory is written over at once. */
static void a_group_may_go_the_moment_its_wait_returns(void **state)
{
  (void)state;
  int rounds = (int)unit_scaled(100000);
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 3; i++) weft_group_run(&group, many_groups, &rounds, sizeof rounds);
  many_groups(&rounds);
  assert_int_equal(weft_group_wait(&group), WEFT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, drop_pool)
#define OWN(name) cmocka_unit_test(name) /* makes its own pools */

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      OWN(groups_in_groups_end_with_any_number_of_workers),
      OWN(a_tree_of_depth_twenty_runs_on_one_worker),
      OWN(a_chain_of_dependent_jobs_runs_on_one_worker),
      OWN(two_hundred_times_fib_of_22_is_right_each_time),
      TEST(a_group_may_go_the_moment_its_wait_returns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
