/* SPDX-License-Identifier: MIT */
/*
** heap.c - the deadline heap against a bare one: arm (fill from empty), cancel+arm (a random slot
** gets a new deadline) and expire+arm (the first one due gets a new deadline), deadlines random
** over a minute. Built twice, with BARE for the peer.
**
** usage: heap N
*/
#include "measure.h"

#ifdef BARE
#include "bareheap.h"

typedef bareheap heap_type;

static void heap_open(heap_type *heap, uint32_t count)
{
  CHECK(bareheap_init(heap, count));
}

#define heap_fini bareheap_fini
#define heap_add bareheap_add
#define heap_remove bareheap_remove
#define heap_pop_due bareheap_pop_due
#else
#include "core/heap.h"

typedef weft__heap heap_type;

static uint32_t *positions;

static void heap_open(heap_type *heap, uint32_t count)
{
  positions = malloc(count * sizeof *positions);
  CHECK(positions);
  for (uint32_t i = 0; i < count; i++) positions[i] = WEFT_HEAP_NOWHERE;
  CHECK(weft__heap_init(heap, count, positions, sizeof *positions) == WEFT_OK);
}

static void heap_fini(heap_type *heap)
{
  weft__heap_fini(heap);
  free(positions);
}

#define heap_add weft__heap_add
#define heap_remove weft__heap_remove
#define heap_pop_due weft__heap_pop_due
#endif

#define MINUTE INT64_C(60000000000)

struct bench {
  heap_type heap;
  uint32_t count;
  int64_t *deadlines; /* what each slot was armed with */
  int64_t now;
  uint64_t random;
};

static void arm(struct bench *bench, uint32_t slot)
{
  int64_t deadline = bench->now + (int64_t)(measure_random(&bench->random) % MINUTE);
  bench->deadlines[slot] = deadline;
  heap_add(&bench->heap, slot, deadline);
}

static void arm_all(struct bench *bench)
{
  for (uint32_t i = 0; i < bench->count; i++) arm(bench, i);
}

/* The slot of the earliest deadline, taken out. */
static uint32_t pop(struct bench *bench)
{
  uint32_t slot;
  CHECK(heap_pop_due(&bench->heap, INT64_MAX, &slot));
  return slot;
}

/* Empties the heap, with the clock stopped; deadlines must come out in order, each slot once. */
static void drain(struct bench *bench)
{
  int64_t last = 0;
  for (uint32_t i = 0; i < bench->count; i++) {
    uint32_t slot = pop(bench);
    CHECK(slot < bench->count && bench->deadlines[slot] >= last);
    last = bench->deadlines[slot];
    bench->deadlines[slot] = -1; /* a slot that came twice fails the check above */
  }
  uint32_t none;
  CHECK(!heap_pop_due(&bench->heap, INT64_MAX, &none));
}

/* Filling cannot be repeated without emptying: the clock runs for the filling alone. */
static double measure_arm(struct bench *bench)
{
  double samples[5];
  uint32_t fills = 1 + 1000000 / bench->count;
  for (int i = 0; i < 5; i++) {
    double taken = 0;
    for (uint32_t k = 0; k < fills; k++) {
      double begin = measure_clock();
      arm_all(bench);
      taken += measure_clock() - begin;
      drain(bench);
    }
    samples[i] = taken / ((double)fills * bench->count);
  }
  return measure_median(samples, 5);
}

static void run_cancel(void *state, uint64_t rounds)
{
  struct bench *bench = state;
  for (uint64_t i = 0; i < rounds; i++) {
    uint32_t slot = (uint32_t)(measure_random(&bench->random) % bench->count);
    heap_remove(&bench->heap, slot);
    arm(bench, slot);
  }
}

static void run_expire(void *state, uint64_t rounds)
{
  struct bench *bench = state;
  for (uint64_t i = 0; i < rounds; i++) {
    uint32_t slot = pop(bench);
    bench->now = bench->deadlines[slot];
    arm(bench, slot);
  }
}

int main(int argc, char **argv)
{
  struct bench bench = {.random = 88172645463325252u};
  bench.count = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000;
  bench.deadlines = calloc(bench.count, sizeof *bench.deadlines);
  CHECK(bench.deadlines);
  heap_open(&bench.heap, bench.count);
  arm_all(&bench);
  run_cancel(&bench, bench.count);
  run_expire(&bench, bench.count);
  drain(&bench);

  measure_print("arm", measure_arm(&bench));
  arm_all(&bench);
  measure_print("cancel", measure_loop(run_cancel, &bench, 1));
  measure_print("expire", measure_loop(run_expire, &bench, 1));
  drain(&bench);
  heap_fini(&bench.heap);
  free(bench.deadlines);
  return 0;
}
