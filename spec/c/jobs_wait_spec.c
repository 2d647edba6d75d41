/* SPDX-License-Identifier: MIT */
/*
** jobs_wait_spec.c - waiting: for jobs, groups and barriers, inside jobs and outside, on threads of the
** pool and on others, and what a wait must not do.
*/
#include <stdatomic.h>

#include "core/jobs.h"
#include "support/pool.h"
#include "support/unit.h"

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
    for (int i = 0; i < 10; i++)
      weft_group_run(&group, add_to_counter, &counter, sizeof counter);
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
  assert_int_equal(run_as_job(wait_for_foreign, &given, sizeof given), WEFT_THREAD);
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
  assert_int_equal(run_as_job(wait_for_self, NULL, 0), WEFT_OWN_JOB);
  weft_job_options options = {.priority = WEFT_PRIORITY_BACKGROUND};
  weft_barrier *gate;
  assert_int_equal(weft_barrier_new(pool, 1, &gate), WEFT_OK);
  weft_job waiting = submit_with(wait_at_gate, &gate, sizeof gate, &options);
  while (weft_job_state_of(pool, waiting) != WEFT_JOB_SUSPENDED)
    weft_sleep_until(weft_clock() + 100000);
  assert_int_equal(run_as_job(wait_with_timeout, &waiting, sizeof waiting), WEFT_INVALID);
  assert_int_equal(run_as_job(look_only, &waiting, sizeof waiting), WEFT_TIMEOUT);
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
  for (int i = 0; i < 4; i++) weft_group_run(&group, add_to_counter, &counter, sizeof counter);
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
