/* SPDX-License-Identifier: MIT */
/*
** bareheap.c - the heap of bareheap.h.
*/
#include "bareheap.h"

#include <stdlib.h>

bool bareheap_init(bareheap *heap, uint32_t capacity)
{
  /* Entry 1 begins a line: the root is the last of the line before it. */
  char *block =
      aligned_alloc(64, (((size_t)capacity + 3) * sizeof(bareheap_entry) + 127) & ~(size_t)63);
  heap->entries = (bareheap_entry *)block + 3;
  heap->count = 0;
  heap->positions = calloc(capacity, sizeof(uint32_t));
  heap->block = block;
  return block && heap->positions;
}

void bareheap_fini(bareheap *heap)
{
  free(heap->block);
  free(heap->positions);
}

static inline void put(bareheap *heap, uint32_t index, bareheap_entry entry)
{
  heap->entries[index] = entry;
  heap->positions[entry.slot] = index;
}

static void sift_up(bareheap *heap, uint32_t index, bareheap_entry entry)
{
  while (index > 0) {
    uint32_t parent = (index - 1) / 4;
    if (heap->entries[parent].deadline <= entry.deadline) break;
    put(heap, index, heap->entries[parent]);
    index = parent;
  }
  put(heap, index, entry);
}

static inline uint32_t least_child(const bareheap *heap, uint32_t first)
{
  const bareheap_entry *child = heap->entries + first;
  uint32_t left = heap->count - first;
  if (left >= 4) {
    int64_t c0 = child[0].deadline, c1 = child[1].deadline;
    int64_t c2 = child[2].deadline, c3 = child[3].deadline;
    uint32_t a = c1 < c0, b = c3 < c2;
    int64_t least_a = a ? c1 : c0, least_b = b ? c3 : c2;
    return first + (a ^ ((a ^ (b | 2)) & -(uint32_t)(least_b < least_a)));
  }
  uint32_t best = 0;
  for (uint32_t i = 1; i < left; i++)
    if (child[i].deadline < child[best].deadline) best = i;
  return first + best;
}

static void sift_down(bareheap *heap, uint32_t index, bareheap_entry entry)
{
  for (;;) {
    uint64_t first = (uint64_t)index * 4 + 1;
    if (first >= heap->count) break;
    uint32_t child = least_child(heap, (uint32_t)first);
    if (entry.deadline <= heap->entries[child].deadline) break;
    put(heap, index, heap->entries[child]);
    index = child;
  }
  put(heap, index, entry);
}

void bareheap_add(bareheap *heap, uint32_t slot, int64_t deadline)
{
  bareheap_entry entry = {.deadline = deadline, .slot = slot};
  sift_up(heap, heap->count++, entry);
}

static void fill(bareheap *heap, uint32_t index)
{
  bareheap_entry last = heap->entries[--heap->count];
  if (index == heap->count) return;
  if (index > 0 && last.deadline < heap->entries[(index - 1) / 4].deadline)
    sift_up(heap, index, last);
  else
    sift_down(heap, index, last);
}

void bareheap_remove(bareheap *heap, uint32_t slot)
{
  fill(heap, heap->positions[slot]);
}

bool bareheap_pop_due(bareheap *heap, int64_t now, uint32_t *slot)
{
  if (heap->count == 0 || heap->entries[0].deadline > now) return false;
  *slot = heap->entries[0].slot;
  fill(heap, 0);
  return true;
}
