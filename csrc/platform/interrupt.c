/* SPDX-License-Identifier: MIT */
/*
** interrupt.c - interrupts by a queued SIGURG that carries an address of ours.
*/
#define _GNU_SOURCE
#include "platform/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "platform/fault.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool installed;
static struct sigaction before;
static _Atomic weft__interrupted call;

/* Its address is what our signals carry. */
static const char mark;

static void pass_on(int number, siginfo_t *info, void *context)
{
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
  int kept = errno;
  bool ours = info->si_code == SI_QUEUE && info->si_value.sival_ptr == &mark;
  if (ours)
    atomic_load_explicit(&call, memory_order_relaxed)(); /* set before the handler was */
  else
    pass_on(number, info, context);
  errno = kept;
}

static weft_status install(void)
{
  if (sigaction(SIGURG, NULL, &before) != 0) return WEFT_INVALID;
  weft__stay_loaded();
  struct sigaction mine = {.sa_sigaction = on_signal,
                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigemptyset(&mine.sa_mask);
  if (sigaction(SIGURG, &mine, NULL) != 0) return WEFT_INVALID;
  installed = true;
  return WEFT_OK;
}

weft_status weft__interrupt_catch(weft__interrupted fn)
{
  sigset_t urgent;
  atomic_store_explicit(&call, fn, memory_order_relaxed);
  pthread_mutex_lock(&lock);
  weft_status status = installed ? WEFT_OK : install();
  pthread_mutex_unlock(&lock);
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  if (!status && pthread_sigmask(SIG_UNBLOCK, &urgent, NULL) != 0) status = WEFT_INVALID;
  return status;
}

void weft__interrupt(pthread_t thread)
{
  union sigval value = {.sival_ptr = (void *)(uintptr_t)&mark};
  (void)pthread_sigqueue(thread, SIGURG, value);
}
