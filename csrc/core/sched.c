/* SPDX-License-Identifier: MIT */
/*
** sched.c - the scheduler of sched.h: slots and handles, arming and waking, the pass.
*/
#include "core/sched.h"

#include "core/sched_joins.h"
#include "platform/platform.h"
#include "platform/system.h"

/* What the bit field of a task holds. */
#define MAX_SHIELDS 63

/* Handles: tag, generation, slot. */
#define SLOT_BITS 24
#define TAG_SHIFT 56

/* Slots in use from which on a pass looks ahead: fewer stay in the cache by themselves. */
#define PREFETCH_FROM 1500

/* Up to that many, those that stand in the order of their slots need no looking ahead: the next cache
   holds them all, and the machine fetches neighbours by itself. */
#define STREAM_UP_TO 25000

/* --- Slots and handles --------------------------------------------------------------------- */

weft_status weft__sched_init(weft__sched *sched, const weft__sched_ops *ops, uint32_t capacity,
                             size_t stride, uint32_t budget, uint8_t tag)
{
  WEFT_ASSERT(capacity > 0 && capacity <= UINT32_C(1) << SLOT_BITS);
  WEFT_ASSERT(stride >= sizeof(weft__task) && stride % 8 == 0);
  char *tasks = weft__calloc(capacity, stride);
  if (!tasks) return WEFT_NOMEM;
  weft__member *members = weft__calloc(capacity, sizeof *members);
  *sched = (weft__sched){
      .ops = ops,
      .tasks = tasks,
      .stride = stride,
      .capacity = capacity,
      .free_first = WEFT_NO_SLOT,
      .free_last = WEFT_NO_SLOT,
      .generation_end = UINT32_MAX,
      .tag = tag,
      .budget = budget,
      .cancel_first = WEFT_NO_SLOT,
      .cancel_last = WEFT_NO_SLOT,
      .members = members,
  };
  weft__owners_init(&sched->owners, tag);
  sched->several = weft__calloc(capacity, sizeof *sched->several);
  char *positions = tasks + offsetof(weft__task, position);
  if (!members || !sched->several ||
      weft__ring_init(&sched->ready, capacity, positions, stride) ||
      weft__ring_init(&sched->urgent, capacity, positions, stride) ||
      weft__heap_init(&sched->sim_heap, capacity, positions, stride) ||
      weft__heap_init(&sched->real_heap, capacity, positions, stride)) {
    weft__sched_fini(sched);
    return WEFT_NOMEM;
  }
  return WEFT_OK;
}

void weft__sched_fini(weft__sched *sched)
{
  weft__heap_fini(&sched->real_heap);
  weft__heap_fini(&sched->sim_heap);
  weft__ring_fini(&sched->urgent);
  weft__ring_fini(&sched->ready);
  weft__free(sched->several);
  weft__owners_fini(&sched->owners);
  weft__free(sched->members);
  weft__free(sched->tasks);
  sched->tasks = NULL;
}

weft_handle weft__sched_handle(const weft__sched *sched, const weft__task *task)
{
  return (uint64_t)sched->tag << TAG_SHIFT | (uint64_t)task->generation << SLOT_BITS |
         weft__sched_slot(sched, task);
}

weft__task *weft__sched_find(const weft__sched *sched, weft_handle handle)
{
  uint32_t slot = handle & ((UINT32_C(1) << SLOT_BITS) - 1);
  if (handle >> TAG_SHIFT != sched->tag || slot >= sched->fresh) return NULL;
  weft__task *task = weft__sched_at(sched, slot);
  return task->generation == (uint32_t)(handle >> SLOT_BITS) ? task : NULL;
}

static uint32_t take_slot(weft__sched *sched)
{
  if (sched->fresh < sched->capacity) return sched->fresh++;
  uint32_t slot = sched->free_first;
  if (slot == WEFT_NO_SLOT) return slot;
  sched->free_first = weft__sched_at(sched, slot)->next;
  if (sched->free_first == WEFT_NO_SLOT) sched->free_last = WEFT_NO_SLOT;
  return slot;
}

void weft__sched_release(weft__sched *sched, weft__task *task)
{
  WEFT_ASSERT(!task->alive);
  uint32_t slot = weft__sched_slot(sched, task);
  task->next = WEFT_NO_SLOT;
  if (task->generation >= sched->generation_end) return; /* used up: retired for good */
  if (sched->free_last == WEFT_NO_SLOT)
    sched->free_first = slot;
  else
    weft__sched_at(sched, sched->free_last)->next = slot;
  sched->free_last = slot;
}

weft__task *weft__sched_start(weft__sched *sched)
{
  uint32_t slot = take_slot(sched);
  if (slot == WEFT_NO_SLOT) {
    sched->counts.rejected++;
    return NULL;
  }
  weft__task *task = weft__sched_at(sched, slot);
  *task = (weft__task){
      .slot = slot,
      .generation = task->generation + 1,
      .next = WEFT_NO_SLOT,
      .prev = WEFT_NO_SLOT,
      .joiners = WEFT_NO_SLOT,
      .joins = WEFT_NO_SLOT,
      .state = WEFT_STATE_QUEUED,
      .place = WEFT_PLACE_READY,
      .unstarted = true,
      .alive = true,
  };
  weft__ring_push(&sched->ready, slot);
  sched->active++;
  sched->counts.started++;
  return task;
}

/* --- Waking -------------------------------------------------------------------------------- */

/* Takes the task out of whatever it waits in. */
static void detach(weft__sched *sched, weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  if (task->joins != WEFT_NO_SLOT) weft__joins_leave(sched, task);
  switch (task->place) {
  case WEFT_PLACE_READY:
    weft__ring_remove(&sched->ready, slot);
    break;
  case WEFT_PLACE_URGENT:
    weft__ring_remove(&sched->urgent, slot);
    break;
  case WEFT_PLACE_SIM:
    weft__heap_remove(&sched->sim_heap, slot);
    break;
  case WEFT_PLACE_REAL:
    weft__heap_remove(&sched->real_heap, slot);
    break;
  default:
    break;
  }
  task->place = WEFT_PLACE_NONE;
  task->position = WEFT_HEAP_NOWHERE;
}

void weft__sched_make_ready(weft__sched *sched, weft__task *task, weft_status wake)
{
  detach(sched, task);
  task->wake = (int8_t)wake;
  task->state = WEFT_STATE_QUEUED;
  task->place = WEFT_PLACE_READY;
  weft__ring_push(&sched->ready, weft__sched_slot(sched, task));
}

static void put_in_cancel_lane(weft__sched *sched, weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  task->wake = WEFT_CANCELLED;
  task->state = WEFT_STATE_CANCELLING;
  task->place = WEFT_PLACE_CANCEL;
  task->next = WEFT_NO_SLOT;
  if (sched->cancel_last == WEFT_NO_SLOT)
    sched->cancel_first = slot;
  else
    weft__sched_at(sched, sched->cancel_last)->next = slot;
  sched->cancel_last = slot;
  sched->cancel_count++;
}

/* Near its end, mostly: only who was armed just now is taken out again. */
static void take_out_of_cancel_lane(weft__sched *sched, weft__task *task)
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

static weft__task *take_from_cancel_lane(weft__sched *sched)
{
  sched->cancel_pass_left--;
  sched->cancel_count--;
  weft__task *task = weft__sched_at(sched, sched->cancel_first);
  sched->cancel_first = task->next;
  if (sched->cancel_first == WEFT_NO_SLOT) sched->cancel_last = WEFT_NO_SLOT;
  task->next = WEFT_NO_SLOT;
  if (task->raises < UINT8_MAX) task->raises++;
  return task;
}

void weft__sched_finish(weft__sched *sched, weft__task *task, weft_state state)
{
  /* An armed wait would go on to be found, and wake whoever has the slot next. */
  WEFT_CHECK(task->alive && !weft__sched_is_armed(task));
  weft__joins_tell(sched, task, state);
  if (WEFT_UNLIKELY(task->owned)) weft__sched_disown(sched, task);
  task->state = (uint8_t)state;
  task->alive = false;
  sched->active--;
  switch (state) {
  case WEFT_STATE_COMPLETED:
    sched->counts.completed++;
    break;
  case WEFT_STATE_CANCELLED:
    sched->counts.cancelled++;
    break;
  default:
    sched->counts.failed++;
    break;
  }
  if (sched->running == task) sched->running = NULL;
}

bool weft__sched_wake(weft__sched *sched, weft__task *task)
{
  if (task->state != WEFT_STATE_SLEEPING) return false;
  if (task->place == WEFT_PLACE_READY)
    task->state = WEFT_STATE_QUEUED; /* its turn comes where it stands */
  else
    weft__sched_make_ready(sched, task, WEFT_OK);
  return true;
}

bool weft__sched_shield(weft__sched *sched, weft__task *task, bool up)
{
  WEFT_ASSERT(task == sched->running);
  if (up ? task->shields == MAX_SHIELDS : task->shields == 0) return false;
  task->shields = (uint8_t)(up ? task->shields + 1 : task->shields - 1) & MAX_SHIELDS;
  if (!weft__sched_is_armed(task))
    task->state = task->cancel ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
  (void)sched;
  return true;
}

weft_waiting weft__sched_waiting(const weft__task *task)
{
  if (task->unstarted) return WEFT_WAITING_START;
  if (task->joins != WEFT_NO_SLOT) return WEFT_WAITING_ROUTINE;
  switch (task->place) {
  case WEFT_PLACE_SIM:
  case WEFT_PLACE_FROZEN:
    return WEFT_WAITING_TIME;
  case WEFT_PLACE_REAL:
    return WEFT_WAITING_REAL_TIME;
  case WEFT_PLACE_CANCEL:
    return WEFT_WAITING_CANCEL;
  case WEFT_PLACE_NONE:
    return WEFT_WAITING_NOTHING;
  default:
    return task->state == WEFT_STATE_SLEEPING ? WEFT_WAITING_TICK : WEFT_WAITING_TURN;
  }
}

bool weft__sched_cancel(weft__sched *sched, weft__task *task)
{
  if (!task->alive) return false;
  bool holds = task->shields > 0 && !sched->force;
  bool held = task->cancel && task->shields > 0 && task->place != WEFT_PLACE_CANCEL;
  if (holds || (task->cancel && !held)) {
    task->cancel = true;
    return true;
  }
  task->cancel = true;
  if (task == sched->running && !weft__sched_is_armed(task)) {
    task->state = WEFT_STATE_CANCELLING;
    return true;
  }
  detach(sched, task);
  if (task->unstarted) {
    if (sched->ops->dropped) sched->ops->dropped(sched, task);
    weft__sched_finish(sched, task, WEFT_STATE_CANCELLED);
    weft__sched_release(sched, task);
  } else {
    put_in_cancel_lane(sched, task);
  }
  return true;
}

/* --- Arming -------------------------------------------------------------------------------- */

/* Whether the wait may be armed: WEFT_OK, or WEFT_PARKED if the cancel lane took the task, or why
   not. A task that cancelled itself is told at its first wait, at once; one that swallows what it
   was told gets a tick for each further time. */
static WEFT_NOINLINE weft_status admit_cancelled(weft__sched *sched, weft__task *task)
{
  WEFT_CHECK(!weft__sched_is_armed(task)); /* two waits at once */
  if (task->shields > 0 && !sched->force) return WEFT_OK;
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

static inline weft_status admit(weft__sched *sched, weft__task *task)
{
  /* Neither armed nor told to stop: both change the state of the running task. */
  WEFT_ASSERT(task == sched->running);
  return WEFT_LIKELY(task->state == WEFT_STATE_RUNNING) ? WEFT_OK
                                                        : admit_cancelled(sched, task);
}

static inline void begin_wait(weft__sched *sched, weft__task *task, bool real)
{
  task->since = real ? sched->real.now : weft__sched_now(sched, task);
  task->on_real_time = real;
  task->state = WEFT_STATE_SLEEPING;
  task->wake = WEFT_OK;
}

void weft__sched_arm_cancelled(weft__sched *sched, weft__task *task)
{
  WEFT_CHECK(!weft__sched_is_armed(task));
  begin_wait(sched, task, false);
  put_in_cancel_lane(sched, task);
}

weft_status weft__sched_arm_next(weft__sched *sched, weft__task *task)
{
  weft_status status = admit(sched, task);
  if (WEFT_UNLIKELY(status != WEFT_OK)) return status == WEFT_PARKED ? WEFT_OK : status;
  begin_wait(sched, task, false);
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
  begin_wait(sched, task, real);
  if (!real) {
    add_deadline(sched, task, ns);
    return WEFT_OK;
  }
  task->place = WEFT_PLACE_REAL;
  weft__heap_add(&sched->real_heap, weft__sched_slot(sched, task),
                 deadline_after(task->since, ns));
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
  begin_wait(sched, task, false);
  weft__joins_add(sched, target, task);
  limit_time(sched, task, timeout);
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
  begin_wait(sched, task, false);
  weft__joins_watch(sched, task, watches, count, needed);
  limit_time(sched, task, timeout);
  return WEFT_OK;
}

void weft__sched_disarm(weft__sched *sched, weft__task *task)
{
  if (task->place == WEFT_PLACE_CANCEL) take_out_of_cancel_lane(sched, task);
  detach(sched, task);
  task->state = task->cancel ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
}

int64_t weft__sched_slept(const weft__sched *sched, const weft__task *task)
{
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

/* --- The pass ------------------------------------------------------------------------------ */

/* Three ticks of 1/3 s end a wait of 1: hence the slack. Two rounds: while the heap is busy with the next ones, those it gave are fetched. */
static void wake_due(weft__sched *sched, weft__heap *heap, int64_t now, weft__ring *ring,
                     weft__place place)
{
  int64_t limit = now > INT64_MAX - WEFT_DUE_SLACK_NS ? INT64_MAX : now + WEFT_DUE_SLACK_NS;
  uint32_t slot, at = ring->tail;
  while (weft__heap_pop_due(heap, limit, &slot)) {
    weft__prefetch_task(weft__sched_at(sched, slot));
    weft__ring_push(ring, slot);
  }
  for (; at != ring->tail; at++) {
    weft__task *task = weft__sched_at(sched, ring->items[at & ring->mask]);
    /* A deadline next to a join is its time limit: the target had not ended before it. */
    bool timed_out = task->joins != WEFT_NO_SLOT;
    if (timed_out) weft__joins_leave(sched, task);
    task->wake = timed_out ? WEFT_TIMEOUT : WEFT_OK;
    task->state = WEFT_STATE_QUEUED;
    task->place = (uint8_t)place;
  }
}

void weft__sched_begin_pass(weft__sched *sched)
{
  sched->cancel_pass_left = sched->cancel_count;
  wake_due(sched, &sched->real_heap, sched->real.now, &sched->urgent, WEFT_PLACE_URGENT);
  weft__ring_begin_pass(&sched->urgent);
  if (sched->paused) {
    sched->ready.pass_end = sched->ready.head;
  } else {
    wake_due(sched, &sched->sim_heap, sched->sim.now, &sched->ready, WEFT_PLACE_READY);
    weft__ring_begin_pass(&sched->ready);
  }
  sched->budget_left = sched->budget;
  sched->prefetches = sched->fresh >= PREFETCH_FROM;
  sched->streams = sched->fresh < STREAM_UP_TO;
  sched->early = true;
}

void weft__sched_begin_drain(weft__sched *sched)
{
  sched->cancel_pass_left = sched->cancel_count;
  sched->urgent.pass_end = sched->urgent.head;
  sched->ready.pass_end = sched->ready.head;
  sched->budget_left = 0;
  sched->early = true;
}

/* The lanes before the ready one; NULL once they are empty, as they mostly are all the time. */
static WEFT_NOINLINE weft__task *take_early(weft__sched *sched)
{
  if (sched->cancel_pass_left > 0) return take_from_cancel_lane(sched);
  if (sched->budget_left == 0) return NULL;
  uint32_t slot = weft__ring_pop(&sched->urgent);
  sched->early = slot != WEFT_RING_HOLE;
  if (!sched->early) return NULL;
  sched->budget_left--;
  return weft__sched_at(sched, slot);
}

static inline weft__task *take_from_lanes(weft__sched *sched)
{
  weft__task *task;
  if (WEFT_UNLIKELY(sched->early) && (task = take_early(sched)) != NULL) return task;
  if (sched->budget_left == 0) return NULL;
  uint32_t slot = weft__ring_pop(&sched->ready);
  if (slot == WEFT_RING_HOLE) return NULL;
  sched->budget_left--;
  return weft__sched_at(sched, slot);
}

weft__task *weft__sched_take(weft__sched *sched)
{
  weft__task *task = take_from_lanes(sched);
  sched->running = task;
  if (WEFT_UNLIKELY(!task)) return NULL;
  task->place = WEFT_PLACE_NONE;
  WEFT_DEBUG_DO(task->position = WEFT_HEAP_NOWHERE); /* for the heap's assertions alone */
  task->unstarted = false;
  task->state = task->cancel ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
  sched->counts.resumed++;
  task->resumes++;
  return task;
}
