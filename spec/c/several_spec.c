/* SPDX-License-Identifier: MIT */
/*
** several_spec.c - waiting for several routines at once, in C: any, all, some; pinned and compact.
*/
#include <string.h>

#include "core/sched_joins.h"
#include "core/world.h"
#include "support/failing.h"
#include "support/unit.h"

#define SECOND INT64_C(1000000000)

static weft_world *world;
static weft_handle targets[4]; /* each sleeps its number of seconds */
static bool told[4];           /* the `ended` hook: somebody waited for it */

/* What the waiting routine asks for, and what it was answered. */
static weft_watch watches[4];
static uint32_t count, needed;
static int64_t timeout;
static weft_status answer;
static int64_t when;
static bool over;

static void remember_joined(void *host, weft_routine *routine, bool joined)
{
  (void)host;
  for (int i = 0; i < 4; i++)
    if (weft_routine_handle(world, routine) == targets[i]) told[i] = joined;
}

static weft_status sleeps(weft_routine *self, void *seconds)
{
  (void)self;
  return weft_wait(*(const int64_t *)seconds * SECOND);
}

static int make_world(void **state)
{
  static const int64_t seconds[] = {1, 2, 3, 4};
  (void)state;
  weft_world_config config = {.capacity = 16, .hooks = {.ended = remember_joined}};
  failing_install();
  if (weft_world_new(&config, &world)) return -1;
  memset(watches, 0, sizeof watches);
  memset(told, 0, sizeof told);
  over = false;
  count = 3;
  needed = 1;
  timeout = -1;
  for (int i = 0; i < 4; i++) {
    if (weft_routine_start(world, sleeps, (void *)&seconds[i], &targets[i])) return -1;
    watches[i].handle = targets[i];
  }
  return 0;
}

static int drop_world(void **state)
{
  (void)state;
  bool valid = weft__sched_valid(&world->sched);
  bool clean = weft_world_delete(world) == WEFT_OK && failing_blocks() == 0;
  failing_remove();
  return valid && clean ? 0 : -1;
}

static void tick(double dt)
{
  assert_int_equal(weft_world_tick(world, dt, NULL), WEFT_OK);
  assert_true(weft__sched_valid(&world->sched));
}

static void ticks(int n)
{
  for (; n > 0; n--) tick(1);
}

static weft_handle start(weft_body body)
{
  weft_handle handle = 0;
  assert_int_equal(weft_routine_start(world, body, NULL, &handle), WEFT_OK);
  return handle;
}

static weft_status asks(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  answer = weft_join_any(watches, count, needed, timeout);
  when = weft_world_sim_time(world) / SECOND;
  over = true;
  return answer == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

/* Armed on the first entry, answered on the second. */
static weft_status asks_compactly(weft_routine *self, void *arg)
{
  (void)arg;
  bool done = false;
  if (!over) {
    over = true;
    answer = weft_arm_any(world, self, watches, count, needed, timeout, &done);
    return answer == WEFT_OK && !done ? WEFT_PARKED : WEFT_OK;
  }
  answer = weft_woken(self);
  when = weft_world_sim_time(world) / SECOND;
  return WEFT_OK;
}

static void any_ends_with_the_first_and_lets_go_of_the_others(void **state)
{
  (void)state;
  start(asks);
  tick(0);
  ticks(2);
  assert_true(over);
  assert_int_equal(answer, WEFT_OK);
  assert_int_equal(watches[0].state, WEFT_STATE_COMPLETED);
  assert_true(watches[1].state < WEFT_STATE_COMPLETED);
  ticks(3);
  assert_true(told[0]);
  assert_false(told[1] || told[2]);
}

static void all_ends_with_the_last_and_is_resumed_once(void **state)
{
  weft_world_stats stats;
  (void)state;
  needed = 3;
  start(asks);
  tick(0);
  ticks(4);
  weft_world_stats_get(world, &stats);
  assert_true(over);
  assert_int_equal(answer, WEFT_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(watches[i].state, WEFT_STATE_COMPLETED);
  assert_true(told[0] && told[1] && told[2]);
  assert_int_equal(stats.resumed, 5 + 4 + 1); /* each entered; four sleeps; one wait for all */
}

static void some_of_them_are_enough_if_no_more_are_needed(void **state)
{
  (void)state;
  needed = 2;
  start(asks_compactly);
  tick(0);
  ticks(3);
  assert_int_equal(answer, WEFT_OK);
  assert_int_equal(when, 3);
  assert_int_equal(watches[1].state, WEFT_STATE_COMPLETED);
  assert_true(watches[2].state < WEFT_STATE_COMPLETED);
}

static void one_routine_may_be_watched_twice(void **state)
{
  (void)state;
  watches[1].handle = targets[0];
  count = needed = 2;
  start(asks);
  tick(0);
  ticks(2);
  assert_true(over);
  assert_int_equal(watches[0].state, WEFT_STATE_COMPLETED);
  assert_int_equal(watches[1].state, WEFT_STATE_COMPLETED);
}

static void a_time_limit_lets_go_of_all(void **state)
{
  (void)state;
  timeout = SECOND / 2;
  start(asks);
  tick(0);
  tick(0.5);
  assert_true(over);
  assert_int_equal(answer, WEFT_TIMEOUT);
  ticks(4);
  assert_false(told[0] || told[1] || told[2]);
}

static void a_cancel_lets_go_before_it_returns(void **state)
{
  (void)state;
  weft_handle waiter = start(asks);
  tick(0);
  assert_true(weft_routine_has_joiners(weft_routine_find(world, targets[1])));
  assert_true(weft_cancel(world, waiter));
  assert_false(weft_routine_has_joiners(weft_routine_find(world, targets[1])));
  tick(0);
  assert_int_equal(answer, WEFT_CANCELLED);
}

static void a_disarmed_wait_watches_nobody(void **state)
{
  (void)state;
  bool done = true;
  weft__sched_begin_pass(&world->sched);
  weft_routine *self = weft__routine_of(weft__sched_take(&world->sched));
  watches[0].handle = targets[3];
  assert_int_equal(weft_arm_any(world, self, watches, 3, 3, SECOND, &done), WEFT_OK);
  assert_false(done);
  weft_disarm(world, self);
  assert_false(weft_routine_has_joiners(weft_routine_find(world, targets[3])));
  assert_int_equal(weft_arm_any(world, self, watches, 3, 1, -1, &done), WEFT_OK);
  weft_disarm(world, self);
  assert_true(weft__sched_valid(&world->sched));
  assert_int_equal(weft_arm_next_tick(world, self), WEFT_OK);
}

static void what_has_ended_or_expired_counts_at_once(void **state)
{
  (void)state;
  ticks(2); /* the first is over */
  watches[1].handle = UINT64_C(0x7F00000000000000);
  watches[2].state = WEFT_STATE_FAILED; /* told by the caller */
  needed = 3;
  start(asks);
  tick(0);
  assert_true(over);
  assert_int_equal(watches[0].state, WEFT_STATE_COMPLETED);
  assert_int_equal(watches[1].state, WEFT_STATE_EXPIRED);
  assert_int_equal(watches[2].state, WEFT_STATE_FAILED);
}

static void asking_for_none_is_answered_at_once(void **state)
{
  (void)state;
  count = needed = 0;
  start(asks);
  tick(0);
  assert_true(over);
  assert_int_equal(answer, WEFT_OK);
}

static void misuse_is_refused(void **state)
{
  (void)state;
  bool done = false;
  assert_int_equal(weft_join_any(watches, 1, 1, -1), WEFT_OUTSIDE);
  weft__sched_begin_pass(&world->sched);
  weft_routine *self = weft__routine_of(weft__sched_take(&world->sched));
  assert_int_equal(weft_arm_any(world, self, watches, 3, 1, -1, &done), WEFT_SELF);
  watches[0].handle = targets[1];
  assert_int_equal(weft_arm_any(world, self, watches, 2, 3, -1, &done), WEFT_INVALID);
  assert_int_equal(weft_arm_any(world, self, watches, 2, 1, INT64_MAX, &done), WEFT_INVALID);
  assert_int_equal(weft_arm_any(world, NULL, watches, 2, 1, -1, &done), WEFT_OUTSIDE);
  assert_false(done);
  assert_int_equal(weft_arm_next_tick(world, self), WEFT_OK);
}

/* Three that wait for the next one, and for one that ends by itself. */
static weft_handle ring[3];
static weft_watch ring_watches[3][2];
static weft_status ring_answers[3];
static uint32_t ring_needed;

static weft_status closes(weft_routine *self, void *arg)
{
  (void)arg;
  int me = weft_routine_handle(world, self) == ring[0]   ? 0
           : weft_routine_handle(world, self) == ring[1] ? 1
                                                         : 2;
  ring_watches[me][0] = (weft_watch){.handle = ring[(me + 1) % 3]};
  ring_watches[me][1] = (weft_watch){.handle = targets[3]};
  ring_answers[me] = weft_join_any(ring_watches[me], 2, ring_needed, -1);
  return WEFT_OK;
}

static void start_ring(uint32_t needed_of_two)
{
  ring_needed = needed_of_two;
  for (int i = 0; i < 3; i++) ring[i] = start(closes);
  ticks(10);
  assert_int_equal(weft_world_active(world), 0);
}

static void all_in_a_ring_are_refused_at_the_last(void **state)
{
  (void)state;
  start_ring(2);
  assert_int_equal(ring_answers[2], WEFT_RING);
  assert_int_equal(ring_answers[0], WEFT_OK);
  assert_int_equal(ring_answers[1], WEFT_OK);
}

static void any_with_a_way_out_is_no_ring(void **state)
{
  (void)state;
  start_ring(1);
  for (int i = 0; i < 3; i++) assert_int_equal(ring_answers[i], WEFT_OK);
}

static void the_walker_finds_broken_watches(void **state)
{
  (void)state;
  start(asks_compactly);
  tick(0);
  weft__several *wait = weft__several_of(&world->sched, watches[0].waiter);
  wait->linked++;
  assert_false(weft__sched_valid(&world->sched));
  wait->linked--;
  watches[1].prev = &watches[0];
  assert_false(weft__sched_valid(&world->sched));
  watches[1].prev = &watches[1];
  weft__sched_at(&world->sched, watches[2].target)->watched = false;
  assert_false(weft__sched_valid(&world->sched));
  weft__sched_at(&world->sched, watches[2].target)->watched = true;
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, make_world, drop_world)

int main(void)
{
  const struct CMUnitTest tests[] = {
      UNIT(any_ends_with_the_first_and_lets_go_of_the_others),
      UNIT(all_ends_with_the_last_and_is_resumed_once),
      UNIT(some_of_them_are_enough_if_no_more_are_needed),
      UNIT(one_routine_may_be_watched_twice),
      UNIT(a_time_limit_lets_go_of_all),
      UNIT(a_cancel_lets_go_before_it_returns),
      UNIT(a_disarmed_wait_watches_nobody),
      UNIT(what_has_ended_or_expired_counts_at_once),
      UNIT(asking_for_none_is_answered_at_once),
      UNIT(misuse_is_refused),
      UNIT(all_in_a_ring_are_refused_at_the_last),
      UNIT(any_with_a_way_out_is_no_ring),
      UNIT(the_walker_finds_broken_watches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
