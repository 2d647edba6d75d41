/* SPDX-License-Identifier: MIT */
/*
** life.c - how worlds are made, configured anew, closed and lost.
*/
#include <math.h>

#include "lua/services.h"

/* Its address is the default world's key in the registry. */
static const char fallback_key;

#define CLOSE_PASSES 8

/* --- Making -------------------------------------------------------------------------------- */

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
  binding_push_weak(L, (int)capacity, "v");
  to_store(L, store);
  lua_createtable(L, PHASES, 0);
  for (int phase = 1; phase <= PHASES; phase++) {
    lua_newtable(L);
    lua_rawseti(L, -2, phase);
  }
  to_store(L, store);
  lua_newtable(L); /* names */
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
  lua_pushnil(store); /* sets */
  binding_push_weak(L, 0, "v");
  to_store(L, store);
  lua_newtable(L); /* ears */
  to_store(L, store);
  lua_pushnil(store); /* onSlow */
  lua_newtable(L);    /* tags */
  to_store(L, store);
  lua_pushnil(store); /* posts */
  return store;
}

/* donor or nil -> */
static void set_donor(lua_State *L, realm *R, lua_State *donor)
{
  R->donor = donor;
  to_store(L, R->store);
  lua_replace(R->store, STORE_DONOR);
}

static weft_status make_parts(lua_State *L, realm *R)
{
  if (!values_init(L, &R->values, R->config.capacity + 64)) return WEFT_NOMEM;
  if (!threads_init(L, &R->threads, R->config.capacity + 1)) return WEFT_NOMEM;
  return weft_world_new(&R->config, &R->world);
}

static void free_parts(lua_State *L, realm *R)
{
  locks_forget(L, R);
  values_fini(L, &R->values);
  threads_fini(L, &R->threads);
  ears_fini(L, &R->ears);
  messages_fini(L, &R->messages);
  scope_fini(L, R);
}

/* -> userdata, a world that is closed as yet */
static realm *new_realm(lua_State *L, const realm *draft)
{
  universe *U = draft->universe;
  uint32_t number = ++U->next_serial;
  realm **object = lua_newuserdata(L, sizeof(realm *));
  world_push_meta(L, number);
  realm *R = binding_alloc(L, NULL, 0, sizeof *R);
  if (!R) binding_failed(L, "weft.world", WEFT_NOMEM);
  *R = *draft;
  R->config.hooks.host = R;
  R->object = object;
  *object = R;
  R->number = R->serial = number;
  R->next = U->realms;
  U->realms = R;
  lua_setmetatable(L, -2);
  world_push_all(L);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, (int)R->number);
  lua_pop(L, 1);
  return R;
}

int life_new(lua_State *L)
{
  universe *U = binding_universe(L);
  lua_settop(L, 1);
  if (U->closed) return binding_misuse(L, "weft.world: the Lua state is closing");
  binding_check_worlds(L, "weft.world: ");
  realm draft = {.universe = U, .config = config_default(NULL)};
  config_read(L, 1, "weft.world", &draft.config);
  realm *R = new_realm(L, &draft);
  lua_createtable(L, 1, 0);
  R->store = push_store(L, U, R->config.capacity);
  lua_rawseti(L, 3, 1);
  compat_set_value(L, 2);
  set_donor(L, R, threads_push_donor(L, R->config.stack_bytes));
  weft_status status = make_parts(L, R);
  if (status) {
    free_parts(L, R);
    return binding_failed(L, "weft.world", status);
  }
  lua_settop(L, 2);
  return 1;
}

realm *world_fallback(lua_State *L)
{
  universe *U = binding_universe(L);
  if (U->fallback && U->fallback->world) return U->fallback;
  binding_check_worlds(L, "");
  binding_push_universe(L);
  lua_pushcclosure(L, life_new, 1);
  lua_call(L, 0, 1);
  U->fallback = world_check(L, -1, "weft.default");
  lua_pushlightuserdata(L, (void *)&fallback_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return U->fallback;
}

int life_default(lua_State *L)
{
  world_push(L, world_fallback(L));
  return 1;
}

/* The calling world, else the default one. */
int life_here(lua_State *L)
{
  world_push(L, binding_realm_here(L));
  return 1;
}

/* --- Configuring --------------------------------------------------------------------------- */

/* Gives up the coroutines that were kept for routines to come. */
static void drop_idle_threads(lua_State *L, realm *R)
{
  for (uint32_t i = 0; i < R->threads.count; i++) values_drop(R, R->threads.idle[i].cell);
  threads_fini(L, &R->threads);
}

int life_configure(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:configure");
  weft_world_config config = R->config;
  threads fresh;
  if (!lua_istable(L, 2))
    return binding_misuse(L, "world:configure: a table of options expected, got %s",
                          binding_got(L, 2));
  world_check_idle(L, R, "world:configure");
  config_read(L, 2, "world:configure", &config);
  /* What may throw, or run finalizers, comes first, so that nothing is half done. */
  binding_push_weak(L, (int)config.capacity, "v");
  lua_State *donor = threads_push_donor(L, config.stack_bytes);
  world_check_idle(L, world_check_open(L, 1, "world:configure"), "world:configure");
  if (!threads_init(L, &fresh, config.capacity + 1))
    return binding_failed(L, "world:configure", WEFT_NOMEM);
  handle_keep_states(R, true);
  weft_status status = weft_world_configure(R->world, &config);
  if (status) {
    handle_keep_states(R, false);
    threads_fini(L, &fresh);
    return binding_failed(L, "world:configure", status);
  }
  drop_idle_threads(L, R);
  locks_forget(L, R);
  scope_fini(L, R);
  R->threads = fresh;
  R->config = config;
  R->serial = ++R->universe->next_serial;
  set_donor(L, R, donor);
  to_store(L, R->store);
  lua_replace(R->store, STORE_HANDLES);
  lua_pushnil(R->store);
  lua_replace(R->store, STORE_SETS);
  return 0;
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
      trace_push(L, R, rec->thread, 0);
    else
      lua_pushnil(L);
    report_push_on(L, R);
  }
  return 0;
}

/* Retirement passes of all that is alive, with nothing else running. In a finalizer a machine may be
   as it is in a debug hook. */
static weft_status drain(lua_State *L, realm *R, uint32_t passes, uint32_t *left)
{
  universe *U = R->universe;
  bool hooked = U->hooked;
  U->current = R;
  R->ticking = L;
  if (compat_perhaps_in_finalizer(L)) U->hooked = true;
  weft_status status = weft_world_drain(R->world, passes, left);
  U->hooked = hooked;
  R->ticking = NULL;
  U->current = NULL;
  return status;
}

/* True, or false and who is still alive. */
int life_unload(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:unload");
  lua_Number passes = lua_isnoneornil(L, 2) ? CLOSE_PASSES : lua_tonumber(L, 2);
  uint32_t left = 0;
  bool number = lua_isnoneornil(L, 2) || lua_type(L, 2) == LUA_TNUMBER;
  if (!number || !(passes >= 1 && passes <= 1e6) || passes != floor(passes))
    return binding_misuse(
        L, "world:unload: maxPasses must be a whole number from 1 to 1e6, got %s",
        binding_got(L, 2));
  world_check_idle(L, R, "world:unload");
  weft_status status = drain(L, R, (uint32_t)passes, &left);
  if (status) return binding_failed(L, "world:unload", status);
  lua_pushboolean(L, left == 0);
  return left == 0 ? 1 : 1 + inspect_push_list(L, R);
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
  handle_keep_states(R, true);
  weft_world_delete(R->world);
  R->world = NULL;
  free_parts(L, R);
  lua_settop(R->store, 0);
}

int life_close(lua_State *L)
{
  realm *R = world_check(L, 1, "world:close");
  universe *U = R->universe;
  uint32_t left = 0;
  if (!R->world) return 0;
  world_check_idle(L, R, "world:close");
  R->closing = true;
  U->current = R;
  weft_owner_destroy_all(R->world);
  owner_tell(L, R);
  weft_status status = drain(L, R, CLOSE_PASSES, &left);
  U->current = R;
  if (left > 0 && binding_protect(R, report_left, R, 0, 0) != LUA_OK) lua_pop(U->helper, 1);
  services_close(R);
  services_leave(R);
  U->current = NULL;
  R->closing = false;
  if (status) return binding_failed(L, "world:close", status);
  free_world(L, R);
  return 0;
}

/* The Lua state or the world's userdata goes without close: routines are dropped. Inside a tick of
   the world (os.exit in a routine) its stacks are in use: they stay for the end of the process. */
static void world_abandon(lua_State *L, realm *R)
{
  if (!R->world || weft_world_ticking() == R->world) return;
  services_leave(R);
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
int life_gc(lua_State *L)
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
