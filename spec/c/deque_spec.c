/* SPDX-License-Identifier: MIT */
/*
** deque_spec.c - the work-stealing deque: order, limits, and that whatever an owner and any number of
** thieves do at once, each number is taken exactly once.
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/deque.h"
#include "platform/platform.h"
#include "support/random.h"
#include "support/unit.h"

static weft__deque deque;

static int make_deque(void **state)
{
  (void)state;
  return weft__deque_init(&deque, 64);
}

static int drop_deque(void **state)
{
  (void)state;
  bool valid = weft__deque_valid(&deque);
  weft__deque_fini(&deque);
  return valid ? 0 : -1;
}

static bool steal(uint32_t *item)
{
  bool raced = false;
  return weft__deque_steal(&deque, item, &raced);
}

static void the_owner_takes_the_newest_and_thieves_the_oldest(void **state)
{
  (void)state;
  uint32_t item;
  for (uint32_t i = 0; i < 4; i++) assert_true(weft__deque_push(&deque, i));
  assert_int_equal(weft__deque_count(&deque), 4);
  assert_true(weft__deque_peek(&deque, &item) && item == 3);
  assert_true(steal(&item) && item == 0);
  assert_true(weft__deque_pop(&deque, &item) && item == 3);
  assert_true(steal(&item) && item == 1);
  assert_true(weft__deque_pop(&deque, &item) && item == 2);
  assert_false(weft__deque_peek(&deque, &item));
}

static void an_empty_one_stays_empty_however_often_it_is_asked(void **state)
{
  (void)state;
  uint32_t item = 77;
  for (int i = 0; i < 1000; i++) {
    assert_false(weft__deque_pop(&deque, &item));
    assert_false(steal(&item));
    assert_false(weft__deque_peek(&deque, &item));
    assert_int_equal(weft__deque_count(&deque), 0);
  }
  assert_int_equal(item, 77);
  assert_true(weft__deque_push(&deque, 5));
  assert_true(steal(&item) && item == 5);
}

static void it_holds_as_many_as_it_was_made_for_and_not_one_more(void **state)
{
  (void)state;
  uint32_t item;
  for (int round = 0; round < 10; round++) {
    for (uint32_t i = 0; i < 64; i++) assert_true(weft__deque_push(&deque, i));
    assert_false(weft__deque_push(&deque, 64));
    assert_true(steal(&item) && item == 0);
    assert_true(weft__deque_push(&deque, 64));
    assert_false(weft__deque_push(&deque, 65));
    for (uint32_t i = 64; i > 0; i--) assert_true(weft__deque_pop(&deque, &item) && item == i);
    assert_false(weft__deque_pop(&deque, &item));
  }
}

/* Against an array, in one thread. */
static const char *random_program(uint64_t seed)
{
  unit_random random = {seed};
  uint32_t model[64], first = 0, count = 0, next = 0;
  while (weft__deque_pop(&deque, &first)) {
  }
  first = 0;
  for (int step = 0; step < 2000; step++) {
    uint32_t item = 0, what = unit_random_below(&random, 3);
    if (what == 0) {
      bool pushed = weft__deque_push(&deque, next);
      if (pushed != (count < 64)) return "push";
      if (pushed) model[(first + count++) % 64] = next;
      next++;
    } else if (what == 1) {
      if (weft__deque_pop(&deque, &item) != (count > 0)) return "pop";
      if (count > 0 && item != model[(first + --count) % 64]) return "popped another";
    } else {
      if (steal(&item) != (count > 0)) return "steal";
      if (count > 0 && item != model[first]) return "stole another";
      if (count > 0) first = (first + 1) % 64, count--;
    }
    if (weft__deque_count(&deque) != count) return "count";
    if (!weft__deque_valid(&deque)) return "not sound";
  }
  return NULL;
}

static void it_does_what_an_array_does(void **state)
{
  (void)state;
  unit_for_seeds(100, random_program);
}

/* --- Threads ------------------------------------------------------------------------------- */

#define THIEVES 3

static uint32_t total;
static _Atomic unsigned char *times; /* each number was taken */
static atomic_uint taken;
static atomic_bool out_of_order;

static void note(uint32_t item)
{
  atomic_fetch_add_explicit(&times[item], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
}

/* What one thief gets only grows: the oldest is always taken first. */
static void thief(void *arg)
{
  (void)arg;
  int64_t last = -1;
  uint32_t item;
  while (atomic_load_explicit(&taken, memory_order_relaxed) < total) {
    if (!steal(&item)) {
      weft_sleep_until(weft_clock() + 1000);
      continue;
    }
    if ((int64_t)item <= last) atomic_store(&out_of_order, true);
    last = item;
    note(item);
  }
}

/* Pushes in bursts and pops some back, so that it is often empty or down to one. */
static void own(void)
{
  unit_random random = {total};
  uint32_t item, next = 0;
  while (next < total) {
    for (uint32_t i = unit_random_below(&random, 8); i && next < total; i--) {
      if (!weft__deque_push(&deque, next)) break;
      next++;
    }
    for (uint32_t i = unit_random_below(&random, 8); i; i--) {
      if (!weft__deque_pop(&deque, &item)) break;
      note(item);
    }
  }
  while (weft__deque_pop(&deque, &item)) note(item);
}

static void each_number_is_taken_exactly_once(void **state)
{
  (void)state;
  weft__thread threads[THIEVES];
  total = unit_on_valgrind() || unit_has_tsan() ? 100000 : 3000000;
  times = calloc(total, 1);
  assert_non_null((void *)times);
  atomic_store(&taken, 0);
  for (int i = 0; i < THIEVES; i++)
    assert_int_equal(weft__thread_start(&threads[i], thief, NULL), WEFT_OK);
  own();
  for (int i = 0; i < THIEVES; i++) weft__thread_join(&threads[i]);
  for (uint32_t i = 0; i < total; i++) assert_int_equal(times[i], 1);
  assert_int_equal(taken, total);
  assert_false(out_of_order);
  free((void *)times);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_deque, drop_deque)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(the_owner_takes_the_newest_and_thieves_the_oldest),
      TEST(an_empty_one_stays_empty_however_often_it_is_asked),
      TEST(it_holds_as_many_as_it_was_made_for_and_not_one_more),
      TEST(it_does_what_an_array_does),
      TEST(each_number_is_taken_exactly_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
