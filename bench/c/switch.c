/* SPDX-License-Identifier: MIT */
/*
** switch.c - a native switch: one loop resumes N fibers in turn and each yields at once. Reports
** nanoseconds per one-way switch through the public calls, their checks and bookkeeping included.
**
** usage: switch N
*/
#include "measure.h"

#include "weft.h"

#define STACK_BYTES (64 * 1024)

#define CHECKED 3 /* turns of each before the clock starts */

static uint64_t entered; /* timed turns, counted by the fibers */
static uint64_t asked;   /* rounds, counted by the loop */
static bool stop;

struct ring {
  weft_fiber **fibers;
  uint32_t count;
};

/*
** The first turns are written down, to be checked. The timed ones do nothing that depends on the
** stack just switched to: such a store would measure how the processor orders memory accesses
** and not the switch.
*/
static void body(void *arg)
{
  uint64_t *turns = arg;
  for (int i = 0; i < CHECKED; i++) {
    ++*turns;
    weft_fiber_yield();
  }
  while (!stop) {
    entered++;
    weft_fiber_yield();
  }
}

static void run(void *state, uint64_t rounds)
{
  struct ring *ring = state;
  asked += rounds;
  for (uint64_t round = 0; round < rounds; round++)
    for (uint32_t i = 0; i < ring->count; i++) weft_fiber_resume(ring->fibers[i]);
}

int main(int argc, char **argv)
{
  uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 2;
  weft_fiber_pool *pool;
  struct ring ring = {calloc(count, sizeof(weft_fiber *)), count};
  uint64_t *turns = calloc(count, sizeof *turns);
  CHECK(ring.fibers && turns);
  CHECK(weft_fiber_pool_new(STACK_BYTES, count, &pool) == WEFT_OK);
  for (uint32_t i = 0; i < count; i++)
    CHECK(weft_fiber_start(pool, body, &turns[i], &ring.fibers[i]) == WEFT_OK);

  run(&ring, CHECKED);
  for (uint32_t i = 0; i < count; i++) CHECK(turns[i] == CHECKED);
  CHECK(entered == 0);
  asked = 0;
  double ns = measure_loop(run, &ring, 2.0 * count);
  CHECK(entered == asked * count);
  stop = true;
  for (uint32_t i = 0; i < count; i++) CHECK(!weft_fiber_resume(ring.fibers[i]));
  measure_print("ns", ns);
  weft_fiber_pool_delete(pool);
  free(ring.fibers);
  free(turns);
  return 0;
}
