/* SPDX-License-Identifier: MIT */
/*
** fault_spec.c - overflows: each in a child process, whose last words and end are looked at.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/fiber.h"
#include "platform/platform.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/unit.h"

#define KB ((size_t)1 << 10)

static weft_fiber_pool *new_pool(size_t bytes)
{
  weft_fiber_pool *pool = NULL;
  if (weft_fiber_pool_new(bytes, 1000, &pool) != WEFT_OK) _exit(3);
  return pool;
}

static weft_fiber *start(weft_fiber_pool *pool, weft_fiber_fn fn, void *arg)
{
  weft_fiber *fiber = NULL;
  if (weft_fiber_start(pool, fn, arg, &fiber) != WEFT_OK) _exit(4);
  return fiber;
}

static void catch_overflow(void)
{
  if (weft_catch_overflow() != WEFT_OK) _exit(5);
}

static WEFT_NOINLINE int recurse(int depth)
{
  volatile char block[200];
  block[depth % 200] = (char)depth;
  if (depth >= 0) depth = recurse(depth + 1);
  return depth + block[depth % 200];
}

static void overflow(void *arg)
{
  (void)arg;
  recurse(0);
}

/* An address that nothing is at. Not NULL, which UBSan would tell of before the fault. */
static volatile uintptr_t nowhere = 64;

static char door[] = "door";

static void name_the_door(void *host, char *text, size_t size)
{
  snprintf(text, size, "routine '%s' (door.lua:12)", (const char *)host);
}

static void assert_killed(const unit_child *child, const char *text)
{
  if (text) {
    assert_string_equal(child->text, text);
  } else {
    assert_null(strstr(child->text, "weft:"));
  }
  assert_int_equal(child->signal, SIGSEGV);
}

/* --- The message --------------------------------------------------------------------------- */

static void overflow_named(void *arg)
{
  weft_fiber_pool *pool = new_pool(64 * KB);
  weft__fiber_pool_describe(pool, name_the_door, arg);
  catch_overflow();
  weft_fiber_resume(start(pool, overflow, NULL));
}

static const char named[] =
    "weft: stack overflow in routine 'door' (door.lua:12): its stack of 65536 bytes is full; "
    "raise stackBytes in weft.world{...} or world:configure{...}, or recurse less\n";

static const char bare[] = "weft: stack overflow in a fiber: its stack of 65536 bytes is full; "
                           "make its pool with more bytes a stack, or recurse less\n";

static void an_overflow_names_the_routine_its_stack_and_the_cure(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(overflow_named, door, &child);
  assert_killed(&child, named);
}

static void overflow_bare(void *arg)
{
  (void)arg;
  catch_overflow();
  catch_overflow(); /* harmless */
  weft_fiber_resume(start(new_pool(64 * KB), overflow, NULL));
}

static void a_bare_fiber_is_told_of_too(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(overflow_bare, NULL, &child);
  assert_killed(&child, bare);
}

static void fault_while_naming(void *host, char *text, size_t size)
{
  snprintf(text, size, "half a na");
  (void)host;
  *(volatile int *)nowhere = 1;
}

static void overflow_with_bad_names(void *arg)
{
  weft_fiber_pool *pool = new_pool(64 * KB);
  weft__fiber_pool_describe(pool, fault_while_naming, arg);
  catch_overflow();
  weft_fiber_resume(start(pool, overflow, NULL));
}

static void a_fault_while_naming_costs_only_the_name(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(overflow_with_bad_names, NULL, &child);
  assert_killed(&child,
                "weft: stack overflow in a fiber: its stack of 65536 bytes is full; raise "
                "stackBytes in weft.world{...} or world:configure{...}, or recurse less\n");
}

static void overlong_name(void *host, char *text, size_t size)
{
  (void)host;
  memset(text, 'x', size);
}

static void overflow_with_an_overlong_name(void *arg)
{
  weft_fiber_pool *pool = new_pool(64 * KB);
  weft__fiber_pool_describe(pool, overlong_name, arg);
  catch_overflow();
  weft_fiber_resume(start(pool, overflow, NULL));
}

static void a_name_that_fills_its_room_does_no_harm(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(overflow_with_an_overlong_name, NULL, &child);
  assert_int_equal(child.signal, SIGSEGV);
  assert_non_null(strstr(child.text, "xxx: its stack of 65536 bytes is full; "));
}

/* The deepest bytes are often those of the switch itself, when each level of a recursion waits. */
static WEFT_NOINLINE int recurse_and_yield(int depth)
{
  volatile int mine = depth;
  weft_fiber_yield();
  if (depth >= 0) recurse_and_yield(depth + 1);
  return mine;
}

static void yielding_overflow(void *arg)
{
  size_t bytes = *(size_t *)arg;
  volatile char *shift = __builtin_alloca(bytes);
  shift[0] = 1;
  recurse_and_yield(0);
  shift[0] = 2;
}

static void resume_for_ever(void *arg)
{
  while (weft_fiber_resume(arg)) {
  }
}

static void overflow_in_the_inner(void *arg)
{
  static char outer_name[] = "outer";
  weft_fiber_pool *outer = new_pool(128 * KB);
  weft_fiber_pool *inner = new_pool(64 * KB);
  weft__fiber_pool_describe(outer, name_the_door, outer_name);
  weft__fiber_pool_describe(inner, name_the_door, door);
  catch_overflow();
  weft_fiber *deep = start(inner, yielding_overflow, arg);
  weft_fiber_resume(start(outer, resume_for_ever, deep));
}

static void an_overflow_at_the_very_switch_names_the_right_fiber(void **state)
{
  (void)state;
#if !defined(__OPTIMIZE__) || defined(WEFT_DEBUG)
  skip(); /* the probe counts on the tail call */
#endif
  if (unit_on_valgrind()) skip(); /* it leaves out a load that nobody uses */
  for (size_t shift = 16; shift <= 256; shift += 16) {
    unit_child child;
    unit_fork(overflow_in_the_inner, &shift, &child);
    assert_killed(&child, named);
  }
}

/* --- Who acts then ------------------------------------------------------------------------- */

static void say_and_exit(int number)
{
  (void)!write(STDERR_FILENO, "host\n", 5);
  _exit(number == SIGSEGV ? 40 : 41);
}

static void say_info_and_exit(int number, siginfo_t *info, void *context)
{
  bool told = number == SIGSEGV && info && info->si_addr && context;
  (void)!write(STDERR_FILENO, "host\n", 5);
  _exit(told ? 42 : 43);
}

static void overflow_under_a_handler(void *arg)
{
  sigaction(SIGSEGV, arg, NULL);
  overflow_bare(NULL);
}

static void the_handler_that_was_there_acts_after_the_message(void **state)
{
  (void)state;
  char expected[512];
  snprintf(expected, sizeof expected, "%shost\n", bare);
  struct sigaction host = {.sa_handler = say_and_exit};
  unit_child child;
  unit_fork(overflow_under_a_handler, &host, &child);
  assert_string_equal(child.text, expected);
  assert_int_equal(child.exit_code, 40);

  struct sigaction with_info = {.sa_sigaction = say_info_and_exit, .sa_flags = SA_SIGINFO};
  unit_fork(overflow_under_a_handler, &with_info, &child);
  assert_string_equal(child.text, expected);
  assert_int_equal(child.exit_code, 42);

  struct sigaction ignored = {.sa_handler = SIG_IGN};
  unit_fork(overflow_under_a_handler, &ignored, &child);
  assert_killed(&child, bare);
}

static void say_once(int number)
{
  (void)number;
  (void)!write(STDERR_FILENO, "once\n", 5);
}

static void a_handler_for_one_time_acts_one_time(void **state)
{
  (void)state;
  struct sigaction once = {.sa_handler = say_once, .sa_flags = (int)SA_RESETHAND};
  char expected[512];
  unit_child child;
  snprintf(expected, sizeof expected, "%sonce\n", bare);
  unit_fork(overflow_under_a_handler, &once, &child);
  assert_killed(&child, expected);
}

static void overflow_without_a_handler(void *arg)
{
  (void)arg;
  weft_fiber_resume(start(new_pool(64 * KB), overflow, NULL));
}

static void without_the_handler_nothing_is_said(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(overflow_without_a_handler, NULL, &child);
  assert_killed(&child, NULL);
}

static void write_nowhere(void *arg)
{
  (void)arg;
  *(volatile int *)nowhere = 1;
}

static void fault_on_a_fiber(void *arg)
{
  (void)arg;
  catch_overflow();
  weft_fiber_resume(start(new_pool(64 * KB), write_nowhere, NULL));
}

static void fault_off_fibers(void *arg)
{
  (void)arg;
  catch_overflow();
  write_nowhere(NULL);
}

static void send_it(void *arg)
{
  (void)arg;
  catch_overflow();
  kill(getpid(), SIGSEGV);
  pause();
}

static void other_faults_are_none_of_ours(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(fault_on_a_fiber, NULL, &child);
  assert_killed(&child, NULL);
  unit_fork(fault_off_fibers, NULL, &child);
  assert_killed(&child, NULL);
  unit_fork(send_it, NULL, &child);
  assert_killed(&child, NULL);
}

/* --- Threads and alternate stacks ---------------------------------------------------------- */

static void overflow_on_a_thread(void *arg)
{
  weft__thread thread;
  catch_overflow();
  if (weft__thread_start(&thread, overflow_named, arg) != WEFT_OK) _exit(6);
  weft__thread_join(&thread);
}

static void every_thread_that_asked_is_served(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(overflow_on_a_thread, door, &child);
  assert_killed(&child, named);
}

static void only_catch(void *arg)
{
  (void)arg;
  catch_overflow();
}

static void use_and_leave_threads(void *arg)
{
  (void)arg;
  weft__thread thread;
  catch_overflow();
  failing_install();
  for (int i = 0; i < 10; i++) {
    if (weft__thread_start(&thread, only_catch, NULL) != WEFT_OK) _exit(6);
    weft__thread_join(&thread);
  }
  _exit(failing_mapped() == 0 ? 0 : 7);
}

static void a_thread_gives_its_alternate_stack_back(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(use_and_leave_threads, NULL, &child);
  assert_int_equal(child.exit_code, 0);
}

static void keep_the_hosts_stack(void *arg)
{
  static char mine[256 << 10];
  stack_t host = {.ss_sp = mine, .ss_size = sizeof mine};
  stack_t now;
  (void)arg;
  if (sigaltstack(&host, NULL) != 0) _exit(8);
  catch_overflow();
  if (sigaltstack(NULL, &now) != 0 || now.ss_sp != mine) _exit(9);
  overflow_named(door);
}

static void the_hosts_alternate_stack_stays(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(keep_the_hosts_stack, NULL, &child);
  assert_killed(&child, named);
}

static void catch_without_memory(void *arg)
{
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  failing_install();
  failing_arm(FAILING_MAP, 1, 1, ENOMEM);
  if (weft_catch_overflow() != WEFT_NOMEM) _exit(10);
  failing_remove();
  overflow_named(arg);
}

static void a_handler_that_cannot_be_had_says_so(void **state)
{
  (void)state;
  unit_child child;
  unit_fork(catch_without_memory, door, &child);
  assert_killed(&child, named);
}

/* --- Neighbours ---------------------------------------------------------------------------- */

/* Frames of this size are written at their low end first, as those of string buffers are; the
   compilers' own probes of large frames are what a foreign library may lack. */
#define JUMP (8 * KB + 512)

typedef struct neighbours {
  size_t shift;
  char *stacks[3]; /* the top pages of fibers that lie beside each other */
} neighbours;

static neighbours around;

static void fill(void *arg)
{
  int number = *(int *)arg;
  char block[2048];
  memset(block, 0x5a, sizeof block);
  around.stacks[number] = block;
  weft_fiber_yield();
  __asm__ volatile("" : : "r"(block) : "memory");
}

static void look_at_the_neighbours(int number)
{
  (void)number;
  for (int i = 0; i < 3; i++) {
    for (size_t at = 0; around.stacks[i] && at < 2048; at++) {
      if (around.stacks[i][at] != 0x5a) _exit(51);
    }
  }
  _exit(50);
}

static void jump_down(void *arg)
{
  volatile char *here = (char *)__builtin_frame_address(0) - *(size_t *)arg;
  for (;; here -= JUMP) *here = 0;
}

static void overflow_beside_others(void *arg)
{
  static int numbers[3] = {0, 1, 2};
  weft_fiber_pool *pool = new_pool(16 * KB);
  struct sigaction host = {.sa_handler = look_at_the_neighbours};
  sigaction(SIGSEGV, &host, NULL);
  catch_overflow();
  for (int i = 0; i < 3; i++) weft_fiber_resume(start(pool, fill, &numbers[i]));
  weft_fiber_resume(start(pool, jump_down, arg));
}

static void no_alignment_of_a_jumping_frame_harms_a_neighbour(void **state)
{
  (void)state;
  if (unit_on_valgrind()) skip();            /* it objects to writes below the stack pointer */
  size_t step = unit_has_tsan() ? 1024 : 64; /* there a child takes a second */
  for (size_t shift = 256; shift < 256 + JUMP; shift += step) {
    unit_child child;
    unit_fork(overflow_beside_others, &shift, &child);
    assert_int_equal(child.exit_code, 50);
    assert_non_null(strstr(child.text, "its stack of 16384 bytes is full"));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_overflow_names_the_routine_its_stack_and_the_cure),
      cmocka_unit_test(a_bare_fiber_is_told_of_too),
      cmocka_unit_test(a_fault_while_naming_costs_only_the_name),
      cmocka_unit_test(a_name_that_fills_its_room_does_no_harm),
      cmocka_unit_test(an_overflow_at_the_very_switch_names_the_right_fiber),
      cmocka_unit_test(the_handler_that_was_there_acts_after_the_message),
      cmocka_unit_test(a_handler_for_one_time_acts_one_time),
      cmocka_unit_test(without_the_handler_nothing_is_said),
      cmocka_unit_test(other_faults_are_none_of_ours),
      cmocka_unit_test(every_thread_that_asked_is_served),
      cmocka_unit_test(a_thread_gives_its_alternate_stack_back),
      cmocka_unit_test(the_hosts_alternate_stack_stays),
      cmocka_unit_test(a_handler_that_cannot_be_had_says_so),
      cmocka_unit_test(no_alignment_of_a_jumping_frame_harms_a_neighbour),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
