/* SPDX-License-Identifier: MIT */
/* event.h - what routines wait for until somebody fires it; part of weft.h. */
#ifndef WEFT_PUBLIC_EVENT_H
#define WEFT_PUBLIC_EVENT_H

#include "routine.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
