/* SPDX-License-Identifier: MIT */
/*
** clock.h - a clock that somebody else moves, in whole nanoseconds. It carries the fractions of its
** steps: without that, steps of 1/144 s lose a second in 200 days. Knows no real time.
*/
#ifndef WEFT_CLOCK_H
#define WEFT_CLOCK_H

#include "base/base.h"

typedef struct weft__clock {
  int64_t now;
  double fraction;
} weft__clock;

/* Whether a step of `seconds` is finite, >= 0, at most 9e9 and would not run over the clock. */
bool weft__clock_fits(const weft__clock *clock, double seconds);
void weft__clock_advance(weft__clock *clock, double seconds);

#endif
