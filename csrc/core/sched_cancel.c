/* SPDX-License-Identifier: MIT */
/*
** sched_cancel.c - how tasks are told to stop, as sched_cancel.h tells.
*/
#include "core/sched_cancel.h"

#include "platform/platform.h"

/* What the bit field of a task holds. */
#define MAX_SHIELDS 63

/* --- The lane ------------------------------------------------------------------------------ */

/* Behind the one in slot `before`, or first of all. */
static void put_behind(weft__sched *sched, weft__task *task, uint32_t before)
{
  uint32_t slot = weft__sched_slot(sched, task);
  bool first = before == WEFT_NO_SLOT;
  uint32_t *link = first ? &sched->cancel_first : &weft__sched_at(sched, before)->next;
  task->wake = WEFT_CANCELLED;
  task->state = WEFT_STATE_CANCELLING;
  task->place = WEFT_PLACE_CANCEL;
  task->next = *link;
  *link = slot;
  if (sched->cancel_last == before) sched->cancel_last = slot;
  sched->cancel_count++;
}

static void put(weft__sched *sched, weft__task *task)
{
  put_behind(sched, task, sched->cancel_last);
}

/* Near its end, mostly: only who was armed just now is taken out again. */
void weft__cancel_lane_remove(weft__sched *sched, weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task), before = WEFT_NO_SLOT;
  for (uint32_t at = sched->cancel_first; at != slot; at = weft__sched_at(sched, at)->next)
    before = at;
  if (before == WEFT_NO_SLOT)
    sched->cancel_first = task->next;
  else
    weft__sched_at(sched, before)->next = task->next;
  if (sched->cancel_last == slot) sched->cancel_last = before;
  task->next = WEFT_NO_SLOT;
  sched->cancel_count--;
}

weft__task *weft__cancel_lane_take(weft__sched *sched)
{
  sched->cancel_pass_left--;
  sched->cancel_count--;
  weft__task *task = weft__sched_at(sched, sched->cancel_first);
  sched->cancel_first = task->next;
  if (sched->cancel_first == WEFT_NO_SLOT) sched->cancel_last = WEFT_NO_SLOT;
  task->next = WEFT_NO_SLOT;
  if (task->raises < WEFT_MAX_RAISES) task->raises++;
  return task;
}

/* --- Being told ---------------------------------------------------------------------------- */

bool weft__sched_shield(weft__sched *sched, weft__task *task, bool up)
{
  WEFT_ASSERT(task == sched->running);
  if (up ? task->shields == MAX_SHIELDS : task->shields == 0) return false;
  task->shields = (uint8_t)(up ? task->shields + 1 : task->shields - 1) & MAX_SHIELDS;
  if (!weft__sched_is_armed(task))
    task->state = weft__sched_is_asked(task) ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
  (void)sched;
  return true;
}

/* Ends the wait it is in; one that runs is told by its next. */
static void tell(weft__sched *sched, weft__task *task)
{
  if (task == sched->running && !weft__sched_is_armed(task)) {
    task->state = WEFT_STATE_CANCELLING;
  } else if (task->place != WEFT_PLACE_CANCEL) {
    weft__sched_detach(sched, task);
    put(sched, task);
  }
}

bool weft__sched_cancel(weft__sched *sched, weft__task *task)
{
  if (!task->alive) return false;
  bool holds = task->shields > 0 && !sched->force;
  bool told = task->cancel && task->shields == 0;
  task->cancel = true;
  if (holds || (told && !sched->force)) return true;
  if (!task->unstarted) {
    tell(sched, task);
    return true;
  }
  weft__sched_detach(sched, task);
  if (sched->ops->dropped) sched->ops->dropped(sched, task);
  weft__sched_finish(sched, task, WEFT_STATE_CANCELLED);
  weft__sched_release(sched, task);
  return true;
}

void weft__sched_cancel_from_above(weft__sched *sched, weft__task *task)
{
  if (!task->sheltered || sched->force) weft__sched_cancel(sched, task);
}

void weft__sched_interrupt(weft__sched *sched, weft__task *task, uint32_t level)
{
  WEFT_ASSERT(task->alive && !task->unstarted && level <= MAX_SHIELDS + 1);
  bool lowers = level < task->interrupt;
  task->interrupt = (uint8_t)level & 127;
  if (!lowers) {
    if (level > task->shields) tell(sched, task);
    return;
  }
  WEFT_ASSERT(task == sched->running && !weft__sched_is_armed(task));
  if (weft__sched_is_asked(task)) return;
  task->state = WEFT_STATE_RUNNING;
  task->raises = 0; /* it was told of something that is over */
}

bool weft__sched_is_told(const weft__sched *sched, const weft__task *task)
{
  bool held = task->shields > 0 && !sched->force;
  return (task->cancel && !held) || task->interrupt > task->shields;
}

WEFT_NOINLINE weft_status weft__admit_cancelled(weft__sched *sched, weft__task *task)
{
  WEFT_CHECK(!weft__sched_is_armed(task)); /* two waits at once */
  if (!weft__sched_is_told(sched, task)) return WEFT_OK;
  if (task->raises == 0) {
    task->raises = 1;
    return WEFT_CANCELLED;
  }
  if (sched->force || task->raises >= WEFT_MAX_SWALLOWED) {
    task->raises = 0; /* its cleanups count anew */
    return WEFT_FORCED;
  }
  weft__sched_arm_cancelled(sched, task);
  return WEFT_PARKED;
}

void weft__sched_arm_cancelled(weft__sched *sched, weft__task *task)
{
  WEFT_CHECK(!weft__sched_is_armed(task));
  weft__begin_wait(sched, task, false);
  put(sched, task);
}

void weft__cancel_lane_put(weft__sched *sched, weft__task *task)
{
  if (!sched->early) {
    put(sched, task);
    return;
  }
  /* While the lane of a pass is worked off it comes in the same one: before those who were told in
     it and go on waiting, who are told again in the next. */
  put_behind(sched, task, sched->cancel_pass_left > 0 ? sched->cancel_pass_last : WEFT_NO_SLOT);
  sched->cancel_pass_last = weft__sched_slot(sched, task);
  sched->cancel_pass_left++;
}
