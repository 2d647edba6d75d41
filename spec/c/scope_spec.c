/* SPDX-License-Identifier: MIT */
/*
** scope_spec.c - what scopes are built upon, in C: interrupts, last joins, hosts.
*/
#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"
#include "support/unit.h"

#define SECOND INT64_C(1000000000)

static bool told_joined;

static void remember_joined(void *host, weft_routine *routine, bool joined)
{
  (void)host, (void)routine;
  told_joined = joined;
}

static int make_world(void **state)
{
  (void)state;
  told_joined = false;
  weft_world_config config = {.capacity = 16, .hooks = {.ended = remember_joined}};
  return make_ground(&config);
}

static weft_routine *find(weft_handle handle)
{
  weft_routine *routine = weft_routine_find(world, handle);
  assert_non_null(routine);
  return routine;
}

static void say_status(weft_status status)
{
  say(status == WEFT_OK ? "ok" : status == WEFT_CANCELLED ? "told" : "other");
}

/* Waits until it has been told of nothing. */
static weft_status waits(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  for (;;) {
    weft_status status = weft_wait(SECOND);
    say_status(status);
    if (status == WEFT_OK) return status;
  }
}

static void an_interrupt_tells_at_each_wait_until_it_is_taken_back(void **state)
{
  (void)state;
  weft_handle handle = start(waits, NULL);
  assert_false(weft_interrupt(world, find(handle), 1)); /* never resumed */
  tick(0);
  assert_false(weft_interrupt(world, find(handle), 65));
  assert_true(weft_interrupt(world, find(handle), 1));
  assert_true(weft_interrupt(world, find(handle), 1));
  assert_false(weft_routine_cancelled(find(handle)));
  assert_true(weft_told(world, find(handle)));
  tick(0);
  tick(0);
  assert_string_equal(story, "told told");
  assert_false(weft_interrupt(world, find(handle), 0)); /* it does not run */
  weft_cancel(world, handle);
  assert_true(weft_routine_cancelled(find(handle)));
  tick(0);
  assert_string_equal(story, "told told told");
}

/* Interrupts itself at a level under some shields, and says what its waits answer. */
static weft_status under_shields(weft_routine *self, void *arg)
{
  const uint32_t *level = arg;
  weft_shield(world, self, true);
  weft_interrupt(world, self, *level);
  assert_int_equal(weft_shields(self), 1);
  say_status(weft_next_tick());
  weft_shield(world, self, false);
  say_status(weft_next_tick());
  assert_true(weft_interrupt(world, self, 0));
  assert_false(weft_told(world, self));
  say_status(weft_next_tick());
  return WEFT_OK;
}

static void an_interrupt_comes_through_fewer_shields_than_its_level(void **state)
{
  (void)state;
  static const uint32_t levels[] = {1, 2};
  weft_handle handle = start(under_shields, (void *)&levels[0]);
  for (int i = 0; i < 3; i++) tick(0);
  assert_string_equal(story, "ok told ok");
  assert_state(handle, WEFT_STATE_COMPLETED);
  story[0] = '\0';
  handle = start(under_shields, (void *)&levels[1]);
  for (int i = 0; i < 4; i++) tick(0);
  assert_string_equal(story, "told told ok");
  assert_state(handle, WEFT_STATE_COMPLETED);
}

/* Is cancelled behind a shield, is interrupted through it, and hears of the cancel when all is over. */
static weft_status held_and_interrupted(weft_routine *self, void *arg)
{
  (void)arg;
  weft_shield(world, self, true);
  say_status(weft_next_tick());
  weft_routine_cancel(world, self);
  weft_interrupt(world, self, 2);
  say_status(weft_next_tick());
  weft_interrupt(world, self, 0);
  say_status(weft_next_tick());
  weft_shield(world, self, false);
  say_status(weft_next_tick());
  return WEFT_OK;
}

static void a_held_cancel_outlasts_an_interrupt(void **state)
{
  (void)state;
  start(held_and_interrupted, NULL);
  for (int i = 0; i < 5; i++) tick(0);
  assert_string_equal(story, "ok told ok told");
}

/* --- Hosts --------------------------------------------------------------------------------- */

static weft_handle child_handle, host_handle;

static weft_status sleeps(weft_routine *self, void *arg)
{
  (void)self;
  weft_status status = weft_wait(*(const int64_t *)arg);
  say(status == WEFT_CANCELLED ? "child" : "slept");
  return status;
}

static const int64_t a_second = SECOND, an_hour = 3600 * SECOND;

/* Hosts a child and joins it, for the last time if it is told to stop. */
static weft_status hosts(weft_routine *self, void *arg)
{
  bool done = false;
  assert_int_equal(weft_routine_start(world, sleeps, arg, &child_handle), WEFT_OK);
  weft_adopt(world, self, find(child_handle), 0);
  assert_int_equal(weft_arm_last_join(world, self, child_handle, &done), WEFT_OUTSIDE);
  weft_status status = weft_join(child_handle, -1);
  if (status != WEFT_CANCELLED) return status;
  say("told");
  status = weft_arm_last_join(world, self, child_handle, &done);
  if (status == WEFT_OK && !done) status = weft_park(world, self);
  if (status == WEFT_FORCED) weft_adopt(world, NULL, find(child_handle), 0);
  say(status == WEFT_FORCED ? "forced" : "host");
  return WEFT_CANCELLED;
}

static void a_child_has_a_joiner_from_its_start(void **state)
{
  (void)state;
  host_handle = start(hosts, (void *)&a_second);
  tick(0);
  assert_true(weft_routine_has_joiners(find(child_handle)));
  assert_false(weft_routine_has_joiners(find(host_handle)));
  tick(0);
  tick(1);
  assert_true(told_joined);
  tick(0);
  assert_state(host_handle, WEFT_STATE_COMPLETED);
}

static void a_last_join_is_over_in_the_pass_in_which_its_target_ends(void **state)
{
  (void)state;
  host_handle = start(hosts, (void *)&an_hour);
  tick(0);
  tick(0);
  weft_cancel(world, host_handle);
  weft_cancel(world, child_handle);
  tick(0);
  assert_string_equal(story, "told child host");
  assert_state(host_handle, WEFT_STATE_CANCELLED);
}

static weft_status swallows(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  for (int i = 0; i < 3; i++)
    if (weft_wait(an_hour) == WEFT_CANCELLED) say("swallowed");
  return WEFT_OK;
}

/* Its host comes in the same pass, and nobody comes twice for that. */
static void the_end_of_a_last_join_gives_nobody_else_a_turn(void **state)
{
  (void)state;
  weft_handle swallower = start(swallows, NULL);
  host_handle = start(hosts, (void *)&an_hour);
  tick(0);
  tick(0);
  weft_cancel(world, swallower);
  weft_cancel(world, host_handle);
  weft_cancel(world, child_handle);
  tick(0);
  assert_string_equal(story, "swallowed told child host");
  tick(0);
  assert_string_equal(story, "swallowed told child host swallowed");
}

static void a_last_join_is_refused_by_the_last_pass_of_a_drain(void **state)
{
  (void)state;
  uint32_t left = 1;
  host_handle = start(hosts, (void *)&an_hour);
  tick(0);
  tick(0);
  assert_int_equal(weft_world_drain(world, 1, &left), WEFT_OK);
  assert_int_equal(left, 0);
  assert_string_equal(story, "told forced child");
}

/* A child that waits behind a shield for longer than anybody has. */
static weft_status hides(weft_routine *self, void *arg)
{
  (void)arg;
  weft_shield(world, self, true);
  weft_status status = weft_wait(an_hour);
  say("child");
  return status;
}

static weft_status hosts_hider(weft_routine *self, void *arg)
{
  bool done = false;
  (void)arg;
  assert_int_equal(weft_routine_start(world, hides, NULL, &child_handle), WEFT_OK);
  weft_adopt(world, self, find(child_handle), 0);
  assert_int_equal(weft_join(child_handle, -1), WEFT_CANCELLED);
  assert_int_equal(weft_arm_last_join(world, self, child_handle, &done), WEFT_OK);
  assert_int_equal(weft_park(world, self), WEFT_CANCELLED);
  weft_routine *child = weft_routine_find(world, child_handle);
  if (child) weft_adopt(world, NULL, child, 0);
  say("host");
  return WEFT_CANCELLED;
}

static void the_last_pass_of_a_drain_ends_a_last_join(void **state)
{
  (void)state;
  uint32_t left = 1;
  host_handle = start(hosts_hider, NULL);
  tick(0);
  tick(0);
  assert_int_equal(weft_world_drain(world, 3, &left), WEFT_OK);
  assert_int_equal(left, 0);
  assert_string_equal(story, "host child");
}

/* --- Rings --------------------------------------------------------------------------------- */

static weft_status joins_host(weft_routine *self, void *arg)
{
  weft_watch watch = {.handle = host_handle};
  (void)self, (void)arg;
  if (weft_join(host_handle, -1) == WEFT_RING) say("join");
  if (weft_join_any(&watch, 1, 1, -1) == WEFT_RING) say("any");
  return WEFT_OK;
}

static weft_status hosts_joiner(weft_routine *self, void *arg)
{
  (void)arg;
  assert_int_equal(weft_routine_start(world, joins_host, NULL, &child_handle), WEFT_OK);
  weft_adopt(world, self, find(child_handle), 0);
  return weft_wait(2 * SECOND);
}

static void a_child_that_joins_its_host_closes_a_ring(void **state)
{
  (void)state;
  host_handle = start(hosts_joiner, NULL);
  tick(0);
  tick(0);
  assert_string_equal(story, "join any");
}

/* --- Shelter ------------------------------------------------------------------------------- */

static weft_owner owner;

static weft_status shelters(weft_routine *self, void *arg)
{
  (void)arg;
  assert_int_equal(
      weft_routine_start_owned(world, owner, sleeps, (void *)&an_hour, &child_handle), WEFT_OK);
  weft_adopt(world, self, find(child_handle), 1);
  return weft_wait(an_hour);
}

static void a_sheltered_child_is_spared_by_its_owner_and_not_by_its_host(void **state)
{
  (void)state;
  assert_int_equal(weft_owner_new(world, 0, &owner), WEFT_OK);
  host_handle = start(shelters, NULL);
  tick(0);
  tick(0);
  assert_true(weft_owner_destroy(world, owner));
  assert_false(weft_routine_cancelled(find(child_handle)));
  assert_true(weft_cancel(world, child_handle));
  tick(0);
  assert_string_equal(story, "child");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(an_interrupt_tells_at_each_wait_until_it_is_taken_back),
      TEST(an_interrupt_comes_through_fewer_shields_than_its_level),
      TEST(a_held_cancel_outlasts_an_interrupt),
      TEST(a_child_has_a_joiner_from_its_start),
      TEST(a_last_join_is_over_in_the_pass_in_which_its_target_ends),
      TEST(the_end_of_a_last_join_gives_nobody_else_a_turn),
      TEST(a_last_join_is_refused_by_the_last_pass_of_a_drain),
      TEST(the_last_pass_of_a_drain_ends_a_last_join),
      TEST(a_child_that_joins_its_host_closes_a_ring),
      TEST(a_sheltered_child_is_spared_by_its_owner_and_not_by_its_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
