/* SPDX-License-Identifier: MIT */
/*
** buffer.h - buffers as Lua sees them: objects, and what is lent of the memory behind them.
**
** A `view` is the object that a script holds: some elements of a memory. A `hold` is what one side
** (a Lua state, or a job in one) has of a memory; all of its views of that memory share it, and it
** counts what is lent from here to jobs. Only its own side's thread looks at those counts, so they
** are plain numbers; holds themselves are counted objects, which may end on any thread.
*/
#ifndef WEFT_LUA_BUFFER_H
#define WEFT_LUA_BUFFER_H

#include "lua/binding.h"

typedef struct hold hold;

/* One lending, in the memory of whoever lends. */
typedef struct loan {
  struct loan *next; /* of the hold */
  hold *from;        /* NULL while it is not lent */
  size_t first, end; /* elements of the memory */
  bool writes;
  const char *borrower; /* "job 3 'path'", for messages */
} loan;

/* Compiled code of LuaJIT reads the first two (lua/weft/buffers.lua). */
struct hold {
  uint32_t no_read;  /* > 0: somewhere reading is refused */
  uint32_t no_write; /* > 0: somewhere writing is refused */
  weft_buffer *memory;
  loan *loans;
  const char *over; /* why nothing here may be touched any more, or NULL */
  /* These stay as they are from when it is known to others. */
  hold *origin;     /* who has lent it to this side, or NULL */
  const void *job;  /* the work that it was lent to, or NULL; a name only */
  const void *side; /* whose it is */
};

/* Compiled code knows this layout, too. The elements' type is that of the memory. */
typedef struct view {
  void *data;
  hold *hold; /* NULL: closed */
  int32_t count;
  uint8_t type; /* weft_type */
  bool read_only;
  const void *kind; /* only where views are userdata */
} view;

/* --- loans.c --- */
/* Takes over the reference of the memory; keeps `origin` unless NULL. NULL without memory: then the
   reference is let go of. */
hold *hold_new(weft_buffer *memory, const void *side, hold *origin);
hold *hold_keep(hold *h);
void hold_drop(hold *h);
/* What stands in the way of touching elements from `first` up to `end`, or NULL. */
const char *hold_refusal(const hold *h, size_t first, size_t end, bool writes);
/* Lends; the loan is filled in but for `from`. Nothing stands in the way. */
void hold_lend(hold *h, loan *l);
void hold_take_back(loan *l);            /* harmless for one that is not lent */
void hold_end(hold *h, const char *why); /* from now on nothing of it may be touched here */
void hold_renew(hold *h);                /* it may again */

/* --- elements.c --- */
/* The value at `index` as an element; false if it is none of that type. */
bool element_read(lua_State *L, int index, weft_type type, void *out);
void element_push(lua_State *L, weft_type type, const void *at);
/* "an i8 element must be ..., got 300" */
int element_misuse(lua_State *L, const char *who, weft_type type, int index);
/* A whole number, of any kind that the machine has; false for all else. */
bool element_whole(lua_State *L, int index, int64_t *out);
/* The kind of a number that is no Lua number there. */
enum cdata_kind { CDATA_OTHER, CDATA_I64, CDATA_U64, CDATA_VIEW };
enum cdata_kind element_cdata(lua_State *L, int index);
void element_push_int64(lua_State *L, int64_t value, bool is_unsigned);
void element_open(lua_State *L);

/* --- buffer.c --- */
view *buffer_check(lua_State *L, int index, const char *who);
view *buffer_test(lua_State *L, int index); /* NULL if it is none */
/* -> view, closed */
view *buffer_push(lua_State *L, weft_type type);
/* -> view of `count` elements from element `first` of the memory on; keeps the hold */
view *buffer_push_view(lua_State *L, hold *h, size_t first, size_t count, bool read_only);
/* Fills in one that is closed; takes over the hold. */
void buffer_set(view *v, hold *h, size_t first, size_t count, bool read_only);
size_t buffer_first(const view *v); /* its first element's place in the memory */
/* Memory, of which garbage is let go of before it is refused. */
weft_status buffer_make(lua_State *L, weft_type type, size_t count, weft_buffer **out);
void buffer_open(lua_State *L);

#endif
