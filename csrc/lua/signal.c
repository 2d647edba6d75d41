/* SPDX-License-Identifier: MIT */
/*
** signal.c - weft.signal: the object, and the routines that wait for it. Its listeners are in
** signal_listeners.c, what wakes and calls them in signal_fire.c.
*/
#include "lua/signal.h"

static signal *check(lua_State *L, int index, const char *who)
{
  return (signal *)waitables_check(L, index, &signal_kind, who);
}

signal *signal_check_open(lua_State *L, int index, const char *who)
{
  signal *s = check(L, index, who);
  if (s->base.closed) binding_misuse(L, "%s: the signal is destroyed", who);
  return s;
}

/* --- Waiting ------------------------------------------------------------------------------- */

static weft_status arm(wait_call *call)
{
  if (call->object->closed) return WEFT_CLOSED;
  return weft_arm_event(call->realm->world, call->self, &call->object->line.event, 0,
                        call->timeout);
}

static int push_values(lua_State *L, waitable *object, uint64_t value)
{
  return parcels_take(object->universe, L, (uint32_t)value);
}

static void drop_values(universe *U, uint64_t value)
{
  parcels_drop(U, (uint32_t)value);
}

/* What it was fired with was for one that does not come any more. */
static void lost(weft_event *event, uint64_t value)
{
  bool passed = (value & TURN) && weft_event_fire_one(event, value);
  if (!passed) drop_values(waitables_of(event)->universe, value);
}

static const weft_event_hooks hooks = {.lost = lost};

static int wait_for(lua_State *L, const char *who)
{
  const signal *s = signal_check_open(L, 1, who);
  wait_call call = {.object = (waitable *)s, .timeout = -1};
  if (!lua_isnoneornil(L, 2)) call.timeout = binding_check_seconds(L, 2, who, "timeout");
  return waits_for(L, &call, who);
}

static int api_wait(lua_State *L)
{
  return wait_for(L, "signal:wait");
}

static int api_wait_for(lua_State *L)
{
  return wait_for(L, "routine.waitFor");
}

/* --- Life ---------------------------------------------------------------------------------- */

static void close_signal(waitable *object)
{
  object->closed = true;
  weft_event_close(&object->line.event);
}

static void fini_signal(lua_State *L, waitable *object)
{
  signal *s = (signal *)object;
  if (s->listeners) binding_alloc(L, s->listeners, s->size * sizeof *s->listeners, 0);
}

static bool is_idle(const waitable *object)
{
  return object->line.event.waiting == 0 && object->line.event.told == 0;
}

const waitable_kind signal_kind = {
    .name = "signal",
    .a_name = "a signal",
    .arm = arm,
    .push = push_values,
    .drop = drop_values,
    .close = close_signal,
    .fini = fini_signal,
    .idle = is_idle,
};

/* What stands beside the userdata: functions by place + 1, and at 0 the userdata itself, for
   subscriptions. */
void signal_push(lua_State *L)
{
  waitable *object = waitables_new(L, &signal_kind, sizeof(signal), "weft.signal");
  object->line.event.hooks = &hooks;
  lua_createtable(L, 4, 0);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, 0);
  compat_set_value(L, -2);
}

static int api_new(lua_State *L)
{
  signal_push(L);
  return 1;
}

/* True if it was not destroyed before. */
static int api_destroy(lua_State *L)
{
  signal *s = check(L, 1, "signal:destroy");
  bool was_open = !s->base.closed;
  lua_settop(L, 1);
  compat_get_value(L, 1);
  for (uint32_t i = 0; i < s->count; i++)
    if (s->listeners[i].on) signal_turn_off(L, s, i, 2);
  close_signal(&s->base);
  lua_pushboolean(L, was_open);
  return 1;
}

static int api_waiting(lua_State *L)
{
  lua_pushinteger(L, (lua_Integer)check(L, 1, "signal:waiting")->base.line.event.waiting);
  return 1;
}

static int signal_tostring(lua_State *L)
{
  const signal *s = check(L, 1, "tostring");
  if (s->base.closed)
    lua_pushliteral(L, "weft.Signal (destroyed)");
  else
    lua_pushfstring(L, "weft.Signal (%d listeners, %d waiting)", (int)s->on,
                    (int)s->base.line.event.waiting);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {
    {"wait", api_wait}, {"waiting", api_waiting}, {"destroy", api_destroy}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", signal_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"signal", api_new}, {NULL, NULL}};
static const luaL_Reg routine_functions[] = {{"waitFor", api_wait_for}, {NULL, NULL}};

/* Module table on top, with its table of routines. */
void signal_open(lua_State *L)
{
  signal_open_subscriptions(L);
  binding_functions(L, functions);
  lua_getfield(L, -1, "routine");
  binding_functions(L, routine_functions);
  lua_pop(L, 1);
  waitables_open_kind(L, &signal_kind, "weft.Signal", methods, metamethods);
  signal_push_connects(L);
  signal_push_fires(L);
  lua_setfield(L, -2, "signalMethods");
}
