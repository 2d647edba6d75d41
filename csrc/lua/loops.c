/* SPDX-License-Identifier: MIT */
/*
** loops.c - what waitUntil, tween, every and slice keep between two ticks: deadlines, grids, budgets.
**
** They wait in Lua (lua/weft/loops.lua), so that they are as compact as any wait. What they count
** stands here: a debug hook may let other routines run between any two instructions of Lua, but not
** inside these functions; and only C has whole nanoseconds on both machines.
*/
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* The turns of one routine.every: start + k * period, on the clock that its routine waits on. */
typedef struct grid {
  const char *kind;
  weft_handle routine;
  uint64_t tick;  /* of the last turn; there is one in a tick at most */
  int64_t next;   /* the turn that comes */
  int64_t period; /* 0: each tick */
  int64_t left;   /* intervals, INT64_MAX for no end */
} grid;

/* What one routine.slice lets pass in a tick. */
typedef struct budget {
  const char *kind;
  const weft_world *world; /* these two: the tick that it is spent in */
  uint64_t tick;
  int64_t count, used; /* iterations */
  int64_t ns, began;   /* of the real clock; -1 for no limit */
} budget;

/* The number at `index`, which must be whole and at least 1. */
static int64_t check_count(lua_State *L, int index, const char *who)
{
  double count = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
  if (!(count >= 1) || isinf(count) || count != floor(count))
    binding_misuse(L, "%s: count must be a whole number >= 1, got %s", who,
                   binding_got(L, index));
  return count < 9e18 ? (int64_t)count : INT64_MAX;
}

/* Their addresses stand first in the userdata. These are arguments and not upvalues, so that there is
   one C function for all of them: LuaJIT makes a trace for each that a loop calls. */
static const char grid_kind[] = "a grid of routine.every";
static const char budget_kind[] = "a budget of routine.slice";

static void *check_kind(lua_State *L, const char *kind, size_t size)
{
  void *own = lua_type(L, 1) == LUA_TUSERDATA ? lua_touserdata(L, 1) : NULL;
  if (!own || compat_raw_length(L, 1) != size || *(const char **)own != kind)
    luaL_error(L, "%s expected, got %s", kind, luaL_typename(L, 1));
  return own;
}

/* --- waitUntil ----------------------------------------------------------------------------- */

/* pred, timeout -> the deadline in ns, if there is a time limit. A double is a few ns off after
   years; what is a microsecond early counts as due. */
static int loops_deadline(lua_State *L)
{
  static const char who[] = "routine.waitUntil";
  if (!lua_isfunction(L, 1))
    return binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, 1));
  bool limited = !lua_isnoneornil(L, 2);
  int64_t timeout = limited ? binding_check_seconds(L, 2, who, "timeout") : 0;
  const weft_routine *self = waits_self(L, who);
  if (!limited) return 0;
  lua_pushnumber(L, (lua_Number)weft_now(weft_world_ticking(), self) + (lua_Number)timeout);
  return 1;
}

/* deadline -> whether it is due */
static int loops_is_due(lua_State *L)
{
  const weft_routine *self = waits_self(L, "routine.waitUntil");
  lua_Number now = (lua_Number)weft_now(weft_world_ticking(), self);
  lua_pushboolean(L, now + WEFT_DUE_SLACK_NS >= luaL_checknumber(L, 1));
  return 1;
}

/* --- tween --------------------------------------------------------------------------------- */

/* seconds, function -> now and the duration, in ns */
static int loops_begin(lua_State *L)
{
  static const char who[] = "routine.tween";
  int64_t duration = binding_check_seconds(L, 1, who, "seconds");
  if (!lua_isfunction(L, 2))
    return binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, 2));
  const weft_routine *self = waits_self(L, who);
  lua_pushnumber(L, (lua_Number)weft_now(weft_world_ticking(), self));
  lua_pushnumber(L, (lua_Number)duration);
  return 2;
}

/* begin, duration -> how much of it is over: 0 to 1, and 1 once its end is due */
static int loops_progress(lua_State *L)
{
  const weft_routine *self = waits_self(L, "routine.tween");
  lua_Number duration = luaL_checknumber(L, 2);
  lua_Number passed = (lua_Number)weft_now(weft_world_ticking(), self) - luaL_checknumber(L, 1);
  lua_pushnumber(L, passed + WEFT_DUE_SLACK_NS >= duration ? 1 : passed / duration);
  return 1;
}

/* --- every --------------------------------------------------------------------------------- */

static int64_t add_clipped(int64_t time, int64_t ns)
{
  return ns > INT64_MAX - time ? INT64_MAX : time + ns;
}

/* Takes the turns that are due by `limit`, of which there is one at least: how many intervals. */
static int64_t take_turns(grid *g, int64_t limit)
{
  int64_t late = g->period ? (limit - g->next) / g->period : 0;
  int64_t turns = late < g->left ? late + 1 : g->left;
  g->next = add_clipped(g->next + late * g->period, g->period);
  if (g->left < INT64_MAX) g->left -= turns;
  return turns;
}

/* grid -> how many intervals have passed; or nil and the seconds to wait; or nothing, at the end. A
   turn that was missed comes at once. */
static int loops_advance(lua_State *L)
{
  static const char who[] = "the iterator of routine.every";
  grid *g = check_kind(L, grid_kind, sizeof *g);
  const weft_routine *self = waits_self(L, who);
  const weft_world *world = weft_world_ticking();
  if (weft_routine_handle(world, self) != g->routine)
    return binding_misuse(L, "%s: it belongs to the routine that called routine.every", who);
  if (g->left == 0) return 0;
  int64_t now = weft_now(world, self), limit = now + WEFT_DUE_SLACK_NS;
  uint64_t tick = weft_world_tick_count(world);
  if (tick != g->tick && (g->period == 0 || limit >= g->next)) {
    g->tick = tick;
    lua_pushinteger(L, (lua_Integer)take_turns(g, limit));
    return 1;
  }
  int64_t ahead = g->period && g->next > now ? g->next - now : 0;
  lua_pushnil(L);
  lua_pushnumber(L, (lua_Number)ahead / 1e9);
  return 2;
}

/* seconds, count -> grid */
static int loops_grid(lua_State *L)
{
  static const char who[] = "routine.every";
  int64_t period = binding_check_seconds(L, 1, who, "seconds");
  int64_t count = lua_isnoneornil(L, 2) ? INT64_MAX : check_count(L, 2, who);
  const weft_routine *self = waits_self(L, who);
  const weft_world *world = weft_world_ticking();
  grid *g = lua_newuserdata(L, sizeof *g);
  *g = (grid){.kind = grid_kind,
              .routine = weft_routine_handle(world, self),
              .tick = weft_world_tick_count(world),
              .next = add_clipped(weft_now(world, self), period),
              .period = period,
              .left = count};
  return 1;
}

/* --- slice --------------------------------------------------------------------------------- */

/* A budget is anew in each tick, whoever waited for that tick, and why. */
static void renew(budget *b, const weft_world *world)
{
  uint64_t tick = weft_world_tick_count(world);
  if (b->world == world && b->tick == tick) return;
  b->world = world;
  b->tick = tick;
  b->used = 0;
  if (b->ns >= 0) b->began = weft_clock();
}

/* budget, whether it has just waited -> whether this iteration was the last that the tick has room
   for */
static int loops_spend(lua_State *L)
{
  budget *b = check_kind(L, budget_kind, sizeof *b);
  waits_self(L, "step of routine.slice");
  renew(b, weft_world_ticking());
  if (lua_toboolean(L, 2)) return 0;
  b->used++;
  lua_pushboolean(L, b->used >= b->count || (b->ns >= 0 && weft_clock() - b->began >= b->ns));
  return 1;
}

static void check_slice_keys(lua_State *L)
{
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    lua_pop(L, 1);
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!key || (strcmp(key, "count") != 0 && strcmp(key, "ms") != 0))
      binding_misuse(L, "routine.slice: unknown option '%s'; there are count and ms",
                     key ? key : luaL_typename(L, -1));
  }
}

/* Milliseconds at `index` in ns. */
static int64_t check_ms(lua_State *L, int index)
{
  double ms = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
  if (!(ms >= 0 && ms <= 1e12))
    binding_misuse(L, "routine.slice: ms must be a number from 0 to 1e12, got %s",
                   binding_got(L, index));
  return (int64_t)llrint(ms * 1e6);
}

/* {count=, ms=} -> budget. Read raw, as all options are. */
static int loops_budget(lua_State *L)
{
  const universe *U = binding_universe(L);
  if (!lua_istable(L, 1))
    return binding_misuse(L, "routine.slice: a table with count or ms expected, got %s",
                          binding_got(L, 1));
  lua_settop(L, 1);
  check_slice_keys(L);
  lua_pushliteral(L, "count");
  lua_rawget(L, 1);
  lua_pushliteral(L, "ms");
  lua_rawget(L, 1);
  if (lua_isnil(L, 2) && lua_isnil(L, 3))
    return binding_misuse(L, "routine.slice: count or ms needed");
  int64_t count = lua_isnil(L, 2) ? INT64_MAX : check_count(L, 2, "routine.slice");
  int64_t ns = lua_isnil(L, 3) ? -1 : check_ms(L, 3);
  budget *b = lua_newuserdata(L, sizeof *b);
  *b = (budget){.kind = budget_kind, .count = count, .ns = ns};
  if (binding_self(U)) renew(b, U->current->world);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {
    {"deadline", loops_deadline}, {"isDue", loops_is_due}, {"begin", loops_begin},
    {"progress", loops_progress}, {"grid", loops_grid},    {"advance", loops_advance},
    {"budget", loops_budget},     {"spend", loops_spend},  {NULL, NULL}};

void loops_open(lua_State *L)
{
  lua_newtable(L);
  binding_functions(L, functions);
  lua_setfield(L, -2, "loops");
}
