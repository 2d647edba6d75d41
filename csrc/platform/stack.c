/* SPDX-License-Identifier: MIT */
/*
** stack.c - slabs of guarded stacks.
**
** A guard is made by MADV_GUARD_INSTALL where the kernel has it (Linux 6.13), which costs no
** mapping; elsewhere, and in locked memory, by mprotect, which costs two mappings a stack.
*/
#define _GNU_SOURCE
#include "platform/stack.h"

#include <errno.h>
#include <sys/mman.h>

#include "platform/platform.h"
#include "platform/sanitize.h"
#include "platform/system.h"

/* Older headers do not name them. */
#define STACK_GUARD_INSTALL 102
#define STACK_POPULATE_READ 22

/* Frames of the Lua machines hold buffers of 8 KiB and more, and jump over a smaller guard.
   On aarch64 compilers probe stacks in steps of 64 KiB. */
#if defined(__aarch64__)
#define STACK_GUARD_BYTES ((size_t)64 << 10)
#else
#define STACK_GUARD_BYTES ((size_t)16 << 10)
#endif

/* Where the system will have no more mappings, this many stacks are given up again: the rest
   of the process needs some too. */
#define STACK_SPARE 16

static size_t round_up(size_t bytes, size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

weft_status weft__stack_shape_init(weft__stack_shape *shape, size_t bytes)
{
  if (bytes < WEFT_STACK_MIN || bytes > WEFT_STACK_MAX) return WEFT_INVALID;
  size_t page = weft__page_bytes();
  size_t guard = round_up(STACK_GUARD_BYTES, page);
  size_t usable = round_up(bytes, page);
  if ((guard + usable + page) / page % 2 == 0) guard += page;
  *shape = (weft__stack_shape){
      .page = page,
      .guard = guard,
      .usable = usable,
      .span = usable + page,
      .stride = guard + usable + page,
  };
  return WEFT_OK;
}

/* The slab's own record stands in front of its stacks, in the same mapping: once a pool is made,
   nothing of it comes from the heap. */
static size_t slab_head(const weft__stack_shape *shape, uint32_t count)
{
  return round_up(sizeof(weft__slab) + count * sizeof(unsigned), shape->page);
}

/* Maps as many stacks as the system will give at once, `count` at most. */
static weft__slab *slab_map(const weft__stack_shape *shape, uint32_t count)
{
  for (; count; count /= 2) {
    size_t head = slab_head(shape, count);
    void *mapping = weft__system.map(head + shape->stride * count);
    if (mapping != MAP_FAILED) {
      weft__slab *slab = mapping;
      *slab = (weft__slab){.count = count, .base = (char *)mapping + head};
      return slab;
    }
    if (errno != ENOMEM) return NULL;
  }
  return NULL;
}

static void slab_unmap(const weft__stack_shape *shape, weft__slab *slab)
{
  char *end = slab->base + shape->stride * slab->count;
  (void)weft__system.munmap(slab, (size_t)(end - (char *)slab));
}

/* Emulators and sandboxes exist that answer 0 to advice they never heard of. A true guard refuses
   to be read in, and says so in the one way that nothing else does. */
static bool slab_guard_is_true(const weft__stack_shape *shape, char *guard)
{
  return weft__system.madvise(guard, shape->page, STACK_POPULATE_READ) != 0 && errno == EFAULT;
}

static bool slab_guard_by_advice(const weft__stack_shape *shape, char *guard, bool first)
{
  return weft__system.madvise(guard, shape->guard, STACK_GUARD_INSTALL) == 0 &&
         (!first || slab_guard_is_true(shape, guard));
}

/* Guards stack after stack; returns how many have one, and why no more. Once the advice was not
   taken, the rest of the slab does without. */
static uint32_t slab_guard_all(const weft__stack_shape *shape, char *base, uint32_t count,
                               weft_status *why)
{
  bool by_advice = true;
  uint32_t done = 0;
  for (; done < count; done++) {
    char *guard = base + done * shape->stride;
    by_advice = by_advice && slab_guard_by_advice(shape, guard, done == 0);
    if (!by_advice && weft__system.mprotect(guard, shape->guard, PROT_NONE) != 0) break;
  }
  *why = WEFT_OK;
  if (done == count) return done;
  *why = errno == ENOMEM ? WEFT_MAPCOUNT : WEFT_NOSTACK;
  if (errno != ENOMEM) return done;
  return done > STACK_SPARE ? done - STACK_SPARE : 0;
}

weft_status weft__slab_new(const weft__stack_shape *shape, uint32_t count, weft__slab **out)
{
  weft_status status;
  weft__slab *slab = slab_map(shape, count);
  if (!slab) return WEFT_NOSTACK;
  if (slab->count < count) slab->cut = WEFT_NOSTACK;

  /* Only a wish: the kernel may have been built without huge pages. */
  size_t bytes = shape->stride * slab->count;
  (void)weft__system.madvise(slab->base, bytes, MADV_NOHUGEPAGE);

  uint32_t guarded = slab_guard_all(shape, slab->base, slab->count, &status);
  if (guarded == 0) {
    slab_unmap(shape, slab);
    return status;
  }
  if (guarded < slab->count) {
    size_t kept = shape->stride * guarded;
    (void)weft__system.munmap(slab->base + kept, bytes - kept);
    slab->count = guarded;
    slab->cut = status;
  }
  for (uint32_t i = 0; i < slab->count; i++) {
    char *low = weft__slab_stack(shape, slab, i);
    slab->numbers[i] = weft__san_mapped(low, low + shape->span);
  }
  *out = slab;
  return WEFT_OK;
}

void weft__slab_delete(const weft__stack_shape *shape, weft__slab *slab)
{
  for (uint32_t i = 0; i < slab->count; i++) {
    char *low = weft__slab_stack(shape, slab, i);
    weft__san_unmapping(low, low + shape->span, slab->numbers[i]);
  }
  slab_unmap(shape, slab);
}

char *weft__slab_stack(const weft__stack_shape *shape, const weft__slab *slab, uint32_t index)
{
  return slab->base + shape->stride * index + shape->guard;
}

#define STACK_PAGES_AT_ONCE 512

size_t weft__stack_resident(const weft__stack_shape *shape, char *low, char *high)
{
  unsigned char pages[STACK_PAGES_AT_ONCE];
  size_t resident = 0;
  while (low < high) {
    size_t count = (size_t)(high - low) / shape->page;
    if (count > STACK_PAGES_AT_ONCE) count = STACK_PAGES_AT_ONCE;
    if (weft__system.mincore(low, count * shape->page, pages) != 0) return resident;
    for (size_t i = 0; i < count; i++) resident += pages[i] & 1 ? shape->page : 0;
    low += count * shape->page;
  }
  return resident;
}

size_t weft__stack_depth(const weft__stack_shape *shape, char *low, char *high)
{
  unsigned char pages[STACK_PAGES_AT_ONCE];
  while (low < high) {
    size_t count = (size_t)(high - low) / shape->page;
    if (count > STACK_PAGES_AT_ONCE) count = STACK_PAGES_AT_ONCE;
    if (weft__system.mincore(low, count * shape->page, pages) != 0) return 0;
    for (size_t i = 0; i < count; i++) {
      if (pages[i] & 1) return (size_t)(high - low) - i * shape->page;
    }
    low += count * shape->page;
  }
  return 0;
}

bool weft__stack_give_back(char *low, char *high)
{
  return low < high && weft__system.madvise(low, (size_t)(high - low), MADV_DONTNEED) == 0;
}
