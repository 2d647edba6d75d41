/* SPDX-License-Identifier: MIT */
/*
** transfer_writer.c - what a parcel is gathered in: its memory, the bytes so far, the numbers of what
** was met, and what goes along by reference. What values look like is not known here.
*/
#include <string.h>

#include "lua/transfer_writer.h"

/* Addresses, the keys of: the writers' metatable; the writer that is kept; a table for its list. */
static const char meta_key, writer_key, order_key;

/* Room for so many is left behind many bytes. */
#define USUAL_REFERENCES 8

int writer_no_memory(lua_State *L)
{
  return luaL_error(L, "weft.jobs: not enough memory for what is to cross");
}

/* --- Memory -------------------------------------------------------------------------------- */

static void drop_references(reference *references, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) weft_counted_drop(references[i].object);
}

static void map_init(map *m)
{
  memset(m->small, 0, sizeof m->small);
  m->entries = m->small;
  m->size = sizeof m->small / sizeof *m->small;
  m->count = 0;
}

static void map_fini(map *m)
{
  if (m->entries != m->small) weft_counted_drop(m->entries);
  if (m->count > 0) map_init(m);
}

static void writer_init(writer *w)
{
  w->bytes = w->small;
  w->room = sizeof w->small;
  w->size = 0;
  w->items = w->few;
  w->item_room = sizeof w->few / sizeof *w->few;
  w->references = w->few_references;
  w->reference_count = 0;
  w->reference_room = sizeof w->few_references / sizeof *w->few_references;
  w->lendings = NULL;
  w->lending_count = w->lending_room = 0;
  w->count = w->current = w->root = 0;
  w->in_key = false;
}

/* Bytes for which a writer has no room of its own stand in what can be their parcel. */
static parcel *around(const writer *w)
{
  return w->bytes == w->small ? NULL : (parcel *)(w->bytes - offsetof(parcel, bytes));
}

static void writer_fini(writer *w)
{
  weft_counted_drop(around(w));
  if (w->items != w->few) weft_counted_drop(w->items);
  map_fini(&w->objects);
  map_fini(&w->upvalues);
  weft_counted_drop(w->lendings);
  drop_references(w->references, w->reference_count);
  if (w->references != w->few_references) weft_counted_drop(w->references);
  writer_init(w);
}

/* Of one that an error has left behind, or at the end of the state. */
static int writer_gc(lua_State *L)
{
  writer_fini(lua_touserdata(L, 1));
  return 0;
}

static writer *push_new_writer(lua_State *L)
{
  writer *w = lua_newuserdata(L, sizeof *w);
  writer_init(w);
  map_init(&w->objects);
  map_init(&w->upvalues);
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return w;
}

/* -> what is kept under the key, false if it is with somebody; who takes it leaves false */
static void push_kept(lua_State *L, const char *key)
{
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(L, (void *)key);
  lua_pushboolean(L, 0);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* value on top -> ; kept for the next time */
static void keep(lua_State *L, const char *key)
{
  lua_pushlightuserdata(L, (void *)key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* -> table */
static void push_order(lua_State *L)
{
  push_kept(L, &order_key);
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);
  lua_createtable(L, 8, 0);
}

/* A long one is not kept, and none keeps what was in it. */
static void keep_order(lua_State *L, const writer *w)
{
  if (w->count == 0 || w->count > 8) return;
  lua_pushvalue(L, w->order);
  for (int i = (int)w->count; i > 0; i--) {
    lua_pushnil(L);
    lua_rawseti(L, -2, i);
  }
  keep(L, &order_key);
}

/* A larger array with the same elements, or an error. The old one, unless it is `inner`, is freed. */
static void *grown(lua_State *L, void *array, const void *inner, size_t used, size_t bytes)
{
  void *larger = weft_counted_new(bytes, NULL);
  if (!larger) writer_no_memory(L);
  if (used) memcpy(larger, array, used);
  if (array != inner) weft_counted_drop(array);
  return larger;
}

/* Room for one element more in a list of `count`; `inner` is one that is not to be freed, or NULL. */
#define RESERVE(L, list, inner, count, room)                                                   \
  do {                                                                                         \
    if ((count) == (room)) {                                                                   \
      uint32_t larger_ = (room) ? (room)*2 : 16;                                               \
      (list) =                                                                                 \
          grown((L), (list), (inner), (count) * sizeof *(list), larger_ * sizeof *(list));     \
      (room) = larger_;                                                                        \
    }                                                                                          \
  } while (0)

static void parcel_end(void *object)
{
  parcel *p = object;
  drop_references(p->references, p->reference_count);
  weft_counted_drop(p->lendings);
}

/* --- Bytes --------------------------------------------------------------------------------- */

bool writer_put_try(writer *w, const void *data, size_t size)
{
  if (size > w->room - w->size) {
    size_t least = w->size + size + USUAL_REFERENCES * sizeof(reference);
    size_t room = w->room * 2 > least ? w->room * 2 : least;
    parcel *larger = weft_counted_new(offsetof(parcel, bytes) + room, parcel_end);
    if (!larger) return false;
    memcpy(larger->bytes, w->bytes, w->size);
    weft_counted_drop(around(w));
    w->bytes = larger->bytes;
    w->room = room;
  }
  if (size) memcpy(w->bytes + w->size, data, size);
  w->size += size;
  return true;
}

void writer_put(lua_State *L, writer *w, const void *data, size_t size)
{
  if (!writer_put_try(w, data, size)) writer_no_memory(L);
}

void writer_put_tag(lua_State *L, writer *w, enum transfer_tag tag)
{
  writer_put(L, w, &(uint8_t){(uint8_t)tag}, 1);
}

void writer_put_u32(lua_State *L, writer *w, uint32_t number)
{
  writer_put(L, w, &number, sizeof number);
}

void writer_put_bytes(lua_State *L, writer *w, enum transfer_tag tag, const char *text,
                      size_t length)
{
  if (length > UINT32_MAX) luaL_error(L, "weft.jobs: a string of over 4 GiB cannot cross");
  writer_put_tag(L, w, tag);
  writer_put_u32(L, w, (uint32_t)length);
  writer_put(L, w, text, length);
}

/* --- The map ------------------------------------------------------------------------------- */

struct map_entry *map_find(const map *m, const void *key)
{
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
  uint32_t at = (uint32_t)(hash >> 32) & (m->size - 1);
  while (m->entries[at].key && m->entries[at].key != key) at = (at + 1) & (m->size - 1);
  return &m->entries[at];
}

static void map_grow(lua_State *L, map *m)
{
  map larger = {.size = m->size * 4, .count = m->count};
  larger.entries = weft_counted_new(larger.size * sizeof *larger.entries, NULL);
  if (!larger.entries) writer_no_memory(L);
  for (uint32_t i = 0; i < m->size; i++)
    if (m->entries[i].key) *map_find(&larger, m->entries[i].key) = m->entries[i];
  if (m->entries != m->small) weft_counted_drop(m->entries);
  m->entries = larger.entries;
  m->size = larger.size;
}

void map_add(lua_State *L, map *m, const void *key, uint64_t value)
{
  if ((m->count + 1) * 2 > m->size) map_grow(L, m);
  *map_find(m, key) = (struct map_entry){key, value};
  m->count++;
}

/* --- What was met -------------------------------------------------------------------------- */

item *writer_add_item(lua_State *L, writer *w, int index)
{
  uint32_t depth = w->current ? w->items[w->current - 1].depth + 1 : 1;
  if (depth > TRANSFER_MAX_DEPTH) writer_refuse_depth(L, w);
  index = lua_absindex(L, index);
  if (w->count == 0) {
    push_order(L);
    lua_replace(L, w->order);
  }
  RESERVE(L, w->items, w->few, w->count, w->item_room);
  lua_pushvalue(L, index);
  lua_rawseti(L, w->order, (int)w->count + 1);
  map_add(L, &w->objects, lua_topointer(L, index), w->count + 1);
  item *it = &w->items[w->count++];
  *it = (item){.parent = w->current, .depth = depth, .root = w->root};
  return it;
}

uint32_t writer_add_reference(lua_State *L, writer *w, enum reference_kind kind, void *object)
{
  for (uint32_t i = 0; i < w->reference_count; i++)
    if (w->references[i].object == object) return i;
  RESERVE(L, w->references, w->few_references, w->reference_count, w->reference_room);
  w->references[w->reference_count] = (reference){kind, weft_counted_keep(object)};
  return w->reference_count++;
}

/* Functions that share their code mostly come one after the other. */
uint32_t writer_add_code(lua_State *L, writer *w, int index)
{
  RESERVE(L, w->references, w->few_references, w->reference_count, w->reference_room);
  uint32_t count = w->reference_count;
  code *c = codes_of(L, w, index);
  if (count > 0 && w->references[count - 1].object == c) {
    weft_counted_drop(c);
    return count - 1;
  }
  w->references[w->reference_count++] = (reference){REFERENCE_CODE, c};
  return count;
}

void writer_add_lending(lua_State *L, writer *w, const lending *l)
{
  RESERVE(L, w->lendings, NULL, w->lending_count, w->lending_room);
  w->lendings[w->lending_count++] = *l;
}

/* --- Beginning and ending ------------------------------------------------------------------ */

void transfer_drop(parcel *p)
{
  if (p && p->within)
    parcel_end(p);
  else
    weft_counted_drop(p);
}

/* Takes the references and lendings over from the writer, and the bytes where the references fit
   behind them. */
static parcel *make_parcel(lua_State *L, writer *w, int count, parcel_room *room)
{
  size_t align = sizeof *w->references, references = w->reference_count * align;
  size_t bytes = (sizeof(parcel) + w->size + align - 1) / align * align;
  bool within = room && bytes + references <= sizeof *room;
  parcel *own = around(w);
  if (own && (bytes + references > offsetof(parcel, bytes) + w->room || w->size < w->room / 4))
    own = NULL;
  parcel *p = within ? (parcel *)room
              : own  ? own
                     : weft_counted_new(bytes + references, parcel_end);
  if (!p) writer_no_memory(L);
  *p = (parcel){.references = (reference *)((char *)p + bytes),
                .reference_count = w->reference_count,
                .lendings = w->lendings,
                .lending_count = w->lending_count,
                .value_count = (uint32_t)count,
                .object_count = w->count,
                .size = w->size,
                .within = within};
  if (p == own)
    w->bytes = w->small;
  else
    memcpy(p->bytes, w->bytes, w->size);
  if (references) memcpy(p->references, w->references, references);
  w->lendings = NULL;
  w->reference_count = w->lending_count = 0;
  return p;
}

/* -> writer; a finalizer that writes while another one is writing gets a new one */
static writer *push_writer(lua_State *L)
{
  push_kept(L, &writer_key);
  writer *w = lua_touserdata(L, -1);
  if (w) return w;
  lua_pop(L, 1);
  return push_new_writer(L);
}

writer *writer_begin(lua_State *L)
{
  writer *w = push_writer(L);
  lua_pushnil(L);
  w->order = lua_gettop(L);
  return w;
}

parcel *writer_finish(lua_State *L, writer *w, int count, parcel_room *room)
{
  parcel *p = make_parcel(L, w, count, room);
  keep_order(L, w);
  writer_fini(w);
  lua_settop(L, w->order - 1);
  keep(L, &writer_key);
  return p;
}

void transfer_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, writer_gc);
  lua_setfield(L, -2, "__gc");
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pushboolean(L, 0);
  keep(L, &writer_key);
  lua_pushboolean(L, 0);
  keep(L, &order_key);
}
