/* SPDX-License-Identifier: MIT */
/*
** routine.h - what routine.c, which runs a routine's coroutine, asks of routine_end.c, which ends it.
*/
#ifndef WEFT_LUA_ROUTINE_H
#define WEFT_LUA_ROUTINE_H

#include "lua/binding.h"

/* error on top of `co` -> ; what it means for the routine. `traced` is whose stack is to be traced, or
   NULL for the trace kept aside. */
void routine_note_error(realm *R, weft_routine *self, record *rec, lua_State *co,
                        lua_State *traced);
/* The same with a sentence of ours. */
void routine_fail_with(realm *R, weft_routine *self, record *rec, const char *text);
/* Its function, or a cleanup, has returned what is on top of its coroutine. */
void routine_ended_well(realm *R, weft_routine *self, record *rec, int count);
/* It has failed. */
void routine_ended_badly(realm *R, weft_routine *self, record *rec);
/* It is at a wait, or at a bare yield, that it may not come back from. */
void routine_end_by_force(realm *R, weft_routine *self, record *rec);
void routine_drop_shields(const realm *R, weft_routine *self);
weft_status routine_end_status(const record *rec);
/* Ended by force and by nothing else. */
bool routine_is_forced_end(const record *rec);

#endif
