/* SPDX-License-Identifier: MIT */
/*
** values.c - cells for the Lua values of a world that wait for their use: the function and the
** arguments of a queued routine, defers, posts.
**
** The values stand in one table, one integer key a cell; the chains are in C. A free cell holds
** false, never nil, so that giving one a value cannot make the table grow: it needs no memory and
** cannot throw. Only values_reserve may.
*/
#include "lua/binding.h"

#define NONE 0

bool values_init(lua_State *L, values *v, uint32_t size)
{
  *v = (values){.size = size};
  v->next = binding_alloc(L, NULL, 0, ((size_t)size + 1) * sizeof *v->next);
  return v->next != NULL;
}

void values_fini(lua_State *L, values *v)
{
  if (v->next) binding_alloc(L, v->next, ((size_t)v->size + 1) * sizeof *v->next, 0);
  *v = (values){0};
}

static void grow_links(lua_State *L, values *v)
{
  size_t old = ((size_t)v->size + 1) * sizeof *v->next;
  size_t size = ((size_t)v->size * 2 + 1) * sizeof *v->next;
  uint32_t *next = v->size < UINT32_C(1) << 30 ? binding_alloc(L, v->next, old, size) : NULL;
  if (!next) luaL_error(L, "not enough memory");
  v->next = next;
  v->size *= 2;
}

void values_reserve(lua_State *L, realm *R, uint32_t count)
{
  values *v = &R->values;
  if (v->count - v->used >= count) return;
  luaL_checkstack(L, 3, "values");
  lua_pushvalue(R->store, STORE_VALUES);
  lua_xmove(R->store, L, 1);
  while (v->count - v->used < count) {
    if (v->count == v->size) grow_links(L, v);
    uint32_t cell = v->count + 1;
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, (int)cell);
    v->next[cell] = v->free;
    v->free = cell;
    v->count++;
  }
  lua_pop(L, 1);
}

uint32_t values_store(realm *R, int count)
{
  values *v = &R->values;
  uint32_t chain = NONE;
  for (; count > 0; count--) {
    uint32_t cell = v->free;
    v->free = v->next[cell];
    v->next[cell] = chain;
    v->used++;
    lua_rawseti(R->store, STORE_VALUES, (int)cell);
    chain = cell;
  }
  return chain;
}

uint32_t values_put(realm *R, lua_State *L, int index)
{
  lua_pushvalue(L, index);
  lua_xmove(L, R->store, 1);
  return values_store(R, 1);
}

uint32_t values_put_range(realm *R, lua_State *L, int first, int last)
{
  uint32_t chain = NONE;
  for (int i = last; i >= first; i--) {
    uint32_t cell = values_put(R, L, i);
    R->values.next[cell] = chain;
    chain = cell;
  }
  return chain;
}

uint32_t values_free(realm *R, uint32_t cell)
{
  values *v = &R->values;
  uint32_t next = v->next[cell];
  lua_pushboolean(R->store, 0);
  lua_rawseti(R->store, STORE_VALUES, (int)cell);
  v->next[cell] = v->free;
  v->free = cell;
  v->used--;
  return next;
}

uint32_t values_take(realm *R, lua_State *L, uint32_t cell)
{
  lua_rawgeti(R->store, STORE_VALUES, (int)cell);
  lua_xmove(R->store, L, 1);
  return values_free(R, cell);
}

void values_drop(realm *R, uint32_t cell)
{
  while (cell != NONE) cell = values_free(R, cell);
}
