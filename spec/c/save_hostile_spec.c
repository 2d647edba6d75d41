/* SPDX-License-Identifier: MIT */
/*
** save_hostile_spec.c - files that are not what they should be.
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

/* --- Files that are not what they should be ------------------------------------------------ */

/* Small, so that it can be read thousands of times. */
static uint8_t *small_file(size_t *size)
{
  weft_save *save;
  fill_cells(1);
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  weft_save_section(save, "one", 3);
  weft_save_put(save, cells, 600);
  weft_save_section(save, "two", 3);
  add_array(save, WEFT_I16, cells, 500, 0);
  assert_int_equal(weft_save_write(save, NULL, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
  uint8_t *bytes = load_file(saves_path, size);
  unlink(saves_path);
  return bytes;
}

static weft_status read_bytes(const uint8_t *bytes, size_t size)
{
  weft_loaded *loaded = NULL;
  store_file(saves_path, bytes, size);
  weft_status status = weft_save_read(saves_path, NULL, &loaded, &report);
  weft_loaded_delete(loaded);
  return status;
}

static void files_of_other_versions_are_told_apart(void **state)
{
  (void)state;
  size_t size;
  uint8_t *bytes = small_file(&size);
  save_set_u32(bytes + 8, 2);
  assert_int_equal(read_bytes(bytes, size), WEFT_DAMAGED);
  seal_file(bytes, size);
  assert_int_equal(read_bytes(bytes, size), WEFT_NEWER);
  assert_non_null(strstr(report.text, "has version 2 of the format; this weft reads 1"));
  assert_int_equal(write_number(5), WEFT_OK);
  assert_true(report.kept); /* it was somebody's good save */
  save_set_u32(bytes + 8, 0);
  seal_file(bytes, size);
  unlink(saves_kept);
  assert_int_equal(read_bytes(bytes, size), WEFT_OLDER);
  save_set_u32(bytes + 8, 1);
  seal_file(bytes, size);
  assert_int_equal(read_bytes(bytes, size), WEFT_OK);
  free(bytes);
}

static void a_file_that_ends_early_is_damaged(void **state)
{
  (void)state;
  size_t size;
  uint8_t *bytes = small_file(&size);
  assert_int_equal(read_bytes(bytes, size), WEFT_OK);
  for (size_t length = 0; length < size; length += unit_on_valgrind() ? 13 : 1)
    assert_int_equal(read_bytes(bytes, length), WEFT_DAMAGED);
  free(bytes);
}

static void a_bit_that_is_wrong_anywhere_is_found(void **state)
{
  (void)state;
  size_t size;
  uint8_t *bytes = small_file(&size);
  for (size_t bit = 0; bit < 8 * size; bit += unit_on_valgrind() ? 101 : 3) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(read_bytes(bytes, size), WEFT_DAMAGED);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  free(bytes);
}

/* Bytes that somebody has changed and given fitting checksums. */
static uint8_t *sound;
static size_t sound_size;

static const char *read_hostile(uint64_t seed)
{
  size_t size = sound_size;
  uint8_t *bytes = malloc(size);
  memcpy(bytes, sound, size);
  unit_random random = {seed};
  for (uint32_t i = 1 + unit_random_below(&random, 3); i > 0; i--) {
    size_t at = unit_random_below(&random, (uint32_t)size);
    if (unit_random_chance(&random, 50)) at = 12 + at % (SAVE_HEAD + 3 * 32 + 2 * 24 - 12);
    uint32_t extreme[] = {0, 1, 0x7FFFFFFF, 0x80000000, UINT32_MAX, SAVE_CHUNK};
    if (unit_random_chance(&random, 40) && at + 4 <= size)
      save_set_u32(bytes + at, extreme[unit_random_below(&random, 6)]);
    else
      bytes[at] = (uint8_t)unit_random_next(&random);
  }
  if (unit_random_chance(&random, 90)) seal_file(bytes, size);
  weft_status status = read_bytes(bytes, size);
  free(bytes);
  bool known = status == WEFT_OK || status == WEFT_DAMAGED || status == WEFT_NEWER ||
               status == WEFT_OLDER || status == WEFT_NOMEM;
  if (!known) return "it was refused for another reason";
  return status && !report.text[0] ? "nothing was said" : NULL;
}

static void hostile_files_do_no_harm(void **state)
{
  (void)state;
  sound = small_file(&sound_size);
  unit_for_seeds(1500, read_hostile);
  free(sound);
}

/* A file of one section without a name, of whole chunks that have little behind them. */
static weft_status read_claim(uint32_t chunks, uint32_t stored)
{
  size_t size = SAVE_HEAD + SAVE_STREAM_ENTRY + chunks * SAVE_CHUNK_ENTRY + stored;
  uint8_t *bytes = calloc(1, size), *at = bytes + SAVE_HEAD;
  memcpy(bytes, SAVE_MAGIC, 8);
  save_set_u32(bytes + 8, SAVE_VERSION);
  save_set_u64(bytes + 16, size);
  save_set_u32(bytes + 24, 1);
  save_set_u32(bytes + 32, chunks);
  save_set_u64(at, (uint64_t)chunks * SAVE_CHUNK);
  save_set_u32(at + 20, chunks);
  at += SAVE_STREAM_ENTRY;
  for (uint32_t i = 0; i < chunks; i++, at += SAVE_CHUNK_ENTRY) {
    save_set_u32(at + 8, stored / chunks + (i < stored % chunks));
    save_set_u32(at + 12, SAVE_CHUNK);
    save_set_u32(at + 16, SAVE_ZSTD);
  }
  seal_file(bytes, size);
  weft_status status = read_bytes(bytes, size);
  free(bytes);
  return status;
}

static bool was_believed(uint32_t chunks, uint32_t stored)
{
  uint64_t before = failing_count(FAILING_MALLOC);
  assert_int_equal(read_claim(chunks, stored), WEFT_DAMAGED);
  if (strstr(report.text, "the checksum of a part of it is wrong")) return true;
  assert_non_null(strstr(report.text, "it claims to hold too much for its size"));
  /* Of this file and of the kept one, which is not there: the object; its index; a path. */
  assert_in_range(failing_count(FAILING_MALLOC) - before, 1, 4);
  return false;
}

static void a_short_file_does_not_ask_for_much_memory(void **state)
{
  (void)state;
  enum { FRONT = SAVE_HEAD + SAVE_STREAM_ENTRY };
  assert_true(was_believed(64, 64 * 32));
  assert_false(was_believed(65, 65 * 32));
  assert_false(was_believed(4000, 4000 * 32));
  uint32_t stored = 128 * 1024 - FRONT - 128 * SAVE_CHUNK_ENTRY; /* of 128 KiB, for 128 MiB */
  assert_true(was_believed(128, stored));
  assert_false(was_believed(128, stored - 1));
}

/* Nothing packs as well as zeroes. */
static void what_packs_too_well_is_stored_so_that_it_can_be_read(void **state)
{
  (void)state;
  const size_t count = (size_t)65 << 20;
  weft_save *save;
  weft_loaded *loaded = NULL;
  uint64_t first;
  if (unit_on_valgrind()) skip();
  uint8_t *zeroes = calloc(count, 1);
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  add_array(save, WEFT_U8, zeroes, count, 0);
  assert_int_equal(weft_save_write(save, NULL, NULL, &report), WEFT_OK);
  assert_in_range(report.bytes, count / 1024, count / 32);
  weft_counted_drop(save);
  assert_int_equal(weft_save_read(saves_path, NULL, &loaded, &report), WEFT_OK);
  const weft_buffer *b = weft_loaded_array(loaded, 0, &first);
  assert_int_equal(weft_buffer_count(b), count);
  assert_memory_equal(weft_buffer_data(b), zeroes, count);
  weft_loaded_delete(loaded);
  free(zeroes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_saves, drop_saves)

int main(void)
{
  weft_leave_signals(); /* an alternate stack would count as held */
  const struct CMUnitTest tests[] = {
      TEST(files_of_other_versions_are_told_apart),
      TEST(a_file_that_ends_early_is_damaged),
      TEST(a_bit_that_is_wrong_anywhere_is_found),
      TEST(hostile_files_do_no_harm),
      TEST(a_short_file_does_not_ask_for_much_memory),
      TEST(what_packs_too_well_is_stored_so_that_it_can_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
