/* SPDX-License-Identifier: MIT */
/*
** owner_spec.c - owners from C: the tree, weak handles, cancels in order, ends that are told, clocks.
*/
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"
#include "support/random.h"

#define SECOND INT64_C(1000000000)

static void say_ended(void *host, weft_owner owner, void *data)
{
  (void)host;
  assert_false(weft_owner_alive(world, owner));
  say(data ? data : "?");
}

static int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 64, .hooks = {.owner_ended = say_ended}};
  return make_ground(&config);
}

static weft_owner make(weft_owner parent, char *name)
{
  weft_owner owner = 0;
  assert_int_equal(weft_owner_new(world, parent, &owner), WEFT_OK);
  assert_int_equal(weft_owner_set_data(world, owner, name), WEFT_OK);
  return owner;
}

static weft_handle start_owned(weft_owner owner, weft_body body, void *arg)
{
  weft_handle handle = 0;
  assert_int_equal(weft_routine_start_owned(world, owner, body, arg, &handle), WEFT_OK);
  return handle;
}

/* Waits for ever, and says its name when it is cancelled. */
static weft_status stay(weft_routine *self, void *name)
{
  (void)self;
  weft_status status = weft_wait(1000 * SECOND);
  if (status == WEFT_CANCELLED) say(name);
  return status;
}

static weft_status end_at_once(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return WEFT_OK;
}

static weft_status refusal(weft_owner owner)
{
  weft_handle handle;
  return weft_routine_start_owned(world, owner, end_at_once, NULL, &handle);
}

static void a_destroyed_owner_takes_its_routines_and_children_along(void **state)
{
  (void)state;
  weft_owner top = make(0, "top"), left = make(top, "left"), right = make(top, "right");
  weft_owner below = make(left, "below"), other = make(0, "other");
  weft_handle first = start_owned(top, stay, "1");
  start_owned(right, stay, "2");
  start_owned(below, stay, "3");
  start_owned(left, stay, "4");
  start_owned(top, stay, "5");
  weft_handle free = start_owned(0, stay, "free"), kept = start_owned(other, stay, "kept");
  tick(0);
  assert_true(weft_owner_destroy(world, top));
  assert_string_equal(story, "");
  assert_int_equal(weft_routine_state(world, first), WEFT_STATE_CANCELLING);
  assert_false(weft_owner_destroy(world, top));
  assert_false(weft_owner_destroy(world, below));
  tick(0);
  assert_string_equal(story, "1 5 4 3 below left 2 right top");
  assert_int_equal(weft_routine_state(world, free), WEFT_STATE_SLEEPING);
  assert_int_equal(weft_routine_state(world, kept), WEFT_STATE_SLEEPING);
  assert_true(weft_owner_alive(world, other));
}

static void nothing_left_is_told_before_destroy_returns(void **state)
{
  (void)state;
  weft_owner top = make(0, "top");
  make(top, "a");
  weft_owner b = make(top, "b");
  make(b, "c");
  weft_handle never = start_owned(b, stay, "never");
  assert_true(weft_owner_destroy(world, top));
  assert_string_equal(story, "a c b top");
  assert_int_equal(weft_routine_state(world, never), WEFT_STATE_CANCELLED);
  assert_int_equal(weft_world_active(world), 0);
}

static void a_used_slot_never_confuses_an_old_handle(void **state)
{
  (void)state;
  weft_owner old = make(0, "old"), fresh = 0;
  weft_owner_destroy(world, old);
  for (int i = 0; i < 100; i++) {
    weft_owner owner = make(0, "x");
    assert_true(owner != old);
    if (weft_owner_slot(owner) == weft_owner_slot(old)) fresh = owner;
    if (owner != fresh) weft_owner_destroy(world, owner);
  }
  assert_true(weft_owner_alive(world, fresh));
  assert_false(weft_owner_destroy(world, old));
  assert_false(weft_owner_disable(world, old));
  assert_int_equal(refusal(old), WEFT_DESTROYED);
  assert_int_equal(weft_owner_set_time_scale(world, old, 2), WEFT_DESTROYED);
  assert_int_equal(weft_owner_set_data(world, old, NULL), WEFT_DESTROYED);
  assert_true(weft_owner_alive(world, fresh));
  story[0] = '\0';
}

static void a_slot_is_retired_before_its_handles_repeat(void **state)
{
  (void)state;
  world->sched.owners.generation_end = 2;
  weft_owner first = make(0, "x");
  weft_owner_destroy(world, first);
  weft_owner second = make(0, "x");
  assert_int_equal(weft_owner_slot(second), weft_owner_slot(first));
  weft_owner_destroy(world, second);
  assert_true(weft_owner_slot(make(0, "x")) != weft_owner_slot(first));
}

static void handles_that_nobody_gave_out_mean_nothing(void **state)
{
  (void)state;
  weft_owner owner = make(0, "x"), out;
  weft_owner wrong[] = {owner + 1, owner ^ UINT64_C(1) << 56, UINT64_MAX,
                        owner & ~UINT64_C(0xFF)};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(weft_owner_alive(world, wrong[i]));
    assert_false(weft_owner_destroy(world, wrong[i]));
    assert_int_equal(weft_owner_new(world, wrong[i], &out), WEFT_DESTROYED);
  }
  assert_int_equal(weft_owner_set_time_scale(world, owner, -1), WEFT_INVALID);
  assert_int_equal(weft_owner_set_time_scale(world, owner, NAN), WEFT_INVALID);
  assert_int_equal(weft_owner_set_time_scale(world, owner, INFINITY), WEFT_INVALID);
}

static void the_disabled_start_nothing_until_all_above_are_enabled(void **state)
{
  (void)state;
  weft_owner top = make(0, "top"), child = make(top, "child");
  start_owned(child, stay, "1");
  tick(0);
  assert_true(weft_owner_disable(world, top));
  assert_false(weft_owner_disable(world, top));
  assert_true(weft_owner_disable(world, child));
  weft_owner late = make(child, "late");
  tick(0);
  assert_string_equal(story, "1");
  assert_int_equal(refusal(top), WEFT_DISABLED);
  assert_true(weft_owner_enable(world, top));
  assert_false(weft_owner_enable(world, top));
  assert_int_equal(weft_world_active(world), 0);
  assert_int_equal(refusal(late), WEFT_DISABLED);
  assert_true(weft_owner_enable(world, child));
  start_owned(late, end_at_once, NULL);
  tick(0);
  assert_true(weft_owner_alive(world, child));
}

static weft_status destroy_own(weft_routine *self, void *owner)
{
  assert_true(weft_routine_owner(world, self) == *(weft_owner *)owner);
  assert_true(weft_owner_destroy(world, *(weft_owner *)owner));
  say("on");
  assert_int_equal(weft_wait(SECOND), WEFT_CANCELLED);
  say("out");
  return WEFT_CANCELLED;
}

static void its_own_routine_may_destroy_it(void **state)
{
  (void)state;
  weft_owner owner = make(0, "over");
  start_owned(owner, destroy_own, &owner);
  start_owned(owner, stay, "never");
  tick(0);
  assert_string_equal(story, "on out over");
}

static void owners_outlive_a_configure(void **state)
{
  (void)state;
  weft_owner owner = make(0, "x");
  weft_world_config config = world->config;
  config.capacity = 8;
  for (int i = 0; i < 300; i++) assert_int_equal(weft_world_configure(world, &config), WEFT_OK);
  assert_true(weft_owner_alive(world, owner));
  start_owned(owner, stay, "1");
  tick(0);
  weft_owner_destroy_all(world);
  tick(0);
  assert_string_equal(story, "1 x");
}

/* --- Clocks -------------------------------------------------------------------------------- */

static int64_t slept;

static weft_status sleep_once(weft_routine *self, void *seconds)
{
  if (weft_wait((int64_t)(*(double *)seconds * 1e9)) != WEFT_OK) return WEFT_CANCELLED;
  slept = weft_slept(world, self);
  say("woke");
  return WEFT_OK;
}

static void a_scale_moves_what_is_left(void **state)
{
  (void)state;
  double ten = 10;
  weft_owner top = make(0, "top"), owner = make(top, "owner");
  weft_handle handle = start_owned(owner, sleep_once, &ten);
  tick(0);
  weft_routine *routine = weft_routine_find(world, handle);
  tick(4);
  assert_int_equal(weft_owner_set_time_scale(world, top, 2), WEFT_OK);
  assert_int_equal(weft_owner_set_time_scale(world, owner, 0.25), WEFT_OK);
  tick(4);
  assert_int_equal(weft_routine_wakes_in(world, routine), 4 * SECOND);
  weft_owner_set_time_scale(world, top, 0);
  tick(100);
  assert_int_equal(weft_routine_wakes_in(world, routine), 4 * SECOND);
  weft_owner_set_time_scale(world, top, 4);
  tick(3.999);
  assert_string_equal(story, "");
  tick(0.001);
  assert_string_equal(story, "woke");
  assert_int_equal(slept, 10 * SECOND);
}

/* After any number of changes of scale not a nanosecond is missing. */
static void rounding_does_not_add_up(void **state)
{
  (void)state;
  weft__owners owners;
  uint32_t slot;
  int64_t sim = 0;
  weft__owners_init(&owners, 1);
  assert_int_equal(weft__owner_make(&owners, WEFT_OWNER_ROOT, 0, &slot), WEFT_OK);
  weft__owner *owner = weft__owner_at(&owners, slot);
  for (int i = 0; i < (int)unit_scaled(100000) * 10; i++) {
    owner->scale = i % 2 ? 1 / 3.0 : 2 / 3.0;
    weft__owner_follow(&owners, slot, sim);
    sim += 1000001;
  }
  int64_t exact = sim / 2;
  assert_in_range(weft__owner_now(owner, sim) - exact + 1, 0, 2);
  weft__owners_fini(&owners);
}

/* Whatever the scales were, a deadline comes when the clock shows it, within the slack. */
static void deadlines_agree_with_the_clock(void **state)
{
  (void)state;
  weft__owners owners;
  uint32_t slot;
  int64_t sim = 0;
  unit_random random = {7};
  weft__owners_init(&owners, 1);
  assert_int_equal(weft__owner_make(&owners, WEFT_OWNER_ROOT, 0, &slot), WEFT_OK);
  weft__owner *owner = weft__owner_at(&owners, slot);
  for (int i = 0; i < 20000; i++) {
    owner->scale = exp((double)unit_random_below(&random, 140) / 10 - 7);
    weft__owner_follow(&owners, slot, sim);
    sim += unit_random_below(&random, 1000000000);
    int64_t now = weft__owner_now(owner, sim);
    int64_t due = now + 1000 + unit_random_below(&random, 1000000000);
    int64_t at = weft__owner_sim_of(owner, due);
    int64_t reached = weft__owner_now(owner, at - 999);
    assert_true(at > sim);
    assert_true(weft__owner_now(owner, at) >= due);
    assert_true(due - reached <= 1002 * (int64_t)ceil(owner->scale));
  }
  weft__owners_fini(&owners);
}

static void a_clock_stops_at_its_end(void **state)
{
  (void)state;
  weft__owners owners;
  uint32_t slot;
  weft__owners_init(&owners, 1);
  assert_int_equal(weft__owner_make(&owners, WEFT_OWNER_ROOT, 0, &slot), WEFT_OK);
  weft__owner *owner = weft__owner_at(&owners, slot);
  double scales[] = {1e300, 1, 0, 1e-300, 2, 1};
  int64_t before = 0;
  for (int i = 0; i < 6; i++) {
    owner->scale = scales[i];
    weft__owner_follow(&owners, slot, i * (INT64_MAX / 8));
    int64_t now = weft__owner_now(owner, i * (INT64_MAX / 8) + INT64_MAX / 9);
    assert_true(now >= before);
    assert_true(weft__owner_sim_of(owner, INT64_MAX) >= 0);
    before = now;
  }
  weft__owners_fini(&owners);
}

static void equal_deadlines_keep_their_order(void **state)
{
  (void)state;
  double one = 1;
  weft_owner owner = make(0, "x");
  weft_handle handles[6];
  for (int i = 0; i < 6; i++) handles[i] = start_owned(i % 2 ? owner : 0, sleep_once, &one);
  tick(0);
  double scales[] = {0, 3, 0, 0.5, 1};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
    weft_owner_set_time_scale(world, owner, scales[i]);
  world->config.resumes_per_tick = 1;
  world->sched.budget = 1;
  for (int i = 0; i < 6; i++) {
    tick(i == 0 ? 1 : 0);
    assert_int_equal(weft_routine_state(world, handles[i]), WEFT_STATE_COMPLETED);
  }
}

/* --- Failing and chance -------------------------------------------------------------------- */

static void no_memory_leaves_all_as_it_was(void **state)
{
  (void)state;
  weft_owner owner;
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_int_equal(weft_owner_new(world, 0, &owner), WEFT_NOMEM);
  weft_owner made[40];
  for (int i = 0; i < 40; i++) made[i] = make(i > 0 ? made[i - 1] : 0, "x");
  for (int i = 0; i < 40; i++) assert_true(weft_owner_alive(world, made[i]));
}

static weft_status doze(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  for (int i = 0; i < 4; i++)
    if (weft_wait(i * SECOND / 3) != WEFT_OK) return WEFT_CANCELLED;
  return WEFT_OK;
}

static void step(unit_random *random, weft_owner *known, int count)
{
  weft_owner *at = &known[unit_random_below(random, (uint32_t)count)];
  weft_handle handle;
  switch (unit_random_below(random, 9)) {
  case 0:
    weft_owner_destroy(world, *at);
    break;
  case 1:
    weft_owner_disable(world, *at);
    break;
  case 2:
    weft_owner_enable(world, *at);
    break;
  case 3:
    weft_owner_set_time_scale(world, *at, unit_random_below(random, 4));
    break;
  case 4:
    weft_owner_new(world,
                   unit_random_below(random, 3) ? known[unit_random_below(random, 12)] : 0, at);
    break;
  case 5:
    tick(unit_random_below(random, 3) / 4.0);
    break;
  default:
    weft_routine_start_owned(world, *at, doze, NULL, &handle);
    break;
  }
  story[0] = '\0';
}

static const char *any_program(uint64_t seed)
{
  weft_owner known[12] = {0};
  unit_random random = {seed};
  for (int i = 0; i < 200; i++) {
    step(&random, known, 12);
    if (!weft__sched_valid(&world->sched)) return "the structure is broken";
  }
  weft_owner_destroy_all(world);
  for (int i = 0; i < 40; i++) tick(1);
  for (uint32_t slot = 1; slot < world->sched.owners.count; slot++)
    if (world->sched.owners.slots[slot].used) return "an owner is left";
  return NULL;
}

static void any_order_of_calls_keeps_the_structure(void **state)
{
  (void)state;
  unit_for_seeds(200, any_program);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_destroyed_owner_takes_its_routines_and_children_along),
      TEST(nothing_left_is_told_before_destroy_returns),
      TEST(a_used_slot_never_confuses_an_old_handle),
      TEST(a_slot_is_retired_before_its_handles_repeat),
      TEST(handles_that_nobody_gave_out_mean_nothing),
      TEST(the_disabled_start_nothing_until_all_above_are_enabled),
      TEST(its_own_routine_may_destroy_it),
      TEST(owners_outlive_a_configure),
      TEST(a_scale_moves_what_is_left),
      TEST(rounding_does_not_add_up),
      TEST(deadlines_agree_with_the_clock),
      TEST(a_clock_stops_at_its_end),
      TEST(equal_deadlines_keep_their_order),
      TEST(no_memory_leaves_all_as_it_was),
      TEST(any_order_of_calls_keeps_the_structure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
