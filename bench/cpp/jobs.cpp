/* SPDX-License-Identifier: MIT */
/*
** jobs.cpp - the work of c/jobs.c on oneTBB: its task groups and its parallel_for.
*/
#include "../c/forjob.h"

#include <cstring>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

static void run_empty(uint64_t count)
{
  tbb::task_group group;
  for (uint64_t i = 0; i < count; i++) group.run([] {});
  group.wait();
}

static int64_t fib(int n)
{
  if (n < 2) return n;
  int64_t one = 0;
  tbb::task_group group;
  group.run([&one, n] { one = fib(n - 1); });
  int64_t two = fib(n - 2);
  group.wait();
  return one + two;
}

static void run_fib(uint64_t n)
{
  CHECK(fib(static_cast<int>(n)) == fib_of(static_cast<int>(n)));
}

static bool even;

static void run_range(uint64_t count)
{
  tbb::parallel_for(tbb::blocked_range<size_t>(0, count), [](const auto &range) {
    if (even) {
      even_items(range.begin(), range.end());
    } else {
      uneven_items(range.begin(), range.end());
    }
  });
}

int main(int argc, char **argv)
{
  CHECK(argc >= 3);
  bool is_range = !std::strcmp(argv[1], "for");
  size_t threads = is_range ? 2 : static_cast<size_t>(std::atoi(argv[3]));
  uint64_t count = std::strtoull(argv[2], nullptr, 10);
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  if (!std::strcmp(argv[1], "empty")) {
    double ns = wall_median(run_empty, count, count < 100000 ? 101 : 9);
    measure_print("ns", ns / static_cast<double>(count));
    measure_print("ms", ns / 1e6);
  } else if (!std::strcmp(argv[1], "fib")) {
    double ns = wall_median(run_fib, count, 9);
    measure_print("ns", ns / static_cast<double>(fib_spawns(static_cast<int>(count))));
  } else {
    even = !std::strcmp(argv[2], "even");
    double ns = wall_median(run_range, ITEMS, 41);
    check_items(even);
    measure_print("us", ns / 1e3);
  }
  return 0;
}
