/* SPDX-License-Identifier: MIT */
/*
** 07-host.c - a host without Lua: a world, its ticks, and routines written in C.
**
**   make examples && build/release/examples/07-host
*/
#include <stdio.h>
#include "weft.h"

/* Straight-line code; it keeps its native stack while it waits. Times are nanoseconds. */
static weft_status lamp(weft_routine *self, void *name)
{
  (void)self;
  weft_status status = WEFT_OK;
  for (int blink = 1; !status && blink <= 2; blink++) {
    status = weft_wait(500000000);
    printf("%s %s\n", (char *)name, status ? weft_status_text(status) : "blinks");
  }
  return status;
}

/* Waits on no stack at all: arms, returns, and is entered again with its state in `arg`. */
static weft_status clock_hand(weft_routine *self, void *arg)
{
  int *hour = arg;
  if (*hour > 0) printf("it strikes %d\n", *hour);
  if (++*hour > 2) return WEFT_OK;
  weft_status armed = weft_arm_wait(weft_world_ticking(), self, 600000000);
  return armed ? armed : WEFT_PARKED;
}

int main(void)
{
  weft_world *world;
  weft_world_stats stats;
  weft_handle blue, other;
  char first[] = "red", second[] = "blue";
  int hour = 0;
  if (weft_world_new(NULL, &world)) return 1;
  weft_routine_start(world, lamp, first, &other);
  weft_routine_start(world, lamp, second, &blue);
  weft_routine_start(world, clock_hand, &hour, &other);
  do {
    weft_world_tick(world, 0.1, NULL);
    if (weft_world_tick_count(world) == 8) weft_cancel(world, blue);
    weft_world_stats_get(world, &stats);
  } while (stats.active > 0);
  printf("%d completed, %d cancelled\n", (int)stats.completed, (int)stats.cancelled);
  return weft_world_delete(world);
}
/* Output:
red blinks
blue blinks
it strikes 1
blue cancelled
red blinks
it strikes 2
2 completed, 1 cancelled
*/
