/* SPDX-License-Identifier: MIT */
/*
** sched_model.h - a slow, obvious model of the scheduler: plain lists that are searched from the
** front, a sort where an order is needed, no handles but a table of who had which slot. It says
** which task comes next and what each call answers; a spec holds the real one against it.
*/
#ifndef WEFT_SPEC_SCHED_MODEL_H
#define WEFT_SPEC_SCHED_MODEL_H

#include "weft.h"

#define MODEL_TASKS 2048 /* started in the life of a model */
#define MODEL_NONE UINT32_MAX
#define MODEL_SEVERAL (UINT32_MAX - 1)
#define MODEL_WATCHES 6 /* waited for at once */

typedef enum model_where {
  MODEL_NOWHERE,
  MODEL_READY,
  MODEL_URGENT,
  MODEL_SIM,
  MODEL_REAL,
  MODEL_CANCEL,
} model_where;

typedef struct model_task {
  weft_state state;
  weft_status wake;
  model_where where;
  int64_t deadline;
  uint64_t armed; /* when, among all arms */
  int64_t since;
  bool on_real_time;
  uint32_t target; /* the task it joins, MODEL_NONE, or MODEL_SEVERAL: those below */
  uint32_t watched[MODEL_WATCHES];
  weft_state ended[MODEL_WATCHES]; /* how they have; QUEUED while they have not */
  uint32_t watches, needed;
  bool alive, entered, cancel;
  uint32_t raises;
  weft_state joined; /* how the task that it joined has ended */
  uint32_t slot, generation;
} model_task;

/* A list of tasks; those at its start that belong to the running pass are counted, and of these those
   that the last one left over and that come first. */
typedef struct model_list {
  uint32_t items[MODEL_TASKS];
  uint32_t count, in_pass, left_over;
} model_list;

typedef struct sched_model {
  model_task tasks[MODEL_TASKS];
  bool ready_turn; /* of what is left over of both lanes the ready one is next */
  uint32_t count;
  uint32_t capacity, active, used, generation_end;
  uint32_t generations[64]; /* by slot */
  model_list ready, urgent, cancelled, free_slots;
  model_list joiners; /* everybody who joins anybody or several, in the order of arming */
  int64_t sim_now, real_now;
  uint64_t arms;
  uint32_t budget, budget_left;
  bool force;
  uint32_t running;
  uint64_t completed, cancelled_count, failed, rejected, dropped;
} sched_model;

void model_init(sched_model *model, uint32_t capacity, uint32_t budget,
                uint32_t generation_end);

/* MODEL_NONE at capacity. */
uint32_t model_start(sched_model *model);
bool model_cancel(sched_model *model, uint32_t task);
bool model_wake(sched_model *model, uint32_t task);
void model_finish(sched_model *model, uint32_t task, weft_state state);

/* For the running task. */
weft_status model_next(sched_model *model);
weft_status model_sleep(sched_model *model, int64_t ns, bool real);
weft_status model_join(sched_model *model, uint32_t target, int64_t timeout);
/* `*done`: enough of them have ended, nothing was armed. */
weft_status model_several(sched_model *model, const uint32_t *ids, uint32_t count,
                          uint32_t needed, int64_t timeout, bool *done);
void model_arm_cancelled(sched_model *model);
void model_disarm(sched_model *model);

void model_begin_pass(sched_model *model, bool paused);
void model_begin_drain(sched_model *model);
/* MODEL_NONE at the end of the pass. */
uint32_t model_take(sched_model *model);

int64_t model_wakes_in(const sched_model *model, uint32_t task);
/* Whether a later task has the slot of this one. */
bool model_expired(const sched_model *model, uint32_t task);

#endif
