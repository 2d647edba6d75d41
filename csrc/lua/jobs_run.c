/* SPDX-License-Identifier: MIT */
/*
** jobs_run.c - a job of Lua on its thread.
**
** Each job has a pair of coroutines in the thread's state: one that the function runs on, and one for
** what is done around it, in protected calls. The function runs on the job's fiber; when it waits
** there, others of the same thread run in the same state on pairs of their own.
*/
#include <stdio.h>
#include <string.h>

#include "lua/jobs.h"

/* Its address is a key in the registry: a list of an error and its trace. */
static const char trace_key;

/* --- Pairs of coroutines ------------------------------------------------------------------- */

/* -> ; a new pair, kept in the registry */
static int make_pair(lua_State *L, void *context)
{
  pair *p = context;
  lua_createtable(L, 2, 0);
  p->aide = lua_newthread(L);
  luaL_checkstack(p->aide, LUA_MINSTACK, NULL);
  lua_rawseti(L, -2, 1);
  p->co = lua_newthread(L);
  luaL_checkstack(p->co, LUA_MINSTACK, NULL);
  lua_rawseti(L, -2, 2);
  p->kept = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

/* An idle pair or a new one; false without memory. */
static bool take_pair(job_run *r)
{
  worker *me = r->me;
  pair p;
  if (me->idle_count > 0) {
    p = me->idle[--me->idle_count];
  } else if (worker_protect(me, me->L, make_pair, &p, 0, 0) != LUA_OK) {
    lua_pop(me->L, 1);
    return false;
  }
  r->pair = p;
  return true;
}

/* Room for values on a coroutine of the pair that is empty: there is always some. */
static bool make_room(lua_State *L, int count)
{
  return count <= LUA_MINSTACK / 2 || compat_grow(L, count + LUA_MINSTACK);
}

static int drop_pair(lua_State *L, void *context)
{
  const pair *p = context;
  luaL_unref(L, LUA_REGISTRYINDEX, p->kept);
  return 0;
}

static void give_pair(job_run *r, bool reusable)
{
  worker *me = r->me;
  if (reusable && me->idle_count < MAX_PAIRS)
    me->idle[me->idle_count++] = r->pair;
  else if (worker_protect(me, me->L, drop_pair, &r->pair, 0, 0) != LUA_OK)
    lua_pop(me->L, 1);
}

/* --- Reading ------------------------------------------------------------------------------- */

/* "module.function" on top -> function. To make globals sets package.path as it was at dispatch. */
static void find_function(lua_State *L, const job_run *r)
{
  const char *text = lua_tostring(L, -1), *dot = strrchr(text, '.');
  int at = lua_gettop(L);
  if (!dot) luaL_error(L, "weft.jobs: \"module.function\" expected, got \"%s\"", text);
  lua_rawgeti(L, LUA_REGISTRYINDEX, r->me->globals);
  lua_call(L, 0, 0);
  lua_getglobal(L, "require");
  lua_pushlstring(L, text, (size_t)(dot - text));
  lua_call(L, 1, 1);
  if (!lua_istable(L, -1))
    luaL_error(L, "weft.jobs: the module of \"%s\" is no table, but a %s", text,
               luaL_typename(L, -1));
  lua_getfield(L, -1, dot + 1);
  if (!lua_isfunction(L, -1))
    luaL_error(L, "weft.jobs: \"%s\" is no function, but %s", text, luaL_typename(L, -1));
  lua_replace(L, at);
  lua_settop(L, at);
}

/* -> function and arguments */
static int read_input(lua_State *L, void *context)
{
  job_run *r = context;
  bool may_lend = r->work->input->lending_count > 0;
  lua_settop(L, 2); /* views and globals, where they are needed */
  if (may_lend) {
    lua_newtable(L);
    lua_replace(L, 1);
    lua_pushvalue(L, 1);
    r->views = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  transfer_side side = {
      .lent = true, .globals = 2, .maker = r->me->globals, .views = may_lend, .job = r->work};
  int count = transfer_read(L, r->work->input, &side);
  lua_pushvalue(L, 3);
  if (lua_type(L, -1) == LUA_TSTRING) find_function(L, r);
  lua_replace(L, 3);
  r->count = count;
  return count;
}

/* What was lent to the job is not the job's any more. */
static int end_views(lua_State *L, void *context)
{
  job_run *r = context;
  if (r->views == LUA_NOREF) return 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, r->views);
  for (int i = (int)compat_raw_length(L, -1); i > 0; i--) {
    lua_rawgeti(L, -1, i);
    const view *v = buffer_test(L, -1);
    if (v && v->hold) hold_end(v->hold, "of a job that has ended");
    lua_pop(L, 1);
  }
  luaL_unref(L, LUA_REGISTRYINDEX, r->views);
  r->views = LUA_NOREF;
  return 0;
}

/* --- Ending -------------------------------------------------------------------------------- */

/* Buffers that the job has made are given to who gets the result. */
static void give_buffers(lua_State *L, const parcel *p)
{
  for (uint32_t i = 0; i < p->lending_count; i++) {
    const lending *l = &p->lendings[i];
    const hold *h = p->references[l->reference].object;
    const char *why = h->origin ? NULL : hold_refusal(h, l->first, l->end, true);
    if (why) luaL_error(L, "weft.jobs: result %d: buffer is %s", (int)l->root, why);
  }
  for (uint32_t i = 0; i < p->reference_count; i++) {
    hold *h = p->references[i].object;
    if (p->references[i].kind == REFERENCE_BUFFER && !h->origin)
      hold_end(h, "gone: a job has returned it");
  }
}

/* results -> */
static int write_results(lua_State *L, void *context)
{
  job_run *r = context;
  parcel *p = transfer_write_in(L, 1, lua_gettop(L), TRANSFER_RESULTS, false, &r->work->out);
  r->work->output = p;
  give_buffers(L, p);
  return 0;
}

/* error -> error, trace */
static int push_trace(lua_State *L)
{
  luaL_traceback(L, L, lua_tostring(L, 1), 2);
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 2);
  lua_pushlightuserdata(L, (void *)&trace_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 0;
}

/* error -> error */
int run_keep_trace(lua_State *L)
{
  if (lua_type(L, 1) != LUA_TSTRING) return 1;
  lua_pushcfunction(L, push_trace);
  lua_pushvalue(L, 1);
  (void)lua_pcall(L, 1, 0, 0); /* without memory it goes on without */
  lua_settop(L, 1);
  return 1;
}

/* error -> error, trace: what was kept of it; else as it was */
static bool take_trace(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&trace_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_isnil(L, -1)) {
    lua_settop(L, 1);
    return false;
  }
  lua_pushlightuserdata(L, (void *)&trace_key);
  lua_pushnil(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_rawgeti(L, 2, 1);
  bool same = lua_rawequal(L, 1, -1);
  lua_rawgeti(L, 2, 2);
  lua_replace(L, 2);
  lua_settop(L, same ? 2 : 1);
  return same;
}

/* error -> error, a string's with the traceback of the job */
static int add_trace(lua_State *L, void *context)
{
  const job_run *r = context;
  if (lua_type(L, 1) != LUA_TSTRING || take_trace(L)) return 1;
  luaL_traceback(L, r->pair.co, lua_tostring(L, 1), 0);
  return 1;
}

/* error -> */
static int write_error(lua_State *L, void *context)
{
  job_run *r = context;
  binding_push_cancelled(L);
  r->work->quiet = lua_rawequal(L, 1, -1);
  lua_settop(L, 1);
  r->work->output = transfer_write(L, 1, 1, TRANSFER_RESULTS, false);
  return 0;
}

/* error, why not -> ; as text, since it cannot cross */
static int write_error_text(lua_State *L, void *context)
{
  const char *why = lua_tostring(L, 2);
  luaL_tolstring(L, 1, NULL);
  lua_pushfstring(L, "%s (an error object, a %s, that cannot come back from a job: %s)",
                  lua_tostring(L, -1), luaL_typename(L, 1), why ? why : "?");
  lua_replace(L, 1);
  lua_settop(L, 1);
  return write_error(L, context);
}

/* error on the aide -> */
static void leave_error(job_run *r)
{
  lua_State *L = r->pair.aide;
  work *w = r->work;
  if (w->kind == WORK_RANGE && !work_fails_first(w)) {
    lua_settop(L, 0);
    return;
  }
  transfer_drop(w->output);
  w->output = NULL;
  lua_pushvalue(L, -1);
  if (worker_protect(r->me, L, write_error, r, 1, 0) == LUA_OK) {
    lua_settop(L, 0);
    return;
  }
  if (worker_protect(r->me, L, write_error_text, r, 2, 0) != LUA_OK)
    w->wrong = "not enough memory";
  lua_settop(L, 0);
}

/* Error on top of the job's coroutine -> ; its to-be-closed variables run, and may wait. */
static void fail(job_run *r)
{
  lua_xmove(r->pair.co, r->pair.aide, 1);
  if (worker_protect(r->me, r->pair.aide, add_trace, r, 1, 1) != LUA_OK) {
    /* without memory for a trace: that is the error then */
  }
  if (COMPAT_CAN_CLOSE) (void)compat_close(r->pair.co);
  leave_error(r);
}

/* --- Which runs there are ------------------------------------------------------------------ */

static void enter(job_run *r)
{
  worker *me = r->me;
  r->next = me->runs;
  if (r->next) r->next->prev = r;
  me->runs = me->running = r;
}

static void leave(job_run *r)
{
  worker *me = r->me;
  if (r->prev)
    r->prev->next = r->next;
  else
    me->runs = r->next;
  if (r->next) r->next->prev = r->prev;
  me->running = NULL;
}

/* So far a line of jobs that wait for one another is followed. */
#define MAX_LINE 8

static bool leads_to(const worker *me, const work *from, const work *w, int steps)
{
  if (from == w) return true;
  if (!from || steps == 0) return false;
  for (const job_run *r = me->runs; r; r = r->next)
    if (r->work == from && leads_to(me, r->awaits, w, steps - 1)) return true;
  return false;
}

bool run_awaits(const job_run *r, const work *w)
{
  return leads_to(r->me, r->awaits, w, MAX_LINE);
}

/* --- Running ------------------------------------------------------------------------------- */

/* Lets others have a turn. */
static weft_status yield(job_run *r)
{
  weft_status status = weft_job_yield();
  r->me->running = r;
  return status;
}

/* Function and arguments on the coroutine. A bare yield lets others have a turn; at the end of the pool
   it ends the job, as other waits do. */
static int resume(job_run *r, int nargs)
{
  int count = 0;
  int status = compat_resume(r->pair.co, r->me->donor, nargs, &count);
  while (status == LUA_YIELD) {
    lua_pop(r->pair.co, compat_yielded(r->pair.co, count));
    if (yield(r) == WEFT_STOPPED) {
      binding_push_cancelled(r->pair.co);
      return LUA_ERRRUN;
    }
    status = compat_resume(r->pair.co, r->me->donor, 0, &count);
  }
  return status;
}

/* Calls what is on the aide, on the coroutine. */
static bool call(job_run *r)
{
  int count = r->count;
  if (!r->direct && !make_room(r->pair.co, count)) {
    r->work->wrong = "not enough memory";
    lua_settop(r->pair.aide, 0);
    return false;
  }
  if (!r->direct) lua_xmove(r->pair.aide, r->pair.co, count);
  int status = resume(r, count - 1);
  compat_clear_job_hook(r->pair.co);
  if (status == LUA_OK) return true;
  fail(r);
  return false;
}

/* A job of this thread's state that has something of what was lent to the work, or NULL. */
static const work *find_borrower(const job_run *r)
{
  for (const work *w = r->me->universe->works; w; w = w->after)
    for (uint32_t i = 0; i < w->loan_count; i++)
      if (w->loans[i].from && w->loans[i].from->job == r->work) return w;
  return NULL;
}

/* What was lent to a job goes back when it ends: it does not end before those that it has lent it to. */
static void wait_for_borrowers(job_run *r)
{
  const work *w;
  universe *U = r->me->universe;
  work_take_in(r->me->L, U);
  while ((w = find_borrower(r))) {
    weft_status status = weft_job_wait(w->crew->pool, w->job, -1);
    r->me->running = r;
    work_take_in(r->me->L, U);
    if (status == WEFT_OK) continue;
    /* At the end of the pool nobody waits, but lets the others have their turns. */
    status = yield(r);
    if (status != WEFT_OK && status != WEFT_STOPPED) weft_sleep_until(weft_clock());
  }
}

static bool finish(job_run *r)
{
  int count = lua_gettop(r->pair.co);
  work *w = r->work;
  w->output = transfer_write_plain(r->pair.co, r->me->universe, 1, count, false, &w->out);
  if (w->output) return true;
  if (!make_room(r->pair.aide, count)) {
    r->work->wrong = "not enough memory";
    return false;
  }
  lua_xmove(r->pair.co, r->pair.aide, count);
  if (worker_protect(r->me, r->pair.aide, write_results, r, count, 0) == LUA_OK) return true;
  leave_error(r);
  return false;
}

static bool begin(job_run *r)
{
  if (!take_pair(r)) {
    r->work->wrong = "not enough memory";
    return false;
  }
  const parcel *p = r->work->input;
  r->direct = p->plain && transfer_push_plain(r->pair.co, r->me->universe, p);
  if (r->direct) r->count = (int)p->value_count;
  if (r->direct || worker_protect(r->me, r->pair.aide, read_input, r, 0, LUA_MULTRET) == LUA_OK)
    return true;
  leave_error(r);
  return false;
}

static void end(job_run *r, bool reusable)
{
  lua_State *L = r->me->L;
  leave(r);
  if (!r->pair.aide) return;
  compat_clear_job_hook(r->pair.aide); /* a module may have set it as it was loaded */
  lua_settop(r->pair.aide, 0);
  if (reusable) lua_settop(r->pair.co, 0);
  if (r->views != LUA_NOREF && worker_protect(r->me, L, end_views, r, 0, 0) != LUA_OK)
    lua_pop(L, 1);
  give_pair(r, reusable);
  work_take_in(L, r->me->universe);
}

weft_status run_function(void *data)
{
  work *w = *(work **)data;
  worker *me = crew_worker(w);
  if (!me) return WEFT_FAILED;
  job_run r = {.me = me, .work = w, .views = LUA_NOREF};
  enter(&r);
  bool begun = begin(&r);
  bool ended = begun && call(&r);
  wait_for_borrowers(&r);
  bool done = ended && finish(&r);
  end(&r, !begun || ended);
  return done ? WEFT_OK : WEFT_FAILED;
}

/* --- Ranges -------------------------------------------------------------------------------- */

/* The function of a range on this thread, read once for all of its parts. */
typedef struct range {
  struct range *next;
  work *work;
  int values; /* in the registry: a list of the function and its arguments */
  int count;
  int views;
  uint32_t running; /* parts that run now */
} range;

/* -> ; the range's values stand in the registry. What is read may load modules, which may wait: only
   what is complete is put where other jobs of the thread find it, and forget it. */
static int read_range(lua_State *L, void *context)
{
  job_run *r = context;
  int first = lua_gettop(L) + 1, count = read_input(L, r);
  lua_createtable(L, count, 0);
  for (int i = 1; i <= count; i++) {
    lua_pushvalue(L, first + 1 + i);
    lua_rawseti(L, -2, i);
  }
  int kept = luaL_ref(L, LUA_REGISTRYINDEX);
  range *it = weft_counted_new(sizeof *it, NULL);
  if (!it) {
    luaL_unref(L, LUA_REGISTRYINDEX, kept);
    return luaL_error(L, "not enough memory");
  }
  *it = (range){.next = r->me->ranges,
                .work = weft_counted_keep(r->work),
                .values = kept,
                .count = count,
                .views = r->views};
  r->views = LUA_NOREF;
  r->me->ranges = it;
  return 0;
}

static range *find_range(const worker *me, const work *w)
{
  range *it = me->ranges;
  while (it && it->work != w) it = it->next;
  return it;
}

static int unref_range(lua_State *L, void *context)
{
  range *it = context;
  job_run r = {.views = it->views};
  luaL_unref(L, LUA_REGISTRYINDEX, it->values);
  return end_views(L, &r);
}

void run_forget_ranges(worker *me, const work *but)
{
  for (range **at = &me->ranges, *it; (it = *at);) {
    if (it->work == but || it->running > 0) {
      at = &it->next;
      continue;
    }
    *at = it->next;
    if (worker_protect(me, me->L, unref_range, it, 0, 0) != LUA_OK) lua_pop(me->L, 1);
    weft_counted_drop(it->work);
    weft_counted_drop(it);
  }
}

/* -> function, first, last, arguments */
static int push_part(lua_State *L, void *context)
{
  job_run *r = context;
  const range *it = find_range(r->me, r->work);
  luaL_checkstack(L, it->count + LUA_MINSTACK, "too many arguments");
  lua_rawgeti(L, LUA_REGISTRYINDEX, it->values);
  int list = lua_gettop(L);
  lua_rawgeti(L, list, 1);
  lua_pushinteger(L, (lua_Integer)r->first + 1);
  lua_pushinteger(L, (lua_Integer)r->last);
  for (int i = 2; i <= it->count; i++) lua_rawgeti(L, list, i);
  return r->count = it->count + 2;
}

static bool begin_part(job_run *r)
{
  worker *me = r->me;
  if (!take_pair(r)) {
    r->work->wrong = "not enough memory";
    return false;
  }
  if ((find_range(me, r->work) ||
       worker_protect(me, r->pair.aide, read_range, r, 0, 0) == LUA_OK) &&
      worker_protect(me, r->pair.aide, push_part, r, 0, LUA_MULTRET) == LUA_OK)
    return true;
  leave_error(r);
  return false;
}

weft_status run_part(size_t first, size_t last, void *arg)
{
  work *w = arg;
  worker *me = crew_worker(w);
  if (!me) return WEFT_FAILED;
  job_run r = {.me = me, .work = w, .views = LUA_NOREF, .first = first, .last = last};
  enter(&r);
  bool begun = begin_part(&r);
  range *it = find_range(me, w);
  if (it) it->running++;
  bool ended = begun && call(&r);
  wait_for_borrowers(&r);
  if (it) it->running--;
  end(&r, !begun || ended);
  return ended ? WEFT_OK : WEFT_FAILED;
}
