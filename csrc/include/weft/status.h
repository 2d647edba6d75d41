/* SPDX-License-Identifier: MIT */
/* status.h - how calls answer; part of weft.h. */
#ifndef WEFT_PUBLIC_STATUS_H
#define WEFT_PUBLIC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ffi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line per status: name, value, text. 0 is success; the positive ones tell of waits. */
#define WEFT_STATUSES(X)                                                                       \
  X(WEFT_FIRED, 2, "the event was fired")                                                      \
  X(WEFT_PARKED, 1, "the body armed a wait and gave its stack back")                           \
  X(WEFT_OK, 0, "no error")                                                                    \
  X(WEFT_INVALID, -1, "an argument is out of its range")                                       \
  X(WEFT_NOMEM, -2, "not enough memory")                                                       \
  X(WEFT_FULL, -3, "no free slot: the capacity is used up")                                    \
  X(WEFT_CLOSED, -4, "the event is closed, or the world is")                                   \
  X(WEFT_EXPIRED, -5, "the handle's slot was reused: its routine is long gone")                \
  X(WEFT_TIMEOUT, -6, "the time limit passed first")                                           \
  X(WEFT_CANCELLED, -7, "cancelled")                                                           \
  X(WEFT_FORCED, -8, "cancelled, and to be ended by force: it swallowed too many cancels")     \
  X(WEFT_OUTSIDE, -9, "not inside a routine")                                                  \
  X(WEFT_BUSY, -10, "not allowed inside a tick")                                               \
  X(WEFT_ALIVE, -11, "not allowed while a routine is alive")                                   \
  X(WEFT_THREAD, -12, "called from a thread that does not own the object")                     \
  X(WEFT_SELF, -13, "a routine cannot join itself")                                            \
  X(WEFT_RING, -14, "the join would close a ring of routines that wait for each other")        \
  X(WEFT_NOSTACK, -15, "no native stack: the system refused the memory")                       \
  X(WEFT_MAPCOUNT, -16, "no native stack: raise the sysctl vm.max_map_count")                  \
  X(WEFT_FAILED, -17, "the body failed")                                                       \
  X(WEFT_DESTROYED, -18, "the owner is destroyed")                                             \
  X(WEFT_DISABLED, -19, "the owner, or one above it, is disabled")                             \
  X(WEFT_NOSTEPS, -20, "the world has no fixed steps: configure it with a fixed_step")         \
  X(WEFT_PENDING, -30, "it has not ended yet")                                                 \
  X(WEFT_NOFIBERS, -31,                                                                        \
    "as many jobs are suspended as the pool has fibers: configure it with more")               \
  X(WEFT_STOPPED, -32, "the job pool is being stopped, or is gone")                            \
  X(WEFT_OWN_JOB, -33, "a job cannot wait for itself")                                         \
  X(WEFT_GATED, -50, "the gate is shut: the service takes nothing in this state")              \
  X(WEFT_OWN_THREAD, -51, "a service cannot wait for itself")                                  \
  X(WEFT_IO, -60, "the system refused to read or to write the file")                           \
  X(WEFT_MISSING, -61, "there is no such file")                                                \
  X(WEFT_DAMAGED, -62, "the file is damaged, or no save of weft's")                            \
  X(WEFT_NEWER, -63, "a later version of weft has written the file")                           \
  X(WEFT_OLDER, -64, "an earlier version of weft has written the file")                        \
  X(WEFT_LOCKED, -65, "another process is writing the file")

enum {
#define WEFT_STATUS_ENUM(name, value, text) name = (value),
  WEFT_STATUSES(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
};

#ifdef __cplusplus
}
#endif

#endif
