/* SPDX-License-Identifier: MIT */
/*
** ffi.c - what weft.ffi needs of the binding (LuaJIT): declarations and addresses, for calls that
** neither wait nor know of Lua.
*/
#include <string.h>

#include "lua/jobs.h"

/* The address of a function as the FFI casts it. name, address -> */
static void set_address(lua_State *L, const char *name, void (*function)(void))
{
  void *address;
  memcpy(&address, &function, sizeof address);
  lua_pushlightuserdata(L, address);
  lua_setfield(L, -2, name);
}

static int api_addresses(lua_State *L)
{
  lua_createtable(L, 0, 4);
  set_address(L, "weft_version", (void (*)(void))weft_version);
  set_address(L, "weft_status_name", (void (*)(void))weft_status_name);
  set_address(L, "weft_status_text", (void (*)(void))weft_status_text);
  set_address(L, "weft_parallel_for", (void (*)(void))weft_parallel_for);
  return 1;
}

static int api_pool(lua_State *L)
{
  universe *U = binding_universe(L);
  if (U->worker) return binding_misuse(L, "weft.ffi: not inside a job; use jobs.parallelFor");
  lua_pushlightuserdata(L, crew_of(L, U, "weft.ffi")->pool);
  return 1;
}

static int api_kernel(lua_State *L)
{
  void *address;
  const kernel *k = kernel_test(L, 1);
  if (!k) return binding_misuse(L, "weft.ffi: a kernel expected, got %s", binding_got(L, 1));
  memcpy(&address, &k->fn, sizeof address);
  lua_pushlightuserdata(L, address);
  return 1;
}

static int api_is_buffer(lua_State *L)
{
  lua_pushboolean(L, buffer_test(L, 1) != NULL);
  return 1;
}

static const luaL_Reg halves[] = {{"addresses", api_addresses},
                                  {"pool", api_pool},
                                  {"kernel", api_kernel},
                                  {"isBuffer", api_is_buffer},
                                  {NULL, NULL}};

/* What weft/ffi.h says, to the letter; the Makefile makes it from that. */
static const char declarations[] =
#include <ffi_text.h>
    ;

/* Module table on top. */
void ffi_open(lua_State *L)
{
  if (!WEFT_LUAJIT) return;
  lua_createtable(L, 0, 5);
  binding_functions(L, halves);
  lua_pushstring(L, declarations);
  lua_setfield(L, -2, "declarations");
  lua_setfield(L, -2, "ffiHalves");
}
