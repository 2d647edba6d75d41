/* SPDX-License-Identifier: MIT */
/*
** services_end_lua54_spec.c - a Lua state that ends while services of it do not, in time that does not
** pass: the clock and the wait with a limit are this file's own. Not under TSan, which has its own.
*/
#define _GNU_SOURCE
#include "lua_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static _Atomic int64_t ahead; /* of the real clock */
static atomic_bool hurried;   /* whoever would wait is at once as late as that */

#if defined(__SANITIZE_THREAD__)
#define OWN_CLOCK 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OWN_CLOCK 0
#endif
#endif
#ifndef OWN_CLOCK
#define OWN_CLOCK 1
#endif

#if OWN_CLOCK
int clock_gettime(clockid_t id, struct timespec *out)
{
  if (syscall(SYS_clock_gettime, id, out) != 0) return -1;
  int64_t now = out->tv_sec * NS_PER_S + out->tv_nsec + (id == CLOCK_MONOTONIC ? ahead : 0);
  out->tv_sec = (time_t)(now / NS_PER_S);
  out->tv_nsec = (long)(now % NS_PER_S);
  return 0;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
  if (!hurried) return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, until);
  int64_t left = until->tv_sec * NS_PER_S + until->tv_nsec - weft_clock();
  if (left > 0) ahead += left;
  return ETIMEDOUT;
}
#endif

static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  prepare_state(L);
  return L;
}

static void end_with_three(void *arg)
{
  static const char start[] =
      "local weft = require 'weft'\n"
      "for i = 1, 3 do\n"
      "  weft.service{ name = 'spin' .. i, main = function() while true do end end }\n"
      "end\n";
  (void)arg;
  lua_State *L = open_state();
  if (luaL_dostring(L, start)) _exit(2);
  hurried = true;
  lua_close(L);
  _exit(ahead > 4 * NS_PER_S && ahead <= 5 * NS_PER_S ? 0 : 1);
}

static void services_that_do_not_end_are_waited_for_together(void **state)
{
  (void)state;
  unit_child child;
  if (!OWN_CLOCK || unit_on_valgrind()) skip();
  unit_fork(end_with_three, NULL, &child);
  assert_int_equal(child.exit_code, 0);
  for (int i = 1; i <= 3; i++) {
    char text[] = "weft: service 'spin?' runs on while the Lua state that started it ends\n";
    *strchr(text, '?') = (char)('0' + i);
    assert_non_null(strstr(child.text, text));
  }
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(services_that_do_not_end_are_waited_for_together),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
