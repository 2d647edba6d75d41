/* SPDX-License-Identifier: MIT */
/*
** unit.c - child processes, what is printed, and questions about where a unit runs.
*/
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/sanitize.h"

static void child_main(void (*body)(void *arg), void *arg, int stderr_to)
{
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGSEGV, SIG_DFL);
  signal(SIGBUS, SIG_DFL);
  signal(SIGABRT, SIG_DFL);
  dup2(stderr_to, STDERR_FILENO);
  alarm(60);
  body(arg);
  _exit(0);
}

static void read_all(int from, char *text, size_t size)
{
  size_t length = 0;
  for (;;) {
    char spill[256];
    bool room = length < size - 1;
    ssize_t got =
        read(from, room ? text + length : spill, room ? size - 1 - length : sizeof spill);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (room) length += (size_t)got;
  }
  text[length] = '\0';
}

void unit_fork(void (*body)(void *arg), void *arg, unit_child *out)
{
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    child_main(body, arg, ends[1]);
  }
  close(ends[1]);
  read_all(ends[0], out->text, sizeof out->text);
  close(ends[0]);
  char *emulator = strstr(out->text, "qemu: uncaught target signal");
  if (emulator) *emulator = '\0';
  int status;
  while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
  out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static FILE *caught;
static int kept_stderr = -1;

void unit_catch_stderr(void)
{
  if (getenv("WEFT_SPEC_SHOW")) return;
  if (!caught) caught = tmpfile();
  assert_non_null(caught);
  fflush(stderr);
  assert_int_equal(ftruncate(fileno(caught), 0), 0);
  lseek(fileno(caught), 0, SEEK_SET);
  kept_stderr = dup(2);
  dup2(fileno(caught), 2);
}

bool unit_release_stderr(void)
{
  if (kept_stderr < 0) return true;
  fflush(stderr);
  dup2(kept_stderr, 2);
  close(kept_stderr);
  kept_stderr = -1;
  return lseek(fileno(caught), 0, SEEK_END) > 0;
}

bool unit_forks_threads(void)
{
  return !unit_has_tsan() && !getenv("WEFT_EMULATED");
}

bool unit_on_valgrind(void)
{
#ifdef WEFT_HAS_VALGRIND
  return RUNNING_ON_VALGRIND;
#else
  return false;
#endif
}

bool unit_has_asan(void)
{
#ifdef WEFT_HAS_ASAN
  return true;
#else
  return false;
#endif
}

bool unit_has_tsan(void)
{
#ifdef WEFT_HAS_TSAN
  return true;
#else
  return false;
#endif
}

void unit_keep(volatile void *address)
{
  __asm__ volatile("" : : "r"(address) : "memory");
}

bool unit_readable(const char *address)
{
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  bool readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}
