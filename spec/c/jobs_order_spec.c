/* SPDX-License-Identifier: MIT */
/*
** jobs_order_spec.c - who comes first: priorities, that nothing starves, what a wait does to the
** priority of what it waits for, and storms from many threads.
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/jobs.h"
#include "support/pool.h"
#include "support/random.h"
#include "support/unit.h"

static char order[4096];
static atomic_uint order_length;

static weft_status note(void *data)
{
  order[atomic_fetch_add(&order_length, 1)] = *(char *)data;
  return WEFT_OK;
}

static void note_with(char mark, weft_job_priority priority)
{
  weft_job_options options = {.priority = priority, .flags = WEFT_JOB_WORKERS};
  submit_with(note, &mark, 1, &options);
}

/* One worker, so that the order in which jobs begin is that in which they are noted. */
static int make_one(void **state)
{
  (void)state;
  weft_pool_config config = {.workers = 1, .background = 1};
  atomic_store(&order_length, 0);
  memset(order, 0, sizeof order);
  return make_pool_like(&config);
}

/* But for one search in 61, which begins with the lowest priority: how many there were before, while
   the thread looked for something to do, is left to chance. */
static void what_is_critical_comes_first(void **state)
{
  int before = 0;
  (void)state;
  hold_threads();
  for (int i = 0; i < 20; i++) note_with('n', WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 20; i++) note_with('c', WEFT_PRIORITY_CRITICAL);
  release_threads();
  settle();
  assert_int_equal(order_length, 40);
  for (int i = 0, critical = 0; critical < 20; i++) {
    if (order[i] == 'n') before++;
    if (order[i] == 'c') critical++;
  }
  assert_in_range(before, 0, 1);
}

/* One search in 61 begins with the lowest priority. */
static void what_is_normal_is_not_starved_by_what_is_critical(void **state)
{
  (void)state;
  hold_threads();
  for (int i = 0; i < 10; i++) note_with('n', WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 1000; i++) note_with('c', WEFT_PRIORITY_CRITICAL);
  release_threads();
  settle();
  assert_int_equal(order_length, 1010);
  int critical = 0;
  for (int i = 0, normal = 0; normal < 10; i++) {
    if (order[i] == 'n') normal++;
    if (order[i] == 'c') critical++;
  }
  assert_true(critical >= 61 && critical <= 11 * 61);
}

static weft_status gate_then_note(void *data)
{
  weft_status status = wait_at_gate(data);
  char mark = 'b';
  return status ? status : note(&mark);
}

static void background_work_has_threads_of_its_own(void **state)
{
  (void)state;
  weft_barrier *gate;
  assert_int_equal(weft_barrier_new(pool, 0, &gate), WEFT_OK);
  weft_job_options options = {.priority = WEFT_PRIORITY_BACKGROUND};
  hold_threads(); /* the worker does not get to it */
  weft_job job = submit_with(gate_then_note, &gate, sizeof gate, &options);
  while (weft_job_state_of(pool, job) != WEFT_JOB_COMPLETED)
    weft_sleep_until(weft_clock() + 100000);
  release_threads();
  assert_string_equal(order, "b");
  weft_barrier_delete(gate);
}

static atomic_bool background_goes_on;

static weft_status occupy(void *data)
{
  (void)data;
  while (!atomic_load(&background_goes_on)) weft_sleep_until(weft_clock() + 100000);
  return WEFT_OK;
}

/* However much of it there is and however long it takes. */
static void background_work_holds_nothing_up(void **state)
{
  (void)state;
  weft_job_options background = {.priority = WEFT_PRIORITY_BACKGROUND};
  background_goes_on = false;
  for (int i = 0; i < 100; i++) submit_with(occupy, NULL, 0, &background);
  for (int i = 0; i < 50; i++) {
    weft_job_options options = {.flags = WEFT_JOB_WORKERS,
                                .priority = (weft_job_priority)(i % 2)};
    assert_int_equal(weft_job_wait(pool, submit_with(nothing, NULL, 0, &options), -1), WEFT_OK);
  }
  assert_true(pool_stats().pending >= 99);
  background_goes_on = true;
}

/* One search in 61 looks at the background first, and chance says which: one may come early. */
static void assert_background_last(void)
{
  char others[sizeof order] = "";
  size_t count = strlen(order), kept = 0;
  const char *last = strrchr(order, 'n');
  for (size_t i = 0; i < count; i++)
    if (order[i] != 'b') others[kept++] = order[i];
  assert_string_equal(others, "cccccnnnnn");
  assert_int_equal(count, 15);
  assert_true(last - order <= 10);
}

static void without_background_threads_the_workers_run_it_last(void **state)
{
  weft_pool_config config = {.workers = 1, .background = -1};
  atomic_store(&order_length, 0);
  memset(order, 0, sizeof order);
  assert_int_equal(make_pool_like(&config), 0);
  hold_threads();
  for (int i = 0; i < 5; i++) note_with('b', WEFT_PRIORITY_BACKGROUND);
  for (int i = 0; i < 5; i++) note_with('n', WEFT_PRIORITY_NORMAL);
  for (int i = 0; i < 5; i++) note_with('c', WEFT_PRIORITY_CRITICAL);
  release_threads();
  settle();
  assert_background_last();
  assert_int_equal(drop_pool(state), 0);
}

/* A critical job waits for a background one, behind a hundred of its kind that are not done. */
static weft_status wait_for(void *data)
{
  return weft_job_wait(pool, *(weft_job *)data, -1);
}

static void what_is_waited_for_takes_the_priority_of_who_waits(void **state)
{
  weft_pool_config config = {.workers = 1, .background = 1, .flags = WEFT_POOL_SUSPEND};
  assert_int_equal(make_pool_like(&config), 0);
  weft_job_options background = {.priority = WEFT_PRIORITY_BACKGROUND};
  weft_job_options critical = {.priority = WEFT_PRIORITY_CRITICAL, .flags = WEFT_JOB_WORKERS};
  background_goes_on = false;
  for (int i = 0; i < 100; i++) submit_with(occupy, NULL, 0, &background);
  background.flags = WEFT_JOB_WORKERS;
  weft_job last = submit_with(nothing, NULL, 0, &background);
  weft_job waiting = submit_with(wait_for, &last, sizeof last, &critical);
  assert_int_equal(weft_job_wait(pool, waiting, -1), WEFT_OK);
  assert_int_equal(weft_job_state_of(pool, last), WEFT_JOB_COMPLETED);
  /* And so does what a thread outside waits for. */
  last = submit_with(nothing, NULL, 0, &background);
  assert_int_equal(weft_job_wait(pool, last, -1), WEFT_OK);
  assert_true(pool_stats().pending >= 99);
  background_goes_on = true;
  assert_int_equal(drop_pool(state), 0);
}

/* --- Nothing starves ----------------------------------------------------------------------- */

static atomic_bool flood;
static atomic_int flooding;

/* Puts itself into the worker's own queue again and again, where the newest comes first. */
static weft_status flood_own(void *data)
{
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  (void)data;
  if (!atomic_load(&flood)) return atomic_fetch_sub(&flooding, 1) ? WEFT_OK : WEFT_OK;
  return weft_job_submit(pool, flood_own, NULL, 0, &options, NULL);
}

/* Comes back from outside again and again. */
static weft_status flood_outside(void *data)
{
  (void)data;
  while (atomic_load(&flood)) {
    weft_status status = weft_job_yield();
    if (status) return status;
  }
  return WEFT_OK;
}

static void no_place_in_which_jobs_are_queued_is_starved_by_another(void **state)
{
  (void)state;
  static const weft_job_fn floods[] = {flood_own, flood_outside};
  weft_job_options options = {.flags = WEFT_JOB_WORKERS};
  for (int which = 0; which < 3; which++) {
    flood = true;
    for (int i = 0; i < 2; i++) {
      if (which != 1 - i) submit_with(floods[i], NULL, 0, &options);
    }
    for (int i = 0; i < 20; i++)
      assert_int_equal(weft_job_wait(pool, submit_with(nothing, NULL, 0, &options), -1),
                       WEFT_OK);
    flood = false;
    settle();
  }
}

/* --- Storms -------------------------------------------------------------------------------- */

typedef struct storm {
  weft_outbox *outbox;
  uint64_t seed;
  uint32_t count;
  atomic_uint *ran;
  _Atomic uint64_t accepted, cancelled;
} storm;

static weft_status storm_job(void *data)
{
  atomic_fetch_add(*(atomic_uint **)data, 1);
  return WEFT_OK;
}

static atomic_int storms_over;

static void storm_thread(void *arg)
{
  storm *mine = arg;
  unit_random random = {mine->seed};
  for (uint32_t i = 0; i < mine->count; i++) {
    weft_job_options options = {
        .priority = (weft_job_priority)unit_random_below(&random, 3),
        .outbox = mine->outbox,
        .flags = unit_random_below(&random, 8) & (WEFT_JOB_STAYS | WEFT_JOB_WORKERS),
    };
    weft_job job;
    weft_status status =
        weft_job_submit(pool, storm_job, &mine->ran, sizeof mine->ran, &options, &job);
    if (status == WEFT_FULL) {
      weft_sleep_until(weft_clock() + 1000);
      continue;
    }
    atomic_fetch_add(&mine->accepted, 1);
    if (unit_random_chance(&random, 10) && weft_job_cancel(pool, job))
      atomic_fetch_add(&mine->cancelled, 1);
    if (unit_random_chance(&random, 2)) weft_job_wait(pool, job, 100000);
  }
  atomic_fetch_add(&storms_over, 1);
}

/* Posts and cancels from many threads, while this one takes in what has ended: each exactly once. */
static const char *weather_a_storm(uint64_t seed)
{
  enum { THREADS = 4 };
  weft_pool_config config = {.workers = 2, .capacity = 256};
  atomic_uint ran = 0;
  weft__thread threads[THREADS];
  static storm storms[THREADS];
  weft_outbox *outbox;
  weft_job job;
  uint64_t taken = 0, completed = 0, accepted = 0, cancelled = 0;
  storms_over = 0;
  if (make_pool_like(&config) || weft_outbox_new(pool, NULL, NULL, &outbox)) return "new";
  for (int i = 0; i < THREADS; i++) {
    storms[i] =
        (storm){.outbox = outbox, .seed = seed * 7 + (uint64_t)i, .count = 2000, .ran = &ran};
    if (weft__thread_start(&threads[i], storm_thread, &storms[i])) return "thread";
  }
  for (bool quiet = false, over = false; !over;) {
    over = quiet;
    while (weft_outbox_take(outbox, &job)) {
      completed += weft_job_state_of(pool, job) == WEFT_JOB_COMPLETED;
      taken++;
      weft_job_release(pool, job);
    }
    if (quiet || atomic_load(&storms_over) < THREADS) continue;
    for (int i = 0; i < THREADS; i++) weft__thread_join(&threads[i]);
    settle();
    quiet = true; /* one more look */
  }
  for (int i = 0; i < THREADS; i++) {
    accepted += storms[i].accepted;
    cancelled += storms[i].cancelled;
  }
  weft_outbox_delete(outbox);
  if (taken != accepted) return "an end was lost or came twice";
  if (completed != ran) return "a job ran without ending, or twice";
  if (ran + cancelled != accepted) return "a job neither ran nor was cancelled, or both";
  return drop_pool(NULL) ? "the pool is not sound" : NULL;
}

static void each_job_of_a_storm_ends_exactly_once(void **state)
{
  (void)state;
  unit_for_seeds(10, weather_a_storm);
}

/* --- Anything ------------------------------------------------------------------------------ */

typedef struct brood {
  uint64_t seed;
  int depth;
} brood;

/* A random program: groups, jobs, barriers, ranges, yields, waits, cancels, in any order. */
static weft_status live(void *data);

static weft_status live_part(size_t first, size_t last, void *arg)
{
  brood child = *(brood *)arg;
  child.depth--;
  for (size_t i = first; i < last; i++) {
    child.seed += i;
    weft_status status = live(&child);
    if (status) return status;
  }
  return WEFT_OK;
}

static weft_status live_in_group(unit_random *random, int depth)
{
  weft_group group;
  weft_group_begin(&group, pool, (weft_job_priority)unit_random_below(random, 3));
  for (uint32_t i = unit_random_below(random, 4); i; i--) {
    brood child = {unit_random_next(random), depth - 1};
    weft_status status = weft_group_run(&group, live, &child, sizeof child);
    if (status && status != WEFT_FULL) return status;
  }
  weft_status status;
  while ((status = weft_group_wait(&group)) == WEFT_NOFIBERS) {
    weft_sleep_until(weft_clock() + 10000);
  }
  return status ? status : weft_group_failed(&group);
}

static weft_status live_with_job(unit_random *random, int depth)
{
  brood child = {unit_random_next(random), depth - 1};
  weft_job_options options = {
      .priority = (weft_job_priority)unit_random_below(random, 3),
      .flags = WEFT_JOB_KEEP | (unit_random_below(random, 2) ? WEFT_JOB_STAYS : 0),
  };
  weft_job job;
  weft_status status = weft_job_submit(pool, live, &child, sizeof child, &options, &job);
  if (status) return status == WEFT_FULL ? WEFT_OK : status;
  if (unit_random_chance(random, 20)) (void)weft_job_cancel(pool, job);
  while ((status = weft_job_wait(pool, job, -1)) == WEFT_NOFIBERS) {
    weft_sleep_until(weft_clock() + 10000);
  }
  if (!status) status = weft_job_result(pool, job, NULL, 0);
  weft_job_release(pool, job);
  return status == WEFT_CANCELLED ? WEFT_OK : status;
}

static weft_status live_with_barrier(unit_random *random, int depth)
{
  weft_barrier *barrier;
  if (weft_barrier_new(pool, 0, &barrier)) return WEFT_NOMEM;
  weft_status status = WEFT_OK;
  for (uint32_t i = unit_random_below(random, 4); i; i--) {
    brood child = {unit_random_next(random), depth - 1};
    weft_job_options options = {.barrier = barrier};
    status = weft_job_submit(pool, live, &child, sizeof child, &options, NULL);
    if (status && status != WEFT_FULL) return status;
  }
  while ((status = weft_barrier_wait(barrier, -1)) == WEFT_NOFIBERS) {
    weft_sleep_until(weft_clock() + 10000);
  }
  weft_barrier_delete(barrier);
  return status;
}

static weft_status live(void *data)
{
  brood mine = *(brood *)data;
  unit_random random = {mine.seed};
  weft_status status = WEFT_OK;
  if (mine.depth <= 0) return WEFT_OK;
  for (int step = 0; step < 2 && !status; step++) {
    switch (unit_random_below(&random, 5)) {
    case 0:
      status = live_with_job(&random, mine.depth);
      break;
    case 1:
      status = live_with_barrier(&random, mine.depth);
      break;
    case 2: {
      weft_range range = {
          .count = unit_random_below(&random, 6), .grain = 1, .fn = live_part, .arg = &mine};
      status = weft_range_run(pool, &range, (weft_job_priority)unit_random_below(&random, 3));
      break;
    }
    case 3:
      (void)weft_job_yield();
      break;
    default:
      status = live_in_group(&random, mine.depth);
    }
  }
  return status;
}

static const char *live_once(uint64_t seed)
{
  unit_random random = {seed};
  weft_pool_config config = {
      .workers = 1 + (int)unit_random_below(&random, 4),
      .background = (int)unit_random_below(&random, 3) - 1,
      .capacity = 64 + unit_random_below(&random, 500),
      .fibers = 100 + unit_random_below(&random, 500),
      .flags = unit_random_below(&random, 4),
  };
  if (make_pool_like(&config)) return "new";
  for (int i = 0; i < 6; i++) {
    brood root = {unit_random_next(&random), 4};
    weft_status status = weft_job_submit(pool, live, &root, sizeof root, NULL, NULL);
    if (status && status != WEFT_FULL) return weft_status_text(status);
  }
  brood root = {unit_random_next(&random), 4};
  weft_status status = live(&root);
  if (status) return weft_status_text(status);
  settle();
  if (pool_stats().failed) return "a job failed";
  return drop_pool(NULL) ? "the pool is not sound" : NULL;
}

static void random_programs_end(void **state)
{
  (void)state;
  unit_for_seeds(80, live_once);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_one, drop_pool)
#define OWN(name) cmocka_unit_test(name) /* makes its own pools */

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(what_is_critical_comes_first),
      TEST(what_is_normal_is_not_starved_by_what_is_critical),
      TEST(background_work_has_threads_of_its_own),
      TEST(background_work_holds_nothing_up),
      OWN(without_background_threads_the_workers_run_it_last),
      OWN(what_is_waited_for_takes_the_priority_of_who_waits),
      TEST(no_place_in_which_jobs_are_queued_is_starved_by_another),
      OWN(each_job_of_a_storm_ends_exactly_once),
      OWN(random_programs_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
