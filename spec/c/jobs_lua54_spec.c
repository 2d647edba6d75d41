/* SPDX-License-Identifier: MIT */
/*
** jobs_lua54_spec.c - jobs of Lua under the tools that watch threads: nothing that two of them touch
** is left unguarded, nothing is left behind when the state closes.
*/
#include "lua_state.h"
#include "support/random.h"

static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  prepare_state(L);
  lua_pushinteger(L, unit_scaled(20));
  lua_setglobal(L, "rounds");
  return L;
}

static const char prelude[] = "weft, jobs = require 'weft', require 'weft.jobs'\n"
                              "routine = weft.routine\n"
                              "jobs.configure{ workers = 3 }\n"
                              "function done(job) assert(job:wait()) return job:result() end\n";

static void run_whole(const char *source)
{
  lua_State *L = open_state();
  must_run(L, prelude);
  must_run(L, source);
  lua_close(L);
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

static void values_cross_between_threads(void **state)
{
  (void)state;
  run_whole(
      "local up = { 1, { 2 } }\n"
      "for i = 1, rounds do\n"
      "  local list = {}\n"
      "  for k = 1, 20 do\n"
      "    list[k] = jobs.run(function(t, n) t.n = n + up[2][1] return t, tostring(n) end,\n"
      "      { i, k, { 'x' } }, k)\n"
      "  end\n"
      "  for k = 1, 20 do\n"
      "    local t, s = done(list[k])\n"
      "    assert(t[1] == i and t.n == k + 2 and s == tostring(k))\n"
      "  end\n"
      "end");
}

static void buffers_are_lent_and_come_back(void **state)
{
  (void)state;
  run_whole("local b = weft.buffer('f64', 1000)\n"
            "for i = 1, rounds do\n"
            "  local job = jobs.parallelFor(#b, function(first, last, buf)\n"
            "    for k = first, last do buf[k] = buf[k] + 1 end\n"
            "  end, { args = { b } })\n"
            "  assert(not pcall(function() return b[1] end))\n"
            "  done(job)\n"
            "  assert(b[1] == i and b[1000] == i)\n"
            "  local list = {}\n"
            "  for k = 1, 5 do\n"
            "    list[k] = jobs.run(function(buf) return buf[1], buf:copy() end, b:shared())\n"
            "  end\n"
            "  for k = 1, 5 do\n"
            "    local first, copy = done(list[k])\n"
            "    assert(first == i and copy[2] == i)\n"
            "  end\n"
            "end");
}

static void jobs_start_and_await_jobs(void **state)
{
  (void)state;
  run_whole(
      "local jobs = jobs\n"
      "local function fib(n)\n"
      "  if n < 2 then return n end\n"
      "  local job = jobs.run(fib, n - 1)\n"
      "  return fib(n - 2) + job:await()\n"
      "end\n"
      "for _ = 1, rounds // 8 + 1 do assert(done(jobs.run(fib, 7)) == 13) end\n"
      "local first = jobs.run(function() return { 5 } end)\n"
      "local list = {}\n"
      "for i = 1, 10 do list[i] = jobs.run(function(j) return j:await()[1] end, first) end\n"
      "for i = 1, 10 do assert(done(list[i]) == 5) end");
}

static void failures_and_cancels_come_back(void **state)
{
  (void)state;
  run_whole("for i = 1, rounds do\n"
            "  local list = {}\n"
            "  for k = 1, 20 do\n"
            "    list[k] = jobs.run(function(n) if n % 2 == 0 then error({ n }) end return n "
            "end, k)\n"
            "  end\n"
            "  for k = 1, 20 do\n"
            "    if k % 5 == 0 then list[k]:cancel() end\n"
            "    list[k]:wait()\n"
            "    local ok, value = pcall(list[k].result, list[k])\n"
            "    if value == routine.Cancelled then\n"
            "      assert(list[k]:status() == 'cancelled')\n"
            "    elseif ok then\n"
            "      assert(value == k)\n"
            "    else\n"
            "      assert(value[1] == k)\n"
            "    end\n"
            "  end\n"
            "end");
}

static void routines_await_jobs(void **state)
{
  (void)state;
  run_whole("local world = weft.world{}\n"
            "local sum = 0\n"
            "for i = 1, rounds do\n"
            "  world:start(function()\n"
            "    local n = routine.await(jobs.run(function(n) return n end, i))\n"
            "    sum = sum + n\n"
            "  end)\n"
            "end\n"
            "while world:stats().active > 0 do world:tick(0) end\n"
            "assert(sum == rounds * (rounds + 1) // 2)\n"
            "world:close()");
}

static void failures_of_jobs_of_jobs_are_told(void **state)
{
  (void)state;
  run_whole(
      "local world, told, jobs = weft.world{}, 0, jobs\n"
      "world.onError = function(_, err) told = told + (err[1] == 'lost' and 1 or 100) end\n"
      "for i = 1, rounds do\n"
      "  jobs.run(function()\n"
      "    local function fail() error{ 'lost' } end\n"
      "    local heard = jobs.run(fail)\n"
      "    pcall(heard.await, heard)\n"
      "    jobs.run(fail)\n"
      "    jobs.parallelFor(3, function(first) if first == 2 then jobs.run(fail) end end,\n"
      "      { grain = 1 })\n"
      "  end)\n"
      "  if i % 4 == 0 then world:tick(0) end\n"
      "end\n"
      "jobs.waitAll()\n"
      "for _ = 1, 3 do world:tick(0) end\n"
      "assert(told == 2 * rounds, told)\n"
      "world:close()");
}

static void a_state_may_close_while_jobs_run(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < unit_scaled(8); i++)
    run_whole("local b = weft.buffer('f64', 100)\n"
              "local gate = jobs.barrier(1)\n"
              "for i = 1, 30 do\n"
              "  jobs.run(function(n, buf) local t = {} for k = 1, n do t[k] = buf[k] end\n"
              "    return t, buf end, i, b:shared())\n"
              "end\n"
              "jobs.run(function(g) g:await() end, gate)");
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(values_cross_between_threads),
      cmocka_unit_test(buffers_are_lent_and_come_back),
      cmocka_unit_test(jobs_start_and_await_jobs),
      cmocka_unit_test(failures_and_cancels_come_back),
      cmocka_unit_test(routines_await_jobs),
      cmocka_unit_test(failures_of_jobs_of_jobs_are_told),
      cmocka_unit_test(a_state_may_close_while_jobs_run),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
