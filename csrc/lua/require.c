/* SPDX-License-Identifier: MIT */
/*
** require.c - require with a lock per module, for routines and for jobs.
**
** A module's chunk may wait, and another routine may ask for the module meanwhile: Lua 5.4 would
** then load it twice, and LuaJIT take it for a loop. So a routine that loads a module holds its
** name; others wait, a tick at a time, until the name is free again. A failed or cancelled load
** leaves the module unloaded. Outside of routines it is the require it stands for.
**
** So do the jobs of a thread, whose state loads its modules once: they wait at a barrier.
**
** In C, because a debug hook may switch routines between any two instructions of Lua.
*/
#include "lua/jobs.h"

/* Upvalues: 1 the universe, 2 the require that was there, 3 holders: handle by module name, 4 what
   a waiting routine wants: module name by handle, 5 nextTick, 6 where jobs wait: barrier by module
   name. For a job its run's address stands for a handle. */
enum { UP_REQUIRE = 2, UP_HOLDERS, UP_WANTED, UP_NEXT_TICK, UP_GATES };

/* Arguments and temporaries of locked_require. */
enum { NAME = 1, ME, HOLDER, HANDLER_AT = HOLDER };

static int plain_require(lua_State *L)
{
  lua_settop(L, NAME);
  lua_pushvalue(L, lua_upvalueindex(UP_REQUIRE));
  lua_insert(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* key -> value, of the table in an upvalue */
static void get(lua_State *L, int table)
{
  lua_rawget(L, lua_upvalueindex(table));
}

/* key, value -> */
static void set(lua_State *L, int table)
{
  lua_rawset(L, lua_upvalueindex(table));
}

/* -> package.loaded */
static void push_loaded(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
}

static bool is_loaded(lua_State *L)
{
  push_loaded(L);
  lua_pushvalue(L, NAME);
  lua_rawget(L, -2);
  bool loaded = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return loaded;
}

/* -> holder or nil, at HOLDER. One that was dropped in the middle of its load holds no more. */
static bool is_held(lua_State *L)
{
  lua_settop(L, ME);
  lua_pushvalue(L, NAME);
  get(L, UP_HOLDERS);
  const handle *holder = lua_touserdata(L, HOLDER);
  if (lua_islightuserdata(L, HOLDER)) return true;
  return holder && handle_state(L, holder) < WEFT_STATE_COMPLETED;
}

/* Whether what is on top waits for the end of this job. */
static bool awaits_me(lua_State *L)
{
  const job_run *mine = lua_touserdata(L, ME);
  return lua_islightuserdata(L, -1) && run_awaits(lua_touserdata(L, -1), mine->work);
}

/* Whether the holder is this routine, or waits, through others, for a module that it is loading. */
static bool closes_ring(lua_State *L)
{
  lua_pushvalue(L, HOLDER);
  while (!lua_isnil(L, -1)) {
    if (lua_rawequal(L, -1, ME) || awaits_me(L)) return true;
    get(L, UP_WANTED);
    if (!lua_isnil(L, -1)) get(L, UP_HOLDERS);
  }
  lua_pop(L, 1);
  return false;
}

static void set_wanted(lua_State *L, bool waits)
{
  lua_pushvalue(L, ME);
  if (waits)
    lua_pushvalue(L, NAME);
  else
    lua_pushnil(L);
  set(L, UP_WANTED);
}

/* -> barrier, which who holds the name releases */
static weft_barrier *push_gate(lua_State *L, crew *c)
{
  lua_pushvalue(L, NAME);
  get(L, UP_GATES);
  if (!lua_isnil(L, -1)) return barrier_check(L, -1, "require");
  lua_pop(L, 1);
  weft_barrier *gate = barrier_make(L, c, 1, "require");
  lua_pushvalue(L, NAME);
  lua_pushvalue(L, -2);
  set(L, UP_GATES);
  return gate;
}

/* A job, until the name is free. The end of the pool passes through. */
static void wait_at_gate(lua_State *L)
{
  weft_barrier *gate = push_gate(L, binding_universe(L)->crew);
  job_run *mine = jobs_leave(L, NULL, "require");
  set_wanted(L, true);
  weft_status status = weft_barrier_wait(gate, -1);
  set_wanted(L, false);
  jobs_return(L, mine, status, "require");
}

/* Lets go those that wait for the name. */
static void open_gate(lua_State *L)
{
  lua_pushvalue(L, NAME);
  get(L, UP_GATES);
  if (!lua_isnil(L, -1)) {
    (void)weft_barrier_release(barrier_check(L, -1, "require"));
    lua_pushvalue(L, NAME);
    lua_pushnil(L);
    set(L, UP_GATES);
  }
  lua_pop(L, 1);
}

/* One tick. A cancel passes through. */
static void wait_for_holder(lua_State *L)
{
  set_wanted(L, true);
  lua_pushvalue(L, lua_upvalueindex(UP_NEXT_TICK));
  int status = lua_pcall(L, 0, 0, 0);
  set_wanted(L, false);
  if (status == LUA_OK) return;
  compat_before_throw(L);
  lua_error(L);
}

/* The module's name is ours: loads it, and lets go whatever happens. */
static int load_held(lua_State *L)
{
  lua_pushvalue(L, NAME);
  lua_pushvalue(L, ME);
  set(L, UP_HOLDERS);
  /* The handler keeps the module's own frames for the report. */
  binding_push_universe(L);
  lua_pushcclosure(L, lua_islightuserdata(L, ME) ? run_keep_trace : report_traceback, 1);
  lua_pushvalue(L, lua_upvalueindex(UP_REQUIRE));
  lua_pushvalue(L, NAME);
  int status = lua_pcall(L, 1, LUA_MULTRET, HANDLER_AT);
  lua_remove(L, HANDLER_AT);
  lua_pushvalue(L, NAME);
  lua_pushnil(L);
  set(L, UP_HOLDERS);
  if (status != LUA_OK) {
    push_loaded(L);
    lua_pushvalue(L, NAME);
    lua_pushnil(L);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  open_gate(L);
  if (status == LUA_OK) return lua_gettop(L) - ME;
  compat_before_throw(L);
  return lua_error(L);
}

static int locked_require(lua_State *L)
{
  universe *U = binding_universe(L);
  const weft_routine *self = binding_self(U);
  job_run *job = U->worker ? U->worker->running : NULL;
  luaL_checkstack(L, LUA_MINSTACK, "require");
  if (!(self || job) || lua_type(L, NAME) != LUA_TSTRING) return plain_require(L);
  lua_settop(L, NAME);
  if (job)
    lua_pushlightuserdata(L, job);
  else
    handle_of(L, U->current, self);
  while (is_held(L)) {
    if (closes_ring(L))
      return luaL_error(
          L, "require: loop: '%s' is being loaded by this %s, or by one that waits for it",
          lua_tostring(L, NAME), job ? "job" : "routine");
    if (job)
      wait_at_gate(L);
    else
      wait_for_holder(L);
  }
  lua_settop(L, ME);
  if (is_loaded(L)) {
    lua_settop(L, NAME);
    return plain_require(L);
  }
  return load_held(L);
}

/* require, nextTick -> the locked one */
static int api_locked(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  binding_push_universe(L);
  lua_pushvalue(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushvalue(L, 2);
  lua_newtable(L);
  lua_pushcclosure(L, locked_require, 6);
  return 1;
}

void require_open(lua_State *L)
{
  binding_functions(L, (const luaL_Reg[]){{"locked", api_locked}, {NULL, NULL}});
}
