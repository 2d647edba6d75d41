/* SPDX-License-Identifier: MIT */
/*
** waitables.c - the life of the objects of waitables.h.
*/
#include "lua/waitables.h"

#include <string.h>

/* Its address is where a metatable keeps its kind. */
static const char kind_key;

/* --- Making and finding -------------------------------------------------------------------- */

/* Once the universe is closed the blocks are gone: nobody follows the pointer any more. */
static waitable **slot_of(lua_State *L, int index)
{
  waitable **slot = lua_touserdata(L, index);
  if (!slot || lua_islightuserdata(L, index) || !lua_getmetatable(L, index)) return NULL;
  const void *meta = lua_topointer(L, -1);
  if (meta == binding_universe(L)->waitable_meta) {
    lua_pop(L, 1);
    return slot;
  }
  lua_pushlightuserdata(L, (void *)&kind_key);
  lua_rawget(L, -2);
  const waitable_kind *kind = lua_touserdata(L, -1);
  lua_pop(L, 2);
  if (!kind) return NULL;
  binding_universe(L)->waitable_meta = meta; /* of a table that the registry keeps */
  return slot;
}

waitable *waitables_test(lua_State *L, int index)
{
  waitable **slot = slot_of(L, index);
  return slot && !binding_universe(L)->closed ? *slot : NULL;
}

waitable *waitables_check(lua_State *L, int index, const waitable_kind *kind, const char *who)
{
  waitable **slot = slot_of(L, index);
  if (slot && (binding_universe(L)->closed || !*slot))
    binding_misuse(L, "%s: the Lua state is closing", who);
  if (!slot || (*slot)->kind != kind)
    binding_misuse(L, "%s: %s expected, got %s", who, kind->a_name, binding_got(L, index));
  return *slot;
}

static void unlink_block(waitable *w)
{
  if (w->prev)
    w->prev->next = w->next;
  else
    w->universe->waitables = w->next;
  if (w->next) w->next->prev = w->prev;
}

/* Memory of so many is kept: objects that scripts make by the thousand are all of one kind. */
#define MAX_SPARE 4096

static waitable *take_block(lua_State *L, universe *U, size_t size)
{
  waitable *w = U->spare_blocks;
  if (!w || w->size != size) return binding_alloc(L, NULL, 0, size);
  U->spare_blocks = w->next;
  U->spare_block_count--;
  return w;
}

static void give_block(lua_State *L, universe *U, waitable *w)
{
  bool fits = !U->spare_blocks || U->spare_blocks->size == w->size;
  if (U->closed || !w->kind->many || !fits || U->spare_block_count == MAX_SPARE) {
    binding_alloc(L, w, w->size, 0);
    return;
  }
  w->next = U->spare_blocks;
  U->spare_blocks = w;
  U->spare_block_count++;
}

static void free_block(lua_State *L, waitable *w)
{
  unlink_block(w);
  w->kind->fini(L, w);
  give_block(L, w->universe, w);
}

/* Of those whose userdata went while somebody was still to run with what it had been told. */
static void free_orphans(lua_State *L, universe *U)
{
  for (waitable *w = U->waitables, *next; w; w = next) {
    next = w->next;
    if (!w->orphan || !w->kind->idle(w)) continue;
    free_block(L, w);
    U->orphans--;
  }
}

waitable *waitables_new(lua_State *L, const waitable_kind *kind, size_t size, const char *who)
{
  universe *U = binding_universe(L);
  waitable **slot = compat_new_object(L, sizeof *slot);
  *slot = NULL;
  if (U->closed) binding_misuse(L, "%s: the Lua state is closing", who);
  if (U->orphans) free_orphans(L, U);
  waitable *w = take_block(L, U, size);
  if (!w) binding_failed(L, who, WEFT_NOMEM);
  memset(w, 0, size);
  w->size = size;
  w->kind = kind;
  w->universe = U;
  w->line.object = w;
  w->next = U->waitables;
  if (w->next) w->next->prev = w;
  U->waitables = w;
  *slot = w;
  lua_pushlightuserdata(L, (void *)kind);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return w;
}

void waitables_bind(lua_State *L, waitable *object, const realm *R, const char *who)
{
  if (object->number == R->number) return;
  bool taken =
      object->number && (owner_find_realm(L, object->number) || !object->kind->idle(object));
  if (taken)
    binding_misuse(L, "%s: routines of another world use it; make one for each world", who);
  object->number = R->number;
}

/* --- Ending -------------------------------------------------------------------------------- */

static int object_gc(lua_State *L)
{
  waitable **slot = slot_of(L, 1);
  waitable *w = slot && !binding_universe(L)->closed ? *slot : NULL;
  if (!w) return 0;
  *slot = NULL;
  w->kind->close(w);
  if (w->kind->idle(w)) {
    free_block(L, w);
  } else {
    w->orphan = true;
    w->universe->orphans++;
  }
  return 0;
}

void waitables_fini(lua_State *L, universe *U)
{
  while (U->waitables) free_block(L, U->waitables);
  for (waitable *w = U->spare_blocks, *next; w; w = next) {
    next = w->next;
    binding_alloc(L, w, w->size, 0);
  }
  U->spare_blocks = NULL;
}

/* -> metatable */
static void push_new_meta(lua_State *L, const waitable_kind *kind)
{
  lua_createtable(L, 0, 5);
  lua_pushlightuserdata(L, (void *)&kind_key);
  lua_pushlightuserdata(L, (void *)kind);
  lua_rawset(L, -3);
  binding_push_universe(L);
  lua_pushcclosure(L, object_gc, 1);
  lua_setfield(L, -2, "__gc");
  lua_pushlightuserdata(L, (void *)kind);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

void waitables_open_kind(lua_State *L, const waitable_kind *kind, const char *title,
                         const luaL_Reg *methods, const luaL_Reg *metamethods)
{
  push_new_meta(L, kind);
  binding_functions(L, metamethods);
  lua_pushstring(L, title);
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 8);
  binding_functions(L, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_remove(L, -2);
}
