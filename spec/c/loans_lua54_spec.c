/* SPDX-License-Identifier: MIT */
/*
** loans_lua54_spec.c - what may be touched while parts of a buffer's memory are lent. Plain C of the
** binding, and the same on both machines.
*/
#include "support/unit.h"

#include "lua/buffer.h"

static hold *ground(void)
{
  weft_buffer *memory;
  assert_int_equal(weft_buffer_new(WEFT_U8, 100, &memory), WEFT_OK);
  hold *h = hold_new(memory, NULL, NULL);
  assert_non_null(h);
  return h;
}

static void what_is_not_lent_may_be_touched(void **state)
{
  (void)state;
  hold *h = ground();
  assert_null(hold_refusal(h, 0, 100, true));
  assert_int_equal(h->no_read + h->no_write, 0);
  hold_drop(h);
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

static void lent_to_a_writer_only_the_rest_may_be_touched(void **state)
{
  (void)state;
  hold *h = ground();
  loan l = {.first = 10, .end = 20, .writes = true, .borrower = "on loan to job 1"};
  hold_lend(h, &l);
  assert_string_equal(hold_refusal(h, 10, 11, false), "on loan to job 1");
  assert_string_equal(hold_refusal(h, 19, 20, true), "on loan to job 1");
  assert_string_equal(hold_refusal(h, 0, 100, false), "on loan to job 1");
  assert_null(hold_refusal(h, 0, 10, true));
  assert_null(hold_refusal(h, 20, 100, true));
  assert_null(hold_refusal(h, 15, 15, true));
  assert_true(h->no_read > 0 && h->no_write > 0);
  hold_take_back(&l);
  assert_null(hold_refusal(h, 0, 100, true));
  assert_int_equal(h->no_read + h->no_write, 0);
  hold_take_back(&l);
  hold_drop(h);
}

static void lent_to_readers_all_may_be_read(void **state)
{
  (void)state;
  hold *h = ground();
  loan loans[3];
  for (int i = 0; i < 3; i++) {
    loans[i] = (loan){.end = 100, .borrower = i == 1 ? "on loan to job 2" : "on loan"};
    hold_lend(h, &loans[i]);
  }
  assert_null(hold_refusal(h, 0, 100, false));
  assert_int_equal(h->no_read, 0);
  assert_non_null(hold_refusal(h, 0, 1, true));
  hold_take_back(&loans[2]);
  hold_take_back(&loans[0]);
  assert_string_equal(hold_refusal(h, 99, 100, true), "on loan to job 2");
  hold_take_back(&loans[1]);
  assert_null(hold_refusal(h, 0, 100, true));
  assert_int_equal(h->no_write, 0);
  hold_drop(h);
}

static void a_loan_keeps_the_memory(void **state)
{
  (void)state;
  hold *h = ground();
  loan l = {.end = 1, .writes = true, .borrower = "on loan"};
  hold_lend(h, &l);
  hold_drop(h);
  assert_int_equal(weft_buffer_all_bytes(), 100);
  hold_take_back(&l);
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

static void when_it_is_over_nothing_may_be_touched(void **state)
{
  (void)state;
  hold *h = ground();
  hold_end(h, "of a job that has ended");
  hold_end(h, "of another");
  assert_string_equal(hold_refusal(h, 0, 1, false), "of a job that has ended");
  assert_string_equal(hold_refusal(h, 5, 5, true), "of a job that has ended");
  assert_int_equal(h->no_read, 1);
  assert_int_equal(h->no_write, 1);
  hold_drop(h);
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(what_is_not_lent_may_be_touched),
      cmocka_unit_test(lent_to_a_writer_only_the_rest_may_be_touched),
      cmocka_unit_test(lent_to_readers_all_may_be_read),
      cmocka_unit_test(a_loan_keeps_the_memory),
      cmocka_unit_test(when_it_is_over_nothing_may_be_touched),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
