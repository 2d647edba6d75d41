/* SPDX-License-Identifier: MIT */
/*
** bareheap.h - the peer of the deadline heap: an indexed 4-ary heap with nothing but what timers
** cannot do without. Equal deadlines come out in any order. Entries are 16 bytes, four siblings
** share a cache line, and the least of four is found by a tournament, as in the heap it is held
** against; it is compiled by itself too, so that neither side is inlined into the loop.
*/
#ifndef BENCH_BAREHEAP_H
#define BENCH_BAREHEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bareheap_entry {
  int64_t deadline;
  uint32_t slot, spare;
} bareheap_entry;

typedef struct bareheap {
  bareheap_entry *entries;
  uint32_t count;
  uint32_t *positions; /* of each slot in `entries` */
  void *block;
} bareheap;

bool bareheap_init(bareheap *heap, uint32_t capacity);
void bareheap_fini(bareheap *heap);
void bareheap_add(bareheap *heap, uint32_t slot, int64_t deadline);
void bareheap_remove(bareheap *heap, uint32_t slot);

/* Takes out the slot with the least deadline if that is at most `now`. */
bool bareheap_pop_due(bareheap *heap, int64_t now, uint32_t *slot);

#endif
