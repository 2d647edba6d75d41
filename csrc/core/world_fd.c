/* SPDX-License-Identifier: MIT */
/*
** world_fd.c - waits for descriptors: asked for once a tick, by one poll for all of the world.
**
** Each descriptor that is waited for has an event for reading and one for writing, and a place in
** the array that is polled; with the last waiter it goes. A poll asks anew each time what the number
** means, so a descriptor that was closed is noticed, and nothing is left behind in the system.
*/
#include "core/world_fd.h"

#include <string.h>

#include "core/sched_joins.h"
#include "core/world.h"
#include "platform/system.h"

#define NONE 0
#define BLOCK 32

/* --- Room ---------------------------------------------------------------------------------- */

static weft__fd *at(const weft__fds *fds, uint32_t number)
{
  return &fds->blocks[(number - 1) / BLOCK][(number - 1) % BLOCK];
}

void weft__fds_fini(weft__fds *fds)
{
  for (uint32_t i = 0; i < fds->block_count; i++) weft__free(fds->blocks[i]);
  weft__free(fds->blocks);
  weft__free(fds->by_fd);
  weft__free(fds->polled);
  weft__free(fds->numbers);
  *fds = (weft__fds){0};
}

/* A larger array with what was in the old one, the rest zeroed; NULL without memory. */
static void *grown(void *array, uint32_t old, uint32_t size, size_t each)
{
  void *larger = weft__calloc(size, each);
  if (!larger) return NULL;
  if (old > 0) memcpy(larger, array, old * each);
  weft__free(array);
  return larger;
}

static bool reserve_number(weft__fds *fds)
{
  if (fds->free != NONE) return true;
  weft__fd **blocks =
      grown(fds->blocks, fds->block_count, fds->block_count + 1, sizeof *fds->blocks);
  if (!blocks) return false;
  fds->blocks = blocks;
  weft__fd *block = weft__calloc(BLOCK, sizeof *block);
  if (!block) return false;
  blocks[fds->block_count] = block;
  for (uint32_t i = BLOCK; i-- > 0;) {
    block[i].fds = fds;
    block[i].number = fds->block_count * BLOCK + i + 1;
    block[i].next = fds->free;
    fds->free = block[i].number;
  }
  fds->block_count++;
  return true;
}

static bool reserve_fd(weft__fds *fds, uint32_t fd)
{
  if (fd < fds->by_fd_size) return true;
  uint32_t size = fds->by_fd_size > 0 ? fds->by_fd_size : 64;
  while (size <= fd) size *= 2;
  uint32_t *by_fd = grown(fds->by_fd, fds->by_fd_size, size, sizeof *by_fd);
  if (!by_fd) return false;
  fds->by_fd = by_fd;
  fds->by_fd_size = size;
  return true;
}

static bool reserve_place(weft__fds *fds)
{
  if (fds->count < fds->size) return true;
  uint32_t size = fds->size > 0 ? fds->size * 2 : 16;
  struct pollfd *polled = grown(fds->polled, fds->count, size, sizeof *polled);
  if (!polled) return false;
  fds->polled = polled;
  uint32_t *numbers = grown(fds->numbers, fds->count, size, sizeof *numbers);
  if (!numbers) return false;
  fds->numbers = numbers;
  fds->size = size;
  return true;
}

/* --- Coming and going ---------------------------------------------------------------------- */

static void close_holes(weft__fds *fds)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fds->count; i++) {
    if (fds->numbers[i] == NONE) continue;
    fds->polled[kept] = fds->polled[i];
    fds->numbers[kept] = fds->numbers[i];
    at(fds, fds->numbers[kept])->place = kept;
    kept++;
  }
  fds->count = kept;
  fds->holes = 0;
}

/* What is asked of it follows from who waits; with nobody left it goes. Harmless when it has gone. */
static void follow(weft__fd *fd)
{
  if (fd->fd < 0) return;
  weft__fds *fds = fd->fds;
  struct pollfd *polled = &fds->polled[fd->place];
  polled->events = (short)((fd->events[WEFT_READ].first ? POLLIN : 0) |
                           (fd->events[WEFT_WRITE].first ? POLLOUT : 0));
  if (polled->events) return;
  polled->fd = -1;
  polled->revents = 0;
  fds->numbers[fd->place] = NONE;
  fds->holes++;
  fds->by_fd[fd->fd] = NONE;
  fd->fd = -1;
  fd->next = fds->free;
  fds->free = fd->number;
}

/* Cancelled, out of time, or told that it is closed. `value` is the descriptor. */
static void left(weft_event *event, uint64_t value)
{
  (void)event;
  follow((weft__fd *)(uintptr_t)value);
}

static const weft_event_hooks hooks = {.left = left};

/* The descriptor, made if need be; NULL without memory. */
static weft__fd *need(weft__fds *fds, int number)
{
  if (!reserve_fd(fds, (uint32_t)number)) return NULL;
  if (fds->by_fd[number] != NONE) return at(fds, fds->by_fd[number]);
  if (fds->holes > fds->count / 2) close_holes(fds);
  if (!reserve_number(fds) || !reserve_place(fds)) return NULL;
  weft__fd *fd = at(fds, fds->free);
  fds->free = fd->next;
  fd->fd = number;
  fd->place = fds->count;
  for (int mode = 0; mode < 2; mode++) fd->events[mode].hooks = &hooks;
  fds->numbers[fds->count] = fd->number;
  fds->polled[fds->count++] = (struct pollfd){.fd = number};
  fds->by_fd[number] = fd->number;
  return fd;
}

/* --- Waiting ------------------------------------------------------------------------------- */

weft_status weft_arm_fd(weft_world *world, weft_routine *self, int fd, weft_fd_mode mode,
                        int64_t timeout)
{
  if (!weft__is_running(world, self)) return WEFT_OUTSIDE;
  if (fd < 0 || (mode != WEFT_READ && mode != WEFT_WRITE) || timeout > WEFT_MAX_WAIT_NS)
    return WEFT_INVALID;
  if (!weft__is_open(fd)) return WEFT_CLOSED;
  weft__fd *known = need(&world->fds, fd);
  if (!known) return WEFT_NOMEM;
  weft_status status =
      weft_arm_event(world, self, &known->events[mode], (uint64_t)(uintptr_t)known, timeout);
  /* The event is none that a host knows of. */
  if (self->task.joins == WEFT_ON_EVENT)
    weft__several_of(&world->sched, self->task.slot)->own.hidden = true;
  follow(known); /* it may not have been armed: told to stop */
  return status;
}

weft_status weft_wait_fd(int fd, weft_fd_mode mode, int64_t timeout)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  return weft__park_armed(world, self, weft_arm_fd(world, self, fd, mode, timeout));
}

/* --- Asking -------------------------------------------------------------------------------- */

static void answer(weft__fds *fds, uint32_t place, short got)
{
  weft__fd *fd = at(fds, fds->numbers[place]);
  for (int mode = WEFT_READ; mode <= WEFT_WRITE; mode++) {
    short asked = mode == WEFT_READ ? POLLIN : POLLOUT;
    if (got & POLLNVAL)
      weft_event_close(&fd->events[mode]);
    else if (got & (asked | POLLHUP | POLLERR))
      weft_event_fire(&fd->events[mode], 0);
  }
  follow(fd);
}

void weft__run_fds(weft_world *world)
{
  weft__fds *fds = &world->fds;
  if (fds->count == fds->holes) return;
  if (fds->holes > 0) close_holes(fds);
  uint32_t answers = weft__poll(fds->polled, fds->count, 0);
  for (uint32_t place = 0; place < fds->count && answers > 0; place++) {
    if (!fds->polled[place].revents) continue;
    answers--;
    answer(fds, place, fds->polled[place].revents);
  }
}

bool weft_world_sleep_until(weft_world *world, int64_t ns)
{
  weft__fds *fds = &world->fds;
  if (fds->count == fds->holes) {
    weft__sleep_until_ns(ns);
    return false;
  }
  if (fds->holes > 0) close_holes(fds);
  return weft__poll(fds->polled, fds->count, ns) > 0;
}
