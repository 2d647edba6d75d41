/* SPDX-License-Identifier: MIT */
/*
** events_ground.h - what the specs of events share: routines that wait for one, on their stack or
** compactly, and what they were answered.
*/
#ifndef WEFT_SPEC_EVENTS_GROUND_H
#define WEFT_SPEC_EVENTS_GROUND_H

#include <string.h>

#include "core/sched_joins.h"
#include "core/world.h"
#include "support/ground.h"

#define SECOND INT64_C(1000000000)

static weft_event event, other;

static inline int make_world(void **state)
{
  (void)state;
  weft_world_config config = {.capacity = 16};
  event = other = (weft_event){0};
  return make_ground(&config);
}

/* What a routine asks for and what it was answered. */
typedef struct wait {
  weft_event *event;
  int64_t timeout;
  uint64_t armed, value;
  weft_status answer;
  int64_t when; /* seconds */
  const char *name;
  bool again;
} wait;

static wait waits[4];

static inline wait *prepare(int i)
{
  static const char *const names[] = {"a", "b", "c", "d"};
  waits[i] = (wait){.event = &event, .timeout = -1, .answer = WEFT_INVALID, .name = names[i]};
  return &waits[i];
}

static inline void note(wait *w, weft_status answer)
{
  w->answer = answer;
  w->when = weft_world_sim_time(world) / SECOND;
  say(w->name);
}

static inline weft_status waits_pinned(weft_routine *self, void *arg)
{
  wait *w = arg;
  (void)self;
  do note(w, weft_wait_event(w->event, w->timeout, &w->value));
  while (w->again && w->answer == WEFT_OK);
  return w->answer == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

/* Armed on the first entry, answered on the second. */
static inline weft_status waits_compactly(weft_routine *self, void *arg)
{
  wait *w = arg;
  if (w->answer == WEFT_INVALID) {
    w->answer = weft_arm_event(world, self, w->event, w->armed, w->timeout);
    return w->answer == WEFT_OK ? WEFT_PARKED : WEFT_OK;
  }
  weft_status woken = weft_woken(self);
  w->value = weft_received(world, self);
  note(w, woken);
  return woken == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

/* Three that wait in the order of their names, one of them on its stack. */
static inline void start_three(weft_handle handles[3])
{
  weft_body bodies[] = {waits_compactly, waits_pinned, waits_compactly};
  for (int i = 0; i < 3; i++) {
    weft_handle handle = start(bodies[i], prepare(i));
    if (handles) handles[i] = handle;
  }
  tick(0);
  assert_int_equal(event.waiting, 3);
}

static uint32_t fire(uint64_t value)
{
  uint32_t told = weft_event_fire(&event, value);
  assert_true(weft__sched_valid(&world->sched));
  return told;
}

static inline bool fire_one(uint64_t value)
{
  bool told = weft_event_fire_one(&event, value);
  assert_true(weft__sched_valid(&world->sched));
  return told;
}

static inline weft_status sleeps(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(SECOND);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, make_world, drop_ground)

#endif
