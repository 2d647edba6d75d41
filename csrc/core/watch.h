/* SPDX-License-Identifier: MIT */
/*
** watch.h - watches a counter of resumes from a thread of its own, and has the other one interrupted
** when a resume takes too long. What is watched costs nothing: the watch reads no clock per resume.
**
** A leaf: it knows a counter, a flag and a thread, neither the scheduler nor who is running. Times are
** as exact as the looks are close: a quarter of the limit.
*/
#ifndef WEFT_WATCH_H
#define WEFT_WATCH_H

#include <stdatomic.h>

#include "base/base.h"
#include "platform/platform.h"

/* What a look saw. */
typedef enum weft__seen {
  WEFT_SEEN_NOTHING,
  WEFT_SEEN_SLOW, /* over the first limit */
  WEFT_SEEN_OVER, /* over the second */
} weft__seen;

/* What the looks know of each other. */
typedef struct weft__looks {
  uint64_t number; /* of the resume seen last */
  int64_t since;   /* when it was seen first, in ns */
  bool running;    /* it was, still */
} weft__looks;

/* Takes a look at `now`: `number` resumes have begun, the last of them is `running` or has ended. A
   limit of 0 is none. */
weft__seen weft__look(weft__looks *looks, int64_t now, uint64_t number, bool running,
                      int64_t slow, int64_t over);

typedef struct weft__watch weft__watch;

/* What is watched; read without any order, by the thread of the watch. */
typedef struct weft__watched {
  const uint64_t *number;
  void *const *running;
  /* Set before weft__watch_stir: something may run at any moment. */
  const bool *busy;
  int64_t slow, over; /* ns; 0: none */
  /* Called by the watch's thread at each look that finds something running: it stands for so many ns. */
  void (*sample)(void *context, const void *running, int64_t ns);
  void *context;
} weft__watched;

/* Starts to watch the calling thread. `fn` is called on it, in a signal handler, at each look that sees
   too long a resume: one function for the process. WEFT_NOMEM, WEFT_INVALID. */
weft_status weft__watch_start(weft__watched watched, void (*fn)(void), weft__watch **out);
void weft__watch_stop(weft__watch *watch); /* NULL is allowed */

/* To be called by the watched thread when it is about to do something, and `busy` has been set: a watch
   that has long seen nothing sleeps until then. */
static inline void weft__watch_stir(weft__watch *watch);

/* What the last look saw: of which resume, and since when it had run. For the watched thread, and for
   the signal handler on it. */
weft__seen weft__watch_seen(const weft__watch *watch, uint64_t *number, int64_t *since);

/* --- Inlined ------------------------------------------------------------------------------- */

/* What both threads touch without the lock. */
typedef struct weft__watch_shared {
  atomic_uint_least64_t stirs; /* how often it was stirred */
  atomic_bool asleep;
} weft__watch_shared;

void weft__watch_wake(weft__watch *watch);

static inline void weft__watch_stir(weft__watch *watch)
{
  weft__watch_shared *shared = (weft__watch_shared *)(void *)watch; /* it stands first */
  /* Sequentially consistent, all four: who stirs counts and then asks whether the watch sleeps; that
     says that it sleeps and then looks at the count. One of them sees the other. */
  atomic_fetch_add(&shared->stirs, 1);
  if (atomic_load(&shared->asleep)) weft__watch_wake(watch);
}

#endif
