/* SPDX-License-Identifier: MIT */
/*
** timers_ground.h - what the specs of timers share: a world, and timers that say their names.
*/
#ifndef WEFT_SPEC_TIMERS_GROUND_H
#define WEFT_SPEC_TIMERS_GROUND_H

#include "core/world.h"
#include "support/ground.h"

#define SECOND INT64_C(1000000000)

static inline void say_ended(void *host, weft_timer timer, weft_timer_fn fn, void *arg)
{
  (void)host, (void)fn;
  assert_false(weft_timer_alive(world, timer));
  if (arg) say(arg);
}

static inline int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 8};
  return make_ground(&config);
}

static inline int make_telling_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 8, .hooks = {.timer_ended = say_ended}};
  return make_ground(&config);
}

static inline void tick_timers(double dt)
{
  tick(dt);
  assert_true(weft__timers_valid(&world->timers));
}

static inline void expect(const char *expected)
{
  assert_string_equal(story, expected);
  story[0] = '\0';
}

static inline uint32_t alive(void)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  return stats.timers;
}

static inline void say_name(void *name, weft_timer timer, int64_t intervals)
{
  (void)timer, (void)intervals;
  say(name);
}

static inline weft_timer arm(weft_timer_options options, weft_timer_fn fn, void *arg)
{
  weft_timer timer = 0;
  assert_int_equal(weft_timer_start(world, &options, fn, arg, &timer), WEFT_OK);
  assert_true(weft_timer_alive(world, timer));
  assert_true(weft__timers_valid(&world->timers));
  return timer;
}

static inline weft_timer after(double seconds, char *name)
{
  return arm((weft_timer_options){.delay = (int64_t)(seconds * 1e9), .count = 1}, say_name,
             name);
}

static inline weft_timer every(double seconds, char *name)
{
  int64_t ns = (int64_t)(seconds * 1e9);
  return arm((weft_timer_options){.delay = ns, .period = ns}, say_name, name);
}

static inline weft_owner make_owner(weft_owner parent)
{
  weft_owner owner = 0;
  assert_int_equal(weft_owner_new(world, parent, &owner), WEFT_OK);
  return owner;
}

#endif
