/* SPDX-License-Identifier: MIT */
/*
** jobs_inbox.c - jobs that have ended, on their way to the state that started them. The only file of
** the binding with atomics.
*/
#include <stdatomic.h>

#include "lua/jobs.h"

struct inbox {
  _Atomic(work *) newest;
};

inbox *inbox_new(void)
{
  return weft_counted_new(sizeof(inbox), NULL);
}

void inbox_put(inbox *in, work *w)
{
  /* Release: as below, for those who have the job from elsewhere. */
  atomic_store_explicit(&w->ended, true, memory_order_release);
  work *newest = atomic_load_explicit(&in->newest, memory_order_relaxed);
  do {
    w->next = newest;
    /* Release: what the job has left. Its partner is the exchange below. */
  } while (!atomic_compare_exchange_weak_explicit(&in->newest, &newest, w, memory_order_release,
                                                  memory_order_relaxed));
}

work *inbox_take_all(inbox *in)
{
  if (!atomic_load_explicit(&in->newest, memory_order_relaxed)) return NULL;
  work *w = atomic_exchange_explicit(&in->newest, NULL, memory_order_acquire), *oldest = NULL;
  while (w) {
    work *next = w->next;
    w->next = oldest;
    oldest = w;
    w = next;
  }
  return oldest;
}

bool work_has_ended(const work *w)
{
  return atomic_load_explicit(&w->ended, memory_order_acquire);
}

bool work_claim(work *w)
{
  /* Relaxed: nothing is read because of it. */
  return !atomic_exchange_explicit(&w->claimed, true, memory_order_relaxed);
}

bool work_fails_first(work *w)
{
  /* Relaxed: what the first one leaves is read after the end of the whole range. */
  return !atomic_exchange_explicit(&w->failed, true, memory_order_relaxed);
}
