/* SPDX-License-Identifier: MIT */
/* jobs.h - C functions on a pool of OS threads; part of weft.h. */
#ifndef WEFT_PUBLIC_JOBS_H
#define WEFT_PUBLIC_JOBS_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Jobs ---------------------------------------------------------------------------------- */

/*
** A pool runs jobs, which are C functions, on OS threads of its own. A job may wait, for other jobs
** and for barriers: it stands on a fiber and is suspended, and its thread goes on with other jobs. It
** may go on on another thread afterwards: let no address of a thread-local variable, and no OS mutex,
** live across a wait.
**
** Unless it says otherwise, a function here may be called from any thread, from inside jobs too, and
** several worlds may share a pool. In a child of a fork the pool is gone: calls answer WEFT_STOPPED
** there, and `weft_pool_delete` frees what the child has of it. Timeouts are nanoseconds of the real
** clock from now; 0 only looks, negative is no limit.
*/

/* What "normal" is can be asked for with a zero. */
typedef enum weft_job_priority {
  WEFT_PRIORITY_NORMAL,
  WEFT_PRIORITY_CRITICAL,  /* before what is normal, but for one search in 61 */
  WEFT_PRIORITY_BACKGROUND /* on threads of its own, which the system prefers less */
} weft_job_priority;

typedef enum weft_job_state {
  WEFT_JOB_QUEUED,
  WEFT_JOB_RUNNING,
  WEFT_JOB_SUSPENDED, /* in a wait, without a thread */
  WEFT_JOB_COMPLETED,
  WEFT_JOB_FAILED,
  WEFT_JOB_CANCELLED, /* before it began */
  WEFT_JOB_EXPIRED    /* the slot belongs to a later job */
} weft_job_state;

typedef struct weft_pool_config {
  int32_t
      workers; /* threads, at most 64; 0 means one less than processors, at least 1; negative
                         none: then only who waits for a job runs it */
  int32_t background; /* threads for background jobs, at most 64; 0 means 1; negative none: then
                         the workers run those, when nothing else is to be done */
  uint32_t capacity;  /* jobs that have not ended, or are kept, 1 to 2^20; 0 means 4096 */
  size_t stack_bytes; /* of each fiber, 16 KiB to 1 GiB; 0 means 64 KiB */
  uint32_t fibers;    /* jobs that may be suspended at once, 1 to 2^16; 0 means 256 */
  uint32_t flags;     /* WEFT_POOL_... */
  /* Called on each thread of the pool when it begins and when it ends; either may be NULL. `worker`
     is its number: workers from 0, then the background threads. At its end a thread finds all that
     was done before the pool was deleted by who does that. */
  void *host;
  void (*begin)(void *host, uint32_t worker);
  void (*end)(void *host, uint32_t worker);
} weft_pool_config;

/* For those who look for faults: a suspended job always goes on on another worker than it was on. */
#define WEFT_POOL_MIGRATE 1
/* And: who waits never runs what it waits for by itself, if it can be suspended. */
#define WEFT_POOL_SUSPEND 2

/*
** Starts the threads and reserves the slots; later only stacks are mapped, when more jobs are
** suspended than ever before. WEFT_INVALID; WEFT_NOMEM, also when the system gives no threads;
** WEFT_NOSTACK, WEFT_MAPCOUNT.
*/
weft_status weft_pool_new(const weft_pool_config *config, weft_pool **out);

/*
** Stops the pool: what has not begun is cancelled, waits for jobs and barriers answer WEFT_STOPPED, as
** do further submissions; what runs is waited for. Then the threads end and the pool is freed.
** WEFT_TIMEOUT if something still runs: the pool is stopped and has to be deleted again. WEFT_BUSY
** from one of its jobs. NULL is allowed. Nobody else may use the pool once this has returned WEFT_OK,
** nor be about to.
*/
weft_status weft_pool_delete(weft_pool *pool, int64_t timeout);

/* Waits until every job that was submitted has ended. From outside jobs only, else WEFT_BUSY.
   WEFT_TIMEOUT, WEFT_STOPPED. */
weft_status weft_pool_wait_all(weft_pool *pool, int64_t timeout);

typedef struct weft_pool_stats {
  uint32_t workers;   /* threads, background ones included */
  uint32_t active;    /* of these, those that are at work now */
  uint32_t pending;   /* jobs that have not begun */
  uint32_t suspended; /* jobs in a wait */
  uint64_t completed; /* since the pool was made, as the three below */
  uint64_t failed;    /* the function answered a negative status */
  uint64_t cancelled;
  uint64_t stolen;    /* taken out of the queue of another thread */
  double average_ms;  /* time at work by ended jobs */
  double utilisation; /* time at work by time, of all threads since they began: 0 to 1 */
} weft_pool_stats;

void weft_pool_stats_get(const weft_pool *pool, weft_pool_stats *out);

/* The utilisation of one thread, by number as in `begin`; 0 where there is none. */
double weft_pool_utilisation(const weft_pool *pool, uint32_t worker);

/* --- Single jobs --------------------------------------------------------------------------- */

/*
** A job's code. `data` is the job's own copy of what it was submitted with, aligned to 16; it may
** leave its result there. It ends by returning WEFT_OK or a positive number (completed) or a negative
** status (failed).
*/
typedef weft_status (*weft_job_fn)(void *data);

/* The most bytes that are copied; a job that needs more is given a pointer to them. */
#define WEFT_JOB_BYTES 64

/* The slot stays the job's until `weft_job_release`, so that its result can be had for certain. */
#define WEFT_JOB_KEEP 1
/* Once begun it goes on on the same thread after each wait; and of a range, each part does. */
#define WEFT_JOB_STAYS 2
/* It runs on threads of the pool alone, not on one outside that waits for it. */
#define WEFT_JOB_WORKERS 4

typedef struct weft_barrier weft_barrier;
typedef struct weft_outbox weft_outbox;

typedef struct weft_job_options {
  weft_job_priority priority;
  uint32_t flags; /* WEFT_JOB_... */
  weft_barrier
      *barrier; /* one is added to it now, and released when the job has ended in any way */
  weft_outbox *outbox; /* gets the job when it has ended; as with WEFT_JOB_KEEP */
  /*
  ** Called once when the job has ended in any way, on the thread where that happened, which may be one
  ** that cancels it or stops the pool. State and result are there and stay until this returns. It must
  ** not wait. Not together with an outbox.
  */
  void (*ended)(void *arg, weft_job job);
  void *arg;
} weft_job_options;

/*
** Queues `fn` with a copy of `size` bytes at `data` (0 to WEFT_JOB_BYTES); never runs it inline. NULL
** options are all zeroes. `out` may be NULL. WEFT_FULL, also of the barrier; WEFT_STOPPED;
** WEFT_INVALID.
*/
weft_status weft_job_submit(weft_pool *pool, weft_job_fn fn, const void *data, size_t size,
                            const weft_job_options *options, weft_job *out);

/* Slots are reused oldest-ended first; then the handle is WEFT_JOB_EXPIRED, for ever. */
weft_job_state weft_job_state_of(const weft_pool *pool, weft_job job);

/* How it has ended: WEFT_OK, or the status of its function, or WEFT_CANCELLED; and the first `size`
   bytes of its data. WEFT_PENDING, WEFT_EXPIRED, WEFT_INVALID. */
weft_status weft_job_result(const weft_pool *pool, weft_job job, void *data, size_t size);

/*
** Waits until the job has ended. A job that waits for one that has not begun runs it there and then,
** while half of its own stack is free; else it is suspended. A thread outside that has all the time
** does too, unless the job has WEFT_JOB_WORKERS; else it sleeps. What is waited for takes the
** priority of who waits, if that is higher. WEFT_OK; WEFT_TIMEOUT; WEFT_EXPIRED; WEFT_OWN_JOB;
** WEFT_STOPPED; WEFT_NOFIBERS, or WEFT_NOSTACK, WEFT_NOMEM or WEFT_MAPCOUNT if no fiber could be had
** (then it did not wait); WEFT_INVALID for a timeout above 0 inside a job.
*/
weft_status weft_job_wait(weft_pool *pool, weft_job job, int64_t timeout);

/* True if it had not begun: it never will, and has ended as cancelled when this returns. */
bool weft_job_cancel(weft_pool *pool, weft_job job);

/* Gives the slot of an ended job with WEFT_JOB_KEEP, or from an outbox, free; of one that has not
   ended, it will be free when it has. Once for each such job. */
void weft_job_release(weft_pool *pool, weft_job job);

/* The running job's handle, 0 outside jobs and in jobs of groups, which have none; its pool, or NULL;
   the number of this thread as in `weft_pool_config`, -1 on threads of no pool. */
weft_job weft_job_self(void);
weft_pool *weft_job_pool(void);
int32_t weft_job_worker(void);

/* Inside a job: lets what is queued have a turn. WEFT_STOPPED after a turn while the pool is being
   stopped. WEFT_OUTSIDE elsewhere, and where the job cannot be suspended, because a thread outside runs
   it; WEFT_NOFIBERS and what stands for it above. */
weft_status weft_job_yield(void);

/* --- Groups -------------------------------------------------------------------------------- */

/*
** A group is any number of jobs that are waited for together: the cheapest way to fork and join. It
** stands in the memory of whoever begins it, most often on its stack, and belongs to that job or
** thread, which alone may wait for it. Jobs of the group may run more jobs in it.
*/
typedef struct weft_group {
  int64_t word; /* the rest is the library's */
  int64_t begun;
  weft_pool *pool;
  void *owner;
  void *waiter;
  int32_t failed;
  uint32_t level;
} weft_group;

/* Begins a group of one priority. Inside a job WEFT_PRIORITY_NORMAL means that of the job. */
void weft_group_begin(weft_group *group, weft_pool *pool, weft_job_priority priority);

/* Queues a job, as `weft_job_submit` does; there is no handle and no result but its status. */
weft_status weft_group_run(weft_group *group, weft_job_fn fn, const void *data, size_t size);

/*
** Waits until all have ended. Who waits runs jobs of the group meanwhile, its newest first, and no
** others; then it is suspended, or a thread outside sleeps. After WEFT_OK the group may be used again
** or go away. WEFT_THREAD for one that does not own it; WEFT_NOFIBERS and what stands for it in
** `weft_job_wait`: then it has not waited, and must not let the group go.
*/
weft_status weft_group_wait(weft_group *group);

/* The first negative status that a job of it returned, WEFT_CANCELLED if one did not begin, else
   WEFT_OK. After the wait. */
weft_status weft_group_failed(const weft_group *group);

/* --- Barriers ------------------------------------------------------------------------------ */

/*
** A barrier is a count that any job or thread may add to and release, and wait for to become zero; then
** all who wait go on, and what is added afterwards is a new round, which does not hold those of the
** last one. A barrier that nothing was added to lets everybody through. It must be deleted before its
** pool is; jobs that were submitted with it may still run then.
*/
weft_status weft_barrier_new(weft_pool *pool, uint32_t count, weft_barrier **out);
void weft_barrier_delete(weft_barrier *barrier); /* nobody may wait for it; NULL is allowed */

#define WEFT_BARRIER_MAX 1048575

/* WEFT_FULL beyond WEFT_BARRIER_MAX, WEFT_INVALID for 0. */
weft_status weft_barrier_add(weft_barrier *barrier, uint32_t count);
/* WEFT_INVALID if there is nothing to release. */
weft_status weft_barrier_release(weft_barrier *barrier);
/* As `weft_job_wait`, but that nothing is run meanwhile. */
weft_status weft_barrier_wait(weft_barrier *barrier, int64_t timeout);
uint32_t weft_barrier_count(const weft_barrier *barrier);
/* How often the count has come to 0, modulo 2^19: for who looks now and then. */
uint32_t weft_barrier_round(const weft_barrier *barrier);

/* --- Ranges -------------------------------------------------------------------------------- */

/* Called for parts [first, last) of a range. A negative status ends it: no further part begins. */
typedef weft_status (*weft_range_fn)(size_t first, size_t last, void *arg);

/* The numbers 0 to count - 1, each in exactly one part of at most `grain` of them; 0 means that the
   pool decides. Either `fn`, or a kernel with its arguments, which must stay where they are. */
typedef struct weft_range {
  size_t count;
  size_t grain;
  weft_range_fn fn;
  void *arg;
  weft_kernel kernel;
  const weft_value *args;
  size_t nargs;
} weft_range;

/*
** Runs a range, the caller taking part, and waits until it is done. Threads that have nothing to do
** take halves of what is left of the others' (lazy binary splitting: Tzannes, Caragea, Barua and
** Vishkin, PPoPP 2010). WEFT_OK, or the first negative status of a part; WEFT_INVALID, WEFT_STOPPED;
** and if a fiber cannot be had to wait on, the thread sleeps.
*/
weft_status weft_range_run(weft_pool *pool, const weft_range *range,
                           weft_job_priority priority);

/* The same as a job, whose status is that of the range. */
weft_status weft_range_start(weft_pool *pool, const weft_range *range,
                             const weft_job_options *options, weft_job *out);

/* --- Outboxes ------------------------------------------------------------------------------ */

/*
** Where one consumer, such as a world, collects the jobs that have ended: each exactly once, those of a
** thread in the order in which they ended. It is never full and allocates nothing. `wake`, if not NULL,
** is called on the thread that ended a job when the outbox was empty; it must not wait.
*/
weft_status weft_outbox_new(weft_pool *pool, void (*wake)(void *arg), void *arg,
                            weft_outbox **out);

/* The next job that has ended, to be released with `weft_job_release`; false if there is none now. One
   thread at a time. */
bool weft_outbox_take(weft_outbox *outbox, weft_job *out);

/* What is in it, or comes later, is released by itself. Before the pool is deleted, by the thread that
   takes; NULL is allowed. */
void weft_outbox_delete(weft_outbox *outbox);

#ifdef __cplusplus
}
#endif

#endif
