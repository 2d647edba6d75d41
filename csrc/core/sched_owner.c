/* SPDX-License-Identifier: MIT */
/*
** sched_owner.c - tasks that an owner has: their list, their clock, and the cancel of all of them.
**
** A deadline on an owner's clock is kept as it is, beside the task, and stands in the heap as the
** sim time at which that clock will show it; a new scale moves it there, and 0 takes it out.
*/
#include "core/sched.h"

/* As the scheduler's: a deadline less than a microsecond ahead is due, also on a clock that
   stands still. */
#define DUE_SLACK_NS 999

/* --- The list of an owner ------------------------------------------------------------------ */

void weft__sched_own(weft__sched *sched, weft__task *task, uint32_t owner)
{
  weft__owner *it = weft__owner_at(&sched->owners, owner);
  uint32_t slot = weft__sched_slot(sched, task);
  WEFT_ASSERT(it->used && !it->destroyed && it->disabled_by == 0);
  sched->members[slot] =
      (weft__member){.owner = owner, .next = WEFT_NO_MEMBER, .prev = it->last};
  if (it->last == WEFT_NO_MEMBER)
    it->first = slot;
  else
    sched->members[it->last].next = slot;
  it->last = slot;
  task->owned = it->scaled ? WEFT_OWNED_SCALED : WEFT_OWNED;
}

void weft__sched_disown(weft__sched *sched, const weft__task *task)
{
  uint32_t slot = weft__sched_slot(sched, task);
  const weft__member *member = &sched->members[slot];
  weft__owner *it = weft__owner_at(&sched->owners, member->owner);
  for (weft__owner_cursor *c = sched->owners.cursors; c; c = c->outer)
    if (c->at == slot) c->at = member->next;
  if (member->prev == WEFT_NO_MEMBER)
    it->first = member->next;
  else
    sched->members[member->prev].next = member->next;
  if (member->next == WEFT_NO_MEMBER)
    it->last = member->prev;
  else
    sched->members[member->next].prev = member->prev;
  weft__owner_lost_one(&sched->owners, member->owner);
}

/* --- Its end ------------------------------------------------------------------------------- */

static void cancel_all_of(weft__sched *sched, uint32_t owner)
{
  weft__owner_cursor cursor = {weft__owner_at(&sched->owners, owner)->first,
                               sched->owners.cursors};
  sched->owners.cursors = &cursor;
  while (cursor.at != WEFT_NO_MEMBER) {
    weft__task *task = weft__sched_at(sched, cursor.at);
    cursor.at = sched->members[cursor.at].next;
    weft__sched_cancel_from_above(sched, task);
  }
  sched->owners.cursors = cursor.outer;
}

/* The host, told of each that was never entered, may do anything meanwhile. */
static void cancel_below(weft__sched *sched, uint32_t root)
{
  uint32_t at = root;
  sched->owners.holds++;
  do cancel_all_of(sched, at);
  while ((at = weft__owner_next(&sched->owners, root, at)) != WEFT_OWNER_ROOT);
  sched->owners.holds--;
}

bool weft__sched_disable(weft__sched *sched, uint32_t owner)
{
  if (!weft__owner_disable(&sched->owners, owner)) return false;
  cancel_below(sched, owner);
  return true;
}

bool weft__sched_destroy(weft__sched *sched, uint32_t owner)
{
  if (!weft__owner_destroy(&sched->owners, owner)) return false;
  cancel_below(sched, owner);
  return true;
}

/* --- Its clock ----------------------------------------------------------------------------- */

static const weft__owner *owner_of(const weft__sched *sched, const weft__task *task)
{
  return weft__owner_at(&sched->owners, sched->members[weft__sched_slot(sched, task)].owner);
}

int64_t weft__sched_local_now(const weft__sched *sched, const weft__task *task)
{
  return weft__owner_now(owner_of(sched, task), sched->sim.now);
}

/* Into the heap, or out of the time of a clock that stands still. */
static void place_deadline(weft__sched *sched, weft__task *task, const weft__owner *owner,
                           uint64_t tie)
{
  uint32_t slot = weft__sched_slot(sched, task);
  weft__member *member = &sched->members[slot];
  int64_t now = sched->sim.now;
  bool is_due = member->due - weft__owner_now(owner, now) <= DUE_SLACK_NS;
  if (!is_due && owner->clock.scale == 0) {
    member->tie = tie;
    task->place = WEFT_PLACE_FROZEN;
    return;
  }
  task->place = WEFT_PLACE_SIM;
  weft__heap_add_tied(&sched->sim_heap, is_due ? now : weft__owner_sim_of(owner, member->due),
                      tie);
}

void weft__sched_add_local_deadline(weft__sched *sched, weft__task *task, int64_t ns)
{
  uint32_t slot = weft__sched_slot(sched, task);
  sched->members[slot].due = ns > INT64_MAX - task->since ? INT64_MAX : task->since + ns;
  place_deadline(sched, task, owner_of(sched, task),
                 weft__heap_new_tie(&sched->sim_heap, slot));
}

static void move_deadline(weft__sched *sched, weft__task *task, const weft__owner *owner)
{
  uint32_t slot = weft__sched_slot(sched, task);
  weft__member *member = &sched->members[slot];
  bool had_clock = task->owned == WEFT_OWNED_SCALED;
  uint64_t tie = member->tie;
  task->owned = WEFT_OWNED_SCALED;
  if (task->place == WEFT_PLACE_SIM) {
    if (!had_clock) member->due = weft__heap_deadline(&sched->sim_heap, slot);
    tie = weft__heap_tie(&sched->sim_heap, slot);
    weft__heap_remove(&sched->sim_heap, slot);
  } else if (task->place != WEFT_PLACE_FROZEN) {
    return;
  }
  place_deadline(sched, task, owner, tie);
}

void weft__sched_scale(weft__sched *sched, uint32_t root, double scale)
{
  uint32_t at = root;
  weft__owner_at(&sched->owners, root)->scale = scale;
  do {
    weft__owner_follow(&sched->owners, at, sched->sim.now);
    const weft__owner *owner = weft__owner_at(&sched->owners, at);
    for (uint32_t slot = owner->first; slot != WEFT_NO_MEMBER; slot = sched->members[slot].next)
      move_deadline(sched, weft__sched_at(sched, slot), owner);
  } while ((at = weft__owner_next(&sched->owners, root, at)) != WEFT_OWNER_ROOT);
}
