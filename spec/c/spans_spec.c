/* SPDX-License-Identifier: MIT */
/* Traces: spans of several threads, starts and stops beside them, forks. */
#define _GNU_SOURCE /* mkstemp, fork */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/spans.h"
#include "platform/platform.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

static uint32_t kept(void)
{
  uint32_t count;
  weft_trace_count(&count, NULL);
  return count;
}

static weft_status sleeper(weft_routine *self, void *arg)
{
  (void)self, (void)arg;
  return weft_wait(INT64_C(1000000000));
}

static void the_bounds_of_a_trace(void **state)
{
  (void)state;
  uint64_t dropped;
  assert_int_equal(weft_trace_start((UINT32_C(1) << 24) + 1), WEFT_INVALID);
  assert_false(weft_trace_is_on());
  assert_int_equal(weft_trace_start(2), WEFT_OK);
  assert_int_equal(weft_trace_start(2), WEFT_BUSY);
  for (int i = 0; i < 5; i++) weft_trace_span("mine", 1, 2);
  weft_trace_span("ends before it begins", 2, 1);
  assert_true(weft_trace_stop());
  assert_false(weft_trace_stop());
  weft_trace_span("late", 1, 2);
  weft_trace_count(NULL, &dropped);
  assert_int_equal(kept(), 2);
  assert_int_equal(dropped, 3);
  assert_int_equal(weft_trace_write(NULL), WEFT_INVALID);
}

static void read_file(const char *path, char *text, size_t size)
{
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
}

/* What is written of a span of 1.5 us with this name. */
static void write_one(const char *name, char *text, size_t size)
{
  char path[] = "/tmp/weft-spans-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(weft_trace_start(1), WEFT_OK);
  int64_t now = weft_clock();
  weft_trace_span(name, now, now + 1500);
  weft_trace_stop();
  assert_int_equal(weft_trace_write(path), WEFT_OK);
  read_file(path, text, size);
  unlink(path);
}

static void a_long_name_is_cut(void **state)
{
  (void)state;
  char text[2048];
  write_one("0123456789012345678901234567890123456789", text, sizeof text);
  assert_non_null(strstr(text, "\"dur\":1.500,\"cat\":\"host\",\"name\":"
                               "\"0123456789012345678901234567890\",\"args\""));
}

static void what_is_no_character_is_written_as_the_sign_for_that(void **state)
{
  (void)state;
  static const char *const names[][2] = {
      {"\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf"}, /* the first and the last of two bytes */
      {"\xe0\xa0\x80\xed\x9f\xbf", "\xe0\xa0\x80\xed\x9f\xbf"},
      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
      {"\xc1\xbf", "\\ufffd\\ufffd"},
      {"\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd"}, /* longer than it has to be */
      {"\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd"},
      {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* half of a pair */
      {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* beyond the last one */
      {"\xe2\x82", "\\ufffd\\ufffd"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[2048], expected[96];
    write_one(names[i][0], text, sizeof text);
    snprintf(expected, sizeof expected, "\"name\":\"%s\"", names[i][1]);
    assert_non_null(strstr(text, expected));
  }
}

/* One whose point is a comma, as the C library of most systems reads it from a file. */
static bool use_a_comma(const char *folder)
{
  static const unsigned char numeric[] = {
      0x14, 0x11, 0x03, 0x20, 0x06, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x22, 0x00,
      0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00,
      0x30, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x2e, 0x00, 0x03, 0x03, 0x00, 0x00, 0x2c, 0x00,
      0x00, 0x00, 0x2e, 0x00, 0x00, 0x00, 0x55, 0x54, 0x46, 0x2d, 0x38, 0x00};
  char path[96];
  snprintf(path, sizeof path, "%s/comma", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  strcat(path, "/LC_NUMERIC");
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(numeric, 1, sizeof numeric, file), sizeof numeric);
  fclose(file);
  setenv("LOCPATH", folder, 1);
  bool used = setlocale(LC_NUMERIC, "comma") != NULL;
  unsetenv("LOCPATH");
  unlink(path);
  *strrchr(path, '/') = 0;
  rmdir(path);
  return used;
}

static void a_locale_of_the_host_does_not_change_the_file(void **state)
{
  (void)state;
  char folder[] = "/tmp/weft-spans-XXXXXX", text[2048], number[8];
  assert_non_null(mkdtemp(folder));
  bool used = use_a_comma(folder);
  rmdir(folder);
  if (!used) skip();
  snprintf(number, sizeof number, "%.1f", 0.5);
  write_one("x", text, sizeof text);
  setlocale(LC_NUMERIC, "C");
  assert_string_equal(number, "0,5");
  assert_non_null(strstr(text, "\"dur\":1.500,\"cat\":\"host\",\"name\":\"x\""));
}

/* What a job that is suspended does is a span before and one after. */
static weft_status wait_once(void *data)
{
  (void)data;
  return weft_job_yield();
}

static void a_suspended_job_is_two_spans(void **state)
{
  (void)state;
  weft_pool *pool;
  assert_int_equal(weft_pool_new(&(weft_pool_config){.workers = 1}, &pool), WEFT_OK);
  assert_int_equal(weft_trace_start(64), WEFT_OK);
  assert_int_equal(weft_job_submit(pool, wait_once, NULL, 0,
                                   &(weft_job_options){.flags = WEFT_JOB_WORKERS}, NULL),
                   WEFT_OK);
  assert_int_equal(weft_pool_wait_all(pool, -1), WEFT_OK);
  assert_int_equal(weft_pool_delete(pool, -1), WEFT_OK);
  weft_trace_stop();
  char path[] = "/tmp/weft-spans-XXXXXX", text[8192];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(weft_trace_write(path), WEFT_OK);
  read_file(path, text, sizeof text);
  unlink(path);
  int found = 0;
  for (char *at = text; (at = strstr(at, "\"cat\":\"job\"")) != NULL; at++) found++;
  assert_int_equal(found, 2);
}

static atomic_bool over;

static void record_on_and_on(void *arg)
{
  (void)arg;
  while (!atomic_load(&over)) weft_trace_span("thread", 1, 2);
}

/* Each start takes away what the threads may be writing to. */
static void traces_come_and_go_beside_those_that_record(void **state)
{
  (void)state;
  weft__thread threads[3];
  atomic_store(&over, false);
  for (int i = 0; i < 3; i++)
    assert_int_equal(weft__thread_start(&threads[i], record_on_and_on, NULL), WEFT_OK);
  for (uint32_t round = 0; round < unit_scaled(2000); round++) {
    assert_int_equal(weft_trace_start(1 + round % 100), WEFT_OK);
    if (round % 16 == 0) assert_int_equal(weft_trace_write("/dev/null"), WEFT_OK);
    assert_true(weft_trace_stop());
    assert_true(kept() <= 1 + round % 100);
  }
  atomic_store(&over, true);
  for (int i = 0; i < 3; i++) weft__thread_join(&threads[i]);
}

/* Both numbers are of one moment, however fast they grow. */
static void what_is_recorded_meanwhile_is_not_counted_as_dropped(void **state)
{
  (void)state;
  uint32_t size = unit_scaled(1 << 18);
  weft__thread thread;
  uint32_t count = 0;
  uint64_t dropped;
  atomic_store(&over, false);
  assert_int_equal(weft_trace_start(size), WEFT_OK);
  assert_int_equal(weft__thread_start(&thread, record_on_and_on, NULL), WEFT_OK);
  while (count < size) {
    weft_trace_count(&count, &dropped);
    assert_true(dropped == 0 || count == size);
  }
  atomic_store(&over, true);
  weft__thread_join(&thread);
  assert_true(weft_trace_stop());
}

static void a_child_of_a_fork_has_no_trace(void **state)
{
  (void)state;
  assert_int_equal(weft_trace_start(8), WEFT_OK);
  pid_t child = fork();
  if (child == 0) {
    bool on = weft_trace_is_on();
    bool again = weft_trace_start(8) == WEFT_OK && weft_trace_stop();
    _exit(on || !again);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(weft_trace_stop());
}

static void missing_memory_is_told_or_done_without(void **state)
{
  (void)state;
  weft_world *world;
  weft_handle handle;
  assert_int_equal(weft_trace_start(1), WEFT_OK); /* there is always one to be freed */
  assert_true(weft_trace_stop());
  failing_install();
  assert_int_equal(weft_world_new(&(weft_world_config){.capacity = 4}, &world), WEFT_OK);
  assert_int_equal(weft_routine_start(world, sleeper, NULL, &handle), WEFT_OK);
  assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM);
  assert_int_equal(weft_trace_start(16), WEFT_NOMEM);
  assert_false(weft_trace_is_on());
  assert_int_equal(weft_trace_start(16), WEFT_OK);
  failing_arm(FAILING_MALLOC, 1, 1, ENOMEM); /* the times of each routine */
  assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
  assert_int_equal(kept(), 8);
  assert_int_equal(weft_routine_wall(world, weft_routine_find(world, handle)), -1);
  assert_int_equal(weft_world_tick(world, 0, NULL), WEFT_OK);
  assert_int_equal(weft_routine_wall(world, weft_routine_find(world, handle)), 0);
  assert_true(weft_trace_stop());
  assert_int_equal(weft_world_drain(world, 1, NULL), WEFT_OK);
  assert_int_equal(weft_world_delete(world), WEFT_OK);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(the_bounds_of_a_trace),
      cmocka_unit_test(a_long_name_is_cut),
      cmocka_unit_test(what_is_no_character_is_written_as_the_sign_for_that),
      cmocka_unit_test(a_locale_of_the_host_does_not_change_the_file),
      cmocka_unit_test(a_suspended_job_is_two_spans),
      cmocka_unit_test(traces_come_and_go_beside_those_that_record),
      cmocka_unit_test(what_is_recorded_meanwhile_is_not_counted_as_dropped),
      cmocka_unit_test(a_child_of_a_fork_has_no_trace),
      cmocka_unit_test(missing_memory_is_told_or_done_without),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
