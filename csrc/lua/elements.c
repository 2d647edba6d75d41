/* SPDX-License-Identifier: MIT */
/*
** elements.c - Lua values as elements of buffers, and elements as Lua values.
**
** A value is an element if nothing of it is lost; only f32 rounds. Whole numbers may be of any kind
** that a machine has: floats without a fraction, integers of 5.4, 64-bit integers of LuaJIT.
*/
#include <math.h>
#include <string.h>

#include "lua/buffer.h"

static const struct {
  int64_t least, most;
  const char *what; /* for messages */
} ranges[WEFT_TYPES] = {
    {INT8_MIN, INT8_MAX, "an i8 element must be a whole number from -128 to 127"},
    {0, UINT8_MAX, "a u8 element must be a whole number from 0 to 255"},
    {INT16_MIN, INT16_MAX, "an i16 element must be a whole number from -32768 to 32767"},
    {0, UINT16_MAX, "a u16 element must be a whole number from 0 to 65535"},
    {INT32_MIN, INT32_MAX, "an i32 element must be a whole number from -2^31 to 2^31 - 1"},
    {0, UINT32_MAX, "a u32 element must be a whole number from 0 to 2^32 - 1"},
    {INT64_MIN, INT64_MAX, "an i64 element must be a whole number from -2^63 to 2^63 - 1"},
    {0, 0, "an f32 element must be a number"},
    {0, 0, "an f64 element must be a number"},
};

/* --- Numbers of LuaJIT that are no Lua numbers --------------------------------------------- */

/* Their addresses are keys: functions of lua/weft/buffers.lua that know cdata. */
static const char kind_key, integer_key;

/* function that tells kinds, function that makes 64-bit integers -> */
static int element_register(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_pushlightuserdata(L, (void *)&integer_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(L, (void *)&kind_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 0;
}

enum cdata_kind element_cdata(lua_State *L, int index)
{
  if (lua_type(L, index) != COMPAT_TCDATA) return CDATA_OTHER;
  index = lua_absindex(L, index);
  luaL_checkstack(L, 4, NULL);
  lua_pushlightuserdata(L, (void *)&kind_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return CDATA_OTHER;
  }
  lua_pushvalue(L, index);
  lua_call(L, 1, 1);
  int kind = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return (enum cdata_kind)kind;
}

void element_push_int64(lua_State *L, int64_t value, bool is_unsigned)
{
  if (!WEFT_LUAJIT) {
    lua_pushinteger(L, (lua_Integer)value);
    return;
  }
  lua_pushlightuserdata(L, (void *)&integer_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_pushboolean(L, is_unsigned);
  lua_call(L, 1, 1);
  memcpy((void *)lua_topointer(L, -1), &value, sizeof value);
}

/* --- Reading ------------------------------------------------------------------------------- */

static bool whole_float(double value, int64_t *out)
{
  if (!(value >= -0x1p63 && value < 0x1p63) || value != floor(value)) return false;
  *out = (int64_t)value;
  return true;
}

static bool whole_cdata(lua_State *L, int index, int64_t *out)
{
  enum cdata_kind kind = element_cdata(L, index);
  if (kind != CDATA_I64 && kind != CDATA_U64) return false;
  memcpy(out, lua_topointer(L, index), sizeof *out);
  return kind == CDATA_I64 || *out >= 0;
}

bool element_whole(lua_State *L, int index, int64_t *out)
{
  if (lua_type(L, index) != LUA_TNUMBER) return whole_cdata(L, index, out);
  if (!compat_is_integer(L, index)) return whole_float(lua_tonumber(L, index), out);
  *out = (int64_t)lua_tointeger(L, index);
  return true;
}

static bool read_float(lua_State *L, int index, double *out)
{
  int64_t whole;
  if (lua_type(L, index) == LUA_TNUMBER) {
    *out = (double)lua_tonumber(L, index);
    return true;
  }
  enum cdata_kind kind = element_cdata(L, index);
  if (kind != CDATA_I64 && kind != CDATA_U64) return false;
  memcpy(&whole, lua_topointer(L, index), sizeof whole);
  *out = kind == CDATA_I64 ? (double)whole : (double)(uint64_t)whole;
  return true;
}

bool element_read(lua_State *L, int index, weft_type type, void *out)
{
  double number;
  int64_t whole;
  if (type == WEFT_F32 || type == WEFT_F64) {
    if (!read_float(L, index, &number)) return false;
    if (type == WEFT_F64)
      memcpy(out, &number, sizeof number);
    else
      memcpy(out, &(float){(float)number}, sizeof(float));
    return true;
  }
  if (!element_whole(L, index, &whole)) return false;
  if (whole < ranges[type].least || whole > ranges[type].most) return false;
  switch (weft_type_bytes(type)) {
  case 1:
    *(uint8_t *)out = (uint8_t)whole;
    break;
  case 2:
    *(uint16_t *)out = (uint16_t)whole;
    break;
  case 4:
    *(uint32_t *)out = (uint32_t)whole;
    break;
  default:
    *(int64_t *)out = whole;
  }
  return true;
}

int element_misuse(lua_State *L, const char *who, weft_type type, int index)
{
  return binding_misuse(L, "%s: %s, got %s", who, ranges[type].what, binding_got(L, index));
}

/* --- Pushing ------------------------------------------------------------------------------- */

void element_push(lua_State *L, weft_type type, const void *at)
{
  switch (type) {
  case WEFT_I8:
    lua_pushinteger(L, *(const int8_t *)at);
    break;
  case WEFT_U8:
    lua_pushinteger(L, *(const uint8_t *)at);
    break;
  case WEFT_I16:
    lua_pushinteger(L, *(const int16_t *)at);
    break;
  case WEFT_U16:
    lua_pushinteger(L, *(const uint16_t *)at);
    break;
  case WEFT_I32:
    lua_pushinteger(L, *(const int32_t *)at);
    break;
  case WEFT_U32:
    lua_pushinteger(L, (lua_Integer) * (const uint32_t *)at);
    break;
  case WEFT_I64:
    element_push_int64(L, *(const int64_t *)at, false);
    break;
  case WEFT_F32:
    lua_pushnumber(L, (lua_Number) * (const float *)at);
    break;
  case WEFT_F64:
    lua_pushnumber(L, *(const double *)at);
    break;
  }
}

static const luaL_Reg functions[] = {{"registerNumbers", element_register}, {NULL, NULL}};

/* Table of halves on top. */
void element_open(lua_State *L)
{
  binding_functions(L, functions);
}
