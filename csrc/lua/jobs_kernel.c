/* SPDX-License-Identifier: MIT */
/*
** jobs_kernel.c - weft.Kernel: a C function of a shared library, which jobs run without any Lua.
*/
#include <dlfcn.h>
#include <string.h>

#include "lua/jobs.h"

/* Addresses: it stands in each userdata; the key of the metatable. */
static const char kernel_kind, meta_key;

typedef struct kernel_object {
  const void *kind;
  kernel *kernel;
} kernel_object;

kernel *kernel_test(lua_State *L, int index)
{
  const kernel_object *o =
      lua_type(L, index) == LUA_TUSERDATA ? lua_touserdata(L, index) : NULL;
  if (!o || compat_raw_length(L, index) != sizeof *o || o->kind != &kernel_kind) return NULL;
  return o->kernel;
}

/* -> kernel, closed */
static kernel_object *push_object(lua_State *L)
{
  kernel_object *o = lua_newuserdata(L, sizeof *o);
  *o = (kernel_object){.kind = &kernel_kind};
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return o;
}

void kernel_push(lua_State *L, kernel *k)
{
  kernel_object *o = push_object(L); /* may raise, and comes first therefore */
  o->kernel = weft_counted_keep(k);
}

static void kernel_end(void *object)
{
  const kernel *k = object;
  if (k->library) dlclose(k->library);
}

/* library, symbol -> kernel */
static int api_kernel(lua_State *L)
{
  static const char who[] = "jobs.kernel";
  for (int i = 1; i <= 2; i++)
    if (lua_type(L, i) != LUA_TSTRING)
      return binding_misuse(L, "%s: %s must be a string, got %s", who,
                            i == 1 ? "library" : "symbol", binding_got(L, i));
  kernel_object *o = push_object(L);
  o->kernel = weft_counted_new(sizeof *o->kernel, kernel_end);
  if (!o->kernel) return luaL_error(L, "%s: not enough memory", who);
  kernel *k = o->kernel;
  k->library = dlopen(lua_tostring(L, 1), RTLD_NOW | RTLD_LOCAL);
  if (!k->library) return binding_misuse(L, "%s: %s", who, dlerror());
  void *symbol = dlsym(k->library, lua_tostring(L, 2));
  if (!symbol)
    return binding_misuse(L, "%s: there is no '%s' in %s", who, lua_tostring(L, 2),
                          lua_tostring(L, 1));
  memcpy(&k->fn, &symbol, sizeof symbol);
  return 1;
}

/* --- Arguments ----------------------------------------------------------------------------- */

/* The bytes of all strings, each with its zero. */
static size_t strings_size(lua_State *L, int first)
{
  size_t total = 0, length;
  for (int i = first; i <= lua_gettop(L); i++) {
    if (lua_type(L, i) != LUA_TSTRING) continue;
    lua_tolstring(L, i, &length);
    total += length + 1;
  }
  return total;
}

static void set_string(lua_State *L, int index, weft_value *value, char **room)
{
  const char *text = lua_tolstring(L, index, &value->size);
  value->kind = WEFT_VALUE_STRING;
  value->as.string = memcpy(*room, text, value->size + 1);
  *room += value->size + 1;
}

static bool set_number(lua_State *L, int index, weft_value *value)
{
  if (lua_type(L, index) == LUA_TNUMBER && !compat_is_integer(L, index)) {
    value->kind = WEFT_VALUE_NUMBER;
    value->as.number = lua_tonumber(L, index);
    return true;
  }
  value->kind = WEFT_VALUE_INTEGER;
  return element_whole(L, index, &value->as.integer);
}

static bool set_buffer(lua_State *L, int index, weft_value *value)
{
  const view *v = buffer_test(L, index);
  if (!v || !v->hold) return false;
  value->kind = WEFT_VALUE_BUFFER;
  value->element = v->type;
  value->size = (size_t)v->count;
  value->as.data = v->data;
  return true;
}

static bool set_value(lua_State *L, int index, weft_value *value, char **room)
{
  switch (lua_type(L, index)) {
  case LUA_TNIL:
    value->kind = WEFT_VALUE_NIL;
    return true;
  case LUA_TBOOLEAN:
    value->kind = WEFT_VALUE_BOOLEAN;
    value->as.integer = lua_toboolean(L, index);
    return true;
  case LUA_TSTRING:
    set_string(L, index, value, room);
    return true;
  case LUA_TNUMBER:
    return set_number(L, index, value);
  default:
    return set_buffer(L, index, value) || set_number(L, index, value);
  }
}

void kernel_set_arguments(lua_State *L, work *w, int first, const char *who)
{
  int top = lua_gettop(L) - 1; /* the job's object is above them */
  size_t count = top >= first ? (size_t)(top - first + 1) : 0;
  size_t bytes = count * sizeof *w->values + strings_size(L, first);
  w->values = weft_counted_new(bytes, NULL);
  if (!w->values) luaL_error(L, "%s: not enough memory", who);
  char *room = (char *)(w->values + count);
  for (size_t i = 0; i < count; i++)
    if (!set_value(L, first + (int)i, &w->values[i], &room))
      binding_misuse(L, "%s: argument %d (%s) cannot go to a kernel", who, (int)i + 1,
                     luaL_typename(L, first + (int)i));
  w->value_count = count;
}

/* --- Opening ------------------------------------------------------------------------------- */

static int kernel_gc(lua_State *L)
{
  kernel_object *o = lua_touserdata(L, 1);
  weft_counted_drop(o->kernel);
  o->kernel = NULL;
  return 0;
}

static const luaL_Reg metamethods[] = {{"__gc", kernel_gc}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"kernel", api_kernel}, {NULL, NULL}};

/* Table of jobs on top. */
void kernel_open(lua_State *L)
{
  binding_functions(L, functions);
  lua_createtable(L, 0, 2);
  binding_functions(L, metamethods);
  lua_pushliteral(L, "weft.Kernel");
  lua_setfield(L, -2, "__name");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}
