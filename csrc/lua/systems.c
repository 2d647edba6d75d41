/* SPDX-License-Identifier: MIT */
/*
** systems.c - functions called each tick by phase, and calls posted to the next one. They run on
** the thread that ticks, outside any routine.
*/
#include <string.h>

#include "lua/binding.h"

static const char *const phase_names[PHASES] = {"preUpdate", "fixedUpdate", "update",
                                                "postUpdate"};

/* Its address is the key of the subscriptions' metatable. */
static const char sub_key;

/* What `world:on` gives: a userdata, its user value a list of its function and its world. */
typedef struct subscription {
  bool on;
  weft_phase phase;
} subscription;

/* --- Calling ------------------------------------------------------------------------------- */

/* function, arguments -> ; with its error reported */
void systems_call(lua_State *L, realm *R, int nargs)
{
  int base = lua_gettop(L) - nargs;
  lua_pushvalue(R->store, STORE_HANDLER);
  lua_xmove(R->store, L, 1);
  lua_insert(L, base);
  if (lua_pcall(L, nargs, 0, base) != LUA_OK) report_callback(R, L);
  lua_settop(L, base - 1);
}

/* Closes the gaps that subscriptions left which are off. */
static void remove_off(lua_State *L, int list)
{
  int kept = 0, count = (int)compat_raw_length(L, list);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, list, i);
    const subscription *sub = lua_touserdata(L, -1);
    if (sub->on)
      lua_rawseti(L, list, ++kept);
    else
      lua_pop(L, 1);
  }
  for (int i = count; i > kept; i--) {
    lua_pushnil(L);
    lua_rawseti(L, list, i);
  }
}

typedef struct phase_call {
  realm *realm;
  weft_phase phase;
  double dt;
} phase_call;

/* What was there when the phase began and is still on at its turn. */
static int run_systems(lua_State *L, void *context)
{
  const phase_call *call = context;
  realm *R = call->realm;
  luaL_checkstack(L, LUA_MINSTACK, "systems");
  lua_pushvalue(R->store, STORE_SYSTEMS);
  lua_xmove(R->store, L, 1);
  lua_rawgeti(L, 1, (int)call->phase + 1);
  int count = (int)compat_raw_length(L, 2);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i);
    const subscription *sub = lua_touserdata(L, 3);
    if (sub->on) {
      compat_get_value(L, 3);
      lua_rawgeti(L, 4, 1);
      lua_pushnumber(L, call->dt);
      world_push(L, R);
      systems_call(L, R, 2);
    }
    lua_settop(L, 2);
  }
  if (R->dirty[call->phase]) {
    R->dirty[call->phase] = false;
    remove_off(L, 2);
  }
  return 0;
}

static void protected(realm *R, int (*fn)(lua_State *L, void *context), void *context)
{
  lua_State *L = R->ticking;
  /* A C function ticks: it has room for the few values that this takes. */
  if (binding_protect_on(L, R, fn, context, 0, 0) != LUA_OK) report_failure(R, L);
}

void systems_phase(void *host, weft_phase phase, double dt)
{
  realm *R = host;
  phase_call call = {R, phase, dt};
  if (R->systems[phase] > 0 || R->dirty[phase]) protected(R, run_systems, &call);
}

/* --- world:on ------------------------------------------------------------------------------ */

static void push_sub_meta(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&sub_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

int systems_on(lua_State *L)
{
  realm *R = world_check(L, 1, "world:on");
  if (!R->world) return binding_misuse(L, "world:on: world is closed");
  int phase = -1;
  for (int i = 0; i < PHASES && lua_type(L, 2) == LUA_TSTRING; i++)
    if (strcmp(lua_tostring(L, 2), phase_names[i]) == 0) phase = i;
  if (phase < 0)
    return binding_misuse(
        L,
        "world:on: phase must be 'preUpdate', 'fixedUpdate', 'update' or 'postUpdate', got %s",
        lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : binding_got(L, 2));
  if (!lua_isfunction(L, 3))
    return binding_misuse(L, "world:on: a function expected, got %s", binding_got(L, 3));
  lua_settop(L, 3);
  subscription *sub = compat_new_object(L, sizeof *sub); /* 4 */
  *sub = (subscription){.phase = (weft_phase)phase};
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 3);
  lua_rawseti(L, 5, 1);
  lua_pushvalue(L, 1);
  lua_rawseti(L, 5, 2);
  compat_set_value(L, 4);
  push_sub_meta(L);
  lua_setmetatable(L, 4);
  if (!world_is_open(binding_universe(L), R))
    return binding_misuse(L, "world:on: world is closed");
  lua_pushvalue(R->store, STORE_SYSTEMS);
  lua_xmove(R->store, L, 1);
  lua_rawgeti(L, 5, phase + 1);
  lua_pushvalue(L, 4);
  lua_rawseti(L, 6, (int)compat_raw_length(L, 6) + 1);
  sub->on = true;
  R->systems[phase]++;
  lua_settop(L, 4);
  return 1;
}

/* True if it was on. */
static int sub_off(lua_State *L)
{
  subscription *sub = binding_check_sub(L, &sub_key);
  bool was_on = sub->on;
  sub->on = false;
  if (was_on) {
    compat_get_value(L, 1);
    lua_rawgeti(L, -1, 2);
    realm *R = world_check(L, -1, "sub:off");
    R->systems[sub->phase]--;
    R->dirty[sub->phase] = true;
  }
  lua_pushboolean(L, was_on);
  return 1;
}

/* --- world:post ---------------------------------------------------------------------------- */

typedef struct post_call {
  realm *realm;
  uint32_t cell;
} post_call;

static int call_post(lua_State *L, void *context)
{
  const post_call *call = context;
  values_take(call->realm, L, call->cell);
  systems_call(L, call->realm, 0);
  return 0;
}

static void run_post(void *arg)
{
  realm *R = weft_world_host(weft_world_ticking());
  post_call call = {R, (uint32_t)(uintptr_t)arg};
  protected(R, call_post, &call);
}

int systems_post(lua_State *L)
{
  realm *R = world_check(L, 1, "world:post");
  if (!R->world) return binding_misuse(L, "world:post: world is closed");
  if (!lua_isfunction(L, 2))
    return binding_misuse(L, "world:post: a function expected, got %s", binding_got(L, 2));
  const char *name = lua_isnoneornil(L, 3) ? "normal" : lua_tostring(L, 3);
  bool high = name && strcmp(name, "high") == 0;
  if (!high && !(name && strcmp(name, "normal") == 0))
    return binding_misuse(L, "world:post: priority must be 'high' or 'normal', got %s",
                          name ? name : binding_got(L, 3));
  if (R->closing) {
    lua_pushnil(L);
    lua_pushliteral(L, "closed");
    return 2;
  }
  values_reserve(L, R, 1);
  uint32_t cell = values_put(R, L, 2);
  weft_status status = weft_world_post(R->world, run_post, (void *)(uintptr_t)cell,
                                       high ? WEFT_HIGH : WEFT_NORMAL);
  if (status) {
    values_drop(R, cell);
    if (status != WEFT_FULL)
      return binding_misuse(L, "world:post: %s", weft_status_text(status));
    lua_pushnil(L);
    lua_pushliteral(L, "full");
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

static const luaL_Reg sub_methods[] = {{"off", sub_off}, {NULL, NULL}};

void systems_open(lua_State *L)
{
  lua_createtable(L, 0, 2);
  lua_newtable(L);
  binding_functions(L, sub_methods);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "weft.Subscription");
  lua_setfield(L, -2, "__name");
  lua_pushlightuserdata(L, (void *)&sub_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}
