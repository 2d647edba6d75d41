/* SPDX-License-Identifier: MIT */
/*
** argon2-module.c - a Lua module for 24-login.lua: `argon2.hash(password, salt)` and
** `argon2.verify(hash, password)`, by Debian's libargon2. Some ten milliseconds of work each, made to
** be slow: nothing for the thread that ticks a world.
**
** It knows nothing of weft. A C module that keeps no state of its own may be loaded by services and jobs
** as it is.
*/
#include <argon2.h>
#include <lauxlib.h>
#include <lua.h>

#define PASSES 2
#define KIBIBYTES 4096
#define HASH_BYTES 32

static int fail(lua_State *L, int code)
{
  return luaL_error(L, "argon2: %s", argon2_error_message(code));
}

/* password, salt of at least 8 bytes -> encoded hash */
static int hash(lua_State *L)
{
  size_t length, salt_length;
  char encoded[256];
  const char *password = luaL_checklstring(L, 1, &length);
  const char *salt = luaL_checklstring(L, 2, &salt_length);
  int code = argon2id_hash_encoded(PASSES, KIBIBYTES, 1, password, length, salt, salt_length,
                                   HASH_BYTES, encoded, sizeof encoded);
  if (code != ARGON2_OK) return fail(L, code);
  lua_pushstring(L, encoded);
  return 1;
}

/* encoded hash, password -> whether it is the one */
static int verify(lua_State *L)
{
  size_t length;
  const char *encoded = luaL_checkstring(L, 1);
  const char *password = luaL_checklstring(L, 2, &length);
  int code = argon2id_verify(encoded, password, length);
  if (code != ARGON2_OK && code != ARGON2_VERIFY_MISMATCH) return fail(L, code);
  lua_pushboolean(L, code == ARGON2_OK);
  return 1;
}

/* Exported whatever the build hides. */
__attribute__((visibility("default"))) int luaopen_argon2(lua_State *L);

int luaopen_argon2(lua_State *L)
{
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, hash);
  lua_setfield(L, -2, "hash");
  lua_pushcfunction(L, verify);
  lua_setfield(L, -2, "verify");
  return 1;
}
