/* SPDX-License-Identifier: MIT */
/*
** hooks_spec.c - what a host plugs into a world: the loop, the look ahead, the ends of routines.
*/
#include <signal.h>
#include <string.h>

#include "core/world.h"
#include "support/random.h"
#include "support/unit.h"

#define SECOND INT64_C(1000000000)

static weft_world *world;

static void make_world(uint32_t capacity, weft_world_hooks hooks)
{
  weft_world_config config = {
      .capacity = capacity, .record_bytes = sizeof(uint64_t), .hooks = hooks};
  assert_int_equal(weft_world_new(&config, &world), WEFT_OK);
}

static void drop_world(void)
{
  assert_true(weft__sched_valid(&world->sched));
  assert_true(weft__fiber_pool_valid(world->pool));
  assert_int_equal(weft_world_delete(world), WEFT_OK);
}

static weft_handle start(weft_body body, void *arg)
{
  weft_handle handle = 0;
  assert_int_equal(weft_routine_start(world, body, arg, &handle), WEFT_OK);
  return handle;
}

static uint64_t tick(void)
{
  uint64_t resumed = 0;
  assert_int_equal(weft_world_tick(world, 0.125, &resumed), WEFT_OK);
  return resumed;
}

/* --- The loop ------------------------------------------------------------------------------ */

static uint32_t loops, bodies;

/* As the header has it. */
static bool plain_loop(void *host, weft_world *here)
{
  weft_routine *routine;
  assert_ptr_equal(host, &loops);
  loops++;
  while ((routine = weft_pass_next(here)) != NULL)
    if (!weft_pass_resume(here, routine)) return false;
  return true;
}

/* Enters bodies by itself. */
static bool entering_loop(void *host, weft_world *here)
{
  weft_routine *routine;
  assert_ptr_equal(host, &loops);
  loops++;
  while ((routine = weft_pass_next(here)) != NULL) {
    if (weft_routine_pinned(routine)) {
      if (!weft_pass_resume(here, routine)) return false;
      continue;
    }
    bodies++;
    weft_status status = weft_routine_body(routine)(routine, weft_routine_arg(routine));
    if (status == WEFT_PARKED && !weft_routine_pinned(routine)) continue;
    if (!weft_pass_leave(here, routine, status)) return false;
  }
  return true;
}

/* Waits in all ways, as often as its argument says, and hands on what it knows in its record. */
static weft_status wander(weft_routine *self, void *arg)
{
  uint64_t *turns = weft_routine_record(self);
  uint32_t limit = *(uint32_t *)arg;
  for (; *turns < limit; ++*turns) {
    if (*turns % 3 == 0) {
      assert_int_equal(weft_wait((int64_t)*turns * SECOND / 16), WEFT_OK);
    } else {
      ++*turns;
      assert_int_equal(weft_arm_next_tick(world, self), WEFT_OK);
      return WEFT_PARKED;
    }
  }
  return WEFT_OK;
}

static uint64_t resumes_with(bool (*loop)(void *host, weft_world *world))
{
  uint32_t limits[50];
  uint64_t resumed = 0;
  make_world(50, (weft_world_hooks){.host = &loops, .loop = loop});
  for (uint32_t i = 0; i < 50; i++) limits[i] = i, start(wander, &limits[i]);
  for (int i = 0; i < 600; i++) resumed += tick();
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  assert_int_equal(stats.completed, 50);
  assert_int_equal(stats.pinned, 0);
  drop_world();
  return resumed;
}

static void a_loop_of_the_host_does_what_the_librarys_does(void **state)
{
  (void)state;
  loops = bodies = 0;
  uint64_t resumed = resumes_with(NULL);
  assert_int_equal(resumes_with(plain_loop), resumed);
  assert_true(loops > 0);
  loops = 0;
  assert_int_equal(resumes_with(entering_loop), resumed);
  assert_true(loops > 0 && bodies > 0);
}

/* --- The look ahead ------------------------------------------------------------------------ */

#define MANY 3000

typedef struct look {
  uint32_t slots[3]; /* far, middle, near */
  uint32_t turn;     /* how many were resumed before */
} look;

static look looks[2 * MANY]; /* one a resume, and a few before the first */
static uint32_t look_count, turn_count;
static uint32_t turns[MANY]; /* by slot: when in the tick it was resumed */

static void note_look(void *host, weft_routine *far, weft_routine *middle, weft_routine *near)
{
  weft_routine *all[3] = {far, middle, near};
  assert_true(look_count < 2 * MANY);
  look *it = &looks[look_count++];
  assert_ptr_equal(host, &looks);
  it->turn = turn_count;
  for (int i = 0; i < 3; i++) {
    assert_ptr_equal(weft_routine_arg(all[i]), &turns);
    it->slots[i] = weft_routine_slot(world, all[i]);
  }
}

static weft_status note_turn(weft_routine *self, void *arg)
{
  assert_ptr_equal(arg, &turns);
  turns[weft_routine_slot(world, self)] = turn_count++;
  weft_status status = weft_arm_next_tick(world, self);
  return status == WEFT_OK ? WEFT_PARKED : status;
}

/* Sleeps until a second that has nothing to do with its slot, and takes its turns from then on. */
static weft_status sleep_then_note(weft_routine *self, void *arg)
{
  uint32_t slot = weft_routine_slot(world, self);
  if (weft_world_tick_count(world) > 1) return note_turn(self, arg);
  int64_t seconds = (int64_t)(slot * 7919u % MANY) + 1;
  return weft_arm_wait(world, self, seconds * 1000000000) == WEFT_OK ? WEFT_PARKED
                                                                     : WEFT_FAILED;
}

static void start_shuffled(weft_handle *handles)
{
  for (int i = 0; i < MANY; i++) handles[i] = start(sleep_then_note, &turns);
  tick();
  assert_int_equal(weft_world_tick(world, MANY + 1, NULL), WEFT_OK);
}

static void tick_and_note(void)
{
  look_count = turn_count = 0;
  memset(turns, 0xff, sizeof turns);
  tick();
}

static void what_is_shown_comes_up_soon_and_in_that_order(void **state)
{
  (void)state;
  weft_handle handles[MANY];
  make_world(MANY, (weft_world_hooks){.host = &looks, .prefetch = note_look});
  look_count = 0;
  start_shuffled(handles);
  tick_and_note();
  assert_int_equal(turn_count, MANY);
  assert_true(look_count > MANY - 50);
  uint32_t apart = 0;
  for (uint32_t i = 0; i < look_count; i++) {
    uint32_t far = turns[looks[i].slots[0]], middle = turns[looks[i].slots[1]];
    uint32_t near = turns[looks[i].slots[2]];
    assert_true(looks[i].turn <= near && near <= middle && middle <= far);
    assert_true(far - looks[i].turn <= 16);
    apart += near < middle && middle < far;
  }
  assert_true(apart > MANY - 50); /* at the ends of the pass one may stand for another */
  drop_world();
}

static void who_stands_in_the_order_of_the_slots_is_not_shown(void **state)
{
  (void)state;
  make_world(MANY, (weft_world_hooks){.host = &looks, .prefetch = note_look});
  for (int i = 0; i < MANY; i++) start(note_turn, &turns);
  tick_and_note();
  assert_int_equal(turn_count, MANY);
  assert_true(look_count < 50); /* the machine fetches neighbours by itself */
  drop_world();
}

static void holes_are_never_shown(void **state)
{
  (void)state;
  unit_random random = {7};
  weft_handle handles[MANY];
  make_world(MANY, (weft_world_hooks){.host = &looks, .prefetch = note_look});
  for (int i = 0; i < MANY; i++) handles[i] = start(note_turn, &turns);
  uint32_t cancelled = 0;
  for (int i = 0; i < MANY; i++)
    if (unit_random_chance(&random, 5)) cancelled += weft_cancel(world, handles[i]);
  tick_and_note();
  assert_int_equal(turn_count, MANY - cancelled);
  assert_true(look_count > 100);
  for (uint32_t i = 0; i < look_count; i++)
    for (int j = 0; j < 3; j++)
      assert_int_not_equal(turns[looks[i].slots[j]], UINT32_MAX); /* it was resumed */
  drop_world();
}

static void few_are_not_looked_ahead_for(void **state)
{
  (void)state;
  make_world(MANY, (weft_world_hooks){.host = &looks, .prefetch = note_look});
  for (int i = 0; i < 1000; i++) start(note_turn, &turns);
  tick_and_note();
  assert_int_equal(turn_count, 1000);
  assert_int_equal(look_count, 0);
  drop_world();
}

/* --- Ends ---------------------------------------------------------------------------------- */

typedef struct ends {
  uint32_t count;
  uint32_t joined;
  weft_state last;
  weft_status restart; /* what starting another answered */
  bool restarts;
} ends;

static weft_status sleep_or_end(weft_routine *self, void *arg)
{
  *(uint64_t *)weft_routine_record(self) = 12345;
  return arg ? weft_wait(100 * SECOND) : WEFT_FAILED;
}

static void note_end(void *host, weft_routine *routine, bool joined)
{
  ends *all = host;
  uint64_t *record = weft_routine_record(routine);
  assert_null(weft_self());
  assert_non_null(weft_fiber_current());
  assert_int_equal(weft_wait(1), WEFT_OUTSIDE);
  all->count++;
  all->joined += joined;
  all->last = weft_routine_state_of(routine);
  if (all->restarts) all->restart = weft_routine_start(world, sleep_or_end, all, NULL);
  assert_int_equal(*record, 12345);
  assert_int_equal(weft_routine_state_of(routine), all->last);
}

static void an_end_is_told_with_its_final_state(void **state)
{
  (void)state;
  ends all = {.count = 0};
  make_world(8, (weft_world_hooks){.host = &all, .ended = note_end});
  weft_handle sleeper = start(sleep_or_end, &all);
  start(sleep_or_end, NULL);
  tick();
  assert_int_equal(all.count, 1);
  assert_int_equal(all.last, WEFT_STATE_FAILED);
  weft_cancel(world, sleeper);
  tick();
  assert_int_equal(all.count, 2);
  assert_int_equal(all.last, WEFT_STATE_CANCELLED);
  assert_int_equal(all.joined, 0);
  drop_world();
}

static weft_status join_it(weft_routine *self, void *arg)
{
  *(uint64_t *)weft_routine_record(self) = 12345;
  return weft_join(*(weft_handle *)arg, -1);
}

static void an_end_that_somebody_waits_for_is_told_as_such(void **state)
{
  (void)state;
  ends all = {.count = 0};
  make_world(8, (weft_world_hooks){.host = &all, .ended = note_end});
  weft_handle sleeper = start(sleep_or_end, &all);
  start(join_it, &sleeper);
  tick();
  weft_cancel(world, sleeper);
  tick();
  assert_int_equal(all.joined, 1);
  tick();
  assert_int_equal(all.count, 2);
  assert_int_equal(all.last, WEFT_STATE_COMPLETED);
  drop_world();
}

static void a_start_in_the_hook_never_gets_the_slot_that_it_looks_at(void **state)
{
  (void)state;
  ends all = {.restarts = true, .restart = WEFT_INVALID};
  make_world(1, (weft_world_hooks){.host = &all, .ended = note_end});
  start(sleep_or_end, NULL);
  tick();
  assert_int_equal(all.count, 1);
  assert_int_equal(all.restart, WEFT_FULL);
  start(sleep_or_end, NULL); /* but after it */
  drop_world();
  make_world(2, (weft_world_hooks){.host = &all, .ended = note_end});
  start(sleep_or_end, NULL);
  tick();
  assert_int_equal(all.restart, WEFT_OK);
  assert_int_equal(tick(), 1);
  drop_world();
}

static weft_status never_entered(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  fail_msg("entered");
  return WEFT_OK;
}

static void release_arg(void *host, weft_routine *routine)
{
  ends *all = host;
  uint32_t *arg = weft_routine_arg(routine);
  all->count++;
  *arg += 1;
  if (*arg > 1) all->restart = weft_routine_start(world, sleep_or_end, all, NULL);
}

static void what_was_never_entered_is_dropped(void **state)
{
  (void)state;
  ends all = {.restart = WEFT_INVALID};
  uint32_t released[2] = {0, 1};
  make_world(3, (weft_world_hooks){.host = &all, .dropped = release_arg, .ended = note_end});
  weft_handle first = start(never_entered, &released[0]);
  weft_handle second = start(never_entered, &released[1]);
  assert_true(weft_cancel(world, first));
  assert_int_equal(released[0], 1);
  assert_true(weft_cancel(world, second));
  assert_int_equal(released[1], 2);
  assert_int_equal(all.count, 2);
  assert_int_equal(all.restart, WEFT_OK);
  assert_int_equal(tick(), 1);
  drop_world();
}

/* --- The record, and what can be asked ------------------------------------------------------ */

static weft_status check_record(weft_routine *self, void *arg)
{
  uint64_t *record = weft_routine_record(self);
  assert_int_equal((uintptr_t)record % 8, 0);
  assert_int_equal(*record, 0);
  *record = UINT64_MAX;
  ++*(uint32_t *)arg;
  return WEFT_OK;
}

static void a_record_is_zeroed_for_each_routine(void **state)
{
  (void)state;
  uint32_t checked = 0;
  make_world(2, (weft_world_hooks){.host = NULL});
  for (int i = 0; i < 10; i++) {
    start(check_record, &checked);
    start(check_record, &checked);
    tick();
  }
  assert_int_equal(checked, 20);
  drop_world();
}

static void the_live_ones_are_listed_slot_by_slot(void **state)
{
  (void)state;
  ends all = {.count = 0};
  weft_handle handles[5];
  make_world(8, (weft_world_hooks){.host = NULL});
  for (int i = 0; i < 5; i++) handles[i] = start(sleep_or_end, i == 2 ? NULL : &all);
  tick();
  uint32_t cursor = 0;
  for (int i = 0; i < 5; i++) {
    if (i == 2) continue; /* it has ended */
    weft_routine *routine = weft_routine_each(world, &cursor);
    assert_ptr_equal(routine, weft_routine_find(world, handles[i]));
    assert_true(weft_routine_handle(world, routine) == handles[i]);
    assert_int_equal(weft_routine_slot(world, routine), i);
    assert_ptr_equal(weft_routine_body(routine), sleep_or_end);
    assert_true(weft_routine_pinned(routine));
    assert_int_equal(weft_routine_wakes_in(world, routine), 100 * SECOND);
  }
  assert_null(weft_routine_each(world, &cursor));
  assert_true(weft_routine_wake(world, weft_routine_find(world, handles[0])));
  assert_false(weft_routine_wake(world, weft_routine_find(world, handles[0])));
  assert_int_equal(tick(), 1);
  assert_int_equal(weft_routine_state(world, handles[0]), WEFT_STATE_COMPLETED);
  drop_world();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loop_of_the_host_does_what_the_librarys_does),
      cmocka_unit_test(what_is_shown_comes_up_soon_and_in_that_order),
      cmocka_unit_test(who_stands_in_the_order_of_the_slots_is_not_shown),
      cmocka_unit_test(holes_are_never_shown),
      cmocka_unit_test(few_are_not_looked_ahead_for),
      cmocka_unit_test(an_end_is_told_with_its_final_state),
      cmocka_unit_test(an_end_that_somebody_waits_for_is_told_as_such),
      cmocka_unit_test(a_start_in_the_hook_never_gets_the_slot_that_it_looks_at),
      cmocka_unit_test(what_was_never_entered_is_dropped),
      cmocka_unit_test(a_record_is_zeroed_for_each_routine),
      cmocka_unit_test(the_live_ones_are_listed_slot_by_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
