/* SPDX-License-Identifier: MIT */
/*
** jobs.c - the job pool: what a job costs, how fast work is shared, how soon it begins. Times are those
** of the clock on the wall, for more than one thread is at work.
**
**   jobs empty COUNT THREADS      so many jobs that do nothing, from one producer who waits for them
**   jobs fib N THREADS [suspend]  fork and join; every wait suspended if asked for
**   jobs for even|uneven          a parallel_for over a million items, on two threads
**   jobs wake                     from posting a job to a parked pool until it runs
**   jobs idle                     processor time of a pool with nothing to do
**   jobs critical short|long      from posting a critical job behind background work until it runs
*/
#include <string.h>
#include <sys/resource.h>

#include "forjob.h"
#include "weft.h"

static weft_pool *pool;

/* `threads` in all, the caller among them. */
static void make_pool(int threads, uint32_t capacity, uint32_t flags)
{
  weft_pool_config config = {
      .workers = threads > 1 ? threads - 1 : -1,
      .background = -1,
      .capacity = capacity,
      .fibers = 4096,
      .flags = flags,
  };
  CHECK(weft_pool_new(&config, &pool) == WEFT_OK);
}

/* --- Empty jobs ---------------------------------------------------------------------------- */

static _Atomic uint64_t ran;

static weft_status nothing(void *data)
{
  (void)data;
  return WEFT_OK;
}

static void run_empty(uint64_t count)
{
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  for (uint64_t i = 0; i < count; i++)
    CHECK(weft_group_run(&group, nothing, NULL, 0) == WEFT_OK);
  CHECK(weft_group_wait(&group) == WEFT_OK);
}

static void empty(uint64_t count, int threads)
{
  make_pool(threads, count < 4096 ? 4096 : (uint32_t)count, 0);
  double ns = wall_median(run_empty, count, count < 100000 ? 101 : 9);
  weft_pool_stats stats;
  weft_pool_stats_get(pool, &stats);
  CHECK(stats.completed == wall_asked && stats.pending == 0);
  measure_print("ns", ns / (double)count);
  measure_print("ms", ns / 1e6);
}

/* --- Fork and join ------------------------------------------------------------------------- */

typedef struct fib {
  int n;
  int64_t *result;
} fib;

static weft_status fib_run(void *data)
{
  const fib *mine = data;
  if (mine->n < 2) {
    *mine->result = mine->n;
    return WEFT_OK;
  }
  int64_t one, two, *result = mine->result;
  fib first = {mine->n - 1, &one}, second = {mine->n - 2, &two};
  weft_group group;
  weft_group_begin(&group, pool, WEFT_PRIORITY_NORMAL);
  CHECK(weft_group_run(&group, fib_run, &first, sizeof first) == WEFT_OK);
  fib_run(&second);
  CHECK(weft_group_wait(&group) == WEFT_OK);
  *result = one + two;
  return WEFT_OK;
}

static void run_fib(uint64_t n)
{
  int64_t result = -1;
  fib root = {(int)n, &result};
  weft_job_options inside = {.flags = WEFT_JOB_WORKERS};
  weft_job job;
  weft_pool_stats stats;
  weft_pool_stats_get(pool, &stats);
  if (stats.workers < 2) inside.flags = 0;
  CHECK(weft_job_submit(pool, fib_run, &root, sizeof root, &inside, &job) == WEFT_OK);
  CHECK(weft_job_wait(pool, job, -1) == WEFT_OK);
  CHECK(result == fib_of((int)n));
}

/* With two threads both are the pool's, and the caller sleeps: a wait of its own cannot be suspended. */
static void fork_join(int n, int threads, bool suspend)
{
  make_pool(threads > 1 ? threads + 1 : suspend ? 2 : 1, 0, suspend ? WEFT_POOL_SUSPEND : 0);
  double ns = wall_median(run_fib, (uint64_t)n, 9);
  measure_print("ns", ns / (double)fib_spawns(n));
}

/* --- Ranges -------------------------------------------------------------------------------- */

static weft_status even_part(size_t first, size_t last, void *arg)
{
  (void)arg;
  even_items(first, last);
  return WEFT_OK;
}

static weft_status uneven_part(size_t first, size_t last, void *arg)
{
  (void)arg;
  uneven_items(first, last);
  return WEFT_OK;
}

static weft_range_fn range_fn;

static void run_range(uint64_t count)
{
  weft_range range = {.count = count, .fn = range_fn};
  CHECK(weft_range_run(pool, &range, WEFT_PRIORITY_NORMAL) == WEFT_OK);
}

static void ranges(bool even)
{
  make_pool(2, 0, 0);
  range_fn = even ? even_part : uneven_part;
  double ns = wall_median(run_range, ITEMS, 41);
  check_items(even);
  measure_print("us", ns / 1e3);
}

/* --- How soon ------------------------------------------------------------------------------ */

static weft_status note_time(void *data)
{
  double *begun = *(double **)data;
  __atomic_store(begun, &(double){wall_clock()}, __ATOMIC_RELEASE);
  return WEFT_OK;
}

/* Nanoseconds from now until the job that is posted now has begun. Nobody waits for it by spinning. */
static double delay_of(const weft_job_options *options)
{
  double begun = 0, *where = &begun;
  weft_job job;
  double posted = wall_clock();
  CHECK(weft_job_submit(pool, note_time, &where, sizeof where, options, &job) == WEFT_OK);
  CHECK(weft_job_wait(pool, job, -1) == WEFT_OK);
  CHECK(begun >= posted);
  return begun - posted;
}

static void wake(void)
{
  enum { POSTS = 2000 };
  static double delays[POSTS];
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  make_pool(3, 0, 0);
  for (int i = 0; i < POSTS; i++) {
    sleep_ns(1000000);
    delays[i] = delay_of(&options);
  }
  print_delays(delays, POSTS, 1e3, "us");
}

static void idle(void)
{
  struct rusage before, after;
  make_pool(3, 0, 0);
  run_empty(1000);
  sleep_ns(100000000);
  double begin = wall_clock();
  getrusage(RUSAGE_SELF, &before);
  sleep_ns(3000000000);
  getrusage(RUSAGE_SELF, &after);
  double used = cpu_ns(&after) - cpu_ns(&before);
  measure_print("percent", used / (wall_clock() - begin) * 100);
}

static weft_status work(void *data)
{
  double end = wall_clock() + *(double *)data;
  while (wall_clock() < end) {
  }
  atomic_add(&ran, 1);
  return WEFT_OK;
}

/* Behind 1,000 jobs of a millisecond, or 20 of 200 milliseconds. */
static void critical(bool is_long)
{
  enum { POSTS = 200 };
  static double delays[POSTS];
  double length = is_long ? 200e6 : 1e6;
  weft_job_options background = {.priority = WEFT_PRIORITY_BACKGROUND};
  weft_job_options urgent = {.priority = WEFT_PRIORITY_CRITICAL, .flags = WEFT_JOB_WORKERS};
  CHECK(weft_pool_new(NULL, &pool) == WEFT_OK);
  for (int i = 0; i < (is_long ? 20 : 1000); i++)
    CHECK(weft_job_submit(pool, work, &length, sizeof length, &background, NULL) == WEFT_OK);
  for (int i = 0; i < POSTS; i++) {
    sleep_ns(i % 2 ? 3141592 : 1618033);
    delays[i] = delay_of(&urgent);
  }
  weft_pool_stats stats;
  weft_pool_stats_get(pool, &stats);
  CHECK(stats.pending > 0); /* or it was not behind anything */
  print_delays(delays, POSTS, 1e6, "ms");
  CHECK(weft_pool_delete(pool, -1) == WEFT_OK);
  pool = NULL;
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  const char *how = argc > 2 ? argv[2] : "";
  if (!strcmp(what, "empty") && argc == 4) {
    empty(strtoull(how, NULL, 10), atoi(argv[3]));
  } else if (!strcmp(what, "fib") && argc >= 4) {
    fork_join(atoi(how), atoi(argv[3]), argc > 4);
  } else if (!strcmp(what, "for")) {
    ranges(!strcmp(how, "even"));
  } else if (!strcmp(what, "wake")) {
    wake();
  } else if (!strcmp(what, "idle")) {
    idle();
  } else if (!strcmp(what, "critical")) {
    critical(!strcmp(how, "long"));
  } else {
    return 2;
  }
  return weft_pool_delete(pool, -1);
}
