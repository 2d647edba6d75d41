/* SPDX-License-Identifier: MIT */
/*
** world.c - weft.World: making, ticking, configuring and closing worlds from Lua.
*/
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* Addresses are keys in the registry. */
static const char meta_key, fallback_key, worlds_key;

#define CLOSE_PASSES 8

/* --- Finding worlds ------------------------------------------------------------------------ */

static realm *check_open(lua_State *L, int index, const char *who)
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
static void push_worlds(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&worlds_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

bool world_is_open(const universe *U, const realm *R)
{
  const realm *known = U->realms;
  while (known && known != R) known = known->next;
  return known && R->world && !R->closing;
}

void world_push(lua_State *L, const realm *R)
{
  push_worlds(L);
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

/* --- Making -------------------------------------------------------------------------------- */

static void push_weak(lua_State *L, int size, const char *mode)
{
  lua_createtable(L, size, 0);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* value -> ; onto the store. Values are made on `L`, where an error is caught, and moved. */
static void to_store(lua_State *L, lua_State *store)
{
  lua_xmove(L, store, 1);
}

/* -> store; its slots are filled for worlds of `capacity` routines */
static lua_State *push_store(lua_State *L, universe *U, uint32_t capacity)
{
  lua_State *store = lua_newthread(L);
  luaL_checkstack(store, STORE_TOP + LUA_MINSTACK, NULL);
  lua_createtable(L, (int)capacity, 0); /* cells: one a routine is what most worlds need */
  to_store(L, store);
  push_weak(L, (int)capacity, "v");
  to_store(L, store);
  lua_createtable(L, 3, 0);
  for (int phase = 1; phase <= 3; phase++) {
    lua_newtable(L);
    lua_rawseti(L, -2, phase);
  }
  to_store(L, store);
  lua_pushnil(store); /* onError */
  lua_pushnil(store); /* trace */
  lua_pushnil(store); /* traced */
  lua_pushlightuserdata(L, &U->handle_meta);
  lua_rawget(L, LUA_REGISTRYINDEX); /* the parts */
  for (int part = STORE_HANDLE_META; part < STORE_DONOR; part++) {
    lua_rawgeti(L, -1, part);
    to_store(L, store);
  }
  lua_pop(L, 1);
  lua_pushnil(store); /* donor */
  return store;
}

/* donor or nil -> */
static void set_donor(lua_State *L, realm *R, lua_State *donor)
{
  R->donor = donor;
  to_store(L, R->store);
  lua_replace(R->store, STORE_DONOR);
}

static int failed_to(lua_State *L, const char *who, weft_status status)
{
  return binding_misuse(L, "%s: %s", who, weft_status_text(status));
}

static weft_status make_parts(lua_State *L, realm *R)
{
  if (!values_init(L, &R->values, R->config.capacity + 64)) return WEFT_NOMEM;
  if (!threads_init(L, &R->threads, R->config.capacity + 1)) return WEFT_NOMEM;
  return weft_world_new(&R->config, &R->world);
}

static void free_parts(lua_State *L, realm *R)
{
  values_fini(L, &R->values);
  threads_fini(L, &R->threads);
}

/* -> userdata, a world that is closed as yet */
static realm *new_realm(lua_State *L, const realm *draft)
{
  universe *U = draft->universe;
  realm **object = lua_newuserdata(L, sizeof(realm *));
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  realm *R = binding_alloc(L, NULL, 0, sizeof *R);
  if (!R) failed_to(L, "weft.world", WEFT_NOMEM);
  *R = *draft;
  R->config.hooks.host = R;
  R->object = object;
  *object = R;
  R->number = R->serial = ++U->next_serial;
  R->next = U->realms;
  U->realms = R;
  lua_setmetatable(L, -2);
  push_worlds(L);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, (int)R->number);
  lua_pop(L, 1);
  return R;
}

static int api_new(lua_State *L)
{
  universe *U = binding_universe(L);
  lua_settop(L, 1);
  if (U->closed) return binding_misuse(L, "weft.world: the Lua state is closing");
  realm draft = {.universe = U, .config = config_default(NULL)};
  config_read(L, 1, "weft.world", &draft.config, &draft.fixed_step);
  realm *R = new_realm(L, &draft);
  lua_createtable(L, 1, 0);
  R->store = push_store(L, U, R->config.capacity);
  lua_rawseti(L, 3, 1);
  compat_set_value(L, 2);
  set_donor(L, R, threads_push_donor(L, R->config.stack_bytes));
  weft_status status = make_parts(L, R);
  if (status) {
    free_parts(L, R);
    return failed_to(L, "weft.world", status);
  }
  lua_settop(L, 2);
  return 1;
}

realm *world_fallback(lua_State *L)
{
  universe *U = binding_universe(L);
  if (U->fallback && U->fallback->world) return U->fallback;
  binding_push_universe(L);
  lua_pushcclosure(L, api_new, 1);
  lua_call(L, 0, 1);
  U->fallback = world_check(L, -1, "weft.default");
  lua_pushlightuserdata(L, (void *)&fallback_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return U->fallback;
}

static int api_default(lua_State *L)
{
  world_push(L, world_fallback(L));
  return 1;
}

/* The calling world, else the default one. */
static int api_here(lua_State *L)
{
  world_push(L, binding_realm_here(L));
  return 1;
}

/* --- Ticking ------------------------------------------------------------------------------- */

/* Nothing of this state's worlds runs or is being closed. */
static void check_idle(lua_State *L, const realm *R, const char *who)
{
  if (weft_world_ticking() || R->universe->current)
    binding_misuse(L, "%s: not allowed inside a tick", who);
}

static int api_tick(lua_State *L)
{
  realm *R = check_open(L, 1, "world:tick");
  universe *U = R->universe;
  uint64_t resumed = 0;
  if (lua_type(L, 2) != LUA_TNUMBER)
    return binding_misuse(L, "world:tick: dt must be a number, got %s", binding_got(L, 2));
  double dt = lua_tonumber(L, 2);
  if (!(dt >= 0) || isinf(dt))
    return binding_misuse(L, "world:tick: dt must be finite and >= 0, got %s",
                          binding_got(L, 2));
  check_idle(L, R, "world:tick");
  if (compat_hooks_in_use(L)) U->hooked = true;
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
  if (status) return failed_to(L, "world:tick", status);
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
  weft_world_pause(check_open(L, 1, "world:pause")->world);
  return 0;
}

static int api_resume(lua_State *L)
{
  weft_world_resume(check_open(L, 1, "world:resume")->world);
  return 0;
}

static int api_is_paused(lua_State *L)
{
  lua_pushboolean(L, weft_world_is_paused(check_open(L, 1, "world:isPaused")->world));
  return 1;
}

static int api_set_time_scale(lua_State *L)
{
  realm *R = check_open(L, 1, "world:setTimeScale");
  double scale = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : NAN;
  if (weft_world_set_time_scale(R->world, scale) != WEFT_OK)
    return binding_misuse(L, "world:setTimeScale: scale must be finite and >= 0, got %s",
                          binding_got(L, 2));
  return 0;
}

/* Gives up the coroutines that were kept for routines to come. */
static void drop_idle_threads(lua_State *L, realm *R)
{
  for (uint32_t i = 0; i < R->threads.count; i++) values_drop(R, R->threads.idle[i].cell);
  threads_fini(L, &R->threads);
}

static int api_configure(lua_State *L)
{
  realm *R = check_open(L, 1, "world:configure");
  double fixed_step = R->fixed_step;
  weft_world_config config = R->config;
  threads fresh;
  if (!lua_istable(L, 2))
    return binding_misuse(L, "world:configure: a table of options expected, got %s",
                          binding_got(L, 2));
  check_idle(L, R, "world:configure");
  config_read(L, 2, "world:configure", &config, &fixed_step);
  /* What may throw, or run finalizers, comes first, so that nothing is half done. */
  push_weak(L, (int)config.capacity, "v");
  lua_State *donor = threads_push_donor(L, config.stack_bytes);
  check_idle(L, check_open(L, 1, "world:configure"), "world:configure");
  if (!threads_init(L, &fresh, config.capacity + 1))
    return failed_to(L, "world:configure", WEFT_NOMEM);
  handle_keep_states(R);
  weft_status status = weft_world_configure(R->world, &config);
  if (status) {
    threads_fini(L, &fresh);
    return failed_to(L, "world:configure", status);
  }
  drop_idle_threads(L, R);
  R->threads = fresh;
  R->config = config;
  R->fixed_step = fixed_step;
  R->serial = ++R->universe->next_serial;
  set_donor(L, R, donor);
  to_store(L, R->store);
  lua_replace(R->store, STORE_HANDLES);
  return 0;
}

static void set_count(lua_State *L, const char *name, uint64_t value)
{
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

static int api_stats(lua_State *L)
{
  realm *R = check_open(L, 1, "world:stats");
  weft_world_stats s;
  weft_world_stats_get(R->world, &s);
  lua_createtable(L, 0, 16);
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
  set_count(L, "timers", 0); /* there are none yet */
  return 1;
}

/* --- Closing ------------------------------------------------------------------------------- */

static int report_left(lua_State *L, void *context)
{
  realm *R = context;
  uint32_t cursor = 0;
  weft_routine *routine;
  while ((routine = weft_routine_each(R->world, &cursor)) != NULL) {
    const record *rec = weft_routine_record(routine);
    handle_of(L, R, routine);
    lua_pushliteral(
        L, "still waits under C frames at world:close, after its last pass: dropped as "
           "it stands, its cleanups do not run");
    if (rec->thread)
      luaL_traceback(L, rec->thread, NULL, 0);
    else
      lua_pushnil(L);
    report_push_on(L, R);
  }
  return 0;
}

static void remember_times(realm *R)
{
  R->last_times[0] = (double)weft_world_sim_time(R->world) / 1e9;
  R->last_times[1] = (double)weft_world_real_time(R->world) / 1e9;
  R->last_times[2] = (double)weft_world_tick_count(R->world);
}

static void free_world(lua_State *L, realm *R)
{
  remember_times(R);
  handle_keep_states(R);
  weft_world_delete(R->world);
  R->world = NULL;
  free_parts(L, R);
  lua_settop(R->store, 0);
}

static int api_close(lua_State *L)
{
  realm *R = world_check(L, 1, "world:close");
  universe *U = R->universe;
  uint32_t left = 0;
  if (!R->world) return 0;
  check_idle(L, R, "world:close");
  R->closing = true;
  U->current = R;
  R->ticking = L;
  weft_status status = weft_world_drain(R->world, CLOSE_PASSES, &left);
  if (left > 0 && binding_protect(R, report_left, R, 0, 0) != LUA_OK) lua_pop(U->helper, 1);
  R->ticking = NULL;
  U->current = NULL;
  R->closing = false;
  if (status) return failed_to(L, "world:close", status);
  free_world(L, R);
  return 0;
}

/* The Lua state or the world's userdata goes without close: routines are dropped. Inside a tick of
   the world (os.exit in a routine) its stacks are in use: they stay for the end of the process. */
static void world_abandon(lua_State *L, realm *R)
{
  if (!R->world || weft_world_ticking() == R->world) return;
  weft_world_delete(R->world);
  R->world = NULL;
  free_parts(L, R);
}

/* Frees a realm that nobody can reach any more. */
void world_forget(lua_State *L, realm *R)
{
  universe *U = R->universe;
  realm **link = &U->realms;
  while (*link != R) link = &(*link)->next;
  *link = R->next;
  if (U->fallback == R) U->fallback = NULL;
  world_abandon(L, R);
  if (!R->world) binding_alloc(L, R, sizeof *R, 0);
}

/* Lua drops a finalizer that it meets at its limit of C calls; then the realm stays, unreachable,
   until the Lua state is closed. */
static int world_gc(lua_State *L)
{
  const universe *U = binding_universe(L);
  const void *object = lua_touserdata(L, 1);
  for (realm *R = U->realms; R; R = R->next) {
    if (R->object != object) continue;
    world_forget(L, R);
    break;
  }
  return 0;
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

static int world_index(lua_State *L)
{
  realm *R = world_check(L, 1, "world");
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1) || lua_type(L, 2) != LUA_TSTRING) return 1;
  const char *name = lua_tostring(L, 2);
  for (int i = 0; i < 3; i++) {
    if (strcmp(name, time_names[i]) != 0) continue;
    if (i < 2)
      lua_pushnumber(L, time_of(R, i));
    else
      lua_pushinteger(L, (lua_Integer)time_of(R, i));
    return 1;
  }
  if (strcmp(name, "onError") == 0 && R->world) {
    lua_pushvalue(R->store, STORE_ON_ERROR);
    lua_xmove(R->store, L, 1);
  }
  return 1;
}

static int world_newindex(lua_State *L)
{
  realm *R = check_open(L, 1, "world");
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
  if (strcmp(name, "onError") != 0)
    return binding_misuse(L, "world.%s cannot be set; onError can", name);
  if (!lua_isnil(L, 3) && !lua_isfunction(L, 3))
    return binding_misuse(L, "world.onError: a function or nil expected, got %s",
                          binding_got(L, 3));
  lua_settop(L, 3);
  lua_xmove(L, R->store, 1);
  lua_replace(R->store, STORE_ON_ERROR);
  return 0;
}

static int world_tostring(lua_State *L)
{
  const realm *R = world_check(L, 1, "tostring");
  lua_pushfstring(L, "weft.World: %p%s", R->object, R->world ? "" : " (closed)");
  return 1;
}

/* Why a tick would be refused now, or nil; for loops that ask before they begin. */
static int api_refusal(lua_State *L)
{
  const realm *R = world_check(L, 1, "world:run");
  if (!R->world)
    lua_pushliteral(L, "world is closed");
  else if (weft_world_ticking())
    lua_pushliteral(L, "not allowed inside a tick");
  else
    lua_pushnil(L);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg starters[] = {{"start", api_start}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"tick", api_tick},
                                   {"on", systems_on},
                                   {"post", systems_post},
                                   {"pause", api_pause},
                                   {"resume", api_resume},
                                   {"isPaused", api_is_paused},
                                   {"setTimeScale", api_set_time_scale},
                                   {"configure", api_configure},
                                   {"stats", api_stats},
                                   {"close", api_close},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__gc", world_gc},
                                       {"__newindex", world_newindex},
                                       {"__tostring", world_tostring},
                                       {NULL, NULL}};
static const luaL_Reg functions[] = {{"world", api_new},
                                     {"default", api_default},
                                     {"here", api_here},
                                     {"refusal", api_refusal},
                                     {NULL, NULL}};

/* Module table on top. */
void world_open(lua_State *L)
{
  binding_functions(L, functions);
  lua_createtable(L, 0, 8);
  binding_functions(L, metamethods);
  lua_pushliteral(L, "weft.World");
  lua_setfield(L, -2, "__name");
  binding_push_universe(L);
  lua_newtable(L);
  binding_functions(L, methods);
  binding_starters(L, starters);
  lua_pushvalue(L, -1);
  lua_setfield(L, -5, "worldMethods");
  lua_pushcclosure(L, world_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(L, (void *)&worlds_key);
  push_weak(L, 1, "v");
  lua_rawset(L, LUA_REGISTRYINDEX);
  systems_open(L);
}
