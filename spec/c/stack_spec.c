/* SPDX-License-Identifier: MIT */
/*
** stack_spec.c - slabs of guarded stacks: their shape, their guards by either way, and what is
** left when the system refuses.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "platform/platform.h"
#include "platform/stack.h"
#include "support/failing.h"
#include "support/unit.h"

#define KB ((size_t)1 << 10)

static weft__stack_shape shape_of(size_t bytes)
{
  weft__stack_shape shape;
  assert_int_equal(weft__stack_shape_init(&shape, bytes), WEFT_OK);
  return shape;
}

static int counting(void **state)
{
  (void)state;
  failing_install();
  return 0;
}

static int nothing_is_left(void **state)
{
  (void)state;
  int64_t blocks = failing_blocks();
  int64_t mapped = failing_mapped() - failing_refused();
  failing_remove();
  return blocks == 0 && mapped == 0 ? 0 : -1;
}

static void the_smallest_and_the_largest_size_are_allowed_and_no_other(void **state)
{
  (void)state;
  weft__stack_shape shape;
  assert_int_equal(weft__stack_shape_init(&shape, 16 * KB), WEFT_OK);
  assert_int_equal(weft__stack_shape_init(&shape, 16 * KB - 1), WEFT_INVALID);
  assert_int_equal(weft__stack_shape_init(&shape, (size_t)1 << 30), WEFT_OK);
  assert_int_equal(weft__stack_shape_init(&shape, ((size_t)1 << 30) + 1), WEFT_INVALID);
  assert_int_equal(weft__stack_shape_init(&shape, 0), WEFT_INVALID);
  assert_int_equal(weft__stack_shape_init(&shape, SIZE_MAX), WEFT_INVALID);
}

static void the_guard_is_added_and_the_stride_is_odd(void **state)
{
  (void)state;
  for (size_t bytes = 16 * KB; bytes <= 300 * KB; bytes += 1000) {
    weft__stack_shape shape = shape_of(bytes);
    assert_true(shape.usable >= bytes && shape.usable < bytes + shape.page);
    assert_int_equal(shape.usable % shape.page, 0);
    assert_true(shape.guard >= 16 * KB);
    assert_int_equal(shape.span, shape.usable + shape.page);
    assert_int_equal(shape.stride, shape.guard + shape.span);
    assert_int_equal(shape.stride / shape.page % 2, 1);
  }
}

/* Every page of every guard faults, and every page of every stack is memory. */
static void assert_guarded(const weft__stack_shape *shape, const weft__slab *slab)
{
  for (uint32_t i = 0; i < slab->count; i++) {
    char *low = weft__slab_stack(shape, slab, i);
    for (size_t at = 1; at <= shape->guard; at += shape->page) {
      assert_false(unit_readable(low - at));
    }
    assert_false(unit_readable(low - shape->guard));
    low[0] = 1;
    low[shape->span - 1] = 1;
    assert_true(unit_readable(low));
  }
}

static void every_stack_has_its_guard(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(32 * KB);
  weft__slab *slab;
  assert_int_equal(weft__slab_new(&shape, 7, &slab), WEFT_OK);
  assert_int_equal(slab->count, 7);
  assert_int_equal(slab->cut, WEFT_OK);
  assert_guarded(&shape, slab);
  weft__slab_delete(&shape, slab);
}

static void without_the_advice_guards_are_made_by_mprotect(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(32 * KB);
  weft__slab *slab;
  failing_always(FAILING_GUARD, EINVAL);
  assert_int_equal(weft__slab_new(&shape, 7, &slab), WEFT_OK);
  assert_int_equal(slab->count, 7);
  assert_int_equal(failing_count(FAILING_MPROTECT), 7);
  assert_guarded(&shape, slab);
  weft__slab_delete(&shape, slab);
}

static void advice_that_is_taken_without_effect_is_found_out(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(32 * KB);
  weft__slab *slab;
  failing_always(FAILING_GUARD, 0); /* answers 0 and does nothing */
  assert_int_equal(weft__slab_new(&shape, 7, &slab), WEFT_OK);
  assert_int_equal(slab->count, 7);
  assert_int_equal(failing_count(FAILING_MPROTECT), 7);
  assert_guarded(&shape, slab);
  weft__slab_delete(&shape, slab);
}

static void advice_that_fails_half_way_goes_on_by_mprotect(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(32 * KB);
  weft__slab *slab;
  failing_arm(FAILING_GUARD, 4, 1, EINVAL);
  assert_int_equal(weft__slab_new(&shape, 7, &slab), WEFT_OK);
  assert_int_equal(slab->count, 7);
  assert_guarded(&shape, slab);
  weft__slab_delete(&shape, slab);
}

static void locked_memory_is_guarded_too(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(16 * KB);
  weft__slab *slab;
  if (unit_has_asan() || unit_has_tsan() || mlockall(MCL_FUTURE) != 0) {
    skip(); /* shadow memory cannot be locked, and a user may not lock anything */
  }
  weft_status status = weft__slab_new(&shape, 3, &slab);
  munlockall();
  if (status == WEFT_NOSTACK) skip(); /* a low limit of locked memory */
  assert_int_equal(status, WEFT_OK);
  assert_guarded(&shape, slab);
  weft__slab_delete(&shape, slab);
}

static void a_slab_is_cut_where_guards_end(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(32 * KB);
  weft__slab *slab;
  failing_always(FAILING_GUARD, EINVAL);
  failing_arm(FAILING_MPROTECT, 5, 1, EACCES);
  assert_int_equal(weft__slab_new(&shape, 7, &slab), WEFT_OK);
  assert_int_equal(slab->count, 4);
  assert_int_equal(slab->cut, WEFT_NOSTACK);
  assert_int_equal(failing_mapped(), 4 * shape.stride + shape.page); /* and the slab's record */
  assert_guarded(&shape, slab);
  weft__slab_delete(&shape, slab);
}

static void a_slab_without_one_guard_is_unmapped(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(32 * KB);
  weft__slab *slab = NULL;
  failing_always(FAILING_GUARD, EINVAL);
  failing_always(FAILING_MPROTECT, EACCES);
  assert_int_equal(weft__slab_new(&shape, 7, &slab), WEFT_NOSTACK);
  assert_null(slab);
}

static void at_the_limit_of_mappings_some_are_left_to_the_process(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(16 * KB);
  weft__slab *slab;
  failing_always(FAILING_GUARD, EINVAL);
  failing_arm(FAILING_MPROTECT, 41, 1, ENOMEM);
  assert_int_equal(weft__slab_new(&shape, 64, &slab), WEFT_OK);
  assert_int_equal(slab->count, 24);
  assert_int_equal(slab->cut, WEFT_MAPCOUNT);
  assert_int_equal(failing_mapped(), 24 * shape.stride + shape.page);
  weft__slab_delete(&shape, slab);
  failing_arm(FAILING_MPROTECT, 3, 1, ENOMEM);
  assert_int_equal(weft__slab_new(&shape, 64, &slab), WEFT_MAPCOUNT);
}

static void less_is_taken_when_the_system_has_less(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(16 * KB);
  weft__slab *slab;
  failing_arm(FAILING_MAP, 1, 2, ENOMEM);
  assert_int_equal(weft__slab_new(&shape, 64, &slab), WEFT_OK);
  assert_int_equal(slab->count, 16);
  assert_int_equal(slab->cut, WEFT_NOSTACK);
  weft__slab_delete(&shape, slab);
  failing_always(FAILING_MAP, ENOMEM);
  assert_int_equal(weft__slab_new(&shape, 64, &slab), WEFT_NOSTACK);
  failing_always(FAILING_MAP, EPERM);
  assert_int_equal(weft__slab_new(&shape, 64, &slab), WEFT_NOSTACK);
}

static void a_slab_takes_nothing_from_the_heap(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(16 * KB);
  weft__slab *slab;
  failing_always(FAILING_MALLOC, ENOMEM);
  assert_int_equal(weft__slab_new(&shape, 64, &slab), WEFT_OK);
  weft__slab_delete(&shape, slab);
}

static void huge_pages_that_cannot_be_forbidden_are_no_failure(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(16 * KB);
  weft__slab *slab;
  failing_always(FAILING_MADVISE, EINVAL);
  assert_int_equal(weft__slab_new(&shape, 4, &slab), WEFT_OK);
  assert_int_equal(slab->count, 4);
  weft__slab_delete(&shape, slab);
}

static void memory_that_cannot_be_unmapped_is_left_alone(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(16 * KB);
  weft__slab *slab;
  assert_int_equal(weft__slab_new(&shape, 4, &slab), WEFT_OK);
  failing_arm(FAILING_MUNMAP, 1, 1, ENOMEM);
  weft__slab_delete(&shape, slab);
  assert_int_equal(failing_refused(), 4 * shape.stride + shape.page);
  failing_always(FAILING_GUARD, EINVAL);
  failing_arm(FAILING_MPROTECT, 3, 1, EACCES);
  failing_arm(FAILING_MUNMAP, 1, 1, ENOMEM);
  assert_int_equal(weft__slab_new(&shape, 4, &slab), WEFT_OK);
  assert_int_equal(slab->count, 2);
  assert_int_equal(failing_refused(), 6 * shape.stride + shape.page);
  weft__slab_delete(&shape, slab);
}

static void what_is_in_memory_is_told_by_the_page(void **state)
{
  (void)state;
  weft__stack_shape shape = shape_of(4096 * KB);
  weft__slab *slab;
  assert_int_equal(weft__slab_new(&shape, 1, &slab), WEFT_OK);
  char *low = weft__slab_stack(&shape, slab, 0);
  char *high = low + shape.span;
  assert_int_equal(weft__stack_resident(&shape, low, high), 0);
  assert_int_equal(weft__stack_depth(&shape, low, high), 0);
  high[-1] = 1;
  assert_int_equal(weft__stack_depth(&shape, low, high), shape.page);
  memset(low + 2048 * KB, 1, 10 * shape.page);
  assert_int_equal(weft__stack_resident(&shape, low, high), 11 * shape.page);
  assert_int_equal(weft__stack_depth(&shape, low, high), (size_t)(high - low) - 2048 * KB);
  assert_true(weft__stack_give_back(low, high - shape.page));
  assert_int_equal(weft__stack_resident(&shape, low, high), shape.page);
  assert_int_equal(high[-1], 1);
  assert_int_equal(low[2048 * KB], 0);
  assert_guarded(&shape, slab);
  assert_false(weft__stack_give_back(low, low));
  failing_arm(FAILING_MADVISE, 1, 1, ENOMEM);
  assert_false(weft__stack_give_back(low, high));
  failing_always(FAILING_MINCORE, ENOMEM);
  assert_int_equal(weft__stack_resident(&shape, low, high), 0);
  assert_int_equal(weft__stack_depth(&shape, low, high), 0);
  weft__slab_delete(&shape, slab);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, counting, nothing_is_left)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(the_smallest_and_the_largest_size_are_allowed_and_no_other),
      TEST(the_guard_is_added_and_the_stride_is_odd),
      TEST(every_stack_has_its_guard),
      TEST(without_the_advice_guards_are_made_by_mprotect),
      TEST(advice_that_is_taken_without_effect_is_found_out),
      TEST(advice_that_fails_half_way_goes_on_by_mprotect),
      TEST(locked_memory_is_guarded_too),
      TEST(a_slab_is_cut_where_guards_end),
      TEST(a_slab_without_one_guard_is_unmapped),
      TEST(at_the_limit_of_mappings_some_are_left_to_the_process),
      TEST(less_is_taken_when_the_system_has_less),
      TEST(a_slab_takes_nothing_from_the_heap),
      TEST(huge_pages_that_cannot_be_forbidden_are_no_failure),
      TEST(memory_that_cannot_be_unmapped_is_left_alone),
      TEST(what_is_in_memory_is_told_by_the_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
