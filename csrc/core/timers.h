/* SPDX-License-Identifier: MIT */
/*
** timers.h - calls that come due: once, at an interval, or each tick; on sim time, on real time or
** on the clock of an owner.
**
** A timer is a slot with a generation, in a heap of deadlines of its own kind: tasks sleep in the
** scheduler's. A cancel takes it out at once and leaves no tombstone. What is due in a tick is
** collected before any of it is called; whatever a call does to another timer, cancel it included,
** counts at once. Arming allocates only when more timers are alive than ever before; nothing else
** allocates.
**
** Knows owners and clocks, and neither tasks nor what a call does. Not thread safe.
*/
#ifndef WEFT_TIMERS_H
#define WEFT_TIMERS_H

#include "core/clock.h"
#include "core/heap.h"
#include "core/owner.h"

/* In place of a slot, at the end of a list or of the free ones. */
#define WEFT_NO_TIMER UINT32_MAX

typedef enum weft__timer_place {
  WEFT_TIMER_FREE,
  WEFT_TIMER_HEAP,
  WEFT_TIMER_DUE,    /* collected, to be called in this tick */
  WEFT_TIMER_FROZEN, /* its owner's clock stands still */
  WEFT_TIMER_PAUSED,
} weft__timer_place;

typedef struct weft__timer {
  int64_t due; /* the next deadline, on its clock; while it is paused: how far ahead that is */
  int64_t period; /* 0: each tick */
  int64_t left;   /* intervals until its end; INT64_MAX for none */
  weft_timer_fn fn;
  void *arg;
  uint64_t tie;      /* its place among equal deadlines: that of its creation, always */
  uint32_t position; /* in its heap, or among the due ones; of a free one: the next of them */
  uint32_t generation;
  uint8_t place; /* weft__timer_place */
  bool unscaled; /* on real time */
  bool owned;    /* the other half of it, in `links`, is in use */
  bool tagged;   /* so is the rest */
} weft__timer;

/* What a timer has beside its slot if an owner or a tag has it. */
typedef struct weft__timer_links {
  uint32_t owner, next, prev;
  uint32_t tag, tag_next, tag_prev;
} weft__timer_links;

/* A tag, numbered from 1, and the timers that have it, in the order in which they got it. Those
   without any are linked, the one that lost its last timer first comes first. */
typedef struct weft__timer_tag {
  uint32_t first, last;
  uint32_t next, prev;
} weft__timer_tag;

typedef struct weft__timers weft__timers;

struct weft__timers {
  /* A timer is over without a last call. Must not call back. */
  void (*ended)(weft__timers *timers, weft_timer timer, weft_timer_fn fn, void *arg);
  weft__owners *owners;
  const weft__clock *sim, *real;
  weft__timer *slots;
  weft__timer_links *links; /* by slot */
  uint32_t *queue;          /* slots that are due, WEFT_NO_TIMER where one was cancelled */
  uint32_t queue_head, queue_tail;
  uint32_t capacity;
  uint32_t fresh;                 /* slots from here on were never used */
  uint32_t free_first, free_last; /* used ones, the one that ended first comes first */
  uint32_t alive;
  uint32_t generation_end; /* a slot that reaches it is retired; tests lower it */
  weft__heap sim_heap, real_heap;
  uint64_t sim_tie,
      real_tie;          /* those from here on were made in this tick, and wait for another */
  weft__timer_tag *tags; /* tags[0] is the head of the empty ones */
  uint32_t tag_count;    /* tags[0] included; 0 as long as there are none */
  uint32_t tag_capacity;
  uint8_t tag; /* of this world, in its handles */
};

/* Where it finds the time and the owners has to stay where it is. Reserves nothing. */
void weft__timers_init(weft__timers *timers, weft__owners *owners, const weft__clock *sim,
                       const weft__clock *real, uint8_t tag);
void weft__timers_fini(weft__timers *timers);
/* Room for so many that are alive, at most 2^24. WEFT_FULL, WEFT_NOMEM. */
weft_status weft__timers_reserve(weft__timers *timers, uint32_t count);

static inline weft__timer *weft__timer_at(const weft__timers *timers, uint32_t slot)
{
  return &timers->slots[slot];
}

weft_timer weft__timer_handle(const weft__timers *timers, uint32_t slot);
/* The slot of a handle while its timer is not over, else WEFT_NO_TIMER. */
uint32_t weft__timer_find(const weft__timers *timers, weft_timer handle);

/* Arms a timer whose options are in range; `owner` is the slot of one that takes any, or the
   root's. WEFT_FULL, WEFT_NOMEM. */
weft_status weft__timer_start(weft__timers *timers, const weft_timer_options *options,
                              uint32_t owner, weft_timer_fn fn, void *arg, uint32_t *out);
/* Ends it untold. */
void weft__timer_remove(weft__timers *timers, uint32_t slot);
void weft__timer_cancel(weft__timers *timers, uint32_t slot);
/* It stands still with what is left of its wait; and goes on with that. True if that changed it. */
bool weft__timer_pause(weft__timers *timers, uint32_t slot);
bool weft__timer_resume(weft__timers *timers, uint32_t slot);
/* Nanoseconds of its clock until its next call, 0 if that is overdue. */
int64_t weft__timer_remaining(const weft__timers *timers, uint32_t slot);

/* From here on what is armed waits for a later tick. */
void weft__timers_begin_tick(weft__timers *timers);
/* Collects what is due: in real time first, then in sim time unless that is paused, each by
   deadline, then by creation. */
void weft__timers_collect(weft__timers *timers, bool paused);
/* The next call of what was collected; the timer is armed for its next, or over. */
bool weft__timers_take(weft__timers *timers, weft_timer_call *call);

void weft__timers_cancel_all(weft__timers *timers);

/* --- timers_groups.c: those of an owner and those of a tag --- */

void weft__timer_own(weft__timers *timers, uint32_t slot, uint32_t owner);
/* Out of its owner's list and its tag's. */
void weft__timer_unlink(weft__timers *timers, uint32_t slot);
/* Its owner, if that has a clock of its own and the timer runs on it, else NULL. */
const weft__owner *weft__timer_clock(const weft__timers *timers, uint32_t slot);

/* What is done to each timer of a group; the answers are counted. */
typedef bool weft__timer_deed(weft__timers *timers, uint32_t slot);
bool weft__timer_end(weft__timers *timers, uint32_t slot); /* a cancel, as a deed */

/* Each does it to what the owner and those below it have. */
uint32_t weft__timers_of_owner(weft__timers *timers, uint32_t owner, weft__timer_deed *deed);
uint32_t weft__timers_of_tag(weft__timers *timers, uint32_t tag, weft__timer_deed *deed);
/* The clocks of an owner and of those below it have a new scale. */
void weft__timers_rescale(weft__timers *timers, uint32_t owner);
/* Puts a timer where its deadline belongs. */
void weft__timer_place_anew(weft__timers *timers, uint32_t slot);

/* A tag that no timer has: one that nobody has had for longest. WEFT_FULL at 2^24, WEFT_NOMEM. */
weft_status weft__timer_tag_new(weft__timers *timers, uint32_t *out);
/* A tag that was given out, or 0 for none, in place of the one it has. */
void weft__timer_set_tag(weft__timers *timers, uint32_t slot, uint32_t tag);

/* Walks all of it. For specs and hostile builds. */
bool weft__timers_valid(const weft__timers *timers);

#endif
