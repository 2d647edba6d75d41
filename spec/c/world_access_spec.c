/* SPDX-License-Identifier: MIT */
/*
** world_access_spec.c - who may call what, when: other threads, ticks within ticks, several worlds.
*/
#include <string.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"

#define SECOND INT64_C(1000000000)

static weft_world *other;
static uint32_t calls;

static weft_world *new_world(weft_world_hooks hooks)
{
  weft_world *made = NULL;
  weft_world_config config = {.capacity = 4, .hooks = hooks};
  assert_int_equal(weft_world_new(&config, &made), WEFT_OK);
  return made;
}

static int make_worlds(void **state)
{
  (void)state;
  failing_install();
  calls = 0;
  world = new_world((weft_world_hooks){.host = NULL});
  other = new_world((weft_world_hooks){.host = NULL});
  return 0;
}

static int drop_worlds(void **state)
{
  (void)state;
  bool valid = weft__sched_valid(&world->sched) && weft__sched_valid(&other->sched);
  bool clean = weft_world_delete(world) == WEFT_OK && weft_world_delete(other) == WEFT_OK &&
               failing_blocks() == 0 && failing_mapped() == 0;
  failing_remove();
  return valid && clean ? 0 : -1;
}

static void tick_once(weft_world *which)
{
  assert_int_equal(weft_world_tick(which, 1, NULL), WEFT_OK);
}

static weft_status sleep_long(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(100 * SECOND);
}

/* --- Other threads ------------------------------------------------------------------------- */

typedef struct answers {
  weft_handle handle; /* of a sleeper */
  weft_handle started;
  uint64_t resumed;
  uint32_t left;
  weft_status status[9];
  weft_timer timer;
  bool cancelled, timer_alive, timer_changed;
  weft_world *ticking;
} answers;

static void never_called(void *arg, weft_timer timer, int64_t intervals)
{
  (void)arg, (void)timer, (void)intervals;
}

/* cmocka's assertions belong to its own thread. */
static void call_everything(void *arg)
{
  answers *all = arg;
  all->status[0] = weft_world_tick(world, 0, &all->resumed);
  all->status[1] = weft_world_drain(world, 1, &all->left);
  all->status[2] = weft_world_configure(world, NULL);
  all->status[3] = weft_world_delete(world);
  all->status[4] = weft_world_set_time_scale(world, 2);
  all->status[5] = weft_routine_start(world, sleep_long, NULL, &all->started);
  all->status[6] = weft_wait(1);
  uint32_t tag;
  weft_timer_options at_once = {.count = 1};
  all->status[7] = weft_timer_start(world, &at_once, never_called, NULL, NULL);
  all->status[8] = weft_timer_tag_new(world, &tag);
  all->timer_alive = weft_timer_alive(world, all->timer);
  all->timer_changed = weft_timer_cancel(world, all->timer) ||
                       weft_timer_pause(world, all->timer) ||
                       weft_timer_set_tag(world, all->timer, 0) ||
                       weft_timers_of_tag(world, 1, WEFT_TIMER_CANCEL) > 0;
  all->cancelled = weft_cancel(world, all->handle);
  all->ticking = weft_world_ticking();
}

static void assert_refused(const answers *all)
{
  for (int i = 0; i < 6; i++) assert_int_equal(all->status[i], WEFT_THREAD);
  assert_int_equal(all->status[6], WEFT_OUTSIDE);
  for (int i = 7; i < 9; i++) assert_int_equal(all->status[i], WEFT_THREAD);
  assert_false(all->timer_alive || all->timer_changed);
  assert_false(all->cancelled);
  assert_null(all->ticking);
  assert_int_equal(all->resumed, 77);
  assert_int_equal(all->left, 77);
  assert_int_equal(all->started, 77);
}

static void a_world_obeys_the_thread_that_made_it(void **state)
{
  (void)state;
  answers all = {
      .handle = start_in(world, sleep_long, NULL), .started = 77, .resumed = 77, .left = 77};
  weft__thread thread;
  weft_timer_options late = {.delay = 100 * SECOND};
  assert_int_equal(weft_timer_start(world, &late, never_called, NULL, &all.timer), WEFT_OK);
  tick_once(world);
  assert_int_equal(weft__thread_start(&thread, call_everything, &all), WEFT_OK);
  weft__thread_join(&thread);
  assert_refused(&all);
  assert_true(weft_timer_alive(world, all.timer));
  assert_int_equal(weft_routine_state(world, all.handle), WEFT_STATE_SLEEPING);
  assert_int_equal(weft_world_tick_count(world), 1);
}

static weft_status call_from_a_thread(weft_routine *self, void *arg)
{
  answers *all = arg;
  weft__thread thread;
  all->handle = weft_routine_handle(world, self);
  assert_int_equal(weft__thread_start(&thread, call_everything, all), WEFT_OK);
  weft__thread_join(&thread);
  return WEFT_OK;
}

static void a_thread_that_a_routine_made_is_no_better(void **state)
{
  (void)state;
  answers all = {.started = 77, .resumed = 77, .left = 77};
  start_in(world, call_from_a_thread, &all);
  tick_once(world);
  assert_refused(&all);
}

static void live_a_life(void *arg)
{
  weft_world *mine = NULL;
  weft_handle handle = 0;
  weft_status *status = arg;
  if ((*status = weft_world_new(NULL, &mine))) return;
  for (int i = 0; i < 100 && !*status; i++)
    *status = weft_routine_start(mine, sleep_long, NULL, &handle);
  for (int i = 0; i < 200 && !*status; i++) *status = weft_world_tick(mine, 1, NULL);
  if (!*status && weft_routine_state(mine, handle) != WEFT_STATE_COMPLETED)
    *status = WEFT_FAILED;
  weft_status deleted = weft_world_delete(mine);
  if (!*status) *status = deleted;
}

static void each_thread_may_have_worlds_of_its_own(void **state)
{
  (void)state;
  weft__thread threads[4];
  weft_status status[4];
  failing_remove(); /* its account is for one thread */
  for (int i = 0; i < 4; i++)
    assert_int_equal(weft__thread_start(&threads[i], live_a_life, &status[i]), WEFT_OK);
  for (int i = 0; i < 4; i++) {
    weft__thread_join(&threads[i]);
    assert_int_equal(status[i], WEFT_OK);
  }
  weft_world_delete(world);
  weft_world_delete(other);
  failing_install();
  world = new_world((weft_world_hooks){.host = NULL});
  other = new_world((weft_world_hooks){.host = NULL});
}

/* --- Inside a tick ------------------------------------------------------------------------- */

static void try_everything(void)
{
  uint64_t resumed = 77;
  uint32_t left = 77;
  calls++;
  assert_ptr_equal(weft_world_ticking(), world);
  assert_true(weft_world_in_tick(world));
  assert_false(weft_world_in_tick(other));
  assert_int_equal(weft_world_tick(world, 0, &resumed), WEFT_BUSY);
  assert_int_equal(weft_world_tick(other, 0, &resumed), WEFT_BUSY);
  assert_int_equal(weft_world_drain(world, 1, &left), WEFT_BUSY);
  assert_int_equal(weft_world_drain(other, 1, &left), WEFT_BUSY);
  assert_int_equal(weft_world_configure(world, NULL), WEFT_BUSY);
  assert_int_equal(weft_world_configure(other, NULL), WEFT_BUSY);
  assert_int_equal(weft_world_delete(world), WEFT_BUSY);
  assert_int_equal(resumed, 77);
  assert_int_equal(left, 77);
}

static void try_in_a_post(void *arg)
{
  (void)arg;
  try_everything();
}

static void try_in_a_system(void *host, weft_phase phase, double dt)
{
  (void)host, (void)phase, (void)dt;
  try_everything();
}

static weft_status try_in_a_routine(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  try_everything();
  weft_status status = weft_next_tick();
  try_everything();
  return status;
}

static void try_at_an_end(void *host, weft_routine *routine, bool joined)
{
  (void)host, (void)routine, (void)joined;
  try_everything();
}

static void nothing_that_ticks_runs_inside_a_tick(void **state)
{
  (void)state;
  weft_world_hooks hooks = {.phase = try_in_a_system, .ended = try_at_an_end};
  weft_world_config config = {.capacity = 4, .hooks = hooks};
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_int_equal(weft_world_post(world, try_in_a_post, NULL, WEFT_HIGH), WEFT_OK);
  start_in(world, try_in_a_routine, NULL);
  tick_once(world);
  assert_int_equal(calls, 1 + 3 + 1);
  tick_once(world);
  assert_int_equal(calls, 5 + 3 + 2);
  start_in(world, try_in_a_routine, NULL);
  tick_once(world);
  assert_int_equal(weft_world_drain(world, 1, NULL), WEFT_OK);
  assert_int_equal(calls, 10 + 4 + 2);
}

/* --- Several worlds ------------------------------------------------------------------------ */

typedef struct visit {
  weft_handle victim;  /* a sleeper of the other world */
  weft_handle started; /* there */
} visit;

static weft_status visit_the_other(weft_routine *self, void *arg)
{
  visit *it = arg;
  bool done = false;
  assert_int_equal(weft_arm_wait(other, self, 1), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_next_tick(other, self), WEFT_OUTSIDE);
  assert_int_equal(weft_arm_join(other, self, it->victim, -1, &done), WEFT_OUTSIDE);
  assert_int_equal(weft_park(other, self), WEFT_OUTSIDE);
  assert_int_equal(weft_join(it->victim, -1), WEFT_EXPIRED);
  it->started = start_in(other, sleep_long, NULL);
  assert_true(weft_cancel(other, it->victim));
  return weft_wait(SECOND);
}

static void a_routine_may_start_and_cancel_in_another_world_but_not_wait_there(void **state)
{
  (void)state;
  visit it = {.victim = start_in(other, sleep_long, NULL)};
  tick_once(other);
  weft_handle visitor = start_in(world, visit_the_other, &it);
  tick_once(world);
  assert_int_equal(weft_routine_state(world, visitor), WEFT_STATE_SLEEPING);
  assert_int_equal(weft_routine_state(other, it.victim), WEFT_STATE_CANCELLING);
  tick_once(other);
  assert_int_equal(weft_routine_state(other, it.victim), WEFT_STATE_CANCELLED);
  assert_int_equal(weft_routine_state(other, it.started), WEFT_STATE_SLEEPING);
  tick_once(world);
  assert_int_equal(weft_routine_state(world, visitor), WEFT_STATE_COMPLETED);
}

static weft_status make_and_drop_a_world(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  weft_world *made = new_world((weft_world_hooks){.host = NULL});
  start_in(made, sleep_long, NULL);
  assert_int_equal(weft_next_tick(), WEFT_OK);
  assert_int_equal(weft_world_tick(made, 0, NULL), WEFT_BUSY);
  assert_int_equal(weft_world_delete(made), WEFT_OK); /* it does not tick */
  return WEFT_OK;
}

static void a_routine_may_make_and_delete_another_world(void **state)
{
  (void)state;
  weft_handle handle = start_in(world, make_and_drop_a_world, NULL);
  tick_once(world);
  tick_once(world);
  assert_int_equal(weft_routine_state(world, handle), WEFT_STATE_COMPLETED);
}

static void worlds_of_a_thread_tick_in_turn(void **state)
{
  (void)state;
  weft_handle mine = start_in(world, sleep_long, NULL),
              theirs = start_in(other, sleep_long, NULL);
  for (int i = 0; i < 100; i++) {
    tick_once(world);
    if (i % 2) tick_once(other);
  }
  assert_int_equal(weft_routine_state(world, mine), WEFT_STATE_SLEEPING);
  tick_once(world);
  assert_int_equal(weft_routine_state(world, mine), WEFT_STATE_COMPLETED);
  assert_int_equal(weft_routine_state(other, theirs), WEFT_STATE_SLEEPING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_worlds, drop_worlds)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_world_obeys_the_thread_that_made_it),
      TEST(a_thread_that_a_routine_made_is_no_better),
      TEST(each_thread_may_have_worlds_of_its_own),
      TEST(nothing_that_ticks_runs_inside_a_tick),
      TEST(a_routine_may_start_and_cancel_in_another_world_but_not_wait_there),
      TEST(a_routine_may_make_and_delete_another_world),
      TEST(worlds_of_a_thread_tick_in_turn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
