/* SPDX-License-Identifier: MIT */
/*
** save_failing_spec.c - saves where the system fails: what is told, and what is left.
*/
#define _GNU_SOURCE
#include "support/saves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/save_format.h"
#include "support/failing.h"
#include "support/random.h"

/* --- A failing system ---------------------------------------------------------------------- */

/* Each call of a kind fails in turn, until there is none left; the save before is there afterwards.
   */
static void fail_each(failing_call call, int error, const char *text)
{
  assert_int_equal(write_number(1), WEFT_OK);
  for (uint64_t nth = 1; nth < 40; nth++) {
    failing_arm(call, nth, 1, error);
    uint64_t before = failing_failed(call);
    weft_status status = write_number(2);
    failing_disarm();
    if (failing_failed(call) == before) {
      assert_int_equal(status, WEFT_OK);
      assert_true(nth > 1);
      return;
    }
    if (status) {
      assert_int_equal(status, WEFT_IO);
      assert_non_null(strstr(report.text, text));
      assert_int_equal(access(saves_new, F_OK), -1);
    }
    uint32_t number;
    assert_int_equal(read_number(&number), WEFT_OK);
    assert_true(number == 2 || (status && number == 1));
    assert_false(report.kept);
    assert_int_equal(write_number(1), WEFT_OK);
  }
  fail_msg("there was no end to it");
}

static void a_full_disk_leaves_the_save_before(void **state)
{
  (void)state;
  fail_each(FAILING_WRITE, ENOSPC, "No space left on device");
}

static void a_failed_sync_leaves_the_save_before(void **state)
{
  (void)state;
  fail_each(FAILING_FSYNC, EIO, "Input/output error");
}

static void a_failed_rename_leaves_the_save_before(void **state)
{
  (void)state;
  fail_each(FAILING_RENAME, EIO, "Input/output error");
}

static void a_folder_that_is_read_only_leaves_the_save_before(void **state)
{
  (void)state;
  fail_each(FAILING_OPEN, EROFS, "Read-only file system");
}

static void a_failed_read_of_the_old_file_does_not_stop_the_new_one(void **state)
{
  (void)state;
  assert_int_equal(write_number(1), WEFT_OK);
  failing_always(FAILING_PREAD, EIO);
  assert_int_equal(write_number(2), WEFT_OK);
  assert_false(report.kept);
  failing_disarm();
  assert_reads(2, false);
}

static void a_file_that_cannot_be_read_is_told_apart(void **state)
{
  (void)state;
  weft_loaded *loaded;
  assert_int_equal(write_number(1), WEFT_OK);
  failing_always(FAILING_PREAD, EIO);
  assert_int_equal(weft_save_read(saves_path, pool, &loaded, &report), WEFT_IO);
  failing_disarm();
  assert_non_null(strstr(report.text, "Input/output error"));
}

static void without_second_names_the_save_before_is_moved(void **state)
{
  (void)state;
  failing_always(FAILING_LINK, EPERM);
  assert_int_equal(write_number(1), WEFT_OK);
  assert_int_equal(write_number(2), WEFT_OK);
  assert_true(report.kept);
  assert_reads(2, false);
  failing_arm(FAILING_RENAME, 2, 1, EIO); /* the first moves the old one away */
  assert_int_equal(write_number(3), WEFT_IO);
  failing_disarm();
  assert_reads(2, false);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
  (void)state;
  weft_save *save;
  weft_loaded *loaded;
  assert_int_equal(weft_save_new("/nowhere/at/all", &save), WEFT_OK);
  assert_int_equal(weft_save_write(save, pool, NULL, &report), WEFT_IO);
  assert_string_equal(report.text,
                      "cannot create /nowhere/at/all.new: No such file or directory");
  weft_counted_drop(save);
  assert_int_equal(weft_save_read("/nowhere/at/all", pool, &loaded, &report), WEFT_MISSING);
  assert_string_equal(report.text,
                      "/nowhere/at/all is not there; /nowhere/at/all.kept is not there");
  assert_int_equal(weft_save_read(saves_folder, pool, &loaded, &report), WEFT_IO);
  assert_non_null(strstr(report.text, "Is a directory"));
}

static void paths_that_are_none_are_refused(void **state)
{
  (void)state;
  weft_save *save;
  weft_loaded *loaded;
  assert_int_equal(weft_save_new("", &save), WEFT_INVALID);
  assert_int_equal(weft_save_new(NULL, &save), WEFT_INVALID);
  assert_int_equal(weft_save_read("", pool, &loaded, &report), WEFT_INVALID);
  assert_int_equal(weft_save_read(NULL, pool, &loaded, &report), WEFT_INVALID);
}

/* Gathers and writes; whatever there is no memory for, nothing is left of it. */
static weft_status gather_and_write(void)
{
  weft_save *save = NULL;
  uint32_t array;
  void *memory;
  weft_status status = weft_save_new(saves_path, &save);
  if (!status) status = weft_save_section(save, "a", 1);
  if (!status) status = weft_save_put(save, cells, 5000);
  if (!status) status = weft_save_array(save, WEFT_U32, &array);
  if (!status) status = weft_save_elements(save, array, 5000, 0, &memory);
  if (!status) memcpy(memory, cells, 5000 * sizeof *cells);
  if (!status) status = weft_save_write(save, NULL, NULL, &report);
  weft_counted_drop(save);
  return status;
}

static void failing_memory_loses_nothing(void **state)
{
  (void)state;
  assert_int_equal(write_number(1), WEFT_OK);
  int64_t blocks = failing_blocks();
  for (uint64_t nth = 1;; nth++) {
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    uint64_t before = failing_failed(FAILING_MALLOC);
    weft_status status = gather_and_write();
    bool failed = failing_failed(FAILING_MALLOC) > before;
    failing_disarm();
    assert_int_equal(failing_blocks(), blocks);
    if (!failed) {
      assert_int_equal(status, WEFT_OK);
      assert_true(nth > 10);
      return;
    }
    if (status == WEFT_OK) continue; /* it was wanted for a look at the old file */
    assert_int_equal(status, WEFT_NOMEM);
    assert_reads(1, false);
  }
}

static void failing_memory_in_a_read_is_not_taken_for_damage(void **state)
{
  (void)state;
  assert_int_equal(write_number(1), WEFT_OK);
  int64_t blocks = failing_blocks();
  for (uint64_t nth = 1;; nth++) {
    weft_loaded *loaded = NULL;
    failing_arm(FAILING_MALLOC, nth, 1, ENOMEM);
    uint64_t before = failing_failed(FAILING_MALLOC);
    weft_status status = weft_save_read(saves_path, NULL, &loaded, &report);
    bool failed = failing_failed(FAILING_MALLOC) > before;
    failing_disarm();
    assert_int_equal(status, failed ? WEFT_NOMEM : WEFT_OK);
    weft_loaded_delete(loaded);
    assert_int_equal(failing_blocks(), blocks);
    if (!failed) return;
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_saves, drop_saves)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(a_full_disk_leaves_the_save_before),
      TEST(a_failed_sync_leaves_the_save_before),
      TEST(a_failed_rename_leaves_the_save_before),
      TEST(a_folder_that_is_read_only_leaves_the_save_before),
      TEST(a_failed_read_of_the_old_file_does_not_stop_the_new_one),
      TEST(a_file_that_cannot_be_read_is_told_apart),
      TEST(without_second_names_the_save_before_is_moved),
      TEST(a_folder_that_is_not_there_is_named),
      TEST(paths_that_are_none_are_refused),
      TEST(failing_memory_loses_nothing),
      TEST(failing_memory_in_a_read_is_not_taken_for_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
