/* SPDX-License-Identifier: MIT */
/*
** heap_spec.c - the deadline heap against a sorted list.
*/
#include <errno.h>
#include <stdlib.h>

#include "core/heap.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

/* Slots lie in the array at an odd distance, with other things around the position. */
typedef struct place {
  uint32_t before;
  uint32_t position;
  uint32_t after;
} place;

static weft__heap heap;
static place *places;

static void make_heap(uint32_t capacity)
{
  places = weft__calloc(capacity, sizeof *places);
  for (uint32_t i = 0; i < capacity; i++)
    places[i] = (place){.before = 1, .position = WEFT_HEAP_NOWHERE, .after = 2};
  if (weft__heap_init(&heap, capacity, &places[0].position, sizeof *places) != WEFT_OK) abort();
}

static void drop_heap(void)
{
  weft__heap_fini(&heap);
  weft__free(places);
}

/* --- The sorted list ----------------------------------------------------------------------- */

#define LIST_MAX 600

typedef struct sleeper {
  uint32_t slot;
  int64_t deadline;
} sleeper;

typedef struct list {
  sleeper items[LIST_MAX];
  uint32_t count;
} list;

/* Behind all that are due no later: equal deadlines stay in arming order. */
static void list_add(list *sorted, uint32_t slot, int64_t deadline)
{
  uint32_t at = sorted->count++;
  for (; at > 0 && sorted->items[at - 1].deadline > deadline; at--)
    sorted->items[at] = sorted->items[at - 1];
  sorted->items[at] = (sleeper){slot, deadline};
}

static void list_remove(list *sorted, uint32_t at)
{
  sorted->count--;
  for (; at < sorted->count; at++) sorted->items[at] = sorted->items[at + 1];
}

static const char *compare(const list *sorted)
{
  if (!weft__heap_valid(&heap)) return "the heap is not valid";
  if (heap.count != sorted->count) return "the heap has another count";
  for (uint32_t i = 0; i < sorted->count; i++) {
    if (weft__heap_deadline(&heap, sorted->items[i].slot) != sorted->items[i].deadline)
      return "a slot has another deadline";
  }
  return NULL;
}

/* --- Random programs ----------------------------------------------------------------------- */

static void add_one(unit_random *random, list *sorted)
{
  uint32_t slot = unit_random_below(random, heap.capacity);
  if (sorted->count == heap.capacity) return;
  while (places[slot].position != WEFT_HEAP_NOWHERE) slot = (slot + 1) % heap.capacity;
  int64_t deadline = unit_random_deadline(random);
  weft__heap_add(&heap, slot, deadline);
  list_add(sorted, slot, deadline);
}

/* Any; often the head, whose place must not be taken by a later one. */
static void remove_one(unit_random *random, list *sorted)
{
  if (sorted->count == 0) return;
  uint32_t at = unit_random_chance(random, 30) ? 0 : unit_random_below(random, sorted->count);
  weft__heap_remove(&heap, sorted->items[at].slot);
  list_remove(sorted, at);
}

static const char *pop_due(list *sorted, int64_t now)
{
  uint32_t slot = UINT32_MAX;
  while (sorted->count > 0 && sorted->items[0].deadline <= now) {
    if (!weft__heap_pop_due(&heap, now, &slot)) return "a slot that is due does not come out";
    if (slot != sorted->items[0].slot) return "slots come out in another order";
    if (places[slot].position != WEFT_HEAP_NOWHERE) return "a slot that is out has a position";
    list_remove(sorted, 0);
  }
  slot = UINT32_MAX;
  if (weft__heap_pop_due(&heap, now, &slot)) return "a slot comes out before it is due";
  return slot == UINT32_MAX ? NULL : "the out parameter was written though nothing came out";
}

/* Grows for a while, then shrinks for a while, so that every size is seen. */
static const char *step(unit_random *random, list *sorted, int number)
{
  uint32_t choice = unit_random_below(random, 100);
  if (choice < 2) return pop_due(sorted, unit_random_deadline(random));
  if (choice < (number / 1000 % 2 ? 30 : 75))
    add_one(random, sorted);
  else
    remove_one(random, sorted);
  return NULL;
}

static const char *run_program(uint64_t seed)
{
  static const uint32_t capacities[] = {1, 2, 3, 4, 5, 6, 7, 17, 64, 65, 255, LIST_MAX};
  static list sorted;
  unit_random random = {seed};
  const char *wrong = NULL;
  sorted.count = 0;
  make_heap(capacities[seed % (sizeof capacities / sizeof capacities[0])]);
  if (unit_random_chance(&random, 50)) heap.sequence_end = heap.capacity + 1;
  for (int i = 0; i < 3000 && !wrong; i++) {
    wrong = step(&random, &sorted, i);
    if (!wrong) wrong = compare(&sorted);
  }
  if (!wrong) wrong = pop_due(&sorted, INT64_MAX);
  for (uint32_t i = 0; i < heap.capacity && !wrong; i++)
    if (places[i].before != 1 || places[i].after != 2) wrong = "it wrote beside a position";
  drop_heap();
  return wrong;
}

static void random_programs_agree_with_a_sorted_list(void **state)
{
  (void)state;
  unit_for_seeds(400, run_program);
}

/* --- Chosen cases -------------------------------------------------------------------------- */

static void equal_deadlines_come_out_in_arming_order(void **state)
{
  (void)state;
  uint32_t slot;
  make_heap(500);
  for (uint32_t i = 0; i < 500; i++) weft__heap_add(&heap, i * 7 % 500, i % 10 == 9 ? 5 : 1000);
  for (uint32_t i = 9; i < 500; i += 10) weft__heap_remove(&heap, i * 7 % 500);
  for (uint32_t i = 0; i < 500; i++) {
    if (i % 10 == 9) continue;
    assert_true(weft__heap_pop_due(&heap, 1000, &slot));
    assert_int_equal(slot, i * 7 % 500);
  }
  drop_heap();
}

static void a_used_up_sequence_is_counted_anew_and_ties_keep_their_order(void **state)
{
  (void)state;
  uint32_t slot;
  make_heap(8);
  heap.sequence_end = 9;
  for (uint32_t i = 0; i < 7; i++) weft__heap_add(&heap, i, 50);
  for (uint32_t i = 0; i < 40; i++) {
    assert_true(weft__heap_pop_due(&heap, 50, &slot));
    assert_int_equal(slot, i % 7);
    weft__heap_add(&heap, slot, 50);
    assert_true(heap.sequence <= heap.sequence_end);
    assert_true(weft__heap_valid(&heap));
  }
  drop_heap();
}

static void a_moment_too_early_is_too_early(void **state)
{
  (void)state;
  uint32_t slot = 7;
  make_heap(1);
  assert_false(weft__heap_pop_due(&heap, INT64_MAX, &slot));
  weft__heap_add(&heap, 0, INT64_MAX);
  assert_false(weft__heap_pop_due(&heap, INT64_MAX - 1, &slot));
  assert_int_equal(slot, 7);
  assert_true(weft__heap_pop_due(&heap, INT64_MAX, &slot));
  assert_int_equal(slot, 0);
  weft__heap_add(&heap, 0, 0);
  assert_false(weft__heap_pop_due(&heap, -1, &slot));
  assert_true(weft__heap_pop_due(&heap, 0, &slot));
  drop_heap();
}

static void four_siblings_share_a_cache_line(void **state)
{
  (void)state;
  make_heap(100);
  for (uint32_t first = 1; first < 100; first += 4)
    assert_int_equal((uintptr_t)&heap.entries[first] % 64, 0);
  drop_heap();
}

static void a_broken_heap_is_not_valid(void **state)
{
  (void)state;
  make_heap(10);
  for (uint32_t i = 0; i < 10; i++) weft__heap_add(&heap, i, 10 + i);
  assert_true(weft__heap_valid(&heap));
  heap.entries[0].deadline = 100;
  assert_false(weft__heap_valid(&heap));
  heap.entries[0].deadline = 10;
  places[3].position++;
  assert_false(weft__heap_valid(&heap));
  places[3].position--;
  heap.count = 11;
  assert_false(weft__heap_valid(&heap));
  heap.count = 10;
  assert_true(weft__heap_valid(&heap));
  drop_heap();
}

static void a_hundred_thousand_come_out_sorted(void **state)
{
  (void)state;
  uint32_t count = unit_scaled(100000), slot;
  unit_random random = {42};
  make_heap(count);
  for (uint32_t i = 0; i < count; i++) weft__heap_add(&heap, i, unit_random_deadline(&random));
  for (uint32_t i = 0; i < count; i += 3) weft__heap_remove(&heap, i);
  for (uint32_t i = 0; i < count; i += 6) weft__heap_add(&heap, i, 60000000000);
  assert_true(weft__heap_valid(&heap));
  int64_t before = 0;
  for (uint32_t left = heap.count; left > 0; left--) {
    int64_t deadline = (int64_t)heap.entries[0].deadline;
    assert_true(deadline >= before);
    before = deadline;
    assert_true(weft__heap_pop_due(&heap, INT64_MAX, &slot));
  }
  assert_int_equal(heap.count, 0);
  drop_heap();
}

static void without_memory_it_says_so(void **state)
{
  (void)state;
  uint32_t position = WEFT_HEAP_NOWHERE;
  failing_install();
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_int_equal(weft__heap_init(&heap, 1, &position, 4), WEFT_NOMEM);
  assert_int_equal(weft__heap_init(&heap, 1, &position, 4), WEFT_OK);
  weft__heap_fini(&heap);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_agree_with_a_sorted_list),
      cmocka_unit_test(equal_deadlines_come_out_in_arming_order),
      cmocka_unit_test(a_used_up_sequence_is_counted_anew_and_ties_keep_their_order),
      cmocka_unit_test(a_moment_too_early_is_too_early),
      cmocka_unit_test(four_siblings_share_a_cache_line),
      cmocka_unit_test(a_broken_heap_is_not_valid),
      cmocka_unit_test(a_hundred_thousand_come_out_sorted),
      cmocka_unit_test(without_memory_it_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
