/* SPDX-License-Identifier: MIT */
/*
** failing.h - the system's calls with chosen ones failing, and an account of what was taken and
** not given back. Between failing_install and failing_remove weft__system counts every call.
*/
#ifndef WEFT_SPEC_FAILING_H
#define WEFT_SPEC_FAILING_H

#include <stddef.h>
#include <stdint.h>

typedef enum failing_call {
  FAILING_MALLOC, /* malloc and calloc */
  FAILING_MAP,
  FAILING_MUNMAP,
  FAILING_GUARD,   /* madvise with MADV_GUARD_INSTALL */
  FAILING_MADVISE, /* any other madvise */
  FAILING_MPROTECT,
  FAILING_MINCORE,
  FAILING_POLL,
  FAILING_THREAD,
  FAILING_OPEN,
  FAILING_WRITE,
  FAILING_PREAD,
  FAILING_FSYNC,
  FAILING_RENAME,
  FAILING_LINK,
  FAILING_CALLS
} failing_call;

void failing_install(void);
void failing_remove(void);

/* From now on `times` calls fail with `error`, beginning with the nth (1 is the next). With an
   `error` of 0 an madvise does nothing and says that all is well. */
void failing_arm(failing_call call, uint64_t nth, uint64_t times, int error);
void failing_disarm(void);

/* Every such call fails, for ever. */
void failing_always(failing_call call, int error);

uint64_t failing_count(failing_call call);  /* calls made since failing_install */
uint64_t failing_failed(failing_call call); /* those that were made to fail */

/* What is held now: blocks of memory, bytes of mappings, bytes that munmap was made to refuse. */
int64_t failing_blocks(void);
int64_t failing_mapped(void);
int64_t failing_refused(void);

#endif
