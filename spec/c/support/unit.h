/* SPDX-License-Identifier: MIT */
/*
** unit.h - cmocka with what it wants included before it, and what several units share.
*/
#ifndef WEFT_SPEC_UNIT_H
#define WEFT_SPEC_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weft.h"

/* How a child process ended, and what it wrote to stderr (not what an emulator says of it). */
typedef struct unit_child {
  int exit_code; /* -1 if a signal ended it */
  int signal;    /* 0 if none did */
  char text[4096];
} unit_child;

/* Runs `body(arg)` in a child, with SIGSEGV, SIGBUS and SIGABRT at their defaults and no core
   file; a body that returns exits with 0. */
void unit_fork(void (*body)(void *arg), void *arg, unit_child *out);

/* Between the two, what is printed to stderr is kept back: reports that cannot reach onError for want of
   memory go there. The second returns whether there was any. With WEFT_SPEC_SHOW set all is shown, and it
   returns true. Not for two threads. */
void unit_catch_stderr(void);
bool unit_release_stderr(void);

/* Whether this runs under Valgrind, and whether it was built with ASan or TSan. */
bool unit_on_valgrind(void);
bool unit_has_asan(void);
bool unit_has_tsan(void);

/* Whether the child of a fork may start threads: TSan does not follow these, and qemu, which is known by
   WEFT_EMULATED, ends with an assertion of its own. */
bool unit_forks_threads(void);

/* Does nothing, which no compiler knows: what is at the address has to be there. */
void unit_keep(volatile void *address);

/* Whether the byte can be read, asked without a fault. */
bool unit_readable(const char *address);

#endif
