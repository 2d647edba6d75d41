/* SPDX-License-Identifier: MIT */
/* buffer.h - plain values of one type, which scripts and jobs share; part of weft.h. */
#ifndef WEFT_PUBLIC_BUFFER_H
#define WEFT_PUBLIC_BUFFER_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
** An object that several threads may hold; it ends when the last of them lets it go. Any thread may
** call these. `weft_counted_new` gives `size` zeroed bytes, aligned as by malloc, to its first
** holder, or NULL without memory; `end`, unless NULL, is called before they are freed, by whichever
** thread let go last. Dropping NULL does nothing. `weft_counted_is_alone` is for a holder: whether
** there is no other.
*/
void *weft_counted_new(size_t size, void (*end)(void *object));
void *weft_counted_keep(void *object); /* one holder more; answers the object */
void weft_counted_drop(void *object);
bool weft_counted_is_alone(const void *object);

/* What the elements of a buffer are. The names are "i8" and so on. */
typedef enum weft_type {
  WEFT_I8,
  WEFT_U8,
  WEFT_I16,
  WEFT_U16,
  WEFT_I32,
  WEFT_U32,
  WEFT_I64,
  WEFT_F32,
  WEFT_F64,
} weft_type;

#define WEFT_TYPES 9
#define WEFT_MAX_ELEMENTS 0x7FFFFFFF

const char *weft_type_name(weft_type type); /* "?" for no type */
size_t weft_type_bytes(weft_type type);     /* of one element; 0 for no type */

/*
** A buffer is memory for elements of one type. Any thread may hold it and touch its elements; who
** does so when is for the holders to agree on. Lua counts loans for that, of the buffers that it
** knows; C code that was given one by Lua uses it until its job has ended.
*/
typedef struct weft_buffer weft_buffer;

/* Zeroed, at a multiple of 64 bytes, for its first holder. At most WEFT_MAX_ELEMENTS, else
   WEFT_INVALID; WEFT_NOMEM. */
weft_status weft_buffer_new(weft_type type, size_t count, weft_buffer **out);
weft_buffer *weft_buffer_keep(weft_buffer *buffer);
void weft_buffer_drop(weft_buffer *buffer);

void *weft_buffer_data(const weft_buffer *buffer);
size_t weft_buffer_count(const weft_buffer *buffer); /* of elements */
weft_type weft_buffer_type(const weft_buffer *buffer);

/* Bytes of elements in all buffers of the process. */
size_t weft_buffer_all_bytes(void);

#ifdef __cplusplus
}
#endif

#endif
