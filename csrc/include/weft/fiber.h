/* SPDX-License-Identifier: MIT */
/* fiber.h - native stacks that can be entered and left at will; part of weft.h. */
#ifndef WEFT_PUBLIC_FIBER_H
#define WEFT_PUBLIC_FIBER_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
** A fiber is a native stack of its own that can be entered and left at will. Pools keep stacks
** mapped and guarded, so that starting a fiber costs a few nanoseconds. Fibers are the ground
** that routines stand on; most hosts never need them bare.
*/
typedef struct weft_fiber weft_fiber;
typedef struct weft_fiber_pool weft_fiber_pool;
typedef void (*weft_fiber_fn)(void *arg);

/* What `weft_fiber_pool_stats` tells. */
typedef struct weft_fiber_stats {
  size_t stack_bytes; /* usable bytes of each stack, rounded up to whole pages */
  uint32_t mapped;    /* stacks mapped so far */
  uint32_t busy;      /* stacks with a fiber on them that has not ended */
  uint32_t max_busy;  /* the most that were busy at once */
} weft_fiber_stats;

/*
** Makes a pool of at most `max_stacks` (1 to 2^24) stacks of `stack_bytes` (16 KiB to 1 GiB;
** rounded up to pages; the guard comes on top). Stacks are mapped in slabs when first needed.
** WEFT_INVALID, WEFT_NOMEM.
*/
weft_status weft_fiber_pool_new(size_t stack_bytes, uint32_t max_stacks, weft_fiber_pool **out);

/* Unmaps the stacks. A fiber that has not ended is dropped as it stands. NULL is allowed. */
void weft_fiber_pool_delete(weft_fiber_pool *pool);

void weft_fiber_pool_stats(const weft_fiber_pool *pool, weft_fiber_stats *out);

/*
** Takes a stack and sets `fn(arg)` up on it; nothing runs yet. The fiber ends, and its stack
** returns to the pool, when `fn` returns. WEFT_FULL at `max_stacks`; WEFT_NOMEM, WEFT_NOSTACK or
** WEFT_MAPCOUNT when the system refuses; the pool is as it was.
*/
weft_status weft_fiber_start(weft_fiber_pool *pool, weft_fiber_fn fn, void *arg,
                             weft_fiber **out);

/*
** Runs `fiber` until it yields or ends; returns true while it has not ended. After false the
** pointer is dead. Only the fiber's own thread may call it, and never for a running fiber.
*/
bool weft_fiber_resume(weft_fiber *fiber);

/* Leaves the running fiber: its `weft_fiber_resume` returns. Must be called on a fiber. */
void weft_fiber_yield(void);

/* The fiber this thread runs on; NULL on the thread's own stack. */
weft_fiber *weft_fiber_current(void);

/* Bytes between the deepest point the stack ever saw written and its top; 0 for a fresh one. */
size_t weft_fiber_high_water(const weft_fiber *fiber);

/* Bytes left on the running fiber's stack below the caller; SIZE_MAX off fibers. */
size_t weft_fiber_stack_left(void);

/*
** An overflow of a fiber's stack runs into a guard. With the handler installed (it runs on an
** alternate signal stack of the installing thread) the process prints which routine it was and
** what to raise, then lets the handler that was there before act. Called by `weft_world_new`, from
** Lua too, unless the host said `weft_leave_signals`. Harmless when called again. WEFT_NOMEM,
** WEFT_INVALID.
*/
weft_status weft_catch_overflow(void);

/* For a host with handlers of its own: from now on worlds leave SIGSEGV and SIGBUS alone. To be
   called before the first world is made; any thread. */
void weft_leave_signals(void);

#ifdef __cplusplus
}
#endif

#endif
