/* SPDX-License-Identifier: MIT */
/*
** transfer_names.c - what every state has of its own and what therefore travels as a name: functions
** of the standard library, its tables, weft's modules and their functions.
**
** The names are taken when weft.jobs is loaded, those of weft's own modules when these are: what a
** script puts into the tables is no part of them, whether before or later.
*/
#include <string.h>

#include "lua/transfer.h"

/* Their addresses are the keys of two tables: names by value, and values by name. */
static const char by_value_key, by_name_key;

static void push_table(lua_State *L, const char *key)
{
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

bool names_find(lua_State *L)
{
  push_table(L, &by_value_key);
  lua_pushvalue(L, -2);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  bool found = !lua_isnil(L, -1);
  if (!found) lua_pop(L, 1);
  return found;
}

bool names_push(lua_State *L, const char *name, size_t length)
{
  push_table(L, &by_name_key);
  lua_pushlstring(L, name, length);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  bool found = !lua_isnil(L, -1);
  if (!found) lua_pop(L, 1);
  return found;
}

bool names_is_globals(lua_State *L, int index)
{
  index = lua_absindex(L, index);
  compat_push_globals(L);
  bool same = lua_rawequal(L, -1, index);
  lua_pop(L, 1);
  if (same || !lua_getmetatable(L, index)) return same;
  lua_pushliteral(L, "__metatable");
  lua_rawget(L, -2);
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  same = strcmp(name, "weft.JobGlobals") == 0; /* lua/weft/job_globals.lua */
  lua_pop(L, 2);
  return same;
}

/* name, value -> ; the first name of a value stays */
static void note(lua_State *L)
{
  push_table(L, &by_name_key);
  lua_pushvalue(L, -3);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  push_table(L, &by_value_key);
  lua_pushvalue(L, -3);
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_pushvalue(L, -4);
    lua_pushvalue(L, -6);
    lua_rawset(L, -4);
  }
  lua_pop(L, 5);
}

/* Function on top: whether it is the machine's own, and not a script's. LuaJIT has some in Lua. */
static bool is_built_in(lua_State *L)
{
  lua_Debug ar;
  if (lua_iscfunction(L, -1)) return true;
  if (!lua_isfunction(L, -1)) return false;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", &ar);
  return strncmp(ar.source, "=[builtin:", 10) == 0;
}

/* The table on top and its functions, as `name` and `name.function`. */
static void note_fields(lua_State *L, const char *name, bool ours)
{
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    bool noted = ours ? lua_isfunction(L, -1) : is_built_in(L);
    if (noted && lua_type(L, -2) == LUA_TSTRING) {
      lua_pushfstring(L, "%s.%s", name, lua_tostring(L, -2));
      lua_pushvalue(L, -2);
      note(L);
    }
    lua_pop(L, 1);
  }
  lua_pushstring(L, name);
  lua_pushvalue(L, -2);
  note(L);
}

/* table, name: one of weft's own modules that has been loaded. */
static int api_own_module(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *name = luaL_checkstring(L, 2);
  lua_pushvalue(L, 1);
  note_fields(L, name, true);
  return 0;
}

/* Functions of the base library: those in the globals. Not `_G` itself, which is each job's own. */
static void note_globals(lua_State *L)
{
  compat_push_globals(L);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_type(L, -2) == LUA_TSTRING && lua_iscfunction(L, -1)) {
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      note(L);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void note_libraries(lua_State *L)
{
  static const char *const libraries[] = {"string", "table", "math",      "io",
                                          "os",     "debug", "coroutine", "utf8",
                                          "bit",    "jit",   "package"};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L, -1, libraries[i]);
    if (lua_istable(L, -1)) note_fields(L, libraries[i], false);
    lua_pop(L, 2);
  }
}

/* Takes the names, as they are now. */
static int api_take_names(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&by_name_key);
  lua_createtable(L, 0, 256);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(L, (void *)&by_value_key);
  lua_createtable(L, 0, 256);
  lua_rawset(L, LUA_REGISTRYINDEX);
  note_globals(L);
  note_libraries(L);
  return 0;
}

static const luaL_Reg functions[] = {
    {"takeNames", api_take_names}, {"ownModule", api_own_module}, {NULL, NULL}};

/* Module table on top. */
void names_open(lua_State *L)
{
  binding_functions(L, functions);
}
