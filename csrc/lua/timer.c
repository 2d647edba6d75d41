/* SPDX-License-Identifier: MIT */
/*
** timer.c - `require "weft.timer"`: functions called when they are due, by stage 4 of the tick.
**
** The function and its arguments stand in cells of the world, which a timer knows by their first. The
** object that a script holds is a weak handle: nothing keeps it, and dropping it stops nothing.
*/
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* The timers' metatable is the second upvalue of each function here. */
#define META lua_upvalueindex(2)

/* So many are moved between two stacks at once, within the room that each has. */
#define FEW_VALUES 6

/* The object a script holds. */
typedef struct timer {
  weft_timer id;
  uint32_t number; /* of the realm */
} timer;

/* What a timer of the core knows: its cells, and whether its function gets the intervals. */
#define ARG_OF(cells, repeats) ((void *)((uintptr_t)(cells) << 1 | (repeats)))
#define CELLS_OF(arg) ((uint32_t)((uintptr_t)(arg) >> 1))
#define REPEATS(arg) (((uintptr_t)(arg)&1) != 0)

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* --- Stage 4 ------------------------------------------------------------------------------- */

/* Which timers are ours; a C host may have some of its own in the same world. */
static void call_me(void *arg, weft_timer id, int64_t intervals)
{
  (void)arg, (void)id, (void)intervals;
}

/* -> function, arguments; how many these are. Without room: -1, and an error is pushed. */
static int push_call(lua_State *L, realm *R, const weft_timer_call *call)
{
  uint32_t cells = CELLS_OF(call->arg);
  int count = 0;
  for (uint32_t cell = cells; cell; cell = R->values.next[cell]) count++;
  bool few = count <= FEW_VALUES, room = few || compat_grow(L, count + LUA_MINSTACK);
  for (uint32_t cell = cells; cell && room; cell = R->values.next[cell]) {
    lua_rawgeti(R->store, STORE_VALUES, (int)cell);
    if (!few) lua_xmove(R->store, L, 1);
  }
  if (few) lua_xmove(R->store, L, count);
  if (call->last) values_drop(R, cells);
  if (!room) {
    lua_pushliteral(L, "not enough memory for the arguments of a timer");
    return -1;
  }
  if (!REPEATS(call->arg)) return count - 1;
  lua_pushinteger(L, (lua_Integer)call->intervals);
  return count;
}

static int call_all(lua_State *L, void *context)
{
  realm *R = context;
  weft_timer_call call;
  luaL_checkstack(L, LUA_MINSTACK, "timers");
  lua_pushvalue(R->store, STORE_HANDLER);
  lua_xmove(R->store, L, 1);
  int handler = lua_gettop(L);
  while (weft_timer_next(R->world, &call)) {
    if (call.fn != call_me) {
      call.fn(call.arg, call.timer, call.intervals);
      continue;
    }
    int nargs = push_call(L, R, &call);
    if (nargs < 0 || lua_pcall(L, nargs, 0, handler) != LUA_OK) report_callback(R, L);
  }
  return 0;
}

/* What is thrown there was thrown by a report: the others are called all the same. */
void timer_stage(void *host, weft_world *world)
{
  realm *R = host;
  (void)world;
  while (binding_protect_on(R->ticking, R, call_all, R, 0, 0) != LUA_OK)
    report_failure(R, R->ticking);
}

void timer_ended(void *host, weft_timer id, weft_timer_fn fn, void *arg)
{
  (void)id;
  if (fn == call_me) values_drop(host, CELLS_OF(arg));
}

/* --- Arming -------------------------------------------------------------------------------- */

/* What a script asks for. */
typedef struct spec {
  weft_timer_options options;
  bool repeats; /* its function gets the intervals */
} spec;

/* Into cells that were reserved. */
static uint32_t put(realm *R, lua_State *L, int first, int last)
{
  if (last - first >= FEW_VALUES) return values_put_range(R, L, first, last);
  for (int i = first; i <= last; i++) lua_pushvalue(L, i);
  lua_xmove(L, R->store, last - first + 1);
  return values_store(R, last - first + 1);
}

/* Arms the function at `first`, with the arguments up to `last`. */
static int arm(lua_State *L, realm *R, const char *who, const spec *given, int first, int last)
{
  const universe *U = R->universe;
  timer *t = lua_newuserdata(L, sizeof *t);
  *t = (timer){0};
  lua_pushvalue(L, META);
  lua_setmetatable(L, -2);
  /* Making it may have run finalizers. From here on nothing is allocated that the collector looks
     at. */
  if (!world_is_open(U, R)) return refuse(L, "closed");
  values_reserve(L, R, (uint32_t)(last - first + 1));
  void *arg = ARG_OF(put(R, L, first, last), given->repeats);
  t->number = R->number;
  weft_status status = weft_timer_start(R->world, &given->options, call_me, arg, &t->id);
  if (status == WEFT_OK) return 1;
  values_drop(R, CELLS_OF(arg));
  if (status == WEFT_FULL) return refuse(L, "capacity");
  if (status == WEFT_DESTROYED) return refuse(L, "destroyed");
  if (status == WEFT_DISABLED) return refuse(L, "disabled");
  return binding_failed(L, who, status);
}

static void check_function(lua_State *L, int index, const char *who)
{
  if (!lua_isfunction(L, index))
    binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, index));
}

/* Whether a table has no field but `unscaled`, and that one: then it stands for options, and not for
   an argument of the function. */
static bool is_unscaled_alone(lua_State *L, int index)
{
  if (!lua_istable(L, index)) return false;
  lua_pushnil(L);
  if (!lua_next(L, index)) return false;
  lua_pop(L, 1);
  bool named = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "unscaled") == 0;
  if (lua_next(L, index)) {
    lua_pop(L, 2);
    return false;
  }
  return named;
}

/* table -> ; the field, which is true, false or absent */
static bool read_unscaled(lua_State *L, int index, const char *who)
{
  lua_pushliteral(L, "unscaled");
  lua_rawget(L, index);
  if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
    binding_misuse(L, "%s: unscaled must be true or false, got %s", who, binding_got(L, -1));
  bool unscaled = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return unscaled;
}

/* seconds, function, perhaps options, arguments; the options are taken out */
static spec read_after(lua_State *L, int base, const char *who)
{
  spec given = {.options = {.count = 1}};
  given.options.delay = binding_check_seconds(L, base, who, "seconds");
  check_function(L, base + 1, who);
  if (is_unscaled_alone(L, base + 2)) {
    given.options.unscaled = read_unscaled(L, base + 2, who);
    lua_remove(L, base + 2);
  }
  return given;
}

static void check_every_keys(lua_State *L, int index, const char *who)
{
  if (!lua_istable(L, index))
    binding_misuse(L, "%s: a table of options expected, got %s", who, binding_got(L, index));
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!key || (strcmp(key, "count") != 0 && strcmp(key, "delay") != 0 &&
                 strcmp(key, "unscaled") != 0))
      binding_misuse(L, "%s: unknown option '%s'; there are count, delay and unscaled", who,
                     key ? key : luaL_typename(L, -1));
  }
}

static int64_t read_count(lua_State *L, const char *who)
{
  double count = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (lua_isnil(L, -1)) return 0;
  if (!(count >= 1) || isinf(count) || count != floor(count))
    binding_misuse(L, "%s: count must be a whole number >= 1, got %s", who, binding_got(L, -1));
  return count < 9e18 ? (int64_t)count : 0;
}

/* seconds, function, perhaps options */
static spec read_every(lua_State *L, int base, const char *who)
{
  spec given = {.repeats = true};
  weft_timer_options *options = &given.options;
  options->period = options->delay = binding_check_seconds(L, base, who, "seconds");
  check_function(L, base + 1, who);
  if (lua_isnoneornil(L, base + 2)) return given;
  check_every_keys(L, base + 2, who);
  options->unscaled = read_unscaled(L, base + 2, who);
  lua_pushliteral(L, "count");
  lua_rawget(L, base + 2);
  options->count = read_count(L, who);
  lua_pushliteral(L, "delay");
  lua_rawget(L, base + 2);
  if (!lua_isnil(L, -1)) options->delay = binding_check_seconds(L, lua_gettop(L), who, "delay");
  return given;
}

static int api_after(lua_State *L)
{
  spec given = read_after(L, 1, "timer.after");
  int last = lua_gettop(L);
  return arm(L, binding_realm_here(L), "timer.after", &given, 2, last);
}

static int api_every(lua_State *L)
{
  spec given = read_every(L, 1, "timer.every");
  return arm(L, binding_realm_here(L), "timer.every", &given, 2, 2);
}

static int owner_after(lua_State *L)
{
  static const char who[] = "owner:after";
  uint32_t number;
  weft_owner owner = owner_check(L, 1, who, &number);
  spec given = read_after(L, 2, who);
  given.options.owner = owner;
  int last = lua_gettop(L);
  return arm(L, owner_realm(L, number, who), who, &given, 3, last);
}

static int owner_every(lua_State *L)
{
  static const char who[] = "owner:every";
  uint32_t number;
  weft_owner owner = owner_check(L, 1, who, &number);
  spec given = read_every(L, 2, who);
  given.options.owner = owner;
  return arm(L, owner_realm(L, number, who), who, &given, 3, 3);
}

/* --- Handles ------------------------------------------------------------------------------- */

static const timer *check_timer(lua_State *L, const char *who)
{
  if (lua_isuserdata(L, 1) && lua_getmetatable(L, 1)) {
    bool ours = lua_rawequal(L, -1, META);
    lua_pop(L, 1);
    if (ours) return lua_touserdata(L, 1);
  }
  binding_misuse(L, "%s: a timer expected, got %s", who, binding_got(L, 1));
  return NULL;
}

/* The world of a timer that is not over, or NULL. */
static realm *realm_of(lua_State *L, const timer *t)
{
  realm *R = owner_find_realm(L, t->number);
  return R && weft_timer_alive(R->world, t->id) ? R : NULL;
}

static int timer_cancel(lua_State *L)
{
  const timer *t = check_timer(L, "timer:cancel");
  const realm *R = realm_of(L, t);
  lua_pushboolean(L, R && weft_timer_cancel(R->world, t->id));
  return 1;
}

static int timer_pause(lua_State *L)
{
  const timer *t = check_timer(L, "timer:pause");
  const realm *R = realm_of(L, t);
  lua_pushboolean(L, R && weft_timer_pause(R->world, t->id));
  return 1;
}

static int timer_resume(lua_State *L)
{
  const timer *t = check_timer(L, "timer:resume");
  const realm *R = realm_of(L, t);
  lua_pushboolean(L, R && weft_timer_resume(R->world, t->id));
  return 1;
}

static int timer_alive(lua_State *L)
{
  lua_pushboolean(L, realm_of(L, check_timer(L, "timer:alive")) != NULL);
  return 1;
}

static int timer_remaining(lua_State *L)
{
  const timer *t = check_timer(L, "timer:remaining");
  const realm *R = realm_of(L, t);
  lua_pushnumber(L, R ? (lua_Number)weft_timer_remaining(R->world, t->id) / 1e9 : 0);
  return 1;
}

static int timer_tostring(lua_State *L)
{
  const timer *t = check_timer(L, "tostring");
  lua_pushfstring(L, "weft.Timer: %d.%d (%s)", (int)(t->id & 0xFFFFFF),
                  (int)(t->id >> 24 & 0x7FFFFFFF), realm_of(L, t) ? "alive" : "over");
  return 1;
}

/* --- Groups -------------------------------------------------------------------------------- */

/* name -> its tag, 0 for one that was never given */
static uint32_t find_tag(lua_State *L, const realm *R, int name)
{
  lua_pushvalue(R->store, STORE_TAGS);
  lua_xmove(R->store, L, 1);
  lua_pushvalue(L, name);
  lua_rawget(L, -2);
  uint32_t tag = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return tag;
}

/* A tag that no timer has any more gets the name; who had it before has none. What may fail for want of
   memory comes first, and leaves both tables agreeing: a place for the name, then the name's number. */
static uint32_t new_tag(lua_State *L, const realm *R, int name)
{
  uint32_t tag = 0;
  weft_status status = weft_timer_tag_new(R->world, &tag);
  if (status) binding_failed(L, "timer.tag", status);
  lua_pushvalue(R->store, STORE_TAGS);
  lua_xmove(R->store, L, 1);
  lua_rawgeti(L, -1, (int)tag); /* tags, the name before */
  if (lua_isnil(L, -1)) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -3, (int)tag);
  }
  lua_pushvalue(L, name);
  lua_pushinteger(L, (lua_Integer)tag);
  lua_rawset(L, -4);
  lua_pushvalue(L, name);
  lua_rawseti(L, -3, (int)tag);
  if (lua_toboolean(L, -1)) {
    lua_pushnil(L);
    lua_rawset(L, -3);
  } else {
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return tag;
}

static int api_tag(lua_State *L)
{
  const timer *t = check_timer(L, "timer.tag");
  uint32_t tag = 0;
  if (!lua_isnoneornil(L, 2) && lua_type(L, 2) != LUA_TSTRING)
    return binding_misuse(L, "timer.tag: a string or nil expected, got %s", binding_got(L, 2));
  lua_settop(L, 2);
  const realm *R = realm_of(L, t);
  if (R && !lua_isnil(L, 2)) {
    tag = find_tag(L, R, 2);
    if (tag == 0) tag = new_tag(L, R, 2);
  }
  lua_pushboolean(L, R && weft_timer_set_tag(R->world, t->id, tag));
  return 1;
}

/* name or owner -> how many timers that changed */
static int for_all(lua_State *L, const char *who, weft_timer_deed deed)
{
  uint32_t count = 0;
  if (owner_is(L, 1)) {
    uint32_t number;
    weft_owner owner = owner_check(L, 1, who, &number);
    const realm *R = owner_find_realm(L, number);
    if (R) count = weft_timers_of_owner(R->world, owner, deed);
  } else if (lua_type(L, 1) == LUA_TSTRING) {
    const realm *R = binding_realm_here(L);
    count = weft_timers_of_tag(R->world, find_tag(L, R, 1), deed);
  } else {
    return binding_misuse(L, "%s: a tag's name or an owner expected, got %s", who,
                          binding_got(L, 1));
  }
  lua_pushinteger(L, (lua_Integer)count);
  return 1;
}

static int api_cancel_all(lua_State *L)
{
  return for_all(L, "timer.cancelAll", WEFT_TIMER_CANCEL);
}

static int api_pause_all(lua_State *L)
{
  return for_all(L, "timer.pauseAll", WEFT_TIMER_PAUSE);
}

static int api_resume_all(lua_State *L)
{
  return for_all(L, "timer.resumeAll", WEFT_TIMER_RESUME);
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"after", api_after},
                                     {"every", api_every},
                                     {"tag", api_tag},
                                     {"cancelAll", api_cancel_all},
                                     {"pauseAll", api_pause_all},
                                     {"resumeAll", api_resume_all},
                                     {NULL, NULL}};
static const luaL_Reg owner_methods[] = {
    {"after", owner_after}, {"every", owner_every}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"cancel", timer_cancel}, {"pause", timer_pause},
                                   {"resume", timer_resume}, {"remaining", timer_remaining},
                                   {"alive", timer_alive},   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", timer_tostring}, {NULL, NULL}};

/* metatable, table -> metatable, table; each function gets the metatable with the universe */
static void add_functions(lua_State *L, const luaL_Reg *list)
{
  for (; list->name; list++) {
    binding_push_universe(L);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, list->func, 2);
    lua_setfield(L, -2, list->name);
  }
}

/* Module table on top, with the methods of owners. */
void timer_open(lua_State *L)
{
  int module = lua_gettop(L);
  lua_createtable(L, 0, 4); /* the metatable */
  lua_newtable(L);
  add_functions(L, functions);
  lua_setfield(L, module, "timer");
  lua_getfield(L, module, "ownerMethods");
  add_functions(L, owner_methods);
  lua_pop(L, 1);
  lua_newtable(L);
  add_functions(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, -1); /* its own functions get it, too */
  add_functions(L, metamethods);
  lua_pop(L, 1);
  lua_pushliteral(L, "weft.Timer");
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}
