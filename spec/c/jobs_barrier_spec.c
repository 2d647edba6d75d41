/* SPDX-License-Identifier: MIT */
/*
** jobs_barrier_spec.c - barriers: counts, rounds that never mix, jobs that hold one, misuse.
*/
#include <stdatomic.h>

#include "core/jobs.h"
#include "support/pool.h"
#include "support/random.h"
#include "support/unit.h"

static weft_barrier *barrier;

static int make_barrier(void **state)
{
  return make_pool(state) || weft_barrier_new(pool, 0, &barrier) ? -1 : 0;
}

static int drop_barrier(void **state)
{
  weft_barrier_delete(barrier);
  return drop_pool(state);
}

static void wait_until_suspended(uint32_t count)
{
  while (pool_stats().suspended < count) weft_sleep_until(weft_clock() + 100000);
}

static void a_barrier_of_zero_lets_everybody_through(void **state)
{
  (void)state;
  assert_int_equal(weft_barrier_count(barrier), 0);
  assert_int_equal(weft_barrier_wait(barrier, 0), WEFT_OK);
  assert_int_equal(weft_barrier_wait(barrier, -1), WEFT_OK);
  weft_job job = submit_with(wait_at_gate, &barrier, sizeof barrier, NULL);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, job, NULL, 0), WEFT_OK);
}

static void counts_have_limits(void **state)
{
  (void)state;
  weft_barrier *other = NULL;
  assert_int_equal(weft_barrier_release(barrier), WEFT_INVALID);
  assert_int_equal(weft_barrier_add(barrier, 0), WEFT_INVALID);
  assert_int_equal(weft_barrier_add(barrier, WEFT_BARRIER_MAX + 1), WEFT_FULL);
  assert_int_equal(weft_barrier_add(barrier, WEFT_BARRIER_MAX), WEFT_OK);
  assert_int_equal(weft_barrier_count(barrier), WEFT_BARRIER_MAX);
  assert_int_equal(weft_barrier_add(barrier, 1), WEFT_FULL);
  weft_job_options options = {.barrier = barrier};
  weft_job job = 77;
  assert_int_equal(weft_job_submit(pool, nothing, NULL, 0, &options, &job), WEFT_FULL);
  assert_int_equal(job, 77);
  assert_int_equal(weft__pool_used(pool), 0);
  assert_int_equal(weft_barrier_new(pool, WEFT_BARRIER_MAX + 1, &other), WEFT_INVALID);
  assert_null(other);
  assert_int_equal(weft_barrier_new(pool, WEFT_BARRIER_MAX, &other), WEFT_OK);
  weft_barrier_delete(other);
  weft_barrier_delete(NULL);
}

static void a_wait_outside_ends_with_its_time(void **state)
{
  (void)state;
  assert_int_equal(weft_barrier_add(barrier, 2), WEFT_OK);
  assert_int_equal(weft_barrier_wait(barrier, 0), WEFT_TIMEOUT);
  assert_int_equal(weft_barrier_wait(barrier, 1000000), WEFT_TIMEOUT);
  assert_int_equal(weft_barrier_release(barrier), WEFT_OK);
  assert_int_equal(weft_barrier_wait(barrier, 1000000), WEFT_TIMEOUT);
  assert_int_equal(weft_barrier_release(barrier), WEFT_OK);
  assert_int_equal(weft_barrier_wait(barrier, 1000000), WEFT_OK);
}

static weft_status fail_always(void *data)
{
  (void)data;
  return WEFT_DESTROYED;
}

static void a_job_releases_its_barrier_however_it_ends(void **state)
{
  (void)state;
  weft_job_options options = {.barrier = barrier};
  hold_threads();
  for (int i = 0; i < 10; i++) {
    submit_with(nothing, NULL, 0, &options);
    submit_with(fail_always, NULL, 0, &options);
    weft_job cancelled = submit_with(nothing, NULL, 0, &options);
    assert_int_equal(weft_barrier_count(barrier), 2 * i + 3);
    assert_true(weft_job_cancel(pool, cancelled));
    assert_int_equal(weft_barrier_count(barrier), 2 * i + 2);
  }
  release_threads();
  assert_int_equal(weft_barrier_wait(barrier, -1), WEFT_OK);
  assert_int_equal(weft_barrier_count(barrier), 0);
}

static void a_barrier_may_be_deleted_while_jobs_hold_it(void **state)
{
  (void)state;
  weft_barrier *other;
  assert_int_equal(weft_barrier_new(pool, 0, &other), WEFT_OK);
  weft_job_options options = {.barrier = other};
  hold_threads();
  for (int i = 0; i < 10; i++) submit_with(nothing, NULL, 0, &options);
  weft_barrier_delete(other);
  release_threads();
  settle();
}

/* --- Rounds -------------------------------------------------------------------------------- */

static void a_new_round_does_not_hold_those_of_the_last(void **state)
{
  (void)state;
  int rounds = (int)unit_scaled(2000);
  for (int round = 0; round < rounds; round++) {
    weft_job jobs[5];
    weft_job_options keep = {.flags = WEFT_JOB_KEEP | WEFT_JOB_WORKERS};
    assert_int_equal(weft_barrier_add(barrier, 1), WEFT_OK);
    for (int i = 0; i < 5; i++)
      jobs[i] = submit_with(wait_at_gate, &barrier, sizeof barrier, &keep);
    if (round % 2) wait_until_suspended(5);
    /* Closed again before any of them can have gone on. Those that had not come yet wait on. */
    assert_int_equal(weft_barrier_release(barrier), WEFT_OK);
    assert_int_equal(weft_barrier_add(barrier, 1), WEFT_OK);
    for (int i = 0; round % 2 && i < 5; i++)
      assert_int_equal(weft_job_wait(pool, jobs[i], -1), WEFT_OK);
    assert_int_equal(weft_barrier_release(barrier), WEFT_OK);
    for (int i = 0; i < 5; i++) {
      assert_int_equal(weft_job_wait(pool, jobs[i], -1), WEFT_OK);
      assert_int_equal(weft_job_result(pool, jobs[i], NULL, 0), WEFT_OK);
      weft_job_release(pool, jobs[i]);
    }
  }
}

#define PARTIES 6

typedef struct party {
  weft_barrier *gates[3];
  atomic_int *arrived;
  int rounds;
} party;

/* The classic barrier, made of three counts: who comes first adds the round after next. More parties
   than threads: those that wait leave theirs to the others. */
static weft_status meet(void *data)
{
  party mine = **(party **)data;
  for (int round = 0; round < mine.rounds; round++) {
    weft_barrier *gate = mine.gates[round % 3];
    if (atomic_fetch_add(&mine.arrived[round], 1) == 0) {
      if (weft_barrier_add(mine.gates[(round + 1) % 3], PARTIES)) return WEFT_FULL;
    }
    weft_status status = weft_barrier_release(gate);
    if (!status) status = weft_barrier_wait(gate, -1);
    if (status) return status;
    if (atomic_load(&mine.arrived[round]) != PARTIES) return WEFT_INVALID;
  }
  return WEFT_OK;
}

static void parties_meet_round_after_round(void **state)
{
  static atomic_int arrived[3000];
  int rounds = unit_on_valgrind() || unit_has_tsan() ? 300 : 3000;
  for (uint32_t flags = 0; flags <= WEFT_POOL_MIGRATE; flags++) {
    weft_pool_config config = {.workers = 4, .flags = flags};
    assert_int_equal(make_pool_like(&config), 0);
    party all = {.arrived = arrived, .rounds = rounds}, *given = &all;
    for (int i = 0; i < rounds; i++) arrived[i] = 0;
    for (int i = 0; i < 3; i++) assert_int_equal(weft_barrier_new(pool, 0, &all.gates[i]), 0);
    assert_int_equal(weft_barrier_add(all.gates[0], PARTIES), WEFT_OK);
    weft_job_options options = {.flags = WEFT_JOB_WORKERS};
    for (int i = 0; i < PARTIES; i++) submit_with(meet, &given, sizeof given, &options);
    settle();
    assert_int_equal(pool_stats().failed, 0);
    for (int i = 0; i < 3; i++) weft_barrier_delete(all.gates[i]);
    assert_int_equal(drop_pool(state), 0);
  }
}

static void threads_outside_wait_for_rounds_too(void **state)
{
  (void)state;
  int rounds = (int)unit_scaled(20000);
  atomic_int done = 0;
  weft_job_options options = {.barrier = barrier};
  for (int round = 1; round <= rounds; round++) {
    for (int i = 0; i < 3; i++) submit_with(nothing, NULL, 0, &options);
    assert_int_equal(weft_barrier_wait(barrier, -1), WEFT_OK);
    assert_int_equal(weft_barrier_count(barrier), 0);
    done++;
  }
  assert_int_equal(done, rounds);
}

static void rounds_are_counted(void **state)
{
  (void)state;
  for (uint32_t round = 0; round < 3; round++) {
    assert_int_equal(weft_barrier_round(barrier), round);
    assert_int_equal(weft_barrier_add(barrier, 2), WEFT_OK);
    assert_int_equal(weft_barrier_release(barrier), WEFT_OK);
    assert_int_equal(weft_barrier_round(barrier), round);
    assert_int_equal(weft_barrier_release(barrier), WEFT_OK);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_barrier, drop_barrier)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_barrier_of_zero_lets_everybody_through),
      TEST(counts_have_limits),
      TEST(rounds_are_counted),
      TEST(a_wait_outside_ends_with_its_time),
      TEST(a_job_releases_its_barrier_however_it_ends),
      TEST(a_barrier_may_be_deleted_while_jobs_hold_it),
      TEST(a_new_round_does_not_hold_those_of_the_last),
      cmocka_unit_test(parties_meet_round_after_round),
      TEST(threads_outside_wait_for_rounds_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
