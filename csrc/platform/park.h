/* SPDX-License-Identifier: MIT */
/*
** park.h - threads that sleep until a word changes, and what else a worker asks of the system.
** Knows words and threads, not why they wait.
*/
#ifndef WEFT_PLATFORM_PARK_H
#define WEFT_PLATFORM_PARK_H

#include <stdatomic.h>

#include "base/base.h"

/*
** Sleeps while `*word` is `expected`, until somebody wakes the word, a signal comes, or
** `weft__clock_ns` has reached `deadline` (INT64_MAX for never). It may return for no reason:
** the caller looks again. The kernel compares and sleeps as one step with regard to
** `weft__park_wake`.
*/
void weft__park(atomic_uint *word, unsigned expected, int64_t deadline);

/* Wakes up to `count` of the threads that sleep on the word, which need not exist any more. */
void weft__park_wake(atomic_uint *word, int count);

/*
** Two halves of one fence between threads of this process, for where one side passes a thousand times
** for each time that the other does: what stands before a light one is seen by whoever looks after a
** heavy one, or what stands before the heavy one is seen by whoever looks after the light one. With
** Linux's membarrier the light one costs nothing. To be asked for before either is used.
*/
extern bool weft__fences_differ;
void weft__fences_init(void);
void weft__fence_heavy(void);
static inline void weft__fence_light(void)
{
  if (WEFT_LIKELY(weft__fences_differ)) {
    atomic_signal_fence(memory_order_seq_cst);
  } else {
    weft__fence_heavy();
  }
}

/* Lets the other thread of this core run for some tens of nanoseconds. */
static inline void weft__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

/* Lets other threads have the processor, for a moment. */
void weft__thread_yield(void);

/* For the calling thread: it is for work that never hurries. Without effect where the system
   refuses. */
void weft__thread_lower(void);

/* For the calling thread: leaves the signals of the process to the other threads, but for those
   that tell of its own faults; and gives it a name of at most 15 bytes for debuggers. */
void weft__thread_settle(const char *name);

/* From now on `before` is called before every fork, `after` after it in the parent, and `child` in the
   child, on its only thread. WEFT_NOMEM. */
weft_status weft__fork_watch(void (*before)(void), void (*after)(void), void (*child)(void));

/*
** From now on `ended` is called, with the mark, at the end of each thread that was given one. The code
** that holds `ended` is never unloaded from then on. Called once, before any thread is marked. WEFT_NOMEM.
*/
weft_status weft__end_watch(void (*ended)(void *mark));
weft_status weft__end_mark(void *mark); /* for the calling thread; not NULL */

#endif
