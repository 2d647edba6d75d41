/* SPDX-License-Identifier: MIT */
/*
** jobs_range.c - ranges of numbers, run in parts by whoever has nothing better to do.
**
** Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, PPoPP 2010): who works on a range puts
** half of what is left into its queue whenever that is empty, which means that somebody has taken the
** half before. With all threads busy there is nothing but one more entry in each queue; with a thief
** about there is always something to take, at the cost of one job for each that is taken.
*/
#include "core/jobs.h"

typedef struct course {
  weft_group group; /* of the parts that were put into queues */
  const weft_range *range;
  size_t grain;
  bool stays; /* each part goes on where it began */
} course;

typedef struct part {
  course *course;
  size_t first, last;
} part;

static weft_status run_part(void *data);

static weft_status call(const weft_range *range, size_t first, size_t last)
{
  if (range->fn) return range->fn(first, last, range->arg);
  range->kernel(first, last, range->args, range->nargs);
  return WEFT_OK;
}

static weft_status call_part(const course *all, size_t first, size_t last)
{
  weft__seat *seat = all->stays ? weft__seat_here(all->group.pool) : NULL;
  weft__strand *strand = seat ? seat->strand : NULL;
  if (strand) strand->pins++;
  weft_status status = call(all->range, first, last);
  if (strand) strand->pins--;
  return status;
}

/* Nothing of ours is waiting to be taken. */
static bool is_wanted(weft_pool *pool, uint32_t level)
{
  if (!pool->threads) return false;
  weft__seat *seat = weft__seat_here(pool);
  if (!seat) return weft__inbox_count(&pool->inboxes[level]) == 0;
  return weft__deque_count(&seat->queues[level]) == 0;
}

/* Puts the second half of what is left where others find it. What is not taken comes back in the
   wait. A full pool is no fault: then the rest is done here. */
static size_t split(course *all, size_t first, size_t last)
{
  size_t parts = (last - first + all->grain - 1) / all->grain;
  size_t middle = first + (parts + 1) / 2 * all->grain;
  part half = {all, middle, last};
  if (weft_group_run(&all->group, run_part, &half, sizeof half)) return last;
  weft__group_call(&all->group);
  return middle;
}

static weft_status run_between(course *all, size_t first, size_t last)
{
  weft_group *group = &all->group;
  weft_status status = WEFT_OK;
  while (first < last && !status && !weft_group_failed(group)) {
    if (last - first > all->grain && is_wanted(group->pool, group->level))
      last = split(all, first, last);
    size_t end = last - first > all->grain ? first + all->grain : last;
    status = call_part(all, first, end);
    if (status > 0) status = WEFT_OK;
    first = end;
  }
  if (status) weft__group_fail(group, status);
  return status;
}

static weft_status run_part(void *data)
{
  part mine = *(part *)data;
  return run_between(mine.course, mine.first, mine.last);
}

/* So that the last parts are short beside the whole, and a part long beside what it costs. */
#define PARTS_PER_THREAD 32

static size_t grain_for(const weft_pool *pool, const weft_range *range)
{
  if (range->grain) return range->grain;
  size_t grain = range->count / ((size_t)(pool->threads + 1) * PARTS_PER_THREAD);
  return grain ? grain : 1;
}

static bool makes_sense(const weft_range *range)
{
  return (range->fn != NULL) != (range->kernel != NULL) && (range->args || !range->nargs);
}

static weft_status run(weft_pool *pool, const weft_range *range, weft_job_priority priority,
                       bool may_leave, bool stays)
{
  course all = {.range = range, .grain = grain_for(pool, range), .stays = stays};
  uint32_t level;
  if (!makes_sense(range) || !weft__level_of(priority, &level)) return WEFT_INVALID;
  if (atomic_load_explicit(&pool->state, memory_order_relaxed) != POOL_OPEN)
    return WEFT_STOPPED;
  weft_group_begin(&all.group, pool, priority);
  (void)run_between(&all, 0, range->count);
  if (!may_leave || weft_group_wait(&all.group) != WEFT_OK)
    (void)weft__group_wait_asleep(&all.group);
  return weft_group_failed(&all.group);
}

weft_status weft_range_run(weft_pool *pool, const weft_range *range, weft_job_priority priority)
{
  return run(pool, range, priority, true, false);
}

weft_status weft_parallel_for(weft_pool *pool, size_t count, size_t grain, weft_kernel kernel,
                              const weft_value *args, size_t nargs)
{
  weft_range range = {
      .count = count, .grain = grain, .kernel = kernel, .args = args, .nargs = nargs};
  return run(pool, &range, WEFT_PRIORITY_NORMAL, false, false);
}

/* --- As a job ------------------------------------------------------------------------------ */

typedef struct range_job {
  weft_range range;
  bool stays;
} range_job;

_Static_assert(sizeof(range_job) <= WEFT_JOB_BYTES, "a range fits into a job");

static weft_status run_as_job(void *data)
{
  const range_job *mine = data;
  return run(weft_job_pool(), &mine->range, WEFT_PRIORITY_NORMAL, true, mine->stays);
}

weft_status weft_range_start(weft_pool *pool, const weft_range *range,
                             const weft_job_options *options, weft_job *out)
{
  if (!makes_sense(range)) return WEFT_INVALID;
  range_job mine = {*range, options && options->flags & WEFT_JOB_STAYS};
  return weft_job_submit(pool, run_as_job, &mine, sizeof mine, options, out);
}
