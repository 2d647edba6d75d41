/* SPDX-License-Identifier: MIT */
/*
** events_spec.c - events: waited for, fired, closed, given back; pinned and compact, of one and several.
*/
#include <string.h>

#include "core/sched_joins.h"
#include "core/world.h"
#include "support/ground.h"

#define SECOND INT64_C(1000000000)

static weft_event event, other;

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 16};
  event = other = (weft_event){0};
  return make_ground(&config);
}

/* What a routine asks for and what it was answered. */
typedef struct wait {
  weft_event *event;
  int64_t timeout;
  uint64_t armed, value;
  weft_status answer;
  int64_t when; /* seconds */
  const char *name;
  bool again;
} wait;

static wait waits[4];

static wait *prepare(int i)
{
  static const char *const names[] = {"a", "b", "c", "d"};
  waits[i] = (wait){.event = &event, .timeout = -1, .answer = WEFT_INVALID, .name = names[i]};
  return &waits[i];
}

static void note(wait *w, weft_status answer)
{
  w->answer = answer;
  w->when = weft_world_sim_time(world) / SECOND;
  say(w->name);
}

static weft_status waits_pinned(weft_routine *self, void *arg)
{
  wait *w = arg;
  (void)self;
  do note(w, weft_wait_event(w->event, w->timeout, &w->value));
  while (w->again && w->answer == WEFT_OK);
  return w->answer == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

/* Armed on the first entry, answered on the second. */
static weft_status waits_compactly(weft_routine *self, void *arg)
{
  wait *w = arg;
  if (w->answer == WEFT_INVALID) {
    w->answer = weft_arm_event(world, self, w->event, w->armed, w->timeout);
    return w->answer == WEFT_OK ? WEFT_PARKED : WEFT_OK;
  }
  weft_status woken = weft_woken(self);
  w->value = weft_received(world, self);
  note(w, woken);
  return woken == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

/* Three that wait in the order of their names, one of them on its stack. */
static void start_three(weft_handle handles[3])
{
  weft_body bodies[] = {waits_compactly, waits_pinned, waits_compactly};
  for (int i = 0; i < 3; i++) {
    weft_handle handle = start(bodies[i], prepare(i));
    if (handles) handles[i] = handle;
  }
  tick(0);
  assert_int_equal(event.waiting, 3);
}

static uint32_t fire(uint64_t value)
{
  uint32_t told = weft_event_fire(&event, value);
  assert_true(weft__sched_valid(&world->sched));
  return told;
}

static bool fire_one(uint64_t value)
{
  bool told = weft_event_fire_one(&event, value);
  assert_true(weft__sched_valid(&world->sched));
  return told;
}

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

static weft_status sleeps(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(SECOND);
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

#define UNIT(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

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
      UNIT(misuse_is_refused),
      UNIT(it_is_told_what_it_waits_for),
      UNIT(the_walker_finds_a_broken_ring),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
