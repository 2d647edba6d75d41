/* SPDX-License-Identifier: MIT */
/*
** jobs.c - weft.Job, and how jobs begin.
**
** What is to go to a job is written and lent before it is queued: what cannot go is refused on this
** thread, and nothing has happened then.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/services.h"

/* What a script holds. */
typedef struct job_object {
  waitable base;
  work *work;
  bool foreign; /* another state has started it: this one is not told of its end, and looks */
  bool claimed; /* it reads the output first; again, if there was no memory the first time */
  bool adopted; /* it is among the objects that this state knows by their work */
  int values; /* in the registry, once they were asked for: a list of the results, or of the error */
} job_object;

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

static const waitable_kind job_kind, foreign_kind; /* below */

/* Its address is the key of the objects of this state's own jobs, by work, weakly. */
static const char objects_key;

static bool has_ended(const job_object *o)
{
  return o->foreign ? work_has_ended(o->work) : o->work->taken;
}

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* --- Values -------------------------------------------------------------------------------- */

static bool claim(job_object *o)
{
  o->claimed = o->claimed || work_claim(o->work);
  return o->claimed;
}

/* -> list of what came back, its count in `n`: the results, or the error */
static int make_list(lua_State *L, job_object *o)
{
  work *w = o->work;
  int top = lua_gettop(L), count = 1;
  if (w->state == WEFT_JOB_CANCELLED)
    binding_push_cancelled(L);
  else if (w->state == WEFT_JOB_COMPLETED && w->native)
    count = w->native->push(L, w->load);
  else if (w->state == WEFT_JOB_COMPLETED && !w->output)
    count = 0; /* a range or a kernel */
  else if (!w->output)
    lua_pushstring(L, w->wrong ? w->wrong : "not enough memory");
  else
    count = transfer_read(L, w->output, &(transfer_side){.second = !claim(o)});
  lua_createtable(L, count, 1);
  lua_insert(L, top + 1);
  for (int i = count; i > 0; i--) lua_rawseti(L, top + 1, i);
  lua_pushinteger(L, count);
  lua_setfield(L, -2, "n");
  return 1;
}

/* Read once: who asks again gets the same tables. -> list */
static void push_list(lua_State *L, job_object *o)
{
  if (o->values == LUA_NOREF) {
    make_list(L, o);
    o->values = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, o->values);
}

/* Reading a few numbers again is less work than keeping a list of them. */
static bool is_small(const work *w)
{
  return w->state == WEFT_JOB_COMPLETED && w->output && w->output->object_count == 0 &&
         w->output->size <= 64;
}

/* -> the values of the list; how many */
static int push_values(lua_State *L, job_object *o)
{
  if (is_small(o->work)) return transfer_read(L, o->work->output, &(transfer_side){0});
  push_list(L, o);
  int list = lua_gettop(L);
  lua_getfield(L, list, "n");
  int count = (int)lua_tointeger(L, -1);
  lua_settop(L, list);
  luaL_checkstack(L, count + LUA_MINSTACK, "too many results");
  for (int i = 1; i <= count; i++) lua_rawgeti(L, list, i);
  lua_remove(L, list);
  return count;
}

/* --- Waiting in a routine ------------------------------------------------------------------ */

static weft_status job_arm(wait_call *call)
{
  const job_object *o = (job_object *)call->object;
  call->done = has_ended(o) || o->foreign;
  if (call->done) return WEFT_OK;
  return weft_arm_event(call->realm->world, call->self, &call->object->line.event, 0,
                        call->timeout);
}

/* What any and all give: the results; or nil and the error. */
static int push_outcome(lua_State *L, void *context)
{
  job_object *o = context;
  bool failed = o->work->state != WEFT_JOB_COMPLETED;
  if (failed) lua_pushnil(L);
  return push_values(L, o) + failed;
}

static int job_push(lua_State *L, waitable *object, uint64_t value)
{
  job_object *o = (job_object *)object;
  realm *R = object->universe->current;
  int top = lua_gettop(L);
  (void)value;
  if (!has_ended(o) || !R) return 0;
  o->work->asked = true;
  if (binding_protect_on(L, R, push_outcome, o, 0, LUA_MULTRET) == LUA_OK)
    return lua_gettop(L) - top;
  lua_settop(L, top);
  return -1;
}

static void job_close(waitable *object)
{
  object->closed = true;
}

static bool job_idle(const waitable *object)
{
  return object->line.event.waiting == 0 && object->line.event.told == 0;
}

static void job_fini(lua_State *L, waitable *object)
{
  job_object *o = (job_object *)object;
  luaL_unref(L, LUA_REGISTRYINDEX, o->values);
  if (!o->work) return;
  /* While this one waited for its finalizer another may have been made for the same job. */
  if (!o->foreign && o->work->object == object) o->work->object = NULL;
  weft_counted_drop(o->work);
}

/* Asked by who is about to wait. */
static bool job_come(const waitable *object)
{
  const job_object *o = (const job_object *)object;
  bool come = has_ended(o);
  if (come && !o->foreign) o->work->asked = true;
  return come;
}

static bool job_foreign(const waitable *object)
{
  return ((const job_object *)object)->foreign;
}

/* Raises the error of one that has ended badly. */
static int job_result(lua_State *L, waitable *object)
{
  job_object *o = (job_object *)object;
  if (!o->foreign) o->work->asked = true;
  int count = push_values(L, o);
  if (o->work->state == WEFT_JOB_COMPLETED) return count;
  return lua_error(L);
}

static void job_drop(universe *U, uint64_t value)
{
  (void)U;
  (void)value;
}

static const waitable_kind job_kind = {.name = "job",
                                       .a_name = "a job",
                                       .arm = job_arm,
                                       .push = job_push,
                                       .drop = job_drop,
                                       .close = job_close,
                                       .fini = job_fini,
                                       .idle = job_idle,
                                       .come = job_come,
                                       .result = job_result,
                                       .foreign = job_foreign};

/* Nothing is fired for those: `any` and `all` cannot wait for them. */
static const waitable_kind foreign_kind = {.name = "job",
                                           .a_name = "a job",
                                           .arm = job_arm,
                                           .push = job_push,
                                           .close = job_close,
                                           .fini = job_fini,
                                           .idle = job_idle,
                                           .come = job_come,
                                           .result = job_result,
                                           .foreign = job_foreign};

/* --- Beginning ----------------------------------------------------------------------------- */

paths *jobs_take_paths(lua_State *L, universe *U, const char *who)
{
  size_t length, clength;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "package");
  lua_getfield(L, -1, "path");
  lua_getfield(L, -2, "cpath");
  const char *path = lua_tolstring(L, -2, &length), *cpath = lua_tolstring(L, -1, &clength);
  if (!path || !cpath) binding_misuse(L, "%s: package.path and cpath must be strings", who);
  paths *known = U->paths;
  if (!known || strcmp(known->path, path) != 0 || strcmp(known->cpath, cpath) != 0) {
    known = weft_counted_new(sizeof *known + length + clength + 2, NULL);
    if (!known) luaL_error(L, "%s: not enough memory", who);
    known->path = memcpy(known->text, path, length + 1);
    known->cpath = memcpy(known->text + length + 1, cpath, clength + 1);
    weft_counted_drop(U->paths);
    U->paths = known;
  }
  lua_pop(L, 4);
  return weft_counted_keep(known);
}

/* Written by hand: each job has a name, and few are ever asked for it. */
static void set_name(universe *U, work *w, const char *name)
{
  char digits[20];
  size_t at = sizeof digits, length = strlen("job ");
  uint64_t number = ++U->work_count;
  for (; at == sizeof digits || number > 0; number /= 10)
    digits[--at] = (char)('0' + number % 10);
  memcpy(w->name, "job ", length);
  memcpy(w->name + length, digits + at, sizeof digits - at);
  length += sizeof digits - at;
  w->name[length] = '\0';
  if (name) snprintf(w->name + length, sizeof w->name - length, " '%s'", name);
}

static job_object *push_empty(lua_State *L, const waitable_kind *kind, const char *who)
{
  job_object *o = (job_object *)waitables_new(L, kind, sizeof *o, who);
  o->values = LUA_NOREF;
  o->foreign = kind == &foreign_kind;
  return o;
}

static void push_objects(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&objects_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* This state's object for its work is known from when it first crosses: it may come back. */
static void adopt(lua_State *L, int index, job_object *o)
{
  if (o->foreign || o->adopted) return;
  lua_pushvalue(L, index);
  push_objects(L);
  lua_pushlightuserdata(L, o->work);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
  o->adopted = true;
}

/* -> job, with its work; nothing of it has begun */
static job_object *push_object(lua_State *L, universe *U, crew *c, const char *who)
{
  job_object *o = push_empty(L, &job_kind, who);
  o->work = work_new(c, U->inbox);
  if (!o->work) luaL_error(L, "%s: not enough memory", who);
  o->work->object = &o->base;
  return o;
}

/* -> whether this state has an object for the work: job, or nothing */
static bool push_known(lua_State *L, work *w)
{
  push_objects(L);
  lua_pushlightuserdata(L, w);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  const job_object *o = (job_object *)waitables_test(L, -1);
  if (o && o->work == w) return true;
  lua_pop(L, 1);
  return false;
}

static void push_work(lua_State *L, work *w)
{
  bool ours = w->inbox == binding_universe(L)->inbox;
  if (ours && push_known(L, w)) return;
  job_object *o = push_empty(L, ours ? &job_kind : &foreign_kind, "weft.jobs");
  o->work = weft_counted_keep(w);
  if (!ours) return;
  w->object = &o->base;
  adopt(L, -1, o);
}

static job_object *job_test(lua_State *L, int index)
{
  waitable *object = waitables_test(L, index);
  bool is_job = object && (object->kind == &job_kind || object->kind == &foreign_kind);
  return is_job ? (job_object *)object : NULL;
}

void *jobs_find_counted(lua_State *L, int index, enum reference_kind *kind)
{
  void *counted;
  if (lua_type(L, index) != LUA_TUSERDATA) return NULL;
  if ((counted = services_test(L, index))) {
    *kind = REFERENCE_SERVICE;
    return counted;
  }
  job_object *o = job_test(L, index);
  if (o) {
    adopt(L, index, o);
    *kind = REFERENCE_JOB;
    return o->work;
  }
  if ((counted = barrier_test(L, index))) {
    *kind = REFERENCE_BARRIER;
    return counted;
  }
  *kind = REFERENCE_KERNEL;
  return kernel_test(L, index);
}

void jobs_push_counted(lua_State *L, enum reference_kind kind, void *object)
{
  if (kind == REFERENCE_JOB)
    push_work(L, object);
  else if (kind == REFERENCE_BARRIER)
    barrier_push(L, object);
  else if (kind == REFERENCE_SERVICE)
    services_push(L, object);
  else
    kernel_push(L, object);
}

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
  snprintf(w->borrower, sizeof w->borrower, "on loan to %s", w->name);
  w->loans = weft_counted_new(in->lending_count * sizeof *w->loans, NULL);
  if (!w->loans) luaL_error(L, "%s: not enough memory", p->who);
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
  job_object *o = push_object(L, U, c, p->who);
  work *w = o->work;
  if (p->kind == WORK_KERNEL) take_kernel(L, w, p);
  w->input = transfer_write(L, p->first, count, TRANSFER_ARGUMENTS, true);
  w->paths = jobs_take_paths(L, U, p->who);
  set_name(U, w, p->name);
  lend(L, w, p);
  link_work(U, w);
  weft_counted_keep(w);
  weft_status status = submit(w, p);
  if (status == WEFT_OK) return 1;
  work_drop_loans(w);
  work_unlink(U, w);
  weft_counted_drop(w);
  if (status == WEFT_FULL) return refuse(L, "full");
  return binding_failed(L, p->who, status);
}

/* Any thread may run it, also one outside that waits for it. */
int jobs_start_native(lua_State *L, const native_work *native, void *load,
                      weft_job_priority priority, const char *who, const char *name)
{
  universe *U = binding_universe(L);
  crew *c = crew_of(L, U, who);
  work_take_in(L, U);
  work *w = push_object(L, U, c, who)->work;
  w->kind = WORK_NATIVE;
  w->native = native;
  w->load = weft_counted_keep(load);
  set_name(U, w, name);
  link_work(U, w);
  weft_counted_keep(w);
  weft_job_options options = {.priority = priority, .ended = work_ended, .arg = w};
  weft_status status = weft_job_submit(c->pool, native->run, &w, sizeof w, &options, &w->job);
  if (status == WEFT_OK) return 1;
  work_unlink(U, w);
  weft_counted_drop(w);
  if (status == WEFT_FULL) return refuse(L, "full");
  return binding_failed(L, who, status);
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

static int api_run(lua_State *L)
{
  static const char who[] = "jobs.run";
  check_function(L, 1, who);
  return start(L, &(plan){.who = who, .first = 1});
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

/* --- Asking -------------------------------------------------------------------------------- */

static job_object *check_job(lua_State *L, int index, const char *who)
{
  job_object *o = job_test(L, index);
  return o ? o : (job_object *)waitables_check(L, index, &job_kind, who);
}

/* The job, with what has ended taken in. */
static job_object *look(lua_State *L, const char *who)
{
  job_object *o = check_job(L, 1, who);
  if (!has_ended(o)) work_take_in(L, binding_universe(L));
  return o;
}

static int api_is_complete(lua_State *L)
{
  lua_pushboolean(L, has_ended(look(L, "job:isComplete")));
  return 1;
}

static const char *state_name(const job_object *o)
{
  static const char *const names[] = {"queued",    "running", "suspended",
                                      "completed", "failed",  "cancelled"};
  const work *w = o->work;
  if (has_ended(o)) return names[w->state];
  weft_job_state state = weft_job_state_of(w->crew->pool, w->job);
  return names[state < WEFT_JOB_COMPLETED ? state : WEFT_JOB_RUNNING];
}

static int api_status(lua_State *L)
{
  lua_pushstring(L, state_name(look(L, "job:status")));
  return 1;
}

static int api_result(lua_State *L)
{
  job_object *o = look(L, "job:result");
  if (!has_ended(o)) return refuse(L, "pending");
  return job_result(L, &o->base);
}

static int64_t check_timeout(lua_State *L, int index, const char *who)
{
  return lua_isnoneornil(L, index) ? -1 : binding_check_seconds(L, index, who, "timeout");
}

/* Who waited for a job may know of its end a moment before it has come back. */
static void wait_ended(lua_State *L, universe *U, const job_object *o)
{
  while (!has_ended(o)) {
    work_take_in(L, U);
    if (!has_ended(o)) weft_sleep_until(weft_clock());
  }
}

/* True, or false when the time was over. */
static bool wait_for(lua_State *L, job_object *o, int64_t timeout, const char *who)
{
  work *w = o->work, *mine = jobs_leave(L, timeout == 0 ? NULL : w, who);
  weft_status status = weft_job_wait(w->crew->pool, w->job, timeout);
  jobs_return(L, mine, status == WEFT_EXPIRED ? WEFT_OK : status, who);
  if (status == WEFT_TIMEOUT) return false;
  wait_ended(L, binding_universe(L), o);
  return true;
}

static int api_wait(lua_State *L)
{
  static const char who[] = "job:wait";
  job_object *o = look(L, who);
  int64_t timeout = check_timeout(L, 2, who);
  if (binding_universe(L)->worker && timeout > 0)
    return binding_misuse(L, "%s: inside a job there is no time limit", who);
  if (!has_ended(o) && !wait_for(L, o, timeout, who)) return refuse(L, "timeout");
  lua_pushboolean(L, 1);
  return 1;
}

/* Inside a job; in a routine it is routine.await. */
static int api_await(lua_State *L)
{
  static const char who[] = "job:await";
  job_object *o = look(L, who);
  if (!binding_universe(L)->worker)
    return binding_misuse(L, "%s: not inside a job; in a routine it is routine.await", who);
  if (!has_ended(o)) wait_for(L, o, -1, who);
  compat_before_throw(L);
  return job_result(L, &o->base);
}

static int api_cancel(lua_State *L)
{
  job_object *o = look(L, "job:cancel");
  const work *w = o->work;
  bool cancelled = !has_ended(o) && weft_job_cancel(w->crew->pool, w->job);
  if (cancelled) wait_ended(L, binding_universe(L), o);
  lua_pushboolean(L, cancelled);
  return 1;
}

static int job_tostring(lua_State *L)
{
  const job_object *o = look(L, "tostring");
  lua_pushfstring(L, "weft.Job: %s (%s)", o->work->name, state_name(o));
  return 1;
}

/* A job, or what is waited for in the same way. */
static waitable *check_awaited(lua_State *L)
{
  static const char who[] = "routine.await";
  waitable *object = waitables_test(L, 1);
  return object && object->kind->result ? object : &check_job(L, 1, who)->base;
}

/* For routine.await: the wait itself; then whether the job has ended. */
static int api_await_half(lua_State *L)
{
  static const char who[] = "routine.await";
  wait_call call = {.object = check_awaited(L), .timeout = check_timeout(L, 2, who)};
  lua_settop(L, 1);
  return waits_for(L, &call, who);
}

static int api_has_ended(lua_State *L)
{
  const waitable *object = check_awaited(L);
  lua_pushboolean(L, object->kind->come(object));
  return 1;
}

static int api_is_foreign(lua_State *L)
{
  const waitable *object = check_awaited(L);
  lua_pushboolean(L, object->kind->foreign(object));
  return 1;
}

static int api_end_await(lua_State *L)
{
  waitable *object = check_awaited(L);
  return object->kind->result(L, object);
}

/* --- The pool ------------------------------------------------------------------------------ */

static int api_yield(lua_State *L)
{
  static const char who[] = "jobs.yield";
  universe *U = binding_universe(L);
  if (!U->worker) return binding_misuse(L, "%s: not inside a job", who);
  work *mine = jobs_leave(L, NULL, who);
  weft_status status = weft_job_yield();
  jobs_return(L, mine, status == WEFT_OUTSIDE ? WEFT_OK : status, who);
  return 0;
}

static int api_wait_all(lua_State *L)
{
  static const char who[] = "jobs.waitAll";
  universe *U = binding_universe(L);
  int64_t timeout = check_timeout(L, 1, who);
  if (U->worker) return binding_misuse(L, "%s: not inside a job", who);
  weft_status status =
      U->crew && U->crew->pool ? weft_pool_wait_all(U->crew->pool, timeout) : WEFT_OK;
  work_take_in(L, U);
  if (status == WEFT_TIMEOUT) return refuse(L, "timeout");
  if (status) return binding_failed(L, who, status);
  lua_pushboolean(L, 1);
  return 1;
}

static void set_number(lua_State *L, const char *name, double value)
{
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static int api_stats(lua_State *L)
{
  const universe *U = binding_universe(L);
  weft_pool_stats stats = {0};
  if (U->crew && U->crew->pool) weft_pool_stats_get(U->crew->pool, &stats);
  lua_createtable(L, 0, 8);
  const struct {
    const char *name;
    uint64_t value;
  } whole[] = {{"workers", stats.workers},     {"activeWorkers", stats.active},
               {"pendingJobs", stats.pending}, {"completedJobs", stats.completed},
               {"failedJobs", stats.failed},   {"stolenJobs", stats.stolen}};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    lua_pushinteger(L, (lua_Integer)whole[i].value);
    lua_setfield(L, -2, whole[i].name);
  }
  set_number(L, "avgJobMs", stats.average_ms);
  set_number(L, "utilisation", stats.utilisation);
  return 1;
}

/* In stage 2 of a tick, after the posts. */
void jobs_stage(realm *R)
{
  universe *U = R->universe;
  if (!U->inbox) return;
  work_take_in(R->ticking, U);
  if (U->works) work_report(R);
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {{"isComplete", api_is_complete},
                                   {"status", api_status},
                                   {"result", api_result},
                                   {"wait", api_wait},
                                   {"await", api_await},
                                   {"cancel", api_cancel},
                                   {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"configure", crew_configure}, {"run", api_run},
    {"schedule", api_schedule},    {"parallelFor", api_parallel_for},
    {"yield", api_yield},          {"waitAll", api_wait_all},
    {"stats", api_stats},          {NULL, NULL}};
static const luaL_Reg halves[] = {{"await", api_await_half},
                                  {"hasEnded", api_has_ended},
                                  {"isForeign", api_is_foreign},
                                  {"endAwait", api_end_await},
                                  {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", job_tostring}, {NULL, NULL}};

/* Module table on top. */
void jobs_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&objects_key);
  binding_push_weak(L, 0, "v");
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_createtable(L, 0, 12);
  binding_functions(L, functions);
  barrier_open(L);
  kernel_open(L);
  lua_setfield(L, -2, "jobs");
  lua_createtable(L, 0, 4);
  binding_functions(L, halves);
  lua_setfield(L, -2, "jobHalves");
  waitables_open_kind(L, &foreign_kind, "weft.Job", methods, metamethods);
  lua_pop(L, 1);
  waitables_open_kind(L, &job_kind, "weft.Job", methods, metamethods);
  lua_setfield(L, -2, "jobMethods");
}
