/* SPDX-License-Identifier: MIT */
/*
** platform.c - clock, processors, mutexes and threads by POSIX.
*/
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "platform/system.h"

#define NS_PER_S 1000000000

int64_t weft__clock_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void weft__sleep_until_ns(int64_t deadline)
{
  struct timespec until = {
      .tv_sec = (time_t)(deadline / NS_PER_S),
      .tv_nsec = (long)(deadline % NS_PER_S),
  };
  if (deadline <= 0) return;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
}

bool weft__is_open(int fd)
{
  return weft__system.descriptor_flags(fd) >= 0;
}

uint32_t weft__poll(struct pollfd *fds, uint32_t count, int64_t deadline)
{
  int ready;
  do {
    int64_t left = deadline > 0 ? deadline - weft__clock_ns() : 0;
    if (left < 0) left = 0;
    struct timespec timeout = {
        .tv_sec = (time_t)(left / NS_PER_S),
        .tv_nsec = (long)(left % NS_PER_S),
    };
    ready = weft__system.poll(fds, count, &timeout);
  } while (ready < 0 && errno == EINTR && deadline > 0);
  return ready > 0 ? (uint32_t)ready : 0;
}

uint32_t weft__cpu_count(void)
{
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    int count = CPU_COUNT(&allowed);
    if (count > 0) return (uint32_t)count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (uint32_t)online : 1;
}

size_t weft__page_bytes(void)
{
  long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? (size_t)bytes : 4096;
}

static WEFT_NOINLINE uint64_t thread_id_new(void)
{
  /* Relaxed: only that the numbers differ matters. */
  static _Atomic uint64_t last;
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* Not inlined, so that no caller keeps the variable's address across a switch of stacks. */
WEFT_NOINLINE uint64_t weft__thread_id(void)
{
  static WEFT_PER_THREAD uint64_t id;
  if (WEFT_UNLIKELY(!id)) id = thread_id_new();
  return id;
}

weft_status weft__mutex_init(weft__mutex *mutex)
{
  return pthread_mutex_init(&mutex->native, NULL) == 0 ? WEFT_OK : WEFT_NOMEM;
}

void weft__mutex_fini(weft__mutex *mutex)
{
  pthread_mutex_destroy(&mutex->native);
}

void weft__mutex_lock(weft__mutex *mutex)
{
  int failed = pthread_mutex_lock(&mutex->native);
  WEFT_CHECK(!failed);
}

void weft__mutex_unlock(weft__mutex *mutex)
{
  int failed = pthread_mutex_unlock(&mutex->native);
  WEFT_CHECK(!failed);
}

weft_status weft__cond_init(weft__cond *cond)
{
  pthread_condattr_t monotonic;
  if (pthread_condattr_init(&monotonic) != 0) return WEFT_NOMEM;
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  int failed = pthread_cond_init(&cond->native, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return failed ? WEFT_NOMEM : WEFT_OK;
}

void weft__cond_fini(weft__cond *cond)
{
  pthread_cond_destroy(&cond->native);
}

void weft__cond_wait(weft__cond *cond, weft__mutex *mutex)
{
  int failed = pthread_cond_wait(&cond->native, &mutex->native);
  WEFT_CHECK(!failed);
}

bool weft__cond_wait_until(weft__cond *cond, weft__mutex *mutex, int64_t deadline)
{
  struct timespec until = {
      .tv_sec = (time_t)(deadline / NS_PER_S),
      .tv_nsec = (long)(deadline % NS_PER_S),
  };
  int failed = pthread_cond_timedwait(&cond->native, &mutex->native, &until);
  WEFT_CHECK(!failed || failed == ETIMEDOUT);
  return !failed;
}

void weft__cond_signal_all(weft__cond *cond)
{
  pthread_cond_broadcast(&cond->native);
}

static void *thread_main(void *arg)
{
  weft__thread *thread = arg;
  thread->body(thread->arg);
  return NULL;
}

weft_status weft__thread_start(weft__thread *thread, void (*body)(void *arg), void *arg)
{
  thread->body = body;
  thread->arg = arg;
  int failed = weft__system.thread_create(&thread->native, NULL, thread_main, thread);
  return failed ? WEFT_NOMEM : WEFT_OK;
}

void weft__thread_join(weft__thread *thread)
{
  pthread_join(thread->native, NULL);
}

void weft__thread_detach(weft__thread *thread)
{
  pthread_detach(thread->native);
}
