/* SPDX-License-Identifier: MIT */
/*
** forjob.h - what every side of the rows about jobs shares: the clock on the wall, the numbers to be
** computed and the check of them. Knows nothing of weft, and is read by C++ too.
*/
#ifndef BENCH_FORJOB_H
#define BENCH_FORJOB_H

#include <errno.h>
#include <sys/resource.h>

#include "measure.h"

static inline double wall_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void sleep_ns(long ns)
{
  struct timespec time = {ns / 1000000000, ns % 1000000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

static inline double cpu_ns(const struct rusage *usage)
{
  return ((double)usage->ru_utime.tv_sec + (double)usage->ru_stime.tv_sec) * 1e9 +
         ((double)usage->ru_utime.tv_usec + (double)usage->ru_stime.tv_usec) * 1e3;
}

#define atomic_add(number, more) __atomic_fetch_add(number, more, __ATOMIC_RELAXED)

/* The median of so many runs of `run(count)`, in nanoseconds; one run comes before and is not
   counted. */
static uint64_t wall_asked; /* the sum of all counts */

static inline double wall_median(void (*run)(uint64_t count), uint64_t count, int runs)
{
  static double samples[512];
  CHECK(runs <= 512);
  for (int i = -1; i < runs; i++) {
    double begin = wall_clock();
    run(count);
    wall_asked += count;
    if (i >= 0) samples[i] = wall_clock() - begin;
  }
  return measure_median(samples, (size_t)runs);
}

/* p50 and p99 of delays in nanoseconds, in units of `unit` nanoseconds. */
static inline void print_delays(double *delays, size_t count, double unit, const char *name)
{
  (void)name;
  qsort(delays, count, sizeof *delays, measure_by_value);
  measure_print("p50", delays[count / 2] / unit);
  measure_print("p99", delays[count * 99 / 100] / unit);
  measure_print("p100", delays[count - 1] / unit);
}

/* --- Fork and join ------------------------------------------------------------------------- */

static inline int64_t fib_of(int n)
{
  int64_t a = 0, b = 1;
  for (; n > 0; n--) {
    int64_t next = a + b;
    a = b;
    b = next;
  }
  return a;
}

/* How many jobs fib(n) puts out: one for each n of 2 and above. */
static inline int64_t fib_spawns(int n)
{
  return fib_of(n + 1) - 1;
}

/* --- Items --------------------------------------------------------------------------------- */

#define ITEMS 1000000

static double items[ITEMS];

/* A few nanoseconds each. */
static inline void even_items(size_t first, size_t last)
{
  for (size_t i = first; i < last; i++) items[i] = __builtin_sqrt((double)i);
}

/* From nothing to a hundred times as much, the long ones in the last tenth. */
static inline int uneven_turns(size_t i)
{
  return i >= ITEMS / 10 * 9 ? 40 : i % 16 == 0 ? 10 : 1;
}

static inline void uneven_items(size_t first, size_t last)
{
  for (size_t i = first; i < last; i++) {
    double x = (double)i;
    for (int turn = uneven_turns(i); turn; turn--) x = __builtin_sqrt(x + 1);
    items[i] = x;
  }
}

static inline void check_items(int even)
{
  for (size_t i = 0; i < ITEMS; i++) {
    double got = items[i];
    if (even) {
      even_items(i, i + 1);
    } else {
      uneven_items(i, i + 1);
    }
    CHECK(items[i] == got);
  }
}

#endif
