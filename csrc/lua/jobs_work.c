/* SPDX-License-Identifier: MIT */
/*
** jobs_work.c - a job's way back: ended on a thread of the pool, taken in by the state that started
** it, told to who waits, reported if nobody does.
*/
#include <stdio.h>

#include "lua/jobs.h"

/* A failure is reported when so many ticks have passed in which nobody asked for it. */
#define REPORT_AGE 2

/* --- Beginning and ending ------------------------------------------------------------------ */

static void work_end(void *object)
{
  work *w = object;
  weft_counted_drop(w->input);
  weft_counted_drop(w->output);
  weft_counted_drop(w->loans);
  weft_counted_drop(w->paths);
  weft_counted_drop(w->values);
  weft_counted_drop(w->kernel);
  weft_counted_drop(w->load);
  weft_counted_drop(w->inbox);
  weft_counted_drop(w->crew);
}

work *work_new(crew *c, inbox *in)
{
  work *w = weft_counted_new(sizeof *w, work_end);
  if (!w) return NULL;
  w->crew = weft_counted_keep(c);
  w->inbox = weft_counted_keep(in);
  return w;
}

/* The pool's reference becomes the inbox's. */
void work_ended(void *arg, weft_job job)
{
  work *w = arg;
  inbox *in = weft_counted_keep(w->inbox); /* once it is in there the work may be gone */
  w->state = weft_job_state_of(w->crew->pool, job);
  inbox_put(in, w);
  weft_counted_drop(in);
}

void work_drop_loans(work *w)
{
  for (uint32_t i = 0; i < w->loan_count; i++) hold_take_back(&w->loans[i]);
  w->loan_count = 0;
}

void work_unlink(universe *U, work *w)
{
  if (w->prev)
    w->prev->after = w->after;
  else if (U->works == w)
    U->works = w->after;
  if (w->after) w->after->prev = w->prev;
  w->after = w->prev = NULL;
}

/* --- Taking in ----------------------------------------------------------------------------- */

static void take_in(universe *U, work *w)
{
  w->taken = true;
  work_drop_loans(w);
  if (w->object && w->object->line.event.waiting > 0) {
    w->asked = true;
    weft_event_fire(&w->object->line.event, 0);
  }
  /* What is to be reported stays in the list. */
  if (w->state == WEFT_JOB_FAILED && !w->asked && !w->quiet) return;
  work_unlink(U, w);
  weft_counted_drop(w);
}

void work_take_in(lua_State *L, universe *U)
{
  (void)L;
  if (!U->inbox) return;
  for (work *w = inbox_take_all(U->inbox), *next; w; w = next) {
    next = w->next;
    take_in(U, w);
  }
}

/* --- Reporting ----------------------------------------------------------------------------- */

/* -> error, traceback or nil */
static int push_failure(lua_State *L, void *context)
{
  const work *w = context;
  lua_pushnil(L);
  if (!w->output) {
    lua_pushstring(L, w->wrong ? w->wrong : "not enough memory");
  } else {
    transfer_side side = {0};
    transfer_read(L, w->output, &side);
  }
  lua_pushnil(L);
  return 3;
}

typedef struct failure_call {
  realm *realm;
  const work *work;
} failure_call;

static int report_failed(lua_State *L, void *context)
{
  failure_call *call = context;
  push_failure(L, (void *)call->work);
  return report_push_on(L, call->realm);
}

/* Takes a failure out of the list. */
static void report_one(realm *R, work *w)
{
  failure_call call = {R, w};
  w->reported = w->asked = true;
  work_unlink(R->universe, w);
  if (binding_protect(R, report_failed, &call, 0, 0) != LUA_OK) {
    fprintf(stderr, "weft: %s failed, and there was no memory to say how\n", w->name);
    lua_pop(R->universe->helper, 1);
  }
  weft_counted_drop(w);
}

/* By the world that started it; by any other, if that is gone. */
static bool reports(const realm *R, const work *w)
{
  return w->taken && (w->world == R || !world_is_there(R->universe, w->world));
}

static work *find_old(const realm *R)
{
  work *w = R->universe->works;
  while (w && !(reports(R, w) && w->age >= REPORT_AGE)) w = w->after;
  return w;
}

void work_report(realm *R)
{
  universe *U = R->universe;
  work *old;
  for (work *w = U->works, *next; w; w = next) {
    next = w->after;
    if (!reports(R, w)) continue;
    w->age++;
    if (!w->asked) continue;
    work_unlink(U, w);
    weft_counted_drop(w);
  }
  while ((old = find_old(R))) report_one(R, old);
}

/* What is left at the end of the state: nobody can be told but stderr. */
void work_fini(universe *U)
{
  work_take_in(NULL, U);
  while (U->works) {
    work *w = U->works;
    if (w->taken && !w->asked)
      fprintf(stderr, "weft: %s failed, and nobody awaited it\n", w->name);
    work_unlink(U, w);
    weft_counted_drop(w);
  }
}
