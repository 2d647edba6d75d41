/* SPDX-License-Identifier: MIT */
/*
** jobs_seat.c - which seat a thread has at a pool, and the list of all pools.
**
** A thread of a pool has its seat for good. Any other becomes a guest when it first comes: it gets a
** seat with queues of its own, so that what it submits costs it no more than it costs a worker, and
** what it waits for it can take back. The seat is free again when the thread ends.
*/
#include "core/jobs.h"

/* What a thread knows of its seats. No function that switches stacks reads it: those that do are never
   inlined, and what they return belongs to the thread that called. */
typedef struct place {
  const weft_pool *pool; /* where it was a guest last, */
  uint64_t id;           /* which pool that was, for another may stand there now, */
  weft__seat *guest;     /* and the seat it has there */
} place;

static WEFT_PER_THREAD place here;
WEFT_PER_THREAD weft__seat *weft__running;

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static weft_pool *pools; /* all, under the lock */
static uint64_t pools_made;
static bool pools_watch; /* forks, and threads that end */

/* --- The list of pools --------------------------------------------------------------------- */

static void fork_begins(void)
{
  pthread_mutex_lock(&pools_lock);
}

static void fork_ends(void)
{
  pthread_mutex_unlock(&pools_lock);
}

/* The other threads are not in the child, and whatever they were doing is half done. */
static void fork_in_child(void)
{
  weft__fences_init();
  for (weft_pool *pool = pools; pool; pool = pool->next) {
    atomic_store_explicit(&pool->state, POOL_GONE, memory_order_relaxed);
  }
  pthread_mutex_unlock(&pools_lock);
}

static void guest_leaves(void *mark);

static weft_status watch(void)
{
  weft__fences_init();
  weft_status status = weft__end_watch(guest_leaves);
  return status ? status : weft__fork_watch(fork_begins, fork_ends, fork_in_child);
}

weft_status weft__pool_enlist(weft_pool *pool)
{
  weft_status status = WEFT_OK;
  pthread_mutex_lock(&pools_lock);
  if (!pools_watch) status = watch();
  if (!status) {
    pools_watch = true;
    pool->id = ++pools_made;
    pool->next = pools;
    pools = pool;
  }
  pthread_mutex_unlock(&pools_lock);
  return status;
}

void weft__pool_delist(weft_pool *pool)
{
  pthread_mutex_lock(&pools_lock);
  weft_pool **link = &pools;
  while (*link && *link != pool) link = &(*link)->next;
  if (*link) *link = pool->next;
  pthread_mutex_unlock(&pools_lock);
}

/* --- Guests -------------------------------------------------------------------------------- */

/* A thread ends: its seats are free. Release: whoever sits there next sees them as they were left. */
static void guest_leaves(void *mark)
{
  (void)mark;
  uint64_t thread = weft__thread_id();
  pthread_mutex_lock(&pools_lock);
  for (weft_pool *pool = pools; pool; pool = pool->next) {
    for (uint32_t i = pool->threads; i < pool->seat_count - 1; i++) {
      weft__seat *seat = &pool->seats[i];
      if (atomic_load_explicit(&seat->guest, memory_order_relaxed) == thread)
        atomic_store_explicit(&seat->guest, 0, memory_order_release);
    }
  }
  pthread_mutex_unlock(&pools_lock);
}

static weft__seat *guest_find(weft_pool *pool, uint64_t thread)
{
  uint32_t end = atomic_load_explicit(&pool->seats_used, memory_order_relaxed);
  for (uint32_t i = pool->threads; i < end; i++) {
    weft__seat *seat = &pool->seats[i];
    if (atomic_load_explicit(&seat->guest, memory_order_relaxed) == thread) return seat;
  }
  return NULL;
}

static weft__seat *guest_sits_down(weft_pool *pool, uint64_t thread)
{
  for (uint32_t i = pool->threads; i < pool->seat_count - 1; i++) {
    weft__seat *seat = &pool->seats[i];
    uint64_t nobody = 0;
    if (atomic_load_explicit(&seat->guest, memory_order_relaxed) != 0) continue;
    /* Acquire: its partner is the release of the guest before. */
    if (!atomic_compare_exchange_strong_explicit(&seat->guest, &nobody, thread,
                                                 memory_order_acquire, memory_order_relaxed))
      continue;
    uint32_t used = atomic_load_explicit(&pool->seats_used, memory_order_relaxed);
    while (used <= i &&
           !atomic_compare_exchange_weak_explicit(&pool->seats_used, &used, i + 1,
                                                  memory_order_seq_cst, memory_order_relaxed)) {
    }
    return seat;
  }
  return NULL;
}

static WEFT_COLD weft__seat *guest_seat(weft_pool *pool)
{
  uint64_t thread = weft__thread_id();
  weft__seat *seat = guest_find(pool, thread);
  if (!seat) {
    if (weft__end_mark(pool) != WEFT_OK) return NULL;
    seat = guest_sits_down(pool, thread);
  }
  if (!seat) return NULL;
  here.pool = pool;
  here.id = pool->id;
  here.guest = seat;
  return seat;
}

WEFT_NOINLINE weft__seat *weft__seat_here(weft_pool *pool)
{
  if (WEFT_LIKELY(weft__running != NULL && weft__running->pool == pool)) return weft__running;
  if (here.pool == pool && here.id == pool->id) return here.guest;
  return guest_seat(pool);
}

WEFT_NOINLINE weft__seat *weft__seat_running(void)
{
  return weft__running;
}

WEFT_NOINLINE weft__seat *weft__seat_run_as(weft__seat *seat)
{
  weft__seat *before = weft__running;
  weft__running = seat;
  return before;
}

bool weft__seat_can_suspend(const weft__seat *seat)
{
  return seat && seat->strand && weft__seat_running() == seat;
}

weft__side *weft__seat_side(weft__seat *seat)
{
  weft_pool *pool = seat->pool;
  return &pool->sides[seat->number < pool->workers ? SIDE_WORKERS : SIDE_BACKGROUND];
}

/* --- Counting ------------------------------------------------------------------------------ */

void weft__tally_crowd(_Atomic uint64_t *counter)
{
  atomic_fetch_add_explicit(counter, 1, memory_order_release);
}

/* Ends are read before submissions: when they are equal, there was a moment in between at which
   nothing was under way. */
bool weft__pool_settled(const weft_pool *pool)
{
  uint64_t ended = 0, submitted = 0;
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    const weft__tally *tally = &pool->seats[i].tally;
    ended += weft__tally_ended(tally);
  }
  for (uint32_t i = 0; i < pool->seat_count; i++) {
    submitted += atomic_load_explicit(&pool->seats[i].tally.submitted, memory_order_acquire);
  }
  return ended == submitted;
}

/* --- Who runs here ------------------------------------------------------------------------- */

weft_job weft_job_self(void)
{
  weft__seat *seat = weft__seat_running();
  weft__slot *slot = seat ? seat->frame->slot : NULL;
  if (!slot || weft__slot_traits(slot) & TRAIT_GROUP) return 0;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  return weft__slot_handle(seat->pool, slot, word);
}

weft_pool *weft_job_pool(void)
{
  weft__seat *seat = weft__seat_running();
  return seat && seat->frame->slot ? seat->pool : NULL;
}

int32_t weft_job_worker(void)
{
  weft__seat *seat = weft__seat_running();
  return seat && !weft__seat_is_guest(seat) ? (int32_t)seat->number : -1;
}
