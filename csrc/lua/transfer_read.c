/* SPDX-License-Identifier: MIT */
/*
** transfer_read.c - a parcel becomes values again.
**
** It is believed in nothing: each length is held against what is left, each number against what
** there is. What was read before the damage is garbage then. Code does not stand in the bytes, since
** machines run damaged code as it is.
*/
#include <string.h>

#include "lua/jobs.h"

typedef struct reader {
  const parcel *from;
  const uint8_t *at, *end;
  int objects; /* where on the stack the list of objects is; nil where there are none */
  uint32_t count;
  const transfer_side *side;
} reader;

/* Its address is the key of the function that makes what makes functions (lua/weft/factories.lua). */
static const char factory_key;

static int damaged(lua_State *L)
{
  return luaL_error(L, "weft.jobs: the parcel is damaged");
}

/* --- Bytes --------------------------------------------------------------------------------- */

static size_t left(const reader *r)
{
  return (size_t)(r->end - r->at);
}

static void take(lua_State *L, reader *r, void *out, size_t size)
{
  if (size > left(r)) damaged(L);
  memcpy(out, r->at, size);
  r->at += size;
}

static uint8_t take_u8(lua_State *L, reader *r)
{
  uint8_t number;
  take(L, r, &number, sizeof number);
  return number;
}

static uint32_t take_u32(lua_State *L, reader *r)
{
  uint32_t number;
  take(L, r, &number, sizeof number);
  return number;
}

static const char *take_bytes(lua_State *L, reader *r, size_t length)
{
  if (length > left(r)) damaged(L);
  r->at += length;
  return (const char *)r->at - length;
}

/* --- Objects ------------------------------------------------------------------------------- */

/* object on top -> object; it gets the next number */
static void add_object(lua_State *L, reader *r)
{
  if (r->count == r->from->object_count) damaged(L);
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->objects, (int)++r->count);
}

/* Each entry takes one byte at least. */
static void read_table(lua_State *L, reader *r)
{
  uint32_t list = take_u32(L, r), others = take_u32(L, r);
  if (list > left(r) || others > left(r)) damaged(L);
  lua_createtable(L, (int)list, (int)others);
  add_object(L, r);
}

static void read_object(lua_State *L, reader *r)
{
  uint32_t number = take_u32(L, r);
  if (number < 1 || number > r->count) damaged(L);
  lua_rawgeti(L, r->objects, (int)number);
}

static void push_globals(lua_State *L, const reader *r)
{
  if (!r->side->globals) {
    compat_push_globals(L);
    return;
  }
  if (lua_isnil(L, r->side->globals)) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, r->side->maker);
    lua_call(L, 0, 1);
    lua_replace(L, r->side->globals);
  }
  lua_pushvalue(L, r->side->globals);
}

/* --- References ---------------------------------------------------------------------------- */

static const reference *take_reference(lua_State *L, reader *r)
{
  uint32_t number = take_u32(L, r);
  if (number >= r->from->reference_count) damaged(L);
  return &r->from->references[number];
}

/* --- Functions ----------------------------------------------------------------------------- */

/* -> a maker of functions with that code, or nothing where there are none */
static bool push_new_maker(lua_State *L, const code *c)
{
  lua_pushlightuserdata(L, (void *)&factory_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return false;
  }
  lua_pushlstring(L, c->bytes, c->length);
  lua_call(L, 1, 1);
  return true;
}

/* -> function. On LuaJIT one that is loaded is compiled anew. There each code is loaded once, as part of a
   maker, whose functions share what was compiled. On 5.4 a function that captures nothing, globals
   neither, is the same for all jobs; the others have captured locals of their own. */
static void push_function(lua_State *L, code *c)
{
  bool known = codes_push_loaded(L, binding_universe(L)->codes, c);
  if (!known && WEFT_LUAJIT && (known = push_new_maker(L, c))) codes_remember(L, c);
  if (known && WEFT_LUAJIT) lua_call(L, 0, 1);
  if (known) return;
  if (luaL_loadbufferx(L, c->bytes, c->length, "=job", "b") != LUA_OK) lua_error(L);
  if (WEFT_LUAJIT) return;
  if (lua_getupvalue(L, -1, 1))
    lua_pop(L, 1);
  else
    codes_remember(L, c);
}

static void read_function(lua_State *L, reader *r)
{
  const reference *ref = take_reference(L, r);
  if (ref->kind != REFERENCE_CODE) damaged(L);
  push_function(L, ref->object);
  if (WEFT_LUAJIT) {
    push_globals(L, r);
    compat_set_environment(L, -2);
  }
  add_object(L, r);
}

/* --- Buffers and other objects ------------------------------------------------------------- */

/* What is here of a memory already: what a result was lent from, or the hold of the first view that
   was read; NULL if nothing. */
static hold *find_hold(lua_State *L, const reader *r, const reference *ref)
{
  hold *from = ref->object;
  for (hold *h = r->side->lent ? NULL : from->origin; h; h = h->origin)
    if (h->side == binding_universe(L)) return h;
  lua_rawgeti(L, r->objects, -1 - (int)(ref - r->from->references));
  const view *first = buffer_test(L, -1);
  lua_pop(L, 1);
  return first ? first->hold : NULL;
}

/* A hold of this side alone. What was lent to a job from elsewhere is not that job's to give. */
static hold *new_hold(lua_State *L, const reader *r, const reference *ref)
{
  hold *from = ref->object;
  bool lent = r->side->lent;
  hold *h = hold_new(weft_buffer_keep(from->memory), binding_universe(L), lent ? from : NULL);
  if (!h) luaL_error(L, "weft.jobs: not enough memory for a buffer");
  h->job = r->side->job;
  if (!lent && from->origin) hold_end(h, "not here: it was lent to the job from elsewhere");
  if (!lent && r->side->second)
    hold_end(h, "elsewhere: the job's result was taken there before");
  return h;
}

/* -> view; it is remembered */
static void push_first_view(lua_State *L, const reader *r, const reference *ref, uint32_t first,
                            uint32_t count, bool read_only)
{
  view *v = buffer_push(L, weft_buffer_type(((const hold *)ref->object)->memory));
  buffer_set(v, new_hold(L, r, ref), first, count, read_only);
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->objects, -1 - (int)(ref - r->from->references));
  if (!r->side->views) return;
  lua_pushvalue(L, -1);
  lua_rawseti(L, r->side->views, (int)compat_raw_length(L, r->side->views) + 1);
}

static void read_buffer(lua_State *L, reader *r)
{
  const reference *ref = take_reference(L, r);
  if (ref->kind != REFERENCE_BUFFER) damaged(L);
  uint32_t first = take_u32(L, r), count = take_u32(L, r);
  uint8_t read_only = take_u8(L, r);
  const weft_buffer *memory = ((const hold *)ref->object)->memory;
  if (read_only > 1 || (uint64_t)first + count > weft_buffer_count(memory)) damaged(L);
  hold *h = find_hold(L, r, ref);
  if (h)
    buffer_push_view(L, h, first, count, read_only);
  else
    push_first_view(L, r, ref, first, count, read_only);
  add_object(L, r);
}

static void read_counted(lua_State *L, reader *r)
{
  const reference *ref = take_reference(L, r);
  if (ref->kind == REFERENCE_BUFFER || ref->kind == REFERENCE_CODE) damaged(L);
  jobs_push_counted(L, ref->kind, ref->object);
  add_object(L, r);
}

/* --- Values -------------------------------------------------------------------------------- */

static void read_number(lua_State *L, reader *r, uint8_t tag)
{
  int64_t whole;
  double number;
  if (tag == TAG_FLOAT) {
    take(L, r, &number, sizeof number);
    lua_pushnumber(L, number);
    return;
  }
  take(L, r, &whole, sizeof whole);
  if (tag == TAG_INTEGER)
    lua_pushinteger(L, (lua_Integer)whole);
  else
    element_push_int64(L, whole, tag == TAG_UINT64);
}

/* Whether a job has its own: libraries, and functions that know its globals. */
static bool is_own(lua_State *L, const char *name, size_t length)
{
  static const char *const names[] = {"require", "load",    "loadfile", "loadstring",
                                      "dofile",  "getfenv", "setfenv"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  return lua_istable(L, -1);
}

/* library or function of that kind -> the job's, if it has its own */
static void push_own(lua_State *L, const reader *r, const char *name, size_t length)
{
  push_globals(L, r);
  lua_pushlstring(L, name, length);
  lua_gettable(L, -2);
  lua_remove(L, -2);
  bool has = lua_type(L, -1) == lua_type(L, -2);
  lua_remove(L, has ? -2 : -1);
}

static void read_name(lua_State *L, reader *r)
{
  uint32_t length = take_u32(L, r);
  const char *name = take_bytes(L, r, length);
  if (names_push(L, name, length)) {
    if (r->side->globals && is_own(L, name, length)) push_own(L, r, name, length);
    return;
  }
  lua_pushlstring(L, name, length < 200 ? length : 200);
  luaL_error(L, "weft.jobs: '%s' is not there", lua_tostring(L, -1));
}

/* -> value */
static void read_value(lua_State *L, reader *r)
{
  uint32_t length;
  uint8_t tag = take_u8(L, r);
  switch (tag) {
  case TAG_NIL:
    lua_pushnil(L);
    break;
  case TAG_FALSE:
  case TAG_TRUE:
    lua_pushboolean(L, tag == TAG_TRUE);
    break;
  case TAG_INTEGER:
  case TAG_FLOAT:
  case TAG_INT64:
  case TAG_UINT64:
    read_number(L, r, tag);
    break;
  case TAG_STRING:
    length = take_u32(L, r);
    lua_pushlstring(L, take_bytes(L, r, length), length);
    break;
  case TAG_NAME:
    read_name(L, r);
    break;
  case TAG_TABLE:
    read_table(L, r);
    break;
  case TAG_FUNCTION:
    read_function(L, r);
    break;
  case TAG_OBJECT:
    read_object(L, r);
    break;
  case TAG_GLOBALS:
    push_globals(L, r);
    break;
  case TAG_CANCELLED:
    binding_push_cancelled(L);
    break;
  case TAG_BUFFER:
    read_buffer(L, r);
    break;
  case TAG_COUNTED:
    read_counted(L, r);
    break;
  default:
    damaged(L);
  }
}

/* --- What is in objects -------------------------------------------------------------------- */

/* table on top -> table */
static void read_contents(lua_State *L, reader *r)
{
  int table = lua_gettop(L);
  uint32_t list = take_u32(L, r);
  if (list > left(r)) damaged(L);
  for (uint32_t i = 1; i <= list; i++) {
    read_value(L, r);
    lua_rawseti(L, table, (int)i);
  }
  for (;;) {
    read_value(L, r);
    if (lua_isnil(L, -1)) break;
    read_value(L, r);
    lua_rawset(L, table);
  }
  lua_pop(L, 1);
}

/* function on top -> function; the captured local `i` becomes that of another function */
static void join_upvalue(lua_State *L, reader *r, int i)
{
  uint32_t number = take_u32(L, r);
  int other = take_u8(L, r), function = lua_gettop(L);
  if (number < 1 || number > r->count) damaged(L);
  lua_rawgeti(L, r->objects, (int)number);
  bool fits =
      lua_isfunction(L, -1) && !lua_iscfunction(L, -1) && lua_getupvalue(L, function, i);
  if (!fits || !lua_getupvalue(L, function + 1, other)) damaged(L);
  lua_settop(L, function + 1);
  lua_upvaluejoin(L, function, i, function + 1, other);
  lua_settop(L, function);
}

static void read_upvalues(lua_State *L, reader *r)
{
  int count = take_u8(L, r);
  for (int i = 1; i <= count; i++) {
    if (left(r) && *r->at == TAG_UPVALUE) {
      r->at++;
      join_upvalue(L, r, i);
      continue;
    }
    read_value(L, r);
    if (!lua_setupvalue(L, -2, i)) damaged(L);
  }
}

static void read_objects(lua_State *L, reader *r)
{
  for (uint32_t i = 1; i <= r->count; i++) {
    lua_rawgeti(L, r->objects, (int)i);
    if (lua_istable(L, -1))
      read_contents(L, r);
    else if (lua_isfunction(L, -1))
      read_upvalues(L, r);
    lua_pop(L, 1);
  }
}

static const uint8_t *push_plain_value(lua_State *L, const uint8_t *at)
{
  uint8_t tag = *at++;
  double number;
  int64_t whole;
  switch (tag) {
  case TAG_INTEGER:
    memcpy(&whole, at, sizeof whole);
    lua_pushinteger(L, (lua_Integer)whole);
    return at + sizeof whole;
  case TAG_FLOAT:
    memcpy(&number, at, sizeof number);
    lua_pushnumber(L, number);
    return at + sizeof number;
  case TAG_NIL:
    lua_pushnil(L);
    return at;
  default:
    lua_pushboolean(L, tag == TAG_TRUE);
    return at;
  }
}

/* Not on LuaJIT, where a function needs globals of its own. */
bool transfer_push_plain(lua_State *L, const universe *U, const parcel *p)
{
  const uint8_t *at = p->bytes;
  uint32_t left = p->value_count;
  if (left > LUA_MINSTACK / 2) return false;
  if (p->object_count > 0) {
    if (WEFT_LUAJIT || !codes_push_loaded(L, U->codes, p->references[0].object)) return false;
    at += 1 + sizeof(uint32_t);
    left--;
  }
  for (; left > 0; left--) at = push_plain_value(L, at);
  return true;
}

int transfer_read(lua_State *L, const parcel *p, const transfer_side *side)
{
  int count = (int)p->value_count;
  luaL_checkstack(L, count + LUA_MINSTACK, "too many values");
  if (p->object_count > 0)
    lua_createtable(L, p->object_count < 8 ? (int)p->object_count : 8, 0);
  else
    lua_pushnil(L);
  reader r = {.from = p,
              .at = p->bytes,
              .end = p->bytes + p->size,
              .objects = lua_gettop(L),
              .side = side};
  for (int i = 0; i < count; i++) read_value(L, &r);
  read_objects(L, &r);
  if (r.at != r.end) damaged(L);
  lua_remove(L, r.objects);
  return count;
}

/* --- Opening ------------------------------------------------------------------------------- */

/* function that makes makers -> */
static int register_factory(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushlightuserdata(L, (void *)&factory_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 0;
}

static const luaL_Reg functions[] = {{"registerFactory", register_factory}, {NULL, NULL}};

/* Module table on top. */
void transfer_read_open(lua_State *L)
{
  if (WEFT_LUAJIT) binding_functions(L, functions);
}
