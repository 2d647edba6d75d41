/* SPDX-License-Identifier: MIT */
/* trace.h - what ran when, for chrome://tracing and Perfetto; part of weft.h. */
#ifndef WEFT_PUBLIC_TRACE_H
#define WEFT_PUBLIC_TRACE_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
** While a trace runs, every world and every pool of the process records spans of the real clock: ticks,
** their stages, the resumes of routines, jobs, and the stretches in which a thread of a pool was at
** work. A resume costs two looks at the clock then; without a trace it costs nothing. There is one trace
** in a process, and any thread may call the functions here. In a child of a fork there is none.
*/

/* How many spans a trace keeps unless it is told otherwise; each takes 64 bytes. */
#define WEFT_TRACE_SPANS (UINT32_C(1) << 18)

/* Begins a trace, and forgets the one before. It keeps the first `spans` of them, at most 2^24, 0 for
   WEFT_TRACE_SPANS, and counts the others. WEFT_BUSY while one runs, WEFT_INVALID, WEFT_NOMEM. */
weft_status weft_trace_start(uint32_t spans);

/* Ends it; what it recorded stays until the next start. False if none ran. */
bool weft_trace_stop(void);

bool weft_trace_is_on(void);

/* How many spans it has, and how many found no room; either may be NULL. */
void weft_trace_count(uint32_t *kept, uint64_t *dropped);

/*
** Writes what was recorded so far as JSON in the Trace Event Format (Google), which chrome://tracing
** and Perfetto open. WEFT_IO, and errno tells why, if the file cannot be written; WEFT_INVALID for
** NULL. It allocates nothing of its own; others may go on recording.
*/
weft_status weft_trace_write(const char *path);

/* A span of the host's own, `begin` to `end` of `weft_clock`, on the calling thread; the first 31 bytes
   of the name are kept. Without effect while no trace runs. */
void weft_trace_span(const char *name, int64_t begin, int64_t end);

#ifdef __cplusplus
}
#endif

#endif
