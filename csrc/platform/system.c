/* SPDX-License-Identifier: MIT */
/*
** system.c - the table of fallible calls with the real functions in it, and memory.
*/
#define _GNU_SOURCE
#include "platform/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *system_map(size_t bytes)
{
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static int system_descriptor_flags(int fd)
{
  return fcntl(fd, F_GETFD);
}

static int system_poll(struct pollfd *fds, nfds_t count, const struct timespec *timeout)
{
  return ppoll(fds, count, timeout, NULL);
}

static int system_open(const char *path, int flags, mode_t mode)
{
  return open(path, flags, mode);
}

struct weft__system weft__system = {
    .malloc = malloc,
    .calloc = calloc,
    .free = free,
    .map = system_map,
    .munmap = munmap,
    .madvise = madvise,
    .mprotect = mprotect,
    .mincore = mincore,
    .descriptor_flags = system_descriptor_flags,
    .poll = system_poll,
    .thread_create = pthread_create,
    .open = system_open,
    .write = write,
    .pread = pread,
    .fsync = fsync,
    .rename = rename,
    .link = link,
};

void *weft__alloc(size_t size)
{
  return size ? weft__system.malloc(size) : NULL;
}

void *weft__calloc(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || !bytes) return NULL;
  return weft__system.calloc(count, size);
}

void weft__free(void *block)
{
  if (block) weft__system.free(block);
}

#define LINE ((uintptr_t)64)

/* The block as it came stands in the word before. */
void *weft__calloc_lines(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || !bytes || bytes > SIZE_MAX - 2 * LINE)
    return NULL;
  char *block = weft__system.calloc(1, bytes + LINE + sizeof(void *));
  if (!block) return NULL;
  uintptr_t line = ((uintptr_t)block + sizeof(void *) + LINE - 1) & ~(LINE - 1);
  void **lines = (void **)line;
  lines[-1] = block;
  return lines;
}

void weft__free_lines(void *block)
{
  if (block) weft__system.free(((void **)block)[-1]);
}
