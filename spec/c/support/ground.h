/* SPDX-License-Identifier: MIT */
/*
** ground.h - what a unit about worlds stands on: a world around each test, and the story it tells.
*/
#ifndef WEFT_SPEC_GROUND_H
#define WEFT_SPEC_GROUND_H

#include "unit.h"

/* The world of the test that runs. */
extern weft_world *world;

/* What happened, a word each, with spaces between; empty when the world is made. */
extern char story[400];

void say(const char *word);

/* Makes `world` with the allocations of the library counted; for a unit's set-up. */
int make_ground(const weft_world_config *config);

/* Deletes `world`; -1 if it was not sound, did not end, or left memory or pages behind. */
int drop_ground(void **state);

/* Each asserts that the call succeeds. */
weft_handle start_in(weft_world *where, weft_body body, void *arg);
weft_handle start(weft_body body, void *arg);

/* Ticks `world` by `dt` seconds, asserts that its scheduler is sound, returns what it resumed. */
uint64_t tick(double dt);

void assert_state(weft_handle handle, weft_state expected);

#endif
