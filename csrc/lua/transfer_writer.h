/* SPDX-License-Identifier: MIT */
/*
** transfer_writer.h - a writer: a parcel that is being written. For transfer_write.c, which says how
** values are written, transfer_writer.c, which gathers what is written, and transfer_path.c, which
** says where a value is that cannot cross.
*/
#ifndef WEFT_LUA_TRANSFER_WRITER_H
#define WEFT_LUA_TRANSFER_WRITER_H

#include "lua/transfer.h"

/* From addresses to numbers: open addressing, never more than half full. */
typedef struct map {
  struct map_entry {
    const void *key;
    uint64_t value;
  } * entries, small[16];
  uint32_t size, count;
} map;

/* A table, function or buffer that was met. */
typedef struct item {
  uint32_t parent; /* the item that it was met in; 0: it is one of the values */
  uint32_t depth;
  uint32_t root; /* the value that it was reached from, from 1 */
  size_t hints;  /* where the hints of a table stand */
} item;

/* One is kept for the next time, between two, with room for what is usual. */
typedef struct writer {
  uint8_t *bytes, small[512];
  size_t size, room;
  item *items, few[8]; /* items[i - 1] is number i */
  uint32_t count, item_room;
  map objects, upvalues;
  reference *references, few_references[4];
  lending *lendings;
  uint32_t reference_count, reference_room, lending_count, lending_room;
  int order; /* where on the stack the list of items is */
  /* Where it stands, for messages. */
  uint32_t current; /* the item; 0: a value itself */
  uint32_t root;
  bool in_key;
  enum transfer_what what;
  bool has_function;
} writer;

/* --- transfer_writer.c --- */
/* For want of memory these raise, but for one; what is written so far is freed with the writer. */
writer *writer_begin(lua_State *L); /* -> writer, the place of `order` */
/* The parcel of `count` values, in the room if there is one and it is enough; the writer and what stands
   above it are gone from the stack. */
parcel *writer_finish(lua_State *L, writer *w, int count, parcel_room *room);
int writer_no_memory(lua_State *L);                            /* raises */
bool writer_put_try(writer *w, const void *data, size_t size); /* false without memory */
void writer_put(lua_State *L, writer *w, const void *data, size_t size);
void writer_put_tag(lua_State *L, writer *w, enum transfer_tag tag);
void writer_put_u32(lua_State *L, writer *w, uint32_t number);
void writer_put_bytes(lua_State *L, writer *w, enum transfer_tag tag, const char *text,
                      size_t length);
/* A new number for the object at `index`. */
item *writer_add_item(lua_State *L, writer *w, int index);
/* The number of what travels by reference; the parcel keeps it. */
uint32_t writer_add_reference(lua_State *L, writer *w, enum reference_kind kind, void *object);
/* The same for the code of the function at `index`. */
uint32_t writer_add_code(lua_State *L, writer *w, int index);
void writer_add_lending(lua_State *L, writer *w, const lending *l);
/* Where the key stands, or would stand: its `key` is NULL then. */
struct map_entry *map_find(const map *m, const void *key);
void map_add(lua_State *L, map *m, const void *key, uint64_t value);

/* --- transfer_codes.c --- */
/* The code of the function at `index`, with a reference; raises for want of memory. */
code *codes_of(lua_State *L, writer *w, int index);
/* What was written of a function that captures nothing but perhaps its globals, as a captured local; or
   NULL. Without a reference. Needs no memory. */
code *codes_find_plain(lua_State *L, const struct codes *known, int index, bool *globals);

/* --- transfer_path.c --- */
/* Says which value cannot cross, with its path: the one at `value`, met just now. `name` is what the
   captured local is called, if it is one, or NULL. Raises, and so does the next. */
int writer_refuse(lua_State *L, const writer *w, int value, const char *name, const char *type);
void writer_refuse_depth(lua_State *L, const writer *w);

#endif
