/* SPDX-License-Identifier: MIT */
/*
** save_encode.c - chunks of what was gathered: the bytes of elements sorted, compressed, given a
** checksum; many at a time, the largest first.
*/
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <stdlib.h>
#include <string.h>

#include "core/save.h"
#include "platform/system.h"

/* The fastest of zstd's ordinary levels: the sorting of bytes has done what higher ones would find.
   */
#define LEVEL 1

/* Below this nothing gets smaller that would be worth a frame. */
#define LEAST_PACKED 32

/* --- Planning ------------------------------------------------------------------------------ */

uint32_t weft__save_chunks_of(uint64_t size)
{
  return (uint32_t)((size + SAVE_CHUNK - 1) / SAVE_CHUNK);
}

static uint64_t count_chunks(const weft__save_list *list)
{
  uint64_t count = 0;
  for (uint32_t i = 0; i < list->count; i++) count += weft__save_chunks_of(list->items[i].size);
  return count;
}

static void plan_list(const weft__save_list *list, weft__save_pack *pack)
{
  for (uint32_t i = 0; i < list->count; i++) {
    const weft__save_stream *s = &list->items[i];
    uint32_t chunks = weft__save_chunks_of(s->size);
    for (uint32_t j = 0; j < chunks; j++) {
      uint64_t start = (uint64_t)j * SAVE_CHUNK, left = s->size - start;
      pack->chunks[pack->count++] = (weft__save_chunk){
          .raw = s->is_array ? s->elements + start : s->blocks[j],
          .raw_size = left < SAVE_CHUNK ? (uint32_t)left : SAVE_CHUNK,
          .width = s->is_array ? (uint32_t)weft_type_bytes(s->type) : 1,
      };
    }
  }
}

/* Size and number in one word each, so that the larger ones come first, and equal ones as they are.
   */
static int compare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static weft_status plan_order(weft__save_pack *pack)
{
  uint64_t *keys = weft__alloc(pack->count * sizeof *keys);
  if (!keys) return WEFT_NOMEM;
  for (uint32_t i = 0; i < pack->count; i++)
    keys[i] = (uint64_t)(SAVE_CHUNK - pack->chunks[i].raw_size) << 32 | i;
  qsort(keys, pack->count, sizeof *keys, compare);
  for (uint32_t i = 0; i < pack->count; i++) pack->order[i] = (uint32_t)keys[i];
  weft__free(keys);
  return WEFT_OK;
}

/* --- Packing ------------------------------------------------------------------------------- */

/* Elements are laid out by the places of their bytes: numbers that are near to one another differ
   in their lowest bytes, and what they have in common stands together. */
static void sort_bytes(uint8_t *to, const uint8_t *from, size_t size, size_t width)
{
  size_t count = size / width;
  for (size_t byte = 0; byte < width; byte++)
    for (size_t i = 0; i < count; i++) to[byte * count + i] = from[i * width + byte];
}

/* Leaves the chunk as it is if it does not get smaller. */
static weft_status compress(weft__save_chunk *c, weft__save_desk *desk)
{
  if (!weft__desk_ready(desk, true)) return WEFT_NOMEM;
  const uint8_t *from = c->raw;
  if (c->width > 1) {
    sort_bytes(desk->scratch[0], from, c->raw_size, c->width);
    from = desk->scratch[0];
  }
  size_t size = ZSTD_compressCCtx(desk->packer, desk->scratch[1], c->raw_size - 1, from,
                                  c->raw_size, LEVEL);
  if (ZSTD_isError(size))
    return ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation ? WEFT_NOMEM : WEFT_OK;
  c->packed = weft__alloc(size);
  if (!c->packed) return WEFT_NOMEM;
  memcpy(c->packed, desk->scratch[1], size);
  c->stored_size = (uint32_t)size;
  c->coding = c->width > 1 ? SAVE_SORTED : SAVE_ZSTD;
  return WEFT_OK;
}

static weft_status encode_chunk(void *arg, uint32_t number, weft__save_desk *desk)
{
  const weft__save_pack *pack = arg;
  weft__save_chunk *c = &pack->chunks[pack->order[number]];
  weft_status status = WEFT_OK;
  c->stored_size = c->raw_size;
  if (!pack->plain && c->raw_size >= LEAST_PACKED) status = compress(c, desk);
  c->checksum = XXH3_64bits(c->packed ? c->packed : c->raw, c->stored_size);
  return status;
}

static void store_as_it_is(weft__save_chunk *c)
{
  weft__free(c->packed);
  c->packed = NULL;
  c->stored_size = c->raw_size;
  c->coding = SAVE_STORED;
  c->checksum = XXH3_64bits(c->raw, c->raw_size);
}

/* Until no reader finds the file too short for what it holds. */
static void keep_bounds(weft__save_pack *pack)
{
  uint64_t raw = 0, stored = 0;
  for (uint32_t i = 0; i < pack->count; i++) {
    raw += pack->chunks[i].raw_size;
    stored += pack->chunks[i].stored_size;
  }
  for (uint32_t i = 0; i < pack->count && !save_may_hold(stored, raw); i++) {
    weft__save_chunk *c = &pack->chunks[pack->order[i]];
    stored += c->raw_size - c->stored_size;
    if (c->packed) store_as_it_is(c);
  }
}

weft_status weft__save_encode(const weft_save *save, weft_pool *pool,
                              const weft_save_options *options, weft__save_pack *pack)
{
  uint64_t count = count_chunks(&save->sections) + count_chunks(&save->arrays);
  *pack = (weft__save_pack){.plain = options->plain};
  if (count == 0) return WEFT_OK;
  if (count > UINT32_MAX) return WEFT_NOMEM;
  pack->chunks = weft__calloc(count, sizeof *pack->chunks);
  pack->order = weft__calloc(count, sizeof *pack->order);
  if (!pack->chunks || !pack->order) return WEFT_NOMEM;
  plan_list(&save->sections, pack);
  plan_list(&save->arrays, pack);
  weft_status status = plan_order(pack);
  if (status) return status;
  status = weft__save_share(pool, options->priority, pack->count, encode_chunk, pack);
  if (!status) keep_bounds(pack);
  return status;
}

void weft__save_pack_fini(weft__save_pack *pack)
{
  for (uint32_t i = 0; i < pack->count; i++) weft__free(pack->chunks[i].packed);
  weft__free(pack->chunks);
  weft__free(pack->order);
}
