/* SPDX-License-Identifier: MIT */
/*
** weft.h - the whole public C API of weft: gameplay routines on native fibers.
**
** A `weft_world` owns routines and the clock they live by. The host calls `weft_world_tick`
** once a frame; the tick resumes each routine that is due. A routine is straight-line code: it
** calls `weft_wait` and goes on, ticks later, with its locals alive.
**
** Threads: a world belongs to the OS thread that made it. Every function that takes a world or
** acts on the running routine must be called there, but for those that post (`weft_world_post` and
** posters), which any thread may call. Those that answer a status answer WEFT_THREAD elsewhere where
** that can be told; the others are not checked. Fibers belong to the thread that made their pool.
**
** Failure: functions answer 0 or a negative `weft_status`. Out parameters are written only on
** success. The library never prints, exits or reads the environment; the one exception is the
** stack overflow message (see `weft_catch_overflow`), which a host can turn off.
**
** Time: whole nanoseconds (`int64_t`) everywhere but in `weft_world_tick`, whose `dt` is a
** double of seconds as engines have it, and in `fixed_step`, which is measured against it. Deadlines
** within 1 us of the clock count as due.
*/
#ifndef WEFT_H
#define WEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The plain declarations that LuaJIT reads too stand in a file without preprocessor lines. */
#include "weft_ffi.h"

#define WEFT_VERSION "0.1.0"

/* --- Statuses ------------------------------------------------------------------------------ */

/* One line per status: name, value, text. 0 is success; the positive ones tell of waits. */
#define WEFT_STATUSES(X)                                                                       \
  X(WEFT_FIRED, 2, "the event was fired")                                                      \
  X(WEFT_PARKED, 1, "the body armed a wait and gave its stack back")                           \
  X(WEFT_OK, 0, "no error")                                                                    \
  X(WEFT_INVALID, -1, "an argument is out of its range")                                       \
  X(WEFT_NOMEM, -2, "not enough memory")                                                       \
  X(WEFT_FULL, -3, "no free slot: the capacity is used up")                                    \
  X(WEFT_CLOSED, -4, "the event is closed, or the world is")                                   \
  X(WEFT_EXPIRED, -5, "the handle's slot was reused: its routine is long gone")                \
  X(WEFT_TIMEOUT, -6, "the time limit passed first")                                           \
  X(WEFT_CANCELLED, -7, "cancelled")                                                           \
  X(WEFT_FORCED, -8, "cancelled, and to be ended by force: it swallowed too many cancels")     \
  X(WEFT_OUTSIDE, -9, "not inside a routine")                                                  \
  X(WEFT_BUSY, -10, "not allowed inside a tick")                                               \
  X(WEFT_ALIVE, -11, "not allowed while a routine is alive")                                   \
  X(WEFT_THREAD, -12, "called from a thread that does not own the object")                     \
  X(WEFT_SELF, -13, "a routine cannot join itself")                                            \
  X(WEFT_RING, -14, "the join would close a ring of routines that wait for each other")        \
  X(WEFT_NOSTACK, -15, "no native stack: the system refused the memory")                       \
  X(WEFT_MAPCOUNT, -16, "no native stack: raise the sysctl vm.max_map_count")                  \
  X(WEFT_FAILED, -17, "the body failed")                                                       \
  X(WEFT_DESTROYED, -18, "the owner is destroyed")                                             \
  X(WEFT_DISABLED, -19, "the owner, or one above it, is disabled")                             \
  X(WEFT_NOSTEPS, -20, "the world has no fixed steps: configure it with a fixed_step")         \
  X(WEFT_PENDING, -30, "it has not ended yet")                                                 \
  X(WEFT_NOFIBERS, -31,                                                                        \
    "as many jobs are suspended as the pool has fibers: configure it with more")               \
  X(WEFT_STOPPED, -32, "the job pool is being stopped, or is gone")                            \
  X(WEFT_OWN_JOB, -33, "a job cannot wait for itself")

enum {
#define WEFT_STATUS_ENUM(name, value, text) name = (value),
  WEFT_STATUSES(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
};

/* --- Fibers -------------------------------------------------------------------------------- */

/*
** A fiber is a native stack of its own that can be entered and left at will. Pools keep stacks
** mapped and guarded, so that starting a fiber costs a few nanoseconds. Fibers are the ground
** that routines stand on; most hosts never need them bare.
*/
typedef struct weft_fiber weft_fiber;
typedef struct weft_fiber_pool weft_fiber_pool;
typedef void (*weft_fiber_fn)(void *arg);

/* What `weft_fiber_pool_stats` tells. */
typedef struct weft_fiber_stats {
  size_t stack_bytes; /* usable bytes of each stack, rounded up to whole pages */
  uint32_t mapped;    /* stacks mapped so far */
  uint32_t busy;      /* stacks with a fiber on them that has not ended */
  uint32_t max_busy;  /* the most that were busy at once */
} weft_fiber_stats;

/*
** Makes a pool of at most `max_stacks` (1 to 2^24) stacks of `stack_bytes` (16 KiB to 1 GiB;
** rounded up to pages; the guard comes on top). Stacks are mapped in slabs when first needed.
** WEFT_INVALID, WEFT_NOMEM.
*/
weft_status weft_fiber_pool_new(size_t stack_bytes, uint32_t max_stacks, weft_fiber_pool **out);

/* Unmaps the stacks. A fiber that has not ended is dropped as it stands. NULL is allowed. */
void weft_fiber_pool_delete(weft_fiber_pool *pool);

void weft_fiber_pool_stats(const weft_fiber_pool *pool, weft_fiber_stats *out);

/*
** Takes a stack and sets `fn(arg)` up on it; nothing runs yet. The fiber ends, and its stack
** returns to the pool, when `fn` returns. WEFT_FULL at `max_stacks`; WEFT_NOMEM, WEFT_NOSTACK or
** WEFT_MAPCOUNT when the system refuses; the pool is as it was.
*/
weft_status weft_fiber_start(weft_fiber_pool *pool, weft_fiber_fn fn, void *arg,
                             weft_fiber **out);

/*
** Runs `fiber` until it yields or ends; returns true while it has not ended. After false the
** pointer is dead. Only the fiber's own thread may call it, and never for a running fiber.
*/
bool weft_fiber_resume(weft_fiber *fiber);

/* Leaves the running fiber: its `weft_fiber_resume` returns. Must be called on a fiber. */
void weft_fiber_yield(void);

/* The fiber this thread runs on; NULL on the thread's own stack. */
weft_fiber *weft_fiber_current(void);

/* Bytes between the deepest point the stack ever saw written and its top; 0 for a fresh one. */
size_t weft_fiber_high_water(const weft_fiber *fiber);

/* Bytes left on the running fiber's stack below the caller; SIZE_MAX off fibers. */
size_t weft_fiber_stack_left(void);

/*
** An overflow of a fiber's stack runs into a guard. With the handler installed (it runs on an
** alternate signal stack of the installing thread) the process prints which routine it was and
** what to raise, then lets the handler that was there before act. Called by `weft_world_new`, from
** Lua too, unless the host said `weft_leave_signals`. Harmless when called again. WEFT_NOMEM,
** WEFT_INVALID.
*/
weft_status weft_catch_overflow(void);

/* For a host with handlers of its own: from now on worlds leave SIGSEGV and SIGBUS alone. To be
   called before the first world is made; any thread. */
void weft_leave_signals(void);

/* --- Worlds -------------------------------------------------------------------------------- */

typedef enum weft_phase {
  WEFT_PRE_UPDATE,   /* stage 5 */
  WEFT_FIXED_UPDATE, /* stage 5, after preUpdate, once for each fixed step that is over */
  WEFT_UPDATE,       /* stage 5, after that */
  WEFT_POST_UPDATE,  /* stage 7 */
} weft_phase;

/* Fixed steps that a tick runs at most; those beyond it are dropped, and counted. */
#define WEFT_MAX_FIXED_STEPS 8

typedef enum weft_priority { WEFT_HIGH, WEFT_NORMAL } weft_priority;

typedef enum weft_state {
  WEFT_STATE_QUEUED,     /* unstarted, or woken and not yet resumed */
  WEFT_STATE_RUNNING,    /* on the processor now */
  WEFT_STATE_SLEEPING,   /* in any kind of wait */
  WEFT_STATE_CANCELLING, /* asked to stop, not ended yet */
  WEFT_STATE_COMPLETED,
  WEFT_STATE_CANCELLED,
  WEFT_STATE_FAILED,
  WEFT_STATE_EXPIRED, /* the slot belongs to a later routine */
} weft_state;

/* What a routine that does not run waits for. */
typedef enum weft_waiting {
  WEFT_WAITING_NOTHING, /* it runs, or has ended */
  WEFT_WAITING_START,   /* its first resume */
  WEFT_WAITING_TURN,    /* woken, its resume */
  WEFT_WAITING_TICK,    /* the next tick */
  WEFT_WAITING_TIME,    /* sim time */
  WEFT_WAITING_REAL_TIME,
  WEFT_WAITING_ROUTINE, /* the end of another; or several, events among them */
  WEFT_WAITING_EVENT,
  WEFT_WAITING_CANCEL, /* to be told that it was cancelled */
  WEFT_WAITING_STEPS,  /* fixed steps */
} weft_waiting;

/* How many swallowed cancels a routine gets before `weft_arm_*` and `weft_wait` answer
   WEFT_FORCED. */
#define WEFT_MAX_SWALLOWED 8

/* What a timer calls. `intervals`: how many are over since the last call, 1 or more. Runs outside any
   routine: it may do all but wait and tick. */
typedef void (*weft_timer_fn)(void *arg, weft_timer timer, int64_t intervals);

/*
** What a host plugs into a world; every function may be NULL. They are called on the world's
** thread; `prefetch` and `describe` must not call back into the world, `dropped` and `ended` may
** start, cancel and ask, but not wait or tick.
*/
typedef struct weft_world_hooks {
  void *host; /* passed to each hook */
  /* Stage 3: deliver what was sent before. Runs on the stack that ticks. */
  void (*messages)(void *host);
  /* The systems of one phase; `dt` is the raw dt of the tick, in WEFT_FIXED_UPDATE the fixed step.
     Runs on the stack that ticks. */
  void (*phase)(void *host, weft_phase phase, double dt);
  /* A routine was cancelled before it was ever entered: release what its argument owns. */
  void (*dropped)(void *host, weft_routine *routine);
  /* The body has returned, the state is final, the slot and its record are not reused before this
     returns. `joined`: somebody waited for it. Runs on a fiber, outside any routine. */
  void (*ended)(void *host, weft_routine *routine, bool joined);
  /* An owner was destroyed and nothing that it owned is left. Its handle means nothing any more;
     `data` is what `weft_owner_set_data` left there. Children come before their parents. */
  void (*owner_ended)(void *host, weft_owner owner, void *data);
  /* The calls of stage 4, for a host whose timers are all of one kind; see `weft_timer_next`. NULL for
     the library's own loop. Runs on the stack that ticks. */
  void (*timers)(void *host, weft_world *world);
  /* A timer is over: it was cancelled, alone or with its owner, or the library's own loop has made its
     last call. Releases what its argument owns; must not call back into the world. */
  void (*timer_ended)(void *host, weft_timer timer, weft_timer_fn fn, void *arg);
  /* Three routines that come up soon, the last one soonest: prefetch what their bodies touch, in
     three steps, each of which follows a pointer that the step before brought into the cache. */
  void (*prefetch)(void *host, weft_routine *far, weft_routine *middle, weft_routine *near);
  /* The loop of a pass, for a host whose bodies are all of one kind and that wants to enter them
     without a call in between; see `weft_pass_next`. NULL for the library's own. */
  bool (*loop)(void *host, weft_world *world);
  /* A resume takes longer than `slow_resume_ns`, or, if `over`, than `max_resume_ns`. Called again and
     again until it ends, in a signal handler on the world's thread, in the middle of the routine: no
     allocation, no locks, no call of this library that acts. */
  void (*overrun)(void *host, weft_routine *routine, bool over);
  /* It took longer than `slow_resume_ns`, for about so many ns. Called when the pass is over, on the
     stack that ticks, for at most eight of a pass. */
  void (*slow)(void *host, weft_handle routine, int64_t ns);
  /* Writes where the routine's code stands, such as "file:line", for the overflow message.
     Called inside a signal handler: no allocation, no locks. */
  void (*describe)(void *host, weft_routine *routine, char *text, size_t size);
} weft_world_hooks;

typedef struct weft_world_config {
  uint32_t capacity;         /* routines alive at once, 1 to 2^24; 0 means 256 */
  uint32_t resumes_per_tick; /* 0 means no limit */
  uint32_t posts_per_tick;   /* 0 means 128 */
  size_t stack_bytes;        /* 16 KiB to 1 GiB; 0 means 64 KiB */
  uint32_t timers;   /* to reserve, at most 2^24; more are made room for as they are armed */
  double fixed_step; /* seconds, 1e-6 to 1e9; 0 for none */
  size_t
      record_bytes; /* the host's own bytes in each routine's slot, zeroed at start; at most 4096 */
  /*
  ** Limits in ns on one resume, 0 for none: the hooks `overrun` and `slow` tell of longer ones. With one
  ** set, a thread watches a count of resumes, about four times in each limit, and sends SIGURG to the
  ** world's thread when it has to; no clock is read per resume. So what is longer than a limit by less
  ** than a quarter may be missed.
  */
  int64_t slow_resume_ns, max_resume_ns;
  weft_world_hooks hooks;
} weft_world_config;

typedef struct weft_world_stats {
  uint32_t active;   /* routines alive */
  uint32_t sleeping; /* in a wait, nextTick included */
  uint32_t ready;    /* queued to be resumed */
  uint32_t pinned;   /* suspended with their native stack */
  uint32_t capacity;
  uint32_t stacks; /* native stacks mapped */
  size_t stack_bytes;
  uint64_t resumed; /* resumes since the world was made */
  uint64_t started, completed, cancelled, failed, rejected;
  uint32_t posts;         /* waiting to be run */
  uint64_t slow;          /* resumes over `slow_resume_ns` that were seen */
  uint32_t timers;        /* alive, paused ones too */
  uint64_t fixed_steps;   /* run since the world was made */
  uint64_t dropped_steps; /* not run: a tick was over more than WEFT_MAX_FIXED_STEPS of them */
} weft_world_stats;

/* Makes a world; NULL config means all defaults. Memory for `capacity` routines is reserved here
   and in `weft_world_configure`, nowhere later; for `timers` timers too, and for more when more are
   alive than ever before. WEFT_INVALID, WEFT_NOMEM, WEFT_NOSTACK. */
weft_status weft_world_new(const weft_world_config *config, weft_world **out);

/* Replaces the configuration; clocks, counters, owners and timers are kept. WEFT_ALIVE while a routine lives,
   WEFT_BUSY inside a tick; on any failure the world is as it was. */
weft_status weft_world_configure(weft_world *world, const weft_world_config *config);

/* Drops every routine as it stands (its cleanups do not run: cancel and tick first for that)
   and frees the world. Posts that have not run are dropped, and timers, untold. WEFT_BUSY inside a
   tick, WEFT_THREAD. NULL is allowed. */
weft_status weft_world_delete(weft_world *world);

/*
** One simulation tick of `dt` seconds, 0 to 9e9. The order of its stages is API: time, posts,
** messages, timers, systems (preUpdate, fixedUpdate, update), routines, systems (postUpdate). Writes how many
** routines were resumed. WEFT_INVALID for a dt that is out of range, not finite, or would run
** over the clock; WEFT_BUSY inside a tick of any world on this thread; WEFT_THREAD.
*/
weft_status weft_world_tick(weft_world *world, double dt, uint64_t *resumed);

/*
** Cancels every timer and every routine and runs retirement passes, at most `passes` (8 is what scripts get), until
** none is left; no time passes. In the last pass a wait answers WEFT_FORCED. Writes how many
** routines are still alive. WEFT_BUSY, WEFT_THREAD.
*/
weft_status weft_world_drain(weft_world *world, uint32_t passes, uint32_t *left);

/*
** A way into a world for other threads: `fn(arg)` is run on the world's thread, in stage 2 of a tick,
** high priority first, then the oldest, at most `posts_per_tick` of them; so the posts of one thread
** and priority run in their order. What is posted meanwhile waits for the next tick.
**
** A poster is counted, and outlives its world: any thread may call it at any time. It is refused with
** WEFT_CLOSED once `weft_world_delete` has begun; before that returns, each post that was accepted has
** been run, or its `drop(arg)` called there (NULL is allowed; it must not use the world), and none runs
** later.
*/
typedef struct weft_poster weft_poster;

/* The world's, with a reference for the caller. Any thread, while the world lives. */
weft_poster *weft_world_poster(weft_world *world);
weft_poster *
weft_poster_retain(weft_poster *poster);       /* one reference more; the poster itself */
void weft_poster_release(weft_poster *poster); /* NULL is allowed */

/* Never runs `fn` itself. WEFT_FULL at 2^20 waiting posts of a priority, WEFT_NOMEM, WEFT_INVALID,
   WEFT_CLOSED; then neither `fn` nor `drop` is called. */
weft_status weft_poster_post(weft_poster *poster, void (*fn)(void *arg),
                             void (*drop)(void *arg), void *arg, weft_priority priority);

/*
** Posts, and blocks this thread until `fn` has returned; on the world's own thread it calls it at
** once, inside a tick or not. WEFT_CLOSED: it was not run, and never will be. The rest as above. Do not
** call it with a lock that the world's thread takes, nor on a thread that the world's waits for.
*/
weft_status weft_poster_send(weft_poster *poster, void (*fn)(void *arg), void *arg,
                             weft_priority priority);

/* The same by the world itself, which must live until they have been called; a send also outlasts it. */
weft_status weft_world_post(weft_world *world, void (*fn)(void *arg), void *arg,
                            weft_priority priority);
weft_status weft_world_send(weft_world *world, void (*fn)(void *arg), void *arg,
                            weft_priority priority);

/* Sim time and the routines' waits stand still from the next tick on; real time goes on. */
void weft_world_pause(weft_world *world);
void weft_world_resume(weft_world *world);
bool weft_world_is_paused(const weft_world *world);

/* sim time += dt * scale; finite and >= 0, else WEFT_INVALID. WEFT_THREAD. */
weft_status weft_world_set_time_scale(weft_world *world, double scale);

int64_t weft_world_sim_time(const weft_world *world);  /* ns */
int64_t weft_world_real_time(const weft_world *world); /* ns */
uint64_t weft_world_tick_count(const weft_world *world);
void weft_world_stats_get(const weft_world *world, weft_world_stats *out);
bool weft_world_in_tick(const weft_world *world);
uint32_t weft_world_active(const weft_world *world); /* routines alive */

/* The `host` of the hooks the world was configured with. */
void *weft_world_host(const weft_world *world);

/* The world whose tick runs on this thread, or NULL. */
weft_world *weft_world_ticking(void);

/* --- The real clock ------------------------------------------------------------------------ */

/* Monotonic nanoseconds of the machine; worlds never read it by themselves. Any thread. */
int64_t weft_clock(void);
/* Sleeps until `weft_clock` shows `ns`; signals do not cut it short. Any thread. */
void weft_sleep_until(int64_t ns);

/* --- Routines ------------------------------------------------------------------------------ */

/*
** A routine's code. It may wait in two ways:
**  - on its stack: call `weft_wait` and friends; the fiber keeps the stack (a pinned wait);
**  - compact: call one `weft_arm_*`, and when that gave WEFT_OK return WEFT_PARKED; the stack
**    goes back to the pool and the body is entered again when the wait is over, where
**    `weft_woken` tells how it ended.
** It ends by returning WEFT_OK (completed), WEFT_CANCELLED or WEFT_FORCED (cancelled; completed
** is what a body that was asked to stop and returns WEFT_OK is), or any other negative status
** (failed).
*/
typedef weft_status (*weft_body)(weft_routine *self, void *arg);

/* Queues a routine; never runs it inline. WEFT_FULL at capacity, WEFT_INVALID, WEFT_THREAD. */
weft_status weft_routine_start(weft_world *world, weft_body body, void *arg, weft_handle *out);

/* The same as one of those that `owner` has; 0 is nobody. Also WEFT_DESTROYED, WEFT_DISABLED. */
weft_status weft_routine_start_owned(weft_world *world, weft_owner owner, weft_body body,
                                     void *arg, weft_handle *out);

/* WEFT_STATE_EXPIRED for a handle of another world or of a slot that was reused. */
weft_state weft_routine_state(const weft_world *world, weft_handle handle);

/* Asks a routine to stop; true if it was alive. Unstarted: cancelled at once, its body never
   runs. Waiting: its wait answers WEFT_CANCELLED in the next routine stage. Running: its next
   wait does. A routine that goes on waiting is told again once a tick. */
bool weft_cancel(weft_world *world, weft_handle handle);

/* The routine a handle means while it is alive, else NULL; and back. */
weft_routine *weft_routine_find(const weft_world *world, weft_handle handle);
weft_handle weft_routine_handle(const weft_world *world, const weft_routine *routine);
/* The first live routine at or after slot `*cursor`; moves the cursor past it; NULL at the end. */
weft_routine *weft_routine_each(const weft_world *world, uint32_t *cursor);
/* The body and the argument it was started with. */
weft_body weft_routine_body(const weft_routine *routine);
void *weft_routine_arg(const weft_routine *routine);
/* The host's own bytes of the slot (`record_bytes`), aligned to 8. */
void *weft_routine_record(const weft_routine *routine);
/* The slot's number, 0 to capacity - 1: an index for tables of the host. */
uint32_t weft_routine_slot(const weft_world *world, const weft_routine *routine);
weft_state weft_routine_state_of(const weft_routine *routine);
weft_waiting weft_routine_waiting(const weft_routine *routine);
/* How often it was resumed; wraps at 2^32. */
uint32_t weft_routine_resumes(const weft_routine *routine);
/* About how many ns it has run, by the looks that found it running, each of which stands for the time
   between two; -1 in a world that is not watched (see `slow_resume_ns`). */
int64_t weft_routine_cpu(const weft_world *world, const weft_routine *routine);
/* Whether it was asked to stop. */
bool weft_routine_cancelled(const weft_routine *routine);
/* Whether somebody waits for it to end. */
bool weft_routine_has_joiners(const weft_routine *routine);
/* Whether it keeps a native stack. */
bool weft_routine_pinned(const weft_routine *routine);
/* Nanoseconds until its deadline on the clock it waits on; -1 without one. */
int64_t weft_routine_wakes_in(const weft_world *world, const weft_routine *routine);
/* Cancels as `weft_cancel` does. */
bool weft_routine_cancel(weft_world *world, weft_routine *routine);
/* Ends the wait of a sleeping routine now, as if it were over; false if it does not sleep. */
bool weft_routine_wake(weft_world *world, weft_routine *routine);

/* The running routine of this thread, or NULL. */
weft_routine *weft_self(void);

/*
** For the `loop` hook, on the fiber it is called on and nowhere else:
**
**   while ((routine = weft_pass_next(world)) != NULL) {
**     if (weft_pass_ahead(world, ahead)) prefetch what ahead[0], [1] and [2] touch, as the hook does;
**     if (!weft_pass_resume(world, routine)) return false;
**   }
**   return true;
**
** `weft_pass_next` takes the next routine and makes it the running one; NULL at the end of the pass.
** `weft_pass_resume` runs it until it waits or ends. In its place a host may run the body itself, if
** the routine is not pinned, and hand what it returned to `weft_pass_leave`; a body that returned
** WEFT_PARKED and did not pin the routine needs not even that. False from either means that the
** routine kept this stack meanwhile: the loop must return false at once.
*/
weft_routine *weft_pass_next(weft_world *world);
bool weft_pass_ahead(weft_world *world, weft_routine *ahead[3]); /* false: not worth it now */
bool weft_pass_resume(weft_world *world, weft_routine *routine);
bool weft_pass_leave(weft_world *world, weft_routine *routine, weft_status status);

/*
** Raises (`up`) or lowers a shield of the running routine: while one is up a cancel is held back, and
** waits work as if it had not been asked for; the next wait after the last was lowered is told. The
** last pass of `weft_world_drain` goes through shields. False if `self` is not the running routine, at
** 63 shields, and if none is up to be lowered.
*/
bool weft_shield(weft_world *world, weft_routine *self, bool up);

/* How many shields are up. */
uint32_t weft_shields(const weft_routine *routine);

/*
** For hosts that build scopes: parts of routines that can be stopped alone. While a level above 0 is
** set, the routine is told as if it were cancelled, where fewer shields are up than the level says; 0
** takes that back, and what it has swallowed is forgotten. `weft_routine_cancelled` does not tell of
** it. False for an unstarted or ended routine, for a level over 64, and for a lower one than before
** of a routine that does not run.
*/
bool weft_interrupt(weft_world *world, weft_routine *routine, uint32_t level);
/* Whether its next wait would be told, of a cancel or of an interrupt. */
bool weft_told(const weft_world *world, const weft_routine *routine);

/*
** `host` has `child` in a scope and will not end before it: from now on that counts as waiting for it,
** where rings of joins are looked for and for the `ended` hook. With `shields` > 0 up where the scope
** began, or if the host is such a child itself, cancels that come through the child's owner or
** `weft_world_drain` leave it to its host, but for the last pass. It holds until the child has ended;
** a NULL host takes it back, which is due if the host ends first all the same.
*/
void weft_adopt(weft_world *world, weft_routine *host, weft_routine *child, uint32_t shields);

/* Pinned waits of the running routine. WEFT_OK; WEFT_CANCELLED; WEFT_OUTSIDE; WEFT_INVALID for a
   negative time or one over 1e9 s; WEFT_NOSTACK, WEFT_NOMEM or WEFT_MAPCOUNT if no stack could be
   had to go on with the others (then it did not wait). 0 ns is the next tick. */
weft_status weft_wait(int64_t ns);
weft_status weft_wait_unscaled(int64_t ns);
weft_status weft_next_tick(void);

/* Waits for so many fixed steps from now, at least 1; it goes on once those of a tick have been run, so
   once a tick at most. Writes how many have passed, unless `passed` is NULL. Steps that were dropped do
   not count. WEFT_NOSTEPS in a world without; WEFT_INVALID; and what `weft_wait` answers. */
weft_status weft_wait_fixed(int64_t count, int64_t *passed);

/* Waits until the routine has ended; `timeout` in ns of sim time, negative for none. WEFT_OK (ask
   `weft_routine_state` how it ended), WEFT_TIMEOUT, WEFT_EXPIRED, WEFT_SELF, WEFT_RING and what
   `weft_wait` answers. */
weft_status weft_join(weft_handle handle, int64_t timeout);

/*
** For a wait for several, routines and events mixed: one of these for each, in the caller's memory,
** zeroed but for `handle`, or for `event` in its place. It must stay where it is until the wait is
** over; a stack that parks compactly does not. `state` is below WEFT_STATE_COMPLETED until what it
** is on has come: then it tells how the routine has ended, or that the event was fired
** (WEFT_STATE_COMPLETED, with `value`) or closed (WEFT_STATE_EXPIRED). What the caller knows to have
** come may be handed in with its state, and is then not looked for.
*/
typedef struct weft_watch {
  weft_handle handle; /* of one routine; twice the same is fine */
  struct weft_event *event;
  uint64_t value;          /* what the event was fired with */
  weft_state state;        /* WEFT_STATE_EXPIRED if nobody knows any more how it ended */
  uint32_t waiter, target; /* the rest is the library's */
  bool told, turn, hidden;
  void *sched;
  struct weft_watch *next, *prev;
} weft_watch;

/* Waits until `needed` of the `count` have come: 1 for any of them, `count` for all.
   WEFT_OK, and each watch tells whether its own has; WEFT_TIMEOUT; WEFT_SELF; WEFT_RING if fewer
   than needed could come before the caller ends; WEFT_INVALID if more are needed than there are; and
   what `weft_wait` answers. The others are let go of at once: who ends later has not been waited for.
   Those that join a routine are woken before those that wait for several, each kind in the order of
   arming. `timeout` as for `weft_join`. */
weft_status weft_join_any(weft_watch *watches, uint32_t count, uint32_t needed,
                          int64_t timeout);

/*
** Arms a wait without leaving: the compact half of the calls above, for the running routine.
** WEFT_OK: armed; now return WEFT_PARKED or call `weft_park`. WEFT_CANCELLED: not armed, unwind.
** WEFT_FORCED: not armed; it swallowed WEFT_MAX_SWALLOWED cancels: end it if you can (its cleanups
** count anew), or call `weft_arm_next_tick_forced` to be told again next tick. The rest as for the pinned calls;
** `weft_arm_join` answers WEFT_OK with `*done` true, and arms nothing, if it has ended already;
** so does `weft_arm_any` if enough have.
*/
weft_status weft_arm_wait(weft_world *world, weft_routine *self, int64_t ns);
weft_status weft_arm_wait_unscaled(weft_world *world, weft_routine *self, int64_t ns);
weft_status weft_arm_next_tick(weft_world *world, weft_routine *self);
weft_status weft_arm_wait_fixed(weft_world *world, weft_routine *self, int64_t count);
weft_status weft_arm_join(weft_world *world, weft_routine *self, weft_handle handle,
                          int64_t timeout, bool *done);
weft_status weft_arm_any(weft_world *world, weft_routine *self, weft_watch *watches,
                         uint32_t count, uint32_t needed, int64_t timeout, bool *done);
weft_status weft_arm_next_tick_forced(weft_world *world, weft_routine *self);
/* For one that was told to stop and has to see another end first: it is told again when that has ended,
   in the same pass if it can be, and that does not count as swallowed. As `weft_arm_join`; WEFT_OUTSIDE
   if it is not told, WEFT_FORCED in the last pass of `weft_world_drain`. */
weft_status weft_arm_last_join(weft_world *world, weft_routine *self, weft_handle handle,
                               bool *done);

/* Leaves with an armed wait, keeping the stack; answers as `weft_woken`, or why it could not
   leave (then the wait is disarmed). */
weft_status weft_park(weft_world *world, weft_routine *self);

/* Undoes an arm: the routine, which must be the running one, goes on as if it had not been. */
void weft_disarm(weft_world *world, weft_routine *self);

/* How the last wait ended: WEFT_OK; WEFT_FIRED instead of it if there was an event to wait for;
   WEFT_CLOSED if there was that event alone; WEFT_TIMEOUT, WEFT_CANCELLED. */
weft_status weft_woken(const weft_routine *self);

/* How the routine that the last join waited for has ended; it is known also when the slot of that
   routine has been reused since. */
weft_state weft_joined(const weft_routine *self);

/* Nanoseconds the last wait took, on the clock it waited on; after a wait for fixed steps: how many
   passed. */
int64_t weft_slept(const weft_world *world, const weft_routine *self);

/* The clock that `weft_wait` of this routine runs on, in ns. A deadline on it that is at most
   WEFT_DUE_SLACK_NS ahead counts as due. */
int64_t weft_now(const weft_world *world, const weft_routine *self);
#define WEFT_DUE_SLACK_NS 999

/* --- Events -------------------------------------------------------------------------------- */

/*
** An event is what routines wait for until somebody fires it: the ground for signals, locks, queues,
** answers from elsewhere. It stands in the host's memory, zeroed but for `hooks`, and any number of
** routines, of all worlds of the thread, may wait for it. Nothing here allocates.
**
** A fire reaches those that wait at that moment and is not remembered. They are made ready, in waiting
** order, and run in the next routine stage of their world; who is cancelled before that gives back
** what it was told (see `lost`). When the time limit of a wait is due in the same tick the fire wins
** if it comes before the routine stage.
**
** An event must stay where it is while `waiting` or `told` is not 0. It may be fired and closed on
** the thread of those that wait for it, inside and outside of ticks.
*/
typedef struct weft_event weft_event;

typedef struct weft_event_hooks {
  /* Somebody stops waiting who was told nothing: cancelled, out of time, closed, or it has got what
     it needed elsewhere. `value` is what its wait was armed with. Must not call the library. */
  void (*left)(weft_event *event, uint64_t value);
  /* Somebody was told `value`, and was cancelled before it ran or waits in vain for the others of an
     `all`. May fire and close events, not start or cancel. NULL: what `weft_event_fire_one` gave goes to
     the next one that waits. */
  void (*lost)(weft_event *event, uint64_t value);
} weft_event_hooks;

struct weft_event {
  const weft_event_hooks *hooks; /* or NULL */
  weft_watch *first;             /* the rest is the library's: a ring, in waiting order */
  uint32_t waiting;              /* who waits, entries of `weft_join_any` included */
  uint32_t told; /* who was told, might still give it back, and has not run yet */
};

/* Tells all that wait; how many that were. `value` comes to each of them unchanged. */
uint32_t weft_event_fire(weft_event *event, uint64_t value);
/* Tells the one that has waited longest; false if nobody waits. */
bool weft_event_fire_one(weft_event *event, uint64_t value);
/* The waits of all that wait end with WEFT_CLOSED. The event is as good as new then. */
uint32_t weft_event_close(weft_event *event);
/* Who has waited longest, and with what the wait was armed; 0 if nobody waits. */
weft_handle weft_event_first(const weft_event *event, uint64_t *value);

/* The event that a routine waits for; NULL if that is not what it does, or if it waits for several, or
   for a descriptor. */
weft_event *weft_routine_event(const weft_world *world, const weft_routine *routine);

/* Waits for the next fire; `timeout` as for `weft_join`. WEFT_OK, and `*value` (NULL is allowed) is
   what it was fired with; WEFT_CLOSED, WEFT_TIMEOUT and what `weft_wait` answers. */
weft_status weft_wait_event(weft_event *event, int64_t timeout, uint64_t *value);

/* The compact half; WEFT_OK: armed. `value` is for the hooks, and for `weft_event_first`. */
weft_status weft_arm_event(weft_world *world, weft_routine *self, weft_event *event,
                           uint64_t value, int64_t timeout);

/* What the event that ended the last wait was fired with; for the running routine. */
uint64_t weft_received(const weft_world *world, const weft_routine *self);

/* That event; NULL if the last wait was not for one event of the host's alone. */
weft_event *weft_received_from(const weft_world *world, const weft_routine *self);

/* The running routine was resumed with WEFT_FIRED and will not take what it was told: it is given
   back as if the routine had been cancelled before it ran. */
void weft_decline(weft_world *world, weft_routine *self);

/* --- Descriptors --------------------------------------------------------------------------- */

typedef enum weft_fd_mode { WEFT_READ, WEFT_WRITE } weft_fd_mode;

/*
** Waits until a file descriptor can be read or written without blocking, or is at its end or broken,
** which reading and writing will tell. The world asks the system once a tick, in stage 2 after the
** posts, for all of them at once, so the wait takes a tick at least; all that wait for it are woken,
** descriptors in the order in which they came. `timeout` as for `weft_join`. WEFT_OK; WEFT_CLOSED for
** a descriptor that is not open, or was closed meanwhile and its number not used again; WEFT_TIMEOUT;
** WEFT_INVALID for a negative one; WEFT_NOMEM; and what `weft_wait` answers. More descriptors than
** ever before need memory.
*/
weft_status weft_wait_fd(int fd, weft_fd_mode mode, int64_t timeout);

/* The compact half: resumed with WEFT_FIRED, WEFT_CLOSED and so on; see `weft_woken`. */
weft_status weft_arm_fd(weft_world *world, weft_routine *self, int fd, weft_fd_mode mode,
                        int64_t timeout);

/* Sleeps until `weft_clock` shows `ns`, or until a descriptor that a routine of the world waits for
   has something to tell: true then. A tick is what tells it. */
bool weft_world_sleep_until(weft_world *world, int64_t ns);

/* --- Owners -------------------------------------------------------------------------------- */

/*
** An owner stands for an actor, a scene, a component: what it owns ends with it. Owners form a tree.
** A handle is weak: once the owner is over it means nothing, also when its slot is used again. Owners
** outlive `weft_world_configure` and end with their world, untold. A call that is refused changes
** nothing; those that answer bool answer false on a thread that does not own the world, too.
*/

/* `parent` 0 for none. WEFT_DESTROYED for a parent that is, or is of another world; WEFT_FULL at 2^24
   owners, WEFT_NOMEM, WEFT_THREAD. */
weft_status weft_owner_new(weft_world *world, weft_owner parent, weft_owner *out);

/* Not destroyed. False for a handle of another world. */
bool weft_owner_alive(const weft_world *world, weft_owner owner);

/* Cancels what it and those below it own, and refuses to start more until it is enabled; that
   restarts nothing. True if that changed anything. */
bool weft_owner_disable(weft_world *world, weft_owner owner);
bool weft_owner_enable(weft_world *world, weft_owner owner);

/* Cancels what it and those below it own, and ends it and them: at once if nothing is left, else when
   the last routine has ended. True if it was alive. */
bool weft_owner_destroy(weft_world *world, weft_owner owner);
/* All of the world's. */
void weft_owner_destroy_all(weft_world *world);

/* Times the sim time of its parent, at last the world's, for the waits of what it owns and of those
   below it, from now on: they and their time limits run on that clock. At 0 it stands still, and
   `weft_next_tick` goes on. WEFT_INVALID unless finite and >= 0, WEFT_DESTROYED, WEFT_THREAD. */
weft_status weft_owner_set_time_scale(weft_world *world, weft_owner owner, double scale);

/* A word of the host's, NULL at first; it is kept until the owner is over. WEFT_DESTROYED then. */
weft_status weft_owner_set_data(weft_world *world, weft_owner owner, void *data);
weft_status weft_owner_get_data(const weft_world *world, weft_owner owner, void **data);

/* The number of its slot, from 1: an index for tables of the host. */
uint32_t weft_owner_slot(weft_owner owner);

/* Who owns a routine; 0 for nobody. */
weft_owner weft_routine_owner(const weft_world *world, const weft_routine *routine);

/* --- Timers -------------------------------------------------------------------------------- */

/*
** A timer calls a function in stage 4 of a tick: once, at an interval, or in each tick; those due in
** real time first, then those due in sim time, each by deadline, and those of the same deadline in the
** order in which they were made. What is due is collected before any is called; what a call does to
** others, also to those that are due in the same tick, counts at once. A timer that was made inside a
** tick first fires in a later one.
**
** It is called at most once a tick and told how many intervals are over since its last call: nothing
** drifts, nothing is lost, and a long tick brings no storm. It is armed for its next call before it
** is called, so a call may cancel or pause its own timer; before its last call it is over.
**
** Handles are weak, as those of routines. Those functions that answer bool or a number answer false
** or 0 for a timer that is over, and on a thread that does not own the world.
*/

typedef struct weft_timer_options {
  int64_t delay;    /* ns until the first call, 0 to 1e18; 0 is the next tick */
  int64_t period;   /* ns from one to the next, 0 to 1e18; 0 is each tick */
  int64_t count;    /* it ends after so many intervals: 1 is one call; 0 for no end */
  weft_owner owner; /* with which it ends, and on whose clock it runs; 0 for nobody */
  bool unscaled;    /* on real time, paused or not */
} weft_timer_options;

/* Arms a timer. Allocates only if more are alive than ever before. `out` may be NULL. WEFT_INVALID,
   WEFT_DESTROYED, WEFT_DISABLED, WEFT_FULL at 2^24 timers, WEFT_NOMEM, WEFT_THREAD. */
weft_status weft_timer_start(weft_world *world, const weft_timer_options *options,
                             weft_timer_fn fn, void *arg, weft_timer *out);

bool weft_timer_alive(const weft_world *world, weft_timer timer);

/* Each is true if that changed anything. A paused timer keeps what is left of its wait, and goes on
   with that: its later calls move by the length of the pause. */
bool weft_timer_cancel(weft_world *world, weft_timer timer);
bool weft_timer_pause(weft_world *world, weft_timer timer);
bool weft_timer_resume(weft_world *world, weft_timer timer);

/* Nanoseconds of its clock until its next call. */
int64_t weft_timer_remaining(const weft_world *world, weft_timer timer);

/* A tag is a number from 1 that timers have in common. Gives out one that no timer has: that which
   nobody has had for longest. WEFT_FULL at 2^24 - 1, WEFT_NOMEM, WEFT_THREAD. */
weft_status weft_timer_tag_new(weft_world *world, uint32_t *out);
/* In place of the one that the timer has; 0 for none. False also for a tag that was not given out. */
bool weft_timer_set_tag(weft_world *world, weft_timer timer, uint32_t tag);

typedef enum weft_timer_deed {
  WEFT_TIMER_CANCEL,
  WEFT_TIMER_PAUSE,
  WEFT_TIMER_RESUME
} weft_timer_deed;

/* Does it to all that have a tag, in the order in which they got it; to all that an owner and those
   below it have. How many that changed. */
uint32_t weft_timers_of_tag(weft_world *world, uint32_t tag, weft_timer_deed deed);
uint32_t weft_timers_of_owner(weft_world *world, weft_owner owner, weft_timer_deed deed);

/*
** For the `timers` hook and nowhere else: the next call of the stage, until it answers false. The host
** makes it, by `call.fn` or as it sees fit, and releases what `arg` owns after the last one.
*/
typedef struct weft_timer_call {
  weft_timer timer;
  weft_timer_fn fn;
  void *arg;
  int64_t intervals;
  bool last; /* the timer is over */
} weft_timer_call;

bool weft_timer_next(weft_world *world, weft_timer_call *call);

/* --- Buffers ------------------------------------------------------------------------------- */

/*
** An object that several threads may hold; it ends when the last of them lets it go. Any thread may
** call these. `weft_counted_new` gives `size` zeroed bytes, aligned as by malloc, to its first
** holder, or NULL without memory; `end`, unless NULL, is called before they are freed, by whichever
** thread let go last. Dropping NULL does nothing.
*/
void *weft_counted_new(size_t size, void (*end)(void *object));
void *weft_counted_keep(void *object); /* one holder more; answers the object */
void weft_counted_drop(void *object);

/* What the elements of a buffer are. The names are "i8" and so on. */
typedef enum weft_type {
  WEFT_I8,
  WEFT_U8,
  WEFT_I16,
  WEFT_U16,
  WEFT_I32,
  WEFT_U32,
  WEFT_I64,
  WEFT_F32,
  WEFT_F64,
} weft_type;

#define WEFT_TYPES 9
#define WEFT_MAX_ELEMENTS 0x7FFFFFFF

const char *weft_type_name(weft_type type); /* "?" for no type */
size_t weft_type_bytes(weft_type type);     /* of one element; 0 for no type */

/*
** A buffer is memory for elements of one type. Any thread may hold it and touch its elements; who
** does so when is for the holders to agree on. Lua counts loans for that, of the buffers that it
** knows; C code that was given one by Lua uses it until its job has ended.
*/
typedef struct weft_buffer weft_buffer;

/* Zeroed, at a multiple of 64 bytes, for its first holder. At most WEFT_MAX_ELEMENTS, else
   WEFT_INVALID; WEFT_NOMEM. */
weft_status weft_buffer_new(weft_type type, size_t count, weft_buffer **out);
weft_buffer *weft_buffer_keep(weft_buffer *buffer);
void weft_buffer_drop(weft_buffer *buffer);

void *weft_buffer_data(const weft_buffer *buffer);
size_t weft_buffer_count(const weft_buffer *buffer); /* of elements */
weft_type weft_buffer_type(const weft_buffer *buffer);

/* Bytes of elements in all buffers of the process. */
size_t weft_buffer_all_bytes(void);

/* --- Jobs ---------------------------------------------------------------------------------- */

/*
** A pool runs jobs, which are C functions, on OS threads of its own. A job may wait, for other jobs
** and for barriers: it stands on a fiber and is suspended, and its thread goes on with other jobs. It
** may go on on another thread afterwards: let no address of a thread-local variable, and no OS mutex,
** live across a wait.
**
** Unless it says otherwise, a function here may be called from any thread, from inside jobs too, and
** several worlds may share a pool. In a child of a fork the pool is gone: calls answer WEFT_STOPPED
** there, and `weft_pool_delete` frees what the child has of it. Timeouts are nanoseconds of the real
** clock from now; 0 only looks, negative is no limit.
*/

/* What "normal" is can be asked for with a zero. */
typedef enum weft_job_priority {
  WEFT_PRIORITY_NORMAL,
  WEFT_PRIORITY_CRITICAL,  /* before what is normal, but for one search in 61 */
  WEFT_PRIORITY_BACKGROUND /* on threads of its own, which the system prefers less */
} weft_job_priority;

typedef enum weft_job_state {
  WEFT_JOB_QUEUED,
  WEFT_JOB_RUNNING,
  WEFT_JOB_SUSPENDED, /* in a wait, without a thread */
  WEFT_JOB_COMPLETED,
  WEFT_JOB_FAILED,
  WEFT_JOB_CANCELLED, /* before it began */
  WEFT_JOB_EXPIRED    /* the slot belongs to a later job */
} weft_job_state;

typedef struct weft_pool_config {
  int32_t
      workers; /* threads, at most 64; 0 means one less than processors, at least 1; negative
                         none: then only who waits for a job runs it */
  int32_t background; /* threads for background jobs, at most 64; 0 means 1; negative none: then
                         the workers run those, when nothing else is to be done */
  uint32_t capacity;  /* jobs that have not ended, or are kept, 1 to 2^20; 0 means 4096 */
  size_t stack_bytes; /* of each fiber, 16 KiB to 1 GiB; 0 means 64 KiB */
  uint32_t fibers;    /* jobs that may be suspended at once, 1 to 2^16; 0 means 256 */
  uint32_t flags;     /* WEFT_POOL_... */
  /* Called on each thread of the pool when it begins and when it ends; either may be NULL. `worker`
     is its number: workers from 0, then the background threads. */
  void *host;
  void (*begin)(void *host, uint32_t worker);
  void (*end)(void *host, uint32_t worker);
} weft_pool_config;

/* For those who look for faults: a suspended job always goes on on another worker than it was on. */
#define WEFT_POOL_MIGRATE 1
/* And: who waits never runs what it waits for by itself, if it can be suspended. */
#define WEFT_POOL_SUSPEND 2

/*
** Starts the threads and reserves the slots; later only stacks are mapped, when more jobs are
** suspended than ever before. WEFT_INVALID; WEFT_NOMEM, also when the system gives no threads;
** WEFT_NOSTACK, WEFT_MAPCOUNT.
*/
weft_status weft_pool_new(const weft_pool_config *config, weft_pool **out);

/*
** Stops the pool: what has not begun is cancelled, waits for jobs and barriers answer WEFT_STOPPED, as
** do further submissions; what runs is waited for. Then the threads end and the pool is freed.
** WEFT_TIMEOUT if something still runs: the pool is stopped and has to be deleted again. WEFT_BUSY
** from one of its jobs. NULL is allowed. Nobody else may use the pool once this has returned WEFT_OK,
** nor be about to.
*/
weft_status weft_pool_delete(weft_pool *pool, int64_t timeout);

/* Waits until every job that was submitted has ended. From outside jobs only, else WEFT_BUSY.
   WEFT_TIMEOUT, WEFT_STOPPED. */
weft_status weft_pool_wait_all(weft_pool *pool, int64_t timeout);

typedef struct weft_pool_stats {
  uint32_t workers;   /* threads, background ones included */
  uint32_t active;    /* of these, those that are at work now */
  uint32_t pending;   /* jobs that have not begun */
  uint32_t suspended; /* jobs in a wait */
  uint64_t completed; /* since the pool was made, as the three below */
  uint64_t failed;    /* the function answered a negative status */
  uint64_t cancelled;
  uint64_t stolen;    /* taken out of the queue of another thread */
  double average_ms;  /* time at work by ended jobs */
  double utilisation; /* time at work by time, of all threads since they began: 0 to 1 */
} weft_pool_stats;

void weft_pool_stats_get(const weft_pool *pool, weft_pool_stats *out);

/* The utilisation of one thread, by number as in `begin`; 0 where there is none. */
double weft_pool_utilisation(const weft_pool *pool, uint32_t worker);

/* --- Single jobs --------------------------------------------------------------------------- */

/*
** A job's code. `data` is the job's own copy of what it was submitted with, aligned to 16; it may
** leave its result there. It ends by returning WEFT_OK or a positive number (completed) or a negative
** status (failed).
*/
typedef weft_status (*weft_job_fn)(void *data);

/* The most bytes that are copied; a job that needs more is given a pointer to them. */
#define WEFT_JOB_BYTES 64

/* The slot stays the job's until `weft_job_release`, so that its result can be had for certain. */
#define WEFT_JOB_KEEP 1
/* Once begun it goes on on the same thread after each wait. */
#define WEFT_JOB_STAYS 2
/* It runs on threads of the pool alone, not on one outside that waits for it. */
#define WEFT_JOB_WORKERS 4

typedef struct weft_barrier weft_barrier;
typedef struct weft_outbox weft_outbox;

typedef struct weft_job_options {
  weft_job_priority priority;
  uint32_t flags; /* WEFT_JOB_... */
  weft_barrier
      *barrier; /* one is added to it now, and released when the job has ended in any way */
  weft_outbox *outbox; /* gets the job when it has ended; as with WEFT_JOB_KEEP */
  /*
  ** Called once when the job has ended in any way, on the thread where that happened, which may be one
  ** that cancels it or stops the pool. State and result are there and stay until this returns. It must
  ** not wait. Not together with an outbox.
  */
  void (*ended)(void *arg, weft_job job);
  void *arg;
} weft_job_options;

/*
** Queues `fn` with a copy of `size` bytes at `data` (0 to WEFT_JOB_BYTES); never runs it inline. NULL
** options are all zeroes. `out` may be NULL. WEFT_FULL, also of the barrier; WEFT_STOPPED;
** WEFT_INVALID.
*/
weft_status weft_job_submit(weft_pool *pool, weft_job_fn fn, const void *data, size_t size,
                            const weft_job_options *options, weft_job *out);

/* Slots are reused oldest-ended first; then the handle is WEFT_JOB_EXPIRED, for ever. */
weft_job_state weft_job_state_of(const weft_pool *pool, weft_job job);

/* How it has ended: WEFT_OK, or the status of its function, or WEFT_CANCELLED; and the first `size`
   bytes of its data. WEFT_PENDING, WEFT_EXPIRED, WEFT_INVALID. */
weft_status weft_job_result(const weft_pool *pool, weft_job job, void *data, size_t size);

/*
** Waits until the job has ended. A job that waits for one that has not begun runs it there and then,
** while half of its own stack is free; else it is suspended. A thread outside does too, whatever the
** timeout but 0, unless the job has WEFT_JOB_WORKERS; else it sleeps. What is waited for takes the
** priority of who waits, if that is higher. WEFT_OK; WEFT_TIMEOUT; WEFT_EXPIRED; WEFT_OWN_JOB;
** WEFT_STOPPED; WEFT_NOFIBERS, or WEFT_NOSTACK, WEFT_NOMEM or WEFT_MAPCOUNT if no fiber could be had
** (then it did not wait); WEFT_INVALID for a timeout above 0 inside a job.
*/
weft_status weft_job_wait(weft_pool *pool, weft_job job, int64_t timeout);

/* True if it had not begun: it never will, and has ended as cancelled when this returns. */
bool weft_job_cancel(weft_pool *pool, weft_job job);

/* Gives the slot of an ended job with WEFT_JOB_KEEP, or from an outbox, free; of one that has not
   ended, it will be free when it has. Once for each such job. */
void weft_job_release(weft_pool *pool, weft_job job);

/* The running job's handle, 0 outside jobs and in jobs of groups, which have none; its pool, or NULL;
   the number of this thread as in `weft_pool_config`, -1 on threads of no pool. */
weft_job weft_job_self(void);
weft_pool *weft_job_pool(void);
int32_t weft_job_worker(void);

/* Inside a job: lets what is queued have a turn. WEFT_OUTSIDE elsewhere, and where the job cannot be
   suspended, because a thread outside runs it; WEFT_NOFIBERS and what stands for it above. */
weft_status weft_job_yield(void);

/* --- Groups -------------------------------------------------------------------------------- */

/*
** A group is any number of jobs that are waited for together: the cheapest way to fork and join. It
** stands in the memory of whoever begins it, most often on its stack, and belongs to that job or
** thread, which alone may wait for it. Jobs of the group may run more jobs in it.
*/
typedef struct weft_group {
  int64_t word; /* the rest is the library's */
  int64_t begun;
  weft_pool *pool;
  void *owner;
  void *waiter;
  int32_t failed;
  uint32_t level;
} weft_group;

/* Begins a group of one priority. Inside a job WEFT_PRIORITY_NORMAL means that of the job. */
void weft_group_begin(weft_group *group, weft_pool *pool, weft_job_priority priority);

/* Queues a job, as `weft_job_submit` does; there is no handle and no result but its status. */
weft_status weft_group_run(weft_group *group, weft_job_fn fn, const void *data, size_t size);

/*
** Waits until all have ended. Who waits runs jobs of the group meanwhile, its newest first, and no
** others; then it is suspended, or a thread outside sleeps. After WEFT_OK the group may be used again
** or go away. WEFT_THREAD for one that does not own it; WEFT_NOFIBERS and what stands for it in
** `weft_job_wait`: then it has not waited, and must not let the group go.
*/
weft_status weft_group_wait(weft_group *group);

/* The first negative status that a job of it returned, WEFT_CANCELLED if one did not begin, else
   WEFT_OK. After the wait. */
weft_status weft_group_failed(const weft_group *group);

/* --- Barriers ------------------------------------------------------------------------------ */

/*
** A barrier is a count that any job or thread may add to and release, and wait for to become zero; then
** all who wait go on, and what is added afterwards is a new round, which does not hold those of the
** last one. A barrier that nothing was added to lets everybody through. It must be deleted before its
** pool is; jobs that were submitted with it may still run then.
*/
weft_status weft_barrier_new(weft_pool *pool, uint32_t count, weft_barrier **out);
void weft_barrier_delete(weft_barrier *barrier); /* nobody may wait for it; NULL is allowed */

#define WEFT_BARRIER_MAX 1048575

/* WEFT_FULL beyond WEFT_BARRIER_MAX, WEFT_INVALID for 0. */
weft_status weft_barrier_add(weft_barrier *barrier, uint32_t count);
/* WEFT_INVALID if there is nothing to release. */
weft_status weft_barrier_release(weft_barrier *barrier);
/* As `weft_job_wait`, but that nothing is run meanwhile. */
weft_status weft_barrier_wait(weft_barrier *barrier, int64_t timeout);
uint32_t weft_barrier_count(const weft_barrier *barrier);

/* --- Ranges -------------------------------------------------------------------------------- */

/* Called for parts [first, last) of a range. A negative status ends it: no further part begins. */
typedef weft_status (*weft_range_fn)(size_t first, size_t last, void *arg);

/* The numbers 0 to count - 1, each in exactly one part of at most `grain` of them; 0 means that the
   pool decides. Either `fn`, or a kernel with its arguments, which must stay where they are. */
typedef struct weft_range {
  size_t count;
  size_t grain;
  weft_range_fn fn;
  void *arg;
  weft_kernel kernel;
  const weft_value *args;
  size_t nargs;
} weft_range;

/*
** Runs a range, the caller taking part, and waits until it is done. Threads that have nothing to do
** take halves of what is left of the others' (lazy binary splitting: Tzannes, Caragea, Barua and
** Vishkin, PPoPP 2010). WEFT_OK, or the first negative status of a part; WEFT_INVALID, WEFT_STOPPED;
** and if a fiber cannot be had to wait on, the thread sleeps.
*/
weft_status weft_range_run(weft_pool *pool, const weft_range *range,
                           weft_job_priority priority);

/* The same as a job, whose status is that of the range. */
weft_status weft_range_start(weft_pool *pool, const weft_range *range,
                             const weft_job_options *options, weft_job *out);

/* --- Outboxes ------------------------------------------------------------------------------ */

/*
** Where one consumer, such as a world, collects the jobs that have ended: each exactly once, those of a
** thread in the order in which they ended. It is never full and allocates nothing. `wake`, if not NULL,
** is called on the thread that ended a job when the outbox was empty; it must not wait.
*/
weft_status weft_outbox_new(weft_pool *pool, void (*wake)(void *arg), void *arg,
                            weft_outbox **out);

/* The next job that has ended, to be released with `weft_job_release`; false if there is none now. One
   thread at a time. */
bool weft_outbox_take(weft_outbox *outbox, weft_job *out);

/* What is in it, or comes later, is released by itself. Before the pool is deleted, by the thread that
   takes; NULL is allowed. */
void weft_outbox_delete(weft_outbox *outbox);

#ifdef __cplusplus
}
#endif

#endif
