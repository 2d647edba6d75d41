/* SPDX-License-Identifier: MIT */
/*
** sched_model_spec.c - random programs of starts, waits, joins of one and of several, wakes, cancels
** and pauses, run by the scheduler and by its model step by step. Bodies are made up here, so no
** stack is switched.
*/
#include <stdio.h>
#include <string.h>

#include "core/sched.h"
#include "support/random.h"
#include "support/sched_model.h"
#include "support/unit.h"

#define TAG 77

static weft__sched sched;
static sched_model model;
static weft_handle handles[MODEL_TASKS];
static weft_watch watches[MODEL_TASKS][MODEL_WATCHES];
static unit_random dice;
static uint64_t dropped;
static char trouble[200];

static void count_dropped(weft__sched *from, weft__task *task)
{
  if (from == &sched && task->alive) dropped++;
}

static const weft__sched_ops ops = {.dropped = count_dropped};

#define EXPECT(cond)                                                                           \
  do {                                                                                         \
    if (!(cond)) return wrong_at(#cond, __LINE__);                                             \
  } while (0)

#define TRY(call)                                                                              \
  do {                                                                                         \
    const char *wrong_ = (call);                                                               \
    if (wrong_) return wrong_;                                                                 \
  } while (0)

static const char *wrong_at(const char *what, int line)
{
  snprintf(trouble, sizeof trouble, "line %d: not so: %s", line, what);
  return trouble;
}

/* --- Comparing ----------------------------------------------------------------------------- */

static const char *compare_task(uint32_t id)
{
  const model_task *it = &model.tasks[id];
  const weft__task *task = weft__sched_find(&sched, handles[id]);
  EXPECT((task == NULL) == model_expired(&model, id));
  if (!task) return NULL;
  EXPECT(task->slot == it->slot);
  EXPECT(task->alive == it->alive);
  EXPECT(task->state == it->state);
  if (!it->alive) return NULL;
  EXPECT((int)task->place == (int)it->where);
  EXPECT(task->wake == it->wake);
  EXPECT(task->cancel == it->cancel);
  EXPECT(task->raises == it->raises);
  EXPECT(task->joined == it->joined);
  EXPECT(task->unstarted == !it->entered);
  EXPECT((task->joins != WEFT_NO_SLOT) == (it->target != MODEL_NONE));
  EXPECT(weft__sched_wakes_in(&sched, task) == model_wakes_in(&model, id));
  int64_t now = it->on_real_time ? model.real_now : model.sim_now;
  EXPECT(weft__sched_slept(&sched, task) == now - it->since);
  return NULL;
}

/* What it last waited for, if that was several: the same have ended in the same way. */
static const char *compare_watches(uint32_t id)
{
  const model_task *it = &model.tasks[id];
  const weft__task *task = weft__sched_find(&sched, handles[id]);
  EXPECT(!task || !it->alive || (task->joins == WEFT_SEVERAL) == (it->target == MODEL_SEVERAL));
  for (uint32_t i = 0; i < it->watches; i++) EXPECT(watches[id][i].state == it->ended[i]);
  return NULL;
}

static const char *compare(void)
{
  EXPECT(weft__sched_valid(&sched));
  EXPECT(sched.active == model.active);
  EXPECT(sched.counts.started == model.count);
  EXPECT(sched.counts.completed == model.completed);
  EXPECT(sched.counts.cancelled == model.cancelled_count);
  EXPECT(sched.counts.failed == model.failed);
  EXPECT(sched.counts.rejected == model.rejected);
  EXPECT(dropped == model.dropped);
  uint32_t first = model.count > 60 ? model.count - 60 : 0;
  for (uint32_t id = first; id < model.count; id++) {
    TRY(compare_task(id));
    TRY(compare_watches(id));
  }
  return NULL;
}

/* --- What anybody may do ------------------------------------------------------------------- */

/* One of the latest, dead ones too. */
static uint32_t any_task(void)
{
  uint32_t among = model.count < 40 ? model.count : 40;
  return model.count - 1 - unit_random_below(&dice, among);
}

static const char *start_one(void)
{
  if (model.count == MODEL_TASKS) return NULL;
  uint32_t id = model_start(&model);
  weft__task *task = weft__sched_start(&sched);
  EXPECT((task == NULL) == (id == MODEL_NONE));
  if (!task) return NULL;
  handles[id] = weft__sched_handle(&sched, task);
  EXPECT(handles[id] == ((uint64_t)TAG << 56 | (uint64_t)model.tasks[id].generation << 24 |
                         model.tasks[id].slot));
  return NULL;
}

static const char *cancel_one(uint32_t id)
{
  weft__task *task = weft__sched_find(&sched, handles[id]);
  if (task) EXPECT(weft__sched_cancel(&sched, task) == model_cancel(&model, id));
  return NULL;
}

static const char *act(void)
{
  uint32_t choice = unit_random_below(&dice, 100);
  if (choice < 45 || model.count == 0) return start_one();
  uint32_t id = any_task();
  if (choice < 80) return cancel_one(id);
  weft__task *task = weft__sched_find(&sched, handles[id]);
  if (task) EXPECT(weft__sched_wake(&sched, task) == model_wake(&model, id));
  return NULL;
}

/* --- What a body does ---------------------------------------------------------------------- */

/* About a number of ticks, give or take what decides whether it is due. */
static int64_t some_time(void)
{
  static const int64_t nudges[] = {0, 1, -1, 998, 999, 1000, 1001, -1000};
  if (unit_random_chance(&dice, 10)) return unit_random_deadline(&dice);
  int64_t ns = unit_random_below(&dice, 40) * INT64_C(1953125) / 2;
  ns += nudges[unit_random_below(&dice, 8)];
  return ns < 0 ? 0 : ns;
}

/* Any, all, or some of a few tasks, dead ones and doubles among them. */
static const char *arm_several(weft__task *self, weft_status *answer, bool *done)
{
  uint32_t ids[MODEL_WATCHES], count = unit_random_below(&dice, MODEL_WATCHES + 1);
  weft_watch *mine = watches[model.running];
  memset(mine, 0, sizeof watches[0]);
  for (uint32_t i = 0; i < count; i++) {
    ids[i] = any_task();
    if (ids[i] == model.running && unit_random_chance(&dice, 80)) ids[i] = any_task();
    mine[i].handle = handles[ids[i]];
  }
  uint32_t needed = unit_random_chance(&dice, 40)   ? count
                    : unit_random_chance(&dice, 60) ? count > 0
                                                    : unit_random_below(&dice, count + 1);
  int64_t timeout = unit_random_chance(&dice, 50) ? -1 : some_time();
  bool expected = false;
  *answer = weft__sched_arm_several(&sched, self, mine, count, needed, timeout, done);
  EXPECT(*answer == model_several(&model, ids, count, needed, timeout, &expected));
  EXPECT(*done == expected);
  if (*answer == WEFT_SELF) model.tasks[model.running].watches = 0;
  return NULL;
}

static const char *arm(weft__task *self, weft_status *answer, bool *done)
{
  uint32_t choice = unit_random_below(&dice, 100), id = any_task();
  weft__task *target = weft__sched_find(&sched, handles[id]);
  *done = false;
  if (choice < 20) return arm_several(self, answer, done);
  if (choice < 40) {
    *answer = weft__sched_arm_next(&sched, self);
    EXPECT(*answer == model_next(&model));
  } else if (choice < 75 || !target || !target->alive) {
    bool real = unit_random_chance(&dice, 30);
    int64_t ns = some_time();
    *answer = weft__sched_arm_sleep(&sched, self, ns, real);
    EXPECT(*answer == model_sleep(&model, ns, real));
  } else {
    int64_t timeout = unit_random_chance(&dice, 50) ? -1 : some_time();
    *answer = weft__sched_arm_join(&sched, self, target, timeout);
    EXPECT(*answer == model_join(&model, id, timeout));
  }
  return NULL;
}

static const char *finish(weft__task *self, weft_state state)
{
  model_finish(&model, model.running, state);
  weft__sched_finish(&sched, self, state);
  weft__sched_release(&sched, self);
  return NULL;
}

/* What may happen between the arming and the leaving; sets `*back` if the wait is undone. */
static const char *act_while_armed(weft__task *self, bool *back)
{
  while (unit_random_chance(&dice, 20)) TRY(act());
  if (unit_random_chance(&dice, 5)) TRY(cancel_one(model.running));
  *back = unit_random_chance(&dice, 15);
  if (!*back) return NULL;
  weft__sched_disarm(&sched, self);
  model_disarm(&model);
  return compare();
}

/* Told to stop: obeys, or goes on. True in `*over` if it left. */
static const char *obey(weft__task *self, weft_status told, bool *over)
{
  if (told == WEFT_FORCED && unit_random_chance(&dice, 50)) {
    weft__sched_arm_cancelled(&sched, self);
    model_arm_cancelled(&model);
    *over = true;
  } else if (unit_random_chance(&dice, 20)) {
    TRY(finish(self, WEFT_STATE_CANCELLED));
    *over = true;
  }
  return NULL;
}

static const char *run_body(weft__task *self)
{
  static const weft_state ends[] = {WEFT_STATE_COMPLETED, WEFT_STATE_CANCELLED,
                                    WEFT_STATE_FAILED};
  while (unit_random_chance(&dice, 25)) TRY(act());
  for (bool over = false; !over;) {
    weft_status answer;
    bool done;
    if (unit_random_chance(&dice, 12)) return finish(self, ends[unit_random_below(&dice, 3)]);
    TRY(arm(self, &answer, &done));
    if (done) continue;
    if (answer == WEFT_OK) {
      bool back;
      TRY(act_while_armed(self, &back));
      over = !back;
    } else if (answer == WEFT_CANCELLED || answer == WEFT_FORCED) {
      TRY(obey(self, answer, &over));
    } else {
      EXPECT(answer == WEFT_SELF || answer == WEFT_RING);
    }
  }
  return NULL;
}

/* --- Ticks --------------------------------------------------------------------------------- */

static const char *run_pass(void)
{
  for (;;) {
    uint32_t expected = model_take(&model);
    weft__task *task = weft__sched_take(&sched);
    EXPECT((task == NULL) == (expected == MODEL_NONE));
    if (!task) return compare();
    EXPECT(weft__sched_handle(&sched, task) == handles[expected]);
    TRY(run_body(task));
    TRY(compare());
  }
}

/* Both clocks in half nanoseconds: 1/1024 s is 976,562.5 ns, and the half is carried. */
static void advance(weft__clock *clock, int64_t *halves, int64_t *now, uint32_t steps)
{
  weft__clock_advance(clock, steps / 1024.0);
  *halves += steps * INT64_C(1953125);
  *now = *halves / 2;
}

static const char *run_drain(void)
{
  for (uint32_t id = 0; id < model.count; id++) TRY(cancel_one(id));
  sched.force = model.force = unit_random_chance(&dice, 50);
  weft__sched_begin_drain(&sched);
  model_begin_drain(&model);
  TRY(run_pass());
  sched.force = model.force = false;
  return NULL;
}

static const char *run_ticks(void)
{
  static const uint32_t steps[] = {0, 1, 1, 1, 2, 7, 300};
  int64_t sim = 0, real = 0;
  bool paused = false;
  for (int tick = 0; tick < 60; tick++) {
    while (unit_random_chance(&dice, 50)) TRY(act());
    if (unit_random_chance(&dice, 10)) paused = !paused;
    if (unit_random_chance(&dice, 3)) TRY(run_drain());
    if (!paused) advance(&sched.sim, &sim, &model.sim_now, steps[unit_random_below(&dice, 7)]);
    advance(&sched.real, &real, &model.real_now, steps[unit_random_below(&dice, 7)]);
    EXPECT(sched.sim.now == model.sim_now && sched.real.now == model.real_now);
    sched.paused = paused;
    weft__sched_begin_pass(&sched);
    model_begin_pass(&model, paused);
    TRY(compare());
    TRY(run_pass());
  }
  return NULL;
}

/* Begins where numbers are about to wrap or to be used up. */
static void bring_limits_near(void)
{
  static const uint32_t starts[] = {0, UINT32_MAX - 3, UINT32_MAX - 40, INT32_MAX};
  weft__ring *rings[] = {&sched.ready, &sched.urgent};
  for (int i = 0; i < 2; i++)
    rings[i]->head = rings[i]->tail = rings[i]->pass_end = starts[unit_random_below(&dice, 4)];
  if (unit_random_chance(&dice, 50)) sched.sim_heap.sequence_end = sched.capacity + 1;
  if (unit_random_chance(&dice, 50)) sched.real_heap.sequence_end = sched.capacity + 1;
}

static const char *run_program(uint64_t seed)
{
  static const uint32_t budgets[] = {1, 2, 5, UINT32_MAX};
  dice = (unit_random){seed};
  dropped = 0;
  uint32_t capacity = 1 + unit_random_below(&dice, 24);
  uint32_t budget = budgets[unit_random_below(&dice, 4)];
  size_t stride = sizeof(weft__task) + 8 * unit_random_below(&dice, 4);
  if (weft__sched_init(&sched, &ops, capacity, stride, budget, TAG) != WEFT_OK)
    return "no memory";
  sched.generation_end = unit_random_chance(&dice, 15) ? 3 : UINT32_MAX;
  bring_limits_near();
  model_init(&model, capacity, budget, sched.generation_end);
  const char *wrong = run_ticks();
  weft__sched_fini(&sched);
  return wrong;
}

static void random_programs_tell_the_same_story_as_the_model(void **state)
{
  (void)state;
  unit_for_seeds(10000, run_program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_tell_the_same_story_as_the_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
