/* SPDX-License-Identifier: MIT */
/*
** sched_joins.h - who waits for whose end: the joiners of a task, those that watch several tasks and
** events at once, and the rings that either could close. A part of the scheduler, called by its own
** files alone.
*/
#ifndef WEFT_SCHED_JOINS_H
#define WEFT_SCHED_JOINS_H

#include "core/sched.h"

/* What a slot needs to wait for several, to be watched and to be hosted; read only where its task
   says so. */
struct weft__several {
  weft_watch *watches;  /* those of its wait, in the caller's memory */
  weft_watch *watchers; /* the first of those that are on this task: a ring */
  uint32_t count;       /* watches of its wait */
  uint32_t linked;      /* of those, how many are on a task that lives */
  uint32_t left;        /* how many of those have yet to end */
  uint32_t seen;        /* in the search `counted`: watches on tasks that are stuck */
  uint64_t counted;     /* the last search for a ring that came by */
  uint64_t stuck;       /* the last one in which the task could not end */
  uint32_t next_stuck;  /* the next one that search found, or WEFT_NO_SLOT */
  uint32_t next_lost;   /* of those whose time is over with something to give back */
  bool on_events;       /* there are events among the watches of its wait */
  weft_watch own;       /* that of a wait for one event */
  uint32_t host;        /* the task that has this one in a scope */
};

static inline weft__several *weft__several_of(const weft__sched *sched, uint32_t slot)
{
  return sched->several + slot;
}

/* `task` joins `target`, behind those that do already. */
void weft__joins_add(weft__sched *sched, weft__task *target, weft__task *task);
/* It waits for the end of nobody any more. True if an event had told it something. */
bool weft__joins_leave(weft__sched *sched, weft__task *task);
/* The task ends: wakes who joins it, then who watches it, each in the order of arming. */
void weft__joins_tell(weft__sched *sched, weft__task *task, weft_state state);

/* Whether `target` cannot end before `task` does. */
bool weft__joins_close_ring(weft__sched *sched, const weft__task *task,
                            const weft__task *target);

/* Looks the watches up and takes those that have ended off `*needed`. WEFT_SELF, WEFT_RING. */
weft_status weft__joins_look_up(weft__sched *sched, const weft__task *task, weft_watch *watches,
                                uint32_t count, uint32_t *needed);
/* Watches what was looked up, until `needed` of it has ended. */
void weft__joins_watch(weft__sched *sched, weft__task *task, weft_watch *watches,
                       uint32_t count, uint32_t needed);
/* Watches one event, with the watch of the slot itself. */
void weft__joins_watch_event(weft__sched *sched, weft__task *task, weft_event *event,
                             uint64_t value);
/* What a watch is on has come: the wait is over if that was the last that it needed. */
void weft__joins_came(weft_watch *watch, weft_state state);

/* For the walker: the wait of a task that waits for several, and the ring of its own watchers. */
bool weft__joins_valid(const weft__sched *sched, const weft__task *task);

/* --- sched_events.c --- */

/* The task runs with what events told it: it is not given back any more. */
void weft__events_taken(weft__sched *sched, const weft__task *task);
/* What events told the task in its wait, which is over, is given back. */
void weft__events_lose(weft__sched *sched, const weft__task *task);
/* The running task gives back what it has taken. */
void weft__events_decline(weft__sched *sched, const weft__task *task);
/* Nobody of this scheduler waits for an event any more, or has one to give back. */
void weft__events_drop(weft__sched *sched);

#endif
