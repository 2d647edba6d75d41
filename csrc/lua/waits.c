/* SPDX-License-Identifier: MIT */
/*
** waits.c - the waits of a routine: compact where no C frame stands in the way, pinned elsewhere.
**
** A compact wait arms and yields; only the body of the routine (routine.c) can wake it. A coroutine
** that a script resumes by hand yields again at once and says whose it is. A pinned wait arms and
** switches to another native stack in the middle of the C function.
*/
#include "lua/binding.h"

enum kind { KIND_SLEEP, KIND_JOIN };

static int push_seconds(lua_State *L, const weft_routine *self)
{
  lua_pushnumber(L, (lua_Number)weft_slept(self) * 1e-9);
  return 1;
}

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

static int raise_cancelled(lua_State *L, universe *U)
{
  compat_before_throw(L);
  lua_pushvalue(U->current->store, STORE_CANCELLED);
  lua_xmove(U->current->store, L, 1);
  return lua_error(L);
}

/* --- How a wait ends ----------------------------------------------------------------------- */

/* For the Lua half of a wait: the token, then seconds, false for a timeout or nil for a cancel. */
static int push_token(lua_State *L, universe *U, const weft_routine *self, weft_status woken)
{
  lua_pushlightuserdata(L, WAKE_TOKEN(U));
  if (woken == WEFT_OK)
    push_seconds(L, self);
  else if (woken == WEFT_TIMEOUT)
    lua_pushboolean(L, 0);
  else
    lua_pushnil(L);
  return 2;
}

int waits_push_wake(universe *U, lua_State *co, const weft_routine *self, weft_status woken)
{
  return COMPAT_TOKENS ? push_token(co, U, self, woken) : 0;
}

static int end_wait(lua_State *L, universe *U, const weft_routine *self, enum kind kind)
{
  weft_status woken = weft_woken(self);
  if (woken == WEFT_CANCELLED) return raise_cancelled(L, U);
  if (COMPAT_TOKENS) return push_token(L, U, self, woken);
  if (woken == WEFT_TIMEOUT) return refuse(L, "timeout");
  if (kind == KIND_SLEEP) return push_seconds(L, self);
  return handle_push_result(L, 1, lua_touserdata(L, 1));
}

/* The coroutine was resumed after a yield of ours: by the routine's body, or by hand. */
static int continue_wait(lua_State *L, int status, lua_KContext context)
{
  universe *U = binding_universe(L);
  weft_routine *self = binding_self(U);
  (void)status;
  if (self && ((record *)weft_routine_record(self))->thread == L)
    return end_wait(L, U, self, (enum kind)context);
  lua_settop(L, 2);
  refuse(L, "belongs to a routine");
  return compat_yield(L, 2, context, continue_wait);
}

/* --- How a wait begins --------------------------------------------------------------------- */

/* The running routine; raises outside of one and where nothing may wait. */
static weft_routine *need_self(lua_State *L, universe *U, const char *who, bool *compact)
{
  weft_routine *self = binding_self(U);
  if (!self)
    binding_misuse(L, "%s: not inside a routine; start one with routine.start", who);
  *compact = ((record *)weft_routine_record(self))->thread == L && lua_isyieldable(L);
  if (!*compact && compat_in_finalizer(L))
    binding_misuse(L, "%s: not allowed in a finalizer (__gc); start a routine there", who);
  return self;
}

static int report_stuck(lua_State *L, void *context)
{
  realm *R = context;
  handle_of(L, R, weft_self());
  lua_insert(L, 1);
  lua_pushliteral(L, "told to stop but goes on waiting under C frames, where it cannot be ended by "
                     "force; let routine.Cancelled through");
  lua_insert(L, 2);
  return report_push_on(L, R);
}

/* Once for each routine: it swallows its cancels where its coroutine cannot be closed. */
static void report_once(lua_State *L, universe *U, record *rec)
{
  if (rec->reported) return;
  rec->reported = true;
  luaL_traceback(L, L, NULL, 1);
  lua_xmove(L, U->helper, 1);
  if (binding_protect(U->current, report_stuck, U->current, 1, 0) != LUA_OK)
    lua_pop(U->helper, 1);
}

/* Leaves with what was armed, or says why nothing was. The stack holds two values at most. */
static int leave(lua_State *L, universe *U, weft_routine *self, bool compact, weft_status armed,
                 enum kind kind, const char *who)
{
  record *rec = weft_routine_record(self);
  if (compact && armed == WEFT_OK) {
    rec->armed = true;
    return compat_yield(L, 0, kind, continue_wait);
  }
  if (armed == WEFT_CANCELLED) return raise_cancelled(L, U);
  if (armed == WEFT_FORCED) {
    if (compact) {
      rec->must_close = true;
      return compat_yield(L, 0, kind, continue_wait);
    }
    report_once(L, U, rec);
    armed = weft_arm_next_tick_forced(self);
  }
  weft_status woken = armed == WEFT_OK ? weft_park(self) : armed;
  if (woken == WEFT_OK || woken == WEFT_TIMEOUT || woken == WEFT_CANCELLED)
    return end_wait(L, U, self, kind);
  compat_before_throw(L);
  return binding_misuse(L, "%s: %s", who, weft_status_text(woken));
}

static int api_wait(lua_State *L)
{
  universe *U = binding_universe(L);
  bool compact;
  int64_t ns = binding_check_seconds(L, 1, "routine.wait", "seconds");
  weft_routine *self = need_self(L, U, "routine.wait", &compact);
  return leave(L, U, self, compact, weft_arm_wait(self, ns), KIND_SLEEP, "routine.wait");
}

static int api_wait_unscaled(lua_State *L)
{
  universe *U = binding_universe(L);
  bool compact;
  int64_t ns = binding_check_seconds(L, 1, "routine.waitUnscaled", "seconds");
  weft_routine *self = need_self(L, U, "routine.waitUnscaled", &compact);
  return leave(L, U, self, compact, weft_arm_wait_unscaled(self, ns), KIND_SLEEP,
               "routine.waitUnscaled");
}

static int api_next_tick(lua_State *L)
{
  universe *U = binding_universe(L);
  bool compact;
  weft_routine *self = need_self(L, U, "routine.nextTick", &compact);
  return leave(L, U, self, compact, weft_arm_next_tick(self), KIND_SLEEP, "routine.nextTick");
}

/* --- Join ---------------------------------------------------------------------------------- */

/* Nothing to wait for: a result, or that the handle expired. */
static int join_at_once(lua_State *L, universe *U, const handle *h, bool expired)
{
  if (COMPAT_TOKENS) {
    lua_pushlightuserdata(L, WAKE_TOKEN(U));
    lua_pushboolean(L, 1);
    if (!expired) lua_pushnumber(L, 0), lua_replace(L, -2);
    return 2;
  }
  return expired ? refuse(L, "expired") : handle_push_result(L, 1, h);
}

static int api_join(lua_State *L)
{
  universe *U = binding_universe(L);
  bool compact, done = false;
  const handle *h = handle_check(L, 1, "routine.join");
  int64_t timeout = lua_isnoneornil(L, 2)
                        ? -1
                        : binding_check_seconds(L, 2, "routine.join", "timeout");
  weft_routine *self = need_self(L, U, "routine.join", &compact);
  lua_settop(L, 2);
  weft_state state = handle_state(U, h);
  if (state == WEFT_STATE_EXPIRED || h->state)
    return join_at_once(L, U, h, state == WEFT_STATE_EXPIRED);
  if (handle_realm(U, h) != U->current)
    return binding_misuse(L, "routine.join: the routine is of another world, which does not run now");
  weft_status armed = weft_arm_join(self, h->id, timeout, &done);
  if (done) return join_at_once(L, U, h, false);
  return leave(L, U, self, compact, armed, KIND_JOIN, "routine.join");
}

/* handle -> what join gives of a routine that has ended; for waits.lua */
static int api_result(lua_State *L)
{
  return handle_push_result(L, 1, handle_check(L, 1, "routine.join"));
}

static int api_raise(lua_State *L)
{
  lua_pushvalue(L, lua_upvalueindex(2));
  return lua_error(L);
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"wait", api_wait},
                                     {"waitUnscaled", api_wait_unscaled},
                                     {"nextTick", api_next_tick},
                                     {"join", api_join},
                                     {NULL, NULL}};
static const luaL_Reg halves[] = {{"result", api_result}, {NULL, NULL}};

/* Module table on top. Where waits end in Lua, the module has their C halves and the token, and
   the Lua layer makes the functions; elsewhere they are whole. */
void waits_open(lua_State *L)
{
  lua_getfield(L, -1, COMPAT_TOKENS ? "halves" : "routine");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  binding_functions(L, functions);
  if (COMPAT_TOKENS) {
    binding_functions(L, halves);
    binding_push_universe(L);
    lua_pushlightuserdata(L, WAKE_TOKEN(lua_touserdata(L, -1)));
    lua_setfield(L, -3, "token");
    lua_pop(L, 1);
    binding_push_universe(L);
    lua_getfield(L, -3, "Cancelled");
    lua_pushcclosure(L, api_raise, 2);
    lua_setfield(L, -2, "raise");
    lua_setfield(L, -2, "halves");
  } else {
    lua_pop(L, 1);
  }
}
