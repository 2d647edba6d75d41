/* SPDX-License-Identifier: MIT */
/*
** config.c - reads the options of weft.world{...} and world:configure{...}.
*/
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* Below that too few C levels remain to load ordinary modules. */
#define MIN_STACK_BYTES ((size_t)160 << 10)
#define MAX_STACK_BYTES ((size_t)1 << 30)

_Static_assert(sizeof(record) == 24, "the slot of a routine stays within 96 bytes");

typedef struct option {
  const char *name;
  double least, most;
} option;

static const option options[] = {
    {"capacity", 1, 1 << 24},
    {"stackBytes", MIN_STACK_BYTES, MAX_STACK_BYTES},
    {"resumesPerTick", 1, 4294967294.0},
    {"postsPerTick", 1, 4294967294.0},
    {"timers", 0, 1 << 24},
};

/* Options are read raw: no code of a script runs between here and the world. */
static int get_option(lua_State *L, int index, const char *name)
{
  lua_pushstring(L, name);
  lua_rawget(L, index);
  return lua_type(L, -1);
}

/* A whole number in range, or `given` if the key is absent. */
static double read_whole(lua_State *L, int index, const char *who, const option *o,
                         double given)
{
  int type = get_option(L, index, o->name);
  double value = type == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (type != LUA_TNIL && (!(value >= o->least && value <= o->most) || value != floor(value))) {
    const char *hint = strcmp(o->name, "stackBytes") == 0
                           ? " (below 160 KiB too little is left to load ordinary modules)"
                           : "";
    lua_pushfstring(L, "%s: %s must be a whole number from ", who, o->name);
    lua_pushinteger(L, (lua_Integer)o->least);
    lua_pushliteral(L, " to ");
    lua_pushinteger(L, (lua_Integer)o->most);
    lua_concat(L, 4);
    const char *expected = lua_tostring(L, -1), *got = binding_got(L, -2);
    binding_misuse(L, "%s, got %s%s", expected, got, hint);
  }
  lua_pop(L, 1);
  return type == LUA_TNIL ? given : value;
}

static double read_fixed_step(lua_State *L, int index, const char *who, double given)
{
  int type = get_option(L, index, "fixedStep");
  double value = type == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (type != LUA_TNIL && !(value >= 1e-6 && value <= 1e9))
    binding_misuse(L, "%s: fixedStep must be seconds from 1e-6 to 1e9, got %s", who,
                   binding_got(L, -1));
  lua_pop(L, 1);
  return type == LUA_TNIL ? given : value;
}

/* A limit in ms, in ns; 0 is none. */
static int64_t read_limit(lua_State *L, int index, const char *who, const char *name,
                          int64_t given)
{
  int type = get_option(L, index, name);
  double ms = type == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (type != LUA_TNIL && !(ms >= 0 && ms <= 1e9))
    binding_misuse(L, "%s: %s must be a number from 0 (no limit) to 1e9, got %s", who, name,
                   binding_got(L, -1));
  lua_pop(L, 1);
  if (type == LUA_TNIL) return given;
  return ms > 0 && ms < 1e-6 ? 1 : (int64_t)llrint(ms * 1e6);
}

static bool is_known(const char *name)
{
  static const char *const others[] = {"fixedStep", "slowResumeMs", "maxResumeMs"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (strcmp(name, options[i].name) == 0) return true;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i]) == 0) return true;
  return false;
}

static void check_keys(lua_State *L, int index, const char *who)
{
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    bool text = lua_type(L, -1) == LUA_TSTRING;
    if (!text || !is_known(lua_tostring(L, -1)))
      binding_misuse(L,
                     "%s: unknown option '%s'; there are capacity, stackBytes, resumesPerTick, "
                     "postsPerTick, timers, fixedStep, slowResumeMs and maxResumeMs",
                     who, text ? lua_tostring(L, -1) : luaL_typename(L, -1));
  }
}

void config_read(lua_State *L, int index, const char *who, weft_world_config *config)
{
  if (lua_isnoneornil(L, index)) return;
  if (!lua_istable(L, index))
    binding_misuse(L, "%s: a table of options expected, got %s", who, binding_got(L, index));
  check_keys(L, index, who);
  config->capacity = (uint32_t)read_whole(L, index, who, &options[0], config->capacity);
  config->stack_bytes =
      (size_t)read_whole(L, index, who, &options[1], (double)config->stack_bytes);
  config->resumes_per_tick =
      (uint32_t)read_whole(L, index, who, &options[2], config->resumes_per_tick);
  config->posts_per_tick =
      (uint32_t)read_whole(L, index, who, &options[3], config->posts_per_tick);
  config->slow_resume_ns = read_limit(L, index, who, "slowResumeMs", config->slow_resume_ns);
  config->max_resume_ns = read_limit(L, index, who, "maxResumeMs", config->max_resume_ns);
  config->timers = (uint32_t)read_whole(L, index, who, &options[4], config->timers);
  config->fixed_step = read_fixed_step(L, index, who, config->fixed_step);
}

/* resumes_per_tick 0 is no limit, posts_per_tick 0 the library's default. */
weft_world_config config_default(realm *R)
{
  return (weft_world_config){
      .capacity = 256,
      .stack_bytes = COMPAT_STACK_BYTES,
      .record_bytes = sizeof(record),
      .hooks = {.host = R,
                .messages = messages_deliver,
                .phase = systems_phase,
                .dropped = routine_dropped,
                .ended = routine_ended,
                .owner_ended = owner_ended,
                .timers = timer_stage,
                .timer_ended = timer_ended,
                .prefetch = probe_prefetch,
                .loop = routine_loop,
                .overrun = overruns_seen,
                .slow = overruns_tell,
                .describe = probe_describe,
                .label = spans_label},
  };
}
