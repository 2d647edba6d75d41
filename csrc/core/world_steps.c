/* SPDX-License-Identifier: MIT */
/*
** world_steps.c - fixed steps: how many of them a tick is over, their phase, and routines that wait for
** them.
*/
#include <math.h>

#include "core/world.h"

#define MIN_STEP 1e-6
#define MAX_STEP 1e9

bool weft__fixed_step_fits(double seconds)
{
  return seconds == 0 || (seconds >= MIN_STEP && seconds <= MAX_STEP);
}

/* What is left of sim time is counted here and not taken from the clock, whose whole nanoseconds no
   step of 1/60 s is a number of. Less than a microsecond early counts as over, as for deadlines. */
static uint64_t take_steps(weft_world *world, double seconds)
{
  double step = world->config.fixed_step * 1e9;
  world->step_ns += seconds * 1e9;
  double over = floor((world->step_ns + WEFT_DUE_SLACK_NS) / step);
  if (over < 1) return 0;
  world->step_ns -= over * step;
  return (uint64_t)over;
}

void weft__run_fixed_steps(weft_world *world, double seconds)
{
  double step = world->config.fixed_step;
  if (step == 0) return;
  uint64_t left = take_steps(world, seconds);
  if (left > WEFT_MAX_FIXED_STEPS) {
    world->dropped_steps += left - WEFT_MAX_FIXED_STEPS;
    left = WEFT_MAX_FIXED_STEPS;
  }
  for (; left > 0; left--) {
    world->sched.steps++;
    weft__run_phase(world, WEFT_FIXED_UPDATE, step);
  }
}

weft_status weft_arm_wait_fixed(weft_world *world, weft_routine *self, int64_t count)
{
  if (!weft__is_running(world, self)) return WEFT_OUTSIDE;
  if (count < 1) return WEFT_INVALID;
  return weft__sched_arm_steps(&world->sched, &self->task, count);
}

weft_status weft_wait_fixed(int64_t count, int64_t *passed)
{
  weft_world *world = weft_world_ticking();
  weft_routine *self = weft_self();
  weft_status status = weft__park_armed(world, self, weft_arm_wait_fixed(world, self, count));
  if (status == WEFT_OK && passed) *passed = weft_slept(world, self);
  return status;
}
