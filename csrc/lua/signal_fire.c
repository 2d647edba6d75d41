/* SPDX-License-Identifier: MIT */
/*
** signal_fire.c - a fire: it wakes those who wait for the signal and calls its listeners, one after
** the other, each as a callback of its world.
*/
#include "lua/signal.h"

#include <stdio.h>

/* Who calls listeners just now, how far it has come, and what it has to put back. */
typedef struct fire {
  signal *signal;
  struct fire *outer;
  uint32_t depth;
  uint32_t at, end;
  realm *realm; /* of the listener that is called; NULL outside of all */
  realm *current;
  int callbacks; /* of the fire; more while a listener of a world runs */
} fire;

/* Upvalues of `fire`, after the universe. */
enum { UP_CALL_ALL = 2, UP_HANDLER, UP_REPORT };

/* --- Calling listeners --------------------------------------------------------------------- */

/* A world that does not tick, and that nobody else may hold, is kept while its listener runs and its
   error is told of. */
static void keep_world(lua_State *L, const universe *U, const fire *f)
{
  if (f->realm == f->current) return;
  world_push(L, f->realm);
  lua_xmove(L, U->parcels.store, 1);
  lua_replace(U->parcels.store, PARCELS_WORLDS + (int)f->depth);
}

static void let_worlds_go(const universe *U, const fire *f)
{
  lua_pushnil(U->parcels.store);
  lua_replace(U->parcels.store, PARCELS_WORLDS + (int)f->depth);
}

/* -> its function; or false and nothing. In its world it runs as a callback, outside any routine. */
static bool begin_listener(lua_State *L, universe *U, fire *f, uint32_t i)
{
  signal *s = f->signal;
  if (!s->listeners[i].on) return false;
  bool there = signal_find_realm(L, &s->listeners[i], f->current, &f->realm);
  if (there) lua_rawgeti(L, 1, (int)i + 1);
  if (!there || s->listeners[i].once) signal_turn_off(L, s, i, 1);
  if (there && f->realm) {
    keep_world(L, U, f);
    U->current = f->realm;
    U->callbacks++;
  }
  return there;
}

static void end_listener(universe *U, const fire *f)
{
  U->current = f->current;
  U->callbacks = f->callbacks;
}

/* signal, values -> ; from where the fire stands to its end, or to one that fails */
static int call_all(lua_State *L)
{
  universe *U = binding_universe(L);
  fire *f = U->fire;
  int nargs = lua_gettop(L) - 1;
  luaL_checkstack(L, nargs + LUA_MINSTACK, "values");
  compat_get_value(L, 1);
  lua_replace(L, 1);
  while (f->at < f->end) {
    if (!begin_listener(L, U, f, f->at++)) continue;
    for (int i = 0; i < nargs; i++) lua_pushvalue(L, i + 2);
    lua_call(L, nargs, 0);
    end_listener(U, f);
  }
  return 0;
}

static int push_trace(lua_State *L)
{
  luaL_traceback(L, L, NULL, 2);
  return 1;
}

/* error -> error, its trace kept aside; outside of all worlds in a place of its own */
static int keep_trace(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (U->current) return report_traceback(L);
  lua_pushcfunction(L, push_trace);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  lua_xmove(L, U->parcels.store, 1);
  lua_replace(U->parcels.store, PARCELS_TRACE);
  return 1;
}

/* error -> ; as the world of the listener reports, else the default one */
static int report_error(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (U->fire->realm) {
    report_callback(U->fire->realm, L);
    return 0;
  }
  realm *R = binding_realm_here(L);
  lua_pushnil(L);
  lua_insert(L, 1);
  lua_pushvalue(U->parcels.store, PARCELS_TRACE);
  lua_xmove(U->parcels.store, L, 1);
  lua_pushnil(U->parcels.store);
  lua_replace(U->parcels.store, PARCELS_TRACE);
  if (lua_touserdata(L, 2) == U->cancelled) return 0;
  return report_push_on(L, R);
}

/* error -> */
static void report_listener(lua_State *L)
{
  lua_pushvalue(L, lua_upvalueindex(UP_REPORT));
  lua_insert(L, -2);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return;
  fprintf(stderr, "weft: a listener failed, and there was no memory to say how\n");
  lua_pop(L, 1);
}

/* --- Firing -------------------------------------------------------------------------------- */

/* Their values are put together once, and all of them share it. */
static void tell_waiters(lua_State *L, signal *s)
{
  universe *U = s->base.universe;
  int count = lua_gettop(L) - 1;
  if (!s->base.line.event.first) return;
  parcels_reserve(L, U, (uint32_t)count);
  uint32_t parcel = parcels_put(U, L, 2, count);
  parcels_share(U, parcel, weft_event_fire(&s->base.line.event, parcel));
  parcels_drop(U, parcel);
}

/* In a world all of it is a callback, what stands between two listeners too: a debug hook that waited
   there could let another fire begin, and end this one before that. */
static void call_listeners(lua_State *L, universe *U, signal *s)
{
  int top = lua_gettop(L), callbacks = U->callbacks;
  fire f = {.signal = s,
            .outer = U->fire,
            .depth = U->fire ? U->fire->depth + 1 : 1,
            .end = s->count,
            .current = U->current,
            .callbacks = U->current ? callbacks + 1 : callbacks};
  if (f.depth > MAX_FIRES)
    binding_misuse(L,
                   "signal:fire: depth: %d fires inside one another are the limit; does a "
                   "listener fire its own signal?",
                   MAX_FIRES);
  luaL_checkstack(L, top + LUA_MINSTACK, "values");
  U->fire = &f;
  U->callbacks = f.callbacks;
  s->firing++;
  while (f.at < f.end) {
    uint32_t before = f.at;
    lua_pushvalue(L, lua_upvalueindex(UP_HANDLER));
    lua_pushvalue(L, lua_upvalueindex(UP_CALL_ALL));
    for (int i = 1; i <= top; i++) lua_pushvalue(L, i);
    if (lua_pcall(L, top, 0, top + 1) != LUA_OK) report_listener(L);
    if (f.at == before) f.at++; /* not even begun: a debug hook raised, or there is no room */
    end_listener(U, &f);
    lua_settop(L, top);
  }
  let_worlds_go(U, &f);
  U->fire = f.outer;
  U->callbacks = callbacks;
  s->firing--;
}

static int api_fire(lua_State *L)
{
  signal *s = signal_check_open(L, 1, "signal:fire");
  tell_waiters(L, s);
  if (s->on == 0) return 0;
  call_listeners(L, s->base.universe, s);
  if (s->firing == 0 && s->on < s->count / 2) signal_close_holes(L, s);
  return 0;
}

/* Whether anybody waited. */
static int api_fire_one(lua_State *L)
{
  signal *s = signal_check_open(L, 1, "signal:fireOne");
  universe *U = s->base.universe;
  int count = lua_gettop(L) - 1;
  bool waited = s->base.line.event.first != NULL;
  if (waited) {
    parcels_reserve(L, U, (uint32_t)count);
    weft_event_fire_one(&s->base.line.event, TURN | parcels_put(U, L, 2, count));
  }
  lua_pushboolean(L, waited);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {{"fireOne", api_fire_one}, {NULL, NULL}};

/* -> fire, with the functions that it calls protected */
static void push_fire(lua_State *L)
{
  static const lua_CFunction parts[] = {call_all, keep_trace, report_error};
  binding_push_universe(L);
  for (int i = 0; i < 3; i++) {
    binding_push_universe(L);
    lua_pushcclosure(L, parts[i], 1);
  }
  lua_pushcclosure(L, api_fire, 4);
}

/* methods -> methods */
void signal_push_fires(lua_State *L)
{
  binding_functions(L, methods);
  push_fire(L);
  lua_setfield(L, -2, "fire");
}
