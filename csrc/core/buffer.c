/* SPDX-License-Identifier: MIT */
/*
** buffer.c - memory for elements of one type, held by several. Knows counted objects.
*/
#include <stdatomic.h>

#include "base/base.h"

/* Elements begin at a multiple of this: a cache line, and what vector instructions like best. */
#define ALIGNMENT 64

struct weft_buffer {
  void *data;
  size_t count;
  weft_type type;
};

static const struct {
  const char *name;
  size_t bytes;
} types[WEFT_TYPES] = {{"i8", 1},  {"u8", 1},  {"i16", 2}, {"u16", 2}, {"i32", 4},
                       {"u32", 4}, {"i64", 8}, {"f32", 4}, {"f64", 8}};

/* Bytes of all buffers of the process. Relaxed everywhere: nothing is read because of it. */
static _Atomic(size_t) all_bytes;

const char *weft_type_name(weft_type type)
{
  return (unsigned)type < WEFT_TYPES ? types[type].name : "?";
}

size_t weft_type_bytes(weft_type type)
{
  return (unsigned)type < WEFT_TYPES ? types[type].bytes : 0;
}

static void buffer_end(void *object)
{
  const weft_buffer *buffer = object;
  size_t bytes = buffer->count * types[buffer->type].bytes;
  atomic_fetch_sub_explicit(&all_bytes, bytes, memory_order_relaxed);
}

weft_status weft_buffer_new(weft_type type, size_t count, weft_buffer **out)
{
  if ((unsigned)type >= WEFT_TYPES || count > WEFT_MAX_ELEMENTS) return WEFT_INVALID;
  size_t bytes = count * types[type].bytes;
  weft_buffer *buffer = weft_counted_new(sizeof *buffer + ALIGNMENT + bytes, buffer_end);
  if (!buffer) return WEFT_NOMEM;
  uintptr_t start = (uintptr_t)(buffer + 1);
  *buffer = (weft_buffer){
      .data = (char *)(buffer + 1) + (-start & (ALIGNMENT - 1)), .count = count, .type = type};
  atomic_fetch_add_explicit(&all_bytes, bytes, memory_order_relaxed);
  *out = buffer;
  return WEFT_OK;
}

weft_buffer *weft_buffer_keep(weft_buffer *buffer)
{
  return weft_counted_keep(buffer);
}

void weft_buffer_drop(weft_buffer *buffer)
{
  weft_counted_drop(buffer);
}

void *weft_buffer_data(const weft_buffer *buffer)
{
  return buffer->data;
}

size_t weft_buffer_count(const weft_buffer *buffer)
{
  return buffer->count;
}

weft_type weft_buffer_type(const weft_buffer *buffer)
{
  return buffer->type;
}

size_t weft_buffer_all_bytes(void)
{
  return atomic_load_explicit(&all_bytes, memory_order_relaxed);
}
