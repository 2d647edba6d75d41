/* SPDX-License-Identifier: MIT */
/*
** save_write.c - the file: written beside the old one, synced, then put in its place in one step.
**
** At each moment there is a whole save at the path or, where the system has no second names for
** files, at that of the kept one; a process that is killed leaves at most a `.new` that the next
** save writes over.
*/
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdio.h>

#include "core/save.h"
#include "platform/files.h"
#include "platform/system.h"

/* The names that a save needs. */
typedef struct names {
  const char *path;
  char *new, *kept, *spare;
  char *text;
  bool replaced; /* the new file is the one at the path */
} names;

static bool names_init(names *n, const char *path)
{
  size_t size = strlen(path) + 16;
  n->path = path;
  n->text = weft__alloc(3 * size);
  if (!n->text) return false;
  n->new = n->text;
  n->kept = n->new + size;
  n->spare = n->kept + size;
  snprintf(n->new, size, "%s.new", path);
  snprintf(n->kept, size, "%s" SAVE_KEPT, path);
  snprintf(n->spare, size, "%s" SAVE_KEPT ".new", path);
  return true;
}

/* --- Head and index ------------------------------------------------------------------------ */

static uint8_t *put_streams(uint8_t *at, const weft__save_list *list)
{
  for (uint32_t i = 0; i < list->count; i++, at += SAVE_STREAM_ENTRY) {
    const weft__save_stream *s = &list->items[i];
    save_set_u64(at, s->size);
    save_set_u64(at + 8, s->first);
    save_set_u32(at + 16, s->is_array ? (uint32_t)s->type : 0);
    save_set_u32(at + 20, weft__save_chunks_of(s->size));
    save_set_u32(at + 24, (uint32_t)s->name_length);
  }
  return at;
}

static uint8_t *put_chunks(uint8_t *at, const weft__save_pack *pack, uint64_t *stored)
{
  for (uint32_t i = 0; i < pack->count; i++, at += SAVE_CHUNK_ENTRY) {
    const weft__save_chunk *c = &pack->chunks[i];
    save_set_u64(at, c->checksum);
    save_set_u32(at + 8, c->stored_size);
    save_set_u32(at + 12, c->raw_size);
    save_set_u32(at + 16, c->coding);
    *stored += c->stored_size;
  }
  return at;
}

static uint64_t names_size(const weft_save *save)
{
  uint64_t size = 0;
  for (uint32_t i = 0; i < save->sections.count; i++)
    size += save->sections.items[i].name_length;
  return size;
}

static void put_names(uint8_t *at, const weft_save *save)
{
  for (uint32_t i = 0; i < save->sections.count; i++) {
    const weft__save_stream *s = &save->sections.items[i];
    if (s->name_length) memcpy(at, s->name, s->name_length);
    at += s->name_length;
  }
}

static void put_head(uint8_t *head, const weft_save *save, const weft__save_pack *pack,
                     uint64_t index_size, uint64_t stored)
{
  memcpy(head, SAVE_MAGIC, 8);
  save_set_u32(head + 8, SAVE_VERSION);
  save_set_u64(head + 16, SAVE_HEAD + index_size + stored);
  save_set_u32(head + 24, save->sections.count);
  save_set_u32(head + 28, save->arrays.count);
  save_set_u32(head + 32, pack->count);
  save_set_u32(head + 36, (uint32_t)names_size(save));
  save_set_u64(head + 40, XXH3_64bits(head + SAVE_HEAD, index_size));
  save_set_u64(head + 56, XXH3_64bits(head, 56));
}

/* Head and index in one block; NULL without memory, or for names of over 4 GiB. */
static uint8_t *make_front(const weft_save *save, const weft__save_pack *pack, size_t *size)
{
  uint64_t streams = (uint64_t)save->sections.count + save->arrays.count, stored = 0;
  uint64_t index = streams * SAVE_STREAM_ENTRY + (uint64_t)pack->count * SAVE_CHUNK_ENTRY;
  uint64_t text = names_size(save);
  uint8_t *head = text <= UINT32_MAX ? weft__calloc(1, SAVE_HEAD + index + text) : NULL;
  if (!head) return NULL;
  uint8_t *at = put_streams(head + SAVE_HEAD, &save->sections);
  at = put_streams(at, &save->arrays);
  at = put_chunks(at, pack, &stored);
  put_names(at, save);
  put_head(head, save, pack, index + text, stored);
  *size = SAVE_HEAD + index + text;
  return head;
}

/* --- The new file -------------------------------------------------------------------------- */

static bool write_chunks(int fd, const weft__save_pack *pack)
{
  for (uint32_t i = 0; i < pack->count; i++) {
    const weft__save_chunk *c = &pack->chunks[i];
    if (!weft__file_write(fd, c->packed ? c->packed : c->raw, c->stored_size)) return false;
  }
  return true;
}

static weft_status write_all(int fd, const names *n, const weft_save *save,
                             const weft__save_pack *pack, weft_save_report *report)
{
  size_t size;
  uint8_t *front = make_front(save, pack, &size);
  if (!front) return WEFT_NOMEM;
  bool written = weft__file_write(fd, front, size) && write_chunks(fd, pack);
  report->bytes = save_u64(front + 16);
  weft__free(front);
  if (!written) return weft__save_refused(report, n->new, "write");
  if (!weft__file_sync(fd)) return weft__save_refused(report, n->new, "sync");
  return WEFT_OK;
}

/* --- Taking its place ---------------------------------------------------------------------- */

/* Keeps the old file, if it is a good one: one that is damaged must not replace what was kept. What a
   newer weft has written is good as far as this one can tell. */
static bool keep_old(const names *n, bool *moved)
{
  weft_save_report ignored;
  weft_status status = weft__save_check(n->path, &ignored);
  if (status != WEFT_OK && status != WEFT_NEWER) return false;
  int kept = weft__file_keep(n->path, n->kept, n->spare);
  if (kept < 0) *moved = weft__file_rename(n->path, n->kept);
  return kept == 0 || *moved;
}

static weft_status replace(names *n, weft_save_report *report)
{
  bool moved = false;
  report->kept = keep_old(n, &moved);
  if (!weft__file_rename(n->new, n->path)) {
    weft_status status = weft__save_refused(report, n->path, "replace");
    if (moved) weft__file_rename(n->kept, n->path);
    return status;
  }
  n->replaced = true;
  if (!weft__file_sync_folder(n->path))
    return weft__save_refused(report, n->path, "sync the folder of");
  return WEFT_OK;
}

static weft_status write_file(names *n, const weft_save *save, const weft__save_pack *pack,
                              weft_save_report *report)
{
  int fd = weft__file_create(n->new);
  if (fd < 0 && errno == EWOULDBLOCK) {
    snprintf(report->text, sizeof report->text, "another process is writing %s", n->path);
    return WEFT_LOCKED;
  }
  if (fd < 0) return weft__save_refused(report, n->new, "create");
  weft_status status = write_all(fd, n, save, pack, report);
  if (!status) status = replace(n, report);
  if (!n->replaced) weft__file_remove(n->new);
  weft__file_close(fd);
  return status;
}

/* --- All of it ----------------------------------------------------------------------------- */

static weft_status write_in_turn(const weft_save *save, const weft__save_pack *pack,
                                 weft_save_report *report)
{
  names n = {0};
  if (!names_init(&n, weft__save_path(save->place))) return WEFT_NOMEM;
  weft_status status = WEFT_OK;
  report->superseded = !weft__save_enter(save->place, save->turn);
  if (!report->superseded) {
    status = write_file(&n, save, pack, report);
    weft__save_exit(save->place, save->turn, n.replaced);
  }
  weft__free(n.text);
  return status;
}

static uint64_t raw_bytes(const weft__save_pack *pack)
{
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < pack->count; i++) bytes += pack->chunks[i].raw_size;
  return bytes;
}

weft_status weft_save_write(weft_save *save, weft_pool *pool, const weft_save_options *options,
                            weft_save_report *report)
{
  static const weft_save_options usual;
  weft_save_report unused;
  weft__save_pack pack;
  if (!report) report = &unused;
  *report = (weft_save_report){0};
  weft_status status = weft__save_encode(save, pool, options ? options : &usual, &pack);
  report->raw_bytes = raw_bytes(&pack);
  if (!status) status = write_in_turn(save, &pack, report);
  weft__save_pack_fini(&pack);
  if (status && !report->text[0])
    snprintf(report->text, sizeof report->text, "cannot write %s: %s",
             weft__save_path(save->place), weft_status_text(status));
  return status;
}
