/* SPDX-License-Identifier: MIT */
/*
** timers_spec.c - timers from C: when they fire, in which order, what a call may do to others, groups,
** handles, memory.
*/
#include <errno.h>
#include <string.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"
#include "support/random.h"

#define SECOND INT64_C(1000000000)

static void say_ended(void *host, weft_timer timer, weft_timer_fn fn, void *arg)
{
  (void)host, (void)fn;
  assert_false(weft_timer_alive(world, timer));
  if (arg) say(arg);
}

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 8};
  return make_ground(&config);
}

static int make_telling_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 8, .hooks = {.timer_ended = say_ended}};
  return make_ground(&config);
}

static void tick_timers(double dt)
{
  tick(dt);
  assert_true(weft__timers_valid(&world->timers));
}

static void expect(const char *expected)
{
  assert_string_equal(story, expected);
  story[0] = '\0';
}

static uint32_t alive(void)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  return stats.timers;
}

static void say_name(void *name, weft_timer timer, int64_t intervals)
{
  (void)timer, (void)intervals;
  say(name);
}

static weft_timer arm(weft_timer_options options, weft_timer_fn fn, void *arg)
{
  weft_timer timer = 0;
  assert_int_equal(weft_timer_start(world, &options, fn, arg, &timer), WEFT_OK);
  assert_true(weft_timer_alive(world, timer));
  assert_true(weft__timers_valid(&world->timers));
  return timer;
}

static weft_timer after(double seconds, char *name)
{
  return arm((weft_timer_options){.delay = (int64_t)(seconds * 1e9), .count = 1}, say_name,
             name);
}

static weft_timer every(double seconds, char *name)
{
  int64_t ns = (int64_t)(seconds * 1e9);
  return arm((weft_timer_options){.delay = ns, .period = ns}, say_name, name);
}

static weft_owner make_owner(weft_owner parent)
{
  weft_owner owner = 0;
  assert_int_equal(weft_owner_new(world, parent, &owner), WEFT_OK);
  return owner;
}

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

/* --- Handles and limits -------------------------------------------------------------------- */

static void a_used_slot_never_confuses_an_old_handle(void **state)
{
  (void)state;
  weft_timer old = after(1, "old");
  assert_true(weft_timer_cancel(world, old));
  for (int i = 0; i < 200; i++) {
    weft_timer timer = after(1, "x");
    assert_true(timer != old);
    assert_false(weft_timer_alive(world, old) || weft_timer_cancel(world, old));
    assert_false(weft_timer_pause(world, old) || weft_timer_resume(world, old));
    assert_false(weft_timer_set_tag(world, old, 0));
    assert_int_equal(weft_timer_remaining(world, old), 0);
    weft_timer_cancel(world, timer);
  }
  weft_world *other;
  assert_int_equal(weft_world_new(NULL, &other), WEFT_OK);
  old = after(1, "mine");
  assert_false(weft_timer_alive(other, old) || weft_timer_cancel(other, old));
  assert_int_equal(weft_world_delete(other), WEFT_OK);
}

static void a_used_up_slot_is_retired(void **state)
{
  (void)state;
  world->timers.generation_end = 2;
  for (int i = 0; i < 200; i++) assert_true(weft_timer_cancel(world, after(1, "x")));
  assert_true(weft__timers_valid(&world->timers));
  assert_int_equal(world->timers.fresh, 100);
}

/* The ties of all arms, of which there are 2^40, are used up. */
static void timers_keep_their_order_when_their_places_are_numbered_anew(void **state)
{
  (void)state;
  for (int i = 0; i < 5; i++) assert_true(weft_timer_cancel(world, after(1, "x")));
  every(1, "a");
  weft_timer paused = every(1, "b");
  every(1, "c");
  assert_true(weft_timer_pause(world, paused));
  world->timers.sim_heap.sequence_end = world->timers.sim_heap.sequence;
  after(1, "d");
  assert_true(world->timers.sim_heap.sequence < world->timers.sim_heap.sequence_end);
  assert_true(weft_timer_resume(world, paused));
  tick_timers(1);
  expect("a b c d");
  tick_timers(1);
  expect("a b c");
}

static void arm_anew(void *name, weft_timer timer, int64_t intervals)
{
  say_name(name, timer, intervals);
  world->timers.sim_heap.sequence_end = world->timers.sim_heap.sequence;
  arm((weft_timer_options){.count = 1}, say_name, "new");
}

static void places_are_numbered_anew_between_two_calls_too(void **state)
{
  (void)state;
  for (int i = 0; i < 5; i++) assert_true(weft_timer_cancel(world, after(1, "x")));
  arm((weft_timer_options){.delay = SECOND, .count = 1}, arm_anew, "first");
  every(1, "a");
  weft_timer gone = every(1, "b");
  every(1, "c");
  tick_timers(1);
  expect("first a b c");
  assert_true(weft_timer_cancel(world, gone));
  tick_timers(1);
  expect("new a c");
}

static void arguments_out_of_range_are_refused(void **state)
{
  (void)state;
  weft_timer_options good = {.delay = 0}, bad[] = {{.delay = -1},
                                                   {.period = -1},
                                                   {.count = -1},
                                                   {.delay = 1000000000 * SECOND + 1},
                                                   {.period = 1000000000 * SECOND + 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(weft_timer_start(world, &bad[i], say_name, NULL, NULL), WEFT_INVALID);
  assert_int_equal(weft_timer_start(world, &good, NULL, NULL, NULL), WEFT_INVALID);
  good.owner = 12345;
  assert_int_equal(weft_timer_start(world, &good, say_name, NULL, NULL), WEFT_DESTROYED);
  weft_world_config config = {.timers = (1 << 24) + 1};
  assert_int_equal(weft_world_configure(world, &config), WEFT_INVALID);
  assert_int_equal(alive(), 0);
}

static void timers_outlive_configure(void **state)
{
  (void)state;
  weft_timer timer = after(1, "kept");
  weft_world_config config = {.capacity = 16, .timers = 500};
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_true(weft_timer_alive(world, timer));
  tick_timers(1);
  expect("kept");
}

/* --- Memory -------------------------------------------------------------------------------- */

static uint64_t asked(void)
{
  return failing_count(FAILING_MALLOC) + failing_count(FAILING_MAP);
}

static void nothing(void *arg, weft_timer timer, int64_t intervals)
{
  (void)arg, (void)timer, (void)intervals;
}

static void reserved_timers_ask_for_no_memory(void **state)
{
  (void)state;
  uint32_t count = unit_scaled(100000);
  weft_world_config config = {.timers = count};
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  uint64_t before = asked();
  unit_random dice = {7};
  for (uint32_t i = 0; i < count; i++) {
    weft_timer_options options = {.delay = unit_random_below(&dice, 10) * SECOND, .count = 1};
    assert_int_equal(weft_timer_start(world, &options, nothing, NULL, NULL), WEFT_OK);
  }
  for (int i = 0; i < 5; i++) tick(1);
  for (uint32_t i = alive(); i < count; i++) {
    weft_timer_options options = {.delay = SECOND};
    assert_int_equal(weft_timer_start(world, &options, nothing, NULL, NULL), WEFT_OK);
  }
  tick(20);
  assert_int_equal(asked(), before);
  assert_int_equal(
      weft_timer_start(world, &(weft_timer_options){.delay = 1}, nothing, NULL, NULL), WEFT_OK);
}

static void each_refusal_to_grow_is_told_and_loses_nothing(void **state)
{
  (void)state;
  weft_timer_options options = {.delay = SECOND, .count = 1};
  for (int i = 0; i < 64; i++) after(1, i % 32 ? "." : "x");
  for (uint64_t nth = 1;; nth++) {
    int64_t blocks = failing_blocks();
    failing_arm(FAILING_MALLOC, nth, 1000, ENOMEM);
    weft_status status = weft_timer_start(world, &options, say_name, "new", NULL);
    failing_disarm();
    assert_true(weft__timers_valid(&world->timers));
    if (status == WEFT_OK) break;
    assert_int_equal(status, WEFT_NOMEM);
    assert_int_equal(failing_blocks(), blocks);
    assert_true(nth < 10);
  }
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  uint32_t tag;
  assert_int_equal(weft_timer_tag_new(world, &tag), WEFT_NOMEM);
  failing_disarm();
  tick_timers(1);
  assert_int_equal(alive(), 0);
  assert_int_equal(strncmp(story, "x . .", 5), 0);
}

/* --- Random programs ----------------------------------------------------------------------- */

typedef struct ward {
  weft_timer timer;
  int64_t due; /* in sim time; -1: not known */
  bool over;
} ward;

#define WARDS 60
static ward wards[WARDS];

/* A one-shot timer on sim time fires in the first tick that has reached its deadline. */
static void check_due(void *arg, weft_timer timer, int64_t intervals)
{
  ward *w = arg;
  (void)intervals;
  assert_true(w->timer == timer && !w->over);
  w->over = true;
  if (w->due < 0) return;
  assert_true(w->due <= weft_world_sim_time(world) + WEFT_DUE_SLACK_NS);
}

static void take_step(unit_random *dice, weft_owner owner)
{
  ward *w = &wards[unit_random_below(dice, WARDS)];
  switch (unit_random_below(dice, 8)) {
  case 0:
    w->over |= weft_timer_cancel(world, w->timer);
    break;
  case 1:
    if (weft_timer_pause(world, w->timer)) w->due = -1;
    break;
  case 2:
    weft_timer_resume(world, w->timer);
    break;
  case 3:
    weft_owner_set_time_scale(world, owner, unit_random_below(dice, 4) / 2.0);
    break;
  default:
    if (weft_timer_alive(world, w->timer)) break;
    weft_timer_options options = {.delay = unit_random_deadline(dice) % (200 * SECOND),
                                  .count = 1,
                                  .owner = unit_random_chance(dice, 30) ? owner : 0,
                                  .unscaled = unit_random_chance(dice, 20)};
    bool plain = options.owner == 0 && !options.unscaled;
    *w = (ward){.due = plain ? weft_world_sim_time(world) + options.delay : -1};
    assert_int_equal(weft_timer_start(world, &options, check_due, w, &w->timer), WEFT_OK);
  }
}

static const char *run_program(uint64_t seed)
{
  unit_random dice = {seed};
  weft_owner owner = make_owner(0);
  memset(wards, 0, sizeof wards);
  for (int step = 0; step < 300; step++) {
    take_step(&dice, owner);
    if (!weft__timers_valid(&world->timers)) return "the timers are not sound";
    if (unit_random_chance(&dice, 80)) continue;
    tick(unit_random_below(&dice, 4000) / 1000.0);
    if (!weft__timers_valid(&world->timers)) return "the timers are not sound after a tick";
    for (int i = 0; i < WARDS; i++)
      if (!wards[i].over && wards[i].due >= 0 && wards[i].timer != 0 &&
          wards[i].due <= weft_world_sim_time(world))
        return "a timer that is due has not fired";
  }
  weft_owner_destroy(world, owner);
  weft_world_drain(world, 1, NULL);
  return alive() == 0 ? NULL : "timers are left";
}

static void random_programs_keep_the_timers_sound(void **state)
{
  (void)state;
  unit_for_seeds(200, run_program);
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
      TEST(a_used_slot_never_confuses_an_old_handle),
      TEST(a_used_up_slot_is_retired),
      TEST(timers_keep_their_order_when_their_places_are_numbered_anew),
      TEST(places_are_numbered_anew_between_two_calls_too),
      TEST(arguments_out_of_range_are_refused),
      TEST(timers_outlive_configure),
      TEST(reserved_timers_ask_for_no_memory),
      TEST(each_refusal_to_grow_is_told_and_loses_nothing),
      TEST(random_programs_keep_the_timers_sound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
