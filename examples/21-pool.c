/* SPDX-License-Identifier: MIT */
/*
** 21-pool.c - work on other threads: jobs that wait for jobs, a barrier, priorities, a range.
**
**   make examples && build/release/examples/21-pool
*/
#include <stdio.h>
#include "weft.h"

static weft_pool *pool;

typedef struct sum {
  int first, last; /* numbers to add up */
  long result;
} sum;

/* Halves its work until it is small. What it waits for it runs itself, unless another thread has taken
   it: then the job is suspended, and its thread does something else. */
static weft_status add_up(void *data)
{
  sum *mine = data;
  if (mine->last - mine->first <= 1000) {
    for (int i = mine->first; i < mine->last; i++) mine->result += i;
    return WEFT_OK;
  }
  int middle = mine->first + (mine->last - mine->first) / 2;
  sum right = {middle, mine->last, 0}, left = {mine->first, middle, 0};
  weft_job_options keep = {.flags = WEFT_JOB_KEEP};
  weft_job job;
  weft_status status = weft_job_submit(pool, add_up, &right, sizeof right, &keep, &job);
  if (!status) status = add_up(&left);
  if (!status) status = weft_job_wait(pool, job, -1);
  if (!status) status = weft_job_result(pool, job, &right, sizeof right);
  weft_job_release(pool, job); /* until then its result is there */
  mine->result = left.result + right.result;
  return status;
}

/* `data` is the job's own copy of what it was given. */
static weft_status bake(void *data)
{
  int *loaf = *(int **)data;
  *loaf += 1;
  return WEFT_OK;
}

static weft_status square(size_t first, size_t last, void *numbers)
{
  for (size_t i = first; i < last; i++) ((double *)numbers)[i] = (double)i * (double)i;
  return WEFT_OK;
}

int main(void)
{
  static double numbers[100000];
  sum all = {0, 1000000, 0};
  weft_barrier *oven;
  weft_job job;
  int loaves[5] = {0}, baked = 0;
  if (weft_pool_new(NULL, &pool) || weft_barrier_new(pool, 0, &oven)) return 1;

  weft_job_submit(pool, add_up, &all, sizeof all, NULL, &job);
  weft_job_wait(pool, job, -1);
  weft_job_result(pool, job, &all, sizeof all);
  printf("the sum is %ld\n", all.result);

  /* Each job holds the barrier until it has ended in any way. */
  weft_job_options late = {.priority = WEFT_PRIORITY_BACKGROUND, .barrier = oven};
  weft_job_options soon = {.priority = WEFT_PRIORITY_CRITICAL, .barrier = oven};
  for (int i = 0; i < 5; i++) {
    int *loaf = &loaves[i];
    weft_job_submit(pool, bake, &loaf, sizeof loaf, i < 4 ? &late : &soon, NULL);
  }
  weft_barrier_wait(oven, -1);
  for (int i = 0; i < 5; i++) baked += loaves[i];
  printf("%d loaves are baked\n", baked);

  weft_range range = {.count = 100000, .fn = square, .arg = numbers};
  weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL);
  printf("317 squared is %.0f\n", numbers[317]);

  weft_barrier_delete(oven);
  return weft_pool_delete(pool, -1);
}
/* Output:
the sum is 499999500000
5 loaves are baked
317 squared is 100489
*/
