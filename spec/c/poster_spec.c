/* SPDX-License-Identifier: MIT */
/*
** poster_spec.c - posters: who holds one may post from any thread at any time, and each post that was
** accepted is run or dropped, once.
*/
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"
#include "support/random.h"

static char told[64];

static int make_world(void **state)
{
  (void)state;
  told[0] = 0;
  failing_install();
  return weft_world_new(NULL, &world);
}

static int drop_world(void **state)
{
  (void)state;
  failing_disarm();
  bool clean = weft_world_delete(world) == WEFT_OK && failing_blocks() == 0;
  world = NULL;
  failing_remove();
  return clean ? 0 : -1;
}

static void note(void *arg)
{
  strcat(told, arg);
}

static void must_tick(void)
{
  assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
}

/* --- One thread ---------------------------------------------------------------------------- */

static void a_post_runs_in_the_next_tick_and_is_not_dropped(void **state)
{
  (void)state;
  weft_poster *poster = weft_world_poster(world);
  assert_int_equal(weft_poster_post(poster, note, note, "n", WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft_poster_post(poster, note, NULL, "h", WEFT_HIGH), WEFT_OK);
  assert_string_equal(told, "");
  must_tick();
  must_tick();
  assert_string_equal(told, "hn");
  weft_poster_release(poster);
}

static void what_has_not_run_is_dropped_when_the_world_goes(void **state)
{
  (void)state;
  weft_poster *poster = weft_world_poster(world);
  assert_int_equal(weft_poster_post(poster, note, NULL, "x", WEFT_NORMAL), WEFT_OK);
  must_tick();
  assert_int_equal(weft_poster_post(poster, note, note, "a", WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft_poster_post(poster, note, NULL, "?", WEFT_HIGH), WEFT_OK);
  assert_int_equal(weft_poster_post(poster, note, note, "b", WEFT_HIGH), WEFT_OK);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  assert_string_equal(told, "xba");
  assert_int_equal(weft_poster_post(poster, note, note, "c", WEFT_NORMAL), WEFT_CLOSED);
  assert_int_equal(weft_poster_send(poster, note, "d", WEFT_NORMAL), WEFT_CLOSED);
  assert_string_equal(told, "xba");
  weft_poster_release(poster);
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
}

static void a_reserved_post_runs_in_its_turn_and_is_refused_when_the_world_is_gone(void **state)
{
  (void)state;
  weft_poster *poster = weft_world_poster(world);
  for (int i = 0; i < 3; i++)
    assert_int_equal(weft_poster_reserve(poster, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft_poster_post(poster, note, NULL, "a", WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft_poster_post_reserved(poster, note, NULL, "b", WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft_poster_reserve(poster, (weft_priority)2), WEFT_INVALID);
  assert_int_equal(weft_poster_post_reserved(poster, NULL, NULL, "?", WEFT_NORMAL),
                   WEFT_INVALID);
  must_tick();
  assert_string_equal(told, "ab");
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  assert_int_equal(weft_poster_post_reserved(poster, note, note, "c", WEFT_NORMAL),
                   WEFT_CLOSED);
  weft_poster_unreserve(poster, WEFT_NORMAL);
  weft_poster_release(poster);
  assert_string_equal(told, "ab");
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
}

static weft_poster *held;

static void post_again(void *arg)
{
  strcat(told, "drop ");
  if (weft_poster_post(held, note, note, arg, WEFT_HIGH) == WEFT_CLOSED)
    strcat(told, "closed ");
}

static void a_drop_cannot_post(void **state)
{
  (void)state;
  held = weft_world_poster(world);
  assert_int_equal(weft_poster_post(held, note, post_again, "x", WEFT_HIGH), WEFT_OK);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  assert_string_equal(told, "drop closed ");
  weft_poster_release(held);
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
}

static void a_world_that_is_not_deleted_refuses_nothing(void **state)
{
  (void)state;
  weft_poster *poster = weft_world_poster(world);
  assert_int_equal(weft_world_configure(world, NULL), WEFT_OK);
  assert_int_equal(weft_poster_post(poster, note, NULL, "a", WEFT_NORMAL), WEFT_OK);
  must_tick();
  assert_string_equal(told, "a");
  weft_poster_release(poster);
}

static void misuse_is_refused(void **state)
{
  (void)state;
  weft_poster *poster = weft_world_poster(world);
  assert_int_equal(weft_poster_post(poster, NULL, note, "a", WEFT_NORMAL), WEFT_INVALID);
  assert_int_equal(weft_poster_post(poster, note, note, "a", (weft_priority)2), WEFT_INVALID);
  assert_int_equal(weft_poster_send(poster, NULL, "a", WEFT_NORMAL), WEFT_INVALID);
  assert_int_equal(weft_poster_send(poster, note, "a", (weft_priority)-1), WEFT_INVALID);
  assert_int_equal(weft_world_send(world, NULL, "a", WEFT_HIGH), WEFT_INVALID);
  must_tick();
  assert_string_equal(told, "");
  weft_poster_release(poster);
  weft_poster_release(NULL);
}

static void without_memory_neither_call_is_made(void **state)
{
  (void)state;
  weft_poster *poster = weft_world_poster(world);
  failing_always(FAILING_MALLOC, ENOMEM);
  assert_int_equal(weft_poster_post(poster, note, note, "a", WEFT_NORMAL), WEFT_NOMEM);
  failing_disarm();
  must_tick();
  assert_string_equal(told, "");
  weft_poster_release(poster);
}

static weft_status send_inside(weft_routine *self, void *arg)
{
  (void)self;
  return weft_world_send(world, note, arg, WEFT_NORMAL);
}

static void a_send_on_the_worlds_own_thread_calls_at_once(void **state)
{
  (void)state;
  assert_int_equal(weft_world_send(world, note, "a", WEFT_NORMAL), WEFT_OK);
  assert_string_equal(told, "a");
  assert_int_equal(weft_routine_start(world, send_inside, "b", &(weft_handle){0}), WEFT_OK);
  must_tick();
  assert_string_equal(told, "ab");
}

/* --- Several threads ----------------------------------------------------------------------- */

#define THREADS 4

/* Each number is told once, from one thread only. */
typedef struct account {
  atomic_uint accepted, closed;
  uint32_t ran, dropped; /* on the world's thread */
} account;

typedef struct hammer {
  weft__thread thread;
  weft_poster *poster;
  account *account;
  uint32_t limit; /* so many attempts, or until it is closed */
  bool sends;
} hammer;

static void count_run(void *arg)
{
  ((account *)arg)->ran++;
}

static void count_drop(void *arg)
{
  ((account *)arg)->dropped++;
}

static void hammer_on(void *arg)
{
  hammer *self = arg;
  account *a = self->account;
  weft_status status = WEFT_OK;
  for (uint32_t i = 0; i < self->limit && status != WEFT_CLOSED; i++) {
    weft_priority priority = i % 3 ? WEFT_NORMAL : WEFT_HIGH;
    status = self->sends ? weft_poster_send(self->poster, count_run, a, priority)
                         : weft_poster_post(self->poster, count_run, count_drop, a, priority);
    /* Relaxed: read after the threads were joined. */
    if (status == WEFT_OK) atomic_fetch_add_explicit(&a->accepted, 1, memory_order_relaxed);
    if (status == WEFT_CLOSED) atomic_fetch_add_explicit(&a->closed, 1, memory_order_relaxed);
  }
  weft_poster_release(self->poster);
}

static void start_hammers(hammer *hammers, account *a, uint32_t limit, bool sends)
{
  for (uint32_t i = 0; i < THREADS; i++) {
    hammers[i] = (hammer){.poster = weft_world_poster(world),
                          .account = a,
                          .limit = limit,
                          .sends = sends && i % 2};
    assert_int_equal(weft__thread_start(&hammers[i].thread, hammer_on, &hammers[i]), WEFT_OK);
  }
}

static void join_hammers(hammer *hammers)
{
  for (uint32_t i = 0; i < THREADS; i++) weft__thread_join(&hammers[i].thread);
}

/* The account of memory is for one thread, which does not do for these. */
static void set_account_aside(void)
{
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  failing_remove();
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
}

static void take_account_up(void)
{
  failing_install();
  assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
}

/* Worlds that go while threads post to them, after few ticks or none. */
static void each_accepted_post_is_run_or_dropped_when_the_world_goes(void **state)
{
  (void)state;
  set_account_aside();
  for (uint32_t round = 0; round < unit_scaled(400); round++) {
    hammer hammers[THREADS];
    account a = {0};
    start_hammers(hammers, &a, UINT32_MAX, round % 2);
    for (uint32_t tick = 0; tick < round % 7; tick++) must_tick();
    assert_int_equal(weft_world_delete(world), WEFT_OK);
    uint32_t done = a.ran + a.dropped;
    join_hammers(hammers);
    assert_int_equal(atomic_load(&a.closed), THREADS);
    assert_int_equal(a.ran + a.dropped, done);
    assert_int_equal(atomic_load(&a.accepted), done);
    assert_int_equal(weft_world_new(NULL, &world), WEFT_OK);
  }
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  take_account_up();
}

static void posts_of_a_thread_that_goes_are_run(void **state)
{
  (void)state;
  set_account_aside();
  hammer hammers[THREADS];
  account a = {0};
  start_hammers(hammers, &a, unit_scaled(20000), false);
  join_hammers(hammers);
  while (a.ran < THREADS * unit_scaled(20000)) must_tick();
  must_tick();
  assert_int_equal(a.ran, atomic_load(&a.accepted));
  assert_int_equal(a.dropped, 0);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  take_account_up();
}

typedef struct question {
  weft__thread thread;
  uint64_t asked, answered; /* by whom */
  weft_status status;
  atomic_bool over;
} question;

static void answer(void *arg)
{
  ((question *)arg)->answered = weft__thread_id();
}

static void ask(void *arg)
{
  question *q = arg;
  q->asked = weft__thread_id();
  q->status = weft_world_send(world, answer, q, WEFT_NORMAL);
  atomic_store(&q->over, true);
}

static void a_send_returns_when_the_world_has_run_it(void **state)
{
  (void)state;
  set_account_aside();
  question q = {.status = WEFT_INVALID};
  assert_int_equal(weft__thread_start(&q.thread, ask, &q), WEFT_OK);
  while (!atomic_load(&q.over)) must_tick();
  weft__thread_join(&q.thread);
  assert_int_equal(q.status, WEFT_OK);
  assert_int_equal(q.answered, weft__thread_id());
  assert_int_not_equal(q.answered, q.asked);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  take_account_up();
}

static uint32_t waiting_posts(void)
{
  weft_world_stats stats;
  weft_world_stats_get(world, &stats);
  return stats.posts;
}

static void a_send_that_will_never_run_is_told_so(void **state)
{
  (void)state;
  set_account_aside();
  question q = {.status = WEFT_INVALID};
  assert_int_equal(weft__thread_start(&q.thread, ask, &q), WEFT_OK);
  while (waiting_posts() == 0) weft_sleep_until(weft_clock() + 100000);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  weft__thread_join(&q.thread);
  assert_int_equal(q.status, WEFT_CLOSED);
  assert_int_equal(q.answered, 0);
  take_account_up();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, drop_world)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(a_post_runs_in_the_next_tick_and_is_not_dropped),
      TEST(what_has_not_run_is_dropped_when_the_world_goes),
      TEST(a_reserved_post_runs_in_its_turn_and_is_refused_when_the_world_is_gone),
      TEST(a_drop_cannot_post),
      TEST(a_world_that_is_not_deleted_refuses_nothing),
      TEST(misuse_is_refused),
      TEST(without_memory_neither_call_is_made),
      TEST(a_send_on_the_worlds_own_thread_calls_at_once),
      TEST(each_accepted_post_is_run_or_dropped_when_the_world_goes),
      TEST(posts_of_a_thread_that_goes_are_run),
      TEST(a_send_returns_when_the_world_has_run_it),
      TEST(a_send_that_will_never_run_is_told_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
