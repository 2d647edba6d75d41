/* SPDX-License-Identifier: MIT */
/*
** signal.c - weft.signal: listeners, which are called by a fire, and routines, which are woken by it.
**
** Listeners stand in the order of connection: who and what in an array of ours, their functions in a
** table beside the userdata. One that is taken away leaves a hole, which is closed when no fire is
** under way, so that places stay what they are while listeners come and go.
*/
#include "lua/waitables.h"

#include <stdio.h>

#define MAX_LISTENERS (UINT32_C(1) << 24)

/* Addresses: the key of the subscriptions' metatable. */
static const char sub_key;

typedef struct listener {
  uint64_t id;      /* ascending */
  weft_owner owner; /* or 0 */
  uint32_t number;  /* of its realm; 0: whoever fires */
  bool on, once;
} listener;

typedef struct signal {
  waitable base;
  listener *listeners;
  uint32_t count, size; /* with those that are off */
  uint32_t on;
  uint32_t firing;
  uint64_t last_id;
} signal;

/* Who calls listeners just now, how far it has come, and what it has to put back. */
typedef struct fire {
  signal *signal;
  struct fire *outer;
  uint32_t depth;
  uint32_t at, end;
  realm *realm; /* of the listener that is called; NULL outside of all */
  realm *current;
  int callbacks; /* of the fire; more while a listener of a world runs */
} fire;

/* A parcel that one alone is to have. */
#define TURN (UINT64_C(1) << 32)

/* Upvalues of `fire`, after the universe. */
enum { UP_CALL_ALL = 2, UP_HANDLER, UP_REPORT };

static signal *check(lua_State *L, int index, const char *who)
{
  return (signal *)waitables_check(L, index, &signal_kind, who);
}

static signal *check_open(lua_State *L, int index, const char *who)
{
  signal *s = check(L, index, who);
  if (s->base.closed) binding_misuse(L, "%s: the signal is destroyed", who);
  return s;
}

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
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
  const signal *s = check_open(L, 1, who);
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

/* --- Calling listeners --------------------------------------------------------------------- */

/* table of functions at `functions` */
static void turn_off(lua_State *L, signal *s, uint32_t i, int functions)
{
  s->listeners[i].on = false;
  s->on--;
  lua_pushboolean(L, 0);
  lua_rawseti(L, functions, (int)i + 1);
}

/* The world that a listener is called in. False if it is not there any more, and its owner with it. */
static bool find_realm(lua_State *L, const listener *it, realm *current, realm **out)
{
  *out = current;
  if (!it->number) return true;
  realm *R =
      current && current->number == it->number ? current : owner_find_realm(L, it->number);
  if (R) *out = R;
  return !it->owner || (R && weft_owner_alive(R->world, it->owner));
}

/* A world that does not tick, and that nobody else may hold, is kept while its listener runs and its
   error is told of. */
static void keep_world(lua_State *L, const universe *U, const fire *f)
{
  if (f->realm == f->current) return;
  world_push(L, f->realm);
  lua_xmove(L, U->parcels.store, 1);
  lua_replace(U->parcels.store, PARCELS_WORLDS + (int)f->depth);
}

static void let_worlds_go(const universe *U, const fire *f)
{
  lua_pushnil(U->parcels.store);
  lua_replace(U->parcels.store, PARCELS_WORLDS + (int)f->depth);
}

/* -> its function; or false and nothing. In its world it runs as a callback, outside any routine. */
static bool begin_listener(lua_State *L, universe *U, fire *f, uint32_t i)
{
  signal *s = f->signal;
  if (!s->listeners[i].on) return false;
  bool there = find_realm(L, &s->listeners[i], f->current, &f->realm);
  if (there) lua_rawgeti(L, 1, (int)i + 1);
  if (!there || s->listeners[i].once) turn_off(L, s, i, 1);
  if (there && f->realm) {
    keep_world(L, U, f);
    U->current = f->realm;
    U->callbacks++;
  }
  return there;
}

static void end_listener(universe *U, const fire *f)
{
  U->current = f->current;
  U->callbacks = f->callbacks;
}

/* signal, values -> ; from where the fire stands to its end, or to one that fails */
static int call_all(lua_State *L)
{
  universe *U = binding_universe(L);
  fire *f = U->fire;
  int nargs = lua_gettop(L) - 1;
  luaL_checkstack(L, nargs + LUA_MINSTACK, "values");
  compat_get_value(L, 1);
  lua_replace(L, 1);
  while (f->at < f->end) {
    if (!begin_listener(L, U, f, f->at++)) continue;
    for (int i = 0; i < nargs; i++) lua_pushvalue(L, i + 2);
    lua_call(L, nargs, 0);
    end_listener(U, f);
  }
  return 0;
}

static int push_trace(lua_State *L)
{
  luaL_traceback(L, L, NULL, 2);
  return 1;
}

/* error -> error, its trace kept aside; outside of all worlds in a place of its own */
static int keep_trace(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (U->current) return report_traceback(L);
  lua_pushcfunction(L, push_trace);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  lua_xmove(L, U->parcels.store, 1);
  lua_replace(U->parcels.store, PARCELS_TRACE);
  return 1;
}

/* error -> ; as the world of the listener reports, else the default one */
static int report_error(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (U->fire->realm) {
    report_callback(U->fire->realm, L);
    return 0;
  }
  realm *R = binding_realm_here(L);
  lua_pushnil(L);
  lua_insert(L, 1);
  lua_pushvalue(U->parcels.store, PARCELS_TRACE);
  lua_xmove(U->parcels.store, L, 1);
  lua_pushnil(U->parcels.store);
  lua_replace(U->parcels.store, PARCELS_TRACE);
  if (lua_touserdata(L, 2) == U->cancelled) return 0;
  return report_push_on(L, R);
}

/* error -> */
static void report_listener(lua_State *L)
{
  lua_pushvalue(L, lua_upvalueindex(UP_REPORT));
  lua_insert(L, -2);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return;
  fprintf(stderr, "weft: a listener failed, and there was no memory to say how\n");
  lua_pop(L, 1);
}

/* --- Places -------------------------------------------------------------------------------- */

/* Closes the holes, with those whose owners are gone. Only while nobody fires. */
static void close_holes(lua_State *L, signal *s)
{
  uint32_t kept = 0, count = s->count;
  realm *R;
  compat_get_value(L, 1);
  int functions = lua_gettop(L);
  for (uint32_t i = 0; i < count; i++) {
    const listener *it = &s->listeners[i];
    if (it->on && !find_realm(L, it, NULL, &R)) turn_off(L, s, i, functions);
    if (!it->on) continue;
    s->listeners[kept] = *it;
    lua_rawgeti(L, functions, (int)i + 1);
    lua_rawseti(L, functions, (int)++kept);
  }
  for (uint32_t i = count; i > kept; i--) {
    lua_pushnil(L);
    lua_rawseti(L, functions, (int)i);
  }
  s->count = kept;
  lua_pop(L, 1);
}

/* Room for one more: false at the most there may be; without memory it raises. Nothing has changed
   then. */
static bool make_room(lua_State *L, signal *s)
{
  if (s->count < s->size) return true;
  if (s->firing == 0) close_holes(L, s);
  if (s->count < s->size - s->size / 2) return true;
  if (s->size >= MAX_LISTENERS) return false;
  uint32_t size = s->size > 0 ? s->size * 2 : 4;
  listener *listeners =
      binding_alloc(L, s->listeners, s->size * sizeof *listeners, size * sizeof *listeners);
  if (!listeners) luaL_error(L, "not enough memory");
  s->listeners = listeners;
  s->size = size;
  return true;
}

/* --- Firing -------------------------------------------------------------------------------- */

/* Their values are put together once, and all of them share it. */
static void tell_waiters(lua_State *L, signal *s)
{
  universe *U = s->base.universe;
  int count = lua_gettop(L) - 1;
  if (!s->base.line.event.first) return;
  parcels_reserve(L, U, (uint32_t)count);
  uint32_t parcel = parcels_put(U, L, 2, count);
  parcels_share(U, parcel, weft_event_fire(&s->base.line.event, parcel));
  parcels_drop(U, parcel);
}

/* In a world all of it is a callback, what stands between two listeners too: a debug hook that waited
   there could let another fire begin, and end this one before that. */
static void call_listeners(lua_State *L, universe *U, signal *s)
{
  int top = lua_gettop(L), callbacks = U->callbacks;
  fire f = {.signal = s,
            .outer = U->fire,
            .depth = U->fire ? U->fire->depth + 1 : 1,
            .end = s->count,
            .current = U->current,
            .callbacks = U->current ? callbacks + 1 : callbacks};
  if (f.depth > MAX_FIRES)
    binding_misuse(L,
                   "signal:fire: depth: %d fires inside one another are the limit; does a "
                   "listener fire its own signal?",
                   MAX_FIRES);
  luaL_checkstack(L, top + LUA_MINSTACK, "values");
  U->fire = &f;
  U->callbacks = f.callbacks;
  s->firing++;
  while (f.at < f.end) {
    uint32_t before = f.at;
    lua_pushvalue(L, lua_upvalueindex(UP_HANDLER));
    lua_pushvalue(L, lua_upvalueindex(UP_CALL_ALL));
    for (int i = 1; i <= top; i++) lua_pushvalue(L, i);
    if (lua_pcall(L, top, 0, top + 1) != LUA_OK) report_listener(L);
    if (f.at == before) f.at++; /* not even begun: a debug hook raised, or there is no room */
    end_listener(U, &f);
    lua_settop(L, top);
  }
  let_worlds_go(U, &f);
  U->fire = f.outer;
  U->callbacks = callbacks;
  s->firing--;
}

static int api_fire(lua_State *L)
{
  signal *s = check_open(L, 1, "signal:fire");
  tell_waiters(L, s);
  if (s->on == 0) return 0;
  call_listeners(L, s->base.universe, s);
  if (s->firing == 0 && s->on < s->count / 2) close_holes(L, s);
  return 0;
}

/* Whether anybody waited. */
static int api_fire_one(lua_State *L)
{
  signal *s = check_open(L, 1, "signal:fireOne");
  universe *U = s->base.universe;
  int count = lua_gettop(L) - 1;
  bool waited = s->base.line.event.first != NULL;
  if (waited) {
    parcels_reserve(L, U, (uint32_t)count);
    weft_event_fire_one(&s->base.line.event, TURN | parcels_put(U, L, 2, count));
  }
  lua_pushboolean(L, waited);
  return 1;
}

/* --- Connecting ---------------------------------------------------------------------------- */

static void push_sub_meta(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&sub_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* Signal and function stand at 1 and 2. -> subscription, still of nothing; what it may run changes
   everything else */
static uint64_t *push_new_sub(lua_State *L)
{
  uint64_t *id = compat_new_object(L, sizeof *id);
  *id = 0;
  push_sub_meta(L);
  lua_setmetatable(L, -2);
  compat_get_value(L, 1);
  compat_set_value(L, -2);
  return id;
}

/* signal, function -> subscription */
static int connect(lua_State *L, const listener *draft, const char *who)
{
  check_open(L, 1, who);
  if (!lua_isfunction(L, 2))
    return binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, 2));
  lua_settop(L, 2);
  uint64_t *id = push_new_sub(L);
  signal *s = check_open(L, 1, who);
  if (draft->owner &&
      !weft_owner_alive(owner_realm(L, draft->number, who)->world, draft->owner))
    return refuse(L, "destroyed");
  if (!make_room(L, s)) return refuse(L, "full");
  compat_get_value(L, 1);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, (int)s->count + 1);
  lua_pop(L, 1);
  listener *it = &s->listeners[s->count++];
  *it = *draft;
  it->id = *id = ++s->last_id;
  it->on = true;
  s->on++;
  return 1;
}

static int connect_here(lua_State *L, bool once, const char *who)
{
  const universe *U = binding_universe(L);
  listener draft = {.number = U->current ? U->current->number : 0, .once = once};
  return connect(L, &draft, who);
}

static int api_connect(lua_State *L)
{
  return connect_here(L, false, "signal:connect");
}

static int api_once(lua_State *L)
{
  return connect_here(L, true, "signal:once");
}

int signal_connect_in(lua_State *L, const realm *R, const char *who)
{
  listener draft = {.number = R->number};
  return connect(L, &draft, who);
}

static int connect_owned(lua_State *L, bool once, const char *who)
{
  listener draft = {.once = once};
  draft.owner = owner_check(L, 1, who, &draft.number);
  owner_realm(L, draft.number, who);
  lua_remove(L, 1);
  return connect(L, &draft, who);
}

int signal_connect_owned(lua_State *L)
{
  return connect_owned(L, false, "owner:connect");
}

int signal_once_owned(lua_State *L)
{
  return connect_owned(L, true, "owner:once");
}

/* Where a listener stands: `count` for nowhere. */
static uint32_t find_listener(const signal *s, uint64_t id)
{
  uint32_t from = 0, to = s->count;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (s->listeners[middle].id < id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < s->count && s->listeners[from].id == id ? from : s->count;
}

/* True if it was on. */
static int sub_off(lua_State *L)
{
  const uint64_t *id = lua_touserdata(L, 1);
  lua_settop(L, 1);
  push_sub_meta(L);
  if (!id || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, -2))
    binding_misuse(L, "sub:off: a subscription expected, got %s", binding_got(L, 1));
  lua_settop(L, 1);
  compat_get_value(L, 1);
  lua_rawgeti(L, 2, 0);
  signal *s = (signal *)waitables_test(L, 3);
  uint32_t i = s ? find_listener(s, *id) : 0;
  bool was_on = s && i < s->count && s->listeners[i].on;
  if (was_on) turn_off(L, s, i, 2);
  lua_pushboolean(L, was_on);
  return 1;
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
    if (s->listeners[i].on) turn_off(L, s, i, 2);
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

static const luaL_Reg methods[] = {{"connect", api_connect},
                                   {"once", api_once},
                                   {"wait", api_wait},
                                   {"fireOne", api_fire_one},
                                   {"waiting", api_waiting},
                                   {"destroy", api_destroy},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", signal_tostring}, {NULL, NULL}};
static const luaL_Reg sub_methods[] = {{"off", sub_off}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"signal", api_new}, {NULL, NULL}};
static const luaL_Reg routine_functions[] = {{"waitFor", api_wait_for}, {NULL, NULL}};

/* -> fire, with the functions that it calls protected */
static void push_fire(lua_State *L)
{
  static const lua_CFunction parts[] = {call_all, keep_trace, report_error};
  binding_push_universe(L);
  for (int i = 0; i < 3; i++) {
    binding_push_universe(L);
    lua_pushcclosure(L, parts[i], 1);
  }
  lua_pushcclosure(L, api_fire, 4);
}

static void open_subscriptions(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&sub_key);
  lua_createtable(L, 0, 2);
  lua_newtable(L);
  binding_functions(L, sub_methods);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "weft.Subscription");
  lua_setfield(L, -2, "__name");
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Module table on top, with its table of routines. */
void signal_open(lua_State *L)
{
  open_subscriptions(L);
  binding_functions(L, functions);
  lua_getfield(L, -1, "routine");
  binding_functions(L, routine_functions);
  lua_pop(L, 1);
  waitables_open_kind(L, &signal_kind, "weft.Signal", methods, metamethods);
  push_fire(L);
  lua_setfield(L, -2, "fire");
  lua_setfield(L, -2, "signalMethods");
}
