/* SPDX-License-Identifier: MIT */
/*
** save.h - files that are written whole or not at all; part of weft.h.
**
** A save is gathered by one thread: sections, which are bytes under a name, and arrays of elements,
** under numbers. All of it is copied. Then it is written, by a job or by any thread: each part is
** compressed and given a checksum on the threads of a pool, the file is written beside the old one,
** synced, and takes its place in one step; the folder is synced. The one before stays as
** `PATH.kept`. What the file looks like stands in core/save_format.h.
*/
#ifndef WEFT_PUBLIC_SAVE_H
#define WEFT_PUBLIC_SAVE_H

#include "buffer.h"
#include "jobs.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Writing ------------------------------------------------------------------------------- */

/* A counted object: let go of with weft_counted_drop. */
typedef struct weft_save weft_save;

typedef struct weft_save_options {
  bool plain;                 /* not compressed */
  weft_job_priority priority; /* of what the pool does of it */
} weft_save_options;

/* How it went. */
typedef struct weft_save_report {
  uint64_t bytes;     /* of the file; 0 if none was written */
  uint64_t raw_bytes; /* of what is in it */
  bool superseded; /* written: a save of this path begun later was there already, and stays */
  bool kept;       /* written: the file before has been kept; read: that one was read */
  char text[600];  /* what went wrong, in a sentence with the file's name; "" if nothing did */
} weft_save_report;

/*
** Begins a save to a path. Its folder is looked up now, and among saves of one path in this process
** the order in which they were begun counts: the latest one stays. WEFT_INVALID for an empty path;
** WEFT_NOMEM.
*/
weft_status weft_save_new(const char *path, weft_save **out);

/* Begins a section; what follows goes into it. Names are any bytes. WEFT_NOMEM. */
weft_status weft_save_section(weft_save *save, const char *name, size_t length);

/* Appends to the section that was begun last. WEFT_NOMEM; WEFT_INVALID before the first. */
weft_status weft_save_put(weft_save *save, const void *data, size_t size);

/* How many bytes that section has so far; and other bytes in place of some of these. */
uint64_t weft_save_size(const weft_save *save);
weft_status weft_save_patch(weft_save *save, uint64_t at, const void *data, size_t size);

/* Begins an array, of no elements yet; they are numbered from 0. WEFT_INVALID for no type;
   WEFT_NOMEM. */
weft_status weft_save_array(weft_save *save, weft_type type, uint32_t *number);

/* Gives memory for its elements, once; the caller fills it in. `first` is a number that the reader
   gets with them. WEFT_INVALID above WEFT_MAX_ELEMENTS, for no array, and for one that has them;
   WEFT_NOMEM. */
weft_status weft_save_elements(weft_save *save, uint32_t number, size_t count, uint64_t first,
                               void **out);

/*
** Writes it: once. The caller waits and takes part; inside a job it may be suspended meanwhile, and
** the pool's fibers need 64 KiB of stack. Without a pool all is done here. `report` is filled in
** however it ends. On failure the file at the path, and the kept one, are as they were, but for
** what a failed sync of the folder means: then the new file is in place, and may be gone after a
** loss of power; and but for file systems without hard links, where a failure of the very last step
** leaves one good file and no kept one. WEFT_IO; WEFT_NOMEM; WEFT_LOCKED while another process writes it.
*/
weft_status weft_save_write(weft_save *save, weft_pool *pool, const weft_save_options *options,
                            weft_save_report *report);

/* --- Reading ------------------------------------------------------------------------------- */

typedef struct weft_loaded weft_loaded;

/*
** Reads the file at a path, or if that is not there, cannot be read or is damaged anywhere, the
** kept one: then `report->kept`, and `report->text` says why. Every byte is checked. The caller
** waits and takes part. WEFT_MISSING, WEFT_DAMAGED, WEFT_NEWER, WEFT_OLDER or WEFT_IO, as the file
** at the path has it, if neither can be read; WEFT_NOMEM; WEFT_INVALID.
*/
weft_status weft_save_read(const char *path, weft_pool *pool, weft_loaded **out,
                           weft_save_report *report);

uint32_t weft_loaded_sections(const weft_loaded *loaded);
uint32_t weft_loaded_arrays(const weft_loaded *loaded);

/* Of section `i`, from 0, in the order of writing. They live as long as the object does. */
const char *weft_loaded_name(const weft_loaded *loaded, uint32_t i, size_t *length);
const void *weft_loaded_data(const weft_loaded *loaded, uint32_t i, size_t *size);

/* Array `i`, from 0; whoever wants it for longer keeps it. */
weft_buffer *weft_loaded_array(const weft_loaded *loaded, uint32_t i, uint64_t *first);

void weft_loaded_delete(weft_loaded *loaded); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
