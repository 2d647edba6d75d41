/* SPDX-License-Identifier: MIT */
/*
** trace.c - tracebacks as a script's author reads them, alike on all machines.
**
** Functions of weft are shown as the C functions that they seem to be, and their halves and helpers
** not at all; nor is what stands under a routine's function, or between a tick and a system. Frames
** of a script are never left out, but from the middle of a very long trace.
*/
#include <string.h>

#include "lua/binding.h"

/* So many levels are shown from each end. */
enum { FIRST_LEVELS = 12, LAST_LEVELS = 12 };

typedef struct frame {
  lua_Debug ar;
  bool is_c;
  bool ours; /* a part of weft */
} frame;

/* -> ; the function of a frame is on top. C functions of ours have the universe with them. */
static bool is_our_c(lua_State *L)
{
  if (!lua_getupvalue(L, -1, 1)) return false;
  const void *first = lua_touserdata(L, -1);
  binding_push_universe(L);
  bool ours = first && first == lua_touserdata(L, -1);
  lua_pop(L, 2);
  return ours;
}

/* -> function of the frame */
static bool get_frame(lua_State *L, lua_State *of, int level, frame *f)
{
  if (!lua_getstack(of, level, &f->ar)) return false;
  lua_getinfo(of, COMPAT_FRAME_INFO, &f->ar);
  compat_push_function(L, of, &f->ar);
  f->is_c = lua_iscfunction(L, -1);
  f->ours = f->is_c ? is_our_c(L) : binding_is_ours(f->ar.source);
  return true;
}

/* function -> function; whether C code is only called by Lua code of ours: a pcall, say. But
   loops.lua calls the conditions of scripts. */
static bool is_called_by_half(lua_State *L, lua_State *of, int level, const frame *f)
{
  frame below;
  if (!f->is_c || f->ours || !get_frame(L, of, level + 1, &below)) return false;
  lua_pop(L, 1);
  return !below.is_c && below.ours && !strstr(below.ar.source, "weft/loops.lua");
}

/* function, table of functions, prefix -> the same, and "prefix.name" if the function is in it */
static bool push_name_in(lua_State *L)
{
  int function = lua_gettop(L) - 2, list = function + 1, prefix = function + 2;
  lua_pushnil(L);
  while (lua_istable(L, list) && lua_next(L, list)) {
    bool found = lua_rawequal(L, -1, function) && lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 1);
    if (!found) continue;
    const char *module = lua_tostring(L, prefix), *name = lua_tostring(L, -1);
    if (strcmp(module, "_G") == 0)
      lua_pushstring(L, name);
    else
      lua_pushfstring(L, "%s.%s", module, name);
    lua_remove(L, -2);
    return true;
  }
  if (!lua_istable(L, list)) lua_pop(L, 1);
  return false;
}

/* function -> function, and its name in a module that is loaded, if it has one */
static bool push_global_name(lua_State *L)
{
  int function = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushnil(L);
  while (lua_istable(L, function + 1) && lua_next(L, function + 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      lua_pushvalue(L, function);
      lua_insert(L, -2); /* name, function, table */
      lua_pushvalue(L, -3);
      if (push_name_in(L)) {
        lua_replace(L, function + 1);
        lua_settop(L, function + 1);
        return true;
      }
    }
    lua_settop(L, function + 2);
  }
  lua_settop(L, function);
  return false;
}

/* function -> text, or nothing and false for a helper of ours */
static bool push_name(lua_State *L, const frame *f)
{
  const lua_Debug *ar = &f->ar;
  bool called = strcmp(ar->namewhat, "method") == 0 || strcmp(ar->namewhat, "field") == 0;
  bool global = push_global_name(L);
  if (global) {
    lua_pushfstring(L, "function '%s'", lua_tostring(L, -1));
    lua_remove(L, -2);
  } else if (f->ours && !called) {
    lua_pop(L, 1);
    return false;
  } else if (*ar->namewhat) {
    lua_pushfstring(L, "%s '%s'", ar->namewhat, ar->name);
  } else if (*ar->what == 'm') {
    lua_pushliteral(L, "main chunk");
  } else if (f->is_c) {
    lua_pushliteral(L, "?");
  } else {
    lua_pushfstring(L, "function <%s:%d>", ar->short_src, ar->linedefined);
  }
  lua_remove(L, -2);
  return true;
}

/* text, function -> text */
static void add_frame(lua_State *L, const frame *f)
{
  if (!push_name(L, f)) return;
  if (f->is_c || f->ours)
    lua_pushliteral(L, "\n\t[C]: in ");
  else if (f->ar.currentline > 0)
    lua_pushfstring(L, "\n\t%s:%d: in ", f->ar.short_src, f->ar.currentline);
  else
    lua_pushfstring(L, "\n\t%s: in ", f->ar.short_src);
  lua_insert(L, -2);
  lua_concat(L, 3);
  if (!compat_is_tail_call(&f->ar)) return;
  lua_pushliteral(L, "\n\t(...tail calls...)");
  lua_concat(L, 2);
}

static int count_levels(lua_State *of)
{
  lua_Debug ar;
  int least = 0, most = 1;
  while (lua_getstack(of, most, &ar)) {
    least = most;
    most *= 2;
  }
  while (least < most) {
    int middle = (least + most) / 2;
    if (lua_getstack(of, middle, &ar))
      least = middle + 1;
    else
      most = middle;
  }
  return most;
}

/* Whether the lowest level is what a routine's function is called by. */
static bool has_base(lua_State *L, const realm *R, lua_State *of, int count)
{
  frame f;
  if (COMPAT_BODY_ARGS == 0 || count == 0 || !get_frame(L, of, count - 1, &f)) return false;
  bool same = lua_topointer(L, -1) == lua_topointer(R->store, STORE_BODY);
  lua_pop(L, 1);
  return same;
}

void trace_push(lua_State *L, const realm *R, lua_State *of, int level)
{
  frame f;
  luaL_checkstack(L, LUA_MINSTACK, "traceback");
  int count = count_levels(of);
  if (has_base(L, R, of, count)) count--;
  int skipped = count - level - FIRST_LEVELS - LAST_LEVELS;
  int gap = skipped > 0 ? level + FIRST_LEVELS : count;
  lua_pushliteral(L, "stack traceback:");
  for (; level < count; level++) {
    if (level == gap) {
      lua_pushfstring(L, "\n\t...\t(skipping %d levels)", skipped);
      lua_concat(L, 2);
      level += skipped;
    }
    if (!get_frame(L, of, level, &f)) break;
    if (is_called_by_half(L, of, level, &f))
      lua_pop(L, 1);
    else
      add_frame(L, &f);
  }
}
