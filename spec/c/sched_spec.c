/* SPDX-License-Identifier: MIT */
/*
** sched_spec.c - the scheduler with ticks that are made up here: lanes, budgets, clocks, handles,
** joins, cancels. What random programs do is in sched_model_spec.c.
*/
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

#define SECOND INT64_C(1000000000)
#define TAG 9

static weft__sched sched;
static uint32_t dropped;

static void note_dropped(weft__sched *from, weft__task *task)
{
  (void)from, (void)task;
  dropped++;
}

static const weft__sched_ops ops = {.dropped = note_dropped};

static void make_sched(uint32_t capacity, uint32_t budget)
{
  dropped = 0;
  if (weft__sched_init(&sched, &ops, capacity, sizeof(weft__task) + 16, budget, TAG)) abort();
}

static void drop_sched(void)
{
  assert_true(weft__sched_valid(&sched));
  weft__sched_fini(&sched);
}

static weft__task *start(void)
{
  weft__task *task = weft__sched_start(&sched);
  assert_non_null(task);
  return task;
}

/* A tick of `seconds` on both clocks, up to its pass. */
static void tick(double seconds)
{
  if (!sched.paused) weft__clock_advance(&sched.sim, seconds);
  weft__clock_advance(&sched.real, seconds);
  weft__sched_begin_pass(&sched);
}

static void sleep_for(int64_t ns)
{
  assert_int_equal(weft__sched_arm_sleep(&sched, sched.running, ns, false), WEFT_OK);
}

static void next(void)
{
  assert_int_equal(weft__sched_arm_next(&sched, sched.running), WEFT_OK);
}

/* The next of the pass is this one. */
static void expect(weft__task *task)
{
  assert_ptr_equal(weft__sched_take(&sched), task);
}

static void finish(void)
{
  weft__task *task = sched.running;
  weft__sched_finish(&sched, task, WEFT_STATE_COMPLETED);
  weft__sched_release(&sched, task);
}

/* --- Order and budget ---------------------------------------------------------------------- */

static void the_lanes_come_in_their_order(void **state)
{
  (void)state;
  weft__task *task[4];
  make_sched(4, UINT32_MAX);
  for (int i = 0; i < 4; i++) task[i] = start();
  tick(0);
  for (int i = 0; i < 4; i++) {
    expect(task[i]);
    if (i == 0) sleep_for(SECOND);
    if (i == 1) next();
    if (i == 2) assert_int_equal(weft__sched_arm_sleep(&sched, task[2], 5, true), WEFT_OK);
    if (i == 3) sleep_for(9 * SECOND);
  }
  weft__sched_cancel(&sched, task[3]);
  tick(1);
  expect(task[3]); /* told to stop */
  assert_int_equal(task[3]->wake, WEFT_CANCELLED);
  finish();
  expect(task[2]); /* due in real time */
  finish();
  expect(task[1]); /* ready */
  finish();
  expect(task[0]); /* due in sim time */
  finish();
  expect(NULL);
  drop_sched();
}

static void what_the_budget_left_over_stays_first_in_line(void **state)
{
  (void)state;
  weft__task *task[5];
  make_sched(5, 2);
  for (int i = 0; i < 5; i++) task[i] = start();
  for (int turn = 0; turn < 50; turn += 2) {
    tick(0.016);
    for (int i = turn; i < turn + 2; i++) {
      expect(task[i % 5]);
      next();
    }
    expect(NULL);
  }
  drop_sched();
}

static void a_hundred_thousand_under_a_budget_are_served_once_in_98_ticks(void **state)
{
  (void)state;
  uint32_t count = 100000, budget = 1024, ticks = 0, served = 0;
  make_sched(count, budget);
  uint8_t *turns = weft__calloc(count, 1);
  for (uint32_t i = 0; i < count; i++) start();
  for (; served < count; ticks++) {
    weft__task *task;
    tick(0.016);
    while ((task = weft__sched_take(&sched)) != NULL) {
      next();
      if (turns[task->slot]++ == 0) served++;
    }
  }
  assert_int_equal(ticks, 98);
  uint32_t twice = 0; /* the last tick begins the second turn */
  for (uint32_t i = 0; i < count; i++) {
    assert_in_range(turns[i], 1, 2);
    twice += turns[i] - 1;
  }
  assert_int_equal(twice, 98 * budget - count);
  weft__free(turns);
  drop_sched();
}

static void a_cancel_is_told_outside_the_budget_and_while_paused(void **state)
{
  (void)state;
  make_sched(8, 1);
  weft__task *task[4];
  for (int i = 0; i < 4; i++) {
    task[i] = start();
    tick(0);
    expect(task[i]);
    sleep_for(100 * SECOND);
  }
  for (int i = 0; i < 4; i++) assert_true(weft__sched_cancel(&sched, task[i]));
  weft__task *waiting = start();
  sched.paused = true;
  tick(1);
  for (int i = 0; i < 4; i++) {
    expect(task[i]);
    finish();
  }
  expect(NULL);
  assert_int_equal(waiting->state, WEFT_STATE_QUEUED);
  sched.paused = false;
  drop_sched();
}

static void a_wait_of_nothing_takes_a_tick(void **state)
{
  (void)state;
  make_sched(3, UINT32_MAX);
  weft__task *task = start();
  for (int i = 0; i < 10; i++) {
    tick(0);
    expect(task);
    if (i % 2)
      sleep_for(0);
    else
      next();
    expect(NULL);
  }
  drop_sched();
}

/* --- Clocks -------------------------------------------------------------------------------- */

static void three_thirds_of_a_second_end_a_wait_of_one(void **state)
{
  (void)state;
  make_sched(1, UINT32_MAX);
  weft__task *task = start();
  tick(0);
  expect(task);
  sleep_for(SECOND);
  for (int i = 0; i < 2; i++) {
    tick(1.0 / 3);
    expect(NULL);
  }
  tick(1.0 / 3);
  expect(task);
  finish();
  drop_sched();
}

static void long_runs_keep_time(void **state)
{
  (void)state;
  weft__clock clock = {0, 0};
  int64_t days = unit_scaled(50) / 10 + 1;
  for (int64_t tick = 0; tick < days * 86400 * 144 / 4; tick++)
    weft__clock_advance(&clock, 1.0 / 144);
  int64_t off = clock.now - days * 86400 / 4 * SECOND;
  assert_true(off > -1000 && off < 1000);
}

static void a_step_that_the_clock_cannot_take_is_known_before(void **state)
{
  (void)state;
  weft__clock clock = {0, 0};
  assert_true(weft__clock_fits(&clock, 0) && weft__clock_fits(&clock, 9e9));
  assert_false(weft__clock_fits(&clock, nextafter(9e9, INFINITY)));
  assert_false(weft__clock_fits(&clock, -1e-300));
  assert_false(weft__clock_fits(&clock, (double)NAN));
  assert_false(weft__clock_fits(&clock, (double)INFINITY));
  weft__clock_advance(&clock, 9e9);
  assert_true(weft__clock_fits(&clock, 1e8) && !weft__clock_fits(&clock, 3e8));
  weft__clock_advance(&clock, 1e8);
  assert_true(clock.now > 0);
}

static void a_deadline_past_the_end_of_time_never_comes(void **state)
{
  (void)state;
  make_sched(1, UINT32_MAX);
  weft__task *task = start();
  tick(9e9);
  expect(task);
  sleep_for(INT64_MAX);
  assert_int_equal(weft__sched_wakes_in(&sched, task), INT64_MAX - 9 * SECOND * SECOND);
  tick(1e8);
  expect(NULL);
  drop_sched();
}

/* --- Sleepers ------------------------------------------------------------------------------ */

static void a_sleeper_cancelled_among_many_leaves_no_trace_in_the_heap(void **state)
{
  (void)state;
  uint32_t count = 100000, victim = 50000;
  unit_random random = {3};
  make_sched(count, UINT32_MAX);
  for (uint32_t i = 0; i < count; i++) start();
  tick(0);
  while (weft__sched_take(&sched)) sleep_for(1 + unit_random_below(&random, 1000000));
  weft__task *task = weft__sched_at(&sched, victim);
  assert_true(weft__sched_cancel(&sched, task));
  assert_int_equal(sched.sim_heap.count, count - 1);
  assert_true(weft__heap_valid(&sched.sim_heap));
  uint64_t slots = (UINT64_C(1) << sched.sim_heap.slot_bits) - 1;
  for (uint32_t i = 0; i < count - 1; i++)
    assert_true((sched.sim_heap.entries[i].tie & slots) != victim);
  assert_int_equal(weft__sched_wakes_in(&sched, task), -1);
  drop_sched();
}

static void a_wake_ends_a_wait_and_leaves_a_place_in_line_alone(void **state)
{
  (void)state;
  make_sched(3, UINT32_MAX);
  weft__task *a = start(), *b = start(), *c = start();
  assert_false(weft__sched_wake(&sched, a)); /* it does not sleep */
  tick(0);
  expect(a), next();
  expect(b), next();
  expect(c), sleep_for(SECOND);
  assert_true(weft__sched_wake(&sched, a));
  assert_false(weft__sched_wake(&sched, a));
  assert_true(weft__sched_wake(&sched, c));
  assert_int_equal(sched.sim_heap.count, 0);
  tick(0);
  expect(a), next();
  expect(b), finish();
  expect(c), finish();
  assert_false(weft__sched_wake(&sched, c));
  drop_sched();
}

/* --- Joins --------------------------------------------------------------------------------- */

static void joiners_are_told_in_order_in_the_next_pass(void **state)
{
  (void)state;
  make_sched(4, UINT32_MAX);
  weft__task *target = start(), *joiner[3];
  for (int i = 0; i < 3; i++) joiner[i] = start();
  tick(0);
  expect(target), next();
  for (int i = 0; i < 3; i++) {
    expect(joiner[i]);
    assert_int_equal(weft__sched_arm_join(&sched, joiner[i], target, i == 1 ? SECOND : -1),
                     WEFT_OK);
  }
  assert_true(weft__sched_cancel(&sched, joiner[0])); /* the first of the ring leaves it */
  tick(0);
  expect(joiner[0]), finish();
  expect(target), finish();
  expect(NULL);
  assert_int_equal(sched.sim_heap.count, 0);
  tick(5);
  expect(joiner[1]);
  assert_int_equal(joiner[1]->wake, WEFT_OK);
  finish();
  expect(joiner[2]), finish();
  drop_sched();
}

static void a_join_that_times_out_is_forgotten(void **state)
{
  (void)state;
  make_sched(2, UINT32_MAX);
  weft__task *target = start(), *joiner = start();
  tick(0);
  expect(target), sleep_for(9 * SECOND);
  expect(joiner);
  assert_int_equal(weft__sched_arm_join(&sched, joiner, target, 0), WEFT_OK);
  tick(0);
  expect(joiner);
  assert_int_equal(joiner->wake, WEFT_TIMEOUT);
  assert_int_equal(target->joiners, WEFT_NO_SLOT);
  sleep_for(20 * SECOND);
  tick(9);
  expect(target), finish();
  expect(NULL);
  tick(1);
  expect(NULL); /* the end of the target did not cut the later wait short */
  drop_sched();
}

static void rings_of_joins_are_refused(void **state)
{
  (void)state;
  make_sched(3, UINT32_MAX);
  weft__task *a = start(), *b = start(), *c = start();
  tick(0);
  expect(a);
  assert_int_equal(weft__sched_arm_join(&sched, a, a, -1), WEFT_SELF);
  assert_int_equal(weft__sched_arm_join(&sched, a, b, -1), WEFT_OK);
  expect(b);
  assert_int_equal(weft__sched_arm_join(&sched, b, a, -1), WEFT_RING);
  assert_int_equal(weft__sched_arm_join(&sched, b, c, -1), WEFT_OK);
  expect(c);
  assert_int_equal(weft__sched_arm_join(&sched, c, a, 5), WEFT_RING);
  assert_int_equal(weft__sched_arm_join(&sched, c, b, 5), WEFT_RING);
  finish();
  drop_sched();
}

/* --- Cancels ------------------------------------------------------------------------------- */

static void after_eight_swallowed_cancels_it_is_forced(void **state)
{
  (void)state;
  make_sched(1, UINT32_MAX);
  weft__task *task = start();
  tick(0);
  expect(task), next();
  weft__sched_cancel(&sched, task);
  for (int told = 1; told <= WEFT_MAX_SWALLOWED; told++) {
    tick(0);
    expect(task);
    assert_int_equal(task->wake, WEFT_CANCELLED);
    assert_int_equal(task->raises, told);
    if (told < WEFT_MAX_SWALLOWED) sleep_for(SECOND); /* whatever it asks for, it gets a tick */
  }
  assert_int_equal(weft__sched_arm_next(&sched, task), WEFT_FORCED);
  assert_int_equal(weft__sched_arm_next(&sched, task), WEFT_CANCELLED); /* its cleanups */
  finish();
  drop_sched();
}

static void who_cancels_itself_is_told_at_its_next_wait(void **state)
{
  (void)state;
  make_sched(1, UINT32_MAX);
  weft__task *task = start();
  tick(0);
  expect(task);
  assert_true(weft__sched_cancel(&sched, task));
  assert_true(weft__sched_cancel(&sched, task));
  assert_int_equal(task->state, WEFT_STATE_CANCELLING);
  assert_int_equal(weft__sched_arm_sleep(&sched, task, 5, true), WEFT_CANCELLED);
  finish();
  assert_false(weft__sched_cancel(&sched, task));
  assert_int_equal(task->state, WEFT_STATE_COMPLETED);
  drop_sched();
}

static void who_is_cancelled_with_an_armed_wait_does_not_sleep_it_out(void **state)
{
  (void)state;
  make_sched(1, UINT32_MAX);
  weft__task *task = start();
  tick(0);
  expect(task), sleep_for(9 * SECOND);
  assert_true(weft__sched_cancel(&sched, task)); /* while it still is the running one */
  assert_true(weft__sched_valid(&sched));
  tick(0);
  expect(task);
  assert_int_equal(task->wake, WEFT_CANCELLED);
  finish();
  drop_sched();
}

static void disarming_in_the_cancel_lane_loses_nobody(void **state)
{
  (void)state;
  make_sched(3, UINT32_MAX);
  weft__task *self = start(), *before = start(), *after = start();
  tick(0);
  expect(self), next();
  expect(before), sleep_for(SECOND);
  expect(after), sleep_for(SECOND);
  weft__sched_cancel(&sched, self);
  tick(0);
  expect(self);
  weft__sched_cancel(&sched, before);
  next(); /* which puts it in the lane again */
  weft__sched_cancel(&sched, after);
  weft__sched_disarm(&sched, self);
  assert_true(weft__sched_valid(&sched));
  finish();
  tick(0);
  expect(before), finish();
  expect(after), finish();
  assert_int_equal(sched.cancel_count, 0);
  drop_sched();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lanes_come_in_their_order),
      cmocka_unit_test(what_the_budget_left_over_stays_first_in_line),
      cmocka_unit_test(a_hundred_thousand_under_a_budget_are_served_once_in_98_ticks),
      cmocka_unit_test(a_cancel_is_told_outside_the_budget_and_while_paused),
      cmocka_unit_test(a_wait_of_nothing_takes_a_tick),
      cmocka_unit_test(three_thirds_of_a_second_end_a_wait_of_one),
      cmocka_unit_test(long_runs_keep_time),
      cmocka_unit_test(a_step_that_the_clock_cannot_take_is_known_before),
      cmocka_unit_test(a_deadline_past_the_end_of_time_never_comes),
      cmocka_unit_test(a_sleeper_cancelled_among_many_leaves_no_trace_in_the_heap),
      cmocka_unit_test(a_wake_ends_a_wait_and_leaves_a_place_in_line_alone),
      cmocka_unit_test(joiners_are_told_in_order_in_the_next_pass),
      cmocka_unit_test(a_join_that_times_out_is_forgotten),
      cmocka_unit_test(rings_of_joins_are_refused),
      cmocka_unit_test(after_eight_swallowed_cancels_it_is_forced),
      cmocka_unit_test(who_cancels_itself_is_told_at_its_next_wait),
      cmocka_unit_test(who_is_cancelled_with_an_armed_wait_does_not_sleep_it_out),
      cmocka_unit_test(disarming_in_the_cancel_lane_loses_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
