/* SPDX-License-Identifier: MIT */
/*
** sched.c - the scheduler of sched.h: slots and handles, waking, the pass.
*/
#include "core/sched.h"

#include <stdatomic.h>
#include <string.h>

#include "core/sched_cancel.h"
#include "core/sched_joins.h"
#include "platform/platform.h"
#include "platform/system.h"

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
  uint32_t *positions = weft__calloc(capacity, sizeof *positions);
  weft__heap_init_growing(&sched->step_heap, sizeof *positions);
  weft__heap_move(&sched->step_heap, positions);
  sched->positions = positions;
  WEFT_DEBUG_DO(positions ? memset(positions, 0xff, capacity * sizeof *positions) : NULL);
  if (!members || !sched->several || !positions ||
      weft__ring_init(&sched->ready, capacity, positions) ||
      weft__ring_init(&sched->urgent, capacity, positions) ||
      weft__heap_init(&sched->sim_heap, capacity, positions, sizeof *positions) ||
      weft__heap_init(&sched->real_heap, capacity, positions, sizeof *positions)) {
    weft__sched_fini(sched);
    return WEFT_NOMEM;
  }
  return WEFT_OK;
}

weft_status weft__sched_reserve_steps(weft__sched *sched)
{
  return weft__heap_grow(&sched->step_heap, sched->capacity);
}

void weft__sched_fini(weft__sched *sched)
{
  weft__heap_fini(&sched->step_heap);
  weft__heap_fini(&sched->real_heap);
  weft__heap_fini(&sched->sim_heap);
  weft__ring_fini(&sched->urgent);
  weft__ring_fini(&sched->ready);
  weft__free(sched->positions);
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

/* True if an event had told it something, which it will not take now. */
static bool take_out(weft__sched *sched, weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  bool told = task->wake == WEFT_FIRED && task->place == WEFT_PLACE_READY;
  if (task->joins != WEFT_NO_SLOT) told = weft__joins_leave(sched, task);
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
  case WEFT_PLACE_STEPS:
    weft__heap_remove(&sched->step_heap, slot);
    break;
  default:
    break;
  }
  task->place = WEFT_PLACE_NONE;
  WEFT_DEBUG_DO(sched->positions[slot] = WEFT_HEAP_NOWHERE); /* for its assertions alone */
  return told;
}

void weft__sched_detach(weft__sched *sched, weft__task *task)
{
  if (take_out(sched, task)) weft__events_lose(sched, task);
}

void weft__sched_make_ready(weft__sched *sched, weft__task *task, weft_status wake)
{
  bool lost = take_out(sched, task) && wake != WEFT_FIRED;
  task->wake = (int8_t)wake;
  task->state = WEFT_STATE_QUEUED;
  task->place = WEFT_PLACE_READY;
  weft__ring_push(&sched->ready, weft__sched_slot(sched, task));
  if (lost) weft__events_lose(sched, task);
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

weft_waiting weft__sched_waiting(const weft__task *task)
{
  if (task->unstarted) return WEFT_WAITING_START;
  if (task->joins == WEFT_ON_EVENT) return WEFT_WAITING_EVENT;
  if (task->joins != WEFT_NO_SLOT) return WEFT_WAITING_ROUTINE;
  switch (task->place) {
  case WEFT_PLACE_SIM:
  case WEFT_PLACE_FROZEN:
    return WEFT_WAITING_TIME;
  case WEFT_PLACE_REAL:
    return WEFT_WAITING_REAL_TIME;
  case WEFT_PLACE_STEPS:
    return WEFT_WAITING_STEPS;
  case WEFT_PLACE_CANCEL:
    return WEFT_WAITING_CANCEL;
  case WEFT_PLACE_NONE:
    return WEFT_WAITING_NOTHING;
  default:
    return task->state == WEFT_STATE_SLEEPING ? WEFT_WAITING_TICK : WEFT_WAITING_TURN;
  }
}

/* --- The pass ------------------------------------------------------------------------------ */

/* Those that were told something by events, and waited for more than came in their time, the one
   that was due first first. */
typedef struct lost_list {
  uint32_t first, last;
} lost_list;

static void add_lost(weft__sched *sched, lost_list *lost, uint32_t slot)
{
  weft__several_of(sched, slot)->next_lost = WEFT_NO_SLOT;
  if (lost->first == WEFT_NO_SLOT)
    lost->first = slot;
  else
    weft__several_of(sched, lost->last)->next_lost = slot;
  lost->last = slot;
}

/* Not before all that are due are out of the heap: what one gives back may wake another of them. */
static void give_back(weft__sched *sched, uint32_t slot)
{
  while (slot != WEFT_NO_SLOT) {
    uint32_t next = weft__several_of(sched, slot)->next_lost;
    weft__events_lose(sched, weft__sched_at(sched, slot));
    slot = next;
  }
}

/* Its time is over: the target of a join next to the deadline had not ended before it. */
static WEFT_NOINLINE void time_out(weft__sched *sched, weft__task *task, lost_list *lost)
{
  task->wake = WEFT_TIMEOUT;
  if (weft__joins_leave(sched, task)) add_lost(sched, lost, weft__sched_slot(sched, task));
}

/* Three ticks of 1/3 s end a wait of 1: hence the slack. Two rounds: while the heap is busy with the next ones, those it gave are fetched. */
static void wake_due(weft__sched *sched, weft__heap *heap, int64_t now, weft__ring *ring,
                     weft__place place)
{
  int64_t limit = now > INT64_MAX - WEFT_DUE_SLACK_NS ? INT64_MAX : now + WEFT_DUE_SLACK_NS;
  uint32_t slot, at = ring->tail;
  lost_list lost = {WEFT_NO_SLOT, WEFT_NO_SLOT};
  while (weft__heap_pop_due(heap, limit, &slot)) {
    weft__prefetch_task(weft__sched_at(sched, slot));
    weft__ring_push(ring, slot);
  }
  for (; at != ring->tail; at++) {
    weft__task *task = weft__sched_at(sched, ring->items[at & ring->mask]);
    task->wake = WEFT_OK;
    task->state = WEFT_STATE_QUEUED;
    task->place = (uint8_t)place;
    if (task->joins != WEFT_NO_SLOT) time_out(sched, task, &lost);
  }
  give_back(sched, lost.first);
}

/* Those whose fixed steps are over. */
static WEFT_NOINLINE void wake_stepped(weft__sched *sched)
{
  uint32_t slot;
  while (weft__heap_pop_due(&sched->step_heap, (int64_t)sched->steps, &slot)) {
    weft__task *task = weft__sched_at(sched, slot);
    weft__ring_push(&sched->ready, slot);
    task->wake = WEFT_OK;
    task->state = WEFT_STATE_QUEUED;
    task->place = WEFT_PLACE_READY;
  }
}

/* All of the last pass that it did not come to is what it left over. */
static void let_go(weft__sched *sched)
{
  if (!sched->over) return;
  weft__ring_let_go(&sched->urgent);
  weft__ring_let_go(&sched->ready);
  sched->over = false;
}

/* What is left over stays first in line: where the ready lane has some, what is due in real time by now
   does not come before that, or those who wait for no time would wait for ever. */
static void begin_lanes(weft__sched *sched)
{
  sched->over = !sched->paused && sched->urgent.head != sched->urgent.tail &&
                weft__ring_left(&sched->ready) && weft__ring_count(&sched->urgent) > 0;
  if (sched->over) {
    weft__ring_hold(&sched->urgent);
    weft__ring_hold(&sched->ready);
    return;
  }
  weft__ring_begin_pass(&sched->urgent);
  if (sched->paused)
    sched->ready.pass_end = sched->ready.head;
  else
    weft__ring_begin_pass(&sched->ready);
}

void weft__sched_begin_pass(weft__sched *sched)
{
  sched->cancel_pass_left = sched->cancel_count;
  sched->cancel_pass_last = sched->cancel_last;
  let_go(sched);
  wake_due(sched, &sched->real_heap, sched->real.now, &sched->urgent, WEFT_PLACE_URGENT);
  if (!sched->paused) {
    if (sched->step_heap.count > 0) wake_stepped(sched);
    wake_due(sched, &sched->sim_heap, sched->sim.now, &sched->ready, WEFT_PLACE_READY);
  }
  begin_lanes(sched);
  sched->budget_left = sched->budget;
  sched->prefetches = sched->fresh >= PREFETCH_FROM;
  sched->streams = sched->fresh < STREAM_UP_TO;
  sched->early =
      sched->cancel_count > 0 || sched->over || sched->urgent.head != sched->urgent.pass_end;
}

void weft__sched_begin_drain(weft__sched *sched)
{
  sched->cancel_pass_left = sched->cancel_count;
  sched->cancel_pass_last = sched->cancel_last;
  sched->over = false;
  sched->urgent.pass_end = sched->urgent.head;
  sched->ready.pass_end = sched->ready.head;
  sched->budget_left = 0;
  sched->early = sched->cancel_count > 0;
}

/* Of what was left over, in turns. */
static uint32_t pop_left_over(weft__sched *sched)
{
  weft__ring *lanes[] = {&sched->urgent, &sched->ready};
  int turn = sched->ready_turn;
  uint32_t slot = weft__ring_pop(lanes[turn]);
  if (slot == WEFT_RING_HOLE) slot = weft__ring_pop(lanes[turn = !turn]);
  if (slot != WEFT_RING_HOLE) sched->ready_turn = !turn;
  return slot;
}

static uint32_t pop_early(weft__sched *sched)
{
  if (sched->budget_left == 0) return WEFT_RING_HOLE;
  uint32_t slot = sched->over ? pop_left_over(sched) : WEFT_RING_HOLE;
  if (slot != WEFT_RING_HOLE) return slot;
  let_go(sched);
  return weft__ring_pop(&sched->urgent);
}

/* The lanes before the ready one; NULL once they are empty, as they mostly are all the time. */
static WEFT_NOINLINE weft__task *take_early(weft__sched *sched)
{
  if (sched->cancel_pass_left > 0) return weft__cancel_lane_take(sched);
  uint32_t slot = pop_early(sched);
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
  if (WEFT_UNLIKELY(!task)) {
    sched->running = NULL;
    return NULL;
  }
  /* In this order for the watch, which may interrupt here: what it saw of the resume before is not of
     this task. */
  sched->counts.resumed++;
  atomic_signal_fence(memory_order_release);
  sched->running = task;
  task->place = WEFT_PLACE_NONE;
  WEFT_DEBUG_DO(sched->positions[task->slot] = WEFT_HEAP_NOWHERE); /* as above */
  task->unstarted = false;
  task->state = weft__sched_is_asked(task) ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
  if (WEFT_UNLIKELY(task->wake == WEFT_FIRED)) weft__events_taken(sched, task);
  task->resumes++;
  return task;
}
