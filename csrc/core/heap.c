/* SPDX-License-Identifier: MIT */
/*
** heap.c - the indexed 4-ary heap of heap.h.
*/
#include "core/heap.h"

#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"
#include "platform/system.h"

#define ARITY 4
#define LINE 64

/* Entries from which on the heap outgrows the first cache. */
#define PREFETCH_FROM 4096

/* One compare decides deadline and tie: gcc and clang make it a cmp and an sbb. Read and written
   beside the two halves of an entry, so it may alias them, and their order is that of the machine. */
typedef unsigned __int128 __attribute__((may_alias)) heap_key;

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "a deadline is the upper half of a key");

static inline heap_key key_of(weft__heap_entry entry)
{
  return (heap_key)entry.deadline << 64 | entry.tie;
}

static inline uint32_t slot_of(const weft__heap *heap, weft__heap_entry entry)
{
  return (uint32_t)(entry.tie & heap->slot_mask);
}

static inline uint32_t *position_of(const weft__heap *heap, uint32_t slot)
{
  return (uint32_t *)(heap->positions + (size_t)slot * heap->stride);
}

/* What the sifts need, in registers: the stores into the positions could alias the heap. */
typedef struct heap_view {
  heap_key *keys;
  char *positions;
  size_t stride;
  uint64_t mask;
} heap_view;

static inline heap_view view_of(const weft__heap *heap)
{
  return (heap_view){(heap_key *)heap->entries, heap->positions, heap->stride, heap->slot_mask};
}

static inline void put(heap_view view, size_t index, heap_key key)
{
  view.keys[index] = key;
  *(uint32_t *)(view.positions + ((uint64_t)key & view.mask) * view.stride) = (uint32_t)index;
}

/* Children of i are 4i+1 to 4i+4: with entry 1 at the start of a line they never straddle one. Three
   entries before it and a line for the alignment are the price. */
static weft_status new_entries(uint32_t capacity, void **block, weft__heap_entry **entries)
{
  size_t bytes = ((size_t)capacity + ARITY) * sizeof(weft__heap_entry) + LINE;
  *block = weft__alloc(bytes);
  if (!*block) return WEFT_NOMEM;
  uintptr_t base = ((uintptr_t)*block + LINE - 1) & ~(uintptr_t)(LINE - 1);
  *entries = (weft__heap_entry *)base + (ARITY - 1);
  return WEFT_OK;
}

static weft__heap empty_heap(uint32_t slot_bits, size_t stride)
{
  return (weft__heap){
      .slot_bits = slot_bits,
      .slot_mask = (UINT64_C(1) << slot_bits) - 1,
      .sequence_end = UINT64_C(1) << (64 - slot_bits),
      .stride = stride,
  };
}

weft_status weft__heap_init(weft__heap *heap, uint32_t capacity, void *positions, size_t stride)
{
  WEFT_ASSERT(capacity > 0 && capacity <= UINT32_C(1) << 24);
  uint32_t bits = 1;
  while (UINT64_C(1) << bits < capacity) bits++;
  *heap = empty_heap(bits, stride);
  heap->capacity = capacity;
  heap->positions = positions;
  return new_entries(capacity, &heap->block, &heap->entries);
}

void weft__heap_init_growing(weft__heap *heap, size_t stride)
{
  *heap = empty_heap(24, stride);
}

weft_status weft__heap_grow(weft__heap *heap, uint32_t capacity)
{
  void *block;
  weft__heap_entry *entries;
  WEFT_ASSERT(capacity <= UINT32_C(1) << heap->slot_bits);
  if (capacity <= heap->capacity) return WEFT_OK;
  weft_status status = new_entries(capacity, &block, &entries);
  if (status) return status;
  if (heap->count > 0) memcpy(entries, heap->entries, heap->count * sizeof *entries);
  weft__free(heap->block);
  heap->block = block;
  heap->entries = entries;
  heap->capacity = capacity;
  return WEFT_OK;
}

void weft__heap_move(weft__heap *heap, void *positions)
{
  heap->positions = positions;
}

void weft__heap_fini(weft__heap *heap)
{
  weft__free(heap->block);
  *heap = (weft__heap){0};
}

/* Moves `key` from the hole at `index` towards the root. */
static inline void sift_up(heap_view view, size_t index, heap_key key)
{
  while (index > 0) {
    size_t parent = (index - 1) / ARITY;
    heap_key above = view.keys[parent];
    if (above <= key) break;
    put(view, index, above);
    index = parent;
  }
  put(view, index, key);
}

/* The smallest of four siblings: a tournament without branches, which nobody could predict. */
static inline size_t smallest_of_four(const heap_key *child)
{
  heap_key c0 = child[0], c1 = child[1], c2 = child[2], c3 = child[3];
  size_t a = c1 < c0, b = c3 < c2;
  heap_key l = a ? c1 : c0, r = b ? c3 : c2;
  size_t s = r < l;
  return a ^ ((a ^ (b | 2)) & -s);
}

static inline size_t smallest_child(const heap_key *child, size_t left)
{
  if (WEFT_LIKELY(left >= ARITY)) return smallest_of_four(child);
  size_t best = 0;
  for (size_t i = 1; i < left; i++)
    if (child[i] < child[best]) best = i;
  return best;
}

/* Moves `key` from the hole at `index` towards the leaves. */
static inline void sift_down(heap_view view, size_t count, size_t index, heap_key key)
{
  for (;;) {
    size_t first = index * ARITY + 1;
    if (first >= count) break;
    /* The lines of all grandchildren: which one is next is known only after the compares. */
    const heap_key *below_that = view.keys + (first * ARITY + 1);
    if (count > PREFETCH_FROM)
      for (size_t i = 0; i < ARITY; i++) __builtin_prefetch(below_that + i * ARITY);
    size_t child = first + smallest_child(view.keys + first, count - first);
    heap_key below = view.keys[child];
    if (key <= below) break;
    put(view, index, below);
    index = child;
  }
  put(view, index, key);
}

static int by_key(const void *a, const void *b)
{
  heap_key x = key_of(*(const weft__heap_entry *)a), y = key_of(*(const weft__heap_entry *)b);
  return (x > y) - (x < y);
}

/* The sequence ran out (after 2^40 and more arms): sorts, which keeps it a heap, and counts anew
   in that order, so that ties stay in arming order. */
static WEFT_COLD void renumber(weft__heap *heap)
{
  if (heap->count > 1) qsort(heap->entries, heap->count, sizeof(weft__heap_entry), by_key);
  for (uint32_t i = 0; i < heap->count; i++) {
    weft__heap_entry entry = heap->entries[i];
    entry.tie = (uint64_t)i << heap->slot_bits | slot_of(heap, entry);
    put(view_of(heap), i, key_of(entry));
  }
  heap->sequence = heap->count;
}

static inline uint64_t new_tie(weft__heap *heap, uint32_t slot)
{
  if (WEFT_UNLIKELY(heap->sequence >= heap->sequence_end)) renumber(heap);
  return heap->sequence++ << heap->slot_bits | slot;
}

static inline void add_tied(weft__heap *heap, int64_t deadline, uint64_t tie)
{
  weft__heap_entry entry = {.tie = tie, .deadline = (uint64_t)deadline};
  WEFT_ASSERT(slot_of(heap, entry) < heap->capacity && heap->count < heap->capacity);
  WEFT_ASSERT(deadline >= 0 && *position_of(heap, slot_of(heap, entry)) == WEFT_HEAP_NOWHERE);
  sift_up(view_of(heap), heap->count++, key_of(entry));
}

void weft__heap_add(weft__heap *heap, uint32_t slot, int64_t deadline)
{
  add_tied(heap, deadline, new_tie(heap, slot));
}

uint64_t weft__heap_new_tie(weft__heap *heap, uint32_t slot)
{
  return new_tie(heap, slot);
}

uint64_t weft__heap_next_tie(const weft__heap *heap)
{
  return heap->sequence << heap->slot_bits;
}

void weft__heap_add_tied(weft__heap *heap, int64_t deadline, uint64_t tie)
{
  add_tied(heap, deadline, tie);
}

/* Closes the hole at `index` with the last entry. */
static inline void fill(weft__heap *heap, size_t index)
{
  heap_view view = view_of(heap);
  size_t count = --heap->count;
  heap_key last = view.keys[count];
  if (index == count) return;
  if (index > 0 && last < view.keys[(index - 1) / ARITY])
    sift_up(view, index, last);
  else
    sift_down(view, count, index, last);
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

uint64_t weft__heap_tie(const weft__heap *heap, uint32_t slot)
{
  uint32_t index = *position_of(heap, slot);
  WEFT_ASSERT(index < heap->count && slot_of(heap, heap->entries[index]) == slot);
  return heap->entries[index].tie;
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
