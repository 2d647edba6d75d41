/* SPDX-License-Identifier: MIT */
/*
** jobs_inbox.c - jobs that have ended, on their way to the state that started them. The only file of
** the binding with atomics.
*/
#include <stdatomic.h>

#include "lua/jobs.h"

struct inbox {
  _Atomic(mail *) newest;
};

struct family {
  _Atomic(bool) ended;
};

inbox *inbox_new(void)
{
  return weft_counted_new(sizeof(inbox), NULL);
}

void inbox_put(inbox *in, mail *m)
{
  mail *newest = atomic_load_explicit(&in->newest, memory_order_relaxed);
  do {
    m->next = newest;
    /* Release: what the job has left. Its partner is the exchange below. */
  } while (!atomic_compare_exchange_weak_explicit(&in->newest, &newest, m, memory_order_release,
                                                  memory_order_relaxed));
}

mail *inbox_take_all(inbox *in)
{
  if (!atomic_load_explicit(&in->newest, memory_order_relaxed)) return NULL;
  mail *m = atomic_exchange_explicit(&in->newest, NULL, memory_order_acquire), *oldest = NULL;
  while (m) {
    mail *next = m->next;
    m->next = oldest;
    oldest = m;
    m = next;
  }
  return oldest;
}

void work_set_ended(work *w)
{
  /* Release: what the job has left, for those who have it from elsewhere. Its partner is the load
     below. */
  atomic_store_explicit(&w->ended, true, memory_order_release);
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

bool work_asked(const work *w)
{
  /* Relaxed: nothing is read because of it. That a parent has asked is seen with its end. */
  return atomic_load_explicit(&w->asked, memory_order_relaxed);
}

void work_set_asked(work *w, bool asked)
{
  atomic_store_explicit(&w->asked, asked, memory_order_relaxed);
}

family *work_family(work *w)
{
  /* Acquire, and release: parts of a range run on several threads, each may be the first to start one. */
  family *known = atomic_load_explicit(&w->family, memory_order_acquire);
  if (known) return known;
  family *made = weft_counted_new(sizeof *made, NULL);
  if (!made) return NULL;
  if (atomic_compare_exchange_strong_explicit(&w->family, &known, made, memory_order_acq_rel,
                                              memory_order_acquire))
    return made;
  weft_counted_drop(made);
  return known;
}

void work_end_family(work *w)
{
  family *known = atomic_load_explicit(&w->family, memory_order_acquire);
  /* Release: for which of those that it has started it has asked. Its partner is the load below. */
  if (known) atomic_store_explicit(&known->ended, true, memory_order_release);
}

bool family_has_ended(const family *f)
{
  return !f || atomic_load_explicit(&f->ended, memory_order_acquire);
}
