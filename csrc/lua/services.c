/* SPDX-License-Identifier: MIT */
/*
** services.c - weft.Service and weft.Thread: what a script holds of them.
*/
#include "lua/services.h"

/* Services and threads have metatables of their own; their addresses are the keys of these. */
static const char service_key, thread_key;

/* --- Objects ------------------------------------------------------------------------------- */

servant **services_push_empty(lua_State *L, bool is_thread)
{
  servant **slot = compat_new_object(L, sizeof *slot);
  *slot = NULL;
  lua_pushlightuserdata(L, (void *)(is_thread ? &thread_key : &service_key));
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return slot;
}

void services_push(lua_State *L, servant *s)
{
  servant **slot = services_push_empty(L, s->is_thread);
  *slot = weft_counted_keep(s);
}

static bool has_key(lua_State *L, const char *key)
{
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  return same;
}

servant *services_test(lua_State *L, int index)
{
  servant **slot = lua_touserdata(L, index);
  if (!slot || lua_islightuserdata(L, index) || !lua_getmetatable(L, index)) return NULL;
  bool ours = has_key(L, &service_key) || has_key(L, &thread_key);
  lua_pop(L, 1);
  return ours ? *slot : NULL;
}

static servant *check(lua_State *L, const char *who)
{
  servant *s = services_test(L, 1);
  if (!s)
    binding_misuse(L, "%s: a service or a thread expected, got %s", who, binding_got(L, 1));
  return s;
}

static int object_gc(lua_State *L)
{
  servant **slot = lua_touserdata(L, 1);
  weft_counted_drop(*slot);
  *slot = NULL;
  return 0;
}

/* --- Asking -------------------------------------------------------------------------------- */

static const char *state_name(const servant *s)
{
  weft_service_stats stats;
  weft_service_stats_get(s->core, &stats);
  if (stats.ended) return s->death || s->wrong ? "failed" : "ended";
  return stats.stopping ? "stopping" : "running";
}

static int api_status(lua_State *L)
{
  lua_pushstring(L, state_name(check(L, "service:status")));
  return 1;
}

static void set_count(lua_State *L, const char *name, uint64_t value)
{
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

static int api_stats(lua_State *L)
{
  weft_service_stats stats;
  weft_service_stats_get(check(L, "service:stats")->core, &stats);
  lua_createtable(L, 0, 5);
  set_count(L, "queued", stats.queued);
  set_count(L, "open", stats.open);
  set_count(L, "received", stats.received);
  set_count(L, "refused", stats.refused);
  set_count(L, "sleeps", stats.sleeps);
  return 1;
}

static int service_tostring(lua_State *L)
{
  const servant *s = check(L, "tostring");
  lua_pushfstring(L, "weft.%s: %s (%s)", s->is_thread ? "Thread" : "Service", s->name,
                  state_name(s));
  return 1;
}

/* --- Ending -------------------------------------------------------------------------------- */

static int api_stop(lua_State *L)
{
  static const char who[] = "service:stop";
  const servant *s = check(L, who);
  int64_t drain =
      lua_isnoneornil(L, 2) ? s->drain : binding_check_seconds(L, 2, who, "the time limit");
  weft_service_stop(s->core, drain);
  return 0;
}

static int push_left(lua_State *L, const servant *s)
{
  weft_service_stats stats;
  weft_service_stats_get(s->core, &stats);
  lua_pushnil(L);
  lua_pushliteral(L, "timeout");
  lua_pushfstring(L, "%s still runs: %d letters wait, %d calls are open", s->name,
                  (int)stats.queued, (int)stats.open);
  return 3;
}

/* True; or false and its error; or nil, "timeout" and what is left. On this thread, which does nothing
   else meanwhile. */
static int api_join(lua_State *L)
{
  static const char who[] = "service:join";
  servant *s = check(L, who);
  int64_t timeout = lua_isnoneornil(L, 2) ? -1 : binding_check_seconds(L, 2, who, "timeout");
  (void)jobs_leave(L, NULL, who);
  weft_status status = weft_service_join(s->core, timeout, NULL);
  if (status == WEFT_TIMEOUT) return push_left(L, s);
  if (status) return binding_failed(L, who, status);
  bool failed = s->death || s->wrong;
  lua_pushboolean(L, !failed);
  if (!failed) return 1;
  services_push_death(L, s);
  if (s->owner == binding_universe(L)) s->told = true;
  return 2;
}

/* For service.lua, which waits in routines by looking in each tick. Raises for what `join` would; and
   drops what that drops. */
static int api_is_over(lua_State *L)
{
  static const char who[] = "service:join";
  const servant *s = check(L, who);
  if (!lua_isnoneornil(L, 2)) (void)binding_check_seconds(L, 2, who, "timeout");
  lua_pushboolean(L, weft_service_join(s->core, 0, NULL) != WEFT_TIMEOUT);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg both[] = {{"stop", api_stop},
                                {"join", api_join},
                                {"status", api_status},
                                {"stats", api_stats},
                                {NULL, NULL}};
static const luaL_Reg letters[] = {
    {"tryPost", services_try_post}, {"call", services_call}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"service", services_new},
                                     {"thread", services_new_thread},
                                     {"serviceIsOver", api_is_over},
                                     {NULL, NULL}};
static const luaL_Reg metamethods[] = {
    {"__gc", object_gc}, {"__tostring", service_tostring}, {NULL, NULL}};

/* -> methods */
static void open_kind(lua_State *L, const char *key, const char *name, const luaL_Reg *more)
{
  lua_createtable(L, 0, 4);
  binding_functions(L, metamethods);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 8);
  binding_functions(L, both);
  if (more) binding_functions(L, more);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_insert(L, -2);
  lua_pushlightuserdata(L, (void *)key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Module table on top. */
void services_open(lua_State *L)
{
  binding_functions(L, functions);
  open_kind(L, &service_key, "weft.Service", letters);
  lua_setfield(L, -2, "serviceMethods");
  open_kind(L, &thread_key, "weft.Thread", NULL);
  lua_setfield(L, -2, "threadMethods");
  lua_createtable(L, 0, 8);
  services_open_inside(L);
  lua_setfield(L, -2, "inside");
  services_open_calls(L);
}
