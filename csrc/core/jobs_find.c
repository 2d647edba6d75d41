/* SPDX-License-Identifier: MIT */
/*
** jobs_find.c - where entries are put, and in which order they are looked for.
**
** A thread looks for critical work first, and only if there is any; then for normal work. On each level
** it looks at its own queue, newest first, then at what came from outside, then at the other seats'
** queues, oldest first. Every 61st search (Go's number: it has no factor in common with what programs
** repeat) goes the other way round, lowest level and oldest entries first, so that nothing starves.
*/
#include "core/jobs.h"

#define FAIR_EVERY 61

/* --- Putting ------------------------------------------------------------------------------- */

void weft__pool_push(weft_pool *pool, weft__seat *seat, uint32_t level, uint32_t entry)
{
  if (level == LEVEL_CRITICAL)
    atomic_fetch_add_explicit(&pool->critical, 1, memory_order_seq_cst);
  /* The inbox has room for every slot and strand. */
  if (!seat || !weft__deque_push(&seat->queues[level], entry))
    weft__inbox_must_put(&pool->inboxes[level], entry);
  weft__pool_notify(pool, level);
}

static bool took(weft_pool *pool, uint32_t level)
{
  if (level == LEVEL_CRITICAL)
    atomic_fetch_sub_explicit(&pool->critical, 1, memory_order_seq_cst);
  return true;
}

/* --- Looking ------------------------------------------------------------------------------- */

static uint32_t next_random(weft__seat *seat)
{
  uint32_t x = seat->random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return seat->random = x;
}

/* Once around all seats that were ever used, from a random one on. */
static bool steal(weft_pool *pool, weft__seat *seat, uint32_t level, uint32_t *entry)
{
  uint32_t count = atomic_load_explicit(&pool->seats_used, memory_order_acquire);
  uint32_t from = seat ? next_random(seat) % count : 0;
  bool raced;
  do {
    raced = false;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t number = from + i < count ? from + i : from + i - count;
      weft__seat *victim = &pool->seats[number];
      if (victim == seat) continue;
      if (weft__deque_steal(&victim->queues[level], entry, &raced)) {
        if (seat) TALLY(pool, seat, stolen);
        return true;
      }
    }
  } while (raced);
  return false;
}

static bool find_on(weft__seat *seat, uint32_t level, uint32_t *entry)
{
  weft_pool *pool = seat->pool;
  if (weft__deque_pop(&seat->queues[level], entry) ||
      weft__inbox_take(&pool->inboxes[level], entry) || steal(pool, seat, level, entry))
    return took(pool, level);
  return false;
}

/* The oldest of the own queue is the root of most work in a tree of jobs that wait for each other: to
   begin it early is fair, and suspends more of them at once. */
static bool can_afford_oldest(const weft_pool *pool)
{
  return atomic_load_explicit(&pool->suspended, memory_order_relaxed) < pool->fibers / 4;
}

static bool find_own_oldest(weft__seat *seat, uint32_t level, uint32_t *entry)
{
  weft__deque *queue = &seat->queues[level];
  bool raced = false;
  if (!can_afford_oldest(seat->pool)) return weft__deque_pop(queue, entry);
  return weft__deque_steal(queue, entry, &raced);
}

/* Each of the three places comes first in its turn. */
static bool find_oldest_on(weft__seat *seat, uint32_t level, uint32_t *entry)
{
  weft_pool *pool = seat->pool;
  uint32_t place = seat->searches / FAIR_EVERY;
  for (int i = 0; i < 3; i++, place++) {
    bool found = place % 3 == 0   ? weft__inbox_take(&pool->inboxes[level], entry)
                 : place % 3 == 1 ? steal(pool, seat, level, entry)
                                  : find_own_oldest(seat, level, entry);
    if (found) return took(pool, level);
  }
  return false;
}

/* Strands that may go on here alone, which come as a list, newest first. */
static bool find_mail(weft__seat *seat, uint32_t *entry)
{
  weft_pool *pool = seat->pool;
  /* Acquire: its partner is the release in weft__strand_ready. */
  uint32_t mail = atomic_exchange_explicit(&seat->mail, 0, memory_order_acquire);
  if (!mail) return false;
  uint32_t oldest = 0;
  while (mail) {
    weft__strand *strand = &pool->strands[mail - 1];
    uint32_t rest = strand->next_mail;
    strand->next_mail = oldest;
    oldest = mail;
    mail = rest;
  }
  *entry = ENTRY_STRAND | (oldest - 1);
  seat->post = pool->strands[oldest - 1].next_mail;
  return true;
}

static bool find_post(weft__seat *seat, uint32_t *entry)
{
  if (!seat->post) return false;
  *entry = ENTRY_STRAND | (seat->post - 1);
  seat->post = seat->pool->strands[seat->post - 1].next_mail;
  return true;
}

/* The levels of a thread are first to last. */
static uint32_t first_level(const weft__seat *seat)
{
  return seat->number < seat->pool->workers ? LEVEL_CRITICAL : LEVEL_BACKGROUND;
}

static uint32_t last_level(const weft__seat *seat)
{
  if (seat->number >= seat->pool->workers || !seat->pool->background) return LEVEL_BACKGROUND;
  return LEVEL_NORMAL;
}

static WEFT_COLD bool find_fairly(weft__seat *seat, uint32_t *entry)
{
  uint32_t first = first_level(seat);
  for (uint32_t level = last_level(seat) + 1; level-- > first;) {
    if (find_oldest_on(seat, level, entry)) return true;
  }
  return false;
}

bool weft__seat_find(weft__seat *seat, uint32_t *entry)
{
  weft_pool *pool = seat->pool;
  if (find_post(seat, entry)) return true;
  if (atomic_load_explicit(&seat->mail, memory_order_relaxed) && find_mail(seat, entry))
    return true;
  if (WEFT_UNLIKELY(++seat->searches % FAIR_EVERY == 0)) return find_fairly(seat, entry);
  uint32_t level = first_level(seat);
  if (level == LEVEL_CRITICAL) {
    if (atomic_load_explicit(&pool->critical, memory_order_relaxed) > 0 &&
        find_on(seat, level, entry))
      return true;
    level = LEVEL_NORMAL;
  }
  for (uint32_t last = last_level(seat); level <= last; level++) {
    if (find_on(seat, level, entry)) return true;
  }
  return false;
}

bool weft__seat_find_any(weft_pool *pool, weft__seat *seat, uint32_t *entry)
{
  for (uint32_t level = 0; level < LEVELS; level++) {
    if ((seat && weft__deque_pop(&seat->queues[level], entry)) ||
        weft__inbox_take(&pool->inboxes[level], entry) || steal(pool, seat, level, entry))
      return took(pool, level);
  }
  return false;
}

void weft__seat_unqueue(weft__seat *seat, weft__slot *slot)
{
  weft_pool *pool = seat->pool;
  uint32_t level = weft__slot_traits(slot) & TRAIT_LEVEL;
  uint32_t number = (uint32_t)(slot - pool->slots), newest;
  weft__deque *queue = &seat->queues[level];
  if (weft__deque_peek(queue, &newest) && newest == number && weft__deque_pop(queue, &newest) &&
      took(pool, level)) {
    weft__slot_forget(pool, seat, slot);
  } else {
    atomic_store_explicit(&pool->strays, 1, memory_order_relaxed);
  }
}

/* Entries of jobs that were run or cancelled without being taken out of a queue hold their slots until
   they are come upon. Goes once through all that is queued. */
static void sweep_level(weft_pool *pool, weft__seat *seat, uint32_t level)
{
  int64_t count = weft__inbox_count(&pool->inboxes[level]);
  uint32_t entry;
  for (uint32_t i = 0; i < pool->seat_count - 1; i++)
    count += weft__deque_count(&pool->seats[i].queues[level]);
  for (; count > 0; count--) {
    if (!weft__inbox_take(&pool->inboxes[level], &entry) && !steal(pool, NULL, level, &entry))
      return;
    (void)took(pool, level);
    if (entry & ENTRY_STRAND || !weft__slot_is_stray(&pool->slots[entry])) {
      weft__pool_push(pool, NULL, level, entry);
    } else {
      weft__slot_forget(pool, seat, &pool->slots[entry]);
    }
  }
}

void weft__pool_sweep(weft_pool *pool, weft__seat *seat)
{
  for (uint32_t level = 0; level < LEVELS; level++) sweep_level(pool, seat, level);
}

bool weft__seat_find_own(weft__seat *seat, uint32_t *entry)
{
  for (uint32_t level = 0; level < LEVEL_BACKGROUND; level++) {
    weft__deque *queue = &seat->queues[level];
    uint32_t newest;
    if (!weft__deque_peek(queue, &newest)) continue;
    if (weft__slot_traits(&seat->pool->slots[newest]) & TRAIT_WORKERS) continue;
    if (weft__deque_pop(queue, entry)) return took(seat->pool, level);
  }
  return false;
}

static bool is_of_group(const void *jobs, const void *group, uint32_t entry)
{
  const weft_pool *pool = jobs;
  if (entry & ENTRY_STRAND) return false;
  return atomic_load_explicit(&pool->slots[entry].group, memory_order_relaxed) == group;
}

/* From the queues of others, where it is what would be stolen next. */
static bool steal_of_group(weft__seat *seat, const weft_group *group, uint32_t *entry)
{
  weft_pool *pool = seat->pool;
  uint32_t count = atomic_load_explicit(&pool->seats_used, memory_order_acquire);
  bool raced;
  do {
    raced = false;
    for (uint32_t i = 0; i < count; i++) {
      weft__seat *victim = &pool->seats[i];
      if (victim == seat) continue;
      if (!weft__deque_steal_if(&victim->queues[group->level], is_of_group, pool, group, entry,
                                &raced))
        continue;
      TALLY(pool, seat, stolen);
      return took(pool, group->level);
    }
  } while (raced);
  return false;
}

bool weft__seat_dig_for_group(weft__seat *seat, const weft_group *group, uint32_t *entry)
{
  weft_pool *pool = seat->pool;
  uint32_t level = group->level;
  while (weft__deque_pop(&seat->queues[level], entry)) {
    (void)took(pool, level);
    if (is_of_group(pool, group, *entry)) return true;
    weft__pool_push(pool, NULL, level, *entry);
  }
  for (uint32_t left = weft__inbox_count(&pool->inboxes[level]); left; left--) {
    if (!weft__inbox_take(&pool->inboxes[level], entry)) return false;
    (void)took(pool, level);
    if (is_of_group(pool, group, *entry)) return true;
    weft__pool_push(pool, NULL, level, *entry);
  }
  return steal_of_group(seat, group, entry);
}

/* --- Before going to sleep ----------------------------------------------------------------- */

static bool sees_level(const weft_pool *pool, uint32_t level)
{
  if (weft__inbox_count(&pool->inboxes[level])) return true;
  uint32_t count = atomic_load_explicit(&pool->seats_used, memory_order_seq_cst);
  for (uint32_t i = 0; i < count; i++) {
    if (weft__deque_count(&pool->seats[i].queues[level])) return true;
  }
  return false;
}

bool weft__seat_sees_work(weft__seat *seat)
{
  const weft_pool *pool = seat->pool;
  if (atomic_load_explicit(&pool->state, memory_order_seq_cst) >= POOL_QUITTING) return true;
  if (atomic_load_explicit(&seat->mail, memory_order_seq_cst)) return true;
  for (uint32_t level = first_level(seat); level <= last_level(seat); level++) {
    if (sees_level(pool, level)) return true;
  }
  return false;
}
