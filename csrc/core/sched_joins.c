/* SPDX-License-Identifier: MIT */
/*
** sched_joins.c - joiners, watches and rings, as sched_joins.h tells.
**
** Who joins one task stands in a ring of slots through `next` and `prev`. Who waits for several
** brings a node for each, which stands in a ring of the task it is on; so waiting allocates nothing.
*/
#include "core/sched_joins.h"

#include "core/sched_cancel.h"

/* --- Joiners ------------------------------------------------------------------------------- */

void weft__joins_add(weft__sched *sched, weft__task *target, weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  task->joins = weft__sched_slot(sched, target);
  if (target->joiners == WEFT_NO_SLOT) {
    target->joiners = task->next = task->prev = slot;
    return;
  }
  weft__task *first = weft__sched_at(sched, target->joiners);
  weft__task *last = weft__sched_at(sched, first->prev);
  task->next = target->joiners;
  task->prev = first->prev;
  last->next = first->prev = slot;
}

static void leave_one(weft__sched *sched, weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  weft__task *target = weft__sched_at(sched, task->joins);
  if (task->next == slot) {
    target->joiners = WEFT_NO_SLOT;
  } else {
    weft__sched_at(sched, task->prev)->next = task->next;
    weft__sched_at(sched, task->next)->prev = task->prev;
    if (target->joiners == slot) target->joiners = task->next;
  }
  task->next = task->prev = WEFT_NO_SLOT;
}

/* --- Watches ------------------------------------------------------------------------------- */

static void ring_add(weft_watch **first, weft_watch *watch)
{
  if (!*first) {
    *first = watch->next = watch->prev = watch;
    return;
  }
  watch->next = *first;
  watch->prev = (*first)->prev;
  (*first)->prev->next = watch;
  (*first)->prev = watch;
}

static void ring_remove(weft_watch **first, weft_watch *watch)
{
  if (watch->next == watch) {
    *first = NULL;
  } else {
    watch->prev->next = watch->next;
    watch->next->prev = watch->prev;
    if (*first == watch) *first = watch->next;
  }
  watch->next = watch->prev = NULL;
}

static void link_watch(weft__sched *sched, weft_watch *watch)
{
  if (watch->target == WEFT_ON_EVENT) {
    watch->event->waiting++;
    ring_add(&watch->event->first, watch);
    return;
  }
  weft__sched_at(sched, watch->target)->watched = true;
  ring_add(&weft__several_of(sched, watch->target)->watchers, watch);
}

static void unlink_watch(weft__sched *sched, weft_watch *watch)
{
  if (watch->target == WEFT_ON_EVENT) {
    watch->event->waiting--;
    ring_remove(&watch->event->first, watch);
  } else {
    weft__several *target = weft__several_of(sched, watch->target);
    ring_remove(&target->watchers, watch);
    weft__sched_at(sched, watch->target)->watched = target->watchers != NULL;
  }
  watch->target = WEFT_NO_SLOT;
  weft__several_of(sched, watch->waiter)->linked--;
}

/* Unlinks it without that it was told anything. */
static void leave_watch(weft__sched *sched, weft_watch *watch)
{
  bool on_event = watch->target == WEFT_ON_EVENT;
  unlink_watch(sched, watch);
  const weft_event_hooks *hooks = on_event ? watch->event->hooks : NULL;
  if (hooks && hooks->left) hooks->left(watch->event, watch->value);
}

static bool leave_several(weft__sched *sched, const weft__task *task)
{
  const weft__several *wait = weft__several_of(sched, weft__sched_slot(sched, task));
  bool told = false;
  for (uint32_t i = 0; wait->linked > 0 || (wait->on_events && i < wait->count); i++) {
    WEFT_ASSERT(i < wait->count);
    told |= wait->watches[i].told;
    if (wait->watches[i].target != WEFT_NO_SLOT) leave_watch(sched, &wait->watches[i]);
  }
  return told;
}

static void begin_several(weft__sched *sched, const weft__task *task, weft_watch *watches,
                          uint32_t count, uint32_t needed)
{
  uint32_t slot = weft__sched_slot(sched, task);
  weft__several *wait = weft__several_of(sched, slot);
  wait->watches = watches;
  wait->count = count;
  wait->linked = 0;
  wait->left = needed;
  wait->on_events = false;
  for (uint32_t i = 0; i < count; i++) {
    watches[i].waiter = slot;
    watches[i].told = false;
    if (watches[i].target == WEFT_NO_SLOT) continue;
    watches[i].sched = sched;
    wait->on_events |= watches[i].target == WEFT_ON_EVENT;
    wait->linked++;
    link_watch(sched, &watches[i]);
  }
  WEFT_ASSERT(needed > 0 && needed <= wait->linked);
}

void weft__joins_watch(weft__sched *sched, weft__task *task, weft_watch *watches,
                       uint32_t count, uint32_t needed)
{
  task->joins = WEFT_SEVERAL;
  begin_several(sched, task, watches, count, needed);
}

void weft__joins_watch_event(weft__sched *sched, weft__task *task, weft_event *event,
                             uint64_t value)
{
  weft_watch *own = &weft__several_of(sched, weft__sched_slot(sched, task))->own;
  *own = (weft_watch){.event = event, .value = value, .target = WEFT_ON_EVENT};
  task->joins = WEFT_ON_EVENT;
  begin_several(sched, task, own, 1, 1);
}

void weft__joins_came(weft_watch *watch, weft_state state)
{
  weft__sched *sched = watch->sched;
  weft__task *waiter = weft__sched_at(sched, watch->waiter);
  weft__several *wait = weft__several_of(sched, watch->waiter);
  bool closed = state == WEFT_STATE_EXPIRED && waiter->joins == WEFT_ON_EVENT;
  unlink_watch(sched, watch);
  watch->state = state;
  if (--wait->left > 0) return;
  weft__sched_make_ready(sched, waiter,
                         closed            ? WEFT_CLOSED
                         : wait->on_events ? WEFT_FIRED
                                           : WEFT_OK);
}

/* --- Hosts --------------------------------------------------------------------------------- */

void weft__sched_adopt(weft__sched *sched, const weft__task *host, weft__task *child,
                       uint32_t shields)
{
  if (child->hosted) sched->hosted--;
  child->hosted = host != NULL;
  child->sheltered = host && (shields > 0 || host->sheltered);
  if (!host) return;
  sched->hosted++;
  weft__several_of(sched, weft__sched_slot(sched, child))->host = weft__sched_slot(sched, host);
}

/* --- All of them --------------------------------------------------------------------------- */

bool weft__joins_leave(weft__sched *sched, weft__task *task)
{
  bool told = false;
  if (task->joins == WEFT_SEVERAL || task->joins == WEFT_ON_EVENT)
    told = leave_several(sched, task);
  else
    leave_one(sched, task);
  task->joins = WEFT_NO_SLOT;
  return told;
}

void weft__joins_tell(weft__sched *sched, weft__task *task, weft_state state)
{
  while (task->joiners != WEFT_NO_SLOT) {
    weft__task *joiner = weft__sched_at(sched, task->joiners);
    joiner->joined = (uint8_t)state & 7;
    if (WEFT_UNLIKELY(weft__sched_is_told(sched, joiner))) {
      weft__sched_detach(sched, joiner);
      weft__cancel_lane_put(sched, joiner);
    } else {
      weft__sched_make_ready(sched, joiner, WEFT_OK);
    }
  }
  while (task->watched)
    weft__joins_came(weft__several_of(sched, weft__sched_slot(sched, task))->watchers, state);
  if (WEFT_UNLIKELY(task->hosted)) weft__sched_adopt(sched, NULL, task, 0);
}

/* --- Rings --------------------------------------------------------------------------------- */

static bool is_waited_for(const weft__task *task)
{
  return task->joiners != WEFT_NO_SLOT || task->watched || task->hosted;
}

/* The end of the list of those that the running search has found. */
typedef struct search {
  weft__sched *sched;
  uint32_t last;
} search;

static bool is_stuck(const weft__sched *sched, uint32_t slot)
{
  return weft__several_of(sched, slot)->stuck == sched->ring_searches;
}

static void found_stuck(search *s, uint32_t slot)
{
  weft__several *it = weft__several_of(s->sched, slot);
  if (is_stuck(s->sched, slot)) return;
  it->stuck = s->sched->ring_searches;
  it->next_stuck = WEFT_NO_SLOT;
  if (s->last != WEFT_NO_SLOT) weft__several_of(s->sched, s->last)->next_stuck = slot;
  s->last = slot;
}

static void found_joiners(search *s, const weft__task *task)
{
  uint32_t first = task->joiners, slot = first;
  if (first == WEFT_NO_SLOT) return;
  do {
    found_stuck(s, slot);
    slot = weft__sched_at(s->sched, slot)->next;
  } while (slot != first);
}

/* Who waits for several is stuck once too few of them are left that are not. */
static void found_watchers(search *s, const weft__task *task)
{
  if (!task->watched) return;
  const weft_watch *first =
      weft__several_of(s->sched, weft__sched_slot(s->sched, task))->watchers;
  const weft_watch *watch = first;
  do {
    weft__several *wait = weft__several_of(s->sched, watch->waiter);
    if (wait->counted != s->sched->ring_searches) wait->seen = 0;
    wait->counted = s->sched->ring_searches;
    wait->seen++;
    if (wait->linked - wait->seen < wait->left) found_stuck(s, watch->waiter);
    watch = watch->next;
  } while (watch != first);
}

static void found_host(search *s, const weft__task *task)
{
  if (task->hosted)
    found_stuck(s, weft__several_of(s->sched, weft__sched_slot(s->sched, task))->host);
}

/* Marks whoever cannot end before `task` does, itself included: from it backwards, so that a task
   nobody waits for costs nothing. No recursion, no memory: chains may be as long as the world. */
static void find_stuck(weft__sched *sched, const weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  search s = {sched, WEFT_NO_SLOT};
  sched->ring_searches++;
  found_stuck(&s, slot);
  for (; slot != WEFT_NO_SLOT; slot = weft__several_of(sched, slot)->next_stuck) {
    found_joiners(&s, weft__sched_at(sched, slot));
    found_watchers(&s, weft__sched_at(sched, slot));
    found_host(&s, weft__sched_at(sched, slot));
  }
}

bool weft__joins_close_ring(weft__sched *sched, const weft__task *task,
                            const weft__task *target)
{
  if (!is_waited_for(task)) return false;
  while (target != task) {
    uint32_t next = target->joins;
    bool may_host = sched->hosted > 0;
    if ((next == WEFT_NO_SLOT || next == WEFT_ON_EVENT) && !may_host) return false;
    if (next == WEFT_SEVERAL || may_host) {
      find_stuck(sched, task);
      return is_stuck(sched, weft__sched_slot(sched, target));
    }
    target = weft__sched_at(sched, next);
  }
  return true;
}

/* Finds the task of a watch; true if it lives, or if there is an event to wait for. */
static bool look_up(weft__sched *sched, weft_watch *watch)
{
  watch->target = WEFT_NO_SLOT;
  if (watch->state >= WEFT_STATE_COMPLETED) return false;
  if (watch->event) {
    watch->target = WEFT_ON_EVENT;
    return true;
  }
  const weft__task *target = weft__sched_find(sched, watch->handle);
  if (!target || !target->alive) {
    watch->state = target ? (weft_state)target->state : WEFT_STATE_EXPIRED;
    return false;
  }
  watch->target = weft__sched_slot(sched, target);
  return true;
}

weft_status weft__joins_look_up(weft__sched *sched, const weft__task *task, weft_watch *watches,
                                uint32_t count, uint32_t *needed)
{
  uint32_t live = 0, free = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!look_up(sched, &watches[i])) continue;
    if (watches[i].target == weft__sched_slot(sched, task)) return WEFT_SELF;
    live++;
  }
  *needed = *needed > count - live ? *needed - (count - live) : 0;
  if (*needed == 0 || !is_waited_for(task)) return WEFT_OK;
  find_stuck(sched, task);
  for (uint32_t i = 0; i < count; i++)
    free += watches[i].target == WEFT_ON_EVENT ||
            (watches[i].target != WEFT_NO_SLOT && !is_stuck(sched, watches[i].target));
  return free < *needed ? WEFT_RING : WEFT_OK;
}

/* --- Walking ------------------------------------------------------------------------------- */

static bool watch_valid(const weft__sched *sched, const weft_watch *watch)
{
  if (watch->told || watch->sched != sched || watch->next->prev != watch) return false;
  if (watch->target != WEFT_ON_EVENT) return weft__sched_at(sched, watch->target)->watched;
  return watch->event->first && watch->event->waiting > 0;
}

static bool wait_valid(const weft__sched *sched, const weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task), linked = 0;
  const weft__several *wait = weft__several_of(sched, slot);
  if (task->joins == WEFT_ON_EVENT && wait->watches != &wait->own) return false;
  for (uint32_t i = 0; i < wait->count; i++) {
    const weft_watch *watch = &wait->watches[i];
    if (watch->waiter != slot) return false;
    if (watch->target == WEFT_NO_SLOT) continue;
    if (!watch_valid(sched, watch)) return false;
    linked++;
  }
  return linked == wait->linked && wait->left > 0 && wait->left <= linked;
}

static bool watchers_valid(const weft__sched *sched, const weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  const weft_watch *first = weft__several_of(sched, slot)->watchers, *watch = first;
  if (!task->alive || !first) return false;
  do {
    if (watch->target != slot || watch->next->prev != watch) return false;
    const weft__task *waiter = weft__sched_at(sched, watch->waiter);
    if (!waiter->alive || waiter->joins != WEFT_SEVERAL) return false;
    watch = watch->next;
  } while (watch != first);
  return true;
}

bool weft__joins_valid(const weft__sched *sched, const weft__task *task)
{
  bool several = task->joins == WEFT_SEVERAL || task->joins == WEFT_ON_EVENT;
  if (several && !wait_valid(sched, task)) return false;
  return !task->watched || watchers_valid(sched, task);
}
