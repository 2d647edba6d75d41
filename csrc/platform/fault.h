/* SPDX-License-Identifier: MIT */
/*
** fault.h - turns a fault in a stack's guard into a sentence on stderr. Does not know fibers:
** it is told by a function which stack the faulting thread runs on.
*/
#ifndef WEFT_PLATFORM_FAULT_H
#define WEFT_PLATFORM_FAULT_H

#include "base/base.h"

typedef struct weft__fault_stack {
  uintptr_t guard_low; /* the guard is [guard_low, guard_high) */
  uintptr_t guard_high;
  size_t bytes; /* of the stack above it */
  /* Names what runs there; may be NULL. A fault inside it costs only the name. */
  void (*describe)(void *host, char *text, size_t size);
  void *host;
} weft__fault_stack;

/* Fills in the stack the calling thread runs on; false if that is none of ours. Called in a
   signal handler. */
typedef bool (*weft__fault_finder)(weft__fault_stack *out);

/*
** Installs the handler of SIGSEGV and SIGBUS, once per process, and an alternate signal stack
** for the calling thread where it has none. After the message, and for every other fault, the
** handler that was there before decides. The code that holds the handler is never unloaded from
** then on. WEFT_NOMEM, WEFT_INVALID when the system refuses the handler.
*/
weft_status weft__fault_catch(weft__fault_finder finder);

/* A host may close the library that holds this code; from now on the code stays all the same. */
void weft__stay_loaded(void);

#endif
