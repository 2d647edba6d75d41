/* SPDX-License-Identifier: MIT */
/*
** world.c - the life of a world and the order of its tick.
*/
#include "core/world.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/sched_joins.h"
#include "platform/system.h"

#define DEFAULT_CAPACITY 256
#define DEFAULT_POSTS 128
#define DEFAULT_STACK_BYTES ((size_t)64 << 10)
#define MIN_STACK_BYTES ((size_t)16 << 10)
#define MAX_STACK_BYTES ((size_t)1 << 30)
#define MAX_CAPACITY (UINT32_C(1) << 24)
#define MAX_TIMERS (UINT32_C(1) << 24)
#define MAX_RECORD_BYTES 4096

/* A pass needs a runner, and a spare for when the runner is pinned. */
#define EXTRA_STACKS 2

/* --- Tags: which world a handle is of ------------------------------------------------------ */

/* Relaxed throughout: a tag is a number, it publishes nothing. */
static atomic_uint next_tag;
static atomic_bool tag_taken[256];

/* A tag that no living world has, handed out in turn, so that handles of dead worlds stay
   strangers as long as can be; with 255 living worlds tags are shared. */
static uint8_t take_tag(void)
{
  uint8_t tag = 1;
  for (int tries = 0; tries < 255; tries++) {
    tag = (uint8_t)(atomic_fetch_add_explicit(&next_tag, 1, memory_order_relaxed) % 255 + 1);
    if (!atomic_exchange_explicit(&tag_taken[tag], true, memory_order_relaxed)) break;
  }
  return tag;
}

static void give_tag(uint8_t tag)
{
  atomic_store_explicit(&tag_taken[tag], false, memory_order_relaxed);
}

/* --- Making -------------------------------------------------------------------------------- */

static weft_status complete_config(const weft_world_config *given, weft_world_config *config)
{
  *config = given ? *given : (weft_world_config){0};
  if (config->capacity == 0) config->capacity = DEFAULT_CAPACITY;
  if (config->resumes_per_tick == 0) config->resumes_per_tick = UINT32_MAX;
  if (config->posts_per_tick == 0) config->posts_per_tick = DEFAULT_POSTS;
  if (config->stack_bytes == 0) config->stack_bytes = DEFAULT_STACK_BYTES;
  if (config->capacity > MAX_CAPACITY || config->record_bytes > MAX_RECORD_BYTES ||
      config->stack_bytes < MIN_STACK_BYTES || config->stack_bytes > MAX_STACK_BYTES ||
      config->slow_resume_ns < 0 || config->max_resume_ns < 0 || config->timers > MAX_TIMERS ||
      !weft__fixed_step_fits(config->fixed_step))
    return WEFT_INVALID;
  return WEFT_OK;
}

/* For the overflow message; runs in a signal handler. */
static void describe_running(void *host, char *text, size_t size)
{
  weft_world *world = host;
  weft__task *task = world->sched.running;
  if (!task) {
    snprintf(text, size, "a callback outside routines");
  } else if (world->config.hooks.describe) {
    world->config.hooks.describe(world->config.hooks.host, weft__routine_of(task), text, size);
  } else {
    snprintf(text, size, "routine %u", (unsigned)weft__sched_slot(&world->sched, task));
  }
}

/* What is made anew by each configuration. */
typedef struct engine {
  weft__sched sched;
  weft_fiber_pool *pool;
  weft_fiber *runner;
  weft__watch *watch; /* or NULL */
  weft__sampled *sampled;
  weft__meter *meter; /* or NULL */
} engine;

static uint32_t stacks_for(uint32_t capacity)
{
  return capacity < MAX_CAPACITY - EXTRA_STACKS ? capacity + EXTRA_STACKS : MAX_CAPACITY;
}

static size_t record_words(const weft_world_config *config)
{
  return (config->record_bytes + 7) / 8;
}

/* Scheduler, stacks and runner for `config`. The world is not touched: until it is known that all
   can be had, and because other threads may be posting to it. */
static weft_status build(weft_world *world, const weft_world_config *config, engine *out)
{
  size_t stride = sizeof(weft_routine) + record_words(config) * 8;
  uint8_t tag = take_tag();
  weft_status status = weft__sched_init(&out->sched, &weft__routine_ops, config->capacity,
                                        stride, config->resumes_per_tick, tag);
  if (status) goto give_back_tag;
  if (config->fixed_step > 0 && (status = weft__sched_reserve_steps(&out->sched)))
    goto fini_sched;
  status = weft_fiber_pool_new(config->stack_bytes, stacks_for(config->capacity), &out->pool);
  if (status) goto fini_sched;
  status = weft_fiber_start(out->pool, weft__runner, world, &out->runner);
  if (status) goto delete_pool;
  if ((status = weft__meter_new(config, &out->meter))) goto delete_pool;
  if ((status = weft__watch_world(world, config, &out->watch, &out->sampled))) goto free_meter;
  weft__fiber_pool_describe(out->pool, describe_running, world);
  return WEFT_OK;

free_meter:
  weft__free(out->meter);
delete_pool:
  weft_fiber_pool_delete(out->pool);
fini_sched:
  weft__sched_fini(&out->sched);
give_back_tag:
  give_tag(tag);
  return status;
}

static void free_engine(engine *made)
{
  weft__unwatch_world(made->watch, made->sampled);
  weft__free(made->meter);
  weft_fiber_pool_delete(made->pool);
  give_tag(made->sched.tag);
  weft__sched_fini(&made->sched);
}

static void install(weft_world *world, const engine *made, const weft_world_config *config)
{
  weft__spans_drop(world);
  world->sched = made->sched;
  world->pool = made->pool;
  world->runner = made->runner;
  world->watch = made->watch;
  world->sampled = made->sampled;
  world->meter = made->meter;
  world->spare = NULL;
  world->record_words = record_words(config);
  world->config = *config;
}

/* Owners keep the tag that the world had at first, whatever it is configured to later. */
static void tear_down(weft_world *world, uint8_t kept_tag)
{
  weft__unwatch_world(world->watch, world->sampled);
  weft__free(world->meter);
  weft__events_drop(&world->sched);
  weft_fiber_pool_delete(world->pool);
  if (world->sched.tag != kept_tag) give_tag(world->sched.tag);
  weft__sched_fini(&world->sched);
}

weft_status weft_world_new(const weft_world_config *given, weft_world **out)
{
  weft_world_config config;
  engine made;
  weft_status status = complete_config(given, &config);
  if (status) return status;
  if ((status = weft__catch_overflow_if_allowed())) return status;
  weft_world *world = weft__calloc(1, sizeof *world);
  if (!world) return WEFT_NOMEM;
  world->time_scale = 1;
  world->thread = weft__thread_id();
  if ((status = weft__poster_new(&world->poster))) goto free_world;
  if ((status = build(world, &config, &made))) goto close_poster;
  weft__timers_init(&world->timers, &world->sched.owners, &world->sched.sim, &world->sched.real,
                    made.sched.tag);
  world->timers.ended = weft__timer_ended;
  if ((status = weft__timers_reserve(&world->timers, config.timers))) goto free_engine;
  install(world, &made, &config);
  *out = world;
  return WEFT_OK;

free_engine:
  weft__timers_fini(&world->timers);
  free_engine(&made);
close_poster:
  weft__poster_close(world->poster);
free_world:
  weft__free(world);
  return status;
}

weft_status weft_world_configure(weft_world *world, const weft_world_config *given)
{
  weft_world_config config;
  engine made;
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  if (weft_world_ticking()) return WEFT_BUSY;
  if (world->sched.active > 0) return WEFT_ALIVE;
  weft_status status = complete_config(given, &config);
  if (status) return status;
  if ((status = weft__timers_reserve(&world->timers, config.timers))) return status;
  if ((status = build(world, &config, &made))) return status;
  if (config.fixed_step != world->config.fixed_step) world->step_ns = 0;
  made.sched.steps = world->sched.steps;
  made.sched.sim = world->sched.sim;
  made.sched.real = world->sched.real;
  made.sched.counts = world->sched.counts;
  made.sched.owners = world->sched.owners;
  weft__owners_init(&world->sched.owners, 0);
  tear_down(world, made.sched.owners.tag);
  install(world, &made, &config);
  return WEFT_OK;
}

weft_status weft_world_delete(weft_world *world)
{
  if (!world) return WEFT_OK;
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  if (world->in_tick) return WEFT_BUSY;
  weft__poster_close(world->poster);
  uint8_t owners_tag = world->sched.owners.tag;
  tear_down(world, owners_tag);
  give_tag(owners_tag);
  weft__fds_fini(&world->fds);
  weft__timers_fini(&world->timers);
  weft__spans_drop(world);
  weft__free(world);
  return WEFT_OK;
}

/* --- The tick ------------------------------------------------------------------------------ */

void weft__run_phase(weft_world *world, weft_phase phase, double dt)
{
  if (world->config.hooks.phase) world->config.hooks.phase(world->config.hooks.host, phase, dt);
}

/* Runs the pass that was begun. The runner comes back when the pass is done or when a routine kept
   its stack; then another runner stands in its place. */
static void run_pass(weft_world *world)
{
  bool spans = world->spans.on;
  world->pass_done = false;
  world->pass_extras =
      (world->sched.prefetches ? WEFT_PASS_AHEAD : 0) | (spans ? WEFT_PASS_SPANS : 0);
  while (!world->pass_done) weft_fiber_resume(world->runner);
  if (WEFT_UNLIKELY(spans)) weft__spans_end_resume(world);
  if (WEFT_UNLIKELY(world->slow_count > 0)) weft__tell_slow(world);
}

static bool pass_is_empty(const weft__sched *sched)
{
  return sched->cancel_pass_left == 0 && sched->urgent.head == sched->urgent.pass_end &&
         sched->ready.head == sched->ready.pass_end;
}

/* Stacks that came back since the last tick are looked at one a tick, the runner's now and then:
   what was used deeply gives its pages back. */
static void trim_stacks(weft_world *world)
{
  weft__fiber_pool_trim(world->pool, 1);
  if (world->tick_count % 512 == 0) weft__fiber_trim_suspended(world->runner);
}

static weft_status may_enter(const weft_world *world)
{
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  return weft_world_ticking() ? WEFT_BUSY : WEFT_OK;
}

static void enter(weft_world *world)
{
  world->in_tick = true;
  weft__set_ticking(world);
  if (WEFT_UNLIKELY(world->watch)) weft__watch_stir(world->watch);
  if (WEFT_UNLIKELY(weft__spans())) weft__spans_begin_tick(world);
}

static void leave(weft_world *world)
{
  if (WEFT_UNLIKELY(world->spans.on)) weft__spans_end_tick(world);
  weft__set_ticking(NULL);
  world->in_tick = false;
}

/* Stages 2 to 7. */
static void run_stages(weft_world *world, double dt, double scaled)
{
  weft__sched *sched = &world->sched;
  weft__stage(world, "posts");
  weft__run_posts(world);
  weft__run_fds(world);
  weft__stage(world, "messages");
  if (world->config.hooks.messages) world->config.hooks.messages(world->config.hooks.host);
  weft__stage(world, "timers");
  weft__run_timers(world);
  weft__stage(world, "preUpdate");
  weft__run_phase(world, WEFT_PRE_UPDATE, dt);
  if (world->config.fixed_step > 0) weft__stage(world, "fixedUpdate");
  weft__run_fixed_steps(world, scaled);
  weft__stage(world, "update");
  weft__run_phase(world, WEFT_UPDATE, dt);
  weft__stage(world, "routines");
  weft__sched_begin_pass(sched);
  weft__begin_look_ahead(world);
  if (!pass_is_empty(sched)) run_pass(world);
  weft__stage(world, "postUpdate");
  weft__run_phase(world, WEFT_POST_UPDATE, dt);
}

weft_status weft_world_tick(weft_world *world, double dt, uint64_t *resumed)
{
  weft__sched *sched = &world->sched;
  weft_status status = may_enter(world);
  if (status) return status;
  double scaled = world->paused ? 0 : dt * world->time_scale;
  if (!weft__clock_fits(&sched->real, dt) || !weft__clock_fits(&sched->sim, scaled))
    return WEFT_INVALID;

  uint64_t before = sched->counts.resumed;
  enter(world);
  sched->paused = world->paused;
  if (!sched->paused) weft__clock_advance(&sched->sim, scaled);
  weft__clock_advance(&sched->real, dt);
  world->tick_count++;
  weft__timers_begin_tick(&world->timers);
  run_stages(world, dt, scaled);
  trim_stacks(world);
  leave(world);
  WEFT_WALK(weft__sched_valid(sched));
  WEFT_WALK(weft__timers_valid(&world->timers));
  if (resumed) *resumed = sched->counts.resumed - before;
  return WEFT_OK;
}

weft_status weft_world_drain(weft_world *world, uint32_t passes, uint32_t *left)
{
  weft__sched *sched = &world->sched;
  weft_status status = may_enter(world);
  if (status) return status;
  enter(world);
  weft__stage(world, "unload");
  weft__timers_cancel_all(&world->timers);
  for (uint32_t pass = 1; pass <= passes && sched->active > 0; pass++) {
    sched->force = pass == passes;
    for (uint32_t slot = 0; slot < sched->fresh; slot++)
      weft__sched_cancel_from_above(sched, weft__sched_at(sched, slot));
    weft__sched_begin_drain(sched);
    if (!pass_is_empty(sched)) run_pass(world);
    weft__timers_cancel_all(&world->timers); /* those that cleanups have armed */
  }
  sched->force = false;
  leave(world);
  if (left) *left = sched->active;
  return WEFT_OK;
}

/* --- Clock and numbers --------------------------------------------------------------------- */

void weft_world_pause(weft_world *world)
{
  world->paused = true;
}

void weft_world_resume(weft_world *world)
{
  world->paused = false;
}

bool weft_world_is_paused(const weft_world *world)
{
  return world->paused;
}

weft_status weft_world_set_time_scale(weft_world *world, double scale)
{
  if (world->thread != weft__thread_id()) return WEFT_THREAD;
  if (!isfinite(scale) || scale < 0) return WEFT_INVALID;
  world->time_scale = scale;
  return WEFT_OK;
}

int64_t weft_world_sim_time(const weft_world *world)
{
  return world->sched.sim.now;
}

int64_t weft_world_real_time(const weft_world *world)
{
  return world->sched.real.now;
}

uint64_t weft_world_tick_count(const weft_world *world)
{
  return world->tick_count;
}

uint32_t weft_world_active(const weft_world *world)
{
  return world->sched.active;
}

void *weft_world_host(const weft_world *world)
{
  return world->config.hooks.host;
}

int64_t weft_clock(void)
{
  return weft__clock_ns();
}

void weft_sleep_until(int64_t ns)
{
  weft__sleep_until_ns(ns);
}

bool weft_world_in_tick(const weft_world *world)
{
  return world->in_tick;
}

void weft_world_stats_get(const weft_world *world, weft_world_stats *out)
{
  const weft__sched *sched = &world->sched;
  weft_fiber_stats fibers;
  uint32_t posts[2];
  weft_fiber_pool_stats(world->pool, &fibers);
  weft__poster_count(world->poster, posts);
  *out = (weft_world_stats){
      .active = sched->active,
      .pinned = world->pinned,
      .capacity = sched->capacity,
      .stacks = fibers.mapped,
      .stack_bytes = fibers.stack_bytes,
      .resumed = sched->counts.resumed,
      .started = sched->counts.started,
      .completed = sched->counts.completed,
      .cancelled = sched->counts.cancelled,
      .failed = sched->counts.failed,
      .rejected = sched->counts.rejected,
      .posts = posts[0] + posts[1],
      .slow = world->slow_total,
      .timers = world->timers.alive,
      .fixed_steps = sched->steps,
      .dropped_steps = world->dropped_steps,
  };
  for (uint32_t slot = 0; slot < sched->fresh; slot++) {
    const weft__task *task = weft__sched_at(sched, slot);
    if (!task->alive) continue;
    out->sleeping += task->state == WEFT_STATE_SLEEPING;
    out->ready += task->state == WEFT_STATE_QUEUED;
  }
}
