/* SPDX-License-Identifier: MIT */
/*
** watch.c - the thread of watch.h.
*/
#include "core/watch.h"

#include "platform/interrupt.h"
#include "platform/system.h"

#define NS_PER_MS INT64_C(1000000)

/* Looks a limit. */
#define LOOKS 4
/* Looks that see nothing at all before the watch goes to sleep. */
#define DROWSY 8

struct weft__watch {
  weft__watch_shared shared; /* first: weft__watch_stir */
  weft__watched watched;
  weft__thread thread;
  pthread_t target;
  weft__mutex lock;
  weft__cond changed; /* to quit, or to wake */
  bool quit;          /* under the lock */
  int64_t period;
  weft__looks looks; /* of its thread */
  /* What it has seen, for the watched thread. The number is written last, with release, and read
     first, with acquire: `seen` and `since` are of it, or of a later look at it. */
  atomic_uint_least64_t number;
  atomic_int_least64_t since;
  atomic_int seen;
};

/* --- Looking ------------------------------------------------------------------------------- */

weft__seen weft__look(weft__looks *looks, int64_t now, uint64_t number, bool running,
                      int64_t slow, int64_t over)
{
  bool same = looks->running && running && looks->number == number;
  looks->running = running;
  looks->number = number;
  if (!same) {
    looks->since = now;
    return WEFT_SEEN_NOTHING;
  }
  int64_t passed = now - looks->since;
  if (over > 0 && passed >= over) return WEFT_SEEN_OVER;
  return slow > 0 && passed >= slow ? WEFT_SEEN_SLOW : WEFT_SEEN_NOTHING;
}

/* The other thread writes these meanwhile, in one instruction each. */
static WEFT_RACY uint64_t read_number(const weft__watched *watched)
{
  return *(const volatile uint64_t *)watched->number;
}

static WEFT_RACY const void *read_running(const weft__watched *watched)
{
  return *(void *const volatile *)watched->running;
}

static WEFT_RACY bool read_busy(const weft__watched *watched)
{
  return *(const volatile bool *)watched->busy;
}

static void look(weft__watch *watch)
{
  const weft__watched *watched = &watch->watched;
  const void *running = read_running(watched);
  if (running && watched->sample) watched->sample(watched->context, running, watch->period);
  uint64_t number = read_number(watched);
  weft__seen seen = weft__look(&watch->looks, weft__clock_ns(), number, running != NULL,
                               watched->slow, watched->over);
  if (seen == WEFT_SEEN_NOTHING) return;
  atomic_store_explicit(&watch->since, watch->looks.since, memory_order_relaxed);
  atomic_store_explicit(&watch->seen, seen, memory_order_relaxed);
  atomic_store_explicit(&watch->number, number, memory_order_release);
  weft__interrupt(watch->target);
}

weft__seen weft__watch_seen(const weft__watch *watch, uint64_t *number, int64_t *since)
{
  *number = atomic_load_explicit(&watch->number, memory_order_acquire);
  *since = atomic_load_explicit(&watch->since, memory_order_relaxed);
  return (weft__seen)atomic_load_explicit(&watch->seen, memory_order_relaxed);
}

/* --- The thread ---------------------------------------------------------------------------- */

/* Until somebody stirs it; under the lock. */
static void sleep_until_stirred(weft__watch *watch, uint64_t stirs)
{
  atomic_store(&watch->shared.asleep, true);
  while (!watch->quit && atomic_load(&watch->shared.stirs) == stirs)
    weft__cond_wait(&watch->changed, &watch->lock);
  atomic_store(&watch->shared.asleep, false);
}

static void run(void *arg)
{
  weft__watch *watch = arg;
  uint64_t stirs = 0;
  int quiet = 0;
  weft__mutex_lock(&watch->lock);
  while (!watch->quit) {
    uint64_t now = atomic_load(&watch->shared.stirs);
    /* A busy one stirs no more before it runs something, however long that takes. */
    quiet = now == stirs && !read_busy(&watch->watched) ? quiet + 1 : 0;
    stirs = now;
    if (quiet > DROWSY) sleep_until_stirred(watch, stirs);
    weft__mutex_unlock(&watch->lock);
    look(watch);
    weft__mutex_lock(&watch->lock);
    int64_t next = weft__clock_ns() + watch->period;
    while (!watch->quit && weft__cond_wait_until(&watch->changed, &watch->lock, next)) {
    }
  }
  weft__mutex_unlock(&watch->lock);
}

void weft__watch_wake(weft__watch *watch)
{
  weft__mutex_lock(&watch->lock);
  weft__cond_signal_all(&watch->changed);
  weft__mutex_unlock(&watch->lock);
}

static int64_t period_of(const weft__watched *watched)
{
  int64_t limit = watched->slow > 0 ? watched->slow : watched->over;
  if (watched->over > 0 && watched->over < limit) limit = watched->over;
  return limit / LOOKS > NS_PER_MS / 2 ? limit / LOOKS : NS_PER_MS / 2;
}

weft_status weft__watch_start(weft__watched watched, void (*fn)(void), weft__watch **out)
{
  weft_status status = weft__interrupt_catch(fn);
  if (status) return status;
  weft__watch *watch = weft__calloc(1, sizeof *watch);
  if (!watch) return WEFT_NOMEM;
  watch->watched = watched;
  watch->target = pthread_self();
  watch->period = period_of(&watched);
  if ((status = weft__mutex_init(&watch->lock))) goto free_watch;
  if ((status = weft__cond_init(&watch->changed))) goto fini_lock;
  if ((status = weft__thread_start(&watch->thread, run, watch))) goto fini_cond;
  *out = watch;
  return WEFT_OK;

fini_cond:
  weft__cond_fini(&watch->changed);
fini_lock:
  weft__mutex_fini(&watch->lock);
free_watch:
  weft__free(watch);
  return status;
}

void weft__watch_stop(weft__watch *watch)
{
  if (!watch) return;
  weft__mutex_lock(&watch->lock);
  watch->quit = true;
  weft__cond_signal_all(&watch->changed);
  weft__mutex_unlock(&watch->lock);
  weft__thread_join(&watch->thread);
  weft__cond_fini(&watch->changed);
  weft__mutex_fini(&watch->lock);
  weft__free(watch);
}
