/* SPDX-License-Identifier: MIT */
/*
** pool.h - what a unit about jobs stands on: a pool around each test, whose workers can be held.
*/
#ifndef WEFT_SPEC_POOL_H
#define WEFT_SPEC_POOL_H

#include "unit.h"

/* The pool of the test that runs: POOL_WORKERS workers and one background thread. */
extern weft_pool *pool;
#define POOL_WORKERS 2

/* For set-up and tear-down. The latter fails if the pool was not sound at rest, did not stop in a
   hundred seconds, or left memory or pages behind. */
int make_pool(void **state);
int drop_pool(void **state);

/* The same with a pool of one's own. */
int make_pool_like(const weft_pool_config *config);

/* Jobs that occupy the workers from when this returns until they are released. */
void hold_threads(void);
void release_threads(void);
weft_job held_job(void);   /* one of them */
uint32_t held_count(void); /* how many there were in this test */

/* Waits, a hundred seconds at most, until every job has ended and every thread has gone to sleep. */
void settle(void);

weft_status nothing(void *data);        /* a job that does nothing */
weft_status add_to_counter(void *data); /* one that adds 1 to the atomic_int it is given */
weft_status wait_at_gate(void *data);   /* one that waits for the barrier it is given */
weft_job submit(weft_job_fn fn);
weft_job submit_with(weft_job_fn fn, const void *data, size_t size,
                     const weft_job_options *options);
/* Runs `fn` as a job on a thread of the pool, and gives its status back. */
weft_status run_as_job(weft_job_fn fn, const void *data, size_t size);
weft_pool_stats pool_stats(void);

#endif
