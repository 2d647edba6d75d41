/* SPDX-License-Identifier: MIT */
/*
** core.c - opens the module and holds what all of the binding leans on: the universe, the running
** routine, misuse, protected calls.
*/
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"
#include "lua/saves.h"
#include "lua/services.h"

/* Its address is the universe's key in the registry. */
static const char universe_key;

/* The same for the module. */
static const char module_key;

void binding_push_universe(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&universe_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

void binding_functions(lua_State *L, const luaL_Reg *list)
{
  for (; list->name; list++) {
    binding_push_universe(L);
    lua_pushcclosure(L, list->func, 1);
    lua_setfield(L, -2, list->name);
  }
}

void binding_starters(lua_State *L, const luaL_Reg *list)
{
  for (; list->name; list++) {
    binding_push_universe(L);
    const universe *U = lua_touserdata(L, -1);
    lua_pushlightuserdata(L, (void *)&U->handle_meta);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_rawgeti(L, -1, STORE_HANDLE_META);
    lua_remove(L, -2);
    lua_pushcclosure(L, list->func, 2);
    lua_setfield(L, -2, list->name);
  }
}

void *binding_alloc(lua_State *L, void *block, size_t old_size, size_t size)
{
  void *ud;
  lua_Alloc f = lua_getallocf(L, &ud);
  return f(ud, block, old_size, size);
}

weft_routine *binding_self(const universe *U)
{
  if (!U->current || U->callbacks > 0) return NULL;
  return weft_world_ticking() == U->current->world ? weft_self() : NULL;
}

realm *binding_realm_here(lua_State *L)
{
  universe *U = binding_universe(L);
  return U->current ? U->current : world_fallback(L);
}

bool binding_is_ours(const char *source)
{
  static const char *const files[] = {
      "weft/waits.lua",   "weft/events.lua",       "weft/loops.lua", "weft/routine.lua",
      "weft/run.lua",     "weft/buffers.lua",      "weft/jobs.lua",  "weft/pool.lua",
      "weft/rentals.lua", "weft/pool_buffers.lua", "weft/save.lua",  "weft/service.lua"};
  size_t length = strlen(source);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    size_t tail = strlen(files[i]);
    if (length >= tail && strcmp(source + length - tail, files[i]) == 0) return true;
  }
  return false;
}

/* The level of whoever called the public function: files of weft itself may stand between. */
static int caller_level(lua_State *L)
{
  lua_Debug ar;
  for (int level = 1; level <= 3; level++)
    if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "S", &ar) ||
        !binding_is_ours(ar.source))
      return level;
  return 1;
}

int binding_misuse(lua_State *L, const char *format, ...)
{
  va_list args;
  luaL_where(L, caller_level(L));
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  lua_concat(L, 2);
  return lua_error(L);
}

int binding_failed(lua_State *L, const char *who, weft_status status)
{
  return binding_misuse(L, "%s: %s", who, weft_status_text(status));
}

/* Where this state is if worlds are elsewhere, else NULL. */
static const char *far_from_worlds(const universe *U)
{
  return U->worker ? "a job" : U->servant ? "a service" : NULL;
}

void binding_check_worlds(lua_State *L, const char *prefix)
{
  const char *place = far_from_worlds(binding_universe(L));
  if (place) binding_misuse(L, "%sthere is no world inside %s", prefix, place);
}

int binding_outside(lua_State *L, const char *who)
{
  const char *place = far_from_worlds(binding_universe(L));
  if (place)
    return binding_misuse(L, "%s: there are no routines and no world inside %s", who, place);
  return binding_misuse(L, "%s: not inside a routine; start one with routine.start", who);
}

void binding_push_weak(lua_State *L, int size, const char *mode)
{
  lua_createtable(L, size, 0);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* Numbers are written alike on all machines, which differ on NaN and on floats that are whole. */
void *binding_check_sub(lua_State *L, const void *key)
{
  lua_settop(L, 1);
  void *sub = lua_touserdata(L, 1);
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!sub || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, -2))
    binding_misuse(L, "sub:off: a subscription expected, got %s", binding_got(L, 1));
  lua_settop(L, 1);
  return sub;
}

const char *binding_got(lua_State *L, int index)
{
  if (lua_type(L, index) == LUA_TNUMBER) {
    char text[32];
    double value = lua_tonumber(L, index);
    snprintf(text, sizeof text, "%.14g", value);
    lua_pushstring(L, isnan(value) ? "nan" : text);
    return lua_tostring(L, -1);
  }
  if (lua_isnone(L, index)) return "nil"; /* the Lua halves of waits pass it on as that */
  return luaL_typename(L, index);
}

int64_t binding_check_seconds(lua_State *L, int index, const char *who, const char *what)
{
  if (lua_type(L, index) != LUA_TNUMBER)
    binding_misuse(L, "%s: %s must be a number, got %s", who, what, binding_got(L, index));
  double seconds = lua_tonumber(L, index);
  if (!(seconds >= 0) || isinf(seconds))
    binding_misuse(L, "%s: %s must be finite and >= 0, got %s", who, what,
                   binding_got(L, index));
  if (seconds > 1e9)
    binding_misuse(L, "%s: %s must be at most 1e9, got %s", who, what, binding_got(L, index));
  return (int64_t)llrint(seconds * 1e9);
}

/* --- Protected calls ----------------------------------------------------------------------- */

/* What is to be called. Passed beside the Lua stack: pushing an address can need memory, too. */
struct pending_call {
  int (*fn)(lua_State *L, void *context);
  void *context;
};

static int call_protected(lua_State *L)
{
  struct pending_call call = *binding_universe(L)->pending;
  return call.fn(L, call.context);
}

/* arguments -> function, arguments */
static void push_call(lua_State *L, realm *R, const struct pending_call *call, int nargs)
{
  R->universe->pending = call;
  lua_pushvalue(R->store, STORE_PROTECTED);
  lua_xmove(R->store, L, 1);
  lua_insert(L, -1 - nargs);
}

int binding_protect_on(lua_State *L, realm *R, int (*fn)(lua_State *L, void *context),
                       void *context, int nargs, int nresults)
{
  struct pending_call call = {fn, context};
  push_call(L, R, &call, nargs);
  return lua_pcall(L, nargs, nresults, 0);
}

/* The C calls of the helper are counted on from where those of the routine stand: what runs there may
   be a script's. */
int binding_protect_from(lua_State *from, realm *R, int (*fn)(lua_State *L, void *context),
                         void *context, int nargs, int nresults)
{
  universe *U = R->universe;
  lua_State *L = U->helper;
  struct pending_call call = {fn, context};
  push_call(L, R, &call, nargs);
  bool idle = U->callbacks++ == 0;
  int status =
      idle ? compat_call_from(L, from, nargs, nresults) : lua_pcall(L, nargs, nresults, 0);
  U->callbacks--;
  return status;
}

int binding_protect(realm *R, int (*fn)(lua_State *L, void *context), void *context, int nargs,
                    int nresults)
{
  return binding_protect_from(R->donor, R, fn, context, nargs, nresults);
}

static int refuse_finalizer(lua_State *L, void *context)
{
  (void)context;
  compat_refuse_finalizer(L);
  return 0;
}

bool binding_in_finalizer(lua_State *L, realm *R)
{
  if (!compat_perhaps_in_finalizer(L)) return false;
  if (binding_protect_on(L, R, refuse_finalizer, NULL, 0, 0) == LUA_OK) return false;
  lua_pop(L, 1);
  return true;
}

/* --- Cancelled ----------------------------------------------------------------------------- */

static int cancelled_tostring(lua_State *L)
{
  lua_pushliteral(L, "routine cancelled");
  return 1;
}

/* One full userdata: a string could be matched by a script's patterns, and tables are eaten by
   libraries that take each of them for an exception of their own. */
static void push_new_cancelled(lua_State *L)
{
  lua_newuserdata(L, 1);
  lua_createtable(L, 0, 3);
  lua_pushcfunction(L, cancelled_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushliteral(L, "weft.Cancelled");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "weft.Cancelled");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

/* --- Opening ------------------------------------------------------------------------------- */

static int universe_gc(lua_State *L)
{
  universe *U = lua_touserdata(L, 1);
  U->closed = true;
  while (U->realms) world_forget(L, U->realms);
  services_fini(U);
  watches_fini(L, U);
  waitables_fini(L, U);
  locks_fini(L, U);
  saves_fini(U);
  crew_fini(U);
  codes_fini(U);
  parcels_fini(L, U);
  return 0;
}

/* The universe, in the registry with all that must live as long as it. */
static void make_universe(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&universe_key);
  universe *U = lua_newuserdata(L, sizeof *U);
  memset(U, 0, sizeof *U);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, universe_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  U->helper = lua_newthread(L);
  lua_pushlightuserdata(L, &U->helper);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  luaL_checkstack(U->helper, LUA_MINSTACK, NULL);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_getfield(L, LUA_REGISTRYINDEX, JOBS_WORKER_KEY);
  U->worker = lua_touserdata(L, -1);
  lua_getfield(L, LUA_REGISTRYINDEX, SERVICES_SERVANT_KEY);
  U->servant = lua_touserdata(L, -1);
  lua_pop(L, 2);
}

/* The parts of every store, in a table that world.c copies from. */
static void make_parts(lua_State *L, universe *U)
{
  lua_newtable(L);
  handle_open(L);
  U->handle_meta = lua_topointer(L, -1);
  lua_rawseti(L, -2, STORE_HANDLE_META);
  push_new_cancelled(L);
  U->cancelled = lua_touserdata(L, -1);
  lua_pushlightuserdata(L, (void *)&U->cancelled);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_rawseti(L, -2, STORE_CANCELLED);
  binding_push_universe(L);
  lua_pushcclosure(L, call_protected, 1);
  lua_rawseti(L, -2, STORE_PROTECTED);
  routine_push_parts(L);
  lua_rawseti(L, -3, STORE_HANDLER);
  lua_rawseti(L, -2, STORE_BODY);
  lua_pushlightuserdata(L, &U->handle_meta);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Exported whatever the build hides. */
__attribute__((visibility("default"))) int luaopen_weft_core(lua_State *L);

int luaopen_weft_core(lua_State *L)
{
  lua_settop(L, 0);
  lua_pushlightuserdata(L, (void *)&module_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, 1)) return 1; /* a second opening gives the first one's module */
  make_universe(L);
  lua_settop(L, 0);
  binding_push_universe(L);
  universe *U = lua_touserdata(L, 1);
  lua_newtable(L);  /* 2: the module */
  make_parts(L, U); /* 3 */
  lua_rawgeti(L, 3, STORE_CANCELLED);
  lua_setfield(L, 2, "Cancelled");
  lua_rawgeti(L, 3, STORE_HANDLE_META);
  lua_getfield(L, -1, "__index");
  lua_setfield(L, 2, "handleMethods");
  lua_settop(L, 2);
  lua_pushstring(L, weft_version());
  lua_setfield(L, 2, "version");
  world_open(L);
  routine_open(L);
  owner_open(L);
  timer_open(L);
  parcels_open(L);
  signal_open(L);
  locks_open(L);
  channel_open(L);
  watches_open(L);
  scope_open(L);
  waits_open(L);
  loops_open(L);
  require_open(L);
  os_open(L);
  spans_open(L);
  buffer_open(L);
  names_open(L);
  transfer_open(L);
  transfer_read_open(L);
  jobs_open(L);
  saves_open(L);
  ffi_open(L);
  services_open(L);
  if (!far_from_worlds(U)) probe_open(L); /* no routines there, and other threads may look */
  lua_pushlightuserdata(L, (void *)&module_key);
  lua_pushvalue(L, 2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 1;
}
