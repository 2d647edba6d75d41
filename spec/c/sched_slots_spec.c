/* SPDX-License-Identifier: MIT */
/*
** sched_slots_spec.c - slots of the scheduler, the handles that mean them, and its walker.
*/
#include <errno.h>
#include <stdlib.h>

#include "core/sched.h"
#include "support/failing.h"
#include "support/unit.h"

static weft__sched sched;

static void nobody_dropped(weft__sched *from, weft__task *task)
{
  (void)from, (void)task;
}

static const weft__sched_ops ops = {.dropped = nobody_dropped};

static weft_status init(uint32_t capacity, uint8_t tag)
{
  return weft__sched_init(&sched, &ops, capacity, sizeof(weft__task) + 24, UINT32_MAX, tag);
}

static void make_sched(uint32_t capacity)
{
  if (init(capacity, 5) != WEFT_OK) abort();
}

static weft_handle start(void)
{
  weft__task *task = weft__sched_start(&sched);
  return task ? weft__sched_handle(&sched, task) : 0;
}

/* Runs everything that is ready to its end. */
static void run_out(void)
{
  weft__task *task;
  weft__sched_begin_pass(&sched);
  while ((task = weft__sched_take(&sched)) != NULL) {
    weft__sched_finish(&sched, task, WEFT_STATE_FAILED);
    weft__sched_release(&sched, task);
  }
  assert_true(weft__sched_valid(&sched));
}

static void a_handle_finds_its_task_until_the_slot_is_reused(void **state)
{
  (void)state;
  make_sched(1);
  weft_handle first = start();
  run_out();
  assert_int_equal(weft__sched_find(&sched, first)->state, WEFT_STATE_FAILED);
  weft_handle second = start();
  assert_true(second != first);
  assert_null(weft__sched_find(&sched, first));
  assert_non_null(weft__sched_find(&sched, second));
  weft__sched_fini(&sched);
}

static void handles_that_nobody_gave_out_find_nothing(void **state)
{
  (void)state;
  make_sched(2);
  weft_handle handle = start();
  assert_null(weft__sched_find(&sched, 0));
  assert_null(weft__sched_find(&sched, UINT64_MAX));
  assert_null(weft__sched_find(&sched, handle + 1)); /* a slot not used yet */
  assert_null(weft__sched_find(&sched, handle + 2)); /* one that is not there */
  assert_null(weft__sched_find(&sched, handle + (UINT64_C(1) << 24))); /* a later generation */
  assert_null(weft__sched_find(&sched, handle + (UINT64_C(1) << 55)));
  assert_null(weft__sched_find(&sched, handle + (UINT64_C(1) << 56))); /* another world */
  weft__sched_fini(&sched);
}

static void a_used_up_slot_is_retired_and_no_old_handle_comes_alive(void **state)
{
  (void)state;
  weft_handle all[3 * 15];
  make_sched(3);
  sched.generation_end = 15;
  for (int i = 0; i < 3 * 15; i++) {
    all[i] = start();
    assert_true(all[i] != 0);
    run_out();
    for (int j = 0; j < i; j++) assert_true(all[j] != all[i]);
  }
  for (int i = 0; i < 10; i++) assert_true(start() == 0);
  assert_int_equal(sched.counts.rejected, 10);
  for (int i = 0; i < 3 * 15; i++)
    assert_true((weft__sched_find(&sched, all[i]) != NULL) == (i >= 3 * 14));
  assert_true(weft__sched_valid(&sched));
  weft__sched_fini(&sched);
}

static void the_longest_finished_slot_is_reused_first(void **state)
{
  (void)state;
  static const uint32_t order[] = {2, 0, 3, 1};
  make_sched(4);
  for (int i = 0; i < 4; i++) start();
  weft__sched_begin_pass(&sched);
  while (weft__sched_take(&sched)) weft__sched_arm_sleep(&sched, sched.running, 1000000, false);
  for (int i = 0; i < 4; i++) {
    weft__sched_wake(&sched, weft__sched_at(&sched, order[i]));
    run_out();
  }
  for (int i = 0; i < 4; i++) assert_int_equal(start() & 0xffffff, order[i]);
  weft__sched_fini(&sched);
}

static void a_full_scheduler_refuses_and_counts_it(void **state)
{
  (void)state;
  make_sched(3);
  for (int i = 0; i < 3; i++) assert_true(start() != 0);
  assert_true(start() == 0);
  assert_int_equal(sched.counts.rejected, 1);
  assert_int_equal(sched.counts.started, 3);
  assert_int_equal(sched.active, 3);
  run_out();
  assert_true(start() != 0);
  weft__sched_fini(&sched);
}

static void a_finished_task_keeps_its_slot_until_it_is_released(void **state)
{
  (void)state;
  make_sched(1);
  weft_handle first = start();
  weft__sched_begin_pass(&sched);
  weft__task *task = weft__sched_take(&sched);
  weft__sched_finish(&sched, task, WEFT_STATE_COMPLETED);
  assert_true(start() == 0);
  assert_ptr_equal(weft__sched_find(&sched, first), task);
  assert_true(weft__sched_valid(&sched));
  weft__sched_release(&sched, task);
  assert_true(start() != 0);
  weft__sched_fini(&sched);
}

static void unstarted_ones_are_dropped_when_cancelled(void **state)
{
  (void)state;
  make_sched(2);
  weft_handle victim = start();
  start();
  assert_true(weft__sched_cancel(&sched, weft__sched_find(&sched, victim)));
  assert_int_equal(weft__sched_find(&sched, victim)->state, WEFT_STATE_CANCELLED);
  assert_int_equal(sched.counts.cancelled, 1);
  assert_int_equal(sched.active, 1);
  assert_true(weft__sched_valid(&sched));
  assert_true((start() & 0xffffff) == (victim & 0xffffff));
  weft__sched_fini(&sched);
}

static void the_walker_finds_what_is_broken(void **state)
{
  (void)state;
  make_sched(4);
  for (int i = 0; i < 4; i++) start();
  weft__sched_begin_pass(&sched);
  weft__task *a = weft__sched_take(&sched);
  weft__sched_arm_sleep(&sched, a, 5, false);
  weft__task *b = weft__sched_take(&sched);
  weft__sched_arm_join(&sched, b, a, -1);
  weft__task *c = weft__sched_take(&sched);
  weft__sched_arm_next(&sched, c);
  weft__sched_cancel(&sched, c);
  assert_true(weft__sched_valid(&sched));
  sched.active++;
  assert_false(weft__sched_valid(&sched));
  sched.active--;
  a->place = WEFT_PLACE_NONE; /* sleeps for ever */
  assert_false(weft__sched_valid(&sched));
  a->place = WEFT_PLACE_SIM;
  b->next = a->slot; /* not in the ring of joiners */
  assert_false(weft__sched_valid(&sched));
  b->next = b->slot;
  a->joiners = WEFT_NO_SLOT;
  assert_false(weft__sched_valid(&sched));
  a->joiners = b->slot;
  sched.cancel_count++;
  assert_false(weft__sched_valid(&sched));
  sched.cancel_count--;
  sched.cancel_last = a->slot;
  assert_false(weft__sched_valid(&sched));
  sched.cancel_last = c->slot;
  assert_true(weft__sched_valid(&sched));
  weft__sched_fini(&sched);
}

static void each_allocation_may_fail_and_nothing_leaks(void **state)
{
  (void)state;
  uint64_t nth = 1;
  failing_install();
  for (;; nth++) {
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    weft_status status = init(100, 1);
    failing_disarm();
    if (status == WEFT_OK) break;
    assert_int_equal(status, WEFT_NOMEM);
    assert_int_equal(failing_blocks(), 0);
  }
  assert_int_equal(nth, 9); /* slots, owners, several waits, positions, two rings, two heaps */
  weft__sched_fini(&sched);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_handle_finds_its_task_until_the_slot_is_reused),
      cmocka_unit_test(handles_that_nobody_gave_out_find_nothing),
      cmocka_unit_test(a_used_up_slot_is_retired_and_no_old_handle_comes_alive),
      cmocka_unit_test(the_longest_finished_slot_is_reused_first),
      cmocka_unit_test(a_full_scheduler_refuses_and_counts_it),
      cmocka_unit_test(a_finished_task_keeps_its_slot_until_it_is_released),
      cmocka_unit_test(unstarted_ones_are_dropped_when_cancelled),
      cmocka_unit_test(the_walker_finds_what_is_broken),
      cmocka_unit_test(each_allocation_may_fail_and_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
