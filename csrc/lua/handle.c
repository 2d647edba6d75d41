/* SPDX-License-Identifier: MIT */
/*
** handle.c - weft.Routine, the object a script holds for a routine.
**
** One object per routine at a time: the world remembers it weakly by slot, so it keeps nothing
** alive and nothing keeps it. What the routine ended with lives in the object, not in the slot.
*/
#include <string.h>

#include "lua/binding.h"

static const char *const state_names[] = {
    [WEFT_STATE_QUEUED] = "queued",       [WEFT_STATE_RUNNING] = "running",
    [WEFT_STATE_SLEEPING] = "sleeping",   [WEFT_STATE_CANCELLING] = "cancelling",
    [WEFT_STATE_COMPLETED] = "completed", [WEFT_STATE_CANCELLED] = "cancelled",
    [WEFT_STATE_FAILED] = "failed",       [WEFT_STATE_EXPIRED] = "expired",
};

const char *handle_state_name(weft_state state)
{
  return state_names[state];
}

/* --- Objects ------------------------------------------------------------------------------- */

bool handle_test(lua_State *L, int index)
{
  const universe *U = binding_universe(L);
  if (!lua_touserdata(L, index) || !lua_getmetatable(L, index)) return false;
  bool ours = lua_topointer(L, -1) == U->handle_meta;
  lua_pop(L, 1);
  return ours;
}

handle *handle_check(lua_State *L, int index, const char *who)
{
  if (handle_test(L, index)) return lua_touserdata(L, index);
  binding_misuse(L, "%s: a routine handle expected, got %s", who, binding_got(L, index));
  return NULL;
}

handle *handle_new(lua_State *L, realm *R)
{
  handle *h = compat_new_object(L, sizeof *h);
  *h = (handle){.serial = R->serial};
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_setmetatable(L, -2);
  return h;
}

/* The weak table has a place for each slot: this needs no memory. */
void handle_bind(realm *R, handle *h, weft_handle id, uint32_t slot)
{
  h->id = id;
  lua_rawseti(R->store, STORE_HANDLES, (int)slot + 1);
}

handle *handle_peek(realm *R, uint32_t slot)
{
  lua_rawgeti(R->store, STORE_HANDLES, (int)slot + 1);
  handle *h = lua_touserdata(R->store, -1);
  if (!h) lua_pop(R->store, 1);
  return h;
}

/* The object of the routine in the slot, if it is not one that an earlier routine left. */
static handle *peek_own(realm *R, const weft_routine *routine)
{
  handle *h = handle_peek(R, weft_routine_slot(R->world, routine));
  if (!h || h->id == weft_routine_handle(R->world, routine)) return h;
  lua_pop(R->store, 1);
  return NULL;
}

/* Making the object may run finalizers that end the routine or close the world: then it is a handle of
   something gone, and nobody looks for it. */
void handle_of(lua_State *L, realm *R, const weft_routine *routine)
{
  if (peek_own(R, routine)) {
    lua_xmove(R->store, L, 1);
    return;
  }
  const universe *U = R->universe;
  uint32_t slot = weft_routine_slot(R->world, routine);
  weft_handle id = weft_routine_handle(R->world, routine);
  handle made = {.id = id, .serial = R->serial};
  lua_pushvalue(R->store, STORE_HANDLE_META);
  lua_xmove(R->store, L, 1);
  handle *h = compat_new_object(L, sizeof *h);
  *h = made;
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  if (!world_is_there(U, R) || !weft_routine_find(R->world, id)) return;
  lua_pushvalue(L, -1);
  lua_xmove(L, R->store, 1);
  handle_bind(R, h, id, slot);
}

/* The open world of a handle, or NULL. One that nobody can reach any more, because Lua lost its
   finalizer, is forgotten here: its store is gone. */
realm *handle_realm(lua_State *L, const handle *h)
{
  const universe *U = binding_universe(L);
  realm *R = U->realms;
  while (R && R->serial != h->serial) R = R->next;
  if (!R || !R->world) return NULL;
  if (R == U->current || world_reachable(L, R)) return R;
  world_forget(L, R);
  return NULL;
}

/* Before the slots go, what each routine ended as stays with its handle; or that is taken back, since
   they stay after all. An older handle of a slot is expired, for ever. */
void handle_keep_states(realm *R, bool keep)
{
  for (uint32_t slot = 0; slot < R->config.capacity; slot++) {
    handle *h = handle_peek(R, slot);
    if (!h) continue;
    weft_state state = weft_routine_state(R->world, h->id);
    bool ended = state >= WEFT_STATE_COMPLETED && state != WEFT_STATE_EXPIRED;
    h->kept = keep && ended ? (uint8_t)state : 0;
    lua_pop(R->store, 1);
  }
}

weft_state handle_state(lua_State *L, const handle *h)
{
  const realm *R = handle_realm(L, h);
  if (!R) return h->kept ? (weft_state)h->kept : WEFT_STATE_EXPIRED;
  weft_routine *routine = weft_routine_find(R->world, h->id);
  if (!routine) return weft_routine_state(R->world, h->id);
  routine_look(R, routine);
  return weft_routine_state_of(routine);
}

/* --- Results ------------------------------------------------------------------------------- */

typedef struct filling {
  realm *realm;
  weft_routine *routine;
  lua_State *traced; /* whose stack is to be traced, or NULL for the trace kept aside */
} filling;

/* handle, values -> ; as a list */
static int store_list(lua_State *L, void *context)
{
  (void)context;
  int count = lua_gettop(L) - 1;
  lua_createtable(L, count, 1);
  lua_insert(L, 2);
  lua_pushinteger(L, count);
  lua_setfield(L, 2, "n");
  for (int i = count; i > 0; i--) lua_rawseti(L, 2, i);
  compat_set_value(L, 1);
  return 0;
}

void handle_complete(realm *R, weft_routine *self, lua_State *from, int count)
{
  lua_State *helper = R->universe->helper;
  handle *h = count > 0 ? peek_own(R, self) : NULL;
  if (!h) {
    lua_pop(from, count);
    return;
  }
  if (count == 1 && COMPAT_CAN_CLOSE) {
    lua_xmove(from, R->store, 1);
    compat_set_value(R->store, -2);
    lua_pop(R->store, 1);
    h->shape = SHAPE_VALUE;
    h->state = WEFT_STATE_COMPLETED;
    return;
  }
  lua_xmove(R->store, helper, 1);
  bool room = count < LUA_MINSTACK / 2 || compat_grow(helper, count + LUA_MINSTACK);
  if (room) {
    lua_xmove(from, helper, count);
    bool held = compat_hold_finalizers(helper); /* one that fails is no fault of the results */
    int status = binding_protect(R, store_list, NULL, count + 1, 0);
    compat_release_finalizers(helper, held);
    if (status == LUA_OK) {
      h->shape = SHAPE_LIST;
      h->state = WEFT_STATE_COMPLETED;
      return;
    }
  } else {
    lua_pop(from, count);
  }
  /* No memory for the results: joiners are told, rather than handed none. */
  lua_pop(helper, 1);
  h->shape = SHAPE_NOTHING;
  record *rec = weft_routine_record(self);
  rec->outcome = OUTCOME_FAILED;
}

/* error -> ; error and traceback into the routine's handle */
static int store_error(lua_State *L, void *context)
{
  filling *f = context;
  handle_of(L, f->realm, f->routine);
  lua_createtable(L, 3, 0); /* error, trace, name */
  lua_pushvalue(L, 1);
  lua_rawseti(L, 3, 1);
  inspect_push_name(L, f->realm, f->routine);
  lua_rawseti(L, 3, 3);
  report_push_trace(L, f->realm, 1, f->traced);
  lua_rawseti(L, 3, 2);
  compat_set_value(L, 2);
  values_reserve(L, f->realm, 1);
  handle *h = lua_touserdata(L, 2);
  h->shape = SHAPE_ERROR;
  /* Kept from the collector until it has been reported. */
  record *rec = weft_routine_record(f->routine);
  h->state = rec->outcome == OUTCOME_FAILED ? WEFT_STATE_FAILED : WEFT_STATE_CANCELLED;
  if (!rec->recorded) {
    uint32_t cell = values_put(f->realm, L, 2);
    f->realm->values.next[cell] = rec->cells;
    rec->cells = cell;
    rec->recorded = true;
  }
  return 0;
}

void handle_fail(realm *R, weft_routine *self, lua_State *from, lua_State *traced)
{
  lua_State *helper = R->universe->helper;
  filling f = {R, self, traced};
  if (from != helper) lua_xmove(from, helper, 1);
  bool held = compat_hold_finalizers(helper);
  /* With no memory even for that, what is told is that there was none. */
  if (binding_protect(R, store_error, &f, 1, 0) != LUA_OK) lua_pop(helper, 1);
  compat_release_finalizers(helper, held);
}

void binding_push_cancelled(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&binding_universe(L)->cancelled);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* What join gives of a routine that ended in `state`: true and results, or false and the error. */
int handle_push_result(lua_State *L, int index, const handle *h, weft_state state)
{
  luaL_checkstack(L, 4, "results");
  lua_pushboolean(L, state == WEFT_STATE_COMPLETED);
  if (state == WEFT_STATE_CANCELLED) {
    binding_push_cancelled(L);
    return 2;
  }
  switch (h->shape) {
  case SHAPE_VALUE:
    compat_get_value(L, index);
    return 2;
  case SHAPE_ERROR:
    compat_get_value(L, index);
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
    return 2;
  case SHAPE_LIST: {
    compat_get_value(L, index);
    int list = lua_gettop(L);
    lua_getfield(L, list, "n");
    int count = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    luaL_checkstack(L, count, "results");
    for (int i = 1; i <= count; i++) lua_rawgeti(L, list, i);
    lua_remove(L, list);
    return count + 1;
  }
  default:
    break;
  }
  if (state != WEFT_STATE_FAILED) return 1;
  lua_pushliteral(L, "not enough memory");
  return 2;
}

/* --- Methods ------------------------------------------------------------------------------- */

/* The reason of the first cancel is kept with the routine, for isCancelled. */
static void keep_reason(lua_State *L, realm *R, weft_routine *routine)
{
  record *rec = weft_routine_record(routine);
  if (weft_routine_cancelled(routine) || !rec->thread) return;
  values_reserve(L, R, 1);
  uint32_t cell = values_put(R, L, 2);
  rec->has_reason = true;
  if (rec->recorded)
    R->values.next[rec->cells] = cell;
  else
    rec->cells = cell;
}

static int handle_cancel(lua_State *L)
{
  const handle *h = handle_check(L, 1, "routine.cancel");
  realm *R = handle_realm(L, h);
  weft_routine *routine = R ? weft_routine_find(R->world, h->id) : NULL;
  if (routine && !lua_isnoneornil(L, 2)) keep_reason(L, R, routine);
  if (routine) {
    scope_host_cancelled(R, routine);
    weft_routine_cancel(R->world, routine);
  }
  lua_pushboolean(L, routine != NULL);
  return 1;
}

static int handle_status(lua_State *L)
{
  const handle *h = handle_check(L, 1, "routine.status");
  lua_pushstring(L, state_names[handle_state(L, h)]);
  return 1;
}

/* error, traceback of a failed routine; Cancelled of a cancelled one; else nil */
static int handle_error(lua_State *L)
{
  const handle *h = handle_check(L, 1, "handle:error");
  weft_state state = handle_state(L, h);
  if (state == WEFT_STATE_EXPIRED && h->state) state = (weft_state)h->state;
  if (state == WEFT_STATE_CANCELLED) {
    binding_push_cancelled(L);
    return 1;
  }
  lua_pushnil(L);
  if (state != WEFT_STATE_FAILED) return 1;
  if (h->shape != SHAPE_ERROR) {
    lua_pushliteral(L, "not enough memory");
    return 1;
  }
  compat_get_value(L, 1);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  return 2;
}

/* -> " 'name'" of a routine that lives or left an error, or "" */
static const char *push_quoted_name(lua_State *L, int index, const handle *h)
{
  const realm *R = handle_realm(L, h);
  const weft_routine *routine = R ? weft_routine_find(R->world, h->id) : NULL;
  if (routine) {
    inspect_push_name(L, R, routine);
  } else if (h->shape == SHAPE_ERROR) {
    compat_get_value(L, index);
    lua_rawgeti(L, -1, 3);
  } else {
    lua_pushnil(L);
  }
  return lua_isnil(L, -1) ? "" : lua_pushfstring(L, " '%s'", lua_tostring(L, -1));
}

const char *handle_push_title(lua_State *L, int index)
{
  const handle *h = handle_check(L, index, "report");
  const char *name = push_quoted_name(L, index, h);
  return lua_pushfstring(L, "routine %d.%d%s", (int)(h->id & 0xFFFFFF),
                         (int)(h->id >> 24 & 0x7FFFFFFF), name);
}

static int handle_tostring(lua_State *L)
{
  const handle *h = handle_check(L, 1, "tostring");
  const char *name = push_quoted_name(L, 1, h);
  lua_pushfstring(L, "weft.Routine: %d.%d%s (%s)", (int)(h->id & 0xFFFFFF),
                  (int)(h->id >> 24 & 0x7FFFFFFF), name, state_names[handle_state(L, h)]);
  return 1;
}

static const luaL_Reg methods[] = {{"cancel", handle_cancel},
                                   {"status", handle_status},
                                   {"error", handle_error},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", handle_tostring}, {NULL, NULL}};

void handle_open(lua_State *L)
{
  lua_createtable(L, 0, 4);
  binding_functions(L, metamethods);
  lua_createtable(L, 0, 4);
  binding_functions(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "weft.Routine");
  lua_setfield(L, -2, "__name");
}
