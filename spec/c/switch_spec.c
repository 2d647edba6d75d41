/* SPDX-License-Identifier: MIT */
/*
** switch_spec.c - what the switch of stacks owes the ABI: callee-saved registers, the
** floating-point environment, an end to unwinding; and what it owes to speed: tail calls.
*/
#define _GNU_SOURCE
#include <execinfo.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fiber.h"
#include "platform/platform.h"
#include "platform/switch.h"
#include "support/unit.h"

static weft_fiber_pool *pool;

static int make_pool(void **state)
{
  (void)state;
  return weft_fiber_pool_new((size_t)64 << 10, 100, &pool);
}

static int drop_pool(void **state)
{
  (void)state;
  weft_fiber_pool_delete(pool);
  return 0;
}

static weft_fiber *start(weft_fiber_fn fn, void *arg)
{
  weft_fiber *fiber = NULL;
  assert_int_equal(weft_fiber_start(pool, fn, arg, &fiber), WEFT_OK);
  return fiber;
}

/* --- Registers ----------------------------------------------------------------------------- */

/* uint64_t spec_registers(void (*call)(void), uint64_t seed): fills every callee-saved register
   with a value made of `seed`, calls, and returns how many came back changed. */
#if defined(__x86_64__)
#define HAS_SPEC_REGISTERS 1
__asm__(".text\n"
        "spec_registers:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  sub $24, %rsp\n"
        "  mov %rsi, (%rsp)\n"
        "  lea 1(%rsi), %rbx\n  lea 2(%rsi), %rbp\n  lea 3(%rsi), %r12\n"
        "  lea 4(%rsi), %r13\n  lea 5(%rsi), %r14\n  lea 6(%rsi), %r15\n"
        "  call *%rdi\n"
        "  mov (%rsp), %rsi\n"
        "  xor %eax, %eax\n"
        "  sub %rsi, %rbx\n  sub %rsi, %rbp\n  sub %rsi, %r12\n"
        "  sub %rsi, %r13\n  sub %rsi, %r14\n  sub %rsi, %r15\n"
        "  cmp $1, %rbx\n  setne %cl\n  add %cl, %al\n"
        "  cmp $2, %rbp\n  setne %cl\n  add %cl, %al\n"
        "  cmp $3, %r12\n  setne %cl\n  add %cl, %al\n"
        "  cmp $4, %r13\n  setne %cl\n  add %cl, %al\n"
        "  cmp $5, %r14\n  setne %cl\n  add %cl, %al\n"
        "  cmp $6, %r15\n  setne %cl\n  add %cl, %al\n"
        "  add $24, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
        "  ret\n");
#elif defined(__aarch64__)
#define HAS_SPEC_REGISTERS 1
#define EACH_X(op)                                                                             \
  op("19", "1") op("20", "2") op("21", "3") op("22", "4") op("23", "5") op("24", "6")          \
      op("25", "7") op("26", "8") op("27", "9") op("28", "10")
#define EACH_D(op)                                                                             \
  op("8", "21") op("9", "22") op("10", "23") op("11", "24") op("12", "25") op("13", "26")      \
      op("14", "27") op("15", "28")
#define SET_X(reg, more) "  add x" reg ", x1, #" more "\n"
#define SET_D(reg, more) "  add x2, x1, #" more "\n  fmov d" reg ", x2\n"
#define ASK_X(reg, more) "  add x2, x1, #" more "\n  cmp x" reg ", x2\n  cinc x0, x0, ne\n"
#define ASK_D(reg, more)                                                                       \
  "  add x2, x1, #" more "\n  fmov x3, d" reg "\n  cmp x3, x2\n  cinc x0, x0, ne\n"
__asm__(".text\n"
        "spec_registers:\n"
        "  sub sp, sp, #176\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n  str x1, [sp, #160]\n" EACH_X(SET_X)
            EACH_D(SET_D) "  blr x0\n"
                          "  ldr x1, [sp, #160]\n  mov x0, #0\n" EACH_X(ASK_X)
                              EACH_D(ASK_D) "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, "
                                            "#16]\n  ldp x23, x24, [sp, #32]\n"
                                            "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, "
                                            "#64]\n  ldp x29, x30, [sp, #80]\n"
                                            "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, "
                                            "#112]\n  ldp d12, d13, [sp, #128]\n"
                                            "  ldp d14, d15, [sp, #144]\n"
                                            "  add sp, sp, #176\n"
                                            "  ret\n");
#endif

#ifdef HAS_SPEC_REGISTERS
uint64_t spec_registers(void (*call)(void), uint64_t seed);

static weft_fiber *others[5];

static void keep_registers(void *arg)
{
  uint64_t *changed = arg;
  for (uint64_t i = 0; i < 10; i++) *changed += spec_registers(weft_fiber_yield, i * 1000003);
}

static void resume_all(void)
{
  for (int i = 0; i < 5; i++) assert_true(weft_fiber_resume(others[i]));
}
#endif

static void registers_survive_on_both_sides(void **state)
{
  (void)state;
#ifdef HAS_SPEC_REGISTERS
  uint64_t changed = 0;
  for (int i = 0; i < 5; i++) others[i] = start(keep_registers, &changed);
  for (uint64_t i = 0; i < 10; i++) {
    assert_int_equal(spec_registers(resume_all, i * 7000003 + 11), 0);
  }
  for (int i = 0; i < 5; i++) assert_false(weft_fiber_resume(others[i]));
  assert_int_equal(changed, 0);
#else
  skip(); /* spec_registers knows those of x86-64 and aarch64 */
#endif
}

/* --- Floating point ------------------------------------------------------------------------ */

static const int roundings[4] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

typedef struct rounder {
  int mode;
  int wrong;
} rounder;

static double third(void)
{
  volatile double one = 1.0;
  volatile double three = -3.0;
  return one / three;
}

static void round_my_way(void *arg)
{
  rounder *mine = arg;
  fesetround(mine->mode);
  double expected = third();
  for (int i = 0; i < 10; i++) {
    weft_fiber_yield();
    mine->wrong += fegetround() != mine->mode;
    mine->wrong += third() != expected;
  }
}

static void each_fiber_rounds_its_own_way(void **state)
{
  (void)state;
  rounder all[4];
  weft_fiber *fibers[4];
  for (int i = 0; i < 4; i++) {
    all[i] = (rounder){.mode = roundings[i]};
    fibers[i] = start(round_my_way, &all[i]);
  }
  for (int turn = 0; turn < 11; turn++) {
    for (int i = 0; i < 4; i++) weft_fiber_resume(fibers[i]);
    assert_int_equal(fegetround(), FE_TONEAREST);
  }
  for (int i = 0; i < 4; i++) assert_int_equal(all[i].wrong, 0);
}

static void note_rounding(void *arg)
{
  *(int *)arg = fegetround();
}

static void a_fiber_begins_as_the_one_who_started_it_rounds(void **state)
{
  (void)state;
  int seen = -1;
  fesetround(FE_UPWARD);
  weft_fiber *fiber = start(note_rounding, &seen);
  fesetround(FE_TONEAREST);
  weft_fiber_resume(fiber);
  assert_int_equal(seen, FE_UPWARD);
  assert_int_equal(fegetround(), FE_TONEAREST);
  weft_fiber_resume(start(note_rounding, &seen)); /* the same stack again */
  assert_int_equal(seen, FE_TONEAREST);
}

#if defined(__x86_64__)
static void set_precision(void *arg)
{
  uint16_t *seen = arg;
  uint16_t control;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  control = (uint16_t)(control & ~0x300); /* single precision */
  __asm__ volatile("fldcw %0" : : "m"(control));
  weft_fiber_yield();
  __asm__ volatile("fnstcw %0" : "=m"(*seen));
}
#endif

static void the_x87_control_word_is_kept_apart(void **state)
{
  (void)state;
#if defined(__x86_64__)
  uint16_t seen = 0;
  uint16_t before, after;
  if (unit_on_valgrind()) skip(); /* it has one precision only */
  __asm__ volatile("fnstcw %0" : "=m"(before));
  weft_fiber *fiber = start(set_precision, &seen);
  weft_fiber_resume(fiber);
  __asm__ volatile("fnstcw %0" : "=m"(after));
  assert_int_equal(before, after);
  weft_fiber_resume(fiber);
  assert_int_equal(seen, before & ~0x300);
#else
  skip(); /* the x87 unit is one of x86 */
#endif
}

/* --- Unwinding ----------------------------------------------------------------------------- */

static WEFT_NOINLINE int frames_from_here(void)
{
  void *frames[64];
  return backtrace(frames, 64);
}

static void count_frames(void *arg)
{
  int *count = arg;
  count[0] = frames_from_here();
  weft_fiber_yield();
  count[1] = frames_from_here();
}

static void unwinding_ends_at_the_base(void **state)
{
  (void)state;
  int count[2] = {0, 0};
  weft_fiber *fiber = start(count_frames, count);
  weft_fiber_resume(fiber);
  weft_fiber_resume(fiber);
  for (int i = 0; i < 2; i++) {
    assert_true(count[i] >= 2);
    assert_true(count[i] <= 6);
  }
}

/* --- Tail calls ---------------------------------------------------------------------------- */

/* A frame that is open around the switch costs a mispredicted return. */
static bool tail_calls_expected(void)
{
#if defined(__OPTIMIZE__) && !defined(WEFT_SWITCH_BY_UCONTEXT) && !defined(WEFT_DEBUG)
  return !unit_has_asan() && !unit_has_tsan() && !unit_on_valgrind();
#else
  return false;
#endif
}

typedef struct listing {
  int jumps; /* to the switch */
  int calls; /* of it, and returns */
} listing;

static const char *program; /* this one's file */

static const char *objdump(void)
{
  const char *other = getenv("OBJDUMP"); /* of a cross compiler */
  return other ? other : "objdump";
}

static listing disassemble(const char *function)
{
  char command[512];
  char line[512];
  listing seen = {0, 0};
  snprintf(command, sizeof command, "%s -d --no-show-raw-insn --disassemble=%s '%s'", objdump(),
           function, program);
  FILE *from = popen(command, "r");
  assert_non_null(from);
  while (fgets(line, sizeof line, from)) {
    bool to_switch = strstr(line, "<weft__switch") != NULL;
    if (strstr(line, "\tcall") || strstr(line, "\tbl\t")) {
      seen.calls += to_switch;
    } else if (strstr(line, "\tret")) {
      seen.calls++;
    } else if (strstr(line, "\tjmp") || strstr(line, "\tb\t")) {
      seen.jumps += to_switch;
    }
  }
  pclose(from);
  return seen;
}

static void resume_and_yield_end_in_the_switch(void **state)
{
  (void)state;
  char version[256];
  snprintf(version, sizeof version, "%s -v > /dev/null 2>&1", objdump());
  if (!tail_calls_expected()) skip(); /* frames stay open there */
  if (system(version) != 0) {
    print_message("# %s is not there: scripts/setup test installs it\n", objdump());
    skip();
  }
  const char *const functions[] = {"weft_fiber_resume", "weft_fiber_yield"};
  for (int i = 0; i < 2; i++) {
    listing seen = disassemble(functions[i]);
    assert_int_equal(seen.jumps, 1);
    assert_int_equal(seen.calls, 0);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, drop_pool)

int main(int count, char **arguments)
{
  (void)count;
  program = arguments[0];
  const struct CMUnitTest tests[] = {
      TEST(registers_survive_on_both_sides),
      TEST(each_fiber_rounds_its_own_way),
      TEST(a_fiber_begins_as_the_one_who_started_it_rounds),
      TEST(the_x87_control_word_is_kept_apart),
      TEST(unwinding_ends_at_the_base),
      TEST(resume_and_yield_end_in_the_switch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
