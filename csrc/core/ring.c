/* SPDX-License-Identifier: MIT */
/*
** ring.c - the rare parts of ring.h.
*/
#include "core/ring.h"

#include "platform/system.h"

weft_status weft__ring_init(weft__ring *ring, uint32_t capacity, uint32_t *positions)
{
  WEFT_ASSERT(capacity > 0 && capacity <= UINT32_C(1) << 24);
  /* Twice the slots: a full ring is at least half holes, so compacting is paid for by the pushes
     since the last time. */
  uint32_t size = 4;
  while (size < capacity * 2) size *= 2;
  uint32_t *items = weft__calloc(size, sizeof *items);
  if (!items) return WEFT_NOMEM;
  *ring = (weft__ring){.items = items, .mask = size - 1, .positions = positions};
  return WEFT_OK;
}

void weft__ring_fini(weft__ring *ring)
{
  weft__free(ring->items);
  *ring = (weft__ring){0};
}

void weft__ring_compact(weft__ring *ring)
{
  /* Towards the tail: positions behind the running pass must stay behind it. */
  uint32_t to = ring->tail, end = ring->tail, line = ring->tail;
  for (uint32_t from = ring->tail; from != ring->head;) {
    if (from == ring->pass_end) end = to;
    if (from == ring->line_end) line = to;
    uint32_t slot = ring->items[--from & ring->mask];
    if (slot == WEFT_RING_HOLE) continue;
    ring->items[--to & ring->mask] = slot;
    ring->positions[slot] = to;
  }
  if (ring->pass_end == ring->head) end = to;
  ring->head = to;
  ring->holes = 0;
  ring->pass_end = end;
  ring->line_end = line;
}

bool weft__ring_valid(const weft__ring *ring)
{
  uint32_t live = 0;
  if (ring->tail - ring->head > ring->mask + 1) return false;
  for (uint32_t at = ring->head; at != ring->tail; at++) {
    uint32_t slot = ring->items[at & ring->mask];
    if (slot == WEFT_RING_HOLE) continue;
    if (ring->positions[slot] != at) return false;
    live++;
  }
  return live == weft__ring_count(ring);
}
