/* SPDX-License-Identifier: MIT */
/*
** jobs_stock.c - which slots are free.
**
** A thread keeps a few free slots, in magazines of MAGAZINE numbers, and exchanges whole magazines with
** the others through one queue, oldest first (Bonwick and Adams, Magazines and Vmem, USENIX 2001). Slots
** of jobs without a handle go round in the thread's own stock, newest first, for they are in its cache;
** slots of jobs with one always go through the queue, so that what has ended can be asked for as long as
** possible. Magazines are lists of numbers and not chains through the slots, so that the next few can be
** fetched ahead.
**
** There are more slots than the capacity says: as many as the seats can hold back. When the queue has
** run so low that the pool may be full, the jobs are counted.
*/
#include "core/jobs_hot.h"

#include "platform/system.h"

/* --- Whether there is room ----------------------------------------------------------------- */

/* Those that have been submitted and have not ended, and those that have ended and are not free. */
uint64_t weft__pool_used(const weft_pool *pool)
{
  uint64_t gone = 0, come = 0;
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    const weft__tally *tally = &pool->seats[i].tally;
    gone +=
        weft__tally_ended(tally) + atomic_load_explicit(&tally->freed, memory_order_acquire);
  }
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    const weft__tally *tally = &pool->seats[i].tally;
    come += atomic_load_explicit(&tally->submitted, memory_order_relaxed) +
            atomic_load_explicit(&tally->lingered, memory_order_relaxed);
  }
  return come - gone;
}

/* Whether so few magazines are left that the jobs, with what the seats hold back, may be too many. */
static bool is_tight(const weft_pool *pool)
{
  uint64_t free = (uint64_t)weft__inbox_count(&pool->full) * MAGAZINE;
  return free + pool->capacity < pool->slot_count;
}

static bool is_full(weft_pool *pool, weft__seat *seat)
{
  if (weft__pool_used(pool) >= pool->capacity) return true;
  seat->tight = is_tight(pool);
  return false;
}

/* --- Magazines ----------------------------------------------------------------------------- */

static uint32_t number_of(const weft_pool *pool, const weft__stock *stock)
{
  return (uint32_t)(stock->slots - pool->magazines) / MAGAZINE;
}

/* Each has room for all magazines. */
static void put(weft__inbox *inbox, uint32_t magazine)
{
  weft__inbox_must_put(inbox, magazine);
}

/* Puts an empty magazine away and takes the full one that was not used for longest. False if there is
   none or the pool is full; the stock is as it was. */
static bool refill(weft_pool *pool, weft__seat *seat, weft__stock *stock)
{
  uint32_t magazine;
  if (!weft__inbox_take(&pool->full, &magazine)) return false;
  seat->tight = is_tight(pool);
  if (seat->tight && is_full(pool, seat)) {
    put(&pool->full, magazine);
    return false;
  }
  put(&pool->empty, number_of(pool, stock));
  *stock = (weft__stock){pool->magazines + (size_t)magazine * MAGAZINE, MAGAZINE};
  return true;
}

/* Puts a full magazine away and takes an empty one. There are as many more of them than the seats hold
   as can be on their way. */
static void unload(weft_pool *pool, weft__stock *stock)
{
  uint32_t magazine;
  bool found = weft__inbox_take(&pool->empty, &magazine);
  WEFT_CHECK(found);
  put(&pool->full, number_of(pool, stock));
  *stock = (weft__stock){pool->magazines + (size_t)magazine * MAGAZINE, 0};
}

static void swap(weft__stock *a, weft__stock *b)
{
  weft__stock kept = *a;
  *a = *b;
  *b = kept;
}

static weft__slot *pop(const weft_pool *pool, weft__stock *stock)
{
  return stock->count ? &pool->slots[stock->slots[--stock->count]] : NULL;
}

static void push(const weft_pool *pool, weft__stock *stock, const weft__slot *slot)
{
  stock->slots[stock->count++] = weft__slot_number(pool, slot);
}

/* --- Taking and giving --------------------------------------------------------------------- */

static weft__slot *take_hot(weft_pool *pool, weft__seat *seat)
{
  if (!seat->hot.count) {
    if (seat->spare.count) {
      swap(&seat->hot, &seat->spare);
    } else if (!refill(pool, seat, &seat->hot)) {
      return NULL;
    }
  }
  return pop(pool, &seat->hot);
}

static weft__slot *take_cold(weft_pool *pool, weft__seat *seat)
{
  if (!seat->cold.count && !refill(pool, seat, &seat->cold)) return NULL;
  return pop(pool, &seat->cold);
}

static weft__slot *take(weft_pool *pool, weft__seat *seat, bool handle)
{
  if (WEFT_UNLIKELY(seat->tight) && is_full(pool, seat)) return NULL;
  weft__slot *slot = handle ? take_cold(pool, seat) : take_hot(pool, seat);
  if (WEFT_LIKELY(slot != NULL)) return slot;
  slot = handle ? take_hot(pool, seat) : take_cold(pool, seat);
  return slot ? slot : pop(pool, &seat->given);
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

static void give(weft_pool *pool, weft__seat *seat, weft__slot *slot, bool handle)
{
  if (handle) {
    push(pool, &seat->given, slot);
    if (seat->given.count == MAGAZINE) unload(pool, &seat->given);
    return;
  }
  if (seat->hot.count == MAGAZINE) {
    if (seat->spare.count) unload(pool, &seat->spare);
    swap(&seat->hot, &seat->spare);
  }
  push(pool, &seat->hot, slot);
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

/* --- At the beginning ---------------------------------------------------------------------- */

static void load_magazines(weft_pool *pool)
{
  for (uint32_t i = 0; i < pool->slot_count; i++) {
    pool->magazines[i] = i;
    if (i % MAGAZINE == 0) put(&pool->full, i / MAGAZINE);
  }
}

weft_status weft__stocks_init(weft_pool *pool)
{
  uint32_t full = pool->slot_count / MAGAZINE;
  uint32_t magazines = full + pool->seat_count * (STOCKS + 1);
  pool->magazines = weft__calloc_lines(magazines, MAGAZINE * sizeof *pool->magazines);
  if (!pool->magazines || weft__inbox_init(&pool->full, magazines) ||
      weft__inbox_init(&pool->empty, magazines))
    return WEFT_NOMEM;
  load_magazines(pool);
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    weft__seat *seat = &pool->seats[i];
    weft__stock *stocks[STOCKS] = {&seat->hot, &seat->spare, &seat->cold, &seat->given};
    for (uint32_t j = 0; j < STOCKS; j++) {
      stocks[j]->slots = pool->magazines + (size_t)full++ * MAGAZINE;
    }
  }
  while (full < magazines) put(&pool->empty, full++);
  return WEFT_OK;
}

void weft__stocks_fini(weft_pool *pool)
{
  weft__inbox_fini(&pool->full);
  weft__inbox_fini(&pool->empty);
  weft__free_lines(pool->magazines);
}

/* --- Checking ------------------------------------------------------------------------------ */

/* Counts free slots, each of which must not have been met before. */
static bool walk(const weft_pool *pool, const uint32_t *slots, uint32_t count,
                 unsigned char *met, uint32_t *sum)
{
  for (uint32_t i = 0; i < count; i++) {
    if (slots[i] >= pool->slot_count || met[slots[i]]++) return false;
  }
  *sum += count;
  return count <= MAGAZINE;
}

static bool walk_full(weft_pool *pool, unsigned char *met, uint32_t *sum)
{
  if (!weft__inbox_valid(&pool->full) || !weft__inbox_valid(&pool->empty)) return false;
  for (uint32_t left = weft__inbox_count(&pool->full); left; left--) {
    uint32_t magazine;
    if (!weft__inbox_take(&pool->full, &magazine)) return false;
    put(&pool->full, magazine);
    if (!walk(pool, pool->magazines + (size_t)magazine * MAGAZINE, MAGAZINE, met, sum))
      return false;
  }
  return true;
}

bool weft__stocks_valid(weft_pool *pool)
{
  uint32_t sum = 0;
  unsigned char *met = weft__calloc(pool->slot_count, 1);
  if (!met) return false;
  bool sound = walk_full(pool, met, &sum);
  for (uint32_t i = 0; sound && i < pool->seat_count; i++) {
    const weft__seat *seat = &pool->seats[i];
    sound = walk(pool, seat->hot.slots, seat->hot.count, met, &sum) &&
            walk(pool, seat->spare.slots, seat->spare.count, met, &sum) &&
            walk(pool, seat->cold.slots, seat->cold.count, met, &sum) &&
            walk(pool, seat->given.slots, seat->given.count, met, &sum);
  }
  weft__free(met);
  return sound && sum + weft__pool_used(pool) == pool->slot_count;
}
