/* SPDX-License-Identifier: MIT */
/*
** measure.h - what every C and C++ side of a bench row shares: the calibrated loop, the checks, the
** printed result. Knows nothing of weft. As in lua/measure.lua, times are processor time.
*/
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A check that fails ends the program: a wrong program has no speed. */
#define CHECK(cond)                                                                            \
  do {                                                                                         \
    if (!(cond)) {                                                                             \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond);                 \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

static inline double measure_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Prints one result; the driver reads lines of "key number". */
static inline void measure_print(const char *key, double number)
{
  printf("%s %.17g\n", key, number);
}

typedef void (*measure_run)(void *state, uint64_t rounds);

static inline double measure_time(measure_run run, void *state, uint64_t rounds)
{
  double begin = measure_clock();
  run(state, rounds);
  return measure_clock() - begin;
}

static inline int measure_by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The smallest element but for half of them. Sorts. */
static inline double measure_median(double *samples, size_t count)
{
  qsort(samples, count, sizeof *samples, measure_by_value);
  return samples[count / 2];
}

/* Nanoseconds per operation: the median of five batches, each of as many rounds of `ops`
   operations as take about 25 ms. */
static inline double measure_loop(measure_run run, void *state, double ops)
{
  const double target = 25e6;
  uint64_t rounds = 1;
  double taken, samples[5];
  while ((taken = measure_time(run, state, rounds)) < target / 4) rounds *= 2;
  rounds = (uint64_t)((double)rounds * target / taken);
  if (rounds == 0) rounds = 1;
  for (int i = 0; i < 5; i++)
    samples[i] = measure_time(run, state, rounds) / ((double)rounds * ops);
  return measure_median(samples, 5);
}

/* xorshift64*: the same numbers on every side. */
static inline uint64_t measure_random(uint64_t *state)
{
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

#endif
