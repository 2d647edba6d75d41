/* SPDX-License-Identifier: MIT */
/*
** jobs_strand.c - strands: how a job waits without its thread.
**
** Each thread of the pool stands on its own stack and enters a strand. The strand runs jobs one after
** the other as plain calls. When one of them waits, the strand goes back to the thread's stack, saying
** why. There, when its registers are saved and not before, the wait is armed; from then on another
** thread may enter it. The thread goes on with another strand. Nothing here reads a thread-local
** variable after a switch: a strand is told by who enters it where it is.
*/
#include "core/jobs_hot.h"

#include <stdio.h>

/* --- Strands come and go ------------------------------------------------------------------- */

static void strand_main(void *arg);

/* Under the lock. */
static weft_status make(weft_pool *pool, weft__strand **out)
{
  if (pool->strands_made == pool->strand_count) return WEFT_NOFIBERS;
  weft__strand *strand = &pool->strands[pool->strands_made];
  *strand = (weft__strand){.pool = pool, .index = pool->strands_made};
  strand->base.level = LEVEL_NORMAL;
  strand->frame = &strand->base;
  weft_status status = weft_fiber_start(pool->stacks, strand_main, strand, &strand->fiber);
  if (status) return status;
  pool->strands_made++;
  *out = strand;
  return WEFT_OK;
}

weft_status weft__strand_take(weft_pool *pool, weft__seat *seat, weft__strand **out)
{
  weft_status status = WEFT_OK;
  weft__strand *strand = seat->idle;
  if (WEFT_LIKELY(strand != NULL)) {
    seat->idle = strand->next_idle;
    seat->idle_count--;
  } else {
    weft__mutex_lock(&pool->spinning);
    strand = pool->idle;
    if (strand) {
      pool->idle = strand->next_idle;
    } else {
      status = make(pool, &strand);
    }
    weft__mutex_unlock(&pool->spinning);
  }
  if (!status) *out = strand;
  return status;
}

void weft__strand_give(weft__seat *seat, weft__strand *strand)
{
  if (seat->idle_count < IDLE_STRANDS) {
    strand->next_idle = seat->idle;
    seat->idle = strand;
    seat->idle_count++;
    return;
  }
  weft_pool *pool = seat->pool;
  weft__mutex_lock(&pool->spinning);
  strand->next_idle = pool->idle;
  pool->idle = strand;
  weft__mutex_unlock(&pool->spinning);
}

/* --- Going on ------------------------------------------------------------------------------ */

static void mail(weft__seat *home, weft__strand *strand)
{
  uint32_t first = atomic_load_explicit(&home->mail, memory_order_relaxed);
  do {
    strand->next_mail = first;
    /* Release: its partner is the exchange in find_mail. Sequentially consistent, because the look
       at who sleeps comes after it. */
  } while (!atomic_compare_exchange_weak_explicit(&home->mail, &first, strand->index + 1,
                                                  memory_order_seq_cst, memory_order_relaxed));
  weft__seat_wake(home);
}

/* The debug mode in which no strand goes on where it was. */
static weft__seat *next_door(const weft_pool *pool, const weft__strand *strand)
{
  uint32_t number = strand->base.seat->number;
  uint32_t first = number < pool->workers ? 0 : pool->workers;
  uint32_t count = first ? pool->background : pool->workers;
  return &pool->seats[first + (number - first + 1) % count];
}

void weft__strand_ready(weft_pool *pool, weft__seat *seat, weft__strand *strand)
{
  if (strand->home) {
    mail(strand->home, strand);
  } else if (WEFT_UNLIKELY(pool->flags & WEFT_POOL_MIGRATE)) {
    mail(next_door(pool, strand), strand);
  } else {
    /* A guest does not run strands: in its queue one would only be in its way. */
    if (seat && weft__seat_is_guest(seat)) seat = NULL;
    weft__pool_push(pool, seat, strand->frame->level, ENTRY_STRAND | strand->index);
  }
}

static void disarmed(weft_pool *pool, weft__seat *seat, weft__strand *strand, weft_status how)
{
  /* Acquire and release: one of those who want it to go on does, and the others leave it alone. */
  if (!atomic_exchange_explicit(&strand->armed, 0, memory_order_acq_rel)) return;
  strand->woken = how;
  weft__strand_ready(pool, seat, strand);
}

void weft__strand_ready_all(weft_pool *pool, weft__seat *seat, uint32_t first)
{
  while (first) {
    weft__strand *strand = &pool->strands[first - 1];
    first = strand->next_wait; /* before it goes on, and waits for something else */
    disarmed(pool, seat, strand, WEFT_OK);
  }
}

void weft__strand_interrupt(weft_pool *pool, weft__seat *seat, weft__strand *strand)
{
  disarmed(pool, seat, strand, WEFT_STOPPED);
}

bool weft__strand_refused(weft__strand *strand)
{
  if (atomic_load_explicit(&strand->pool->state, memory_order_relaxed) != POOL_OPEN) {
    strand->woken = WEFT_STOPPED;
    return true;
  }
  atomic_store_explicit(&strand->armed, 1, memory_order_seq_cst);
  return false;
}

bool weft__strand_disarm(weft__strand *strand)
{
  return !atomic_exchange_explicit(&strand->armed, 0, memory_order_acq_rel);
}

/* Who stops the pool says so and then looks for armed strands; this is armed and then looks whether
   the pool is being stopped. */
bool weft__strand_armed(weft__strand *strand)
{
  weft_pool *pool = strand->pool;
  if (atomic_load_explicit(&pool->state, memory_order_seq_cst) == POOL_OPEN) return true;
  if (weft__strand_disarm(strand)) return true;
  strand->woken = WEFT_STOPPED;
  return false;
}

/* --- Leaving ------------------------------------------------------------------------------- */

static bool is_suspended_by(weft__frame *frame)
{
  return frame->slot && !(weft__slot_traits(frame->slot) & TRAIT_GROUP);
}

weft_status weft__strand_leave(weft__seat *seat, weft__leave why, void *target, uint64_t key)
{
  weft_pool *pool = seat->pool;
  weft__strand *strand = seat->strand;
  weft__frame *frame = seat->frame;
  /* Relaxed: only the number matters. */
  if (atomic_fetch_add_explicit(&pool->suspended, 1, memory_order_relaxed) >= pool->fibers) {
    atomic_fetch_sub_explicit(&pool->suspended, 1, memory_order_relaxed);
    return WEFT_NOFIBERS;
  }
  weft_status status = weft__strand_take(pool, seat, &seat->next);
  if (status) {
    atomic_fetch_sub_explicit(&pool->suspended, 1, memory_order_relaxed);
    return status;
  }
  strand->frame = frame;
  strand->leave = why;
  strand->target = target;
  strand->key = key;
  strand->woken = WEFT_OK;
  strand->home = strand->pins ? seat : NULL;
  if (is_suspended_by(frame)) weft__slot_mark(frame->slot, STATE_SUSPENDED);
  if (WEFT_UNLIKELY(strand->stints)) weft__stints_suspend(strand);
  weft_fiber_yield();
  if (WEFT_UNLIKELY(strand->stints)) weft__stints_go_on(strand);
  if (is_suspended_by(frame)) weft__slot_mark(frame->slot, STATE_RUNNING);
  atomic_fetch_sub_explicit(&pool->suspended, 1, memory_order_relaxed);
  return strand->woken;
}

weft_status weft_job_yield(void)
{
  weft__seat *seat = weft__seat_running();
  if (!weft__seat_can_suspend(seat) || !seat->frame->slot) return WEFT_OUTSIDE;
  weft_pool *pool = seat->pool;
  weft_status status = weft__strand_leave(seat, LEAVE_FOR_TURN, NULL, 0);
  /* Relaxed: who yields again and again sees it soon. */
  bool open = atomic_load_explicit(&pool->state, memory_order_relaxed) == POOL_OPEN;
  return status || open ? status : WEFT_STOPPED;
}

/* Lets everything that is queued have a turn first: from outside, where what came last is last. */
static bool arm_turn(weft__strand *strand)
{
  weft__strand_ready(strand->pool, NULL, strand);
  return true;
}

/* The strand's registers are saved: true if it now waits, and may be gone already. */
static bool arm(weft__strand *strand)
{
  switch (strand->leave) {
  case LEAVE_FOR_GROUP:
    return weft__group_arm(strand);
  case LEAVE_FOR_JOB:
    return weft__job_arm(strand);
  case LEAVE_FOR_BARRIER:
    return weft__barrier_arm(strand);
  case LEAVE_FOR_TURN:
    return arm_turn(strand);
  case LEAVE_FOR_STRAND:
  case LEAVE_FOR_GOOD:
    break;
  }
  return true;
}

/* --- A thread ------------------------------------------------------------------------------ */

static uint32_t next_entry(weft__seat *seat);

static void strand_main(void *arg)
{
  weft__strand *strand = arg;
  strand->half = (char *)__builtin_frame_address(0) - weft_fiber_stack_left() / 2;
  for (;;) {
    weft__seat *seat = strand->base.seat;
    uint32_t entry = next_entry(seat);
    if (WEFT_LIKELY(!(entry & ENTRY_STRAND))) {
      weft__job_begin(seat, entry);
      continue;
    }
    bool over = entry == ENTRY_QUIT;
    if (!over) seat->next = &seat->pool->strands[entry & ~ENTRY_STRAND];
    strand->leave = over ? LEAVE_FOR_GOOD : LEAVE_FOR_STRAND;
    strand->frame = &strand->base;
    weft_fiber_yield();
  }
}

/* Enters a strand until it is left; returns the one to go on with, NULL at the end. */
static weft__strand *enter(weft__seat *seat, weft__strand *strand)
{
  seat->strand = strand;
  seat->frame = strand->frame;
  seat->frame->seat = seat;
  strand->base.seat = seat;
  weft_fiber_resume(strand->fiber);
  if (strand->leave == LEAVE_FOR_GOOD) return NULL;
  weft__strand *next = seat->next;
  if (strand->leave == LEAVE_FOR_STRAND) {
    weft__strand_give(seat, strand);
    return next;
  }
  weft__seat_pay(seat);
  if (arm(strand)) return next;
  weft__strand_give(seat, next);
  return strand;
}

void weft__seat_work(void *arg)
{
  weft__seat *seat = arg;
  weft_pool *pool = seat->pool;
  char name[16];
  bool background = seat->number >= pool->workers;
  snprintf(name, sizeof name, background ? "weft back %u" : "weft job %u",
           (unsigned)(seat->number % 1000));
  weft__thread_settle(name);
  if (background) weft__thread_lower();
  (void)weft__catch_overflow_if_allowed();
  weft__seat_run_as(seat);
  if (pool->begin) pool->begin(pool->host, seat->number);
  weft__seat_stretch_begins(seat);
  weft__strand *strand = seat->next;
  while (strand) strand = enter(seat, strand);
  /* Acquire: the host's hook finds what who deletes the pool did before; its partner is in end_threads.
     A thread that has run no job learned of nothing else. */
  (void)atomic_load_explicit(&pool->state, memory_order_acquire);
  if (pool->end) pool->end(pool->host, seat->number);
}

/* --- Searching ----------------------------------------------------------------------------- */

/* Some ten microseconds before a thread goes to sleep: waking it would cost more. */
#define SPINS 200

static bool is_over(weft__seat *seat)
{
  return atomic_load_explicit(&seat->pool->state, memory_order_relaxed) >= POOL_QUITTING;
}

static bool search(weft__seat *seat, uint32_t *entry)
{
  for (int i = 0; i < SPINS; i++) {
    if (is_over(seat)) {
      *entry = ENTRY_QUIT;
      return true;
    }
    if (weft__seat_find(seat, entry)) return true;
    weft__pause();
  }
  return false;
}

/* Nothing to do: searches, sleeps, and searches again when woken. */
static uint32_t idle(weft__seat *seat)
{
  weft_pool *pool = seat->pool;
  weft__side *side = weft__seat_side(seat);
  uint32_t entry;
  weft__seat_stretch_ends(seat);
  weft__fence_light(); /* its partner is the heavy one in weft_pool_wait_all */
  if (atomic_load_explicit(&pool->draining, memory_order_relaxed)) weft__event_raise(pool);
  atomic_fetch_add_explicit(&side->searching, 1, memory_order_seq_cst);
  while (!search(seat, &entry)) {
    atomic_fetch_sub_explicit(&side->searching, 1, memory_order_seq_cst);
    weft__seat_park(seat);
  }
  /* The last one that searched, and there is more: somebody else is to look as well. */
  if (atomic_fetch_sub_explicit(&side->searching, 1, memory_order_seq_cst) == 1 &&
      atomic_load_explicit(&side->asleep, memory_order_seq_cst) && weft__seat_sees_work(seat))
    weft__side_wake_one(pool, side);
  weft__seat_stretch_begins(seat);
  return entry;
}

/* What to do next; ENTRY_QUIT at the end. */
static uint32_t next_entry(weft__seat *seat)
{
  uint32_t entry;
  if (WEFT_UNLIKELY(is_over(seat))) return ENTRY_QUIT;
  if (seat->owed && !weft__seat_goes_on_with(seat, seat->owed)) weft__seat_pay(seat);
  if (WEFT_LIKELY(weft__seat_find(seat, &entry))) return entry;
  if (seat->owed) {
    weft__seat_pay(seat);
    if (weft__seat_find(seat, &entry)) return entry;
  }
  return idle(seat);
}
