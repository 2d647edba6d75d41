/* SPDX-License-Identifier: MIT */
/*
** cancel_spec.c - how routines end: cancels, what swallows them, drains, joins and their answers.
*/
#include <string.h>

#include "core/world.h"
#include "support/ground.h"

#define SECOND INT64_C(1000000000)

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 64};
  return make_ground(&config);
}

static uint32_t drain(uint32_t passes)
{
  uint32_t left = UINT32_MAX;
  assert_int_equal(weft_world_drain(world, passes, &left), WEFT_OK);
  assert_true(weft__sched_valid(&world->sched));
  return left;
}

/* Notes what its wait answered, and ends with it. */
static weft_status sleep_once(weft_routine *self, void *arg)
{
  weft_status *told = arg;
  (void)self;
  *told = weft_wait(100 * SECOND);
  return *told;
}

/* The same without a stack. */
static weft_status sleep_compactly(weft_routine *self, void *arg)
{
  weft_status *told = arg;
  if (*told == WEFT_INVALID) {
    *told = weft_arm_wait(world, self, 100 * SECOND);
    return *told == WEFT_OK ? WEFT_PARKED : *told;
  }
  *told = weft_woken(self);
  return *told;
}

/* --- Cancelling ---------------------------------------------------------------------------- */

static void an_unstarted_one_is_cancelled_at_once_and_never_entered(void **state)
{
  (void)state;
  weft_status told = WEFT_INVALID;
  weft_handle handle = start(sleep_once, &told);
  assert_true(weft_cancel(world, handle));
  assert_state(handle, WEFT_STATE_CANCELLED);
  assert_false(weft_cancel(world, handle));
  assert_int_equal(tick(0), 0);
  assert_int_equal(told, WEFT_INVALID);
}

static void a_waiting_one_is_told_in_the_next_tick(void **state)
{
  (void)state;
  weft_body bodies[] = {sleep_once, sleep_compactly};
  for (int i = 0; i < 2; i++) {
    weft_status told = WEFT_INVALID;
    weft_handle handle = start(bodies[i], &told);
    tick(0);
    assert_true(weft_cancel(world, handle));
    assert_true(weft_cancel(world, handle));
    assert_state(handle, WEFT_STATE_CANCELLING);
    assert_true(weft_routine_cancelled(weft_routine_find(world, handle)));
    weft_world_pause(world);
    assert_int_equal(tick(0), 1); /* also while paused */
    weft_world_resume(world);
    assert_int_equal(told, WEFT_CANCELLED);
    assert_state(handle, WEFT_STATE_CANCELLED);
    assert_false(weft_cancel(world, handle));
  }
}

static weft_status cancel_myself(weft_routine *self, void *arg)
{
  weft_status *told = arg;
  assert_true(weft_cancel(world, weft_routine_handle(world, self)));
  assert_int_equal(weft_routine_state_of(self), WEFT_STATE_CANCELLING);
  told[0] = weft_wait(SECOND);
  told[1] = weft_wait(SECOND); /* swallowed: takes a tick */
  return WEFT_OK;
}

static void who_cancels_itself_is_told_at_once_and_then_once_a_tick(void **state)
{
  (void)state;
  weft_status told[2] = {WEFT_INVALID, WEFT_INVALID};
  weft_handle handle = start(cancel_myself, told);
  tick(0);
  assert_int_equal(told[0], WEFT_CANCELLED);
  assert_int_equal(told[1], WEFT_INVALID);
  tick(0);
  assert_int_equal(told[1], WEFT_CANCELLED);
  assert_state(handle, WEFT_STATE_COMPLETED); /* a body that ends well although asked to stop */
}

static weft_status cancel_with_an_armed_wait(weft_routine *self, void *arg)
{
  weft_status *told = arg;
  assert_int_equal(weft_arm_wait(world, self, 100 * SECOND), WEFT_OK);
  assert_true(weft_cancel(world, weft_routine_handle(world, self)));
  *told = weft_park(world, self);
  return *told;
}

static void who_cancels_itself_with_an_armed_wait_is_told_in_the_next_tick(void **state)
{
  (void)state;
  weft_status told = WEFT_INVALID;
  start(cancel_with_an_armed_wait, &told);
  assert_int_equal(tick(0), 1);
  assert_int_equal(tick(0), 1);
  assert_int_equal(told, WEFT_CANCELLED);
}

/* Goes on waiting for ever, and counts how often it was told what. */
static weft_status swallow(weft_routine *self, void *arg)
{
  uint32_t *told = arg;
  (void)self;
  while (told[0] < 1000) {
    weft_status status = weft_wait(100 * SECOND);
    assert_int_equal(status, WEFT_CANCELLED);
    told[0]++;
  }
  return WEFT_OK;
}

static void a_swallower_on_its_stack_is_told_once_a_tick_for_ever(void **state)
{
  (void)state;
  uint32_t told = 0;
  weft_handle handle = start(swallow, &told);
  tick(0);
  weft_cancel(world, handle);
  for (uint32_t i = 1; i <= 40; i++) {
    assert_int_equal(tick(0), 1);
    assert_int_equal(told, i);
    assert_state(handle, WEFT_STATE_CANCELLING);
  }
  assert_int_equal(drain(8), 1); /* nor does a drain hang on it */
  assert_int_equal(told, 48);
}

/* Swallows compactly; ends when it is forced to. */
static weft_status swallow_compactly(weft_routine *self, void *arg)
{
  uint32_t *told = arg;
  if (weft_woken(self) == WEFT_CANCELLED) ++*told;
  weft_status status = weft_arm_wait_unscaled(world, self, 100 * SECOND);
  return status == WEFT_OK ? WEFT_PARKED : status;
}

static void a_compact_swallower_is_forced_after_the_eighth(void **state)
{
  (void)state;
  uint32_t told = 0;
  weft_handle handle = start(swallow_compactly, &told);
  tick(0);
  weft_cancel(world, handle);
  for (uint32_t i = 1; i < WEFT_MAX_SWALLOWED; i++) {
    assert_int_equal(tick(0), 1);
    assert_int_equal(told, i);
    assert_state(handle, WEFT_STATE_CANCELLING);
  }
  assert_int_equal(tick(0), 1);
  assert_int_equal(told, WEFT_MAX_SWALLOWED);
  assert_state(handle, WEFT_STATE_CANCELLED);
}

static weft_status fail_on_cancel(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(SECOND) == WEFT_CANCELLED ? WEFT_TIMEOUT : WEFT_OK;
}

static void another_failure_on_the_way_is_a_failure(void **state)
{
  (void)state;
  weft_handle handle = start(fail_on_cancel, NULL);
  tick(0);
  weft_cancel(world, handle);
  tick(0);
  assert_state(handle, WEFT_STATE_FAILED);
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  assert_int_equal(stats.failed, 1);
  assert_int_equal(stats.active, 0);
}

/* --- Draining ------------------------------------------------------------------------------ */

static void a_drain_ends_all_and_no_time_passes(void **state)
{
  (void)state;
  weft_status told[3] = {WEFT_INVALID, WEFT_INVALID, WEFT_INVALID};
  start(sleep_once, &told[0]);
  start(sleep_compactly, &told[1]);
  tick(1);
  start(sleep_once, &told[2]);
  assert_int_equal(drain(1), 0);
  assert_int_equal(told[0], WEFT_CANCELLED);
  assert_int_equal(told[1], WEFT_CANCELLED);
  assert_int_equal(told[2], WEFT_INVALID);
  assert_int_equal(weft_world_sim_time(world), SECOND);
  assert_int_equal(weft_world_tick_count(world), 1);
  assert_int_equal(drain(0), 0);
}

static void the_last_pass_of_a_drain_forces(void **state)
{
  (void)state;
  uint32_t told = 0;
  weft_handle handle = start(swallow_compactly, &told);
  tick(0);
  assert_int_equal(drain(0), 1);
  assert_state(handle, WEFT_STATE_SLEEPING);
  assert_int_equal(drain(3), 0);
  assert_int_equal(told, 3);
  assert_state(handle, WEFT_STATE_CANCELLED);
}

static weft_status start_another_at_the_end(weft_routine *self, void *arg)
{
  weft_status status = weft_next_tick();
  (void)self;
  start(sleep_once, arg);
  return status;
}

static void what_is_started_in_a_drain_is_drained(void **state)
{
  (void)state;
  weft_status told = WEFT_INVALID;
  start(start_another_at_the_end, &told);
  tick(0);
  assert_int_equal(drain(1), 1);
  assert_int_equal(drain(1), 0);
  assert_int_equal(told, WEFT_INVALID);
}

/* --- Joining ------------------------------------------------------------------------------- */

typedef struct join {
  weft_handle target;
  int64_t timeout;
  weft_status answer;
  weft_state joined;
} join;

static weft_status join_it(weft_routine *self, void *arg)
{
  join *it = arg;
  it->answer = weft_join(it->target, it->timeout);
  it->joined = weft_joined(self);
  return WEFT_OK;
}

static weft_status return_it(weft_routine *self, void *arg)
{
  (void)self;
  weft_status status = weft_wait(SECOND);
  return status == WEFT_OK ? *(weft_status *)arg : status;
}

static void joiners_wait_for_the_end_and_hear_which(void **state)
{
  (void)state;
  weft_status ends[3] = {WEFT_OK, WEFT_FAILED, WEFT_OK};
  weft_state states[3] = {WEFT_STATE_COMPLETED, WEFT_STATE_FAILED, WEFT_STATE_CANCELLED};
  join joins[6];
  for (int i = 0; i < 3; i++) {
    weft_handle target = start(return_it, &ends[i]);
    for (int j = 2 * i; j < 2 * i + 2; j++) {
      joins[j] = (join){.target = target, .timeout = j % 2 ? -1 : 100 * SECOND};
      start(join_it, &joins[j]);
    }
  }
  tick(0);
  assert_true(weft_routine_has_joiners(weft_routine_find(world, joins[0].target)));
  weft_cancel(world, joins[4].target);
  tick(1);
  tick(0);
  for (int j = 0; j < 6; j++) {
    assert_int_equal(joins[j].answer, WEFT_OK);
    assert_int_equal(joins[j].joined, states[j / 2]);
    assert_state(joins[j].target, states[j / 2]);
  }
}

static void joins_of_the_ended_the_gone_and_oneself_answer_at_once(void **state)
{
  (void)state;
  weft_status end = WEFT_OK;
  join ended = {.target = start(return_it, &end), .timeout = -1, .answer = WEFT_INVALID};
  tick(0);
  tick(1);
  join gone = {.target = 12345, .timeout = 5, .answer = WEFT_INVALID};
  join none = {.target = 0, .timeout = -1, .answer = WEFT_INVALID};
  join own = {.timeout = -1, .answer = WEFT_INVALID};
  start(join_it, &ended);
  start(join_it, &gone);
  start(join_it, &none);
  own.target = start(join_it, &own);
  tick(0);
  assert_int_equal(ended.answer, WEFT_OK);
  assert_int_equal(gone.answer, WEFT_EXPIRED);
  assert_int_equal(none.answer, WEFT_EXPIRED);
  assert_int_equal(own.answer, WEFT_SELF);
}

static void a_ring_of_joins_is_refused_where_it_would_close(void **state)
{
  (void)state;
  join ring[3];
  for (int i = 0; i < 3; i++) ring[i] = (join){.timeout = -1, .answer = WEFT_INVALID};
  for (int i = 0; i < 3; i++) {
    weft_handle handle = start(join_it, &ring[i]);
    ring[(i + 1) % 3].target = handle; /* each joins the one before it; the first the last */
  }
  tick(0);
  assert_int_equal(ring[2].answer, WEFT_RING);
  for (int i = 0; i < 3; i++) tick(0);
  assert_int_equal(ring[0].answer, WEFT_OK);
  assert_int_equal(ring[1].answer, WEFT_OK);
}

static void a_join_has_a_time_limit_and_can_be_cancelled(void **state)
{
  (void)state;
  weft_status end = WEFT_OK;
  weft_handle target = start(return_it, &end);
  join limited = {.target = target, .timeout = SECOND / 2, .answer = WEFT_INVALID};
  join told = {.target = target, .timeout = -1, .answer = WEFT_INVALID};
  start(join_it, &limited);
  weft_handle handle = start(join_it, &told);
  tick(0);
  weft_cancel(world, handle);
  tick(0.25);
  assert_int_equal(told.answer, WEFT_CANCELLED);
  assert_int_equal(limited.answer, WEFT_INVALID);
  tick(0.25);
  assert_int_equal(limited.answer, WEFT_TIMEOUT);
  assert_false(weft_routine_has_joiners(weft_routine_find(world, target)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

/* Waits twice behind a shield, then once without. */
static weft_status sleep_shielded(weft_routine *self, void *arg)
{
  weft_status *told = arg;
  if (!weft_shield(world, self, true)) return WEFT_FAILED;
  told[0] = weft_wait(SECOND);
  if (told[0] != WEFT_OK) return told[0];
  told[1] = weft_wait(SECOND);
  if (!weft_shield(world, self, false) || weft_shield(world, self, false)) return WEFT_FAILED;
  told[2] = weft_wait(SECOND);
  return told[2];
}

static void a_shield_holds_a_cancel_back(void **state)
{
  (void)state;
  weft_status told[3] = {WEFT_FAILED, WEFT_FAILED, WEFT_FAILED};
  weft_handle handle = start(sleep_shielded, told);
  tick(0);
  assert_true(weft_cancel(world, handle));
  assert_state(handle, WEFT_STATE_CANCELLING);
  tick(1);
  tick(1);
  assert_int_equal(told[0], WEFT_OK);
  assert_int_equal(told[1], WEFT_OK);
  assert_int_equal(told[2], WEFT_CANCELLED);
  assert_state(handle, WEFT_STATE_CANCELLED);
}

static void the_last_pass_of_a_drain_goes_through_a_shield(void **state)
{
  (void)state;
  weft_status told[3] = {WEFT_FAILED, WEFT_FAILED, WEFT_FAILED};
  start(sleep_shielded, told);
  tick(0);
  assert_int_equal(drain(3), 0);
  assert_int_equal(told[0], WEFT_CANCELLED);
}

static weft_status raise_all_shields(weft_routine *self, void *arg)
{
  int *count = arg;
  while (weft_shield(world, self, true)) ++*count;
  return WEFT_OK;
}

static void shields_are_counted_to_their_limit(void **state)
{
  (void)state;
  int count = 0;
  start(raise_all_shields, &count);
  tick(0);
  assert_int_equal(count, 63);
  assert_false(weft_shield(world, NULL, true));
}

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(an_unstarted_one_is_cancelled_at_once_and_never_entered),
      TEST(a_waiting_one_is_told_in_the_next_tick),
      TEST(who_cancels_itself_is_told_at_once_and_then_once_a_tick),
      TEST(who_cancels_itself_with_an_armed_wait_is_told_in_the_next_tick),
      TEST(a_swallower_on_its_stack_is_told_once_a_tick_for_ever),
      TEST(a_compact_swallower_is_forced_after_the_eighth),
      TEST(another_failure_on_the_way_is_a_failure),
      TEST(a_drain_ends_all_and_no_time_passes),
      TEST(the_last_pass_of_a_drain_forces),
      TEST(what_is_started_in_a_drain_is_drained),
      TEST(joiners_wait_for_the_end_and_hear_which),
      TEST(joins_of_the_ended_the_gone_and_oneself_answer_at_once),
      TEST(a_ring_of_joins_is_refused_where_it_would_close),
      TEST(a_join_has_a_time_limit_and_can_be_cancelled),
      TEST(a_shield_holds_a_cancel_back),
      TEST(the_last_pass_of_a_drain_goes_through_a_shield),
      TEST(shields_are_counted_to_their_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
