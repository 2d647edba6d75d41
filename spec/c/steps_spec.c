/* SPDX-License-Identifier: MIT */
/*
** steps_spec.c - fixed steps from C: their phase, how many there are, routines that count them.
*/
#include <string.h>

#include "core/world.h"
#include "support/ground.h"

static int steps;

static void count_steps(void *host, weft_phase phase, double dt)
{
  (void)host;
  if (phase != WEFT_FIXED_UPDATE) return;
  assert_true(dt == 0.25);
  steps++;
}

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {
      .capacity = 8, .fixed_step = 0.25, .hooks = {.phase = count_steps}};
  steps = 0;
  return make_ground(&config);
}

static uint64_t dropped(void)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  assert_int_equal(stats.fixed_steps, steps);
  return stats.dropped_steps;
}

static void each_step_of_sim_time_is_run_once(void **state)
{
  (void)state;
  tick(0.24);
  assert_int_equal(steps, 0);
  tick(0.01);
  assert_int_equal(steps, 1);
  tick(0.75);
  assert_int_equal(steps, 4);
  weft_world_pause(world);
  tick(1);
  assert_int_equal(steps, 4);
}

static void a_tick_runs_eight_and_counts_what_it_drops(void **state)
{
  (void)state;
  tick(2);
  assert_int_equal(steps, WEFT_MAX_FIXED_STEPS);
  assert_int_equal(dropped(), 0);
  tick(2.25);
  assert_int_equal(steps, 2 * WEFT_MAX_FIXED_STEPS);
  assert_int_equal(dropped(), 1);
  tick(8e9);
  assert_int_equal(steps, 3 * WEFT_MAX_FIXED_STEPS);
  assert_true(dropped() > UINT64_C(31000000000));
  tick(0.25);
  assert_int_equal(steps, 3 * WEFT_MAX_FIXED_STEPS + 1);
}

/* --- Routines ------------------------------------------------------------------------------ */

static weft_status wait_on_its_stack(weft_routine *self, void *arg)
{
  int64_t passed = 0;
  (void)self;
  assert_int_equal(weft_wait_fixed(0, NULL), WEFT_INVALID);
  weft_status status = weft_wait_fixed(*(int64_t *)arg, &passed);
  *(int64_t *)arg = status == WEFT_OK ? passed : status;
  return status;
}

static weft_status wait_compactly(weft_routine *self, void *arg)
{
  int64_t *count = arg;
  if (*count < 0) {
    *count = weft_slept(world, self);
    return weft_woken(self);
  }
  weft_status armed = weft_arm_wait_fixed(world, self, *count);
  if (armed != WEFT_OK) return armed;
  assert_int_equal(weft_routine_waiting(self), WEFT_WAITING_STEPS);
  assert_int_equal(weft_routine_wakes_in(world, self), -1);
  *count = -1;
  return WEFT_PARKED;
}

static void routines_wait_for_steps(void **state)
{
  (void)state;
  int64_t pinned = 3, compact = 2, most = INT64_MAX;
  start(wait_on_its_stack, &pinned);
  start(wait_compactly, &compact);
  weft_handle last = start(wait_on_its_stack, &most);
  tick(0.25);
  tick(0.25);
  assert_int_equal(compact, -1);
  tick(0.5);
  assert_int_equal(compact, 3);
  assert_int_equal(pinned, 3);
  assert_int_equal(weft_world_active(world), 1);
  assert_true(weft_cancel(world, last));
  tick(0);
  assert_int_equal(most, WEFT_CANCELLED);
}

static void dropped_steps_are_not_waited_for(void **state)
{
  (void)state;
  int64_t ten = 10;
  weft_handle handle = start(wait_on_its_stack, &ten);
  tick(0);
  tick(3600);
  assert_state(handle, WEFT_STATE_SLEEPING);
  tick(3600);
  assert_int_equal(ten, 16);
}

static void a_paused_world_keeps_them_waiting_and_a_wake_does_not(void **state)
{
  (void)state;
  int64_t one = 1;
  weft_handle handle = start(wait_on_its_stack, &one);
  tick(0);
  weft_world_pause(world);
  tick(5);
  assert_state(handle, WEFT_STATE_SLEEPING);
  weft_world_resume(world);
  assert_true(weft_routine_wake(world, weft_routine_find(world, handle)));
  tick(0);
  assert_int_equal(one, 0);
}

static void a_world_without_steps_says_so(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 8};
  int64_t one = 1;
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  start(wait_on_its_stack, &one);
  tick(1);
  assert_int_equal(one, WEFT_NOSTEPS);
  assert_int_equal(weft_wait_fixed(1, NULL), WEFT_OUTSIDE);
}

static void a_step_out_of_range_is_refused(void **state)
{
  (void)state;
  double bad[] = {-1, 0.9e-6, 1.1e9, 0.0 / 0.0, 1.0 / 0.0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    weft_world_config config = {.fixed_step = bad[i]};
    assert_int_equal(weft_world_configure(world, &config), WEFT_INVALID);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(each_step_of_sim_time_is_run_once),
      TEST(a_tick_runs_eight_and_counts_what_it_drops),
      TEST(routines_wait_for_steps),
      TEST(dropped_steps_are_not_waited_for),
      TEST(a_paused_world_keeps_them_waiting_and_a_wake_does_not),
      TEST(a_world_without_steps_says_so),
      TEST(a_step_out_of_range_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
