/* SPDX-License-Identifier: MIT */
/*
** system.h - every call to the system that can fail goes through the one table below, so that
** a spec can make the nth of them fail. None of them stands on a path that runs in steady
** state, so the indirection costs nothing. Knows nothing of fibers or the scheduler.
*/
#ifndef WEFT_PLATFORM_SYSTEM_H
#define WEFT_PLATFORM_SYSTEM_H

#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* The members have the names, arguments, results and errno of the functions they stand for. */
struct weft__system {
  void *(*malloc)(size_t size);
  void *(*calloc)(size_t count, size_t size);
  void (*free)(void *block);
  /* Anonymous private memory, readable and writable, not reserved, meant for stacks. */
  void *(*map)(size_t bytes);
  int (*munmap)(void *base, size_t bytes);
  int (*madvise)(void *base, size_t bytes, int advice);
  int (*mprotect)(void *base, size_t bytes, int protection);
  int (*mincore)(void *base, size_t bytes, unsigned char *pages);
  int (*descriptor_flags)(int fd); /* fcntl with F_GETFD */
  int (*poll)(struct pollfd *fds, nfds_t count, const struct timespec *timeout);
  int (*thread_create)(pthread_t *thread, const pthread_attr_t *attributes,
                       void *(*body)(void *), void *arg);
  /* Files (files.h). */
  int (*open)(const char *path, int flags, mode_t mode);
  ssize_t (*write)(int fd, const void *data, size_t size);
  ssize_t (*pread)(int fd, void *data, size_t size, off_t at);
  int (*fsync)(int fd);
  int (*rename)(const char *from, const char *to);
  int (*link)(const char *from, const char *to);
};

/* Set to the real functions from the start. A spec replaces members while no other thread runs,
   and puts them back. */
extern struct weft__system weft__system;

/*
** Memory. NULL when there is none; a size of 0 gives NULL too and is not a failure anybody
** should ask for. weft__calloc checks `count * size` against overflow and gives zeroed memory.
*/
void *weft__alloc(size_t size);
void *weft__calloc(size_t count, size_t size);
void weft__free(void *block); /* NULL is allowed */

/* The same, on the bounds of cache lines. */
void *weft__calloc_lines(size_t count, size_t size);
void weft__free_lines(void *block);

#endif
