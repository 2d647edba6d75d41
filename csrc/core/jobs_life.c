/* SPDX-License-Identifier: MIT */
/*
** jobs_life.c - pools are made and stopped.
*/
#include "core/jobs.h"

#include "platform/system.h"

#define MAX_THREADS 64
#define MAX_CAPACITY (UINT32_C(1) << 20)
#define MAX_FIBERS (UINT32_C(1) << 16)

/* --- What was asked for -------------------------------------------------------------------- */

static uint32_t threads_for(int32_t asked, uint32_t usual)
{
  return asked < 0 ? 0 : asked ? (uint32_t)asked : usual;
}

static bool read_config(weft_pool *pool, const weft_pool_config *config)
{
  uint32_t processors = weft__cpu_count();
  uint32_t usual = processors < 2 ? 1 : processors - 1;
  if (usual > MAX_THREADS) usual = MAX_THREADS;
  pool->workers = threads_for(config->workers, usual);
  pool->background = threads_for(config->background, 1);
  pool->threads = pool->workers + pool->background;
  pool->capacity = config->capacity ? config->capacity : 4096;
  pool->fibers = config->fibers ? config->fibers : 256;
  pool->flags = config->flags;
  pool->host = config->host;
  pool->begin = config->begin;
  pool->end = config->end;
  return pool->workers <= MAX_THREADS && pool->background <= MAX_THREADS &&
         pool->capacity <= MAX_CAPACITY && pool->fibers <= MAX_FIBERS &&
         !(pool->flags & ~(uint32_t)(WEFT_POOL_MIGRATE | WEFT_POOL_SUSPEND));
}

/* --- Memory -------------------------------------------------------------------------------- */

static void free_seats(weft_pool *pool)
{
  for (uint32_t i = 0; pool->seats && i < pool->seat_count; i++) {
    for (uint32_t level = 0; level < LEVELS; level++) {
      weft__deque_fini(&pool->seats[i].queues[level]);
    }
  }
  weft__free_lines(pool->seats);
}

static void free_pool(weft_pool *pool)
{
  free_seats(pool);
  for (uint32_t level = 0; level < LEVELS; level++) weft__inbox_fini(&pool->inboxes[level]);
  weft__stocks_fini(pool);
  weft_fiber_pool_delete(pool->stacks);
  weft__free(pool->strands);
  weft__free_lines(pool->slots);
  weft__free_lines(pool);
}

/* One, and one for each time that a waiter gave it a higher priority: see raise_to. */
#define ENTRIES_OF_A_SLOT 4

static weft_status make_queues(weft_pool *pool, uint32_t entries)
{
  for (uint32_t level = 0; level < LEVELS; level++) {
    if (weft__inbox_init(&pool->inboxes[level], entries * ENTRIES_OF_A_SLOT)) return WEFT_NOMEM;
    for (uint32_t i = 0; i < pool->seat_count; i++) {
      if (weft__deque_init(&pool->seats[i].queues[level], entries)) return WEFT_NOMEM;
    }
  }
  return weft__stocks_init(pool);
}

static void seat_init(weft_pool *pool, uint32_t number)
{
  weft__seat *seat = &pool->seats[number];
  seat->pool = pool;
  seat->number = number;
  seat->random = number * 2654435761u + 1;

  seat->base.level = LEVEL_NORMAL;
  seat->base.seat = seat;
  seat->frame = &seat->base;
}

static weft_status make_memory(weft_pool *pool)
{
  pool->seat_count = pool->threads + GUESTS + 1;
  uint32_t held = pool->seat_count * STOCKS * MAGAZINE;
  pool->slot_count = (pool->capacity + held + MAGAZINE - 1) / MAGAZINE * MAGAZINE;
  pool->strand_count = pool->fibers + pool->threads * (IDLE_STRANDS + 2);
  pool->seats = weft__calloc_lines(pool->seat_count, sizeof *pool->seats);
  pool->slots = weft__calloc_lines(pool->slot_count, sizeof *pool->slots);
  pool->strands = weft__calloc(pool->strand_count + 1, sizeof *pool->strands);
  if (!pool->seats || !pool->slots || !pool->strands) return WEFT_NOMEM;
  for (uint32_t i = 0; i < pool->seat_count; i++) seat_init(pool, i);
  atomic_init(&pool->seats_used, pool->threads);
  pool->sides[SIDE_WORKERS].count = pool->workers;
  pool->sides[SIDE_BACKGROUND].first = pool->workers;
  pool->sides[SIDE_BACKGROUND].count = pool->background;
  return make_queues(pool, pool->slot_count + pool->strand_count);
}

static weft_status make_stacks(weft_pool *pool, size_t bytes)
{
  weft_fiber_stats stats;
  weft_status status = weft_fiber_pool_new(bytes ? bytes : (size_t)64 << 10,
                                           pool->strand_count + 1, &pool->stacks);
  if (status) return status;
  weft__fiber_pool_share(pool->stacks);
  weft_fiber_pool_stats(pool->stacks, &stats);
  pool->half_stack = stats.stack_bytes / 2;
  for (uint32_t i = 0; i < pool->threads && !status; i++) {
    status = weft__strand_take(pool, &pool->seats[i], &pool->seats[i].next);
  }
  return status;
}

/* --- Threads ------------------------------------------------------------------------------- */

static void end_threads(weft_pool *pool, uint32_t started)
{
  atomic_store_explicit(&pool->state, POOL_QUITTING, memory_order_seq_cst);
  weft__pool_wake_all(pool);
  for (uint32_t i = 0; i < started; i++) weft__thread_join(&pool->seats[i].thread);
}

static weft_status start_threads(weft_pool *pool)
{
  for (uint32_t i = 0; i < pool->threads; i++) {
    weft__seat *seat = &pool->seats[i];
    weft_status status = weft__thread_start(&seat->thread, weft__seat_work, seat);
    if (status) {
      end_threads(pool, i);
      return status;
    }
  }
  return WEFT_OK;
}

static weft_status make_locks(weft_pool *pool)
{
  weft_status status = weft__mutex_init(&pool->crowd);
  if (status) return status;
  status = weft__mutex_init(&pool->spinning);
  if (status) weft__mutex_fini(&pool->crowd);
  return status;
}

static void free_locks(weft_pool *pool)
{
  weft__mutex_fini(&pool->crowd);
  weft__mutex_fini(&pool->spinning);
}

static weft_status open_pool(weft_pool *pool, size_t stack_bytes)
{
  weft_status status = make_memory(pool);
  if (!status) status = make_stacks(pool, stack_bytes);
  if (!status) status = weft__pool_enlist(pool);
  if (status) return status;
  pool->first_version = pool->id * UINT64_C(0x9e3779b1) << SLOT_VERSION_SHIFT;
  pool->since = weft__clock_ns();
  status = start_threads(pool);
  if (status) weft__pool_delist(pool);
  return status;
}

weft_status weft_pool_new(const weft_pool_config *config, weft_pool **out)
{
  static const weft_pool_config usual;
  weft_pool *pool = weft__calloc_lines(1, sizeof *pool);
  if (!pool) return WEFT_NOMEM;
  if (!config) config = &usual;
  weft_status status = read_config(pool, config) ? make_locks(pool) : WEFT_INVALID;
  if (status) {
    weft__free_lines(pool);
    return status;
  }
  status = open_pool(pool, config->stack_bytes);
  if (status) {
    free_locks(pool);
    free_pool(pool);
    return status;
  }
  *out = pool;
  return WEFT_OK;
}

/* --- Stopping ------------------------------------------------------------------------------ */

/* Strands that wait for what may never come are told; those that wait for a group are not, for it ends
   by itself. */
static void interrupt_all(weft_pool *pool, weft__seat *seat)
{
  weft__mutex_lock(&pool->spinning);
  uint32_t made = pool->strands_made;
  weft__mutex_unlock(&pool->spinning);
  for (uint32_t i = 0; i < made; i++) {
    weft__strand_interrupt(pool, seat, &pool->strands[i]);
  }
}

/* In a pool whose threads take no such work, it is the one who stops that comes upon it. */
static void drop_queued(weft_pool *pool, weft__seat *seat)
{
  if (pool->workers && pool->background) return;
  while (weft__seat_run_any(pool, seat)) {
  }
}

/* Waits until all has ended; looks by itself now and then, for a thread that goes to sleep may see the
   last job as not quite ended. */
#define LOOK_EVERY 2000000

static bool settle(weft_pool *pool, int64_t deadline)
{
  atomic_uint *event = weft__event_of(pool);
  weft__seat *seat = weft__seat_here(pool);
  for (;;) {
    unsigned turn = atomic_load_explicit(event, memory_order_acquire);
    interrupt_all(pool, seat);
    drop_queued(pool, seat);
    if (weft__pool_settled(pool)) return true;
    if (weft__deadline_passed(deadline)) return false;
    int64_t look = weft__clock_ns() + LOOK_EVERY;
    weft__park(event, turn, look < deadline ? look : deadline);
  }
}

weft_status weft_pool_delete(weft_pool *pool, int64_t timeout)
{
  if (!pool) return WEFT_OK;
  if (weft_job_pool() == pool) return WEFT_BUSY;
  if (!weft__pool_is_gone(pool)) {
    int64_t deadline = weft__deadline_in(timeout);
    atomic_store_explicit(&pool->state, POOL_STOPPING, memory_order_seq_cst);
    atomic_fetch_add_explicit(&pool->draining, 1, memory_order_seq_cst);
    bool settled = settle(pool, deadline);
    atomic_fetch_sub_explicit(&pool->draining, 1, memory_order_seq_cst);
    if (!settled) return WEFT_TIMEOUT;
    end_threads(pool, pool->threads);
    free_locks(pool);
  }
  weft__pool_delist(pool);
  free_pool(pool);
  return WEFT_OK;
}
