/* SPDX-License-Identifier: MIT */
/* world.h - what owns routines, and the clock that they live by; part of weft.h. */
#ifndef WEFT_PUBLIC_WORLD_H
#define WEFT_PUBLIC_WORLD_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  /* Writes a short name for people, for traces; `text` holds one already, for hosts that know none. Must
     not call back into the world. */
  void (*label)(void *host, weft_routine *routine, char *text, size_t size);
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
  ** world's thread when it has to. So what is longer than a limit by less than a quarter may be missed.
  ** With `slow_resume_ns` the clock is read once per resume as well, for `weft_routine_wall`.
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
** An answer that a world is to hear of comes to it as a post. So that it can come whatever happens, its
** place is reserved when the call is made: then the post cannot be refused for want of memory or of
** room. Each place that was reserved is used by one post, which also uses it when it answers WEFT_CLOSED,
** or given back. Any thread, as `weft_poster_post`. WEFT_FULL, WEFT_NOMEM, WEFT_CLOSED, WEFT_INVALID.
*/
weft_status weft_poster_reserve(weft_poster *poster, weft_priority priority);
weft_status weft_poster_post_reserved(weft_poster *poster, void (*fn)(void *arg),
                                      void (*drop)(void *arg), void *arg,
                                      weft_priority priority);
void weft_poster_unreserve(weft_poster *poster, weft_priority priority);

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

#ifdef __cplusplus
}
#endif

#endif
