/* SPDX-License-Identifier: MIT */
/*
** ring_spec.c - the ready ring against a plain list: holes, passes, compaction, positions that
** wrap.
*/
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ring.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

#define SLOTS 40

static weft__ring ring;
static uint32_t positions[SLOTS];

/* An empty ring whose next position is `at`. */
static void make_ring(uint32_t capacity, uint32_t at)
{
  if (weft__ring_init(&ring, capacity, positions) != WEFT_OK) abort();
  ring.head = ring.tail = ring.pass_end = at;
}

/* --- The plain list ------------------------------------------------------------------------ */

typedef struct entry {
  uint32_t slot;
  bool in_pass;
} entry;

typedef struct list {
  entry items[SLOTS];
  uint32_t count;
} list;

static void list_remove(list *queue, uint32_t at)
{
  queue->count--;
  memmove(&queue->items[at], &queue->items[at + 1], (queue->count - at) * sizeof(entry));
}

static bool list_has(const list *queue, uint32_t slot)
{
  for (uint32_t i = 0; i < queue->count; i++)
    if (queue->items[i].slot == slot) return true;
  return false;
}

static void push_one(unit_random *random, list *queue, uint32_t capacity)
{
  if (queue->count == capacity) return;
  uint32_t slot = unit_random_below(random, capacity);
  while (list_has(queue, slot)) slot = (slot + 1) % capacity;
  weft__ring_push(&ring, slot);
  queue->items[queue->count++] = (entry){slot, false};
}

static void remove_one(unit_random *random, list *queue)
{
  if (queue->count == 0) return;
  uint32_t at = unit_random_below(random, queue->count);
  weft__ring_remove(&ring, queue->items[at].slot);
  list_remove(queue, at);
}

static const char *pop_one(list *queue)
{
  uint32_t expected = WEFT_RING_HOLE;
  if (queue->count > 0 && queue->items[0].in_pass) {
    expected = queue->items[0].slot;
    list_remove(queue, 0);
  }
  return weft__ring_pop(&ring) == expected ? NULL : "another slot is the next of the pass";
}

static void begin_pass(list *queue)
{
  weft__ring_begin_pass(&ring);
  for (uint32_t i = 0; i < queue->count; i++) queue->items[i].in_pass = true;
}

/* What can be looked at is the pass, in order, with holes in between. */
static const char *compare(const list *queue)
{
  if (!weft__ring_valid(&ring)) return "the ring is not valid";
  if (weft__ring_count(&ring) != queue->count) return "the ring has another count";
  uint32_t seen = 0, slot;
  for (uint32_t ahead = 0; ahead < ring.pass_end - ring.head; ahead++) {
    if ((slot = weft__ring_look(&ring, ring.head + ahead)) == WEFT_RING_HOLE) continue;
    if (seen == queue->count || slot != queue->items[seen++].slot) return "a look sees another";
  }
  if (weft__ring_look(&ring, ring.pass_end) != WEFT_RING_HOLE)
    return "a look sees beyond the pass";
  return seen == queue->count || !queue->items[seen].in_pass ? NULL : "a look sees too few";
}

static const char *step(unit_random *random, list *queue, uint32_t capacity)
{
  uint32_t choice = unit_random_below(random, 100);
  if (choice < 45)
    push_one(random, queue, capacity);
  else if (choice < 80)
    remove_one(random, queue);
  else if (choice < 97)
    return pop_one(queue);
  else
    begin_pass(queue);
  return NULL;
}

static const char *run_program(uint64_t seed)
{
  static const uint32_t starts[] = {0, 1, UINT32_MAX, UINT32_MAX - 30, INT32_MAX - 5};
  unit_random random = {seed};
  list queue = {.count = 0};
  uint32_t capacity = 1 + (uint32_t)(seed % SLOTS);
  const char *wrong = NULL;
  make_ring(capacity, starts[seed % 5]);
  for (int i = 0; i < 1500 && !wrong; i++) {
    wrong = step(&random, &queue, capacity);
    if (!wrong) wrong = compare(&queue);
  }
  weft__ring_fini(&ring);
  return wrong;
}

static void random_programs_agree_with_a_plain_list(void **state)
{
  (void)state;
  unit_for_seeds(1000, run_program);
}

/* --- Chosen cases -------------------------------------------------------------------------- */

static void what_is_pushed_in_a_pass_waits_for_the_next(void **state)
{
  (void)state;
  make_ring(4, 0);
  weft__ring_push(&ring, 0);
  weft__ring_push(&ring, 1);
  assert_int_equal(weft__ring_pop(&ring), WEFT_RING_HOLE);
  weft__ring_begin_pass(&ring);
  assert_int_equal(weft__ring_pop(&ring), 0);
  weft__ring_push(&ring, 0);
  assert_int_equal(weft__ring_pop(&ring), 1);
  assert_int_equal(weft__ring_pop(&ring), WEFT_RING_HOLE);
  weft__ring_begin_pass(&ring);
  assert_int_equal(weft__ring_pop(&ring), 0);
  weft__ring_fini(&ring);
}

static void a_slot_taken_out_leaves_a_hole_that_is_passed_over(void **state)
{
  (void)state;
  make_ring(3, UINT32_MAX);
  for (uint32_t slot = 0; slot < 3; slot++) weft__ring_push(&ring, slot);
  weft__ring_begin_pass(&ring);
  weft__ring_remove(&ring, 0);
  weft__ring_remove(&ring, 2);
  assert_int_equal(weft__ring_look(&ring, ring.head - 1), WEFT_RING_HOLE);
  assert_int_equal(weft__ring_look(&ring, ring.head), WEFT_RING_HOLE);
  assert_int_equal(weft__ring_look(&ring, ring.head + 1), 1);
  assert_int_equal(weft__ring_pop(&ring), 1);
  assert_int_equal(weft__ring_pop(&ring), WEFT_RING_HOLE);
  assert_int_equal(weft__ring_count(&ring), 0);
  weft__ring_fini(&ring);
}

/* The head stays in line while the others come and go until the ring is full of holes. */
static void compacting_in_a_pass_keeps_who_belongs_to_it(void **state)
{
  (void)state;
  make_ring(4, UINT32_MAX - 2);
  weft__ring_push(&ring, 0);
  weft__ring_push(&ring, 1);
  weft__ring_begin_pass(&ring);
  weft__ring_push(&ring, 2);
  for (int i = 0; i < 100; i++) {
    weft__ring_push(&ring, 3);
    weft__ring_remove(&ring, 3);
    assert_true(weft__ring_valid(&ring));
  }
  assert_int_equal(weft__ring_pop(&ring), 0);
  assert_int_equal(weft__ring_pop(&ring), 1);
  assert_int_equal(weft__ring_pop(&ring), WEFT_RING_HOLE);
  weft__ring_begin_pass(&ring);
  assert_int_equal(weft__ring_pop(&ring), 2);
  weft__ring_fini(&ring);
}

static void compacting_a_pass_of_holes_leaves_it_empty(void **state)
{
  (void)state;
  make_ring(2, 0);
  weft__ring_push(&ring, 0);
  weft__ring_begin_pass(&ring);
  weft__ring_remove(&ring, 0);
  weft__ring_push(&ring, 1);
  for (int i = 0; i < 10; i++) {
    weft__ring_push(&ring, 0);
    weft__ring_remove(&ring, 0);
  }
  assert_int_equal(weft__ring_pop(&ring), WEFT_RING_HOLE);
  weft__ring_begin_pass(&ring);
  assert_int_equal(weft__ring_pop(&ring), 1);
  weft__ring_fini(&ring);
}

static void a_broken_ring_is_not_valid(void **state)
{
  (void)state;
  make_ring(4, 0);
  weft__ring_push(&ring, 2);
  assert_true(weft__ring_valid(&ring));
  positions[2]++;
  assert_false(weft__ring_valid(&ring));
  positions[2]--;
  ring.holes++;
  assert_false(weft__ring_valid(&ring));
  ring.holes--;
  ring.head = ring.tail - ring.mask - 2;
  assert_false(weft__ring_valid(&ring));
  weft__ring_fini(&ring);
}

static void without_memory_it_says_so(void **state)
{
  (void)state;
  failing_install();
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_int_equal(weft__ring_init(&ring, 8, positions), WEFT_NOMEM);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_agree_with_a_plain_list),
      cmocka_unit_test(what_is_pushed_in_a_pass_waits_for_the_next),
      cmocka_unit_test(a_slot_taken_out_leaves_a_hole_that_is_passed_over),
      cmocka_unit_test(compacting_in_a_pass_keeps_who_belongs_to_it),
      cmocka_unit_test(compacting_a_pass_of_holes_leaves_it_empty),
      cmocka_unit_test(a_broken_ring_is_not_valid),
      cmocka_unit_test(without_memory_it_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
