/* SPDX-License-Identifier: MIT */
/*
** fd_spec.c - waits for descriptors: pipes, at their ends, closed, several times the same.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/world.h"
#include "support/failing.h"
#include "support/ground.h"

#define SECOND INT64_C(1000000000)

static int ends[2];

static int make(void **state)
{
  (void)state;
  if (pipe(ends) != 0) return -1;
  return make_ground(&(weft_world_config){.capacity = 2000});
}

static int drop(void **state)
{
  failing_disarm();
  int failed = drop_ground(state);
  for (int i = 0; i < 2; i++) close(ends[i]);
  return failed;
}

/* What a routine waits for, and what it said then. */
typedef struct asked {
  int fd;
  weft_fd_mode mode;
  int64_t timeout;
  weft_status answer;
  const char *word;
} asked;

static weft_status wait_for(weft_routine *self, void *arg)
{
  asked *a = arg;
  (void)self;
  a->answer = weft_wait_fd(a->fd, a->mode, a->timeout);
  if (a->word[0]) say(a->word);
  return a->answer == WEFT_CANCELLED ? WEFT_CANCELLED : WEFT_OK;
}

static weft_status arm_for(weft_routine *self, void *arg)
{
  asked *a = arg;
  if (weft_routine_resumes(self) == 1) {
    a->answer = weft_arm_fd(world, self, a->fd, a->mode, a->timeout);
    if (a->answer == WEFT_OK) return WEFT_PARKED;
  } else {
    a->answer = weft_woken(self);
  }
  if (a->word[0]) say(a->word);
  return WEFT_OK;
}

static asked reading(const char *word)
{
  return (asked){.fd = ends[0], .timeout = -1, .answer = WEFT_PARKED, .word = word};
}

static void fill(void)
{
  assert_int_equal(write(ends[1], "x", 1), 1);
}

static void drain(void)
{
  char byte;
  assert_int_equal(read(ends[0], &byte, 1), 1);
}

static uint32_t waited_for(void)
{
  return world->fds.count - world->fds.holes;
}

static void a_wait_ends_in_the_tick_after_there_is_something_to_read(void **state)
{
  (void)state;
  asked a = reading("a");
  start(wait_for, &a);
  tick(1);
  tick(1);
  assert_string_equal(story, "");
  fill();
  assert_string_equal(story, "");
  tick(0);
  assert_string_equal(story, "a");
  assert_int_equal(a.answer, WEFT_OK);
  assert_int_equal(waited_for(), 0);
}

static void a_compact_wait_is_told_that_it_fired(void **state)
{
  (void)state;
  asked a = reading("a");
  start(arm_for, &a);
  tick(0);
  fill();
  tick(0);
  assert_string_equal(story, "a");
  assert_int_equal(a.answer, WEFT_FIRED);
}

static void what_is_ready_already_is_told_a_tick_later(void **state)
{
  (void)state;
  asked a = reading("a");
  fill();
  start(wait_for, &a);
  tick(0);
  assert_string_equal(story, "");
  tick(0);
  assert_string_equal(story, "a");
}

static void a_full_pipe_can_be_written_when_it_is_read(void **state)
{
  (void)state;
  static char bytes[1 << 20];
  asked a = {.fd = ends[1], .mode = WEFT_WRITE, .timeout = -1, .word = "a"};
  assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  ssize_t filled = write(ends[1], bytes, sizeof bytes);
  assert_true(filled > 0);
  start(wait_for, &a);
  for (int i = 0; i < 3; i++) tick(0);
  assert_string_equal(story, "");
  assert_int_equal(read(ends[0], bytes, (size_t)filled), filled);
  tick(0);
  assert_string_equal(story, "a");
}

static void both_directions_of_a_socket_are_told_apart(void **state)
{
  (void)state;
  int pair[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  asked r = {.fd = pair[0], .mode = WEFT_READ, .timeout = -1, .word = "read"};
  asked w = {.fd = pair[0], .mode = WEFT_WRITE, .timeout = -1, .word = "write"};
  start(wait_for, &r);
  start(wait_for, &w);
  tick(0);
  assert_int_equal(waited_for(), 1);
  tick(0);
  assert_string_equal(story, "write");
  assert_int_equal(write(pair[1], "x", 1), 1);
  tick(0);
  assert_string_equal(story, "write read");
  close(pair[0]);
  close(pair[1]);
}

static void all_that_wait_for_one_are_told_in_their_order(void **state)
{
  (void)state;
  int other[2];
  assert_int_equal(pipe(other), 0);
  asked all[] = {reading("a"), reading("b"), reading("c"), reading("d")};
  all[1].fd = other[0];
  for (int i = 0; i < 4; i++) start(wait_for, &all[i]);
  tick(0);
  assert_int_equal(waited_for(), 2);
  fill();
  assert_int_equal(write(other[1], "x", 1), 1);
  tick(0);
  assert_string_equal(story, "a c d b");
  close(other[0]);
  close(other[1]);
}

static void the_end_of_the_other_side_is_something_to_read(void **state)
{
  (void)state;
  asked a = reading("a");
  start(wait_for, &a);
  tick(0);
  close(ends[1]);
  tick(0);
  assert_int_equal(a.answer, WEFT_OK);
  ends[1] = open("/dev/null", O_WRONLY);
}

static void a_descriptor_that_is_closed_meanwhile_says_so(void **state)
{
  (void)state;
  asked a = reading("a"), b = reading("b");
  start(wait_for, &a);
  start(arm_for, &b);
  tick(0);
  close(ends[0]);
  tick(0);
  assert_string_equal(story, "a b");
  assert_int_equal(a.answer, WEFT_CLOSED);
  assert_int_equal(b.answer, WEFT_CLOSED);
  assert_int_equal(waited_for(), 0);
  ends[0] = open("/dev/null", O_RDONLY);
}

static void what_cannot_be_waited_for_is_refused_at_the_call(void **state)
{
  (void)state;
  asked a = {.fd = -1, .timeout = -1, .word = "a"};
  asked b = {.fd = 12345, .timeout = -1, .word = "b"};
  asked c = {.fd = ends[0], .mode = (weft_fd_mode)2, .timeout = -1, .word = "c"};
  asked d = {.fd = ends[0], .timeout = SECOND * 1000000000 + 1, .word = "d"};
  asked *all[] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; i++) start(wait_for, all[i]);
  tick(0);
  assert_string_equal(story, "a b c d");
  assert_int_equal(a.answer, WEFT_INVALID);
  assert_int_equal(b.answer, WEFT_CLOSED);
  assert_int_equal(c.answer, WEFT_INVALID);
  assert_int_equal(d.answer, WEFT_INVALID);
  assert_int_equal(weft_wait_fd(ends[0], WEFT_READ, -1), WEFT_OUTSIDE);
  assert_int_equal(waited_for(), 0);
}

static void a_time_limit_passes_in_the_time_of_the_world(void **state)
{
  (void)state;
  asked a = reading("a"), b = reading("b");
  a.timeout = SECOND;
  start(wait_for, &a);
  start(wait_for, &b);
  tick(0);
  tick(0.5);
  assert_string_equal(story, "");
  tick(0.5);
  assert_string_equal(story, "a");
  assert_int_equal(a.answer, WEFT_TIMEOUT);
  assert_int_equal(waited_for(), 1);
  fill();
  tick(0);
  assert_string_equal(story, "a b");
}

static void what_is_ready_when_the_limit_is_due_wins(void **state)
{
  (void)state;
  asked a = reading("a");
  a.timeout = SECOND;
  start(wait_for, &a);
  tick(0);
  fill();
  tick(5);
  assert_int_equal(a.answer, WEFT_OK);
}

static void who_is_cancelled_is_asked_for_no_more(void **state)
{
  (void)state;
  asked a = reading("a"), b = reading("b");
  weft_handle first = start(wait_for, &a), second = start(wait_for, &b);
  tick(0);
  assert_true(weft_cancel(world, first));
  assert_int_equal(waited_for(), 1);
  assert_true(weft_cancel(world, second));
  assert_int_equal(waited_for(), 0);
  fill();
  tick(0);
  assert_int_equal(a.answer, WEFT_CANCELLED);
  assert_int_equal(b.answer, WEFT_CANCELLED);
}

static weft_status cancel_then_wait(weft_routine *self, void *arg)
{
  assert_true(weft_routine_cancel(world, self));
  return wait_for(self, arg);
}

static void who_is_told_to_stop_waits_for_nothing(void **state)
{
  (void)state;
  asked a = reading("a");
  start(cancel_then_wait, &a);
  tick(0);
  tick(0);
  assert_int_equal(a.answer, WEFT_CANCELLED);
  assert_int_equal(waited_for(), 0);
}

static void a_paused_world_is_told_and_runs_nobody(void **state)
{
  (void)state;
  asked a = reading("a");
  start(wait_for, &a);
  tick(0);
  weft_world_pause(world);
  fill();
  tick(1);
  assert_string_equal(story, "");
  drain();
  weft_world_resume(world);
  tick(0);
  assert_string_equal(story, "a");
}

static void a_world_that_goes_leaves_its_waits_behind(void **state)
{
  (void)state;
  static asked a;
  a = reading("a");
  start(wait_for, &a);
  start(arm_for, &a);
  tick(0);
}

/* --- Many ---------------------------------------------------------------------------------- */

#define PAIRS 300

static void among_many_those_are_told_that_are_ready(void **state)
{
  (void)state;
  static int pairs[PAIRS][2];
  static asked all[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    assert_int_equal(pipe(pairs[i]), 0);
    all[i] = (asked){.fd = pairs[i][0], .timeout = -1, .answer = WEFT_PARKED, .word = ""};
    start(wait_for, &all[i]);
  }
  tick(0);
  for (int step = 0; step < PAIRS; step += 100) {
    for (int i = 0; i < 100; i++)
      assert_int_equal(write(pairs[(step + i) * 7 % PAIRS][1], "x", 1), 1);
    tick(0);
    assert_int_equal(waited_for(), PAIRS - step - 100);
    for (int i = 0; i < PAIRS; i++)
      assert_int_equal(all[i * 7 % PAIRS].answer, i < step + 100 ? WEFT_OK : WEFT_PARKED);
  }
  for (int i = 0; i < PAIRS; i++) close(pairs[i][0]), close(pairs[i][1]);
}

static void more_wait_for_one_than_a_process_has_descriptors(void **state)
{
  (void)state;
  static asked all[1500];
  for (int i = 0; i < 1500; i++) {
    all[i] = reading("");
    start(arm_for, &all[i]);
  }
  tick(0);
  assert_int_equal(waited_for(), 1);
  fill();
  tick(0);
  for (int i = 0; i < 1500; i++) assert_int_equal(all[i].answer, WEFT_FIRED);
}

static weft_status turns_left;

static weft_status wait_again(weft_routine *self, void *arg)
{
  asked *a = arg;
  while (turns_left-- > 0) {
    if (weft_wait_fd(a->fd, a->mode, -1)) return WEFT_FAILED;
    if (turns_left % 2) continue;
    if (weft_wait_fd(ends[1], WEFT_WRITE, SECOND)) return WEFT_FAILED;
  }
  (void)self;
  return WEFT_OK;
}

static void waits_for_what_was_waited_for_before_ask_for_no_memory(void **state)
{
  (void)state;
  asked a = reading("");
  fill();
  turns_left = 10;
  start(wait_again, &a);
  while (turns_left > 0) tick(0);
  turns_left = 1000;
  start(wait_again, &a);
  tick(0);
  uint64_t before = failing_count(FAILING_MALLOC);
  while (turns_left > 0) tick(0);
  assert_int_equal(failing_count(FAILING_MALLOC), before);
}

/* --- A system that refuses ----------------------------------------------------------------- */

static void without_memory_nobody_waits_and_nothing_is_lost(void **state)
{
  (void)state;
  asked first = reading("first");
  start(wait_for, &first);
  tick(0);
  for (uint64_t nth = 1; nth < 20; nth++) {
    asked a = {.fd = 900, .timeout = -1, .word = ""};
    assert_int_equal(dup2(ends[0], 900), 900);
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    weft_handle handle = start(arm_for, &a);
    tick(0);
    failing_disarm();
    assert_true(a.answer == WEFT_OK || a.answer == WEFT_NOMEM);
    if (a.answer == WEFT_OK) weft_cancel(world, handle);
    tick(0);
    assert_int_equal(waited_for(), 1);
    close(900);
  }
  fill();
  tick(0);
  assert_int_equal(first.answer, WEFT_OK);
}

static void a_poll_that_fails_is_made_again_in_the_next_tick(void **state)
{
  (void)state;
  asked a = reading("a");
  fill();
  start(wait_for, &a);
  tick(0);
  failing_arm(FAILING_POLL, 1, 1, ENOMEM);
  tick(0);
  assert_string_equal(story, "");
  tick(0);
  assert_string_equal(story, "a");
}

/* --- Sleeping ------------------------------------------------------------------------------ */

static void a_sleep_ends_with_the_first_that_is_ready(void **state)
{
  (void)state;
  asked a = reading("a");
  start(wait_for, &a);
  tick(0);
  fill();
  assert_true(weft_world_sleep_until(world, weft_clock() + 3600 * SECOND));
  assert_string_equal(story, "");
  tick(0);
  assert_string_equal(story, "a");
}

static void a_sleep_ends_in_time_with_none(void **state)
{
  (void)state;
  asked a = reading("a");
  assert_false(weft_world_sleep_until(world, weft_clock() + 1000));
  start(wait_for, &a);
  tick(0);
  int64_t until = weft_clock() + 1000000;
  assert_false(weft_world_sleep_until(world, until));
  assert_true(weft_clock() >= until);
  assert_false(weft_world_sleep_until(world, 0));
}

static void a_signal_does_not_cut_a_sleep_short(void **state)
{
  (void)state;
  asked a = reading("a");
  start(wait_for, &a);
  tick(0);
  failing_arm(FAILING_POLL, 1, 3, EINTR);
  fill();
  assert_true(weft_world_sleep_until(world, weft_clock() + 3600 * SECOND));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(a_wait_ends_in_the_tick_after_there_is_something_to_read),
      TEST(a_compact_wait_is_told_that_it_fired),
      TEST(what_is_ready_already_is_told_a_tick_later),
      TEST(a_full_pipe_can_be_written_when_it_is_read),
      TEST(both_directions_of_a_socket_are_told_apart),
      TEST(all_that_wait_for_one_are_told_in_their_order),
      TEST(the_end_of_the_other_side_is_something_to_read),
      TEST(a_descriptor_that_is_closed_meanwhile_says_so),
      TEST(what_cannot_be_waited_for_is_refused_at_the_call),
      TEST(a_time_limit_passes_in_the_time_of_the_world),
      TEST(what_is_ready_when_the_limit_is_due_wins),
      TEST(who_is_cancelled_is_asked_for_no_more),
      TEST(who_is_told_to_stop_waits_for_nothing),
      TEST(a_paused_world_is_told_and_runs_nobody),
      TEST(a_world_that_goes_leaves_its_waits_behind),
      TEST(among_many_those_are_told_that_are_ready),
      TEST(more_wait_for_one_than_a_process_has_descriptors),
      TEST(waits_for_what_was_waited_for_before_ask_for_no_memory),
      TEST(without_memory_nobody_waits_and_nothing_is_lost),
      TEST(a_poll_that_fails_is_made_again_in_the_next_tick),
      TEST(a_sleep_ends_with_the_first_that_is_ready),
      TEST(a_sleep_ends_in_time_with_none),
      TEST(a_signal_does_not_cut_a_sleep_short),
  };
  weft_leave_signals(); /* an alternate stack would count as held */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
