/* SPDX-License-Identifier: MIT */
/*
** sched_events.c - events: told to those that wait for them, and given back by those that never run.
**
** Who waits for an event stands in its ring with a watch, of its own slot or among those of an `any`, so
** that one ring has the order of all. What an event has told is noted in that watch until its task
** runs: a task that is cancelled in between gives it back, so that no turn is lost.
*/
#include "core/sched_joins.h"

/* --- Telling ------------------------------------------------------------------------------- */

/* Whether anything is to be done should it never run. */
static bool may_lose(const weft_event *event, bool turn)
{
  return turn || (event->hooks && event->hooks->lost);
}

static void tell(weft_event *event, uint64_t value, bool turn)
{
  weft_watch *watch = event->first;
  watch->value = value;
  watch->told = may_lose(event, turn);
  watch->turn = turn;
  event->told += watch->told;
  weft__joins_came(watch, WEFT_STATE_COMPLETED);
}

uint32_t weft_event_fire(weft_event *event, uint64_t value)
{
  uint32_t count = 0;
  for (; event->first; count++) tell(event, value, false);
  return count;
}

bool weft_event_fire_one(weft_event *event, uint64_t value)
{
  if (!event->first) return false;
  tell(event, value, true);
  return true;
}

uint32_t weft_event_close(weft_event *event)
{
  const weft_event_hooks *hooks = event->hooks;
  uint32_t count = 0;
  for (; event->first; count++) {
    uint64_t value = event->first->value;
    weft__joins_came(event->first, WEFT_STATE_EXPIRED);
    if (hooks && hooks->left) hooks->left(event, value);
  }
  return count;
}

weft_handle weft_event_first(const weft_event *event, uint64_t *value)
{
  const weft_watch *watch = event->first;
  if (!watch) return 0;
  if (value) *value = watch->value;
  const weft__sched *sched = watch->sched;
  return weft__sched_handle(sched, weft__sched_at(sched, watch->waiter));
}

/* --- Taking and giving back ---------------------------------------------------------------- */

static weft__several *wait_of(const weft__sched *sched, const weft__task *task)
{
  return weft__several_of(sched, weft__sched_slot(sched, task));
}

/* Its event need not be there for it any more. True if it had told it something. */
static bool settle(weft_watch *watch)
{
  if (!watch->told) return false;
  WEFT_ASSERT(watch->event->told > 0);
  watch->told = false;
  watch->event->told--;
  return true;
}

/* Then it is as if it had not come. */
static void lose(weft_watch *watch)
{
  weft_event *event = watch->event;
  uint64_t value = watch->value;
  watch->state = WEFT_STATE_QUEUED;
  watch->value = 0;
  if (event->hooks && event->hooks->lost)
    event->hooks->lost(event, value);
  else if (watch->turn)
    weft_event_fire_one(event, value);
}

void weft__events_taken(weft__sched *sched, const weft__task *task)
{
  const weft__several *wait = wait_of(sched, task);
  for (uint32_t i = 0; i < wait->count; i++) settle(&wait->watches[i]);
}

void weft__events_lose(weft__sched *sched, const weft__task *task)
{
  const weft__several *wait = wait_of(sched, task);
  for (uint32_t i = 0; i < wait->count; i++)
    if (settle(&wait->watches[i])) lose(&wait->watches[i]);
}

void weft__events_decline(weft__sched *sched, const weft__task *task)
{
  const weft__several *wait = wait_of(sched, task);
  for (uint32_t i = 0; i < wait->count; i++) {
    weft_watch *watch = &wait->watches[i];
    bool fired = watch->event && watch->state == WEFT_STATE_COMPLETED;
    if (fired && may_lose(watch->event, watch->turn)) lose(watch);
  }
}

/* First nobody waits any more; then what is given back can only go to other schedulers. */
void weft__events_drop(weft__sched *sched)
{
  if (sched->active == 0) return;
  for (uint32_t slot = 0; slot < sched->fresh; slot++) {
    weft__task *task = weft__sched_at(sched, slot);
    bool waits = task->joins == WEFT_SEVERAL || task->joins == WEFT_ON_EVENT;
    bool on_events = waits && weft__several_of(sched, slot)->on_events;
    if (on_events && weft__joins_leave(sched, task)) task->wake = WEFT_FIRED;
  }
  for (uint32_t slot = 0; slot < sched->fresh; slot++) {
    const weft__task *task = weft__sched_at(sched, slot);
    if (task->alive && task != sched->running && task->wake == WEFT_FIRED)
      weft__events_lose(sched, task);
  }
}
