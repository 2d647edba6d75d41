/* SPDX-License-Identifier: MIT */
/*
** heap.h - deadlines: an indexed 4-ary min-heap of slots.
**
** D. B. Johnson's d-ary heap ("Priority queues with update and finding minimum spanning trees",
** Information Processing Letters 4(3), 1975) with the position of each entry kept in the slot it
** stands for, so that a cancelled sleeper is taken out at once and leaves no tombstone. An entry
** is 16 bytes: the deadline, then an arming sequence and the slot packed into one word; both are
** compared as one 128-bit integer, so equal deadlines come out in arming order at no extra cost.
** The array is placed so that four siblings share one 64-byte cache line.
**
** Knows nothing about what a slot is. Not thread safe.
*/
#ifndef WEFT_HEAP_H
#define WEFT_HEAP_H

#include "base/base.h"

/* Stored as a position: the slot is in no heap. */
#define WEFT_HEAP_NOWHERE UINT32_MAX

typedef struct weft__heap_entry {
  uint64_t tie;      /* sequence, then slot in the low `slot_bits` */
  uint64_t deadline; /* the more significant half of the key */
} weft__heap_entry;

typedef struct weft__heap {
  weft__heap_entry *entries; /* entries[0] is the minimum */
  uint32_t count, capacity;
  uint32_t slot_bits;
  uint64_t slot_mask;    /* the low `slot_bits` */
  uint64_t sequence;     /* of the next entry */
  uint64_t sequence_end; /* where the sequence has to be renumbered; tests lower it */
  char *positions;       /* the uint32_t of slot i is at positions + i * stride */
  size_t stride;
  void *block; /* what `entries` points into */
} weft__heap;

/*
** Room for slots 0 to `capacity` - 1 (at most 2^24), whose positions (each WEFT_HEAP_NOWHERE while
** it is in no heap) the caller keeps. WEFT_NOMEM.
*/
weft_status weft__heap_init(weft__heap *heap, uint32_t capacity, void *positions,
                            size_t stride);
void weft__heap_fini(weft__heap *heap);

/* A heap that holds nothing yet and has room for nothing; it may be grown to 2^24 slots. */
void weft__heap_init_growing(weft__heap *heap, size_t stride);
/* Room for slots up to `capacity` - 1, if it has less. The positions stay where they are until they
   are moved. WEFT_NOMEM, and the heap is as it was. */
weft_status weft__heap_grow(weft__heap *heap, uint32_t capacity);
/* The caller keeps the positions elsewhere from now on, with the same values. */
void weft__heap_move(weft__heap *heap, void *positions);

/* Adds a slot that is in no heap; `deadline` >= 0. */
void weft__heap_add(weft__heap *heap, uint32_t slot, int64_t deadline);

/* Takes out a slot that is in this heap. */
void weft__heap_remove(weft__heap *heap, uint32_t slot);

/* For a slot whose deadline changes: its place among equal ones, what that of a slot added now would
   be, and adding the slot of such a place. */
uint64_t weft__heap_tie(const weft__heap *heap, uint32_t slot);
uint64_t weft__heap_new_tie(weft__heap *heap, uint32_t slot);
/* The ties that are given out from now on are not below this. */
uint64_t weft__heap_next_tie(const weft__heap *heap);
void weft__heap_add_tied(weft__heap *heap, int64_t deadline, uint64_t tie);

/* Takes out the slot that comes first among those with a deadline of at most `now`; false if there
   is none. */
bool weft__heap_pop_due(weft__heap *heap, int64_t now, uint32_t *slot);

/* The deadline of a slot that is in this heap. */
int64_t weft__heap_deadline(const weft__heap *heap, uint32_t slot);

/* Walks the structure: heap order, positions, count. For tests and hostile builds. */
bool weft__heap_valid(const weft__heap *heap);

#endif
