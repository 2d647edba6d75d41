/* SPDX-License-Identifier: MIT */
/*
** inside.c - what the running routine says and asks of itself: its cleanups, its shields, who it is,
** whether it was asked to stop.
*/
#include "lua/binding.h"

static record *record_of(const weft_routine *routine)
{
  return weft_routine_record(routine);
}

static int api_defer(lua_State *L)
{
  universe *U = binding_universe(L);
  if (!lua_isfunction(L, 1))
    return binding_misuse(L, "routine.defer: a function expected, got %s", binding_got(L, 1));
  weft_routine *self = binding_self(U);
  if (!self) return binding_outside(L, "routine.defer");
  realm *R = U->current;
  values_reserve(L, R, 1);
  record *rec = record_of(self);
  uint32_t cell = values_put(R, L, 1);
  R->values.next[cell] = rec->defers;
  rec->defers = cell;
  return 0;
}

static int api_self(lua_State *L)
{
  universe *U = binding_universe(L);
  const weft_routine *self = binding_self(U);
  if (self)
    handle_of(L, U->current, self);
  else
    lua_pushnil(L);
  return 1;
}

/* Whether it was asked to stop, and why. */
static int api_is_cancelled(lua_State *L)
{
  const universe *U = binding_universe(L);
  const weft_routine *self = binding_self(U);
  if (!self) return binding_outside(L, "routine.isCancelled");
  lua_pushboolean(L, weft_routine_cancelled(self) || scope_interrupts(U->current, self));
  const record *rec = record_of(self);
  if (!rec->has_reason) return 1;
  uint32_t cell = rec->recorded ? U->current->values.next[rec->cells] : rec->cells;
  lua_rawgeti(U->current->store, STORE_VALUES, (int)cell);
  lua_xmove(U->current->store, L, 1);
  return 2;
}

static int api_world(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (!binding_self(U)) return binding_outside(L, "routine.world");
  world_push(L, U->current);
  return 1;
}

static int is_cancelled_error(lua_State *L)
{
  return lua_touserdata(L, -1) == binding_universe(L)->cancelled;
}

static int pcall_end(lua_State *L, int status, lua_KContext context)
{
  (void)context;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L);
  if (is_cancelled_error(L)) return lua_error(L);
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

static int api_pcall(lua_State *L)
{
  if (lua_isnone(L, 1))
    return binding_misuse(L, "routine.pcall: a function expected, got no value");
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  return pcall_end(L, compat_pcall(L, lua_gettop(L) - 2, 0, pcall_end), 0);
}

/* The running routine and one shield more. */
static const weft_routine *raise_shield(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (!lua_isfunction(L, 1))
    binding_misuse(L, "routine.shield: a function expected, got %s", binding_got(L, 1));
  weft_routine *self = binding_self(U);
  if (!self) binding_outside(L, "routine.shield");
  if (!weft_shield(U->current->world, self, true))
    binding_misuse(L, "routine.shield: too deep, 63 are up");
  return self;
}

/* Of a routine that runs: a script may have resumed the coroutine by hand at a bare yield, and whoever
   runs now has shields of its own. */
static void lower_shield(lua_State *L, bool own)
{
  weft_routine *self = weft_self();
  bool runs =
      self && weft_routine_body(self) == routine_body && (!own || record_of(self)->thread == L);
  if (!runs)
    binding_misuse(
        L, "routine.shield: the coroutine was resumed by hand and its routine does not run");
  weft_shield(weft_world_ticking(), self, false);
}

/* handler, then results or an error */
static int shield_end(lua_State *L, int status, bool own)
{
  lower_shield(L, own);
  if (status != LUA_OK && status != LUA_YIELD) {
    compat_before_throw(L);
    return lua_error(L);
  }
  return lua_gettop(L) - 1;
}

static int shield_continued(lua_State *L, int status, lua_KContext context)
{
  (void)context;
  return shield_end(L, status, true);
}

/* A coroutine of the script's own may not yield out of a shield: it could be dropped there, or go on
   in another routine. Waits work in it all the same. */
static int api_shield(lua_State *L)
{
  bool own = record_of(raise_shield(L))->thread == L;
  lua_State *store = binding_universe(L)->current->store;
  lua_pushvalue(store, STORE_HANDLER); /* keeps the trace of an error that passes */
  lua_xmove(store, L, 1);
  lua_insert(L, 1);
  int nargs = lua_gettop(L) - 2;
  int status =
      own ? compat_pcall(L, nargs, 1, shield_continued) : lua_pcall(L, nargs, LUA_MULTRET, 1);
  return shield_end(L, status, own);
}

/* For waits.lua: raises a shield, or answers true where it takes the whole of it above. */
static int api_shield_up(lua_State *L)
{
  const weft_routine *self = raise_shield(L);
  if (record_of(self)->thread == L) return 0;
  lower_shield(L, false);
  lua_pushboolean(L, 1);
  return 1;
}

static int api_shield_down(lua_State *L)
{
  lower_shield(L, true);
  return 0;
}

static const luaL_Reg functions[] = {{"defer", api_defer},
                                     {"self", api_self},
                                     {"world", api_world},
                                     {"name", inspect_name},
                                     {"isCancelled", api_is_cancelled},
                                     {"pcall", api_pcall},
                                     {"shield", api_shield},
                                     {NULL, NULL}};

static const luaL_Reg halves[] = {{"shieldUp", api_shield_up},
                                  {"shieldDown", api_shield_down},
                                  {"shield", api_shield},
                                  {"handler", report_traceback},
                                  {NULL, NULL}};

/* table -> table; the C halves of what ends in Lua, for waits.lua */
void inside_push_halves(lua_State *L)
{
  binding_functions(L, halves);
}

/* Table of the routine module on top. */
void inside_open(lua_State *L)
{
  binding_functions(L, functions);
}
