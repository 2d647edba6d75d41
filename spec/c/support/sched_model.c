/* SPDX-License-Identifier: MIT */
/*
** sched_model.c - the model of sched_model.h.
*/
#include "sched_model.h"

#include <string.h>

#define DUE_SLACK_NS 999

/* --- Lists --------------------------------------------------------------------------------- */

static void list_push(model_list *list, uint32_t item)
{
  list->items[list->count++] = item;
}

/* Takes it out wherever it is, if it is there. */
static void list_remove(model_list *list, uint32_t item)
{
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->items[i] != item) continue;
    list->count--;
    if (i < list->in_pass) list->in_pass--;
    if (i < list->left_over) list->left_over--;
    memmove(&list->items[i], &list->items[i + 1], (list->count - i) * sizeof list->items[0]);
    return;
  }
}

static uint32_t list_pop(model_list *list)
{
  uint32_t first = list->items[0];
  list_remove(list, first);
  return first;
}

static model_list *list_of(sched_model *model, model_where where)
{
  switch (where) {
  case MODEL_READY:
    return &model->ready;
  case MODEL_URGENT:
    return &model->urgent;
  case MODEL_CANCEL:
    return &model->cancelled;
  default:
    return NULL;
  }
}

static void put(sched_model *model, uint32_t task, model_where where)
{
  model->tasks[task].where = where;
  if (list_of(model, where)) list_push(list_of(model, where), task);
}

/* Takes the task out of all that it waits in. */
static void detach(sched_model *model, uint32_t task)
{
  list_remove(&model->ready, task);
  list_remove(&model->urgent, task);
  list_remove(&model->cancelled, task);
  list_remove(&model->joiners, task);
  model->tasks[task].where = MODEL_NOWHERE;
  model->tasks[task].target = MODEL_NONE;
}

/* --- Starting and ending ------------------------------------------------------------------- */

void model_init(sched_model *model, uint32_t capacity, uint32_t budget, uint32_t generation_end)
{
  memset(model, 0, sizeof *model);
  model->capacity = capacity;
  model->budget = budget;
  model->generation_end = generation_end;
  model->running = MODEL_NONE;
}

uint32_t model_start(sched_model *model)
{
  uint32_t slot;
  if (model->used < model->capacity) {
    slot = model->used++;
  } else if (model->free_slots.count > 0) {
    slot = list_pop(&model->free_slots);
  } else {
    model->rejected++;
    return MODEL_NONE;
  }
  uint32_t task = model->count++;
  model->tasks[task] = (model_task){
      .state = WEFT_STATE_QUEUED,
      .target = MODEL_NONE,
      .alive = true,
      .slot = slot,
      .generation = ++model->generations[slot],
  };
  put(model, task, MODEL_READY);
  model->active++;
  return task;
}

static void make_ready(sched_model *model, uint32_t task)
{
  detach(model, task);
  model->tasks[task].wake = WEFT_OK;
  model->tasks[task].state = WEFT_STATE_QUEUED;
  put(model, task, MODEL_READY);
}

/* The first of those that join `target`, in joining order. */
static uint32_t first_joiner(const sched_model *model, uint32_t target)
{
  for (uint32_t i = 0; i < model->joiners.count; i++)
    if (model->tasks[model->joiners.items[i]].target == target) return model->joiners.items[i];
  return MODEL_NONE;
}

static uint32_t ended_count(const model_task *it)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < it->watches; i++) count += it->ended[i] >= WEFT_STATE_COMPLETED;
  return count;
}

/* Tells whoever waits for several, `target` among them; each entry of its own, and no more of them
   once it has enough. */
static void tell_watchers(sched_model *model, uint32_t target, weft_state state)
{
  for (uint32_t i = 0; i < model->joiners.count;) {
    uint32_t task = model->joiners.items[i];
    model_task *it = &model->tasks[task];
    bool enough = false;
    for (uint32_t w = 0; it->target == MODEL_SEVERAL && w < it->watches && !enough; w++) {
      if (it->watched[w] != target) continue;
      it->ended[w] = state;
      enough = ended_count(it) >= it->needed;
    }
    if (enough)
      make_ready(model, task); /* and out of the list */
    else
      i++;
  }
}

void model_finish(sched_model *model, uint32_t task, weft_state state)
{
  uint32_t joiner;
  while ((joiner = first_joiner(model, task)) != MODEL_NONE) {
    model->tasks[joiner].joined = state;
    make_ready(model, joiner);
  }
  tell_watchers(model, task, state);
  model_task *it = &model->tasks[task];
  it->state = state;
  it->alive = false;
  model->active--;
  if (it->generation < model->generation_end) list_push(&model->free_slots, it->slot);
  if (state == WEFT_STATE_COMPLETED) model->completed++;
  if (state == WEFT_STATE_CANCELLED) model->cancelled_count++;
  if (state == WEFT_STATE_FAILED) model->failed++;
  if (model->running == task) model->running = MODEL_NONE;
}

/* --- Cancelling and waking ----------------------------------------------------------------- */

static void put_in_cancel_lane(sched_model *model, uint32_t task)
{
  model->tasks[task].wake = WEFT_CANCELLED;
  model->tasks[task].state = WEFT_STATE_CANCELLING;
  put(model, task, MODEL_CANCEL);
}

static bool is_armed(const model_task *task)
{
  return task->where != MODEL_NOWHERE || task->target != MODEL_NONE;
}

bool model_cancel(sched_model *model, uint32_t task)
{
  model_task *it = &model->tasks[task];
  if (!it->alive) return false;
  if (it->cancel) return true;
  it->cancel = true;
  if (task == model->running && !is_armed(it)) {
    it->state = WEFT_STATE_CANCELLING;
    return true;
  }
  detach(model, task);
  if (it->entered) {
    put_in_cancel_lane(model, task);
  } else {
    model->dropped++;
    model_finish(model, task, WEFT_STATE_CANCELLED);
  }
  return true;
}

bool model_wake(sched_model *model, uint32_t task)
{
  model_task *it = &model->tasks[task];
  if (it->state != WEFT_STATE_SLEEPING) return false;
  if (it->where == MODEL_READY)
    it->state = WEFT_STATE_QUEUED; /* its turn comes where it stands */
  else
    make_ready(model, task);
  return true;
}

/* --- Arming -------------------------------------------------------------------------------- */

static void begin_wait(sched_model *model, bool real)
{
  model_task *it = &model->tasks[model->running];
  it->since = real ? model->real_now : model->sim_now;
  it->on_real_time = real;
  it->state = WEFT_STATE_SLEEPING;
  it->wake = WEFT_OK;
  it->armed = model->arms++;
}

void model_arm_cancelled(sched_model *model)
{
  begin_wait(model, false);
  put_in_cancel_lane(model, model->running);
}

/* True if the wait goes on to be armed; else `*answer` is what the call answers. */
static bool admit(sched_model *model, weft_status *answer)
{
  model_task *it = &model->tasks[model->running];
  *answer = WEFT_OK;
  if (!it->cancel) return true;
  if (it->raises == 0) {
    it->raises = 1;
    *answer = WEFT_CANCELLED;
  } else if (model->force || it->raises >= WEFT_MAX_SWALLOWED) {
    it->raises = 0;
    *answer = WEFT_FORCED;
  } else {
    model_arm_cancelled(model);
  }
  return false;
}

weft_status model_next(sched_model *model)
{
  weft_status answer;
  if (!admit(model, &answer)) return answer;
  begin_wait(model, false);
  put(model, model->running, MODEL_READY);
  return WEFT_OK;
}

static void set_deadline(sched_model *model, int64_t now, int64_t ns, model_where where)
{
  model->tasks[model->running].deadline = ns > INT64_MAX - now ? INT64_MAX : now + ns;
  put(model, model->running, where);
}

weft_status model_sleep(sched_model *model, int64_t ns, bool real)
{
  weft_status answer;
  if (!admit(model, &answer)) return answer;
  begin_wait(model, real);
  set_deadline(model, real ? model->real_now : model->sim_now, ns,
               real ? MODEL_REAL : MODEL_SIM);
  return WEFT_OK;
}

/* Who waits for whom, gone over again and again until nobody new is found to be stuck. */
typedef struct stuck {
  bool is[MODEL_TASKS];
} stuck;

static bool cannot_end(const stuck *s, const model_task *it)
{
  uint32_t may = 0;
  if (it->target == MODEL_NONE) return false;
  if (it->target != MODEL_SEVERAL) return s->is[it->target];
  for (uint32_t i = 0; i < it->watches; i++)
    may += it->ended[i] >= WEFT_STATE_COMPLETED || !s->is[it->watched[i]];
  return may < it->needed;
}

/* Those that cannot end before the running task does. */
static void find_stuck(const sched_model *model, stuck *s)
{
  memset(s, 0, sizeof *s);
  s->is[model->running] = true;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t i = 0; i < model->joiners.count; i++) {
      uint32_t task = model->joiners.items[i];
      if (s->is[task] || !cannot_end(s, &model->tasks[task])) continue;
      s->is[task] = more = true;
    }
  }
}

weft_status model_join(sched_model *model, uint32_t target, int64_t timeout)
{
  weft_status answer;
  stuck s;
  if (target == model->running) return WEFT_SELF;
  find_stuck(model, &s);
  if (s.is[target]) return WEFT_RING;
  if (!admit(model, &answer)) return answer;
  begin_wait(model, false);
  model->tasks[model->running].target = target;
  list_push(&model->joiners, model->running);
  if (timeout >= 0) set_deadline(model, model->sim_now, timeout, MODEL_SIM);
  return WEFT_OK;
}

static weft_state end_of(const sched_model *model, uint32_t task)
{
  if (model_expired(model, task)) return WEFT_STATE_EXPIRED;
  return model->tasks[task].alive ? WEFT_STATE_QUEUED : model->tasks[task].state;
}

weft_status model_several(sched_model *model, const uint32_t *ids, uint32_t count,
                          uint32_t needed, int64_t timeout, bool *done)
{
  model_task *it = &model->tasks[model->running];
  weft_status answer;
  stuck s;
  it->watches = count;
  it->needed = needed;
  for (uint32_t i = 0; i < count; i++) {
    if (ids[i] == model->running) return WEFT_SELF;
    it->watched[i] = ids[i];
    it->ended[i] = end_of(model, ids[i]);
  }
  *done = ended_count(it) >= needed;
  if (*done) return WEFT_OK;
  find_stuck(model, &s);
  it->target = MODEL_SEVERAL;
  bool ring = cannot_end(&s, it);
  it->target = MODEL_NONE;
  if (ring) return WEFT_RING;
  if (!admit(model, &answer)) return answer;
  begin_wait(model, false);
  it->target = MODEL_SEVERAL;
  list_push(&model->joiners, model->running);
  if (timeout >= 0) set_deadline(model, model->sim_now, timeout, MODEL_SIM);
  return WEFT_OK;
}

void model_disarm(sched_model *model)
{
  model_task *it = &model->tasks[model->running];
  detach(model, model->running);
  it->state = it->cancel ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
}

int64_t model_wakes_in(const sched_model *model, uint32_t task)
{
  const model_task *it = &model->tasks[task];
  if (it->where != MODEL_SIM && it->where != MODEL_REAL) return -1;
  int64_t left = it->deadline - (it->where == MODEL_REAL ? model->real_now : model->sim_now);
  return left > 0 ? left : 0;
}

bool model_expired(const sched_model *model, uint32_t task)
{
  return model->generations[model->tasks[task].slot] != model->tasks[task].generation;
}

/* --- The pass ------------------------------------------------------------------------------ */

/* Of those that sleep there and are due, the first by deadline, then by arming; or MODEL_NONE. */
static uint32_t first_due(const sched_model *model, model_where where, int64_t now)
{
  uint32_t best = MODEL_NONE;
  for (uint32_t i = 0; i < model->count; i++) {
    const model_task *it = &model->tasks[i];
    if (it->where != where || it->deadline > now + DUE_SLACK_NS) continue;
    const model_task *other = best == MODEL_NONE ? NULL : &model->tasks[best];
    if (!other || it->deadline < other->deadline ||
        (it->deadline == other->deadline && it->armed < other->armed))
      best = i;
  }
  return best;
}

static void wake_due(sched_model *model, model_where from, int64_t now, model_where to)
{
  uint32_t task;
  while ((task = first_due(model, from, now)) != MODEL_NONE) {
    bool joins = model->tasks[task].target != MODEL_NONE;
    make_ready(model, task);
    model->tasks[task].wake = joins ? WEFT_TIMEOUT : WEFT_OK;
    if (to == MODEL_READY) continue;
    detach(model, task);
    put(model, task, to);
  }
}

void model_begin_pass(sched_model *model, bool paused)
{
  model->cancelled.in_pass = model->cancelled.count;
  model->urgent.left_over = model->urgent.in_pass;
  model->ready.left_over = model->ready.in_pass;
  wake_due(model, MODEL_REAL, model->real_now, MODEL_URGENT);
  model->urgent.in_pass = model->urgent.count;
  if (!paused) wake_due(model, MODEL_SIM, model->sim_now, MODEL_READY);
  if (paused || model->urgent.count == 0 || model->ready.left_over == 0)
    model->urgent.left_over = model->ready.left_over = 0;
  model->ready.in_pass = paused ? 0 : model->ready.count;
  model->budget_left = model->budget;
}

void model_begin_drain(sched_model *model)
{
  model->cancelled.in_pass = model->cancelled.count;
  model->urgent.in_pass = model->ready.in_pass = 0;
  model->urgent.left_over = model->ready.left_over = 0;
  model->budget_left = 0;
}

/* What was left over of the two comes in turns. */
static model_list *next_left_over(sched_model *model)
{
  bool ready = model->ready_turn ? model->ready.left_over > 0 : model->urgent.left_over == 0;
  model->ready_turn = !ready;
  return ready ? &model->ready : &model->urgent;
}

static model_list *next_lane(sched_model *model)
{
  if (model->cancelled.in_pass > 0) return &model->cancelled;
  if (model->budget_left == 0) return NULL;
  if (model->urgent.left_over + model->ready.left_over > 0) return next_left_over(model);
  if (model->urgent.in_pass > 0) return &model->urgent;
  return model->ready.in_pass > 0 ? &model->ready : NULL;
}

uint32_t model_take(sched_model *model)
{
  model_list *lane = next_lane(model);
  model->running = MODEL_NONE;
  if (!lane) return MODEL_NONE;
  model->running = list_pop(lane);
  model_task *it = &model->tasks[model->running];
  if (lane == &model->cancelled)
    it->raises++;
  else
    model->budget_left--;
  it->where = MODEL_NOWHERE;
  it->entered = true;
  it->state = it->cancel ? WEFT_STATE_CANCELLING : WEFT_STATE_RUNNING;
  return model->running;
}
