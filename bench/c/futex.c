/* SPDX-License-Identifier: MIT */
/*
** futex.c - what waking costs where there is nothing else: one thread sleeps on a futex, another sets
** the word and wakes it. The measure for `jobs wake`.
*/
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "forjob.h"

enum { POSTS = 2000 };

static int word;
static double begun[POSTS];
static int done;

static void *sleeper(void *arg)
{
  (void)arg;
  for (int i = 0; i < POSTS; i++) {
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == i)
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
    begun[i] = wall_clock();
    __atomic_store_n(&done, i + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return NULL;
}

int main(void)
{
  static double delays[POSTS];
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
  for (int i = 0; i < POSTS; i++) {
    sleep_ns(1000000);
    double posted = wall_clock();
    __atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == i)
      syscall(SYS_futex, &done, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
    delays[i] = begun[i] - posted;
    CHECK(delays[i] >= 0);
  }
  pthread_join(thread, NULL);
  print_delays(delays, POSTS, 1e3, "us");
  return 0;
}
