/* SPDX-License-Identifier: MIT */
/*
** watch_spec.c - what the looks at a count of resumes make of it, with times that the spec makes up;
** and worlds that are watched, whose bodies go on until they have been seen.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "core/watch.h"
#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"

#define MS INT64_C(1000000)

/* --- Looks --------------------------------------------------------------------------------- */

static weft__looks looks;

static weft__seen look_at(int64_t ms, uint64_t number, bool running)
{
  return weft__look(&looks, ms * MS, number, running, 20 * MS, 50 * MS);
}

static void a_resume_is_slow_at_its_limit_and_over_at_the_other(void **state)
{
  (void)state;
  looks = (weft__looks){0};
  assert_int_equal(look_at(100, 7, true), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(119, 7, true), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(120, 7, true), WEFT_SEEN_SLOW);
  assert_int_equal(look_at(149, 7, true), WEFT_SEEN_SLOW);
  assert_int_equal(look_at(150, 7, true), WEFT_SEEN_OVER);
  assert_int_equal(look_at(900, 7, true), WEFT_SEEN_OVER);
  assert_int_equal(looks.since, 100 * MS);
}

static void another_resume_begins_anew(void **state)
{
  (void)state;
  looks = (weft__looks){0};
  assert_int_equal(look_at(100, 7, true), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(140, 8, true), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(159, 8, true), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(160, 8, true), WEFT_SEEN_SLOW);
}

static void what_does_not_run_takes_no_time(void **state)
{
  (void)state;
  looks = (weft__looks){0};
  assert_int_equal(look_at(0, 7, false), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(1000, 7, false), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(1001, 7, true), WEFT_SEEN_NOTHING); /* seen for the first time */
  assert_int_equal(look_at(1020, 7, true), WEFT_SEEN_NOTHING);
  assert_int_equal(look_at(1021, 7, true), WEFT_SEEN_SLOW);
  assert_int_equal(look_at(1022, 7, false), WEFT_SEEN_NOTHING);
}

static void a_limit_of_none_is_never_reached(void **state)
{
  (void)state;
  looks = (weft__looks){0};
  weft__look(&looks, 0, 1, true, 0, 50);
  assert_int_equal(weft__look(&looks, 49, 1, true, 0, 50), WEFT_SEEN_NOTHING);
  assert_int_equal(weft__look(&looks, 50, 1, true, 0, 50), WEFT_SEEN_OVER);
  assert_int_equal(weft__look(&looks, INT64_MAX, 1, true, 50, 0), WEFT_SEEN_SLOW);
  assert_int_equal(weft__look(&looks, INT64_MAX, 1, true, 0, 0), WEFT_SEEN_NOTHING);
}

/* --- Worlds -------------------------------------------------------------------------------- */

/* What the hooks were told. */
static struct {
  atomic_uint overruns, overs; /* the body spins on these */
  weft_routine *routine;
  weft_handle slow[16];
  int64_t ns[16];
  uint32_t count;
} told;

static void note_overrun(void *host, weft_routine *routine, bool over)
{
  (void)host;
  told.routine = routine;
  atomic_fetch_add(&told.overruns, 1);
  if (over) atomic_fetch_add(&told.overs, 1);
}

static void note_slow(void *host, weft_handle routine, int64_t ns)
{
  (void)host;
  assert_true(told.count < 16);
  told.slow[told.count] = routine;
  told.ns[told.count++] = ns;
}

static weft_world_config watched(int64_t slow, int64_t over)
{
  return (weft_world_config){.capacity = 32,
                             .slow_resume_ns = slow,
                             .max_resume_ns = over,
                             .hooks = {.overrun = note_overrun, .slow = note_slow}};
}

static int make(void **state)
{
  (void)state;
  memset(&told, 0, sizeof told);
  weft_world_config config = watched(2 * MS, 4 * MS);
  return make_ground(&config);
}

static weft_status spin_until_slow(weft_routine *self, void *arg)
{
  uint32_t before = atomic_load(&told.overruns);
  (void)self, (void)arg;
  while (atomic_load(&told.overruns) == before) {
  }
  return WEFT_OK;
}

static weft_status spin_until_over(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  while (atomic_load(&told.overs) < 2) {
  }
  return WEFT_OK;
}

static weft_status quick(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return WEFT_OK;
}

static uint64_t count_slow(void)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  return stats.slow;
}

static void a_slow_resume_is_told_when_the_pass_is_over(void **state)
{
  (void)state;
  start(quick, NULL);
  weft_handle slow = start(spin_until_slow, NULL);
  start(quick, NULL);
  tick(0);
  assert_int_equal(told.count, 1);
  assert_int_equal(told.slow[0], slow);
  assert_true(told.ns[0] >= 2 * MS);
  assert_int_equal(count_slow(), 1);
  tick(0);
  assert_int_equal(told.count, 1);
}

static void one_that_runs_on_is_over_again_and_again_and_slow_once(void **state)
{
  (void)state;
  weft_handle slow = start(spin_until_over, NULL);
  tick(0);
  assert_true(atomic_load(&told.overs) >= 2);
  assert_int_equal(told.count, 1);
  assert_int_equal(told.slow[0], slow);
  assert_true(told.ns[0] >= 4 * MS);
}

static void several_of_a_pass_are_told_eight_at_most(void **state)
{
  (void)state;
  weft_handle all[10];
  for (int i = 0; i < 10; i++) all[i] = start(spin_until_slow, NULL);
  tick(0);
  assert_int_equal(told.count, 8);
  for (int i = 0; i < 8; i++) assert_int_equal(told.slow[i], all[i]);
  assert_int_equal(count_slow(), 8);
}

static weft_status spin_when_cancelled(weft_routine *self, void *arg)
{
  weft_status status = weft_wait(1000 * MS);
  return status == WEFT_CANCELLED ? spin_until_slow(self, arg) : status;
}

static void a_cleanup_at_the_end_is_watched_too(void **state)
{
  (void)state;
  uint32_t left;
  weft_handle slow = start(spin_when_cancelled, NULL);
  tick(0);
  assert_int_equal(weft_world_drain(world, 8, &left), WEFT_OK);
  assert_int_equal(told.count, 1);
  assert_int_equal(told.slow[0], slow);
}

static void a_watch_that_fell_asleep_is_woken_by_a_tick(void **state)
{
  (void)state;
  while (!atomic_load(&((weft__watch_shared *)(void *)world->watch)->asleep))
    weft_sleep_until(weft_clock() + MS);
  start(spin_until_slow, NULL);
  tick(0);
  assert_int_equal(told.count, 1);
}

/* Long enough for it to fall asleep if it were to. */
static void dawdle(void *host, weft_phase phase, double dt)
{
  (void)host, (void)dt;
  const weft__watch_shared *shared = (weft__watch_shared *)(void *)world->watch;
  if (phase != WEFT_PRE_UPDATE) return;
  while (atomic_load(&shared->asleep)) weft_sleep_until(weft_clock() + MS);
  weft_sleep_until(weft_clock() + 40 * MS);
  assert_false(atomic_load(&shared->asleep));
}

static void a_watch_stays_awake_however_long_a_tick_takes_until_its_routines(void **state)
{
  (void)state;
  weft_world_config config = watched(2 * MS, 4 * MS);
  config.hooks.phase = dawdle;
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  start(spin_until_slow, NULL);
  tick(0);
  assert_int_equal(told.count, 1);
}

/* A watch that looks more often than it is told of anything. */
static weft_status spin_until_sampled(weft_routine *self, void *arg)
{
  (void)arg;
  while (weft_routine_cpu(world, self) < 3 * MS) {
  }
  return weft_wait(0);
}

static int64_t cpu_of(weft_handle handle)
{
  return weft_routine_cpu(world, weft_routine_find(world, handle));
}

static weft_status wait_long(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(1000 * MS);
}

static void looks_tell_who_runs(void **state)
{
  (void)state;
  weft_handle idle = start(wait_long, NULL), busy = start(spin_until_sampled, NULL);
  tick(0);
  assert_true(cpu_of(busy) >= 3 * MS);
  assert_true(cpu_of(idle) < 3 * MS);
  tick(0);
  assert_state(busy, WEFT_STATE_COMPLETED);
  weft_handle next = busy;
  for (int i = 0; weft_routine_state(world, busy) != WEFT_STATE_EXPIRED; i++) {
    assert_true(i < 100);
    next = start(wait_long, NULL);
    if (weft_routine_state(world, busy) == WEFT_STATE_EXPIRED) break;
    assert_true(weft_cancel(world, next));
  }
  assert_int_equal(cpu_of(next), 0);
}

static void who_is_not_watched_is_not_sampled(void **state)
{
  (void)state;
  weft_world_config config = watched(0, 0);
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  weft_handle idle = start(wait_long, NULL);
  tick(0);
  assert_int_equal(cpu_of(idle), -1);
}

static void a_world_can_be_watched_from_some_day_on_and_no_more(void **state)
{
  (void)state;
  weft_world_config config = watched(0, 0);
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_null(world->watch);
  config = watched(3 * MS, 0);
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_non_null(world->watch);
  start(spin_until_slow, NULL);
  tick(0);
  assert_int_equal(told.count, 1);
}

static void limits_below_none_are_refused(void **state)
{
  (void)state;
  weft_world *other;
  weft_world_config config = watched(-1, 0);
  assert_int_equal(weft_world_new(&config, &other), WEFT_INVALID);
  config = watched(0, -1);
  assert_int_equal(weft_world_new(&config, &other), WEFT_INVALID);
}

static void without_a_thread_nothing_changes(void **state)
{
  (void)state;
  weft_world *other = NULL;
  weft_world_config config = watched(5 * MS, 0);
  failing_always(FAILING_THREAD, EAGAIN);
  assert_int_equal(weft_world_configure(world, &config), WEFT_NOMEM);
  assert_int_equal(weft_world_new(&config, &other), WEFT_NOMEM);
  failing_disarm();
  assert_null(other);
  start(spin_until_slow, NULL);
  tick(0);
  assert_int_equal(told.count, 1);
}

/* The timers come last: what was made before them goes, the thread too. */
static void a_world_that_cannot_be_had_leaves_no_watch(void **state)
{
  (void)state;
  weft_status status = WEFT_NOMEM;
  weft_world *other = NULL;
  weft_world_config config = watched(5 * MS, 0);
  config.timers = 8;
  int64_t blocks = failing_blocks(), mapped = failing_mapped();
  for (uint64_t nth = 1; status == WEFT_NOMEM; nth++) {
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    status = weft_world_new(&config, &other);
    failing_disarm();
    if (status != WEFT_NOMEM) break;
    assert_int_equal(failing_blocks(), blocks);
    assert_int_equal(failing_mapped(), mapped);
  }
  assert_int_equal(status, WEFT_OK);
  assert_int_equal(weft_world_delete(other), WEFT_OK);
}

/* --- The signal ---------------------------------------------------------------------------- */

static volatile sig_atomic_t others;

static void on_urgent(int number)
{
  (void)number;
  others++;
}

/* The first world that is watched puts its handler in front of this one. */
static void signals_of_others_go_to_the_handler_that_was_there(void **state)
{
  (void)state;
  struct sigaction mine = {.sa_handler = on_urgent};
  assert_int_equal(sigaction(SIGURG, &mine, NULL), 0);
  memset(&told, 0, sizeof told);
  weft_world_config config = watched(2 * MS, 0);
  assert_int_equal(make_ground(&config), 0);
  assert_int_equal(raise(SIGURG), 0);
  assert_int_equal(others, 1);
  start(spin_until_slow, NULL);
  tick(0);
  assert_int_equal(told.count, 1);
  assert_int_equal(others, 1);
  assert_int_equal(drop_ground(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop_ground)

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_resume_is_slow_at_its_limit_and_over_at_the_other),
      cmocka_unit_test(another_resume_begins_anew),
      cmocka_unit_test(what_does_not_run_takes_no_time),
      cmocka_unit_test(a_limit_of_none_is_never_reached),
      cmocka_unit_test(signals_of_others_go_to_the_handler_that_was_there),
      TEST(a_slow_resume_is_told_when_the_pass_is_over),
      TEST(one_that_runs_on_is_over_again_and_again_and_slow_once),
      TEST(several_of_a_pass_are_told_eight_at_most),
      TEST(a_cleanup_at_the_end_is_watched_too),
      TEST(a_watch_that_fell_asleep_is_woken_by_a_tick),
      TEST(a_watch_stays_awake_however_long_a_tick_takes_until_its_routines),
      TEST(looks_tell_who_runs),
      TEST(who_is_not_watched_is_not_sampled),
      TEST(a_world_can_be_watched_from_some_day_on_and_no_more),
      TEST(limits_below_none_are_refused),
      TEST(without_a_thread_nothing_changes),
      TEST(a_world_that_cannot_be_had_leaves_no_watch),
  };
  weft_leave_signals(); /* an alternate stack would count as held */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
