/* SPDX-License-Identifier: MIT */
/*
** transfer.h - values on their way from one Lua state to another.
**
** A `parcel` is what one state has written and another may read, on another thread: bytes, and a list
** of what travels by reference. In the bytes stand numbers of references, never an address, so
** damaged bytes can at worst give other values. A parcel is a counted object, made by one thread;
** when it has left that thread nobody changes it any more.
*/
#ifndef WEFT_LUA_TRANSFER_H
#define WEFT_LUA_TRANSFER_H

#include "lua/buffer.h"

/* Tables in tables, and functions that capture tables, may be nested so deep. */
#define TRANSFER_MAX_DEPTH 100000

/* What travels by reference. `object` is counted, and the parcel keeps it. */
enum reference_kind {
  REFERENCE_BUFFER,
  REFERENCE_KERNEL,
  REFERENCE_JOB,
  REFERENCE_BARRIER,
  REFERENCE_SERVICE,
  REFERENCE_CODE,
};

typedef struct reference {
  enum reference_kind kind;
  void *object; /* of a buffer: the hold that it was written from */
} reference;

/* A part of a hold that goes with a parcel. */
typedef struct lending {
  uint32_t reference; /* which hold */
  size_t first, end;
  bool writes;
  uint32_t root; /* for messages: in which of the values it was found first */
} lending;

typedef struct parcel {
  reference *references; /* behind the bytes, in the parcel itself */
  lending *lendings;     /* a counted object of the parcel's own, or NULL */
  uint32_t reference_count, lending_count;
  uint32_t value_count;
  uint32_t object_count; /* tables, functions and what travels by reference */
  size_t size;
  bool within; /* in memory of who has it: only what it refers to is its own */
  bool plain;  /* numbers, booleans and nil, perhaps behind a function that captures nothing */
  _Alignas(8) uint8_t bytes[]; /* behind all padding: the head may be written after them */
} parcel;

/* Memory for a parcel of a few numbers. */
typedef struct parcel_room {
  _Alignas(16) unsigned char bytes[112];
} parcel_room;

/*
** The bytes: the values, one behind the other; then what is in each table and what each function
** captures, in the order in which they were first met. A table stands as TAG_TABLE and two hints where
** it is met first, a function as TAG_FUNCTION and its code, a buffer as TAG_BUFFER; later on they
** stand as TAG_OBJECT and their number. So nothing is nested, and tables may hold themselves.
*/
enum transfer_tag {
  TAG_NIL, /* as a key: the end of a table */
  TAG_FALSE,
  TAG_TRUE,
  TAG_INTEGER, /* int64 */
  TAG_FLOAT,   /* double */
  TAG_INT64,   /* of LuaJIT: int64 */
  TAG_UINT64,
  TAG_STRING,   /* u32 length, bytes */
  TAG_NAME,     /* the same: what every state has */
  TAG_TABLE,    /* u32 and u32 for lua_createtable */
  TAG_FUNCTION, /* u32 reference: its code */
  TAG_OBJECT,   /* u32 number, from 1 */
  TAG_GLOBALS,
  TAG_CANCELLED,
  TAG_BUFFER,  /* u32 reference, u32 first, u32 count, u8 read-only */
  TAG_COUNTED, /* u32 reference: a kernel, job or barrier */
  TAG_UPVALUE, /* for a captured local: u32 function, u8 which of its captured locals is the same */
};

/* What the values are, for messages. */
enum transfer_what { TRANSFER_ARGUMENTS, TRANSFER_RESULTS, TRANSFER_LETTER, TRANSFER_ANSWER };

/* --- transfer_write.c --- */
/* A parcel of the `count` values from `first` on; it starts with one holder. Raises, at the line that
   called the public function, if one cannot cross. The first may be a job's function, which is
   no argument: then the arguments are numbered from the second. */
parcel *transfer_write(lua_State *L, int first, int count, enum transfer_what what,
                       bool has_function);
/* The same, into that room if it is enough. */
parcel *transfer_write_in(lua_State *L, int first, int count, enum transfer_what what,
                          bool has_function, parcel_room *room);

/* The same without writer, error or need of memory: NULL if it is not that easy. A function must have
   been written before. */
parcel *transfer_write_plain(lua_State *L, universe *U, int first, int count, bool has_function,
                             parcel_room *room);

/* --- transfer_codes.c --- */
/* The code of a function: a counted object, which nobody changes. */
typedef struct code {
  uint64_t hash;
  size_t length;
  char bytes[];
} code;

/* Whether this state knows what came of the code when it was loaded. -> that, or nothing */
bool codes_push_loaded(lua_State *L, const struct codes *known, code *c);
void codes_remember(lua_State *L, code *c); /* value on top -> the same: it came of that code */
void codes_fini(universe *U);

/* --- transfer_writer.c --- */
void transfer_drop(parcel *p); /* of one of either function; NULL for none */
void transfer_open(lua_State *L);

/* --- transfer_read.c --- */
void transfer_read_open(lua_State *L);
/* What reading needs to know of where it is read. */
typedef struct transfer_side {
  bool lent;       /* what comes is lent, as arguments are, and not given, as results are */
  bool second;     /* another state has read it before, and has the buffers */
  int globals;     /* where on the stack the globals are, or will be; 0 for the state's */
  int maker;       /* in the registry: what makes them, when they are first needed */
  int views;       /* where a list is for the first view of each new hold, or 0 */
  const void *job; /* the work that what is lent is lent to, or NULL */
} transfer_side;

/* -> values of a plain parcel; false if its function must be loaded, or where there is no room for so many
   without asking. Needs no memory. */
bool transfer_push_plain(lua_State *L, const universe *U, const parcel *p);
/* -> values; how many. Raises if the parcel is damaged, or for want of memory. */
int transfer_read(lua_State *L, const parcel *p, const transfer_side *side);

/* --- transfer_names.c --- */
/* value -> value, name: of what every state has, such as string.format or the module weft; false and
   value -> value for all else */
bool names_find(lua_State *L);
bool names_push(lua_State *L, const char *name, size_t length); /* -> value, or nothing */
/* Whether a value is the globals, of the state or of the job that runs in it. */
bool names_is_globals(lua_State *L, int index);
void names_open(lua_State *L);

#endif
