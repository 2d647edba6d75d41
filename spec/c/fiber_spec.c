/* SPDX-License-Identifier: MIT */
/*
** fiber_spec.c - fibers: who runs when, nesting, pools and their limits, misuse.
*/
#include <signal.h>
#include <string.h>

#include "core/fiber.h"
#include "platform/platform.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/unit.h"

#define KB ((size_t)1 << 10)

static weft_fiber_pool *pool;

static int make_pool(void **state)
{
  (void)state;
  failing_install();
  return weft_fiber_pool_new(32 * KB, 100000, &pool);
}

static int drop_pool(void **state)
{
  (void)state;
  bool valid = weft__fiber_pool_valid(pool);
  weft_fiber_pool_delete(pool);
  bool clean = failing_blocks() == 0 && failing_mapped() == 0;
  failing_remove();
  return valid && clean ? 0 : -1;
}

static weft_fiber *start(weft_fiber_fn fn, void *arg)
{
  weft_fiber *fiber = NULL;
  assert_int_equal(weft_fiber_start(pool, fn, arg, &fiber), WEFT_OK);
  assert_non_null(fiber);
  return fiber;
}

static uint32_t busy(void)
{
  weft_fiber_stats stats;
  weft_fiber_pool_stats(pool, &stats);
  return stats.busy;
}

/* --- Running ------------------------------------------------------------------------------- */

static void count_to_three(void *arg)
{
  int *count = arg;
  for (int i = 0; i < 3; i++) {
    ++*count;
    weft_fiber_yield();
  }
}

static void a_fiber_runs_from_yield_to_yield_until_it_ends(void **state)
{
  (void)state;
  int count = 0;
  weft_fiber *fiber = start(count_to_three, &count);
  assert_int_equal(count, 0);
  for (int i = 1; i <= 3; i++) {
    assert_true(weft_fiber_resume(fiber));
    assert_int_equal(count, i);
    assert_int_equal(busy(), 1);
  }
  assert_false(weft_fiber_resume(fiber));
  assert_int_equal(busy(), 0);
}

static void note_self(void *arg)
{
  weft_fiber **self = arg;
  self[0] = weft_fiber_current();
  weft_fiber_yield();
  self[1] = weft_fiber_current();
}

static void a_fiber_knows_itself_and_the_thread_is_none(void **state)
{
  (void)state;
  weft_fiber *self[2] = {NULL, NULL};
  assert_null(weft_fiber_current());
  weft_fiber *fiber = start(note_self, self);
  weft_fiber_resume(fiber);
  assert_null(weft_fiber_current());
  weft_fiber_resume(fiber);
  assert_ptr_equal(self[0], fiber);
  assert_ptr_equal(self[1], fiber);
  assert_null(weft_fiber_current());
}

typedef struct nest {
  int depth;
  int log[64];
  int length;
} nest;

static void go_deeper(void *arg)
{
  nest *all = arg;
  int level = ++all->depth;
  if (level < 8) {
    weft_fiber *self = weft_fiber_current();
    weft_fiber *inner = start(go_deeper, all);
    assert_true(weft_fiber_resume(inner));
    assert_ptr_equal(weft_fiber_current(), self);
    assert_false(weft_fiber_resume(inner));
    assert_ptr_equal(weft_fiber_current(), self);
  }
  all->log[all->length++] = level;
  weft_fiber_yield();
  all->log[all->length++] = -level;
}

static void a_yield_goes_to_whoever_resumed(void **state)
{
  (void)state;
  nest all = {.depth = 0};
  weft_fiber *outer = start(go_deeper, &all);
  assert_true(weft_fiber_resume(outer));
  assert_false(weft_fiber_resume(outer));
  assert_int_equal(all.length, 16);
  for (int i = 0; i < 8; i++) {
    assert_int_equal(all.log[2 * i], 8 - i);
    assert_int_equal(all.log[2 * i + 1], i - 8);
  }
}

static void resume_it(void *arg)
{
  weft_fiber **inner = arg;
  weft_fiber_resume(*inner);
}

static void two_fibers_in_turn_may_resume_a_third(void **state)
{
  (void)state;
  int count = 0;
  weft_fiber *counter = start(count_to_three, &count);
  for (int i = 1; i <= 3; i++) {
    weft_fiber *resumer = start(resume_it, &counter);
    assert_false(weft_fiber_resume(resumer));
    assert_int_equal(count, i);
  }
  assert_false(weft_fiber_resume(counter));
}

typedef struct summer {
  uint32_t number;
  uint32_t sum;
} summer;

static void sum_up(void *arg)
{
  summer *mine = arg;
  volatile uint32_t local[16];
  for (uint32_t i = 0; i < 16; i++) {
    local[i] = mine->number * 31 + i;
    weft_fiber_yield();
  }
  for (uint32_t i = 0; i < 16; i++) mine->sum += local[i];
}

/* 20,000, or what the tools can bear. */
static uint32_t many(void)
{
  return unit_on_valgrind() ? 300 : unit_has_tsan() || unit_has_asan() ? 3000 : 20000;
}

static void thousands_keep_their_locals_apart(void **state)
{
  (void)state;
  uint32_t count = many();
  summer *all = weft__calloc(count, sizeof *all);
  weft_fiber **fibers = weft__calloc(count, sizeof *fibers);
  for (uint32_t i = 0; i < count; i++) {
    all[i].number = i;
    fibers[i] = start(sum_up, &all[i]);
  }
  assert_int_equal(busy(), count);
  for (uint32_t turn = 0; turn < 16; turn++) {
    for (uint32_t i = 0; i < count; i++) assert_true(weft_fiber_resume(fibers[i]));
  }
  for (uint32_t i = 0; i < count; i++) {
    assert_false(weft_fiber_resume(fibers[i]));
    assert_int_equal(all[i].sum, 16 * 31 * i + 120);
  }
  assert_int_equal(busy(), 0);
  weft__free(all);
  weft__free(fibers);
}

/* --- Pools --------------------------------------------------------------------------------- */

static void nothing(void *arg)
{
  (void)arg;
}

static void sizes_and_counts_are_checked_at_both_ends(void **state)
{
  (void)state;
  weft_fiber_pool *other = NULL;
  assert_int_equal(weft_fiber_pool_new(16 * KB - 1, 1, &other), WEFT_INVALID);
  assert_int_equal(weft_fiber_pool_new(((size_t)1 << 30) + 1, 1, &other), WEFT_INVALID);
  assert_int_equal(weft_fiber_pool_new(16 * KB, 0, &other), WEFT_INVALID);
  assert_int_equal(weft_fiber_pool_new(16 * KB, ((uint32_t)1 << 24) + 1, &other), WEFT_INVALID);
  assert_null(other);
  assert_int_equal(weft_fiber_pool_new(16 * KB, (uint32_t)1 << 24, &other), WEFT_OK);
  weft_fiber_pool_delete(other);
  assert_int_equal(weft_fiber_pool_new((size_t)1 << 30, 1, &other), WEFT_OK);
  weft_fiber_pool_delete(other);
  weft_fiber_pool_delete(NULL);
}

static void a_pool_maps_nothing_until_asked_and_little_then(void **state)
{
  (void)state;
  weft_fiber_stats stats;
  weft_fiber_pool_stats(pool, &stats);
  assert_int_equal(stats.stack_bytes, 32 * KB);
  assert_int_equal(stats.mapped, 0);
  weft_fiber *fiber = start(nothing, NULL);
  weft_fiber_pool_stats(pool, &stats);
  assert_true(stats.mapped >= 1 && stats.mapped <= 4);
  weft_fiber_resume(fiber);
}

static void the_last_stack_is_had_and_no_more(void **state)
{
  (void)state;
  weft_fiber_pool *small;
  weft_fiber *fibers[8];
  assert_int_equal(weft_fiber_pool_new(16 * KB, 7, &small), WEFT_OK);
  for (int i = 0; i < 7; i++) {
    assert_int_equal(weft_fiber_start(small, nothing, NULL, &fibers[i]), WEFT_OK);
  }
  fibers[7] = NULL;
  assert_int_equal(weft_fiber_start(small, nothing, NULL, &fibers[7]), WEFT_FULL);
  assert_null(fibers[7]);
  assert_false(weft_fiber_resume(fibers[3]));
  assert_int_equal(weft_fiber_start(small, nothing, NULL, &fibers[7]), WEFT_OK);
  assert_ptr_equal(fibers[7], fibers[3]);
  assert_true(weft__fiber_pool_valid(small));
  weft_fiber_stats stats;
  weft_fiber_pool_stats(small, &stats);
  assert_int_equal(stats.mapped, 7);
  assert_int_equal(stats.max_busy, 7);
  weft_fiber_pool_delete(small); /* with seven fibers that never ran */
}

static void a_warm_pool_asks_the_system_for_nothing(void **state)
{
  (void)state;
  weft_fiber *fibers[100];
  for (int i = 0; i < 100; i++) fibers[i] = start(nothing, NULL);
  for (int i = 0; i < 100; i++) assert_false(weft_fiber_resume(fibers[i]));
  uint64_t before = 0;
  for (int i = 0; i < FAILING_CALLS; i++) before += failing_count((failing_call)i);
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 100; i++) fibers[i] = start(nothing, NULL);
    for (int i = 0; i < 100; i++) assert_false(weft_fiber_resume(fibers[i]));
  }
  uint64_t after = 0;
  for (int i = 0; i < FAILING_CALLS; i++) after += failing_count((failing_call)i);
  assert_int_equal(after, before);
}

static void a_pool_goes_with_its_suspended_fibers(void **state)
{
  (void)state;
  static summer all[50];
  for (uint32_t i = 0; i < 50; i++) {
    weft_fiber *fiber = start(sum_up, &all[i]);
    for (uint32_t turn = 0; turn < i % 5; turn++) weft_fiber_resume(fiber);
  }
  assert_int_equal(busy(), 50);
}

static void prefetching_changes_nothing(void **state)
{
  (void)state;
  int count = 0;
  weft_fiber *fiber = start(count_to_three, &count);
  weft__fiber_prefetch(fiber);
  weft_fiber_resume(fiber);
  weft__fiber_prefetch(fiber);
  assert_int_equal(count, 1);
}

/* --- Threads ------------------------------------------------------------------------------- */

static void use_a_pool(void *arg)
{
  uint32_t *sum = arg;
  weft_fiber_pool *own;
  if (weft_fiber_pool_new(64 * KB, 20, &own) != WEFT_OK) return;
  for (int round = 0; round < 20; round++) {
    summer all[20];
    weft_fiber *fibers[20];
    for (uint32_t i = 0; i < 20; i++) {
      all[i] = (summer){.number = i};
      if (weft_fiber_start(own, sum_up, &all[i], &fibers[i]) != WEFT_OK) return;
    }
    for (int turn = 0; turn < 17; turn++) {
      for (int i = 0; i < 20; i++) weft_fiber_resume(fibers[i]);
    }
    for (int i = 0; i < 20; i++) *sum += all[i].sum;
  }
  weft_fiber_pool_delete(own);
}

static void each_thread_has_fibers_of_its_own(void **state)
{
  (void)state;
  weft__thread threads[3];
  uint32_t sums[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(weft__thread_start(&threads[i], use_a_pool, &sums[i]), WEFT_OK);
  }
  for (int i = 0; i < 3; i++) weft__thread_join(&threads[i]);
  for (int i = 0; i < 3; i++) assert_int_equal(sums[i], 20 * (16 * 31 * 190 + 20 * 120));
}

/* --- Misuse -------------------------------------------------------------------------------- */

static void resume_an_ended_one(void *arg)
{
  (void)arg;
  weft_fiber *fiber = start(nothing, NULL);
  weft_fiber_resume(fiber);
  weft_fiber_resume(fiber);
}

static void resume_myself(void *arg)
{
  (void)arg;
  weft_fiber_resume(weft_fiber_current());
}

static void resume_a_running_one(void *arg)
{
  (void)arg;
  weft_fiber_resume(start(resume_myself, NULL));
}

static void yield_off_fibers(void *arg)
{
  (void)arg;
  weft_fiber_yield();
}

static void start_without_code(void *arg)
{
  weft_fiber *fiber;
  (void)arg;
  (void)weft_fiber_start(pool, NULL, NULL, &fiber);
}

static void delete_the_pool(void *arg)
{
  (void)arg;
  weft_fiber_pool_delete(pool);
}

static void delete_the_pool_from_inside(void *arg)
{
  (void)arg;
  weft_fiber_resume(start(delete_the_pool, NULL));
}

static void misuse_stops_at_the_door(void **state)
{
  (void)state;
  void (*const cases[])(void *) = {resume_an_ended_one, resume_a_running_one, yield_off_fibers,
                                   start_without_code, delete_the_pool_from_inside};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    unit_child child;
    unit_fork(cases[i], NULL, &child);
    assert_int_equal(child.signal, SIGABRT);
    assert_non_null(strstr(child.text, "weft: check failed: "));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, drop_pool)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(a_fiber_runs_from_yield_to_yield_until_it_ends),
      TEST(a_fiber_knows_itself_and_the_thread_is_none),
      TEST(a_yield_goes_to_whoever_resumed),
      TEST(two_fibers_in_turn_may_resume_a_third),
      TEST(thousands_keep_their_locals_apart),
      TEST(sizes_and_counts_are_checked_at_both_ends),
      TEST(a_pool_maps_nothing_until_asked_and_little_then),
      TEST(the_last_stack_is_had_and_no_more),
      TEST(a_warm_pool_asks_the_system_for_nothing),
      TEST(a_pool_goes_with_its_suspended_fibers),
      TEST(prefetching_changes_nothing),
      cmocka_unit_test(each_thread_has_fibers_of_its_own),
      TEST(misuse_stops_at_the_door),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
