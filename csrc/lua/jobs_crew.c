/* SPDX-License-Identifier: MIT */
/*
** jobs_crew.c - the threads of a Lua state, and the Lua states of these threads.
**
** The threads start at the first use of jobs. Each opens a Lua state when its first job of Lua comes,
** and closes it when the thread ends. It has the core that is in this process, and the rest of weft
** from where `package.path` says.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lualib.h>

#include "lua/jobs.h"

int luaopen_weft_core(lua_State *L);

/* A job may run another one inside its wait while half of its stack is free: half is enough. */
#define STACK_BYTES (2 * COMPAT_STACK_BYTES)
#define LEAST_STACK_BYTES ((size_t)320 << 10)

/* How long the end of a Lua state waits for jobs that run. */
#define PATIENCE_NS INT64_C(5000000000)

/* --- Configuring --------------------------------------------------------------------------- */

typedef struct option {
  const char *name, *range;
  double least, most;
} option;

static const option options[] = {
    {"workers", "1 to 64", 1, 64},
    {"background", "0 to 64", 0, 64},
    {"capacity", "1 to 2^20", 1, 1 << 20},
    {"stackBytes", "320 KiB to 1 GiB", LEAST_STACK_BYTES, 1 << 30},
    {"fibers", "1 to 2^16", 1, 1 << 16},
};

enum { OPTIONS = sizeof options / sizeof *options };

/* The number of an option, or -1 if it is not given. */
static double read_option(lua_State *L, const option *o)
{
  lua_getfield(L, 1, o->name);
  double value = -1;
  if (!lua_isnil(L, -1)) {
    value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    if (!(value >= o->least && value <= o->most) || value != floor(value))
      binding_misuse(L, "jobs.configure: %s must be a whole number from %s, got %s", o->name,
                     o->range, binding_got(L, -1));
  }
  lua_pop(L, 1);
  return value;
}

static void check_names(lua_State *L)
{
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    bool known = false;
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    for (int i = 0; i < OPTIONS; i++) known = known || strcmp(name, options[i].name) == 0;
    if (!known)
      binding_misuse(
          L,
          "jobs.configure: there is no option '%s'; there are workers, background, capacity, "
          "stackBytes, fibers",
          name);
    lua_pop(L, 1);
  }
}

static void crew_end(void *object)
{
  const crew *c = object;
  weft_counted_drop(c->lost);
}

static crew *new_crew(lua_State *L, universe *U)
{
  U->crew = weft_counted_new(sizeof *U->crew, crew_end);
  U->inbox = U->crew ? inbox_new() : NULL;
  U->lost = U->inbox ? inbox_new() : NULL;
  if (!U->lost) {
    weft_counted_drop(U->inbox);
    weft_counted_drop(U->crew);
    U->inbox = NULL;
    U->crew = NULL;
    luaL_error(L, "weft.jobs: not enough memory for the threads of jobs");
  }
  U->crew->lost = weft_counted_keep(U->lost);
  U->crew->config.stack_bytes = STACK_BYTES;
  return U->crew;
}

int crew_configure(lua_State *L)
{
  universe *U = binding_universe(L);
  double given[OPTIONS];
  if (!lua_istable(L, 1))
    return binding_misuse(L, "jobs.configure: a table of options expected, got %s",
                          binding_got(L, 1));
  check_names(L);
  for (int i = 0; i < OPTIONS; i++) given[i] = read_option(L, &options[i]);
  if (U->worker) return binding_misuse(L, "jobs.configure: not inside a job");
  crew *c = U->crew ? U->crew : new_crew(L, U);
  if (c->pool)
    return binding_misuse(L, "jobs.configure: the threads run already; configure before the "
                             "first use of jobs");
  c->config = (weft_pool_config){.stack_bytes = STACK_BYTES};
  if (given[0] >= 0) c->config.workers = (int32_t)given[0];
  if (given[1] >= 0) c->config.background = given[1] > 0 ? (int32_t)given[1] : -1;
  if (given[2] >= 0) c->config.capacity = (uint32_t)given[2];
  if (given[3] >= 0) c->config.stack_bytes = (size_t)given[3];
  if (given[4] >= 0) c->config.fibers = (uint32_t)given[4];
  return 0;
}

/* --- Threads ------------------------------------------------------------------------------- */

/* On the thread itself, at its end. */
static void close_worker(void *host, uint32_t number)
{
  crew *c = host;
  if (number >= c->count) return;
  worker *me = &c->workers[number];
  if (me->L) {
    run_forget_ranges(me, NULL);
    lua_close(me->L);
  }
  weft_counted_drop(me->paths);
  me->L = NULL;
  me->paths = NULL;
}

static weft_status start_threads(crew *c)
{
  weft_pool_stats stats;
  c->config.host = c;
  c->config.end = close_worker;
  weft_status status = weft_pool_new(&c->config, &c->pool);
  if (status) return status;
  weft_pool_stats_get(c->pool, &stats);
  c->workers = weft_counted_new(stats.workers * sizeof *c->workers, NULL);
  if (!c->workers) {
    weft_pool_delete(c->pool, -1);
    c->pool = NULL;
    return WEFT_NOMEM;
  }
  c->count = stats.workers;
  for (uint32_t i = 0; i < c->count; i++) c->workers[i].crew = c;
  return WEFT_OK;
}

crew *crew_of(lua_State *L, universe *U, const char *who)
{
  if (U->closed) binding_misuse(L, "%s: the Lua state is closing", who);
  crew *c = U->crew ? U->crew : new_crew(L, U);
  if (c->pool) return c;
  weft_status status = start_threads(c);
  if (status) binding_failed(L, who, status);
  return c;
}

/* Where something runs on without end, threads and what they use are left as they are. */
void crew_fini(universe *U)
{
  crew *c = U->crew;
  weft_counted_drop(U->paths); /* services have it, too, and need no crew */
  U->paths = NULL;
  if (!c) return;
  U->crew = NULL;
  if (U->worker) {
    work_fini(U);
    weft_counted_drop(c);
  } else if (!c->pool || weft_pool_delete(c->pool, PATIENCE_NS) == WEFT_OK) {
    c->pool = NULL;
    work_fini(U);
    weft_counted_drop(c->workers);
    c->workers = NULL;
    weft_counted_drop(c);
  } else {
    fprintf(stderr, "weft: a job runs on while the Lua state that started it ends\n");
    U->works = NULL;
  }
  if (!U->works) weft_counted_drop(U->inbox);
  U->inbox = NULL;
  weft_counted_drop(U->lost);
  U->lost = NULL;
}

/* --- Their Lua states ---------------------------------------------------------------------- */

static int call_protected(lua_State *L)
{
  worker *me = binding_universe(L)->worker;
  return me->fn(L, me->context);
}

int worker_protect(worker *me, lua_State *L, int (*fn)(lua_State *L, void *context),
                   void *context, int nargs, int nresults)
{
  me->fn = fn;
  me->context = context;
  lua_rawgeti(L, LUA_REGISTRYINDEX, me->call);
  lua_insert(L, -1 - nargs);
  return lua_pcall(L, nargs, nresults, 0);
}

/* Also where job_globals.lua finds it. */
static void set_path(lua_State *L, const char *name, const char *value)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "package");
  lua_getfield(L, -2, "weft.core");
  lua_getfield(L, -1, "jobPaths");
  lua_pushstring(L, value);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, name);
  lua_setfield(L, -4, name);
  lua_pop(L, 4);
}

static void set_both(lua_State *L, const paths *p)
{
  set_path(L, "path", p->path);
  set_path(L, "cpath", p->cpath);
}

static int set_paths(lua_State *L, void *context)
{
  const work *w = context;
  set_both(L, w->paths);
  return 0;
}

/* A module of this copy of the library. */
static void preload_core(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_weft_core);
  lua_setfield(L, -2, "weft.core");
  lua_pop(L, 3);
}

void crew_prepare(lua_State *L, const paths *p, const char *key, void *value)
{
  luaL_openlibs(L);
  preload_core(L);
  lua_pushlightuserdata(L, value);
  lua_setfield(L, LUA_REGISTRYINDEX, key);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushcfunction(L, luaopen_weft_core);
  lua_call(L, 0, 1);
  lua_newtable(L);
  lua_setfield(L, -2, "jobPaths");
  lua_setfield(L, -2, "weft.core");
  lua_pop(L, 1);
  set_both(L, p);
}

/* worker, work -> ; what is in `me` is right only when this has ended */
static int open_parts(lua_State *L)
{
  worker *me = lua_touserdata(L, 1);
  work *w = lua_touserdata(L, 2);
  crew_prepare(L, w->paths, JOBS_WORKER_KEY, me);
  binding_push_universe(L);
  me->universe = lua_touserdata(L, -1);
  me->universe->inbox = inbox_new();
  if (!me->universe->inbox) return luaL_error(L, "not enough memory");
  me->universe->crew = weft_counted_keep(me->crew);
  lua_pushcclosure(L, call_protected, 1);
  me->call = luaL_ref(L, LUA_REGISTRYINDEX);
  me->donor = threads_push_donor(L, me->crew->config.stack_bytes / 2);
  luaL_ref(L, LUA_REGISTRYINDEX);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "weft.job_globals");
  lua_call(L, 1, 1);
  me->globals = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

static void note_wrong(work *w, const char *text)
{
  if (w->kind == WORK_RANGE && !work_fails_first(w)) return;
  static const char prefix[] = "weft.jobs: no Lua state for the job: ";
  size_t size = sizeof prefix + (text ? strlen(text) : 0);
  char *room = text ? weft_counted_new(size, NULL) : NULL;
  if (room) snprintf(room, size, "%s%s", prefix, text);
  w->wrong_text = room;
  w->wrong = room ? room : "weft.jobs: no Lua state for the job: not enough memory";
}

static bool open_state(worker *me, work *w)
{
  lua_State *L = luaL_newstate();
  if (!L) {
    note_wrong(w, NULL);
    return false;
  }
  me->idle_count = 0;
  lua_pushcfunction(L, open_parts);
  lua_pushlightuserdata(L, me);
  lua_pushlightuserdata(L, w);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
    note_wrong(w, lua_tostring(L, -1));
    lua_close(L);
    return false;
  }
  me->L = L;
  me->paths = weft_counted_keep(w->paths);
  return true;
}

worker *crew_worker(work *w)
{
  worker *me = &w->crew->workers[weft_job_worker()];
  if (!me->L) return open_state(me, w) ? me : NULL;
  if (me->ranges) run_forget_ranges(me, w);
  if (me->paths == w->paths) return me;
  if (worker_protect(me, me->L, set_paths, w, 0, 0) != LUA_OK) {
    note_wrong(w, lua_tostring(me->L, -1));
    lua_pop(me->L, 1);
    return NULL;
  }
  weft_counted_drop(me->paths);
  me->paths = weft_counted_keep(w->paths);
  return me;
}
