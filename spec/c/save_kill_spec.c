/* SPDX-License-Identifier: MIT */
/*
** save_kill_spec.c - a process that is killed while it saves leaves a whole save, the old or the
** new one.
**
**   WEFT_KILLS=1000 build/release/spec/c/save_kill_spec     so many kills, and how they went
**
** A child saves numbers from 1 on, again and again, and says in a pipe which it begins and which it
** has written. It is killed at a random moment. Then the file must say the same number in all of
** its parts, one between the last that was written and the last that was begun; and the next child
** goes on from there, over what was left behind.
*/
#define _GNU_SOURCE
#include "support/saves.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/random.h"

/* Kills in a usual run. */
#define KILLS 50

/* The longest that a child may live: as long as one save takes here, five times. */
static uint32_t longest;

typedef struct word {
  uint32_t number;
  uint32_t written; /* else it begins */
} word;

/* How the kills have hit. */
static struct {
  uint32_t old, new, left, kept, none;
} counts;

static uint32_t kills(void)
{
  const char *wanted = getenv("WEFT_KILLS");
  return wanted ? (uint32_t)strtoul(wanted, NULL, 10) : unit_scaled(KILLS);
}

/* --- The child ----------------------------------------------------------------------------- */

static void say_word(int to, uint32_t number, uint32_t written)
{
  word w = {number, written};
  if (write(to, &w, sizeof w) != sizeof w) _exit(3);
}

static void save_for_ever(int to, uint32_t number)
{
  weft_pool_config config = {.workers = 2};
  if (weft_pool_new(&config, &pool) != WEFT_OK) _exit(2);
  for (;; number++) {
    say_word(to, number, 0);
    if (write_number(number) != WEFT_OK) _exit(1);
    say_word(to, number, 1);
  }
}

/* --- The one who kills --------------------------------------------------------------------- */

/* The last number that was begun and the last that was written, as far as the child came to say. */
static void read_words(int from, uint32_t *begun, uint32_t *written)
{
  word w;
  ssize_t got;
  while ((got = read(from, &w, sizeof w)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    assert_int_equal(got, sizeof w);
    *(w.written ? written : begun) = w.number;
  }
}

/* How long the first save of a child takes, from its start on. */
static uint32_t measure(int from)
{
  word w = {0};
  int64_t start = weft_clock();
  while (!w.written) {
    ssize_t got = read(from, &w, sizeof w);
    assert_true(got == sizeof w || (got < 0 && errno == EINTR));
  }
  int64_t took = weft_clock() - start;
  return took < 200000000 ? (uint32_t)took : 200000000;
}

static void start_and_kill(unit_random *random, uint32_t next, uint32_t *begun,
                           uint32_t *written)
{
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    save_for_ever(ends[1], next);
  }
  close(ends[1]);
  if (!longest) {
    longest = 5 * measure(ends[0]);
    *begun = *written = next;
  }
  weft_sleep_until(weft_clock() + unit_random_below(random, longest));
  assert_int_equal(kill(child, SIGKILL), 0);
  read_words(ends[0], begun, written);
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The number in the file, or 0 if nothing has been written ever. */
static uint32_t look(uint32_t begun, uint32_t written)
{
  uint32_t number = 0;
  weft_status status = read_number(&number);
  if (status == WEFT_MISSING && written == 0) {
    counts.none++;
    return 0;
  }
  assert_int_equal(status, WEFT_OK);
  assert_true(number >= written && number <= begun);
  assert_false(report.kept); /* at no moment is there no file at the path */
  counts.new += number > written;
  counts.old += number == written && begun > written;
  counts.left += access(saves_new, F_OK) == 0;
  return number;
}

/* The save before, if there is one, is whole as well. */
static void look_at_kept(uint32_t number)
{
  weft_loaded *loaded;
  if (access(saves_kept, F_OK) != 0) return;
  size_t size;
  uint32_t kept;
  assert_int_equal(weft_save_read(saves_kept, NULL, &loaded, NULL), WEFT_OK);
  memcpy(&kept, weft_loaded_data(loaded, 0, &size), sizeof kept);
  weft_loaded_delete(loaded);
  assert_true(kept <= number);
  counts.kept++;
}

static void a_kill_at_any_moment_leaves_a_whole_save(void **state)
{
  (void)state;
  const char *seed = getenv("WEFT_SEED");
  unit_random random = {seed ? strtoull(seed, NULL, 10) : 1};
  uint32_t begun = 0, written = 0, count = kills();
  for (uint32_t i = 0; i < count; i++) {
    start_and_kill(&random, written + 1, &begun, &written);
    uint32_t number = look(begun, written);
    look_at_kept(number);
    begun = written = number;
  }
  assert_true(written > 0);
  printf("# %u kills: %u between saves, %u had the old one, %u the new one that nobody had "
         "heard of, "
         "%u left a half file, %u had a kept one\n",
         count, count - counts.old - counts.new, counts.old, counts.new, counts.left,
         counts.kept);
}

static int make_place(void **state)
{
  (void)state;
  return make_saves_folder();
}

static int drop_place(void **state)
{
  (void)state;
  char spare[128];
  snprintf(spare, sizeof spare, "%s.kept.new", saves_path);
  unlink(saves_new);
  unlink(spare);
  return drop_saves_folder();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
      a_kill_at_any_moment_leaves_a_whole_save, make_place, drop_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
