/* SPDX-License-Identifier: MIT */
/*
** inbox_spec.c - the bounded queue for many threads: order, limits, wrapping, and that each number is
** taken exactly once, and those of one thread in their order.
*/
#include <stdatomic.h>
#include <stdlib.h>

#include "core/inbox.h"
#include "platform/platform.h"
#include "support/random.h"
#include "support/unit.h"

static weft__inbox inbox;

static int make_inbox(void **state)
{
  (void)state;
  return weft__inbox_init(&inbox, 16);
}

static int drop_inbox(void **state)
{
  (void)state;
  bool valid = weft__inbox_valid(&inbox);
  weft__inbox_fini(&inbox);
  return valid ? 0 : -1;
}

static void what_came_first_goes_first(void **state)
{
  (void)state;
  uint32_t item = 77;
  assert_false(weft__inbox_take(&inbox, &item));
  assert_int_equal(item, 77);
  for (uint32_t i = 0; i < 5; i++) assert_true(weft__inbox_put(&inbox, i));
  assert_int_equal(weft__inbox_count(&inbox), 5);
  for (uint32_t i = 0; i < 5; i++) assert_true(weft__inbox_take(&inbox, &item) && item == i);
  assert_false(weft__inbox_take(&inbox, &item));
}

static void it_holds_as_many_as_it_was_made_for_and_not_one_more(void **state)
{
  (void)state;
  uint32_t item;
  for (uint32_t round = 0; round < 100; round++) {
    for (uint32_t i = 0; i < 16; i++) assert_true(weft__inbox_put(&inbox, round + i));
    assert_false(weft__inbox_put(&inbox, 99));
    assert_int_equal(weft__inbox_count(&inbox), 16);
    assert_true(weft__inbox_valid(&inbox));
    for (uint32_t i = 0; i < 16; i++)
      assert_true(weft__inbox_take(&inbox, &item) && item == round + i);
    assert_int_equal(weft__inbox_count(&inbox), 0);
  }
}

static atomic_bool coming;

/* A take that is done with its cell only when somebody waits for that. */
static void finish_take(void *arg)
{
  while (!atomic_load(&coming)) continue;
  for (volatile int i = 0; i < 100000; i++) continue;
  atomic_store(&inbox.cells[0].turn, *(uint32_t *)arg);
}

static void a_put_that_must_succeed_waits_for_a_take_that_is_not_done(void **state)
{
  (void)state;
  uint32_t item, full, done;
  for (uint32_t i = 0; i < 16; i++) assert_true(weft__inbox_put(&inbox, i));
  full = atomic_load(&inbox.cells[0].turn);
  assert_true(weft__inbox_take(&inbox, &item));
  done = atomic_load(&inbox.cells[0].turn);
  atomic_store(&inbox.cells[0].turn, full);
  assert_int_equal(weft__inbox_count(&inbox), 15);
  assert_false(weft__inbox_put(&inbox, 16));
  atomic_store(&coming, false);
  weft__thread thread;
  assert_int_equal(weft__thread_start(&thread, finish_take, &done), WEFT_OK);
  atomic_store(&coming, true);
  weft__inbox_must_put(&inbox, 16);
  weft__thread_join(&thread);
  for (uint32_t i = 1; i <= 16; i++) assert_true(weft__inbox_take(&inbox, &item) && item == i);
}

/* After 2^32 puts the numbers of the cells begin anew. */
static void it_goes_on_where_its_numbers_wrap(void **state)
{
  (void)state;
  uint32_t item, start = UINT32_MAX - 40;
  atomic_store(&inbox.head, start);
  atomic_store(&inbox.tail, start);
  for (uint32_t i = 0; i < 16; i++)
    atomic_store(&inbox.cells[(start + i) & 15].turn, start + i - ((start + i) & 15));
  for (uint32_t i = 0; i < 100; i++) {
    for (uint32_t j = 0; j < 10; j++) assert_true(weft__inbox_put(&inbox, i * 10 + j));
    assert_int_equal(weft__inbox_count(&inbox), 10);
    assert_true(weft__inbox_valid(&inbox));
    for (uint32_t j = 0; j < 10; j++)
      assert_true(weft__inbox_take(&inbox, &item) && item == i * 10 + j);
  }
}

/* --- Threads ------------------------------------------------------------------------------- */

#define PUTTERS 3
#define TAKERS 3

static uint32_t each; /* number of puts of a thread */
static _Atomic unsigned char *times;
static atomic_uint taken;
static atomic_bool out_of_order;

static void putter(void *arg)
{
  uint32_t me = *(uint32_t *)arg;
  for (uint32_t i = 0; i < each; i++) {
    while (!weft__inbox_put(&inbox, me * each + i)) weft_sleep_until(weft_clock() + 1000);
  }
}

static void taker(void *arg)
{
  int64_t last[PUTTERS];
  uint32_t item;
  (void)arg;
  for (int i = 0; i < PUTTERS; i++) last[i] = -1;
  while (atomic_load_explicit(&taken, memory_order_relaxed) < PUTTERS * each) {
    if (!weft__inbox_take(&inbox, &item)) {
      weft_sleep_until(weft_clock() + 1000);
      continue;
    }
    if ((int64_t)item <= last[item / each]) atomic_store(&out_of_order, true);
    last[item / each] = item;
    atomic_fetch_add_explicit(&times[item], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
  }
}

static void each_number_is_taken_exactly_once(void **state)
{
  (void)state;
  weft__thread threads[PUTTERS + TAKERS];
  uint32_t numbers[PUTTERS];
  each = unit_on_valgrind() || unit_has_tsan() ? 20000 : 350000;
  times = calloc(PUTTERS * each, 1);
  assert_non_null((void *)times);
  atomic_store(&taken, 0);
  for (uint32_t i = 0; i < PUTTERS; i++) {
    numbers[i] = i;
    assert_int_equal(weft__thread_start(&threads[i], putter, &numbers[i]), WEFT_OK);
  }
  for (int i = 0; i < TAKERS; i++)
    assert_int_equal(weft__thread_start(&threads[PUTTERS + i], taker, NULL), WEFT_OK);
  for (int i = 0; i < PUTTERS + TAKERS; i++) weft__thread_join(&threads[i]);
  for (uint32_t i = 0; i < PUTTERS * each; i++) assert_int_equal(times[i], 1);
  assert_false(out_of_order);
  free((void *)times);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_inbox, drop_inbox)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(what_came_first_goes_first),
      TEST(it_holds_as_many_as_it_was_made_for_and_not_one_more),
      TEST(a_put_that_must_succeed_waits_for_a_take_that_is_not_done),
      TEST(it_goes_on_where_its_numbers_wrap),
      TEST(each_number_is_taken_exactly_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
