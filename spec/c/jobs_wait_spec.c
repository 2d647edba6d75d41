/* SPDX-License-Identifier: MIT */
/*
** jobs_wait_spec.c - waiting: for jobs, groups and barriers, inside jobs and outside, nested, deep,
** with any number of threads, and what a wait must not do.
*/
#include <stdatomic.h>
#include <stdlib.h>

#include "core/jobs.h"
#include "support/pool.h"
#include "support/random.h"
#include "support/unit.h"

static weft_status add_one(void *data)
{
  atomic_fetch_add(*(atomic_int **)data, 1);
  return WEFT_OK;
}

/* Runs `fn` as a job on a thread of the pool, and gives its status back. */
static weft_status inside(weft_job_fn fn, const void *data, size_t size)
{
  weft_job_options options = {.flags = WEFT_JOB_WORKERS | WEFT_JOB_KEEP};
  weft_job job = submit_with(fn, data, size, &options);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  weft_status status = weft_job_result(pool, job, NULL, 0);
  weft_job_release(pool, job);
  return status;
}

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
    assert_int_equal(inside(tree_run, &root, sizeof root), WEFT_OK);
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
      assert_int_equal(inside(fib_run, &root, sizeof root), WEFT_OK);
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
  weft_group_run(&group, add_one, &counter, sizeof counter);
  weft_group_run(&group, add_one, &counter, sizeof counter);
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

/* --- What a group answers ------------------------------------------------------------------ */

static weft_status fail_with(void *data)
{
  return *(weft_status *)data;
}

static void a_group_tells_of_a_failure(void **state)
{
  (void)state;
  weft_status bad = WEFT_DISABLED;
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_CRITICAL);
  for (int i = 0; i < 20; i++) weft_group_run(&group, nothing, NULL, 0);
  weft_group_run(&group, fail_with, &bad, sizeof bad);
  assert_int_equal(weft_group_wait(&group), WEFT_OK);
  assert_int_equal(weft_group_failed(&group), WEFT_DISABLED);
}

static void an_empty_group_is_over_at_once_and_a_group_can_be_used_again(void **state)
{
  (void)state;
  atomic_int done = 0;
  atomic_int *counter = &done;
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  assert_int_equal(weft_group_wait(&group), WEFT_OK);
  for (int round = 1; round <= 50; round++) {
    for (int i = 0; i < 10; i++) weft_group_run(&group, add_one, &counter, sizeof counter);
    assert_int_equal(weft_group_wait(&group), WEFT_OK);
    assert_int_equal(done, round * 10);
  }
}

static weft_status wait_for_foreign(void *data)
{
  return weft_group_wait(*(weft_group **)data);
}

static void a_group_is_waited_for_by_its_owner_alone(void **state)
{
  (void)state;
  weft_group group, *given = &group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  assert_int_equal(inside(wait_for_foreign, &given, sizeof given), WEFT_THREAD);
  assert_int_equal(weft_group_run(&group, NULL, NULL, 0), WEFT_INVALID);
  assert_int_equal(weft_group_run(&group, nothing, NULL, 4), WEFT_INVALID);
  assert_int_equal(weft_group_wait(&group), WEFT_OK);
}

typedef struct spread {
  weft_group *group;
  atomic_int *sum;
  int depth;
} spread;

static weft_status spread_run(void *data)
{
  spread mine = *(spread *)data;
  atomic_fetch_add(mine.sum, 1);
  if (mine.depth-- == 0) return WEFT_OK;
  for (int i = 0; i < 2; i++) {
    weft_status status = weft_group_run(mine.group, spread_run, &mine, sizeof mine);
    if (status) return status;
  }
  return WEFT_OK;
}

static void jobs_of_a_group_run_more_in_it(void **state)
{
  (void)state;
  for (int round = 0; round < 20; round++) {
    atomic_int sum = 0;
    weft_group group;
    weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
    spread root = {&group, &sum, 8};
    assert_int_equal(weft_group_run(&group, spread_run, &root, sizeof root), WEFT_OK);
    assert_int_equal(weft_group_wait(&group), WEFT_OK);
    assert_int_equal(weft_group_failed(&group), WEFT_OK);
    assert_int_equal(sum, 511);
  }
}

/* --- Single jobs --------------------------------------------------------------------------- */

static weft_status wait_for_self(void *data)
{
  (void)data;
  return weft_job_wait(pool, weft_job_self(), -1);
}

static weft_status wait_with_timeout(void *data)
{
  return weft_job_wait(pool, *(weft_job *)data, 1000000);
}

static weft_status look_only(void *data)
{
  return weft_job_wait(pool, *(weft_job *)data, 0);
}

static void a_wait_inside_a_job_answers_what_it_cannot_do(void **state)
{
  (void)state;
  assert_int_equal(inside(wait_for_self, NULL, 0), WEFT_OWN_JOB);
  weft_job_options options = {.priority = WEFT_PRIORITY_BACKGROUND};
  weft_barrier *gate;
  assert_int_equal(weft_barrier_new(pool, 1, &gate), WEFT_OK);
  weft_job waiting = submit_with(wait_at_gate, &gate, sizeof gate, &options);
  while (weft_job_state_of(pool, waiting) != WEFT_JOB_SUSPENDED)
    weft_sleep_until(weft_clock() + 100000);
  assert_int_equal(inside(wait_with_timeout, &waiting, sizeof waiting), WEFT_INVALID);
  assert_int_equal(inside(look_only, &waiting, sizeof waiting), WEFT_TIMEOUT);
  assert_int_equal(weft_job_wait(pool, waiting, 0), WEFT_TIMEOUT);
  assert_int_equal(weft_job_wait(pool, waiting, 2000000), WEFT_TIMEOUT);
  assert_int_equal(weft_barrier_release(gate), WEFT_OK);
  assert_int_equal(weft_job_wait(pool, waiting, -1), WEFT_OK);
  weft_barrier_delete(gate);
}

static weft_status wait_for_job(void *data)
{
  return weft_job_wait(pool, *(weft_job *)data, -1);
}

static void any_number_of_jobs_and_threads_wait_for_one(void **state)
{
  (void)state;
  weft_barrier *gate;
  assert_int_equal(weft_barrier_new(pool, 1, &gate), WEFT_OK);
  weft_job_options keep = {.flags = WEFT_JOB_KEEP};
  weft_job target = submit_with(wait_at_gate, &gate, sizeof gate, &keep);
  /* Before it has begun, who waits for it runs it, on the same fiber. */
  while (pool_stats().suspended < 1) weft_sleep_until(weft_clock() + 100000);
  weft_job waiters[50];
  for (int i = 0; i < 50; i++)
    waiters[i] = submit_with(wait_for_job, &target, sizeof target, &keep);
  while (pool_stats().suspended < 51) weft_sleep_until(weft_clock() + 100000);
  assert_int_equal(weft_barrier_release(gate), WEFT_OK);
  for (int i = 0; i < 50; i++) {
    assert_int_equal(weft_job_wait(pool, waiters[i], -1), WEFT_OK);
    assert_int_equal(weft_job_result(pool, waiters[i], NULL, 0), WEFT_OK);
    weft_job_release(pool, waiters[i]);
  }
  weft_job_release(pool, target);
  weft_barrier_delete(gate);
}

static weft_status where_am_i(void *data)
{
  *(int32_t *)data = weft_job_worker();
  return WEFT_OK;
}

static void a_thread_outside_runs_what_it_waits_for_unless_told_not_to(void **state)
{
  (void)state;
  int32_t where = 5;
  hold_threads();
  weft_job job = submit_with(where_am_i, &where, sizeof where, NULL);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, job, &where, sizeof where), WEFT_OK);
  assert_int_equal(where, -1);
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  job = submit_with(where_am_i, &where, sizeof where, &options);
  assert_int_equal(weft_job_wait(pool, job, 2000000), WEFT_TIMEOUT);
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_QUEUED);
  release_threads();
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, job, &where, sizeof where), WEFT_OK);
  assert_true(where >= 0);
}

/* --- No unrelated help --------------------------------------------------------------------- */

static atomic_int locked;

static weft_status take_lock(void *data)
{
  (void)data;
  if (atomic_exchange(&locked, 1)) return WEFT_BUSY; /* somebody runs on top of the holder */
  atomic_store(&locked, 0);
  return WEFT_OK;
}

/* Runs a group while it holds the lock. On one worker, whatever runs meanwhile runs in its wait. */
static weft_status hold_lock(void *data)
{
  atomic_int done = 0;
  atomic_int *counter = &done;
  weft_group group;
  (void)data;
  if (atomic_exchange(&locked, 1)) return WEFT_BUSY;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 4; i++) weft_group_run(&group, add_one, &counter, sizeof counter);
  weft_status status = weft_group_wait(&group);
  atomic_store(&locked, 0);
  return done == 4 ? status : WEFT_INVALID;
}

static void a_wait_runs_nothing_but_what_it_waits_for(void **state)
{
  weft_pool_config config = {.workers = 1};
  assert_int_equal(make_pool_like(&config), 0);
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  hold_threads();
  for (int i = 0; i < 1000; i++) {
    submit_with(hold_lock, NULL, 0, &options);
    submit_with(take_lock, NULL, 0, &options);
  }
  release_threads();
  settle();
  assert_int_equal(pool_stats().failed, 0);
  assert_int_equal(drop_pool(state), 0);
}

/* --- Fibers -------------------------------------------------------------------------------- */

static void a_wait_without_a_fiber_is_refused_by_name(void **state)
{
  weft_pool_config config = {.workers = 2, .fibers = 3};
  assert_int_equal(make_pool_like(&config), 0);
  weft_barrier *gate;
  weft_job jobs[4];
  weft_job_options options = {.flags = WEFT_JOB_WORKERS | WEFT_JOB_KEEP};
  assert_int_equal(weft_barrier_new(pool, 1, &gate), WEFT_OK);
  for (int i = 0; i < 3; i++) jobs[i] = submit_with(wait_at_gate, &gate, sizeof gate, &options);
  while (pool_stats().suspended < 3) weft_sleep_until(weft_clock() + 100000);
  jobs[3] = submit_with(wait_at_gate, &gate, sizeof gate, &options);
  assert_int_equal(weft_job_wait(pool, jobs[3], -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, jobs[3], NULL, 0), WEFT_NOFIBERS);
  assert_int_equal(weft_barrier_release(gate), WEFT_OK);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(weft_job_wait(pool, jobs[i], -1), WEFT_OK);
    if (i < 3) assert_int_equal(weft_job_result(pool, jobs[i], NULL, 0), WEFT_OK);
    weft_job_release(pool, jobs[i]);
  }
  weft_barrier_delete(gate);
  assert_int_equal(drop_pool(state), 0);
}

/* --- Staying, yielding --------------------------------------------------------------------- */

static weft_status stay(void *data)
{
  (void)data;
  int32_t where = weft_job_worker();
  for (int i = 0; i < 20; i++) {
    weft_status status = weft_job_yield();
    if (status) return status;
    if (weft_job_worker() != where) return WEFT_THREAD;
  }
  return WEFT_OK;
}

static void who_waits_for_a_time_begins_nothing(void **state)
{
  (void)state;
  hold_threads();
  weft_job job = submit(nothing), other = submit(nothing);
  assert_int_equal(weft_job_wait(pool, job, 1), WEFT_TIMEOUT);
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_QUEUED);
  assert_int_equal(weft_job_wait(pool, other, -1), WEFT_OK);
  assert_int_equal(weft_job_state_of(pool, other), WEFT_JOB_COMPLETED);
  release_threads();
}

static weft_status wander(void *data)
{
  (void)data;
  for (int i = 0; i < 20; i++) {
    int32_t where = weft_job_worker();
    weft_status status = weft_job_yield();
    if (status) return status;
    if (weft_job_worker() == where) return WEFT_THREAD;
  }
  return WEFT_OK;
}

static void a_job_that_stays_goes_on_where_it_began(void **state)
{
  (void)state;
  weft_job_options options = {.flags = WEFT_JOB_WORKERS | WEFT_JOB_STAYS};
  for (int i = 0; i < 200; i++) submit_with(stay, NULL, 0, &options);
  settle();
  assert_int_equal(pool_stats().completed, 200);
}

static void the_migrating_mode_moves_every_job_but_those_that_stay(void **state)
{
  weft_pool_config config = {.workers = 3, .flags = WEFT_POOL_MIGRATE};
  assert_int_equal(make_pool_like(&config), 0);
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  for (int i = 0; i < 50; i++) submit_with(wander, NULL, 0, &options);
  options.flags |= WEFT_JOB_STAYS;
  for (int i = 0; i < 50; i++) submit_with(stay, NULL, 0, &options);
  settle();
  assert_int_equal(pool_stats().completed, 100);
  assert_int_equal(drop_pool(state), 0);
}

static atomic_int turn;

static weft_status take_turns(void *data)
{
  int me = *(int *)data;
  for (int i = 0; i < 5; i++) {
    while (atomic_load(&turn) % 2 != me) {
      weft_status status = weft_job_yield();
      if (status) return status;
    }
    atomic_fetch_add(&turn, 1);
  }
  return WEFT_OK;
}

static void a_yield_lets_the_others_have_their_turn(void **state)
{
  weft_pool_config config = {.workers = 1};
  assert_int_equal(make_pool_like(&config), 0);
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  turn = 0;
  for (int me = 0; me < 2; me++) submit_with(take_turns, &me, sizeof me, &options);
  settle();
  assert_int_equal(turn, 10);
  assert_int_equal(weft_job_yield(), WEFT_OUTSIDE);
  assert_int_equal(drop_pool(state), 0);
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
      TEST(a_group_tells_of_a_failure),
      TEST(an_empty_group_is_over_at_once_and_a_group_can_be_used_again),
      TEST(a_group_is_waited_for_by_its_owner_alone),
      TEST(jobs_of_a_group_run_more_in_it),
      TEST(a_wait_inside_a_job_answers_what_it_cannot_do),
      TEST(any_number_of_jobs_and_threads_wait_for_one),
      TEST(a_thread_outside_runs_what_it_waits_for_unless_told_not_to),
      OWN(a_wait_runs_nothing_but_what_it_waits_for),
      OWN(a_wait_without_a_fiber_is_refused_by_name),
      TEST(who_waits_for_a_time_begins_nothing),
      TEST(a_job_that_stays_goes_on_where_it_began),
      OWN(the_migrating_mode_moves_every_job_but_those_that_stay),
      OWN(a_yield_lets_the_others_have_their_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
