/* SPDX-License-Identifier: MIT */
/*
** posts_spec.c - the queue of posts: order, bound, memory, several threads.
*/
#include <errno.h>
#include <string.h>

#include "core/posts.h"
#include "platform/system.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/unit.h"

static weft__posts posts;

static int make_posts(void **state)
{
  (void)state;
  failing_install();
  return weft__posts_init(&posts);
}

static int drop_posts(void **state)
{
  (void)state;
  failing_disarm();
  weft__posts_fini(&posts);
  bool clean = failing_blocks() == 0;
  failing_remove();
  return clean ? 0 : -1;
}

static void never_called(void *arg)
{
  (void)arg;
}

static char numbers[1 << 16];

static weft_status add(uint32_t number, weft_priority priority)
{
  return weft__posts_add(&posts, (weft__post){never_called, NULL, &numbers[number]}, priority);
}

/* The number of the oldest post, or UINT32_MAX. */
static uint32_t take(weft_priority priority)
{
  weft__post post = {NULL, NULL, NULL};
  if (weft__posts_take(&posts, priority, &post, 1) == 0) return UINT32_MAX;
  assert_ptr_equal(post.fn, never_called);
  return (uint32_t)((char *)post.arg - numbers);
}

static void the_oldest_of_a_priority_comes_first(void **state)
{
  (void)state;
  uint32_t counts[2];
  for (uint32_t i = 0; i < 100; i++)
    assert_int_equal(add(i, i % 3 ? WEFT_NORMAL : WEFT_HIGH), WEFT_OK);
  weft__posts_count(&posts, counts);
  assert_int_equal(counts[WEFT_HIGH], 34);
  assert_int_equal(counts[WEFT_NORMAL], 66);
  for (uint32_t i = 0; i < 100; i++)
    if (i % 3) assert_int_equal(take(WEFT_NORMAL), i);
  assert_int_equal(take(WEFT_NORMAL), UINT32_MAX);
  for (uint32_t i = 0; i < 100; i += 3) assert_int_equal(take(WEFT_HIGH), i);
  assert_int_equal(take(WEFT_HIGH), UINT32_MAX);
  weft__posts_count(&posts, counts);
  assert_int_equal(counts[WEFT_HIGH] + counts[WEFT_NORMAL], 0);
}

static void several_are_taken_at_once_and_no_more_than_there_are(void **state)
{
  (void)state;
  weft__post out[8];
  uint32_t counts[2];
  for (uint32_t i = 0; i < 10; i++) assert_int_equal(add(i, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft__posts_take(&posts, WEFT_HIGH, out, 8), 0);
  assert_int_equal(weft__posts_take(&posts, WEFT_NORMAL, out, 8), 8);
  for (uint32_t i = 0; i < 8; i++) assert_ptr_equal(out[i].arg, &numbers[i]);
  for (uint32_t i = 10; i < 14; i++) assert_int_equal(add(i, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft__posts_take(&posts, WEFT_NORMAL, out, 8), 6);
  for (uint32_t i = 0; i < 6; i++) assert_ptr_equal(out[i].arg, &numbers[8 + i]);
  weft__posts_count(&posts, counts);
  assert_int_equal(counts[WEFT_HIGH] + counts[WEFT_NORMAL], 0);
}

static void a_closed_queue_takes_nothing_in_and_gives_what_it_has(void **state)
{
  (void)state;
  assert_int_equal(add(1, WEFT_NORMAL), WEFT_OK);
  assert_false(weft__posts_closed(&posts));
  weft__posts_close(&posts);
  assert_true(weft__posts_closed(&posts));
  assert_int_equal(add(2, WEFT_NORMAL), WEFT_CLOSED);
  assert_int_equal(add(3, WEFT_HIGH), WEFT_CLOSED);
  assert_int_equal(take(WEFT_NORMAL), 1);
  assert_int_equal(take(WEFT_NORMAL), UINT32_MAX);
  assert_int_equal(take(WEFT_HIGH), UINT32_MAX);
}

/* Adding and taking in turns moves the queue round its ring, and growing happens anywhere in it. */
static const char *run_program(uint64_t seed)
{
  unit_random random = {seed};
  uint32_t added[2] = {0, 0}, taken[2] = {0, 0}, counts[2];
  for (int i = 0; i < 3000; i++) {
    weft_priority priority = unit_random_chance(&random, 50) ? WEFT_HIGH : WEFT_NORMAL;
    uint32_t adds = i / 300 % 2 ? 35 : 55;
    if (unit_random_chance(&random, adds)) {
      if (add(added[priority]++, priority) != WEFT_OK) return "a post was refused";
    } else {
      uint32_t expected = taken[priority] < added[priority] ? taken[priority]++ : UINT32_MAX;
      if (take(priority) != expected) return "another post is the oldest";
    }
  }
  weft__posts_count(&posts, counts);
  for (int i = 0; i < 2; i++) {
    if (counts[i] != added[i] - taken[i]) return "the count is another";
    while (taken[i] < added[i])
      if (take((weft_priority)i) != taken[i]++) return "another post is the oldest";
  }
  return NULL;
}

static void random_programs_keep_the_order(void **state)
{
  (void)state;
  unit_for_seeds(200, run_program);
}

static void the_last_post_fits_and_no_more(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < WEFT_MAX_POSTS; i++)
    if (add(i & 0xffff, WEFT_NORMAL) != WEFT_OK) fail_msg("refused at %u", i);
  assert_int_equal(add(0, WEFT_NORMAL), WEFT_FULL);
  assert_int_equal(take(WEFT_NORMAL), 0);
  assert_int_equal(add(0, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(add(0, WEFT_NORMAL), WEFT_FULL);
  assert_int_equal(take(WEFT_NORMAL), 1);
}

static weft_status add_reserved(uint32_t number)
{
  weft__post post = {never_called, NULL, &numbers[number]};
  return weft__posts_add_reserved(&posts, post, WEFT_NORMAL);
}

static void a_reserved_place_is_free_for_its_post_whatever_else_comes(void **state)
{
  (void)state;
  failing_always(FAILING_MALLOC, ENOMEM);
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_NOMEM);
  failing_disarm();
  for (int i = 0; i < 3; i++)
    assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_OK);
  failing_always(FAILING_MALLOC, ENOMEM);
  for (uint32_t i = 0; i < 13; i++) assert_int_equal(add(i, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(add(13, WEFT_NORMAL), WEFT_NOMEM);
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_NOMEM);
  assert_int_equal(add_reserved(13), WEFT_OK);
  weft__posts_unreserve(&posts, WEFT_NORMAL);
  assert_int_equal(add(14, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(add(15, WEFT_NORMAL), WEFT_NOMEM);
  assert_int_equal(add_reserved(15), WEFT_OK);
  failing_disarm();
  for (uint32_t i = 0; i < 16; i++) assert_int_equal(take(WEFT_NORMAL), i);
}

static void reserved_places_count_at_the_limit(void **state)
{
  (void)state;
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_OK);
  for (uint32_t i = 1; i < WEFT_MAX_POSTS; i++)
    assert_int_equal(add(i % 1000, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(add(0, WEFT_NORMAL), WEFT_FULL);
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_FULL);
  assert_int_equal(add_reserved(0), WEFT_OK);
}

static void a_closed_queue_refuses_reserved_posts_as_well(void **state)
{
  (void)state;
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_OK);
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_OK);
  weft__posts_close(&posts);
  assert_int_equal(add_reserved(0), WEFT_CLOSED);
  weft__posts_unreserve(&posts, WEFT_NORMAL);
  assert_int_equal(weft__posts_reserve(&posts, WEFT_NORMAL), WEFT_CLOSED);
  assert_int_equal(take(WEFT_NORMAL), UINT32_MAX);
}

static void without_memory_a_post_is_refused_and_the_others_stay(void **state)
{
  (void)state;
  failing_always(FAILING_MALLOC, ENOMEM);
  assert_int_equal(add(0, WEFT_HIGH), WEFT_NOMEM);
  failing_disarm();
  uint32_t fit = 0;
  assert_int_equal(add(fit++, WEFT_HIGH), WEFT_OK);
  failing_always(FAILING_MALLOC, ENOMEM);
  while (add(fit, WEFT_HIGH) == WEFT_OK) fit++;
  uint32_t counts[2];
  weft__posts_count(&posts, counts);
  assert_int_equal(counts[WEFT_HIGH], fit);
  for (uint32_t i = 0; i < fit; i++) assert_int_equal(take(WEFT_HIGH), i);
}

/* --- Several threads ----------------------------------------------------------------------- */

#define THREADS 4

typedef struct poster {
  weft__thread thread;
  uint32_t number;
  uint32_t count;
  uint32_t seen[2]; /* by priority: the next that is to come out */
  uint32_t refused;
} poster;

static void say_nothing(void *arg)
{
  (void)arg;
}

/* Even numbers go to the one priority, odd ones to the other. The arg carries who and which. */
static void post_many(void *arg)
{
  poster *self = arg;
  for (uint32_t i = 0; i < self->count; i++) {
    uintptr_t told = (uintptr_t)self->number << 24 | i;
    weft__post post = {say_nothing, NULL, (void *)told};
    if (weft__posts_add(&posts, post, i % 2 ? WEFT_NORMAL : WEFT_HIGH) != WEFT_OK)
      self->refused++;
  }
}

static bool take_one(poster *posters, weft_priority priority)
{
  weft__post post;
  if (weft__posts_take(&posts, priority, &post, 1) == 0) return false;
  poster *from = &posters[(uintptr_t)post.arg >> 24];
  uint32_t number = (uint32_t)(uintptr_t)post.arg & 0xffffff;
  assert_int_equal(number, from->seen[priority]);
  from->seen[priority] += 2;
  return true;
}

static void posts_of_several_threads_come_once_each_in_the_order_of_their_thread(void **state)
{
  (void)state;
  poster posters[THREADS];
  memset(posters, 0, sizeof posters);
  failing_remove(); /* its account is for one thread */
  uint32_t count = unit_scaled(100000), left = THREADS * count;
  for (uint32_t i = 0; i < THREADS; i++) {
    posters[i].number = i;
    posters[i].count = count;
    posters[i].seen[WEFT_NORMAL] = 1;
    assert_int_equal(weft__thread_start(&posters[i].thread, post_many, &posters[i]), WEFT_OK);
  }
  while (left > 0) {
    uint32_t counts[2];
    weft__posts_count(&posts, counts);
    for (int priority = 0; priority < 2; priority++) {
      for (; counts[priority] > 0; counts[priority]--, left--)
        assert_true(take_one(posters, (weft_priority)priority));
    }
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    weft__thread_join(&posters[i].thread);
    assert_int_equal(posters[i].refused, 0);
    assert_true(posters[i].seen[0] >= count && posters[i].seen[1] >= count);
  }
  assert_false(take_one(posters, WEFT_HIGH) || take_one(posters, WEFT_NORMAL));
  weft__posts_fini(&posts);
  failing_install();
  assert_int_equal(weft__posts_init(&posts), WEFT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_posts, drop_posts)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(the_oldest_of_a_priority_comes_first),
      TEST(several_are_taken_at_once_and_no_more_than_there_are),
      TEST(a_closed_queue_takes_nothing_in_and_gives_what_it_has),
      TEST(random_programs_keep_the_order),
      TEST(the_last_post_fits_and_no_more),
      TEST(a_reserved_place_is_free_for_its_post_whatever_else_comes),
      TEST(reserved_places_count_at_the_limit),
      TEST(a_closed_queue_refuses_reserved_posts_as_well),
      TEST(without_memory_a_post_is_refused_and_the_others_stay),
      TEST(posts_of_several_threads_come_once_each_in_the_order_of_their_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
