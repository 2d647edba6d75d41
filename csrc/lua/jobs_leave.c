/* SPDX-License-Identifier: MIT */
/*
** jobs_leave.c - around each wait of a thread or a job: what must not wait, and who goes on.
**
** Several jobs are under way on a thread at once, and all but one of them wait. The thread remembers
** that one: a job that waits says so again when it goes on.
*/
#include "lua/jobs.h"

static int try_in_finalizer(lua_State *L)
{
  compat_refuse_finalizer(L);
  return 0;
}

/* Whether the lender has lent to the work, itself or through others. Loans stay as they are while who
   has borrowed runs, and lenders do not end before. */
static bool has_lent_to(const work *lender, const work *w)
{
  const work *last = NULL;
  for (uint32_t i = 0; i < w->loan_count; i++) {
    const work *from = w->loans[i].from->job;
    if (!from || from == last) continue;
    if (from == lender || has_lent_to(lender, from)) return true;
    last = from;
  }
  return false;
}

job_run *jobs_leave(lua_State *L, const work *for_end_of, const char *who)
{
  const worker *me = binding_universe(L)->worker;
  if (compat_perhaps_in_finalizer(L)) {
    lua_pushcfunction(L, try_in_finalizer);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK)
      binding_misuse(L, "%s: not allowed in a finalizer (__gc)", who);
  }
  if (me && me->running && for_end_of && has_lent_to(for_end_of, me->running->work))
    binding_misuse(L,
                   "%s: %s has lent buffers to this job, and ends after it: neither would end",
                   who, work_name_of(for_end_of, &(work_name){0}));
  compat_abort_recording(L);
  if (!me || !me->running) return NULL;
  me->running->awaits = for_end_of;
  return me->running;
}

void jobs_return(lua_State *L, job_run *mine, weft_status status, const char *who)
{
  worker *me = binding_universe(L)->worker;
  if (me) me->running = mine;
  if (mine) mine->awaits = NULL;
  compat_before_throw(L);
  if (status == WEFT_OK || status == WEFT_TIMEOUT) return;
  if (!me || status != WEFT_STOPPED) binding_failed(L, who, status);
  binding_push_cancelled(L);
  lua_error(L);
}
