/* SPDX-License-Identifier: MIT */
/*
** routine.c - routines: a task of the scheduler whose body runs on a fiber.
**
** One fiber, the runner, runs a whole pass: a body that parks compactly costs no stack switch at
** all. A body that waits on its stack keeps the runner's fiber and becomes pinned to it; the pass
** goes on with the spare. When a pinned body ends or parks compactly at last, the loop it once ran
** in is over, and its fiber returns to the pool.
*/
#include "core/world.h"

#include "platform/system.h"

_Static_assert(sizeof(weft_routine) == 72, "with the binding's 24 bytes a slot has 96");

/* --- Which world runs here ----------------------------------------------------------------- */

/* A world stays on its thread, and its routines with it: this may be read before and after a switch
   alike. */
static WEFT_PER_THREAD weft_world *ticking_world;

weft_world *weft_world_ticking(void)
{
  return ticking_world;
}

void weft__set_ticking(weft_world *world)
{
  ticking_world = world;
}

weft_routine *weft_self(void)
{
  weft_world *world = ticking_world;
  weft__task *task = world ? world->sched.running : NULL;
  return weft__routine_of(task); /* the task stands first: NULL stays NULL */
}

/* --- Running bodies ------------------------------------------------------------------------ */

static weft_state end_state(weft_status status)
{
  if (status == WEFT_OK) return WEFT_STATE_COMPLETED;
  return status == WEFT_CANCELLED || status == WEFT_FORCED ? WEFT_STATE_CANCELLED
                                                           : WEFT_STATE_FAILED;
}

static void end_routine(weft_world *world, weft_routine *routine, weft_status status)
{
  const weft_world_hooks *hooks = &world->config.hooks;
  bool joined = weft_routine_has_joiners(routine);
  weft__sched_finish(&world->sched, &routine->task, end_state(status));
  if (hooks->ended) hooks->ended(hooks->host, routine, joined);
  weft__sched_release(&world->sched, &routine->task);
  if (WEFT_UNLIKELY(world->sched.owners.ended_first != WEFT_OWNER_ROOT))
    weft__tell_ended_owners(world);
}

/* The body has come back. False if it kept the stack of the loop that called it meanwhile: then
   that loop is an old one, and over. */
WEFT_NOINLINE bool weft_pass_leave(weft_world *world, weft_routine *routine, weft_status status)
{
  bool was_pinned = routine->fiber != NULL;
  if (was_pinned) {
    routine->fiber = NULL;
    world->pinned--;
  }
  if (status == WEFT_PARKED)
    WEFT_CHECK(weft__sched_is_armed(&routine->task));
  else
    end_routine(world, routine, status);
  return !was_pinned;
}

WEFT_NOINLINE bool weft_pass_resume(weft_world *world, weft_routine *routine)
{
  if (routine->fiber) {
    weft_fiber_resume(routine->fiber);
    return true;
  }
  return weft_pass_leave(world, routine, routine->body(routine, routine->arg));
}

static void drop_routine(weft__sched *sched, weft__task *task)
{
  const weft_world_hooks *hooks = &weft__world_of(sched)->config.hooks;
  if (hooks->dropped) hooks->dropped(hooks->host, weft__routine_of(task));
}

const weft__sched_ops weft__routine_ops = {.dropped = drop_routine};

/* The three are few places apart, so one may stand for another that is missing. */
static inline bool look_ahead(weft_world *world, uint32_t head, weft_routine *ahead[3])
{
  weft__task *tasks[3];
  if (!weft__sched_look_ahead(&world->sched, head, tasks)) return false;
  weft_routine *near = weft__routine_of(tasks[2] ? tasks[2] : tasks[1] ? tasks[1] : tasks[0]);
  weft_routine *middle = tasks[1] ? weft__routine_of(tasks[1]) : near;
  if (WEFT_UNLIKELY(middle->fiber != NULL)) weft__fiber_prefetch(middle->fiber);
  if (WEFT_UNLIKELY(near->fiber != NULL)) weft__fiber_prefetch_frames(near->fiber);
  ahead[0] = tasks[0] ? weft__routine_of(tasks[0]) : middle;
  ahead[1] = middle;
  ahead[2] = near;
  return true;
}

static void show_ahead(weft_world *world, weft_routine *const ahead[3])
{
  const weft_world_hooks *hooks = &world->config.hooks;
  if (hooks->prefetch) hooks->prefetch(hooks->host, ahead[0], ahead[1], ahead[2]);
}

void weft__begin_look_ahead(weft_world *world)
{
  const weft__ring *ready = &world->sched.ready;
  weft_routine *ahead[3];
  if (!world->sched.prefetches || ready->pass_end - ready->head < WEFT_AHEAD_NEAR) return;
  for (uint32_t places = WEFT_AHEAD_TASK; places > 0; places--)
    if (look_ahead(world, ready->head - places, ahead)) show_ahead(world, ahead);
}

weft_routine *weft_pass_next(weft_world *world)
{
  if (WEFT_UNLIKELY(world->meter)) return weft__routine_of(weft__meter_take(world));
  return weft__routine_of(weft__sched_take(&world->sched));
}

bool weft_pass_ahead(weft_world *world, weft_routine *ahead[3])
{
  if (WEFT_LIKELY(!world->pass_extras)) return false;
  if (WEFT_UNLIKELY(world->pass_extras & WEFT_PASS_SPANS)) weft__spans_begin_resume(world);
  return (world->pass_extras & WEFT_PASS_AHEAD) &&
         look_ahead(world, world->sched.ready.head, ahead);
}

static bool run_pass(void *host, weft_world *world)
{
  weft_routine *routine, *ahead[3];
  (void)host;
  while ((routine = weft_pass_next(world)) != NULL) {
    if (weft_pass_ahead(world, ahead)) show_ahead(world, ahead);
    if (!weft_pass_resume(world, routine)) return false;
  }
  return true;
}

void weft__runner(void *arg)
{
  weft_world *world = arg;
  const weft_world_hooks *hooks = &world->config.hooks;
  while ((hooks->loop ? hooks->loop : run_pass)(hooks->host, world)) {
    world->pass_done = true;
    weft_fiber_yield();
  }
}

/* --- Starting, finding, cancelling --------------------------------------------------------- */

/* Whether the owner takes any. */
static weft_status admit_owned(const weft_world *world, weft_owner handle, uint32_t *owner)
{
  *owner = weft__owner_find(&world->sched.owners, handle);
  if (*owner == WEFT_OWNER_ROOT) return WEFT_DESTROYED;
  const weft__owner *it = weft__owner_at(&world->sched.owners, *owner);
  if (it->destroyed) return WEFT_DESTROYED;
  return it->disabled_by > 0 ? WEFT_DISABLED : WEFT_OK;
}

weft_status weft_routine_start(weft_world *world, weft_body body, void *arg, weft_handle *out)
{
  return weft_routine_start_owned(world, 0, body, arg, out);
}

weft_status weft_routine_start_owned(weft_world *world, weft_owner handle, weft_body body,
                                     void *arg, weft_handle *out)
{
  uint32_t owner = WEFT_OWNER_ROOT;
  if (!body) return WEFT_INVALID;
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  weft_status status = handle != 0 ? admit_owned(world, handle, &owner) : WEFT_OK;
  if (status) return status;
  weft__task *task = weft__sched_start(&world->sched);
  if (!task) return WEFT_FULL;
  if (owner != WEFT_OWNER_ROOT) weft__sched_own(&world->sched, task, owner);
  weft_routine *routine = weft__routine_of(task);
  routine->body = body;
  routine->arg = arg;
  routine->fiber = NULL;
  uint64_t *record = weft_routine_record(routine);
  for (size_t i = 0; i < world->record_words; i++) record[i] = 0;
  if (out) *out = weft__sched_handle(&world->sched, task);
  return WEFT_OK;
}

/* A held back cancel leaves the task where it is; who asks is told of it all the same. */
static weft_state state_of(const weft__task *task)
{
  return task->alive && task->cancel ? WEFT_STATE_CANCELLING : (weft_state)task->state;
}

weft_state weft_routine_state(const weft_world *world, weft_handle handle)
{
  const weft__task *task = weft__sched_find(&world->sched, handle);
  return task ? state_of(task) : WEFT_STATE_EXPIRED;
}

bool weft_cancel(weft_world *world, weft_handle handle)
{
  weft__task *task = weft__sched_find(&world->sched, handle);
  return task && world->thread == weft__thread_id() && weft__sched_cancel(&world->sched, task);
}

bool weft_routine_cancel(weft_world *world, weft_routine *routine)
{
  return weft__sched_cancel(&world->sched, &routine->task);
}

bool weft_routine_wake(weft_world *world, weft_routine *routine)
{
  return weft__sched_wake(&world->sched, &routine->task);
}

weft_routine *weft_routine_find(const weft_world *world, weft_handle handle)
{
  weft__task *task = weft__sched_find(&world->sched, handle);
  return task && task->alive ? weft__routine_of(task) : NULL;
}

weft_routine *weft_routine_each(const weft_world *world, uint32_t *cursor)
{
  while (*cursor < world->sched.fresh) {
    weft__task *task = weft__sched_at(&world->sched, (*cursor)++);
    if (task->alive) return weft__routine_of(task);
  }
  return NULL;
}

weft_handle weft_routine_handle(const weft_world *world, const weft_routine *routine)
{
  return weft__sched_handle(&world->sched, &routine->task);
}

weft_body weft_routine_body(const weft_routine *routine)
{
  return routine->body;
}

void *weft_routine_arg(const weft_routine *routine)
{
  return routine->arg;
}

void *weft_routine_record(const weft_routine *routine)
{
  return (void *)(routine + 1);
}

uint32_t weft_routine_slot(const weft_world *world, const weft_routine *routine)
{
  return weft__sched_slot(&world->sched, &routine->task);
}

weft_state weft_routine_state_of(const weft_routine *routine)
{
  return state_of(&routine->task);
}

weft_waiting weft_routine_waiting(const weft_routine *routine)
{
  return weft__sched_waiting(&routine->task);
}

uint32_t weft_routine_resumes(const weft_routine *routine)
{
  return routine->task.resumes;
}

bool weft_shield(weft_world *world, weft_routine *self, bool up)
{
  return weft__is_running(world, self) && weft__sched_shield(&world->sched, &self->task, up);
}

uint32_t weft_shields(const weft_routine *routine)
{
  return routine->task.shields;
}

bool weft_interrupt(weft_world *world, weft_routine *routine, uint32_t level)
{
  const weft__task *task = &routine->task;
  bool lowers = level < task->interrupt;
  if (!task->alive || task->unstarted || level > 64) return false;
  if (lowers && (!weft__is_running(world, routine) || weft__sched_is_armed(task))) return false;
  weft__sched_interrupt(&world->sched, &routine->task, level);
  return true;
}

bool weft_told(const weft_world *world, const weft_routine *routine)
{
  return weft__sched_is_told(&world->sched, &routine->task);
}

void weft_adopt(weft_world *world, weft_routine *host, weft_routine *child, uint32_t shields)
{
  weft__sched_adopt(&world->sched, host ? &host->task : NULL, &child->task, shields);
}

bool weft_routine_cancelled(const weft_routine *routine)
{
  return routine->task.cancel;
}

bool weft_routine_has_joiners(const weft_routine *routine)
{
  return routine->task.joiners != WEFT_NO_SLOT || routine->task.watched || routine->task.hosted;
}

bool weft_routine_pinned(const weft_routine *routine)
{
  return routine->fiber != NULL;
}

int64_t weft_routine_wakes_in(const weft_world *world, const weft_routine *routine)
{
  return weft__sched_wakes_in(&world->sched, &routine->task);
}

/* --- Arming -------------------------------------------------------------------------------- */

static inline weft_status arm_sleep(weft_world *world, weft_routine *self, int64_t ns,
                                    bool real)
{
  if (WEFT_UNLIKELY(!weft__is_running(world, self))) return WEFT_OUTSIDE;
  if (WEFT_UNLIKELY(ns < 0 || ns > WEFT_MAX_WAIT_NS)) return WEFT_INVALID;
  if (ns == 0 && !real) return weft__sched_arm_next(&world->sched, &self->task);
  return weft__sched_arm_sleep(&world->sched, &self->task, ns, real);
}

weft_status weft_arm_wait(weft_world *world, weft_routine *self, int64_t ns)
{
  return arm_sleep(world, self, ns, false);
}

weft_status weft_arm_wait_unscaled(weft_world *world, weft_routine *self, int64_t ns)
{
  return arm_sleep(world, self, ns, true);
}

weft_status weft_arm_next_tick(weft_world *world, weft_routine *self)
{
  if (WEFT_UNLIKELY(!weft__is_running(world, self))) return WEFT_OUTSIDE;
  return weft__sched_arm_next(&world->sched, &self->task);
}

weft_status weft_arm_next_tick_forced(weft_world *world, weft_routine *self)
{
  if (!weft__is_running(world, self) || !weft__sched_is_asked(&self->task)) return WEFT_OUTSIDE;
  /* Used up for good: where it can be ended, its next wait says so at once. */
  self->task.raises = WEFT_MAX_SWALLOWED;
  weft__sched_arm_cancelled(&world->sched, &self->task);
  return WEFT_OK;
}

weft_status weft_arm_last_join(weft_world *world, weft_routine *self, weft_handle handle,
                               bool *done)
{
  if (!weft__is_running(world, self) || !weft_told(world, self)) return WEFT_OUTSIDE;
  weft__task *target = weft__sched_find(&world->sched, handle);
  if (!target) return WEFT_EXPIRED;
  *done = !target->alive;
  if (*done) return WEFT_OK;
  if (world->sched.force) return WEFT_FORCED;
  return weft__sched_arm_last_join(&world->sched, &self->task, target);
}

weft_status weft_arm_join(weft_world *world, weft_routine *self, weft_handle handle,
                          int64_t timeout, bool *done)
{
  if (!weft__is_running(world, self)) return WEFT_OUTSIDE;
  if (timeout > WEFT_MAX_WAIT_NS) return WEFT_INVALID;
  weft__task *target = weft__sched_find(&world->sched, handle);
  if (!target) return WEFT_EXPIRED;
  *done = !target->alive;
  if (*done) return WEFT_OK;
  return weft__sched_arm_join(&world->sched, &self->task, target, timeout);
}

weft_status weft_arm_any(weft_world *world, weft_routine *self, weft_watch *watches,
                         uint32_t count, uint32_t needed, int64_t timeout, bool *done)
{
  if (!weft__is_running(world, self)) return WEFT_OUTSIDE;
  if (timeout > WEFT_MAX_WAIT_NS || needed > count) return WEFT_INVALID;
  return weft__sched_arm_several(&world->sched, &self->task, watches, count, needed, timeout,
                                 done);
}

weft_status weft_woken(const weft_routine *self)
{
  return self->task.wake;
}

void weft_disarm(weft_world *world, weft_routine *self)
{
  if (weft__is_running(world, self)) weft__sched_disarm(&world->sched, &self->task);
}

weft_state weft_joined(const weft_routine *self)
{
  return (weft_state)self->task.joined;
}

int64_t weft_slept(const weft_world *world, const weft_routine *self)
{
  return weft__sched_slept(&world->sched, &self->task);
}

int64_t weft_now(const weft_world *world, const weft_routine *self)
{
  return weft__sched_now(&world->sched, &self->task);
}

/* --- Pinned waits -------------------------------------------------------------------------- */

static weft_status ensure_spare(weft_world *world)
{
  if (world->spare) return WEFT_OK;
  return weft_fiber_start(world->pool, weft__runner, world, &world->spare);
}

weft_status weft_park(weft_world *world, weft_routine *self)
{
  if (!weft__is_running(world, self)) return WEFT_OUTSIDE;
  WEFT_CHECK(weft__sched_is_armed(&self->task));
  weft_fiber *here = weft_fiber_current();
  /* On a fiber of its own making a routine cannot be left: who resumed that would go on. */
  weft_status status =
      here == (self->fiber ? self->fiber : world->runner) ? WEFT_OK : WEFT_OUTSIDE;
  if (status == WEFT_OK && here == world->runner) status = ensure_spare(world);
  if (status) {
    weft__sched_disarm(&world->sched, &self->task);
    return status;
  }
  if (here == world->runner) {
    world->runner = world->spare;
    world->spare = NULL;
  }
  if (!self->fiber) {
    self->fiber = here;
    world->pinned++;
  }
  weft_fiber_yield();
  return weft_woken(self);
}

weft_status weft__park_armed(weft_world *world, weft_routine *self, weft_status armed)
{
  if (armed == WEFT_FORCED) armed = weft_arm_next_tick_forced(world, self);
  if (armed == WEFT_OK) armed = weft_park(world, self);
  return armed == WEFT_FIRED ? WEFT_OK : armed;
}

weft_status weft_wait(int64_t ns)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  return weft__park_armed(world, self, weft_arm_wait(world, self, ns));
}

weft_status weft_wait_unscaled(int64_t ns)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  return weft__park_armed(world, self, weft_arm_wait_unscaled(world, self, ns));
}

weft_status weft_next_tick(void)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  return weft__park_armed(world, self, weft_arm_next_tick(world, self));
}

weft_status weft_join(weft_handle handle, int64_t timeout)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  bool done = false;
  weft_status armed = weft_arm_join(world, self, handle, timeout, &done);
  return done ? WEFT_OK : weft__park_armed(world, self, armed);
}

weft_status weft_join_any(weft_watch *watches, uint32_t count, uint32_t needed, int64_t timeout)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  bool done = false;
  weft_status armed = weft_arm_any(world, self, watches, count, needed, timeout, &done);
  return done ? WEFT_OK : weft__park_armed(world, self, armed);
}
