/* SPDX-License-Identifier: MIT */
/*
** saves_walk.h - where a walk over Lua values stands: for saves_write.c, which copies them, and
** saves_path.c, which says where one is that cannot be copied.
*/
#ifndef WEFT_LUA_SAVES_WALK_H
#define WEFT_LUA_SAVES_WALK_H

#include "lua/saves.h"

/* From addresses to numbers: open addressing, never more than half full. */
typedef struct map {
  struct map_entry {
    const void *key;
    uint64_t value;
  } * entries;
  uint32_t size, count;
} map;

/* A table, buffer or columns that was met. */
typedef struct item {
  uint32_t parent; /* in which, from 1; 0: it is a section */
  uint32_t section;
  uint64_t hints; /* of a table: where its numbers stand */
} item;

#define NO_HINTS UINT64_MAX

/* A memory whose elements are to be copied. */
typedef struct memory {
  hold *hold;
  uint32_t array;
  size_t first, end;
} memory;

typedef struct walker {
  weft_save *save;
  uint8_t staged[4096]; /* what is not yet in the section */
  size_t used;
  uint64_t flushed;
  map objects, strings, holds;
  item *items; /* items[i - 1] is number i - 1 of the file */
  memory *memories;
  uint32_t count, item_room, memory_count, memory_room;
  int order, names;          /* where on the stack the lists of items, and of sections, are */
  uint32_t current, section; /* where it stands, from 1 */
  bool in_key;
  const void *columns;
} walker;

/* --- saves_path.c --- */
/* -> "sections.player.mesh": of the value at `value`, which the walk has met just now */
void walk_push_path(lua_State *L, const walker *w, int value);
/* These raise; the errors have no place. */
int walk_refuse(lua_State *L, const walker *w, int value, const char *type);
int walk_no_memory(lua_State *L);

#endif
