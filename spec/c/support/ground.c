/* SPDX-License-Identifier: MIT */
/*
** ground.c - see ground.h.
*/
#include "ground.h"

#include <string.h>

#include "core/world.h"
#include "failing.h"

weft_world *world;
char story[400];

void say(const char *word)
{
  size_t length = strlen(story);
  assert_true(length + strlen(word) + 2 < sizeof story);
  if (length > 0) story[length++] = ' ';
  strcpy(story + length, word);
}

int make_ground(const weft_world_config *config)
{
  story[0] = '\0';
  failing_install();
  return weft_world_new(config, &world);
}

int drop_ground(void **state)
{
  (void)state;
  bool valid = weft__sched_valid(&world->sched) && weft__fiber_pool_valid(world->pool);
  bool clean =
      weft_world_delete(world) == WEFT_OK && failing_blocks() == 0 && failing_mapped() == 0;
  failing_remove();
  return valid && clean ? 0 : -1;
}

weft_handle start_in(weft_world *where, weft_body body, void *arg)
{
  weft_handle handle = 0;
  assert_int_equal(weft_routine_start(where, body, arg, &handle), WEFT_OK);
  return handle;
}

weft_handle start(weft_body body, void *arg)
{
  return start_in(world, body, arg);
}

uint64_t tick(double dt)
{
  uint64_t resumed = 0;
  assert_int_equal(weft_world_tick(world, dt, &resumed), WEFT_OK);
  assert_true(weft__sched_valid(&world->sched));
  return resumed;
}

void assert_state(weft_handle handle, weft_state expected)
{
  assert_int_equal(weft_routine_state(world, handle), expected);
}
