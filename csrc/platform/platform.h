/* SPDX-License-Identifier: MIT */
/*
** platform.h - what the core needs of the operating system and the compiler: the clock, the
** processors, mutexes, threads, and a few attributes. Stacks, switches and faults have headers
** of their own. Only files in this directory may ask which system, ABI or compiler this is.
*/
#ifndef WEFT_PLATFORM_PLATFORM_H
#define WEFT_PLATFORM_PLATFORM_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* --- The compiler -------------------------------------------------------------------------- */

#define WEFT_NOINLINE __attribute__((noinline))
#define WEFT_COLD __attribute__((cold, noinline))
/* A function that reads what another thread may be writing, and knows it: not for thread sanitizers. */
#if defined(__clang__)
#define WEFT_RACY __attribute__((noinline, no_sanitize("thread")))
#else
#define WEFT_RACY __attribute__((noinline, no_sanitize_thread))
#endif
#define WEFT_PREFETCH(pointer) __builtin_prefetch(pointer)

/* A variable per thread, reached without a call. No function that switches stacks may read one
   after the switch: the fiber may be on another thread then. */
#if defined(__GLIBC__)
#define WEFT_PER_THREAD _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define WEFT_PER_THREAD _Thread_local
#endif

/* --- Time and the machine ------------------------------------------------------------------ */

/* Nanoseconds of a clock that never goes back and is not set. */
int64_t weft__clock_ns(void);

/* Sleeps until `weft__clock_ns` has reached `deadline`; signals do not cut it short. */
void weft__sleep_until_ns(int64_t deadline);

/* Processors this process may use, at least 1. */
uint32_t weft__cpu_count(void);

/* Bytes of a page of memory. */
size_t weft__page_bytes(void);

/* --- Descriptors --------------------------------------------------------------------------- */

bool weft__is_open(int fd);

/* Asks all of them, and waits for the first to answer until `weft__clock_ns` has reached `deadline`;
   0 does not wait. How many have answered; 0 also if the system refused to tell. */
uint32_t weft__poll(struct pollfd *fds, uint32_t count, int64_t deadline);

/* --- Threads ------------------------------------------------------------------------------- */

/* A small number that no other thread of this process has or had; never 0. */
uint64_t weft__thread_id(void);

/* A plain mutex, not recursive. Never hold one across a switch of stacks. */
typedef struct weft__mutex {
  pthread_mutex_t native;
} weft__mutex;

weft_status weft__mutex_init(weft__mutex *mutex); /* WEFT_NOMEM */
void weft__mutex_fini(weft__mutex *mutex);
void weft__mutex_lock(weft__mutex *mutex);
void weft__mutex_unlock(weft__mutex *mutex);

/* What threads that hold a mutex wait on, until another signals it: for a change that they check
   themselves, for a wait may end without one. */
typedef struct weft__cond {
  pthread_cond_t native;
} weft__cond;

weft_status weft__cond_init(weft__cond *cond); /* WEFT_NOMEM */
void weft__cond_fini(weft__cond *cond);
void weft__cond_wait(weft__cond *cond, weft__mutex *mutex);
/* False once `weft__clock_ns` has reached `deadline`. */
bool weft__cond_wait_until(weft__cond *cond, weft__mutex *mutex, int64_t deadline);
void weft__cond_signal_all(weft__cond *cond);

/* A thread that must be joined. The object must stay where it is until then. */
typedef struct weft__thread {
  pthread_t native;
  void (*body)(void *arg);
  void *arg;
} weft__thread;

/* Runs `body(arg)` on a new thread. WEFT_NOMEM when the system gives none. */
weft_status weft__thread_start(weft__thread *thread, void (*body)(void *arg), void *arg);
void weft__thread_join(weft__thread *thread);
void weft__thread_detach(weft__thread *thread); /* in place of a join; the object may go */

#endif
