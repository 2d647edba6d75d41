/* SPDX-License-Identifier: MIT */
/*
** services_call.c - weft.Call: the answer of a service that somebody waits for. It is waited for as a
** job is.
*/
#include "lua/services.h"

/* What a script holds. */
typedef struct call_object {
  waitable base;
  service_call *call;
  int values; /* in the registry, once they were asked for: a list of the answer, or of the error */
} call_object;

static const waitable_kind call_kind, foreign_kind; /* below */

static weft_status status_of(const service_call *c)
{
  return weft_call_result(&c->base, NULL, 0);
}

/* One that was made where there is no world is looked at by whoever waits. */
static bool is_foreign(const service_call *c)
{
  return c->adrift || !c->poster;
}

static bool has_ended(const service_call *c)
{
  return c->arrived || (is_foreign(c) && status_of(c) != WEFT_PENDING);
}

/* --- Values -------------------------------------------------------------------------------- */

/* -> what has come: the answer, or the error; how many */
static int push_come(lua_State *L, service_call *c)
{
  weft_status status = status_of(c);
  if (status == WEFT_OK)
    return transfer_read(L, c->output, &(transfer_side){.second = !services_claim(c)});
  if (status == WEFT_CANCELLED)
    binding_push_cancelled(L);
  else if (c->wrong)
    lua_pushfstring(L, "weft.service: %s %s", c->servant->name, c->wrong);
  else if (status == WEFT_STOPPED) /* it may be at work still, and fail just now */
    lua_pushfstring(L, "weft.service: %s has ended without an answer", c->servant->name);
  else
    services_push_death(L, c->servant);
  return 1;
}

/* Read once: who asks again gets the same tables. -> list */
static void push_list(lua_State *L, call_object *o)
{
  int top = lua_gettop(L);
  if (o->values == LUA_NOREF) {
    int count = push_come(L, o->call);
    lua_createtable(L, count, 1);
    lua_insert(L, top + 1);
    for (int i = count; i > 0; i--) lua_rawseti(L, top + 1, i);
    lua_pushinteger(L, count);
    lua_setfield(L, -2, "n");
    o->values = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, o->values);
}

/* -> the values of the list; how many */
static int push_values(lua_State *L, call_object *o)
{
  push_list(L, o);
  int list = lua_gettop(L);
  lua_getfield(L, list, "n");
  int count = (int)lua_tointeger(L, -1);
  lua_settop(L, list);
  luaL_checkstack(L, count + LUA_MINSTACK, "too many values");
  for (int i = 1; i <= count; i++) lua_rawgeti(L, list, i);
  lua_remove(L, list);
  return count;
}

/* --- Waiting in a routine ------------------------------------------------------------------ */

static weft_status call_arm(wait_call *wait)
{
  const service_call *c = ((call_object *)wait->object)->call;
  wait->done = has_ended(c) || is_foreign(c);
  if (wait->done) return WEFT_OK;
  return weft_arm_event(wait->realm->world, wait->self, &wait->object->line.event, 0,
                        wait->timeout);
}

/* What any and all give: the answer; or nil and the error. */
static int push_outcome(lua_State *L, void *context)
{
  call_object *o = context;
  bool failed = status_of(o->call) != WEFT_OK;
  if (failed) lua_pushnil(L);
  return push_values(L, o) + failed;
}

static int call_push(lua_State *L, waitable *object, uint64_t value)
{
  call_object *o = (call_object *)object;
  realm *R = object->universe->current;
  int top = lua_gettop(L);
  (void)value;
  if (!has_ended(o->call) || !R) return 0;
  /* A coroutine that is suspended is not called on: where that fails LuaJIT forgets that it is. Who waits
     for this alone asks for the values once it goes on. */
  if (lua_status(L) == LUA_YIELD) return 0;
  if (binding_protect_on(L, R, push_outcome, o, 0, LUA_MULTRET) == LUA_OK)
    return lua_gettop(L) - top;
  lua_settop(L, top);
  return -1;
}

static void call_close(waitable *object)
{
  object->closed = true;
}

static bool call_idle(const waitable *object)
{
  return object->line.event.waiting == 0 && object->line.event.told == 0;
}

static void call_fini(lua_State *L, waitable *object)
{
  call_object *o = (call_object *)object;
  luaL_unref(L, LUA_REGISTRYINDEX, o->values);
  if (!o->call) return;
  o->call->object = NULL;
  weft_counted_drop(o->call);
}

static bool call_come(const waitable *object)
{
  return has_ended(((const call_object *)object)->call);
}

static void call_drop(universe *U, uint64_t value)
{
  (void)U;
  (void)value;
}

static bool call_foreign(const waitable *object)
{
  return is_foreign(((const call_object *)object)->call);
}

/* Raises the error of one that has ended badly. */
static int call_result(lua_State *L, waitable *object)
{
  call_object *o = (call_object *)object;
  int count = push_values(L, o);
  return status_of(o->call) == WEFT_OK ? count : lua_error(L);
}

static const waitable_kind call_kind = {.name = "call",
                                        .a_name = "a call",
                                        .arm = call_arm,
                                        .push = call_push,
                                        .drop = call_drop,
                                        .close = call_close,
                                        .fini = call_fini,
                                        .idle = call_idle,
                                        .come = call_come,
                                        .foreign = call_foreign,
                                        .result = call_result};

/* Nothing is fired for those: `any` and `all` cannot wait for them. */
static const waitable_kind foreign_kind = {.name = "call",
                                           .a_name = "a call",
                                           .arm = call_arm,
                                           .push = call_push,
                                           .close = call_close,
                                           .fini = call_fini,
                                           .idle = call_idle,
                                           .come = call_come,
                                           .foreign = call_foreign,
                                           .result = call_result};

/* --- Beginning and ending ------------------------------------------------------------------ */

static void call_end(void *object)
{
  service_call *c = object;
  weft_counted_drop(c->output);
  weft_counted_drop(c->servant);
  weft_poster_release(c->poster);
}

/* The world whose ticks tell of the answer: that which calls, outside of all the service's. NULL where
   there are none. */
static realm *world_for(lua_State *L, const servant *s)
{
  universe *U = binding_universe(L);
  if (U->worker || U->servant) return NULL;
  if (!U->current && s->owner == U && world_is_there(U, s->world)) return s->world;
  return binding_realm_here(L);
}

service_call *services_new_call(lua_State *L, servant *s, const char *who)
{
  universe *U = binding_universe(L);
  realm *R = world_for(L, s);
  const waitable_kind *kind = R ? &call_kind : &foreign_kind;
  call_object *o = (call_object *)waitables_new(L, kind, sizeof *o, who);
  o->values = LUA_NOREF;
  service_call *c = weft_counted_new(sizeof *c, call_end);
  if (!c) luaL_error(L, "%s: not enough memory", who);
  o->call = c;
  c->object = &o->base;
  c->servant = weft_counted_keep(s);
  c->universe = U;
  c->world = R;
  c->base.ended = services_call_ended;
  c->base.arg = c;
  if (R && R->world) c->poster = weft_world_poster(R->world);
  return c;
}

void services_list_call(universe *U, service_call *c)
{
  weft_counted_keep(c);
  if (!c->poster) return;
  c->listed = true;
  c->next = U->calls;
  if (c->next) c->next->prev = c;
  U->calls = c;
}

static void take_off_list(service_call *c)
{
  if (!c->listed) return;
  if (c->prev)
    c->prev->next = c->next;
  else
    c->universe->calls = c->next;
  if (c->next) c->next->prev = c->prev;
  c->next = c->prev = NULL;
  c->listed = false;
}

void services_unlist_call(service_call *c)
{
  take_off_list(c);
  weft_counted_drop(c);
}

static void tell_waiting(const service_call *c)
{
  if (c->object && c->object->line.event.waiting > 0)
    weft_event_fire(&c->object->line.event, 0);
}

/* Who waits in another world looks for itself from now on. */
void services_set_adrift(service_call *c)
{
  take_off_list(c);
  c->adrift = true;
  tell_waiting(c);
}

void services_arrive(service_call *c)
{
  c->arrived = true;
  tell_waiting(c);
  services_unlist_call(c);
}

/* --- From scripts -------------------------------------------------------------------------- */

static call_object *check_call(lua_State *L, const char *who)
{
  waitable *object = waitables_test(L, 1);
  if (!object || object->kind != &foreign_kind) object = waitables_check(L, 1, &call_kind, who);
  call_object *o = (call_object *)object;
  if (!o->call) binding_misuse(L, "%s: the call was not made", who);
  return o;
}

static int api_is_complete(lua_State *L)
{
  lua_pushboolean(L, has_ended(check_call(L, "call:isComplete")->call));
  return 1;
}

static const char *state_name(const service_call *c)
{
  if (!has_ended(c)) return "running";
  weft_status status = status_of(c);
  return status == WEFT_OK ? "completed" : status == WEFT_CANCELLED ? "cancelled" : "failed";
}

static int api_status(lua_State *L)
{
  lua_pushstring(L, state_name(check_call(L, "call:status")->call));
  return 1;
}

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

static int api_result(lua_State *L)
{
  call_object *o = check_call(L, "call:result");
  return has_ended(o->call) ? call_result(L, &o->base) : refuse(L, "pending");
}

/* On this thread, which does nothing else meanwhile. */
static int api_wait(lua_State *L)
{
  static const char who[] = "call:wait";
  service_call *c = check_call(L, who)->call;
  int64_t timeout = lua_isnoneornil(L, 2) ? -1 : binding_check_seconds(L, 2, who, "timeout");
  (void)jobs_leave(L, NULL, who);
  weft_status status = has_ended(c) ? WEFT_OK : weft_call_wait(&c->base, timeout);
  if (status == WEFT_TIMEOUT) return refuse(L, "timeout");
  if (status) return binding_failed(L, who, status);
  c->arrived = true;
  lua_pushboolean(L, 1);
  return 1;
}

/* True if the service had not received it. */
static int api_cancel(lua_State *L)
{
  service_call *c = check_call(L, "call:cancel")->call;
  bool cancelled = !has_ended(c) && weft_call_cancel(&c->base);
  if (cancelled) c->arrived = true;
  lua_pushboolean(L, cancelled);
  return 1;
}

static int call_tostring(lua_State *L)
{
  const service_call *c = check_call(L, "tostring")->call;
  lua_pushfstring(L, "weft.Call: to %s (%s)", c->servant->name, state_name(c));
  return 1;
}

static const luaL_Reg methods[] = {{"isComplete", api_is_complete}, {"status", api_status},
                                   {"result", api_result},          {"wait", api_wait},
                                   {"cancel", api_cancel},          {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", call_tostring}, {NULL, NULL}};

/* Module table on top. */
void services_open_calls(lua_State *L)
{
  waitables_open_kind(L, &foreign_kind, "weft.Call", methods, metamethods);
  lua_pop(L, 1);
  waitables_open_kind(L, &call_kind, "weft.Call", methods, metamethods);
  lua_setfield(L, -2, "callMethods");
}
