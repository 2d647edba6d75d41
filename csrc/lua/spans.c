/* SPDX-License-Identifier: MIT */
/*
** spans.c - weft.trace: what ran when, written for chrome://tracing and Perfetto.
*/
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

#define MAX_SPANS 16777216

/* --- How a routine is called there --------------------------------------------------------- */

/* Name, or where its function is defined: the outermost one of its coroutine that is not ours. */
static bool find_definition(lua_State *co, lua_Debug *ar)
{
  bool found = false;
  lua_Debug at;
  for (int level = 0; lua_getstack(co, level, &at); level++) {
    if (!lua_getinfo(co, "S", &at) || at.linedefined <= 0 || binding_is_ours(at.source))
      continue;
    *ar = at;
    found = true;
  }
  return found;
}

/* Of one that has not begun. */
static bool find_function(const realm *R, uint32_t cell, lua_Debug *ar)
{
  lua_State *store = R->store;
  lua_rawgeti(store, STORE_VALUES, (int)cell);
  if (lua_isfunction(store, -1)) return lua_getinfo(store, ">S", ar) && ar->linedefined > 0;
  lua_pop(store, 1);
  return false;
}

/* Neither allocates nor raises: the name is a string already. */
void spans_label(void *host, weft_routine *routine, char *text, size_t size)
{
  const realm *R = host;
  const record *rec = weft_routine_record(routine);
  lua_Debug ar;
  if (rec->named) {
    lua_rawgeti(R->store, STORE_NAMES, (int)weft_routine_slot(R->world, routine) + 1);
    snprintf(text, size, "%s", lua_tostring(R->store, -1));
    lua_pop(R->store, 1);
  } else if (rec->thread ? find_definition(rec->thread, &ar)
                         : find_function(R, rec->cells, &ar)) {
    snprintf(text, size, "%s:%d", ar.short_src, ar.linedefined);
  }
}

/* --- weft.trace ---------------------------------------------------------------------------- */

static uint32_t check_spans(lua_State *L)
{
  if (lua_isnoneornil(L, 1)) return 0;
  lua_Number spans = lua_type(L, 1) == LUA_TNUMBER ? lua_tonumber(L, 1) : 0;
  if (!(spans >= 1 && spans <= MAX_SPANS) || spans != (lua_Number)(uint32_t)spans)
    binding_misuse(L,
                   "weft.trace.start: a whole number of spans from 1 to 16777216 expected, "
                   "got %s",
                   binding_got(L, 1));
  return (uint32_t)spans;
}

static int api_start(lua_State *L)
{
  weft_status status = weft_trace_start(check_spans(L));
  if (status == WEFT_BUSY) {
    lua_pushnil(L);
    lua_pushliteral(L, "running");
    return 2;
  }
  if (status) return luaL_error(L, "weft.trace.start: %s", weft_status_text(status));
  lua_pushboolean(L, 1);
  return 1;
}

static int api_stop(lua_State *L)
{
  uint32_t kept;
  uint64_t dropped;
  (void)weft_trace_stop();
  weft_trace_count(&kept, &dropped);
  lua_pushinteger(L, (lua_Integer)kept);
  lua_pushinteger(L, (lua_Integer)dropped);
  return 2;
}

static int api_write(lua_State *L)
{
  if (lua_type(L, 1) != LUA_TSTRING)
    return binding_misuse(L, "weft.trace.write: a path expected, got %s", binding_got(L, 1));
  const char *path = lua_tostring(L, 1);
  if (strlen(path) != compat_raw_length(L, 1))
    return binding_misuse(L, "weft.trace.write: the path has a zero byte in it");
  if (weft_trace_write(path) == WEFT_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  const char *reason = strerror(errno);
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, reason);
  return 2;
}

static int api_is_on(lua_State *L)
{
  lua_pushboolean(L, weft_trace_is_on());
  return 1;
}

static const luaL_Reg functions[] = {{"start", api_start},
                                     {"stop", api_stop},
                                     {"write", api_write},
                                     {"isOn", api_is_on},
                                     {NULL, NULL}};

void spans_open(lua_State *L)
{
  lua_newtable(L);
  binding_functions(L, functions);
  lua_setfield(L, 2, "trace");
}
