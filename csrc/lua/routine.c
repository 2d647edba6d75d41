/* SPDX-License-Identifier: MIT */
/*
** routine.c - a routine's coroutine, from its first resume to its end.
**
** The body is entered on a fiber. It resumes the coroutine; when that yields to one of our waits
** the body parks and the stack is free for the next routine. When the function has ended, in
** whatever way, its cleanups run on the same coroutine, each as a function of its own, and may
** wait as any other code. What an ending means for the routine is in routine_end.c.
*/
#include "lua/routine.h"

static record *record_of(const weft_routine *routine)
{
  return weft_routine_record(routine);
}

/* So many are moved between two coroutines at once, within the room that each has. */
#define FEW_VALUES 6

/* --- Starting ------------------------------------------------------------------------------ */

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

int routine_start(lua_State *L, realm *R, int first, const char *who)
{
  return routine_start_owned(L, R, 0, first, who);
}

int routine_start_owned(lua_State *L, realm *R, weft_owner owner, int first, const char *who)
{
  if (!lua_isfunction(L, first))
    return binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, first));
  const universe *U = R->universe;
  int last = lua_gettop(L);
  weft_handle id;
  handle *h = handle_new(L, R);
  /* Making it may have run finalizers, which start and close as they like. From here on nothing is
     allocated that the collector looks at. */
  if (!world_is_open(U, R)) return refuse(L, "closed");
  values_reserve(L, R, (uint32_t)(last - first + 1));
  weft_status status = weft_routine_start_owned(R->world, owner, routine_body, R, &id);
  if (status == WEFT_FULL) return refuse(L, "capacity");
  if (status == WEFT_DESTROYED) return refuse(L, "destroyed");
  if (status == WEFT_DISABLED) return refuse(L, "disabled");
  if (status) return binding_misuse(L, "%s: %s", who, weft_status_text(status));
  weft_routine *routine = weft_routine_find(R->world, id);
  record *rec = record_of(routine);
  rec->number = (uint32_t)(last - first + 1);
  lua_pushvalue(L, -1);
  if (last - first < FEW_VALUES) {
    for (int i = first; i <= last; i++) lua_pushvalue(L, i);
    lua_xmove(L, R->store, last - first + 2);
    rec->cells = values_store(R, last - first + 1);
  } else {
    lua_xmove(L, R->store, 1);
    rec->cells = values_put_range(R, L, first, last);
  }
  handle_bind(R, h, id, weft_routine_slot(R->world, routine));
  return 1;
}

static int api_start(lua_State *L)
{
  return routine_start(L, binding_realm_here(L), 1, "routine.start");
}

/* --- Entering the coroutine ---------------------------------------------------------------- */

/* Calls the function of the first cell with the values of the others, for which there is room. */
static int enter(realm *R, record *rec, uint32_t cell, uint32_t count, int *nresults)
{
  lua_State *co = rec->thread;
  if (COMPAT_BODY_ARGS > 0) lua_pushvalue(R->store, STORE_BODY);
  lua_rawgeti(R->store, STORE_VALUES, (int)cell);
  if (COMPAT_BODY_ARGS > 0) lua_pushvalue(R->store, STORE_HANDLER);
  cell = values_free(R, cell);
  bool few = count <= FEW_VALUES;
  for (; cell && few; cell = values_free(R, cell))
    lua_rawgeti(R->store, STORE_VALUES, (int)cell);
  lua_xmove(R->store, co, COMPAT_BODY_ARGS + (few ? (int)count : 1));
  while (cell) cell = values_take(R, co, cell);
  return compat_resume(co, R->donor, (int)count - 1 + COMPAT_BODY_ARGS, nresults);
}

/* What a resume goes through each time is inlined whole, what is rare is not. */
#define HOT __attribute__((flatten))
#define RARE __attribute__((noinline))

/* A bare yield is over then, and the next wait of ours raises. */
static RARE bool only_interrupted(const realm *R, const weft_routine *self)
{
  bool cancelled = weft_routine_cancelled(self) && weft_shields(self) == 0;
  return !cancelled && scope_interrupts(R, self);
}

/* Goes on after a wait. LUA_YIELD with `*nresults` < 0: it is to be ended by force. LUA_ERRRUN with
   that: its coroutine does not wait any more, a script has had its hands in it. */
static inline int reenter(realm *R, weft_routine *self, record *rec, int *nresults)
{
  lua_State *co = rec->thread;
  weft_status woken = weft_woken(self);
  int nargs = 0;
  if (rec->bare) {
    rec->bare = false;
    *nresults = -1;
    if (lua_status(co) != LUA_YIELD) return LUA_ERRRUN;
    if (woken == WEFT_CANCELLED && !only_interrupted(R, self)) return LUA_YIELD;
    *nresults = 0;
    lua_pushnumber(co, (lua_Number)weft_slept(R->world, self) / 1e9);
    nargs = 1;
  } else {
    nargs = waits_push_wake(R, co, self, woken);
  }
  return compat_resume(co, R->donor, nargs, nresults);
}

/* --- Settling ------------------------------------------------------------------------------ */

/* The coroutine yielded. WEFT_PARKED: it waits, all is well; WEFT_OK: it goes on at once, with the
   values on it; else it is to be ended by force. */
static weft_status yielded(realm *R, weft_routine *self, record *rec, int nresults)
{
  if (rec->armed) {
    rec->armed = false;
    return WEFT_PARKED;
  }
  if (rec->must_close || nresults < 0) return WEFT_FORCED;
  if (waits_asked(R, rec->thread)) return waits_arm_asked(R, self, rec->thread);
  lua_pop(rec->thread, compat_yielded(rec->thread, nresults));
  if (weft_arm_next_tick(R->world, self) != WEFT_OK) return WEFT_FORCED;
  rec->bare = true;
  return WEFT_PARKED;
}

/* Starts the latest cleanup that has not run. */
static int enter_defer(realm *R, weft_routine *self, record *rec, int *nresults)
{
  uint32_t cell = rec->defers;
  if (!rec->thread && !threads_take(R, rec)) {
    routine_note_error(R, self, rec, R->universe->helper, NULL);
    values_drop(R, cell);
    rec->defers = 0;
    return LUA_ERRMEM;
  }
  rec->in_defer = true;
  rec->defers = R->values.next[cell];
  R->values.next[cell] = 0;
  return enter(R, rec, cell, 1, nresults);
}

/* What the coroutine does after it came back with `status`, until it waits or all has ended. */
static weft_status settle(realm *R, weft_routine *self, record *rec, int status, int nresults)
{
  for (;;) {
    int count = 0;
    if (status == LUA_YIELD) {
      weft_status next = yielded(R, self, rec, nresults);
      if (next == WEFT_PARKED) return WEFT_PARKED;
      if (next == WEFT_OK) {
        status = compat_resume(rec->thread, R->donor, lua_gettop(rec->thread), &nresults);
        continue;
      }
      routine_end_by_force(R, self, rec);
    } else if (rec->thread) {
      if (compat_outcome(rec->thread, status, nresults, &count) == LUA_OK)
        routine_ended_well(R, self, rec, count);
      else
        routine_ended_badly(R, self, rec);
    }
    scope_abandon(R, self);
    if (!rec->defers) return routine_end_status(rec);
    nresults = 0; /* LuaJIT does not say; what it was, it was of another coroutine */
    status = enter_defer(R, self, rec, &nresults);
  }
}

/* Takes a coroutine and calls the function on it. */
static RARE weft_status begin(realm *R, weft_routine *self, record *rec)
{
  int nresults = 0;
  uint32_t cells = rec->cells, count = rec->number;
  rec->cells = 0;
  if (!threads_take(R, rec)) {
    routine_note_error(R, self, rec, R->universe->helper, NULL);
    values_drop(R, cells);
    return routine_end_status(rec);
  }
  if (count > LUA_MINSTACK / 2 && !compat_grow(rec->thread, (int)count + COMPAT_BODY_ARGS)) {
    values_drop(R, cells);
    routine_fail_with(R, self, rec, "not enough memory for its arguments");
    return routine_end_status(rec);
  }
  int status = enter(R, rec, cells, count, &nresults);
  return settle(R, self, rec, status, nresults);
}

/* The coroutine came back from a wait with something else than our next wait. */
static RARE weft_status came_back(realm *R, weft_routine *self, record *rec, int status,
                                  int nresults)
{
  lua_State *co = rec->thread;
  /* Refused as neither yielded nor failed: the coroutine of a waiting routine has ended. */
  bool gone =
      status == LUA_ERRRUN && (nresults < 0 || (COMPAT_CAN_CLOSE && lua_status(co) == LUA_OK));
  if (gone) {
    watches_forget(R, self);
    if (COMPAT_CAN_CLOSE)
      weft_decline(R->world, self); /* elsewhere it is taken by the resume */
    routine_drop_shields(R, self);
    routine_fail_with(R, self, rec, "its coroutine was closed or run to its end by hand");
    threads_give(R, rec, false);
    status = LUA_OK;
  }
  return settle(R, self, rec, status, nresults);
}

weft_status routine_body(weft_routine *self, void *arg)
{
  realm *R = arg;
  record *rec = record_of(self);
  int nresults = 0;
  if (!rec->thread) return begin(R, self, rec);
  int status = reenter(R, self, rec, &nresults);
  return came_back(R, self, rec, status, nresults);
}

/* Reports the routine that has just ended, if that is to be; then the owners that ended with it. */
static void tell(realm *R)
{
  if (R->has_report) {
    record rec = R->report;
    R->has_report = false;
    report_routine(R, &rec);
    values_drop(R, rec.cells);
  }
  if (R->ended_first) owner_tell(R->donor, R);
}

/* The pass. Nearly always a coroutine goes from one of our waits to the next; then nothing stands
   between lua_resume and the loop. On Lua 5.4 that yield is a longjmp, behind which each frame that
   returns is a mispredicted branch. */
HOT bool routine_loop(void *host, weft_world *world)
{
  realm *R = host;
  weft_routine *self, *ahead[3];
  while ((self = weft_pass_next(world)) != NULL) {
    record *rec = record_of(self);
    int nresults = 0;
    if (weft_pass_ahead(world, ahead)) probe_prefetch(R, ahead[0], ahead[1], ahead[2]);
    if (weft_routine_pinned(self) || !rec->thread || weft_routine_body(self) != routine_body) {
      bool goes_on = weft_pass_resume(world, self);
      tell(R);
      if (!goes_on) return false;
      continue;
    }
    int status = reenter(R, self, rec, &nresults);
    bool parked = status == LUA_YIELD && rec->armed;
    if (parked) rec->armed = false;
    if (parked && !weft_routine_pinned(self)) continue;
    weft_status ended = parked ? WEFT_PARKED : came_back(R, self, rec, status, nresults);
    bool goes_on = weft_pass_leave(world, self, ended);
    tell(R);
    if (!goes_on) return false;
  }
  return true;
}

/* Cancelled before its first resume: its arguments go. */
void routine_dropped(void *host, weft_routine *self)
{
  realm *R = host;
  record *rec = record_of(self);
  scope_child_ended(R, self, rec);
  values_drop(R, rec->cells);
}

void routine_ended(void *host, weft_routine *self, bool joined)
{
  realm *R = host;
  record *rec = record_of(self);
  if (rec->named) inspect_forget_name(R, self);
  if (rec->holds) locks_let_go(R, self);
  threads_give(R, rec, true);
  scope_child_ended(R, self, rec);
  bool failed = rec->outcome == OUTCOME_FAILED;
  if (routine_is_forced_end(rec) || (failed && !joined)) {
    R->report =
        *rec; /* told by the loop, once the slot is free again: onError may start another */
    R->has_report = true;
  } else {
    values_drop(R, rec->cells);
  }
}

/* --- Closed by hand ------------------------------------------------------------------------ */

/* A script may close the coroutine of a routine that waits; nothing tells. Whoever asks for the
   routine looks, and so does each tick at one in turn: a closed one is woken, to fail with a
   sentence. */
void routine_look(const realm *R, weft_routine *routine)
{
  const lua_State *co = record_of(routine)->thread;
  if (co && weft_routine_state_of(routine) == WEFT_STATE_SLEEPING &&
      !weft_routine_pinned(routine) && lua_status((lua_State *)co) != LUA_YIELD)
    weft_routine_wake(R->world, routine);
}

void routine_look_around(realm *R)
{
  weft_routine *routine = weft_routine_each(R->world, &R->looked);
  if (routine)
    routine_look(R, routine);
  else
    R->looked = 0;
}

void routine_push_parts(lua_State *L)
{
  lua_getglobal(L, "xpcall");
  binding_push_universe(L);
  lua_pushcclosure(L, report_traceback, 1);
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg starters[] = {{"start", api_start}, {NULL, NULL}};

void routine_open(lua_State *L)
{
  lua_newtable(L);
  inside_open(L);
  binding_starters(L, starters);
  lua_setfield(L, -2, "routine");
}
