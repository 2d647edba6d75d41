/* SPDX-License-Identifier: MIT */
/*
** owner.h - the tree of owners: who is whose child, who is disabled or destroyed, and the clock of
** each. Owners are slots with a generation, as tasks are; a handle never confuses two of them.
**
** A leaf: it knows slots of tasks and timers as numbers, and neither what they are nor who tells it
** the time. Making an owner may allocate; nothing else does. Not thread safe.
*/
#ifndef WEFT_OWNER_H
#define WEFT_OWNER_H

#include "base/base.h"

/* Slot 0 is the root, which owns all owners that have no other parent and which no handle means. */
#define WEFT_OWNER_ROOT 0

/* The end of a list of tasks, or of timers. */
#define WEFT_NO_MEMBER UINT32_MAX

/* A clock that runs `scale` times as fast as sim time. The times are those of its last change of
   scale: everything is computed from there, so that rounding does not add up. */
typedef struct weft__owner_clock {
  int64_t sim, local;
  double fraction; /* of a nanosecond, that `local` lacks */
  double scale;
} weft__owner_clock;

typedef struct weft__owner {
  uint32_t generation;
  uint32_t parent;
  uint32_t first_child, last_child; /* WEFT_OWNER_ROOT for none, here and below */
  uint32_t next, prev;              /* siblings; `next` also among ended or free ones */
  uint32_t first, last;             /* its tasks, in the order in which they were started */
  uint32_t first_timer, last_timer; /* its timers, in the order in which they were made */
  uint32_t disabled_by;             /* how many of it and those above it were disabled */
  bool used;
  bool disabled; /* it was, itself */
  bool destroyed;
  bool ended;  /* and nothing is left; it waits to be told */
  bool scaled; /* its clock is not, or was not always, the world's sim time */
  double scale;
  weft__owner_clock clock;
  void *data; /* the host's */
} weft__owner;

/* A walk over the tasks of an owner that may end any of them. */
typedef struct weft__owner_cursor {
  uint32_t at;
  struct weft__owner_cursor *outer;
} weft__owner_cursor;

typedef struct weft__owners {
  weft__owner *slots;
  uint32_t count, capacity; /* slots ever used, the root's too, and those there is room for */
  uint32_t free_first, free_last;   /* the one that ended first comes first */
  uint32_t ended_first, ended_last; /* to be told, in the order of their ends */
  uint32_t holds;                   /* walks under way: ended ones stay in the tree */
  uint32_t generation_end;          /* a slot that reaches it is retired; tests lower it */
  weft__owner_cursor *cursors;
  uint8_t tag; /* of this world, in its handles */
} weft__owners;

void weft__owners_init(weft__owners *owners, uint8_t tag);
void weft__owners_fini(weft__owners *owners);

static inline weft__owner *weft__owner_at(const weft__owners *owners, uint32_t slot)
{
  return &owners->slots[slot];
}

/* A new child of `parent`, which is not destroyed. WEFT_NOMEM, WEFT_FULL. */
weft_status weft__owner_make(weft__owners *owners, uint32_t parent, int64_t sim, uint32_t *out);
weft_owner weft__owner_handle(const weft__owners *owners, uint32_t slot);
/* The slot of a handle whose owner is not over; WEFT_OWNER_ROOT for any other. */
uint32_t weft__owner_find(const weft__owners *owners, weft_owner handle);

/* The one after `at` in the tree below `root`, parents before children, children in the order in
   which they were made; WEFT_OWNER_ROOT at the end. */
uint32_t weft__owner_next(const weft__owners *owners, uint32_t root, uint32_t at);

/* True if that changed anything. */
bool weft__owner_disable(weft__owners *owners, uint32_t slot);
bool weft__owner_enable(weft__owners *owners, uint32_t slot);
/* Marks it and all below it; none that has nothing left is missed. */
bool weft__owner_destroy(weft__owners *owners, uint32_t slot);

/* To be called when a task of it has ended: it may be over now. */
void weft__owner_lost_one(weft__owners *owners, uint32_t slot);
/* Takes an owner that is over out of the tree and frees its slot; false if there is none, or if
   a walk is under way. */
bool weft__owner_take_ended(weft__owners *owners, weft_owner *owner, void **data);

/* Sets the scale of one; of those below, the clocks follow by `weft__owner_follow`, in the order of
   a walk. */
void weft__owner_follow(weft__owners *owners, uint32_t slot, int64_t sim);

/* Its clock at a sim time, and the sim time to wait for until its clock shows `due`, INT64_MAX
   for ever. */
int64_t weft__owner_now(const weft__owner *owner, int64_t sim);
int64_t weft__owner_sim_of(const weft__owner *owner, int64_t due);

/* Walks the tree. For specs and hostile builds. */
bool weft__owners_valid(const weft__owners *owners);

#endif
