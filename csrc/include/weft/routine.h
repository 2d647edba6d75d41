/* SPDX-License-Identifier: MIT */
/* routine.h - straight-line code that waits over many ticks; part of weft.h. */
#ifndef WEFT_PUBLIC_ROUTINE_H
#define WEFT_PUBLIC_ROUTINE_H

#include "world.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/* How many ns its resumes have taken by the clock: all of them in a world with `slow_resume_ns`, up to
   now for the one that runs; else those while a trace ran, and -1 in a world that has not ticked in one
   (see weft/trace.h). */
int64_t weft_routine_wall(const weft_world *world, const weft_routine *routine);
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
** count anew), or call `weft_arm_next_tick_forced` to be told again next tick, and by each further wait.
** The rest as for the pinned calls; `weft_arm_join` answers WEFT_OK with `*done` true, and arms
** nothing, if it has ended already; so does `weft_arm_any` if enough have.
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

#ifdef __cplusplus
}
#endif

#endif
