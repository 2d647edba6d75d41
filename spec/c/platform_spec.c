/* SPDX-License-Identifier: MIT */
/*
** platform_spec.c - clock, processors, memory, mutexes and threads.
*/
#include <errno.h>

#include "platform/platform.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/unit.h"

static void the_clock_never_goes_back(void **state)
{
  (void)state;
  int64_t before = weft__clock_ns();
  for (int i = 0; i < 10000; i++) {
    int64_t now = weft__clock_ns();
    assert_true(now >= before);
    before = now;
  }
}

static void sleeping_ends_at_the_deadline_and_not_before(void **state)
{
  (void)state;
  int64_t deadline = weft__clock_ns() + 2000000;
  weft__sleep_until_ns(deadline);
  assert_true(weft__clock_ns() >= deadline);
  weft__sleep_until_ns(deadline); /* long past: returns at once */
  weft__sleep_until_ns(0);
  weft__sleep_until_ns(INT64_MIN);
}

static void there_is_a_processor_and_a_page(void **state)
{
  (void)state;
  assert_true(weft__cpu_count() >= 1);
  size_t page = weft__page_bytes();
  assert_true(page >= 4096 && (page & (page - 1)) == 0);
}

static void sizes_that_overflow_or_are_nothing_give_no_memory(void **state)
{
  (void)state;
  assert_null(weft__calloc(SIZE_MAX / 2, 3));
  assert_null(weft__calloc(0, 8));
  assert_null(weft__alloc(0));
  weft__free(NULL);
}

static void memory_is_zeroed_and_freed(void **state)
{
  (void)state;
  failing_install();
  uint32_t *block = weft__calloc(4, sizeof *block);
  assert_non_null(block);
  assert_int_equal(block[3], 0);
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_null(weft__alloc(64));
  weft__free(block);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

#define THREADS 4
#define ROUNDS 2000

typedef struct shared {
  weft__mutex mutex;
  uint64_t count;
  uint64_t ids[THREADS];
  uint32_t next;
} shared;

static void count_up(void *arg)
{
  shared *all = arg;
  weft__mutex_lock(&all->mutex);
  all->ids[all->next++] = weft__thread_id();
  weft__mutex_unlock(&all->mutex);
  for (int i = 0; i < ROUNDS; i++) {
    weft__mutex_lock(&all->mutex);
    all->count++;
    weft__mutex_unlock(&all->mutex);
  }
}

static void threads_exclude_each_other_and_differ(void **state)
{
  (void)state;
  shared all = {.count = 0};
  weft__thread threads[THREADS];
  assert_int_equal(weft__mutex_init(&all.mutex), WEFT_OK);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(weft__thread_start(&threads[i], count_up, &all), WEFT_OK);
  }
  for (int i = 0; i < THREADS; i++) weft__thread_join(&threads[i]);
  weft__mutex_fini(&all.mutex);
  assert_int_equal(all.count, THREADS * ROUNDS);
  for (int i = 0; i < THREADS; i++) {
    assert_int_not_equal(all.ids[i], 0);
    assert_int_not_equal(all.ids[i], weft__thread_id());
    for (int j = 0; j < i; j++) assert_int_not_equal(all.ids[i], all.ids[j]);
  }
  assert_int_equal(weft__thread_id(), weft__thread_id());
}

static void a_thread_that_cannot_be_made_says_so(void **state)
{
  (void)state;
  weft__thread thread;
  failing_install();
  failing_arm(FAILING_THREAD, 1, 1, EAGAIN);
  assert_int_equal(weft__thread_start(&thread, count_up, NULL), WEFT_NOMEM);
  failing_remove();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_clock_never_goes_back),
      cmocka_unit_test(sleeping_ends_at_the_deadline_and_not_before),
      cmocka_unit_test(there_is_a_processor_and_a_page),
      cmocka_unit_test(sizes_that_overflow_or_are_nothing_give_no_memory),
      cmocka_unit_test(memory_is_zeroed_and_freed),
      cmocka_unit_test(threads_exclude_each_other_and_differ),
      cmocka_unit_test(a_thread_that_cannot_be_made_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
