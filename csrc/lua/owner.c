/* SPDX-License-Identifier: MIT */
/*
** owner.c - weft.Owner, the object a script holds for an owner, and what is called at its end.
**
** One object per owner at a time, as for routines: the world remembers it weakly by slot. The
** functions for its end wait in cells of the world, chained from the owner's own word.
*/
#include <math.h>

#include "lua/binding.h"
#include "lua/waitables.h"

/* Its address is the key of the owners' metatable. */
static const char meta_key;

/* The object a script holds. */
typedef struct owner {
  weft_owner id;
  uint32_t number; /* of the realm */
} owner;

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* --- Objects ------------------------------------------------------------------------------- */

static void push_meta(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

bool owner_is(lua_State *L, int index)
{
  if (!lua_isuserdata(L, index) || !lua_getmetatable(L, index)) return false;
  push_meta(L);
  bool ours = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return ours;
}

static const owner *check_owner(lua_State *L, int index, const char *who)
{
  if (!owner_is(L, index))
    binding_misuse(L, "%s: an owner expected, got %s", who, binding_got(L, index));
  return lua_touserdata(L, index);
}

weft_owner owner_check(lua_State *L, int index, const char *who, uint32_t *number)
{
  const owner *o = check_owner(L, index, who);
  *number = o->number;
  return o->id;
}

realm *owner_find_realm(lua_State *L, uint32_t number)
{
  realm *R = binding_universe(L)->realms;
  while (R && R->number != number) R = R->next;
  if (!R || !R->world) return NULL;
  return R == R->universe->current || world_reachable(L, R) ? R : NULL;
}

realm *owner_realm(lua_State *L, uint32_t number, const char *who)
{
  realm *R = owner_find_realm(L, number);
  if (!R) binding_misuse(L, "%s: world is closed", who);
  return R;
}

/* The open world of an owner, or NULL. */
static realm *realm_of(lua_State *L, const owner *o)
{
  return owner_find_realm(L, o->number);
}

static realm *check_realm(lua_State *L, const owner *o, const char *who)
{
  return owner_realm(L, o->number, who);
}

static owner *new_object(lua_State *L, const realm *R) /* -> owner */
{
  owner *o = lua_newuserdata(L, sizeof *o);
  *o = (owner){.number = R->number};
  push_meta(L);
  lua_setmetatable(L, -2);
  return o;
}

/* owner -> owner; remembered in its place, which is there */
static void remember(lua_State *L, realm *R, weft_owner id)
{
  lua_pushvalue(L, -1);
  lua_xmove(L, R->store, 1);
  lua_rawseti(R->store, STORE_OWNERS, (int)weft_owner_slot(id));
}

/* larger table -> ; in the place of the one that is there, with what it holds */
static void move_places(lua_State *L, realm *R, uint32_t places)
{
  lua_pushvalue(R->store, STORE_OWNERS);
  lua_xmove(R->store, L, 1);
  for (uint32_t slot = 1; slot <= R->owner_slots; slot++) {
    lua_rawgeti(L, -1, (int)slot);
    lua_rawseti(L, -3, (int)slot);
  }
  lua_pop(L, 1);
  lua_xmove(L, R->store, 1);
  lua_replace(R->store, STORE_OWNERS);
  R->owner_places = places;
}

/* So many places that the next owner has one, whichever slot it gets. What allocates may run
   finalizers, which make owners and close worlds as they like: false if this one is closed. */
static bool reserve_places(lua_State *L, realm *R)
{
  while (R->owner_slots >= R->owner_places) {
    uint32_t before = R->owner_places, places = before > 0 ? before * 2 : 8;
    binding_push_weak(L, (int)places, "v");
    if (!world_is_open(R->universe, R)) return false;
    ears_reserve_owners(L, R, places);
    if (R->owner_places == before)
      move_places(L, R, places);
    else
      lua_pop(L, 1);
  }
  return world_is_open(R->universe, R);
}

/* The object of a living owner. */
static void push_owner(lua_State *L, realm *R, weft_owner id)
{
  lua_rawgeti(R->store, STORE_OWNERS, (int)weft_owner_slot(id));
  lua_xmove(R->store, L, 1);
  const owner *known = lua_touserdata(L, -1);
  if (known && known->id == id) return;
  lua_pop(L, 1);
  new_object(L, R)->id = id;
  /* A finalizer may have closed the world meanwhile: then nobody looks for it again. */
  if (world_is_there(R->universe, R)) remember(L, R, id);
}

bool owner_push_of(lua_State *L, realm *R, const weft_routine *routine)
{
  weft_owner id = weft_routine_owner(R->world, routine);
  if (id) push_owner(L, R, id);
  return id != 0;
}

/* --- Making -------------------------------------------------------------------------------- */

int owner_new(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:owner");
  weft_owner parent = 0;
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    const owner *above = check_owner(L, 2, "world:owner");
    if (above->number != R->number)
      return binding_misuse(L, "world:owner: the parent is of another world");
    parent = above->id;
  }
  owner *o = new_object(L, R);
  if (!reserve_places(L, R)) return refuse(L, "closed");
  weft_status status = weft_owner_new(R->world, parent, &o->id);
  if (status == WEFT_DESTROYED) return refuse(L, "destroyed");
  if (status == WEFT_FULL) return refuse(L, "capacity");
  if (status) return binding_failed(L, "world:owner", status);
  uint32_t slot = weft_owner_slot(o->id);
  if (slot > R->owner_slots) R->owner_slots = slot;
  ears_begin_owner(R, o->id);
  remember(L, R, o->id);
  return 1;
}

static int start_owned(lua_State *L, const char *who)
{
  const owner *o = check_owner(L, 1, who);
  return routine_start_owned(L, check_realm(L, o, who), o->id, 2, who);
}

static int api_start(lua_State *L)
{
  return start_owned(L, "owner:start");
}

static int api_start_owned(lua_State *L)
{
  return start_owned(L, "routine.startOwned");
}

/* --- Ends ---------------------------------------------------------------------------------- */

static uint32_t last_of(const realm *R, uint32_t cell)
{
  while (R->values.next[cell]) cell = R->values.next[cell];
  return cell;
}

/* A chain of functions, to be called as soon as Lua can be. */
static void queue(realm *R, uint32_t cells)
{
  if (!cells) return;
  if (R->ended_first)
    R->values.next[R->ended_last] = cells;
  else
    R->ended_first = cells;
  R->ended_last = last_of(R, cells);
}

void owner_ended(void *host, weft_owner id, void *data)
{
  ears_end_owner(host, id);
  queue(host, (uint32_t)(uintptr_t)data);
}

typedef struct end_call {
  realm *realm;
  bool taken;
} end_call;

static int call_first(lua_State *L, void *context)
{
  end_call *call = context;
  realm *R = call->realm;
  world_push(L, R); /* it stays as long as this runs */
  R->ended_first = values_take(R, L, R->ended_first);
  call->taken = true;
  systems_call(L, R, 0);
  return 0;
}

/* As a callback of its world, whoever calls: that cannot be ticked or closed meanwhile. */
void owner_tell(lua_State *from, realm *R)
{
  universe *U = R->universe;
  realm *outer = U->current;
  U->current = R;
  while (R->ended_first) {
    end_call call = {.realm = R};
    if (binding_protect_from(from, R, call_first, &call, 0, 0) == LUA_OK) continue;
    report_failure(R, U->helper);
    /* Without memory even for the call it is told of, and not tried for ever. */
    if (!call.taken) R->ended_first = values_free(R, R->ended_first);
  }
  U->current = outer;
}

static int api_on_destroyed(lua_State *L)
{
  const owner *o = check_owner(L, 1, "owner:onDestroyed");
  void *data;
  if (!lua_isfunction(L, 2))
    return binding_misuse(L, "owner:onDestroyed: a function expected, got %s",
                          binding_got(L, 2));
  realm *R = check_realm(L, o, "owner:onDestroyed");
  values_reserve(L, R, 1);
  R = check_realm(L, o, "owner:onDestroyed"); /* a finalizer may have closed it */
  world_push(L, R);
  uint32_t cell = values_put(R, L, 2);
  if (weft_owner_get_data(R->world, o->id, &data) != WEFT_OK) {
    queue(R, cell);
    owner_tell(L, R);
    return 0;
  }
  uint32_t cells = (uint32_t)(uintptr_t)data;
  if (cells)
    R->values.next[last_of(R, cells)] = cell;
  else
    weft_owner_set_data(R->world, o->id, (void *)(uintptr_t)cell);
  return 0;
}

/* --- Methods ------------------------------------------------------------------------------- */

static int api_destroy(lua_State *L)
{
  const owner *o = check_owner(L, 1, "owner:destroy");
  realm *R = realm_of(L, o);
  if (R) world_push(L, R);
  bool was_alive = R && weft_owner_destroy(R->world, o->id);
  if (was_alive) owner_tell(L, R);
  lua_pushboolean(L, was_alive);
  return 1;
}

static int api_disable(lua_State *L)
{
  const owner *o = check_owner(L, 1, "owner:disable");
  realm *R = realm_of(L, o);
  lua_pushboolean(L, R && weft_owner_disable(R->world, o->id));
  return 1;
}

static int api_enable(lua_State *L)
{
  const owner *o = check_owner(L, 1, "owner:enable");
  realm *R = realm_of(L, o);
  lua_pushboolean(L, R && weft_owner_enable(R->world, o->id));
  return 1;
}

static int api_alive(lua_State *L)
{
  const owner *o = check_owner(L, 1, "owner:alive");
  const realm *R = realm_of(L, o);
  lua_pushboolean(L, R && weft_owner_alive(R->world, o->id));
  return 1;
}

static int api_set_time_scale(lua_State *L)
{
  const owner *o = check_owner(L, 1, "owner:setTimeScale");
  const realm *R = check_realm(L, o, "owner:setTimeScale");
  double scale = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : NAN;
  weft_status status = weft_owner_set_time_scale(R->world, o->id, scale);
  if (status == WEFT_DESTROYED) return refuse(L, "destroyed");
  if (status != WEFT_OK)
    return binding_misuse(L, "owner:setTimeScale: scale must be finite and >= 0, got %s",
                          binding_got(L, 2));
  lua_pushboolean(L, 1);
  return 1;
}

static int owner_tostring(lua_State *L)
{
  const owner *o = check_owner(L, 1, "tostring");
  const realm *R = realm_of(L, o);
  lua_pushfstring(L, "weft.Owner: %d.%d (%s)", (int)weft_owner_slot(o->id),
                  (int)(o->id >> 24 & 0x7FFFFFFF),
                  R && weft_owner_alive(R->world, o->id) ? "alive" : "destroyed");
  return 1;
}

/* The owner of the running routine, or nil. */
static int api_owner(lua_State *L)
{
  const universe *U = binding_universe(L);
  const weft_routine *self = binding_self(U);
  if (!self) return binding_outside(L, "routine.owner");
  if (!owner_push_of(L, U->current, self)) lua_pushnil(L);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg starters[] = {{"start", api_start}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"disable", api_disable},
                                   {"enable", api_enable},
                                   {"destroy", api_destroy},
                                   {"alive", api_alive},
                                   {"connect", signal_connect_owned},
                                   {"once", signal_once_owned},
                                   {"setTimeScale", api_set_time_scale},
                                   {"onDestroyed", api_on_destroyed},
                                   {"on", messages_on},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", owner_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"owner", api_owner}, {NULL, NULL}};
static const luaL_Reg function_starters[] = {{"startOwned", api_start_owned}, {NULL, NULL}};

/* Module table on top, with its table of routines. */
void owner_open(lua_State *L)
{
  lua_getfield(L, -1, "routine");
  binding_functions(L, functions);
  binding_starters(L, function_starters);
  lua_pop(L, 1);
  lua_createtable(L, 0, 4);
  binding_functions(L, metamethods);
  lua_pushliteral(L, "weft.Owner");
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 8);
  binding_functions(L, methods);
  binding_starters(L, starters);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_setfield(L, -3, "ownerMethods");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}
