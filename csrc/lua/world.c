/* SPDX-License-Identifier: MIT */
/*
** world.c - weft.World: finding, ticking and asking worlds from Lua. life.c has their beginnings and
** ends.
*/
#include <math.h>
#include <string.h>

#include "lua/services.h"

/* Addresses are keys in the registry. */
static const char meta_key, methods_key, worlds_key;

/* --- Finding worlds ------------------------------------------------------------------------ */

realm *world_check_open(lua_State *L, int index, const char *who)
{
  realm *R = world_check(L, index, who);
  if (!R->world) binding_misuse(L, "%s: world is closed", who);
  return R;
}

/* Living realms are few, and each userdata holds its realm's address. The address of the userdata
   alone would not do: Lua may lose the finalizer of a world and use the memory again. */
realm *world_check(lua_State *L, int index, const char *who)
{
  const universe *U = binding_universe(L);
  realm *const *object = lua_touserdata(L, index);
  for (realm *R = U->realms; R && object; R = R->next)
    if (R->object == object && *object == R) return R;
  binding_misuse(L, "%s: a world expected, got %s; call it as world:method(...)", who,
                 binding_got(L, index));
  return NULL;
}

/* The userdata by number, weakly. */
void world_push_all(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&worlds_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

bool world_is_there(const universe *U, const realm *R)
{
  const realm *known = U->realms;
  while (known && known != R) known = known->next;
  return known && R->world;
}

bool world_is_open(const universe *U, const realm *R)
{
  return world_is_there(U, R) && !R->closing;
}

void world_push(lua_State *L, const realm *R)
{
  world_push_all(L);
  lua_rawgeti(L, -1, (int)R->number);
  lua_remove(L, -2);
}

bool world_reachable(lua_State *L, const realm *R)
{
  world_push(L, R);
  bool reachable = !lua_isnil(L, -1);
  lua_pop(L, 1);
  return reachable;
}

/* --- Ticking ------------------------------------------------------------------------------- */

/* Nothing of this state's worlds runs or is being closed. */
void world_check_idle(lua_State *L, const realm *R, const char *who)
{
  if (weft_world_ticking() || R->universe->current)
    binding_misuse(L, "%s: not allowed inside a tick", who);
}

static int api_tick(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:tick");
  universe *U = R->universe;
  uint64_t resumed = 0;
  if (lua_type(L, 2) != LUA_TNUMBER)
    return binding_misuse(L, "world:tick: dt must be a number, got %s", binding_got(L, 2));
  double dt = lua_tonumber(L, 2);
  if (!(dt >= 0) || isinf(dt))
    return binding_misuse(L, "world:tick: dt must be finite and >= 0, got %s",
                          binding_got(L, 2));
  world_check_idle(L, R, "world:tick");
  if (binding_in_finalizer(L, R))
    return binding_misuse(L, "world:tick: not allowed in a finalizer (__gc)");
  if (overruns_hooks_in_use(L)) U->hooked = true;
  U->current = R;
  R->ticking = L;
  weft_status status = weft_world_tick(R->world, dt, &resumed);
  routine_look_around(R);
  R->ticking = NULL;
  U->current = NULL;
  if (status == WEFT_INVALID)
    return binding_misuse(
        L, "world:tick: dt must be at most 9e9 and not run over the clock, got %s",
        binding_got(L, 2));
  if (status) return binding_failed(L, "world:tick", status);
  lua_pushinteger(L, (lua_Integer)resumed);
  return 1;
}

/* --- Methods ------------------------------------------------------------------------------- */

static int api_start(lua_State *L)
{
  realm *R = world_check(L, 1, "world:start");
  if (!R->world && !R->closing) return binding_misuse(L, "world:start: world is closed");
  return routine_start(L, R, 2, "world:start");
}

static int api_pause(lua_State *L)
{
  weft_world_pause(world_check_open(L, 1, "world:pause")->world);
  return 0;
}

static int api_resume(lua_State *L)
{
  weft_world_resume(world_check_open(L, 1, "world:resume")->world);
  return 0;
}

static int api_is_paused(lua_State *L)
{
  lua_pushboolean(L, weft_world_is_paused(world_check_open(L, 1, "world:isPaused")->world));
  return 1;
}

static int api_set_time_scale(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:setTimeScale");
  double scale = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : NAN;
  if (weft_world_set_time_scale(R->world, scale) != WEFT_OK)
    return binding_misuse(L, "world:setTimeScale: scale must be finite and >= 0, got %s",
                          binding_got(L, 2));
  return 0;
}

static void set_count(lua_State *L, const char *name, uint64_t value)
{
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

static int api_stats(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:stats");
  weft_world_stats s;
  weft_world_stats_get(R->world, &s);
  lua_createtable(L, 0, 20);
  set_count(L, "active", s.active);
  set_count(L, "sleeping", s.sleeping);
  set_count(L, "ready", s.ready);
  set_count(L, "pinned", s.pinned);
  set_count(L, "resumed", s.resumed);
  set_count(L, "capacity", s.capacity);
  set_count(L, "stackBytes", s.stack_bytes);
  set_count(L, "stacks", s.stacks);
  set_count(L, "started", s.started);
  set_count(L, "completed", s.completed);
  set_count(L, "cancelled", s.cancelled);
  set_count(L, "failed", s.failed);
  set_count(L, "rejected", s.rejected);
  set_count(L, "posts", s.posts);
  set_count(L, "slow", s.slow);
  set_count(L, "dropped", R->messages.dropped);
  set_count(L, "timers", s.timers);
  set_count(L, "fixedSteps", s.fixed_steps);
  set_count(L, "droppedSteps", s.dropped_steps);
  return 1;
}

/* --- Properties ---------------------------------------------------------------------------- */

static double time_of(const realm *R, int which)
{
  if (!R->world) return R->last_times[which];
  switch (which) {
  case 0:
    return (double)weft_world_sim_time(R->world) / 1e9;
  case 1:
    return (double)weft_world_real_time(R->world) / 1e9;
  default:
    return (double)weft_world_tick_count(R->world);
  }
}

static const char *const time_names[] = {"simTime", "realTime", "tickCount"};

/* Where the store keeps a function that scripts set; 0 for none of that name. */
static int place_of(const char *name)
{
  if (strcmp(name, "onError") == 0) return STORE_ON_ERROR;
  return strcmp(name, "onSlow") == 0 ? STORE_ON_SLOW : 0;
}

static realm *by_number(const universe *U, uint32_t number)
{
  realm *R = U->realms;
  while (R && R->number != number) R = R->next;
  return R;
}

/* What a world's table of methods does not hold: a method that came later, or a property. */
static int world_index(lua_State *L)
{
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  realm *R = by_number(binding_universe(L), (uint32_t)lua_tointeger(L, lua_upvalueindex(3)));
  if (!lua_isnil(L, -1) || lua_type(L, 2) != LUA_TSTRING || !R) return 1;
  const char *name = lua_tostring(L, 2);
  for (int i = 0; i < 3; i++) {
    if (strcmp(name, time_names[i]) != 0) continue;
    if (i < 2)
      lua_pushnumber(L, time_of(R, i));
    else
      lua_pushinteger(L, (lua_Integer)time_of(R, i));
    return 1;
  }
  int place = place_of(name);
  if (place && R->world) {
    lua_pushvalue(R->store, place);
    lua_xmove(R->store, L, 1);
  }
  return 1;
}

/* table -> table, with the fields of the table below it */
static void copy_fields(lua_State *L)
{
  lua_pushnil(L);
  while (lua_next(L, -3)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

/* Each world has a metatable of its own: a method is found in a plain table, which is what scripts
   ask for most, and only what is not there asks a function, which so knows the world. */
void world_push_meta(lua_State *L, uint32_t number)
{
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  int template = lua_gettop(L);
  lua_pushvalue(L, template);
  lua_createtable(L, 0, 8);
  copy_fields(L); /* the metatable */
  lua_remove(L, -2);
  lua_pushlightuserdata(L, (void *)&methods_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  int methods = lua_gettop(L);
  lua_createtable(L, 0, 16);
  copy_fields(L); /* its index */
  lua_createtable(L, 0, 1);
  binding_push_universe(L);
  lua_pushvalue(L, methods);
  lua_pushinteger(L, (lua_Integer)number);
  lua_pushcclosure(L, world_index, 3);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_remove(L, methods);
  lua_setfield(L, -2, "__index");
  lua_remove(L, template);
}

static int world_newindex(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world");
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
  int place = place_of(name);
  if (!place) return binding_misuse(L, "world.%s cannot be set; onError and onSlow can", name);
  if (!lua_isnil(L, 3) && !lua_isfunction(L, 3))
    return binding_misuse(L, "world.%s: a function or nil expected, got %s", name,
                          binding_got(L, 3));
  lua_settop(L, 3);
  lua_xmove(L, R->store, 1);
  lua_replace(R->store, place);
  return 0;
}

static int world_tostring(lua_State *L)
{
  const realm *R = world_check(L, 1, "tostring");
  lua_pushfstring(L, "weft.World: %p%s", R->object, R->world ? "" : " (closed)");
  return 1;
}

/* Routines alive; for loops that ask each tick. */
static int api_active(lua_State *L)
{
  lua_pushinteger(L, weft_world_active(world_check_open(L, 1, "world:run")->world));
  return 1;
}

/* The same of all worlds that are open; for specs, which leave none. */
static int api_all_active(lua_State *L)
{
  lua_Integer alive = 0;
  for (const realm *R = binding_universe(L)->realms; R; R = R->next)
    if (R->world) alive += weft_world_active(R->world);
  lua_pushinteger(L, alive);
  return 1;
}

/* Why a tick would be refused now, or nil; for loops that ask before they begin. */
static int api_refusal(lua_State *L)
{
  realm *R = world_check(L, 1, "world:run");
  if (!R->world)
    lua_pushliteral(L, "world is closed");
  else if (weft_world_ticking() || R->universe->current)
    lua_pushliteral(L, "not allowed inside a tick");
  else if (binding_in_finalizer(L, R))
    lua_pushliteral(L, "not allowed in a finalizer (__gc)");
  else
    lua_pushnil(L);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg starters[] = {{"start", api_start}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"tick", api_tick},
                                   {"on", systems_on},
                                   {"post", systems_post},
                                   {"owner", owner_new},
                                   {"send", messages_send},
                                   {"broadcast", messages_broadcast},
                                   {"pause", api_pause},
                                   {"resume", api_resume},
                                   {"isPaused", api_is_paused},
                                   {"setTimeScale", api_set_time_scale},
                                   {"configure", life_configure},
                                   {"stats", api_stats},
                                   {"inspect", inspect_list},
                                   {"onPost", services_on_post},
                                   {"setState", services_set_state},
                                   {"state", services_state},
                                   {"unload", life_unload},
                                   {"close", life_close},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__gc", life_gc},
                                       {"__newindex", world_newindex},
                                       {"__tostring", world_tostring},
                                       {NULL, NULL}};
static const luaL_Reg functions[] = {{"world", life_new},      {"default", life_default},
                                     {"here", life_here},      {"refusal", api_refusal},
                                     {"active", api_active},   {"allActive", api_all_active},
                                     {"report", report_print}, {NULL, NULL}};

/* Module table on top. */
void world_open(lua_State *L)
{
  binding_functions(L, functions);
  lua_createtable(L, 0, 8);
  binding_functions(L, metamethods);
  lua_pushliteral(L, "weft.World");
  lua_setfield(L, -2, "__name");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  binding_functions(L, methods);
  binding_starters(L, starters);
  lua_pushlightuserdata(L, (void *)&methods_key);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_setfield(L, -2, "worldMethods");
  lua_pushlightuserdata(L, (void *)&worlds_key);
  binding_push_weak(L, 1, "v");
  lua_rawset(L, LUA_REGISTRYINDEX);
  systems_open(L);
  messages_open(L);
}
