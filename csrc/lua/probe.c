/* SPDX-License-Identifier: MIT */
/*
** probe.c - looks into coroutines without running them: to warm the cache before a resume, and to
** name a routine in the overflow message.
*/
#include <stdio.h>

#include "lua/binding.h"

void probe_prefetch(void *host, weft_routine *self, int step)
{
  const record *rec = weft_routine_record(self);
  (void)host;
  if (step == 0) __builtin_prefetch(rec->thread);
}

/* The outermost level of a stack that may be very deep: by doubling, then by halving. */
static int last_level(lua_State *L)
{
  lua_Debug ar;
  int low = 0, high = 1;
  while (lua_getstack(L, high, &ar)) {
    low = high;
    high *= 2;
  }
  while (low + 1 < high) {
    int middle = (low + high) / 2;
    if (lua_getstack(L, middle, &ar)) low = middle;
    else high = middle;
  }
  return low;
}

/* In a signal handler, on a stack that has just overflowed: reads, and allocates nothing. */
void probe_describe(void *host, weft_routine *self, char *text, size_t size)
{
  const record *rec = weft_routine_record(self);
  lua_Debug ar;
  (void)host;
  if (!rec->thread) {
    snprintf(text, size, "a routine that has not begun");
    return;
  }
  for (int level = last_level(rec->thread); level >= 0; level--) {
    if (!lua_getstack(rec->thread, level, &ar) || !lua_getinfo(rec->thread, "S", &ar)) continue;
    if (ar.linedefined < 0) continue;
    snprintf(text, size, "routine (%s:%d)", ar.short_src, ar.linedefined);
    return;
  }
  snprintf(text, size, "routine ([C])");
}
