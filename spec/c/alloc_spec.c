/* SPDX-License-Identifier: MIT */
/*
** alloc_spec.c - memory: none is asked for in steady state, and where it is asked for each
** refusal is told and leaks nothing.
*/
#include <errno.h>
#include <string.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

#define SECOND INT64_C(1000000000)
#define CAPACITY 500

static weft_world *world;
static unit_random dice;

static int count_memory(void **state)
{
  (void)state;
  failing_install();
  return 0;
}

static int nothing_is_held(void **state)
{
  (void)state;
  bool clean = failing_blocks() == 0 && failing_mapped() == 0;
  failing_remove();
  return clean ? 0 : -1;
}

static uint64_t asked(void)
{
  return failing_count(FAILING_MALLOC) + failing_count(FAILING_MAP);
}

/* --- Steady state -------------------------------------------------------------------------- */

static weft_handle any_handle(void)
{
  uint32_t cursor = unit_random_below(&dice, CAPACITY);
  weft_routine *routine = weft_routine_each(world, &cursor);
  return routine ? weft_routine_handle(world, routine) : 0;
}

/* One wait of any kind, compact or on the stack; WEFT_PARKED if it is to be returned. */
static weft_status wait_somehow(weft_routine *self)
{
  int64_t ns = unit_random_below(&dice, 1000) * SECOND / 1000;
  bool done = false;
  weft_status armed = WEFT_OK;
  switch (unit_random_below(&dice, 6)) {
  case 0:
    return weft_wait(ns);
  case 1:
    return weft_join(any_handle(), ns);
  case 2:
    armed = weft_arm_wait_unscaled(world, self, ns);
    break;
  case 3:
    armed = weft_arm_next_tick(world, self);
    break;
  case 4:
    armed = weft_arm_join(world, self, any_handle(), ns, &done);
    break;
  default:
    armed = weft_arm_wait(world, self, ns);
    break;
  }
  return armed == WEFT_OK && !done ? WEFT_PARKED : armed;
}

static weft_status live(weft_routine *self, void *arg)
{
  ++*(uint64_t *)arg;
  for (;;) {
    weft_status status = weft_woken(self) == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
    if (status == WEFT_OK && unit_random_chance(&dice, 90))
      status = wait_somehow(self);
    else
      return status;
    if (status == WEFT_PARKED || status == WEFT_CANCELLED) return status;
  }
}

static weft_status stand(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_next_tick();
}

/* Starts, cancels and wakes, then a tick; adds what was done. */
static void step(uint64_t *operations)
{
  for (uint32_t i = unit_random_below(&dice, 200); i > 0; i--, ++*operations)
    weft_routine_start(world, live, operations, NULL);
  for (uint32_t i = unit_random_below(&dice, 40); i > 0; i--, ++*operations)
    weft_cancel(world, any_handle());
  for (uint32_t i = unit_random_below(&dice, 40); i > 0; i--, ++*operations) {
    weft_routine *routine = weft_routine_find(world, any_handle());
    if (routine) weft_routine_wake(world, routine);
  }
  uint64_t resumed = 0;
  assert_int_equal(weft_world_tick(world, 0.05, &resumed), WEFT_OK);
  *operations += resumed;
}

static void a_million_operations_ask_for_no_memory(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = CAPACITY, .resumes_per_tick = 300};
  uint64_t operations = 0, wanted = unit_scaled(1000000);
  dice = (unit_random){11};
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
  assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  for (int i = 0; i < CAPACITY; i++) /* as many stacks as can be pinned at once */
    assert_int_equal(weft_routine_start(world, stand, NULL, NULL), WEFT_OK);
  for (int i = 0; i < 4; i++) assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
  uint64_t before = asked();
  while (operations < wanted) step(&operations);
  assert_int_equal(asked(), before);
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  assert_true(stats.started > wanted / 20 && stats.cancelled > 0 && stats.completed > 0);
  assert_true(weft__sched_valid(&world->sched) && weft__fiber_pool_valid(world->pool));
  assert_int_equal(weft_world_delete(world), WEFT_OK);
}

/* --- Refusals ------------------------------------------------------------------------------ */

/* What runs out, and for how long: a single refusal of a mapping is no harm, less is mapped then. */
typedef struct shortage {
  failing_call call;
  uint64_t times;
} shortage;

static const shortage shortages[] = {
    {FAILING_MALLOC, 1}, {FAILING_MALLOC, 1000}, {FAILING_MAP, 1}, {FAILING_MAP, 1000}};
#define SHORTAGES (sizeof shortages / sizeof shortages[0])

static bool is_refusal(weft_status status)
{
  return status == WEFT_NOMEM || status == WEFT_NOSTACK || status == WEFT_MAPCOUNT;
}

static void each_refusal_of_a_new_world_is_told(void **state)
{
  (void)state;
  for (size_t i = 0; i < SHORTAGES; i++) {
    weft_world *made = NULL;
    for (uint64_t nth = 1; !made; nth++) {
      assert_true(nth < 50);
      failing_arm(shortages[i].call, nth, shortages[i].times, ENOMEM);
      weft_status status = weft_world_new(NULL, &made);
      failing_disarm();
      assert_true(made ? status == WEFT_OK : is_refusal(status));
      if (!made) assert_int_equal(failing_blocks() + failing_mapped(), 0);
    }
    assert_int_equal(weft_world_delete(made), WEFT_OK);
  }
}

static weft_status count_turn(weft_routine *self, void *arg)
{
  (void)self;
  ++*(int *)arg;
  return WEFT_OK;
}

/* How many calls it took until nothing that was needed was refused. */
static uint32_t configure_with(shortage what, weft_handle ended)
{
  weft_world_config config = {.capacity = 70, .stack_bytes = 20 << 10};
  weft_world_stats stats;
  for (uint32_t refused = 0;; refused++) {
    int64_t blocks = failing_blocks(), mapped = failing_mapped();
    failing_arm(what.call, refused + 1, what.times, ENOMEM);
    weft_status status = weft_world_configure(world, &config);
    failing_disarm();
    if (status == WEFT_OK) return refused;
    assert_true(is_refusal(status));
    assert_int_equal(failing_blocks(), blocks);
    assert_int_equal(failing_mapped(), mapped);
    weft_world_stats_get(world, &stats);
    assert_int_equal(stats.capacity, 256);
    assert_int_equal(weft_routine_state(world, ended), WEFT_STATE_COMPLETED);
  }
}

static void after_each_refusal_to_configure_the_world_is_as_it_was(void **state)
{
  (void)state;
  for (size_t i = 0; i < SHORTAGES; i++) {
    int turns = 0;
    weft_handle handle = 0;
    assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
    assert_int_equal(weft_routine_start(world, count_turn, &turns, &handle), WEFT_OK);
    assert_int_equal(weft_world_tick(world, 1, NULL), WEFT_OK);
    uint32_t refused = configure_with(shortages[i], handle);
    assert_true(refused >= 1 || (shortages[i].call == FAILING_MAP && shortages[i].times == 1));
    assert_int_equal(weft_routine_start(world, count_turn, &turns, NULL), WEFT_OK);
    assert_int_equal(weft_world_tick(world, 1, NULL), WEFT_OK);
    assert_int_equal(turns, 2);
    assert_int_equal(weft_world_sim_time(world), 2 * SECOND);
    assert_int_equal(weft_world_delete(world), WEFT_OK);
  }
}

static void never_called(void *arg)
{
  (void)arg;
  fail_msg("a post ran that was refused");
}

static void each_refusal_to_post_is_told(void **state)
{
  (void)state;
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_int_equal(weft_world_post(world, never_called, NULL, WEFT_HIGH), WEFT_NOMEM);
  failing_disarm();
  assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
}

/* --- Pinning ------------------------------------------------------------------------------- */

typedef struct tries {
  uint32_t refused;
  uint32_t waited;
} tries;

/* Waits on its stack; when that cannot be, goes on, and sees that no wait was left armed. */
static weft_status try_to_pin(weft_routine *self, void *arg)
{
  tries *all = arg;
  weft_status status = weft_wait(SECOND);
  if (status != WEFT_OK) {
    assert_true(is_refusal(status));
    assert_int_equal(weft_routine_state_of(self), WEFT_STATE_RUNNING);
    assert_false(weft__sched_is_armed(world->sched.running));
    all->refused++;
    if (weft_arm_next_tick(world, self) == WEFT_OK) return WEFT_PARKED; /* tries again */
  }
  all->waited++;
  return WEFT_OK;
}

static void without_a_stack_a_wait_says_so_and_the_routine_goes_on(void **state)
{
  (void)state;
  tries all = {0, 0};
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
  for (int i = 0; i < 100; i++)
    assert_int_equal(weft_routine_start(world, try_to_pin, &all, NULL), WEFT_OK);
  failing_always(FAILING_MAP, ENOMEM);
  failing_always(FAILING_MALLOC, ENOMEM);
  assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
  assert_true(all.refused >= 90 && all.refused < 100); /* the first slab is there */
  assert_true(weft__sched_valid(&world->sched) && weft__fiber_pool_valid(world->pool));
  failing_disarm();
  for (int i = 0; i < 4; i++) assert_int_equal(weft_world_tick(world, 1, NULL), WEFT_OK);
  assert_int_equal(all.waited, 100);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
}

static void refusals_now_and_then_break_nothing(void **state)
{
  (void)state;
  dice = (unit_random){5};
  uint64_t turns = 0;
  for (uint64_t nth = 1; nth <= 12; nth++) {
    assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
    for (int j = 0; j < 100; j++)
      assert_int_equal(weft_routine_start(world, live, &turns, NULL), WEFT_OK);
    failing_arm(FAILING_MAP, nth, 4, ENOMEM);
    for (int j = 0; j < 20; j++) {
      assert_int_equal(weft_world_tick(world, 0.1, NULL), WEFT_OK);
      assert_true(weft__sched_valid(&world->sched) && weft__fiber_pool_valid(world->pool));
    }
    failing_disarm();
    uint32_t left = 1;
    assert_int_equal(weft_world_drain(world, 8, &left), WEFT_OK);
    assert_int_equal(left, 0);
    assert_int_equal(weft_world_delete(world), WEFT_OK);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_memory, nothing_is_held)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_million_operations_ask_for_no_memory),
      TEST(each_refusal_of_a_new_world_is_told),
      TEST(after_each_refusal_to_configure_the_world_is_as_it_was),
      TEST(each_refusal_to_post_is_told),
      TEST(without_a_stack_a_wait_says_so_and_the_routine_goes_on),
      TEST(refusals_now_and_then_break_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
