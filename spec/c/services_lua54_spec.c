/* SPDX-License-Identifier: MIT */
/*
** services_lua54_spec.c - services, threads, jobs, saves and the routines of two worlds at once, in
** random programs, under the tools that watch threads: each call ends once, nothing that two of them
** touch is left unguarded, nothing is left behind when the state closes.
*/
#define _GNU_SOURCE
#include "support/saves.h"

#include <stdio.h>

#include "lua_state.h"
#include "support/random.h"

/* What went wrong, for the seed that it went wrong with. */
static char wrong[1024];

static lua_State *open_state(uint64_t seed)
{
  lua_State *L = luaL_newstate();
  prepare_state(L);
  lua_pushinteger(L, (lua_Integer)seed);
  lua_setglobal(L, "seed");
  lua_pushstring(L, saves_path);
  lua_setglobal(L, "path");
  return L;
}

/* Runs a part of a program; what is left for the state's end is left. */
static bool run_part(lua_State *L, const char *source)
{
  if (wrong[0] || luaL_dostring(L, source) == LUA_OK) return !wrong[0];
  snprintf(wrong, sizeof wrong, "%s", lua_tostring(L, -1));
  return false;
}

/* A servant does what it is told, and counts nothing: who calls it knows what must come back. The
   last of the services, `leaf`, only echoes: others may wait for it without a ring. */
static const char ground[] =
    "weft, jobs = require 'weft', require 'weft.jobs'\n"
    "routine, save, service = weft.routine, weft.save, require 'weft.service'\n"
    "jobs.configure{ workers = 2, background = 1 }\n"
    "math.randomseed(seed)\n"
    "pick, calls, threads, sent = math.random, {}, {}, 0\n"
    "local function serve()\n"
    "  local own = require 'weft.service'\n"
    "  for what, x, leaf in own.receive do\n"
    "    if what == 'fail' then error('planned', 0) end\n"
    "    if what == 'leave' then return end\n"
    "    if what == 'tell' then own.post('news', x) end\n"
    "    if what == 'relay' then\n"
    "      local call = leaf:call('echo', x)\n"
    "      if call and call:wait() then x = call:result() end\n"
    "    end\n"
    "    if what == 'change' then x[1] = x[1] + 1 end\n"
    "    if what ~= 'silence' then own.reply(x) end\n"
    "  end\n"
    "end\n"
    "local function watch(x)\n"
    "  local own = require 'weft.thread'\n"
    "  repeat own.post('news', x) until own.wait(0.001)\n"
    "end\n"
    "function new_service() return weft.service{ main = serve, inbox = pick(1, 8) } end\n"
    "function new_thread() threads[#threads + 1] = weft.thread(watch, #threads) end\n"
    "function new_world()\n"
    "  local world = weft.world{}\n"
    "  world.onError = function(_, err)\n"
    "    if not tostring(err):find 'planned' then unplanned = err end\n"
    "  end\n"
    "  world:onPost('news', function(x) assert(math.type(x) == 'integer') end)\n"
    "  return world\n"
    "end\n"
    "function within(world, fn)\n"
    "  local ok, err\n"
    "  world:post(function() ok, err = pcall(fn) end)\n"
    "  world:tick(0)\n"
    "  assert(ok, err)\n"
    "end\n"
    "home, other = new_world(), new_world()\n"
    "list = {}\n"
    "within(home, function()\n"
    "  leaf = weft.service{ main = serve }\n"
    "  for i = 1, 3 do list[i] = new_service() end\n"
    "  new_thread()\n"
    "end)\n";

static const char routines[] =
    "local buffer = weft.buffer('i32', 5000)\n"
    "local saved, filling = 0, nil\n"
    "local function busy() return filling and not filling:isComplete() end\n"
    "local function fill(b, n) for i = 1, #b do b[i] = n end end\n"
    "local function ask(s, what, ...)\n"
    "  local call, reason = s:call(what, ...)\n"
    "  assert(call or reason == 'full' or reason == 'closed')\n"
    "  calls[#calls + 1] = call\n"
    "  return call\n"
    "end\n"
    "local function answer(call, expected, limit)\n"
    "  local ok, x = pcall(routine.await, call, limit)\n"
    "  if x == routine.Cancelled and routine.isCancelled() then error(x, 0) end\n"
    "  if ok and x ~= nil then assert(x == expected, 'another answer') end\n"
    "end\n"
    "local function in_job(s, x)\n"
    "  local call = s:call('echo', x)\n"
    "  if not (call and call:wait()) then return end\n"
    "  local ok, back = pcall(call.result, call)\n"
    "  assert(not ok or back == x)\n"
    "end\n"
    "local function one()\n"
    "  local s, n = list[pick(#list)], pick(1000)\n"
    "  local what = pick(14)\n"
    "  if what <= 3 then\n"
    "    local call = ask(s, what == 1 and 'tell' or 'echo', n)\n"
    "    if call then answer(call, n) end\n"
    "  elseif what == 4 then\n"
    "    local call = ask(s, 'echo', n)\n"
    "    if call then answer(call, n, 0.001) end\n"
    "  elseif what == 5 then\n"
    "    local call = ask(s, 'echo', n)\n"
    "    if call then call:cancel() end\n"
    "  elseif what == 6 then\n"
    "    s:tryPost(pick(4) == 1 and 'silence' or 'tell', n)\n"
    "  elseif what == 7 then\n"
    "    ask(s, 'silence', n)\n"
    "  elseif what == 8 then\n"
    "    local call = ask(s, 'relay', n, leaf)\n"
    "    if call then answer(call, n) end\n"
    "  elseif what == 9 then\n"
    "    local job = jobs.run(in_job, pick(2) == 1 and leaf or list[1], n)\n"
    "    if job then pcall(routine.await, job) end\n"
    "  elseif what == 10 and saved < 2 and not busy() then\n"
    "    saved = saved + 1\n"
    "    local job = save.write(path, { n = n, b = buffer, t = { { 'x' } } })\n"
    "    if pick(2) == 1 then routine.await(job) end\n"
    "  elseif what == 11 and not busy() then\n"
    "    filling = jobs.run(fill, buffer, n)\n"
    "    routine.await(filling)\n"
    "  elseif what == 12 then\n"
    "    local b = weft.buffer('i32', 100):fill(n)\n"
    "    local call = ask(s, 'change', b)\n"
    "    if call then\n"
    "      local ok, back = pcall(routine.await, call)\n"
    "      if ok then assert(back[1] == n + 1 and back[100] == n) end\n"
    "    end\n"
    "  elseif what == 13 then\n"
    "    local call = ask(s, pick(2) == 1 and 'fail' or 'leave')\n"
    "    if call then pcall(routine.await, call) end\n"
    "  elseif what == 14 then\n"
    "    s:stop(pick(2) == 1 and 0 or nil)\n"
    "    if pick(2) == 1 then s:join() end\n"
    "  end\n"
    "end\n"
    "local function body() for _ = 1, 12 do one() routine.nextTick() end end\n"
    "local handles = {}\n"
    "for i = 1, 10 do handles[i] = (i % 3 == 0 and other or home):start(body) end\n"
    "local ticks = 0\n"
    "while home:stats().active + other:stats().active > 0 do\n"
    "  home:tick(0.001) other:tick(0.001)\n"
    "  ticks = ticks + 1\n"
    "  if pick(40) == 1 then handles[pick(10)]:cancel() end\n"
    "  for i = 1, ticks < 500 and #list or 0 do\n"
    "    local status = list[i]:status()\n"
    "    if (status == 'ended' or status == 'failed') and pick(8) == 1 then\n"
    "      within(home, function() list[i] = new_service() end)\n"
    "    end\n"
    "  end\n"
    "end\n"
    "if unplanned then error(unplanned, 0) end\n";

/* Everybody is told to stop in an order of chance; then each call has ended, and says how. */
static const char endings[] =
    "local way = pick(3)\n"
    "if way == 1 then home:close() end\n"
    "if way == 2 then\n"
    "  for _, s in ipairs(list) do s:stop(pick(2) == 1 and 0 or nil) end\n"
    "  for _, s in ipairs(list) do s:join() end\n"
    "end\n"
    "if way < 3 then\n"
    "  local ends = { completed = true, failed = true, cancelled = true }\n"
    "  for _, call in ipairs(calls) do\n"
    "    assert(call:wait() and ends[call:status()], 'a call without an end')\n"
    "    pcall(call.result, call)\n"
    "  end\n"
    "end\n"
    "if pick(2) == 1 then other:close() end\n"
    "if unplanned then error(unplanned, 0) end\n";

static const char *run_seed(uint64_t seed)
{
  wrong[0] = '\0';
  lua_State *L = open_state(seed);
  if (run_part(L, ground) && run_part(L, routines)) (void)run_part(L, endings);
  lua_close(L);
  if (!wrong[0] && weft_buffer_all_bytes() != 0)
    snprintf(wrong, sizeof wrong, "memory of buffers is left");
  return wrong[0] ? wrong : NULL;
}

static void services_jobs_saves_and_routines_work_at_once(void **state)
{
  (void)state;
  unit_for_seeds(unit_has_tsan() ? 48 : 24, run_seed);
}

static int make_folder(void **state)
{
  (void)state;
  return make_saves_folder();
}

static int drop_folder(void **state)
{
  (void)state;
  return drop_saves_folder();
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test_setup_teardown(services_jobs_saves_and_routines_work_at_once,
                                      make_folder, drop_folder),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
