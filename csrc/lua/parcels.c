/* SPDX-License-Identifier: MIT */
/*
** parcels.c - Lua values on their way from one routine to another: what a signal was fired with, what
** a channel holds.
**
** A parcel is a chain of cells, as in values.c, but of no world: who sends and who gets need not be of
** the same one, and a channel may be filled outside of all. Several may be waiting for one parcel; it
** lasts until the last has taken it. Taking and dropping need no memory, and push without it.
*/
#include "lua/binding.h"

/* Its address is where the registry keeps the store alive. */
static const char store_key;

/* A C function has room for so many without asking. */
#define FEW_VALUES 8

static parcels *parcels_of(const universe *U)
{
  return (parcels *)&U->parcels;
}

/* --- Room ---------------------------------------------------------------------------------- */

void parcels_open(lua_State *L)
{
  binding_push_universe(L);
  universe *U = lua_touserdata(L, -1);
  lua_pushlightuserdata(L, (void *)&store_key);
  lua_State *store = lua_newthread(L);
  luaL_checkstack(store, PARCELS_WORLDS + MAX_FIRES + LUA_MINSTACK, NULL);
  lua_newtable(store);
  lua_settop(store, PARCELS_WORLDS + MAX_FIRES);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pop(L, 1);
  U->parcels.store = store;
}

void parcels_fini(lua_State *L, universe *U)
{
  parcels *p = &U->parcels;
  if (p->cells) binding_alloc(L, p->cells, ((size_t)p->size + 1) * sizeof *p->cells, 0);
  *p = (parcels){0};
}

static void grow(lua_State *L, parcels *p)
{
  uint32_t size = p->size > 0 ? p->size * 2 : 32;
  size_t old = p->size > 0 ? ((size_t)p->size + 1) * sizeof *p->cells : 0;
  parcel_cell *cells = p->size < UINT32_C(1) << 30
                           ? binding_alloc(L, p->cells, old, ((size_t)size + 1) * sizeof *cells)
                           : NULL;
  if (!cells) luaL_error(L, "not enough memory");
  p->cells = cells;
  p->size = size;
}

/* What allocates here runs no finalizer: what is reserved is still there when this returns. */
void parcels_reserve(lua_State *L, universe *U, uint32_t count)
{
  parcels *p = &U->parcels;
  if (p->count - p->used >= count) return;
  luaL_checkstack(L, 3, "parcels");
  lua_pushvalue(p->store, PARCELS_VALUES);
  lua_xmove(p->store, L, 1);
  while (p->count - p->used < count) {
    if (p->count == p->size) grow(L, p);
    uint32_t cell = p->count + 1;
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, (int)cell);
    p->cells[cell] = (parcel_cell){.next = p->free};
    p->free = cell;
    p->count++;
  }
  lua_pop(L, 1);
}

/* --- Filling and emptying ------------------------------------------------------------------ */

static uint32_t put_value(parcels *p, lua_State *L, int index)
{
  uint32_t cell = p->free;
  bool is_nil = lua_isnil(L, index);
  p->free = p->cells[cell].next;
  p->cells[cell] = (parcel_cell){.is_nil = is_nil};
  p->used++;
  if (is_nil) return cell;
  lua_pushvalue(L, index);
  lua_xmove(L, p->store, 1);
  lua_rawseti(p->store, PARCELS_VALUES, (int)cell);
  return cell;
}

uint32_t parcels_put(universe *U, lua_State *L, int first, int count)
{
  parcels *p = parcels_of(U);
  uint32_t chain = 0;
  for (int i = first + count - 1; i >= first; i--) {
    uint32_t cell = put_value(p, L, i);
    p->cells[cell].next = chain;
    chain = cell;
  }
  if (chain) p->cells[chain].shares = 1;
  return chain;
}

void parcels_share(universe *U, uint32_t parcel, uint32_t more)
{
  if (parcel) parcels_of(U)->cells[parcel].shares += more;
}

void parcels_drop(universe *U, uint32_t parcel)
{
  parcels *p = parcels_of(U);
  if (!parcel || --p->cells[parcel].shares > 0) return;
  while (parcel) {
    uint32_t next = p->cells[parcel].next;
    lua_pushboolean(p->store, 0);
    lua_rawseti(p->store, PARCELS_VALUES, (int)parcel);
    p->cells[parcel].next = p->free;
    p->free = parcel;
    p->used--;
    parcel = next;
  }
}

static void push_value(parcels *p, lua_State *L, uint32_t cell)
{
  if (p->cells[cell].is_nil) {
    lua_pushnil(L);
    return;
  }
  lua_rawgeti(p->store, PARCELS_VALUES, (int)cell);
  lua_xmove(p->store, L, 1);
}

int parcels_take(universe *U, lua_State *L, uint32_t parcel)
{
  parcels *p = parcels_of(U);
  int count = 0;
  for (uint32_t cell = parcel; cell; cell = p->cells[cell].next) count++;
  if (count > FEW_VALUES && !compat_grow(L, count)) count = -1;
  for (uint32_t cell = count > 0 ? parcel : 0; cell; cell = p->cells[cell].next)
    push_value(p, L, cell);
  parcels_drop(U, parcel);
  return count;
}
