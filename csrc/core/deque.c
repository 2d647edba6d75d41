/* SPDX-License-Identifier: MIT */
/*
** deque.c - memory of the queues of deque.h, whose operations stand there.
*/
#include "core/deque.h"

#include "platform/system.h"

weft_status weft__deque_init(weft__deque *deque, uint32_t count)
{
  uint32_t size = 2;
  while (size < count) size *= 2;
  _Atomic uint32_t *items =
      weft__alloc(size * sizeof *items); /* each is written before it is read */
  if (!items) return WEFT_NOMEM;
  atomic_init(&deque->bottom, 0);
  atomic_init(&deque->top, 0);
  deque->known_top = 0;
  deque->items = items;
  deque->mask = (int64_t)size - 1;
  return WEFT_OK;
}

void weft__deque_fini(weft__deque *deque)
{
  weft__free((void *)deque->items);
  deque->items = NULL;
}

bool weft__deque_valid(const weft__deque *deque)
{
  int64_t top = atomic_load(&deque->top);
  int64_t bottom = atomic_load(&deque->bottom);
  return top >= 0 && bottom >= top && bottom - top <= deque->mask + 1 &&
         deque->known_top <= top && ((deque->mask + 1) & deque->mask) == 0;
}
