/* SPDX-License-Identifier: MIT */
/*
** states_lua54_spec.c - several Lua states of one process, each with the module open.
**
** The states share nothing but the thread. What runs in one is nowhere inside a routine, a world
** or a tick of the other, but for the one rule that a tick inside a tick is refused.
*/
#include "lua_state.h"

#include <string.h>

static const char prelude[] = "weft, routine = require 'weft', require 'weft.routine'\n"
                              "world = weft.world{ capacity = 8 }\n";

/* other(source): runs source in the state behind the upvalue; its first result as a string. */
static int run_in_other(lua_State *L)
{
  lua_State **other = lua_touserdata(L, lua_upvalueindex(1));
  if (luaL_dostring(*other, luaL_checkstring(L, 1)) != LUA_OK) {
    lua_pushstring(L, lua_tostring(*other, -1));
    lua_settop(*other, 0);
    return lua_error(L);
  }
  lua_pushstring(L, luaL_tolstring(*other, 1, NULL));
  lua_settop(*other, 0);
  return 1;
}

static int close_other(lua_State *L)
{
  lua_State **other = lua_touserdata(L, lua_upvalueindex(1));
  lua_close(*other);
  *other = NULL;
  return 0;
}

/* The two states of a spec: `first` may call into `second`. */
static lua_State *first, *second;

static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  prepare_state(L);
  must_run(L, prelude);
  return L;
}

static int open_both(void **state)
{
  (void)state;
  first = open_state();
  second = open_state();
  lua_pushlightuserdata(first, &second);
  lua_pushcclosure(first, run_in_other, 1);
  lua_setglobal(first, "other");
  lua_pushlightuserdata(first, &second);
  lua_pushcclosure(first, close_other, 1);
  lua_setglobal(first, "closeOther");
  return 0;
}

static int close_both(void **state)
{
  (void)state;
  if (first) lua_close(first);
  if (second) lua_close(second);
  first = second = NULL;
  return 0;
}

static const char sleepers[] =
    "done = 0\n"
    "for i = 1, 3 do\n"
    "  world:start(function() routine.wait(i) done = done + 1 end)\n"
    "  world:start(function()\n"
    "    table.sort({ 1, 2 }, function(a, b) routine.wait(i) return a < b end)\n"
    "    done = done + 1\n"
    "  end)\n"
    "end\n";

static void ticks_of_two_states_may_alternate(void **state)
{
  (void)state;
  must_run(first, sleepers);
  must_run(second, sleepers);
  for (int i = 0; i < 12; i++) {
    must_run(first, "world:tick(1) collectgarbage()");
    must_run(second, "world:tick(1) collectgarbage()");
  }
  must_run(first, "assert(done == 6 and world:stats().active == 0)");
  must_run(second, "assert(done == 6 and world:stats().active == 0)");
}

static void a_routine_of_one_state_is_none_in_the_other(void **state)
{
  (void)state;
  must_run(first, "world:start(function()\n"
                  "  assert(other 'return (routine.self())' == 'nil')\n"
                  "  local ok, err = pcall(other, 'routine.wait(1)')\n"
                  "  assert(not ok and err:find 'not inside a routine', err)\n"
                  "  assert(other 'return pcall(routine.defer, print)' == 'false')\n"
                  "  assert(other 'return pcall(routine.world)' == 'false')\n"
                  "  assert(routine.wait(1) == 1)\n"
                  "  passed = true\n"
                  "end)\n"
                  "world:tick(0) world:tick(1) assert(passed)");
}

static void module_functions_act_on_a_world_of_their_own_state(void **state)
{
  (void)state;
  must_run(first, "world:start(function()\n"
                  "  other 'handle = routine.start(function() ran = true end)'\n"
                  "end)\n"
                  "world:tick(0)");
  must_run(second, "assert(world:stats().started == 0)\n"
                   "weft.default():tick(0) assert(ran and handle:status() == 'completed')");
}

static void a_tick_inside_a_tick_of_the_other_state_is_refused(void **state)
{
  (void)state;
  must_run(second, sleepers);
  must_run(first, "world:on('update', function()\n"
                  "  refused = other 'return pcall(world.tick, world, 1)'\n"
                  "end)\n"
                  "world:tick(0) assert(refused == 'false')");
  must_run(second, "assert(world.tickCount == 0) for i = 1, 9 do world:tick(1) end\n"
                   "assert(done == 6)");
}

static void routines_may_be_started_from_a_routine_of_the_other_state(void **state)
{
  (void)state;
  must_run(first, "world:start(function()\n"
                  "  other 'handle = world:start(function() routine.wait(1) ran = true end)'\n"
                  "  other 'world:start(function() error \"never\" end):cancel()'\n"
                  "end)\n"
                  "world:tick(0)");
  must_run(second, "world:tick(0) world:tick(1) assert(ran)");
}

static void a_state_may_be_closed_inside_a_routine_of_the_other(void **state)
{
  (void)state;
  must_run(second, sleepers);
  must_run(second, "world:tick(0)");
  must_run(first, sleepers);
  must_run(first, "world:start(function()\n"
                  "  closeOther()\n"
                  "  table.sort({ 1, 2 }, function(a, b) routine.wait(1) return a < b end)\n"
                  "  passed = true\n"
                  "end)\n"
                  "for i = 1, 9 do world:tick(1) end\n"
                  "assert(passed and done == 6)");
}

static void a_state_may_be_closed_and_another_opened_many_times(void **state)
{
  (void)state;
  for (int i = 0; i < 50; i++) {
    lua_close(second);
    second = open_state();
    must_run(second, sleepers);
    must_run(second, "world:tick(0) world:tick(1)");
  }
  must_run(first, sleepers);
  must_run(first, "for i = 1, 9 do world:tick(1) end assert(done == 6)");
}

#define SPEC(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void)
{
  const struct CMUnitTest specs[] = {
      SPEC(ticks_of_two_states_may_alternate),
      SPEC(a_routine_of_one_state_is_none_in_the_other),
      SPEC(module_functions_act_on_a_world_of_their_own_state),
      SPEC(a_tick_inside_a_tick_of_the_other_state_is_refused),
      SPEC(routines_may_be_started_from_a_routine_of_the_other_state),
      SPEC(a_state_may_be_closed_inside_a_routine_of_the_other),
      SPEC(a_state_may_be_closed_and_another_opened_many_times),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
