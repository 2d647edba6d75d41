/* SPDX-License-Identifier: MIT */
/*
** save_spec.c - saves as C programs see them: what comes back, and which file stays; on several
** threads.
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

#include "core/save.h"
#include "support/failing.h"
#include "support/random.h"

/* --- What comes back ----------------------------------------------------------------------- */

static void what_was_gathered_comes_back(void **state)
{
  (void)state;
  assert_int_equal(write_number(3), WEFT_OK);
  assert_string_equal(report.text, "");
  assert_false(report.kept);
  assert_int_equal(report.raw_bytes, 4 + 2 * sizeof cells);
  struct stat is;
  assert_int_equal(stat(saves_path, &is), 0);
  assert_int_equal(report.bytes, is.st_size);
  assert_true(report.bytes < report.raw_bytes / 2);
  assert_reads(3, false);
  assert_int_equal(report.bytes, is.st_size);
  assert_int_equal(report.raw_bytes, 4 + 2 * sizeof cells);
}

static void an_empty_save_is_a_save(void **state)
{
  (void)state;
  weft_save *save;
  weft_loaded *loaded;
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  assert_int_equal(weft_save_size(save), 0);
  assert_int_equal(weft_save_put(save, "x", 1), WEFT_INVALID);
  assert_int_equal(weft_save_write(save, NULL, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
  assert_int_equal(weft_save_read(saves_path, NULL, &loaded, NULL), WEFT_OK);
  assert_int_equal(weft_loaded_sections(loaded), 0);
  assert_int_equal(weft_loaded_arrays(loaded), 0);
  weft_loaded_delete(loaded);
  weft_loaded_delete(NULL);
}

/* Sections at a chunk's bound and one byte around it, put in pieces of odd sizes. */
static void sections_of_any_size_come_back(void **state)
{
  (void)state;
  static uint8_t bytes[2 * SAVE_CHUNK + 1];
  const size_t sizes[] = {
      0, 1, 31, 32, SAVE_CHUNK - 1, SAVE_CHUNK, SAVE_CHUNK + 1, 2 * SAVE_CHUNK, sizeof bytes};
  unit_random random = {11};
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)unit_random_below(&random, 40);
  weft_save *save;
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_int_equal(weft_save_section(save, "", 0), WEFT_OK);
    for (size_t at = 0, part; at < sizes[i]; at += part) {
      part = 1 + unit_random_below(&random, 100000);
      if (part > sizes[i] - at) part = sizes[i] - at;
      assert_int_equal(weft_save_put(save, bytes + at, part), WEFT_OK);
    }
    assert_int_equal(weft_save_size(save), sizes[i]);
  }
  assert_int_equal(weft_save_write(save, pool, NULL, &report), WEFT_OK);
  weft_counted_drop(save);
  weft_loaded *loaded;
  assert_int_equal(weft_save_read(saves_path, pool, &loaded, &report), WEFT_OK);
  for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t size;
    const void *data = weft_loaded_data(loaded, i, &size);
    assert_int_equal(size, sizes[i]);
    if (size) assert_memory_equal(data, bytes, size);
  }
  weft_loaded_delete(loaded);
}

static void bytes_can_be_put_in_place_of_others(void **state)
{
  (void)state;
  weft_save *save;
  weft_loaded *loaded;
  size_t size;
  fill_cells(1);
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  assert_int_equal(weft_save_patch(save, 0, "", 0), WEFT_INVALID);
  weft_save_section(save, "a", 1);
  weft_save_put(save, cells, SAVE_CHUNK + 2);
  assert_int_equal(weft_save_patch(save, SAVE_CHUNK - 2, "wxyz", 4), WEFT_OK);
  assert_int_equal(weft_save_patch(save, SAVE_CHUNK - 1, "wxyz", 4), WEFT_INVALID);
  assert_int_equal(weft_save_patch(save, SAVE_CHUNK + 3, "", 0), WEFT_INVALID);
  assert_int_equal(weft_save_write(save, pool, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
  assert_int_equal(weft_save_read(saves_path, pool, &loaded, NULL), WEFT_OK);
  const char *data = weft_loaded_data(loaded, 0, &size);
  assert_int_equal(size, SAVE_CHUNK + 2);
  assert_memory_equal(data, cells, SAVE_CHUNK - 2);
  assert_memory_equal(data + SAVE_CHUNK - 2, "wxyz", 4);
  weft_loaded_delete(loaded);
}

static void arrays_of_every_type_come_back(void **state)
{
  (void)state;
  static uint8_t bytes[SAVE_CHUNK + 64];
  weft_save *save;
  weft_loaded *loaded;
  uint64_t first;
  unit_random random = {5};
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)unit_random_below(&random, i % 8 < 2 ? 256 : 3);
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  for (uint32_t type = 0; type < WEFT_TYPES; type++) {
    size_t count = sizeof bytes / weft_type_bytes((weft_type)type);
    assert_int_equal(add_array(save, (weft_type)type, bytes, count, type), type);
  }
  assert_int_equal(weft_save_write(save, pool, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
  assert_int_equal(weft_save_read(saves_path, pool, &loaded, NULL), WEFT_OK);
  for (uint32_t type = 0; type < WEFT_TYPES; type++) {
    const weft_buffer *buffer = weft_loaded_array(loaded, type, &first);
    assert_int_equal(weft_buffer_type(buffer), type);
    assert_int_equal(first, type);
    assert_memory_equal(weft_buffer_data(buffer), bytes, sizeof bytes);
  }
  weft_loaded_delete(loaded);
}

static weft_status write_plainly(uint32_t number, bool plain)
{
  weft_save *save = gather_number(number);
  weft_save_options options = {.plain = plain};
  weft_status status = weft_save_write(save, pool, &options, &report);
  weft_counted_drop(save);
  return status;
}

static void arrays_that_make_no_sense_are_refused(void **state)
{
  (void)state;
  weft_save *save;
  uint32_t number;
  void *memory;
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  assert_int_equal(weft_save_array(save, (weft_type)9, &number), WEFT_INVALID);
  assert_int_equal(weft_save_elements(save, 0, 1, 0, &memory), WEFT_INVALID);
  assert_int_equal(weft_save_array(save, WEFT_U8, &number), WEFT_OK);
  size_t most = WEFT_MAX_ELEMENTS;
  assert_int_equal(weft_save_elements(save, number, most + 1, 0, &memory), WEFT_INVALID);
  assert_int_equal(weft_save_elements(save, number, 0, 0, &memory), WEFT_OK);
  assert_int_equal(weft_save_elements(save, number, 1, 0, &memory), WEFT_INVALID);
  weft_counted_drop(save);
}

static void a_save_can_be_written_without_compression(void **state)
{
  (void)state;
  assert_int_equal(write_plainly(4, true), WEFT_OK);
  assert_true(report.bytes > report.raw_bytes);
  assert_reads(4, false);
}

static uint8_t *bytes_of_writers(int32_t workers, size_t *size)
{
  weft_pool_config config = {.workers = workers};
  weft_pool *many = NULL;
  if (workers) assert_int_equal(weft_pool_new(&config, &many), WEFT_OK);
  weft_save *save = gather_number(9);
  assert_int_equal(weft_save_write(save, many, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
  if (many) assert_int_equal(weft_pool_delete(many, -1), WEFT_OK);
  return load_file(saves_path, size);
}

static void the_bytes_do_not_tell_how_many_threads_there_were(void **state)
{
  (void)state;
  size_t size, other_size;
  uint8_t *bytes = bytes_of_writers(0, &size);
  for (int32_t workers = 1; workers <= 4; workers += 3) {
    uint8_t *others = bytes_of_writers(workers, &other_size);
    assert_int_equal(other_size, size);
    assert_memory_equal(others, bytes, size);
    free(others);
  }
  free(bytes);
}

/* --- In place of another ------------------------------------------------------------------- */

static void the_save_before_is_kept(void **state)
{
  (void)state;
  assert_int_equal(write_number(1), WEFT_OK);
  assert_int_equal(access(saves_kept, F_OK), -1);
  assert_int_equal(write_number(2), WEFT_OK);
  assert_true(report.kept);
  assert_int_equal(write_number(3), WEFT_OK);
  assert_reads(3, false);
  unlink(saves_path);
  assert_reads(2, true);
  assert_non_null(strstr(report.text, "world is not there"));
}

static void damage(const char *file)
{
  size_t size;
  uint8_t *bytes = load_file(file, &size);
  bytes[size - 1] ^= 1;
  store_file(file, bytes, size);
  free(bytes);
}

static void a_damaged_file_does_not_replace_the_kept_one(void **state)
{
  (void)state;
  assert_int_equal(write_number(1), WEFT_OK);
  assert_int_equal(write_number(2), WEFT_OK);
  damage(saves_path);
  assert_int_equal(write_number(3), WEFT_OK);
  assert_false(report.kept);
  assert_reads(3, false);
  unlink(saves_path);
  assert_reads(1, true);
}

static void a_save_of_the_same_path_that_was_begun_later_stays(void **state)
{
  (void)state;
  weft_save *earlier = gather_number(1);
  assert_int_equal(write_number(2), WEFT_OK);
  assert_false(report.superseded);
  assert_int_equal(weft_save_write(earlier, pool, NULL, &report), WEFT_OK);
  assert_true(report.superseded);
  weft_counted_drop(earlier);
  assert_reads(2, false);
  assert_int_equal(write_number(3), WEFT_OK);
  assert_false(report.superseded);
  assert_reads(3, false);
}

static void an_earlier_save_is_written_if_the_later_one_failed(void **state)
{
  (void)state;
  weft_save *earlier = gather_number(1);
  failing_always(FAILING_FSYNC, EIO);
  assert_int_equal(write_number(2), WEFT_IO);
  failing_disarm();
  assert_int_equal(weft_save_write(earlier, pool, NULL, &report), WEFT_OK);
  assert_false(report.superseded);
  weft_counted_drop(earlier);
  assert_reads(1, false);
}

static weft_status write_given(void *data)
{
  weft_save *save = *(weft_save **)data;
  weft_status status = weft_save_write(save, pool, NULL, NULL);
  weft_counted_drop(save);
  return status;
}

static void many_saves_of_a_path_at_once_leave_the_latest(void **state)
{
  (void)state;
  enum { SAVES = 6 };
  for (uint32_t i = 1; i <= SAVES; i++) {
    weft_save *save = gather_number(i);
    submit_with(write_given, &save, sizeof save, NULL);
  }
  settle();
  assert_int_equal(pool_stats().failed, 0);
  assert_reads(SAVES, false);
}

static void a_leftover_of_a_killed_process_is_written_over(void **state)
{
  (void)state;
  store_file(saves_new, (const uint8_t *)"half a save", 11);
  assert_int_equal(write_number(1), WEFT_OK);
  assert_reads(1, false);
  assert_int_equal(access(saves_new, F_OK), -1);
}

static void another_process_that_writes_it_is_not_disturbed(void **state)
{
  (void)state;
  assert_int_equal(write_number(1), WEFT_OK);
  int fd = open(saves_new, O_RDWR | O_CREAT, 0666);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(write_number(2), WEFT_LOCKED);
  assert_non_null(strstr(report.text, "another process is writing"));
  close(fd);
  unlink(saves_new);
  assert_reads(1, false);
}

static void a_pool_that_is_stopped_meanwhile_loses_nothing(void **state)
{
  (void)state;
  weft_pool_config config = {.workers = 2};
  weft_pool *other;
  assert_int_equal(weft_pool_new(&config, &other), WEFT_OK);
  weft_save *save = gather_number(1);
  assert_int_equal(weft_pool_delete(other, -1), WEFT_OK);
  assert_int_equal(weft_save_write(save, NULL, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
  assert_reads(1, false);
}

static void write_in_child(void *arg)
{
  (void)arg;
  alarm(100);
  weft_save *save = gather_number(3);
  weft_status status = weft_save_write(save, NULL, NULL, NULL);
  weft_counted_drop(save);
  _exit(status ? 1 : 0);
}

/* The thread that writes is not in the child, where nobody would ever give its place free. */
static void a_fork_while_a_thread_writes_leaves_no_place_taken(void **state)
{
  (void)state;
  unit_child child;
  weft_save *held = gather_number(1);
  assert_true(weft__save_enter(held->place, held->turn));
  unit_fork(write_in_child, NULL, &child);
  weft__save_exit(held->place, held->turn, false);
  weft_counted_drop(held);
  assert_string_equal(child.text, "");
  assert_int_equal(child.exit_code, 0);
  assert_reads(3, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_saves, drop_saves)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(what_was_gathered_comes_back),
      TEST(an_empty_save_is_a_save),
      TEST(sections_of_any_size_come_back),
      TEST(bytes_can_be_put_in_place_of_others),
      TEST(arrays_of_every_type_come_back),
      TEST(arrays_that_make_no_sense_are_refused),
      TEST(a_save_can_be_written_without_compression),
      TEST(the_bytes_do_not_tell_how_many_threads_there_were),
      TEST(the_save_before_is_kept),
      TEST(a_damaged_file_does_not_replace_the_kept_one),
      TEST(a_save_of_the_same_path_that_was_begun_later_stays),
      TEST(an_earlier_save_is_written_if_the_later_one_failed),
      TEST(many_saves_of_a_path_at_once_leave_the_latest),
      TEST(a_leftover_of_a_killed_process_is_written_over),
      TEST(another_process_that_writes_it_is_not_disturbed),
      TEST(a_pool_that_is_stopped_meanwhile_loses_nothing),
      TEST(a_fork_while_a_thread_writes_leaves_no_place_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
