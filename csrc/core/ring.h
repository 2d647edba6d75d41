/* SPDX-License-Identifier: MIT */
/*
** ring.h - the ready queue: slots in the order in which they are to be resumed.
**
** A ring of slot numbers rather than a list through the tasks, so that whoever drains it can look
** a few places ahead and prefetch. A slot that is taken out of the middle leaves a hole. Positions
** only grow; the place of a position is its low bits. Knows nothing about what a slot is.
*/
#ifndef WEFT_RING_H
#define WEFT_RING_H

#include "base/base.h"

#define WEFT_RING_HOLE UINT32_MAX

typedef struct weft__ring {
  uint32_t *items;
  uint32_t mask;       /* size - 1; the size is a power of two, at least twice the slots */
  uint32_t head;       /* position of the first item */
  uint32_t tail;       /* position after the last */
  uint32_t pass_end;   /* items before it belong to the running pass */
  uint32_t line_end;   /* those too, once the ones before are done (weft__ring_hold) */
  uint32_t holes;      /* from head to tail */
  uint32_t *positions; /* by slot: where it stands */
} weft__ring;

weft_status weft__ring_init(weft__ring *ring, uint32_t capacity, uint32_t *positions);
void weft__ring_fini(weft__ring *ring);
bool weft__ring_valid(const weft__ring *ring);

/* Closes the holes of a full ring. */
__attribute__((cold, noinline)) void weft__ring_compact(weft__ring *ring);

/* How many slots are in it. */
static inline uint32_t weft__ring_count(const weft__ring *ring)
{
  return ring->tail - ring->head - ring->holes;
}

/* Appends a slot that is not in the ring. */
static inline void weft__ring_push(weft__ring *ring, uint32_t slot)
{
  if (WEFT_UNLIKELY(ring->tail - ring->head > ring->mask)) weft__ring_compact(ring);
  ring->items[ring->tail & ring->mask] = slot;
  ring->positions[slot] = ring->tail++;
}

/* Takes out a slot that is in the ring. */
static inline void weft__ring_remove(weft__ring *ring, uint32_t slot)
{
  uint32_t position = ring->positions[slot];
  WEFT_ASSERT(ring->items[position & ring->mask] == slot);
  ring->items[position & ring->mask] = WEFT_RING_HOLE;
  ring->holes++;
}

/* What is in the ring now is the pass; what is pushed from here on waits for the next. */
static inline void weft__ring_begin_pass(weft__ring *ring)
{
  if (weft__ring_count(ring) == 0) ring->head = ring->tail = ring->holes = 0;
  ring->pass_end = ring->tail;
}

/* Whether something of the last pass is left over. */
static inline bool weft__ring_left(weft__ring *ring)
{
  while (ring->head != ring->pass_end &&
         ring->items[ring->head & ring->mask] == WEFT_RING_HOLE) {
    ring->head++;
    ring->holes--;
  }
  return ring->head != ring->pass_end;
}

/* As weft__ring_begin_pass, but what is left over is to come first, until weft__ring_let_go. */
static inline void weft__ring_hold(weft__ring *ring)
{
  ring->line_end = ring->tail;
}

static inline void weft__ring_let_go(weft__ring *ring)
{
  ring->pass_end = ring->line_end;
}

/* Takes the first slot of the pass; WEFT_RING_HOLE at its end. */
static inline uint32_t weft__ring_pop(weft__ring *ring)
{
  while (ring->head != ring->pass_end) {
    uint32_t slot = ring->items[ring->head++ & ring->mask];
    if (WEFT_LIKELY(slot != WEFT_RING_HOLE)) return slot;
    ring->holes--;
  }
  return WEFT_RING_HOLE;
}

/* The slot at a position of the running pass; WEFT_RING_HOLE for a hole and outside of it. */
static inline uint32_t weft__ring_look(const weft__ring *ring, uint32_t position)
{
  return position - ring->head < ring->pass_end - ring->head
             ? ring->items[position & ring->mask]
             : WEFT_RING_HOLE;
}

#endif
