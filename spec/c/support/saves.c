/* SPDX-License-Identifier: MIT */
/*
** saves.c - folders and numbered saves for units.
*/
#define _GNU_SOURCE
#include "saves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/save_format.h"

char saves_folder[64], saves_path[96], saves_kept[112], saves_new[112];
uint32_t cells[CELLS];
weft_save_report report;

int make_saves_folder(void)
{
  /* In memory, where that is: a disk takes its time for each sync. */
  bool in_memory = access("/dev/shm", W_OK) == 0;
  snprintf(saves_folder, sizeof saves_folder, "%s/weft-save-XXXXXX",
           in_memory ? "/dev/shm" : "/tmp");
  if (!mkdtemp(saves_folder)) return -1;
  snprintf(saves_path, sizeof saves_path, "%s/world", saves_folder);
  snprintf(saves_kept, sizeof saves_kept, "%s.kept", saves_path);
  snprintf(saves_new, sizeof saves_new, "%s.new", saves_path);
  return 0;
}

int drop_saves_folder(void)
{
  unlink(saves_path);
  unlink(saves_kept);
  return rmdir(saves_folder);
}

int make_saves(void **state)
{
  return make_saves_folder() == 0 ? make_pool(state) : -1;
}

int drop_saves(void **state)
{
  int dropped = drop_pool(state);
  return drop_saves_folder() == 0 ? dropped : -1;
}

/* --- Numbered saves ------------------------------------------------------------------------ */

void fill_cells(uint32_t number)
{
  for (uint32_t i = 0; i < CELLS; i++) cells[i] = number + i;
}

uint32_t add_array(weft_save *save, weft_type type, const void *elements, size_t count,
                   uint64_t first)
{
  uint32_t number;
  void *memory;
  assert_int_equal(weft_save_array(save, type, &number), WEFT_OK);
  assert_int_equal(weft_save_elements(save, number, count, first, &memory), WEFT_OK);
  if (count) memcpy(memory, elements, count * weft_type_bytes(type));
  return number;
}

weft_save *gather_number(uint32_t number)
{
  weft_save *save;
  uint32_t array;
  fill_cells(number);
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  assert_int_equal(weft_save_section(save, "number", 6), WEFT_OK);
  assert_int_equal(weft_save_put(save, &number, sizeof number), WEFT_OK);
  assert_int_equal(weft_save_section(save, "cells\0too", 9), WEFT_OK);
  assert_int_equal(weft_save_put(save, cells, sizeof cells), WEFT_OK);
  assert_int_equal(add_array(save, WEFT_U32, cells, CELLS, 7), 0);
  assert_int_equal(weft_save_array(save, WEFT_F64, &array), WEFT_OK);
  assert_int_equal(array, 1);
  return save;
}

weft_status write_gathered(weft_save *save, const weft_save_options *options)
{
  weft_status status = weft_save_write(save, pool, options, &report);
  weft_counted_drop(save);
  return status;
}

weft_status write_number(uint32_t number)
{
  return write_gathered(gather_number(number), NULL);
}

static void check_parts(const weft_loaded *loaded, uint32_t number)
{
  size_t size;
  uint64_t first;
  fill_cells(number);
  assert_memory_equal(weft_loaded_data(loaded, 1, &size), cells, sizeof cells);
  assert_int_equal(size, sizeof cells);
  const weft_buffer *buffer = weft_loaded_array(loaded, 0, &first);
  assert_int_equal(first, 7);
  assert_int_equal(weft_buffer_count(buffer), CELLS);
  assert_memory_equal(weft_buffer_data(buffer), cells, sizeof cells);
  assert_int_equal(weft_buffer_type(weft_loaded_array(loaded, 1, &first)), WEFT_F64);
}

weft_status read_number(uint32_t *number)
{
  weft_loaded *loaded;
  size_t size, length;
  weft_status status = weft_save_read(saves_path, pool, &loaded, &report);
  if (status) return status;
  assert_int_equal(weft_loaded_sections(loaded), 2);
  assert_int_equal(weft_loaded_arrays(loaded), 2);
  assert_memory_equal(weft_loaded_name(loaded, 1, &length), "cells\0too", 9);
  assert_int_equal(length, 9);
  memcpy(number, weft_loaded_data(loaded, 0, &size), sizeof *number);
  assert_int_equal(size, sizeof *number);
  check_parts(loaded, *number);
  weft_loaded_delete(loaded);
  return WEFT_OK;
}

void assert_reads(uint32_t expected, bool from_kept)
{
  uint32_t number = 0;
  assert_int_equal(read_number(&number), WEFT_OK);
  assert_int_equal(number, expected);
  assert_int_equal(report.kept, from_kept);
}

/* --- Bytes of files ------------------------------------------------------------------------ */

uint8_t *load_file(const char *from, size_t *size)
{
  FILE *file = fopen(from, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*size);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

void store_file(const char *to, const uint8_t *bytes, size_t size)
{
  FILE *file = fopen(to, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The checksums of chunks too, as far as what stands there can be followed. */
static void seal_chunks(uint8_t *bytes, size_t size, size_t streams, size_t chunks, size_t at)
{
  uint8_t *entry = bytes + SAVE_HEAD + streams;
  for (; chunks > 0; chunks--, entry += SAVE_CHUNK_ENTRY) {
    size_t stored = save_u32(entry + 8);
    if (stored > size - at) return;
    save_set_u64(entry, XXH3_64bits(bytes + at, stored));
    at += stored;
  }
}

void seal_file(uint8_t *bytes, size_t size)
{
  uint64_t streams =
      ((uint64_t)save_u32(bytes + 24) + save_u32(bytes + 28)) * SAVE_STREAM_ENTRY;
  uint64_t chunks = save_u32(bytes + 32);
  uint64_t index = streams + chunks * SAVE_CHUNK_ENTRY + save_u32(bytes + 36);
  if (index <= size - SAVE_HEAD) {
    seal_chunks(bytes, size, streams, chunks, SAVE_HEAD + index);
    save_set_u64(bytes + 40, XXH3_64bits(bytes + SAVE_HEAD, index));
  }
  save_set_u64(bytes + 56, XXH3_64bits(bytes, 56));
}
