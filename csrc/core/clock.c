/* SPDX-License-Identifier: MIT */
/*
** clock.c - the clock of clock.h.
*/
#include "core/clock.h"

bool weft__clock_fits(const weft__clock *clock, double seconds)
{
  /* 9e18 ns: below INT64_MAX with room for the fraction. NaN fails the first compare. */
  return seconds >= 0 && seconds <= 9e9 && (double)clock->now + seconds * 1e9 <= 9.2e18;
}

void weft__clock_advance(weft__clock *clock, double seconds)
{
  double ns = seconds * 1e9 + clock->fraction;
  int64_t whole = (int64_t)ns; /* never negative: cutting off is rounding down */
  clock->now += whole;
  clock->fraction = ns - (double)whole;
}
