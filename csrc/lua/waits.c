/* SPDX-License-Identifier: MIT */
/*
** waits.c - the waits of a routine: compact where no C frame stands in the way, pinned elsewhere.
**
** A compact wait arms and yields; only the body of the routine (routine.c) can wake it. A coroutine
** that a script resumes by hand yields again at once and says whose it is. A pinned wait arms and
** switches to another native stack in the middle of the C function.
*/
#include <limits.h>
#include <math.h>
#include <string.h>

#include "lua/binding.h"
#include "lua/waitables.h"

enum kind { KIND_SLEEP, KIND_JOIN, KIND_SEVERAL, KIND_EVENT, KIND_FD, KIND_STEPS, KIND_SCOPE };

/* Native stack that a pinned wait leaves to what comes after it: where Lua has no limit of C calls of
   its own, a recursion that waits ends in an error and not in the guard. */
#define STACK_RESERVE ((size_t)24 << 10)

/* What a wait goes through each time is inlined whole. */
#define HOT __attribute__((flatten))
#define RARE __attribute__((noinline))

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

static int push_seconds(lua_State *L, const realm *R, const weft_routine *self)
{
  /* Divided, not multiplied by 1e-9: 60 s are 60. */
  lua_pushnumber(L, (lua_Number)weft_slept(R->world, self) / 1e9);
  return 1;
}

static RARE int raise_cancelled(lua_State *L, const realm *R)
{
  compat_before_throw(L);
  lua_pushvalue(R->store, STORE_CANCELLED);
  lua_xmove(R->store, L, 1);
  return lua_error(L);
}

static record *record_of(const weft_routine *self)
{
  return weft_routine_record(self);
}

/* --- How a wait ends ----------------------------------------------------------------------- */

/* -> what the event gave that ended the last wait, which was for one alone; as `push` of its kind */
static int push_received(lua_State *L, const realm *R, const weft_routine *self)
{
  waitable *object = waitables_of(weft_received_from(R->world, self));
  return object->kind->push(L, object, weft_received(R->world, self));
}

/* token -> token, true, values; or token, 0 without memory, and also after a wait for several, whose
   values are got later, and for a descriptor, which has none. How many. */
static RARE int push_fired_token(lua_State *L, const realm *R, const weft_routine *self)
{
  int count = -1;
  lua_pushboolean(L, 1);
  if (weft_received_from(R->world, self)) count = push_received(L, R, self);
  if (count >= 0) return count + 2;
  lua_pushinteger(L, 0);
  lua_replace(L, -2);
  return 2;
}

/* For the Lua half of a wait: the token, then seconds, false for a timeout, nil for a cancel, or true
   and values. */
static int push_token(lua_State *L, const realm *R, const weft_routine *self, weft_status woken)
{
  lua_pushlightuserdata(L, WAKE_TOKEN(R->universe));
  if (woken == WEFT_OK)
    push_seconds(L, R, self);
  else if (woken == WEFT_FIRED)
    return push_fired_token(L, R, self);
  else if (woken == WEFT_TIMEOUT)
    lua_pushboolean(L, 0);
  else if (woken == WEFT_CLOSED)
    lua_pushinteger(L, 1);
  else
    lua_pushnil(L);
  return 2;
}

int waits_push_wake(realm *R, lua_State *co, const weft_routine *self, weft_status woken)
{
  return COMPAT_TOKENS ? push_token(co, R, self, woken) : 0;
}

static realm *realm_of(const weft_routine *self)
{
  return weft_routine_arg(self);
}

/* Values, or nil and a reason. */
static int end_event(lua_State *L, const weft_routine *self, weft_status woken)
{
  if (woken == WEFT_TIMEOUT) return refuse(L, "timeout");
  if (woken == WEFT_CLOSED) return refuse(L, "closed");
  int count = push_received(L, realm_of(self), self);
  return count >= 0 ? count : luaL_error(L, "not enough memory");
}

static int end_fd(lua_State *L, weft_status woken)
{
  if (woken == WEFT_CLOSED) return refuse(L, "closed");
  lua_pushboolean(L, 1);
  return 1;
}

static RARE int end_other_wait(lua_State *L, const weft_routine *self, enum kind kind)
{
  weft_status woken = weft_woken(self);
  if (kind == KIND_SCOPE && !COMPAT_TOKENS) return waits_in_scope(L);
  if (kind == KIND_SEVERAL) watches_forget(realm_of(self), self);
  if (woken == WEFT_CANCELLED) return raise_cancelled(L, realm_of(self));
  if (COMPAT_TOKENS) return push_token(L, realm_of(self), self, woken);
  if (kind == KIND_EVENT) return end_event(L, self, woken);
  if (woken == WEFT_TIMEOUT) return refuse(L, "timeout");
  if (kind == KIND_SEVERAL) return watches_push_answer(L);
  if (kind == KIND_FD) return end_fd(L, woken);
  if (kind == KIND_STEPS) {
    lua_pushinteger(L, (lua_Integer)weft_slept(realm_of(self)->world, self));
    return 1;
  }
  return handle_push_result(L, 1, lua_touserdata(L, 1), weft_joined(self));
}

static inline int end_wait(lua_State *L, const weft_routine *self, enum kind kind)
{
  bool plain = !COMPAT_TOKENS && kind == KIND_SLEEP && weft_woken(self) == WEFT_OK;
  return plain ? push_seconds(L, realm_of(self), self) : end_other_wait(L, self, kind);
}

/* The running routine, if it is a Lua routine and `L` the coroutine it runs on, else NULL. A
   coroutine belongs to one Lua state, so nothing more needs to be asked. */
static inline weft_routine *runs_on(lua_State *L)
{
  weft_routine *self = weft_self();
  if (!self || weft_routine_body(self) != routine_body) return NULL;
  return record_of(self)->thread == L ? self : NULL;
}

static int continue_wait(lua_State *L, int status, lua_KContext context);

/* A wait that keeps more than two values below it says how many. */
#define KIND_BITS 8
#define keeps(kind, values) ((lua_KContext)(kind) | (lua_KContext)(values) << KIND_BITS)

static RARE int send_back(lua_State *L, lua_KContext context)
{
  int kept = (int)(context >> KIND_BITS);
  lua_settop(L, kept > 0 ? kept : 2);
  refuse(L, "belongs to a routine");
  return compat_yield(L, 2, context, continue_wait);
}

/* The coroutine was resumed after a yield of ours: by the routine's body, or by hand. */
static HOT int continue_wait(lua_State *L, int status, lua_KContext context)
{
  const weft_routine *self = runs_on(L);
  (void)status;
  return self ? end_wait(L, self, (enum kind)(context & ((1 << KIND_BITS) - 1)))
              : send_back(L, context);
}

/* --- How a wait begins --------------------------------------------------------------------- */

/* Under C frames, in a coroutine of the script's own, or nowhere where anything may wait. */
static RARE weft_routine *find_pinned(lua_State *L, size_t room, const char *who)
{
  weft_routine *self = binding_self(binding_universe(L));
  if (!self || weft_routine_body(self) != routine_body) binding_outside(L, who);
  if (binding_in_finalizer(L, realm_of(self)))
    binding_misuse(L, "%s: not allowed in a finalizer (__gc); start a routine there", who);
  if (weft_fiber_stack_left() < room)
    binding_misuse(L, "%s: C stack overflow; raise stackBytes, or recurse less", who);
  if (overruns_hooks_in_use(L)) realm_of(self)->universe->hooked = true;
  compat_abort_recording(L);
  return self;
}

/* Who waits; `*compact` tells that no C frame stands between the wait and the routine's base. */
static inline weft_routine *find_waiter(lua_State *L, bool *compact, const char *who)
{
  weft_routine *self = runs_on(L);
  *compact = self && lua_isyieldable(L);
  return *compact ? self : find_pinned(L, STACK_RESERVE, who);
}

weft_routine *waits_self(lua_State *L, const char *who)
{
  bool compact;
  return find_waiter(L, &compact, who);
}

static int report_stuck(lua_State *L, void *context)
{
  realm *R = context;
  handle_of(L, R, weft_self());
  lua_insert(L, 1);
  lua_pushliteral(
      L, "told to stop but goes on waiting under C frames, where it cannot be ended by "
         "force; let routine.Cancelled through");
  lua_insert(L, 2);
  return report_push_on(L, R);
}

/* Once for each routine: it swallows its cancels where its coroutine cannot be closed. */
static void report_once(lua_State *L, const weft_routine *self)
{
  realm *R = realm_of(self);
  lua_State *helper = R->universe->helper;
  if (record_of(self)->reported) return;
  record_of(self)->reported = true;
  trace_push(L, R, L, COMPAT_TOKENS ? 1 : 0);
  lua_xmove(L, helper, 1);
  if (binding_protect_from(L, R, report_stuck, R, 1, 0) == LUA_OK) return;
  lua_pop(helper, 1);
  record_of(self)->reported =
      false; /* so deep that nothing could be called: at the next wait */
}

/* Leaves on the native stack; also where nothing was armed, with the reason. */
static RARE int leave_pinned(lua_State *L, weft_routine *self, weft_status armed,
                             enum kind kind, const char *who)
{
  weft_world *world = realm_of(self)->world;
  if (armed == WEFT_CANCELLED) return raise_cancelled(L, realm_of(self));
  if (armed == WEFT_FORCED) {
    report_once(L, self);
    armed = weft_arm_next_tick_forced(world, self);
  }
  weft_status woken = armed == WEFT_OK ? weft_park(world, self) : armed;
  bool waited = woken >= WEFT_OK || woken == WEFT_TIMEOUT || woken == WEFT_CANCELLED;
  if (waited || woken == WEFT_CLOSED) return end_wait(L, self, kind);
  compat_before_throw(L);
  return binding_misuse(L, "%s: %s", who, weft_status_text(woken));
}

static int yield_to_be_closed(lua_State *L)
{
  record_of(weft_self())->must_close = true;
  return lua_yield(L, 0);
}

/* The body closes the coroutine at this yield. Lua 5.4.4 does so with the message handler of an
   xpcall around it still set, and its to-be-closed variables would have their errors handled by
   whatever stands in its place: hence below a pcall, which has none. Traces do not show it, as it has
   the universe with it. */
static RARE int leave_to_be_closed(lua_State *L)
{
  binding_push_universe(L);
  lua_pushcclosure(L, yield_to_be_closed, 1);
  return compat_pcall(L, 0, 0, continue_wait);
}

/* Leaves with what was armed, or says why nothing was. The stack holds two values at most. */
static inline int leave(lua_State *L, weft_routine *self, bool compact, weft_status armed,
                        lua_KContext kind, const char *who)
{
  if (!compact || (armed != WEFT_OK && armed != WEFT_FORCED))
    return leave_pinned(L, self, armed, (enum kind)kind, who);
  if (armed == WEFT_FORCED && !COMPAT_TOKENS) return leave_to_be_closed(L);
  bool asks = COMPAT_TOKENS && realm_of(self)->universe->hooked;
  if (armed == WEFT_FORCED)
    record_of(self)->must_close = true;
  else if (asks)
    weft_disarm(realm_of(self)->world, self); /* it could be; a hook may run before the yield */
  else
    record_of(self)->armed = true;
  if (!asks) return compat_yield(L, 0, kind, continue_wait);
  lua_pushlightuserdata(L, ASK_TOKEN(realm_of(self)->universe));
  return 1;
}

static HOT int api_wait(lua_State *L)
{
  bool compact;
  int64_t ns = binding_check_seconds(L, 1, "routine.wait", "seconds");
  weft_routine *self = find_waiter(L, &compact, "routine.wait");
  weft_status armed = weft_arm_wait(realm_of(self)->world, self, ns);
  return leave(L, self, compact, armed, KIND_SLEEP, "routine.wait");
}

static int api_wait_unscaled(lua_State *L)
{
  bool compact;
  int64_t ns = binding_check_seconds(L, 1, "routine.waitUnscaled", "seconds");
  weft_routine *self = find_waiter(L, &compact, "routine.waitUnscaled");
  weft_status armed = weft_arm_wait_unscaled(realm_of(self)->world, self, ns);
  return leave(L, self, compact, armed, KIND_SLEEP, "routine.waitUnscaled");
}

static HOT int api_next_tick(lua_State *L)
{
  bool compact;
  weft_routine *self = find_waiter(L, &compact, "routine.nextTick");
  weft_status armed = weft_arm_next_tick(realm_of(self)->world, self);
  return leave(L, self, compact, armed, KIND_SLEEP, "routine.nextTick");
}

/* A number of fixed steps; 1 for none. */
static int64_t check_steps(lua_State *L, const char *who)
{
  if (lua_isnoneornil(L, 1)) return 1;
  double count = lua_type(L, 1) == LUA_TNUMBER ? lua_tonumber(L, 1) : NAN;
  if (!(count >= 1) || isinf(count) || count != floor(count))
    binding_misuse(L, "%s: n must be a whole number >= 1, got %s", who, binding_got(L, 1));
  return count < 9e18 ? (int64_t)count : INT64_MAX;
}

/* The Lua half gets what every wait gets, the number divided by 1e9. */
static int api_wait_fixed(lua_State *L)
{
  static const char who[] = "routine.waitFixed";
  bool compact;
  int64_t count = check_steps(L, who);
  weft_routine *self = find_waiter(L, &compact, who);
  weft_status armed = weft_arm_wait_fixed(realm_of(self)->world, self, count);
  if (armed == WEFT_NOSTEPS)
    return binding_misuse(L, "%s: this world has no fixed steps; give it a fixedStep", who);
  return leave(L, self, compact, armed, KIND_STEPS, who);
}

/* --- Join ---------------------------------------------------------------------------------- */

/* Nothing to wait for: a result, or that the handle expired. */
static int join_at_once(lua_State *L, universe *U, const handle *h, weft_state state)
{
  bool expired = state == WEFT_STATE_EXPIRED;
  if (COMPAT_TOKENS) {
    lua_pushlightuserdata(L, WAKE_TOKEN(U));
    lua_pushboolean(L, 1);
    if (!expired) lua_pushnumber(L, 0), lua_replace(L, -2);
    return 2;
  }
  return expired ? refuse(L, "expired") : handle_push_result(L, 1, h, state);
}

static int api_join(lua_State *L)
{
  universe *U = binding_universe(L);
  bool compact, done = false;
  const handle *h = handle_check(L, 1, "routine.join");
  int64_t timeout =
      lua_isnoneornil(L, 2) ? -1 : binding_check_seconds(L, 2, "routine.join", "timeout");
  weft_routine *self = find_waiter(L, &compact, "routine.join");
  lua_settop(L, 2);
  weft_state state = handle_state(L, h);
  if (state >= WEFT_STATE_COMPLETED) return join_at_once(L, U, h, state);
  if (handle_realm(L, h) != realm_of(self))
    return binding_misuse(
        L, "routine.join: the routine is of another world, which does not run now");
  weft_status armed = weft_arm_join(realm_of(self)->world, self, h->id, timeout, &done);
  if (done) return join_at_once(L, U, h, handle_state(L, h));
  return leave(L, self, compact, armed, KIND_JOIN, "routine.join");
}

/* --- Several ------------------------------------------------------------------------------- */

/* Waits for the set at 1. */
static int wait_for_set(lua_State *L)
{
  bool compact, done = false;
  const char *who = watches_name(L);
  weft_routine *self = find_waiter(L, &compact, who);
  weft_status armed = watches_arm(L, realm_of(self), self, &done);
  if (!done) return leave(L, self, compact, armed, KIND_SEVERAL, who);
  if (!COMPAT_TOKENS) return watches_push_answer(L);
  lua_pushlightuserdata(L, WAKE_TOKEN(binding_universe(L)));
  lua_pushnumber(L, 0);
  return 2;
}

static int api_any(lua_State *L)
{
  watches_new(L, false);
  return wait_for_set(L);
}

static int api_all(lua_State *L)
{
  watches_new(L, true);
  return wait_for_set(L);
}

/* For waits.lua: list, whether all -> set */
static int api_set(lua_State *L)
{
  watches_new(L, lua_toboolean(L, 2));
  return 1;
}

/* For waits.lua: the wait of the running routine is over, its set is needed by nobody else. */
static int api_forget(lua_State *L)
{
  const weft_routine *self = weft_self();
  (void)L;
  if (self && weft_routine_body(self) == routine_body) watches_forget(realm_of(self), self);
  return 0;
}

/* For waits.lua: set -> what any or all returns */
static int api_answer(lua_State *L)
{
  api_forget(L);
  return watches_push_answer(L);
}

/* --- Events -------------------------------------------------------------------------------- */

int waits_refuse(lua_State *L, const universe *U, const char *reason)
{
  if (!COMPAT_TOKENS) return refuse(L, reason);
  lua_pushlightuserdata(L, WAKE_TOKEN(U));
  lua_pushboolean(L, 1);
  return 2 + refuse(L, reason);
}

int waits_none(lua_State *L, const wait_call *call)
{
  waitable *object = call->object;
  if (COMPAT_TOKENS) {
    lua_pushlightuserdata(L, WAKE_TOKEN(object->universe));
    lua_pushboolean(L, 1);
  }
  int count = object->kind->push(L, object, call->given);
  if (count < 0) return luaL_error(L, "not enough memory");
  return COMPAT_TOKENS ? count + 2 : count;
}

int waits_for(lua_State *L, wait_call *call, const char *who)
{
  bool compact;
  call->self = find_waiter(L, &compact, who);
  call->realm = realm_of(call->self);
  weft_status armed = call->object->kind->arm(call);
  if (call->done) return waits_none(L, call);
  if (armed == WEFT_CLOSED) return waits_refuse(L, call->object->universe, "closed");
  lua_settop(L, 1);
  return leave(L, call->self, compact, armed, KIND_EVENT, who);
}

/* --- Descriptors --------------------------------------------------------------------------- */

static int check_fd(lua_State *L)
{
  double fd = lua_type(L, 1) == LUA_TNUMBER ? lua_tonumber(L, 1) : NAN;
  if (!(fd >= 0 && fd <= INT_MAX) || fd != floor(fd))
    binding_misuse(L, "routine.waitFd: fd must be a whole number >= 0, got %s",
                   binding_got(L, 1));
  return (int)fd;
}

static weft_fd_mode check_mode(lua_State *L)
{
  const char *mode = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  bool write = strcmp(mode, "w") == 0;
  if (!write && strcmp(mode, "r") != 0)
    binding_misuse(L, "routine.waitFd: mode must be 'r' or 'w', got %s",
                   mode[0] ? mode : binding_got(L, 2));
  return write ? WEFT_WRITE : WEFT_READ;
}

static int api_wait_fd(lua_State *L)
{
  static const char who[] = "routine.waitFd";
  bool compact;
  int fd = check_fd(L);
  weft_fd_mode mode = check_mode(L);
  int64_t timeout = lua_isnoneornil(L, 3) ? -1 : binding_check_seconds(L, 3, who, "timeout");
  weft_routine *self = find_waiter(L, &compact, who);
  lua_settop(L, 2);
  weft_status armed = weft_arm_fd(realm_of(self)->world, self, fd, mode, timeout);
  if (armed != WEFT_CLOSED) return leave(L, self, compact, armed, KIND_FD, who);
  return COMPAT_TOKENS ? push_token(L, realm_of(self), self, armed) : refuse(L, "closed");
}

/* --- Scopes -------------------------------------------------------------------------------- */

static const char who_scopes[] = "routine.scope";

static RARE int fail_in_scope(lua_State *L, weft_status status)
{
  compat_before_throw(L);
  return binding_failed(L, who_scopes, status);
}

/* Waits for the children of the scope at 1, one after the other: until none is left, or until this
   is to be left with `*count` values. What else stands on the stack stays. The room for it was there
   when the scope began, and may be a little less by now: so half of that is enough, and nothing is
   raised over children that live. An error that the scope has comes before one of the wait. */
static bool leaves_for_child(lua_State *L, bool may_be_compact, int *count)
{
  for (;;) {
    bool done = false;
    weft_routine *self = runs_on(L);
    scope *s = scope_check(L, 1, who_scopes);
    bool compact = self && lua_isyieldable(L);
    if (!compact) self = find_pinned(L, STACK_RESERVE / 2, who_scopes);
    weft_status status = scope_arm(self, s, &done);
    if (done) return false;
    if (compact && may_be_compact && status == WEFT_OK) {
      lua_KContext kind = keeps(KIND_SCOPE, lua_gettop(L));
      *count = leave(L, self, true, status, kind, who_scopes);
      return true;
    }
    if (status == WEFT_OK) status = weft_park(realm_of(self)->world, self);
    if (status == WEFT_OK || status == WEFT_CANCELLED) continue;
    if (scope_gives_up(self, s)) return false;
    *count = fail_in_scope(L, status);
    return true;
  }
}

int waits_in_scope(lua_State *L)
{
  int count;
  return leaves_for_child(L, !COMPAT_TOKENS, &count) ? count : scope_result(L);
}

/* For waits.lua: scope -> token; some child may have ended */
static int api_wait_in_scope(lua_State *L)
{
  int count = 1;
  if (!leaves_for_child(L, true, &count))
    lua_pushlightuserdata(L, WAKE_TOKEN(binding_universe(L)));
  return count;
}

/* --- Asking by a yield --------------------------------------------------------------------- */

/* What waits.lua yields where nothing was armed: the token, one of these, and the arguments. */
enum {
  ASK_NEXT_TICK,
  ASK_WAIT,
  ASK_WAIT_UNSCALED,
  ASK_JOIN,
  ASK_SEVERAL,
  ASK_EVENT,
  ASK_FD,
  ASK_STEPS,
  ASK_SCOPE
};

/* The time limit at `index`, -1 without one. */
static int64_t limit_asked(lua_State *co, int index)
{
  return lua_isnumber(co, index) ? (int64_t)llrint(lua_tonumber(co, index) * 1e9) : -1;
}

static weft_status arm_asked(realm *R, weft_routine *self, lua_State *co, bool *done)
{
  int64_t ns = lua_isnumber(co, 3) ? (int64_t)llrint(lua_tonumber(co, 3) * 1e9) : 0;
  switch (lua_tointeger(co, 2)) {
  case ASK_WAIT:
    return weft_arm_wait(R->world, self, ns);
  case ASK_STEPS:
    return weft_arm_wait_fixed(R->world, self, lua_isnumber(co, 3) ? lua_tointeger(co, 3) : 1);
  case ASK_WAIT_UNSCALED:
    return weft_arm_wait_unscaled(R->world, self, ns);
  case ASK_JOIN: {
    const handle *h = lua_touserdata(co, 3);
    return weft_arm_join(R->world, self, h->id, limit_asked(co, 4), done);
  }
  case ASK_FD: {
    weft_fd_mode mode = strcmp(lua_tostring(co, 4), "w") == 0 ? WEFT_WRITE : WEFT_READ;
    return weft_arm_fd(R->world, self, (int)lua_tointeger(co, 3), mode, limit_asked(co, 5));
  }
  case ASK_SEVERAL:
    lua_settop(co, 3);
    lua_xmove(co, R->store, 1);
    return watches_arm_again(R, self, done);
  case ASK_SCOPE:
    return lua_isuserdata(co, 3) ? scope_arm(self, lua_touserdata(co, 3), done) : WEFT_INVALID;
  default:
    return weft_arm_next_tick(R->world, self);
  }
}

bool waits_asked(const realm *R, lua_State *co)
{
  return COMPAT_TOKENS && lua_gettop(co) >= 2 &&
         lua_touserdata(co, 1) == WAKE_TOKEN(R->universe);
}

/* Object, timeout, act and value stand at 3 to 6. */
static weft_status arm_event(realm *R, weft_routine *self, lua_State *co, wait_call *call)
{
  *call = (wait_call){.object = *(waitable **)lua_touserdata(co, 3),
                      .timeout = limit_asked(co, 4),
                      .act = (int)lua_tointeger(co, 5),
                      .L = co,
                      .value = 6,
                      .realm = R,
                      .self = self};
  return call->object->kind->arm(call);
}

/* As waits_arm_asked. */
static weft_status arm_asked_event(realm *R, weft_routine *self, lua_State *co)
{
  wait_call call;
  weft_status armed = arm_event(R, self, co, &call);
  lua_settop(co, 0);
  if (armed == WEFT_OK && !call.done) return WEFT_PARKED;
  if (armed == WEFT_FORCED) return WEFT_FORCED;
  lua_pushlightuserdata(co, WAKE_TOKEN(R->universe));
  lua_pushboolean(co, 1);
  if (call.done && call.object->kind->push(co, call.object, call.given) >= 0) return WEFT_OK;
  if (armed == WEFT_CANCELLED)
    lua_pushnil(co);
  else
    lua_pushinteger(co, armed == WEFT_CLOSED ? 1 : armed == WEFT_SELF ? 2 : 0);
  lua_replace(co, 2);
  return WEFT_OK;
}

/* What it asked for is armed: WEFT_PARKED; or it is to be ended: WEFT_FORCED; or there is nothing to
   wait for, and what it gets is on the coroutine: WEFT_OK. */
weft_status waits_arm_asked(realm *R, weft_routine *self, lua_State *co)
{
  bool done = false;
  if (lua_tointeger(co, 2) == ASK_EVENT) return arm_asked_event(R, self, co);
  weft_status armed = arm_asked(R, self, co, &done);
  lua_settop(co, 0);
  if (armed == WEFT_OK && !done) return WEFT_PARKED;
  if (armed == WEFT_FORCED) return WEFT_FORCED;
  lua_pushlightuserdata(co, WAKE_TOKEN(R->universe));
  if (done)
    lua_pushnumber(co, 0);
  else if (armed == WEFT_EXPIRED)
    lua_pushboolean(co, 1);
  else if (armed == WEFT_CLOSED)
    lua_pushinteger(co, 1);
  else
    lua_pushnil(co);
  return WEFT_OK;
}

/* handle -> what join gives of a routine that has ended; for waits.lua */
static int api_result(lua_State *L)
{
  const handle *h = handle_check(L, 1, "routine.join");
  weft_state state = handle_state(L, h);
  if (state == WEFT_STATE_EXPIRED && weft_self()) state = weft_joined(weft_self());
  return handle_push_result(L, 1, h, state);
}

/* A script sets a debug hook; for waits.lua */
static int api_hooked(lua_State *L)
{
  binding_universe(L)->hooked = true;
  return 0;
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
                                     {"waitFixed", api_wait_fixed},
                                     {"join", api_join},
                                     {"waitFd", api_wait_fd},
                                     {NULL, NULL}};
static const luaL_Reg wholes[] = {{"any", api_any}, {"all", api_all}, {NULL, NULL}};
static const luaL_Reg halves[] = {{"result", api_result},
                                  {"hooked", api_hooked},
                                  {"set", api_set},
                                  {"waitForSet", wait_for_set},
                                  {"answer", api_answer},
                                  {"forget", api_forget},
                                  {"waitInScope", api_wait_in_scope},
                                  {NULL, NULL}};

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
  scope_push_functions(L);
  if (COMPAT_TOKENS) {
    binding_functions(L, halves);
    inside_push_halves(L);
    binding_push_universe(L);
    lua_pushlightuserdata(L, WAKE_TOKEN(lua_touserdata(L, -1)));
    lua_setfield(L, -3, "token");
    lua_pushlightuserdata(L, ASK_TOKEN((universe *)lua_touserdata(L, -1)));
    lua_setfield(L, -3, "ask");
    lua_pop(L, 1);
    binding_push_universe(L);
    lua_getfield(L, -3, "Cancelled");
    lua_pushcclosure(L, api_raise, 2);
    lua_setfield(L, -2, "raise");
    lua_setfield(L, -2, "halves");
  } else {
    binding_functions(L, wholes);
    lua_pop(L, 1);
  }
}
