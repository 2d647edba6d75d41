/* SPDX-License-Identifier: MIT */
/*
** service_ends_spec.c - services that end: how they stop and are joined by any thread, what the system
** refuses them, forks.
*/
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "service_ground.h"
#include "support/random.h"

/* --- Stopping ------------------------------------------------------------------------------ */

static void what_waits_is_received_before_a_stop(void **state)
{
  (void)state;
  weft_call held = {0}, c = {0};
  start_with(0);
  hold_with(&held);
  assert_int_equal(post(PUSH, 4), WEFT_OK);
  assert_int_equal(call(&c, SUM), WEFT_OK);
  weft_service_stop(service, -1);
  assert_true(weft_service_stopping(service));
  assert_int_equal(post(PUSH, 5), WEFT_CLOSED);
  let_go();
  assert_int_equal(join(), WEFT_OK);
  assert_int_equal(answer_of(&c), 4);
  assert_int_equal(dropped, 0);
}

static void what_is_left_when_the_time_is_over_is_dropped(void **state)
{
  (void)state;
  weft_call held = {0}, c = {0};
  start_with(0);
  hold_with(&held);
  assert_int_equal(post(PUSH, 4), WEFT_OK);
  assert_int_equal(call(&c, SUM), WEFT_OK);
  weft_service_stop(service, -1);
  weft_service_stop(service, 0);
  weft_service_stop(service, -1); /* the shorter time counts */
  assert_int_equal(weft_service_join(service, 1000000, NULL), WEFT_TIMEOUT);
  assert_int_equal(weft_call_wait(&c, -1), WEFT_OK); /* although it is still at work */
  assert_int_equal(weft_call_result(&c, NULL, 0), WEFT_STOPPED);
  assert_int_equal(dropped, 2);
  let_go();
  assert_int_equal(join(), WEFT_OK);
  assert_int_equal(answer_of(&held), 0);
}

static void one_that_fails_ends_all_calls_with_its_status(void **state)
{
  (void)state;
  weft_call held = {0}, open = {0}, queued = {0};
  start_with(0);
  hold_with(&held);
  assert_int_equal(call(&open, CRASH), WEFT_OK);
  assert_int_equal(call(&queued, SUM), WEFT_OK);
  let_go();
  assert_int_equal(weft_call_wait(&queued, -1), WEFT_OK);
  assert_int_equal(weft_call_result(&queued, NULL, 0), WEFT_FAILED);
  assert_int_equal(weft_call_wait(&open, -1), WEFT_OK);
  assert_int_equal(weft_call_result(&open, NULL, 0), WEFT_FAILED);
  assert_int_equal(post(PUSH, 1), WEFT_CLOSED);
  assert_int_equal(join(), WEFT_FAILED);
  assert_int_equal(dropped, 1);
}

static void a_call_that_nobody_answers_ends_with_its_service(void **state)
{
  (void)state;
  weft_call c = {0};
  start_with(0);
  assert_int_equal(call(&c, LEAVE), WEFT_OK);
  assert_int_equal(weft_call_wait(&c, 0), WEFT_TIMEOUT);
  stop_and_join();
  assert_int_equal(weft_call_result(&c, NULL, 0), WEFT_STOPPED);
}

static void one_that_everybody_has_let_go_of_ends_by_itself(void **state)
{
  (void)state;
  start_with(0);
  weft_service_stop(service, -1);
  weft_service_drop(service);
  service = NULL;
  while (failing_blocks() > 1) weft_sleep_until(weft_clock() + 1000); /* the gate is left */
  assert_int_equal(over, 1);
}

static void join_from_there(void *arg)
{
  (void)arg;
  assert_int_equal(weft_service_join(service, -1, NULL), WEFT_OK);
}

static void any_number_of_threads_joins_a_service(void **state)
{
  (void)state;
  weft__thread threads[4];
  start_with(0);
  for (int i = 0; i < 4; i++)
    assert_int_equal(weft__thread_start(&threads[i], join_from_there, NULL), WEFT_OK);
  weft_service_stop(service, 0);
  for (int i = 0; i < 4; i++) weft__thread_join(&threads[i]);
  assert_int_equal(join(), WEFT_OK);
}

/* Who joined before anybody told it to stop, and without a limit. */
static void one_who_joins_drops_what_is_left_when_the_time_is_over(void **state)
{
  (void)state;
  weft_call held = {0}, c = {0};
  weft__thread thread;
  start_with(0);
  hold_with(&held);
  assert_int_equal(post(PUSH, 4), WEFT_OK);
  assert_int_equal(call(&c, SUM), WEFT_OK);
  assert_int_equal(weft__thread_start(&thread, join_from_there, NULL), WEFT_OK);
  weft_sleep_until(weft_clock() + 5000000); /* most often it waits by then */
  weft_service_stop(service, 1000000);
  assert_int_equal(weft_call_wait(&c, 60000000000), WEFT_OK);
  assert_int_equal(weft_call_result(&c, NULL, 0), WEFT_STOPPED);
  assert_int_equal(dropped, 2);
  let_go();
  weft__thread_join(&thread);
  assert_int_equal(answer_of(&held), 0);
  assert_int_equal(join(), WEFT_OK);
}

/* The last that a thread does is what destructors of its values do. */
static pthread_key_t last_steps;
static atomic_bool may_go, thread_gone;
static atomic_int joining;

static void go_slowly(void *value)
{
  (void)value;
  while (!may_go) weft_sleep_until(weft_clock() + 1000);
  thread_gone = true;
}

static weft_status end_slowly(weft_service *self, void *arg)
{
  (void)self;
  return pthread_setspecific(last_steps, arg) ? WEFT_FAILED : WEFT_OK;
}

static void join_when_gone(void *timeout)
{
  atomic_fetch_add(&joining, 1);
  assert_int_equal(weft_service_join(service, *(int64_t *)timeout, NULL), WEFT_OK);
  assert_true(thread_gone);
}

static void nobody_has_joined_before_the_thread_is_gone(void **state)
{
  (void)state;
  weft__thread threads[3];
  int64_t limits[3] = {-1, -1, 0};
  weft_service_config config = {.main = end_slowly, .arg = &config, .inbox = -1};
  assert_int_equal(pthread_key_create(&last_steps, go_slowly), 0);
  may_go = thread_gone = false;
  joining = 0;
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
  while (!stats().ended) weft_sleep_until(weft_clock() + 1000);
  for (int i = 0; i < 3; i++)
    assert_int_equal(weft__thread_start(&threads[i], join_when_gone, &limits[i]), WEFT_OK);
  while (joining < 3) weft_sleep_until(weft_clock() + 1000);
  weft_sleep_until(weft_clock() + 5000000); /* whoever does not wait is past it */
  may_go = true;
  for (int i = 0; i < 3; i++) weft__thread_join(&threads[i]);
  assert_int_equal(join(), WEFT_OK);
  pthread_key_delete(last_steps);
}

static void a_thousand_services_come_and_go(void **state)
{
  (void)state;
  enum { AT_ONCE = 20 };
  weft_service *all[AT_ONCE];
  for (uint32_t round = 0; round < unit_scaled(50); round++) {
    for (int i = 0; i < AT_ONCE; i++) {
      start_with(8);
      assert_int_equal(post(PUSH, i), WEFT_OK);
      if (i % 2) weft_service_stop(service, 0);
      all[i] = service;
    }
    for (int i = 0; i < AT_ONCE; i++) {
      weft_service_stop(all[i], -1);
      assert_int_equal(weft_service_join(all[i], -1, NULL), WEFT_OK);
      weft_service_drop(all[i]);
    }
    service = NULL;
    assert_int_equal(failing_blocks(), 1);
  }
}

/* --- What the system refuses --------------------------------------------------------------- */

static void each_allocation_and_the_thread_may_be_refused(void **state)
{
  (void)state;
  weft_service_config config = config_of(0);
  weft_gate *gate = NULL;
  assert_int_equal(weft_service_start(NULL, &service), WEFT_INVALID);
  config.main = NULL;
  assert_int_equal(weft_service_start(&config, &service), WEFT_INVALID);
  config.main = serve;
  config.inbox = WEFT_MAX_INBOX + 1;
  assert_int_equal(weft_service_start(&config, &service), WEFT_INVALID);
  config.inbox = WEFT_MAX_INBOX;
  for (uint64_t nth = 1; nth <= 2; nth++) {
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    assert_int_equal(weft_service_start(&config, &service), WEFT_NOMEM);
    failing_disarm();
    assert_int_equal(failing_blocks(), 1);
  }
  failing_arm(FAILING_THREAD, 1, 1, EAGAIN);
  assert_int_equal(weft_service_start(&config, &service), WEFT_NOMEM);
  failing_disarm();
  assert_null(service);
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_int_equal(weft_gate_new(0, &gate), WEFT_NOMEM);
  failing_disarm();
  assert_null(gate);
}

/* --- Forks --------------------------------------------------------------------------------- */

static void use_in_child(void *arg)
{
  weft_call *held = arg, c = {0};
  bool sound = post(PUSH, 1) == WEFT_STOPPED && call(&c, SUM) == WEFT_STOPPED &&
               weft_service_join(service, -1, NULL) == WEFT_STOPPED &&
               weft_call_wait(held, -1) == WEFT_STOPPED && !weft_call_cancel(held) &&
               stats().ended && weft_service_stopping(service);
  weft_service_stop(service, 0);
  weft_service_drop(service);
  sound = sound && failing_blocks() == 1;
  start_with(0); /* it may have services of its own */
  sound = sound && call(&c, SUM) == WEFT_OK && answer_of(&c) == 0;
  weft_service_stop(service, -1);
  sound = sound && join() == WEFT_OK;
  _exit(sound ? 0 : 1);
}

static void in_a_child_of_a_fork_a_service_is_gone(void **state)
{
  (void)state;
  unit_child child;
  weft_call held = {0};
  if (!unit_forks_threads()) skip();
  start_with(0);
  hold_with(&held);
  unit_fork(use_in_child, &held, &child);
  assert_string_equal(child.text, "");
  assert_int_equal(child.exit_code, 0);
  let_go();
  assert_int_equal(answer_of(&held), 0);
  stop_and_join();
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      spec(what_waits_is_received_before_a_stop),
      spec(what_is_left_when_the_time_is_over_is_dropped),
      spec(one_that_fails_ends_all_calls_with_its_status),
      spec(a_call_that_nobody_answers_ends_with_its_service),
      spec(one_that_everybody_has_let_go_of_ends_by_itself),
      spec(any_number_of_threads_joins_a_service),
      spec(one_who_joins_drops_what_is_left_when_the_time_is_over),
      spec(nobody_has_joined_before_the_thread_is_gone),
      spec(a_thousand_services_come_and_go),
      spec(each_allocation_and_the_thread_may_be_refused),
      spec(in_a_child_of_a_fork_a_service_is_gone),
  };
  return cmocka_run_group_tests(specs, count_blocks, NULL);
}
