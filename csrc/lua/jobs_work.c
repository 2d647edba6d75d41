/* SPDX-License-Identifier: MIT */
/*
** jobs_work.c - a job's way back: ended on a thread of the pool, taken in by the state that started
** it, told to who waits, reported if nobody does.
*/
#include <stdio.h>
#include <string.h>

#include "lua/jobs.h"

/* A failure is reported when so many ticks have passed in which nobody asked for it. */
#define REPORT_AGE 2

/* --- Beginning and ending ------------------------------------------------------------------ */

static void work_end(void *object)
{
  work *w = object;
  transfer_drop(w->input);
  transfer_drop(w->output);
  weft_counted_drop(w->loans);
  weft_counted_drop(w->wrong_text);
  weft_counted_drop(w->title);
  weft_counted_drop(w->borrower);
  weft_counted_drop(w->paths);
  weft_counted_drop(w->values);
  weft_counted_drop(w->kernel);
  weft_counted_drop(w->load);
  weft_counted_drop(w->family);
  weft_counted_drop(w->parents);
  weft_counted_drop(w->inbox);
  weft_counted_drop(w->crew);
}

/* Of as many as there may be at once memory is kept for others: what was used last is in the cache, and
   to give all of it back after each burst would cost more than the jobs. */
static uint32_t max_spare(const crew *c)
{
  return c->config.capacity ? c->config.capacity : 4096;
}

static work *take_spare(universe *U)
{
  work *w = U->spare;
  U->spare = w->after;
  U->spare_count--;
  w->after = NULL;
  return w;
}

static void free_spare(universe *U)
{
  while (U->spare) weft_counted_drop(take_spare(U));
}

void work_give_back(universe *U, work *w)
{
  if (U->closed || U->spare_count >= max_spare(w->crew) || !weft_counted_is_alone(w)) {
    weft_counted_drop(w);
    return;
  }
  work_end(w);
  memset(w, 0, offsetof(work, in));
  w->after = U->spare;
  U->spare = w;
  U->spare_count++;
}

work *work_new(universe *U, crew *c, inbox *in)
{
  work *w = U->spare ? take_spare(U) : weft_counted_new(sizeof *w, work_end);
  if (!w) return NULL;
  w->crew = weft_counted_keep(c);
  w->inbox = weft_counted_keep(in);
  w->back.work = w->lost.work = w;
  return w;
}

/* Written when it is asked for, which is seldom. */
const char *work_name_of(const work *w, work_name *room)
{
  int length =
      snprintf(room->text, sizeof room->text, "job %llu", (unsigned long long)w->number);
  if (w->title)
    snprintf(room->text + length, sizeof room->text - (size_t)length, " '%s'", w->title);
  return room->text;
}

/* Who has started it may look no more: so the crew's own state gets the failure, too, and reports it
   when that job has ended and has not asked. */
static void put_lost(work *w)
{
  inbox *lost = weft_counted_keep(w->crew->lost);
  inbox_put(lost, &w->lost);
  weft_counted_drop(lost);
}

/* The pool's reference becomes the inbox's. */
void work_ended(void *arg, weft_job job)
{
  work *w = arg;
  inbox *in = weft_counted_keep(w->inbox); /* once it is in there the work may be gone */
  w->state = weft_job_state_of(w->crew->pool, job);
  bool lost = w->inner && w->state == WEFT_JOB_FAILED && !w->quiet;
  if (lost) weft_counted_keep(w);
  work_end_family(w);
  work_set_ended(w);
  inbox_put(in, &w->back);
  if (lost) put_lost(w);
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
    work_set_asked(w, true);
    weft_event_fire(&w->object->line.event, 0);
  }
  /* What is to be reported stays in the list. */
  if (w->state == WEFT_JOB_FAILED && !w->inner && !work_asked(w) && !w->quiet) return;
  work_unlink(U, w);
  work_give_back(U, w);
}

/* Takes one out of the list. */
static void drop_loss(universe *U, mail **at)
{
  mail *m = *at;
  *at = m->next;
  if (!*at) U->last_loss = at;
  weft_counted_drop(m->work);
}

/* Puts what was lost into the list; those at its head that are lost no more leave it. */
static void take_losses(universe *U)
{
  mail *m = inbox_take_all(U->lost);
  if (!m) return;
  if (!U->losses) U->last_loss = &U->losses;
  *U->last_loss = m;
  while (*U->last_loss) U->last_loss = &(*U->last_loss)->next;
  while (U->losses && work_asked(U->losses->work)) drop_loss(U, &U->losses);
}

void work_take_in(lua_State *L, universe *U)
{
  (void)L;
  if (!U->inbox) return;
  for (mail *m = inbox_take_all(U->inbox), *next; m; m = next) {
    next = m->next;
    take_in(U, m->work);
  }
  if (U->lost) take_losses(U);
}

/* --- Reporting ----------------------------------------------------------------------------- */

/* -> error, traceback or nil */
static int push_failure(lua_State *L, void *context)
{
  work *w = context;
  lua_pushnil(L);
  if (!w->output) {
    lua_pushstring(L, w->wrong ? w->wrong : "not enough memory");
  } else {
    transfer_side side = {.second = w->inner && !work_claim(w)};
    transfer_read(L, w->output, &side);
  }
  lua_pushnil(L);
  return 3;
}

typedef struct failure_call {
  realm *realm;
  work *work;
} failure_call;

static int report_failed(lua_State *L, void *context)
{
  failure_call *call = context;
  push_failure(L, call->work);
  return report_push_on(L, call->realm);
}

static void report_one(realm *R, work *w)
{
  failure_call call = {R, w};
  work_set_asked(w, true);
  if (binding_protect(R, report_failed, &call, 0, 0) != LUA_OK) {
    fprintf(stderr, "weft: %s failed, and there was no memory to say how\n",
            work_name_of(w, &(work_name){0}));
    lua_pop(R->universe->helper, 1);
  }
}

/* By the world that started it, or what has started it; by any other, if that is gone. */
static bool reports(const realm *R, const work *w)
{
  return w->world == R || !world_is_there(R->universe, w->world);
}

static work *find_old(const realm *R)
{
  work *w = R->universe->works;
  while (w && !(w->taken && reports(R, w) && w->age >= REPORT_AGE)) w = w->after;
  return w;
}

static void report_own(realm *R)
{
  universe *U = R->universe;
  work *old;
  for (work *w = U->works, *next; w; w = next) {
    next = w->after;
    if (!w->taken || !reports(R, w)) continue;
    w->age++;
    if (!work_asked(w)) continue;
    work_unlink(U, w);
    weft_counted_drop(w);
  }
  while ((old = find_old(R))) {
    work_unlink(U, old);
    report_one(R, old);
    weft_counted_drop(old);
  }
}

static mail **find_old_loss(universe *U, const realm *R)
{
  mail **at = &U->losses;
  while (*at && !(reports(R, (*at)->work) && (*at)->work->age >= REPORT_AGE)) at = &(*at)->next;
  return *at ? at : NULL;
}

/* What reports one may take in others: the list is looked through anew after each. */
static void report_losses(realm *R)
{
  universe *U = R->universe;
  mail **at = &U->losses;
  while (*at) {
    work *w = (*at)->work;
    if (reports(R, w) && work_asked(w)) {
      drop_loss(U, at);
      continue;
    }
    if (reports(R, w) && family_has_ended(w->parents)) w->age++;
    at = &(*at)->next;
  }
  while ((at = find_old_loss(U, R))) {
    work *w = weft_counted_keep((*at)->work);
    drop_loss(U, at);
    report_one(R, w);
    weft_counted_drop(w);
  }
}

void work_report(realm *R)
{
  report_own(R);
  report_losses(R);
}

static void tell_stderr(const work *w)
{
  if (work_asked(w)) return;
  fprintf(stderr, "weft: %s failed, and nobody awaited it%s%s\n",
          work_name_of(w, &(work_name){0}), w->wrong ? ": " : "", w->wrong ? w->wrong : "");
}

/* What is left at the end of the state: nobody can be told but stderr. */
void work_fini(universe *U)
{
  work_take_in(NULL, U);
  free_spare(U);
  while (U->works) {
    work *w = U->works;
    if (w->taken) tell_stderr(w);
    work_unlink(U, w);
    weft_counted_drop(w);
  }
  while (U->losses) {
    tell_stderr(U->losses->work);
    drop_loss(U, &U->losses);
  }
}
