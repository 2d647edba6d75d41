/* SPDX-License-Identifier: MIT */
/*
** jobs_start.c - how jobs begin.
**
** What is to go to a job is written and lent before it is queued: what cannot go is refused on this
** thread, and nothing has happened then.
*/
#include <stdio.h>
#include <string.h>

#include "lua/jobs.h"

/* How a job is to begin. */
typedef struct plan {
  const char *who;
  weft_job_priority priority;
  const char *name;
  weft_barrier *barrier;
  enum work_kind kind;
  size_t count, grain;
  int first; /* where the function is; what is behind it goes with it */
} plan;

/* --- Paths and names ----------------------------------------------------------------------- */

/* Its address is the key of the table of libraries; those behind it are of the two strings. */
static const char paths_keys[3];

static void keep_at(lua_State *L, int index, int key)
{
  lua_pushlightuserdata(L, (void *)&paths_keys[key]);
  lua_pushvalue(L, index < 0 ? index - 1 : index);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* -> package */
static void push_package(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&paths_keys[0]);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "package");
  lua_remove(L, -2);
  keep_at(L, -1, 0);
}

/* path, cpath -> the same; whether they are the strings that were there last, which the registry keeps */
static bool known_strings(lua_State *L, const universe *U)
{
  return lua_type(L, -2) == LUA_TSTRING && lua_tostring(L, -2) == U->path_texts[0] &&
         lua_type(L, -1) == LUA_TSTRING && lua_tostring(L, -1) == U->path_texts[1];
}

static void keep_strings(lua_State *L, universe *U)
{
  U->path_texts[0] = U->path_texts[1] = NULL;
  keep_at(L, -2, 1);
  keep_at(L, -1, 2);
  U->path_texts[0] = lua_tostring(L, -2);
  U->path_texts[1] = lua_tostring(L, -1);
}

paths *jobs_take_paths(lua_State *L, universe *U, const char *who)
{
  size_t length, clength;
  push_package(L);
  lua_getfield(L, -1, "path");
  lua_getfield(L, -2, "cpath");
  paths *known = U->paths;
  if (known && known_strings(L, U)) {
    lua_pop(L, 3);
    return weft_counted_keep(known);
  }
  const char *path = lua_tolstring(L, -2, &length), *cpath = lua_tolstring(L, -1, &clength);
  if (!path || !cpath) binding_misuse(L, "%s: package.path and cpath must be strings", who);
  if (!known || strcmp(known->path, path) != 0 || strcmp(known->cpath, cpath) != 0) {
    known = weft_counted_new(sizeof *known + length + clength + 2, NULL);
    if (!known) luaL_error(L, "%s: not enough memory", who);
    known->path = memcpy(known->text, path, length + 1);
    known->cpath = memcpy(known->text + length + 1, cpath, clength + 1);
    weft_counted_drop(U->paths);
    U->paths = known;
  }
  keep_strings(L, U);
  lua_pop(L, 3);
  return weft_counted_keep(known);
}

/* The work's own, with a number. */
static void set_name(lua_State *L, universe *U, work *w, const char *title, const char *who)
{
  w->number = ++U->work_count;
  if (!title) return;
  size_t length = strlen(title), most = sizeof(work_name),
         size = 1 + (length < most ? length : most);
  w->title = weft_counted_new(size, NULL);
  if (!w->title) luaL_error(L, "%s: not enough memory", who);
  memcpy(w->title, title, size - 1);
}

/* --- Beginning ----------------------------------------------------------------------------- */

/* Raises if something of it is lent already. */
static void check_lendings(lua_State *L, const work *w, const plan *p)
{
  const parcel *in = w->input;
  for (uint32_t i = 0; i < in->lending_count; i++) {
    const lending *l = &in->lendings[i];
    const hold *h = in->references[l->reference].object;
    const char *why = hold_refusal(h, l->first, l->end, l->writes);
    if (!why) continue;
    if (l->root > 1)
      binding_misuse(L, "%s: argument %d: buffer is %s", p->who, (int)l->root - 1, why);
    binding_misuse(L, "%s: what the function captures: buffer is %s", p->who, why);
  }
}

static void lend(lua_State *L, work *w, const plan *p)
{
  const parcel *in = w->input;
  if (in->lending_count == 0) return;
  check_lendings(L, w, p);
  const char *name = work_name_of(w, &(work_name){0});
  size_t size = sizeof "on loan to " + strlen(name);
  w->borrower = weft_counted_new(size, NULL);
  w->loans = weft_counted_new(in->lending_count * sizeof *w->loans, NULL);
  if (!w->borrower || !w->loans) luaL_error(L, "%s: not enough memory", p->who);
  snprintf(w->borrower, size, "on loan to %s", name);
  for (uint32_t i = 0; i < in->lending_count; i++) {
    const lending *l = &in->lendings[i];
    w->loans[i] =
        (loan){.first = l->first, .end = l->end, .writes = l->writes, .borrower = w->borrower};
    hold_lend(in->references[l->reference].object, &w->loans[i]);
  }
  w->loan_count = in->lending_count;
}

static void link_work(universe *U, work *w)
{
  w->after = U->works;
  if (w->after) w->after->prev = w;
  U->works = w;
  w->world = U->current ? U->current : U->fallback;
  if (w->parents) w->world = U->worker->running->work->world;
}

static weft_status submit(work *w, const plan *p)
{
  weft_pool *pool = w->crew->pool;
  weft_job_options options = {.priority = p->priority,
                              .flags = WEFT_JOB_WORKERS | WEFT_JOB_STAYS,
                              .barrier = p->barrier,
                              .ended = work_ended,
                              .arg = w};
  w->kind = p->kind;
  if (p->kind == WORK_FUNCTION)
    return weft_job_submit(pool, run_function, &w, sizeof w, &options, &w->job);
  weft_range range = {.count = p->count, .grain = p->grain, .fn = run_part, .arg = w};
  if (p->kind == WORK_KERNEL) {
    range = (weft_range){.count = p->count,
                         .grain = p->grain,
                         .kernel = w->kernel->fn,
                         .args = w->values,
                         .nargs = w->value_count};
  }
  if (p->kind == WORK_KERNEL) options.flags = 0;
  return weft_range_start(pool, &range, &options, &w->job);
}

/* A kernel does not travel: nil stands for it. */
static void take_kernel(lua_State *L, work *w, const plan *p)
{
  w->kernel = weft_counted_keep(kernel_test(L, p->first));
  kernel_set_arguments(L, w, p->first + 1, p->who);
  lua_pushnil(L);
  lua_replace(L, p->first);
}

/* -> job; or nil and a reason */
static int start(lua_State *L, const plan *p)
{
  universe *U = binding_universe(L);
  crew *c = crew_of(L, U, p->who);
  int count = lua_gettop(L) - p->first + 1;
  work_take_in(L, U);
  job_object *o = job_new(L, U, c, p->who);
  work *w = o->work;
  if (p->kind == WORK_KERNEL) take_kernel(L, w, p);
  if (p->kind == WORK_FUNCTION && lua_isfunction(L, p->first))
    w->input = transfer_write_plain(L, U, p->first, count, true, &w->in);
  if (!w->input)
    w->input = transfer_write_in(L, p->first, count, TRANSFER_ARGUMENTS, true, &w->in);
  w->paths = jobs_take_paths(L, U, p->who);
  set_name(L, U, w, p->name, p->who);
  lend(L, w, p);
  link_work(U, w);
  weft_counted_keep(w);
  weft_status status = submit(w, p);
  if (status == WEFT_OK) return 1;
  work_drop_loans(w);
  work_unlink(U, w);
  weft_counted_drop(w);
  if (status == WEFT_FULL) return jobs_refuse(L, "full");
  return binding_failed(L, p->who, status);
}

/* Any thread may run it, also one outside that waits for it. */
int jobs_start_native(lua_State *L, const native_work *native, void *load,
                      weft_job_priority priority, const char *who, const char *name)
{
  universe *U = binding_universe(L);
  crew *c = crew_of(L, U, who);
  work_take_in(L, U);
  work *w = job_new(L, U, c, who)->work;
  w->kind = WORK_NATIVE;
  w->native = native;
  w->load = weft_counted_keep(load);
  set_name(L, U, w, name, who);
  link_work(U, w);
  weft_counted_keep(w);
  weft_job_options options = {.priority = priority, .ended = work_ended, .arg = w};
  weft_status status = weft_job_submit(c->pool, native->run, &w, sizeof w, &options, &w->job);
  if (status == WEFT_OK) return 1;
  work_unlink(U, w);
  weft_counted_drop(w);
  if (status == WEFT_FULL) return jobs_refuse(L, "full");
  return binding_failed(L, who, status);
}

/* --- Options ------------------------------------------------------------------------------- */

static const char *const priority_names[] = {"normal", "critical", "background"};

static weft_job_priority check_priority(lua_State *L, int index, const char *who)
{
  if (lua_isnil(L, index)) return WEFT_PRIORITY_NORMAL;
  for (int i = 0; i < 3 && lua_type(L, index) == LUA_TSTRING; i++)
    if (strcmp(lua_tostring(L, index), priority_names[i]) == 0) return (weft_job_priority)i;
  binding_misuse(
      L, "%s: priority must be \"critical\", \"normal\" or \"background\", got %s", who,
      lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : binding_got(L, index));
  return WEFT_PRIORITY_NORMAL;
}

/* Raises for an option of the table at `index` that is none of the names, which end with NULL. */
static void check_options(lua_State *L, int index, const char *const *names, const char *who)
{
  if (!lua_istable(L, index))
    binding_misuse(L, "%s: a table of options expected, got %s", who, binding_got(L, index));
  lua_pushnil(L);
  while (lua_next(L, index)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    bool known = false;
    for (int i = 0; names[i]; i++) known = known || strcmp(names[i], name) == 0;
    if (!known) binding_misuse(L, "%s: there is no option '%s'", who, name);
    lua_pop(L, 1);
  }
}

static const char *check_name(lua_State *L, int index, const char *who)
{
  if (lua_isnil(L, index)) return NULL;
  if (lua_type(L, index) != LUA_TSTRING)
    binding_misuse(L, "%s: name must be a string, got %s", who, binding_got(L, index));
  return lua_tostring(L, index);
}

static void check_function(lua_State *L, int index, const char *who)
{
  if (lua_isfunction(L, index)) return;
  if (lua_type(L, index) == LUA_TSTRING && strchr(lua_tostring(L, index), '.')) return;
  if (lua_type(L, index) == LUA_TSTRING)
    binding_misuse(L, "%s: a function or \"module.function\" expected, got \"%s\"", who,
                   lua_tostring(L, index));
  binding_misuse(L, "%s: a function or \"module.function\" expected, got %s", who,
                 binding_got(L, index));
}

static size_t check_size(lua_State *L, int index, int64_t least, const char *what,
                         const char *who)
{
  int64_t number;
  if (!element_whole(L, index, &number) || number < least || number > INT64_C(1) << 53)
    binding_misuse(L, "%s: %s must be a whole number from %d to 2^53, got %s", who, what,
                   (int)least, binding_got(L, index));
  return (size_t)number;
}

#define MAX_ARGUMENTS 1000000

/* The values of the list at `index`, behind one another on top. */
static void push_arguments(lua_State *L, int index, const char *who)
{
  int64_t count;
  if (lua_isnil(L, index)) return;
  if (!lua_istable(L, index))
    binding_misuse(L, "%s: args must be a list, got %s", who, binding_got(L, index));
  lua_getfield(L, index, "n");
  if (lua_isnil(L, -1))
    count = (int64_t)compat_raw_length(L, index);
  else if (!element_whole(L, -1, &count) || count < 0)
    binding_misuse(L, "%s: args.n must be a whole number from 0 on, got %s", who,
                   binding_got(L, -1));
  lua_pop(L, 1);
  if (count > MAX_ARGUMENTS)
    binding_misuse(L, "%s: args has too many values: more than %d", who, MAX_ARGUMENTS);
  luaL_checkstack(L, (int)count + LUA_MINSTACK, "too many arguments");
  for (int i = 1; i <= (int)count; i++) lua_rawgeti(L, index, i);
}

/* --- What scripts call --------------------------------------------------------------------- */

static int api_run(lua_State *L)
{
  static const char who[] = "jobs.run";
  check_function(L, 1, who);
  return start(L, &(plan){.who = who, .first = 1});
}

/* options, arguments; the options' place becomes that of the function */
static int api_schedule(lua_State *L)
{
  static const char who[] = "jobs.schedule";
  static const char *const names[] = {"fn", "priority", "barrier", "name", NULL};
  plan p = {.who = who, .first = 4};
  check_options(L, 1, names, who);
  for (int i = 0; i < 4; i++) lua_getfield(L, 1, names[i]);
  for (int i = 0; i < 4; i++) lua_insert(L, 1 + i);
  /* name, barrier, priority, fn, options, arguments */
  p.name = check_name(L, 1, who);
  if (!lua_isnil(L, 2)) p.barrier = barrier_check(L, 2, who);
  p.priority = check_priority(L, 3, who);
  if (kernel_test(L, 4)) {
    p.kind = WORK_KERNEL;
    p.count = p.grain = 1;
  } else {
    check_function(L, 4, who);
  }
  lua_remove(L, 5);
  return start(L, &p);
}

/* count, function or kernel, options */
static int api_parallel_for(lua_State *L)
{
  static const char who[] = "jobs.parallelFor";
  static const char *const names[] = {"grain", "priority", "args", "name", NULL};
  plan p = {.who = who, .kind = WORK_RANGE, .first = 8};
  p.count = check_size(L, 1, 0, "count", who);
  if (kernel_test(L, 2))
    p.kind = WORK_KERNEL;
  else
    check_function(L, 2, who);
  lua_settop(L, 3);
  if (lua_isnil(L, 3)) {
    lua_newtable(L);
    lua_replace(L, 3);
  }
  check_options(L, 3, names, who);
  for (int i = 0; i < 4; i++) lua_getfield(L, 3, names[i]); /* 4 to 7 */
  if (!lua_isnil(L, 4)) p.grain = check_size(L, 4, 1, "grain", who);
  p.priority = check_priority(L, 5, who);
  p.name = check_name(L, 7, who);
  lua_pushvalue(L, 2);
  push_arguments(L, 6, who);
  return start(L, &p);
}

static const luaL_Reg starts[] = {{"run", api_run},
                                  {"schedule", api_schedule},
                                  {"parallelFor", api_parallel_for},
                                  {NULL, NULL}};

void jobs_push_starts(lua_State *L)
{
  binding_functions(L, starts);
}
