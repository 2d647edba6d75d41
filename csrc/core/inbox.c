/* SPDX-License-Identifier: MIT */
/*
** inbox.c - the queue of inbox.h.
*/
#include "core/inbox.h"

#include "platform/park.h"
#include "platform/system.h"

/* How often a cell is looked at before its thread is given the processor that it may need. */
#define LOOKS 64

weft_status weft__inbox_init(weft__inbox *inbox, uint32_t count)
{
  uint32_t size = 2;
  while (size < count) size *= 2;
  weft__inbox_cell *cells = weft__calloc(size, sizeof *cells);
  if (!cells) return WEFT_NOMEM;

  atomic_init(&inbox->tail, 0);
  atomic_init(&inbox->head, 0);
  inbox->cells = cells;
  inbox->mask = size - 1;
  return WEFT_OK;
}

void weft__inbox_fini(weft__inbox *inbox)
{
  weft__free(inbox->cells);
  inbox->cells = NULL;
}

bool weft__inbox_put(weft__inbox *inbox, uint32_t item)
{
  uint32_t at = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
  for (;;) {
    weft__inbox_cell *cell = &inbox->cells[at & inbox->mask];
    /* Partner: the release at the end of take, after which the cell may be filled again. */
    uint32_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
    int32_t ahead = (int32_t)(turn + (at & inbox->mask) - at);
    if (ahead < 0) return false;
    if (ahead > 0) {
      at = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
      continue;
    }
    if (!atomic_compare_exchange_weak_explicit(&inbox->tail, &at, at + 1, memory_order_seq_cst,
                                               memory_order_relaxed))
      continue;
    cell->item = item;
    /* Partner: the acquire in take. An exchange, so that it too comes before the caller's look for
       sleepers: one that saw the cell unfilled is seen by it. */
    turn += 1;
    (void)atomic_exchange_explicit(&cell->turn, turn, memory_order_seq_cst);
    return true;
  }
}

void weft__inbox_must_put(weft__inbox *inbox, uint32_t item)
{
  for (uint32_t look = 1; !weft__inbox_put(inbox, item); look++) {
    if (look % LOOKS == 0)
      weft__thread_yield();
    else
      weft__pause();
  }
}

bool weft__inbox_take(weft__inbox *inbox, uint32_t *item)
{
  uint32_t at = atomic_load_explicit(&inbox->head, memory_order_relaxed);
  for (;;) {
    weft__inbox_cell *cell = &inbox->cells[at & inbox->mask];
    /* Partner: the exchange at the end of put. */
    uint32_t turn = atomic_load_explicit(&cell->turn, memory_order_seq_cst);
    int32_t ahead = (int32_t)(turn + (at & inbox->mask) - (at + 1));
    if (ahead < 0) return false;
    if (ahead > 0) {
      at = atomic_load_explicit(&inbox->head, memory_order_relaxed);
      continue;
    }
    if (!atomic_compare_exchange_weak_explicit(&inbox->head, &at, at + 1, memory_order_seq_cst,
                                               memory_order_relaxed))
      continue;
    *item = cell->item;
    atomic_store_explicit(&cell->turn, turn + inbox->mask, memory_order_release);
    return true;
  }
}

bool weft__inbox_valid(const weft__inbox *inbox)
{
  uint32_t head = atomic_load(&inbox->head);
  uint32_t tail = atomic_load(&inbox->tail);
  uint32_t size = inbox->mask + 1;
  if ((size & inbox->mask) != 0 || tail - head > size) return false;
  for (uint32_t i = 0; i < size; i++) {
    uint32_t at = head + i;
    uint32_t turn = atomic_load(&inbox->cells[at & inbox->mask].turn) + (at & inbox->mask);
    if (turn != (at - tail < size && (int32_t)(at - tail) >= 0 ? at : at + 1)) return false;
  }
  return true;
}
