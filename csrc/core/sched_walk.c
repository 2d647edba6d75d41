/* SPDX-License-Identifier: MIT */
/*
** sched_walk.c - walks a whole scheduler and tells whether all its parts agree. For specs and for
** the hostile build.
*/
#include "core/sched_joins.h"

static bool joiner_valid(const weft__sched *sched, const weft__task *task)
{
  const weft__task *target = weft__sched_at(sched, task->joins);
  if (!target->alive || target->joiners == WEFT_NO_SLOT) return false;
  return weft__sched_at(sched, task->next)->prev == weft__sched_slot(sched, task);
}

static bool task_valid(const weft__sched *sched, const weft__task *task)
{
  if (!task->alive)
    return task->place == WEFT_PLACE_NONE && task->joins == WEFT_NO_SLOT && !task->watched &&
           !task->hosted;
  if (weft__sched_is_told(sched, task) && task->place != WEFT_PLACE_CANCEL &&
      task->place != WEFT_PLACE_NONE)
    return false;
  if (task->joins != WEFT_NO_SLOT) {
    if (task->place != WEFT_PLACE_NONE && task->place != WEFT_PLACE_SIM &&
        task->place != WEFT_PLACE_FROZEN)
      return false;
    if (task->joins < WEFT_ON_EVENT && !joiner_valid(sched, task)) return false;
  }
  if (!weft__joins_valid(sched, task)) return false;
  /* Not running and nowhere to be found again: it would sleep for ever. */
  return task->place != WEFT_PLACE_NONE || task->joins != WEFT_NO_SLOT ||
         task == sched->running;
}

/* The tasks of one owner; those of a destroyed one have been told to stop. */
static bool list_valid(const weft__sched *sched, uint32_t slot, uint32_t *seen)
{
  const weft__owner *owner = weft__owner_at(&sched->owners, slot);
  uint32_t last = WEFT_NO_MEMBER;
  for (uint32_t at = owner->first; at != WEFT_NO_MEMBER; at = sched->members[at].next) {
    const weft__task *task = weft__sched_at(sched, at);
    const weft__member *member = &sched->members[at];
    if (++*seen > sched->active || !task->alive || member->owner != slot) return false;
    if (member->prev != last || (owner->destroyed && !task->cancel && !task->sheltered))
      return false;
    if (task->owned != (owner->scaled ? WEFT_OWNED_SCALED : WEFT_OWNED)) return false;
    if (task->place == WEFT_PLACE_FROZEN && owner->clock.scale > 0) return false;
    last = at;
  }
  return owner->last == last;
}

static bool members_valid(const weft__sched *sched)
{
  uint32_t owned = 0, seen = 0;
  for (uint32_t slot = 0; slot < sched->fresh; slot++) {
    const weft__task *task = weft__sched_at(sched, slot);
    owned += task->alive && task->owned;
    if (task->place == WEFT_PLACE_FROZEN && task->owned != WEFT_OWNED_SCALED) return false;
  }
  for (uint32_t slot = 0; slot < sched->owners.count; slot++)
    if (weft__owner_at(&sched->owners, slot)->used && !list_valid(sched, slot, &seen))
      return false;
  return seen == owned;
}

static bool cancel_lane_valid(const weft__sched *sched)
{
  uint32_t count = 0, last = WEFT_NO_SLOT;
  for (uint32_t at = sched->cancel_first; at != WEFT_NO_SLOT; count++) {
    const weft__task *task = weft__sched_at(sched, at);
    if (count == sched->cancel_count || task->place != WEFT_PLACE_CANCEL) return false;
    last = at;
    at = task->next;
  }
  return count == sched->cancel_count && last == sched->cancel_last;
}

bool weft__sched_valid(const weft__sched *sched)
{
  uint32_t active = 0, registered = 0, hosted = 0;
  for (uint32_t slot = 0; slot < sched->fresh; slot++) {
    const weft__task *task = weft__sched_at(sched, slot);
    if (!task_valid(sched, task)) return false;
    active += task->alive;
    hosted += task->hosted;
    registered += task->place != WEFT_PLACE_NONE && task->place != WEFT_PLACE_CANCEL &&
                  task->place != WEFT_PLACE_FROZEN;
  }
  if (active != sched->active || hosted != sched->hosted) return false;
  if (registered != weft__ring_count(&sched->ready) + weft__ring_count(&sched->urgent) +
                        sched->sim_heap.count + sched->real_heap.count + sched->step_heap.count)
    return false;
  if (!weft__owners_valid(&sched->owners) || !members_valid(sched)) return false;
  return cancel_lane_valid(sched) && weft__heap_valid(&sched->sim_heap) &&
         weft__heap_valid(&sched->real_heap) && weft__heap_valid(&sched->step_heap) &&
         weft__ring_valid(&sched->ready) && weft__ring_valid(&sched->urgent);
}
