/* SPDX-License-Identifier: MIT */
/*
** events_several_spec.c - events and their host: who leaves and what is lost; and waits for several
** events and routines at once.
*/
#include "events_ground.h"

/* --- Hooks --------------------------------------------------------------------------------- */

static uint64_t left_sum, lost_sum;
static bool passes_on;

static void add_left(weft_event *from, uint64_t value)
{
  assert_ptr_equal(from, &event);
  left_sum += value;
}

static void add_lost(weft_event *from, uint64_t value)
{
  assert_ptr_equal(from, &event);
  lost_sum += value;
  if (passes_on) weft_event_fire_one(from, value + 1);
}

static const weft_event_hooks hooks = {.left = add_left, .lost = add_lost};

static void use_hooks(bool pass_on)
{
  left_sum = lost_sum = 0;
  passes_on = pass_on;
  event.hooks = &hooks;
}

static void who_leaves_untold_is_reported_with_what_it_came_with(void **state)
{
  (void)state;
  weft_handle handle;
  use_hooks(false);
  for (int i = 0; i < 3; i++) {
    wait *w = prepare(i);
    w->armed = (uint64_t)1 << i;
    w->timeout = i == 1 ? SECOND : -1;
    handle = start(waits_compactly, w);
  }
  tick(0);
  tick(1);
  assert_int_equal(left_sum, 2);
  weft_cancel(world, handle);
  assert_int_equal(left_sum, 2 + 4);
  fire(8);
  tick(0);
  assert_int_equal(left_sum, 2 + 4);
  assert_int_equal(lost_sum, 0);
}

static void closing_reports_all_that_wait_as_left(void **state)
{
  (void)state;
  use_hooks(false);
  for (int i = 0; i < 2; i++) {
    wait *w = prepare(i);
    w->armed = (uint64_t)1 << i;
    start(waits_compactly, w);
  }
  tick(0);
  assert_int_equal(weft_event_close(&event), 2);
  assert_int_equal(left_sum, 1 + 2);
  tick(0);
  assert_int_equal(left_sum, 1 + 2);
}

static void what_is_lost_is_the_hosts_to_pass_on(void **state)
{
  (void)state;
  weft_handle handles[3];
  use_hooks(true);
  start_three(handles);
  assert_true(fire_one(10));
  assert_true(weft_cancel(world, handles[0]));
  assert_int_equal(lost_sum, 10);
  tick(0);
  assert_int_equal(waits[1].value, 11);
  assert_int_equal(fire(20), 1);
  assert_int_equal(event.told, 1);
  assert_true(weft_cancel(world, handles[2]));
  assert_int_equal(lost_sum, 10 + 20);
  assert_int_equal(event.told, 0);
}

static weft_status declines(weft_routine *self, void *arg)
{
  wait *w = arg;
  if (w->answer == WEFT_INVALID) return waits_compactly(self, arg);
  weft_decline(world, self);
  note(w, weft_woken(self));
  return WEFT_OK;
}

static void a_routine_may_decline_what_it_was_told(void **state)
{
  (void)state;
  start(declines, prepare(0));
  start(waits_pinned, prepare(1));
  tick(0);
  assert_true(fire_one(6));
  tick(0);
  tick(0);
  assert_string_equal(story, "a b");
  assert_int_equal(waits[1].value, 6);
}

/* --- Several ------------------------------------------------------------------------------- */

static weft_watch watches[4];
static uint32_t count, needed;
static int64_t timeout;

static weft_status waits_for_several(weft_routine *self, void *arg)
{
  (void)self;
  note(arg, weft_join_any(watches, count, needed, timeout));
  return ((wait *)arg)->answer == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

/* Both events, and a routine that sleeps a second. */
static weft_handle start_several(uint32_t how_many)
{
  memset(watches, 0, sizeof watches);
  watches[0].event = &event;
  watches[1].event = &other;
  watches[2].handle = start(sleeps, NULL);
  count = 3;
  needed = how_many;
  timeout = -1;
  weft_handle handle = start(waits_for_several, prepare(0));
  tick(0);
  return handle;
}

static void any_ends_with_the_first_event_and_lets_go_of_the_rest(void **state)
{
  (void)state;
  start_several(1);
  assert_int_equal(event.waiting + other.waiting, 2);
  weft_event_fire(&other, 12);
  assert_int_equal(event.waiting + other.waiting, 0);
  assert_int_equal(fire(13), 0);
  tick(0);
  assert_int_equal(waits[0].answer, WEFT_OK);
  assert_int_equal(watches[1].state, WEFT_STATE_COMPLETED);
  assert_int_equal(watches[1].value, 12);
  assert_true(watches[0].state < WEFT_STATE_COMPLETED);
  assert_true(watches[2].state < WEFT_STATE_COMPLETED);
}

static void any_ends_with_a_routine_and_lets_go_of_the_events(void **state)
{
  (void)state;
  start_several(1);
  tick(1);
  tick(0);
  assert_int_equal(waits[0].answer, WEFT_OK);
  assert_int_equal(watches[2].state, WEFT_STATE_COMPLETED);
  assert_int_equal(event.waiting + other.waiting, 0);
}

static void all_takes_one_fire_of_each(void **state)
{
  (void)state;
  start_several(3);
  assert_int_equal(fire(1), 1);
  assert_int_equal(fire(2), 0); /* it has had its fire of this one */
  tick(1);
  assert_string_equal(story, "");
  weft_event_close(&other);
  tick(0);
  assert_string_equal(story, "a");
  assert_int_equal(watches[0].value, 1);
  assert_int_equal(watches[1].state, WEFT_STATE_EXPIRED);
}

static void those_of_any_stand_in_one_line_with_the_others(void **state)
{
  (void)state;
  start_several(1); /* a */
  start(waits_pinned, prepare(1));
  tick(0);
  assert_true(fire_one(1));
  tick(0);
  assert_string_equal(story, "a");
  assert_true(fire_one(2));
  tick(0);
  assert_string_equal(story, "a b");
}

static void a_turn_of_any_that_is_cancelled_goes_to_the_next(void **state)
{
  (void)state;
  weft_handle handle = start_several(1);
  start(waits_pinned, prepare(1));
  tick(0);
  assert_true(fire_one(5));
  assert_true(weft_cancel(world, handle));
  tick(0);
  assert_int_equal(waits[0].answer, WEFT_CANCELLED);
  assert_int_equal(waits[1].value, 5);
}

static void what_all_was_told_in_vain_goes_to_the_next(void **state)
{
  (void)state;
  for (int cancel = 0; cancel < 2; cancel++) {
    weft_handle handle = start_several(3);
    start(waits_pinned, prepare(1));
    tick(0);
    assert_true(fire_one(5));
    tick(0);
    assert_int_equal(waits[1].answer, WEFT_INVALID);
    if (cancel)
      assert_true(weft_cancel(world, handle));
    else
      assert_true(weft_routine_wake(world, weft_routine_find(world, handle)));
    assert_true(weft__sched_valid(&world->sched));
    tick(0);
    assert_int_equal(waits[1].value, 5);
    assert_int_equal(event.told, 0);
    assert_int_equal(other.waiting, 0);
  }
}

/* `a` was told and waits in vain for the rest; `b` is next in line, but its time is over in the same
   pass; so is nobody's who stands behind. */
static void limits_that_are_due_together_give_back_once_all_are_over(void **state)
{
  (void)state;
  memset(watches, 0, sizeof watches);
  watches[0].event = &event;
  watches[1].event = &other;
  count = needed = 2;
  timeout = SECOND;
  start(waits_for_several, prepare(0));
  start(waits_pinned, prepare(1));
  waits[1].timeout = SECOND;
  start(waits_pinned, prepare(2));
  tick(0);
  assert_true(fire_one(5));
  tick(1);
  assert_string_equal(story, "a b c");
  assert_int_equal(waits[0].answer, WEFT_TIMEOUT);
  assert_int_equal(waits[1].answer, WEFT_TIMEOUT);
  assert_int_equal(waits[2].value, 5);
}

static void a_wait_with_an_event_closes_no_ring(void **state)
{
  (void)state;
  weft_handle target = start_several(1);
  static weft_watch back[2];
  memset(back, 0, sizeof back);
  back[0].handle = target;
  bool done = false;
  start(sleeps, NULL);
  weft__sched_begin_pass(&world->sched);
  weft_routine *self = weft__routine_of(weft__sched_take(&world->sched));
  assert_int_equal(weft_arm_any(world, self, back, 1, 1, -1, &done), WEFT_OK);
  weft_disarm(world, self);
  assert_int_equal(weft_arm_join(world, self, target, -1, &done), WEFT_OK);
  weft_disarm(world, self);
  assert_int_equal(weft_arm_next_tick(world, self), WEFT_OK);
}

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      UNIT(who_leaves_untold_is_reported_with_what_it_came_with),
      UNIT(closing_reports_all_that_wait_as_left),
      UNIT(what_is_lost_is_the_hosts_to_pass_on),
      UNIT(a_routine_may_decline_what_it_was_told),
      UNIT(any_ends_with_the_first_event_and_lets_go_of_the_rest),
      UNIT(any_ends_with_a_routine_and_lets_go_of_the_events),
      UNIT(all_takes_one_fire_of_each),
      UNIT(those_of_any_stand_in_one_line_with_the_others),
      UNIT(a_turn_of_any_that_is_cancelled_goes_to_the_next),
      UNIT(what_all_was_told_in_vain_goes_to_the_next),
      UNIT(limits_that_are_due_together_give_back_once_all_are_over),
      UNIT(a_wait_with_an_event_closes_no_ring),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
