/* SPDX-License-Identifier: MIT */
/*
** world_event.c - waits for events, as hosts arm them.
*/
#include "core/sched_joins.h"
#include "core/world.h"

weft_status weft_arm_event(weft_world *world, weft_routine *self, weft_event *event,
                           uint64_t value, int64_t timeout)
{
  if (!weft__is_running(world, self)) return WEFT_OUTSIDE;
  if (timeout > WEFT_MAX_WAIT_NS) return WEFT_INVALID;
  return weft__sched_arm_event(&world->sched, &self->task, event, value, timeout);
}

weft_event *weft_routine_event(const weft_world *world, const weft_routine *routine)
{
  const weft__several *wait = weft__several_of(&world->sched, routine->task.slot);
  return routine->task.joins == WEFT_ON_EVENT && !wait->own.hidden ? wait->own.event : NULL;
}

uint64_t weft_received(const weft_world *world, const weft_routine *self)
{
  return weft__several_of(&world->sched, self->task.slot)->own.value;
}

weft_event *weft_received_from(const weft_world *world, const weft_routine *self)
{
  const weft__several *wait = weft__several_of(&world->sched, self->task.slot);
  return wait->watches == &wait->own && !wait->own.hidden ? wait->own.event : NULL;
}

void weft_decline(weft_world *world, weft_routine *self)
{
  if (weft__is_running(world, self) && self->task.wake == WEFT_FIRED)
    weft__events_decline(&world->sched, &self->task);
}

weft_status weft_wait_event(weft_event *event, int64_t timeout, uint64_t *value)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  weft_status status =
      weft__park_armed(world, self, weft_arm_event(world, self, event, 0, timeout));
  if (status == WEFT_OK && value) *value = weft_received(world, self);
  return status;
}
