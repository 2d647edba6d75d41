/* SPDX-License-Identifier: MIT */
/*
** saves_path.c - where a value stands that cannot be saved, and what it is. Only looked for then: a
** walk remembers no keys, so each step is searched for in the table that it was made in.
*/
#include <stdio.h>

#include "lua/saves_walk.h"

static bool is_name(const char *text, size_t length)
{
  if (length == 0 || (*text >= '0' && *text <= '9')) return false;
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c != '_' && !letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

/* -> ".name", "[1]", "['a b']" */
static void push_key_step(lua_State *L, int key)
{
  key = lua_absindex(L, key);
  if (lua_type(L, key) == LUA_TSTRING) {
    size_t length;
    const char *text = lua_tolstring(L, key, &length);
    lua_pushfstring(L, is_name(text, length) ? ".%s" : "['%s']", text);
  } else if (lua_type(L, key) == LUA_TNUMBER) {
    char text[32];
    snprintf(text, sizeof text, "[%.14g]", (double)lua_tonumber(L, key));
    lua_pushstring(L, text);
  } else {
    lua_pushfstring(L, "[a %s]", luaL_typename(L, key));
  }
}

/* owner, value -> owner, value, step: the first field of the owner that holds the value */
static void push_step(lua_State *L)
{
  int owner = lua_gettop(L) - 1, value = owner + 1;
  lua_pushnil(L);
  while (lua_next(L, owner)) {
    bool found = lua_rawequal(L, -1, value);
    lua_pop(L, 1);
    if (!found) continue;
    push_key_step(L, -1);
    lua_remove(L, -2);
    return;
  }
  lua_pushliteral(L, ", a key");
}

/* path of what is in an item on top -> path from the section on; of a long way the end */
static void prepend_steps(lua_State *L, const walker *w, uint32_t number)
{
  enum { SHOWN = 12 };
  int shown = 0;
  for (; w->items[number - 1].parent; number = w->items[number - 1].parent) {
    if (++shown > SHOWN) {
      lua_pushfstring(L, ".(...)%s", lua_tostring(L, -1));
      lua_remove(L, -2);
      return;
    }
    lua_rawgeti(L, w->order, (int)w->items[number - 1].parent);
    lua_rawgeti(L, w->order, (int)number);
    push_step(L);
    lua_pushfstring(L, "%s%s", lua_tostring(L, -1), lua_tostring(L, -4));
    lua_replace(L, -5);
    lua_pop(L, 3);
  }
}

/* -> "sections.player.mesh" */
void walk_push_path(lua_State *L, const walker *w, int value)
{
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (w->current == 0) {
    lua_pushliteral(L, "");
  } else if (w->in_key) {
    lua_pushliteral(L, ", a key");
  } else {
    lua_rawgeti(L, w->order, (int)w->current);
    lua_pushvalue(L, value);
    push_step(L);
    lua_insert(L, -3);
    lua_pop(L, 2);
  }
  if (w->current) prepend_steps(L, w, w->current);
  lua_rawgeti(L, w->names, (int)w->section);
  push_key_step(L, -1);
  lua_pushfstring(L, "sections%s%s", lua_tostring(L, -1), lua_tostring(L, -3));
}

/* metatable on top -> metatable, the key under which the registry has it: its name; or nothing */
static bool push_registered_name(lua_State *L)
{
  int meta = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, LUA_REGISTRYINDEX)) {
    bool found = lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, meta);
    lua_pop(L, 1);
    if (found) return true;
  }
  return false;
}

/* What a userdata says that it is. -> ": it is a FILE*", or "" */
static void push_kind(lua_State *L, int value)
{
  const char *name = NULL;
  if (lua_type(L, value) == LUA_TUSERDATA && lua_getmetatable(L, value)) {
    lua_pushliteral(L, "__name");
    lua_rawget(L, -2);
    if (lua_type(L, -1) != LUA_TSTRING) {
      lua_pop(L, 1);
      if (!push_registered_name(L)) lua_pushnil(L);
    }
    name = lua_tostring(L, -1);
  }
  lua_pushfstring(L, name ? ": it is a %s" : "", name);
}

int walk_refuse(lua_State *L, const walker *w, int value, const char *type)
{
  walk_push_path(L, w, value);
  const char *path = lua_tostring(L, -1);
  push_kind(L, value);
  return luaL_error(L, "weft.save.write: %s (%s) cannot be saved%s", path, type,
                    lua_tostring(L, -1));
}

int walk_no_memory(lua_State *L)
{
  return luaL_error(L, "weft.save.write: not enough memory for a copy of what is to be saved");
}
