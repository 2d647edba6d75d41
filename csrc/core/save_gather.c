/* SPDX-License-Identifier: MIT */
/*
** save_gather.c - what a save is going to hold, copied by one thread. The only part of saving that
** the thread of a world has to wait for, so it does nothing but copy.
*/
#include <string.h>

#include "core/save.h"
#include "platform/files.h"
#include "platform/system.h"

/* --- Beginning and ending ------------------------------------------------------------------ */

static void stream_fini(weft__save_stream *s)
{
  for (uint32_t i = 0; i < s->block_count; i++) weft__free(s->blocks[i]);
  weft__free(s->blocks);
  weft__free(s->elements);
  weft__free(s->name);
}

static void list_fini(weft__save_list *list)
{
  for (uint32_t i = 0; i < list->count; i++) stream_fini(&list->items[i]);
  weft__free(list->items);
}

static void save_fini(void *object)
{
  weft_save *save = object;
  list_fini(&save->sections);
  list_fini(&save->arrays);
  if (save->place) weft__save_leave(save->place);
}

weft_status weft_save_new(const char *path, weft_save **out)
{
  if (!path || !*path) return WEFT_INVALID;
  weft_save *save = weft_counted_new(sizeof *save, save_fini);
  char *full = save ? weft__file_full_path(path) : NULL;
  if (full) save->place = weft__save_arrive(full, &save->turn);
  if (full && save->place) {
    *out = save;
    return WEFT_OK;
  }
  weft_counted_drop(save);
  return WEFT_NOMEM;
}

/* --- Streams ------------------------------------------------------------------------------- */

/* A larger array with the same bytes, or NULL; then the old one stays. */
static void *grown(void *old, size_t used, size_t bytes)
{
  void *larger = weft__alloc(bytes);
  if (!larger) return NULL;
  if (used) memcpy(larger, old, used);
  weft__free(old);
  return larger;
}

/* Room for one more, zeroed; NULL without memory. */
static weft__save_stream *add_stream(weft__save_list *list)
{
  if (list->count == list->room) {
    uint32_t room = list->room ? list->room * 2 : 8;
    size_t size = sizeof *list->items;
    void *items =
        room > list->room ? grown(list->items, list->count * size, room * size) : NULL;
    if (!items) return NULL;
    list->items = items;
    list->room = room;
  }
  weft__save_stream *s = &list->items[list->count];
  *s = (weft__save_stream){0};
  return s;
}

weft_status weft_save_section(weft_save *save, const char *name, size_t length)
{
  if (length > UINT32_MAX) return WEFT_INVALID;
  weft__save_stream *s = add_stream(&save->sections);
  char *copy = s && length ? weft__alloc(length) : NULL;
  if (!s || (length && !copy)) return WEFT_NOMEM;
  if (length) memcpy(copy, name, length);
  s->name = copy;
  s->name_length = length;
  save->sections.count++;
  return WEFT_OK;
}

static bool add_block(weft__save_stream *s)
{
  if (s->block_count == s->block_room) {
    uint32_t room = s->block_room ? s->block_room * 2 : 4;
    void *blocks = room > s->block_room ? grown(s->blocks, s->block_count * sizeof *s->blocks,
                                                room * sizeof *s->blocks)
                                        : NULL;
    if (!blocks) return false;
    s->blocks = blocks;
    s->block_room = room;
  }
  uint8_t *block = weft__alloc(SAVE_CHUNK);
  if (block) s->blocks[s->block_count++] = block;
  return block != NULL;
}

static weft__save_stream *last_section(const weft_save *save)
{
  return save->sections.count ? &save->sections.items[save->sections.count - 1] : NULL;
}

weft_status weft_save_put(weft_save *save, const void *data, size_t size)
{
  weft__save_stream *s = last_section(save);
  const uint8_t *from = data;
  if (!s) return WEFT_INVALID;
  while (size > 0) {
    uint32_t at = (uint32_t)(s->size % SAVE_CHUNK), room = SAVE_CHUNK - at;
    if (s->size / SAVE_CHUNK == s->block_count && !add_block(s)) return WEFT_NOMEM;
    size_t part = size < room ? size : room;
    memcpy(s->blocks[s->size / SAVE_CHUNK] + at, from, part);
    s->size += part;
    from += part;
    size -= part;
  }
  return WEFT_OK;
}

uint64_t weft_save_size(const weft_save *save)
{
  const weft__save_stream *s = last_section(save);
  return s ? s->size : 0;
}

weft_status weft_save_patch(weft_save *save, uint64_t at, const void *data, size_t size)
{
  weft__save_stream *s = last_section(save);
  const uint8_t *from = data;
  if (!s || at > s->size || size > s->size - at) return WEFT_INVALID;
  for (; size > 0; size--, at++) s->blocks[at / SAVE_CHUNK][at % SAVE_CHUNK] = *from++;
  return WEFT_OK;
}

weft_status weft_save_array(weft_save *save, weft_type type, uint32_t *number)
{
  if (!weft_type_bytes(type)) return WEFT_INVALID;
  weft__save_stream *s = add_stream(&save->arrays);
  if (!s) return WEFT_NOMEM;
  s->type = type;
  s->is_array = true;
  *number = save->arrays.count++;
  return WEFT_OK;
}

weft_status weft_save_elements(weft_save *save, uint32_t number, size_t count, uint64_t first,
                               void **out)
{
  if (number >= save->arrays.count || count > WEFT_MAX_ELEMENTS) return WEFT_INVALID;
  weft__save_stream *s = &save->arrays.items[number];
  if (s->elements) return WEFT_INVALID;
  size_t size = count * weft_type_bytes(s->type);
  s->elements = weft__alloc(size ? size : 1);
  if (!s->elements) return WEFT_NOMEM;
  s->size = size;
  s->first = first;
  *out = s->elements;
  return WEFT_OK;
}
