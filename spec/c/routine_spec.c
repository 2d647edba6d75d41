/* SPDX-License-Identifier: MIT */
/*
** routine_spec.c - routines written in C: pinned and compact waits, joins, cancels, misuse.
*/
#include <signal.h>
#include <string.h>

#include "core/world.h"
#include "support/ground.h"
#include "support/random.h"

#define SECOND INT64_C(1000000000)

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 64};
  return make_ground(&config);
}

static uint32_t pinned(void)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  return stats.pinned;
}

/* --- Waiting ------------------------------------------------------------------------------- */

static weft_status wait_on_the_stack(weft_routine *self, void *arg)
{
  int64_t slept[3] = {0, 0, 0};
  assert_ptr_equal(weft_self(), self);
  assert_ptr_equal(weft_world_ticking(), world);
  assert_int_equal(weft_next_tick(), WEFT_OK);
  slept[0] = weft_slept(world, self);
  assert_int_equal(weft_wait(2 * SECOND), WEFT_OK);
  slept[1] = weft_slept(world, self);
  assert_int_equal(weft_wait_unscaled(SECOND), WEFT_OK);
  slept[2] = weft_slept(world, self);
  assert_ptr_equal(weft_self(), self);
  memcpy(arg, slept, sizeof slept);
  return WEFT_OK;
}

static weft_status look_at_the_clock(weft_routine *self, void *arg)
{
  int64_t *now = arg;
  now[0] = weft_now(world, self);
  assert_int_equal(weft_wait_unscaled(2 * SECOND), WEFT_OK);
  now[1] = weft_now(world, self);
  assert_int_equal(weft_wait(SECOND), WEFT_OK);
  now[2] = weft_now(world, self);
  return WEFT_OK;
}

static void the_clock_of_a_routine_is_that_of_its_waits(void **state)
{
  (void)state;
  int64_t now[3] = {-1, -1, -1};
  start(look_at_the_clock, now);
  tick(1.5);
  assert_int_equal(now[0], SECOND * 3 / 2);
  weft_world_pause(world);
  tick(2);
  assert_int_equal(now[1], SECOND * 3 / 2);
  weft_world_resume(world);
  assert_int_equal(weft_world_set_time_scale(world, 0.5), WEFT_OK);
  tick(1);
  assert_int_equal(now[2], -1);
  tick(1 - 1.997e-6); /* half a nanosecond short of the slack: rounded down to it */
  assert_int_equal(now[2], SECOND * 5 / 2 - WEFT_DUE_SLACK_NS);
}

static void a_wait_on_the_stack_keeps_its_locals(void **state)
{
  (void)state;
  int64_t slept[3] = {0, 0, 0};
  weft_handle handle = start(wait_on_the_stack, slept);
  assert_state(handle, WEFT_STATE_QUEUED);
  assert_int_equal(tick(0.25), 1);
  assert_state(handle, WEFT_STATE_SLEEPING);
  assert_int_equal(pinned(), 1);
  assert_int_equal(tick(0.25), 1);
  for (int i = 0; i < 7; i++) assert_int_equal(tick(0.25), 0);
  assert_int_equal(tick(0.25), 1);
  assert_int_equal(weft_world_set_time_scale(world, 0.5), WEFT_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(tick(0.25), 0);
  assert_int_equal(tick(0.25), 1);
  assert_state(handle, WEFT_STATE_COMPLETED);
  assert_int_equal(pinned(), 0);
  assert_int_equal(slept[0], SECOND / 4);
  assert_int_equal(slept[1], 2 * SECOND);
  assert_int_equal(slept[2], SECOND);
}

typedef struct counter {
  int entered;
  int until;
} counter;

static weft_status count_compactly(weft_routine *self, void *arg)
{
  counter *count = arg;
  assert_int_equal(weft_woken(self), WEFT_OK);
  if (++count->entered == count->until) return WEFT_OK;
  assert_int_equal(weft_arm_wait(weft_world_ticking(), self, SECOND), WEFT_OK);
  return WEFT_PARKED;
}

static void a_compact_wait_enters_the_body_again_and_keeps_no_stack(void **state)
{
  (void)state;
  counter count = {0, 5};
  weft_handle handle = start(count_compactly, &count);
  for (int i = 1; i <= 4; i++) {
    assert_int_equal(tick(1), 1);
    assert_int_equal(count.entered, i);
    assert_state(handle, WEFT_STATE_SLEEPING);
    assert_int_equal(pinned(), 0);
    assert_int_equal(weft_routine_wakes_in(world, weft_routine_find(world, handle)), SECOND);
    assert_int_equal(tick(0.5), 0);
    assert_int_equal(weft_routine_wakes_in(world, weft_routine_find(world, handle)),
                     SECOND / 2);
    assert_int_equal(tick(0), 0);
  }
  tick(1);
  assert_state(handle, WEFT_STATE_COMPLETED);
  assert_null(weft_routine_find(world, handle));
}

/* On its stack, then compactly, and so on. */
static weft_status wait_both_ways(weft_routine *self, void *arg)
{
  int *entered = arg;
  int number = ++*entered;
  if (number == 6) return WEFT_OK;
  for (int i = 0; i < number % 3; i++) assert_int_equal(weft_next_tick(), WEFT_OK);
  assert_int_equal(number, *entered);
  assert_int_equal(weft_arm_next_tick(world, self), WEFT_OK);
  return WEFT_PARKED;
}

static void both_ways_of_waiting_go_together(void **state)
{
  (void)state;
  int entered[20];
  memset(entered, 0, sizeof entered);
  for (int i = 0; i < 20; i++) start(wait_both_ways, &entered[i]);
  uint64_t resumed = 0;
  for (int i = 0; i < 20; i++) resumed += tick(0);
  assert_int_equal(resumed, 20 * (6 + 1 + 2 + 1 + 2));
  for (int i = 0; i < 20; i++) assert_int_equal(entered[i], 6);
  assert_int_equal(pinned(), 0);
}

static weft_status sum_slowly(weft_routine *self, void *arg)
{
  volatile uint32_t local[32];
  uint32_t sum = 0;
  (void)self;
  for (uint32_t i = 0; i < 32; i++) {
    local[i] = *(uint32_t *)arg + i;
    if (i % 8 == 0 && weft_wait(i * SECOND / 64) != WEFT_OK) return WEFT_FAILED;
  }
  for (uint32_t i = 0; i < 32; i++) sum += local[i];
  *(uint32_t *)arg = sum;
  return WEFT_OK;
}

static void many_pinned_ones_keep_apart(void **state)
{
  (void)state;
  uint32_t count = unit_scaled(8000), left = 0;
  uint32_t *sums = test_malloc(count * sizeof *sums);
  weft_world_config config = {.capacity = count, .stack_bytes = 16 << 10};
  if (unit_has_asan()) config.stack_bytes = 64 << 10;
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  for (uint32_t i = 0; i < count; i++) sums[i] = i, start(sum_slowly, &sums[i]);
  assert_int_equal(tick(0.1), count);
  assert_int_equal(pinned(), count);
  for (int i = 0; i < 30; i++) tick(0.1);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(sums[i], 32 * i + 496);
  assert_int_equal(weft_world_drain(world, 1, &left), WEFT_OK);
  assert_int_equal(left, 0);
  test_free(sums);
}

static weft_status ask_for_bad_times(weft_routine *self, void *arg)
{
  bool done = false;
  (void)arg;
  assert_int_equal(weft_wait(-1), WEFT_INVALID);
  assert_int_equal(weft_wait(INT64_MIN), WEFT_INVALID);
  assert_int_equal(weft_wait(SECOND * SECOND + 1), WEFT_INVALID);
  assert_int_equal(weft_wait_unscaled(-1), WEFT_INVALID);
  assert_int_equal(weft_arm_wait(world, self, INT64_MAX), WEFT_INVALID);
  assert_int_equal(weft_arm_join(world, self, 1, SECOND * SECOND + 1, &done), WEFT_INVALID);
  assert_int_equal(weft_arm_next_tick_forced(world, self), WEFT_OUTSIDE); /* not cancelled */
  say("asked");
  assert_int_equal(weft_wait(SECOND * SECOND), WEFT_OK); /* the longest */
  say("woke");
  return WEFT_FAILED;
}

static void times_out_of_range_are_refused_and_nothing_is_armed(void **state)
{
  (void)state;
  weft_handle handle = start(ask_for_bad_times, NULL);
  tick(0);
  assert_string_equal(story, "asked");
  tick(9e8);
  tick(1e8 - 1);
  assert_string_equal(story, "asked");
  tick(1);
  assert_string_equal(story, "asked woke");
  assert_state(handle, WEFT_STATE_FAILED);
}

static weft_status change_its_mind(weft_routine *self, void *arg)
{
  bool done = false;
  weft_handle other = *(weft_handle *)arg;
  assert_int_equal(weft_arm_wait(world, self, 100 * SECOND), WEFT_OK);
  weft_disarm(world, self);
  assert_int_equal(weft_arm_join(world, self, other, SECOND, &done), WEFT_OK);
  weft_disarm(world, self);
  weft_disarm(world, self);                            /* nothing is armed: nothing to undo */
  weft_disarm(world, weft_routine_find(world, other)); /* nor is it the running one */
  assert_false(weft_routine_has_joiners(weft_routine_find(world, other)));
  assert_int_equal(weft_routine_state_of(self), WEFT_STATE_RUNNING);
  assert_int_equal(weft_next_tick(), WEFT_OK);
  return WEFT_OK;
}

static void a_wait_that_was_armed_can_be_undone(void **state)
{
  (void)state;
  int64_t slept[3];
  weft_handle other = start(wait_on_the_stack, slept);
  weft_handle handle = start(change_its_mind, &other);
  assert_int_equal(tick(0), 2);
  assert_state(other, WEFT_STATE_SLEEPING);
  assert_int_equal(tick(0), 2);
  assert_state(handle, WEFT_STATE_COMPLETED);
}

static void waits_outside_of_routines_are_refused(void **state)
{
  (void)state;
  bool done = true;
  weft_routine *stranger = weft_routine_find(world, start(count_compactly, NULL));
  assert_null(weft_self());
  assert_int_equal(weft_wait(1), WEFT_OUTSIDE);
  assert_int_equal(weft_wait_unscaled(1), WEFT_OUTSIDE);
  assert_int_equal(weft_next_tick(), WEFT_OUTSIDE);
  assert_int_equal(weft_join(1, -1), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_wait(world, stranger, 1), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_wait_unscaled(world, stranger, 1), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_next_tick(world, NULL), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_next_tick(NULL, stranger), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_join(world, stranger, 1, -1, &done), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_next_tick_forced(world, stranger), WEFT_OUTSIDE);
  assert_int_equal(weft_park(world, stranger), WEFT_OUTSIDE);
  assert_true(done);
}

/* --- Nested fibers ------------------------------------------------------------------------- */

static void wait_in_a_fiber(void *arg)
{
  weft_routine *self = arg;
  assert_ptr_equal(weft_self(), self);
  assert_int_equal(weft_wait(1), WEFT_OUTSIDE); /* whoever resumed it would go on */
  assert_int_equal(weft_join(weft_routine_handle(world, self), -1), WEFT_SELF);
  weft_fiber_yield();
  assert_int_equal(weft_next_tick(), WEFT_OUTSIDE);
  say("fiber");
}

static weft_status use_a_fiber(weft_routine *self, void *arg)
{
  weft_fiber *fiber;
  assert_int_equal(weft_fiber_start(arg, wait_in_a_fiber, self, &fiber), WEFT_OK);
  assert_true(weft_fiber_resume(fiber));
  assert_int_equal(weft_next_tick(), WEFT_OK); /* nothing was left armed */
  assert_false(weft_fiber_resume(fiber));
  assert_int_equal(weft_next_tick(), WEFT_OK);
  say("done");
  return WEFT_OK;
}

static void a_fiber_that_a_routine_made_cannot_wait_but_the_routine_can(void **state)
{
  (void)state;
  weft_fiber_pool *pool;
  assert_int_equal(weft_fiber_pool_new(64 << 10, 3, &pool), WEFT_OK);
  weft_handle handle = start(use_a_fiber, pool);
  for (int i = 0; i < 3; i++) assert_int_equal(tick(0), 1);
  assert_string_equal(story, "fiber done");
  assert_state(handle, WEFT_STATE_COMPLETED);
  weft_fiber_pool_delete(pool);
}

static void tick_it(void *arg)
{
  (void)arg;
  while (tick(0) > 0) weft_fiber_yield();
}

static void a_world_may_be_ticked_on_a_fiber_of_the_host(void **state)
{
  (void)state;
  int64_t slept[3] = {0, 0, 0};
  weft_fiber_pool *pool;
  weft_fiber *fiber;
  assert_int_equal(weft_fiber_pool_new(64 << 10, 1, &pool), WEFT_OK);
  assert_int_equal(weft_fiber_start(pool, tick_it, NULL, &fiber), WEFT_OK);
  start(wait_on_the_stack, slept);
  assert_true(weft_fiber_resume(fiber));
  assert_int_equal(tick(0), 1); /* and off it in turn */
  assert_false(weft_fiber_resume(fiber));
  assert_int_equal(pinned(), 1);
  weft_fiber_pool_delete(pool);
}

/* --- Misuse -------------------------------------------------------------------------------- */

static weft_status park_without_a_wait(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return WEFT_PARKED;
}

static weft_status park_a_join_of_the_dead(weft_routine *self, void *arg)
{
  bool done = false;
  assert_int_equal(weft_arm_join(world, self, *(weft_handle *)arg, -1, &done), WEFT_OK);
  return done ? WEFT_PARKED : WEFT_OK;
}

static weft_status leave_without_a_wait(weft_routine *self, void *arg)
{
  (void)arg;
  return weft_park(world, self);
}

static weft_status end_with_a_wait(weft_routine *self, void *arg)
{
  (void)arg;
  return weft_arm_wait(world, self, SECOND);
}

static weft_status arm_two_waits(weft_routine *self, void *arg)
{
  (void)arg;
  assert_int_equal(weft_arm_wait(world, self, SECOND), WEFT_OK);
  return weft_arm_next_tick(world, self) == WEFT_OK ? WEFT_PARKED : WEFT_OK;
}

static weft_status arm_a_wait_and_a_cancel(weft_routine *self, void *arg)
{
  (void)arg;
  weft_routine_cancel(world, self);
  assert_int_equal(weft_arm_next_tick_forced(world, self), WEFT_OK);
  return weft_arm_next_tick_forced(world, self) == WEFT_OK ? WEFT_PARKED : WEFT_OK;
}

static weft_status end_at_once(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return WEFT_OK;
}

/* In a world of its own: TSan in a child knows little of what was before the fork. */
static void run_one(void *body)
{
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
  weft_handle dead = start(end_at_once, NULL);
  tick(0);
  start(*(weft_body *)body, &dead);
  tick(0);
}

static void misuse_of_arming_stops_at_the_door(void **state)
{
  (void)state;
  weft_body cases[] = {park_without_a_wait, park_a_join_of_the_dead, leave_without_a_wait,
                       end_with_a_wait,     arm_two_waits,           arm_a_wait_and_a_cancel};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    unit_child child;
    unit_fork(run_one, &cases[i], &child);
    assert_int_equal(child.signal, SIGABRT);
    assert_non_null(strstr(child.text, "weft: check failed: "));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_wait_on_the_stack_keeps_its_locals),
      TEST(a_compact_wait_enters_the_body_again_and_keeps_no_stack),
      TEST(the_clock_of_a_routine_is_that_of_its_waits),
      TEST(both_ways_of_waiting_go_together),
      TEST(many_pinned_ones_keep_apart),
      TEST(times_out_of_range_are_refused_and_nothing_is_armed),
      TEST(a_wait_that_was_armed_can_be_undone),
      TEST(waits_outside_of_routines_are_refused),
      TEST(a_fiber_that_a_routine_made_cannot_wait_but_the_routine_can),
      TEST(a_world_may_be_ticked_on_a_fiber_of_the_host),
      TEST(misuse_of_arming_stops_at_the_door),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
