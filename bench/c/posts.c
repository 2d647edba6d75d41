/* SPDX-License-Identifier: MIT */
/*
** posts.c - posts from another thread to a world that ticks without pause; with -DBARE to a queue
** under a mutex whose reader takes all that is there at once, which is what a host writes by hand.
**
** Prints nanoseconds per post when the other thread posts as fast as it can, and the median and the
** 99th percentile of nanoseconds from a single post to its run. Wall time: two threads take part.
*/
#define _GNU_SOURCE
#include "measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define STORM 2000000
#define SINGLES 20000
#define PAUSE_NS 20000

static int64_t wall(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- The two sides ------------------------------------------------------------------------- */

#ifdef BARE

typedef struct call {
  void (*fn)(void *arg);
  void *arg;
} call;

static struct {
  pthread_mutex_t lock;
  call *items;
  size_t count, size;
} incoming = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void open_side(void) {}

static void post(void (*fn)(void *arg), void *arg)
{
  pthread_mutex_lock(&incoming.lock);
  if (incoming.count == incoming.size) {
    incoming.size = incoming.size ? incoming.size * 2 : 64;
    incoming.items = realloc(incoming.items, incoming.size * sizeof(call));
    CHECK(incoming.items);
  }
  incoming.items[incoming.count++] = (call){fn, arg};
  pthread_mutex_unlock(&incoming.lock);
}

static void tick(void)
{
  static call *spare;
  static size_t spare_size;
  pthread_mutex_lock(&incoming.lock);
  call *items = incoming.items;
  size_t count = incoming.count, size = incoming.size;
  incoming.items = spare;
  incoming.size = spare_size;
  incoming.count = 0;
  pthread_mutex_unlock(&incoming.lock);
  for (size_t i = 0; i < count; i++) items[i].fn(items[i].arg);
  spare = items;
  spare_size = size;
}

#else

#include "weft.h"

static weft_world *world;

static void open_side(void)
{
  weft_world_config config = {.capacity = 1, .posts_per_tick = UINT32_MAX};
  CHECK(weft_world_new(&config, &world) == WEFT_OK);
}

static void post(void (*fn)(void *arg), void *arg)
{
  weft_status status;
  while ((status = weft_world_post(world, fn, arg, WEFT_NORMAL)) == WEFT_FULL) {
  }
  CHECK(status == WEFT_OK);
}

static void tick(void)
{
  CHECK(weft_world_tick(world, 0, NULL) == WEFT_OK);
}

#endif

/* --- What is measured ---------------------------------------------------------------------- */

static uint64_t ran;
static int64_t sent[SINGLES];
static double taken[SINGLES];

static void run_one(void *arg)
{
  CHECK((uintptr_t)arg == ran);
  ran++;
}

static void *post_storm(void *arg)
{
  for (uintptr_t i = 0; i < STORM; i++) post(run_one, (void *)i);
  return arg;
}

static double storm(void)
{
  pthread_t thread;
  ran = 0;
  int64_t begin = wall();
  CHECK(pthread_create(&thread, NULL, post_storm, NULL) == 0);
  while (ran < STORM) tick();
  int64_t end = wall();
  pthread_join(thread, NULL);
  return (double)(end - begin) / STORM;
}

static void run_timed(void *arg)
{
  CHECK((uintptr_t)arg == ran);
  taken[ran] = (double)(wall() - sent[ran]);
  ran++;
}

static void *post_singles(void *arg)
{
  for (uintptr_t i = 0; i < SINGLES; i++) {
    sent[i] = wall();
    post(run_timed, (void *)i);
    while (wall() < sent[i] + PAUSE_NS) {
    }
  }
  return arg;
}

static void singles(void)
{
  pthread_t thread;
  ran = 0;
  CHECK(pthread_create(&thread, NULL, post_singles, NULL) == 0);
  while (ran < SINGLES) tick();
  pthread_join(thread, NULL);
  qsort(taken, SINGLES, sizeof *taken, measure_by_value);
}

int main(void)
{
  double storms[5];
  open_side();
  for (int i = 0; i < 5; i++) storms[i] = storm();
  singles();
  measure_print("ns", measure_median(storms, 5));
  measure_print("median", taken[SINGLES / 2]);
  measure_print("high", taken[SINGLES * 99 / 100]);
  return 0;
}
