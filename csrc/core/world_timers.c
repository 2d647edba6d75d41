/* SPDX-License-Identifier: MIT */
/*
** world_timers.c - timers as the host sees them, and their stage of the tick.
*/
#include "core/world.h"
#include "platform/system.h"

static bool is_foreign(const weft_world *world)
{
  return world->thread != weft__thread_id();
}

/* The slot of a timer that may be changed from here, or WEFT_NO_TIMER. */
static uint32_t find(const weft_world *world, weft_timer timer)
{
  return is_foreign(world) ? WEFT_NO_TIMER : weft__timer_find(&world->timers, timer);
}

/* --- Arming -------------------------------------------------------------------------------- */

static bool is_time(int64_t ns)
{
  return ns >= 0 && ns <= WEFT_MAX_WAIT_NS;
}

/* The slot of an owner that takes timers; the root's for nobody. */
static weft_status find_owner(const weft_world *world, weft_owner owner, uint32_t *slot)
{
  *slot = WEFT_OWNER_ROOT;
  if (owner == 0) return WEFT_OK;
  *slot = weft__owner_find(&world->sched.owners, owner);
  if (*slot == WEFT_OWNER_ROOT) return WEFT_DESTROYED;
  const weft__owner *it = weft__owner_at(&world->sched.owners, *slot);
  if (it->destroyed) return WEFT_DESTROYED;
  return it->disabled_by > 0 ? WEFT_DISABLED : WEFT_OK;
}

weft_status weft_timer_start(weft_world *world, const weft_timer_options *options,
                             weft_timer_fn fn, void *arg, weft_timer *out)
{
  uint32_t owner, slot;
  if (is_foreign(world)) return WEFT_THREAD;
  if (!fn || !is_time(options->delay) || !is_time(options->period) || options->count < 0)
    return WEFT_INVALID;
  weft_status status = find_owner(world, options->owner, &owner);
  if (status) return status;
  status = weft__timer_start(&world->timers, options, owner, fn, arg, &slot);
  if (status) return status;
  if (out) *out = weft__timer_handle(&world->timers, slot);
  return WEFT_OK;
}

/* --- Changes ------------------------------------------------------------------------------- */

void weft__timer_ended(weft__timers *timers, weft_timer timer, weft_timer_fn fn, void *arg)
{
  const weft_world_hooks *hooks = &WEFT_CONTAINER_OF(timers, weft_world, timers)->config.hooks;
  if (hooks->timer_ended) hooks->timer_ended(hooks->host, timer, fn, arg);
}

bool weft_timer_alive(const weft_world *world, weft_timer timer)
{
  return find(world, timer) != WEFT_NO_TIMER;
}

bool weft_timer_cancel(weft_world *world, weft_timer timer)
{
  uint32_t slot = find(world, timer);
  return slot != WEFT_NO_TIMER && weft__timer_end(&world->timers, slot);
}

bool weft_timer_pause(weft_world *world, weft_timer timer)
{
  uint32_t slot = find(world, timer);
  return slot != WEFT_NO_TIMER && weft__timer_pause(&world->timers, slot);
}

bool weft_timer_resume(weft_world *world, weft_timer timer)
{
  uint32_t slot = find(world, timer);
  return slot != WEFT_NO_TIMER && weft__timer_resume(&world->timers, slot);
}

int64_t weft_timer_remaining(const weft_world *world, weft_timer timer)
{
  uint32_t slot = find(world, timer);
  return slot != WEFT_NO_TIMER ? weft__timer_remaining(&world->timers, slot) : 0;
}

/* --- Groups -------------------------------------------------------------------------------- */

weft_status weft_timer_tag_new(weft_world *world, uint32_t *out)
{
  return is_foreign(world) ? WEFT_THREAD : weft__timer_tag_new(&world->timers, out);
}

bool weft_timer_set_tag(weft_world *world, weft_timer timer, uint32_t tag)
{
  uint32_t slot = find(world, timer);
  if (slot == WEFT_NO_TIMER || (tag > 0 && tag >= world->timers.tag_count)) return false;
  weft__timer_set_tag(&world->timers, slot, tag);
  return true;
}

static weft__timer_deed *const deeds[] = {[WEFT_TIMER_CANCEL] = weft__timer_end,
                                          [WEFT_TIMER_PAUSE] = weft__timer_pause,
                                          [WEFT_TIMER_RESUME] = weft__timer_resume};

uint32_t weft_timers_of_tag(weft_world *world, uint32_t tag, weft_timer_deed deed)
{
  return is_foreign(world) ? 0 : weft__timers_of_tag(&world->timers, tag, deeds[deed]);
}

uint32_t weft_timers_of_owner(weft_world *world, weft_owner owner, weft_timer_deed deed)
{
  uint32_t slot = weft__owner_find(&world->sched.owners, owner);
  if (is_foreign(world) || slot == WEFT_OWNER_ROOT) return 0;
  return weft__timers_of_owner(&world->timers, slot, deeds[deed]);
}

/* --- Stage 4 ------------------------------------------------------------------------------- */

bool weft_timer_next(weft_world *world, weft_timer_call *call)
{
  return weft__timers_take(&world->timers, call);
}

static void call_all(weft_world *world)
{
  weft_timer_call call;
  while (weft__timers_take(&world->timers, &call)) {
    call.fn(call.arg, call.timer, call.intervals);
    if (call.last) weft__timer_ended(&world->timers, call.timer, call.fn, call.arg);
  }
}

void weft__run_timers(weft_world *world)
{
  weft__timers *timers = &world->timers;
  const weft_world_hooks *hooks = &world->config.hooks;
  weft__timers_collect(timers, world->sched.paused);
  if (timers->queue_head == timers->queue_tail) return;
  if (hooks->timers)
    hooks->timers(hooks->host, world);
  else
    call_all(world);
}
