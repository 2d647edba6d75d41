/* SPDX-License-Identifier: MIT */
/*
** saves_write.c - Lua values are copied into a save.
**
** Nothing is recursive: a table that is met gets a number, and what is in it is written when its
** turn comes. The collector stands still meanwhile, so no finalizer changes what is walked, and an
** address means one string or table until the end.
*/
#include <string.h>

#include "lua/saves_bytes.h"

/* Its address is the key of the walkers' metatable. */
static const char meta_key;

/* --- Memory -------------------------------------------------------------------------------- */

static void walker_fini(walker *w)
{
  weft_counted_drop(w->objects.entries);
  weft_counted_drop(w->strings.entries);
  weft_counted_drop(w->holds.entries);
  weft_counted_drop(w->items);
  weft_counted_drop(w->memories);
  *w = (walker){0};
}

static int walker_gc(lua_State *L)
{
  walker_fini(lua_touserdata(L, 1));
  return 0;
}

static walker *push_walker(lua_State *L)
{
  walker *w = lua_newuserdata(L, sizeof *w);
  *w = (walker){0};
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return w;
}

static void *new_zeroed(lua_State *L, size_t count, size_t size)
{
  void *block = weft_counted_new(count * size, NULL);
  if (!block) walk_no_memory(L);
  return block;
}

/* Room for one element more in a list of `count`. */
#define RESERVE(L, list, count, room)                                                          \
  do {                                                                                         \
    if ((count) == (room)) {                                                                   \
      uint32_t larger_ = (room) ? (room)*2 : 64;                                               \
      void *block_ = new_zeroed((L), larger_, sizeof *(list));                                 \
      if (count) memcpy(block_, (list), (count) * sizeof *(list));                             \
      weft_counted_drop(list);                                                                 \
      (list) = block_;                                                                         \
      (room) = larger_;                                                                        \
    }                                                                                          \
  } while (0)

/* --- The map ------------------------------------------------------------------------------- */

static struct map_entry *map_find(const map *m, const void *key)
{
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
  uint32_t at = (uint32_t)(hash >> 32) & (m->size - 1);
  while (m->entries[at].key && m->entries[at].key != key) at = (at + 1) & (m->size - 1);
  return &m->entries[at];
}

static void map_grow(lua_State *L, map *m)
{
  map larger = {.size = m->size ? m->size * 4 : 256, .count = m->count};
  larger.entries = new_zeroed(L, larger.size, sizeof *larger.entries);
  for (uint32_t i = 0; i < m->size; i++)
    if (m->entries[i].key) *map_find(&larger, m->entries[i].key) = m->entries[i];
  weft_counted_drop(m->entries);
  *m = larger;
}

/* The entry of a key; a new one has no key yet, and there is room for it. */
static struct map_entry *map_at(lua_State *L, map *m, const void *key)
{
  if ((m->count + 1) * 2 > m->size) map_grow(L, m);
  return map_find(m, key);
}

static void map_set(map *m, struct map_entry *entry, const void *key, uint64_t value)
{
  *entry = (struct map_entry){key, value};
  m->count++;
}

/* --- Strings and numbers ------------------------------------------------------------------- */

static void put_string(lua_State *L, walker *w, int index)
{
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (length <= SAVE_SHORT) {
    struct map_entry *entry = map_at(L, &w->strings, text);
    if (entry->key) {
      put_number(L, w, SAVE_KNOWN, entry->value);
      return;
    }
    map_set(&w->strings, entry, text, w->strings.count);
  }
  put_number(L, w, SAVE_STRING, length);
  put(L, w, text, length);
}

static void put_integer(lua_State *L, walker *w, int64_t number)
{
  put_number(L, w, SAVE_INTEGER, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

/* The floats that a machine without integers has in their place. */
static bool is_whole(double number, int64_t *whole)
{
  if (!(number >= -0x1p53 && number <= 0x1p53)) return false;
  *whole = (int64_t)number;
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (double)*whole == number && bits != UINT64_C(1) << 63;
}

static void put_lua_number(lua_State *L, walker *w, int index)
{
  int64_t whole;
  if (compat_is_integer(L, index)) {
    put_integer(L, w, (int64_t)lua_tointeger(L, index));
    return;
  }
  double number = lua_tonumber(L, index);
  if (WEFT_LUAJIT && is_whole(number, &whole))
    put_integer(L, w, whole);
  else
    put_fixed(L, w, SAVE_FLOAT, &number);
}

static bool put_cdata(lua_State *L, walker *w, int index)
{
  enum cdata_kind kind = element_cdata(L, index);
  if (kind != CDATA_I64 && kind != CDATA_U64) return false;
  put_fixed(L, w, kind == CDATA_I64 ? SAVE_INT64 : SAVE_UINT64, lua_topointer(L, index));
  return true;
}

/* --- Objects ------------------------------------------------------------------------------- */

/* Writes the number of an object that was met; else gives it one. */
static bool put_known(lua_State *L, walker *w, int index)
{
  const void *address = lua_topointer(L, index);
  struct map_entry *entry = map_at(L, &w->objects, address);
  if (entry->key) {
    put_number(L, w, SAVE_AGAIN, entry->value);
    return true;
  }
  RESERVE(L, w->items, w->count, w->item_room);
  lua_pushvalue(L, index);
  lua_rawseti(L, w->order, (int)w->count + 1);
  w->items[w->count] = (item){w->current, w->section, NO_HINTS};
  map_set(&w->objects, entry, address, w->count++);
  return false;
}

/* The array of a memory, whose elements from `first` on are to be in it. */
static uint32_t array_of(lua_State *L, walker *w, hold *h, size_t first, size_t count)
{
  struct map_entry *entry = map_at(L, &w->holds, h);
  if (!entry->key) {
    RESERVE(L, w->memories, w->memory_count, w->memory_room);
    memory *m = &w->memories[w->memory_count];
    *m = (memory){h, 0, first, first};
    if (weft_save_array(w->save, weft_buffer_type(h->memory), &m->array) != WEFT_OK)
      walk_no_memory(L);
    map_set(&w->holds, entry, h, w->memory_count++);
  }
  memory *m = &w->memories[entry->value];
  if (count && m->first == m->end) m->first = m->end = first;
  if (count && first < m->first) m->first = first;
  if (count && first + count > m->end) m->end = first + count;
  return m->array;
}

/* Raises if a job has it for writing. */
static void check_loan(lua_State *L, const walker *w, int value, const view *v)
{
  size_t first = buffer_first(v);
  const char *why = hold_refusal(v->hold, first, first + (size_t)v->count, false);
  if (!why) return;
  walk_push_path(L, w, value);
  luaL_error(L, "weft.save.write: %s: buffer is %s", lua_tostring(L, -1), why);
}

static void put_buffer(lua_State *L, walker *w, int index, const view *v)
{
  check_loan(L, w, index, v);
  size_t first = buffer_first(v), count = (size_t)v->count;
  put_number(L, w, SAVE_BUFFER, array_of(L, w, v->hold, first, count));
  put_count(L, w, first);
  put_count(L, w, count);
  put(L, w, &(uint8_t){v->read_only}, 1);
}

/* The whole numbers of the list at `list` become an array. */
static void put_ids(lua_State *L, walker *w, int list, uint32_t count)
{
  uint32_t array;
  void *elements = NULL;
  if (weft_save_array(w->save, WEFT_U32, &array) != WEFT_OK ||
      weft_save_elements(w->save, array, count, 0, &elements) != WEFT_OK)
    walk_no_memory(L);
  uint32_t *to = elements;
  for (uint32_t i = 1; i <= count; i++) {
    lua_rawgeti(L, list, (int)i);
    *to++ = (uint32_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  put_count(L, w, array);
}

/* Of columns: names, buffers by name, rows, slots, generations, slots used, free slots, how many */
enum {
  PART_NAMES = 1,
  PART_BUFFERS,
  PART_ROWS,
  PART_SLOTS,
  PART_AGES,
  PART_USED,
  PART_FREE,
  PARTS = 8
};

static void put_column(lua_State *L, walker *w, int base, int i, int owner, uint32_t rows)
{
  lua_rawgeti(L, base + PART_NAMES, i);
  put_string(L, w, -1);
  lua_rawget(L, base + PART_BUFFERS);
  const view *v = buffer_test(L, -1);
  const char *why =
      v ? hold_refusal(v->hold, buffer_first(v), buffer_first(v) + rows, false) : NULL;
  if (why) {
    walk_push_path(L, w, owner);
    luaL_error(L, "weft.save.write: %s: columns: buffer is %s", lua_tostring(L, -1), why);
  }
  if (!v)
    luaL_error(L, "weft.save.write: columns that somebody has changed inside cannot be saved");
  put_count(L, w, array_of(L, w, v->hold, buffer_first(v), rows));
  put_count(L, w, buffer_first(v));
  lua_pop(L, 1);
}

static void put_columns(lua_State *L, walker *w, int index)
{
  int base = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  saves_push_parts(L);
  lua_pushvalue(L, index);
  lua_call(L, 1, PARTS);
  uint32_t rows = (uint32_t)lua_tonumber(L, base + PART_ROWS);
  int columns = (int)compat_raw_length(L, base + PART_NAMES);
  put_number(L, w, SAVE_COLUMNS, rows);
  put_count(L, w, (uint64_t)columns);
  for (int i = 1; i <= columns; i++) put_column(L, w, base, i, index, rows);
  put_ids(L, w, base + PART_SLOTS, rows);
  put_ids(L, w, base + PART_AGES, (uint32_t)lua_tonumber(L, base + PART_USED));
  put_ids(L, w, base + PART_FREE, (uint32_t)lua_tonumber(L, base + PARTS));
  lua_settop(L, base);
}

/* metatable on top -> ; the name of it, or the end */
static void put_meta(lua_State *L, walker *w, int index)
{
  saves_push_name(L, lua_gettop(L));
  if (lua_isnil(L, -1)) {
    walk_push_path(L, w, index);
    luaL_error(
        L,
        "weft.save.write: %s (table with a metatable) cannot be saved; give its metatable a "
        "name with save.metatable",
        lua_tostring(L, -1));
  }
  put_string(L, w, -1);
  lua_pop(L, 2);
}

static void put_table(lua_State *L, walker *w, int index)
{
  if (put_known(L, w, index)) return;
  item *it = &w->items[w->count - 1];
  bool has_meta = lua_getmetatable(L, index);
  if (has_meta && lua_topointer(L, -1) == w->columns) {
    lua_pop(L, 1);
    put_columns(L, w, index);
    return;
  }
  put_tag(L, w, has_meta ? SAVE_OBJECT : SAVE_TABLE);
  if (has_meta) put_meta(L, w, index);
  uint8_t *at = room(L, w, 8);
  memset(at, 0, 8);
  it->hints = w->flushed + w->used;
  w->used += 8;
}

static bool put_view(lua_State *L, walker *w, int index)
{
  const view *v = buffer_test(L, index);
  if (!v || !v->hold) return false;
  if (!put_known(L, w, index)) put_buffer(L, w, index, v);
  return true;
}

static void put_value(lua_State *L, walker *w, int index)
{
  index = lua_absindex(L, index);
  switch (lua_type(L, index)) {
  case LUA_TBOOLEAN:
    put_tag(L, w, lua_toboolean(L, index) ? SAVE_TRUE : SAVE_FALSE);
    return;
  case LUA_TNUMBER:
    put_lua_number(L, w, index);
    return;
  case LUA_TSTRING:
    put_string(L, w, index);
    return;
  case LUA_TTABLE:
    put_table(L, w, index);
    return;
  case COMPAT_TCDATA:
    if (put_cdata(L, w, index) || put_view(L, w, index)) return;
    break;
  case LUA_TUSERDATA:
    if (put_view(L, w, index)) return;
    break;
  }
  walk_refuse(L, w, index, luaL_typename(L, index));
}

/* --- All of it ----------------------------------------------------------------------------- */

/* table on top -> table. Keys that come as 1, 2, 3 are not written. */
static void put_contents(lua_State *L, walker *w, uint64_t hints)
{
  int table = lua_gettop(L);
  uint32_t numbers[2] = {0, 0};
  lua_pushnil(L);
  while (lua_next(L, table)) {
    bool next = numbers[1] == 0 && lua_type(L, table + 1) == LUA_TNUMBER &&
                lua_tonumber(L, table + 1) == (lua_Number)(numbers[0] + 1);
    if (!next) {
      w->in_key = true;
      put_value(L, w, table + 1);
      w->in_key = false;
    }
    numbers[next ? 0 : 1]++;
    put_value(L, w, table + 2);
    lua_pop(L, 1);
  }
  patch(L, w, hints, numbers);
}

/* value of the section on top -> */
static void put_section(lua_State *L, walker *w, uint32_t section)
{
  size_t length;
  uint32_t first = w->count;
  lua_rawgeti(L, w->names, (int)section);
  const char *name = lua_tolstring(L, -1, &length);
  if (weft_save_section(w->save, name, length) != WEFT_OK) walk_no_memory(L);
  lua_pop(L, 1);
  w->flushed = 0;
  w->section = section;
  w->current = 0;
  put_value(L, w, -1);
  for (w->current = first + 1; w->current <= w->count; w->current++) {
    uint64_t hints = w->items[w->current - 1].hints;
    if (hints == NO_HINTS) continue;
    lua_rawgeti(L, w->order, (int)w->current);
    put_contents(L, w, hints);
    lua_pop(L, 1);
  }
  flush(L, w);
  lua_pop(L, 1);
}

/* Elements as they are now, all at once. */
static void copy_memories(lua_State *L, walker *w)
{
  for (uint32_t i = 0; i < w->memory_count; i++) {
    const memory *m = &w->memories[i];
    size_t width = weft_type_bytes(weft_buffer_type(m->hold->memory));
    void *elements;
    if (weft_save_elements(w->save, m->array, m->end - m->first, m->first, &elements) !=
        WEFT_OK)
      walk_no_memory(L);
    const char *from = weft_buffer_data(m->hold->memory);
    memcpy(elements, from + m->first * width, (m->end - m->first) * width);
  }
}

/* sections at 1 -> list of their names, sorted */
static void push_names(lua_State *L)
{
  lua_newtable(L);
  int names = lua_gettop(L), count = 0;
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "weft.save.write: the names of sections must be strings, got %s",
                 binding_got(L, -1));
    lua_pushvalue(L, -1);
    lua_rawseti(L, names, ++count);
  }
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "table");
  lua_getfield(L, -1, "sort");
  lua_pushvalue(L, names);
  lua_call(L, 1, 0);
  lua_settop(L, names);
}

/* sections, save -> */
static int walk(lua_State *L)
{
  weft_save *save = lua_touserdata(L, 2);
  luaL_checkstack(L, 2 * LUA_MINSTACK, NULL);
  walker *w = push_walker(L);
  w->save = save;
  w->columns = saves_columns(L);
  push_names(L);
  w->names = lua_gettop(L);
  lua_newtable(L);
  w->order = w->names + 1;
  uint32_t sections = (uint32_t)compat_raw_length(L, w->names);
  for (uint32_t i = 1; i <= sections; i++) {
    lua_rawgeti(L, w->names, (int)i);
    lua_rawget(L, 1);
    put_section(L, w, i);
  }
  copy_memories(L, w);
  walker_fini(w);
  return 0;
}

/* Between stopping and starting the collector nothing may raise. */
bool saves_write(lua_State *L, weft_save *save, int sections)
{
  sections = lua_absindex(L, sections);
  luaL_checkstack(L, 4, NULL);
  binding_push_universe(L);
  lua_pushcclosure(L, walk, 1);
  lua_pushvalue(L, sections);
  lua_pushlightuserdata(L, save);
  bool running = lua_gc(L, LUA_GCISRUNNING, 0) > 0;
  lua_gc(L, LUA_GCSTOP, 0);
  int status = lua_pcall(L, 2, 0, 0);
  if (running) lua_gc(L, LUA_GCRESTART, 0);
  return status == LUA_OK;
}

void saves_write_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, walker_gc);
  lua_setfield(L, -2, "__gc");
  lua_rawset(L, LUA_REGISTRYINDEX);
}
