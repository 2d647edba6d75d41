/* SPDX-License-Identifier: MIT */
/*
** world_spec.c - a world's life: its tick, clocks, posts, configuration, limits, and who may call.
*/
#include <math.h>
#include <string.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"
#include "support/random.h"

#define SECOND INT64_C(1000000000)

static void say_phase(void *host, weft_phase phase, double dt)
{
  static const char *const names[] = {"preUpdate", "fixedUpdate", "update", "postUpdate"};
  assert_ptr_equal(host, story);
  assert_true(dt == 0.25);
  assert_null(weft_self());
  say(names[phase]);
}

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 8, .posts_per_tick = 3};
  return make_ground(&config);
}

static weft_world_stats stats(void)
{
  weft_world_stats out;
  weft_world_stats_get(world, &out);
  return out;
}

static weft_world *new_world(void)
{
  weft_world *other = NULL;
  weft_world_config config = {.capacity = 2};
  assert_int_equal(weft_world_new(&config, &other), WEFT_OK);
  return other;
}

static weft_status sleep_long(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(100 * SECOND);
}

static weft_status say_it(weft_routine *self, void *arg)
{
  (void)self;
  say(arg);
  return WEFT_OK;
}

static void say_post(void *arg)
{
  assert_null(weft_self());
  assert_ptr_equal(weft_world_ticking(), world);
  assert_true(weft_world_in_tick(world));
  say(arg);
}

/* --- The tick ------------------------------------------------------------------------------ */

static void a_tick_goes_through_its_stages_in_order(void **state)
{
  (void)state;
  weft_world_config config = {.hooks = {story, .phase = say_phase}};
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_ptr_equal(weft_world_host(world), story);
  start(say_it, "routine");
  weft_world_post(world, say_post, "post", WEFT_NORMAL);
  assert_false(weft_world_in_tick(world));
  tick(0.25);
  assert_string_equal(story, "post preUpdate update routine postUpdate");
  assert_null(weft_world_ticking());
}

static void clocks_follow_scale_and_pause(void **state)
{
  (void)state;
  tick(1);
  weft_world_set_time_scale(world, 0.5);
  tick(1);
  assert_false(weft_world_is_paused(world));
  weft_world_pause(world);
  assert_true(weft_world_is_paused(world));
  tick(1);
  weft_world_resume(world);
  weft_world_set_time_scale(world, 0);
  tick(1);
  assert_int_equal(weft_world_sim_time(world), SECOND * 3 / 2);
  assert_int_equal(weft_world_real_time(world), 4 * SECOND);
  assert_int_equal(weft_world_tick_count(world), 4);
}

static void a_step_out_of_range_changes_nothing(void **state)
{
  (void)state;
  const double bad[] = {-1, -1e-300, (double)NAN, (double)INFINITY, -(double)INFINITY, 9.1e9};
  uint64_t resumed = 77;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(weft_world_tick(world, bad[i], &resumed), WEFT_INVALID);
  weft_world_set_time_scale(world, 1e300); /* the scaled step is the one that does not fit */
  assert_int_equal(weft_world_tick(world, 1, &resumed), WEFT_INVALID);
  weft_world_set_time_scale(world, 1);
  tick(9e9);
  assert_int_equal(weft_world_tick(world, 9e9, &resumed), WEFT_INVALID);
  assert_int_equal(weft_world_tick_count(world), 1);
  assert_int_equal(weft_world_real_time(world), 9 * SECOND * SECOND);
  assert_int_equal(resumed, 77);
  assert_int_equal(weft_world_set_time_scale(world, -0.5), WEFT_INVALID);
  assert_int_equal(weft_world_set_time_scale(world, (double)NAN), WEFT_INVALID);
  assert_int_equal(weft_world_set_time_scale(world, (double)INFINITY), WEFT_INVALID);
}

/* --- Posts --------------------------------------------------------------------------------- */

static uint32_t ran;

static void post_again(void *arg)
{
  ran++;
  assert_int_equal(weft_world_post(world, post_again, arg, WEFT_HIGH), WEFT_OK);
}

static void what_a_post_posts_waits_for_the_next_tick(void **state)
{
  (void)state;
  ran = 0;
  weft_world_post(world, post_again, NULL, WEFT_NORMAL);
  for (uint32_t i = 1; i <= 5; i++) {
    tick(0.016);
    assert_int_equal(ran, i);
    assert_int_equal(stats().posts, 1);
  }
}

static void posts_run_by_priority_then_age_within_their_budget(void **state)
{
  (void)state;
  static char *const words[] = {"a", "b", "C", "d", "E"};
  for (int i = 0; i < 5; i++) {
    weft_priority priority = words[i][0] < 'a' ? WEFT_HIGH : WEFT_NORMAL;
    assert_int_equal(weft_world_post(world, say_post, words[i], priority), WEFT_OK);
  }
  assert_int_equal(stats().posts, 5);
  weft_world_pause(world);
  tick(0);
  assert_string_equal(story, "C E a");
  tick(0);
  assert_string_equal(story, "C E a b d");
  assert_int_equal(weft_world_post(world, NULL, NULL, WEFT_HIGH), WEFT_INVALID);
  assert_int_equal(weft_world_post(world, say_post, NULL, (weft_priority)2), WEFT_INVALID);
}

static void count_post(void *arg)
{
  (void)arg;
  ran++;
}

static void post_many(void *arg)
{
  for (uint32_t i = 0; i < *(uint32_t *)arg; i++)
    while (weft_world_post(world, count_post, NULL, i % 2 ? WEFT_HIGH : WEFT_NORMAL)) {
    }
}

static void other_threads_post_while_the_world_ticks_and_is_configured(void **state)
{
  (void)state;
  weft_world_config config = {.posts_per_tick = 1000000};
  uint32_t count = unit_scaled(40000);
  weft__thread threads[3];
  ran = 0;
  failing_remove(); /* its account is for one thread */
  weft_world_delete(world);
  assert_int_equal(weft_world_new(&config, &world), WEFT_OK);
  for (int i = 0; i < 3; i++)
    assert_int_equal(weft__thread_start(&threads[i], post_many, &count), WEFT_OK);
  for (int i = 0; ran < 3 * count; i++) {
    tick(0);
    config.stack_bytes = i % 2 ? 1 : 32 << 10; /* every second one fails */
    config.capacity = 1 + (uint32_t)i % 50;
    weft_status expected = i % 2 ? WEFT_INVALID : WEFT_OK;
    if (i < 200) assert_int_equal(weft_world_configure(world, &config), expected);
  }
  for (int i = 0; i < 3; i++) weft__thread_join(&threads[i]);
  tick(0);
  assert_int_equal(ran, 3 * count);
  weft_world_delete(world);
  failing_install();
  world = new_world();
}

/* --- Configuring --------------------------------------------------------------------------- */

static void configuring_keeps_clocks_counters_and_posts(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 100, .resumes_per_tick = 7, .stack_bytes = 20000};
  weft_handle old = start(say_it, "before");
  tick(1.0 / 3);
  weft_world_post(world, say_post, "posted", WEFT_HIGH);
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_int_equal(weft_world_sim_time(world), 333333333);
  assert_int_equal(weft_world_tick_count(world), 1);
  assert_int_equal(stats().started, 1);
  assert_int_equal(stats().resumed, 1);
  assert_int_equal(stats().capacity, 100);
  assert_true(stats().stack_bytes >= 20000 && stats().stack_bytes < 20000 + 65536);
  assert_int_equal(weft_routine_state(world, old), WEFT_STATE_EXPIRED);
  start(say_it, "after");
  tick(1.0 / 3);
  assert_string_equal(story, "before posted after");
  assert_int_equal(weft_world_configure(world, NULL), WEFT_OK);
  assert_int_equal(stats().capacity, 256);
  assert_int_equal(stats().stack_bytes, 64 << 10);
}

static void a_world_with_routines_is_not_configured(void **state)
{
  (void)state;
  weft_handle handle = start(sleep_long, NULL);
  assert_int_equal(weft_world_configure(world, NULL), WEFT_ALIVE);
  tick(0);
  assert_int_equal(weft_world_configure(world, NULL), WEFT_ALIVE);
  assert_int_equal(stats().capacity, 8);
  weft_cancel(world, handle);
  tick(0);
  assert_int_equal(weft_world_configure(world, NULL), WEFT_OK);
}

static void limits_are_checked_at_both_ends(void **state)
{
  (void)state;
  const weft_world_config bad[] = {
      {.capacity = ((uint32_t)1 << 24) + 1},
      {.stack_bytes = (16 << 10) - 1},
      {.stack_bytes = ((size_t)1 << 30) + 1},
      {.record_bytes = 4097},
  };
  const weft_world_config good[] = {
      {.capacity = 1, .stack_bytes = 16 << 10, .record_bytes = 4096},
      {.capacity = 1, .stack_bytes = (size_t)1 << 30},
      {.capacity = (uint32_t)1 << 24},
  };
  weft_world *other = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(weft_world_new(&bad[i], &other), WEFT_INVALID);
    assert_int_equal(weft_world_configure(world, &bad[i]), WEFT_INVALID);
  }
  assert_null(other);
  bool slow = unit_on_valgrind() || unit_has_asan() || unit_has_tsan(); /* 2 GB of zeroes */
  for (size_t i = 0; i < sizeof good / sizeof good[0] - slow; i++) {
    assert_int_equal(weft_world_new(&good[i], &other), WEFT_OK);
    start_in(other, say_it, "ran");
    assert_int_equal(weft_world_tick(other, 0, NULL), WEFT_OK);
    assert_int_equal(weft_world_delete(other), WEFT_OK);
  }
  assert_int_equal(weft_world_delete(NULL), WEFT_OK);
}

static void a_world_goes_with_its_routines_as_they_stand(void **state)
{
  (void)state;
  weft_world *other = new_world();
  start_in(other, sleep_long, NULL);
  assert_int_equal(weft_world_tick(other, 0, NULL), WEFT_OK);
  start_in(other, sleep_long, NULL);
  weft_world_post(other, say_post, "never", WEFT_NORMAL);
  assert_int_equal(weft_world_delete(other), WEFT_OK);
  assert_string_equal(story, "");
}

/* --- Handles ------------------------------------------------------------------------------- */

static void a_handle_of_another_world_is_expired(void **state)
{
  (void)state;
  weft_world *other = new_world();
  weft_handle mine = start(sleep_long, NULL), theirs = start_in(other, sleep_long, NULL);
  assert_true(mine != theirs && mine != 0 && theirs != 0);
  assert_int_equal(weft_routine_state(other, mine), WEFT_STATE_EXPIRED);
  assert_int_equal(weft_routine_state(world, theirs), WEFT_STATE_EXPIRED);
  assert_false(weft_cancel(other, mine));
  assert_null(weft_routine_find(other, mine));
  assert_int_equal(weft_world_tick(other, 0, NULL), WEFT_OK);
  assert_int_equal(weft_routine_state(other, theirs), WEFT_STATE_SLEEPING);
  assert_int_equal(weft_world_delete(other), WEFT_OK);
}

static void a_handle_of_a_dead_world_stays_a_stranger(void **state)
{
  (void)state;
  weft_world *other = new_world();
  weft_handle dead = start_in(other, sleep_long, NULL);
  weft_world_delete(other);
  assert_int_equal(weft_routine_state(world, dead), WEFT_STATE_EXPIRED);
  for (int i = 0; i < 250; i++) {
    other = new_world();
    weft_handle handle = start_in(other, sleep_long, NULL);
    assert_true(handle != dead);
    assert_int_equal(weft_routine_state(other, dead), WEFT_STATE_EXPIRED);
    weft_world_delete(other);
  }
}

static void worlds_that_live_at_once_never_share_a_tag(void **state)
{
  (void)state;
  weft_handle mine = start(sleep_long, NULL);
  for (int i = 0; i < 1000; i++) {
    weft_world *other = new_world();
    weft_handle theirs = start_in(other, sleep_long, NULL); /* the same slot and generation */
    assert_int_equal(weft_routine_state(other, mine), WEFT_STATE_EXPIRED);
    assert_int_equal(weft_routine_state(world, theirs), WEFT_STATE_EXPIRED);
    weft_world_delete(other);
  }
}

static void more_worlds_than_tags_can_live(void **state)
{
  (void)state;
  weft_world *all[300];
  for (int i = 0; i < 300; i++) all[i] = new_world();
  for (int i = 0; i < 300; i++) {
    weft_handle handle = start_in(all[i], sleep_long, NULL);
    assert_true(handle != 0);
    assert_int_equal(weft_routine_state(all[i], handle), WEFT_STATE_QUEUED);
  }
  for (int i = 0; i < 300; i++) assert_int_equal(weft_world_delete(all[i]), WEFT_OK);
}

static void a_full_world_refuses_and_writes_nothing(void **state)
{
  (void)state;
  weft_handle handle = 77;
  for (int i = 0; i < 8; i++) start(sleep_long, NULL);
  assert_int_equal(weft_routine_start(world, sleep_long, NULL, &handle), WEFT_FULL);
  assert_int_equal(weft_routine_start(world, NULL, NULL, &handle), WEFT_INVALID);
  assert_int_equal(handle, 77);
  assert_int_equal(stats().rejected, 1);
}

/* --- Statuses ------------------------------------------------------------------------------ */

static void every_status_has_a_name_and_a_text(void **state)
{
  (void)state;
  const weft_status all[] = {
#define STATUS_VALUE(name, value, text) name,
      WEFT_STATUSES(STATUS_VALUE)
#undef STATUS_VALUE
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    assert_memory_equal(weft_status_name(all[i]), "WEFT_", 5);
    assert_true(strlen(weft_status_text(all[i])) > 5);
    for (size_t j = 0; j < i; j++) {
      assert_int_not_equal(all[i], all[j]);
      assert_string_not_equal(weft_status_name(all[i]), weft_status_name(all[j]));
    }
  }
  assert_string_equal(weft_status_name(WEFT_RING), "WEFT_RING");
  assert_string_equal(weft_status_text(WEFT_OK), "no error");
  assert_string_equal(weft_status_name(-1000), "WEFT_UNKNOWN");
  assert_string_equal(weft_status_text(-1000), "unknown status");
  assert_string_equal(weft_version(), WEFT_VERSION);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_tick_goes_through_its_stages_in_order),
      TEST(clocks_follow_scale_and_pause),
      TEST(a_step_out_of_range_changes_nothing),
      TEST(what_a_post_posts_waits_for_the_next_tick),
      TEST(posts_run_by_priority_then_age_within_their_budget),
      TEST(other_threads_post_while_the_world_ticks_and_is_configured),
      TEST(configuring_keeps_clocks_counters_and_posts),
      TEST(a_world_with_routines_is_not_configured),
      TEST(limits_are_checked_at_both_ends),
      TEST(a_world_goes_with_its_routines_as_they_stand),
      TEST(a_handle_of_another_world_is_expired),
      TEST(a_handle_of_a_dead_world_stays_a_stranger),
      TEST(worlds_that_live_at_once_never_share_a_tag),
      TEST(more_worlds_than_tags_can_live),
      TEST(a_full_world_refuses_and_writes_nothing),
      TEST(every_status_has_a_name_and_a_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
