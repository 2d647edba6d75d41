/* SPDX-License-Identifier: MIT */
/*
** jobs_slots.c - what a handle means, and what becomes of a slot whose job has ended.
*/
#include "core/jobs.h"

#include <string.h>

static uint64_t open_as(weft__slot *slot, uint64_t flags)
{
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  uint64_t version = (word >> SLOT_VERSION_SHIFT) + 1;
  if (!(uint32_t)version) version = 1; /* 0 is no handle */
  word = version << SLOT_VERSION_SHIFT | flags;
  atomic_store_explicit(&slot->word, word, memory_order_relaxed);
  /* Who still reads the last job's result sees the new word if it sees anything of the new job. */
  atomic_thread_fence(memory_order_release);
  return word;
}

uint64_t weft__slot_open(weft__slot *slot, uint64_t flags)
{
  return open_as(slot, STATE_QUEUED | SLOT_ENTRY | flags);
}

void weft__slot_void(weft__slot *slot)
{
  (void)open_as(slot, STATE_FREE);
}

/* --- Handles ------------------------------------------------------------------------------- */

weft__slot *weft__slot_at(const weft_pool *pool, weft_job job, uint64_t *key)
{
  uint32_t number = (uint32_t)job - 1;
  *key = job - pool->first_version;
  return number < pool->slot_count && *key >> SLOT_VERSION_SHIFT ? &pool->slots[number] : NULL;
}

static bool is_free(uint64_t word)
{
  return (word & SLOT_STATE) >= STATE_COMPLETED && !(word & (SLOT_ENTRIES | SLOT_KEPT));
}

static void set_free(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  weft__slot_give(pool, seat, slot, true);
  TALLY(pool, seat, freed);
}

void weft__slot_forget(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  /* Acquire and release: whoever frees the slot has seen all that was done with it. */
  uint64_t old = atomic_fetch_sub_explicit(&slot->word, SLOT_ENTRY, memory_order_acq_rel);
  WEFT_ASSERT(old & SLOT_ENTRIES);
  if (is_free(old - SLOT_ENTRY)) set_free(pool, seat, slot);
}

bool weft__slot_is_stray(const weft__slot *slot)
{
  if (weft__slot_traits(slot) & TRAIT_GROUP) return false;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  return (word & SLOT_STATE) != STATE_QUEUED;
}

bool weft__slot_claim(weft__slot *slot, uint64_t key, bool entry)
{
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  do {
    if ((word & SLOT_STATE) != STATE_QUEUED) return false;
    if (key && !weft__slot_is(word, key)) return false;
    /* Acquire: its partner is the release with which the job was queued. */
  } while (!atomic_compare_exchange_weak_explicit(
      &slot->word, &word, word - STATE_QUEUED + STATE_RUNNING - (entry ? SLOT_ENTRY : 0),
      memory_order_acquire, memory_order_relaxed));
  return true;
}

void weft__slot_mark(weft__slot *slot, uint64_t state)
{
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&slot->word, &word,
                                                (word & ~SLOT_STATE) | state,
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}

/* --- What anybody may ask ------------------------------------------------------------------ */

weft_job_state weft_job_state_of(const weft_pool *pool, weft_job job)
{
  static const weft_job_state told[] = {
      [STATE_FREE] = WEFT_JOB_EXPIRED,        [STATE_QUEUED] = WEFT_JOB_QUEUED,
      [STATE_RUNNING] = WEFT_JOB_RUNNING,     [STATE_SUSPENDED] = WEFT_JOB_SUSPENDED,
      [STATE_COMPLETED] = WEFT_JOB_COMPLETED, [STATE_FAILED] = WEFT_JOB_FAILED,
      [STATE_CANCELLED] = WEFT_JOB_CANCELLED,
  };
  uint64_t key;
  weft__slot *slot = weft__slot_at(pool, job, &key);
  if (!slot) return WEFT_JOB_EXPIRED;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
  return weft__slot_is(word, key) ? told[word & SLOT_STATE] : WEFT_JOB_EXPIRED;
}

/* Another thread may write there meanwhile: the caller finds out, and throws away what was read. */
static WEFT_RACY weft_status read_result(const weft__slot *slot, unsigned char *bytes,
                                         size_t size)
{
  for (size_t i = 0; i < size; i++) bytes[i] = slot->data[i];
  return slot->status;
}

/* The slot may be taken for another job while it is read; then its word says so afterwards. */
weft_status weft_job_result(const weft_pool *pool, weft_job job, void *data, size_t size)
{
  if (size > WEFT_JOB_BYTES || (size && !data)) return WEFT_INVALID;
  uint64_t key;
  weft__slot *slot = weft__slot_at(pool, job, &key);
  if (!slot) return WEFT_EXPIRED;
  /* Acquire: its partner is the end of the job. */
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
  if (!weft__slot_is(word, key) || !(word & SLOT_STATE)) return WEFT_EXPIRED;
  if ((word & SLOT_STATE) < STATE_COMPLETED) return WEFT_PENDING;
  unsigned char bytes[WEFT_JOB_BYTES];
  weft_status status = read_result(slot, bytes, size);
  /* Partner: the fence in open_as. */
  atomic_thread_fence(memory_order_acquire);
  uint64_t after = atomic_load_explicit(&slot->word, memory_order_relaxed);
  if (!weft__slot_is(after, key) || !(after & SLOT_STATE)) return WEFT_EXPIRED;
  if (size) memcpy(data, bytes, size);
  return status;
}

void weft_job_release(weft_pool *pool, weft_job job)
{
  uint64_t key;
  weft__slot *slot = weft__slot_at(pool, job, &key);
  if (!slot) return;
  weft__seat *seat = weft__seat_here(pool);
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  do {
    if (!weft__slot_is(word, key) || !(word & SLOT_KEPT)) return;
  } while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, word & ~SLOT_KEPT,
                                                  memory_order_acq_rel, memory_order_relaxed));
  if (is_free(word & ~SLOT_KEPT)) set_free(pool, seat, slot);
}
