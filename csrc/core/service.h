/* SPDX-License-Identifier: MIT */
/*
** service.h - services from inside: an inbox under a mutex, and a thread that sleeps on it.
**
** A letter is rare next to a resume or a job, and costs a wake of the kernel's whenever the thread
** sleeps: a lock that is held for a few instructions beats clever code that has to be proved. No hook
** is called under it. Knows nothing of worlds, jobs and fibers.
*/
#ifndef WEFT_CORE_SERVICE_H
#define WEFT_CORE_SERVICE_H

#include <stdatomic.h>

#include "base/base.h"
#include "platform/platform.h"
#include "weft/service.h"

/* A place of an inbox. Links are numbers of places, which count from 1; 0 is none. */
typedef struct weft__envelope {
  weft_letter letter;
  uint32_t next, prev; /* of the queue; `next` also of the free ones */
} weft__envelope;

typedef enum weft__sleep {
  WEFT_AWAKE,
  WEFT_ASLEEP_FOR_LETTERS,
  WEFT_ASLEEP_FOR_STOP,
} weft__sleep;

struct weft_service {
  weft_service_config config;
  char name[16];
  weft__thread thread;
  weft_service *next, *prev; /* of all, under their own lock */
  _Atomic uint32_t references;
  atomic_bool stopping; /* set under the lock */
  /* Set in a child of a fork, before anything else runs there. From then on the lock, which may be held
     for ever, is not touched. */
  bool gone;

  weft__mutex lock;
  weft__cond wake; /* its own thread */
  weft__cond over; /* who joins it: it has ended, is gone, or was told to stop */
  weft__sleep sleep;
  bool ended;
  bool reaped; /* somebody joins the thread, or has */
  bool joined; /* it is gone */
  weft_status status;
  int64_t drained; /* once it is stopping: when what waits is dropped */
  weft__envelope *places;
  uint32_t size, free, first, last;
  weft_call *open; /* those that were received and not answered */
  weft_service_stats stats;
};

/* --- service.c --- */
/* Drops what waits in the inbox; its calls end with `status`. Not under the lock. */
void weft__service_drop_queued(weft_service *service, weft_status status);

/* --- service_letters.c --- */
weft_status weft__service_open_inbox(weft_service *service, uint32_t size);
/* Under the lock: takes the oldest out; false if there is none. */
bool weft__service_take(weft_service *service, weft_letter *out);
/* Ends all calls that were received. Not under the lock. */
void weft__service_fail_open(weft_service *service, weft_status status);

/* --- service_calls.c --- */
void weft__call_begin(weft_call *call, weft_service *service);
void weft__call_end(weft_call *call, weft_status status, const void *data, size_t size);

/* When that timeout is over, by `weft__clock_ns`; INT64_MAX for never. */
static inline int64_t weft__service_deadline(int64_t timeout)
{
  if (timeout < 0) return INT64_MAX;
  int64_t now = weft__clock_ns();
  return timeout < INT64_MAX - now ? now + timeout : INT64_MAX;
}

/* Debug walker, under the lock. */
bool weft__service_valid(const weft_service *service);

#endif
