/* SPDX-License-Identifier: MIT */
/*
** events_spec.c - events: waited for, fired and closed; pinned and compact, with time limits, cancelled.
*/
#include "events_ground.h"

/* --- Firing -------------------------------------------------------------------------------- */

static void a_fire_tells_all_that_wait_in_waiting_order(void **state)
{
  (void)state;
  start_three(NULL);
  assert_int_equal(fire(77), 3);
  assert_int_equal(event.waiting, 0);
  assert_string_equal(story, ""); /* nothing runs inside a fire */
  assert_int_equal(tick(0), 3);
  assert_string_equal(story, "a b c");
  for (int i = 0; i < 3; i++) assert_int_equal(waits[i].value, 77);
  assert_int_equal(waits[0].answer, WEFT_FIRED);
  assert_int_equal(waits[1].answer, WEFT_OK);
}

static void a_fire_is_not_remembered(void **state)
{
  (void)state;
  assert_int_equal(fire(1), 0);
  assert_false(fire_one(1));
  start_three(NULL);
  tick(1);
  assert_string_equal(story, "");
  assert_int_equal(fire(2), 3);
  assert_int_equal(fire(3), 0);
  tick(0);
  assert_int_equal(waits[2].value, 2);
}

static void fire_one_tells_who_has_waited_longest(void **state)
{
  (void)state;
  uint64_t armed = 0;
  weft_handle handles[3];
  start_three(handles);
  assert_int_equal(weft_event_first(&event, &armed), handles[0]);
  assert_true(fire_one(5));
  assert_int_equal(weft_event_first(&event, NULL), handles[1]);
  assert_int_equal(event.waiting, 2);
  assert_int_equal(event.told, 1);
  tick(0);
  assert_string_equal(story, "a");
  assert_int_equal(waits[0].value, 5);
  assert_int_equal(event.told, 0);
  assert_true(fire_one(6) && fire_one(7));
  assert_false(fire_one(8));
  tick(0);
  assert_string_equal(story, "a b c");
  assert_int_equal(waits[2].value, 7);
  assert_int_equal(weft_event_first(&event, &armed), 0);
}

static void who_waits_again_hears_the_next_fire_only(void **state)
{
  (void)state;
  start(waits_pinned, prepare(0));
  waits[0].again = true;
  tick(0);
  assert_int_equal(fire(1), 1);
  assert_int_equal(fire(2), 0); /* it has not run yet: it does not wait */
  tick(0);
  assert_int_equal(waits[0].value, 1);
  assert_int_equal(fire(3), 1);
  tick(0);
  assert_int_equal(waits[0].value, 3);
}

static void closing_ends_all_waits(void **state)
{
  (void)state;
  start_three(NULL);
  assert_int_equal(weft_event_close(&event), 3);
  memset(&event, 0xFF, sizeof event); /* nobody looks at it any more */
  tick(0);
  assert_string_equal(story, "a b c");
  for (int i = 0; i < 3; i++) assert_int_equal(waits[i].answer, WEFT_CLOSED);
}

static void after_a_fire_of_all_nobody_looks_at_the_event(void **state)
{
  (void)state;
  weft_handle handles[3];
  start_three(handles);
  fire(4);
  assert_int_equal(event.told, 0);
  memset(&event, 0xFF, sizeof event);
  assert_true(weft_cancel(world, handles[1]));
  tick(0);
  assert_int_equal(waits[0].value, 4);
  assert_int_equal(waits[1].answer, WEFT_CANCELLED);
}

static void routines_of_two_worlds_wait_for_one_event(void **state)
{
  (void)state;
  weft_world *second = NULL, *first = world;
  assert_int_equal(weft_world_new(NULL, &second), WEFT_OK);
  start(waits_pinned, prepare(0));
  tick(0);
  start_in(second, waits_pinned, prepare(1));
  assert_int_equal(weft_world_tick(second, 0, NULL), WEFT_OK);
  start(waits_pinned, prepare(2));
  tick(0);
  assert_int_equal(event.waiting, 3);
  /* What a world drops does not wait any more. */
  start_in(second, waits_pinned, prepare(3));
  assert_int_equal(weft_world_tick(second, 0, NULL), WEFT_OK);
  assert_int_equal(event.waiting, 4);
  fire_one(1);
  fire_one(2);
  assert_int_equal(event.told, 2);
  assert_int_equal(weft_world_delete(second), WEFT_OK);
  assert_int_equal(event.waiting, 0); /* the turn of the second went on to the third */
  assert_int_equal(event.told, 2);
  world = first;
  tick(0);
  assert_string_equal(story, "a c");
  assert_int_equal(waits[2].value, 2);
}

/* --- Time limits --------------------------------------------------------------------------- */

static void a_time_limit_ends_the_wait_and_leaves_nothing(void **state)
{
  (void)state;
  weft_body bodies[] = {waits_pinned, waits_compactly};
  for (int i = 0; i < 2; i++) {
    start(bodies[i], prepare(i));
    waits[i].timeout = SECOND;
    tick(0);
    assert_int_equal(event.waiting, 1);
    tick(0.5);
    assert_int_equal(waits[i].answer, i == 0 ? WEFT_INVALID : WEFT_OK);
    tick(0.5);
    assert_int_equal(waits[i].answer, WEFT_TIMEOUT);
    assert_int_equal(event.waiting, 0);
  }
}

static void a_fire_leaves_no_deadline_behind(void **state)
{
  (void)state;
  wait *w = prepare(0);
  w->timeout = SECOND;
  w->again = true;
  start(waits_pinned, w);
  tick(0);
  fire(1);
  tick(0.75);
  assert_int_equal(w->answer, WEFT_OK);
  tick(0.75); /* the first limit would have passed here */
  assert_int_equal(w->value, 1);
  assert_int_equal(event.waiting, 1);
  tick(0.25);
  assert_int_equal(w->answer, WEFT_TIMEOUT);
}

static void fire_from_a_system(void *host, weft_phase phase, double dt)
{
  (void)host, (void)dt;
  if (phase == WEFT_UPDATE) weft_event_fire(&event, 9);
}

static void a_fire_before_the_routine_stage_beats_a_limit_that_is_due(void **state)
{
  (void)state;
  wait *w = prepare(0);
  w->timeout = SECOND;
  start(waits_compactly, w);
  tick(0);
  world->config.hooks.phase = fire_from_a_system;
  assert_int_equal(tick(1), 1);
  assert_int_equal(w->answer, WEFT_FIRED);
  assert_int_equal(w->value, 9);
  assert_int_equal(tick(1), 0);
}

/* --- Cancels ------------------------------------------------------------------------------- */

static void a_cancel_takes_the_waiter_out_before_it_returns(void **state)
{
  (void)state;
  weft_handle handles[3];
  start_three(handles);
  assert_true(weft_cancel(world, handles[1]));
  assert_int_equal(event.waiting, 2);
  assert_int_equal(fire(1), 2);
  tick(0);
  assert_string_equal(story, "b a c"); /* cancelled ones first */
  assert_int_equal(waits[1].answer, WEFT_CANCELLED);
}

static void a_turn_of_one_that_is_cancelled_goes_to_the_next(void **state)
{
  (void)state;
  weft_handle handles[3];
  start_three(handles);
  assert_true(fire_one(42));
  assert_true(weft_cancel(world, handles[0]));
  assert_true(weft__sched_valid(&world->sched));
  assert_int_equal(event.waiting, 1);
  assert_true(weft_cancel(world, handles[1]));
  assert_int_equal(event.waiting, 0);
  assert_int_equal(event.told, 1);
  tick(0);
  assert_string_equal(story, "a b c");
  assert_int_equal(waits[0].answer, WEFT_CANCELLED);
  assert_int_equal(waits[1].answer, WEFT_CANCELLED);
  assert_int_equal(waits[2].value, 42);
}

static void a_turn_that_nobody_can_take_is_gone(void **state)
{
  (void)state;
  weft_handle handle = start(waits_pinned, prepare(0));
  tick(0);
  assert_true(fire_one(1));
  assert_true(weft_cancel(world, handle));
  assert_int_equal(event.told, 0);
  start(waits_pinned, prepare(1));
  tick(0);
  tick(0);
  assert_string_equal(story, "a");
  assert_int_equal(event.waiting, 1);
}

static void a_cancel_after_it_has_run_gives_nothing_back(void **state)
{
  (void)state;
  weft_handle handle = start(waits_pinned, prepare(0));
  waits[0].again = true;
  start(waits_pinned, prepare(1));
  tick(0);
  assert_true(fire_one(1));
  tick(0);
  assert_true(weft_cancel(world, handle));
  tick(0);
  assert_string_equal(story, "a a");
  assert_int_equal(event.waiting, 1);
}

static weft_status cancels_itself(weft_routine *self, void *arg)
{
  wait *w = arg;
  assert_int_equal(weft_arm_event(world, self, &event, 0, SECOND), WEFT_OK);
  weft_disarm(world, self);
  assert_int_equal(event.waiting, 0);
  assert_int_equal(weft_arm_event(world, self, &event, 0, -1), WEFT_OK);
  assert_true(weft_event_fire_one(&event, 3)); /* by itself, before it has left */
  weft_disarm(world, self);
  assert_int_equal(event.told, 0);
  weft_cancel(world, weft_routine_handle(world, self));
  note(w, weft_wait_event(&event, -1, NULL));
  note(w, weft_wait_event(&event, -1, NULL)); /* swallowed: a tick later */
  return WEFT_CANCELLED;
}

static void who_cancels_itself_is_told_at_its_wait(void **state)
{
  (void)state;
  start(cancels_itself, prepare(0));
  tick(0);
  assert_string_equal(story, "a");
  assert_int_equal(event.waiting, 0);
  tick(0);
  assert_string_equal(story, "a a");
  assert_int_equal(waits[0].answer, WEFT_CANCELLED);
}

/* --- Odds and ends ------------------------------------------------------------------------- */

static void misuse_is_refused(void **state)
{
  (void)state;
  assert_int_equal(weft_wait_event(&event, -1, NULL), WEFT_OUTSIDE);
  start(sleeps, NULL);
  weft__sched_begin_pass(&world->sched);
  weft_routine *self = weft__routine_of(weft__sched_take(&world->sched));
  assert_int_equal(weft_arm_event(world, NULL, &event, 0, -1), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_event(world, self, &event, 0, INT64_MAX), WEFT_INVALID);
  assert_int_equal(weft_arm_event(world, self, &event, 0, 1000000000 * SECOND), WEFT_OK);
  weft_disarm(world, self);
  assert_int_equal(event.waiting, 0);
  assert_int_equal(weft_arm_next_tick(world, self), WEFT_OK);
}

static void it_is_told_what_it_waits_for(void **state)
{
  (void)state;
  wait *w = prepare(0);
  w->timeout = 3 * SECOND;
  weft_routine *self = weft_routine_find(world, start(waits_compactly, w));
  tick(0);
  tick(1);
  assert_int_equal(weft_routine_waiting(self), WEFT_WAITING_EVENT);
  assert_int_equal(weft_routine_wakes_in(world, self), 2 * SECOND);
  assert_int_equal(weft_routine_state_of(self), WEFT_STATE_SLEEPING);
  fire(1);
  assert_int_equal(weft_routine_waiting(self), WEFT_WAITING_TURN);
  assert_int_equal(weft_routine_state_of(self), WEFT_STATE_QUEUED);
  assert_int_equal(weft_slept(world, self), SECOND);
}

static void the_walker_finds_a_broken_ring(void **state)
{
  (void)state;
  start_three(NULL);
  weft_watch *first = event.first;
  event.first = NULL;
  assert_false(weft__sched_valid(&world->sched));
  event.first = first;
  weft_watch *next = first->next;
  first->next = first;
  assert_false(weft__sched_valid(&world->sched));
  first->next = next;
  first->told = true;
  assert_false(weft__sched_valid(&world->sched));
  first->told = false;
  assert_true(weft__sched_valid(&world->sched));
}

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      UNIT(a_fire_tells_all_that_wait_in_waiting_order),
      UNIT(a_fire_is_not_remembered),
      UNIT(fire_one_tells_who_has_waited_longest),
      UNIT(who_waits_again_hears_the_next_fire_only),
      UNIT(closing_ends_all_waits),
      UNIT(after_a_fire_of_all_nobody_looks_at_the_event),
      UNIT(routines_of_two_worlds_wait_for_one_event),
      UNIT(a_time_limit_ends_the_wait_and_leaves_nothing),
      UNIT(a_fire_leaves_no_deadline_behind),
      UNIT(a_fire_before_the_routine_stage_beats_a_limit_that_is_due),
      UNIT(a_cancel_takes_the_waiter_out_before_it_returns),
      UNIT(a_turn_of_one_that_is_cancelled_goes_to_the_next),
      UNIT(a_turn_that_nobody_can_take_is_gone),
      UNIT(a_cancel_after_it_has_run_gives_nothing_back),
      UNIT(who_cancels_itself_is_told_at_its_wait),
      UNIT(misuse_is_refused),
      UNIT(it_is_told_what_it_waits_for),
      UNIT(the_walker_finds_a_broken_ring),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
