/* SPDX-License-Identifier: MIT */
/*
** timers_walk.c - walks all timers and tells whether their parts agree. For specs and for the hostile
** build.
*/
#include "core/timers.h"

static bool in_heap_valid(const weft__timers *timers, uint32_t slot)
{
  const weft__timer *timer = &timers->slots[slot];
  const weft__heap *heap = timer->unscaled ? &timers->real_heap : &timers->sim_heap;
  if (timer->position >= heap->count || weft__heap_tie(heap, slot) != timer->tie) return false;
  /* On a clock of its own it stands at another time. */
  return weft__timer_clock(timers, slot) || weft__heap_deadline(heap, slot) == timer->due;
}

static bool timer_valid(const weft__timers *timers, uint32_t slot)
{
  const weft__timer *timer = &timers->slots[slot];
  const weft__owner *clock = weft__timer_clock(timers, slot);
  if (timer->left <= 0) return false;
  switch (timer->place) {
  case WEFT_TIMER_HEAP:
    return in_heap_valid(timers, slot);
  case WEFT_TIMER_DUE:
    return timer->position >= timers->queue_head && timer->position < timers->queue_tail &&
           timers->queue[timer->position] == slot;
  case WEFT_TIMER_FROZEN:
    return clock && clock->clock.scale == 0;
  default:
    return timer->place == WEFT_TIMER_PAUSED;
  }
}

static bool owner_valid(const weft__timers *timers, uint32_t owner, uint32_t *seen)
{
  const weft__owner *it = weft__owner_at(timers->owners, owner);
  uint32_t last = WEFT_NO_TIMER;
  if (!it->used) return true;
  for (uint32_t at = it->first_timer; at != WEFT_NO_TIMER; at = timers->links[at].next) {
    if (at >= timers->fresh || ++*seen > timers->alive || !timers->slots[at].owned)
      return false;
    if (timers->links[at].owner != owner || timers->links[at].prev != last) return false;
    if (it->destroyed || it->disabled_by > 0) return false;
    last = at;
  }
  return it->last_timer == last;
}

static bool tag_valid(const weft__timers *timers, uint32_t tag, uint32_t *seen, uint32_t *empty)
{
  const weft__timer_tag *it = &timers->tags[tag];
  uint32_t last = WEFT_NO_TIMER;
  *empty += it->first == WEFT_NO_TIMER;
  for (uint32_t at = it->first; at != WEFT_NO_TIMER; at = timers->links[at].tag_next) {
    if (at >= timers->fresh || ++*seen > timers->alive || !timers->slots[at].tagged)
      return false;
    if (timers->links[at].tag != tag || timers->links[at].tag_prev != last) return false;
    last = at;
  }
  return it->last == last;
}

static bool groups_valid(const weft__timers *timers)
{
  uint32_t owned = 0, tagged = 0, of_owners = 0, of_tags = 0, empty = 0;
  for (uint32_t slot = 0; slot < timers->fresh; slot++) {
    owned += timers->slots[slot].owned;
    tagged += timers->slots[slot].tagged;
  }
  for (uint32_t owner = 0; owner < timers->owners->count; owner++)
    if (!owner_valid(timers, owner, &of_owners)) return false;
  for (uint32_t tag = 1; tag < timers->tag_count; tag++)
    if (!tag_valid(timers, tag, &of_tags, &empty)) return false;
  for (uint32_t at = timers->tag_count > 0 ? timers->tags[0].next : 0; at != 0;
       at = timers->tags[at].next)
    if (empty-- == 0 || timers->tags[at].first != WEFT_NO_TIMER) return false;
  return owned == of_owners && tagged == of_tags && empty == 0;
}

static bool free_list_valid(const weft__timers *timers)
{
  uint32_t count = 0, last = WEFT_NO_TIMER;
  for (uint32_t at = timers->free_first; at != WEFT_NO_TIMER; at = timers->slots[at].position) {
    if (at >= timers->fresh || ++count > timers->fresh - timers->alive) return false;
    if (timers->slots[at].place != WEFT_TIMER_FREE) return false;
    last = at;
  }
  return last == timers->free_last;
}

bool weft__timers_valid(const weft__timers *timers)
{
  uint32_t alive = 0, in_heaps = 0;
  if (timers->fresh > timers->capacity) return false;
  for (uint32_t slot = 0; slot < timers->fresh; slot++) {
    const weft__timer *timer = &timers->slots[slot];
    if (timer->place == WEFT_TIMER_FREE) continue;
    if (!timer_valid(timers, slot)) return false;
    alive++;
    in_heaps += timer->place == WEFT_TIMER_HEAP;
  }
  if (alive != timers->alive) return false;
  if (in_heaps != timers->sim_heap.count + timers->real_heap.count) return false;
  if (!weft__heap_valid(&timers->sim_heap) || !weft__heap_valid(&timers->real_heap))
    return false;
  return groups_valid(timers) && free_list_valid(timers);
}
