/* SPDX-License-Identifier: MIT */
/*
** owner.c - the tree of owners of owner.h, and their clocks.
*/
#include "core/owner.h"

#include <math.h>
#include <string.h>

#include "platform/system.h"

#define NONE WEFT_OWNER_ROOT

/* Handles: tag, generation, slot. */
#define SLOT_BITS 24
#define TAG_SHIFT 56
#define MAX_OWNERS (UINT32_C(1) << SLOT_BITS)

/* Past that a nanosecond of sim time is a lifetime. */
#define MAX_SCALE 1e18

/* The end of local time, with room for what is added to it. */
#define LAST INT64_C(9200000000000000000)

/* A nanosecond that is whole but for the rounding of a product counts as whole. */
#define ROUNDING (1.0 / 4096)

/* The slack of a faster clock would be over a millisecond. */
#define FAST_SCALE 1000

/* As the scheduler's: so many nanoseconds early counts as due. */
#define DUE_SLACK_NS 999

/* --- Slots and handles --------------------------------------------------------------------- */

void weft__owners_init(weft__owners *owners, uint8_t tag)
{
  *owners = (weft__owners){.tag = tag, .generation_end = UINT32_MAX};
}

void weft__owners_fini(weft__owners *owners)
{
  weft__free(owners->slots);
  owners->slots = NULL;
  owners->count = owners->capacity = 0;
}

weft_owner weft__owner_handle(const weft__owners *owners, uint32_t slot)
{
  return (uint64_t)owners->tag << TAG_SHIFT |
         (uint64_t)owners->slots[slot].generation << SLOT_BITS | slot;
}

uint32_t weft__owner_find(const weft__owners *owners, weft_owner handle)
{
  uint32_t slot = weft_owner_slot(handle);
  if (handle >> TAG_SHIFT != owners->tag || slot == NONE || slot >= owners->count) return NONE;
  const weft__owner *owner = &owners->slots[slot];
  bool same = owner->generation == (uint32_t)(handle >> SLOT_BITS);
  return same && owner->used && !owner->ended ? slot : NONE;
}

uint32_t weft_owner_slot(weft_owner owner)
{
  return owner & (MAX_OWNERS - 1);
}

static weft_status grow(weft__owners *owners)
{
  uint32_t capacity = owners->capacity > 0 ? owners->capacity * 2 : 8;
  if (owners->capacity >= MAX_OWNERS) return WEFT_FULL;
  weft__owner *slots = weft__calloc(capacity, sizeof *slots);
  if (!slots) return WEFT_NOMEM;
  if (owners->count > 0) {
    memcpy(slots, owners->slots, owners->count * sizeof *slots);
  } else {
    slots[NONE] = (weft__owner){.used = true,
                                .first = WEFT_NO_MEMBER,
                                .last = WEFT_NO_MEMBER,
                                .first_timer = WEFT_NO_MEMBER,
                                .last_timer = WEFT_NO_MEMBER,
                                .scale = 1,
                                .clock = {.scale = 1}};
    owners->count = 1;
  }
  weft__free(owners->slots);
  owners->slots = slots;
  owners->capacity = capacity;
  return WEFT_OK;
}

static weft_status take_slot(weft__owners *owners, uint32_t *out)
{
  uint32_t slot = owners->free_first;
  if (slot != NONE) {
    owners->free_first = owners->slots[slot].next;
    if (owners->free_first == NONE) owners->free_last = NONE;
  } else {
    weft_status status = owners->count == owners->capacity ? grow(owners) : WEFT_OK;
    if (status) return status;
    slot = owners->count++;
  }
  *out = slot;
  return WEFT_OK;
}

static void free_slot(weft__owners *owners, uint32_t slot)
{
  weft__owner *owner = &owners->slots[slot];
  owner->used = false;
  owner->next = NONE;
  if (owner->generation >= owners->generation_end) return; /* used up: retired for good */
  if (owners->free_last == NONE)
    owners->free_first = slot;
  else
    owners->slots[owners->free_last].next = slot;
  owners->free_last = slot;
}

/* --- The tree ------------------------------------------------------------------------------ */

static void link_child(weft__owners *owners, uint32_t parent, uint32_t slot)
{
  weft__owner *above = &owners->slots[parent], *owner = &owners->slots[slot];
  owner->parent = parent;
  owner->prev = above->last_child;
  owner->next = NONE;
  if (above->last_child == NONE)
    above->first_child = slot;
  else
    owners->slots[above->last_child].next = slot;
  above->last_child = slot;
}

static void unlink_child(weft__owners *owners, uint32_t slot)
{
  const weft__owner *owner = &owners->slots[slot];
  weft__owner *above = &owners->slots[owner->parent];
  if (owner->prev == NONE)
    above->first_child = owner->next;
  else
    owners->slots[owner->prev].next = owner->next;
  if (owner->next == NONE)
    above->last_child = owner->prev;
  else
    owners->slots[owner->next].prev = owner->prev;
}

weft_status weft__owner_make(weft__owners *owners, uint32_t parent, int64_t sim, uint32_t *out)
{
  uint32_t slot;
  if (owners->capacity == 0) {
    weft_status status = grow(owners);
    if (status) return status;
  }
  weft_status status = take_slot(owners, &slot);
  if (status) return status;
  const weft__owner *above = &owners->slots[parent];
  WEFT_ASSERT(above->used && !above->destroyed);
  weft__owner_clock clock = {
      .sim = sim, .local = weft__owner_now(above, sim), .scale = above->clock.scale};
  owners->slots[slot] = (weft__owner){
      .generation = owners->slots[slot].generation + 1,
      .first = WEFT_NO_MEMBER,
      .last = WEFT_NO_MEMBER,
      .first_timer = WEFT_NO_MEMBER,
      .last_timer = WEFT_NO_MEMBER,
      .disabled_by = above->disabled_by,
      .used = true,
      .scaled = above->scaled,
      .scale = 1,
      .clock = clock,
  };
  link_child(owners, parent, slot);
  *out = slot;
  return WEFT_OK;
}

uint32_t weft__owner_next(const weft__owners *owners, uint32_t root, uint32_t at)
{
  if (owners->slots[at].first_child != NONE) return owners->slots[at].first_child;
  while (at != root) {
    if (owners->slots[at].next != NONE) return owners->slots[at].next;
    at = owners->slots[at].parent;
  }
  return NONE;
}

static void count_disabled(weft__owners *owners, uint32_t root, uint32_t by)
{
  uint32_t at = root;
  do owners->slots[at].disabled_by += by;
  while ((at = weft__owner_next(owners, root, at)) != NONE);
}

bool weft__owner_disable(weft__owners *owners, uint32_t slot)
{
  weft__owner *owner = &owners->slots[slot];
  if (owner->disabled || owner->destroyed) return false;
  owner->disabled = true;
  count_disabled(owners, slot, 1);
  return true;
}

bool weft__owner_enable(weft__owners *owners, uint32_t slot)
{
  weft__owner *owner = &owners->slots[slot];
  if (!owner->disabled || owner->destroyed) return false;
  owner->disabled = false;
  count_disabled(owners, slot, UINT32_MAX); /* one less */
  return true;
}

/* --- Ends ---------------------------------------------------------------------------------- */

void weft__owner_lost_one(weft__owners *owners, uint32_t slot)
{
  weft__owner *owner = &owners->slots[slot];
  if (!owner->destroyed || owner->ended || owner->first != WEFT_NO_MEMBER ||
      owner->first_child != NONE)
    return;
  owner->ended = true;
  /* It stays a child of its parent until it is taken: the queue goes through the word of its own last
     child, of which there will be none. */
  if (owners->ended_last == NONE)
    owners->ended_first = slot;
  else
    owners->slots[owners->ended_last].last_child = slot;
  owners->ended_last = slot;
}

bool weft__owner_destroy(weft__owners *owners, uint32_t slot)
{
  if (owners->slots[slot].destroyed) return false;
  uint32_t at = slot;
  do owners->slots[at].destroyed = true;
  while ((at = weft__owner_next(owners, slot, at)) != NONE);
  at = slot;
  do weft__owner_lost_one(owners, at);
  while ((at = weft__owner_next(owners, slot, at)) != NONE);
  return true;
}

bool weft__owner_take_ended(weft__owners *owners, weft_owner *out, void **data)
{
  uint32_t slot = owners->ended_first;
  if (slot == NONE || owners->holds > 0) return false;
  weft__owner *owner = &owners->slots[slot];
  uint32_t parent = owner->parent;
  owners->ended_first = owner->last_child;
  if (owners->ended_first == NONE) owners->ended_last = NONE;
  *out = weft__owner_handle(owners, slot);
  *data = owner->data;
  unlink_child(owners, slot);
  free_slot(owners, slot);
  weft__owner_lost_one(owners, parent);
  return true;
}

/* --- Clocks -------------------------------------------------------------------------------- */

/* Nanoseconds since the last change of scale, fraction included. */
static double passed(const weft__owner_clock *clock, int64_t sim)
{
  return (double)(sim - clock->sim) * clock->scale + clock->fraction;
}

int64_t weft__owner_now(const weft__owner *owner, int64_t sim)
{
  const weft__owner_clock *clock = &owner->clock;
  if (!owner->scaled) return sim;
  /* In integers where it can be: a double counts nanoseconds for 104 days only. */
  if (clock->scale == 1)
    return sim - clock->sim > LAST - clock->local ? LAST : clock->local + (sim - clock->sim);
  double whole = floor(passed(clock, sim) + ROUNDING);
  return whole + (double)clock->local >= (double)LAST ? LAST : clock->local + (int64_t)whole;
}

/* On a clock so fast that the slack of a deadline would be much of its time, the slack is that much
   less; two nanoseconds are what rounding needs. Others keep theirs: what is due at the same time
   comes in the order of arming. */
static int64_t less_slack(double scale)
{
  double slack = ceil(DUE_SLACK_NS / scale);
  return scale <= FAST_SCALE ? 0 : DUE_SLACK_NS - (int64_t)(slack > 2 ? slack : 2);
}

int64_t weft__owner_sim_of(const weft__owner *owner, int64_t due)
{
  const weft__owner_clock *clock = &owner->clock;
  if (!owner->scaled) return due;
  if (due <= clock->local) return clock->sim;
  if (clock->scale == 1)
    return due - clock->local > INT64_MAX - clock->sim ? INT64_MAX
                                                       : clock->sim + (due - clock->local);
  double left = (double)(due - clock->local) - clock->fraction - ROUNDING;
  double ahead = ceil(left / clock->scale);
  if (!(ahead + (double)clock->sim < (double)LAST)) return INT64_MAX;
  return clock->sim + (int64_t)ahead + less_slack(clock->scale);
}

void weft__owner_follow(weft__owners *owners, uint32_t slot, int64_t sim)
{
  weft__owner *owner = &owners->slots[slot];
  double scale = owners->slots[owner->parent].clock.scale * owner->scale;
  int64_t now = weft__owner_now(owner, sim);
  weft__owner_clock *clock = &owner->clock;
  double fraction = clock->fraction;
  if (owner->scaled && clock->scale != 1)
    fraction = passed(clock, sim) - (double)(now - clock->local);
  owner->scaled = true;
  /* A clock that ran over its end has no fraction. */
  if (!(fraction > -1 && fraction < 1)) fraction = 0;
  *clock = (weft__owner_clock){.sim = sim,
                               .local = now,
                               .fraction = fraction,
                               .scale = scale <= MAX_SCALE ? scale : MAX_SCALE};
}

/* --- Checking ------------------------------------------------------------------------------ */

static bool children_valid(const weft__owners *owners, uint32_t parent, uint32_t *seen)
{
  const weft__owner *above = &owners->slots[parent];
  uint32_t last = NONE;
  if (above->ended) return true; /* its word of the last child is a link of the queue */
  for (uint32_t at = above->first_child; at != NONE; at = owners->slots[at].next) {
    const weft__owner *owner = &owners->slots[at];
    if (++*seen > owners->count || !owner->used || owner->parent != parent) return false;
    if (owner->prev != last || (above->destroyed && !owner->destroyed)) return false;
    if (owner->disabled_by != above->disabled_by + owner->disabled) return false;
    last = at;
  }
  return last == above->last_child;
}

bool weft__owners_valid(const weft__owners *owners)
{
  uint32_t used = 0, seen = 0, ended = 0, queued = 0;
  for (uint32_t slot = 0; slot < owners->count; slot++) {
    const weft__owner *owner = &owners->slots[slot];
    if (!owner->used) continue;
    used++;
    ended += owner->ended;
    if (owner->destroyed && !owner->ended && owner->first == WEFT_NO_MEMBER &&
        owner->first_child == NONE)
      return false; /* nobody would tell of its end */
    if (!children_valid(owners, slot, &seen)) return false;
  }
  for (uint32_t at = owners->ended_first; at != NONE; at = owners->slots[at].last_child)
    if (++queued > ended) return false;
  return queued == ended && (used == 0 || seen == used - 1);
}
