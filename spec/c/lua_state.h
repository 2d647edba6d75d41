/* SPDX-License-Identifier: MIT */
/*
** lua_state.h - Lua states in the specs that hold one. It is compiled with the Lua of each of them,
** as the binding is that is inside them.
*/
#ifndef WEFT_SPEC_LUA_STATE_H
#define WEFT_SPEC_LUA_STATE_H

#include "support/unit.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int luaopen_weft_core(lua_State *L);

/* Gives a new state its libraries, and lets it find weft and the modules beside the specs. */
static inline void prepare_state(lua_State *L)
{
  assert_non_null(L);
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushliteral(L, "lua/?.lua;lua/?/init.lua;spec/c/?.lua");
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_weft_core);
  lua_setfield(L, -2, "weft.core");
  lua_settop(L, 0);
}

/* Runs source, which must not raise. */
static inline void must_run(lua_State *L, const char *source)
{
  if (luaL_dostring(L, source) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_settop(L, 0);
}

/* The same with a number as its argument, which is told if it raises. */
static inline void must_run_with(lua_State *L, const char *source, uint64_t seed)
{
  if (luaL_loadstring(L, source) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_pushnumber(L, (lua_Number)seed);
  if (lua_pcall(L, 1, 0, 0)) fail_msg("seed %d: %s", (int)seed, lua_tostring(L, -1));
}

#endif
