/* SPDX-License-Identifier: MIT */
/*
** lua_memory.h - an allocator for Lua states that counts and can fail, and source that is run with
** one request after the other failing.
*/
#ifndef WEFT_SPEC_LUA_MEMORY_H
#define WEFT_SPEC_LUA_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "lua/compat.h"
#include "lua_state.h"
#include "support/failing.h"

static struct {
  bool armed, fired, lasting;
  size_t left, bytes, most; /* most: of bytes, since it was set to 0 */
} fault;

static void *lua_memory(void *ud, void *block, size_t old_size, size_t size)
{
  (void)ud;
  size_t before = block ? old_size : 0;
  if (size == 0) {
    fault.bytes -= before;
    free(block);
    return NULL;
  }
  if (fault.armed && size > before) {
    if (fault.fired && fault.lasting) return NULL;
    if (!fault.fired && fault.left-- == 0) {
      fault.fired = true;
      return NULL;
    }
  }
  void *given = realloc(block, size);
  if (given) fault.bytes += size - before;
  if (fault.bytes > fault.most) fault.most = fault.bytes;
  return given;
}

static void arm_lua(size_t granted, bool lasting)
{
  fault.left = granted;
  fault.lasting = lasting;
  fault.fired = false;
  fault.armed = true;
}

/* Runs source with request after request failing (one in thirteen on Valgrind), of Lua or of the core,
   until it gets through.
   Nothing but missing memory may be what it raises. LuaJIT forgets a finalizer for whose call there
   is no memory, so it collects nothing meanwhile. */
static void try_without_memory(lua_State *L, const char *source, bool core)
{
  for (size_t n = 0;; n += unit_on_valgrind() ? 13 : 1) {
    if (luaL_loadstring(L, source)) fail_msg("%s", lua_tostring(L, -1));
    uint64_t failed_before = failing_failed(FAILING_MALLOC);
    if (core)
      failing_arm(FAILING_MALLOC, n + 1, 1, 0);
    else
      arm_lua(n, n % 2);
    if (WEFT_LUAJIT) lua_gc(L, LUA_GCSTOP, 0);
    int status = lua_pcall(L, 0, 0, 0);
    fault.armed = false;
    if (WEFT_LUAJIT) lua_gc(L, LUA_GCRESTART, 0);
    failing_disarm();
    bool fired = core ? failing_failed(FAILING_MALLOC) > failed_before : fault.fired;
    if (status != LUA_OK) {
      const char *error = lua_tostring(L, -1);
      if (!error || !strstr(error, "memory")) fail_msg("request %zu: %s", n + 1, error);
    }
    lua_settop(L, 0);
    if (fired) continue;
    assert_int_equal(status, LUA_OK);
    return;
  }
}

#endif
