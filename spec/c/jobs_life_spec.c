/* SPDX-License-Identifier: MIT */
/*
** jobs_life_spec.c - pools come and go: stopping with work in every state, memory and threads that the
** system refuses, forks, threads that come and end, thousands of pools.
*/
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/jobs.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/pool.h"
#include "support/random.h"
#include "support/unit.h"

/* Deletes `pool` and checks that nothing is left of it. */
static void delete_pool(void)
{
  assert_int_equal(weft_pool_delete(pool, -1), WEFT_OK);
  assert_int_equal(failing_blocks(), 0);
  assert_int_equal(failing_mapped(), 0);
  failing_remove();
}

/* --- Coming and going ---------------------------------------------------------------------- */

static void thousands_of_pools_are_made_and_deleted(void **state)
{
  (void)state;
  int rounds = (int)unit_scaled(1000);
  atomic_int runs = 0, *counter = &runs;
  weft_pool_config config = {.capacity = 64, .fibers = 4, .stack_bytes = 16384};
  for (int i = 0; i < rounds; i++) {
    config.workers = i % 20 ? 1 : 3;
    config.background = i % 20 ? -1 : 2;
    assert_int_equal(make_pool_like(&config), 0);
    if (i % 2) {
      weft_job job = submit_with(add_to_counter, &counter, sizeof counter, NULL);
      assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
    }
    delete_pool();
  }
  assert_int_equal(runs, rounds / 2);
}

static atomic_int begun, ended;
static _Thread_local int here;

static void note_begin(void *host, uint32_t worker)
{
  assert_ptr_equal(host, &begun);
  here = (int)worker + 1;
  atomic_fetch_add(&begun, 1);
}

static void note_end(void *host, uint32_t worker)
{
  assert_ptr_equal(host, &begun);
  if (here == (int)worker + 1) atomic_fetch_add(&ended, 1);
}

static weft_status check_here(void *data)
{
  (void)data;
  return weft_job_worker() + 1 == here ? WEFT_OK : WEFT_THREAD;
}

static void the_host_is_told_of_each_thread_on_that_thread(void **state)
{
  (void)state;
  weft_pool_config config = {
      .workers = 3, .background = 2, .host = &begun, .begin = note_begin, .end = note_end};
  begun = ended = 0;
  assert_int_equal(make_pool_like(&config), 0);
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  for (int i = 0; i < 100; i++) submit_with(check_here, NULL, 0, &options);
  settle();
  assert_int_equal(pool_stats().failed, 0);
  delete_pool();
  assert_int_equal(begun, 5);
  assert_int_equal(ended, 5);
}

/* What the host writes when the threads run already, and reads when they end: no job is run, which would
   tell the threads of it. */
static int written;

static void read_it(void *host, uint32_t worker)
{
  (void)worker;
  if (*(int *)host == 5) atomic_fetch_add(&ended, 1);
}

static void at_its_end_a_thread_finds_what_was_done_before(void **state)
{
  (void)state;
  weft_pool_config config = {.workers = 3, .background = 1, .host = &written, .end = read_it};
  for (uint32_t i = 0; i < unit_scaled(20); i++) {
    ended = written = 0;
    assert_int_equal(make_pool_like(&config), 0);
    written = 5;
    delete_pool();
    assert_int_equal(ended, 4);
  }
}

/* --- Stopping ------------------------------------------------------------------------------ */

static atomic_int told;

static void tell(void *arg, weft_job job)
{
  (void)arg, (void)job;
  atomic_fetch_add(&told, 1);
}

static void what_has_not_begun_is_cancelled_and_told_of(void **state)
{
  (void)state;
  atomic_int runs = 0, *counter = &runs;
  weft_pool_config config = {.workers = 2};
  told = 0;
  assert_int_equal(make_pool_like(&config), 0);
  hold_threads();
  weft_job_options options = {.ended = tell};
  for (int i = 0; i < 100; i++) {
    options.priority = (weft_job_priority)(i % 2);
    submit_with(add_to_counter, &counter, sizeof counter, &options);
  }
  assert_int_equal(weft_pool_delete(pool, 2000000), WEFT_TIMEOUT);
  assert_int_equal(weft_job_submit(pool, nothing, NULL, 0, NULL, NULL), WEFT_STOPPED);
  release_threads();
  delete_pool();
  assert_int_equal(runs, 0);
  assert_int_equal(told, 100);
}

static void a_pool_without_threads_drops_what_is_queued(void **state)
{
  (void)state;
  for (int background = -1; background <= 1; background += 2) {
    weft_pool_config config = {.workers = -1, .background = background};
    told = 0;
    assert_int_equal(make_pool_like(&config), 0);
    weft_job_options options = {.ended = tell};
    for (int i = 0; i < 100; i++) submit_with(nothing, NULL, 0, &options);
    delete_pool();
    assert_int_equal(told, 100);
  }
}

/* Whatever they wait for, jobs are told that the pool stops, and may end in their own time. */
static weft_status wait_then_finish(void *data)
{
  weft_status status = wait_at_gate(data);
  if (status != WEFT_STOPPED) return WEFT_INVALID;
  if (wait_at_gate(data) != WEFT_STOPPED) return WEFT_INVALID;
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  status = weft_group_run(&group, nothing, NULL, 0);
  return status == WEFT_STOPPED ? weft_group_wait(&group) : WEFT_INVALID;
}

static weft_status wait_for_job(void *data)
{
  return weft_job_wait(pool, *(weft_job *)data, -1) == WEFT_STOPPED ? WEFT_OK : WEFT_INVALID;
}

static void jobs_that_wait_for_what_never_comes_are_told(void **state)
{
  (void)state;
  static const uint32_t flags[] = {0, WEFT_POOL_MIGRATE};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    weft_pool_config config = {.workers = 2, .flags = flags[i]};
    weft_barrier *gate;
    assert_int_equal(make_pool_like(&config), 0);
    assert_int_equal(weft_barrier_new(pool, 1, &gate), WEFT_OK);
    weft_job_options keep = {.flags = WEFT_JOB_KEEP | WEFT_JOB_WORKERS};
    weft_job jobs[20];
    for (int j = 0; j < 10; j++)
      jobs[j] = submit_with(wait_then_finish, &gate, sizeof gate, &keep);
    /* One that has not begun would be run by who waits for it, on the same fiber. */
    while (pool_stats().suspended < 10) weft_sleep_until(weft_clock() + 100000);
    for (int j = 10; j < 20; j++)
      jobs[j] = submit_with(wait_for_job, &jobs[j - 10], sizeof *jobs, &keep);
    while (pool_stats().suspended < 20) weft_sleep_until(weft_clock() + 100000);
    weft_status status;
    while ((status = weft_pool_delete(pool, 0)) == WEFT_TIMEOUT)
      weft_sleep_until(weft_clock() + 100000);
    assert_int_equal(status, WEFT_OK);
    weft_barrier_delete(gate);
    failing_remove();
  }
}

static weft_status yield_again_and_again(void *data)
{
  weft_status status;
  atomic_fetch_add(*(atomic_int **)data, 1);
  do status = weft_job_yield();
  while (status == WEFT_OK);
  return status == WEFT_STOPPED ? WEFT_OK : WEFT_INVALID;
}

static void jobs_that_yield_again_and_again_are_told(void **state)
{
  atomic_int entered = 0, *counter = &entered;
  assert_int_equal(make_pool(state), 0);
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  for (int i = 0; i < 5; i++)
    submit_with(yield_again_and_again, &counter, sizeof counter, &options);
  while (entered < 5) weft_sleep_until(weft_clock() + 100000);
  assert_int_equal(weft_pool_delete(pool, -1), WEFT_OK);
  failing_remove();
}

static weft_status delete_own_pool(void *data)
{
  (void)data;
  return weft_pool_delete(pool, -1) == WEFT_BUSY && weft_pool_wait_all(pool, -1) == WEFT_BUSY
             ? WEFT_OK
             : WEFT_INVALID;
}

static void a_job_cannot_delete_its_pool(void **state)
{
  (void)state;
  assert_int_equal(make_pool(state), 0);
  weft_job_options options[2] = {{.flags = 0}, {.flags = WEFT_JOB_WORKERS}};
  for (int i = 0; i < 2; i++) {
    weft_job job = submit_with(delete_own_pool, NULL, 0, &options[i]);
    assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
    assert_int_equal(weft_job_result(pool, job, NULL, 0), WEFT_OK);
  }
  assert_int_equal(weft_pool_delete(NULL, -1), WEFT_OK);
  assert_int_equal(drop_pool(state), 0);
}

/* Pools are stopped at any moment of their work. */
static weft_status breed(void *data)
{
  int depth = *(int *)data - 1;
  weft_group group;
  if (depth < 0) return WEFT_OK;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 3; i++) {
    if (weft_group_run(&group, breed, &depth, sizeof depth)) break;
  }
  (void)weft_job_yield();
  return weft_group_wait(&group);
}

static const char *stop_at_any_moment(uint64_t seed)
{
  unit_random random = {seed};
  weft_pool_config config = {
      .workers = 1 + (int)unit_random_below(&random, 3),
      .fibers = 2000,
      .flags = unit_random_below(&random, 4),
  };
  if (make_pool_like(&config)) return "new";
  for (uint32_t i = unit_random_below(&random, 8) + 1; i; i--) {
    int depth = (int)unit_random_below(&random, 5);
    weft_job_options options = {.priority = (weft_job_priority)unit_random_below(&random, 3)};
    submit_with(breed, &depth, sizeof depth, &options);
  }
  weft_sleep_until(weft_clock() + unit_random_below(&random, 300000));
  delete_pool();
  return NULL;
}

static void a_pool_can_be_stopped_at_any_moment(void **state)
{
  (void)state;
  unit_for_seeds(80, stop_at_any_moment);
}

/* --- What the system refuses ---------------------------------------------------------------- */

static void refuse_each(failing_call call, int error, weft_status one, weft_status other)
{
  weft_pool_config config = {.workers = 3, .background = 2, .fibers = 16};
  if (unit_is_slow()) config.workers = config.background = 1;
  for (uint64_t nth = 1;; nth++) {
    weft_pool *made = NULL;
    failing_install();
    failing_arm(call, nth, 1, error);
    weft_status status = weft_pool_new(&config, &made);
    if (!failing_failed(call)) {
      assert_true(nth > 1);
      assert_int_equal(weft_pool_delete(made, -1), WEFT_OK);
      failing_remove();
      break;
    }
    if (status == WEFT_OK) {
      assert_int_equal(weft_pool_delete(made, -1), WEFT_OK); /* it did without */
    } else {
      assert_true(status == one || status == other);
      assert_null(made);
    }
    assert_int_equal(failing_blocks(), 0);
    assert_int_equal(failing_mapped(), 0);
    failing_remove();
  }
}

static void each_allocation_may_fail(void **state)
{
  (void)state;
  refuse_each(FAILING_MALLOC, ENOMEM, WEFT_NOMEM, WEFT_NOMEM);
}

static void each_thread_may_be_refused(void **state)
{
  (void)state;
  refuse_each(FAILING_THREAD, EAGAIN, WEFT_NOMEM, WEFT_NOMEM);
}

static void each_mapping_may_be_refused(void **state)
{
  (void)state;
  refuse_each(FAILING_MAP, ENOMEM, WEFT_NOSTACK, WEFT_NOSTACK);
  refuse_each(FAILING_MAP, EPERM, WEFT_NOSTACK, WEFT_NOSTACK);
}

static void a_wait_that_gets_no_stack_says_so_and_can_be_tried_again(void **state)
{
  (void)state;
  weft_pool_config config = {.workers = 1, .background = -1};
  weft_barrier *gate;
  weft_job jobs[40];
  int refused = 0;
  assert_int_equal(make_pool_like(&config), 0);
  assert_int_equal(weft_barrier_new(pool, 1, &gate), WEFT_OK);
  weft_job_options keep = {.flags = WEFT_JOB_KEEP | WEFT_JOB_WORKERS};
  failing_always(FAILING_MAP, ENOMEM);
  for (int i = 0; i < 40; i++) jobs[i] = submit_with(wait_at_gate, &gate, sizeof gate, &keep);
  while (pool_stats().pending || pool_stats().active) weft_sleep_until(weft_clock() + 100000);
  failing_disarm();
  assert_int_equal(weft_barrier_release(gate), WEFT_OK);
  settle();
  for (int i = 0; i < 40; i++) {
    weft_status status = weft_job_result(pool, jobs[i], NULL, 0);
    assert_true(status == WEFT_OK || status == WEFT_NOSTACK);
    refused += status == WEFT_NOSTACK;
    weft_job_release(pool, jobs[i]);
  }
  assert_true(refused > 0 && refused < 40);
  weft_barrier_delete(gate);
  assert_int_equal(drop_pool(state), 0);
}

static void after_it_is_made_a_pool_asks_for_no_memory(void **state)
{
  (void)state;
  assert_int_equal(make_pool(state), 0);
  uint64_t before = failing_count(FAILING_MALLOC);
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 100; i++) {
    int depth = 4;
    weft_group_run(&group, breed, &depth, sizeof depth);
    assert_int_equal(weft_group_wait(&group), WEFT_OK);
    assert_int_equal(weft_job_wait(pool, submit(nothing), -1), WEFT_OK);
  }
  assert_int_equal(failing_count(FAILING_MALLOC), before);
  assert_int_equal(drop_pool(state), 0);
}

/* --- Forks --------------------------------------------------------------------------------- */

static void use_in_child(void *arg)
{
  weft_job job = *(weft_job *)arg, other;
  weft_group group;
  if (weft_job_submit(pool, nothing, NULL, 0, NULL, &other) != WEFT_STOPPED) _exit(1);
  if (weft_job_wait(pool, job, -1) != WEFT_STOPPED) _exit(2);
  if (weft_job_cancel(pool, job)) _exit(3);
  if (weft_pool_wait_all(pool, -1) != WEFT_STOPPED) _exit(4);
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  if (weft_group_run(&group, nothing, NULL, 0) != WEFT_STOPPED) _exit(5);
  weft_range range = {.count = 10, .kernel = NULL, .fn = NULL};
  if (weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL) != WEFT_INVALID) _exit(6);
  if (weft_pool_delete(pool, -1) != WEFT_OK) _exit(7);
  if (failing_blocks() != 0 || failing_mapped() != 0) _exit(8);
  weft_pool_config config = {.workers = 2};
  if (weft_pool_new(&config, &pool)) _exit(9);
  if (weft_job_submit(pool, nothing, NULL, 0, NULL, &job)) _exit(10);
  if (weft_job_wait(pool, job, -1)) _exit(11);
  if (weft_pool_delete(pool, -1)) _exit(12);
}

static void in_a_child_of_a_fork_the_pool_is_gone(void **state)
{
  (void)state;
  unit_child child;
  if (!unit_forks_threads()) skip();
  assert_int_equal(make_pool(state), 0);
  hold_threads();
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  weft_job job = submit_with(nothing, NULL, 0, &options);
  unit_fork(use_in_child, &job, &child);
  assert_string_equal(child.text, "");
  assert_int_equal(child.exit_code, 0);
  release_threads();
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(drop_pool(state), 0);
}

/* --- Threads that come and end -------------------------------------------------------------- */

static atomic_int visits;

static void visit(void *arg)
{
  atomic_int *counter = &visits;
  (void)arg;
  for (int i = 0; i < 50; i++) {
    weft_group group;
    weft_job job;
    weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
    assert_int_equal(weft_group_run(&group, add_to_counter, &counter, sizeof counter), WEFT_OK);
    assert_int_equal(weft_group_wait(&group), WEFT_OK);
    assert_int_equal(
        weft_job_submit(pool, add_to_counter, &counter, sizeof counter, NULL, &job), WEFT_OK);
    if (i % 2) assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  }
}

/* More at once than there are seats for guests, and more in all. */
static void any_number_of_threads_uses_a_pool(void **state)
{
  (void)state;
  enum { AT_ONCE = GUESTS + 8 };
  int rounds = unit_is_slow() ? 1 : 4;
  weft__thread threads[AT_ONCE];
  assert_int_equal(make_pool(state), 0);
  visits = 0;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < AT_ONCE; i++)
      assert_int_equal(weft__thread_start(&threads[i], visit, NULL), WEFT_OK);
    for (int i = 0; i < AT_ONCE; i++) weft__thread_join(&threads[i]);
  }
  settle();
  assert_int_equal(visits, rounds * AT_ONCE * 100);
  assert_int_equal(drop_pool(state), 0);
}

static weft_status use_other(void *data)
{
  weft_pool *other = *(weft_pool **)data;
  atomic_int *counter = &visits;
  weft_group group;
  weft_job job;
  weft_group_begin(&group, other, WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 10; i++) {
    weft_status status = weft_group_run(&group, add_to_counter, &counter, sizeof counter);
    if (status) return status;
  }
  weft_status status = weft_group_wait(&group);
  if (!status)
    status = weft_job_submit(other, add_to_counter, &counter, sizeof counter, NULL, &job);
  if (!status) status = weft_job_wait(other, job, -1);
  return status;
}

static void jobs_of_one_pool_use_another(void **state)
{
  (void)state;
  weft_pool *other;
  assert_int_equal(make_pool(state), 0);
  assert_int_equal(weft_pool_new(NULL, &other), WEFT_OK);
  visits = 0;
  for (int i = 0; i < 100; i++) submit_with(use_other, &other, sizeof other, NULL);
  settle();
  assert_int_equal(pool_stats().failed, 0);
  assert_int_equal(visits, 1100);
  assert_int_equal(weft_pool_delete(other, -1), WEFT_OK);
  assert_int_equal(drop_pool(state), 0);
}

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thousands_of_pools_are_made_and_deleted),
      cmocka_unit_test(the_host_is_told_of_each_thread_on_that_thread),
      cmocka_unit_test(at_its_end_a_thread_finds_what_was_done_before),
      cmocka_unit_test(what_has_not_begun_is_cancelled_and_told_of),
      cmocka_unit_test(a_pool_without_threads_drops_what_is_queued),
      cmocka_unit_test(jobs_that_wait_for_what_never_comes_are_told),
      cmocka_unit_test(jobs_that_yield_again_and_again_are_told),
      cmocka_unit_test(a_job_cannot_delete_its_pool),
      cmocka_unit_test(a_pool_can_be_stopped_at_any_moment),
      cmocka_unit_test(each_allocation_may_fail),
      cmocka_unit_test(each_thread_may_be_refused),
      cmocka_unit_test(each_mapping_may_be_refused),
      cmocka_unit_test(a_wait_that_gets_no_stack_says_so_and_can_be_tried_again),
      cmocka_unit_test(after_it_is_made_a_pool_asks_for_no_memory),
      cmocka_unit_test(in_a_child_of_a_fork_the_pool_is_gone),
      cmocka_unit_test(any_number_of_threads_uses_a_pool),
      cmocka_unit_test(jobs_of_one_pool_use_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
