/* SPDX-License-Identifier: MIT */
/*
** world_watch.c - resumes that take too long: found by the watch of a world, noted in its signal handler,
** told when the pass is over.
*/
#include "core/world.h"

/* Each sight of the same resume makes its time longer. */
static void note(weft_world *world, const weft_routine *routine, uint64_t number, int64_t since)
{
  weft__slow *last = world->slow_count > 0 ? &world->slow[world->slow_count - 1] : NULL;
  if (!last || last->number != number) {
    if (world->slow_count == WEFT_SLOW_KEPT) return;
    last = &world->slow[world->slow_count++];
    world->slow_total++;
  }
  *last = (weft__slow){.handle = weft_routine_handle(world, routine),
                       .number = number,
                       .since = since,
                       .lasted = weft_clock() - since};
}

/* The watch has seen too long a resume on this thread. It may have ended meanwhile. Runs in a signal
   handler, in the middle of the routine. */
static void on_overrun(void)
{
  uint64_t number;
  int64_t since;
  weft_world *world = weft_world_ticking();
  if (!world || !world->watch || !world->sched.running) return;
  weft__seen seen = weft__watch_seen(world->watch, &number, &since);
  if (number != world->sched.counts.resumed) return;
  weft_routine *routine = weft__routine_of(world->sched.running);
  if (world->config.slow_resume_ns > 0) note(world, routine, number, since);
  const weft_world_hooks *hooks = &world->config.hooks;
  if (hooks->overrun) hooks->overrun(hooks->host, routine, seen == WEFT_SEEN_OVER);
}

weft_status weft__watch_world(weft_world *world, const weft_world_config *config,
                              weft__watch **out)
{
  weft__watched watched = {.number = &world->sched.counts.resumed,
                           .running = (void *const *)(void *)&world->sched.running,
                           .slow = config->slow_resume_ns,
                           .over = config->max_resume_ns};
  *out = NULL;
  if (watched.slow == 0 && watched.over == 0) return WEFT_OK;
  return weft__watch_start(watched, on_overrun, out);
}

void weft__tell_slow(weft_world *world)
{
  const weft_world_hooks *hooks = &world->config.hooks;
  weft__slow *last = &world->slow[world->slow_count - 1];
  if (last->number == world->sched.counts.resumed) last->lasted = weft_clock() - last->since;
  for (uint32_t i = 0; i < world->slow_count && hooks->slow; i++)
    hooks->slow(hooks->host, world->slow[i].handle, world->slow[i].lasted);
  world->slow_count = 0;
}
