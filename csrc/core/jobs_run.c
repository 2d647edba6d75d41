/* SPDX-License-Identifier: MIT */
/*
** jobs_run.c - a job's way: submitted, begun, ended.
*/
#include "core/jobs_hot.h"
#include "core/spans.h"

/* --- Submitting ---------------------------------------------------------------------------- */

static const unsigned char level_of[] = {
    [WEFT_PRIORITY_NORMAL] = LEVEL_NORMAL,
    [WEFT_PRIORITY_CRITICAL] = LEVEL_CRITICAL,
    [WEFT_PRIORITY_BACKGROUND] = LEVEL_BACKGROUND,
};

bool weft__level_of(weft_job_priority priority, uint32_t *level)
{
  if ((unsigned)priority >= sizeof level_of) return false;
  *level = level_of[priority];
  return true;
}

#define ALL_FLAGS (WEFT_JOB_KEEP | WEFT_JOB_STAYS | WEFT_JOB_WORKERS)

/* What the options come to; false if they make no sense. */
static bool read_options(const weft_pool *pool, const weft_job_options *options,
                         uint32_t *traits, uint64_t *flags)
{
  uint32_t level;
  if (options->flags & ~(uint32_t)ALL_FLAGS) return false;
  if (!weft__level_of(options->priority, &level)) return false;
  if (options->ended && options->outbox) return false;
  if ((options->flags & WEFT_JOB_WORKERS) && !pool->threads) return false;
  *traits = level | (options->flags & WEFT_JOB_STAYS ? TRAIT_STAYS : 0) |
            (options->flags & WEFT_JOB_WORKERS ? TRAIT_WORKERS : 0) |
            (options->outbox ? TRAIT_OUTBOX : 0) |
            (options->outbox || options->ended ? TRAIT_NOTIFY : 0);
  *flags = (options->flags & WEFT_JOB_KEEP) || options->outbox ? SLOT_KEPT : 0;
  return true;
}

static void fill(weft__slot *slot, weft_job_fn fn, const void *data, size_t size,
                 const weft_job_options *options)
{
  slot->fn = fn;
  slot->barrier = options->barrier;
  slot->ended = options->ended;
  slot->arg = options->outbox ? (void *)options->outbox : options->arg;
  weft__slot_fill(slot, data, size);
}

static bool is_open(weft_pool *pool)
{
  return atomic_load_explicit(&pool->state, memory_order_relaxed) == POOL_OPEN;
}

weft_status weft_job_submit(weft_pool *pool, weft_job_fn fn, const void *data, size_t size,
                            const weft_job_options *options, weft_job *out)
{
  static const weft_job_options usual;
  uint32_t traits;
  uint64_t flags;
  if (!options) options = &usual;
  if (!fn || size > WEFT_JOB_BYTES || (size && !data)) return WEFT_INVALID;
  if (!read_options(pool, options, &traits, &flags)) return WEFT_INVALID;
  if (!is_open(pool)) return WEFT_STOPPED;
  weft__seat *seat = weft__seat_here(pool);
  weft__slot *slot = weft__slot_take(pool, seat, true);
  if (!slot) return WEFT_FULL;
  weft_status status = options->barrier ? weft__barrier_hold(options->barrier) : WEFT_OK;
  if (status) {
    weft__slot_give(pool, seat, slot, true);
    return status;
  }
  if (options->outbox) weft__outbox_hold(options->outbox);
  uint64_t word = weft__slot_open(slot, flags);
  fill(slot, fn, data, size, options);
  atomic_store_explicit(&slot->group, NULL, memory_order_relaxed);
  atomic_store_explicit(&slot->traits, traits, memory_order_relaxed);
  /* Before the job can end: its handle may be written to where the job looks for it. */
  if (out) *out = weft__slot_handle(pool, slot, word);
  TALLY(pool, seat, submitted);
  weft__pool_push(pool, seat, traits & TRAIT_LEVEL, (uint32_t)(slot - pool->slots));
  return WEFT_OK;
}

WEFT_NOINLINE weft_status weft_group_run(weft_group *group, weft_job_fn fn, const void *data,
                                         size_t size)
{
  weft_pool *pool = group->pool;
  if (WEFT_UNLIKELY(!fn || size > WEFT_JOB_BYTES || (size && !data))) return WEFT_INVALID;
  if (WEFT_UNLIKELY(!is_open(pool))) return WEFT_STOPPED;
  weft__seat *seat = weft__running;
  if (WEFT_UNLIKELY(!seat || seat->pool != pool)) seat = weft__seat_here(pool);
  weft__slot *slot = weft__slot_take_hot(pool, seat);
  if (WEFT_UNLIKELY(!slot) && !(slot = weft__slot_take(pool, seat, false))) return WEFT_FULL;
  weft__slot_open_hot(slot);
  slot->fn = fn;
  weft__slot_fill(slot, data, size);
  atomic_store_explicit(&slot->group, group, memory_order_relaxed);
  atomic_store_explicit(&slot->traits, group->level | TRAIT_GROUP, memory_order_relaxed);
  weft__group_count_up(group, seat);
  TALLY(pool, seat, submitted);
  weft__pool_push_hot(pool, seat, group->level, weft__slot_number(pool, slot));
  return WEFT_OK;
}

/* --- Ending -------------------------------------------------------------------------------- */

/* Who waits for all jobs looks again when a thread of the pool has nothing to do; other threads tell it
   of each end. */
static void tell_drain(weft_pool *pool, const weft__seat *seat)
{
  weft__fence_light(); /* between the count and the look; see weft_pool_wait_all */
  if (WEFT_UNLIKELY(atomic_load_explicit(&pool->draining, memory_order_relaxed)) &&
      (!seat || weft__seat_is_guest(seat)))
    weft__event_raise(pool);
}

static void count_end(weft_pool *pool, weft__seat *seat, uint32_t state)
{
  TALLY(pool, seat, lingered);
  if (state == STATE_COMPLETED) {
    TALLY(pool, seat, completed);
  } else if (state == STATE_FAILED) {
    TALLY(pool, seat, failed);
  } else {
    TALLY(pool, seat, cancelled);
  }
}

static void tell(weft_pool *pool, weft__slot *slot, uint32_t traits, uint64_t word)
{
  if (traits & TRAIT_OUTBOX) {
    weft__outbox_put(pool, slot->arg, slot);
  } else {
    slot->ended(slot->arg, weft__slot_handle(pool, slot, word));
  }
}

/* The last look at a job with a handle. Whoever is told holds an entry of the slot until it returns. */
static void end_single(weft_pool *pool, weft__seat *seat, weft__slot *slot, uint32_t state,
                       weft_status status)
{
  uint32_t traits = weft__slot_traits(slot);
  weft_barrier *barrier = slot->barrier;
  slot->status = status < 0 ? status : WEFT_OK;
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  /* Release: its partners are the acquires of those who look whether it has ended. Acquire, for the
     strands in the list. From here on the slot is this function's for its one entry alone. */
  while (!atomic_compare_exchange_weak_explicit(
      &slot->word, &word,
      ((word & ~(SLOT_STATE | SLOT_WAITERS | SLOT_OUTSIDE)) | state) + SLOT_ENTRY,
      memory_order_acq_rel, memory_order_relaxed)) {
  }
  if (traits & TRAIT_NOTIFY) tell(pool, slot, traits, word);
  if (barrier) weft__barrier_let_go(seat, barrier); /* before who waits for all jobs goes on */
  count_end(pool, seat, state);
  uint32_t first = (uint32_t)((word & SLOT_WAITERS) >> SLOT_WAITER_SHIFT);
  if (first) weft__strand_ready_all(pool, seat, first);
  if (word & SLOT_OUTSIDE) weft__event_raise(slot);
  weft__slot_forget(pool, seat, slot);
  tell_drain(pool, seat);
}

void weft__job_drop(weft_pool *pool, weft__seat *seat, weft__slot *slot)
{
  TALLY(pool, seat, begun);
  if (!(weft__slot_traits(slot) & TRAIT_GROUP)) {
    end_single(pool, seat, slot, STATE_CANCELLED, WEFT_CANCELLED);
    return;
  }
  weft_group *group = atomic_load_explicit(&slot->group, memory_order_relaxed);
  weft__slot_give_hot(pool, seat, slot);
  TALLY(pool, seat, cancelled);
  weft__group_fail(group, WEFT_CANCELLED);
  weft__group_end(pool, seat, group, 1);
  tell_drain(pool, seat);
}

/* --- Running ------------------------------------------------------------------------------- */

/* A group hears of ends by and by: as long as this thread goes on with its jobs, it cannot be over. */
static void owe(weft__seat *seat, weft_group *group)
{
  if (WEFT_UNLIKELY(weft__seat_is_guest(seat))) {
    weft__group_end(seat->pool, seat, group, 1);
    tell_drain(seat->pool, seat);
  } else {
    WEFT_ASSERT(!seat->owed || seat->owed == group);
    seat->owed = group;
    seat->owed_count++;
  }
}

static void run_of_group(weft__seat *seat, weft__slot *slot, uint32_t level)
{
  weft_group *group = atomic_load_explicit(&slot->group, memory_order_relaxed);
  weft_status status;
  if (seat->owed != group) weft__seat_pay(seat);
  seat = weft__slot_call(seat, slot, level, &status);
  weft__slot_end(seat, slot, group, status);
  if (seat->owed != group) weft__seat_pay(seat);
  owe(seat, group);
}

static weft_job handle_of(const weft_pool *pool, const weft__slot *slot)
{
  return weft__slot_handle(pool, slot, atomic_load_explicit(&slot->word, memory_order_relaxed));
}

static void run_single(weft__seat *seat, weft__slot *slot, uint32_t traits)
{
  weft_status status;
  weft__strand *strand = seat->strand;
  weft__stint stint;
  bool traced = weft__spans();
  weft__seat_pay(seat);
  if (traits & TRAIT_STAYS && strand) strand->pins++;
  if (WEFT_UNLIKELY(traced)) weft__stint_begins(strand, &stint, handle_of(seat->pool, slot));
  seat = weft__slot_call(seat, slot, traits & TRAIT_LEVEL, &status);
  if (WEFT_UNLIKELY(traced)) weft__stint_ends(strand, &stint);
  if (traits & TRAIT_STAYS && strand) strand->pins--;
  end_single(seat->pool, seat, slot, status < 0 ? STATE_FAILED : STATE_COMPLETED, status);
}

void weft__job_run(weft__seat *seat, weft__slot *slot)
{
  uint32_t traits = weft__slot_traits(slot);
  if (traits & TRAIT_GROUP) {
    run_of_group(seat, slot, traits & TRAIT_LEVEL);
  } else {
    run_single(seat, slot, traits);
  }
}

void weft__job_begin(weft__seat *seat, uint32_t entry)
{
  weft_pool *pool = seat->pool;
  weft__slot *slot = &pool->slots[entry];
  bool single = !(weft__slot_traits(slot) & TRAIT_GROUP);
  if (single && !weft__slot_claim(slot, 0, true)) {
    weft__slot_forget(pool, seat, slot);
  } else if (WEFT_LIKELY(is_open(pool))) {
    weft__job_run(seat, slot);
  } else {
    weft__job_drop(pool, seat, slot);
  }
}

bool weft__guest_sees_room(weft__seat *seat)
{
  size_t left = weft_fiber_stack_left();
  seat->half = NULL;
  if (left == SIZE_MAX) return true;
  seat->half = (char *)__builtin_frame_address(0) - left + seat->pool->half_stack;
  return left >= seat->pool->half_stack;
}

/* --- For threads outside ------------------------------------------------------------------- */

static void begin_outside(weft__seat *seat, uint32_t entry)
{
  weft__seat *before = weft__seat_run_as(seat);
  weft__job_begin(seat, entry);
  weft__seat_run_as(before);
}

bool weft__seat_run_any(weft_pool *pool, weft__seat *seat)
{
  uint32_t entry;
  if (!seat || !weft__seat_find_any(pool, seat, &entry)) return false;
  if (entry & ENTRY_STRAND) {
    weft__pool_push(pool, NULL, pool->strands[entry & ~ENTRY_STRAND].frame->level, entry);
    return false; /* it is for the pool's threads */
  }
  begin_outside(seat, entry);
  return true;
}

bool weft__seat_run_one(weft_pool *pool, weft__seat *seat)
{
  uint32_t entry;
  if (!seat) return false;
  if (!pool->threads) return weft__seat_run_any(pool, seat);
  if (!weft__seat_find_own(seat, &entry)) return false;
  begin_outside(seat, entry);
  return true;
}
