/* SPDX-License-Identifier: MIT */
/*
** buffer_spec.c - objects that several threads hold, and buffers, as C programs see them.
*/
#include "support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/failing.h"

/* --- Counted objects ------------------------------------------------------------------------ */

static int ended, last_word;

static void count_end(void *object)
{
  assert_int_equal(*(int *)object, 7);
  last_word = ((int *)object)[1];
  ended++;
}

static void counted_objects_end_with_their_last_holder(void **state)
{
  (void)state;
  ended = 0;
  int *object = weft_counted_new(2 * sizeof *object, count_end);
  assert_int_equal(*object, 0);
  assert_int_equal((uintptr_t)object % 16, 0);
  *object = 7;
  assert_ptr_equal(weft_counted_keep(object), object);
  weft_counted_drop(object);
  assert_int_equal(ended, 0);
  weft_counted_drop(object);
  assert_int_equal(ended, 1);
}

static void dropping_nothing_is_harmless(void **state)
{
  (void)state;
  weft_counted_drop(NULL);
  weft_buffer_drop(NULL);
}

static void an_object_without_an_end_is_freed(void **state)
{
  (void)state;
  failing_install();
  void *object = weft_counted_new(0, NULL);
  assert_non_null(object);
  weft_counted_drop(object);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
  (void)state;
  assert_null(weft_counted_new(SIZE_MAX, NULL));
  assert_null(weft_counted_new(SIZE_MAX - 8, NULL));
}

static void objects_need_memory(void **state)
{
  (void)state;
  weft_buffer *buffer = NULL;
  failing_install();
  failing_always(FAILING_MALLOC, 0);
  assert_null(weft_counted_new(8, NULL));
  assert_int_equal(weft_buffer_new(WEFT_F32, 8, &buffer), WEFT_NOMEM);
  assert_null(buffer);
  failing_remove();
}

enum { ROUNDS = 4, TURNS = 20000 };

static void *keep_and_drop(void *object)
{
  for (int i = 0; i < TURNS / 20; i++) {
    weft_counted_keep(object);
    weft_counted_keep(object);
    weft_counted_drop(object);
    weft_counted_drop(object);
  }
  ((int *)object)[1] = 8; /* the last holder must see it */
  weft_counted_drop(object);
  return NULL;
}

static void threads_may_hold_the_same_object(void **state)
{
  (void)state;
  pthread_t thread;
  ended = 0;
  int *object = weft_counted_new(2 * sizeof *object, count_end);
  *object = 7;
  for (int round = 0; round < ROUNDS; round++) {
    weft_counted_keep(object);
    assert_int_equal(pthread_create(&thread, NULL, keep_and_drop, object), 0);
    for (int i = 0; i < TURNS; i++) {
      weft_counted_keep(object);
      weft_counted_drop(object);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ended, 0);
  }
  weft_counted_drop(object);
  assert_int_equal(ended, 1);
}

static void the_last_holder_sees_what_the_others_did(void **state)
{
  (void)state;
  for (int round = 0; round < 200; round++) {
    pthread_t thread;
    ended = 0;
    int *object = weft_counted_new(2 * sizeof *object, count_end);
    weft_counted_keep(object);
    *object = 7;
    assert_int_equal(pthread_create(&thread, NULL, keep_and_drop, object), 0);
    weft_counted_drop(object);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ended, 1);
    assert_int_equal(last_word, 8);
  }
}

/* --- Buffers -------------------------------------------------------------------------------- */

static void types_have_names_and_sizes(void **state)
{
  (void)state;
  static const char *const names[] = {"i8",  "u8",  "i16", "u16", "i32",
                                      "u32", "i64", "f32", "f64"};
  static const size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 4, 8};
  for (int type = 0; type < WEFT_TYPES; type++) {
    assert_string_equal(weft_type_name(type), names[type]);
    assert_int_equal(weft_type_bytes(type), bytes[type]);
  }
  assert_string_equal(weft_type_name(WEFT_TYPES), "?");
  assert_string_equal(weft_type_name(-1), "?");
  assert_int_equal(weft_type_bytes(WEFT_TYPES), 0);
}

static void buffers_are_zeroed_and_aligned(void **state)
{
  (void)state;
  static const char zeroes[8 * 33];
  for (int type = 0; type < WEFT_TYPES; type++) {
    for (size_t count = 0; count <= 33; count++) {
      weft_buffer *buffer;
      assert_int_equal(weft_buffer_new(type, count, &buffer), WEFT_OK);
      assert_int_equal(weft_buffer_type(buffer), type);
      assert_int_equal(weft_buffer_count(buffer), count);
      char *data = weft_buffer_data(buffer);
      assert_int_equal((uintptr_t)data % 64, 0);
      assert_memory_equal(data, zeroes, count * weft_type_bytes(type));
      memset(data, 0xA5, count * weft_type_bytes(type));
      weft_buffer_drop(buffer);
    }
  }
}

static void bytes_of_all_buffers_are_counted(void **state)
{
  (void)state;
  weft_buffer *a, *b;
  assert_int_equal(weft_buffer_all_bytes(), 0);
  assert_int_equal(weft_buffer_new(WEFT_F64, 10, &a), WEFT_OK);
  assert_int_equal(weft_buffer_new(WEFT_U8, 3, &b), WEFT_OK);
  assert_int_equal(weft_buffer_all_bytes(), 83);
  assert_ptr_equal(weft_buffer_keep(a), a);
  weft_buffer_drop(a);
  assert_int_equal(weft_buffer_all_bytes(), 83);
  weft_buffer_drop(a);
  assert_int_equal(weft_buffer_all_bytes(), 3);
  weft_buffer_drop(b);
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

static void counts_and_types_have_limits(void **state)
{
  (void)state;
  weft_buffer *buffer = NULL;
  assert_int_equal(weft_buffer_new(WEFT_U8, (size_t)WEFT_MAX_ELEMENTS + 1, &buffer),
                   WEFT_INVALID);
  assert_int_equal(weft_buffer_new(WEFT_TYPES, 1, &buffer), WEFT_INVALID);
  assert_int_equal(weft_buffer_new(-1, 1, &buffer), WEFT_INVALID);
  assert_null(buffer);
}

/* The memory is only touched where it is used, so that the most elements cost nothing. */
static void the_most_elements_may_be_had(void **state)
{
  (void)state;
  weft_buffer *buffer;
  /* These refuse so much, or keep memory of their own beside all of it. */
  if (unit_has_asan() || unit_has_tsan() || unit_on_valgrind()) skip();
  assert_int_equal(weft_buffer_new(WEFT_U8, WEFT_MAX_ELEMENTS, &buffer), WEFT_OK);
  unsigned char *data = weft_buffer_data(buffer);
  data[WEFT_MAX_ELEMENTS - 1] = 1;
  assert_int_equal(data[WEFT_MAX_ELEMENTS - 2], 0);
  weft_buffer_drop(buffer);
}

int main(void)
{
  const struct CMUnitTest specs[] = {
      cmocka_unit_test(counted_objects_end_with_their_last_holder),
      cmocka_unit_test(dropping_nothing_is_harmless),
      cmocka_unit_test(an_object_without_an_end_is_freed),
      cmocka_unit_test(sizes_that_do_not_fit_are_refused),
      cmocka_unit_test(objects_need_memory),
      cmocka_unit_test(threads_may_hold_the_same_object),
      cmocka_unit_test(the_last_holder_sees_what_the_others_did),
      cmocka_unit_test(types_have_names_and_sizes),
      cmocka_unit_test(buffers_are_zeroed_and_aligned),
      cmocka_unit_test(bytes_of_all_buffers_are_counted),
      cmocka_unit_test(counts_and_types_have_limits),
      cmocka_unit_test(the_most_elements_may_be_had),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
