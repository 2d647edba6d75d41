/* SPDX-License-Identifier: MIT */
/*
** heap.c - the indexed 4-ary heap of heap.h.
*/
#include "core/heap.h"

#include <stdlib.h>

#include "platform/system.h"

#define ARITY 4
#define LINE 64

/* One compare decides deadline and tie: gcc and clang make it a cmp and an sbb. */
typedef unsigned __int128 heap_key;

static inline heap_key key_of(weft__heap_entry entry)
{
  return (heap_key)entry.deadline << 64 | entry.tie;
}

static inline uint32_t slot_of(const weft__heap *heap, weft__heap_entry entry)
{
  return (uint32_t)(entry.tie & ((UINT64_C(1) << heap->slot_bits) - 1));
}

static inline uint32_t *position_of(const weft__heap *heap, uint32_t slot)
{
  return (uint32_t *)(heap->positions + (size_t)slot * heap->stride);
}

static inline void put(weft__heap *heap, uint32_t index, weft__heap_entry entry)
{
  heap->entries[index] = entry;
  *position_of(heap, slot_of(heap, entry)) = index;
}

weft_status weft__heap_init(weft__heap *heap, uint32_t capacity, void *positions, size_t stride)
{
  WEFT_ASSERT(capacity > 0 && capacity <= UINT32_C(1) << 24);
  /* Children of i are 4i+1 to 4i+4: with entry 1 at the start of a line they never straddle
     one. Three entries before it and a line for the alignment are the price. */
  size_t bytes = ((size_t)capacity + ARITY) * sizeof(weft__heap_entry) + LINE;
  void *block = weft__alloc(bytes);
  if (!block) return WEFT_NOMEM;
  uintptr_t base = ((uintptr_t)block + LINE - 1) & ~(uintptr_t)(LINE - 1);
  uint32_t bits = 1;
  while (UINT64_C(1) << bits < capacity) bits++;
  *heap = (weft__heap){
      .entries = (weft__heap_entry *)base + (ARITY - 1),
      .capacity = capacity,
      .slot_bits = bits,
      .sequence_end = UINT64_C(1) << (64 - bits),
      .positions = positions,
      .stride = stride,
      .block = block,
  };
  return WEFT_OK;
}

void weft__heap_fini(weft__heap *heap)
{
  weft__free(heap->block);
  *heap = (weft__heap){0};
}

/* Moves `entry` from the hole at `index` towards the root. */
static void sift_up(weft__heap *heap, uint32_t index, weft__heap_entry entry)
{
  heap_key key = key_of(entry);
  while (index > 0) {
    uint32_t parent = (index - 1) / ARITY;
    if (key_of(heap->entries[parent]) <= key) break;
    put(heap, index, heap->entries[parent]);
    index = parent;
  }
  put(heap, index, entry);
}

/* The smallest of the up to four children from `first` on. Four take a tournament: two compares
   that do not depend on each other, then the final. */
static inline uint32_t smallest_child(const weft__heap *heap, uint32_t first)
{
  const weft__heap_entry *child = heap->entries + first;
  uint32_t left = heap->count - first;
  if (WEFT_LIKELY(left >= ARITY)) {
    uint32_t a = key_of(child[1]) < key_of(child[0]);
    uint32_t b = 2 + (key_of(child[3]) < key_of(child[2]));
    return first + (key_of(child[b]) < key_of(child[a]) ? b : a);
  }
  uint32_t best = 0;
  for (uint32_t i = 1; i < left; i++)
    if (key_of(child[i]) < key_of(child[best])) best = i;
  return first + best;
}

/* Moves `entry` from the hole at `index` towards the leaves. */
static void sift_down(weft__heap *heap, uint32_t index, weft__heap_entry entry)
{
  heap_key key = key_of(entry);
  for (;;) {
    uint64_t first = (uint64_t)index * ARITY + 1;
    if (first >= heap->count) break;
    uint32_t child = smallest_child(heap, (uint32_t)first);
    if (key <= key_of(heap->entries[child])) break;
    put(heap, index, heap->entries[child]);
    index = child;
  }
  put(heap, index, entry);
}

static int by_key(const void *a, const void *b)
{
  heap_key x = key_of(*(const weft__heap_entry *)a), y = key_of(*(const weft__heap_entry *)b);
  return (x > y) - (x < y);
}

/* The sequence ran out (after 2^40 and more arms): sorts, which keeps it a heap, and counts anew
   in that order, so that ties stay in arming order. */
static void renumber(weft__heap *heap)
{
  if (heap->count > 1) qsort(heap->entries, heap->count, sizeof(weft__heap_entry), by_key);
  for (uint32_t i = 0; i < heap->count; i++) {
    weft__heap_entry entry = heap->entries[i];
    entry.tie = (uint64_t)i << heap->slot_bits | slot_of(heap, entry);
    put(heap, i, entry);
  }
  heap->sequence = heap->count;
}

void weft__heap_add(weft__heap *heap, uint32_t slot, int64_t deadline)
{
  WEFT_ASSERT(slot < heap->capacity && heap->count < heap->capacity && deadline >= 0);
  WEFT_ASSERT(*position_of(heap, slot) == WEFT_HEAP_NOWHERE);
  if (WEFT_UNLIKELY(heap->sequence >= heap->sequence_end)) renumber(heap);
  weft__heap_entry entry = {.tie = heap->sequence++ << heap->slot_bits | slot,
                            .deadline = (uint64_t)deadline};
  sift_up(heap, heap->count++, entry);
}

/* Closes the hole at `index` with the last entry. */
static void fill(weft__heap *heap, uint32_t index)
{
  weft__heap_entry last = heap->entries[--heap->count];
  if (index == heap->count) return;
  if (index > 0 && key_of(last) < key_of(heap->entries[(index - 1) / ARITY]))
    sift_up(heap, index, last);
  else
    sift_down(heap, index, last);
}

void weft__heap_remove(weft__heap *heap, uint32_t slot)
{
  uint32_t *position = position_of(heap, slot);
  uint32_t index = *position;
  WEFT_ASSERT(index < heap->count && slot_of(heap, heap->entries[index]) == slot);
  *position = WEFT_HEAP_NOWHERE;
  fill(heap, index);
}

bool weft__heap_pop_due(weft__heap *heap, int64_t now, uint32_t *slot)
{
  if (heap->count == 0 || (int64_t)heap->entries[0].deadline > now) return false;
  *slot = slot_of(heap, heap->entries[0]);
  *position_of(heap, *slot) = WEFT_HEAP_NOWHERE;
  fill(heap, 0);
  return true;
}

int64_t weft__heap_deadline(const weft__heap *heap, uint32_t slot)
{
  uint32_t index = *position_of(heap, slot);
  WEFT_ASSERT(index < heap->count && slot_of(heap, heap->entries[index]) == slot);
  return (int64_t)heap->entries[index].deadline;
}

bool weft__heap_valid(const weft__heap *heap)
{
  if (heap->count > heap->capacity) return false;
  for (uint32_t i = 0; i < heap->count; i++) {
    uint32_t slot = slot_of(heap, heap->entries[i]);
    if (slot >= heap->capacity || *position_of(heap, slot) != i) return false;
    if (i > 0 && key_of(heap->entries[(i - 1) / ARITY]) >= key_of(heap->entries[i]))
      return false;
  }
  return true;
}
