/* SPDX-License-Identifier: MIT */
/*
** world_fd.h - the descriptors that routines of a world wait for.
*/
#ifndef WEFT_WORLD_FD_H
#define WEFT_WORLD_FD_H

#include <poll.h>

#include "base/base.h"
#include "weft.h"

/* A descriptor that somebody waits for. Events must not move, so these stand in blocks. */
typedef struct weft__fd {
  weft_event events[2]; /* by weft_fd_mode */
  struct weft__fds *fds;
  int fd;
  uint32_t number;
  uint32_t place; /* in what is polled */
  uint32_t next;  /* of the free ones */
} weft__fd;

/* Numbers count from 1. */
typedef struct weft__fds {
  weft__fd **blocks;
  uint32_t block_count, free;
  uint32_t *by_fd; /* numbers, 0 for none */
  uint32_t by_fd_size;
  /* What is polled, in the order of coming, and whose it is. One that goes leaves a hole. */
  struct pollfd *polled;
  uint32_t *numbers;
  uint32_t count, size, holes;
} weft__fds;

void weft__fds_fini(weft__fds *fds);

/* Stage 2. */
void weft__run_fds(weft_world *world);

#endif
