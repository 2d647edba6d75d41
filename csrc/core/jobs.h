/* SPDX-License-Identifier: MIT */
/*
** jobs.h - what the files of the job pool share. The pool knows fibers, queues and threads; it does
** not know worlds, routines or Lua.
**
** A *slot* is a job. A *seat* is a thread's place at a pool: its queues, its counters, its stock of free
** slots; workers have one for good, other threads become guests when they first come. A *strand* is a
** fiber that runs jobs one after the other on behalf of a worker; when a job waits, its strand is left
** as it stands, and the worker goes on with another. A *frame* is one running job: those that are run
** inside the wait of another lie on top of it.
**
** Queues hold 32-bit entries: a slot's number, or a strand's with ENTRY_STRAND set.
*/
#ifndef WEFT_CORE_JOBS_H
#define WEFT_CORE_JOBS_H

#include <stdatomic.h>

#include "base/base.h"
#include "core/deque.h"
#include "core/fiber.h"
#include "core/inbox.h"
#include "platform/park.h"
#include "platform/platform.h"

typedef struct weft__slot weft__slot;
typedef struct weft__seat weft__seat;
typedef struct weft__strand weft__strand;
typedef struct weft__frame weft__frame;
typedef struct weft__stint weft__stint;

/* --- Slots --------------------------------------------------------------------------------- */

/*
** A slot's word holds everything that two threads may want to change at once:
**
**   version 32 | first waiting strand + 1: 24 | OUTSIDE | entries: 3 | KEPT | state: 3
**
** `entries` counts what still names the slot in some queue, and who is about to look at it once more.
** A slot is free when it has ended, no entry names it and nobody keeps it: each of the three goes by a
** compare-exchange, and the one that makes it true hands the slot back.
*/
#define SLOT_STATE UINT64_C(7)
#define SLOT_KEPT UINT64_C(8)
#define SLOT_ENTRY UINT64_C(16)
#define SLOT_ENTRIES (SLOT_ENTRY * 7)
#define SLOT_OUTSIDE UINT64_C(128) /* a thread outside waits on the slot's event */
#define SLOT_WAITER_SHIFT 8
#define SLOT_WAITERS ((UINT64_C(0xffffff)) << SLOT_WAITER_SHIFT)
#define SLOT_VERSION_SHIFT 32

enum {
  STATE_FREE, /* or a job of a group, which has no handle and so nobody who looks */
  STATE_QUEUED,
  STATE_RUNNING,
  STATE_SUSPENDED,
  STATE_COMPLETED, /* from here on it has ended */
  STATE_FAILED,
  STATE_CANCELLED
};

/* What a job is like: set before it is queued, and then only read. */
#define TRAIT_LEVEL 3u
#define TRAIT_GROUP 4u /* of a group: no handle */
#define TRAIT_STAYS 8u
#define TRAIT_WORKERS 16u
#define TRAIT_OUTBOX 32u /* `arg` is one */
#define TRAIT_NOTIFY 64u /* `ended`, or an outbox */

/* Two cache lines; a small job of a group touches the first alone. */
struct weft__slot {
  _Alignas(64) _Atomic uint64_t word;
  weft_job_fn fn;
  _Atomic(weft_group *) group; /* relaxed: an owner peeks at what may just have been stolen */
  uint32_t next;               /* in the list of an outbox */
  _Atomic uint32_t traits;     /* relaxed, as `group` */
  _Alignas(16) unsigned char data[WEFT_JOB_BYTES];
  weft_barrier *barrier;
  void (*ended)(void *arg, weft_job job);
  void *arg;
  int32_t status;
};

#define ENTRY_STRAND UINT32_C(0x80000000)
#define ENTRY_QUIT UINT32_MAX

/* Free slots travel between threads in magazines of so many; a seat holds back so many magazines. */
#define MAGAZINE 32
#define STOCKS 4

typedef struct weft__stock {
  uint32_t *slots; /* a magazine */
  uint32_t count;
} weft__stock;

/* --- Levels and sides ---------------------------------------------------------------------- */

enum { LEVEL_CRITICAL, LEVEL_NORMAL, LEVEL_BACKGROUND, LEVELS };

/* The threads of one kind, and who of them sleeps. A search that is under way makes a wake
   unnecessary: who searches last and finds something wakes the next. */
typedef struct weft__side {
  _Alignas(64) _Atomic uint64_t asleep; /* a bit for each thread */
  _Atomic uint32_t searching;
  uint32_t first, count; /* of its seats */
} weft__side;

enum { SIDE_WORKERS, SIDE_BACKGROUND, SIDES };

/* --- Frames and strands -------------------------------------------------------------------- */

struct weft__frame {
  weft__frame *up;
  weft__slot *slot; /* NULL at the bottom */
  weft__seat *seat; /* where it runs; right only in the topmost frame of its strand */
  uint32_t level;
  uint32_t depth; /* frames below it */
};

/* Why a strand was left; done by its worker when the strand's registers are saved, and not before. */
typedef enum weft__leave {
  LEAVE_FOR_STRAND, /* it was idle and found a strand that may go on */
  LEAVE_FOR_GROUP,
  LEAVE_FOR_JOB,
  LEAVE_FOR_BARRIER,
  LEAVE_FOR_TURN,
  LEAVE_FOR_GOOD
} weft__leave;

struct weft__strand {
  weft_fiber *fiber;
  weft_pool *pool;
  weft__frame *frame; /* the topmost one, while it is not running */
  weft__frame base;
  uint32_t index;
  uint32_t pins; /* jobs on it that stay on their thread */
  char *half;    /* where half of its stack is used up */
  weft__leave leave;
  void *target;       /* what it waits for */
  uint64_t key;       /* the handle, for a job */
  weft_status woken;  /* what its wait answers */
  weft__seat *home;   /* where alone it may go on, or NULL */
  uint32_t next_wait; /* the next that waits for the same, + 1 */
  uint32_t next_mail; /* the next in its home's mail, + 1 */
  weft__strand *next_idle;
  /* 1 while it waits for a job or a barrier: whoever sets it back makes the strand go on. */
  atomic_uint armed;
  weft__stint *stints; /* of the jobs on it that a trace is told of, the innermost first */
};

/* A job at work, for a trace: it ends where the job does, or is suspended. */
struct weft__stint {
  weft__stint *outer;
  weft_job job;
  int64_t since;
};

void weft__stint_begins(weft__strand *strand, weft__stint *stint, weft_job job);
void weft__stint_ends(weft__strand *strand, const weft__stint *stint);
void weft__stints_suspend(const weft__strand *strand);
void weft__stints_go_on(const weft__strand *strand);

/* --- Seats --------------------------------------------------------------------------------- */

/* Written by the thread of the seat, read by any: relaxed. */
typedef struct weft__tally {
  _Atomic uint64_t submitted, begun, completed, failed, cancelled, stolen;
  _Atomic uint64_t lingered,
      freed;            /* jobs with handles that have ended; of these, slots given back */
  _Atomic int64_t busy; /* ns at work, of stretches that are over */
  _Atomic int64_t busy_since; /* when this stretch began, 0 between two */
} weft__tally;

struct weft__seat {
  weft__deque queues[LEVELS];
  /* The thread's own. */
  _Alignas(64) weft_pool *pool;
  weft__frame *frame;   /* the running one */
  weft__strand *strand; /* the running one; NULL for a guest */
  weft__strand *next;   /* to go on with */
  weft__strand *idle;   /* a few for later */
  uint32_t idle_count;
  uint32_t number; /* among the seats */
  uint32_t post;   /* taken out of `mail`, oldest first, + 1 */
  uint32_t searches;
  uint32_t random;
  char *half; /* where a guest, on whatever fiber of its own, runs no more jobs inside jobs */
  weft_group *owed; /* a group that has not been told yet of so many ends */
  int64_t owed_count;
  /* Free slots: `hot` and `spare`, which is full or empty, were used last and are used first; `cold` is
     for jobs with handles, and `given` what they gave back. */
  weft__stock hot, spare, cold, given;
  bool tight; /* the pool may be full: count before taking a slot */
  weft__frame base;
  weft__tally tally;
  weft__thread thread;
  /* Others'. */
  _Alignas(64) atomic_uint token; /* 1: get up */
  _Atomic uint32_t mail;          /* strands that may go on here alone, + 1 */
  _Atomic uint64_t guest;         /* the thread whose seat it is, 0 for nobody */
};

#define GUESTS 32

/* Idle strands that a seat keeps for itself. */
#define IDLE_STRANDS 16

/* --- The pool ------------------------------------------------------------------------------ */

enum {
  POOL_OPEN,
  POOL_STOPPING, /* what has not begun is cancelled */
  POOL_QUITTING, /* nothing runs: threads end */
  POOL_GONE      /* this is the child of a fork */
};

struct weft_pool {
  /* Read by all, written hardly ever. */
  atomic_uint state;
  uint64_t id;            /* of all pools of the process, ever */
  uint64_t first_version; /* shifted to where versions are in a handle */
  weft__slot *slots;
  weft__seat *seats; /* workers, background threads, guests, then one for the crowd */
  weft__strand *strands;
  uint32_t slot_count, seat_count, strand_count;
  uint32_t workers, background, threads, capacity, fibers, flags;
  size_t half_stack;
  void *host;
  void (*begin)(void *host, uint32_t worker);
  void (*end)(void *host, uint32_t worker);
  weft_pool *next;             /* in the list of all pools */
  int64_t since;               /* when it was made */
  _Atomic uint32_t seats_used; /* no guest beyond ever came */

  weft__side sides[SIDES];
  weft__inbox inboxes[LEVELS];
  weft__inbox full, empty; /* magazines of free slots, by number */
  uint32_t *magazines;
  _Alignas(64) _Atomic int32_t critical; /* entries of that level in all queues */
  _Alignas(64) _Atomic uint32_t suspended;
  _Atomic uint32_t strays; /* jobs were claimed without their entries: a hint */
  atomic_uint draining;    /* threads that wait for all jobs */
  weft__mutex crowd;       /* over the last seat, for threads that found no seat */
  weft__mutex spinning;    /* over the strands that nobody has, and over making one */
  weft__strand *idle;
  uint32_t strands_made;
  weft_fiber_pool *stacks;
};

/* --- jobs_stock.c -------------------------------------------------------------------------- */

weft_status weft__stocks_init(weft_pool *pool); /* WEFT_NOMEM */
void weft__stocks_fini(weft_pool *pool);
bool weft__stocks_valid(weft_pool *pool);

/* A free slot, for a job with a handle or for one of a group; NULL if the pool is full. A seat of NULL
   is the crowd's. */
weft__slot *weft__slot_take(weft_pool *pool, weft__seat *seat, bool handle);
void weft__slot_give(weft_pool *pool, weft__seat *seat, weft__slot *slot, bool handle);

/* Jobs that hold a slot. */
uint64_t weft__pool_used(const weft_pool *pool);

/* --- jobs_slots.c -------------------------------------------------------------------------- */

/* Makes a slot that was taken mean a new job with a handle, which is queued; returns its word. */
uint64_t weft__slot_open(weft__slot *slot, uint64_t flags);
/* The same for a job of a group; the handles of the job before are void. */
void weft__slot_void(weft__slot *slot);
/* The slot that a handle may mean, and the key with which its word is to be compared; NULL for what
   cannot be a handle. */
weft__slot *weft__slot_at(const weft_pool *pool, weft_job job, uint64_t *key);
/* An entry of a queue that meant the slot is gone. */
void weft__slot_forget(weft_pool *pool, weft__seat *seat, weft__slot *slot);
/* Whether an entry that was taken out of a queue is of no use any more. */
bool weft__slot_is_stray(const weft__slot *slot);
/* From queued to running, with an entry taken out of a queue or without one; only of this version
   if `key` is not 0. False if it had begun. */
bool weft__slot_claim(weft__slot *slot, uint64_t key, bool entry);
/* Whether the slot's running job is `state` to those that look. */
void weft__slot_mark(weft__slot *slot, uint64_t state);

/* A handle is a version and a slot's number. Each pool counts versions from a place of its own, so that
   a handle of another means nothing: in words and keys that place is 0. */
static inline weft_job weft__slot_handle(const weft_pool *pool, const weft__slot *slot,
                                         uint64_t word)
{
  uint64_t version = (word >> SLOT_VERSION_SHIFT << SLOT_VERSION_SHIFT) + pool->first_version;
  return version | ((uint64_t)(slot - pool->slots) + 1); /* 0 is no handle */
}

static inline bool weft__slot_is(uint64_t word, uint64_t key)
{
  return word >> SLOT_VERSION_SHIFT == key >> SLOT_VERSION_SHIFT;
}

static inline uint32_t weft__slot_traits(const weft__slot *slot)
{
  return atomic_load_explicit(&slot->traits, memory_order_relaxed);
}

/* --- jobs_seat.c --------------------------------------------------------------------------- */

/* The calling thread's seat at this pool, a guest's included; NULL if all guests' seats are taken.
   Never inlined: see WEFT_PER_THREAD. */
weft__seat *weft__seat_here(weft_pool *pool);
/* The seat in whose name a job runs on this thread, or NULL. Only for functions that are never inlined
   and never switch stacks; the others ask weft__seat_running. */
extern WEFT_PER_THREAD weft__seat *weft__running;
weft__seat *weft__seat_running(void);
/* Makes it so; returns the one before. */
weft__seat *weft__seat_run_as(weft__seat *seat);
/* Whether the caller stands on a strand of this seat, and can be left there. */
bool weft__seat_can_suspend(const weft__seat *seat);
weft__side *weft__seat_side(weft__seat *seat);

static inline bool weft__seat_is_guest(const weft__seat *seat)
{
  return seat->number >= seat->pool->threads;
}

static inline bool weft__pool_is_gone(const weft_pool *pool)
{
  return atomic_load_explicit(&pool->state, memory_order_relaxed) == POOL_GONE;
}

/* Adds to one's own counter; those of the crowd's seat have many writers. */
void weft__tally_crowd(_Atomic uint64_t *counter);
static inline void weft__tally_up(weft_pool *pool, weft__seat *seat, size_t counter)
{
  if (WEFT_UNLIKELY(!seat)) {
    weft__seat *crowd = &pool->seats[pool->seat_count - 1];
    weft__tally_crowd((_Atomic uint64_t *)((char *)&crowd->tally + counter));
    return;
  }
  _Atomic uint64_t *mine = (_Atomic uint64_t *)((char *)&seat->tally + counter);
  uint64_t now = atomic_load_explicit(mine, memory_order_relaxed);
  /* Release: its partner is the acquire in weft__pool_settled. */
  atomic_store_explicit(mine, now + 1, memory_order_release);
}
#define TALLY(pool, seat, counter) weft__tally_up(pool, seat, offsetof(weft__tally, counter))

/* Puts a pool on the list of all, which makes it known to forks and to threads that end; and off. */
weft_status weft__pool_enlist(weft_pool *pool);
void weft__pool_delist(weft_pool *pool);

static inline uint64_t weft__tally_ended(const weft__tally *tally)
{
  return atomic_load_explicit(&tally->completed, memory_order_acquire) +
         atomic_load_explicit(&tally->failed, memory_order_acquire) +
         atomic_load_explicit(&tally->cancelled, memory_order_acquire);
}

/* Whether every job that was submitted has ended. */
bool weft__pool_settled(const weft_pool *pool);

/* --- jobs_park.c --------------------------------------------------------------------------- */

/* Something of this level was queued: wakes a thread if all that could take it sleep. */
void weft__pool_notify(weft_pool *pool, uint32_t level);
void weft__side_wake_one(weft_pool *pool, weft__side *side);
void weft__side_wake_if_none_searches(weft_pool *pool, weft__side *side);
/* Wakes this thread of the pool, if it sleeps. */
void weft__seat_wake(weft__seat *seat);
void weft__pool_wake_all(weft_pool *pool);
/* Sleeps until woken, or not at all if there is something to do. */
void weft__seat_park(weft__seat *seat);

/* Where threads outside sleep: a few words for the whole process, by the address they wait for, so
   that who wakes them touches nothing that a waiter may have freed. */
atomic_uint *weft__event_of(const void *address);
void weft__event_raise(const void *address);

/* --- jobs_find.c --------------------------------------------------------------------------- */

/* Puts an entry where the threads of its level find it, and wakes one. */
void weft__pool_push(weft_pool *pool, weft__seat *seat, uint32_t level, uint32_t entry);
/* Something to do for a thread of the pool, by priority; false if nothing is to be found. */
bool weft__seat_find(weft__seat *seat, uint32_t *entry);
/* Anything at all that is queued, for those who must not leave it there. */
bool weft__seat_find_any(weft_pool *pool, weft__seat *seat, uint32_t *entry);
/* Whether `weft__seat_find` would have found something, in sequential consistency. */
bool weft__seat_sees_work(weft__seat *seat);
/* Takes a claimed job out of the seat's queue, if it is the newest there. */
void weft__seat_unqueue(weft__seat *seat, weft__slot *slot);
/* Forgets all entries that are of no use any more. */
void weft__pool_sweep(weft_pool *pool, weft__seat *seat);
/* The newest of a guest's own, if it may run outside and is in no hurry to be elsewhere. */
bool weft__seat_find_own(weft__seat *seat, uint32_t *entry);
/* A job of the group out of the own queue or of what came from outside, wherever it is there. What is in
   the way goes to the latter. */
bool weft__seat_dig_for_group(weft__seat *seat, const weft_group *group, uint32_t *entry);

/* --- jobs_run.c ---------------------------------------------------------------------------- */

/* Runs a job out of a queue, unless it has been run or cancelled before. */
void weft__job_begin(weft__seat *seat, uint32_t entry);
/* Runs one that was claimed. */
void weft__job_run(weft__seat *seat, weft__slot *slot);

/* It ends without having run. */
void weft__job_drop(weft_pool *pool, weft__seat *seat, weft__slot *slot);
/* A guest that is in no job looks how much of its stack is left; false if too little for a job. */
bool weft__guest_sees_room(weft__seat *seat);
/* For a thread outside that waits for everything: runs one job that it may run; false if none is left
   for it. And: any that is queued, which in a pool that is being stopped means to drop it. */
bool weft__seat_run_one(weft_pool *pool, weft__seat *seat);
bool weft__seat_run_any(weft_pool *pool, weft__seat *seat);
/* False for what is no priority. */
bool weft__level_of(weft_job_priority priority, uint32_t *level);

/* --- jobs_strand.c ------------------------------------------------------------------------- */

weft_status weft__strand_take(weft_pool *pool, weft__seat *seat, weft__strand **out);
void weft__strand_give(weft__seat *seat, weft__strand *strand);
/* Leaves the running strand until somebody makes it go on. */
weft_status weft__strand_leave(weft__seat *seat, weft__leave why, void *target, uint64_t key);
/* Makes a strand go on that waits; `seat` is the caller's, or NULL. */
void weft__strand_ready(weft_pool *pool, weft__seat *seat, weft__strand *strand);
/* Wakes a chain of strands that waited for one thing, as it was taken out of its word. */
void weft__strand_ready_all(weft_pool *pool, weft__seat *seat, uint32_t first);
/* The arming of a wait that can be interrupted: first weft__strand_refused, which is true if the pool
   is being stopped; then the strand is put where it will be found; then weft__strand_armed, or
   weft__strand_disarm if there turned out to be nothing to wait for. These two are true if somebody
   makes the strand go on. */
bool weft__strand_refused(weft__strand *strand);
bool weft__strand_armed(weft__strand *strand);
bool weft__strand_disarm(weft__strand *strand);
/* Makes a strand that waits for a job or a barrier go on, for the pool is being stopped. */
void weft__strand_interrupt(weft_pool *pool, weft__seat *seat, weft__strand *strand);
/* What a thread of the pool does until it ends. */
void weft__seat_work(void *seat);

/* --- jobs_wait.c, jobs_group.c, jobs_barrier.c ---------------------------------------------- */

/* A timeout from now on the clock; INT64_MAX is never. */
int64_t weft__deadline_in(int64_t timeout);
bool weft__deadline_passed(int64_t deadline);

/* Each arms the wait of a strand that has been left; false if there is nothing to wait for. */
bool weft__job_arm(weft__strand *strand);
bool weft__group_arm(weft__strand *strand);
bool weft__barrier_arm(weft__strand *strand);

/* `count` jobs of the group have ended. */
void weft__group_end(weft_pool *pool, weft__seat *seat, weft_group *group, int64_t count);

/* A job of the group has been queued: a thread that sleeps until the group is over may do it. */
void weft__group_call(weft_group *group);
void weft__group_fail(weft_group *group, weft_status status);
/* Tells the group what this thread owes it. */
void weft__seat_pay(weft__seat *seat);

/* As weft_group_wait, but that it never leaves the stack: the thread sleeps. */
weft_status weft__group_wait_asleep(weft_group *group);

weft_status weft__barrier_hold(weft_barrier *barrier); /* one more, and a reference */
void weft__barrier_let_go(weft__seat *seat, weft_barrier *barrier);

/* --- jobs_outbox.c ------------------------------------------------------------------------- */

void weft__outbox_hold(weft_outbox *outbox);
void weft__outbox_put(weft_pool *pool, weft_outbox *outbox, weft__slot *slot);

/* --- jobs_stats.c -------------------------------------------------------------------------- */

void weft__seat_stretch_begins(weft__seat *seat);
void weft__seat_stretch_ends(weft__seat *seat);

/* Debug walker, for a pool at rest: every slot is in exactly one place. */
bool weft__pool_valid(weft_pool *pool);

#endif
