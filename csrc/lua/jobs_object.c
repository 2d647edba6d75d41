/* SPDX-License-Identifier: MIT */
/*
** jobs_object.c - weft.Job, the object: what its job has brought, waiting for it in a routine, and
** which object stands for which work.
*/
#include <string.h>

#include "lua/services.h"

/* Its address is the key of the objects of this state's own jobs, by work, weakly. */
static const char objects_key;

bool job_has_ended(const job_object *o)
{
  if (!o->work) return true;
  return o->foreign ? work_has_ended(o->work) : o->work->taken;
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

/* --- Without the work ---------------------------------------------------------------------- */

/* A job that has brought a few numbers, and that nobody else knows of, needs its work no more: the
   next job has its memory, long before a collector comes to this one. */
static void let_go(universe *U, job_object *o)
{
  work *w = o->work;
  const parcel *out = w->output;
  if (o->foreign || o->adopted || w->title || !w->taken || !weft_counted_is_alone(w)) return;
  if (out->size > JOB_KEPT || out->reference_count > 0 || out->value_count > UINT8_MAX) return;
  o->number = w->number;
  o->count = (uint8_t)out->value_count;
  o->size = (uint8_t)out->size;
  memcpy(o->bytes, out->bytes, out->size);
  o->work = NULL;
  work_give_back(U, w);
}

/* -> the values; how many. From a copy: a finalizer that runs meanwhile may ask for the same result, and
   what it was read from is then the next job's. */
static int push_copied(lua_State *L, const void *bytes, size_t size, uint32_t count)
{
  parcel_room room;
  parcel *p = (parcel *)&room;
  *p = (parcel){.value_count = count, .size = size};
  memcpy(p->bytes, bytes, size);
  return transfer_read(L, p, &(transfer_side){0});
}

/* It is to be known to others after all: a work that has ended, as it was. */
static void take_up_again(lua_State *L, job_object *o)
{
  universe *U = o->base.universe;
  work *w = work_new(U, U->crew, U->inbox);
  if (!w) luaL_error(L, "weft.jobs: not enough memory");
  parcel *p = (parcel *)&w->out;
  *p = (parcel){.value_count = o->count, .size = o->size, .within = true};
  memcpy(p->bytes, o->bytes, o->size);
  w->output = p;
  w->number = o->number;
  w->state = WEFT_JOB_COMPLETED;
  w->taken = true;
  work_set_asked(w, true);
  work_set_ended(w);
  w->object = &o->base;
  o->work = w;
}

/* --- Values again -------------------------------------------------------------------------- */

/* Reading a few numbers again is less work than keeping a list of them. */
static bool is_small(const work *w)
{
  return w->state == WEFT_JOB_COMPLETED && w->output && w->output->object_count == 0 &&
         w->output->reference_count == 0 &&
         w->output->size <= sizeof(parcel_room) - offsetof(parcel, bytes);
}

/* -> the values of the list; how many */
static int push_values(lua_State *L, job_object *o)
{
  if (!o->work) return push_copied(L, o->bytes, o->size, o->count);
  const parcel *out = o->work->output;
  if (is_small(o->work)) return push_copied(L, out->bytes, out->size, out->value_count);
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
  call->done = job_has_ended(o) || o->foreign;
  if (call->done) return WEFT_OK;
  return weft_arm_event(call->realm->world, call->self, &call->object->line.event, 0,
                        call->timeout);
}

/* What any and all give: the results; or nil and the error. */
static int push_outcome(lua_State *L, void *context)
{
  job_object *o = context;
  bool failed = o->work && o->work->state != WEFT_JOB_COMPLETED;
  if (failed) lua_pushnil(L);
  return push_values(L, o) + failed;
}

static int job_push(lua_State *L, waitable *object, uint64_t value)
{
  job_object *o = (job_object *)object;
  realm *R = object->universe->current;
  int top = lua_gettop(L);
  (void)value;
  if (!job_has_ended(o) || !R) return 0;
  if (o->work) work_set_asked(o->work, true);
  /* A coroutine that is suspended is not called on: where that fails LuaJIT forgets that it is. Who waits
     for this alone asks for the values once it goes on. */
  if (lua_status(L) == LUA_YIELD) return 0;
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
  work_give_back(object->universe, o->work);
}

/* Asked by who is about to wait. */
static bool job_come(const waitable *object)
{
  const job_object *o = (const job_object *)object;
  bool come = job_has_ended(o);
  if (come && o->work) work_set_asked(o->work, true);
  return come;
}

static bool job_foreign(const waitable *object)
{
  return ((const job_object *)object)->foreign;
}

/* Raises the error of one that has ended badly. */
int job_result(lua_State *L, waitable *object)
{
  job_object *o = (job_object *)object;
  bool failed = o->work && o->work->state != WEFT_JOB_COMPLETED;
  if (o->work) work_set_asked(o->work, true);
  int count = push_values(L, o);
  if (failed) return lua_error(L);
  if (o->work && is_small(o->work)) let_go(object->universe, o); /* unless a finalizer has */
  return count;
}

static void job_drop(universe *U, uint64_t value)
{
  (void)U;
  (void)value;
}

static const waitable_kind job_kind = {.name = "job",
                                       .a_name = "a job",
                                       .many = true,
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

/* --- Objects of works ---------------------------------------------------------------------- */

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

/* Who has started it; false if there is no memory. */
static bool set_parents(const universe *U, work *w)
{
  w->inner = U->worker != NULL;
  if (!w->inner || !U->worker->running) return true;
  family *parents = work_family(U->worker->running->work);
  if (parents) w->parents = weft_counted_keep(parents);
  return parents != NULL;
}

job_object *job_new(lua_State *L, universe *U, crew *c, const char *who)
{
  job_object *o = push_empty(L, &job_kind, who);
  o->work = work_new(U, c, U->inbox);
  if (!o->work || !set_parents(U, o->work)) luaL_error(L, "%s: not enough memory", who);
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

job_object *job_check(lua_State *L, int index, const char *who)
{
  job_object *o = job_test(L, index);
  return o ? o : (job_object *)waitables_check(L, index, &job_kind, who);
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
    if (!o->work) take_up_again(L, o);
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

void jobs_open_kinds(lua_State *L, const luaL_Reg *methods, const luaL_Reg *metamethods)
{
  lua_pushlightuserdata(L, (void *)&objects_key);
  binding_push_weak(L, 0, "v");
  lua_rawset(L, LUA_REGISTRYINDEX);
  waitables_open_kind(L, &foreign_kind, "weft.Job", methods, metamethods);
  lua_pop(L, 1);
  waitables_open_kind(L, &job_kind, "weft.Job", methods, metamethods);
}
