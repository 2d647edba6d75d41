/* SPDX-License-Identifier: MIT */
/*
** posts.h - calls posted to a world from any thread, two priorities, oldest first.
**
** A queue under a mutex: a post is rare next to a resume, and a lock that is held for a few
** instructions beats clever code that has to be proved. Knows nothing of worlds.
*/
#ifndef WEFT_POSTS_H
#define WEFT_POSTS_H

#include <stdatomic.h>

#include "base/base.h"
#include "platform/platform.h"

#define WEFT_MAX_POSTS (UINT32_C(1) << 20)

typedef struct weft__post {
  void (*fn)(void *arg);
  void (*drop)(void *arg); /* in its place, when it will never run; or NULL */
  void *arg;
} weft__post;

typedef struct weft__post_queue {
  weft__post *items;
  uint32_t head, count, size; /* size is 0 or a power of two */
  uint32_t reserved;          /* of the places that are free: for posts to come */
} weft__post_queue;

typedef struct weft__posts {
  weft__mutex lock;
  weft__post_queue queues[2]; /* by weft_priority */
  atomic_uint waiting;        /* relaxed: a hint that saves the lock when nothing waits */
  bool closed;
} weft__posts;

weft_status weft__posts_init(weft__posts *posts);
void weft__posts_fini(weft__posts *posts);

/* Any thread. WEFT_FULL, WEFT_NOMEM, WEFT_CLOSED. */
weft_status weft__posts_add(weft__posts *posts, weft__post post, weft_priority priority);

/* Keeps a place for a post to come, so that adding it cannot fail but by WEFT_CLOSED. WEFT_FULL,
   WEFT_NOMEM, WEFT_CLOSED. */
weft_status weft__posts_reserve(weft__posts *posts, weft_priority priority);
weft_status weft__posts_add_reserved(weft__posts *posts, weft__post post,
                                     weft_priority priority);
void weft__posts_unreserve(weft__posts *posts, weft_priority priority);

/* From here on every add is refused; what waits can still be taken. */
void weft__posts_close(weft__posts *posts);
bool weft__posts_closed(weft__posts *posts);

/* How many wait, by priority. */
void weft__posts_count(weft__posts *posts, uint32_t counts[2]);

/* Takes the oldest ones of a priority, at most `count`, under one lock; how many there were. */
uint32_t weft__posts_take(weft__posts *posts, weft_priority priority, weft__post *out,
                          uint32_t count);

#endif
