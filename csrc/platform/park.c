/* SPDX-License-Identifier: MIT */
/*
** park.c - futexes, and threads of low priority, on Linux.
*/
#define _GNU_SOURCE
#include "platform/park.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/fault.h"

#define NS_PER_S 1000000000
#define LOW_NICE 10

/* The wait with an absolute deadline on the monotonic clock is the one with a bitset. */
void weft__park(atomic_uint *word, unsigned expected, int64_t deadline)
{
  struct timespec until;
  if (deadline < 0) deadline = 0;
  if (deadline != INT64_MAX) {
    until.tv_sec = (time_t)(deadline / NS_PER_S);
    until.tv_nsec = (long)(deadline % NS_PER_S);
  }
  (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                deadline == INT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void weft__park_wake(atomic_uint *word, int count)
{
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

bool weft__fences_differ;

/* A thread sanitizer does not know what the system does to other threads. */
#if defined(__SANITIZE_THREAD__)
#define PARK_BY_EXCHANGE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PARK_BY_EXCHANGE 1
#endif
#endif

void weft__fences_init(void)
{
#ifndef PARK_BY_EXCHANGE
  weft__fences_differ =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

/* A locked operation is a full fence on x86-64 and cheaper than the instruction of that name. */
void weft__fence_heavy(void)
{
  static _Thread_local atomic_uint word;
  if (weft__fences_differ) {
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
  }
}

void weft__thread_yield(void)
{
  (void)sched_yield();
}

void weft__thread_lower(void)
{
  struct sched_param none = {0};
  (void)sched_setscheduler(0, SCHED_BATCH, &none);
  (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOW_NICE);
}

void weft__thread_settle(const char *name)
{
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
  (void)pthread_sigmask(SIG_SETMASK, &blocked, NULL);
  (void)pthread_setname_np(pthread_self(), name);
}

weft_status weft__fork_watch(void (*before)(void), void (*after)(void), void (*child)(void))
{
  return pthread_atfork(before, after, child) == 0 ? WEFT_OK : WEFT_NOMEM;
}

static pthread_key_t end_key;

weft_status weft__end_watch(void (*ended)(void *mark))
{
  weft__stay_loaded();
  return pthread_key_create(&end_key, ended) == 0 ? WEFT_OK : WEFT_NOMEM;
}

weft_status weft__end_mark(void *mark)
{
  return pthread_setspecific(end_key, mark) == 0 ? WEFT_OK : WEFT_NOMEM;
}
