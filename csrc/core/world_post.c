/* SPDX-License-Identifier: MIT */
/*
** world_post.c - posters: how other threads reach a world. A poster outlives its world, so that
** whoever holds one may post at any time, also while the world goes.
*/
#include "core/world.h"
#include "platform/system.h"

struct weft_poster {
  weft__posts posts;
  weft__cond sent; /* with the lock of the posts: some `weft_poster_send` is over */
  atomic_uint references;
  uint64_t thread; /* of the world */
};

/* --- Life ---------------------------------------------------------------------------------- */

weft_status weft__poster_new(weft_poster **out)
{
  weft_poster *poster = weft__calloc(1, sizeof *poster);
  if (!poster) return WEFT_NOMEM;
  weft_status status = weft__posts_init(&poster->posts);
  if (status) goto free_poster;
  if ((status = weft__cond_init(&poster->sent))) goto fini_posts;
  atomic_init(&poster->references, 1);
  poster->thread = weft__thread_id();
  *out = poster;
  return WEFT_OK;

fini_posts:
  weft__posts_fini(&poster->posts);
free_poster:
  weft__free(poster);
  return status;
}

weft_poster *weft_poster_retain(weft_poster *poster)
{
  /* Relaxed: who calls has a reference, which keeps the poster as it is. */
  atomic_fetch_add_explicit(&poster->references, 1, memory_order_relaxed);
  return poster;
}

void weft_poster_release(weft_poster *poster)
{
  if (!poster) return;
  /* Release, for what this thread did with it; acquire, in the last one, for what others did. */
  if (atomic_fetch_sub_explicit(&poster->references, 1, memory_order_acq_rel) > 1) return;
  weft__cond_fini(&poster->sent);
  weft__posts_fini(&poster->posts);
  weft__free(poster);
}

weft_poster *weft_world_poster(weft_world *world)
{
  return weft_poster_retain(world->poster);
}

void weft__poster_close(weft_poster *poster)
{
  weft__post post;
  weft__posts_close(&poster->posts);
  for (int priority = WEFT_HIGH; priority <= WEFT_NORMAL; priority++)
    while (weft__posts_take(&poster->posts, (weft_priority)priority, &post, 1) > 0)
      if (post.drop) post.drop(post.arg);
  weft_poster_release(poster);
}

/* --- Posting ------------------------------------------------------------------------------- */

static bool is_priority(weft_priority priority)
{
  return priority == WEFT_HIGH || priority == WEFT_NORMAL;
}

weft_status weft_poster_post(weft_poster *poster, void (*fn)(void *arg),
                             void (*drop)(void *arg), void *arg, weft_priority priority)
{
  if (!fn || !is_priority(priority)) return WEFT_INVALID;
  return weft__posts_add(&poster->posts, (weft__post){fn, drop, arg}, priority);
}

weft_status weft_poster_reserve(weft_poster *poster, weft_priority priority)
{
  return is_priority(priority) ? weft__posts_reserve(&poster->posts, priority) : WEFT_INVALID;
}

weft_status weft_poster_post_reserved(weft_poster *poster, void (*fn)(void *arg),
                                      void (*drop)(void *arg), void *arg,
                                      weft_priority priority)
{
  if (!fn || !is_priority(priority)) return WEFT_INVALID;
  return weft__posts_add_reserved(&poster->posts, (weft__post){fn, drop, arg}, priority);
}

void weft_poster_unreserve(weft_poster *poster, weft_priority priority)
{
  weft__posts_unreserve(&poster->posts, priority);
}

weft_status weft_world_post(weft_world *world, void (*fn)(void *arg), void *arg,
                            weft_priority priority)
{
  return weft_poster_post(world->poster, fn, NULL, arg, priority);
}

/* --- Sending ------------------------------------------------------------------------------- */

/* On the stack of whoever waits for it. */
typedef struct sending {
  weft_poster *poster;
  void (*fn)(void *arg);
  void *arg;
  bool over; /* under the lock of the posts, as is the status */
  weft_status status;
} sending;

/* The sender may be gone, and the sending with it, once the lock is free. */
static void finish(sending *sent, weft_status status)
{
  weft_poster *poster = sent->poster;
  weft__mutex_lock(&poster->posts.lock);
  sent->status = status;
  sent->over = true;
  weft__cond_signal_all(&poster->sent);
  weft__mutex_unlock(&poster->posts.lock);
}

static void run_sent(void *arg)
{
  sending *sent = arg;
  sent->fn(sent->arg);
  finish(sent, WEFT_OK);
}

static void drop_sent(void *arg)
{
  finish(arg, WEFT_CLOSED);
}

weft_status weft_poster_send(weft_poster *poster, void (*fn)(void *arg), void *arg,
                             weft_priority priority)
{
  sending sent = {.poster = poster, .fn = fn, .arg = arg};
  if (!fn || !is_priority(priority)) return WEFT_INVALID;
  if (poster->thread == weft__thread_id()) {
    if (weft__posts_closed(&poster->posts)) return WEFT_CLOSED;
    fn(arg);
    return WEFT_OK;
  }
  weft_status status =
      weft__posts_add(&poster->posts, (weft__post){run_sent, drop_sent, &sent}, priority);
  if (status) return status;
  weft__mutex_lock(&poster->posts.lock);
  while (!sent.over) weft__cond_wait(&poster->sent, &poster->posts.lock);
  weft__mutex_unlock(&poster->posts.lock);
  return sent.status;
}

weft_status weft_world_send(weft_world *world, void (*fn)(void *arg), void *arg,
                            weft_priority priority)
{
  /* The world may be gone before the answer comes. */
  weft_poster *poster = weft_poster_retain(world->poster);
  weft_status status = weft_poster_send(poster, fn, arg, priority);
  weft_poster_release(poster);
  return status;
}

/* --- Running ------------------------------------------------------------------------------- */

void weft__poster_count(weft_poster *poster, uint32_t counts[2])
{
  weft__posts_count(&poster->posts, counts);
}

/* So many are taken at once: who posts meanwhile finds the lock free. */
#define BATCH 32

/* High priority first; what is posted meanwhile waits for the next tick. */
void weft__run_posts(weft_world *world)
{
  weft__posts *posts = &world->poster->posts;
  uint32_t left[2], budget = world->config.posts_per_tick;
  weft__post batch[BATCH];
  weft__posts_count(posts, left);
  for (int priority = WEFT_HIGH; priority <= WEFT_NORMAL; priority++) {
    uint32_t due = left[priority] < budget ? left[priority] : budget;
    budget -= due;
    while (due > 0) {
      uint32_t wanted = due < BATCH ? due : BATCH;
      uint32_t count = weft__posts_take(posts, (weft_priority)priority, batch, wanted);
      for (uint32_t i = 0; i < count; i++) batch[i].fn(batch[i].arg);
      due -= count;
    }
  }
}
