/* SPDX-License-Identifier: MIT */
/*
** inbox.h - a bounded queue of 32-bit numbers that any thread may put into and any may take from,
** oldest first. Knows nothing of what they stand for.
**
** It is Dmitry Vyukov's bounded MPMC queue (1024cores.net, 2010): each cell has a sequence number
** that says whose turn it is, so that a put and a take need one compare-exchange each and touch the
** other side's index not at all.
*/
#ifndef WEFT_CORE_INBOX_H
#define WEFT_CORE_INBOX_H

#include <stdatomic.h>

#include "base/base.h"

typedef struct weft__inbox_cell {
  /* The index of the put that may fill it, one more when it is full; less its place among the cells,
     so that a new queue is all zeroes. */
  _Atomic uint32_t turn;
  uint32_t item;
} weft__inbox_cell;

typedef struct weft__inbox {
  _Alignas(64) _Atomic uint32_t tail; /* of the next put */
  _Alignas(64) _Atomic uint32_t head; /* of the next take */
  _Alignas(64) weft__inbox_cell *cells;
  uint32_t mask;
} weft__inbox;

/* Room for at least `count` numbers, 2^31 at most. WEFT_NOMEM. */
weft_status weft__inbox_init(weft__inbox *inbox, uint32_t count);
void weft__inbox_fini(weft__inbox *inbox);

/*
** False if it is full, or if a take that has begun on another thread is not done with its cell when
** the queue has come round to it: `weft__inbox_must_put` waits for that. A put that has begun on
** another thread and is not done hides those behind it for that long; who put last never misses its own
** for good, since whoever looks again finds it. The move of `tail` is ordered before what the caller
** loads next in sequential consistency, as in weft__deque_push.
*/
bool weft__inbox_put(weft__inbox *inbox, uint32_t item);

/* For a queue with room for all that there is to put. */
void weft__inbox_must_put(weft__inbox *inbox, uint32_t item);

/* False if it is empty. */
bool weft__inbox_take(weft__inbox *inbox, uint32_t *item);

/* How many there are, give or take what happens meanwhile; puts that are not done count. */
static inline uint32_t weft__inbox_count(const weft__inbox *inbox)
{
  uint32_t head = atomic_load_explicit(&inbox->head, memory_order_seq_cst);
  uint32_t count = atomic_load_explicit(&inbox->tail, memory_order_seq_cst) - head;
  return count > inbox->mask + 1 ? 0 : count; /* `head` has gone past what was read */
}

/* Debug walker, for a quiet queue. */
bool weft__inbox_valid(const weft__inbox *inbox);

#endif
