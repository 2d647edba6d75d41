/* SPDX-License-Identifier: MIT */
/*
** fiber_memory_spec.c - how deep stacks were used, pages given back, and systems that refuse.
*/
#include <errno.h>
#include <string.h>

#include "core/fiber.h"
#include "platform/platform.h"
#include "support/failing.h"
#include "support/unit.h"

#define KB ((size_t)1 << 10)

static weft_fiber_pool *pool;

static int make_pool(void **state)
{
  (void)state;
  failing_install();
  return weft_fiber_pool_new(512 * KB, 1000, &pool);
}

static int drop_pool(void **state)
{
  (void)state;
  failing_disarm();
  bool valid = weft__fiber_pool_valid(pool);
  weft_fiber_pool_delete(pool);
  bool clean = failing_blocks() == 0 && failing_mapped() == 0;
  failing_remove();
  return valid && clean ? 0 : -1;
}

static weft_fiber *start(weft_fiber_fn fn, void *arg)
{
  weft_fiber *fiber = NULL;
  assert_int_equal(weft_fiber_start(pool, fn, arg, &fiber), WEFT_OK);
  return fiber;
}

/* --- Depth --------------------------------------------------------------------------------- */

/* Writes `bytes` below the caller and returns. */
static WEFT_NOINLINE void dig(size_t bytes)
{
  char block[1024];
  memset(block, 1, sizeof block);
  unit_keep(block);
  if (bytes > sizeof block) dig(bytes - sizeof block);
  unit_keep(block); /* after the call, so that it stays one */
}

static void dig_and_yield(void *arg)
{
  size_t *bytes = arg;
  for (;;) {
    dig(*bytes);
    weft_fiber_yield();
  }
}

static void dig_once(void *arg)
{
  dig(*(size_t *)arg);
}

static void the_high_water_mark_rises_and_never_falls(void **state)
{
  (void)state;
  size_t bytes = 4 * KB;
  weft_fiber *fiber = start(dig_and_yield, &bytes);
  assert_int_equal(weft_fiber_high_water(fiber), 0);
  weft_fiber_resume(fiber);
  size_t small = weft_fiber_high_water(fiber);
  assert_true(small >= 4 * KB && small < 128 * KB);
  bytes = 200 * KB;
  weft_fiber_resume(fiber);
  size_t large = weft_fiber_high_water(fiber);
  assert_true(large >= 200 * KB && large <= 516 * KB);
  assert_true(weft__fiber_trim_suspended(fiber));
  assert_int_equal(weft_fiber_high_water(fiber), large);
}

typedef struct left {
  size_t at_base;
  size_t deeper;
} left;

static WEFT_NOINLINE size_t left_below(void)
{
  char block[4096];
  unit_keep(block);
  size_t bytes = weft_fiber_stack_left();
  unit_keep(block);
  return bytes;
}

static void ask_what_is_left(void *arg)
{
  left *all = arg;
  all->at_base = weft_fiber_stack_left();
  all->deeper = left_below();
}

static void the_bytes_that_are_left_are_known(void **state)
{
  (void)state;
  left all = {0, 0};
  assert_int_equal(weft_fiber_stack_left(), SIZE_MAX);
  weft_fiber_resume(start(ask_what_is_left, &all));
  assert_true(all.at_base >= 508 * KB && all.at_base <= 516 * KB);
  if (!unit_has_asan()) assert_true(all.deeper + 4096 <= all.at_base);
}

static void use_all(void *arg)
{
  bool *done = arg;
  size_t bytes = weft_fiber_stack_left();
  volatile char *here = (char *)__builtin_frame_address(0);
  assert_true(bytes >= 512 * KB - 1024);
  if (!unit_on_valgrind()) {
    for (size_t at = 4 * KB; at <= bytes; at += 1 * KB) *(here - at) = 1;
    *(here - bytes) = 1;
  }
  *done = true;
}

static void the_whole_stack_is_usable(void **state)
{
  (void)state;
  bool done = false;
  weft_fiber_resume(start(use_all, &done));
  assert_true(done);
}

/* --- Giving back --------------------------------------------------------------------------- */

static void pages_of_idle_stacks_go_back_when_asked(void **state)
{
  (void)state;
  size_t bytes = 300 * KB;
  uint64_t before = failing_count(FAILING_MADVISE);
  weft_fiber *fibers[4];
  for (int i = 0; i < 4; i++) fibers[i] = start(dig_once, &bytes);
  uint64_t mapped = failing_count(FAILING_MADVISE);
  assert_true(mapped > before);
  for (int i = 0; i < 4; i++) weft_fiber_resume(fibers[i]);
  assert_int_equal(failing_count(FAILING_MADVISE), mapped); /* not when a fiber ends */
  assert_int_equal(weft__fiber_pool_trim(pool, 3), 0);      /* they might be wanted at once */
  assert_int_equal(weft__fiber_pool_trim(pool, 3), 3);
  assert_int_equal(weft__fiber_pool_trim(pool, 3), 1);
  assert_int_equal(weft__fiber_pool_trim(pool, 3), 0);
  assert_int_equal(failing_count(FAILING_MADVISE), mapped + 4);
  assert_true(weft__fiber_pool_valid(pool));
  uint64_t asked = failing_count(FAILING_MINCORE);
  for (int i = 0; i < 10; i++) assert_int_equal(weft__fiber_pool_trim(pool, 100), 0);
  assert_int_equal(failing_count(FAILING_MINCORE), asked);
  assert_int_equal(failing_count(FAILING_MADVISE), mapped + 4);
  for (int i = 0; i < 4; i++) weft_fiber_resume(start(dig_once, &bytes)); /* as good as new */
}

static void shallow_stacks_keep_their_pages(void **state)
{
  (void)state;
  size_t bytes = 8 * KB;
  weft_fiber_resume(start(dig_once, &bytes));
  uint64_t before = failing_count(FAILING_MADVISE);
  weft__fiber_pool_trim(pool, 10);
  assert_int_equal(weft__fiber_pool_trim(pool, 10), 1);
  assert_int_equal(failing_count(FAILING_MADVISE), before);
}

static void a_stack_in_steady_use_is_never_looked_at(void **state)
{
  (void)state;
  size_t bytes = 100 * KB;
  for (int i = 0; i < 20; i++) {
    weft_fiber_resume(start(dig_once, &bytes));
    assert_int_equal(weft__fiber_pool_trim(pool, 10), 0);
  }
}

static void hot_stacks_are_reused_before_cool_and_cool_before_clean(void **state)
{
  (void)state;
  size_t bytes = 1 * KB;
  weft_fiber *fibers[3];
  for (int i = 0; i < 3; i++) fibers[i] = start(dig_once, &bytes);
  weft_fiber_resume(fibers[0]);
  weft__fiber_pool_trim(pool, 1);
  weft__fiber_pool_trim(pool, 1); /* the first is clean */
  weft_fiber_resume(fibers[1]);
  weft__fiber_pool_trim(pool, 1); /* the second is cool */
  weft_fiber_resume(fibers[2]);   /* the third is hot */
  assert_true(weft__fiber_pool_valid(pool));
  for (int i = 2; i >= 0; i--) assert_ptr_equal(start(dig_once, &bytes), fibers[i]);
  assert_true(weft__fiber_pool_valid(pool));
}

static void dig_and_remember(void *arg)
{
  uint32_t *sum = arg;
  volatile uint32_t local[256];
  for (uint32_t i = 0; i < 256; i++) local[i] = i;
  dig(300 * KB);
  weft_fiber_yield();
  for (uint32_t i = 0; i < 256; i++) *sum += local[i];
}

static void a_suspended_fiber_gives_back_only_what_lies_below(void **state)
{
  (void)state;
  uint32_t sum = 0;
  weft_fiber *fiber = start(dig_and_remember, &sum);
  assert_false(weft__fiber_trim_suspended(fiber)); /* not begun: nothing to give */
  weft_fiber_resume(fiber);
  assert_true(weft__fiber_trim_suspended(fiber));
  assert_false(weft__fiber_trim_suspended(fiber));
  assert_false(weft_fiber_resume(fiber));
  assert_int_equal(sum, 255 * 128);
}

/* --- A system that refuses ------------------------------------------------------------------ */

static void nothing(void *arg)
{
  (void)arg;
}

/* Everything that may fail, once through; the first status that is not 0. */
static weft_status scenario(void)
{
  weft_fiber_pool *own = NULL;
  weft_fiber *fibers[40];
  size_t bytes = 100 * KB;
  weft_status status = weft_fiber_pool_new(256 * KB, 40, &own);
  int count = 0;
  if (status) assert_null(own);
  if (status) return status;
  while (count < 40 && !status) {
    weft_fiber *fiber = NULL;
    status = weft_fiber_start(own, count % 2 ? nothing : dig_once, &bytes, &fiber);
    assert_true(status ? fiber == NULL : fiber != NULL);
    if (!status) fibers[count++] = fiber;
    assert_true(weft__fiber_pool_valid(own));
  }
  for (int i = 0; i < count; i++) weft_fiber_resume(fibers[i]);
  while (weft__fiber_pool_trim(own, 7) || weft__fiber_pool_trim(own, 7)) {
  }
  assert_true(weft__fiber_pool_valid(own));
  weft_fiber_pool_delete(own);
  return status;
}

/* Lets call after call fail until one round through has no failure left to meet. */
static void each_fails_once(failing_call call, int error, weft_status expected)
{
  for (uint64_t nth = 1;; nth++) {
    uint64_t before = failing_failed(call);
    failing_arm(call, nth, 1, error);
    weft_status status = scenario();
    if (failing_failed(call) == before) {
      failing_arm(call, 1, 0, 0);
      assert_int_equal(status, WEFT_OK);
      return;
    }
    if (status) assert_int_equal(status, expected);
    assert_int_equal(failing_blocks(), 1); /* the pool of this test */
    assert_int_equal(failing_mapped(), failing_refused());
  }
}

static void whatever_fails_once_is_told_and_nothing_leaks(void **state)
{
  (void)state;
  each_fails_once(FAILING_MALLOC, ENOMEM, WEFT_NOMEM);
  each_fails_once(FAILING_MAP, EPERM, WEFT_NOSTACK);
  each_fails_once(FAILING_MAP, ENOMEM, WEFT_OK); /* fewer stacks at once will do */
  each_fails_once(FAILING_MADVISE, ENOMEM, WEFT_OK);
  each_fails_once(FAILING_GUARD, EINVAL, WEFT_OK);
  each_fails_once(FAILING_MINCORE, ENOMEM, WEFT_OK);
  failing_always(FAILING_GUARD, EINVAL);
  each_fails_once(FAILING_MPROTECT, ENOMEM, WEFT_MAPCOUNT);
  each_fails_once(FAILING_MPROTECT, EACCES, WEFT_NOSTACK);
}

static int drop_pool_but_for_the_refused(void **state)
{
  (void)state;
  failing_disarm();
  weft_fiber_pool_delete(pool);
  bool clean = failing_blocks() == 0 && failing_mapped() == failing_refused();
  failing_remove();
  return clean ? 0 : -1;
}

static void stacks_that_are_not_taken_back_are_given_up(void **state)
{
  (void)state;
  each_fails_once(FAILING_MUNMAP, ENOMEM, WEFT_OK);
  assert_true(failing_refused() > 0);
}

static void a_pool_at_the_limit_of_mappings_says_which_and_goes_on(void **state)
{
  (void)state;
  weft_fiber *fibers[200];
  uint32_t count = 0;
  failing_always(FAILING_GUARD, EINVAL);
  failing_arm(FAILING_MPROTECT, 100, UINT64_MAX, ENOMEM);
  weft_status status;
  while ((status = weft_fiber_start(pool, nothing, NULL, &fibers[count])) == WEFT_OK) count++;
  assert_int_equal(status, WEFT_MAPCOUNT);
  assert_true(count >= 64 && count <= 99);
  failing_always(FAILING_MAP, ENOMEM); /* what the kernel says at the limit */
  assert_int_equal(weft_fiber_start(pool, nothing, NULL, &fibers[count]), WEFT_MAPCOUNT);
  assert_true(weft__fiber_pool_valid(pool));
  assert_false(weft_fiber_resume(fibers[0]));
  assert_int_equal(weft_fiber_start(pool, nothing, NULL, &fibers[0]), WEFT_OK);
  failing_disarm(); /* the sysctl was raised */
  assert_int_equal(weft_fiber_start(pool, nothing, NULL, &fibers[count]), WEFT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pool, drop_pool)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(the_high_water_mark_rises_and_never_falls),
      TEST(the_bytes_that_are_left_are_known),
      TEST(the_whole_stack_is_usable),
      TEST(pages_of_idle_stacks_go_back_when_asked),
      TEST(shallow_stacks_keep_their_pages),
      TEST(a_stack_in_steady_use_is_never_looked_at),
      TEST(hot_stacks_are_reused_before_cool_and_cool_before_clean),
      TEST(a_suspended_fiber_gives_back_only_what_lies_below),
      TEST(whatever_fails_once_is_told_and_nothing_leaks),
      cmocka_unit_test_setup_teardown(stacks_that_are_not_taken_back_are_given_up, make_pool,
                                      drop_pool_but_for_the_refused),
      TEST(a_pool_at_the_limit_of_mappings_says_which_and_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
