/* SPDX-License-Identifier: MIT */
/*
** failing.c - stand-ins for the members of weft__system.
*/
#include "failing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "platform/system.h"

#define GUARD_INSTALL 102

/* Threads of a pool call at the same time. */
typedef struct failing_plan {
  _Atomic uint64_t calls;
  _Atomic uint64_t failed;
  uint64_t first; /* the calls [first, end) fail */
  uint64_t end;
  int error;
} failing_plan;

static struct weft__system real;
static failing_plan plans[FAILING_CALLS];
static _Atomic int64_t blocks;
static _Atomic int64_t mapped;
static _Atomic int64_t refused;

static bool fails(failing_call call)
{
  failing_plan *plan = &plans[call];
  uint64_t number = plan->calls++;
  if (number < plan->first || number >= plan->end) return false;
  plan->failed++;
  errno = plan->error;
  return true;
}

static void *failing_malloc(size_t size)
{
  void *block = fails(FAILING_MALLOC) ? NULL : real.malloc(size);
  blocks += block != NULL;
  return block;
}

static void *failing_calloc(size_t count, size_t size)
{
  void *block = fails(FAILING_MALLOC) ? NULL : real.calloc(count, size);
  blocks += block != NULL;
  return block;
}

static void failing_free(void *block)
{
  blocks -= block != NULL;
  real.free(block);
}

static void *failing_map(size_t bytes)
{
  void *base = fails(FAILING_MAP) ? MAP_FAILED : real.map(bytes);
  if (base != MAP_FAILED) mapped += (int64_t)bytes;
  return base;
}

static int failing_munmap(void *base, size_t bytes)
{
  if (fails(FAILING_MUNMAP)) {
    refused += (int64_t)bytes;
    return -1;
  }
  int result = real.munmap(base, bytes);
  if (result == 0) mapped -= (int64_t)bytes;
  return result;
}

static int failing_madvise(void *base, size_t bytes, int advice)
{
  failing_call call = advice == GUARD_INSTALL ? FAILING_GUARD : FAILING_MADVISE;
  if (fails(call)) return plans[call].error ? -1 : 0;
  return real.madvise(base, bytes, advice);
}

static int failing_mprotect(void *base, size_t bytes, int protection)
{
  return fails(FAILING_MPROTECT) ? -1 : real.mprotect(base, bytes, protection);
}

static int failing_mincore(void *base, size_t bytes, unsigned char *pages)
{
  return fails(FAILING_MINCORE) ? -1 : real.mincore(base, bytes, pages);
}

static int failing_poll(struct pollfd *fds, nfds_t count, const struct timespec *timeout)
{
  return fails(FAILING_POLL) ? -1 : real.poll(fds, count, timeout);
}

static int failing_thread(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg)
{
  if (fails(FAILING_THREAD)) return plans[FAILING_THREAD].error;
  return real.thread_create(thread, attributes, body, arg);
}

static int failing_open(const char *path, int flags, mode_t mode)
{
  return fails(FAILING_OPEN) ? -1 : real.open(path, flags, mode);
}

/* The call before one that fails writes less than it was given, as a disk that fills up does. */
static ssize_t failing_write(int fd, const void *data, size_t size)
{
  const failing_plan *plan = &plans[FAILING_WRITE];
  bool last = plan->end > plan->first && plan->calls + 1 == plan->first;
  return fails(FAILING_WRITE) ? -1 : real.write(fd, data, last ? (size + 1) / 2 : size);
}

static ssize_t failing_pread(int fd, void *data, size_t size, off_t at)
{
  return fails(FAILING_PREAD) ? -1 : real.pread(fd, data, size, at);
}

static int failing_fsync(int fd)
{
  return fails(FAILING_FSYNC) ? -1 : real.fsync(fd);
}

static int failing_rename(const char *from, const char *to)
{
  return fails(FAILING_RENAME) ? -1 : real.rename(from, to);
}

static int failing_link(const char *from, const char *to)
{
  return fails(FAILING_LINK) ? -1 : real.link(from, to);
}

void failing_install(void)
{
  memset(plans, 0, sizeof plans);
  blocks = mapped = refused = 0;
  real = weft__system;
  weft__system = (struct weft__system){
      .malloc = failing_malloc,
      .calloc = failing_calloc,
      .free = failing_free,
      .map = failing_map,
      .munmap = failing_munmap,
      .madvise = failing_madvise,
      .mprotect = failing_mprotect,
      .mincore = failing_mincore,
      .descriptor_flags = real.descriptor_flags,
      .poll = failing_poll,
      .thread_create = failing_thread,
      .open = failing_open,
      .write = failing_write,
      .pread = failing_pread,
      .fsync = failing_fsync,
      .rename = failing_rename,
      .link = failing_link,
  };
}

void failing_remove(void)
{
  weft__system = real;
}

void failing_arm(failing_call call, uint64_t nth, uint64_t times, int error)
{
  failing_plan *plan = &plans[call];
  plan->first = plan->calls + nth - 1;
  plan->end = times > UINT64_MAX - plan->first ? UINT64_MAX : plan->first + times;
  plan->error = error;
}

void failing_disarm(void)
{
  for (int i = 0; i < FAILING_CALLS; i++) plans[i].first = plans[i].end = 0;
}

void failing_always(failing_call call, int error)
{
  failing_arm(call, 1, UINT64_MAX, error);
}

uint64_t failing_count(failing_call call)
{
  return plans[call].calls;
}

uint64_t failing_failed(failing_call call)
{
  return plans[call].failed;
}

int64_t failing_blocks(void)
{
  return blocks;
}

int64_t failing_mapped(void)
{
  return mapped;
}

int64_t failing_refused(void)
{
  return refused;
}
