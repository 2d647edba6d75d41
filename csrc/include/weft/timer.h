/* SPDX-License-Identifier: MIT */
/* timer.h - calls at a deadline, without a routine; part of weft.h. */
#ifndef WEFT_PUBLIC_TIMER_H
#define WEFT_PUBLIC_TIMER_H

#include "world.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
