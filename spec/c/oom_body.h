/* SPDX-License-Identifier: MIT */
/*
** oom_body.h - memory that fails, one request at a time, under all that scripts do. The same
** specs for both machines: oom_lua54_spec.c and oom_luajit_spec.c are nothing but this.
**
** Every scenario of oom_scenarios.lua is run again and again with the nth request failing, for
** n = 1, 2, ... until it gets through without reaching the nth. Requests fail once or from the
** nth on, and they are Lua's (its allocator) or the core's (the table of system calls: malloc,
** mmap and so on). After each run the world must still work, close, and give back every byte.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include "lua_state.h"
#include "platform/system.h"
#include "support/unit.h"

/* --- Requests that fail --------------------------------------------------------------------- */

enum origin { OF_LUA, OF_CORE };

static struct {
  enum origin origin;
  bool lasting;   /* all requests from the nth on fail, not only that one */
  size_t left;    /* requests that are still granted; counts only while armed */
  size_t request; /* which one fails, from 1 */
  bool armed, fired;
} fault;

static size_t lua_bytes, core_blocks;
static int reports;

static bool refused(enum origin origin)
{
  if (!fault.armed || fault.origin != origin) return false;
  if (fault.fired) return fault.lasting;
  if (fault.left-- > 0) return false;
  return fault.fired = true;
}

static void *lua_memory(void *ud, void *block, size_t old_size, size_t size)
{
  (void)ud;
  if (!block) old_size = 0;
  if (size == 0) {
    free(block);
    lua_bytes -= old_size;
    return NULL;
  }
  if (size > old_size && refused(OF_LUA)) return NULL;
  void *moved = realloc(block, size);
  if (moved) lua_bytes += size - old_size;
  return moved;
}

static struct weft__system real;

static void *failing_malloc(size_t size)
{
  void *block = refused(OF_CORE) ? NULL : real.malloc(size);
  core_blocks += block != NULL;
  return block;
}

static void *failing_calloc(size_t count, size_t size)
{
  void *block = refused(OF_CORE) ? NULL : real.calloc(count, size);
  core_blocks += block != NULL;
  return block;
}

static void counting_free(void *block)
{
  core_blocks -= block != NULL;
  real.free(block);
}

static void *failing_map(size_t bytes)
{
  if (!refused(OF_CORE)) return real.map(bytes);
  errno = ENOMEM;
  return real.map(SIZE_MAX / 2); /* fails in the way the real one does */
}

static int failing_madvise(void *base, size_t bytes, int advice)
{
  if (!refused(OF_CORE)) return real.madvise(base, bytes, advice);
  errno = ENOMEM;
  return -1;
}

static int failing_mprotect(void *base, size_t bytes, int protection)
{
  if (!refused(OF_CORE)) return real.mprotect(base, bytes, protection);
  errno = ENOMEM;
  return -1;
}

static int failing_mincore(void *base, size_t bytes, unsigned char *pages)
{
  if (!refused(OF_CORE)) return real.mincore(base, bytes, pages);
  errno = EAGAIN;
  return -1;
}

static int take_system(void **state)
{
  (void)state;
  real = weft__system;
  weft__system.malloc = failing_malloc;
  weft__system.calloc = failing_calloc;
  weft__system.free = counting_free;
  weft__system.map = failing_map;
  weft__system.madvise = failing_madvise;
  weft__system.mprotect = failing_mprotect;
  weft__system.mincore = failing_mincore;
  return 0;
}

static int give_system_back(void **state)
{
  (void)state;
  weft__system = real;
  return 0;
}

/* --- One run -------------------------------------------------------------------------------- */

static const char prelude[] = "local weft, routine = require 'weft', require 'weft.routine'\n"
                              "local world = weft.world{ capacity = 8 }\n"
                              "world.onError = report\n"
                              "return weft, routine, world\n";

static const char aftermath[] =
    "local weft, routine, world = ...\n"
    "if not pcall(world.stats, world) then\n"
    "  world = weft.world{ capacity = 8 }\n"
    "  world.onError = report\n"
    "end\n"
    "for i = 1, 40 do world:tick(1) end\n"
    "local active = world:stats().active\n"
    "assert(active == 0, 'routines that never end: ' .. active)\n"
    "local slept\n"
    "assert(world:start(function()\n"
    "  table.sort({ 1, 2 }, function(a, b) slept = routine.wait(2) return a < b end)\n"
    "end))\n"
    "for i = 1, 20 do world:tick(1) end\n"
    "assert(slept == 2, 'the world does not work any more')\n"
    "assert(world:stats().pinned == 0)\n"
    "world:close()\n";

static int count_report(lua_State *L)
{
  (void)L;
  reports++;
  return 0;
}

static lua_State *open_state(void)
{
  lua_State *L = lua_newstate(lua_memory, NULL);
  prepare_state(L);
  lua_register(L, "report", count_report);
  /* LuaJIT's FFI loses memory of its own when it cannot be opened: it is there before. */
  if (luaL_dostring(L, "pcall(require, 'ffi')")) fail_msg("%s", lua_tostring(L, -1));
  /* Nor does it survive that code which it has compiled gets no memory: all is interpreted here. */
  if (luaL_dostring(L, "if jit then jit.off() end")) fail_msg("%s", lua_tostring(L, -1));
  return L;
}

/* chunk, arguments -> results; stops the spec if it raises. */
static void must_call(lua_State *L, int arguments, int results, const char *what)
{
  if (lua_pcall(L, arguments, results, 0) == LUA_OK) return;
  fail_msg("%s, after request %zu: %s", what, fault.request, lua_tostring(L, -1));
}

static void load(lua_State *L, const char *source, const char *name)
{
  if (luaL_loadbuffer(L, source, strlen(source), name) != LUA_OK) {
    fail_msg("%s: %s", name, lua_tostring(L, -1));
  }
}

static void arm(enum origin origin, bool lasting, size_t granted)
{
  fault.origin = origin;
  fault.lasting = lasting;
  fault.left = granted;
  fault.request = granted + 1;
  fault.fired = false;
  fault.armed = true;
}

/* Whether an error says that it was memory, or a stack, that was missing. */
static bool tells(lua_State *L, int status)
{
  if (status == LUA_ERRMEM) return true;
  const char *text = lua_tostring(L, -1);
  return text && (strstr(text, "memory") || strstr(text, "stack"));
}

/* Judges how the armed function ended; its result or its error is on top. */
static void judge(lua_State *L, int status, bool printed, const char *name)
{
  if (status != LUA_OK) {
    if (!tells(L, status))
      fail_msg("%s, request %zu: %s", name, fault.request, lua_tostring(L, -1));
    return;
  }
  const char *verdict = lua_tostring(L, -1);
  bool said = printed || reports > 0 || (verdict && strcmp(verdict, "told") == 0);
  bool complete = verdict && strcmp(verdict, "complete") == 0;
  if (!said && !complete)
    fail_msg("%s, request %zu: failed without a word", name, fault.request);
}

/* -> weft, routine, world, the scenario's function; the scenario's name is returned. */
static const char *prepare(lua_State *L, int index)
{
  load(L, prelude, "=prelude");
  must_call(L, 0, 3, "prelude");
  if (luaL_dofile(L, "spec/c/oom_scenarios.lua")) fail_msg("%s", lua_tostring(L, -1));
  lua_rawgeti(L, 4, index);
  lua_remove(L, 4);
  if (lua_isnil(L, 4)) return NULL;
  lua_getfield(L, 4, "name");
  const char *name = lua_tostring(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, "weft.spec.scenario");
  lua_getfield(L, 4, "make");
  lua_remove(L, 4);
  for (int i = 1; i <= 3; i++) lua_pushvalue(L, i);
  must_call(L, 3, 1, name);
  return name;
}

/* Calls the function on top with request n + 1 failing, and judges how that ends. */
static void act(lua_State *L, const char *name, enum origin origin, bool lasting, size_t n)
{
  reports = 0;
  unit_catch_stderr();
  arm(origin, lasting, n);
  int status = lua_pcall(L, 0, 1, 0);
  fault.armed = false;
  bool printed = unit_release_stderr();
  judge(L, status, printed && fault.fired, name);
}

enum run { NO_SUCH_SCENARIO, GOT_THROUGH, FAILED_ON_THE_WAY };

/* Runs scenario `index` with request n + 1 failing, in a state of its own. */
static enum run run_once(int index, enum origin origin, bool lasting, size_t n)
{
  size_t blocks = core_blocks, bytes = lua_bytes;
  lua_State *L = open_state();
  const char *name = prepare(L, index);
  if (name) {
    act(L, name, origin, lasting, n);
    lua_settop(L, 3);
    load(L, aftermath, "=aftermath");
    lua_insert(L, 1);
    must_call(L, 3, 0, name);
  }
  lua_close(L);
  assert_in_range(lua_bytes - bytes, 0, OOM_LOST_BYTES);
  assert_int_equal(core_blocks, blocks);
  if (!name) return NO_SUCH_SCENARIO;
  return fault.fired ? FAILED_ON_THE_WAY : GOT_THROUGH;
}

/* --- The specs ------------------------------------------------------------------------------ */

/* Every request; under Valgrind and ASan, which are slow, one in so many, others in each scenario. */
static void try_all(enum origin origin, bool lasting)
{
  size_t step = unit_on_valgrind() ? 41 : unit_has_asan() ? 5 : 1;
  for (int index = 1;; index++) {
    enum run run = FAILED_ON_THE_WAY;
    for (size_t n = (size_t)index % step; run == FAILED_ON_THE_WAY; n += step)
      run = run_once(index, origin, lasting, n);
    if (run == NO_SUCH_SCENARIO) break;
  }
}

static void lua_memory_fails_once(void **state)
{
  (void)state;
  try_all(OF_LUA, false);
}

static void lua_memory_fails_for_good(void **state)
{
  (void)state;
  try_all(OF_LUA, true);
}

static void system_calls_fail_once(void **state)
{
  (void)state;
  try_all(OF_CORE, false);
}

static void system_calls_fail_for_good(void **state)
{
  (void)state;
  try_all(OF_CORE, true);
}

/* Forgets modules that did not load to their end: LuaJIT takes them for a loop. */
static const char forget[] = "for name in pairs(package.loaded) do\n"
                             "  if name:find '^weft' then package.loaded[name] = nil end\n"
                             "end\n";

/* Opens the module (all of it, or its C half) with request n + 1 failing. */
static bool open_once(const char *name, enum origin origin, bool lasting, size_t n)
{
  size_t blocks = core_blocks, bytes = lua_bytes;
  lua_State *L = open_state();
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  arm(origin, lasting, n);
  int status = lua_pcall(L, 1, 1, 0);
  fault.armed = false;
  if (status != LUA_OK && !tells(L, status)) {
    fail_msg("request %zu: %s", fault.request, lua_tostring(L, -1));
  }
  lua_settop(L, 0);
  load(L, forget, "=forget");
  must_call(L, 0, 0, "forgetting it");
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  must_call(L, 1, 0, "requiring it again");
  lua_close(L);
  assert_in_range(lua_bytes - bytes, 0, OOM_LOST_BYTES);
  assert_int_equal(core_blocks, blocks);
  return fault.fired;
}

static void the_core_opens_or_says_why(void **state)
{
  (void)state;
  size_t step = unit_on_valgrind() ? 5 : 1;
  for (int lasting = 0; lasting < 2; lasting++) {
    size_t n = (size_t)lasting;
    for (; open_once("weft.core", OF_LUA, lasting, n); n += step) continue;
    for (n = 0; open_once("weft.core", OF_CORE, lasting, n); n++) continue;
  }
}

/* Loading the Lua files takes thousands of requests: the later ones are tried in wider steps. */
static void the_library_opens_or_says_why(void **state)
{
  (void)state;
  for (int lasting = 0; lasting < 2; lasting++) {
    for (size_t n = 0; open_once("weft", OF_LUA, lasting, n);
         n += 1 + n / (unit_on_valgrind() ? 3 : 50))
      continue;
  }
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(the_core_opens_or_says_why),
      cmocka_unit_test(the_library_opens_or_says_why),
      cmocka_unit_test(lua_memory_fails_once),
      cmocka_unit_test(lua_memory_fails_for_good),
      cmocka_unit_test(system_calls_fail_once),
      cmocka_unit_test(system_calls_fail_for_good),
  };
  return cmocka_run_group_tests(specs, take_system, give_system_back);
}
