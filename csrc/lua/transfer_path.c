/* SPDX-License-Identifier: MIT */
/*
** transfer_path.c - the error for a value that cannot cross: which one it is, with the way that leads
** to it.
*/
#include "lua/transfer_writer.h"

/* --- Steps --------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
  if (*text >= '0' && *text <= '9') return false;
  for (; *text; text++)
    if (*text != '_' && !(*text >= '0' && *text <= '9') && !(*text >= 'A' && *text <= 'Z') &&
        !(*text >= 'a' && *text <= 'z'))
      return false;
  return true;
}

/* -> ".name", "[1]", "['a b']" */
static void push_key_step(lua_State *L, int key)
{
  key = lua_absindex(L, key);
  if (lua_type(L, key) == LUA_TSTRING) {
    const char *text = lua_tostring(L, key);
    lua_pushfstring(L, is_name(text) ? ".%s" : "['%s']", text);
  } else if (lua_type(L, key) == LUA_TNUMBER) {
    lua_pushvalue(L, key);
    lua_pushfstring(L, "[%s]", lua_tostring(L, -1));
    lua_remove(L, -2);
  } else {
    lua_pushfstring(L, "[a %s]", luaL_typename(L, key));
  }
}

/* Which captured local of the function at `owner` the value at `value` is. -> name, or nothing */
static bool push_upvalue_name(lua_State *L, int owner, int value)
{
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, owner, i)); i++) {
    bool same = lua_rawequal(L, -1, value);
    lua_pop(L, 1);
    if (!same) continue;
    lua_pushfstring(L, "captured local '%s'", name);
    return true;
  }
  return false;
}

/* -> the key of the first field of the table at `owner` that holds the value, or nothing */
static bool push_key_of(lua_State *L, int owner, int value)
{
  lua_pushnil(L);
  while (lua_next(L, owner)) {
    bool found = lua_rawequal(L, -1, value);
    lua_pop(L, 1);
    if (found) return true;
  }
  return false;
}

/* owner, value -> step: how the value is reached from its owner */
static void push_step(lua_State *L)
{
  int owner = lua_gettop(L) - 1, value = owner + 1;
  if (lua_isfunction(L, owner)) {
    if (!push_upvalue_name(L, owner, value)) lua_pushliteral(L, "a captured local");
  } else if (push_key_of(L, owner, value)) {
    push_key_step(L, -1);
  } else {
    lua_pushliteral(L, ", a key");
  }
  lua_replace(L, owner);
  lua_settop(L, owner);
}

/* --- The way ------------------------------------------------------------------------------- */

/* -> "argument 1", "result 2"; "" for the function of a job */
static void push_root(lua_State *L, const writer *w)
{
  if (w->what == TRANSFER_RESULTS)
    lua_pushfstring(L, "result %d", (int)w->root);
  else if (!w->has_function)
    lua_pushfstring(L, "argument %d", (int)w->root);
  else if (w->root > 1)
    lua_pushfstring(L, "argument %d", (int)w->root - 1);
  else
    lua_pushliteral(L, "");
}

/* path, step -> path */
static void append_step(lua_State *L)
{
  const char *step = lua_tostring(L, -1), *path = lua_tostring(L, -2);
  bool captured = *step == 'c' || *step == 'a';
  lua_pushfstring(L, captured && *path ? "%s, %s" : "%s%s", path, step);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* The steps from the root to item `number`, of a long way the first and the last ones.
   path -> path */
static void append_path(lua_State *L, const writer *w, uint32_t number)
{
  enum { SHOWN = 8 };
  uint32_t chain[2 * SHOWN], length = w->items[number - 1].depth - 1, left = length;
  for (uint32_t i = number; left > 0; i = w->items[i - 1].parent) {
    left--;
    if (left < SHOWN)
      chain[left] = i;
    else if (length - left <= SHOWN)
      chain[2 * SHOWN - (length - left)] = i;
  }
  for (uint32_t at = 0; at < length; at++) {
    if (at >= SHOWN && length - at > SHOWN) {
      if (at > SHOWN) continue;
      lua_pushliteral(L, ".(...)");
    } else {
      uint32_t number_there = chain[at < SHOWN ? at : 2 * SHOWN - (length - at)];
      lua_rawgeti(L, w->order, (int)w->items[number_there - 1].parent);
      lua_rawgeti(L, w->order, (int)number_there);
      push_step(L);
    }
    append_step(L);
  }
}

/* --- Errors -------------------------------------------------------------------------------- */

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
static void push_kind(lua_State *L, int index)
{
  bool found = false;
  int top = lua_gettop(L);
  if (lua_type(L, index) == LUA_TUSERDATA && lua_getmetatable(L, index)) {
    lua_pushliteral(L, "__name");
    lua_rawget(L, -2);
    found = lua_type(L, -1) == LUA_TSTRING;
    if (!found) lua_pop(L, 1);
    if (!found) found = push_registered_name(L);
  }
  lua_pushfstring(L, found ? ": it is a %s" : "", found ? lua_tostring(L, -1) : "");
  lua_insert(L, top + 1);
  lua_settop(L, top + 1);
}

/* -> " captured by the function at game.lua:12", if that is where it stands, or "" */
static void push_place(lua_State *L, const writer *w)
{
  lua_Debug ar;
  if (w->current) {
    lua_rawgeti(L, w->order, (int)w->current);
    if (lua_isfunction(L, -1)) {
      lua_getinfo(L, ">S", &ar);
      lua_pushfstring(L, ", captured by the function at %s:%d", ar.short_src, ar.linedefined);
      return;
    }
    lua_pop(L, 1);
  }
  lua_pushliteral(L, "");
}

/* How the value that is met is reached from the item that it is met in. -> step */
static void push_last_step(lua_State *L, const writer *w, int value, const char *name)
{
  if (name) {
    lua_pushfstring(L, "captured local '%s'", name);
  } else if (w->in_key) {
    lua_pushliteral(L, ", a key");
  } else if (w->current) {
    lua_rawgeti(L, w->order, (int)w->current);
    lua_pushvalue(L, value);
    push_step(L);
  } else {
    lua_pushliteral(L, "");
  }
}

static const char *module_of(const writer *w)
{
  return w->what < TRANSFER_LETTER ? "weft.jobs" : "weft.service";
}

int writer_refuse(lua_State *L, const writer *w, int value, const char *name, const char *type)
{
  static const char *const ends[] = {"cannot go to a job", "cannot come back from a job",
                                     "cannot go to a service", "cannot leave a service"};
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  push_root(L, w);
  if (w->current) append_path(L, w, w->current);
  push_last_step(L, w, value, name);
  append_step(L);
  const char *path = lua_tostring(L, -1);
  if (!*path) path = "the function";
  push_kind(L, value);
  push_place(L, w);
  return binding_misuse(L, "%s: %s (%s) %s%s%s", module_of(w), path, type, ends[w->what],
                        lua_tostring(L, -2), lua_tostring(L, -1));
}

void writer_refuse_depth(lua_State *L, const writer *w)
{
  push_root(L, w);
  const char *root = lua_tostring(L, -1);
  binding_misuse(L, "%s: %s is nested too deep to cross: more than %d levels", module_of(w),
                 *root ? root : "what the function captures", TRANSFER_MAX_DEPTH);
}
