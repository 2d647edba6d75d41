/* SPDX-License-Identifier: MIT */
/*
** inspect.c - who waits for what: names of routines and world:inspect.
*/
#include "lua/binding.h"
#include "lua/waitables.h"

static const char *const waiting_names[] = {
    [WEFT_WAITING_START] = "start",        [WEFT_WAITING_TURN] = "turn",
    [WEFT_WAITING_TICK] = "tick",          [WEFT_WAITING_TIME] = "time",
    [WEFT_WAITING_REAL_TIME] = "realTime", [WEFT_WAITING_ROUTINE] = "routine",
    [WEFT_WAITING_EVENT] = "event",        [WEFT_WAITING_CANCEL] = "cancel",
    [WEFT_WAITING_STEPS] = "fixedSteps",
};

/* --- Names --------------------------------------------------------------------------------- */

void inspect_push_name(lua_State *L, const realm *R, const weft_routine *routine)
{
  const record *rec = weft_routine_record(routine);
  if (!rec->named) {
    lua_pushnil(L);
    return;
  }
  lua_rawgeti(R->store, STORE_NAMES, (int)weft_routine_slot(R->world, routine) + 1);
  lua_xmove(R->store, L, 1);
}

/* False, not nil: the place stays, so that taking a name back needs no memory. */
void inspect_forget_name(realm *R, const weft_routine *routine)
{
  lua_pushboolean(R->store, 0);
  lua_rawseti(R->store, STORE_NAMES, (int)weft_routine_slot(R->world, routine) + 1);
}

int inspect_name(lua_State *L)
{
  universe *U = binding_universe(L);
  if (lua_type(L, 1) != LUA_TSTRING)
    return binding_misuse(L, "routine.name: a string expected, got %s", binding_got(L, 1));
  weft_routine *self = binding_self(U);
  if (!self) return binding_outside(L, "routine.name");
  lua_settop(L, 1);
  lua_pushvalue(U->current->store, STORE_NAMES);
  lua_xmove(U->current->store, L, 1);
  lua_insert(L, 1);
  lua_rawseti(L, 1, (int)weft_routine_slot(U->current->world, self) + 1);
  ((record *)weft_routine_record(self))->named = true;
  return 0;
}

/* --- world:inspect ------------------------------------------------------------------------- */

/* value -> ; field of the table below it, if there is a value */
static void set(lua_State *L, const char *field)
{
  if (lua_isnil(L, -1))
    lua_pop(L, 1);
  else
    lua_setfield(L, -2, field);
}

/* entry -> entry; nothing where it is not known */
static void set_ms(lua_State *L, const char *field, int64_t ns)
{
  if (ns < 0) return;
  lua_pushnumber(L, (lua_Number)ns / 1e6);
  lua_setfield(L, -2, field);
}

/* -> "file:line" where the innermost Lua function of a coroutine stands, or nil */
static void push_line(lua_State *L, lua_State *co)
{
  lua_Debug ar;
  for (int level = 0; lua_getstack(co, level, &ar); level++) {
    if (!lua_getinfo(co, "Sl", &ar) || ar.currentline <= 0 || binding_is_ours(ar.source))
      continue;
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
    return;
  }
  lua_pushnil(L);
}

/* The same of the function of a routine that has not begun: its first line. */
static void push_definition(lua_State *L, const realm *R, uint32_t cell)
{
  lua_Debug ar;
  lua_rawgeti(R->store, STORE_VALUES, (int)cell);
  lua_xmove(R->store, L, 1);
  if (!lua_isfunction(L, -1)) { /* its coroutine is just being made */
    lua_pop(L, 1);
    lua_pushnil(L);
    return;
  }
  if (lua_getinfo(L, ">S", &ar) && ar.linedefined > 0)
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.linedefined);
  else
    lua_pushnil(L);
}

void inspect_push_where(lua_State *L, const realm *R, const record *rec)
{
  if (rec->thread)
    push_line(L, rec->thread);
  else
    push_definition(L, R, rec->cells);
}

/* The routine of a handle, if it and its world are still there. */
static weft_routine *find(const universe *U, const realm *R, weft_handle id)
{
  return world_is_there(U, R) ? weft_routine_find(R->world, id) : NULL;
}

static weft_routine *find_next(const universe *U, const realm *R, uint32_t *cursor)
{
  return world_is_there(U, R) ? weft_routine_each(R->world, cursor) : NULL;
}

/* The kind of object that a Lua routine waits on; a C routine may wait on any event. */
static const char *waiting_name(const realm *R, const weft_routine *routine)
{
  const weft_event *event = weft_routine_event(R->world, routine);
  if (event && weft_routine_body(routine) == routine_body)
    return waitables_of(event)->kind->name;
  return waiting_names[weft_routine_waiting(routine)];
}

/* entry -> entry; what needs no memory to be known is taken first */
static bool fill_entry(lua_State *L, realm *R, weft_handle id)
{
  const universe *U = R->universe;
  weft_routine *routine = find(U, R, id);
  if (!routine) return false;
  int64_t left = weft_routine_wakes_in(R->world, routine);
  const char *waiting = waiting_name(R, routine);
  const char *status = handle_state_name(weft_routine_state_of(routine));
  uint32_t resumes = weft_routine_resumes(routine);
  int64_t cpu = weft_routine_cpu(R->world, routine);
  int64_t wall = weft_routine_wall(R->world, routine);
  inspect_push_where(L, R, weft_routine_record(routine));
  set(L, "where");
  if ((routine = find(U, R, id)) == NULL) return false;
  inspect_push_name(L, R, routine);
  set(L, "name");
  lua_pushstring(L, status);
  lua_setfield(L, -2, "status");
  lua_pushstring(L, waiting); /* nil for the one that runs */
  set(L, "waitingOn");
  if (left >= 0) {
    lua_pushnumber(L, (lua_Number)left / 1e9);
    lua_setfield(L, -2, "wakesIn");
  }
  if ((routine = find(U, R, id)) == NULL) return false;
  if (owner_push_of(L, R, routine)) lua_setfield(L, -2, "owner");
  lua_pushinteger(L, (lua_Integer)resumes);
  lua_setfield(L, -2, "resumes");
  set_ms(L, "cpuMs", cpu);
  set_ms(L, "wallMs", wall);
  return true;
}

/* -> list, in the order of slots. Making it may run finalizers, which end routines and close worlds
   as they like: after each piece of memory everything is looked up anew. */
int inspect_push_list(lua_State *L, realm *R)
{
  int count = 0;
  uint32_t cursor = 0;
  const universe *U = R->universe;
  lua_newtable(L);
  for (;;) {
    lua_createtable(L, 0, 8);
    weft_routine *routine = find_next(U, R, &cursor);
    if (!routine) break;
    weft_handle id = weft_routine_handle(R->world, routine);
    handle_of(L, R, routine);
    lua_setfield(L, -2, "id");
    if (fill_entry(L, R, id))
      lua_rawseti(L, -2, ++count);
    else
      lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return 1;
}

int inspect_list(lua_State *L)
{
  return inspect_push_list(L, world_check_open(L, 1, "world:inspect"));
}
