/* SPDX-License-Identifier: MIT */
/*
** jobs_slots.c - which slots are free, and what a handle means.
**
** A thread keeps a few free slots and exchanges them with others in chains of SLOT_CHAIN, through one
** queue that gives those out first that came first. Slots of jobs without a handle go round in the
** thread's own stock, newest first, for they are in its cache; slots of jobs with one always go through
** the queue, so that what has ended can be asked for as long as possible.
**
** There are more slots than the capacity says: as many as the seats can hold back. When the queue has
** run so low that the pool may be full, the jobs are counted.
*/
#include "core/jobs.h"

#include <string.h>

static uint32_t number_of(const weft_pool *pool, const weft__slot *slot)
{
  return (uint32_t)(slot - pool->slots);
}

uint32_t weft__slot_chains_free(const weft_pool *pool)
{
  return weft__inbox_count(&pool->chains);
}

uint64_t weft__pool_used(const weft_pool *pool)
{
  uint64_t taken = 0, freed = 0;
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    freed += atomic_load_explicit(&pool->seats[i].tally.freed, memory_order_acquire);
  }
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    taken += atomic_load_explicit(&pool->seats[i].tally.taken, memory_order_relaxed);
  }
  return taken - freed;
}

/* Whether so few chains are left that the jobs, with what the seats hold back, may be too many. */
static bool is_tight(const weft_pool *pool)
{
  uint64_t free = (uint64_t)weft__slot_chains_free(pool) * SLOT_CHAIN;
  return free + pool->capacity < pool->slot_count;
}

static bool is_full(weft_pool *pool, weft__seat *seat)
{
  if (weft__pool_used(pool) >= pool->capacity) return true;
  seat->tight = is_tight(pool);
  return false;
}

/* --- Stocks -------------------------------------------------------------------------------- */

static uint32_t pop(const weft_pool *pool, uint32_t *list)
{
  uint32_t number = *list;
  if (number != SLOT_NONE) *list = pool->slots[number].next;
  return number;
}

static uint32_t take_hot(const weft_pool *pool, weft__seat *seat)
{
  if (seat->hot == SLOT_NONE) {
    if (seat->spare == SLOT_NONE) return SLOT_NONE;
    seat->hot = seat->spare;
    seat->hot_count = SLOT_CHAIN;
    seat->spare = SLOT_NONE;
  }
  seat->hot_count--;
  return pop(pool, &seat->hot);
}

static uint32_t take_cold(weft_pool *pool, weft__seat *seat)
{
  if (seat->take == SLOT_NONE) {
    uint32_t chain;
    if (!weft__inbox_take(&pool->chains, &chain)) return SLOT_NONE;
    seat->take = chain;
    seat->tight = is_tight(pool);
    if (seat->tight && is_full(pool, seat)) return SLOT_NONE;
  }
  return pop(pool, &seat->take);
}

static uint32_t take_given(const weft_pool *pool, weft__seat *seat)
{
  if (seat->give == SLOT_NONE) return SLOT_NONE;
  seat->give_count--;
  return pop(pool, &seat->give);
}

static weft__slot *take(weft_pool *pool, weft__seat *seat, bool handle)
{
  if (WEFT_UNLIKELY(seat->tight) && is_full(pool, seat)) return NULL;
  uint32_t number = handle ? take_cold(pool, seat) : take_hot(pool, seat);
  if (WEFT_UNLIKELY(number == SLOT_NONE)) {
    number = handle ? take_hot(pool, seat) : take_cold(pool, seat);
    if (number == SLOT_NONE) number = take_given(pool, seat);
    if (number == SLOT_NONE) return NULL;
  }
  uint64_t taken = atomic_load_explicit(&seat->tally.taken, memory_order_relaxed);
  atomic_store_explicit(&seat->tally.taken, taken + 1, memory_order_relaxed);
  return &pool->slots[number];
}

static void give_hot(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  if (seat->hot_count == SLOT_CHAIN) {
    if (seat->spare != SLOT_NONE) {
      bool put = weft__inbox_put(&pool->chains, seat->spare);
      WEFT_CHECK(put);
    }
    seat->spare = seat->hot;
    seat->hot = SLOT_NONE;
    seat->hot_count = 0;
  }
  slot->next = seat->hot;
  seat->hot = number_of(pool, slot);
  seat->hot_count++;
}

static void give_cold(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  slot->next = seat->give;
  seat->give = number_of(pool, slot);
  if (++seat->give_count < SLOT_CHAIN) return;
  bool put = weft__inbox_put(&pool->chains, seat->give);
  WEFT_CHECK(put);
  seat->give = SLOT_NONE;
  seat->give_count = 0;
}

static void give(weft_pool *pool, weft__seat *seat, weft__slot *slot, bool handle)
{
  if (handle) {
    give_cold(pool, seat, slot);
  } else {
    give_hot(pool, seat, slot);
  }
  uint64_t freed = atomic_load_explicit(&seat->tally.freed, memory_order_relaxed);
  atomic_store_explicit(&seat->tally.freed, freed + 1, memory_order_release);
}

static WEFT_COLD weft__slot *take_after_sweep(weft_pool *pool, weft__seat *seat, bool handle)
{
  if (!atomic_load_explicit(&pool->strays, memory_order_relaxed)) return NULL;
  weft__pool_sweep(pool, seat);
  return take(pool, seat, handle);
}

weft__slot *weft__slot_take(weft_pool *pool, weft__seat *seat, bool handle)
{
  if (WEFT_LIKELY(seat != NULL)) {
    weft__slot *free = take(pool, seat, handle);
    return WEFT_LIKELY(free != NULL) ? free : take_after_sweep(pool, seat, handle);
  }
  weft__mutex_lock(&pool->crowd);
  weft__slot *slot = take(pool, &pool->seats[pool->seat_count - 1], handle);
  weft__mutex_unlock(&pool->crowd);
  return slot;
}

void weft__slot_give(weft_pool *pool, weft__seat *seat, weft__slot *slot, bool handle)
{
  if (WEFT_LIKELY(seat != NULL)) {
    give(pool, seat, slot, handle);
    return;
  }
  weft__mutex_lock(&pool->crowd);
  give(pool, &pool->seats[pool->seat_count - 1], slot, handle);
  weft__mutex_unlock(&pool->crowd);
}

uint64_t weft__slot_open(weft__slot *slot, uint64_t flags, bool handle)
{
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  if (!handle && (word & SLOT_STATE) == STATE_FREE) return word;
  uint64_t version = (word >> SLOT_VERSION_SHIFT) + 1;
  if (!(uint32_t)version) version = 1; /* 0 is no handle */
  word = version << SLOT_VERSION_SHIFT | (handle ? STATE_QUEUED | SLOT_ENTRY | flags : 0);
  atomic_store_explicit(&slot->word, word, memory_order_relaxed);
  /* Who still reads the last job's result sees the new word if it sees anything of the new job. */
  atomic_thread_fence(memory_order_release);
  return word;
}

/* --- Handles ------------------------------------------------------------------------------- */

weft__slot *weft__slot_at(const weft_pool *pool, weft_job job)
{
  uint32_t number = (uint32_t)job;
  return number < pool->slot_count ? &pool->slots[number] : NULL;
}

static bool is_free(uint64_t word)
{
  return (word & SLOT_STATE) >= STATE_COMPLETED && !(word & (SLOT_ENTRIES | SLOT_KEPT));
}

void weft__slot_forget(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  /* Acquire and release: whoever frees the slot has seen all that was done with it. */
  uint64_t old = atomic_fetch_sub_explicit(&slot->word, SLOT_ENTRY, memory_order_acq_rel);
  WEFT_ASSERT(old & SLOT_ENTRIES);
  if (is_free(old - SLOT_ENTRY)) weft__slot_give(pool, seat, slot, true);
}

bool weft__slot_is_stray(const weft__slot *slot)
{
  if (weft__slot_traits(slot) & TRAIT_GROUP) return false;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  return (word & SLOT_STATE) != STATE_QUEUED;
}

bool weft__slot_claim(weft__slot *slot, weft_job job, bool entry)
{
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  do {
    if ((word & SLOT_STATE) != STATE_QUEUED) return false;
    if (job && !weft__slot_is(slot, word, job)) return false;
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
  weft__slot *slot = weft__slot_at(pool, job);
  if (!slot) return WEFT_JOB_EXPIRED;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
  return weft__slot_is(slot, word, job) ? told[word & SLOT_STATE] : WEFT_JOB_EXPIRED;
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
  weft__slot *slot = weft__slot_at(pool, job);
  if (!slot) return WEFT_EXPIRED;
  /* Acquire: its partner is the end of the job. */
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
  if (!weft__slot_is(slot, word, job) || !(word & SLOT_STATE)) return WEFT_EXPIRED;
  if ((word & SLOT_STATE) < STATE_COMPLETED) return WEFT_PENDING;
  unsigned char bytes[WEFT_JOB_BYTES];
  weft_status status = read_result(slot, bytes, size);
  /* Partner: the fence in weft__slot_open. */
  atomic_thread_fence(memory_order_acquire);
  uint64_t after = atomic_load_explicit(&slot->word, memory_order_relaxed);
  if (!weft__slot_is(slot, after, job) || !(after & SLOT_STATE)) return WEFT_EXPIRED;
  if (size) memcpy(data, bytes, size);
  return status;
}

void weft_job_release(weft_pool *pool, weft_job job)
{
  weft__slot *slot = weft__slot_at(pool, job);
  if (!slot) return;
  weft__seat *seat = weft__seat_here(pool);
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  do {
    if (!weft__slot_is(slot, word, job) || !(word & SLOT_KEPT)) return;
  } while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, word & ~SLOT_KEPT,
                                                  memory_order_acq_rel, memory_order_relaxed));
  if (is_free(word & ~SLOT_KEPT)) weft__slot_give(pool, seat, slot, true);
}
