/* SPDX-License-Identifier: MIT */
/*
** files.h - files as the saves need them: whole reads and writes, and what makes a new file take
** the place of an old one. Fallible calls go through weft__system. Failure is -1 or false with
** errno set, and a call that a signal has interrupted is made again. Knows nothing of what is in
** the files.
*/
#ifndef WEFT_PLATFORM_FILES_H
#define WEFT_PLATFORM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same path without links or dots in its folder, to be freed by weft__free; of a folder that is
   not there, as it stands, from the root on. NULL without memory. */
char *weft__file_full_path(const char *path);

/* Opens a regular file to read; `size` is how large it is. */
int weft__file_open(const char *path, uint64_t *size);

/* Opens a file to write, empty, and locks it against other processes and other openings here:
   EWOULDBLOCK if it is locked. */
int weft__file_create(const char *path);

bool weft__file_write(int fd, const void *data, size_t size);

/* False with an errno of 0 if the file ends before. */
bool weft__file_read(int fd, void *data, size_t size, uint64_t at);

bool weft__file_sync(int fd);
bool weft__file_sync_folder(const char *path); /* that in which the path is */
bool weft__file_rename(const char *from, const char *to);

/* `kept` becomes another name of the file at `path`, in place of what had it, in one step; `spare`
   is a name for the moment between. 1 if there is nothing at `path`; -1 if the system gives no
   second names. */
int weft__file_keep(const char *path, const char *kept, const char *spare);

void weft__file_remove(const char *path);
void weft__file_close(int fd);

#endif
