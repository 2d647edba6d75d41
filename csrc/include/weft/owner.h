/* SPDX-License-Identifier: MIT */
/* owner.h - who has routines and timers, and ends them; part of weft.h. */
#ifndef WEFT_PUBLIC_OWNER_H
#define WEFT_PUBLIC_OWNER_H

#include "world.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
** An owner stands for an actor, a scene, a component: what it owns ends with it. Owners form a tree.
** A handle is weak: once the owner is over it means nothing, also when its slot is used again. Owners
** outlive `weft_world_configure` and end with their world, untold. A call that is refused changes
** nothing; those that answer bool answer false on a thread that does not own the world, too.
*/

/* `parent` 0 for none. WEFT_DESTROYED for a parent that is, or is of another world; WEFT_FULL at 2^24
   owners, WEFT_NOMEM, WEFT_THREAD. */
weft_status weft_owner_new(weft_world *world, weft_owner parent, weft_owner *out);

/* Not destroyed. False for a handle of another world. */
bool weft_owner_alive(const weft_world *world, weft_owner owner);

/* Cancels what it and those below it own, and refuses to start more until it is enabled; that
   restarts nothing. True if that changed anything. */
bool weft_owner_disable(weft_world *world, weft_owner owner);
bool weft_owner_enable(weft_world *world, weft_owner owner);

/* Cancels what it and those below it own, and ends it and them: at once if nothing is left, else when
   the last routine has ended. True if it was alive. */
bool weft_owner_destroy(weft_world *world, weft_owner owner);
/* All of the world's. */
void weft_owner_destroy_all(weft_world *world);

/* Times the sim time of its parent, at last the world's, for the waits of what it owns and of those
   below it, from now on: they and their time limits run on that clock. At 0 it stands still, and
   `weft_next_tick` goes on. WEFT_INVALID unless finite and >= 0, WEFT_DESTROYED, WEFT_THREAD. */
weft_status weft_owner_set_time_scale(weft_world *world, weft_owner owner, double scale);

/* A word of the host's, NULL at first; it is kept until the owner is over. WEFT_DESTROYED then. */
weft_status weft_owner_set_data(weft_world *world, weft_owner owner, void *data);
weft_status weft_owner_get_data(const weft_world *world, weft_owner owner, void **data);

/* The number of its slot, from 1: an index for tables of the host. */
uint32_t weft_owner_slot(weft_owner owner);

/* Who owns a routine; 0 for nobody. */
weft_owner weft_routine_owner(const weft_world *world, const weft_routine *routine);

#ifdef __cplusplus
}
#endif

#endif
