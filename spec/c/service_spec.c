/* SPDX-License-Identifier: MIT */
/*
** service_spec.c - services: what they are sent and answer, by many threads at once, and gates.
*/
#include "service_ground.h"
#include "support/random.h"

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
      spec(what_was_accepted_is_received_once_and_asks_for_no_memory),
      spec(a_shut_gate_refuses_and_what_waits_goes_on),
  };
  return cmocka_run_group_tests(specs, count_blocks, NULL);
}
