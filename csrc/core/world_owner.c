/* SPDX-License-Identifier: MIT */
/*
** world_owner.c - owners as the host sees them: handles in, and told at the end.
*/
#include <math.h>

#include "core/world.h"
#include "platform/system.h"

/* The slot of an owner that may be changed from here; the root's for none. */
static uint32_t find(const weft_world *world, weft_owner owner)
{
  if (world->thread != weft__thread_id()) return WEFT_OWNER_ROOT;
  return weft__owner_find(&world->sched.owners, owner);
}

static const weft__owner *alive(const weft_world *world, uint32_t slot)
{
  const weft__owner *owner =
      slot != WEFT_OWNER_ROOT ? weft__owner_at(&world->sched.owners, slot) : NULL;
  return owner && !owner->destroyed ? owner : NULL;
}

void weft__tell_ended_owners(weft_world *world)
{
  const weft_world_hooks *hooks = &world->config.hooks;
  weft_owner owner;
  void *data;
  while (weft__owner_take_ended(&world->sched.owners, &owner, &data))
    if (hooks->owner_ended) hooks->owner_ended(hooks->host, owner, data);
}

weft_status weft_owner_new(weft_world *world, weft_owner parent, weft_owner *out)
{
  uint32_t slot = WEFT_OWNER_ROOT;
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  if (parent != 0) {
    slot = find(world, parent);
    if (!alive(world, slot)) return WEFT_DESTROYED;
  }
  weft__owners *owners = &world->sched.owners;
  weft_status status = weft__owner_make(owners, slot, world->sched.sim.now, &slot);
  if (status) return status;
  *out = weft__owner_handle(owners, slot);
  return WEFT_OK;
}

bool weft_owner_alive(const weft_world *world, weft_owner owner)
{
  return alive(world, weft__owner_find(&world->sched.owners, owner)) != NULL;
}

/* Of those that take no more. The host, told of routines, may have ended owners meanwhile. */
static void cancel_timers_below(weft_world *world, uint32_t slot)
{
  weft__timers_of_owner(&world->timers, slot, weft__timer_end);
}

bool weft_owner_disable(weft_world *world, weft_owner owner)
{
  uint32_t slot = find(world, owner);
  if (slot == WEFT_OWNER_ROOT || !weft__sched_disable(&world->sched, slot)) return false;
  cancel_timers_below(world, slot);
  weft__tell_ended_owners(world);
  return true;
}

bool weft_owner_enable(weft_world *world, weft_owner owner)
{
  uint32_t slot = find(world, owner);
  return slot != WEFT_OWNER_ROOT && weft__owner_enable(&world->sched.owners, slot);
}

bool weft_owner_destroy(weft_world *world, weft_owner owner)
{
  uint32_t slot = find(world, owner);
  if (slot == WEFT_OWNER_ROOT || !weft__sched_destroy(&world->sched, slot)) return false;
  cancel_timers_below(world, slot);
  weft__tell_ended_owners(world);
  return true;
}

/* The first one that is not destroyed may have destroyed ones before it that are not over yet. */
static uint32_t first_alive(const weft__owners *owners)
{
  uint32_t slot = owners->count > 0 ? owners->slots[WEFT_OWNER_ROOT].first_child : 0;
  while (slot != WEFT_OWNER_ROOT && owners->slots[slot].destroyed)
    slot = owners->slots[slot].next;
  return slot;
}

void weft_owner_destroy_all(weft_world *world)
{
  uint32_t slot;
  if (world->thread != weft__thread_id()) return;
  while ((slot = first_alive(&world->sched.owners)) != WEFT_OWNER_ROOT) {
    weft__sched_destroy(&world->sched, slot);
    cancel_timers_below(world, slot);
    weft__tell_ended_owners(world);
  }
}

weft_status weft_owner_set_time_scale(weft_world *world, weft_owner owner, double scale)
{
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  if (!isfinite(scale) || scale < 0) return WEFT_INVALID;
  uint32_t slot = find(world, owner);
  if (!alive(world, slot)) return WEFT_DESTROYED;
  weft__sched_scale(&world->sched, slot, scale);
  weft__timers_rescale(&world->timers, slot);
  return WEFT_OK;
}

weft_status weft_owner_set_data(weft_world *world, weft_owner owner, void *data)
{
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  uint32_t slot = find(world, owner);
  if (slot == WEFT_OWNER_ROOT) return WEFT_DESTROYED;
  weft__owner_at(&world->sched.owners, slot)->data = data;
  return WEFT_OK;
}

weft_status weft_owner_get_data(const weft_world *world, weft_owner owner, void **data)
{
  uint32_t slot = weft__owner_find(&world->sched.owners, owner);
  if (slot == WEFT_OWNER_ROOT) return WEFT_DESTROYED;
  *data = weft__owner_at(&world->sched.owners, slot)->data;
  return WEFT_OK;
}

weft_owner weft_routine_owner(const weft_world *world, const weft_routine *routine)
{
  const weft__sched *sched = &world->sched;
  if (!routine->task.owned) return 0;
  return weft__owner_handle(&sched->owners, sched->members[routine->task.slot].owner);
}
