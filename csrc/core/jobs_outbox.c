/* SPDX-License-Identifier: MIT */
/*
** jobs_outbox.c - jobs that have ended, for one who takes them in.
**
** The ended jobs are a list through their own slots, which stay theirs until they are released: nothing
** is allocated and nothing can be full. Threads put at its head; the one who takes takes the whole list
** and turns it round.
*/
#include "core/jobs.h"

#include "platform/system.h"

struct weft_outbox {
  /* The number of the last slot that was put, + 1; 0 for none. */
  _Atomic uint32_t head;
  atomic_bool closed; /* what comes is released at once */
  _Atomic uint32_t references;
  uint32_t taken; /* of the taker: the oldest of those it took out, + 1 */
  weft_pool *pool;
  void (*wake)(void *arg);
  void *arg;
};

weft_status weft_outbox_new(weft_pool *pool, void (*wake)(void *arg), void *arg,
                            weft_outbox **out)
{
  weft_outbox *outbox = weft__alloc(sizeof *outbox);
  if (!outbox) return WEFT_NOMEM;
  *outbox = (weft_outbox){.pool = pool, .wake = wake, .arg = arg};
  atomic_init(&outbox->references, 1);
  *out = outbox;
  return WEFT_OK;
}

void weft__outbox_hold(weft_outbox *outbox)
{
  atomic_fetch_add_explicit(&outbox->references, 1, memory_order_relaxed);
}

static void drop_reference(weft_outbox *outbox)
{
  /* Acquire and release: who frees it has seen all that was done with it. */
  if (atomic_fetch_sub_explicit(&outbox->references, 1, memory_order_acq_rel) == 1)
    weft__free(outbox);
}

static weft_job handle_of(const weft_outbox *outbox, uint32_t number)
{
  const weft__slot *slot = &outbox->pool->slots[number];
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  return weft__slot_handle(outbox->pool, slot, word);
}

/* Acquire: its partner is the release in weft__outbox_put. */
static uint32_t take_list(weft_outbox *outbox)
{
  uint32_t mark = atomic_exchange_explicit(&outbox->head, 0, memory_order_seq_cst);
  uint32_t oldest = 0;
  while (mark) {
    weft__slot *slot = &outbox->pool->slots[mark - 1];
    uint32_t rest = slot->next;
    slot->next = oldest;
    oldest = mark;
    mark = rest;
  }
  return oldest;
}

bool weft_outbox_take(weft_outbox *outbox, weft_job *out)
{
  if (!outbox->taken) {
    if (!atomic_load_explicit(&outbox->head, memory_order_relaxed)) return false;
    outbox->taken = take_list(outbox);
    if (!outbox->taken) return false;
  }
  uint32_t number = outbox->taken - 1;
  outbox->taken = outbox->pool->slots[number].next;
  *out = handle_of(outbox, number);
  return true;
}

static void release_all(weft_outbox *outbox)
{
  weft_job job;
  while (weft_outbox_take(outbox, &job)) weft_job_release(outbox->pool, job);
}

/* Releases what is on the list: for threads that come after it was closed, of which each takes what it
   finds, by itself. */
static void release_list(weft_pool *pool, weft_outbox *outbox)
{
  uint32_t mark = take_list(outbox);
  while (mark) {
    uint32_t rest = pool->slots[mark - 1].next;
    weft_job_release(pool, handle_of(outbox, mark - 1));
    mark = rest;
  }
}

/* Who closes says so and then empties the list; who puts puts and then looks whether it was closed:
   one of the two finds the job. */
void weft__outbox_put(weft_pool *pool, weft_outbox *outbox, weft__slot *slot)
{
  uint32_t mark = (uint32_t)(slot - pool->slots) + 1;
  uint32_t head = atomic_load_explicit(&outbox->head, memory_order_relaxed);
  do {
    slot->next = head;
  } while (!atomic_compare_exchange_weak_explicit(&outbox->head, &head, mark,
                                                  memory_order_seq_cst, memory_order_relaxed));
  if (atomic_load_explicit(&outbox->closed, memory_order_seq_cst)) {
    release_list(pool, outbox);
  } else if (!head && outbox->wake) {
    outbox->wake(outbox->arg);
  }
  drop_reference(outbox);
}

void weft_outbox_delete(weft_outbox *outbox)
{
  if (!outbox) return;
  atomic_store_explicit(&outbox->closed, true, memory_order_seq_cst);
  if (!weft__pool_is_gone(outbox->pool)) release_all(outbox);
  drop_reference(outbox);
}
