/* SPDX-License-Identifier: MIT */
/*
** buffer.c - weft.Buffer, the object that a script holds for elements in memory.
**
** On 5.4 it is a userdata and these functions are its metamethods. On LuaJIT it is a cdata of which
** lua/weft/buffers.lua says the layout; compiled code touches elements by itself and comes here only
** with what it does not like the look of.
*/
#include <string.h>

#include "lua/buffer.h"

/* Garbage is looked for when this much has been made beyond twice what was left last time. */
#define LOOK_BYTES ((size_t)64 << 20)

/* The functions of lua/weft/buffers.lua that make cdata, by type; the metatable of userdata. */
static const char make_key, meta_key;

/* Why buffers are sealed: texts that stay as long as the state, by themselves. */
static const char reasons_key;

/* Its address stands in each userdata. */
static const char view_kind;

/* --- Objects ------------------------------------------------------------------------------- */

/* function that makes an object of a type -> */
static int buffer_register(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushlightuserdata(L, (void *)&make_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 0;
}

static view *push_cdata(lua_State *L, weft_type type)
{
  lua_pushlightuserdata(L, (void *)&make_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_pushinteger(L, (lua_Integer)type);
  lua_call(L, 1, 1);
  return (view *)lua_topointer(L, -1);
}

static view *push_userdata(lua_State *L)
{
  view *v = lua_newuserdata(L, sizeof *v);
  *v = (view){.kind = &view_kind};
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return v;
}

view *buffer_push(lua_State *L, weft_type type)
{
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  view *v = WEFT_LUAJIT ? push_cdata(L, type) : push_userdata(L);
  v->type = (uint8_t)type;
  return v;
}

void buffer_set(view *v, hold *h, size_t first, size_t count, bool read_only)
{
  size_t bytes = weft_type_bytes(v->type);
  v->data = (char *)weft_buffer_data(h->memory) + first * bytes;
  v->count = (int32_t)count;
  v->read_only = read_only;
  v->hold = h;
}

view *buffer_push_view(lua_State *L, hold *h, size_t first, size_t count, bool read_only)
{
  view *v = buffer_push(L, weft_buffer_type(h->memory));
  buffer_set(v, hold_keep(h), first, count, read_only);
  return v;
}

view *buffer_test(lua_State *L, int index)
{
  if (WEFT_LUAJIT)
    return element_cdata(L, index) == CDATA_VIEW ? (view *)lua_topointer(L, index) : NULL;
  if (lua_type(L, index) != LUA_TUSERDATA) return NULL;
  view *v = lua_touserdata(L, index);
  return compat_raw_length(L, index) == sizeof *v && v->kind == &view_kind ? v : NULL;
}

view *buffer_check(lua_State *L, int index, const char *who)
{
  view *v = buffer_test(L, index);
  if (!v) binding_misuse(L, "%s: a buffer expected, got %s", who, binding_got(L, index));
  if (!v->hold) binding_misuse(L, "%s: the buffer was never made", who);
  return v;
}

size_t buffer_first(const view *v)
{
  const char *start = weft_buffer_data(v->hold->memory);
  return (size_t)((const char *)v->data - start) / weft_type_bytes(v->type);
}

/* --- Memory -------------------------------------------------------------------------------- */

/* The collector knows nothing of what stands behind its objects: it is told when there is much. */
static void look_for_garbage(lua_State *L, size_t bytes)
{
  universe *U = binding_universe(L);
  if (weft_buffer_all_bytes() + bytes <= U->buffer_limit) return;
  lua_gc(L, LUA_GCCOLLECT, 0);
  U->buffer_limit = 2 * weft_buffer_all_bytes() + bytes + LOOK_BYTES;
}

weft_status buffer_make(lua_State *L, weft_type type, size_t count, weft_buffer **out)
{
  look_for_garbage(L, count * weft_type_bytes(type));
  weft_status status = weft_buffer_new(type, count, out);
  if (status != WEFT_NOMEM) return status;
  lua_gc(L, LUA_GCCOLLECT, 0);
  return weft_buffer_new(type, count, out);
}

/* -> buffer */
static view *push_new(lua_State *L, weft_type type, size_t count, const char *who)
{
  weft_buffer *memory;
  view *v = buffer_push(L, type);
  weft_status status = buffer_make(L, type, count, &memory);
  hold *h = status == WEFT_OK ? hold_new(memory, binding_universe(L), NULL) : NULL;
  if (!h)
    binding_misuse(L, "%s: not enough memory for %d elements of %s", who, (int)count,
                   weft_type_name(type));
  buffer_set(v, h, 0, count, false);
  return v;
}

static weft_type check_type(lua_State *L, int index)
{
  const char *name = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
  for (int type = 0; type < WEFT_TYPES; type++)
    if (strcmp(name, weft_type_name(type)) == 0) return type;
  binding_misuse(L,
                 "weft.buffer: type must be one of i8 u8 i16 u16 i32 u32 i64 f32 f64, got %s",
                 *name ? name : binding_got(L, index));
  return 0;
}

static int api_buffer(lua_State *L)
{
  int64_t count;
  weft_type type = check_type(L, 1);
  if (!element_whole(L, 2, &count) || count < 0 || count > WEFT_MAX_ELEMENTS)
    return binding_misuse(
        L, "weft.buffer: count must be a whole number from 0 to 2^31 - 1, got %s",
        binding_got(L, 2));
  push_new(L, type, (size_t)count, "weft.buffer");
  return 1;
}

/* Also called for one that was never filled in, and at the end of the state. */
static int buffer_gc(lua_State *L)
{
  view *v = (view *)lua_topointer(L, 1);
  hold *h = v->hold;
  v->hold = NULL;
  v->count = 0;
  hold_drop(h);
  return 0;
}

/* --- Elements ------------------------------------------------------------------------------ */

/* Raises unless elements `first` up to `end` of the view may be touched. */
static void check_access(lua_State *L, const view *v, size_t first, size_t end, bool writes,
                         const char *who)
{
  if (writes && v->read_only)
    binding_misuse(L, "%s: this view is read-only, as :shared() gives it", who);
  if (!(writes ? v->hold->no_write : v->hold->no_read)) return;
  size_t base = buffer_first(v);
  const char *why = hold_refusal(v->hold, base + first, base + end, writes);
  if (!why) return;
  if (strcmp(who, "buffer") == 0) binding_misuse(L, "buffer is %s", why);
  binding_misuse(L, "%s: buffer is %s", who, why);
}

/* The place of an index, from 0. */
static size_t check_index(lua_State *L, const view *v, int index)
{
  int64_t place;
  if (element_whole(L, index, &place) && place >= 1 && place <= v->count)
    return (size_t)place - 1;
  const char *got =
      lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : binding_got(L, index);
  if (v->count == 0) binding_misuse(L, "buffer: it has no elements, got index %s", got);
  binding_misuse(L, "buffer: index must be a whole number from 1 to %d, got %s", (int)v->count,
                 got);
  return 0;
}

/* buffer, index -> element; upvalue 2: the methods */
static int buffer_index(lua_State *L)
{
  const view *v = buffer_check(L, 1, "buffer");
  if (lua_type(L, 2) != LUA_TNUMBER) {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(2));
    if (!lua_isnil(L, -1)) return 1;
  }
  size_t place = check_index(L, v, 2);
  check_access(L, v, place, place + 1, false, "buffer");
  element_push(L, v->type, (char *)v->data + place * weft_type_bytes(v->type));
  return 1;
}

/* buffer, index, value -> */
static int buffer_newindex(lua_State *L)
{
  const view *v = buffer_check(L, 1, "buffer");
  size_t place = check_index(L, v, 2);
  check_access(L, v, place, place + 1, true, "buffer");
  if (!element_read(L, 3, v->type, (char *)v->data + place * weft_type_bytes(v->type)))
    return element_misuse(L, "buffer", v->type, 3);
  return 0;
}

static int buffer_len(lua_State *L)
{
  lua_pushinteger(L, buffer_check(L, 1, "#buffer")->count);
  return 1;
}

static int buffer_tostring(lua_State *L)
{
  const view *v = buffer_check(L, 1, "tostring");
  lua_pushfstring(L, "weft.Buffer: %d x %s%s", (int)v->count, weft_type_name(v->type),
                  v->read_only ? ", read-only" : "");
  return 1;
}

/* --- Methods ------------------------------------------------------------------------------- */

/* From the arguments i at `index` and j behind it: places from *first up to *end; without them all
   there are. Of none if j is i - 1. */
static void check_range(lua_State *L, const view *v, int index, const char *who, size_t *first,
                        size_t *end)
{
  int64_t i = 1, j = v->count;
  lua_settop(L, index + 1);
  bool ok = lua_isnoneornil(L, index) || element_whole(L, index, &i);
  ok = ok && (lua_isnoneornil(L, index + 1) || element_whole(L, index + 1, &j));
  if (!ok || i < 1 || j > v->count || i > j + 1) {
    const char *from = lua_isnoneornil(L, index) ? "1" : binding_got(L, index);
    const char *to = lua_isnoneornil(L, index + 1) ? "its end" : binding_got(L, index + 1);
    binding_misuse(L, "%s: the range must lie within 1 to %d, got %s to %s", who, (int)v->count,
                   from, to);
  }
  *first = (size_t)i - 1;
  *end = (size_t)j;
}

static void fill_elements(char *at, size_t count, const char *element, size_t bytes)
{
  size_t total = count * bytes, done = bytes;
  if (count == 0) return;
  memcpy(at, element, bytes);
  for (; done < total; done *= 2)
    memcpy(at + done, at, done < total - done ? done : total - done);
}

static int api_fill(lua_State *L)
{
  static const char who[] = "buffer:fill";
  const view *v = buffer_check(L, 1, who);
  size_t first, end, bytes = weft_type_bytes(v->type);
  char element[8];
  check_range(L, v, 3, who, &first, &end);
  check_access(L, v, first, end, true, who);
  if (!element_read(L, 2, v->type, element)) return element_misuse(L, who, v->type, 2);
  fill_elements((char *)v->data + first * bytes, end - first, element, bytes);
  lua_settop(L, 1);
  return 1;
}

static int api_copy(lua_State *L)
{
  static const char who[] = "buffer:copy";
  const view *v = buffer_check(L, 1, who);
  size_t count = (size_t)v->count;
  const view *copy = push_new(L, v->type, count, who);
  check_access(L, v, 0, count, false, who); /* a finalizer may have lent it meanwhile */
  memcpy(copy->data, v->data, count * weft_type_bytes(v->type));
  return 1;
}

static int api_slice(lua_State *L)
{
  const view *v = buffer_check(L, 1, "buffer:slice");
  size_t first, end;
  check_range(L, v, 2, "buffer:slice", &first, &end);
  buffer_push_view(L, v->hold, buffer_first(v) + first, end - first, v->read_only);
  return 1;
}

static int api_shared(lua_State *L)
{
  const view *v = buffer_check(L, 1, "buffer:shared");
  buffer_push_view(L, v->hold, buffer_first(v), (size_t)v->count, true);
  return 1;
}

static int api_string(lua_State *L)
{
  static const char who[] = "buffer:string";
  const view *v = buffer_check(L, 1, who);
  check_access(L, v, 0, (size_t)v->count, false, who);
  lua_pushlstring(L, v->data, (size_t)v->count * weft_type_bytes(v->type));
  return 1;
}

/* Raises unless a pointer may be had; lua/weft/buffers.lua then gives it. */
static int check_pointer(lua_State *L)
{
  static const char who[] = "buffer:ptr";
  const view *v = buffer_check(L, 1, who);
  check_access(L, v, 0, (size_t)v->count, !v->read_only, who);
  return 0;
}

/* buffer, larger one of that type -> ; the elements of the first become the first of the other. Runs
   no finalizer: for columns, which no one may change meanwhile. */
static int api_refill(lua_State *L)
{
  const view *v = buffer_check(L, 1, "buffer"), *larger = buffer_check(L, 2, "buffer");
  size_t count = (size_t)(v->count < larger->count ? v->count : larger->count);
  check_access(L, v, 0, (size_t)v->count, true, "buffer");
  check_access(L, larger, 0, count, true, "buffer");
  if (v->type != larger->type) return binding_misuse(L, "buffer: of another type");
  memcpy(larger->data, v->data, count * weft_type_bytes(v->type));
  return 0;
}

/* text at `index` -> the same, to stay; one that is there already stays the one that it is. */
static const char *push_reason(lua_State *L, int index)
{
  lua_pushlightuserdata(L, (void *)&reasons_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushvalue(L, index);
    lua_pushvalue(L, index);
    lua_rawset(L, -3);
    lua_pushvalue(L, index);
  }
  return lua_tostring(L, -1);
}

/* buffer, why -> ; nothing of its memory may be touched here until it is unsealed: for pools */
static int api_seal(lua_State *L)
{
  const view *v = buffer_check(L, 1, "buffer");
  const char *why = push_reason(L, 2);
  check_access(L, v, 0, (size_t)v->count, true, "buffer");
  hold_end(v->hold, why);
  return 0;
}

static int api_unseal(lua_State *L)
{
  hold_renew(buffer_check(L, 1, "buffer")->hold);
  return 0;
}

static int api_is_buffer(lua_State *L)
{
  lua_pushboolean(L, buffer_test(L, 1) != NULL);
  return 1;
}

/* Bytes of the elements of all buffers of the process. */
static int api_bytes(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)weft_buffer_all_bytes());
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {{"fill", api_fill},     {"copy", api_copy},
                                   {"slice", api_slice},   {"shared", api_shared},
                                   {"string", api_string}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__newindex", buffer_newindex},
                                       {"__len", buffer_len},
                                       {"__tostring", buffer_tostring},
                                       {"__gc", buffer_gc},
                                       {NULL, NULL}};
static const luaL_Reg halves[] = {
    {"register", buffer_register}, {"checkPointer", check_pointer}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"buffer", api_buffer},
                                     {"bufferBytes", api_bytes},
                                     {"refillBuffer", api_refill},
                                     {"isBuffer", api_is_buffer},
                                     {"sealBuffer", api_seal},
                                     {"unsealBuffer", api_unseal},
                                     {NULL, NULL}};

/* metatable on top, methods below */
static void set_index(lua_State *L)
{
  binding_push_universe(L);
  lua_pushvalue(L, -3);
  lua_pushcclosure(L, buffer_index, 2);
  lua_setfield(L, -2, "__index");
}

/* Module table on top. */
void buffer_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&reasons_key);
  lua_createtable(L, 0, 1);
  lua_rawset(L, LUA_REGISTRYINDEX);
  binding_functions(L, functions);
  lua_createtable(L, 0, 8);
  binding_functions(L, methods);
  lua_createtable(L, 0, 8);
  binding_functions(L, metamethods);
  set_index(L);
  lua_pushliteral(L, "weft.Buffer");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "weft.Buffer");
  lua_setfield(L, -2, "__metatable");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  if (WEFT_LUAJIT) {
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, "bufferMeta");
    lua_createtable(L, 0, 4);
    binding_functions(L, halves);
    element_open(L);
    lua_setfield(L, -4, "bufferHalves");
  }
  lua_pop(L, 1);
  lua_setfield(L, -2, "bufferMethods");
}
