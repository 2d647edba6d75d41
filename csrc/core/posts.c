/* SPDX-License-Identifier: MIT */
/*
** posts.c - the queue of posts.h.
*/
#include "core/posts.h"

#include "platform/system.h"

#define FIRST_SIZE 16

weft_status weft__posts_init(weft__posts *posts)
{
  *posts = (weft__posts){0};
  return weft__mutex_init(&posts->lock);
}

void weft__posts_fini(weft__posts *posts)
{
  for (int i = 0; i < 2; i++) weft__free(posts->queues[i].items);
  weft__mutex_fini(&posts->lock);
}

static weft_status grow(weft__post_queue *queue)
{
  if (queue->size >= WEFT_MAX_POSTS) return WEFT_FULL;
  uint32_t size = queue->size ? queue->size * 2 : FIRST_SIZE;
  weft__post *items = weft__calloc(size, sizeof *items);
  if (!items) return WEFT_NOMEM;
  for (uint32_t i = 0; i < queue->count; i++)
    items[i] = queue->items[(queue->head + i) & (queue->size - 1)];
  weft__free(queue->items);
  queue->items = items;
  queue->head = 0;
  queue->size = size;
  return WEFT_OK;
}

/* Under the lock: one place that is neither taken nor reserved. */
static weft_status make_room(weft__posts *posts, weft__post_queue *queue)
{
  if (posts->closed) return WEFT_CLOSED;
  return queue->count + queue->reserved == queue->size ? grow(queue) : WEFT_OK;
}

/* Under the lock, where there is room. */
static void append(weft__posts *posts, weft__post_queue *queue, weft__post post)
{
  queue->items[(queue->head + queue->count++) & (queue->size - 1)] = post;
  atomic_fetch_add_explicit(&posts->waiting, 1, memory_order_relaxed);
}

weft_status weft__posts_add(weft__posts *posts, weft__post post, weft_priority priority)
{
  weft__post_queue *queue = &posts->queues[priority];
  weft__mutex_lock(&posts->lock);
  weft_status status = make_room(posts, queue);
  if (status == WEFT_OK) append(posts, queue, post);
  weft__mutex_unlock(&posts->lock);
  return status;
}

weft_status weft__posts_reserve(weft__posts *posts, weft_priority priority)
{
  weft__post_queue *queue = &posts->queues[priority];
  weft__mutex_lock(&posts->lock);
  weft_status status = make_room(posts, queue);
  if (status == WEFT_OK) queue->reserved++;
  weft__mutex_unlock(&posts->lock);
  return status;
}

weft_status weft__posts_add_reserved(weft__posts *posts, weft__post post,
                                     weft_priority priority)
{
  weft__post_queue *queue = &posts->queues[priority];
  weft__mutex_lock(&posts->lock);
  WEFT_CHECK(queue->reserved > 0);
  queue->reserved--;
  weft_status status = posts->closed ? WEFT_CLOSED : WEFT_OK;
  if (status == WEFT_OK) append(posts, queue, post);
  weft__mutex_unlock(&posts->lock);
  return status;
}

void weft__posts_unreserve(weft__posts *posts, weft_priority priority)
{
  weft__mutex_lock(&posts->lock);
  WEFT_CHECK(posts->queues[priority].reserved > 0);
  posts->queues[priority].reserved--;
  weft__mutex_unlock(&posts->lock);
}

void weft__posts_close(weft__posts *posts)
{
  weft__mutex_lock(&posts->lock);
  posts->closed = true;
  weft__mutex_unlock(&posts->lock);
}

bool weft__posts_closed(weft__posts *posts)
{
  weft__mutex_lock(&posts->lock);
  bool closed = posts->closed;
  weft__mutex_unlock(&posts->lock);
  return closed;
}

void weft__posts_count(weft__posts *posts, uint32_t counts[2])
{
  counts[0] = counts[1] = 0;
  /* Missing one that is being posted this very moment is no loss: the next tick sees it. */
  if (atomic_load_explicit(&posts->waiting, memory_order_relaxed) == 0) return;
  weft__mutex_lock(&posts->lock);
  for (int i = 0; i < 2; i++) counts[i] = posts->queues[i].count;
  weft__mutex_unlock(&posts->lock);
}

uint32_t weft__posts_take(weft__posts *posts, weft_priority priority, weft__post *out,
                          uint32_t count)
{
  weft__post_queue *queue = &posts->queues[priority];
  weft__mutex_lock(&posts->lock);
  if (count > queue->count) count = queue->count;
  for (uint32_t i = 0; i < count; i++) {
    out[i] = queue->items[queue->head];
    queue->head = (queue->head + 1) & (queue->size - 1);
  }
  queue->count -= count;
  atomic_fetch_sub_explicit(&posts->waiting, count, memory_order_relaxed);
  weft__mutex_unlock(&posts->lock);
  return count;
}
