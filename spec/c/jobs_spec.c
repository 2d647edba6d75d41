/* SPDX-License-Identifier: MIT */
/*
** jobs_spec.c - single jobs: what they are given and leave behind, states, handles, cancelling, who is
** told; limits and misuse. The pool's threads are held back where a test wants to see what is queued.
*/
#include <string.h>

#include "core/jobs.h"
#include "support/failing.h"
#include "support/pool.h"
#include "support/random.h"
#include "support/unit.h"

/* --- Running ------------------------------------------------------------------------------- */

typedef struct sum {
  int a, b, result;
} sum;

static weft_status add(void *data)
{
  sum *mine = data;
  mine->result = mine->a + mine->b;
  return WEFT_OK;
}

static void a_job_works_on_a_copy_and_leaves_its_result_there(void **state)
{
  (void)state;
  sum given = {3, 4, 0}, result;
  weft_job job = submit_with(add, &given, sizeof given, NULL);
  given.a = 100;
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_COMPLETED);
  assert_int_equal(weft_job_result(pool, job, &result, sizeof result), WEFT_OK);
  assert_int_equal(result.result, 7);
  assert_int_equal(given.result, 0);
}

static weft_status fill(void *data)
{
  assert_int_equal((uintptr_t)data % 16, 0);
  memset(data, 0x5a, WEFT_JOB_BYTES);
  return WEFT_OK;
}

static void as_many_bytes_as_promised_are_copied_and_not_one_more(void **state)
{
  (void)state;
  char given[WEFT_JOB_BYTES + 1] = {0}, result[WEFT_JOB_BYTES + 1];
  weft_job job = 77;
  assert_int_equal(weft_job_submit(pool, fill, given, WEFT_JOB_BYTES + 1, NULL, &job),
                   WEFT_INVALID);
  assert_int_equal(weft_job_submit(pool, fill, NULL, 1, NULL, &job), WEFT_INVALID);
  assert_int_equal(weft_job_submit(pool, NULL, NULL, 0, NULL, &job), WEFT_INVALID);
  assert_int_equal(job, 77);
  job = submit_with(fill, given, WEFT_JOB_BYTES, NULL);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, job, result, WEFT_JOB_BYTES + 1), WEFT_INVALID);
  assert_int_equal(weft_job_result(pool, job, NULL, 1), WEFT_INVALID);
  assert_int_equal(weft_job_result(pool, job, result, WEFT_JOB_BYTES), WEFT_OK);
  for (int i = 0; i < WEFT_JOB_BYTES; i++) assert_int_equal(result[i], 0x5a);
}

static weft_status give_up(void *data)
{
  (void)data;
  return WEFT_DISABLED;
}

static weft_status answer_seven(void *data)
{
  (void)data;
  return 7;
}

static void a_job_that_answers_a_negative_status_has_failed(void **state)
{
  (void)state;
  weft_job failing = submit(give_up), other = submit(answer_seven);
  assert_int_equal(weft_job_wait(pool, failing, -1), WEFT_OK);
  assert_int_equal(weft_job_wait(pool, other, -1), WEFT_OK);
  assert_int_equal(weft_job_state_of(pool, failing), WEFT_JOB_FAILED);
  assert_int_equal(weft_job_result(pool, failing, NULL, 0), WEFT_DISABLED);
  assert_int_equal(weft_job_state_of(pool, other), WEFT_JOB_COMPLETED);
  assert_int_equal(weft_job_result(pool, other, NULL, 0), WEFT_OK);
  assert_int_equal(pool_stats().failed, 1);
  assert_int_equal(pool_stats().completed, 1);
}

typedef struct self_seen {
  weft_job *job;
  bool right;
} self_seen;

static weft_status look_at_self(void *data)
{
  self_seen *seen = data;
  seen->right = weft_job_self() == *seen->job && weft_job_pool() == pool;
  seen->right = seen->right && weft_job_worker() >= 0;
  return WEFT_OK;
}

static void a_job_knows_itself_and_its_pool(void **state)
{
  (void)state;
  weft_job job;
  self_seen seen = {&job, false};
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  assert_int_equal(weft_job_submit(pool, look_at_self, &seen, sizeof seen, &options, &job),
                   WEFT_OK);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, job, &seen, sizeof seen), WEFT_OK);
  assert_true(seen.right);
  assert_int_equal(weft_job_self(), 0);
  assert_null(weft_job_pool());
  assert_int_equal(weft_job_worker(), -1);
}

/* --- Handles ------------------------------------------------------------------------------- */

static void a_handle_expires_when_its_slot_is_used_again_and_not_before(void **state)
{
  weft_pool_config config = {.workers = -1, .background = -1};
  assert_int_equal(make_pool_like(&config), 0);
  weft_job first = submit(nothing);
  assert_int_equal(weft_job_wait(pool, first, -1), WEFT_OK);
  settle();
  /* As many as there are free slots before its own comes round; then the next one has it. */
  for (uint32_t i = 0; i < 4096; i++) {
    assert_int_equal(weft_job_state_of(pool, first), WEFT_JOB_COMPLETED);
    assert_int_equal(weft_job_wait(pool, submit(nothing), -1), WEFT_OK);
  }
  for (uint32_t i = 0; weft_job_state_of(pool, first) != WEFT_JOB_EXPIRED; i++) {
    assert_true(i < 2 * pool->slot_count);
    assert_int_equal(weft_job_wait(pool, submit(nothing), -1), WEFT_OK);
  }
  assert_int_equal(weft_job_wait(pool, first, -1), WEFT_EXPIRED);
  assert_int_equal(weft_job_result(pool, first, NULL, 0), WEFT_EXPIRED);
  assert_false(weft_job_cancel(pool, first));
  assert_int_equal(drop_pool(state), 0);
}

static void what_was_never_a_handle_is_expired(void **state)
{
  (void)state;
  const weft_job strange[] = {0, 1, UINT64_MAX, UINT64_C(1) << 32, UINT32_MAX};
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    assert_int_equal(weft_job_state_of(pool, strange[i]), WEFT_JOB_EXPIRED);
    assert_int_equal(weft_job_wait(pool, strange[i], -1), WEFT_EXPIRED);
    assert_int_equal(weft_job_result(pool, strange[i], NULL, 0), WEFT_EXPIRED);
    assert_false(weft_job_cancel(pool, strange[i]));
    weft_job_release(pool, strange[i]);
  }
}

static void a_handle_of_another_pool_is_expired(void **state)
{
  (void)state;
  weft_pool *other;
  weft_pool_config config = {.workers = 1, .background = -1, .capacity = 8};
  assert_int_equal(weft_pool_new(&config, &other), WEFT_OK);
  for (int i = 0; i < 200; i++) {
    weft_job job = submit(nothing);
    assert_int_equal(weft_job_state_of(other, job), WEFT_JOB_EXPIRED);
    assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  }
  assert_int_equal(weft_pool_delete(other, -1), WEFT_OK);
}

static void a_kept_job_holds_its_slot_until_it_is_released(void **state)
{
  (void)state;
  weft_job_options keep = {.flags = WEFT_JOB_KEEP};
  sum given = {20, 22, 0}, result;
  weft_job kept = submit_with(add, &given, sizeof given, &keep);
  for (int i = 0; i < 10000; i++) {
    assert_int_equal(weft_job_wait(pool, submit(nothing), -1), WEFT_OK);
  }
  assert_int_equal(weft_job_wait(pool, kept, -1), WEFT_OK);
  assert_int_equal(weft_job_result(pool, kept, &result, sizeof result), WEFT_OK);
  assert_int_equal(result.result, 42);
  settle();
  assert_int_equal(weft__pool_used(pool), 1);
  weft_job_release(pool, kept);
  weft_job_release(pool, kept); /* once is enough */
  assert_int_equal(weft__pool_used(pool), 0);
}

static void a_job_may_be_released_before_it_has_ended(void **state)
{
  (void)state;
  weft_job_options keep = {.flags = WEFT_JOB_KEEP};
  hold_threads();
  weft_job kept = submit_with(nothing, NULL, 0, &keep);
  weft_job_release(pool, kept);
  assert_int_equal(weft_job_state_of(pool, kept), WEFT_JOB_QUEUED);
  release_threads();
  settle();
  assert_int_equal(weft__pool_used(pool), 0);
}

/* --- Cancelling ---------------------------------------------------------------------------- */

static weft_status count_runs(void *data)
{
  atomic_fetch_add(*(atomic_int **)data, 1);
  return WEFT_OK;
}

static void what_has_not_begun_can_be_cancelled_and_never_runs(void **state)
{
  (void)state;
  atomic_int runs = 0;
  atomic_int *counter = &runs;
  hold_threads();
  weft_job job = submit_with(count_runs, &counter, sizeof counter, NULL);
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_QUEUED);
  assert_int_equal(weft_job_result(pool, job, NULL, 0), WEFT_PENDING);
  assert_true(weft_job_cancel(pool, job));
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_CANCELLED);
  assert_int_equal(weft_job_result(pool, job, NULL, 0), WEFT_CANCELLED);
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_false(weft_job_cancel(pool, job));
  release_threads();
  settle();
  assert_int_equal(runs, 0);
  assert_int_equal(pool_stats().cancelled, 1);
}

static void what_has_begun_or_ended_cannot_be_cancelled(void **state)
{
  (void)state;
  hold_threads();
  assert_false(weft_job_cancel(pool, held_job()));
  weft_job job = submit(nothing);
  release_threads();
  assert_int_equal(weft_job_wait(pool, job, -1), WEFT_OK);
  assert_false(weft_job_cancel(pool, job));
  assert_int_equal(weft_job_state_of(pool, job), WEFT_JOB_COMPLETED);
}

/* --- Being told ---------------------------------------------------------------------------- */

typedef struct told {
  atomic_int count;
  weft_job job;
  weft_job_state state;
  weft_status result;
} told;

static void tell(void *arg, weft_job job)
{
  told *mine = arg;
  mine->job = job;
  mine->state = weft_job_state_of(pool, job);
  mine->result = weft_job_result(pool, job, NULL, 0);
  atomic_fetch_add(&mine->count, 1);
}

static void the_end_is_told_once_however_it_comes(void **state)
{
  (void)state;
  told done = {0}, failed = {0}, cancelled = {0};
  weft_job_options options = {.ended = tell, .arg = &done};
  weft_job a = submit_with(nothing, NULL, 0, &options);
  options.arg = &failed;
  weft_job b = submit_with(give_up, NULL, 0, &options);
  settle();
  hold_threads();
  options.arg = &cancelled;
  weft_job c = submit_with(nothing, NULL, 0, &options);
  assert_true(weft_job_cancel(pool, c));
  assert_int_equal(cancelled.count, 1); /* on this thread, before cancel returns */
  release_threads();
  settle();
  assert_int_equal(done.count, 1);
  assert_int_equal(failed.count, 1);
  assert_int_equal(cancelled.count, 1);
  assert_true(done.job == a && done.state == WEFT_JOB_COMPLETED && done.result == WEFT_OK);
  assert_true(failed.job == b && failed.state == WEFT_JOB_FAILED);
  assert_int_equal(failed.result, WEFT_DISABLED);
  assert_true(cancelled.job == c && cancelled.state == WEFT_JOB_CANCELLED);
  assert_int_equal(cancelled.result, WEFT_CANCELLED);
}

/* --- Outboxes ------------------------------------------------------------------------------ */

static void count_wakes(void *arg)
{
  atomic_fetch_add((atomic_int *)arg, 1);
}

static void an_outbox_gives_each_ended_job_once(void **state)
{
  (void)state;
  enum { COUNT = 2000 };
  atomic_int wakes = 0;
  weft_outbox *outbox;
  assert_int_equal(weft_outbox_new(pool, count_wakes, &wakes, &outbox), WEFT_OK);
  weft_job_options options = {.outbox = outbox};
  weft_job job;
  unsigned sums = 0, count = 0;
  assert_false(weft_outbox_take(outbox, &job));
  for (int i = 0; i < COUNT; i++) {
    sum given = {i, 0, 0};
    submit_with(add, &given, sizeof given, &options);
  }
  settle();
  assert_true(wakes >= 1);
  assert_int_equal(weft__pool_used(pool), COUNT);
  while (weft_outbox_take(outbox, &job)) {
    sum result;
    assert_int_equal(weft_job_result(pool, job, &result, sizeof result), WEFT_OK);
    sums += (unsigned)result.result;
    count++;
    weft_job_release(pool, job);
  }
  assert_int_equal(count, COUNT);
  assert_int_equal(sums, COUNT * (COUNT - 1) / 2);
  assert_int_equal(weft__pool_used(pool), 0);
  weft_outbox_delete(outbox);
}

static void jobs_of_a_deleted_outbox_are_released_by_themselves(void **state)
{
  (void)state;
  weft_outbox *outbox;
  assert_int_equal(weft_outbox_new(pool, NULL, NULL, &outbox), WEFT_OK);
  weft_job_options options = {.outbox = outbox};
  submit_with(nothing, NULL, 0, &options);
  settle();
  hold_threads();
  for (int i = 0; i < 10; i++) submit_with(nothing, NULL, 0, &options);
  assert_int_equal(weft__pool_used(pool), held_count() + 11);
  weft_outbox_delete(outbox);
  release_threads();
  settle();
  assert_int_equal(weft__pool_used(pool), 0);
}

/* --- Limits -------------------------------------------------------------------------------- */

static void a_full_pool_refuses_and_writes_nothing(void **state)
{
  (void)state;
  weft_pool *small;
  weft_job jobs[12];
  for (uint32_t capacity = 1; capacity <= 12; capacity++) {
    weft_job one_more = 77;
    weft_pool_config config = {.workers = -1, .background = -1, .capacity = capacity};
    assert_int_equal(weft_pool_new(&config, &small), WEFT_OK);
    for (uint32_t i = 0; i < capacity; i++)
      assert_int_equal(weft_job_submit(small, nothing, NULL, 0, NULL, &jobs[i]), WEFT_OK);
    assert_int_equal(weft_job_submit(small, nothing, NULL, 0, NULL, &one_more), WEFT_FULL);
    assert_int_equal(one_more, 77);
    assert_int_equal(weft_job_wait(small, jobs[0], -1), WEFT_OK);
    assert_int_equal(weft_pool_wait_all(small, -1), WEFT_OK);
    assert_true(weft__pool_valid(small));
    assert_int_equal(weft_job_submit(small, nothing, NULL, 0, NULL, &one_more), WEFT_OK);
    assert_int_equal(weft_pool_delete(small, -1), WEFT_OK);
  }
}

static void a_large_pool_holds_as_many_as_it_says(void **state)
{
  (void)state;
  weft_pool *large;
  weft_pool_config config = {.workers = -1, .background = -1, .capacity = 5000};
  assert_int_equal(weft_pool_new(&config, &large), WEFT_OK);
  for (uint32_t i = 0; i < 5000; i++)
    assert_int_equal(weft_job_submit(large, nothing, NULL, 0, NULL, NULL), WEFT_OK);
  assert_int_equal(weft_job_submit(large, nothing, NULL, 0, NULL, NULL), WEFT_FULL);
  assert_int_equal(weft_pool_wait_all(large, -1), WEFT_OK);
  assert_true(weft__pool_valid(large));
  assert_int_equal(weft_pool_delete(large, -1), WEFT_OK);
}

static void configurations_are_checked_at_both_ends(void **state)
{
  (void)state;
  weft_pool *made = NULL;
  const weft_pool_config wrong[] = {
      {.workers = 65},
      {.background = 65},
      {.capacity = (1 << 20) + 1},
      {.fibers = (1 << 16) + 1},
      {.flags = 4},
      {.stack_bytes = 1},
      {.stack_bytes = ((size_t)1 << 30) + 1},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(weft_pool_new(&wrong[i], &made), WEFT_INVALID);
  assert_null(made);
  const weft_pool_config right[] = {
      {.workers = 64, .background = 64},
      {.workers = 1, .capacity = 1 << 20},
      {.workers = 1, .fibers = 1 << 16},
      {.workers = 1, .fibers = 1, .stack_bytes = 16 << 10, .flags = 3},
  };
  for (size_t i = unit_is_slow() ? 3 : 0; i < sizeof right / sizeof *right; i++) {
    assert_int_equal(weft_pool_new(&right[i], &made), WEFT_OK);
    assert_int_equal(weft_pool_delete(made, -1), WEFT_OK);
  }
}

static void options_that_make_no_sense_are_refused(void **state)
{
  (void)state;
  weft_outbox *outbox;
  assert_int_equal(weft_outbox_new(pool, NULL, NULL, &outbox), WEFT_OK);
  const weft_job_options wrong[] = {
      {.priority = (weft_job_priority)3},
      {.flags = 8},
      {.outbox = outbox, .ended = tell},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(weft_job_submit(pool, nothing, NULL, 0, &wrong[i], NULL), WEFT_INVALID);
  weft_outbox_delete(outbox);
  assert_int_equal(weft__pool_used(pool), 0);
}

/* --- Statistics ---------------------------------------------------------------------------- */

static void a_pool_tells_what_it_did(void **state)
{
  (void)state;
  hold_threads();
  for (int i = 0; i < 10; i++) submit(nothing);
  weft_pool_stats stats = pool_stats();
  assert_int_equal(stats.workers, POOL_WORKERS + 1);
  assert_int_equal(stats.pending, 10);
  assert_true(stats.active >= POOL_WORKERS);
  release_threads();
  settle();
  stats = pool_stats();
  assert_int_equal(stats.pending, 0);
  assert_int_equal(stats.completed, 10 + held_count());
  assert_true(stats.average_ms > 0);
  assert_true(stats.utilisation > 0 && stats.utilisation <= 1);
  for (uint32_t i = 0; i < POOL_WORKERS; i++) {
    assert_true(weft_pool_utilisation(pool, i) > 0);
    assert_true(weft_pool_utilisation(pool, i) <= 1);
  }
  assert_true(weft_pool_utilisation(pool, POOL_WORKERS + 1) == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, drop_pool)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_job_works_on_a_copy_and_leaves_its_result_there),
      TEST(as_many_bytes_as_promised_are_copied_and_not_one_more),
      TEST(a_job_that_answers_a_negative_status_has_failed),
      TEST(a_job_knows_itself_and_its_pool),
      cmocka_unit_test(a_handle_expires_when_its_slot_is_used_again_and_not_before),
      TEST(what_was_never_a_handle_is_expired),
      TEST(a_handle_of_another_pool_is_expired),
      TEST(a_kept_job_holds_its_slot_until_it_is_released),
      TEST(a_job_may_be_released_before_it_has_ended),
      TEST(what_has_not_begun_can_be_cancelled_and_never_runs),
      TEST(what_has_begun_or_ended_cannot_be_cancelled),
      TEST(the_end_is_told_once_however_it_comes),
      TEST(an_outbox_gives_each_ended_job_once),
      TEST(jobs_of_a_deleted_outbox_are_released_by_themselves),
      TEST(a_full_pool_refuses_and_writes_nothing),
      TEST(a_large_pool_holds_as_many_as_it_says),
      TEST(configurations_are_checked_at_both_ends),
      TEST(options_that_make_no_sense_are_refused),
      TEST(a_pool_tells_what_it_did),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
