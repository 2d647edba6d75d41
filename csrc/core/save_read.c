/* SPDX-License-Identifier: MIT */
/*
** save_read.c - a file becomes what was gathered. Chunks are read, checked and unpacked by many
** threads, each into its place.
*/
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <errno.h>
#include <stdio.h>

#include "core/save.h"
#include "platform/files.h"
#include "platform/system.h"

typedef struct section {
  char *name; /* into the index */
  size_t name_length;
  uint8_t *data;
  size_t size;
} section;

typedef struct array {
  weft_buffer *buffer;
  uint64_t first;
} array;

struct weft_loaded {
  weft__save_index index;
  section *sections;
  array *arrays;
};

/* Where a chunk comes from and where it goes. */
typedef struct place {
  uint64_t from;
  uint8_t *to;
  const uint8_t *entry;
  uint32_t width;
} place;

typedef struct reading {
  weft_loaded *loaded;
  place *places;
} reading;

/* --- Room ---------------------------------------------------------------------------------- */

static const uint8_t *stream_entry(const weft__save_index *index, uint64_t i)
{
  return index->streams + i * SAVE_STREAM_ENTRY;
}

static bool make_sections(weft_loaded *l)
{
  const char *name = l->index.names;
  if (l->index.sections == 0) return true;
  l->sections = weft__calloc(l->index.sections, sizeof *l->sections);
  if (!l->sections) return false;
  for (uint32_t i = 0; i < l->index.sections; i++) {
    const uint8_t *at = stream_entry(&l->index, i);
    section *s = &l->sections[i];
    s->size = save_u64(at);
    s->name = (char *)name;
    s->name_length = save_u32(at + 24);
    name += s->name_length;
    if (s->size && !(s->data = weft__alloc(s->size))) return false;
  }
  return true;
}

static bool make_arrays(weft_loaded *l)
{
  if (l->index.arrays == 0) return true;
  l->arrays = weft__calloc(l->index.arrays, sizeof *l->arrays);
  if (!l->arrays) return false;
  for (uint32_t i = 0; i < l->index.arrays; i++) {
    const uint8_t *at = stream_entry(&l->index, (uint64_t)l->index.sections + i);
    weft_type type = (weft_type)save_u32(at + 16);
    l->arrays[i].first = save_u64(at + 8);
    size_t count = save_u64(at) / weft_type_bytes(type);
    if (weft_buffer_new(type, count, &l->arrays[i].buffer) != WEFT_OK) return false;
  }
  return true;
}

static place *add_places(place *p, const weft__save_index *index, uint64_t stream, uint8_t *to,
                         uint32_t width, uint64_t *from, const uint8_t **entry)
{
  uint32_t count = save_u32(stream_entry(index, stream) + 20);
  for (uint32_t i = 0; i < count; i++, p++) {
    *p = (place){*from, to + (size_t)i * SAVE_CHUNK, *entry, width};
    *from += save_u32(*entry + 8);
    *entry += SAVE_CHUNK_ENTRY;
  }
  return p;
}

static place *make_places(const weft_loaded *l)
{
  const weft__save_index *index = &l->index;
  const uint8_t *entry = index->chunk_entries;
  place *places = weft__calloc(index->chunks, sizeof *places), *p = places;
  uint64_t from = index->first_chunk;
  if (!places) return NULL;
  for (uint32_t i = 0; i < index->sections; i++)
    p = add_places(p, index, i, l->sections[i].data, 1, &from, &entry);
  for (uint32_t i = 0; i < index->arrays; i++) {
    const weft_buffer *b = l->arrays[i].buffer;
    uint32_t width = (uint32_t)weft_type_bytes(weft_buffer_type(b));
    p = add_places(p, index, (uint64_t)index->sections + i, weft_buffer_data(b), width, &from,
                   &entry);
  }
  return places;
}

/* --- Unpacking ----------------------------------------------------------------------------- */

static void unsort_bytes(uint8_t *to, const uint8_t *from, size_t size, size_t width)
{
  size_t count = size / width;
  for (size_t byte = 0; byte < width; byte++)
    for (size_t i = 0; i < count; i++) to[i * width + byte] = from[byte * count + i];
}

static weft_status unpack(const place *p, const uint8_t *stored, weft__save_desk *desk)
{
  uint32_t size = save_u32(p->entry + 8), raw = save_u32(p->entry + 12);
  bool sorted = save_u32(p->entry + 16) == SAVE_SORTED;
  uint8_t *to = sorted ? desk->scratch[1] : p->to;
  size_t got = ZSTD_decompressDCtx(desk->unpacker, to, raw, stored, size);
  if (ZSTD_isError(got))
    return ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? WEFT_NOMEM : WEFT_DAMAGED;
  if (got != raw) return WEFT_DAMAGED;
  if (sorted) unsort_bytes(p->to, to, raw, p->width);
  return WEFT_OK;
}

static weft_status decode_chunk(void *arg, uint32_t number, weft__save_desk *desk)
{
  const reading *r = arg;
  const place *p = &r->places[number];
  uint32_t size = save_u32(p->entry + 8);
  bool packed = save_u32(p->entry + 16) != SAVE_STORED;
  if (packed && !weft__desk_ready(desk, false)) return WEFT_NOMEM;
  uint8_t *stored = packed ? desk->scratch[0] : p->to;
  if (!weft__file_read(r->loaded->index.fd, stored, size, p->from))
    return errno ? WEFT_IO : WEFT_DAMAGED;
  if (XXH3_64bits(stored, size) != save_u64(p->entry)) return WEFT_DAMAGED;
  return packed ? unpack(p, stored, desk) : WEFT_OK;
}

/* --- One file ------------------------------------------------------------------------------ */

static weft_status read_chunks(weft_loaded *l, weft_pool *pool)
{
  reading r = {.loaded = l};
  if (!make_sections(l) || !make_arrays(l)) return WEFT_NOMEM;
  if (l->index.chunks == 0) return WEFT_OK;
  r.places = make_places(l);
  if (!r.places) return WEFT_NOMEM;
  weft_status status =
      weft__save_share(pool, WEFT_PRIORITY_NORMAL, l->index.chunks, decode_chunk, &r);
  weft__free(r.places);
  return status;
}

static void add_numbers(const weft_loaded *l, weft_save_report *report)
{
  report->bytes = l->index.file_size;
  report->raw_bytes = 0;
  for (uint64_t i = 0; i < (uint64_t)l->index.sections + l->index.arrays; i++)
    report->raw_bytes += save_u64(stream_entry(&l->index, i));
}

static weft_status read_file(const char *path, weft_pool *pool, weft_loaded **out,
                             weft_save_report *report)
{
  weft_loaded *l = weft__calloc(1, sizeof *l);
  if (!l) return WEFT_NOMEM;
  l->index.fd = -1;
  weft_status status = weft__save_open(path, &l->index, report);
  if (!status) {
    status = read_chunks(l, pool);
    if (status == WEFT_DAMAGED)
      weft__save_damaged(report, path, "the checksum of a part of it is wrong");
    if (status == WEFT_IO) snprintf(report->text, sizeof report->text, "cannot read %s", path);
  }
  if (!status) {
    add_numbers(l, report);
    *out = l;
    return WEFT_OK;
  }
  weft_loaded_delete(l);
  return status;
}

/* --- Reading ------------------------------------------------------------------------------- */

/* The file at the path cannot be had, for the reason in the report. */
static weft_status read_kept(const char *path, weft_pool *pool, weft_loaded **out,
                             weft_save_report *report, weft_status first)
{
  weft_save_report second = {0};
  size_t size = strlen(path) + sizeof SAVE_KEPT, used = strlen(report->text);
  char *kept = weft__alloc(size);
  if (!kept) return WEFT_NOMEM;
  snprintf(kept, size, "%s" SAVE_KEPT, path);
  weft_status status = read_file(kept, pool, out, &second);
  weft__free(kept);
  if (status == WEFT_NOMEM) return status;
  report->kept = status == WEFT_OK;
  if (status == WEFT_OK) {
    report->bytes = second.bytes;
    report->raw_bytes = second.raw_bytes;
    return WEFT_OK;
  }
  snprintf(report->text + used, sizeof report->text - used, "; %s", second.text);
  return first;
}

weft_status weft_save_read(const char *path, weft_pool *pool, weft_loaded **out,
                           weft_save_report *report)
{
  weft_save_report unused;
  if (!path || !*path) return WEFT_INVALID;
  if (!report) report = &unused;
  *report = (weft_save_report){0};
  weft_status status = read_file(path, pool, out, report);
  if (status && status != WEFT_NOMEM) status = read_kept(path, pool, out, report, status);
  if (status == WEFT_NOMEM)
    snprintf(report->text, sizeof report->text, "cannot read %s: %s", path,
             weft_status_text(status));
  return status;
}

/* --- What was read ------------------------------------------------------------------------- */

uint32_t weft_loaded_sections(const weft_loaded *loaded)
{
  return loaded->index.sections;
}

uint32_t weft_loaded_arrays(const weft_loaded *loaded)
{
  return loaded->index.arrays;
}

const char *weft_loaded_name(const weft_loaded *loaded, uint32_t i, size_t *length)
{
  WEFT_CHECK(i < loaded->index.sections);
  *length = loaded->sections[i].name_length;
  return loaded->sections[i].name;
}

const void *weft_loaded_data(const weft_loaded *loaded, uint32_t i, size_t *size)
{
  WEFT_CHECK(i < loaded->index.sections);
  *size = loaded->sections[i].size;
  return loaded->sections[i].data;
}

weft_buffer *weft_loaded_array(const weft_loaded *loaded, uint32_t i, uint64_t *first)
{
  WEFT_CHECK(i < loaded->index.arrays);
  *first = loaded->arrays[i].first;
  return loaded->arrays[i].buffer;
}

void weft_loaded_delete(weft_loaded *loaded)
{
  if (!loaded) return;
  for (uint32_t i = 0; loaded->sections && i < loaded->index.sections; i++)
    weft__free(loaded->sections[i].data);
  for (uint32_t i = 0; loaded->arrays && i < loaded->index.arrays; i++)
    weft_buffer_drop(loaded->arrays[i].buffer);
  weft__free(loaded->sections);
  weft__free(loaded->arrays);
  weft__save_close(&loaded->index);
  weft__free(loaded);
}
