/* SPDX-License-Identifier: MIT */
/*
** world_wall.c - how long routines have run by the clock on the wall, in worlds that ask for it: one
** look at the clock between two resumes ends the one and begins the other. Other worlds pay a test of
** a pointer.
*/
#include "core/world.h"
#include "platform/system.h"

weft_status weft__meter_new(const weft_world_config *config, weft__meter **out)
{
  *out = NULL;
  if (config->slow_resume_ns == 0) return WEFT_OK;
  size_t bytes = sizeof(weft__meter) + config->capacity * sizeof(weft__wall);
  if (!(*out = weft__calloc(1, bytes))) return WEFT_NOMEM;
  (*out)->clock = weft_clock;
  return WEFT_OK;
}

/* The time of a slot is that of the routine that was resumed in it last. */
static void begin(weft__meter *meter, const weft__task *task)
{
  weft__wall *wall = &meter->walls[task->slot];
  if (wall->generation != task->generation) *wall = (weft__wall){task->generation, 0};
  meter->running = wall;
}

weft__task *weft__meter_take(weft_world *world)
{
  weft__meter *meter = world->meter;
  int64_t now = meter->clock();
  if (meter->running) meter->running->ns += now - meter->since;
  meter->running = NULL;
  meter->since = now;
  weft__task *task = weft__sched_take(&world->sched);
  if (task) begin(meter, task);
  return task;
}

int64_t weft__meter_of(const weft__meter *meter, const weft__task *task)
{
  const weft__wall *wall = &meter->walls[task->slot];
  if (wall->generation != task->generation) return 0;
  return wall->ns + (meter->running == wall ? meter->clock() - meter->since : 0);
}
