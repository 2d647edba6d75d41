/* SPDX-License-Identifier: MIT */
/*
** switch.cpp - the work of c/switch.c on boost.context's bare jump_fcontext: no checks, no
** bookkeeping, nothing but the jump. Stacks lie in one mapping, `stride` bytes apart; by default
** an odd number of pages as weft's do, for a power of two would slow the peer down.
**
** usage: switch N [stride]
*/
#include "../c/measure.h"

#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

#define CHECKED 3 /* turns of each before the clock starts */

static uint64_t entered; /* timed turns, counted by the fibers */
static uint64_t asked;   /* rounds, counted by the loop */

struct ring {
  fcontext_t *fibers;
  uint32_t count;
};

/*
** The first turns are written down, to be checked. The timed ones do nothing that depends on the
** stack just switched to: such a store would measure how the processor orders memory accesses
** and not the switch.
*/
static void body(transfer_t from)
{
  uint64_t *turns = static_cast<uint64_t *>(from.data);
  for (int i = 0; i < CHECKED; i++) {
    ++*turns;
    from = jump_fcontext(from.fctx, nullptr);
  }
  for (;;) {
    entered++;
    from = jump_fcontext(from.fctx, nullptr);
  }
}

static void run(void *state, uint64_t rounds)
{
  ring *fibers = static_cast<ring *>(state);
  asked += rounds;
  for (uint64_t round = 0; round < rounds; round++)
    for (uint32_t i = 0; i < fibers->count; i++)
      fibers->fibers[i] = jump_fcontext(fibers->fibers[i], nullptr).fctx;
}

int main(int argc, char **argv)
{
  uint32_t count = argc > 1 ? static_cast<uint32_t>(atoi(argv[1])) : 2;
  size_t stride = argc > 2 ? static_cast<size_t>(atol(argv[2])) : 21 * 4096;
  void *stacks = mmap(nullptr, stride * count, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  CHECK(stacks != MAP_FAILED);
  CHECK(madvise(stacks, stride * count, MADV_NOHUGEPAGE) == 0);
  ring fibers = {static_cast<fcontext_t *>(calloc(count, sizeof(fcontext_t))), count};
  uint64_t *turns = static_cast<uint64_t *>(calloc(count, sizeof *turns));
  CHECK(fibers.fibers && turns);
  for (uint32_t i = 0; i < count; i++) {
    char *top = static_cast<char *>(stacks) + stride * (i + 1);
    fcontext_t fresh = make_fcontext(top, stride, body);
    fibers.fibers[i] = jump_fcontext(fresh, &turns[i]).fctx;
  }

  run(&fibers, CHECKED - 1);
  for (uint32_t i = 0; i < count; i++) CHECK(turns[i] == CHECKED);
  CHECK(entered == 0);
  asked = 0;
  double ns = measure_loop(run, &fibers, 2.0 * count);
  CHECK(entered == asked * count);
  measure_print("ns", ns);
  munmap(stacks, stride * count);
  free(fibers.fibers);
  free(turns);
  return 0;
}
