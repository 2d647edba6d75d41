/* SPDX-License-Identifier: MIT */
/*
** world_spans.c - what a world tells a trace: its ticks, their stages, and resumes, whose time it also
** adds up for each routine.
**
** A span ends where the next one of its kind begins, so each costs one look at the clock.
*/
#include <stdio.h>

#include "core/spans.h"
#include "core/world.h"
#include "platform/system.h"

/* --- Wall time ----------------------------------------------------------------------------- */

/* Without memory there is none; the trace goes on. */
static void make_walls(weft_world *world)
{
  if (!world->spans.walls)
    world->spans.walls = weft__calloc(world->sched.capacity, sizeof *world->spans.walls);
}

static void add_wall(weft_world *world, int64_t ns)
{
  const weft__spans_of_world *spans = &world->spans;
  if (!spans->walls) return;
  weft__wall *wall = &spans->walls[spans->slot];
  if (wall->generation != spans->generation) *wall = (weft__wall){spans->generation, 0};
  wall->ns += ns;
}

int64_t weft_routine_wall(const weft_world *world, const weft_routine *routine)
{
  if (world->meter) return weft__meter_of(world->meter, &routine->task);
  if (!world->spans.walls) return -1;
  const weft__wall *wall = &world->spans.walls[routine->task.slot];
  return wall->generation == routine->task.generation ? wall->ns : 0;
}

void weft__spans_drop(weft_world *world)
{
  weft__free(world->spans.walls);
  world->spans.walls = NULL;
}

/* --- Ticks and stages ---------------------------------------------------------------------- */

void weft__spans_begin_tick(weft_world *world)
{
  weft__spans_of_world *spans = &world->spans;
  make_walls(world);
  spans->on = true;
  spans->stage = NULL;
  spans->tick_began = weft__clock_ns();
}

void weft__spans_stage(weft_world *world, const char *name)
{
  weft__spans_of_world *spans = &world->spans;
  int64_t now = weft__clock_ns();
  if (spans->stage) weft__span(WEFT_SPAN_STAGE, spans->stage, 0, spans->stage_began, now);
  spans->stage = name;
  spans->stage_began = now;
}

void weft__spans_end_tick(weft_world *world)
{
  weft__spans_of_world *spans = &world->spans;
  weft__spans_stage(world, NULL);
  weft__span(WEFT_SPAN_TICK, "tick", world->tick_count, spans->tick_began, spans->stage_began);
  spans->on = false;
}

/* --- Resumes ------------------------------------------------------------------------------- */

static void name_routine(weft_world *world, weft_routine *routine)
{
  weft__spans_of_world *spans = &world->spans;
  const weft_world_hooks *hooks = &world->config.hooks;
  snprintf(spans->name, sizeof spans->name, "routine %u", (unsigned)routine->task.slot);
  if (hooks->label) hooks->label(hooks->host, routine, spans->name, sizeof spans->name);
}

void weft__spans_end_resume(weft_world *world)
{
  weft__spans_of_world *spans = &world->spans;
  if (!spans->resume_began) return;
  int64_t now = weft__clock_ns();
  weft__span(WEFT_SPAN_ROUTINE, spans->name, spans->handle, spans->resume_began, now);
  add_wall(world, now - spans->resume_began);
  spans->resume_began = 0;
}

void weft__spans_begin_resume(weft_world *world)
{
  weft__spans_of_world *spans = &world->spans;
  weft_routine *routine = weft__routine_of(world->sched.running);
  weft__spans_end_resume(world);
  name_routine(world, routine);
  spans->handle = weft_routine_handle(world, routine);
  spans->slot = routine->task.slot;
  spans->generation = routine->task.generation;
  spans->resume_began = weft__clock_ns();
}
