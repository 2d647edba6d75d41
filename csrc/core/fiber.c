/* SPDX-License-Identifier: MIT */
/*
** fiber.c - fibers and the pools of stacks they run on.
**
** A fiber's record stands at the top of its stack, in the page of the first frames, so that an
** idle fiber holds one page of memory. `weft_fiber_resume` and `weft_fiber_yield` note
** everything before they switch and end in the switch as a tail call: nothing of ours is read
** after it, and above all no thread-local variable. That one is written in functions that are
** never inlined, so that no caller can keep its address across a switch.
*/
#include "core/fiber.h"

#include <stdatomic.h>
#include <string.h>

#include "platform/fault.h"
#include "platform/platform.h"
#include "platform/sanitize.h"
#include "platform/stack.h"
#include "platform/system.h"

struct weft_fiber {
  /* What a switch touches: a quarter of a cache line, the rest being the first frames. `sp` is
     where the fiber was left while it is suspended, and where the one who resumed it was left
     while it runs. `back` is the fiber itself while it is suspended; the one that resumed it, or
     NULL for the thread's own stack, while it runs; NULL when it has ended. */
  void *sp;
  weft_fiber *back;
  weft_fiber_pool *pool;

  weft_fiber_fn fn;
  void *arg;
  weft_fiber *next; /* in a list of idle ones */
  char *low;        /* lowest usable byte of the stack */
  size_t deepest;   /* bytes in use at the deepest, as far as was seen before pages went back */
  bool used;        /* something ran on this stack */
  weft__san san;
};

/*
** Idle stacks wait in four places, and are taken in this order: `hot`, where those go that end;
** `cool`, which weft__fiber_pool_trim works on; `clean`, where it puts what it looked at; and
** what no fiber has touched yet, in the slabs from `fresh` on.
*/
struct weft_fiber_pool {
  weft_fiber *hot;
  weft_fiber *cool;
  weft_fiber *clean;
  uint32_t busy;
  uint32_t max_busy;
  uint32_t max_stacks;
  uint32_t mapped;
  weft__slab *fresh; /* the first slab that has stacks nobody used, or NULL */
  weft__slab *slabs; /* all, in the order they were made */
  weft__slab *last;
  weft_status refused; /* why the last slab was cut short, else WEFT_OK */
  uint64_t thread;     /* its owner; 0 for a shared one */
  weft__stack_shape shape;
  void (*describe)(void *host, char *text, size_t size);
  void *describe_host;
};

/* Slabs grow with the pool up to this many bytes or stacks. */
#define SLAB_FIRST 4
#define SLAB_MAX_STACKS 256
#define SLAB_MAX_BYTES ((size_t)64 << 20)

/* A stack with more than TRIM_OVER in memory keeps TRIM_KEEP of it. */
#define TRIM_OVER ((size_t)64 << 10)
#define TRIM_KEEP ((size_t)16 << 10)

#define MAX_STACKS ((uint32_t)1 << 24)

/* The fiber that runs on this thread. */
static WEFT_PER_THREAD weft_fiber *fiber_running;

static inline bool pool_is_mine(const weft_fiber_pool *pool)
{
  return pool->thread == 0 || pool->thread == weft__thread_id();
}

/* --- Switching ----------------------------------------------------------------------------- */

static char *fiber_end_of_stack(const weft_fiber *fiber)
{
  return fiber->low + fiber->pool->shape.span;
}

WEFT_NOINLINE bool weft_fiber_resume(weft_fiber *fiber)
{
  /* Where small frames were saved: loads beside the record, not after it. */
  WEFT_PREFETCH((const char *)fiber - 64);
  WEFT_CHECK(fiber->back == fiber);
  WEFT_ASSERT(pool_is_mine(fiber->pool));
  weft__switch_probe();
  fiber->back = fiber_running;
  fiber_running = fiber;
  return weft__san_enter(&fiber->san, fiber->low, fiber_end_of_stack(fiber), &fiber->sp,
                         fiber->sp, (void *)1);
}

WEFT_NOINLINE void weft_fiber_yield(void)
{
  weft_fiber *fiber = fiber_running;
  WEFT_CHECK(fiber != NULL);
  weft__switch_probe();
  fiber_running = fiber->back;
  fiber->back = fiber;
  weft__san_leave(&fiber->san, &fiber->sp, fiber->sp, (void *)1);
}

/* The stack goes to the pool while this still runs on it: nobody can take it before the switch
   is done, because the pool belongs to this thread. Nobody comes back here either, so the switch
   saves into a word that is not needed any more; a local one would leave ASan's marks around it
   on the stack. */
static WEFT_NOINLINE void fiber_end(weft_fiber *fiber)
{
  weft_fiber_pool *pool = fiber->pool;
  fiber->next = pool->hot;
  pool->hot = fiber;
  pool->busy--;
  fiber_running = fiber->back;
  fiber->back = NULL;
  weft__san_end(&fiber->san, &fiber->arg, fiber->sp, NULL);
}

static void fiber_main(void *arg)
{
  weft_fiber *fiber = arg;
  weft__san_begun(&fiber->san);
  fiber->used = true;
  fiber->fn(fiber->arg);
  fiber_end(fiber);
}

WEFT_NOINLINE weft_fiber *weft_fiber_current(void)
{
  return fiber_running;
}

/* Not inlined, or it would measure from its caller's frame. */
WEFT_NOINLINE size_t weft_fiber_stack_left(void)
{
  weft_fiber *fiber = weft_fiber_current();
  if (!fiber) return SIZE_MAX;
  return (size_t)((char *)__builtin_frame_address(0) - fiber->low);
}

void weft__fiber_prefetch(const weft_fiber *fiber)
{
  WEFT_PREFETCH(fiber);
}

/* Five lines: the switch, and a few frames of whoever waited. */
void weft__fiber_prefetch_frames(const weft_fiber *fiber)
{
  const char *sp = fiber->sp;
  for (int line = 0; line < 5; line++) WEFT_PREFETCH(sp + line * 64);
}

/* --- Pools --------------------------------------------------------------------------------- */

weft_status weft_fiber_pool_new(size_t stack_bytes, uint32_t max_stacks, weft_fiber_pool **out)
{
  weft__stack_shape shape;
  if (max_stacks < 1 || max_stacks > MAX_STACKS) return WEFT_INVALID;
  weft_status status = weft__stack_shape_init(&shape, stack_bytes);
  if (status) return status;
  weft_fiber_pool *pool = weft__alloc(sizeof *pool);
  if (!pool) return WEFT_NOMEM;
  *pool =
      (weft_fiber_pool){.max_stacks = max_stacks, .shape = shape, .thread = weft__thread_id()};
  *out = pool;
  return WEFT_OK;
}

/* Where the record of a stack stands: as high as it fits, with the switch's words at the end of
   a cache line, which they share with the first frames below. */
static weft_fiber *fiber_at(const weft__stack_shape *shape, char *low)
{
  uintptr_t end = (uintptr_t)low + shape->span;
  uintptr_t line = (end - sizeof(weft_fiber) - 48) & ~(uintptr_t)63;
  return (weft_fiber *)(line + 48);
}

void weft__fiber_pool_share(weft_fiber_pool *pool)
{
  pool->thread = 0;
}

void weft_fiber_pool_delete(weft_fiber_pool *pool)
{
  if (!pool) return;
  for (weft_fiber *fiber = weft_fiber_current(); fiber; fiber = fiber->back) {
    WEFT_CHECK(fiber->pool != pool);
  }
  while (pool->slabs) {
    weft__slab *slab = pool->slabs;
    pool->slabs = slab->next;
    for (uint32_t i = 0; i < slab->used; i++) {
      weft__san_drop(&fiber_at(&pool->shape, weft__slab_stack(&pool->shape, slab, i))->san);
    }
    weft__slab_delete(&pool->shape, slab);
  }
  weft__free(pool);
}

void weft_fiber_pool_stats(const weft_fiber_pool *pool, weft_fiber_stats *out)
{
  *out = (weft_fiber_stats){
      .stack_bytes = pool->shape.usable,
      .mapped = pool->mapped,
      .busy = pool->busy,
      .max_busy = pool->max_busy,
  };
}

/* How many stacks the next slab should have. */
static uint32_t pool_next_slab(const weft_fiber_pool *pool)
{
  uint32_t count = pool->mapped < SLAB_FIRST ? SLAB_FIRST : pool->mapped;
  size_t fit = SLAB_MAX_BYTES / pool->shape.stride;
  if (count > SLAB_MAX_STACKS) count = SLAB_MAX_STACKS;
  if (count > fit) count = fit ? (uint32_t)fit : 1;
  uint32_t allowed = pool->max_stacks - pool->mapped;
  return count < allowed ? count : allowed;
}

/* Maps one more slab. */
static WEFT_COLD weft_status pool_grow(weft_fiber_pool *pool)
{
  if (pool->mapped >= pool->max_stacks) return WEFT_FULL;
  weft__slab *slab = NULL;
  weft_status status = weft__slab_new(&pool->shape, pool_next_slab(pool), &slab);
  if (status) {
    /* Where guards ran out of mappings a moment ago, a mapping that is refused now says the
       same, and "no memory" would send the reader the wrong way. */
    if (status == WEFT_NOSTACK && pool->refused == WEFT_MAPCOUNT) return WEFT_MAPCOUNT;
    if (status == WEFT_MAPCOUNT) pool->refused = status;
    return status;
  }
  pool->refused = slab->cut;
  pool->mapped += slab->count;
  if (pool->last) {
    pool->last->next = slab;
  } else {
    pool->slabs = slab;
  }
  pool->last = slab;
  if (!pool->fresh) pool->fresh = slab;
  return WEFT_OK;
}

/* Takes the next stack that nobody used and sets its record up. */
static weft_status pool_take_fresh(weft_fiber_pool *pool, weft_fiber **out)
{
  if (!pool->fresh) {
    weft_status status = pool_grow(pool);
    if (status) return status;
  }
  weft__slab *slab = pool->fresh;
  char *low = weft__slab_stack(&pool->shape, slab, slab->used++);
  if (slab->used == slab->count) pool->fresh = slab->next;
  weft_fiber *fiber = fiber_at(&pool->shape, low);
  *fiber = (weft_fiber){.pool = pool, .low = low};
  *out = fiber;
  return WEFT_OK;
}

/* Takes a stack when none is hot. */
static WEFT_COLD weft_status pool_take(weft_fiber_pool *pool, weft_fiber **out)
{
  weft_fiber **list = pool->cool ? &pool->cool : &pool->clean;
  if (!*list) return pool_take_fresh(pool, out);
  *out = *list;
  *list = (*out)->next;
  return WEFT_OK;
}

weft_status weft_fiber_start(weft_fiber_pool *pool, weft_fiber_fn fn, void *arg,
                             weft_fiber **out)
{
  WEFT_CHECK(fn != NULL);
  WEFT_ASSERT(pool_is_mine(pool));
  weft_fiber *fiber = pool->hot;
  if (WEFT_LIKELY(fiber != NULL)) {
    pool->hot = fiber->next;
  } else {
    weft_status status = pool_take(pool, &fiber);
    if (status) return status;
  }
  if (++pool->busy > pool->max_busy) pool->max_busy = pool->busy;
  fiber->fn = fn;
  fiber->arg = arg;
  fiber->sp = weft__switch_prepare((char *)fiber, fiber_main, fiber);
  fiber->back = fiber;
  weft__san_start(&fiber->san);
  *out = fiber;
  return WEFT_OK;
}

/* --- Memory -------------------------------------------------------------------------------- */

size_t weft_fiber_high_water(const weft_fiber *fiber)
{
  if (!fiber->used) return 0;
  size_t now = weft__stack_depth(&fiber->pool->shape, fiber->low, fiber_end_of_stack(fiber));
  return now > fiber->deepest ? now : fiber->deepest;
}

/* Gives [low, high) back if enough of it is in memory; notes how deep the stack was. */
static bool fiber_give_back(weft_fiber *fiber, char *high)
{
  const weft__stack_shape *shape = &fiber->pool->shape;
  if (high <= fiber->low || (size_t)(high - fiber->low) < TRIM_OVER) return false;
  if (weft__stack_resident(shape, fiber->low, high) <= TRIM_OVER) return false;
  fiber->deepest = weft_fiber_high_water(fiber);
  return weft__stack_give_back(fiber->low, high);
}

static void fiber_trim_idle(weft_fiber *fiber)
{
  const weft__stack_shape *shape = &fiber->pool->shape;
  size_t keep = (TRIM_KEEP + shape->page - 1) / shape->page * shape->page;
  fiber_give_back(fiber, fiber_end_of_stack(fiber) - keep);
}

uint32_t weft__fiber_pool_trim(weft_fiber_pool *pool, uint32_t max)
{
  uint32_t looked = 0;
  while (pool->cool && looked < max) {
    weft_fiber *fiber = pool->cool;
    pool->cool = fiber->next;
    fiber_trim_idle(fiber);
    fiber->next = pool->clean;
    pool->clean = fiber;
    looked++;
  }
  if (!pool->cool) {
    pool->cool = pool->hot;
    pool->hot = NULL;
  }
  return looked;
}

bool weft__fiber_trim_suspended(weft_fiber *fiber)
{
  size_t page = fiber->pool->shape.page;
  WEFT_CHECK(fiber->back == fiber);
  /* The page of the saved frames stays, and the one below: they are used again at once. */
  return fiber_give_back(fiber, (char *)((uintptr_t)fiber->sp / page * page - page));
}

/* --- Overflow ------------------------------------------------------------------------------ */

void weft__fiber_pool_describe(weft_fiber_pool *pool,
                               void (*fn)(void *host, char *text, size_t size), void *host)
{
  pool->describe = fn;
  pool->describe_host = host;
}

static atomic_bool signals_left;

void weft_leave_signals(void)
{
  atomic_store_explicit(&signals_left, true, memory_order_relaxed);
}

weft_status weft__catch_overflow_if_allowed(void)
{
  /* Relaxed: said once, before any world. */
  if (atomic_load_explicit(&signals_left, memory_order_relaxed)) return WEFT_OK;
  return weft_catch_overflow();
}

static bool fiber_find_running(weft__fault_stack *out)
{
  weft_fiber *fiber = weft_fiber_current();
  if (!fiber) return false;
  weft_fiber_pool *pool = fiber->pool;
  *out = (weft__fault_stack){
      .guard_low = (uintptr_t)fiber->low - pool->shape.guard,
      .guard_high = (uintptr_t)fiber->low,
      .bytes = pool->shape.usable,
      .describe = pool->describe,
      .host = pool->describe_host,
  };
  return true;
}

weft_status weft_catch_overflow(void)
{
  return weft__fault_catch(fiber_find_running);
}

/* --- Checking ------------------------------------------------------------------------------ */

static uint32_t list_length(const weft_fiber *fiber, const weft_fiber_pool *pool, bool *sound)
{
  uint32_t length = 0;
  for (; fiber && length <= pool->mapped; fiber = fiber->next) {
    if (fiber->pool != pool || fiber->back) *sound = false;
    length++;
  }
  return length;
}

bool weft__fiber_pool_valid(const weft_fiber_pool *pool)
{
  bool sound = true;
  uint32_t mapped = 0;
  uint32_t used = 0;
  const weft__slab *fresh = NULL;
  for (const weft__slab *slab = pool->slabs; slab; slab = slab->next) {
    mapped += slab->count;
    used += slab->used;
    if (!fresh && slab->used < slab->count) fresh = slab;
  }
  uint32_t idle = list_length(pool->hot, pool, &sound) + list_length(pool->cool, pool, &sound) +
                  list_length(pool->clean, pool, &sound);
  return sound && mapped == pool->mapped && mapped <= pool->max_stacks &&
         fresh == pool->fresh && used == idle + pool->busy && pool->busy <= pool->max_busy;
}
