/* SPDX-License-Identifier: MIT */
/*
** saves.h - saves of Lua: what the files about them share. What the bytes mean is in
** core/save_format.h, under VALUES.
*/
#ifndef WEFT_LUA_SAVES_H
#define WEFT_LUA_SAVES_H

#include "lua/buffer.h"

/* In front of the bytes of each value. */
enum save_tag {
  SAVE_NIL,
  SAVE_FALSE,
  SAVE_TRUE,
  SAVE_INTEGER,
  SAVE_FLOAT,
  SAVE_STRING,
  SAVE_KNOWN,
  SAVE_TABLE,
  SAVE_AGAIN,
  SAVE_OBJECT,
  SAVE_INT64,
  SAVE_UINT64,
  SAVE_BUFFER,
  SAVE_COLUMNS,
};

/* Strings of at most so many bytes are written once. */
#define SAVE_SHORT 40

/* --- saves_write.c --- */
/* Copies what is in the table of sections into the save. False: an error without a place is on top.
   */
bool saves_write(lua_State *L, weft_save *save, int sections);
void saves_write_open(lua_State *L);

/* --- saves_read.c --- */
enum saves_outcome {
  SAVES_READ,    /* -> table of sections */
  SAVES_DAMAGED, /* the bytes of a section make no sense: -> text */
  SAVES_FAILED,  /* something is missing here: -> error without a place */
};
enum saves_outcome saves_read(lua_State *L, const weft_loaded *loaded);
void saves_read_open(lua_State *L);

/* --- saves.c --- */
void saves_fini(universe *U); /* waits for what was begun */
void saves_open(lua_State *L);
/* -> name of a metatable, or nil; metatable of a name, or nil */
void saves_push_name(lua_State *L, int meta);
void saves_push_meta(lua_State *L, const char *name, size_t length);
/* The metatable of columns, for comparing; -> function that takes columns apart, or makes them. */
const void *saves_columns(lua_State *L);
void saves_push_parts(lua_State *L);
void saves_push_assemble(lua_State *L);

#endif
