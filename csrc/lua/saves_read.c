/* SPDX-License-Identifier: MIT */
/*
** saves_read.c - what is in a save becomes Lua values again.
**
** The checksums were right, and yet nothing is believed: each length is held against what is left,
** each number against what there is, and all tables together may claim no more entries than there
** are bytes. Nothing is recursive.
*/
#include <string.h>

#include "lua/saves.h"

/* What is to be read into a table; nothing, for other objects. */
typedef struct content {
  uint32_t list, pairs;
} content;

typedef struct reader {
  const weft_loaded *loaded;
  const uint8_t *at, *end;
  uint64_t budget;   /* entries that tables may still claim */
  content *contents; /* by object, from 0 */
  uint32_t content_room;
  hold **holds; /* by array; NULL where there is none yet */
  uint32_t arrays;
  /* Where on the stack lists are: of objects; of those with a metatable, each behind it; of
     strings. */
  int objects, metas, strings;
  uint32_t count, meta_count, string_count;
  bool *damaged;
} reader;

/* Its address is the key of the readers' metatable. */
static const char meta_key;

static int damaged(lua_State *L, reader *r)
{
  *r->damaged = true;
  lua_pushliteral(L, "what is in it makes no sense");
  return lua_error(L);
}

/* --- Bytes --------------------------------------------------------------------------------- */

static size_t left(const reader *r)
{
  return (size_t)(r->end - r->at);
}

static const uint8_t *take(lua_State *L, reader *r, uint64_t size)
{
  if (size > left(r)) damaged(L, r);
  const uint8_t *at = r->at;
  r->at += size;
  return at;
}

static uint8_t take_u8(lua_State *L, reader *r)
{
  return *take(L, r, 1);
}

static uint32_t take_u32(lua_State *L, reader *r)
{
  uint32_t number;
  memcpy(&number, take(L, r, sizeof number), sizeof number);
  return number;
}

/* A number of seven bits a byte. */
static uint64_t take_count(lua_State *L, reader *r)
{
  uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = take_u8(L, r);
    number |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return number;
  }
  damaged(L, r);
  return 0;
}

static uint32_t take_below(lua_State *L, reader *r, uint64_t bound)
{
  uint64_t number = take_count(L, r);
  if (number >= bound) damaged(L, r);
  return (uint32_t)number;
}

/* --- Strings and numbers ------------------------------------------------------------------- */

static void read_new_string(lua_State *L, reader *r)
{
  uint64_t length = take_count(L, r);
  lua_pushlstring(L, (const char *)take(L, r, length), (size_t)length);
  if (length > SAVE_SHORT) return;
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->strings, (int)++r->string_count);
}

static void read_known_string(lua_State *L, reader *r)
{
  lua_rawgeti(L, r->strings, (int)take_below(L, r, r->string_count) + 1);
}

/* -> string */
static void read_string(lua_State *L, reader *r)
{
  uint8_t tag = take_u8(L, r);
  if (tag == SAVE_STRING)
    read_new_string(L, r);
  else if (tag == SAVE_KNOWN)
    read_known_string(L, r);
  else
    damaged(L, r);
}

/* Where there are no integers, those that a double does not hold become int64_t cdata. */
static void read_integer(lua_State *L, reader *r)
{
  uint64_t number = take_count(L, r);
  int64_t whole = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
  if (!WEFT_LUAJIT)
    lua_pushinteger(L, (lua_Integer)whole);
  else if (whole >= -(INT64_C(1) << 53) && whole <= INT64_C(1) << 53)
    lua_pushnumber(L, (lua_Number)whole);
  else
    element_push_int64(L, whole, false);
}

static void read_eight(lua_State *L, reader *r, uint8_t tag)
{
  double number;
  int64_t whole;
  const uint8_t *at = take(L, r, 8);
  memcpy(&number, at, sizeof number);
  memcpy(&whole, at, sizeof whole);
  if (tag == SAVE_FLOAT)
    lua_pushnumber(L, number);
  else
    element_push_int64(L, whole, tag == SAVE_UINT64);
}

/* --- Objects ------------------------------------------------------------------------------- */

/* object on top -> object; it gets the next number */
static void add_object(lua_State *L, reader *r, uint32_t list, uint32_t pairs)
{
  if (r->count == r->content_room) {
    uint32_t room = r->content_room ? r->content_room * 2 : 64;
    content *larger = weft_counted_new(room * sizeof *larger, NULL);
    if (!larger) luaL_error(L, "not enough memory");
    if (r->count) memcpy(larger, r->contents, r->count * sizeof *larger);
    weft_counted_drop(r->contents);
    r->contents = larger;
    r->content_room = room;
  }
  r->contents[r->count] = (content){list, pairs};
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->objects, (int)++r->count);
}

/* Each entry takes one byte at least. */
static void read_table(lua_State *L, reader *r)
{
  uint32_t list = take_u32(L, r), pairs = take_u32(L, r);
  uint64_t claim = (uint64_t)list + 2 * (uint64_t)pairs;
  if (claim > r->budget || list > INT32_MAX || pairs > INT32_MAX) damaged(L, r);
  r->budget -= claim;
  lua_createtable(L, (int)list, (int)pairs);
  add_object(L, r, list, pairs);
}

/* Metatables are set at the end, when all is there that their __gc might look at. */
static void read_object(lua_State *L, reader *r)
{
  size_t length;
  read_string(L, r);
  const char *name = lua_tolstring(L, -1, &length);
  saves_push_meta(L, name, length);
  if (lua_isnil(L, -1))
    luaL_error(L, "there is no metatable of the name '%s'; give it with save.metatable", name);
  int place = 2 * (int)r->meta_count++;
  lua_rawseti(L, r->metas, place + 1);
  lua_pop(L, 1);
  read_table(L, r);
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->metas, place + 2);
}

/* --- Buffers ------------------------------------------------------------------------------- */

static hold *hold_of(lua_State *L, reader *r, uint32_t array)
{
  uint64_t first;
  if (r->holds[array]) return r->holds[array];
  weft_buffer *buffer = weft_buffer_keep(weft_loaded_array(r->loaded, array, &first));
  r->holds[array] = hold_new(buffer, binding_universe(L), NULL);
  if (!r->holds[array]) luaL_error(L, "not enough memory");
  return r->holds[array];
}

/* Elements of an array, by their places in the memory that it was a part of. -> view */
static void push_view(lua_State *L, reader *r, uint32_t array, uint64_t first, uint64_t count,
                      bool read_only)
{
  uint64_t base, there = weft_buffer_count(weft_loaded_array(r->loaded, array, &base));
  if (count == 0) first = base;
  if (first < base || first - base > there || count > there - (first - base)) damaged(L, r);
  buffer_push_view(L, hold_of(L, r, array), (size_t)(first - base), (size_t)count, read_only);
}

static void read_buffer(lua_State *L, reader *r)
{
  uint32_t array = take_below(L, r, r->arrays);
  uint64_t first = take_count(L, r), count = take_count(L, r);
  uint8_t read_only = take_u8(L, r);
  if (read_only > 1) damaged(L, r);
  push_view(L, r, array, first, count, read_only);
  add_object(L, r, 0, 0);
}

/* --- Columns ------------------------------------------------------------------------------- */

/* The whole numbers of an array, each from 1 up to `most`. -> list; how many */
static uint32_t read_ids(lua_State *L, reader *r, uint64_t most)
{
  uint64_t first;
  const weft_buffer *b = weft_loaded_array(r->loaded, take_below(L, r, r->arrays), &first);
  size_t count = weft_buffer_count(b);
  const uint32_t *ids = weft_buffer_data(b);
  if (weft_buffer_type(b) != WEFT_U32 || count > INT32_MAX) damaged(L, r);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    if (ids[i] < 1 || ids[i] > most) damaged(L, r);
    lua_pushinteger(L, (lua_Integer)ids[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return (uint32_t)count;
}

/* Into the lists that begin at `lists`: of names, of buffers by name, of types by name. */
static void read_column(lua_State *L, reader *r, uint64_t rows, int lists, int number)
{
  read_string(L, r);
  int name = lua_gettop(L);
  lua_pushvalue(L, name);
  lua_rawseti(L, lists, number);
  uint32_t array = take_below(L, r, r->arrays);
  lua_pushvalue(L, name);
  push_view(L, r, array, take_count(L, r), rows, false);
  weft_type type = (weft_type)buffer_test(L, -1)->type;
  lua_rawset(L, lists + 1);
  lua_pushstring(L, weft_type_name(type));
  lua_rawset(L, lists + 2);
}

/* The lists of slots, generations and free slots stand from `slots` on: a slot has one row, or is
   free, or is used up. */
static void check_slots(lua_State *L, reader *r, int slots, uint32_t rows, uint32_t used,
                        uint32_t free)
{
  if ((uint64_t)rows + free > used) damaged(L, r);
  uint8_t *seen = lua_newuserdata(L, (size_t)used + 1);
  memset(seen, 0, (size_t)used + 1);
  for (uint32_t i = 1; i <= rows + free; i++) {
    bool is_row = i <= rows;
    lua_rawgeti(L, is_row ? slots : slots + 2, (int)(is_row ? i : i - rows));
    double slot = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (slot > used || seen[(uint32_t)slot]) damaged(L, r);
    seen[(uint32_t)slot] = 1;
  }
  lua_pop(L, 1);
}

static void read_columns(lua_State *L, reader *r)
{
  uint64_t rows = take_count(L, r), columns = take_count(L, r);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (rows > INT32_MAX || columns == 0 || columns > left(r)) damaged(L, r);
  saves_push_assemble(L);
  for (int i = 0; i < 3; i++) lua_newtable(L);
  int lists = lua_gettop(L) - 2;
  for (int i = 1; i <= (int)columns; i++) read_column(L, r, rows, lists, i);
  lua_pushnumber(L, (lua_Number)rows);
  uint32_t slots = read_ids(L, r, 16777215);
  uint32_t used = read_ids(L, r, 536870912);
  uint32_t free = read_ids(L, r, 16777215);
  if (slots != rows) damaged(L, r);
  check_slots(L, r, lists + 4, slots, used, free);
  lua_call(L, 7, 1);
  add_object(L, r, 0, 0);
}

/* --- Values -------------------------------------------------------------------------------- */

static void read_again(lua_State *L, reader *r)
{
  lua_rawgeti(L, r->objects, (int)take_below(L, r, r->count) + 1);
}

/* -> value */
static void read_value(lua_State *L, reader *r)
{
  uint8_t tag = take_u8(L, r);
  switch (tag) {
  case SAVE_FALSE:
  case SAVE_TRUE:
    lua_pushboolean(L, tag == SAVE_TRUE);
    break;
  case SAVE_INTEGER:
    read_integer(L, r);
    break;
  case SAVE_FLOAT:
  case SAVE_INT64:
  case SAVE_UINT64:
    read_eight(L, r, tag);
    break;
  case SAVE_STRING:
    read_new_string(L, r);
    break;
  case SAVE_KNOWN:
    read_known_string(L, r);
    break;
  case SAVE_TABLE:
    read_table(L, r);
    break;
  case SAVE_AGAIN:
    read_again(L, r);
    break;
  case SAVE_OBJECT:
    read_object(L, r);
    break;
  case SAVE_BUFFER:
    read_buffer(L, r);
    break;
  case SAVE_COLUMNS:
    read_columns(L, r);
    break;
  default: /* a nil is nowhere written */
    damaged(L, r);
  }
}

/* -> value that a table may have as a key: not NaN */
static void read_key(lua_State *L, reader *r)
{
  read_value(L, r);
  if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) != lua_tonumber(L, -1))
    damaged(L, r);
}

static void read_contents(lua_State *L, reader *r, int table, content what)
{
  for (uint32_t i = 1; i <= what.list; i++) {
    read_value(L, r);
    lua_rawseti(L, table, (int)i);
  }
  for (uint32_t i = 0; i < what.pairs; i++) {
    read_key(L, r);
    read_value(L, r);
    lua_rawset(L, table);
  }
}

/* --- All of it ----------------------------------------------------------------------------- */

/* -> value */
static void read_section(lua_State *L, reader *r, uint32_t section)
{
  size_t size;
  uint32_t first = r->count;
  r->at = weft_loaded_data(r->loaded, section, &size);
  r->end = r->at + size;
  read_value(L, r);
  for (uint32_t i = first; i < r->count; i++) {
    content what = r->contents[i];
    if (what.list == 0 && what.pairs == 0) continue;
    lua_rawgeti(L, r->objects, (int)i + 1);
    read_contents(L, r, lua_gettop(L), what);
    lua_pop(L, 1);
  }
  if (r->at != r->end) damaged(L, r);
}

static void set_metatables(lua_State *L, const reader *r)
{
  for (int i = 0; i < (int)r->meta_count; i++) {
    lua_rawgeti(L, r->metas, 2 * i + 2);
    lua_rawgeti(L, r->metas, 2 * i + 1);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
  }
}

static void reader_fini(reader *r)
{
  for (uint32_t i = 0; r->holds && i < r->arrays; i++) hold_drop(r->holds[i]);
  weft_counted_drop(r->holds);
  weft_counted_drop(r->contents);
  *r = (reader){0};
}

static int reader_gc(lua_State *L)
{
  reader_fini(lua_touserdata(L, 1));
  return 0;
}

static reader *push_reader(lua_State *L, const weft_loaded *loaded)
{
  reader *r = lua_newuserdata(L, sizeof *r);
  *r = (reader){.loaded = loaded, .arrays = weft_loaded_arrays(loaded)};
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  r->holds = weft_counted_new(r->arrays * sizeof *r->holds, NULL);
  if (!r->holds) luaL_error(L, "not enough memory");
  return r;
}

/* loaded, whether it is damaged -> sections */
static int build(lua_State *L)
{
  const weft_loaded *loaded = lua_touserdata(L, 1);
  bool *is_damaged = lua_touserdata(L, 2);
  luaL_checkstack(L, 2 * LUA_MINSTACK, NULL);
  reader *r = push_reader(L, loaded);
  for (int i = 0; i < 4; i++) lua_newtable(L);
  int sections = lua_gettop(L);
  r->objects = sections - 3;
  r->metas = sections - 2;
  r->strings = sections - 1;
  r->damaged = is_damaged;
  for (uint32_t i = 0; i < weft_loaded_sections(loaded); i++) {
    size_t size, length;
    (void)weft_loaded_data(loaded, i, &size);
    r->budget += size;
    const char *name = weft_loaded_name(loaded, i, &length);
    lua_pushlstring(L, name, length);
    read_section(L, r, i);
    lua_rawset(L, sections);
  }
  set_metatables(L, r);
  reader_fini(r);
  return 1;
}

enum saves_outcome saves_read(lua_State *L, const weft_loaded *loaded)
{
  bool is_damaged = false;
  binding_push_universe(L);
  lua_pushcclosure(L, build, 1);
  lua_pushlightuserdata(L, (void *)loaded);
  lua_pushlightuserdata(L, &is_damaged);
  if (lua_pcall(L, 2, 1, 0) == LUA_OK) return SAVES_READ;
  return is_damaged ? SAVES_DAMAGED : SAVES_FAILED;
}

void saves_read_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, reader_gc);
  lua_setfield(L, -2, "__gc");
  lua_rawset(L, LUA_REGISTRYINDEX);
}
