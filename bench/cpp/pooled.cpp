/* SPDX-License-Identifier: MIT */
/*
** pooled.cpp - the work of c/pooled.c on boost::context::fiber with its pooled stacks.
*/
#include "../c/measure.h"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

namespace ctx = boost::context;

static uint64_t finished;
static uint64_t asked;

static void run(void *state, uint64_t rounds)
{
  ctx::pooled_fixedsize_stack &pool = *static_cast<ctx::pooled_fixedsize_stack *>(state);
  uint64_t one = 1;
  for (uint64_t round = 0; round < rounds; round++) {
    ctx::fiber fiber(std::allocator_arg, pool, [&one](ctx::fiber &&from) {
      finished += one;
      return std::move(from);
    });
    fiber = std::move(fiber).resume();
    CHECK(!fiber);
  }
}

static void counted_run(void *state, uint64_t rounds)
{
  asked += rounds;
  run(state, rounds);
}

int main()
{
  ctx::pooled_fixedsize_stack pool(64 * 1024);
  run(&pool, 10);
  CHECK(finished == 10);
  finished = 0;
  double ns = measure_loop(counted_run, &pool, 1);
  CHECK(finished == asked);
  measure_print("ns", ns);
  return 0;
}
