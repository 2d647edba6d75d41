/* SPDX-License-Identifier: MIT */
/*
** oom_services_body.h - memory that fails while services and threads of Lua begin, are called, answer,
** post, die and are joined. The same for both machines, as oom_body.h, which is about all that happens on
** one thread.
**
** The nth request fails, once or from then on: one of the script's state, of the states of services, or of
** the core on any thread. Whatever becomes of it: each call that was made ends once, who asks is told what
** was missing, and all memory comes back.
*/
#include "support/unit.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/system.h"

int luaopen_weft_core(lua_State *L);

/* --- Requests that fail --------------------------------------------------------------------- */

/* The last are those of services whose main function has begun. */
enum origin { OF_LUA, OF_CORE, OF_SERVANT, OF_MAIN };

static struct {
  pthread_mutex_t lock; /* of all of this */
  enum origin origin;
  bool lasting, armed, fired;
  size_t left;   /* requests that are still granted */
  int preparing; /* states; nothing fails meanwhile */
  bool begun;    /* a main function runs: it has made the mark */
  size_t bytes[3];
  size_t blocks;
} fault = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A service asks for so much when its main function begins, and never otherwise. */
#define MARK 1000000

/* Under the lock. */
static bool refused(enum origin origin)
{
  if (!fault.armed || fault.preparing > 0 || fault.origin != origin) return false;
  if (fault.fired) return fault.lasting;
  if (fault.left-- > 0) return false;
  return fault.fired = true;
}

static bool refused_lua(enum origin origin, size_t size)
{
  if (origin == OF_LUA) return refused(OF_LUA);
  if (size >= MARK) fault.begun = true;
  bool late = fault.begun && refused(OF_MAIN);
  return refused(OF_SERVANT) || late;
}

static void *lua_memory(void *ud, void *block, size_t old_size, size_t size)
{
  enum origin origin = *(enum origin *)ud;
  if (!block) old_size = 0;
  pthread_mutex_lock(&fault.lock);
  bool no = size > old_size && refused_lua(origin, size);
  if (!no) fault.bytes[origin] += size - old_size;
  pthread_mutex_unlock(&fault.lock);
  if (no) return NULL;
  if (size == 0) free(block);
  return size > 0 ? realloc(block, size) : NULL;
}

static struct weft__system real;

static bool core_refused(void)
{
  pthread_mutex_lock(&fault.lock);
  bool no = refused(OF_CORE);
  if (!no) fault.blocks++;
  pthread_mutex_unlock(&fault.lock);
  return no;
}

static void *failing_malloc(size_t size)
{
  return core_refused() ? NULL : real.malloc(size);
}

static void *failing_calloc(size_t count, size_t size)
{
  return core_refused() ? NULL : real.calloc(count, size);
}

static void counting_free(void *block)
{
  pthread_mutex_lock(&fault.lock);
  fault.blocks -= block != NULL;
  pthread_mutex_unlock(&fault.lock);
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

static void arm(enum origin origin, bool lasting, size_t granted)
{
  pthread_mutex_lock(&fault.lock);
  fault.origin = origin;
  fault.lasting = lasting;
  fault.left = granted;
  fault.fired = fault.begun = false;
  fault.armed = true;
  pthread_mutex_unlock(&fault.lock);
}

static bool disarm(void)
{
  pthread_mutex_lock(&fault.lock);
  fault.armed = false;
  bool fired = fault.fired;
  pthread_mutex_unlock(&fault.lock);
  return fired;
}

/* --- States --------------------------------------------------------------------------------- */

/* LuaJIT does not survive that code which it has compiled gets no memory, nor that its FFI does not. */
static void prepare_machine(lua_State *L)
{
  static const char source[] = "if jit then require 'ffi' jit.off() end";
  luaL_openlibs(L);
  if (luaL_dostring(L, source)) abort();
}

#ifdef OOM_PREPARES
static void prepare(int one)
{
  pthread_mutex_lock(&fault.lock);
  fault.preparing += one;
  pthread_mutex_unlock(&fault.lock);
}
#endif

/* In place of the machine's own: whoever starts a service gets a state whose memory may fail. */
lua_State *luaL_newstate(void)
{
  static enum origin origin = OF_SERVANT;
#ifdef OOM_PREPARES
  prepare(1);
  lua_State *L = lua_newstate(lua_memory, &origin);
  if (L) prepare_machine(L);
  prepare(-1);
  return L;
#else
  return lua_newstate(lua_memory, &origin);
#endif
}

static int reports;

static int count_report(lua_State *L)
{
  (void)L;
  reports++;
  return 0;
}

static lua_State *open_state(void)
{
  static enum origin origin = OF_LUA;
  lua_State *L = lua_newstate(lua_memory, &origin);
  assert_non_null(L);
  prepare_machine(L);
  lua_getglobal(L, "package");
  lua_pushliteral(L, "lua/?.lua;lua/?/init.lua");
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_weft_core);
  lua_setfield(L, -2, "weft.core");
  lua_register(L, "report", count_report);
  if (luaL_dofile(L, "spec/c/oom_services.lua")) fail_msg("%s", lua_tostring(L, -1));
  lua_replace(L, 1);
  lua_settop(L, 1);
  return L;
}

/* --- One run -------------------------------------------------------------------------------- */

/* The script's functions: name -> ; how it went, and its error or answer on top */
static int call_field(lua_State *L, const char *name)
{
  lua_getfield(L, 1, name);
  return lua_pcall(L, 0, 1, 0);
}

/* Runs a scenario with request n + 1 failing; whether it came to that. */
static bool run_once(lua_State *L, const char *name, enum origin origin, bool lasting, size_t n)
{
  reports = 0;
  if (call_field(L, "before")) fail_msg("%s", lua_tostring(L, -1));
  lua_settop(L, 1);
  lua_getfield(L, 1, name);
  unit_catch_stderr();
  arm(origin, lasting, n);
  int status = lua_pcall(L, 0, 0, 0);
  bool fired = disarm(), raised = status != LUA_OK;
  bool strange = raised && !strstr(lua_tostring(L, -1), "memory");
  bool failed = strange || call_field(L, "after") != LUA_OK;
  bool said = unit_release_stderr() || raised || reports > 0 || lua_toboolean(L, -1);
  if (failed) fail_msg("%s, request %zu of %d: %s", name, n + 1, origin, lua_tostring(L, -1));
  lua_settop(L, 1);
  if (call_field(L, "complete")) fail_msg("%s", lua_tostring(L, -1));
  if (!said && !lua_toboolean(L, -1))
    fail_msg("%s, request %zu of %d: failed without a word", name, n + 1, origin);
  lua_settop(L, 1);
  assert_in_range(fault.bytes[OF_SERVANT], 0, OOM_LOST_BYTES);
  fault.bytes[OF_SERVANT] = 0;
  return fired;
}

/* Of the requests that begin a service, which loads the library, the later ones in wider steps. */
static void try_all(const char *name, enum origin origin)
{
  size_t blocks = fault.blocks, step = unit_has_asan() ? 5 : 2;
  lua_State *L = open_state();
  for (int lasting = 0; lasting < 2; lasting++) {
    size_t n = (size_t)lasting;
    while (run_once(L, name, origin, lasting, n))
      n += origin == OF_SERVANT ? step + n / 4 : step;
  }
  lua_close(L);
  assert_in_range(fault.bytes[OF_LUA], 0, 2000 * OOM_LOST_BYTES);
  fault.bytes[OF_LUA] = 0;
  assert_int_equal(fault.blocks, blocks);
}

/* --- The specs ------------------------------------------------------------------------------ */

static void services_begin_and_answer_or_say_why(void **state)
{
  (void)state;
  for (enum origin origin = OF_LUA; origin <= OF_MAIN; origin++) try_all("services", origin);
}

static void threads_begin_and_post_or_say_why(void **state)
{
  (void)state;
  for (enum origin origin = OF_LUA; origin <= OF_MAIN; origin++) try_all("threads", origin);
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(services_begin_and_answer_or_say_why),
      cmocka_unit_test(threads_begin_and_post_or_say_why),
  };
  return cmocka_run_group_tests(specs, take_system, give_system_back);
}
