/* SPDX-License-Identifier: MIT */
/*
** jobs_spans.c - what a pool tells a trace: jobs that have a handle, on the thread where they were at
** work. A job that is suspended is several spans.
*/
#include "core/jobs.h"
#include "core/spans.h"

void weft__stint_begins(weft__strand *strand, weft__stint *stint, weft_job job)
{
  *stint = (weft__stint){
      .outer = strand ? strand->stints : NULL, .job = job, .since = weft__clock_ns()};
  if (strand) strand->stints = stint;
}

static void tell(const weft__stint *stint, int64_t now)
{
  weft__span(WEFT_SPAN_JOB, NULL, stint->job, stint->since, now);
}

void weft__stint_ends(weft__strand *strand, const weft__stint *stint)
{
  if (strand) strand->stints = stint->outer;
  tell(stint, weft__clock_ns());
}

/* What waits is on the stack of all of them. */
void weft__stints_suspend(const weft__strand *strand)
{
  int64_t now = weft__clock_ns();
  for (const weft__stint *it = strand->stints; it; it = it->outer) tell(it, now);
}

void weft__stints_go_on(const weft__strand *strand)
{
  int64_t now = weft__clock_ns();
  for (weft__stint *it = strand->stints; it; it = it->outer) it->since = now;
}
