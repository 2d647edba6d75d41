/* SPDX-License-Identifier: MIT */
/*
** world_watch.c - resumes that take too long: found by the watch of a world, noted in its signal handler,
** told when the pass is over.
*/
#include "core/world.h"
#include "platform/system.h"

/* --- Seeing -------------------------------------------------------------------------------- */

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

/* --- Samples ------------------------------------------------------------------------------- */

/* The generation may change while it is read: then it is one of two neighbours, and the sample goes to one
   of two routines that were both there. */
static WEFT_RACY uint32_t generation_of(const weft__task *task)
{
  return *(const volatile uint32_t *)&task->generation;
}

/* On the watch's thread, which alone writes. Relaxed: numbers for a person. */
static void sample(void *context, const void *running, int64_t ns)
{
  const weft__task *task = running;
  weft__sampled *sampled = (weft__sampled *)context + task->slot;
  uint32_t generation = generation_of(task);
  if (atomic_load_explicit(&sampled->generation, memory_order_relaxed) != generation) {
    atomic_store_explicit(&sampled->ns, 0, memory_order_relaxed);
    atomic_store_explicit(&sampled->generation, generation, memory_order_relaxed);
  }
  atomic_fetch_add_explicit(&sampled->ns, ns, memory_order_relaxed);
}

int64_t weft_routine_cpu(const weft_world *world, const weft_routine *routine)
{
  if (!world->sampled) return -1;
  const weft__sampled *sampled = &world->sampled[routine->task.slot];
  uint64_t seen = atomic_load_explicit(&sampled->generation, memory_order_relaxed);
  if (seen != routine->task.generation) return 0;
  return atomic_load_explicit(&sampled->ns, memory_order_relaxed);
}

/* --- Life ---------------------------------------------------------------------------------- */

weft_status weft__watch_world(weft_world *world, const weft_world_config *config,
                              weft__watch **out, weft__sampled **sampled)
{
  *out = NULL;
  *sampled = NULL;
  if (config->slow_resume_ns == 0 && config->max_resume_ns == 0) return WEFT_OK;
  if (!(*sampled = weft__calloc(config->capacity, sizeof **sampled))) return WEFT_NOMEM;
  weft__watched watched = {.number = &world->sched.counts.resumed,
                           .running = (void *const *)(void *)&world->sched.running,
                           .busy = &world->in_tick,
                           .slow = config->slow_resume_ns,
                           .over = config->max_resume_ns,
                           .sample = sample,
                           .context = *sampled};
  weft_status status = weft__watch_start(watched, on_overrun, out);
  if (status) weft__free(*sampled);
  return status;
}

void weft__unwatch_world(weft__watch *watch, weft__sampled *sampled)
{
  weft__watch_stop(watch);
  weft__free(sampled);
}

/* --- Telling ------------------------------------------------------------------------------- */

void weft__tell_slow(weft_world *world)
{
  const weft_world_hooks *hooks = &world->config.hooks;
  weft__slow *last = &world->slow[world->slow_count - 1];
  if (last->number == world->sched.counts.resumed) last->lasted = weft_clock() - last->since;
  for (uint32_t i = 0; i < world->slow_count && hooks->slow; i++)
    hooks->slow(hooks->host, world->slow[i].handle, world->slow[i].lasted);
  world->slow_count = 0;
}
