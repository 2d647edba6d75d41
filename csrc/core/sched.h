/* SPDX-License-Identifier: MIT */
/*
** sched.h - who runs when: tasks, handles, clocks, the three lanes of a pass, cancellation.
**
** A task is a slot that sleeps, is ready, or runs. What it does when it is resumed is its owner's
** business: the scheduler knows no fibers, no Lua and no real clock, so
** it is tested with ticks that a test makes up. Starting, waiting, waking and cancelling allocate
** nothing.
**
** Not thread safe: one thread owns a scheduler.
*/
#ifndef WEFT_SCHED_H
#define WEFT_SCHED_H

#include "core/clock.h"
#include "core/heap.h"
#include "core/owner.h"
#include "core/ring.h"

#define WEFT_NO_SLOT UINT32_MAX
#define WEFT_MAX_RAISES 127            /* what a task counts */
#define WEFT_SEVERAL (UINT32_MAX - 1)  /* in place of a slot: not one, several */
#define WEFT_ON_EVENT (UINT32_MAX - 2) /* in place of a slot: an event */

/* Where a task is registered to be found again. */
typedef enum weft__place {
  WEFT_PLACE_NONE,
  WEFT_PLACE_READY,  /* the ready ring */
  WEFT_PLACE_URGENT, /* the ring of those due in real time */
  WEFT_PLACE_SIM,    /* the heap of sim deadlines */
  WEFT_PLACE_REAL,   /* the heap of real deadlines */
  WEFT_PLACE_CANCEL, /* the lane of those told to stop */
  WEFT_PLACE_FROZEN, /* the list of an owner whose clock stands still */
  WEFT_PLACE_STEPS,  /* the heap of fixed steps */
} weft__place;

/* Whether an owner has the task. Most have none, and touch no memory for it. */
typedef enum weft__owned {
  WEFT_OWNED_NOT,
  WEFT_OWNED,
  WEFT_OWNED_SCALED, /* and its waits run on the owner's own clock */
} weft__owned;

typedef struct weft__task {
  int64_t since;       /* when the wait began, on the clock it is measured by */
  uint32_t slot;       /* its own; a division by the stride would cost more than the word */
  uint32_t generation; /* of the slot; bumped when it is reused */
  uint32_t next,
      prev;           /* among the joiners of a task, in the cancel lane, or among free slots */
  uint32_t joiners;   /* the first of those that wait for this task */
  uint32_t joins;     /* the task that this one waits for, WEFT_SEVERAL or WEFT_ON_EVENT */
  uint8_t state;      /* weft_state */
  uint8_t place;      /* weft__place */
  uint8_t raises : 7; /* cancels delivered so far, at most WEFT_MAX_RAISES */
  bool hosted : 1;    /* somebody has it in a scope */
  int8_t wake;        /* weft_status: how the last wait ended */
  bool unstarted;     /* never resumed */
  uint8_t owned : 2;  /* weft__owned */
  bool on_real_time : 1; /* the clock of `since` */
  bool on_steps : 1;     /* it counts fixed steps instead */
  bool watched : 1;      /* somebody waits for it among several */
  uint8_t joined : 3;    /* weft_state with which the task it last joined has ended */
  bool alive : 1;
  bool sheltered : 1;    /* of a scope within a shield: cancels from above are held back */
  uint8_t shields : 6;   /* > 0: a cancel is held back */
  bool cancel : 1;       /* asked to stop */
  uint8_t interrupt : 7; /* as if it were, while fewer shields are up than this */
  uint32_t resumes;      /* wraps */
} weft__task;

/* What a task of an owner has beside its slot. */
typedef struct weft__member {
  int64_t due;  /* the deadline of its wait on the owner's clock, if that is one of its own */
  uint64_t tie; /* its place among equal deadlines, while it is frozen */
  uint32_t owner, next, prev;
} weft__member;

typedef struct weft__sched weft__sched;
typedef struct weft__several weft__several; /* sched_joins.h */

typedef struct weft__sched_ops {
  /* The task was cancelled before it was ever resumed. */
  void (*dropped)(weft__sched *sched, weft__task *task);
} weft__sched_ops;

typedef struct weft__sched_counts {
  uint64_t resumed, started, completed, cancelled, failed, rejected;
} weft__sched_counts;

struct weft__sched {
  const weft__sched_ops *ops;
  char *tasks; /* slot i is at tasks + i * stride; a weft__task stands at its start */
  size_t stride;
  uint32_t capacity;
  uint32_t fresh;                 /* slots from here on were never used */
  uint32_t free_first, free_last; /* used ones, the longest finished first */
  uint32_t generation_end;        /* a slot that reaches it is retired; tests lower it */
  uint8_t tag;                    /* of this world, in its handles */
  bool paused;                    /* in the running tick */
  bool prefetches;                /* in the running pass */
  bool streams;                   /* neighbours in memory are fetched by the machine itself */
  bool early;                     /* the lanes before the ready one may hold something */
  bool over;                      /* what the last pass left over of two lanes comes first */
  bool ready_turn;                /* and of that the ready lane is next */
  bool force;                     /* the last pass of a drain: waits are ended by force */
  uint32_t active;
  uint32_t budget; /* resumes a pass, UINT32_MAX without limit */
  uint32_t budget_left;
  weft__clock sim, real;
  uint64_t steps; /* fixed ones, so far */
  weft__ring ready, urgent;
  weft__heap sim_heap, real_heap;
  weft__heap step_heap; /* deadlines in fixed steps; without room if the world has none */
  /* By slot: where it stands in its heap or ring. Beside the tasks, for a sift writes those of others
     that are far from the cache. */
  uint32_t *positions;
  weft__several *several; /* by slot; memory that nobody touches until it is used */
  uint32_t hosted;        /* tasks that somebody has in a scope */
  uint64_t ring_searches; /* so far: marks of earlier ones mean nothing */
  uint32_t cancel_first, cancel_last, cancel_count;
  uint32_t cancel_pass_left; /* how many of the lane belong to the pass */
  uint32_t cancel_pass_last; /* the last of them */
  weft__task *running;
  weft__sched_counts counts;
  weft__owners owners;
  weft__member *members; /* by slot; untouched until a slot is owned */
};

/* Reserves `capacity` (1 to 2^24) slots of `stride` bytes (a multiple of 8). WEFT_NOMEM. */
weft_status weft__sched_init(weft__sched *sched, const weft__sched_ops *ops, uint32_t capacity,
                             size_t stride, uint32_t budget, uint8_t tag);
/* Room for waits for fixed steps. WEFT_NOMEM. */
weft_status weft__sched_reserve_steps(weft__sched *sched);
void weft__sched_fini(weft__sched *sched);
bool weft__sched_valid(const weft__sched *sched);

static inline weft__task *weft__sched_at(const weft__sched *sched, uint32_t slot)
{
  return (weft__task *)(sched->tasks + (size_t)slot * sched->stride);
}

static inline uint32_t weft__sched_slot(const weft__sched *sched, const weft__task *task)
{
  (void)sched;
  return task->slot;
}

/* Whether it is registered somewhere, to be found again. Who runs is not, until it arms a wait. */
static inline bool weft__sched_is_armed(const weft__task *task)
{
  return task->place != WEFT_PLACE_NONE || task->joins != WEFT_NO_SLOT;
}

/* Whether it was asked to stop, or a part of it; a shield may hold that back. */
static inline bool weft__sched_is_asked(const weft__task *task)
{
  return task->cancel || task->interrupt > 0;
}

weft_handle weft__sched_handle(const weft__sched *sched, const weft__task *task);
/* The task of a handle, alive or finished; NULL once the slot was reused. */
weft__task *weft__sched_find(const weft__sched *sched, weft_handle handle);

/* Takes a slot and queues it; the bytes behind the task are left as they are. NULL at capacity. */
weft__task *weft__sched_start(weft__sched *sched);

/* The running task has ended; wakes its joiners. Its slot is kept until it is released. */
void weft__sched_finish(weft__sched *sched, weft__task *task, weft_state state);
/* Nobody looks at the finished task any more: its slot may be reused. */
void weft__sched_release(weft__sched *sched, weft__task *task);

/* Ends the wait of a sleeping task now and makes it ready; false if it did not sleep. */
bool weft__sched_wake(weft__sched *sched, weft__task *task);

/* The running task holds cancels back, once more or once less; the last pass of a drain goes through
   all the same. False at the most it can count. */
bool weft__sched_shield(weft__sched *sched, weft__task *task, bool up);

/* What the task waits for. */
weft_waiting weft__sched_waiting(const weft__task *task);

/* Takes a task out of whatever it waits in, but for the cancel lane. */
void weft__sched_detach(weft__sched *sched, weft__task *task);

/* Takes a task that waits out of all that it waits in and makes it ready, whatever its state. */
void weft__sched_make_ready(weft__sched *sched, weft__task *task, weft_status wake);

/* True if the task was alive. */
bool weft__sched_cancel(weft__sched *sched, weft__task *task);
/* The same from above: from its owner, or for all of the world. */
void weft__sched_cancel_from_above(weft__sched *sched, weft__task *task);
/* See `weft_interrupt`. A lower level than before is for the running task alone. */
void weft__sched_interrupt(weft__sched *sched, weft__task *task, uint32_t level);
/* Whether its next wait would be told to stop. */
bool weft__sched_is_told(const weft__sched *sched, const weft__task *task);
/* See `weft_adopt`; NULL for no host. */
void weft__sched_adopt(weft__sched *sched, const weft__task *host, weft__task *child,
                       uint32_t shields);

/* --- sched_arm.c: how a wait begins --- */

/*
** Arming, for the running task: WEFT_OK, WEFT_CANCELLED or WEFT_FORCED (see `weft_arm_wait`).
** A task told to stop that waits again is put in the cancel lane for the next pass instead of
** what it asked for, and its wait then ends as cancelled.
*/
weft_status weft__sched_arm_next(weft__sched *sched, weft__task *task);
weft_status weft__sched_arm_sleep(weft__sched *sched, weft__task *task, int64_t ns, bool real);
/* Until so many fixed steps are over. WEFT_NOSTEPS. */
weft_status weft__sched_arm_steps(weft__sched *sched, weft__task *task, int64_t count);
/* `timeout` < 0 for none. */
weft_status weft__sched_arm_join(weft__sched *sched, weft__task *task, weft__task *target,
                                 int64_t timeout);
/* The same for one that is told to stop, which is told again when the target has ended. */
weft_status weft__sched_arm_last_join(weft__sched *sched, weft__task *task, weft__task *target);
/* Until `needed` (at most `count`) of those watched have ended; `*done` if they have already, then
   nothing is armed. The watches are in use until the wait is over. */
weft_status weft__sched_arm_several(weft__sched *sched, weft__task *task, weft_watch *watches,
                                    uint32_t count, uint32_t needed, int64_t timeout,
                                    bool *done);
/* Until the event is fired; see `weft_arm_event`. */
weft_status weft__sched_arm_event(weft__sched *sched, weft__task *task, weft_event *event,
                                  uint64_t value, int64_t timeout);
/* Told again next tick, whatever its count of raises. */
void weft__sched_arm_cancelled(weft__sched *sched, weft__task *task);
/* Undoes an arm, the task runs on. */
void weft__sched_disarm(weft__sched *sched, weft__task *task);
/* Nanoseconds since the last wait of the task was armed; fixed steps if it was for those. */
int64_t weft__sched_slept(const weft__sched *sched, const weft__task *task);
/* Nanoseconds until its deadline; -1 without one. */
int64_t weft__sched_wakes_in(const weft__sched *sched, const weft__task *task);

/* --- sched_owner.c: tasks that an owner has --- */

/* Gives a task that was just started to an owner that takes any: the slot of one that is alive and
   not disabled. */
void weft__sched_own(weft__sched *sched, weft__task *task, uint32_t owner);
/* From `weft__sched_finish`, for a task that is owned. */
void weft__sched_disown(weft__sched *sched, const weft__task *task);
/* Its clock: the owner's. */
int64_t weft__sched_local_now(const weft__sched *sched, const weft__task *task);
/* The clock that the sim waits of any task run on. */
static inline int64_t weft__sched_now(const weft__sched *sched, const weft__task *task)
{
  return WEFT_UNLIKELY(task->owned == WEFT_OWNED_SCALED) ? weft__sched_local_now(sched, task)
                                                         : sched->sim.now;
}
/* The deadline of a task with a clock of its own, once it has begun to wait. */
void weft__sched_add_local_deadline(weft__sched *sched, weft__task *task, int64_t ns);
/* Each cancels what the owner and those below it have, in the order in which it was started, owners
   before their children. True if it was not disabled, or destroyed, before. */
bool weft__sched_disable(weft__sched *sched, uint32_t owner);
bool weft__sched_destroy(weft__sched *sched, uint32_t owner);
/* Times the scale of its parent; finite and >= 0. */
void weft__sched_scale(weft__sched *sched, uint32_t owner, double scale);

/* One pass: what is to stop, what was left over, what is due in real time, what is ready, what is due
   in sim time. */
void weft__sched_begin_pass(weft__sched *sched);
/* A pass over the cancel lane alone. */
void weft__sched_begin_drain(weft__sched *sched);
/* Takes the next task of the pass out of its lane and makes it the running one; NULL at the end, and
   none runs. The task runs until it waits (armed) or has ended (`weft__sched_finish`). */
weft__task *weft__sched_take(weft__sched *sched);

/* How many resumes ahead (measured with the shuffled rows of the bench: nearer is too late,
   farther falls out of the first cache again). */
#define WEFT_AHEAD_TASK 14
#define WEFT_AHEAD_FAR 10
#define WEFT_AHEAD_MIDDLE 7
#define WEFT_AHEAD_NEAR 4

static inline void weft__prefetch_task(const weft__task *task)
{
  __builtin_prefetch(task);
  __builtin_prefetch((const char *)task + 64);
}

/* The task at a position of the ready ring, which may be before the pass begins; NULL if there is
   none. */
static inline weft__task *weft__sched_ahead(const weft__sched *sched, uint32_t position)
{
  uint32_t slot = weft__ring_look(&sched->ready, position);
  return slot != WEFT_RING_HOLE ? weft__sched_at(sched, slot) : NULL;
}

/* Prefetches a task that comes up, and shows three that come up sooner and sooner, each NULL if
   there is none; false if there is none at all. */
static inline bool weft__sched_look_ahead(const weft__sched *sched, uint32_t head,
                                          weft__task *ahead[3])
{
  const weft__ring *ring = &sched->ready;
  uint32_t here = ring->items[head & ring->mask];
  uint32_t there = ring->items[(head + WEFT_AHEAD_TASK) & ring->mask];
  if (sched->streams && there - here == WEFT_AHEAD_TASK) return false;
  const weft__task *task = weft__sched_ahead(sched, head + WEFT_AHEAD_TASK);
  if (task) weft__prefetch_task(task);
  ahead[0] = weft__sched_ahead(sched, head + WEFT_AHEAD_FAR);
  ahead[1] = weft__sched_ahead(sched, head + WEFT_AHEAD_MIDDLE);
  ahead[2] = weft__sched_ahead(sched, head + WEFT_AHEAD_NEAR);
  return ahead[0] || ahead[1] || ahead[2];
}

#endif
