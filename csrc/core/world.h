/* SPDX-License-Identifier: MIT */
/*
** world.h - what a world is made of; shared by world.c (its life and its tick) and routine.c (what
** runs in it). The joint of scheduler and fibers: neither knows the other.
*/
#ifndef WEFT_WORLD_H
#define WEFT_WORLD_H

#include "core/fiber.h"
#include "core/posts.h"
#include "core/sched.h"
#include "core/spans.h"
#include "core/timers.h"
#include "core/watch.h"
#include "core/world_fd.h"

#define WEFT_MAX_WAIT_NS (INT64_C(1000000000) * 1000000000)

struct weft_routine {
  weft__task task; /* first: the scheduler's slot is the routine */
  weft_body body;
  void *arg;
  weft_fiber *fiber; /* whose stack it keeps while it is pinned, else NULL */
  /* The host's record follows. */
};

/* A resume that took too long, until it is told; so many in one pass. */
#define WEFT_SLOW_KEPT 8

typedef struct weft__slow {
  weft_handle handle;
  uint64_t number; /* of the resume */
  int64_t since;   /* ns; seen by the watch */
  int64_t lasted;  /* so far */
} weft__slow;

/* What the looks of the watch have found of a slot; the watch's thread writes it. */
typedef struct weft__sampled {
  atomic_uint_least64_t generation; /* of the slot, when it was seen last */
  atomic_int_least64_t ns;
} weft__sampled;

/* How long the routine in a slot has run, of the resumes that were measured. */
typedef struct weft__wall {
  uint32_t generation; /* of the slot */
  int64_t ns;
} weft__wall;

/* Measures each resume of a world. */
typedef struct weft__meter {
  int64_t (*clock)(void); /* ns; weft_clock, but where a test has another */
  int64_t since;          /* when the resume began that runs, or the last look */
  weft__wall *running;    /* of who runs, in `walls`; NULL outside passes */
  weft__wall walls[];     /* by slot; of generation 0: never resumed */
} weft__meter;

/* What a world has to know between two spans; see world_spans.c. */
typedef struct weft__spans_of_world {
  bool on;           /* in the running tick */
  const char *stage; /* or NULL */
  int64_t tick_began, stage_began;
  int64_t resume_began; /* 0: none is under way */
  weft_handle handle;   /* of the routine, with its name and place */
  uint32_t slot, generation;
  char name[WEFT_SPAN_NAME];
  weft__wall *walls; /* by slot; or NULL */
} weft__spans_of_world;

/* What is to be done before a resume of the running pass, for the loops to ask one question. */
enum { WEFT_PASS_AHEAD = 1, WEFT_PASS_SPANS = 2 };

struct weft_world {
  weft__sched sched;
  weft_poster *poster; /* what other threads reach it by */
  weft__fds fds;
  weft__timers timers;
  weft_fiber_pool *pool;
  weft_fiber *runner;  /* runs the passes; whoever waits on its stack keeps it */
  weft_fiber *spare;   /* the next runner, made before the runner may be left; or NULL */
  size_t record_words; /* of the host's record in each slot */
  bool pass_done;
  uint32_t pinned;
  double time_scale;
  double step_ns; /* of sim time that no fixed step has used up; may be a little less than 0 */
  uint64_t dropped_steps;
  bool paused; /* from the next tick on */
  bool in_tick;
  uint8_t pass_extras; /* WEFT_PASS_... */
  uint64_t tick_count;
  uint64_t thread; /* that made it */
  weft_world_config config;
  weft__watch *watch;     /* or NULL */
  weft__sampled *sampled; /* by slot, of the watch; or NULL */
  weft__meter *meter;     /* where each resume is measured, or NULL */
  /* Written in the signal handler. */
  weft__slow slow[WEFT_SLOW_KEPT];
  volatile uint32_t slow_count;
  uint64_t slow_total;
  weft__spans_of_world spans;
};

/* A poster of this thread's, with one reference: the world's. WEFT_NOMEM. */
weft_status weft__poster_new(weft_poster **out);
/* Refuses posts from here on, drops what waits, and gives the world's reference back. */
void weft__poster_close(weft_poster *poster);
/* How many wait, by priority. */
void weft__poster_count(weft_poster *poster, uint32_t counts[2]);
/* Stage 2. */
void weft__run_posts(weft_world *world);

/* Watches the calling thread as the configuration asks; NULL if it does not. */
weft_status weft__watch_world(weft_world *world, const weft_world_config *config,
                              weft__watch **out, weft__sampled **sampled);
void weft__unwatch_world(weft__watch *watch, weft__sampled *sampled);
/* Those of the pass that is over; there is one at least. */
void weft__tell_slow(weft_world *world);

/* A tick, or another run of routines, of which a trace is to know. */
void weft__spans_begin_tick(weft_world *world);
void weft__spans_end_tick(weft_world *world);
/* Ends the stage before, and begins one of that name unless it is NULL. */
void weft__spans_stage(weft_world *world, const char *name);
/* Ends the resume before, if there is one, and begins that of the running routine. */
void weft__spans_begin_resume(weft_world *world);
void weft__spans_end_resume(weft_world *world);
/* Frees what the slots have; they are about to be others. */
void weft__spans_drop(weft_world *world);

static inline void weft__stage(weft_world *there, const char *name)
{
  if (WEFT_UNLIKELY(there->spans.on)) weft__spans_stage(there, name);
}

/* What measures resumes as the configuration asks; NULL if it does not. WEFT_NOMEM. */
weft_status weft__meter_new(const weft_world_config *config, weft__meter **out);
/* The next routine of the pass; the time up to now goes to the last one. */
weft__task *weft__meter_take(weft_world *world);
/* What it has measured; up to now for the one that runs. */
int64_t weft__meter_of(const weft__meter *meter, const weft__task *task);

/* The scheduler's view of routines. */
extern const weft__sched_ops weft__routine_ops;

/* What a runner fiber does, with the world. */
void weft__runner(void *world);

/* Prefetches for the first resumes of a pass, which have nobody before them to do it. */
void weft__begin_look_ahead(weft_world *world);

/* The systems of one phase. */
void weft__run_phase(weft_world *world, weft_phase phase, double dt);

/* Whether a length of fixed steps, 0 for none, is in range; and the steps that are over after so many
   seconds more of sim time. */
bool weft__fixed_step_fits(double seconds);
void weft__run_fixed_steps(weft_world *world, double seconds);

/* Stage 4. */
void weft__run_timers(weft_world *world);

/* As `ended` of its timers: passed on to the host. */
void weft__timer_ended(weft__timers *timers, weft_timer timer, weft_timer_fn fn, void *arg);

/* Tells the host of the owners of which nothing is left. */
void weft__tell_ended_owners(weft_world *world);

/* Whether it is the routine that runs there. */
static inline bool weft__is_running(const weft_world *there, const weft_routine *self)
{
  return there && self && there->sched.running == &self->task;
}

/* Parks with what was armed, and tells how the wait ended, WEFT_OK for an event as well. WEFT_FORCED
   cannot be obeyed in the middle of a C stack: it is told as a cancel, a tick later. */
weft_status weft__park_armed(weft_world *world, weft_routine *self, weft_status armed);

/* Makes the world this thread's ticking one, and back. */
void weft__set_ticking(weft_world *world);

/* NULL for NULL: the task stands first. */
static inline weft_routine *weft__routine_of(weft__task *task)
{
  return (weft_routine *)task;
}

static inline weft_world *weft__world_of(weft__sched *sched)
{
  return WEFT_CONTAINER_OF(sched, weft_world, sched);
}

#endif
