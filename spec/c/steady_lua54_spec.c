/* SPDX-License-Identifier: MIT */
/*
** steady_lua54_spec.c - what scripts do all the time asks for no memory, once it has run a while:
** not in C, and not in Lua either. The collector stands still, so every request is counted.
*/
#include "lua_state.h"

#include <stdlib.h>

#include "platform/system.h"

static size_t lua_requests, core_requests;
static struct weft__system real;

static void *counting_memory(void *ud, void *block, size_t old_size, size_t size)
{
  (void)ud, (void)old_size;
  if (size == 0) {
    free(block);
    return NULL;
  }
  lua_requests++;
  return realloc(block, size);
}

static void *counting_malloc(size_t size)
{
  core_requests++;
  return real.malloc(size);
}

static void *counting_calloc(size_t count, size_t size)
{
  core_requests++;
  return real.calloc(count, size);
}

static int open_state(void **state)
{
  real = weft__system;
  weft__system.malloc = counting_malloc;
  weft__system.calloc = counting_calloc;
  lua_State *L = lua_newstate(counting_memory, NULL);
  prepare_state(L);
  must_run(L, "weft, routine = require 'weft', require 'weft.routine'\n"
              "world = weft.world{ capacity = 64 }\n");
  *state = L;
  return 0;
}

static int close_state(void **state)
{
  lua_close(*state);
  weft__system = real;
  return 0;
}

/* `source` defines a global function `round`. */
static void asks_for_nothing(lua_State *L, const char *source)
{
  must_run(L, source);
  must_run(L, "for _ = 1, 20 do round() end collectgarbage() collectgarbage 'stop'");
  lua_getglobal(L, "round");
  size_t lua_before = lua_requests, core_before = core_requests;
  for (int i = 0; i < 1000; i++) {
    lua_pushvalue(L, -1);
    assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_OK);
  }
  assert_int_equal(lua_requests, lua_before);
  assert_int_equal(core_requests, core_before);
}

static void messages_ask_for_no_memory(void **state)
{
  asks_for_nothing(*state, "local owners, heard = {}, 0\n"
                           "for i = 1, 10 do\n"
                           "  owners[i] = world:owner()\n"
                           "  owners[i]:on('a', function(n) heard = heard + n end)\n"
                           "  owners[i]:on('b', function() heard = heard + 1 end)\n"
                           "end\n"
                           "function round()\n"
                           "  for i = 1, 10 do world:send(owners[i], 'a', i, nil) end\n"
                           "  world:broadcast('b', nil, 2, nil)\n"
                           "  world:tick(0.01)\n"
                           "end\n");
}

static void posts_and_waits_ask_for_no_memory(void **state)
{
  asks_for_nothing(*state,
                   "local posted = 0\n"
                   "local function post() posted = posted + 1 end\n"
                   "for _ = 1, 10 do\n"
                   "  world:start(function() while true do routine.wait(0.02) end end)\n"
                   "end\n"
                   "function round()\n"
                   "  for _ = 1, 10 do world:post(post) end\n"
                   "  world:post(post, 'high')\n"
                   "  world:tick(0.01)\n"
                   "end\n");
}

static void signals_ask_for_no_memory(void **state)
{
  asks_for_nothing(*state, "local signal, heard = weft.signal(), 0\n"
                           "signal:connect(function(n) heard = heard + n end)\n"
                           "for _ = 1, 10 do\n"
                           "  world:start(function() while true do signal:wait() end end)\n"
                           "  world:start(function()\n"
                           "    local function wait() signal:wait(1) return false end\n"
                           "    local list = {1, 2}\n"
                           "    while true do table.sort(list, wait) end\n"
                           "  end)\n"
                           "end\n"
                           "local stay = world:start(function() signal:wait(1e6) end)\n"
                           "function round()\n"
                           "  signal:fire(1, nil, world)\n"
                           "  world:tick(0.01)\n"
                           "  signal:fireOne(2, 'x')\n"
                           "  signal:fireOne(3)\n"
                           "  world:tick(0.01)\n"
                           "end\n");
}

static void channels_and_locks_ask_for_no_memory(void **state)
{
  asks_for_nothing(*state, "local channel, mutex, chairs = weft.channel(3), weft.mutex(), "
                           "weft.semaphore(2)\n"
                           "for i = 1, 5 do\n"
                           "  world:start(function() while true do channel:put(i) end end)\n"
                           "  world:start(function() while true do channel:get(1) end end)\n"
                           "  world:start(function()\n"
                           "    while true do\n"
                           "      mutex:lock() routine.nextTick() mutex:unlock()\n"
                           "      chairs:acquire(1) routine.nextTick() chairs:release()\n"
                           "    end\n"
                           "  end)\n"
                           "end\n"
                           "function round() world:tick(0.01) end\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_state, close_state)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(messages_ask_for_no_memory),
      TEST(posts_and_waits_ask_for_no_memory),
      TEST(signals_ask_for_no_memory),
      TEST(channels_and_locks_ask_for_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
