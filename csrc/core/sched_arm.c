/* SPDX-License-Identifier: MIT */
/*
** sched_arm.c - how the running task begins a wait, and undoes it.
*/
#include "core/sched_cancel.h"
#include "core/sched_joins.h"
#include "platform/platform.h"

static inline weft_status admit(weft__sched *sched, weft__task *task)
{
  /* Neither armed nor told to stop: both change the state of the running task. */
  WEFT_ASSERT(task == sched->running);
  return WEFT_LIKELY(task->state == WEFT_STATE_RUNNING) ? WEFT_OK
                                                        : weft__admit_cancelled(sched, task);
}

weft_status weft__sched_arm_next(weft__sched *sched, weft__task *task)
{
  weft_status status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  weft__begin_wait(sched, task, false);
  task->place = WEFT_PLACE_READY;
  weft__ring_push(&sched->ready, weft__sched_slot(sched, task));
  return WEFT_OK;
}

static inline int64_t deadline_after(int64_t now, int64_t ns)
{
  return ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

static inline void add_deadline(weft__sched *sched, weft__task *task, int64_t ns)
{
  if (WEFT_UNLIKELY(task->owned == WEFT_OWNED_SCALED)) {
    weft__sched_add_local_deadline(sched, task, ns);
    return;
  }
  task->place = WEFT_PLACE_SIM;
  weft__heap_add(&sched->sim_heap, weft__sched_slot(sched, task),
                 deadline_after(task->since, ns));
}

weft_status weft__sched_arm_sleep(weft__sched *sched, weft__task *task, int64_t ns, bool real)
{
  weft_status status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  weft__begin_wait(sched, task, real);
  if (!real) {
    add_deadline(sched, task, ns);
    return WEFT_OK;
  }
  task->place = WEFT_PLACE_REAL;
  weft__heap_add(&sched->real_heap, weft__sched_slot(sched, task),
                 deadline_after(task->since, ns));
  return WEFT_OK;
}

weft_status weft__sched_arm_steps(weft__sched *sched, weft__task *task, int64_t count)
{
  if (sched->step_heap.capacity == 0) return WEFT_NOSTEPS;
  weft_status status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  weft__begin_wait(sched, task, false);
  task->on_steps = true;
  task->since = (int64_t)sched->steps;
  task->place = WEFT_PLACE_STEPS;
  weft__heap_add(&sched->step_heap, weft__sched_slot(sched, task),
                 deadline_after(task->since, count));
  return WEFT_OK;
}

static void limit_time(weft__sched *sched, weft__task *task, int64_t timeout)
{
  if (timeout >= 0) add_deadline(sched, task, timeout);
}

weft_status weft__sched_arm_join(weft__sched *sched, weft__task *task, weft__task *target,
                                 int64_t timeout)
{
  WEFT_ASSERT(target->alive);
  if (target == task) return WEFT_SELF;
  if (weft__joins_close_ring(sched, task, target)) return WEFT_RING;
  weft_status status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  weft__begin_wait(sched, task, false);
  weft__joins_add(sched, target, task);
  limit_time(sched, task, timeout);
  return WEFT_OK;
}

weft_status weft__sched_arm_last_join(weft__sched *sched, weft__task *task, weft__task *target)
{
  WEFT_ASSERT(target->alive && weft__sched_is_told(sched, task));
  if (target == task) return WEFT_SELF;
  if (weft__joins_close_ring(sched, task, target)) return WEFT_RING;
  if (task->raises > 0) task->raises--; /* the lane counts it again */
  weft__begin_wait(sched, task, false);
  weft__joins_add(sched, target, task);
  return WEFT_OK;
}

weft_status weft__sched_arm_several(weft__sched *sched, weft__task *task, weft_watch *watches,
                                    uint32_t count, uint32_t needed, int64_t timeout,
                                    bool *done)
{
  weft_status status = weft__joins_look_up(sched, task, watches, count, &needed);
  if (status != WEFT_OK) return status;
  *done = needed == 0;
  if (*done) return WEFT_OK;
  status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  weft__begin_wait(sched, task, false);
  weft__joins_watch(sched, task, watches, count, needed);
  limit_time(sched, task, timeout);
  return WEFT_OK;
}

weft_status weft__sched_arm_event(weft__sched *sched, weft__task *task, weft_event *event,
                                  uint64_t value, int64_t timeout)
{
  weft_status status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  weft__begin_wait(sched, task, false);
  weft__joins_watch_event(sched, task, event, value);
  limit_time(sched, task, timeout);
  return WEFT_OK;
}

void weft__sched_disarm(weft__sched *sched, weft__task *task)
{
  if (task->place == WEFT_PLACE_CANCEL) weft__cancel_lane_remove(sched, task);
  weft__sched_detach(sched, task);
  task->state = weft__sched_is_asked(task) ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
}

int64_t weft__sched_slept(const weft__sched *sched, const weft__task *task)
{
  if (WEFT_UNLIKELY(task->on_steps)) return (int64_t)sched->steps - task->since;
  return (task->on_real_time ? sched->real.now : weft__sched_now(sched, task)) - task->since;
}

int64_t weft__sched_wakes_in(const weft__sched *sched, const weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  int64_t left = -1;
  if ((task->place == WEFT_PLACE_SIM && task->owned == WEFT_OWNED_SCALED) ||
      task->place == WEFT_PLACE_FROZEN)
    left = sched->members[slot].due - weft__sched_local_now(sched, task);
  else if (task->place == WEFT_PLACE_SIM)
    left = weft__heap_deadline(&sched->sim_heap, slot) - sched->sim.now;
  else if (task->place == WEFT_PLACE_REAL)
    left = weft__heap_deadline(&sched->real_heap, slot) - sched->real.now;
  else
    return -1;
  return left > 0 ? left : 0;
}
