/* SPDX-License-Identifier: MIT */
/*
** wall_spec.c - how long routines have run, by a clock that the spec moves.
*/
#include <errno.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"

static int64_t now;
static uint32_t looks;

static int64_t clock_of_spec(void)
{
  looks++;
  return now;
}

/* No resume of a spec is so long that the watch would see it. */
static weft_world_config measured(void)
{
  return (weft_world_config){.capacity = 4, .slow_resume_ns = INT64_C(1000000000) * 1000};
}

static int make(void **state)
{
  (void)state;
  weft_world_config config = measured();
  int failed = make_ground(&config);
  now = 1000;
  looks = 0;
  if (!failed) world->meter->clock = clock_of_spec;
  return failed;
}

static int64_t wall_of(weft_handle handle)
{
  return weft_routine_wall(world, weft_routine_find(world, handle));
}

/* Works for `arg` ns, twice, with its stack kept in between. */
static weft_status work_twice(weft_routine *self, void *arg)
{
  int64_t before = weft_routine_wall(world, self);
  now += *(int64_t *)arg;
  assert_int_equal(weft_routine_wall(world, self), before + *(int64_t *)arg);
  weft_status status = weft_wait(0);
  now += *(int64_t *)arg;
  return status ? status : weft_wait(0);
}

/* The same without a stack in between. */
static weft_status work_compactly(weft_routine *self, void *arg)
{
  now += *(int64_t *)arg;
  return weft_arm_wait(world, self, 0) ? WEFT_FAILED : WEFT_PARKED;
}

static void each_gets_the_time_of_its_own_resumes(void **state)
{
  (void)state;
  int64_t seven = 7, forty = 40;
  weft_handle a = start(work_twice, &seven), b = start(work_compactly, &forty);
  assert_int_equal(wall_of(a), 0);
  tick(0);
  assert_int_equal(wall_of(a), 7);
  assert_int_equal(wall_of(b), 40);
  now += 5000; /* between ticks nobody runs */
  tick(0);
  assert_int_equal(wall_of(a), 14);
  assert_int_equal(wall_of(b), 80);
  now += 5000;
  assert_int_equal(wall_of(b), 80);
  assert_true(weft_cancel(world, b));
}

static weft_status end(weft_routine *self, void *arg)
{
  (void)self;
  now += *(int64_t *)arg;
  return WEFT_OK;
}

static void a_slot_that_is_used_again_begins_at_nothing(void **state)
{
  (void)state;
  int64_t many = 1000000, few = 3;
  for (int i = 0; i < 20; i++) {
    start(end, &many);
    tick(0);
  }
  weft_handle next = start(work_compactly, &few);
  assert_int_equal(wall_of(next), 0);
  tick(0);
  assert_int_equal(wall_of(next), 3);
  assert_true(weft_cancel(world, next));
}

static void the_clock_is_read_once_a_resume_and_once_a_pass(void **state)
{
  (void)state;
  int64_t one = 1;
  for (int i = 0; i < 4; i++) start(end, &one);
  tick(0);
  assert_int_equal(looks, 5);
  tick(0); /* an empty pass */
  assert_int_equal(looks, 5);
}

static void where_nobody_asked_no_clock_is_read(void **state)
{
  (void)state;
  int64_t one = 1;
  weft_world_config config = {.capacity = 4, .max_resume_ns = INT64_C(1000000000) * 1000};
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  weft_handle some = start(work_compactly, &one);
  tick(0);
  assert_null(world->meter);
  assert_int_equal(wall_of(some), -1);
  assert_int_equal(looks, 0);
  assert_true(weft_cancel(world, some));
}

static void without_memory_a_world_stays_as_it_was(void **state)
{
  (void)state;
  int64_t one = 1;
  weft_world_config config = measured();
  weft_status status = WEFT_NOMEM;
  for (uint64_t nth = 1; status == WEFT_NOMEM; nth++) {
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    status = weft_world_configure(world, &config);
    failing_disarm();
    if (status == WEFT_NOMEM) assert_ptr_equal(world->meter->clock, clock_of_spec);
  }
  assert_int_equal(status, WEFT_OK);
  world->meter->clock = clock_of_spec;
  weft_handle some = start(work_compactly, &one);
  tick(0);
  assert_int_equal(wall_of(some), 1);
  assert_true(weft_cancel(world, some));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop_ground)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(each_gets_the_time_of_its_own_resumes),
      TEST(a_slot_that_is_used_again_begins_at_nothing),
      TEST(the_clock_is_read_once_a_resume_and_once_a_pass),
      TEST(where_nobody_asked_no_clock_is_read),
      TEST(without_memory_a_world_stays_as_it_was),
  };
  weft_leave_signals();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
