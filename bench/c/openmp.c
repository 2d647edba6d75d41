/* SPDX-License-Identifier: MIT */
/*
** openmp.c - the ranges of jobs.c as OpenMP loops on two threads: static parts where items are even,
** dynamic ones where they are not.
*/
#include <string.h>

#include "forjob.h"

static int even;

static void run_range(uint64_t count)
{
  if (even) {
#pragma omp parallel for schedule(static) num_threads(2)
    for (size_t i = 0; i < count; i++) even_items(i, i + 1);
  } else {
#pragma omp parallel for schedule(dynamic, 4096) num_threads(2)
    for (size_t i = 0; i < count; i++) uneven_items(i, i + 1);
  }
}

int main(int argc, char **argv)
{
  CHECK(argc == 3 && !strcmp(argv[1], "for"));
  even = !strcmp(argv[2], "even");
  double ns = wall_median(run_range, ITEMS, 41);
  check_items(even);
  measure_print("us", ns / 1e3);
  return 0;
}
