/* SPDX-License-Identifier: MIT */
/*
** routine_end.c - the endings of a routine: what it returned, raised, or was ended by; its coroutine is
** closed, and what nobody else is told of is reported.
*/
#include "lua/routine.h"

static int push_text(lua_State *L, void *context)
{
  lua_pushstring(L, context);
  return 1;
}

typedef struct extra {
  realm *realm;
  lua_State *traced;
  weft_routine *routine;
} extra;

/* handle, error -> */
static int report_extra(lua_State *L, void *context)
{
  const extra *e = context;
  report_push_trace(L, e->realm, 2, e->traced);
  return report_push_on(L, e->realm);
}

/* error -> */
static int report_beside(lua_State *L, void *context)
{
  const extra *e = context;
  handle_of(L, e->realm, e->routine);
  lua_insert(L, 1);
  return report_extra(L, context);
}

bool routine_is_forced_end(const record *rec)
{
  return rec->forced && rec->outcome == OUTCOME_CANCELLED;
}

/* Ended by force before the error on top of `co` came: that is told of now, the error takes its place
   in the handle. A call on the helper that fails leaves nothing else there, so it is not kept there. */
static void tell_of_forced_end(realm *R, const record *rec, lua_State *co)
{
  bool move = co == R->universe->helper;
  if (move) lua_xmove(co, R->store, 1);
  report_routine(R, rec);
  if (move) lua_xmove(R->store, co, 1);
}

/* error on top of `co` -> ; what it means for the routine */
void routine_note_error(realm *R, weft_routine *self, record *rec, lua_State *co,
                        lua_State *traced)
{
  lua_State *helper = R->universe->helper;
  if (lua_touserdata(co, -1) == R->universe->cancelled) {
    if (rec->outcome == OUTCOME_NONE) rec->outcome = OUTCOME_CANCELLED;
    lua_pop(co, 1);
    return;
  }
  if (rec->outcome == OUTCOME_FAILED && rec->recorded) {
    /* The first error is the routine's; this one, of a cleanup, is told apart. */
    lua_rawgeti(R->store, STORE_VALUES, (int)rec->cells);
    lua_xmove(R->store, helper, 1);
    if (co == helper)
      lua_insert(helper, -2);
    else
      lua_xmove(co, helper, 1);
    extra e = {.realm = R, .traced = traced};
    if (binding_protect(R, report_extra, &e, 2, 0) != LUA_OK) lua_pop(helper, 1);
    return;
  }
  if (routine_is_forced_end(rec) && rec->recorded) tell_of_forced_end(R, rec, co);
  rec->outcome = OUTCOME_FAILED;
  handle_fail(R, self, co, traced);
}

/* The same with a sentence of ours. */
void routine_fail_with(realm *R, weft_routine *self, record *rec, const char *text)
{
  lua_State *helper = R->universe->helper;
  binding_protect(R, push_text, (void *)text, 0, 1);
  routine_note_error(R, self, rec, helper, NULL);
}

void routine_ended_well(realm *R, weft_routine *self, record *rec, int count)
{
  lua_State *co = rec->thread;
  if (!rec->in_defer) {
    rec->outcome = OUTCOME_COMPLETED;
    if (count > 0) handle_complete(R, self, co, count);
  }
  if (count > 0 || COMPAT_BODY_ARGS > 0) lua_settop(co, 0);
}

/* What tells the error on top of a coroutine from another that takes its place there. */
typedef struct error_mark {
  int type;
  const void *object;
  lua_Number number;
} error_mark;

static error_mark mark_error(lua_State *co)
{
  int type = lua_type(co, -1);
  return (error_mark){type, type == LUA_TSTRING ? lua_tostring(co, -1) : lua_topointer(co, -1),
                      type == LUA_TNUMBER ? lua_tonumber(co, -1) : lua_toboolean(co, -1)};
}

/* The coroutine stands at an error or at a wait: its to-be-closed variables run, on this stack,
   and may wait. Where a coroutine cannot be closed it is left as it stands, for the collector. */
static void close_coroutine(realm *R, weft_routine *self, record *rec, error_mark noted)
{
  lua_State *co = rec->thread;
  if (!COMPAT_CAN_CLOSE) {
    threads_give(R, rec, false);
    return;
  }
  if (compat_close(co) == LUA_OK) return;
  error_mark left = mark_error(co);
  bool same =
      left.type == noted.type && left.object == noted.object && left.number == noted.number;
  if (!same) {
    lua_pushvalue(co, -1);
    routine_note_error(R, self, rec, co, co);
  }
  lua_settop(co, 0);
}

void routine_ended_badly(realm *R, weft_routine *self, record *rec)
{
  lua_State *co = rec->thread;
  if (lua_status(co) == LUA_OK) { /* caught inside: the trace was kept aside */
    routine_note_error(R, self, rec, co, NULL);
    lua_settop(co, 0);
    return;
  }
  compat_grow(co, 2);
  error_mark noted = mark_error(co);
  lua_pushvalue(co, -1);
  routine_note_error(R, self, rec, co, co);
  close_coroutine(R, self, rec, noted);
}

static const char forced_text[] = "ended by force: it went on waiting though it was told to "
                                  "stop; let routine.Cancelled through "
                                  "(routine.pcall does), do not wait in a loop around pcall";
static const char forced_yield_text[] = "ended by force at a bare coroutine.yield(), where a "
                                        "cancel cannot be raised; its cleanups run";

/* Reported once for a routine, with the place at which it stood: at its end, when it is cancelled,
   or at once where only a cleanup was ended so, and what the body ended with stays. */
static void tell_of_force(realm *R, weft_routine *self, record *rec, const char *text)
{
  lua_State *helper = R->universe->helper;
  if (rec->forced) return;
  rec->forced = true;
  binding_protect(R, push_text, (void *)text, 0, 1);
  if (rec->outcome == OUTCOME_CANCELLED) {
    handle_fail(R, self, helper, rec->thread);
    return;
  }
  extra e = {R, rec->thread, self};
  if (binding_protect(R, report_beside, &e, 1, 0) != LUA_OK) lua_pop(helper, 1);
}

/* What raised them is gone and will not lower them; they would hold cancels back from the cleanups. */
void routine_drop_shields(const realm *R, weft_routine *self)
{
  while (weft_shield(R->world, self, false)) {
  }
}

void routine_end_by_force(realm *R, weft_routine *self, record *rec)
{
  const char *text = rec->must_close ? forced_text : forced_yield_text;
  rec->must_close = false;
  if (rec->outcome == OUTCOME_NONE) rec->outcome = OUTCOME_CANCELLED;
  tell_of_force(R, self, rec, text);
  routine_drop_shields(R, self);
  close_coroutine(R, self, rec, (error_mark){.type = LUA_TNONE});
  /* Lua 5.4 closes a coroutine without forgetting the message handler of an xpcall in it: the next
     user would have its errors handled by whatever stands there then. */
  threads_give(R, rec, false);
}

weft_status routine_end_status(const record *rec)
{
  switch (rec->outcome) {
  case OUTCOME_COMPLETED:
    return WEFT_OK;
  case OUTCOME_CANCELLED:
    return WEFT_CANCELLED;
  default:
    return WEFT_FAILED;
  }
}
