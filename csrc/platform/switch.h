/* SPDX-License-Identifier: MIT */
/*
** switch.h - leaving one native stack and going on with another. One file per ABI implements
** it; switch_ucontext.c serves every other ABI, and every build made with
** WEFT_SWITCH_UCONTEXT defined. Knows registers and nothing else.
*/
#ifndef WEFT_PLATFORM_SWITCH_H
#define WEFT_PLATFORM_SWITCH_H

#if defined(WEFT_SWITCH_UCONTEXT)
#define WEFT_SWITCH_BY_UCONTEXT 1
#elif defined(__x86_64__) && defined(__LP64__) && !defined(_WIN32)
#define WEFT_SWITCH_BY_X86_64 1
#elif defined(__aarch64__) && defined(__LP64__) && !defined(_WIN32)
#define WEFT_SWITCH_BY_AARCH64 1
#else
#define WEFT_SWITCH_BY_UCONTEXT 1
#endif

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>

/*
** Saves the callee-saved registers and the floating-point control words on this stack, writes
** where to `*save_sp`, and goes on with the stack that `to_sp` was saved from (or that
** `weft__switch_prepare` made). There the switch that left it returns `arg`. The signal mask is
** not touched. A caller that ends in this call leaves no frame of its own behind, and that is
** how it is meant: a frame that is open around the switch costs a mispredicted return.
*/
void *weft__switch(void **save_sp, void *to_sp, void *arg);

/* The same code; only `arg` comes back as a bool, so that a function that answers a bool can end
   in it. `arg` must be NULL or (void *)1 then. */
bool weft__switch_bool(void **save_sp, void *to_sp, void *arg);

/*
** Makes a stack ready whose first switch calls `entry(arg)`, with the control words as they are
** now; the stack grows down from `top`, a multiple of 16. `entry` must not return. Unwinding
** ends below it.
*/
void *weft__switch_prepare(char *top, void (*entry)(void *arg), void *arg);

/*
** Touches the deepest byte that a switch from here would write. A stack that is so full then
** faults before anybody has noted that another fiber runs, and the fault is told of the right
** one. On x86-64 these bytes are inside the red zone, so this reads nothing odd.
*/
#if defined(WEFT_SWITCH_BY_UCONTEXT)
void weft__switch_probe(void);
#else
static inline void weft__switch_probe(void)
{
#if defined(WEFT_SWITCH_BY_X86_64)
  __asm__ volatile("testb $0, -128(%%rsp)" ::: "cc");
#else
  __asm__ volatile("ldurb wzr, [sp, #-192]");
#endif
}
#endif

#endif
#endif
