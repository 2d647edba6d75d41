/* SPDX-License-Identifier: MIT */
/*
** files.c - see files.h.
*/
#define _GNU_SOURCE
#include "platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/system.h"

/* A file of saves may be replaced while it is opened; so often in a row it is not. */
#define TRIES 16

/* --- Paths --------------------------------------------------------------------------------- */

static char *join(const char *folder, const char *name)
{
  size_t length = strlen(folder), size = length + strlen(name) + 2;
  bool has_slash = length > 0 && folder[length - 1] == '/';
  char *path = weft__alloc(size);
  if (path) snprintf(path, size, "%s%s%s", folder, has_slash ? "" : "/", name);
  return path;
}

/* The folder of a path, into PATH_MAX bytes; false if it is longer. */
static bool folder_of(const char *path, char *folder)
{
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) : 0;
  if (length >= PATH_MAX) return false;
  memcpy(folder, path, length);
  folder[length] = '\0';
  if (length == 0) memcpy(folder, slash ? "/" : ".", 2);
  return true;
}

char *weft__file_full_path(const char *path)
{
  char folder[PATH_MAX], real[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (folder_of(path, folder) && realpath(folder, real))
    return join(real, slash ? slash + 1 : path);
  if (path[0] != '/' && getcwd(real, sizeof real)) return join(real, path);
  return join("/", path[0] == '/' ? path + 1 : path);
}

/* --- Opening ------------------------------------------------------------------------------- */

int weft__file_open(const char *path, uint64_t *size)
{
  struct stat is = {0};
  int fd;
  do fd = weft__system.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return -1;
  if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) {
    *size = (uint64_t)is.st_size;
    return fd;
  }
  int error = S_ISDIR(is.st_mode) ? EISDIR : EINVAL;
  weft__file_close(fd);
  errno = error;
  return -1;
}

/* Whether what was opened and locked still is what the path names: another may have renamed it. */
static bool is_there(int fd, const char *path)
{
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

/* Where files cannot be locked, nothing keeps others away. */
static bool lock(int fd)
{
  int result;
  do result = flock(fd, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS;
}

static int refuse(int fd)
{
  int error = errno;
  weft__file_close(fd);
  errno = error;
  return -1;
}

int weft__file_create(const char *path)
{
  for (int i = 0; i < TRIES; i++) {
    int fd = weft__system.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) return -1;
    if (!lock(fd)) return refuse(fd);
    if (!is_there(fd, path)) {
      weft__file_close(fd);
      continue;
    }
    return ftruncate(fd, 0) == 0 ? fd : refuse(fd);
  }
  errno = EWOULDBLOCK;
  return -1;
}

void weft__file_close(int fd)
{
  close(fd);
}

/* --- Reading and writing ------------------------------------------------------------------- */

bool weft__file_write(int fd, const void *data, size_t size)
{
  const char *at = data;
  while (size > 0) {
    ssize_t done = weft__system.write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) return false;
    at += done;
    size -= (size_t)done;
  }
  return true;
}

bool weft__file_read(int fd, void *data, size_t size, uint64_t at)
{
  char *to = data;
  while (size > 0) {
    ssize_t done = weft__system.pread(fd, to, size, (off_t)at);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = 0;
    if (done <= 0) return false;
    to += done;
    at += (uint64_t)done;
    size -= (size_t)done;
  }
  return true;
}

/* --- In place of another ------------------------------------------------------------------- */

bool weft__file_sync(int fd)
{
  int result;
  do result = weft__system.fsync(fd);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

/* Not every file system can; those that cannot say EINVAL. */
bool weft__file_sync_folder(const char *path)
{
  char folder[PATH_MAX];
  if (!folder_of(path, folder)) return false;
  int fd = weft__system.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  bool done = weft__file_sync(fd) || errno == EINVAL || errno == EROFS;
  int error = errno;
  weft__file_close(fd);
  errno = error;
  return done;
}

bool weft__file_rename(const char *from, const char *to)
{
  return weft__system.rename(from, to) == 0;
}

int weft__file_keep(const char *path, const char *kept, const char *spare)
{
  unlink(spare);
  if (weft__system.link(path, spare) != 0) return errno == ENOENT ? 1 : -1;
  if (weft__file_rename(spare, kept)) {
    unlink(spare); /* still there if both were one file before */
    return 0;
  }
  int error = errno;
  unlink(spare);
  errno = error;
  return -1;
}

void weft__file_remove(const char *path)
{
  unlink(path);
}
