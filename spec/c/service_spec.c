/* SPDX-License-Identifier: MIT */
/*
** service_spec.c - services: what they are sent and answer, how they stop and are joined, gates, memory
** and threads that the system refuses, forks.
*/
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/service.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

static weft_service *service;
static atomic_int dropped, over;

/* A letter to the servant below. */
enum { PUSH, SUM, FAIL, HOLD, LEAVE, CRASH };

typedef struct order {
  int what;
  int value;
} order;

/* What the servant waits for, in HOLD. */
static weft_gate *hold;

static weft_status obey(weft_service *self, const weft_letter *letter, int *sum)
{
  const order *o = (const order *)letter->data;
  weft_status status = o->what == FAIL ? WEFT_FAILED : WEFT_OK;
  switch (o->what) {
  case PUSH:
    *sum = *sum * 10 + o->value;
    return WEFT_OK;
  case HOLD:
    while (weft_gate_state(hold) == 0) weft_sleep_until(weft_clock() + 1000);
    break;
  case LEAVE:
    return WEFT_OK;
  case CRASH:
    return WEFT_FAILED;
  }
  return letter->call ? weft_service_reply(self, letter->call, status, sum, sizeof *sum) : 0;
}

static weft_status serve(weft_service *self, void *arg)
{
  weft_letter letter;
  int sum = 0;
  (void)arg;
  while (weft_service_receive(self, -1, &letter) == WEFT_OK) {
    weft_status status = obey(self, &letter, &sum);
    if (status) return status;
  }
  return WEFT_OK;
}

static void count_dropped(void *arg, const weft_letter *letter)
{
  (void)arg, (void)letter;
  atomic_fetch_add(&dropped, 1);
}

static void count_over(void *arg, weft_status status)
{
  (void)arg, (void)status;
  atomic_fetch_add(&over, 1);
}

static weft_service_config config_of(int32_t inbox)
{
  return (weft_service_config){.main = serve,
                               .name = "a servant with a long name",
                               .inbox = inbox,
                               .dropped = count_dropped,
                               .ended = count_over};
}

static void start_with(int32_t inbox)
{
  weft_service_config config = config_of(inbox);
  dropped = over = 0;
  assert_int_equal(weft_gate_set(hold, 0), WEFT_OK);
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
}

static weft_status post(int what, int value)
{
  order o = {what, value};
  return weft_service_try_post(service, &o, sizeof o);
}

static weft_status call(weft_call *c, int what)
{
  order o = {what, 0};
  return weft_service_call(service, c, &o, sizeof o);
}

static int answer_of(weft_call *c)
{
  int sum = -1;
  assert_int_equal(weft_call_wait(c, -1), WEFT_OK);
  assert_int_equal(weft_call_result(c, &sum, sizeof sum), WEFT_OK);
  return sum;
}

static weft_service_stats stats(void)
{
  weft_service_stats out;
  weft_service_stats_get(service, &out);
  return out;
}

/* It is at work on this call when this returns. */
static void hold_with(weft_call *c)
{
  assert_int_equal(call(c, HOLD), WEFT_OK);
  while (stats().open == 0) weft_sleep_until(weft_clock() + 1000);
}

static void let_go(void)
{
  assert_int_equal(weft_gate_set(hold, 1), WEFT_OK);
}

static weft_status join(void)
{
  weft_status status = WEFT_PENDING;
  assert_int_equal(weft_service_join(service, -1, &status), WEFT_OK);
  weft_service_drop(service);
  service = NULL;
  return status;
}

static void stop_and_join(void)
{
  weft_service_stop(service, -1);
  assert_int_equal(join(), WEFT_OK);
  assert_int_equal(over, 1);
}

/* For good: a thread that nobody joins may still use it at the end of a test. */
static int count_blocks(void **state)
{
  (void)state;
  failing_install();
  return 0;
}

static int set_up(void **state)
{
  (void)state;
  return weft_gate_new(0, &hold);
}

static int tear_down(void **state)
{
  (void)state;
  failing_disarm();
  weft_gate_drop(hold);
  return failing_blocks() == 0 && !service ? 0 : -1;
}

/* --- Letters ------------------------------------------------------------------------------- */

static void letters_are_received_in_the_order_in_which_they_were_sent(void **state)
{
  (void)state;
  weft_call c = {0};
  start_with(0);
  for (int i = 1; i <= 9; i++) assert_int_equal(post(PUSH, i), WEFT_OK);
  assert_int_equal(call(&c, SUM), WEFT_OK);
  assert_int_equal(answer_of(&c), 123456789);
  stop_and_join();
  assert_int_equal(dropped, 0);
}

static void a_call_is_answered_with_any_status(void **state)
{
  (void)state;
  weft_call c = {0};
  int sum;
  start_with(0);
  assert_int_equal(call(&c, FAIL), WEFT_OK);
  assert_int_equal(weft_call_wait(&c, -1), WEFT_OK);
  assert_int_equal(weft_call_result(&c, &sum, sizeof sum), WEFT_FAILED);
  assert_int_equal(weft_call_result(&c, NULL, 0), WEFT_FAILED);
  assert_int_equal(weft_call_result(&c, &sum, sizeof sum + 1), WEFT_INVALID);
  assert_int_equal(call(&c, SUM), WEFT_OK); /* its memory may be used again */
  assert_int_equal(answer_of(&c), 0);
  stop_and_join();
}

static void a_full_inbox_refuses_at_its_limit(void **state)
{
  (void)state;
  for (int32_t size = 1; size <= 3; size++) {
    weft_call held = {0}, c = {0};
    start_with(size);
    hold_with(&held);
    for (int32_t i = 0; i < size; i++) assert_int_equal(post(PUSH, 1), WEFT_OK);
    assert_int_equal(post(PUSH, 1), WEFT_FULL);
    assert_int_equal(call(&c, SUM), WEFT_FULL);
    assert_int_equal(stats().queued, size);
    assert_int_equal(stats().refused, 2);
    assert_int_equal(weft_call_wait(&held, 0), WEFT_TIMEOUT);
    assert_int_equal(weft_call_result(&held, NULL, 0), WEFT_PENDING);
    let_go();
    assert_int_equal(answer_of(&held), 0);
    stop_and_join();
  }
}

static void what_is_sent_wrongly_is_refused(void **state)
{
  (void)state;
  uint64_t data[WEFT_LETTER_BYTES / 8 + 1] = {0};
  weft_call c = {0};
  start_with(0);
  assert_int_equal(weft_service_try_post(service, data, WEFT_LETTER_BYTES), WEFT_OK);
  assert_int_equal(weft_service_try_post(service, data, WEFT_LETTER_BYTES + 1), WEFT_INVALID);
  assert_int_equal(weft_service_try_post(service, NULL, 1), WEFT_INVALID);
  assert_int_equal(weft_service_try_post(service, NULL, 0), WEFT_OK);
  assert_int_equal(weft_service_call(service, NULL, NULL, 0), WEFT_INVALID);
  assert_int_equal(weft_service_receive(service, 0, NULL), WEFT_THREAD);
  assert_int_equal(weft_service_wait(service, 0), WEFT_THREAD);
  assert_int_equal(weft_service_reply(service, &c, WEFT_OK, NULL, 0), WEFT_THREAD);
  assert_null(weft_service_self());
  stop_and_join();
}

static void a_call_that_waits_in_the_inbox_can_be_taken_back(void **state)
{
  (void)state;
  weft_call held = {0}, first = {0}, last = {0};
  start_with(3);
  hold_with(&held);
  assert_int_equal(call(&first, SUM), WEFT_OK);
  assert_int_equal(post(PUSH, 5), WEFT_OK);
  assert_int_equal(call(&last, SUM), WEFT_OK);
  assert_false(weft_call_cancel(&held));
  assert_true(weft_call_cancel(&first));
  assert_false(weft_call_cancel(&first));
  assert_int_equal(weft_call_result(&first, NULL, 0), WEFT_CANCELLED);
  assert_int_equal(dropped, 1);
  assert_int_equal(call(&first, SUM), WEFT_OK); /* there is room again */
  let_go();
  assert_int_equal(answer_of(&last), 5);
  assert_int_equal(answer_of(&first), 5);
  stop_and_join();
}

static atomic_int told;

static void tell(weft_call *c)
{
  atomic_fetch_add((atomic_int *)c->arg, 1);
  atomic_fetch_add(&told, 1);
  weft__free(c);
}

static void the_hook_of_a_call_may_free_it(void **state)
{
  (void)state;
  atomic_int ended = 0;
  start_with(0);
  told = 0;
  for (int i = 0; i < 100; i++) {
    weft_call *c = weft__calloc(1, sizeof *c);
    c->ended = tell;
    c->arg = &ended;
    if (call(c, SUM) == WEFT_FULL) {
      weft__free(c);
      atomic_fetch_add(&told, 1);
    }
  }
  stop_and_join();
  assert_int_equal(told, 100);
  assert_true(ended >= 1 && ended <= 100);
}

/* --- Sleeping ------------------------------------------------------------------------------ */

static void a_service_without_letters_sleeps(void **state)
{
  (void)state;
  weft_call c = {0};
  start_with(0);
  for (int i = 1; i <= 3; i++) {
    assert_int_equal(call(&c, SUM), WEFT_OK);
    (void)answer_of(&c);
    while (stats().sleeps < 1 || stats().open > 0) weft_sleep_until(weft_clock() + 1000);
  }
  uint64_t before = stats().sleeps;
  weft_sleep_until(weft_clock() + 20000000);
  assert_in_range(stats().sleeps, before, before + 2); /* a wait may end for no reason */
  stop_and_join();
}

static weft_status look_and_leave(weft_service *self, void *arg)
{
  weft_letter letter;
  (void)arg;
  if (weft_service_self() != self) return WEFT_THREAD;
  if (weft_service_receive(self, 0, &letter) != WEFT_TIMEOUT) return WEFT_FAILED;
  if (weft_service_receive(self, 1000000, &letter) != WEFT_TIMEOUT) return WEFT_FAILED;
  if (weft_service_wait(self, 0) != WEFT_TIMEOUT) return WEFT_FAILED;
  if (weft_service_wait(self, 1000000) != WEFT_TIMEOUT) return WEFT_FAILED;
  if (weft_service_join(self, -1, NULL) != WEFT_OWN_THREAD) return WEFT_FAILED;
  weft_service_stop(self, -1);
  if (!weft_service_stopping(self)) return WEFT_FAILED;
  if (weft_service_wait(self, -1) != WEFT_STOPPED) return WEFT_FAILED;
  if (weft_service_receive(self, -1, &letter) != WEFT_STOPPED) return WEFT_FAILED;
  return 7;
}

static void a_service_has_time_limits_and_stops_itself(void **state)
{
  (void)state;
  weft_service_config config = {.main = look_and_leave};
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
  assert_int_equal(join(), 7);
}

static weft_status call_oneself(weft_service *self, void *arg)
{
  weft_call c = {0};
  weft_letter letter;
  (void)arg;
  if (weft_service_call(self, &c, NULL, 0)) return WEFT_FAILED;
  if (weft_call_wait(&c, -1) != WEFT_OWN_THREAD) return WEFT_FAILED;
  if (weft_service_receive(self, -1, &letter)) return WEFT_FAILED;
  if (weft_service_reply(self, &c, WEFT_PENDING, NULL, 0) != WEFT_INVALID) return WEFT_FAILED;
  if (weft_service_reply(self, &c, 0, NULL, 1) != WEFT_INVALID) return WEFT_FAILED;
  if (weft_service_reply(self, &c, 5, NULL, 0)) return WEFT_FAILED;
  if (weft_service_reply(self, &c, 5, NULL, 0) != WEFT_INVALID) return WEFT_FAILED;
  return weft_call_wait(&c, -1) || weft_call_result(&c, NULL, 0) != 5 ? WEFT_FAILED : WEFT_OK;
}

static void a_service_cannot_wait_for_its_own_answer(void **state)
{
  (void)state;
  weft_service_config config = {.main = call_oneself};
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
  assert_int_equal(join(), WEFT_OK);
}

static void one_without_an_inbox_is_a_thread(void **state)
{
  (void)state;
  start_with(-1);
  assert_int_equal(post(PUSH, 1), WEFT_INVALID);
  assert_int_equal(weft_service_join(service, 1000000, NULL), WEFT_TIMEOUT);
  stop_and_join();
}

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

/* --- Many that send ------------------------------------------------------------------------ */

static atomic_int accepted, received, refused;

static weft_status count_letters(weft_service *self, void *arg)
{
  weft_letter letter;
  (void)arg;
  while (weft_service_receive(self, -1, &letter) == WEFT_OK) {
    atomic_fetch_add(&received, 1);
    if (letter.call) weft_service_reply(self, letter.call, WEFT_OK, NULL, 0);
  }
  return WEFT_OK;
}

static void flood(void *arg)
{
  uint32_t count = unit_scaled(4000);
  (void)arg;
  for (uint32_t i = 0; i < count; i++) {
    weft_call c = {0};
    weft_status status = i % 4 ? weft_service_try_post(service, &i, sizeof i)
                               : weft_service_call(service, &c, &i, sizeof i);
    if (status == WEFT_OK) {
      atomic_fetch_add(&accepted, 1);
      if (i % 4 == 0) (void)weft_call_wait(&c, -1);
    } else if (status == WEFT_FULL) {
      atomic_fetch_add(&refused, 1);
    }
  }
}

static void what_was_accepted_is_received_once_and_asks_for_no_memory(void **state)
{
  (void)state;
  weft__thread threads[4];
  weft_service_config config = {.main = count_letters, .inbox = 2};
  accepted = received = refused = 0;
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
  uint64_t allocations = failing_count(FAILING_MALLOC);
  for (int i = 0; i < 4; i++)
    assert_int_equal(weft__thread_start(&threads[i], flood, NULL), WEFT_OK);
  for (int i = 0; i < 4; i++) weft__thread_join(&threads[i]);
  assert_int_equal(failing_count(FAILING_MALLOC), allocations);
  assert_int_equal(stats().refused, refused);
  weft_service_stop(service, -1);
  assert_int_equal(join(), WEFT_OK);
  assert_int_equal(received, accepted);
  assert_int_equal(accepted + refused, 4 * unit_scaled(4000));
}

/* --- Gates --------------------------------------------------------------------------------- */

static void a_shut_gate_refuses_and_what_waits_goes_on(void **state)
{
  (void)state;
  weft_gate *gate;
  weft_call held = {0}, c = {0};
  assert_int_equal(weft_gate_new(64, &gate), WEFT_INVALID);
  assert_int_equal(weft_gate_new(0, &gate), WEFT_OK);
  weft_service_config config = config_of(0);
  config.gate = gate;
  config.states = UINT64_C(1) << 3 | UINT64_C(1) << 63;
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
  weft_gate_set(hold, 0);
  assert_int_equal(post(PUSH, 1), WEFT_GATED);
  assert_int_equal(call(&c, SUM), WEFT_GATED);
  assert_int_equal(weft_gate_set(gate, 63), WEFT_OK);
  hold_with(&held);
  assert_int_equal(weft_gate_set(gate, 3), WEFT_OK);
  assert_int_equal(post(PUSH, 2), WEFT_OK);
  assert_int_equal(call(&c, SUM), WEFT_OK);
  assert_int_equal(weft_gate_set(gate, 4), WEFT_OK);
  assert_int_equal(weft_gate_set(gate, 64), WEFT_INVALID);
  assert_int_equal(weft_gate_state(gate), 4);
  assert_int_equal(post(PUSH, 3), WEFT_GATED);
  let_go();
  assert_int_equal(answer_of(&c), 2);
  weft_gate_drop(gate); /* the service keeps it */
  over = 0;
  stop_and_join();
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
  if (unit_has_tsan()) skip(); /* it does not follow threads of a child */
  start_with(0);
  hold_with(&held);
  unit_fork(use_in_child, &held, &child);
  assert_string_equal(child.text, "");
  assert_int_equal(child.exit_code, 0);
  let_go();
  assert_int_equal(answer_of(&held), 0);
  stop_and_join();
}

#define spec(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest specs[] = {
      spec(letters_are_received_in_the_order_in_which_they_were_sent),
      spec(a_call_is_answered_with_any_status),
      spec(a_full_inbox_refuses_at_its_limit),
      spec(what_is_sent_wrongly_is_refused),
      spec(a_call_that_waits_in_the_inbox_can_be_taken_back),
      spec(the_hook_of_a_call_may_free_it),
      spec(a_service_without_letters_sleeps),
      spec(a_service_has_time_limits_and_stops_itself),
      spec(a_service_cannot_wait_for_its_own_answer),
      spec(one_without_an_inbox_is_a_thread),
      spec(what_waits_is_received_before_a_stop),
      spec(what_is_left_when_the_time_is_over_is_dropped),
      spec(one_that_fails_ends_all_calls_with_its_status),
      spec(a_call_that_nobody_answers_ends_with_its_service),
      spec(one_that_everybody_has_let_go_of_ends_by_itself),
      spec(any_number_of_threads_joins_a_service),
      spec(one_who_joins_drops_what_is_left_when_the_time_is_over),
      spec(nobody_has_joined_before_the_thread_is_gone),
      spec(a_thousand_services_come_and_go),
      spec(what_was_accepted_is_received_once_and_asks_for_no_memory),
      spec(a_shut_gate_refuses_and_what_waits_goes_on),
      spec(each_allocation_and_the_thread_may_be_refused),
      spec(in_a_child_of_a_fork_a_service_is_gone),
  };
  return cmocka_run_group_tests(specs, count_blocks, NULL);
}
