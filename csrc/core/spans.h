/* SPDX-License-Identifier: MIT */
/*
** spans.h - the record of a trace: spans of time, written by any thread, read by who writes the file.
** Knows kinds, numbers and names; not what worlds and pools are.
*/
#ifndef WEFT_CORE_SPANS_H
#define WEFT_CORE_SPANS_H

#include <stdatomic.h>

#include "base/base.h"

typedef enum weft__span_kind {
  WEFT_SPAN_TICK,
  WEFT_SPAN_STAGE,
  WEFT_SPAN_ROUTINE,
  WEFT_SPAN_JOB,
  WEFT_SPAN_WORKER, /* a stretch of work of a thread of a pool; `id` is its number */
  WEFT_SPAN_HOST,
} weft__span_kind;

#define WEFT_SPAN_NAME 32 /* with the 0 at its end */

/* Relaxed: who reads an old value records one span more or less. */
extern atomic_bool weft__spans_on;

static inline bool weft__spans(void)
{
  return atomic_load_explicit(&weft__spans_on, memory_order_relaxed);
}

/* Records one, of the calling thread, while a trace runs; `name` may be NULL. */
void weft__span(weft__span_kind kind, const char *name, uint64_t id, int64_t begin,
                int64_t end);

#endif
