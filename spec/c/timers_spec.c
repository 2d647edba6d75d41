/* SPDX-License-Identifier: MIT */
/*
** timers_spec.c - timers from C: when they fire, in which order, what a call may do to others, pauses,
** groups.
*/
#include "timers_ground.h"

/* --- When and in which order --------------------------------------------------------------- */

static void timers_fire_by_deadline_then_by_creation(void **state)
{
  (void)state;
  after(2, "late"), after(1, "a"), after(0.5, "early"), after(1, "b");
  weft_timer_options real = {.delay = SECOND, .count = 1, .unscaled = true};
  arm(real, say_name, "real");
  after(1, "c");
  tick_timers(0.999);
  expect("early");
  tick_timers(0.001);
  expect("real a b c");
  tick_timers(1);
  expect("late");
  assert_int_equal(alive(), 0);
}

static void a_repeating_timer_keeps_its_place_among_equal_ones(void **state)
{
  (void)state;
  every(0.5, "x"), every(1, "y"), after(2, "z");
  for (int i = 0; i < 4; i++) tick_timers(0.5);
  expect("x x y x x y z");
}

static void count_intervals(void *arg, weft_timer timer, int64_t intervals)
{
  (void)timer;
  int64_t *counts = arg;
  counts[0]++;
  counts[1] += intervals;
}

static void a_late_timer_is_called_once_and_told_all_it_missed(void **state)
{
  (void)state;
  int64_t counts[2] = {0, 0};
  arm((weft_timer_options){.delay = SECOND / 100, .period = SECOND / 100}, count_intervals,
      counts);
  tick_timers(0.01);
  assert_int_equal(counts[1], 1);
  tick_timers(3600);
  assert_int_equal(counts[0], 2);
  assert_int_equal(counts[1], 360001);
  for (int i = 0; i < 10; i++) tick_timers(0.01);
  assert_int_equal(counts[0], 12);
  assert_int_equal(counts[1], 360011);
}

static void a_count_bounds_the_intervals(void **state)
{
  (void)state;
  int64_t counts[2] = {0, 0};
  weft_timer_options five = {.delay = SECOND, .period = SECOND, .count = 5};
  weft_timer timer = arm(five, count_intervals, counts);
  tick_timers(2);
  tick_timers(100);
  assert_int_equal(counts[0], 2);
  assert_int_equal(counts[1], 5);
  assert_false(weft_timer_alive(world, timer));
}

static void a_first_delay_stands_apart_from_the_period(void **state)
{
  (void)state;
  arm((weft_timer_options){.delay = SECOND / 4, .period = SECOND}, say_name, "d");
  tick_timers(0.25);
  expect("d");
  tick_timers(0.75);
  expect("");
  tick_timers(0.25);
  expect("d");
}

static void a_period_of_0_is_each_tick(void **state)
{
  (void)state;
  every(0, "t");
  tick_timers(0), tick_timers(5), tick_timers(0);
  expect("t t t");
  weft_world_pause(world);
  tick_timers(1);
  expect("");
}

static void the_longest_of_times_never_comes(void **state)
{
  (void)state;
  int64_t longest = 1000000000 * SECOND;
  arm((weft_timer_options){.delay = longest, .period = longest}, say_name, "never");
  tick_timers(0.9e9);
  expect("");
  tick_timers(8e9);
  expect("never");
  weft_timer last = arm((weft_timer_options){.delay = longest}, say_name, "end");
  tick_timers(0.2e9);
  assert_true(weft_timer_alive(world, last));
}

/* --- Inside calls -------------------------------------------------------------------------- */

static void arm_another(void *name, weft_timer timer, int64_t intervals)
{
  (void)timer, (void)intervals;
  after(0, name);
  say("armed");
}

static void a_timer_of_a_call_fires_in_a_later_tick(void **state)
{
  (void)state;
  arm((weft_timer_options){.count = 1}, arm_another, "then");
  tick_timers(10);
  expect("armed");
  tick_timers(0);
  expect("then");
}

static void arm_in_a_post(void *name)
{
  after(0, name);
}

static void so_does_one_of_a_post(void **state)
{
  (void)state;
  assert_int_equal(weft_world_post(world, arm_in_a_post, "posted", WEFT_NORMAL), WEFT_OK);
  tick_timers(1);
  expect("");
  tick_timers(0);
  expect("posted");
}

static weft_timer siblings[2];

static void end_the_siblings(void *arg, weft_timer timer, int64_t intervals)
{
  (void)arg, (void)intervals;
  say("killer");
  assert_true(weft_timer_cancel(world, siblings[0]));
  assert_false(weft_timer_cancel(world, siblings[0]));
  assert_true(weft_timer_pause(world, siblings[1]));
  assert_true(weft_timer_alive(world, timer));
  assert_true(weft_timer_cancel(world, timer));
}

static void a_call_reaches_those_due_in_the_same_tick_and_itself(void **state)
{
  (void)state;
  every(1, "first");
  arm((weft_timer_options){.delay = SECOND, .period = SECOND}, end_the_siblings, NULL);
  siblings[0] = every(1, "dead");
  siblings[1] = every(1, "paused");
  every(1, "last");
  tick_timers(1);
  expect("first killer last");
  /* It goes on with what was left, nothing: so its deadline is the older one. */
  assert_true(weft_timer_resume(world, siblings[1]));
  tick_timers(1);
  expect("paused first last");
}

static void is_over_in_its_last_call(void *arg, weft_timer timer, int64_t intervals)
{
  (void)arg, (void)intervals;
  assert_false(weft_timer_alive(world, timer));
  assert_false(weft_timer_cancel(world, timer));
  say("called");
}

static void the_end_is_told_once_and_after_the_last_call(void **state)
{
  (void)state;
  arm((weft_timer_options){.count = 1}, is_over_in_its_last_call, "ended");
  tick_timers(0);
  expect("called ended");
  weft_timer timer = every(1, "cancelled");
  assert_true(weft_timer_cancel(world, timer));
  expect("cancelled");
  after(5, "drained");
  assert_int_equal(weft_world_drain(world, 8, NULL), WEFT_OK);
  expect("drained");
  assert_int_equal(alive(), 0);
}

/* --- Pauses -------------------------------------------------------------------------------- */

static void a_paused_timer_keeps_what_is_left(void **state)
{
  (void)state;
  weft_timer timer = every(1, "p");
  tick_timers(0.25);
  assert_true(weft_timer_pause(world, timer));
  assert_false(weft_timer_pause(world, timer));
  tick_timers(100);
  expect("");
  assert_int_equal(weft_timer_remaining(world, timer), 3 * SECOND / 4);
  assert_true(weft_timer_resume(world, timer));
  assert_false(weft_timer_resume(world, timer));
  tick_timers(0.5);
  expect("");
  tick_timers(0.25);
  expect("p");
  assert_int_equal(weft_timer_remaining(world, timer), SECOND);
}

static void a_paused_world_stops_sim_timers_alone(void **state)
{
  (void)state;
  after(1, "sim");
  arm((weft_timer_options){.delay = SECOND, .period = SECOND, .unscaled = true}, say_name,
      "real");
  weft_world_pause(world);
  tick_timers(2);
  expect("real");
  weft_world_resume(world);
  tick_timers(1);
  expect("real sim");
}

/* --- Groups -------------------------------------------------------------------------------- */

static void owners_end_their_timers_and_those_below(void **state)
{
  (void)state;
  weft_owner top = make_owner(0), below = make_owner(top);
  weft_timer_options of_top = {.delay = SECOND, .owner = top};
  weft_timer_options of_below = {.delay = SECOND, .owner = below};
  arm(of_top, say_name, "top"), arm(of_below, say_name, "below"), after(1, "free");
  assert_true(weft_owner_disable(world, top));
  expect("top below");
  weft_timer timer;
  assert_int_equal(weft_timer_start(world, &of_below, say_name, NULL, &timer), WEFT_DISABLED);
  assert_true(weft_owner_enable(world, top));
  arm(of_below, say_name, "again");
  assert_true(weft_owner_destroy(world, top));
  expect("again");
  assert_int_equal(weft_timer_start(world, &of_top, say_name, NULL, &timer), WEFT_DESTROYED);
  tick_timers(1);
  expect("free free");
}

static void owners_scale_their_timers(void **state)
{
  (void)state;
  weft_owner top = make_owner(0), below = make_owner(top);
  weft_timer slow =
      arm((weft_timer_options){.delay = SECOND, .owner = below}, say_name, "slow");
  arm((weft_timer_options){.delay = SECOND, .count = 1, .owner = below, .unscaled = true},
      say_name, "real");
  assert_int_equal(weft_owner_set_time_scale(world, top, 0.5), WEFT_OK);
  assert_int_equal(weft_owner_set_time_scale(world, below, 0.5), WEFT_OK);
  tick_timers(1);
  expect("real");
  assert_int_equal(weft_timer_remaining(world, slow), 3 * SECOND / 4);
  assert_int_equal(weft_owner_set_time_scale(world, top, 0), WEFT_OK);
  tick_timers(100);
  expect("");
  assert_int_equal(weft_owner_set_time_scale(world, top, 1), WEFT_OK);
  tick_timers(1.25);
  expect("");
  tick_timers(0.25);
  expect("slow");
}

static void groups_are_paused_resumed_and_cancelled_as_one(void **state)
{
  (void)state;
  uint32_t tag, other;
  assert_int_equal(weft_timer_tag_new(world, &tag), WEFT_OK);
  weft_timer one = every(1, "one"), two = every(1, "two");
  assert_true(weft_timer_set_tag(world, one, tag));
  assert_true(weft_timer_set_tag(world, two, tag));
  assert_int_equal(weft_timer_tag_new(world, &other), WEFT_OK);
  assert_true(other != tag);
  assert_false(weft_timer_set_tag(world, one, other + 1));
  assert_int_equal(weft_timers_of_tag(world, tag, WEFT_TIMER_PAUSE), 2);
  assert_int_equal(weft_timers_of_tag(world, tag, WEFT_TIMER_PAUSE), 0);
  tick_timers(1);
  expect("");
  assert_int_equal(weft_timers_of_tag(world, tag, WEFT_TIMER_RESUME), 2);
  assert_true(weft_timer_set_tag(world, two, other));
  assert_int_equal(weft_timers_of_tag(world, tag, WEFT_TIMER_CANCEL), 1);
  tick_timers(1);
  expect("two");
  assert_int_equal(weft_timer_tag_new(world, &tag), WEFT_OK);
  assert_int_equal(weft_timers_of_tag(world, tag, WEFT_TIMER_CANCEL), 0);
  assert_int_equal(weft_timers_of_tag(world, 99, WEFT_TIMER_CANCEL), 0);
}

static void tags_that_are_not_used_are_given_out_again(void **state)
{
  (void)state;
  uint32_t tag = 0;
  weft_timer timer = after(1, "x");
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(weft_timer_tag_new(world, &tag), WEFT_OK);
    assert_true(weft_timer_set_tag(world, timer, tag));
  }
  assert_true(tag <= 2);
  assert_true(weft__timers_valid(&world->timers));
}

static void an_owner_is_a_group_too(void **state)
{
  (void)state;
  weft_owner top = make_owner(0), below = make_owner(top);
  arm((weft_timer_options){.delay = SECOND, .count = 1, .owner = top}, say_name, "a");
  arm((weft_timer_options){.delay = SECOND, .count = 1, .owner = below}, say_name, "b");
  assert_int_equal(weft_timers_of_owner(world, top, WEFT_TIMER_PAUSE), 2);
  tick_timers(1);
  assert_int_equal(weft_timers_of_owner(world, below, WEFT_TIMER_RESUME), 1);
  tick_timers(1);
  expect("b");
  assert_int_equal(weft_timers_of_owner(world, top, WEFT_TIMER_CANCEL), 1);
  assert_int_equal(weft_timers_of_owner(world, 0, WEFT_TIMER_CANCEL), 0);
  assert_int_equal(alive(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)
#define TELLING(name) cmocka_unit_test_setup_teardown(name, make_telling_world, drop_ground)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(timers_fire_by_deadline_then_by_creation),
      TEST(a_repeating_timer_keeps_its_place_among_equal_ones),
      TEST(a_late_timer_is_called_once_and_told_all_it_missed),
      TEST(a_count_bounds_the_intervals),
      TEST(a_first_delay_stands_apart_from_the_period),
      TEST(a_period_of_0_is_each_tick),
      TEST(the_longest_of_times_never_comes),
      TEST(a_timer_of_a_call_fires_in_a_later_tick),
      TEST(so_does_one_of_a_post),
      TEST(a_call_reaches_those_due_in_the_same_tick_and_itself),
      TELLING(the_end_is_told_once_and_after_the_last_call),
      TEST(a_paused_timer_keeps_what_is_left),
      TEST(a_paused_world_stops_sim_timers_alone),
      TELLING(owners_end_their_timers_and_those_below),
      TEST(owners_scale_their_timers),
      TEST(groups_are_paused_resumed_and_cancelled_as_one),
      TEST(tags_that_are_not_used_are_given_out_again),
      TEST(an_owner_is_a_group_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
