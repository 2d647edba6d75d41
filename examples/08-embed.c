/* SPDX-License-Identifier: MIT */
/*
** 08-embed.c - a host with its own Lua and its own tick loop. The module is linked in, so the
** process has one copy of the library; scripts call into the host as from any Lua.
**
**   make examples && build/release/examples/08-embed-lua5.4
*/
#include <stdio.h>
#include <lauxlib.h>
#include <lualib.h>

int luaopen_weft_core(lua_State *L);

static const char script[] =
    "package.path = 'lua/?.lua;lua/?/init.lua;' .. package.path\n"
    "package.preload['weft.core'] = ...\n"
    "local world, routine = require 'weft'.default(), require 'weft.routine'\n"
    "world.onError = function(_, err) print('told: ' .. err) end\n"
    "routine.start(function()\n"
    "  for x = 1, 2 do moveTo(x) routine.wait(0.1) end\n"
    "  error('there is a wall', 0)\n"
    "end)\n"
    "return world";
/* moveTo(x): a function of the engine. */
static int move_to(lua_State *L)
{
  printf("the actor moves to %d\n", (int)luaL_checknumber(L, 1));
  return 0;
}

/* world:METHOD(number), the world at index 1; 0 if it went well. */
static int call(lua_State *L, const char *method, double number)
{
  lua_settop(L, 1);
  lua_getfield(L, 1, method);
  lua_pushvalue(L, 1);
  lua_pushnumber(L, number);
  return lua_pcall(L, 2, 0, 0);
}

int main(void)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "moveTo", move_to);
  int failed = luaL_loadstring(L, script);
  lua_pushcfunction(L, luaopen_weft_core);
  failed = failed || lua_pcall(L, 1, 1, 0); /* -> world */
  for (int frame = 0; !failed && frame < 30; frame++) failed = call(L, "tick", 1 / 60.0);
  failed = failed || call(L, "close", 0);
  if (failed) fprintf(stderr, "08-embed: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed;
}
/* Output:
the actor moves to 1
the actor moves to 2
told: there is a wall
*/
