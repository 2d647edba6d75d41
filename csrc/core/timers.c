/* SPDX-License-Identifier: MIT */
/*
** timers.c - the timers of timers.h: slots, arming, and the calls of a tick.
*/
#include "core/timers.h"

#include <string.h>

#include "platform/platform.h"
#include "platform/system.h"

/* Handles: tag, generation, slot; as those of owners. */
#define SLOT_BITS 24
#define TAG_SHIFT 56
#define MAX_TIMERS (UINT32_C(1) << SLOT_BITS)
#define FIRST_CAPACITY 64

/* --- Memory -------------------------------------------------------------------------------- */

void weft__timers_init(weft__timers *timers, weft__owners *owners, const weft__clock *sim,
                       const weft__clock *real, uint8_t tag)
{
  *timers = (weft__timers){.owners = owners,
                           .sim = sim,
                           .real = real,
                           .free_first = WEFT_NO_TIMER,
                           .free_last = WEFT_NO_TIMER,
                           .generation_end = UINT32_MAX,
                           .tag = tag};
  weft__heap_init_growing(&timers->sim_heap, sizeof(weft__timer));
  weft__heap_init_growing(&timers->real_heap, sizeof(weft__timer));
}

void weft__timers_fini(weft__timers *timers)
{
  weft__heap_fini(&timers->real_heap);
  weft__heap_fini(&timers->sim_heap);
  weft__free(timers->queue);
  weft__free(timers->links);
  weft__free(timers->slots);
  weft__free(timers->tags);
}

/* The larger arrays, with what the old ones hold. */
static void move_to(weft__timers *timers, uint32_t capacity, weft__timer *slots,
                    weft__timer_links *links, uint32_t *queue)
{
  if (timers->fresh > 0) {
    memcpy(slots, timers->slots, timers->fresh * sizeof *slots);
    memcpy(links, timers->links, timers->fresh * sizeof *links);
    memcpy(queue, timers->queue, timers->queue_tail * sizeof *queue);
  }
  weft__free(timers->slots);
  weft__free(timers->links);
  weft__free(timers->queue);
  timers->slots = slots;
  timers->links = links;
  timers->queue = queue;
  timers->capacity = capacity;
  weft__heap_move(&timers->sim_heap, &slots->position);
  weft__heap_move(&timers->real_heap, &slots->position);
}

/* A heap that has grown when the next thing cannot be had is only larger than it need be. */
static weft_status grow(weft__timers *timers, uint32_t capacity)
{
  if (weft__heap_grow(&timers->sim_heap, capacity)) return WEFT_NOMEM;
  if (weft__heap_grow(&timers->real_heap, capacity)) return WEFT_NOMEM;
  weft__timer *slots = weft__calloc(capacity, sizeof *slots);
  weft__timer_links *links = weft__calloc(capacity, sizeof *links);
  uint32_t *queue = weft__calloc(capacity, sizeof *queue);
  if (slots && links && queue) {
    move_to(timers, capacity, slots, links, queue);
    return WEFT_OK;
  }
  weft__free(slots);
  weft__free(links);
  weft__free(queue);
  return WEFT_NOMEM;
}

weft_status weft__timers_reserve(weft__timers *timers, uint32_t count)
{
  if (count > MAX_TIMERS) return WEFT_FULL;
  return count <= timers->capacity ? WEFT_OK : grow(timers, count);
}

/* --- Slots and handles --------------------------------------------------------------------- */

weft_timer weft__timer_handle(const weft__timers *timers, uint32_t slot)
{
  return (uint64_t)timers->tag << TAG_SHIFT |
         (uint64_t)timers->slots[slot].generation << SLOT_BITS | slot;
}

uint32_t weft__timer_find(const weft__timers *timers, weft_timer handle)
{
  uint32_t slot = handle & (MAX_TIMERS - 1);
  if (handle >> TAG_SHIFT != timers->tag || slot >= timers->fresh) return WEFT_NO_TIMER;
  const weft__timer *timer = &timers->slots[slot];
  bool same = timer->generation == (uint32_t)(handle >> SLOT_BITS);
  return same && timer->place != WEFT_TIMER_FREE ? slot : WEFT_NO_TIMER;
}

static weft_status take_slot(weft__timers *timers, uint32_t *out)
{
  uint32_t slot = timers->free_first;
  if (slot != WEFT_NO_TIMER) {
    timers->free_first = timers->slots[slot].position;
    if (timers->free_first == WEFT_NO_TIMER) timers->free_last = WEFT_NO_TIMER;
  } else {
    if (timers->fresh == timers->capacity) {
      if (timers->capacity == MAX_TIMERS) return WEFT_FULL;
      uint32_t twice = timers->capacity < MAX_TIMERS / 2 ? timers->capacity * 2 : MAX_TIMERS;
      weft_status status = grow(timers, twice > 0 ? twice : FIRST_CAPACITY);
      if (status) return status;
    }
    slot = timers->fresh++;
  }
  timers->alive++;
  *out = slot;
  return WEFT_OK;
}

static void free_slot(weft__timers *timers, uint32_t slot)
{
  weft__timer *timer = &timers->slots[slot];
  timer->place = WEFT_TIMER_FREE;
  timer->position = WEFT_NO_TIMER;
  timers->alive--;
  if (timer->generation >= timers->generation_end) return; /* used up: retired for good */
  if (timers->free_last == WEFT_NO_TIMER)
    timers->free_first = slot;
  else
    timers->slots[timers->free_last].position = slot;
  timers->free_last = slot;
}

/* --- Deadlines ----------------------------------------------------------------------------- */

static int64_t add_clipped(int64_t time, int64_t ns)
{
  return ns > INT64_MAX - time ? INT64_MAX : time + ns;
}

static weft__heap *heap_of(weft__timers *timers, const weft__timer *timer)
{
  return timer->unscaled ? &timers->real_heap : &timers->sim_heap;
}

/* What its clock shows. */
static int64_t now_of(const weft__timers *timers, uint32_t slot)
{
  const weft__timer *timer = &timers->slots[slot];
  if (timer->unscaled) return timers->real->now;
  const weft__owner *clock = weft__timer_clock(timers, slot);
  return clock ? weft__owner_now(clock, timers->sim->now) : timers->sim->now;
}

/* On an owner's clock the deadline stands in the heap as the sim time at which that will show it. */
static void place_on_clock(weft__timers *timers, uint32_t slot, const weft__owner *clock)
{
  weft__timer *timer = &timers->slots[slot];
  int64_t now = timers->sim->now;
  bool is_due = timer->due - weft__owner_now(clock, now) <= WEFT_DUE_SLACK_NS;
  if (!is_due && clock->clock.scale == 0) {
    timer->place = WEFT_TIMER_FROZEN;
    return;
  }
  weft__heap_add_tied(&timers->sim_heap, is_due ? now : weft__owner_sim_of(clock, timer->due),
                      timer->tie);
}

/* Of a timer that is nowhere. */
static void place(weft__timers *timers, uint32_t slot)
{
  weft__timer *timer = &timers->slots[slot];
  const weft__owner *clock = weft__timer_clock(timers, slot);
  timer->place = WEFT_TIMER_HEAP;
  if (clock)
    place_on_clock(timers, slot, clock);
  else
    weft__heap_add_tied(heap_of(timers, timer), timer->due, timer->tie);
}

static void take_out(weft__timers *timers, uint32_t slot)
{
  weft__timer *timer = &timers->slots[slot];
  if (timer->place == WEFT_TIMER_HEAP) {
    weft__heap_remove(heap_of(timers, timer), slot);
  } else if (timer->place == WEFT_TIMER_DUE) {
    timers->queue[timer->position] = WEFT_NO_TIMER;
    timer->position = WEFT_HEAP_NOWHERE;
  }
}

void weft__timer_place_anew(weft__timers *timers, uint32_t slot)
{
  weft__timer_place where = timers->slots[slot].place;
  if (where != WEFT_TIMER_HEAP && where != WEFT_TIMER_FROZEN) return;
  take_out(timers, slot);
  place(timers, slot);
}

/* Sorts in the heap all timers of a kind by their ties, wherever they are, and gives them new ones. Those
   that wait for another tick still do. */
static WEFT_COLD void renumber(weft__timers *timers, weft__heap *heap)
{
  uint64_t *fresh = heap == &timers->real_heap ? &timers->real_tie : &timers->sim_tie;
  uint64_t first_fresh = *fresh;
  uint32_t slot;
  heap->count = 0;
  for (slot = 0; slot < timers->fresh; slot++) {
    weft__timer *timer = &timers->slots[slot];
    if (timer->place == WEFT_TIMER_FREE || heap_of(timers, timer) != heap) continue;
    timer->position = WEFT_HEAP_NOWHERE;
    weft__heap_add_tied(heap, 0, timer->tie);
  }
  heap->sequence = *fresh = 0;
  while (weft__heap_pop_due(heap, 0, &slot)) {
    weft__timer *timer = &timers->slots[slot];
    bool is_fresh = timer->tie >= first_fresh;
    timer->tie = weft__heap_new_tie(heap, slot);
    if (!is_fresh) *fresh = weft__heap_next_tie(heap);
  }
  for (uint32_t i = timers->queue_head; i < timers->queue_tail; i++)
    if (timers->queue[i] != WEFT_NO_TIMER) timers->slots[timers->queue[i]].position = i;
  for (slot = 0; slot < timers->fresh; slot++) {
    const weft__timer *timer = &timers->slots[slot];
    if (timer->place == WEFT_TIMER_HEAP && heap_of(timers, timer) == heap) place(timers, slot);
  }
}

weft_status weft__timer_start(weft__timers *timers, const weft_timer_options *options,
                              uint32_t owner, weft_timer_fn fn, void *arg, uint32_t *out)
{
  uint32_t slot;
  weft_status status = take_slot(timers, &slot);
  if (status) return status;
  weft__timer *timer = &timers->slots[slot];
  *timer = (weft__timer){
      .period = options->period,
      .left = options->count > 0 ? options->count : INT64_MAX,
      .fn = fn,
      .arg = arg,
      .position = WEFT_HEAP_NOWHERE,
      .generation = timer->generation + 1,
      .unscaled = options->unscaled,
  };
  weft__heap *heap = heap_of(timers, timer);
  if (WEFT_UNLIKELY(heap->sequence >= heap->sequence_end)) renumber(timers, heap);
  timer->tie = weft__heap_new_tie(heap, slot);
  if (owner != WEFT_OWNER_ROOT) weft__timer_own(timers, slot, owner);
  timer->due = add_clipped(now_of(timers, slot), options->delay);
  place(timers, slot);
  *out = slot;
  return WEFT_OK;
}

/* --- Changes ------------------------------------------------------------------------------- */

void weft__timer_remove(weft__timers *timers, uint32_t slot)
{
  take_out(timers, slot);
  weft__timer_unlink(timers, slot);
  free_slot(timers, slot);
}

void weft__timer_cancel(weft__timers *timers, uint32_t slot)
{
  weft_timer handle = weft__timer_handle(timers, slot);
  weft_timer_fn fn = timers->slots[slot].fn;
  void *arg = timers->slots[slot].arg;
  weft__timer_remove(timers, slot);
  if (timers->ended) timers->ended(timers, handle, fn, arg);
}

void weft__timers_cancel_all(weft__timers *timers)
{
  for (uint32_t slot = 0; slot < timers->fresh && timers->alive > 0; slot++)
    if (timers->slots[slot].place != WEFT_TIMER_FREE) weft__timer_cancel(timers, slot);
}

bool weft__timer_pause(weft__timers *timers, uint32_t slot)
{
  weft__timer *timer = &timers->slots[slot];
  if (timer->place == WEFT_TIMER_PAUSED) return false;
  take_out(timers, slot);
  timer->due -= now_of(timers, slot);
  timer->place = WEFT_TIMER_PAUSED;
  return true;
}

bool weft__timer_resume(weft__timers *timers, uint32_t slot)
{
  weft__timer *timer = &timers->slots[slot];
  if (timer->place != WEFT_TIMER_PAUSED) return false;
  int64_t now = now_of(timers, slot);
  timer->due = timer->due > 0 ? add_clipped(now, timer->due) : now + timer->due;
  place(timers, slot);
  return true;
}

int64_t weft__timer_remaining(const weft__timers *timers, uint32_t slot)
{
  const weft__timer *timer = &timers->slots[slot];
  bool paused = timer->place == WEFT_TIMER_PAUSED;
  int64_t left = paused ? timer->due : timer->due - now_of(timers, slot);
  return left > 0 ? left : 0;
}

/* --- The tick ------------------------------------------------------------------------------ */

void weft__timers_begin_tick(weft__timers *timers)
{
  timers->sim_tie = weft__heap_next_tie(&timers->sim_heap);
  timers->real_tie = weft__heap_next_tie(&timers->real_heap);
}

/* Two rounds: while the heap is busy with the next ones, those it gave are fetched. What was made
   in this tick, before this stage, goes back. */
static void collect(weft__timers *timers, weft__heap *heap, int64_t now, uint64_t fresh_tie)
{
  int64_t limit = add_clipped(now, WEFT_DUE_SLACK_NS);
  uint32_t slot, at = timers->queue_tail, tail = at;
  while (weft__heap_pop_due(heap, limit, &slot)) {
    __builtin_prefetch(&timers->slots[slot]);
    timers->queue[tail++] = slot;
  }
  for (; at < tail; at++) {
    slot = timers->queue[at];
    weft__timer *timer = &timers->slots[slot];
    if (WEFT_UNLIKELY(timer->tie >= fresh_tie)) {
      place(timers, slot);
      continue;
    }
    timer->place = WEFT_TIMER_DUE;
    timer->position = timers->queue_tail;
    timers->queue[timers->queue_tail++] = slot;
  }
}

void weft__timers_collect(weft__timers *timers, bool paused)
{
  WEFT_ASSERT(timers->queue_head == timers->queue_tail);
  timers->queue_head = timers->queue_tail = 0;
  collect(timers, &timers->real_heap, timers->real->now, timers->real_tie);
  if (!paused) collect(timers, &timers->sim_heap, timers->sim->now, timers->sim_tie);
}

/* How many intervals are over, of which there is one at least; the deadline moves past them. */
static int64_t take_intervals(weft__timer *timer, int64_t now)
{
  int64_t late = add_clipped(now, WEFT_DUE_SLACK_NS) - timer->due;
  int64_t missed = timer->period > 0 && late > 0 ? late / timer->period : 0;
  int64_t taken = missed < timer->left ? missed + 1 : timer->left;
  if (timer->period > 0)
    timer->due = add_clipped(timer->due + missed * timer->period, timer->period);
  else
    timer->due = now;
  if (timer->left < INT64_MAX) timer->left -= taken;
  return taken;
}

static void fire(weft__timers *timers, uint32_t slot, weft_timer_call *call)
{
  weft__timer *timer = &timers->slots[slot];
  timer->position = WEFT_HEAP_NOWHERE;
  *call = (weft_timer_call){.timer = weft__timer_handle(timers, slot),
                            .fn = timer->fn,
                            .arg = timer->arg,
                            .intervals = take_intervals(timer, now_of(timers, slot)),
                            .last = timer->left == 0};
  if (!call->last) {
    place(timers, slot);
    return;
  }
  weft__timer_unlink(timers, slot);
  free_slot(timers, slot);
}

bool weft__timers_take(weft__timers *timers, weft_timer_call *call)
{
  while (timers->queue_head < timers->queue_tail) {
    uint32_t slot = timers->queue[timers->queue_head++];
    if (slot == WEFT_NO_TIMER) continue;
    fire(timers, slot, call);
    return true;
  }
  return false;
}
