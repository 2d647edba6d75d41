/* SPDX-License-Identifier: MIT */
/*
** switch_ucontext.c - the switch for every ABI without a file of its own. It costs two system
** calls each time; it is there so that weft runs at all. Here a saved sp is the address of a
** record on the stack that was left.
*/
#include "platform/switch.h"

#ifdef WEFT_SWITCH_BY_UCONTEXT

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/base.h"

typedef struct ucontext_stop {
  ucontext_t context;
  void *arg;                /* what the switch that comes back brings */
  void (*entry)(void *arg); /* of a stack that nothing ran on yet */
  void *entry_arg;
} ucontext_stop;

void *weft__switch(void **save_sp, void *to_sp, void *arg)
{
  ucontext_stop here;
  ucontext_stop *there = to_sp;
  there->arg = arg;
  *save_sp = &here;
  int failed = swapcontext(&here.context, &there->context);
  WEFT_CHECK(!failed);
  return here.arg;
}

bool weft__switch_bool(void **save_sp, void *to_sp, void *arg)
{
  return weft__switch(save_sp, to_sp, arg) != NULL;
}

__attribute__((noinline)) void weft__switch_probe(void)
{
  volatile char below[sizeof(ucontext_stop) + 512];
  below[0] = 0;
  __asm__ volatile("" : : "r"(below) : "memory");
}

/* makecontext passes ints, so the record's address comes in two halves. */
static void ucontext_start(unsigned high, unsigned low)
{
  ucontext_stop *stop = (ucontext_stop *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low);
  stop->entry(stop->entry_arg);
}

/* How much of the stack is told to makecontext: it only needs to know where the top is. */
#define UCONTEXT_TOLD 4096

void *weft__switch_prepare(char *top, void (*entry)(void *arg), void *arg)
{
  uintptr_t base = ((uintptr_t)top - sizeof(ucontext_stop)) & ~(uintptr_t)63;
  ucontext_stop *stop = (ucontext_stop *)base;
  int failed = getcontext(&stop->context);
  WEFT_CHECK(!failed);
  stop->context.uc_stack.ss_sp = (char *)base - UCONTEXT_TOLD;
  stop->context.uc_stack.ss_size = UCONTEXT_TOLD;
  stop->context.uc_link = NULL;
  stop->entry = entry;
  stop->entry_arg = arg;
  makecontext(&stop->context, (void (*)(void))ucontext_start, 2,
              (unsigned)((uintptr_t)stop >> 16 >> 16), (unsigned)(uintptr_t)stop);
  return stop;
}

#else

/* A translation unit must declare something. */
typedef int weft__switch_is_elsewhere;

#endif
