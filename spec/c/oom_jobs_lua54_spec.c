/* SPDX-License-Identifier: MIT */
/*
** oom_jobs_lua54_spec.c - memory that fails, one request at a time, under jobs of Lua.
**
** As in oom_body.h every scenario, of oom_jobs_scenarios.lua, is run again and again with the nth
** request failing, once or from then on. The requests of all threads count, those of a thread's own
** Lua state too, so which one is the nth may change from run to run. A scenario's runs share one
** state: threads and their states are there before, and all that is left is found at the end.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "platform/system.h"
#include "support/unit.h"

int luaopen_weft_core(lua_State *L);

/* --- Requests that fail --------------------------------------------------------------------- */

enum origin { OF_LUA, OF_CORE };

static enum origin failing;
static bool lasting;
static atomic_bool armed, fired;
static atomic_long granted;
static atomic_size_t lua_bytes, core_blocks;
static int reports;

static bool refused(enum origin origin)
{
  if (!atomic_load(&armed) || failing != origin) return false;
  if (atomic_fetch_sub(&granted, 1) > 0) return false;
  return !atomic_exchange(&fired, true) || lasting;
}

static void *lua_memory(void *ud, void *block, size_t old_size, size_t size)
{
  (void)ud;
  if (!block) old_size = 0;
  if (size == 0) {
    free(block);
    atomic_fetch_sub(&lua_bytes, old_size);
    return NULL;
  }
  if (size > old_size && refused(OF_LUA)) return NULL;
  void *moved = realloc(block, size);
  if (moved) atomic_fetch_add(&lua_bytes, size - old_size);
  return moved;
}

/* Stands for the library's own: so the states of threads get this memory, too. */
lua_State *luaL_newstate(void)
{
  return lua_newstate(lua_memory, NULL);
}

static struct weft__system real;

static void *failing_malloc(size_t size)
{
  void *block = refused(OF_CORE) ? NULL : real.malloc(size);
  if (block) atomic_fetch_add(&core_blocks, 1);
  return block;
}

static void *failing_calloc(size_t count, size_t size)
{
  void *block = refused(OF_CORE) ? NULL : real.calloc(count, size);
  if (block) atomic_fetch_add(&core_blocks, 1);
  return block;
}

static void counting_free(void *block)
{
  if (block) atomic_fetch_sub(&core_blocks, 1);
  real.free(block);
}

static int take_system(void **state)
{
  (void)state;
  real = weft__system;
  weft__system.malloc = failing_malloc;
  weft__system.calloc = failing_calloc;
  weft__system.free = counting_free;
  return 0;
}

static int give_system_back(void **state)
{
  (void)state;
  weft__system = real;
  return 0;
}

/* --- One run -------------------------------------------------------------------------------- */

static int count_report(lua_State *L)
{
  (void)L;
  reports++;
  return 0;
}

static void must_be_ok(lua_State *L, int status, const char *what, long n)
{
  if (status == LUA_OK) return;
  fail_msg("%s, %s request %ld%s: %s", what, failing == OF_LUA ? "Lua" : "core", n,
           lasting ? " and later" : "", lua_tostring(L, -1));
}

static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushliteral(L, "lua/?.lua;lua/?/init.lua");
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_weft_core);
  lua_setfield(L, -2, "weft.core");
  lua_settop(L, 0);
  lua_register(L, "report", count_report);
  return L;
}

/* Whether an error says that it was memory, or a stack, that was missing. */
static bool tells(lua_State *L, int status)
{
  if (status == LUA_ERRMEM) return true;
  const char *text = lua_tostring(L, -1);
  return text && (strstr(text, "memory") || strstr(text, "stack"));
}

/* Judges how the scenario ended; its result or its error is on top. */
static void judge(lua_State *L, int status, bool printed, const char *name, long n)
{
  const char *text = lua_tostring(L, -1);
  bool fine;
  if (status != LUA_OK)
    fine = tells(L, status);
  else
    fine = printed || reports > 0 || (text && strcmp(text, "told") == 0) ||
           (text && strcmp(text, "complete") == 0);
  if (!fine)
    fail_msg("%s, %s request %ld%s: %s", name, failing == OF_LUA ? "Lua" : "core", n,
             lasting ? " and later" : "", text ? text : "failed without a word");
}

/* scenario's list at 1, of `run` at "act" -> ; returns whether the nth request came, and failed */
static bool run_once(lua_State *L, const char *name, long n)
{
  reports = 0;
  unit_catch_stderr();
  lua_getfield(L, 1, "act");
  atomic_store(&granted, n - 1);
  atomic_store(&fired, false);
  atomic_store(&armed, true);
  int status = lua_pcall(L, 0, 1, 0);
  atomic_store(&armed, false);
  lua_getfield(L, 1, "settle");
  int settled = lua_pcall(L, 0, 0, 0);
  bool printed = unit_release_stderr();
  must_be_ok(L, settled, name, n);
  judge(L, status, printed && atomic_load(&fired), name, n);
  lua_settop(L, 1);
  lua_getfield(L, 1, "works");
  must_be_ok(L, lua_pcall(L, 0, 0, 0), name, n);
  return atomic_load(&fired);
}

/* One in so many under ASan, others in each scenario. */
static bool try_scenario(int index)
{
  size_t bytes = atomic_load(&lua_bytes), blocks = atomic_load(&core_blocks);
  long step = unit_has_asan() || unit_has_tsan() ? 7 : 1;
  lua_State *L = open_state();
  if (luaL_dofile(L, "spec/c/oom_jobs_scenarios.lua")) fail_msg("%s", lua_tostring(L, -1));
  lua_pushinteger(L, index);
  atomic_store(&armed, false);
  must_be_ok(L, lua_pcall(L, 1, 1, 0), "preparing", 0);
  bool there = !lua_isnil(L, -1);
  if (there) {
    lua_getfield(L, 1, "name");
    const char *name = lua_tostring(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "weft.spec.scenario");
    for (long n = 1 + index % step; run_once(L, name, n); n += step) continue;
  }
  lua_close(L);
  assert_int_equal(atomic_load(&lua_bytes), bytes);
  assert_int_equal(atomic_load(&core_blocks), blocks);
  return there;
}

static void try_all(enum origin origin, bool for_good)
{
  failing = origin;
  lasting = for_good;
  for (int index = 1; try_scenario(index); index++) continue;
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

static void core_memory_fails_once(void **state)
{
  (void)state;
  try_all(OF_CORE, false);
}

static void core_memory_fails_for_good(void **state)
{
  (void)state;
  try_all(OF_CORE, true);
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(lua_memory_fails_once),
      cmocka_unit_test(lua_memory_fails_for_good),
      cmocka_unit_test(core_memory_fails_once),
      cmocka_unit_test(core_memory_fails_for_good),
  };
  return cmocka_run_group_tests(specs, take_system, give_system_back);
}
