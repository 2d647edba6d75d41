/* SPDX-License-Identifier: MIT */
/*
** signal_listeners.c - the listeners of a signal: how they come and go.
**
** They stand in the order of connection: who and what in an array of ours, their functions in a table
** beside the userdata. One that is taken away leaves a hole, which is closed when no fire is under
** way, so that places stay what they are while listeners come and go.
*/
#include "lua/signal.h"

#define MAX_LISTENERS (UINT32_C(1) << 24)

/* Its address is the key of the subscriptions' metatable. */
static const char sub_key;

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* --- Places -------------------------------------------------------------------------------- */

/* table of functions at `functions` */
void signal_turn_off(lua_State *L, signal *s, uint32_t i, int functions)
{
  s->listeners[i].on = false;
  s->on--;
  lua_pushboolean(L, 0);
  lua_rawseti(L, functions, (int)i + 1);
}

/* The world that a listener is called in. False if it is not there any more, and its owner with it. */
bool signal_find_realm(lua_State *L, const listener *it, realm *current, realm **out)
{
  *out = current;
  if (!it->number) return true;
  realm *R =
      current && current->number == it->number ? current : owner_find_realm(L, it->number);
  if (R) *out = R;
  return !it->owner || (R && weft_owner_alive(R->world, it->owner));
}

/* Closes the holes, with those whose owners are gone. Only while nobody fires. */
void signal_close_holes(lua_State *L, signal *s)
{
  uint32_t kept = 0, count = s->count;
  realm *R;
  compat_get_value(L, 1);
  int functions = lua_gettop(L);
  for (uint32_t i = 0; i < count; i++) {
    const listener *it = &s->listeners[i];
    if (it->on && !signal_find_realm(L, it, NULL, &R)) signal_turn_off(L, s, i, functions);
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
  if (s->firing == 0) signal_close_holes(L, s);
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
  signal_check_open(L, 1, who);
  if (!lua_isfunction(L, 2))
    return binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, 2));
  lua_settop(L, 2);
  uint64_t *id = push_new_sub(L);
  signal *s = signal_check_open(L, 1, who);
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
  const uint64_t *id = binding_check_sub(L, &sub_key);
  compat_get_value(L, 1);
  lua_rawgeti(L, 2, 0);
  signal *s = (signal *)waitables_test(L, 3);
  uint32_t i = s ? find_listener(s, *id) : 0;
  bool was_on = s && i < s->count && s->listeners[i].on;
  if (was_on) signal_turn_off(L, s, i, 2);
  lua_pushboolean(L, was_on);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {{"connect", api_connect}, {"once", api_once}, {NULL, NULL}};
static const luaL_Reg sub_methods[] = {{"off", sub_off}, {NULL, NULL}};

void signal_open_subscriptions(lua_State *L)
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

/* methods -> methods */
void signal_push_connects(lua_State *L)
{
  binding_functions(L, methods);
}
