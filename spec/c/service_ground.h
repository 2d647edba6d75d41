/* SPDX-License-Identifier: MIT */
/*
** service_ground.h - what the specs of services share: a servant that does what its letters say, and
** that nothing of it is left.
*/
#ifndef WEFT_SPEC_SERVICE_GROUND_H
#define WEFT_SPEC_SERVICE_GROUND_H

#include <stdatomic.h>

#include "core/service.h"
#include "platform/system.h"
#include "support/failing.h"
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

static inline weft_status obey(weft_service *self, const weft_letter *letter, int *sum)
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

static inline weft_status serve(weft_service *self, void *arg)
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

static inline void count_dropped(void *arg, const weft_letter *letter)
{
  (void)arg, (void)letter;
  atomic_fetch_add(&dropped, 1);
}

static inline void count_over(void *arg, weft_status status)
{
  (void)arg, (void)status;
  atomic_fetch_add(&over, 1);
}

static inline weft_service_config config_of(int32_t inbox)
{
  return (weft_service_config){.main = serve,
                               .name = "a servant with a long name",
                               .inbox = inbox,
                               .dropped = count_dropped,
                               .ended = count_over};
}

static inline void start_with(int32_t inbox)
{
  weft_service_config config = config_of(inbox);
  dropped = over = 0;
  assert_int_equal(weft_gate_set(hold, 0), WEFT_OK);
  assert_int_equal(weft_service_start(&config, &service), WEFT_OK);
}

static inline weft_status post(int what, int value)
{
  order o = {what, value};
  return weft_service_try_post(service, &o, sizeof o);
}

static inline weft_status call(weft_call *c, int what)
{
  order o = {what, 0};
  return weft_service_call(service, c, &o, sizeof o);
}

static inline int answer_of(weft_call *c)
{
  int sum = -1;
  assert_int_equal(weft_call_wait(c, -1), WEFT_OK);
  assert_int_equal(weft_call_result(c, &sum, sizeof sum), WEFT_OK);
  return sum;
}

static inline weft_service_stats stats(void)
{
  weft_service_stats out;
  weft_service_stats_get(service, &out);
  return out;
}

/* It is at work on this call when this returns. */
static inline void hold_with(weft_call *c)
{
  assert_int_equal(call(c, HOLD), WEFT_OK);
  while (stats().open == 0) weft_sleep_until(weft_clock() + 1000);
}

static inline void let_go(void)
{
  assert_int_equal(weft_gate_set(hold, 1), WEFT_OK);
}

static inline weft_status join(void)
{
  weft_status status = WEFT_PENDING;
  assert_int_equal(weft_service_join(service, -1, &status), WEFT_OK);
  weft_service_drop(service);
  service = NULL;
  return status;
}

static inline void stop_and_join(void)
{
  weft_service_stop(service, -1);
  assert_int_equal(join(), WEFT_OK);
  assert_int_equal(over, 1);
}

/* For good: a thread that nobody joins may still use it at the end of a test. */
static inline int count_blocks(void **state)
{
  (void)state;
  failing_install();
  return 0;
}

static inline int set_up(void **state)
{
  (void)state;
  return weft_gate_new(0, &hold);
}

static inline int tear_down(void **state)
{
  (void)state;
  failing_disarm();
  weft_gate_drop(hold);
  return failing_blocks() == 0 && !service ? 0 : -1;
}

#define spec(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
