/* SPDX-License-Identifier: MIT */
/*
** allocations.c - counts the C heap operations of a world in use: a million starts, waits, wakes,
** joins and cancels after it was made. The allocator's own names are defined here, so that every
** call of the library, and of the C library for it, is seen.
*/
#define _GNU_SOURCE
#include "measure.h"

#include <stdbool.h>
#include <string.h>

#include "weft.h"

#define CAPACITY 4096
#define OPERATIONS 1000000
#define SECOND INT64_C(1000000000)

/* --- The interposer ---------------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

/* Volatile, for compilers believe that malloc and free read and write nothing of the program. */
static volatile bool counting;
static volatile uint64_t heap_operations;

static inline void note(void)
{
  if (counting) heap_operations++;
}

void *malloc(size_t size)
{
  note();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  note();
  return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
  note();
  return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
  note();
  return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
  note();
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : 12; /* ENOMEM */
}

void free(void *block)
{
  if (block) note();
  __libc_free(block);
}

/* The interposer must see what it claims to see, or a count of 0 means nothing. */
static void check_interposer(void)
{
  counting = true;
  char *volatile copy = strdup("seen");
  free(copy);
  counting = false;
  CHECK(heap_operations == 2);
  heap_operations = 0;
}

/* --- The work ----------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;
static uint64_t starts, waits, joins, cancels;
static weft_handle handles[CAPACITY]; /* of the latest starts */
static uint32_t next_handle;

static uint64_t dice(uint64_t sides)
{
  return measure_random(&random_state) % sides;
}

/* What a compact routine keeps from one entry to the next. */
struct life {
  uint32_t entered;
};

static weft_status compact(weft_routine *self, void *arg)
{
  (void)arg;
  struct life *life = weft_routine_record(self);
  if (life->entered++ > 0 && weft_woken(self) == WEFT_CANCELLED) return WEFT_CANCELLED;
  if (life->entered == 8) return WEFT_OK;
  waits++;
  weft_world *world = weft_world_ticking();
  weft_status status = dice(3) ? weft_arm_wait(world, self, (int64_t)dice(SECOND / 4))
                               : weft_arm_next_tick(world, self);
  return status == WEFT_OK ? WEFT_PARKED : status;
}

static weft_status pinned(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  for (int i = 0; i < 8; i++) {
    weft_status status;
    uint64_t kind = dice(4);
    if (kind == 0) {
      joins++;
      status = weft_join(handles[dice(CAPACITY)], SECOND / 8);
    } else {
      waits++;
      status = kind == 1 ? weft_next_tick() : weft_wait((int64_t)dice(SECOND / 4));
    }
    if (status == WEFT_CANCELLED) return status;
  }
  return WEFT_OK;
}

/* Up to 64 starts, half of them of routines that keep their stacks, then two cancels. */
static void stir(weft_world *world)
{
  for (int i = 0; i < 64; i++) {
    weft_handle handle;
    weft_status status = weft_routine_start(world, dice(2) ? compact : pinned, NULL, &handle);
    if (status == WEFT_FULL) break;
    CHECK(status == WEFT_OK);
    starts++;
    handles[next_handle++ % CAPACITY] = handle;
  }
  for (int i = 0; i < 2; i++) cancels += weft_cancel(world, handles[dice(CAPACITY)]);
}

/* Cancels whoever is alive and runs them all to their ends. */
static void empty(weft_world *world)
{
  uint32_t cursor = 0;
  weft_routine *routine;
  while ((routine = weft_routine_each(world, &cursor)) != NULL)
    cancels += weft_routine_cancel(world, routine);
  uint64_t resumed;
  for (int i = 0; i < 4; i++) CHECK(weft_world_tick(world, 1.0 / 64, &resumed) == WEFT_OK);
}

/* The counters of the world agree with what was asked of it. */
static void check_stats(const weft_world *world)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  CHECK(stats.active == 0 && stats.sleeping == 0 && stats.ready == 0 && stats.pinned == 0);
  CHECK(stats.started == starts && stats.failed == 0);
  CHECK(stats.completed + stats.cancelled == starts);
  CHECK(stats.completed > 0 && stats.cancelled > 0 && stats.cancelled <= cancels);
}

int main(void)
{
  check_interposer();
  weft_world_config config = {.capacity = CAPACITY, .record_bytes = sizeof(struct life)};
  weft_world *world;
  CHECK(weft_world_new(NULL, &world) == WEFT_OK);
  CHECK(weft_world_configure(world, &config) == WEFT_OK);

  counting = true;
  uint64_t resumed, wakes = 0;
  while (starts + waits + wakes + joins + cancels < OPERATIONS) {
    stir(world);
    CHECK(weft_world_tick(world, 1.0 / 64, &resumed) == WEFT_OK);
    wakes += resumed;
  }
  empty(world);
  counting = false;

  check_stats(world);
  CHECK(weft_world_delete(world) == WEFT_OK);
  measure_print("operations", (double)(starts + waits + wakes + joins + cancels));
  measure_print("allocations", (double)heap_operations);
  return 0;
}
