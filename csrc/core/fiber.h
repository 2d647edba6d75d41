/* SPDX-License-Identifier: MIT */
/*
** fiber.h - what the rest of the core asks of fibers beyond the public contract in weft.h.
** Fibers know stacks and switches; they do not know the scheduler, routines or Lua.
*/
#ifndef WEFT_CORE_FIBER_H
#define WEFT_CORE_FIBER_H

#include "base/base.h"

/*
** Names what runs on a fiber for the overflow message: `fn` writes text such as
** "routine 'door' (door.lua:12)" for the running fiber. It is called inside a signal handler: no
** allocation, no locks; a fault in it is caught and costs only the text. NULL takes it back.
*/
void weft__fiber_pool_describe(weft_fiber_pool *pool,
                               void (*fn)(void *host, char *text, size_t size), void *host);

/*
** Gives pages of idle stacks back to the system. Looks at up to `max` stacks that ran something
** since they were looked at last and that nobody took between two calls; one that holds more
** than 64 KiB keeps the top 16 KiB of it. Returns how many it looked at; 0 means that none is
** left for now. Costs nothing but a comparison when nothing ran.
*/
uint32_t weft__fiber_pool_trim(weft_fiber_pool *pool, uint32_t max);

/*
** The same for a fiber that is kept suspended: gives back what lies more than a page below its
** saved frames when that is over 64 KiB. True if it gave something back. The fiber must not run.
*/
bool weft__fiber_trim_suspended(weft_fiber *fiber);

/* Start loading what resuming this fiber will touch: its record, and, when that has arrived, the
   frames at which it was left. */
void weft__fiber_prefetch(const weft_fiber *fiber);
void weft__fiber_prefetch_frames(const weft_fiber *fiber);

/*
** From now on fibers of the pool may be resumed on any thread, one thread at a time. Whoever shares a
** pool keeps its calls apart by himself, and lets no fiber end: it would hand its stack back from
** whatever thread it is on.
*/
void weft__fiber_pool_share(weft_fiber_pool *pool);

/* `weft_catch_overflow`, unless the host said `weft_leave_signals`. */
weft_status weft__catch_overflow_if_allowed(void);

/* Debug walker: every list and counter of the pool agrees with every other. */
bool weft__fiber_pool_valid(const weft_fiber_pool *pool);

#endif
