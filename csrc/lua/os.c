/* SPDX-License-Identifier: MIT */
/*
** os.c - what the command line needs of the machine: its clock, sleeping, and Ctrl-C.
*/
#include <math.h>
#include <signal.h>

#include "lua/binding.h"

static volatile sig_atomic_t interrupts;

/* The first Ctrl-C asks the loop to end, the second ends the process at once. */
static void on_interrupt(int number)
{
  interrupts = interrupts + 1;
  signal(number, SIG_DFL);
}

/* Monotonic seconds. */
static int os_clock(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)weft_clock() / 1e9);
  return 1;
}

/* seconds, however far, world -> whether it was a descriptor of the world's that ended it; without a
   world it is the clock alone */
static int os_sleep_until(lua_State *L)
{
  double seconds = luaL_checknumber(L, 1);
  const realm *R = lua_isnoneornil(L, 2) ? NULL : world_check_open(L, 2, "world:run");
  double ns = seconds * 1e9;
  int64_t until = !(ns > 0) ? 0 : ns < 9e18 ? (int64_t)llrint(ns) : INT64_MAX;
  if (!R) weft_sleep_until(until);
  lua_pushboolean(L, R && weft_world_sleep_until(R->world, until));
  return 1;
}

static int os_catch_interrupt(lua_State *L)
{
  (void)L;
  signal(SIGINT, on_interrupt);
  return 0;
}

/* How many came since. */
static int os_interrupted(lua_State *L)
{
  lua_pushinteger(L, interrupts);
  return 1;
}

static const luaL_Reg functions[] = {{"clock", os_clock},
                                     {"sleepUntil", os_sleep_until},
                                     {"catchInterrupt", os_catch_interrupt},
                                     {"interrupted", os_interrupted},
                                     {NULL, NULL}};

void os_open(lua_State *L)
{
  binding_functions(L, functions);
}
