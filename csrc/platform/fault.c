/* SPDX-License-Identifier: MIT */
/*
** fault.c - the handler of stack overflows.
*/
#define _GNU_SOURCE
#include "platform/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/platform.h"
#include "platform/system.h"

#define FAULT_KINDS 2

static const int fault_signals[FAULT_KINDS] = {SIGSEGV, SIGBUS};
static struct sigaction fault_before[FAULT_KINDS];
static weft__fault_finder fault_finder;

/* Where to go on when naming the stack faults itself. */
static WEFT_PER_THREAD sigjmp_buf *fault_inside;

/* --- The message --------------------------------------------------------------------------- */

typedef struct fault_text {
  char bytes[768];
  size_t length;
} fault_text;

static void text_add(fault_text *text, const char *more)
{
  for (; *more && text->length < sizeof text->bytes; more++) {
    text->bytes[text->length++] = *more;
  }
}

static void text_add_number(fault_text *text, size_t number)
{
  char digits[24];
  size_t at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  text_add(text, digits + at);
}

/* Asks for the name; empty if there is none, or if asking faults. */
static void fault_name(const weft__fault_stack *stack, char *name, size_t size)
{
  sigset_t faults, before;
  sigjmp_buf inside;
  name[0] = '\0';
  if (!stack->describe) return;
  sigemptyset(&faults);
  for (int i = 0; i < FAULT_KINDS; i++) sigaddset(&faults, fault_signals[i]);
  if (sigsetjmp(inside, 1) == 0) {
    fault_inside = &inside;
    pthread_sigmask(SIG_UNBLOCK, &faults, &before);
    stack->describe(stack->host, name, size);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  } else {
    name[0] = '\0';
  }
  fault_inside = NULL;
  name[size - 1] = '\0';
}

static void fault_report(const weft__fault_stack *stack)
{
  char name[512];
  fault_text text = {.length = 0};
  fault_name(stack, name, sizeof name);
  text_add(&text, "weft: stack overflow in ");
  text_add(&text, name[0] ? name : "a fiber");
  text_add(&text, ": its stack of ");
  text_add_number(&text, stack->bytes);
  text_add(&text, " bytes is full; ");
  text_add(&text, stack->describe
                      ? "raise stackBytes in weft.world{...} or world:configure{...}"
                      : "make its pool with more bytes a stack");
  text_add(&text, ", or recurse less\n");
  ssize_t written = write(STDERR_FILENO, text.bytes, text.length);
  (void)written; /* there is nobody left to tell */
}

/* --- The handler --------------------------------------------------------------------------- */

/* Lets the handler that was there before act as if the signal had come to it. */
static void fault_pass_on(int number, siginfo_t *info, void *context)
{
  const struct sigaction *before = &fault_before[number == SIGBUS];
  bool sent = info->si_code <= 0; /* by a process, not by a fault of this thread */
  bool info_wanted = before->sa_flags & SA_SIGINFO;
  if (!info_wanted && (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)) {
    if (sent && before->sa_handler == SIG_IGN) return;
    sigaction(number, before, NULL); /* the fault comes again, and the system acts */
    if (sent) raise(number);
    return;
  }
  if (before->sa_flags & SA_RESETHAND) signal(number, SIG_DFL);
  if (info_wanted) {
    before->sa_sigaction(number, info, context);
  } else {
    before->sa_handler(number);
  }
}

static void fault_handle(int number, siginfo_t *info, void *context)
{
  if (fault_inside) siglongjmp(*fault_inside, 1);
  int saved_errno = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  weft__fault_stack stack;
  if (info->si_code > 0 && fault_finder(&stack) && address >= stack.guard_low &&
      address < stack.guard_high) {
    fault_report(&stack);
  }
  errno = saved_errno;
  fault_pass_on(number, info, context);
}

/* --- Installing ---------------------------------------------------------------------------- */

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static bool fault_installed;    /* under the lock */
static pthread_key_t fault_key; /* a thread's alternate stack, when it is ours */
static bool fault_key_made;     /* under the lock */

static size_t fault_stack_bytes(void)
{
  long system_wants = sysconf(_SC_SIGSTKSZ);
  size_t bytes = ((size_t)64 << 10) + (system_wants > 0 ? (size_t)system_wants : 0);
  size_t page = weft__page_bytes();
  return (bytes + page - 1) / page * page;
}

/* A thread ends: takes its alternate stack back, unless somebody put another in its place. */
static void fault_stack_delete(void *base)
{
  stack_t now;
  if (sigaltstack(NULL, &now) == 0 && now.ss_sp == base) {
    now.ss_flags = SS_DISABLE;
    if (sigaltstack(&now, NULL) != 0) return;
  }
  (void)weft__system.munmap(base, fault_stack_bytes());
}

static weft_status fault_stack_new(void)
{
  stack_t now;
  if (sigaltstack(NULL, &now) != 0) return WEFT_INVALID;
  if (!(now.ss_flags & SS_DISABLE)) return WEFT_OK; /* the host's own, or ours from before */
  size_t bytes = fault_stack_bytes();
  void *base = weft__system.map(bytes);
  if (base == MAP_FAILED) return WEFT_NOMEM;
  stack_t mine = {.ss_sp = base, .ss_size = bytes};
  if (pthread_setspecific(fault_key, base) != 0 || sigaltstack(&mine, NULL) != 0) {
    pthread_setspecific(fault_key, NULL);
    (void)weft__system.munmap(base, bytes);
    return WEFT_NOMEM;
  }
  return WEFT_OK;
}

/* Linked into the program itself there is nothing to hold, and nothing is found. */
void weft__stay_loaded(void)
{
  Dl_info self;
  if (dladdr((void *)(uintptr_t)fault_handle, &self) && self.dli_fname) {
    (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

static weft_status fault_install(void)
{
  if (fault_installed) return WEFT_OK;
  for (int i = 0; i < FAULT_KINDS; i++) {
    if (sigaction(fault_signals[i], NULL, &fault_before[i]) != 0) return WEFT_INVALID;
  }
  weft__stay_loaded();
  for (int i = 0; i < FAULT_KINDS; i++) {
    struct sigaction mine = {.sa_sigaction = fault_handle, .sa_mask = fault_before[i].sa_mask};
    int kept = fault_before[i].sa_flags & (SA_NODEFER | SA_RESTART);
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK | kept;
    if (sigaction(fault_signals[i], &mine, NULL) != 0) return WEFT_INVALID;
  }
  fault_installed = true;
  return WEFT_OK;
}

weft_status weft__fault_catch(weft__fault_finder finder)
{
  weft_status status = WEFT_OK;
  pthread_mutex_lock(&fault_lock);
  fault_finder = finder;
  if (!fault_key_made) {
    fault_key_made = pthread_key_create(&fault_key, fault_stack_delete) == 0;
    if (!fault_key_made) status = WEFT_NOMEM;
  }
  if (!status) status = fault_stack_new();
  if (!status) status = fault_install();
  pthread_mutex_unlock(&fault_lock);
  return status;
}
