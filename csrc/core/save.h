/* SPDX-License-Identifier: MIT */
/*
** save.h - what the files about saves share.
**
** Written: save_gather.c copies, save_encode.c makes chunks of it, save_write.c the file, in its
** turn (save_turns.c). Read: save_index.c checks what the file says of itself, save_read.c takes
** the chunks in. Work on chunks is shared among the threads of a pool by save_desks.c.
*/
#ifndef WEFT_CORE_SAVE_H
#define WEFT_CORE_SAVE_H

#include "base/base.h"
#include "core/save_format.h"

/* --- What was gathered --------------------------------------------------------------------- */

typedef struct weft__save_stream {
  uint64_t size, first;
  weft_type type;
  bool is_array;
  char *name; /* of a section; may hold any bytes, or be NULL if there are none */
  size_t name_length;
  uint8_t **blocks; /* of a section: SAVE_CHUNK bytes each */
  uint32_t block_count, block_room;
  uint8_t *elements; /* of an array */
} weft__save_stream;

typedef struct weft__save_list {
  weft__save_stream *items;
  uint32_t count, room;
} weft__save_list;

/* Where saves of one path in this process meet. */
typedef struct weft__save_place weft__save_place;

struct weft_save {
  weft__save_list sections, arrays;
  weft__save_place *place;
  uint64_t turn; /* among those of the path */
};

/* --- save_turns.c --- */
/* NULL without memory. Takes over the path, which weft__free frees. */
weft__save_place *weft__save_arrive(char *path, uint64_t *turn);
void weft__save_leave(weft__save_place *place);
const char *weft__save_path(const weft__save_place *place);
/* Waits for the place. False, and it is not had, if a later save has been written. */
bool weft__save_enter(weft__save_place *place, uint64_t turn);
void weft__save_exit(weft__save_place *place, uint64_t turn, bool written);

/* --- save_desks.c --- */
/* What one thread works with, made when it is first needed. */
typedef struct weft__save_desk {
  void *packer, *unpacker; /* contexts of zstd */
  uint8_t *scratch[2];     /* SAVE_CHUNK bytes each */
} weft__save_desk;

bool weft__desk_ready(weft__save_desk *desk, bool packs); /* false without memory */

typedef weft_status (*weft__save_piece)(void *arg, uint32_t number, weft__save_desk *desk);

/* Calls `piece` for the numbers 0 to count - 1, taken in this order, on the threads of the pool and
   here; NULL: here alone. WEFT_OK, or the first failure; then some may not have been called. */
weft_status weft__save_share(weft_pool *pool, weft_job_priority priority, uint32_t count,
                             weft__save_piece piece, void *arg);

/* --- save_encode.c --- */
typedef struct weft__save_chunk {
  const uint8_t *raw;
  uint8_t *packed; /* NULL: stored as it is */
  uint64_t checksum;
  uint32_t raw_size, stored_size, coding;
  uint32_t width; /* bytes of an element; 1 where bytes are not sorted */
} weft__save_chunk;

typedef struct weft__save_pack {
  weft__save_chunk *chunks;
  uint32_t *order; /* the largest first */
  uint32_t count;
  bool plain;
} weft__save_pack;

/* Frees nothing of the save, which must live on. WEFT_NOMEM. */
weft_status weft__save_encode(const weft_save *save, weft_pool *pool,
                              const weft_save_options *options, weft__save_pack *pack);
void weft__save_pack_fini(weft__save_pack *pack);
uint32_t weft__save_chunks_of(uint64_t size);

/* --- save_index.c --- */
/* What a file says of itself, checked: it holds together. */
typedef struct weft__save_index {
  int fd;
  uint64_t file_size, first_chunk;
  uint32_t sections, arrays, chunks;
  uint8_t *bytes;
  const uint8_t *streams, *chunk_entries;
  const char *names;
} weft__save_index;

/* Opens a file and checks head and index; on failure the report's text says why. */
weft_status weft__save_open(const char *path, weft__save_index *index,
                            weft_save_report *report);
void weft__save_close(weft__save_index *index);
/* Opens and checks a file to its end. */
weft_status weft__save_check(const char *path, weft_save_report *report);
weft_status weft__save_damaged(weft_save_report *report, const char *path, const char *what);
/* Of a file that the system has refused, by errno. */
weft_status weft__save_refused(weft_save_report *report, const char *path, const char *deed);

#define SAVE_KEPT ".kept"

#endif
