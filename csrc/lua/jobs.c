/* SPDX-License-Identifier: MIT */
/*
** jobs.c - weft.jobs: what scripts ask of a job, and of the pool.
*/
#include "lua/jobs.h"

int jobs_refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

/* --- Asking -------------------------------------------------------------------------------- */

/* The job, with what has ended taken in. */
static job_object *look(lua_State *L, const char *who)
{
  job_object *o = job_check(L, 1, who);
  if (!job_has_ended(o)) work_take_in(L, binding_universe(L));
  return o;
}

static int api_is_complete(lua_State *L)
{
  lua_pushboolean(L, job_has_ended(look(L, "job:isComplete")));
  return 1;
}

static const char *state_name(const job_object *o)
{
  static const char *const names[] = {"queued",    "running", "suspended",
                                      "completed", "failed",  "cancelled"};
  const work *w = o->work;
  if (!w) return "completed";
  if (job_has_ended(o)) return names[w->state];
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
  if (!job_has_ended(o)) return jobs_refuse(L, "pending");
  return job_result(L, &o->base);
}

static int64_t check_timeout(lua_State *L, int index, const char *who)
{
  return lua_isnoneornil(L, index) ? -1 : binding_check_seconds(L, index, who, "timeout");
}

/* Who waited for a job may know of its end a moment before it has come back. */
static void wait_ended(lua_State *L, universe *U, const job_object *o)
{
  while (!job_has_ended(o)) {
    work_take_in(L, U);
    if (!job_has_ended(o)) weft_sleep_until(weft_clock());
  }
}

/* True, or false when the time was over. */
static bool wait_for(lua_State *L, job_object *o, int64_t timeout, bool awaits, const char *who)
{
  work *w = o->work;
  job_run *mine = jobs_leave(L, timeout == 0 ? NULL : w, who);
  weft_counted_keep(w); /* another job of this thread may take the result first, and let go */
  bool asked = work_asked(w);
  if (awaits) work_set_asked(w, true);
  weft_status status = weft_job_wait(w->crew->pool, w->job, timeout);
  if (awaits && status == WEFT_STOPPED) work_set_asked(w, asked); /* has heard nothing */
  if (mine) mine->awaits = NULL;
  weft_counted_drop(w);
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
  if (!job_has_ended(o) && !wait_for(L, o, timeout, false, who))
    return jobs_refuse(L, "timeout");
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
  if (!job_has_ended(o)) wait_for(L, o, -1, true, who);
  compat_before_throw(L);
  return job_result(L, &o->base);
}

static int api_cancel(lua_State *L)
{
  job_object *o = look(L, "job:cancel");
  const work *w = o->work;
  bool cancelled = !job_has_ended(o) && weft_job_cancel(w->crew->pool, w->job);
  if (cancelled) wait_ended(L, binding_universe(L), o);
  lua_pushboolean(L, cancelled);
  return 1;
}

static int job_tostring(lua_State *L)
{
  const job_object *o = look(L, "tostring");
  work only_number = {.number = o->number};
  const char *name = work_name_of(o->work ? o->work : &only_number, &(work_name){0});
  lua_pushfstring(L, "weft.Job: %s (%s)", name, state_name(o));
  return 1;
}

/* A job, or what is waited for in the same way. */
static waitable *check_awaited(lua_State *L)
{
  static const char who[] = "routine.await";
  waitable *object = waitables_test(L, 1);
  return object && object->kind->result ? object : &job_check(L, 1, who)->base;
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
  job_run *mine = jobs_leave(L, NULL, who);
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
  if (status == WEFT_TIMEOUT) return jobs_refuse(L, "timeout");
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
  if (U->works || U->losses) work_report(R);
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {{"isComplete", api_is_complete},
                                   {"status", api_status},
                                   {"result", api_result},
                                   {"wait", api_wait},
                                   {"await", api_await},
                                   {"cancel", api_cancel},
                                   {NULL, NULL}};
static const luaL_Reg functions[] = {{"configure", crew_configure},
                                     {"yield", api_yield},
                                     {"waitAll", api_wait_all},
                                     {"stats", api_stats},
                                     {NULL, NULL}};
static const luaL_Reg halves[] = {{"await", api_await_half},
                                  {"hasEnded", api_has_ended},
                                  {"isForeign", api_is_foreign},
                                  {"endAwait", api_end_await},
                                  {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", job_tostring}, {NULL, NULL}};

/* Module table on top. */
void jobs_open(lua_State *L)
{
  lua_createtable(L, 0, 12);
  binding_functions(L, functions);
  jobs_push_starts(L);
  barrier_open(L);
  kernel_open(L);
  lua_setfield(L, -2, "jobs");
  lua_createtable(L, 0, 4);
  binding_functions(L, halves);
  lua_setfield(L, -2, "jobHalves");
  jobs_open_kinds(L, methods, metamethods);
  lua_setfield(L, -2, "jobMethods");
}
