/* SPDX-License-Identifier: MIT */
/*
** sanitize.h - the switch as the core calls it: with what ASan, TSan and Valgrind must be told
** around it, in builds that have them, and a bare tail call of the switch in all others. Knows
** stacks and switches, not what a fiber is.
*/
#ifndef WEFT_PLATFORM_SANITIZE_H
#define WEFT_PLATFORM_SANITIZE_H

#include "platform/platform.h"
#include "platform/switch.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_HAS_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_HAS_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WEFT_HAS_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define WEFT_HAS_TSAN 1
#endif

#ifdef WEFT_HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEFT_HAS_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WEFT_HAS_VALGRIND 1
#endif
#endif

/* What the tools keep of one stack. It lives as long as the stack; zeroed when that is new. */
typedef struct weft__san {
#ifdef WEFT_HAS_ASAN
  const void *back_low; /* the stack that control returns to */
  size_t back_bytes;
#endif
#ifdef WEFT_HAS_TSAN
  void *self;
  void *back;
#endif
  char none; /* so that the structure is never empty */
} weft__san;

/* --- Stacks come and go -------------------------------------------------------------------- */

/* Tells Valgrind of a stack; the number is for weft__san_unmapping. */
static inline unsigned weft__san_mapped(char *low, char *high)
{
#ifdef WEFT_HAS_VALGRIND
  return VALGRIND_STACK_REGISTER(low, high - 1);
#else
  (void)low, (void)high;
  return 0;
#endif
}

/* The stack's memory is about to go. What is poisoned in it must not outlive it. */
static inline void weft__san_unmapping(char *low, char *high, unsigned number)
{
#ifdef WEFT_HAS_VALGRIND
  VALGRIND_STACK_DEREGISTER(number);
#endif
#ifdef WEFT_HAS_ASAN
  __asan_unpoison_memory_region(low, (size_t)(high - low));
#endif
  (void)low, (void)high, (void)number;
}

/* Drops what TSan keeps for the stack; nothing may run on it. */
static inline void weft__san_drop(weft__san *san)
{
#ifdef WEFT_HAS_TSAN
  if (san->self) __tsan_destroy_fiber(san->self);
  san->self = NULL;
#endif
  (void)san;
}

/* A new fiber is set up on the stack. TSan gets a new one too: the frames of the old one that
   ended in a switch never returned, and would pile up in its shadow of the call stack. */
static inline void weft__san_start(weft__san *san)
{
#ifdef WEFT_HAS_TSAN
  weft__san_drop(san);
  san->self = __tsan_create_fiber(0);
#endif
  (void)san;
}

/* --- Switches ------------------------------------------------------------------------------ */

/* The first thing that runs on a fiber's stack. */
static inline void weft__san_begun(weft__san *san)
{
#ifdef WEFT_HAS_ASAN
  __sanitizer_finish_switch_fiber(NULL, &san->back_low, &san->back_bytes);
#endif
  (void)san;
}

/* Enters the fiber whose stack is [low, high); the switch's bool comes back. */
static inline bool weft__san_enter(weft__san *san, char *low, char *high, void **save_sp,
                                   void *to_sp, void *arg)
{
  (void)san, (void)low, (void)high;
#ifdef WEFT_HAS_TSAN
  san->back = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(san->self, 0);
#endif
#ifdef WEFT_HAS_ASAN
  void *fake = NULL;
  __sanitizer_start_switch_fiber(&fake, low, (size_t)(high - low));
  void *came = weft__switch(save_sp, to_sp, arg);
  __sanitizer_finish_switch_fiber(fake, NULL, NULL);
  return came != NULL;
#else
  return weft__switch_bool(save_sp, to_sp, arg);
#endif
}

/* Leaves the fiber for whoever entered it, to come back. */
static inline void weft__san_leave(weft__san *san, void **save_sp, void *to_sp, void *arg)
{
  (void)san;
#ifdef WEFT_HAS_TSAN
  __tsan_switch_to_fiber(san->back, 0);
#endif
#ifdef WEFT_HAS_ASAN
  void *fake = NULL;
  __sanitizer_start_switch_fiber(&fake, san->back_low, san->back_bytes);
  weft__switch(save_sp, to_sp, arg);
  __sanitizer_finish_switch_fiber(fake, &san->back_low, &san->back_bytes);
#else
  weft__switch(save_sp, to_sp, arg);
#endif
}

/* Leaves the fiber for good. */
static inline void weft__san_end(weft__san *san, void **save_sp, void *to_sp, void *arg)
{
  (void)san;
#ifdef WEFT_HAS_TSAN
  __tsan_switch_to_fiber(san->back, 0);
#endif
#ifdef WEFT_HAS_ASAN
  __sanitizer_start_switch_fiber(NULL, san->back_low, san->back_bytes);
#endif
  weft__switch(save_sp, to_sp, arg);
}

#endif
