/* SPDX-License-Identifier: MIT */
/*
** transfer_write.c - values become a parcel.
**
** Nothing here is recursive: a table or function that is met gets a number, and what is in it is
** written when its turn comes. What was met so far stands in a Lua table, which keeps it alive, and
** in a map of addresses.
*/
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lua/jobs.h"

/* From addresses to numbers: open addressing, never more than half full. */
typedef struct map {
  struct map_entry {
    const void *key;
    uint64_t value;
  } * entries, small[16];
  uint32_t size, count;
} map;

/* A table, function or buffer that was met. */
typedef struct item {
  uint32_t parent; /* the item that it was met in; 0: it is one of the values */
  uint32_t depth;
  uint32_t root; /* the value that it was reached from, from 1 */
  size_t hints;  /* where the hints of a table stand */
} item;

/* One is kept for the next time, between two, with room for what is usual. */
typedef struct writer {
  uint8_t *bytes, small[512];
  size_t size, room;
  item *items, few[8]; /* items[i - 1] is number i */
  uint32_t count, item_room;
  map objects, upvalues;
  reference *references;
  lending *lendings;
  uint32_t reference_count, reference_room, lending_count, lending_room;
  int order; /* where on the stack the list of items is */
  /* Where it stands, for messages. */
  uint32_t current; /* the item; 0: a value itself */
  uint32_t root;
  bool in_key;
  enum transfer_what what;
  bool has_function;
} writer;

/* Addresses, the keys of: the writers' metatable; the writer that is kept; a table for its list. */
static const char meta_key, writer_key, order_key;

/* --- Memory -------------------------------------------------------------------------------- */

static void drop_references(reference *references, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) weft_counted_drop(references[i].object);
  weft_counted_drop(references);
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
  w->references = NULL;
  w->lendings = NULL;
  w->reference_count = w->reference_room = w->lending_count = w->lending_room = 0;
  w->count = w->current = w->root = 0;
  w->in_key = false;
}

static void writer_fini(writer *w)
{
  if (w->bytes != w->small) weft_counted_drop(w->bytes);
  if (w->items != w->few) weft_counted_drop(w->items);
  map_fini(&w->objects);
  map_fini(&w->upvalues);
  weft_counted_drop(w->lendings);
  drop_references(w->references, w->reference_count);
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

/* -> writer; a finalizer that writes while another one is writing gets a new one */
static writer *push_writer(lua_State *L)
{
  push_kept(L, &writer_key);
  writer *w = lua_touserdata(L, -1);
  if (w) return w;
  lua_pop(L, 1);
  return push_new_writer(L);
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

static int no_memory(lua_State *L)
{
  return luaL_error(L, "weft.jobs: not enough memory for what is to cross");
}

/* A larger array with the same elements, or an error. The old one, unless it is `inner`, is freed. */
static void *grown(lua_State *L, void *array, const void *inner, size_t used, size_t bytes)
{
  void *larger = weft_counted_new(bytes, NULL);
  if (!larger) no_memory(L);
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

/* --- Bytes --------------------------------------------------------------------------------- */

static bool put_try(writer *w, const void *data, size_t size)
{
  if (size > w->room - w->size) {
    size_t room = w->room * 2 > w->size + size ? w->room * 2 : w->size + size;
    uint8_t *larger = weft_counted_new(room, NULL);
    if (!larger) return false;
    memcpy(larger, w->bytes, w->size);
    if (w->bytes != w->small) weft_counted_drop(w->bytes);
    w->bytes = larger;
    w->room = room;
  }
  if (size) memcpy(w->bytes + w->size, data, size);
  w->size += size;
  return true;
}

static void put(lua_State *L, writer *w, const void *data, size_t size)
{
  if (!put_try(w, data, size)) no_memory(L);
}

static void put_tag(lua_State *L, writer *w, enum transfer_tag tag)
{
  put(L, w, &(uint8_t){(uint8_t)tag}, 1);
}

static void put_u32(lua_State *L, writer *w, uint32_t number)
{
  put(L, w, &number, sizeof number);
}

static void put_bytes(lua_State *L, writer *w, enum transfer_tag tag, const char *text,
                      size_t length)
{
  if (length > UINT32_MAX) luaL_error(L, "weft.jobs: a string of over 4 GiB cannot cross");
  put_tag(L, w, tag);
  put_u32(L, w, (uint32_t)length);
  put(L, w, text, length);
}

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
  map larger = {.size = m->size * 4, .count = m->count};
  larger.entries = weft_counted_new(larger.size * sizeof *larger.entries, NULL);
  if (!larger.entries) no_memory(L);
  for (uint32_t i = 0; i < m->size; i++)
    if (m->entries[i].key) *map_find(&larger, m->entries[i].key) = m->entries[i];
  if (m->entries != m->small) weft_counted_drop(m->entries);
  m->entries = larger.entries;
  m->size = larger.size;
}

static void map_add(lua_State *L, map *m, const void *key, uint64_t value)
{
  if ((m->count + 1) * 2 > m->size) map_grow(L, m);
  *map_find(m, key) = (struct map_entry){key, value};
  m->count++;
}

/* --- What cannot cross --------------------------------------------------------------------- */

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

/* Says which value cannot cross, with its path. */
static int refuse(lua_State *L, const writer *w, int value, const char *name, const char *type)
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

/* --- Objects ------------------------------------------------------------------------------- */

static void too_deep(lua_State *L, const writer *w)
{
  push_root(L, w);
  const char *root = lua_tostring(L, -1);
  binding_misuse(L, "%s: %s is nested too deep to cross: more than %d levels", module_of(w),
                 *root ? root : "what the function captures", TRANSFER_MAX_DEPTH);
}

/* A new number for the object at `index`. */
static item *add_item(lua_State *L, writer *w, int index)
{
  uint32_t depth = w->current ? w->items[w->current - 1].depth + 1 : 1;
  if (depth > TRANSFER_MAX_DEPTH) too_deep(L, w);
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

/* Writes the number of an object that was met already. */
static bool put_known(lua_State *L, writer *w, int index)
{
  const struct map_entry *entry = map_find(&w->objects, lua_topointer(L, index));
  if (!entry->key) return false;
  put_tag(L, w, TAG_OBJECT);
  put_u32(L, w, (uint32_t)entry->value);
  return true;
}

/* Writes the name of what every state has. */
static bool put_named(lua_State *L, writer *w, int index)
{
  size_t length;
  lua_pushvalue(L, index);
  bool found = names_find(L);
  if (found) {
    const char *name = lua_tolstring(L, -1, &length);
    put_bytes(L, w, TAG_NAME, name, length);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return found;
}

static void put_table(lua_State *L, writer *w, int index, const char *name)
{
  if (put_known(L, w, index) || put_named(L, w, index)) return;
  if (names_is_globals(L, index)) {
    put_tag(L, w, TAG_GLOBALS);
    return;
  }
  if (lua_getmetatable(L, index)) refuse(L, w, index, name, "table with a metatable");
  item *it = add_item(L, w, index);
  put_tag(L, w, TAG_TABLE);
  it->hints = w->size;
  put_u32(L, w, 0);
  put_u32(L, w, 0);
}

static int dump_some(lua_State *L, const void *data, size_t size, void *context)
{
  (void)L;
  return put_try(context, data, size) ? 0 : 1;
}

static void put_function(lua_State *L, writer *w, int index, const char *name)
{
  if (put_known(L, w, index) || put_named(L, w, index)) return;
  if (lua_iscfunction(L, index)) refuse(L, w, index, name, "C function");
  add_item(L, w, index);
  put_tag(L, w, TAG_FUNCTION);
  size_t start = w->size, head = sizeof(uint64_t) + sizeof(uint32_t);
  put(L, w, &(uint64_t){0}, sizeof(uint64_t));
  put_u32(L, w, 0);
  lua_pushvalue(L, index);
  int status = compat_dump(L, dump_some, w);
  lua_pop(L, 1);
  if (status != 0) no_memory(L);
  size_t length = w->size - start - head;
  if (length > UINT32_MAX) luaL_error(L, "weft.jobs: a function of over 4 GiB cannot cross");
  uint64_t hash = XXH64(w->bytes + start + head, length, 0);
  uint32_t length32 = (uint32_t)length;
  memcpy(w->bytes + start, &hash, sizeof hash);
  memcpy(w->bytes + start + sizeof hash, &length32, sizeof length32);
}

/* --- References ---------------------------------------------------------------------------- */

/* The number of what travels by reference; the parcel keeps it. */
static uint32_t reference_of(lua_State *L, writer *w, enum reference_kind kind, void *object)
{
  for (uint32_t i = 0; i < w->reference_count; i++)
    if (w->references[i].object == object) return i;
  RESERVE(L, w->references, NULL, w->reference_count, w->reference_room);
  w->references[w->reference_count] = (reference){kind, weft_counted_keep(object)};
  return w->reference_count++;
}

static void put_buffer(lua_State *L, writer *w, int index, const view *v)
{
  add_item(L, w, index);
  uint32_t number = reference_of(L, w, REFERENCE_BUFFER, v->hold);
  uint32_t first = (uint32_t)buffer_first(v), count = (uint32_t)v->count;
  RESERVE(L, w->lendings, NULL, w->lending_count, w->lending_room);
  w->lendings[w->lending_count++] =
      (lending){number, first, (size_t)first + count, !v->read_only, w->root};
  put_tag(L, w, TAG_BUFFER);
  put_u32(L, w, number);
  put_u32(L, w, first);
  put_u32(L, w, count);
  put(L, w, &(uint8_t){v->read_only}, 1);
}

/* --- Values -------------------------------------------------------------------------------- */

static void put_number(lua_State *L, writer *w, int index)
{
  if (compat_is_integer(L, index)) {
    put_tag(L, w, TAG_INTEGER);
    put(L, w, &(int64_t){(int64_t)lua_tointeger(L, index)}, sizeof(int64_t));
  } else {
    put_tag(L, w, TAG_FLOAT);
    put(L, w, &(double){lua_tonumber(L, index)}, sizeof(double));
  }
}

static bool put_cdata(lua_State *L, writer *w, int index)
{
  switch (element_cdata(L, index)) {
  case CDATA_I64:
    put_tag(L, w, TAG_INT64);
    break;
  case CDATA_U64:
    put_tag(L, w, TAG_UINT64);
    break;
  default:
    return false;
  }
  put(L, w, lua_topointer(L, index), sizeof(int64_t));
  return true;
}

/* A kernel, a job or a barrier; the object that stands for it here is met again like a table. */
static bool put_counted(lua_State *L, writer *w, int index)
{
  enum reference_kind kind;
  void *object = jobs_find_counted(L, index, &kind);
  if (!object) return false;
  if (put_known(L, w, index)) return true;
  add_item(L, w, index);
  uint32_t number = reference_of(L, w, kind, object);
  put_tag(L, w, TAG_COUNTED);
  put_u32(L, w, number);
  return true;
}

/* Buffers and other objects of weft's own that may cross. */
static bool put_object(lua_State *L, writer *w, int index)
{
  const view *v = buffer_test(L, index);
  if (v && v->hold) {
    if (!put_known(L, w, index)) put_buffer(L, w, index, v);
    return true;
  }
  if (put_counted(L, w, index)) return true;
  if (lua_touserdata(L, index) != binding_universe(L)->cancelled) return false;
  put_tag(L, w, TAG_CANCELLED);
  return true;
}

/* `name` is what the captured local is called, if it is one; for messages. */
static void put_value(lua_State *L, writer *w, int index, const char *name)
{
  size_t length;
  index = lua_absindex(L, index);
  switch (lua_type(L, index)) {
  case LUA_TNIL:
    put_tag(L, w, TAG_NIL);
    return;
  case LUA_TBOOLEAN:
    put_tag(L, w, lua_toboolean(L, index) ? TAG_TRUE : TAG_FALSE);
    return;
  case LUA_TNUMBER:
    put_number(L, w, index);
    return;
  case LUA_TSTRING: {
    const char *text = lua_tolstring(L, index, &length);
    put_bytes(L, w, TAG_STRING, text, length);
    return;
  }
  case LUA_TTABLE:
    put_table(L, w, index, name);
    return;
  case LUA_TFUNCTION:
    put_function(L, w, index, name);
    return;
  case COMPAT_TCDATA:
    if (put_cdata(L, w, index) || put_object(L, w, index)) return;
    break;
  case LUA_TUSERDATA:
    if (put_object(L, w, index)) return;
    break;
  }
  refuse(L, w, index, name, luaL_typename(L, index));
}

/* --- What is in objects -------------------------------------------------------------------- */

static bool is_in_list(lua_State *L, int key, uint32_t list)
{
  if (lua_type(L, key) != LUA_TNUMBER) return false;
  lua_Number number = lua_tonumber(L, key);
  return number >= 1 && number <= list && number == (lua_Number)(uint32_t)number;
}

static uint32_t put_list(lua_State *L, writer *w, int table)
{
  size_t length = compat_raw_length(L, table);
  uint32_t list = length < INT32_MAX ? (uint32_t)length : INT32_MAX;
  put_u32(L, w, list);
  for (uint32_t i = 1; i <= list; i++) {
    lua_rawgeti(L, table, (int)i);
    put_value(L, w, -1, NULL);
    lua_pop(L, 1);
  }
  return list;
}

/* table on top -> table */
static void put_contents(lua_State *L, writer *w)
{
  int table = lua_gettop(L);
  uint32_t list = put_list(L, w, table), others = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    if (!is_in_list(L, table + 1, list)) {
      w->in_key = true;
      put_value(L, w, table + 1, NULL);
      w->in_key = false;
      put_value(L, w, table + 2, NULL);
      others++;
    }
    lua_pop(L, 1);
  }
  put_tag(L, w, TAG_NIL);
  size_t hints = w->items[w->current - 1].hints;
  memcpy(w->bytes + hints, &list, sizeof list);
  memcpy(w->bytes + hints + sizeof list, &others, sizeof others);
}

/* A captured local that another function captures, too, is written once. */
static bool put_shared(lua_State *L, writer *w, int function, int i)
{
  const void *id = lua_upvalueid(L, function, i);
  const struct map_entry *entry = map_find(&w->upvalues, id);
  if (!entry->key) {
    map_add(L, &w->upvalues, id, (uint64_t)w->current << 8 | (uint64_t)i);
    return false;
  }
  put_tag(L, w, TAG_UPVALUE);
  put_u32(L, w, (uint32_t)(entry->value >> 8));
  put(L, w, &(uint8_t){(uint8_t)entry->value}, 1);
  return true;
}

/* function on top -> function. Its environment becomes the other side's globals, whatever it is. */
static void put_upvalues(lua_State *L, writer *w)
{
  int function = lua_gettop(L);
  size_t start = w->size;
  const char *name;
  uint8_t count = 0;
  put(L, w, &count, 1);
  while ((name = lua_getupvalue(L, function, count + 1))) {
    count++;
    if (strcmp(name, "_ENV") == 0)
      put_tag(L, w, TAG_GLOBALS);
    else if (!put_shared(L, w, function, count))
      put_value(L, w, -1, name);
    lua_pop(L, 1);
  }
  w->bytes[start] = count;
}

static void put_all(lua_State *L, writer *w, int first, int count)
{
  for (w->root = 1; w->root <= (uint32_t)count; w->root++)
    put_value(L, w, first + (int)w->root - 1, NULL);
  for (w->current = 1; w->current <= w->count; w->current++) {
    w->root = w->items[w->current - 1].root;
    lua_rawgeti(L, w->order, (int)w->current);
    if (lua_istable(L, -1))
      put_contents(L, w);
    else if (lua_isfunction(L, -1))
      put_upvalues(L, w);
    lua_pop(L, 1);
  }
}

/* --- The parcel ----------------------------------------------------------------------------- */

static void parcel_end(void *object)
{
  parcel *p = object;
  drop_references(p->references, p->reference_count);
  weft_counted_drop(p->lendings);
}

/* Takes the references and lendings over from the writer. */
static parcel *finish(lua_State *L, writer *w, int count)
{
  parcel *p = weft_counted_new(sizeof *p + w->size, parcel_end);
  if (!p) no_memory(L);
  memcpy(p->bytes, w->bytes, w->size);
  p->size = w->size;
  p->value_count = (uint32_t)count;
  p->object_count = w->count;
  p->references = w->references;
  p->reference_count = w->reference_count;
  p->lendings = w->lendings;
  p->lending_count = w->lending_count;
  w->references = NULL;
  w->lendings = NULL;
  w->reference_count = w->lending_count = 0;
  return p;
}

parcel *transfer_write(lua_State *L, int first, int count, enum transfer_what what,
                       bool has_function)
{
  int top = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  writer *w = push_writer(L);
  w->what = what;
  w->has_function = has_function;
  lua_pushnil(L);
  w->order = lua_gettop(L);
  put_all(L, w, first, count);
  parcel *p = finish(L, w, count);
  keep_order(L, w);
  writer_fini(w);
  lua_settop(L, top + 1);
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
