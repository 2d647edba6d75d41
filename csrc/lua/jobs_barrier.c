/* SPDX-License-Identifier: MIT */
/*
** jobs_barrier.c - weft.Barrier: a count that jobs release.
*/
#include <string.h>

#include "lua/jobs.h"

/* Its address stands in each userdata. */
static const char barrier_kind, meta_key;

/* A counted object: jobs may have it, too. */
typedef struct gate {
  crew *crew;
  weft_barrier *barrier;
} gate;

typedef struct barrier_object {
  const void *kind;
  gate *gate;
} barrier_object;

static void gate_end(void *object)
{
  gate *g = object;
  weft_barrier_delete(g->barrier);
  weft_counted_drop(g->crew);
}

void *barrier_test(lua_State *L, int index)
{
  const barrier_object *o =
      lua_type(L, index) == LUA_TUSERDATA ? lua_touserdata(L, index) : NULL;
  if (!o || compat_raw_length(L, index) != sizeof *o || o->kind != &barrier_kind) return NULL;
  return o->gate;
}

static gate *check_gate(lua_State *L, int index, const char *who)
{
  gate *g = barrier_test(L, index);
  if (!g) binding_misuse(L, "%s: a barrier expected, got %s", who, binding_got(L, index));
  return g;
}

weft_barrier *barrier_check(lua_State *L, int index, const char *who)
{
  return check_gate(L, index, who)->barrier;
}

/* -> barrier, closed */
static barrier_object *push_object(lua_State *L)
{
  barrier_object *o = lua_newuserdata(L, sizeof *o);
  *o = (barrier_object){.kind = &barrier_kind};
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return o;
}

void barrier_push(lua_State *L, void *counted)
{
  barrier_object *o = push_object(L); /* may raise, and comes first therefore */
  o->gate = weft_counted_keep(counted);
}

static uint32_t check_count(lua_State *L, int index, int least, int otherwise, const char *who)
{
  int64_t count = otherwise;
  if (lua_isnoneornil(L, index)) return (uint32_t)count;
  if (!element_whole(L, index, &count) || count < least || count > WEFT_BARRIER_MAX)
    binding_misuse(L, "%s: the count must be a whole number from %d to 1048575, got %s", who,
                   least, binding_got(L, index));
  return (uint32_t)count;
}

weft_barrier *barrier_make(lua_State *L, crew *c, uint32_t count, const char *who)
{
  barrier_object *o = push_object(L);
  gate *g = weft_counted_new(sizeof *g, gate_end);
  if (!g) luaL_error(L, "%s: not enough memory", who);
  g->crew = weft_counted_keep(c);
  o->gate = g;
  weft_status status = weft_barrier_new(c->pool, count, &g->barrier);
  if (status) binding_failed(L, who, status);
  return g->barrier;
}

static int api_barrier(lua_State *L)
{
  static const char who[] = "jobs.barrier";
  uint32_t count = check_count(L, 1, 0, 0, who);
  (void)barrier_make(L, crew_of(L, binding_universe(L), who), count, who);
  return 1;
}

static int api_add(lua_State *L)
{
  gate *g = check_gate(L, 1, "barrier:add");
  uint32_t count = check_count(L, 2, 1, 1, "barrier:add");
  weft_status status = weft_barrier_add(g->barrier, count);
  if (status == WEFT_FULL)
    return binding_misuse(L, "barrier:add: a barrier counts to 1048575 at most");
  if (status) return binding_failed(L, "barrier:add", status);
  return 0;
}

static int api_release(lua_State *L)
{
  gate *g = check_gate(L, 1, "barrier:release");
  weft_status status = weft_barrier_release(g->barrier);
  if (status == WEFT_INVALID)
    return binding_misuse(L, "barrier:release: there is nothing to release, the count is 0");
  if (status) return binding_failed(L, "barrier:release", status);
  return 0;
}

static int api_count(lua_State *L)
{
  lua_pushinteger(L, weft_barrier_count(check_gate(L, 1, "barrier:count")->barrier));
  return 1;
}

/* What it held is taken in, too. */
static int wait_for(lua_State *L, int64_t timeout, const char *who)
{
  gate *g = check_gate(L, 1, who);
  job_run *mine = jobs_leave(L, NULL, who);
  weft_status status = weft_barrier_wait(g->barrier, timeout);
  work_take_in(L, binding_universe(L));
  jobs_return(L, mine, status, who);
  if (status == WEFT_TIMEOUT) {
    lua_pushnil(L);
    lua_pushliteral(L, "timeout");
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int api_wait(lua_State *L)
{
  static const char who[] = "barrier:wait";
  int64_t timeout = lua_isnoneornil(L, 2) ? -1 : binding_check_seconds(L, 2, who, "timeout");
  if (binding_universe(L)->worker && timeout > 0)
    return binding_misuse(L, "%s: inside a job there is no time limit", who);
  return wait_for(L, timeout, who);
}

/* barrier, round or nothing -> whether it is open, or has been since that round; its round. To look takes
   in the ends of jobs, so that what was lent to those that have released it may be touched. */
static int look(lua_State *L)
{
  const gate *g = check_gate(L, 1, "barrier:await");
  uint32_t round = weft_barrier_round(g->barrier);
  bool open = weft_barrier_count(g->barrier) == 0;
  open = open || (lua_isnumber(L, 2) && (uint32_t)lua_tonumber(L, 2) != round);
  work_take_in(L, binding_universe(L));
  lua_pushboolean(L, open);
  lua_pushinteger(L, round);
  return 2;
}

/* In a job it waits; jobs.lua waits in routines, by looking in each tick. */
static int api_await(lua_State *L)
{
  if (!binding_universe(L)->worker) return look(L);
  return wait_for(L, -1, "barrier:await");
}

static int barrier_gc(lua_State *L)
{
  barrier_object *o = lua_touserdata(L, 1);
  weft_counted_drop(o->gate);
  o->gate = NULL;
  return 0;
}

static int barrier_tostring(lua_State *L)
{
  lua_pushfstring(L, "weft.Barrier: %d",
                  (int)weft_barrier_count(check_gate(L, 1, "tostring")->barrier));
  return 1;
}

static const luaL_Reg methods[] = {{"add", api_add},     {"release", api_release},
                                   {"count", api_count}, {"wait", api_wait},
                                   {"await", api_await}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {
    {"__gc", barrier_gc}, {"__tostring", barrier_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"barrier", api_barrier}, {NULL, NULL}};

/* Table of jobs on top, the module table below. */
void barrier_open(lua_State *L)
{
  binding_functions(L, functions);
  lua_createtable(L, 0, 4);
  binding_functions(L, metamethods);
  lua_pushliteral(L, "weft.Barrier");
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 8);
  binding_functions(L, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_setfield(L, -4, "barrierMethods");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}
