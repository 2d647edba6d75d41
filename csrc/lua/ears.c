/* SPDX-License-Identifier: MIT */
/*
** ears.c - who hears which message: the functions of `owner:on`, by name and by owner.
**
** Each name has a list of ears that is sorted by when their owners were made, and within an owner by
** when they came: a broadcast walks it, a message for one owner finds its place by halving. An ear
** that goes leaves its place empty until half of the list is; so lists may be walked while handlers
** come and go. Arrays of numbers in C, the functions and names in cells of the world: only ears_add
** may throw.
*/
#include <string.h>

#include "lua/binding.h"

#define NONE 0

/* --- Arrays -------------------------------------------------------------------------------- */

/* The array with room for twice as many, the new half zeroed; place 0 means none. */
static void *grown(lua_State *L, void *array, uint32_t *size, size_t each)
{
  uint32_t larger = *size > 0 ? *size * 2 : 8;
  char *block =
      *size < UINT32_C(1) << 30 ? binding_alloc(L, array, *size * each, larger * each) : NULL;
  if (!block) luaL_error(L, "not enough memory");
  memset(block + *size * each, 0, (larger - *size) * each);
  *size = larger;
  return block;
}

static void freed(lua_State *L, void *array, uint32_t size, size_t each)
{
  if (array) binding_alloc(L, array, size * each, 0);
}

void ears_fini(lua_State *L, ears *e)
{
  for (uint32_t i = 1; i < e->name_count; i++)
    freed(L, e->names[i].list, e->names[i].size, sizeof(hearing));
  freed(L, e->all, e->size, sizeof *e->all);
  freed(L, e->names, e->name_size, sizeof *e->names);
  freed(L, e->owners, e->owner_size, sizeof *e->owners);
  *e = (ears){0};
}

/* --- Owners -------------------------------------------------------------------------------- */

void ears_reserve_owners(lua_State *L, realm *R, uint32_t slots)
{
  ears *e = &R->ears;
  while (e->owner_size <= slots)
    e->owners = grown(L, e->owners, &e->owner_size, sizeof *e->owners);
}

void ears_begin_owner(realm *R, weft_owner id)
{
  ears *e = &R->ears;
  e->owners[weft_owner_slot(id)] = (ear_owner){.id = id, .serial = ++e->last_owner};
}

void ears_end_owner(realm *R, weft_owner id)
{
  ears *e = &R->ears;
  ear_owner *owner = &e->owners[weft_owner_slot(id)];
  while (owner->first != NONE) ears_remove(R, owner->first);
}

/* --- Lists --------------------------------------------------------------------------------- */

/* The first place of a list whose owner was not made before `serial`. */
static uint32_t place_of(const heard_name *name, uint64_t serial)
{
  uint32_t low = 0, high = name->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (name->list[middle].serial < serial)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Closes the empty places, and forgets a name that nobody hears; its list is kept for the next. */
static void tidy(realm *R, uint32_t number)
{
  ears *e = &R->ears;
  heard_name *name = &e->names[number];
  if (e->telling == number || name->off <= name->count / 2) return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < name->count; i++)
    if (name->list[i].ear != NONE) name->list[kept++] = name->list[i];
  name->count = kept;
  name->off = 0;
  if (kept > 0) return;
  lua_rawgeti(R->store, STORE_VALUES, (int)name->cell);
  lua_pushnil(R->store);
  lua_rawset(R->store, STORE_EARS);
  values_drop(R, name->cell);
  name->cell = NONE;
  name->next = e->name_free;
  e->name_free = number;
}

static void insert(ears *e, uint32_t number, hearing h)
{
  heard_name *name = &e->names[number];
  uint32_t at = place_of(name, h.serial + 1);
  memmove(name->list + at + 1, name->list + at, (name->count - at) * sizeof h);
  name->list[at] = h;
  name->count++;
  if (e->telling == number && at < e->at) e->at++;
}

/* --- Coming and going ---------------------------------------------------------------------- */

uint32_t ears_find_name(lua_State *L, realm *R, int index)
{
  lua_pushvalue(L, index);
  lua_xmove(L, R->store, 1);
  lua_rawget(R->store, STORE_EARS);
  uint32_t number = (uint32_t)lua_tointeger(R->store, -1);
  lua_pop(R->store, 1);
  return number;
}

/* Room for one name more. */
static void reserve_name(lua_State *L, ears *e)
{
  if (e->name_free != NONE) return;
  if (e->name_count == 0) e->name_count = 1;
  if (e->name_count >= e->name_size)
    e->names = grown(L, e->names, &e->name_size, sizeof *e->names);
  e->name_free = e->name_count++;
}

/* The number of the name at `index`; it is given one if need be, and has room for one ear more. */
static uint32_t need_name(lua_State *L, realm *R, int index)
{
  ears *e = &R->ears;
  uint32_t number = ears_find_name(L, R, index);
  bool known = number != NONE;
  if (!known) {
    reserve_name(L, e);
    number = e->name_free;
  }
  heard_name *name = &e->names[number];
  if (name->count >= name->size)
    name->list = grown(L, name->list, &name->size, sizeof *name->list);
  if (known) return number;
  lua_pushvalue(R->store, STORE_EARS);
  lua_xmove(R->store, L, 1);
  lua_pushvalue(L, index);
  lua_pushinteger(L, (lua_Integer)number);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  e->name_free = name->next;
  name->cell = values_put(R, L, index);
  return number;
}

/* Room for one ear more. */
static void reserve_ear(lua_State *L, ears *e)
{
  if (e->free != NONE) return;
  if (e->count == 0) e->count = 1;
  if (e->count >= e->size) e->all = grown(L, e->all, &e->size, sizeof *e->all);
  e->free = e->count++;
}

uint32_t ears_add(lua_State *L, realm *R, weft_owner id, int name, int fn)
{
  ears *e = &R->ears;
  values_reserve(L, R, 2);
  reserve_ear(L, e);
  uint32_t number = need_name(L, R, name), made = e->free;
  ear *new = &e->all[made];
  ear_owner *owner = &e->owners[weft_owner_slot(id)];
  e->free = new->next;
  *new = (ear){.born = ++e->last_born,
               .cell = values_put(R, L, fn),
               .name = number,
               .owner = weft_owner_slot(id),
               .next = owner->first};
  if (owner->first != NONE) e->all[owner->first].prev = made;
  owner->first = made;
  insert(e, number, (hearing){owner->serial, made});
  return made;
}

static void unlink_of_owner(ears *e, const ear *gone)
{
  if (gone->prev != NONE)
    e->all[gone->prev].next = gone->next;
  else
    e->owners[gone->owner].first = gone->next;
  if (gone->next != NONE) e->all[gone->next].prev = gone->prev;
}

void ears_remove(realm *R, uint32_t number)
{
  ears *e = &R->ears;
  ear *gone = &e->all[number];
  heard_name *name = &e->names[gone->name];
  uint32_t at = place_of(name, e->owners[gone->owner].serial);
  while (name->list[at].ear != number) at++;
  name->list[at].ear = NONE;
  name->off++;
  unlink_of_owner(e, gone);
  values_drop(R, gone->cell);
  uint32_t heard = gone->name;
  *gone = (ear){.next = e->free};
  e->free = number;
  tidy(R, heard);
}

/* --- Telling ------------------------------------------------------------------------------- */

void ears_begin(realm *R, uint32_t number, weft_owner to)
{
  ears *e = &R->ears;
  ears_end(R); /* of a telling that an error broke off */
  e->telling = number;
  e->born_before = e->last_born;
  e->only = to ? e->owners[weft_owner_slot(to)].serial : 0;
  e->at = to ? place_of(&e->names[number], e->only) : 0;
}

uint32_t ears_next(realm *R)
{
  ears *e = &R->ears;
  const heard_name *name = &e->names[e->telling];
  while (e->at < name->count) {
    hearing h = name->list[e->at];
    if (e->only && h.serial != e->only) return NONE;
    e->at++;
    if (h.ear == NONE || e->all[h.ear].born > e->born_before) continue;
    const ear *next = &e->all[h.ear];
    if (weft_owner_alive(R->world, e->owners[next->owner].id)) return next->cell;
  }
  return NONE;
}

void ears_end(realm *R)
{
  uint32_t told = R->ears.telling;
  R->ears.telling = NONE;
  if (told != NONE) tidy(R, told);
}
