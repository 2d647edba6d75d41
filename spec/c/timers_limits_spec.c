/* SPDX-License-Identifier: MIT */
/*
** timers_limits_spec.c - timers at their limits: handles and places that are used up, memory that is
** missing, random programs.
*/
#include <errno.h>
#include <string.h>

#include "support/failing.h"
#include "support/random.h"
#include "timers_ground.h"

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

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
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
