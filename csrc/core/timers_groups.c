/* SPDX-License-Identifier: MIT */
/*
** timers_groups.c - timers that belong together: those of an owner, whose clock they run on and with
** which they end, and those that were given the same tag.
*/
#include <string.h>

#include "core/timers.h"
#include "platform/system.h"

/* The head of the tags that no timer has, and what stands for no tag. */
#define NONE 0
#define MAX_TAGS (UINT32_C(1) << 24)

/* --- Owners -------------------------------------------------------------------------------- */

void weft__timer_own(weft__timers *timers, uint32_t slot, uint32_t owner)
{
  weft__owner *it = weft__owner_at(timers->owners, owner);
  weft__timer_links *links = &timers->links[slot];
  WEFT_ASSERT(it->used && !it->destroyed && it->disabled_by == 0);
  links->owner = owner;
  links->next = WEFT_NO_TIMER;
  links->prev = it->last_timer;
  if (it->last_timer == WEFT_NO_TIMER)
    it->first_timer = slot;
  else
    timers->links[it->last_timer].next = slot;
  it->last_timer = slot;
  timers->slots[slot].owned = true;
}

static void disown(weft__timers *timers, uint32_t slot)
{
  const weft__timer_links *links = &timers->links[slot];
  weft__owner *it = weft__owner_at(timers->owners, links->owner);
  if (links->prev == WEFT_NO_TIMER)
    it->first_timer = links->next;
  else
    timers->links[links->prev].next = links->next;
  if (links->next == WEFT_NO_TIMER)
    it->last_timer = links->prev;
  else
    timers->links[links->next].prev = links->prev;
  timers->slots[slot].owned = false;
}

const weft__owner *weft__timer_clock(const weft__timers *timers, uint32_t slot)
{
  const weft__timer *timer = &timers->slots[slot];
  if (!timer->owned || timer->unscaled) return NULL;
  const weft__owner *owner = weft__owner_at(timers->owners, timers->links[slot].owner);
  return owner->scaled ? owner : NULL;
}

/* What is done may take the timer out of the list. */
uint32_t weft__timers_of_owner(weft__timers *timers, uint32_t root, weft__timer_deed *deed)
{
  uint32_t at = root, count = 0;
  do {
    uint32_t slot = weft__owner_at(timers->owners, at)->first_timer;
    while (slot != WEFT_NO_TIMER) {
      uint32_t next = timers->links[slot].next;
      count += deed(timers, slot);
      slot = next;
    }
  } while ((at = weft__owner_next(timers->owners, root, at)) != WEFT_OWNER_ROOT);
  return count;
}

static bool rescale(weft__timers *timers, uint32_t slot)
{
  bool moves = !timers->slots[slot].unscaled;
  if (moves) weft__timer_place_anew(timers, slot);
  return moves;
}

void weft__timers_rescale(weft__timers *timers, uint32_t owner)
{
  weft__timers_of_owner(timers, owner, rescale);
}

bool weft__timer_end(weft__timers *timers, uint32_t slot)
{
  weft__timer_cancel(timers, slot);
  return true;
}

/* --- Tags ---------------------------------------------------------------------------------- */

static weft_status grow_tags(weft__timers *timers)
{
  uint32_t capacity = timers->tag_capacity > 0 ? timers->tag_capacity * 2 : 8;
  if (timers->tag_capacity >= MAX_TAGS) return WEFT_FULL;
  weft__timer_tag *tags = weft__calloc(capacity, sizeof *tags);
  if (!tags) return WEFT_NOMEM;
  if (timers->tag_count > 0)
    memcpy(tags, timers->tags, timers->tag_count * sizeof *tags);
  else
    timers->tag_count = 1; /* the head of the empty ones, a ring of itself */
  weft__free(timers->tags);
  timers->tags = tags;
  timers->tag_capacity = capacity;
  return WEFT_OK;
}

static void leave_empty(weft__timers *timers, uint32_t tag)
{
  weft__timer_tag *it = &timers->tags[tag];
  timers->tags[it->prev].next = it->next;
  timers->tags[it->next].prev = it->prev;
}

/* Behind those that have been empty for longer. */
static void join_empty(weft__timers *timers, uint32_t tag)
{
  weft__timer_tag *it = &timers->tags[tag], *head = &timers->tags[NONE];
  *it = (weft__timer_tag){WEFT_NO_TIMER, WEFT_NO_TIMER, NONE, head->prev};
  timers->tags[head->prev].next = tag;
  head->prev = tag;
}

weft_status weft__timer_tag_new(weft__timers *timers, uint32_t *out)
{
  uint32_t tag = timers->tag_count > 0 ? timers->tags[NONE].next : NONE;
  if (tag != NONE) {
    leave_empty(timers, tag);
  } else {
    if (timers->tag_count == timers->tag_capacity) {
      weft_status status = grow_tags(timers);
      if (status) return status;
    }
    tag = timers->tag_count++;
  }
  join_empty(timers, tag);
  *out = tag;
  return WEFT_OK;
}

static void untag(weft__timers *timers, uint32_t slot)
{
  const weft__timer_links *links = &timers->links[slot];
  weft__timer_tag *it = &timers->tags[links->tag];
  if (links->tag_prev == WEFT_NO_TIMER)
    it->first = links->tag_next;
  else
    timers->links[links->tag_prev].tag_next = links->tag_next;
  if (links->tag_next == WEFT_NO_TIMER)
    it->last = links->tag_prev;
  else
    timers->links[links->tag_next].tag_prev = links->tag_prev;
  if (it->first == WEFT_NO_TIMER) join_empty(timers, links->tag);
  timers->slots[slot].tagged = false;
}

void weft__timer_set_tag(weft__timers *timers, uint32_t slot, uint32_t tag)
{
  weft__timer_links *links = &timers->links[slot];
  WEFT_ASSERT(tag == NONE || tag < timers->tag_count);
  if (timers->slots[slot].tagged) untag(timers, slot);
  if (tag == NONE) return;
  weft__timer_tag *it = &timers->tags[tag];
  if (it->first == WEFT_NO_TIMER) leave_empty(timers, tag);
  links->tag = tag;
  links->tag_next = WEFT_NO_TIMER;
  links->tag_prev = it->last;
  if (it->last == WEFT_NO_TIMER)
    it->first = slot;
  else
    timers->links[it->last].tag_next = slot;
  it->last = slot;
  timers->slots[slot].tagged = true;
}

void weft__timer_unlink(weft__timers *timers, uint32_t slot)
{
  if (timers->slots[slot].owned) disown(timers, slot);
  if (timers->slots[slot].tagged) untag(timers, slot);
}

uint32_t weft__timers_of_tag(weft__timers *timers, uint32_t tag, weft__timer_deed *deed)
{
  uint32_t count = 0;
  if (tag == NONE || tag >= timers->tag_count) return 0;
  for (uint32_t slot = timers->tags[tag].first; slot != WEFT_NO_TIMER;) {
    uint32_t next = timers->links[slot].tag_next;
    count += deed(timers, slot);
    slot = next;
  }
  return count;
}
