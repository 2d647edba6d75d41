/* SPDX-License-Identifier: MIT */
/*
** base.h - what every file may use: assertions, sizes, container_of. Knows nothing else.
*/
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft.h"

/* Misuse at the door, on in every build: a wrong call stops here and not far away. */
#define WEFT_CHECK(cond) ((cond) ? (void)0 : weft__check_failed(#cond, __FILE__, __LINE__))

/* Our own invariants; compiled only where WEFT_DEBUG is set. The condition has no effects. */
#ifdef WEFT_DEBUG
#define WEFT_ASSERT(cond) WEFT_CHECK(cond)
#define WEFT_DEBUG_DO(statement) (statement)
#else
#define WEFT_ASSERT(cond) ((void)0)
#define WEFT_DEBUG_DO(statement) ((void)0)
#endif

/* A walk over a whole structure, after each step of the hostile build. */
#ifdef WEFT_HARD
#define WEFT_WALK(cond) WEFT_CHECK(cond)
#else
#define WEFT_WALK(cond) ((void)0)
#endif

/* Says what was violated on stderr and aborts. */
_Noreturn void weft__check_failed(const char *what, const char *file, int line);

#define WEFT_LIKELY(x) __builtin_expect(!!(x), 1)
#define WEFT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The object of `type` whose `member` is at `pointer`. */
#define WEFT_CONTAINER_OF(pointer, type, member)                                               \
  ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
