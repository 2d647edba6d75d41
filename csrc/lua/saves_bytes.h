/* SPDX-License-Identifier: MIT */
/*
** saves_bytes.h - the bytes of a section, as saves_write.c puts them one behind the other: staged
** in the walker first, so that few calls go to the save.
*/
#ifndef WEFT_LUA_SAVES_BYTES_H
#define WEFT_LUA_SAVES_BYTES_H

#include <string.h>

#include "lua/saves_walk.h"

static inline void flush(lua_State *L, walker *w)
{
  if (weft_save_put(w->save, w->staged, w->used) != WEFT_OK) walk_no_memory(L);
  w->flushed += w->used;
  w->used = 0;
}

/* Room for `size` bytes, at most 64, to be counted as used by the caller. */
static inline uint8_t *room(lua_State *L, walker *w, size_t size)
{
  if (size > sizeof w->staged - w->used) flush(L, w);
  return w->staged + w->used;
}

static inline void put(lua_State *L, walker *w, const void *data, size_t size)
{
  if (size <= 64) {
    memcpy(room(L, w, size), data, size);
    w->used += size;
    return;
  }
  flush(L, w);
  if (weft_save_put(w->save, data, size) != WEFT_OK) walk_no_memory(L);
  w->flushed += size;
}

/* A tag, and a number of seven bits a byte. */
static inline void put_number(lua_State *L, walker *w, enum save_tag tag, uint64_t number)
{
  uint8_t *start = room(L, w, 11), *at = start;
  *at++ = (uint8_t)tag;
  for (; number > 127; number >>= 7) *at++ = (uint8_t)(number | 128);
  *at++ = (uint8_t)number;
  w->used += (size_t)(at - start);
}

static inline void put_count(lua_State *L, walker *w, uint64_t number)
{
  uint8_t *start = room(L, w, 10), *at = start;
  for (; number > 127; number >>= 7) *at++ = (uint8_t)(number | 128);
  *at++ = (uint8_t)number;
  w->used += (size_t)(at - start);
}

static inline void put_tag(lua_State *L, walker *w, enum save_tag tag)
{
  *room(L, w, 1) = (uint8_t)tag;
  w->used++;
}

static inline void put_fixed(lua_State *L, walker *w, enum save_tag tag, const void *data)
{
  uint8_t *at = room(L, w, 9);
  *at = (uint8_t)tag;
  memcpy(at + 1, data, 8);
  w->used += 9;
}

static inline void patch(lua_State *L, walker *w, uint64_t at, const uint32_t numbers[2])
{
  size_t size = 2 * sizeof numbers[0];
  if (at >= w->flushed)
    memcpy(w->staged + (at - w->flushed), numbers, size);
  else if (weft_save_patch(w->save, at, numbers, size) != WEFT_OK)
    walk_no_memory(L);
}

#endif
