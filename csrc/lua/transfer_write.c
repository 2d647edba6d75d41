/* SPDX-License-Identifier: MIT */
/*
** transfer_write.c - values become a parcel.
**
** Nothing here is recursive: a table or function that is met gets a number, and what is in it is
** written when its turn comes. What was met so far stands in a Lua table, which keeps it alive, and
** in a map of addresses.
*/
#include <string.h>

#include "lua/jobs.h"
#include "lua/transfer_writer.h"

/* --- Objects ------------------------------------------------------------------------------- */

/* Writes the number of an object that was met already. */
static bool put_known(lua_State *L, writer *w, int index)
{
  const struct map_entry *entry = map_find(&w->objects, lua_topointer(L, index));
  if (!entry->key) return false;
  writer_put_tag(L, w, TAG_OBJECT);
  writer_put_u32(L, w, (uint32_t)entry->value);
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
    writer_put_bytes(L, w, TAG_NAME, name, length);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return found;
}

static void put_table(lua_State *L, writer *w, int index, const char *name)
{
  if (put_known(L, w, index) || put_named(L, w, index)) return;
  if (names_is_globals(L, index)) {
    writer_put_tag(L, w, TAG_GLOBALS);
    return;
  }
  if (lua_getmetatable(L, index)) writer_refuse(L, w, index, name, "table with a metatable");
  item *it = writer_add_item(L, w, index);
  writer_put_tag(L, w, TAG_TABLE);
  it->hints = w->size;
  writer_put_u32(L, w, 0);
  writer_put_u32(L, w, 0);
}

static void put_function(lua_State *L, writer *w, int index, const char *name)
{
  if (put_known(L, w, index) || put_named(L, w, index)) return;
  if (lua_iscfunction(L, index)) writer_refuse(L, w, index, name, "C function");
  writer_add_item(L, w, index);
  uint32_t number = writer_add_code(L, w, index);
  writer_put_tag(L, w, TAG_FUNCTION);
  writer_put_u32(L, w, number);
}

static void put_buffer(lua_State *L, writer *w, int index, const view *v)
{
  writer_add_item(L, w, index);
  uint32_t number = writer_add_reference(L, w, REFERENCE_BUFFER, v->hold);
  uint32_t first = (uint32_t)buffer_first(v), count = (uint32_t)v->count;
  lending l = {number, first, (size_t)first + count, !v->read_only, w->root};
  writer_add_lending(L, w, &l);
  writer_put_tag(L, w, TAG_BUFFER);
  writer_put_u32(L, w, number);
  writer_put_u32(L, w, first);
  writer_put_u32(L, w, count);
  writer_put(L, w, &(uint8_t){v->read_only}, 1);
}

/* --- Values -------------------------------------------------------------------------------- */

static void put_number(lua_State *L, writer *w, int index)
{
  if (compat_is_integer(L, index)) {
    writer_put_tag(L, w, TAG_INTEGER);
    writer_put(L, w, &(int64_t){(int64_t)lua_tointeger(L, index)}, sizeof(int64_t));
  } else {
    writer_put_tag(L, w, TAG_FLOAT);
    writer_put(L, w, &(double){lua_tonumber(L, index)}, sizeof(double));
  }
}

static bool put_cdata(lua_State *L, writer *w, int index)
{
  switch (element_cdata(L, index)) {
  case CDATA_I64:
    writer_put_tag(L, w, TAG_INT64);
    break;
  case CDATA_U64:
    writer_put_tag(L, w, TAG_UINT64);
    break;
  default:
    return false;
  }
  writer_put(L, w, lua_topointer(L, index), sizeof(int64_t));
  return true;
}

/* A kernel, a job or a barrier; the object that stands for it here is met again like a table. */
static bool put_counted(lua_State *L, writer *w, int index)
{
  enum reference_kind kind;
  void *object = jobs_find_counted(L, index, &kind);
  if (!object) return false;
  if (put_known(L, w, index)) return true;
  writer_add_item(L, w, index);
  uint32_t number = writer_add_reference(L, w, kind, object);
  writer_put_tag(L, w, TAG_COUNTED);
  writer_put_u32(L, w, number);
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
  writer_put_tag(L, w, TAG_CANCELLED);
  return true;
}

/* `name` is what the captured local is called, if it is one; for messages. */
static void put_value(lua_State *L, writer *w, int index, const char *name)
{
  size_t length;
  index = lua_absindex(L, index);
  switch (lua_type(L, index)) {
  case LUA_TNIL:
    writer_put_tag(L, w, TAG_NIL);
    return;
  case LUA_TBOOLEAN:
    writer_put_tag(L, w, lua_toboolean(L, index) ? TAG_TRUE : TAG_FALSE);
    return;
  case LUA_TNUMBER:
    put_number(L, w, index);
    return;
  case LUA_TSTRING: {
    const char *text = lua_tolstring(L, index, &length);
    writer_put_bytes(L, w, TAG_STRING, text, length);
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
  writer_refuse(L, w, index, name, luaL_typename(L, index));
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
  writer_put_u32(L, w, list);
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
  writer_put_tag(L, w, TAG_NIL);
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
  writer_put_tag(L, w, TAG_UPVALUE);
  writer_put_u32(L, w, (uint32_t)(entry->value >> 8));
  writer_put(L, w, &(uint8_t){(uint8_t)entry->value}, 1);
  return true;
}

/* function on top -> function. Its environment becomes the other side's globals, whatever it is. */
static void put_upvalues(lua_State *L, writer *w)
{
  int function = lua_gettop(L);
  size_t start = w->size;
  const char *name;
  uint8_t count = 0;
  writer_put(L, w, &count, 1);
  while ((name = lua_getupvalue(L, function, count + 1))) {
    count++;
    if (strcmp(name, "_ENV") == 0)
      writer_put_tag(L, w, TAG_GLOBALS);
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

/* At `at`, if there is room before `end`: behind it, or NULL. */
static uint8_t *put_plain_value(lua_State *L, int index, uint8_t *at, const uint8_t *end,
                                bool *plain)
{
  size_t length = 0;
  const char *text = NULL;
  int type = lua_type(L, index);
  if (type == LUA_TSTRING) text = lua_tolstring(L, index, &length);
  if (end - at < 9 || length > (size_t)(end - at) - 5) return NULL;
  switch (type) {
  case LUA_TNIL:
    *at = TAG_NIL;
    return at + 1;
  case LUA_TBOOLEAN:
    *at = lua_toboolean(L, index) ? TAG_TRUE : TAG_FALSE;
    return at + 1;
  case LUA_TNUMBER:
    if ((*at = compat_is_integer(L, index) ? TAG_INTEGER : TAG_FLOAT) == TAG_INTEGER)
      memcpy(at + 1, &(int64_t){(int64_t)lua_tointeger(L, index)}, sizeof(int64_t));
    else
      memcpy(at + 1, &(double){lua_tonumber(L, index)}, sizeof(double));
    return at + 9;
  case LUA_TSTRING:
    *plain = false;
    *at = TAG_STRING;
    memcpy(at + 1, &(uint32_t){(uint32_t)length}, sizeof(uint32_t));
    memcpy(at + 5, text, length);
    return at + 5 + length;
  default:
    return NULL;
  }
}

parcel *transfer_write_plain(lua_State *L, universe *U, int first, int count, bool has_function,
                             parcel_room *room)
{
  parcel *p = (parcel *)room;
  reference *function = (reference *)(room->bytes + sizeof *room) - 1;
  uint8_t *at = p->bytes, *end = (uint8_t *)function - 2;
  bool globals = false, plain = true;
  code *c = has_function ? codes_find_plain(L, U->codes, first, &globals) : NULL;
  if (has_function && !c) return NULL;
  if (c) {
    *at = TAG_FUNCTION;
    memset(at + 1, 0, sizeof(uint32_t));
    at += 1 + sizeof(uint32_t);
  }
  for (int i = has_function; i < count && at; i++)
    at = put_plain_value(L, first + i, at, end, &plain);
  if (!at) return NULL;
  if (c) *at++ = globals;
  if (globals) *at++ = TAG_GLOBALS;
  *p = (parcel){.references = function,
                .reference_count = has_function,
                .value_count = (uint32_t)count,
                .object_count = has_function,
                .size = (size_t)(at - p->bytes),
                .within = true,
                .plain = plain && !globals};
  if (c) *function = (reference){REFERENCE_CODE, weft_counted_keep(c)};
  return p;
}

parcel *transfer_write_in(lua_State *L, int first, int count, enum transfer_what what,
                          bool has_function, parcel_room *room)
{
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  writer *w = writer_begin(L);
  w->what = what;
  w->has_function = has_function;
  put_all(L, w, first, count);
  return writer_finish(L, w, count, room);
}

parcel *transfer_write(lua_State *L, int first, int count, enum transfer_what what,
                       bool has_function)
{
  return transfer_write_in(L, first, count, what, has_function, NULL);
}
