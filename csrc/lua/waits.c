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

/* Who waits: the running routine, as one of ours. */
typedef struct waiter {
  realm *realm;
  weft_routine *self;
  record *rec;
  bool compact; /* no C frame stands between the wait and the routine's base */
} waiter;

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

static int push_seconds(lua_State *L, const realm *R, const weft_routine *self)
{
  lua_pushnumber(L, (lua_Number)weft_slept(R->world, self) * 1e-9);
  return 1;
}

static int raise_cancelled(lua_State *L, const realm *R)
{
  compat_before_throw(L);
  lua_pushvalue(R->store, STORE_CANCELLED);
  lua_xmove(R->store, L, 1);
  return lua_error(L);
}

/* --- How a wait ends ----------------------------------------------------------------------- */

/* For the Lua half of a wait: the token, then seconds, false for a timeout or nil for a cancel. */
static int push_token(lua_State *L, const realm *R, const weft_routine *self, weft_status woken)
{
  lua_pushlightuserdata(L, WAKE_TOKEN(R->universe));
  if (woken == WEFT_OK)
    push_seconds(L, R, self);
  else if (woken == WEFT_TIMEOUT)
    lua_pushboolean(L, 0);
  else
    lua_pushnil(L);
  return 2;
}

int waits_push_wake(realm *R, lua_State *co, const weft_routine *self, weft_status woken)
{
  return COMPAT_TOKENS ? push_token(co, R, self, woken) : 0;
}

static int end_wait(lua_State *L, const waiter *w, enum kind kind)
{
  weft_status woken = weft_woken(w->self);
  if (woken == WEFT_CANCELLED) return raise_cancelled(L, w->realm);
  if (COMPAT_TOKENS) return push_token(L, w->realm, w->self, woken);
  if (woken == WEFT_TIMEOUT) return refuse(L, "timeout");
  if (kind == KIND_SLEEP) return push_seconds(L, w->realm, w->self);
  return handle_push_result(L, 1, lua_touserdata(L, 1));
}

/* The running routine, if it is a Lua routine and `L` the coroutine it runs on. A coroutine belongs
   to one Lua state, so nothing more needs to be asked. */
static inline bool runs_on(lua_State *L, waiter *w)
{
  weft_routine *self = weft_self();
  if (!self || weft_routine_body(self) != routine_body) return false;
  w->self = self;
  w->rec = weft_routine_record(self);
  w->realm = weft_routine_arg(self);
  return w->rec->thread == L;
}

/* The coroutine was resumed after a yield of ours: by the routine's body, or by hand. */
static int continue_wait(lua_State *L, int status, lua_KContext context)
{
  waiter w;
  (void)status;
  if (runs_on(L, &w)) return end_wait(L, &w, (enum kind)context);
  lua_settop(L, 2);
  refuse(L, "belongs to a routine");
  return compat_yield(L, 2, context, continue_wait);
}

/* --- How a wait begins --------------------------------------------------------------------- */

/* Under C frames, in a coroutine of the script's own, or nowhere where anything may wait. */
static __attribute__((noinline)) void find_pinned(lua_State *L, waiter *w, const char *who)
{
  universe *U = binding_universe(L);
  weft_routine *self = binding_self(U);
  if (!self || weft_routine_body(self) != routine_body)
    binding_misuse(L, "%s: not inside a routine; start one with routine.start", who);
  if (compat_in_finalizer(L))
    binding_misuse(L, "%s: not allowed in a finalizer (__gc); start a routine there", who);
  *w = (waiter){.realm = U->current, .self = self, .rec = weft_routine_record(self)};
}

static inline void find_waiter(lua_State *L, waiter *w, const char *who)
{
  w->compact = runs_on(L, w) && lua_isyieldable(L);
  if (!w->compact) find_pinned(L, w, who);
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
static void report_once(lua_State *L, const waiter *w)
{
  lua_State *helper = w->realm->universe->helper;
  if (w->rec->reported) return;
  w->rec->reported = true;
  luaL_traceback(L, L, NULL, 1);
  lua_xmove(L, helper, 1);
  if (binding_protect(w->realm, report_stuck, w->realm, 1, 0) != LUA_OK) lua_pop(helper, 1);
}

static int leave_pinned(lua_State *L, const waiter *w, weft_status armed, enum kind kind,
                        const char *who)
{
  weft_world *world = w->realm->world;
  if (armed == WEFT_FORCED) {
    report_once(L, w);
    armed = weft_arm_next_tick_forced(world, w->self);
  }
  weft_status woken = armed == WEFT_OK ? weft_park(world, w->self) : armed;
  if (woken == WEFT_OK || woken == WEFT_TIMEOUT || woken == WEFT_CANCELLED)
    return end_wait(L, w, kind);
  compat_before_throw(L);
  return binding_misuse(L, "%s: %s", who, weft_status_text(woken));
}

/* Leaves with what was armed, or says why nothing was. The stack holds two values at most. */
static inline int leave(lua_State *L, const waiter *w, weft_status armed, enum kind kind,
                        const char *who)
{
  if (armed == WEFT_CANCELLED) return raise_cancelled(L, w->realm);
  if (!w->compact || (armed != WEFT_OK && armed != WEFT_FORCED))
    return leave_pinned(L, w, armed, kind, who);
  if (armed == WEFT_OK)
    w->rec->armed = true;
  else
    w->rec->must_close = true;
  return compat_yield(L, 0, kind, continue_wait);
}

static int api_wait(lua_State *L)
{
  waiter w;
  int64_t ns = binding_check_seconds(L, 1, "routine.wait", "seconds");
  find_waiter(L, &w, "routine.wait");
  return leave(L, &w, weft_arm_wait(w.realm->world, w.self, ns), KIND_SLEEP, "routine.wait");
}

static int api_wait_unscaled(lua_State *L)
{
  waiter w;
  int64_t ns = binding_check_seconds(L, 1, "routine.waitUnscaled", "seconds");
  find_waiter(L, &w, "routine.waitUnscaled");
  return leave(L, &w, weft_arm_wait_unscaled(w.realm->world, w.self, ns), KIND_SLEEP,
               "routine.waitUnscaled");
}

static int api_next_tick(lua_State *L)
{
  waiter w;
  find_waiter(L, &w, "routine.nextTick");
  return leave(L, &w, weft_arm_next_tick(w.realm->world, w.self), KIND_SLEEP, "routine.nextTick");
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
  bool done = false;
  waiter w;
  const handle *h = handle_check(L, 1, "routine.join");
  int64_t timeout = lua_isnoneornil(L, 2)
                        ? -1
                        : binding_check_seconds(L, 2, "routine.join", "timeout");
  find_waiter(L, &w, "routine.join");
  lua_settop(L, 2);
  weft_state state = handle_state(U, h);
  if (state == WEFT_STATE_EXPIRED || h->state)
    return join_at_once(L, U, h, state == WEFT_STATE_EXPIRED);
  if (handle_realm(U, h) != w.realm)
    return binding_misuse(L, "routine.join: the routine is of another world, which does not run now");
  weft_status armed = weft_arm_join(w.realm->world, w.self, h->id, timeout, &done);
  if (done) return join_at_once(L, U, h, false);
  return leave(L, &w, armed, KIND_JOIN, "routine.join");
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
