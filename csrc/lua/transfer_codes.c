/* SPDX-License-Identifier: MIT */
/*
** transfer_codes.c - the code of functions that cross: written once for each function that goes to the
** other side again and again, and loaded there once.
**
** Code is a counted object that several parcels and states may share. Each state remembers a few
** codes in two places: by function, those that it has written, and by hash, those that it has
** written or read. What has no place there is written or read anew; so all that is wrong with too
** small a memory is that it takes longer.
*/
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lua/transfer_writer.h"

/* Powers of two. */
#define WRITTEN 64
#define LOADED 256

/* What a function captures. */
enum captured { CAPTURES_NOTHING, CAPTURES_GLOBALS, CAPTURES_MORE };

struct codes {
  int functions; /* in the registry: a weak list of functions; their codes are in `written` */
  int makers;    /* in the registry: a list of what came of `loaded` */
  const void *addresses[WRITTEN];
  uint8_t captures[WRITTEN];
  code *written[WRITTEN];
  code *hashed[WRITTEN];
  code *loaded[LOADED];
};

/* --- Room ---------------------------------------------------------------------------------- */

static void drop_all(code **list, size_t count)
{
  for (size_t i = 0; i < count; i++) weft_counted_drop(list[i]);
}

static void codes_end(void *object)
{
  struct codes *known = object;
  drop_all(known->written, WRITTEN);
  drop_all(known->hashed, WRITTEN);
  drop_all(known->loaded, LOADED);
}

void codes_fini(universe *U)
{
  weft_counted_drop(U->codes);
  U->codes = NULL;
}

/* The state's own; NULL when it is closing. */
static struct codes *codes_here(lua_State *L)
{
  universe *U = binding_universe(L);
  struct codes *known = U->codes;
  if (U->closed || (known && known->makers)) return known;
  if (!known) known = U->codes = weft_counted_new(sizeof *known, codes_end);
  if (!known) writer_no_memory(L);
  if (!known->functions) {
    binding_push_weak(L, WRITTEN, "v");
    known->functions = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_createtable(L, LOADED, 0);
  known->makers = luaL_ref(L, LUA_REGISTRYINDEX);
  return known;
}

static void replace(code **place, code *with)
{
  weft_counted_keep(with);
  weft_counted_drop(*place);
  *place = with;
}

/* --- Writing ------------------------------------------------------------------------------- */

static uint32_t place_of(const void *address)
{
  return (uint32_t)((uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u >> 40) & (WRITTEN - 1);
}

/* What was written of the function at `index`, or NULL. An address means nothing by itself: the
   function that had it may be gone. */
static code *find_written(lua_State *L, const struct codes *known, int index, uint32_t place)
{
  if (known->addresses[place] != lua_topointer(L, index)) return NULL;
  lua_rawgeti(L, LUA_REGISTRYINDEX, known->functions);
  lua_rawgeti(L, -1, (int)place + 1);
  bool same = lua_rawequal(L, -1, index);
  lua_pop(L, 2);
  return same ? known->written[place] : NULL;
}

code *codes_find_plain(lua_State *L, const struct codes *known, int index, bool *globals)
{
  if (!known || !known->makers) return NULL;
  uint32_t place = place_of(lua_topointer(L, index));
  if (known->captures[place] == CAPTURES_MORE) return NULL;
  *globals = known->captures[place] == CAPTURES_GLOBALS;
  return find_written(L, known, index, place);
}

static enum captured what_captures(lua_State *L, int index)
{
  const char *name = lua_getupvalue(L, index, 1);
  if (!name) return CAPTURES_NOTHING;
  bool globals = strcmp(name, "_ENV") == 0;
  lua_pop(L, 1);
  if (!lua_getupvalue(L, index, 2)) return globals ? CAPTURES_GLOBALS : CAPTURES_MORE;
  lua_pop(L, 1);
  return CAPTURES_MORE;
}

static bool is_code(const code *c, uint64_t hash, const void *bytes, size_t length)
{
  return c && c->hash == hash && c->length == length && memcmp(c->bytes, bytes, length) == 0;
}

/* Functions that were made by the same line have the same code. */
static code *make(lua_State *L, struct codes *known, const uint8_t *bytes, size_t length)
{
  uint64_t hash = XXH64(bytes, length, 0);
  code **place = known ? &known->hashed[hash & (WRITTEN - 1)] : NULL;
  if (place && is_code(*place, hash, bytes, length)) return weft_counted_keep(*place);
  code *c = weft_counted_new(sizeof *c + length, NULL);
  if (!c) writer_no_memory(L);
  c->hash = hash;
  c->length = length;
  memcpy(c->bytes, bytes, length);
  if (place) replace(place, c);
  return c;
}

static int dump_some(lua_State *L, const void *data, size_t size, void *context)
{
  (void)L;
  return writer_put_try(context, data, size) ? 0 : 1;
}

code *codes_of(lua_State *L, writer *w, int index)
{
  struct codes *known = codes_here(L);
  uint32_t place = place_of(lua_topointer(L, index));
  code *c = known ? find_written(L, known, index, place) : NULL;
  if (c) return weft_counted_keep(c);
  size_t start = w->size;
  lua_pushvalue(L, index);
  int status = compat_dump(L, dump_some, w);
  lua_pop(L, 1);
  if (status != 0) writer_no_memory(L);
  if (w->size - start > UINT32_MAX)
    luaL_error(L, "weft.jobs: a function of over 4 GiB cannot cross");
  c = make(L, known, w->bytes + start, w->size - start);
  w->size = start;
  if (!known) return c;
  known->addresses[place] = NULL;
  lua_rawgeti(L, LUA_REGISTRYINDEX, known->functions);
  lua_pushvalue(L, index);
  lua_rawseti(L, -2, (int)place + 1); /* in the list's own room: never raises */
  lua_pop(L, 1);
  replace(&known->written[place], c);
  known->captures[place] = (uint8_t)what_captures(L, index);
  known->addresses[place] = lua_topointer(L, index);
  return c;
}

/* --- Reading ------------------------------------------------------------------------------- */

bool codes_push_loaded(lua_State *L, const struct codes *known, code *c)
{
  uint32_t place = (uint32_t)c->hash & (LOADED - 1);
  const code *there = known && known->makers ? known->loaded[place] : NULL;
  if (there != c && !is_code(there, c->hash, c->bytes, c->length)) return false;
  lua_rawgeti(L, LUA_REGISTRYINDEX, known->makers);
  lua_rawgeti(L, -1, (int)place + 1);
  lua_remove(L, -2);
  return true;
}

void codes_remember(lua_State *L, code *c)
{
  struct codes *known = codes_here(L);
  uint32_t place = (uint32_t)c->hash & (LOADED - 1);
  if (!known) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, known->makers);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, (int)place + 1);
  lua_pop(L, 1);
  replace(&known->loaded[place], c);
}
