/* SPDX-License-Identifier: MIT */
/*
** save_index.c - whether a file holds together: head, index, checksums. Believes nothing: each
** number is held against the size of the file before anything is done with it.
*/
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdio.h>

#include "core/save.h"
#include "platform/files.h"
#include "platform/system.h"

/* --- What is said of it -------------------------------------------------------------------- */

weft_status weft__save_damaged(weft_save_report *report, const char *path, const char *what)
{
  snprintf(report->text, sizeof report->text, "%s is damaged: %s", path, what);
  return WEFT_DAMAGED;
}

weft_status weft__save_refused(weft_save_report *report, const char *path, const char *deed)
{
  if (errno == ENOENT && strcmp(deed, "read") == 0) {
    snprintf(report->text, sizeof report->text, "%s is not there", path);
    return WEFT_MISSING;
  }
  snprintf(report->text, sizeof report->text, "cannot %s %s: %m", deed, path);
  return WEFT_IO;
}

/* --- The head ------------------------------------------------------------------------------ */

static weft_status check_version(const uint8_t *head, const char *path,
                                 weft_save_report *report)
{
  uint32_t version = save_u32(head + 8);
  if (version == SAVE_VERSION) return WEFT_OK;
  snprintf(report->text, sizeof report->text,
           "%s has version %u of the format; this weft reads %d", path, (unsigned)version,
           SAVE_VERSION);
  return version > SAVE_VERSION ? WEFT_NEWER : WEFT_OLDER;
}

static weft_status check_head(const uint8_t *head, uint64_t size, const char *path,
                              weft_save_report *report)
{
  if (memcmp(head, SAVE_MAGIC, 8) != 0)
    return weft__save_damaged(report, path, "it does not begin as a save");
  if (save_u64(head + 56) != XXH3_64bits(head, 56))
    return weft__save_damaged(report, path, "the checksum of its head is wrong");
  weft_status status = check_version(head, path, report);
  if (status) return status;
  if (save_u64(head + 16) != size)
    return weft__save_damaged(report, path, "it is not as long as it says");
  if (save_u32(head + 12) || save_u64(head + 48))
    return weft__save_damaged(report, path, "its head makes no sense");
  return WEFT_OK;
}

/* --- The index ----------------------------------------------------------------------------- */

/* Takes the chunks of one stream off the list. */
static bool check_chunks(const uint8_t **chunk, uint32_t count, uint64_t size, bool sortable,
                         uint64_t *stored_sum)
{
  for (uint32_t i = 0; i < count; i++, *chunk += SAVE_CHUNK_ENTRY) {
    const uint8_t *at = *chunk;
    uint32_t stored = save_u32(at + 8), raw = save_u32(at + 12), coding = save_u32(at + 16);
    uint64_t left = size - (uint64_t)i * SAVE_CHUNK;
    if (raw != (left < SAVE_CHUNK ? left : SAVE_CHUNK) || stored > raw || save_u32(at + 20))
      return false;
    if (coding == SAVE_STORED ? stored != raw : raw > (uint64_t)stored * SAVE_MOST_RATIO)
      return false;
    if (coding == 2 || coding > SAVE_SORTED || (coding == SAVE_SORTED && !sortable))
      return false;
    *stored_sum += stored;
  }
  return true;
}

static bool check_stream(const uint8_t *at, bool is_array)
{
  uint64_t size = save_u64(at), first = save_u64(at + 8);
  uint32_t type = save_u32(at + 16), chunks = save_u32(at + 20), name = save_u32(at + 24);
  if (save_u32(at + 28) || chunks != (size + SAVE_CHUNK - 1) / SAVE_CHUNK) return false;
  if (!is_array) return type == 0 && first == 0;
  size_t width = type < WEFT_TYPES ? weft_type_bytes((weft_type)type) : 0;
  return width && size % width == 0 && size / width <= WEFT_MAX_ELEMENTS && name == 0;
}

/* Every count fits what there is of it, exactly. What the streams hold together is counted. */
static bool check_index(const weft__save_index *index, uint64_t names_size, uint64_t index_size,
                        uint64_t *held)
{
  const uint8_t *chunk = index->chunk_entries;
  uint64_t chunks_left = index->chunks, names = 0, stored = 0;
  uint64_t streams = (uint64_t)index->sections + index->arrays;
  for (uint64_t i = 0; i < streams; i++) {
    const uint8_t *at = index->streams + i * SAVE_STREAM_ENTRY;
    bool is_array = i >= index->sections;
    uint64_t size = save_u64(at);
    uint32_t count = save_u32(at + 20);
    if (size > UINT64_MAX - SAVE_CHUNK || !check_stream(at, is_array) || count > chunks_left)
      return false;
    bool sortable = is_array && weft_type_bytes((weft_type)save_u32(at + 16)) > 1;
    if (!check_chunks(&chunk, count, size, sortable, &stored)) return false;
    chunks_left -= count;
    names += save_u32(at + 24);
    *held += size;
  }
  return chunks_left == 0 && names == names_size &&
         stored == index->file_size - SAVE_HEAD - index_size;
}

static weft_status read_index(weft__save_index *index, const uint8_t *head, const char *path,
                              weft_save_report *report)
{
  index->sections = save_u32(head + 24);
  index->arrays = save_u32(head + 28);
  index->chunks = save_u32(head + 32);
  uint64_t names_size = save_u32(head + 36);
  uint64_t streams = ((uint64_t)index->sections + index->arrays) * SAVE_STREAM_ENTRY;
  uint64_t size = streams + (uint64_t)index->chunks * SAVE_CHUNK_ENTRY + names_size;
  if (size > index->file_size - SAVE_HEAD)
    return weft__save_damaged(report, path, "its index is longer than the file");
  index->first_chunk = SAVE_HEAD + size;
  index->bytes = weft__alloc(size + 1);
  if (!index->bytes) return WEFT_NOMEM;
  index->streams = index->bytes;
  index->chunk_entries = index->bytes + streams;
  index->names = (const char *)index->bytes + size - names_size;
  errno = 0;
  if (!weft__file_read(index->fd, index->bytes, size, SAVE_HEAD))
    return errno ? weft__save_refused(report, path, "read")
                 : weft__save_damaged(report, path, "it ends too early");
  if (save_u64(head + 40) != XXH3_64bits(index->bytes, size))
    return weft__save_damaged(report, path, "the checksum of its index is wrong");
  uint64_t held = 0;
  if (!check_index(index, names_size, size, &held))
    return weft__save_damaged(report, path, "its index makes no sense");
  if (!save_may_hold(index->file_size, held))
    return weft__save_damaged(report, path, "it claims to hold too much for its size");
  return WEFT_OK;
}

/* --- Opening ------------------------------------------------------------------------------- */

static weft_status read_front(weft__save_index *index, const char *path,
                              weft_save_report *report)
{
  uint8_t head[SAVE_HEAD];
  if (index->file_size < SAVE_HEAD)
    return weft__save_damaged(report, path, "it is too short for a save");
  if (!weft__file_read(index->fd, head, sizeof head, 0))
    return errno ? weft__save_refused(report, path, "read")
                 : weft__save_damaged(report, path, "it ends too early");
  weft_status status = check_head(head, index->file_size, path, report);
  return status ? status : read_index(index, head, path, report);
}

weft_status weft__save_open(const char *path, weft__save_index *index, weft_save_report *report)
{
  *index = (weft__save_index){.fd = -1};
  index->fd = weft__file_open(path, &index->file_size);
  if (index->fd < 0) return weft__save_refused(report, path, "read");
  weft_status status = read_front(index, path, report);
  if (status) weft__save_close(index);
  return status;
}

void weft__save_close(weft__save_index *index)
{
  if (index->fd >= 0) weft__file_close(index->fd);
  weft__free(index->bytes);
  index->fd = -1;
  index->bytes = NULL;
}

/* --- Checking to the end ------------------------------------------------------------------- */

static weft_status check_stored(const weft__save_index *index, uint8_t *block)
{
  const uint8_t *at = index->chunk_entries;
  uint64_t place = index->first_chunk;
  for (uint32_t i = 0; i < index->chunks; i++, at += SAVE_CHUNK_ENTRY) {
    uint32_t stored = save_u32(at + 8);
    if (!weft__file_read(index->fd, block, stored, place)) return WEFT_IO;
    if (XXH3_64bits(block, stored) != save_u64(at)) return WEFT_DAMAGED;
    place += stored;
  }
  return WEFT_OK;
}

weft_status weft__save_check(const char *path, weft_save_report *report)
{
  weft__save_index index;
  weft_status status = weft__save_open(path, &index, report);
  if (status) return status;
  uint8_t *block = weft__alloc(SAVE_CHUNK);
  status = block ? check_stored(&index, block) : WEFT_NOMEM;
  weft__free(block);
  weft__save_close(&index);
  return status;
}
