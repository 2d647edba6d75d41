/* SPDX-License-Identifier: MIT */
/*
** sched_cancel.h - how tasks are told to stop: the lane of those that are to be told in the next
** pass, and what a wait of such a task answers. A part of the scheduler, called by its own files
** alone.
*/
#ifndef WEFT_SCHED_CANCEL_H
#define WEFT_SCHED_CANCEL_H

#include "core/sched.h"

/* To its end, a task that waits for nothing and is told already. */
void weft__cancel_lane_put(weft__sched *sched, weft__task *task);
/* The first of the lane, which tells it. */
weft__task *weft__cancel_lane_take(weft__sched *sched);
void weft__cancel_lane_remove(weft__sched *sched, weft__task *task);

/* Whether the wait may be armed: WEFT_OK, or WEFT_PARKED if the cancel lane took the task, or why
   not. A task that cancelled itself is told at its first wait, at once; one that swallows what it
   was told gets a tick for each further time. */
weft_status weft__admit_cancelled(weft__sched *sched, weft__task *task);

static inline void weft__begin_wait(weft__sched *sched, weft__task *task, bool real)
{
  task->since = real ? sched->real.now : weft__sched_now(sched, task);
  task->on_real_time = real;
  task->on_steps = false;
  task->state = WEFT_STATE_SLEEPING;
  task->wake = WEFT_OK;
}

#endif
