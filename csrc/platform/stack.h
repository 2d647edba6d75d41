/* SPDX-License-Identifier: MIT */
/*
** stack.h - native stacks with a guard below each, mapped in slabs. Knows memory, not what runs
** in it.
*/
#ifndef WEFT_PLATFORM_STACK_H
#define WEFT_PLATFORM_STACK_H

#include "base/base.h"

/*
** How the stacks of a pool look. A slab is its own record, then guard, stack, guard, stack, and so on.
** The guard is added to the bytes asked for, and so is one page at the top, where the owner of
** the stack keeps its record: `usable` bytes are left for frames whatever that takes. The
** distance from stack to stack is an odd number of pages, so that the tops do not fall on the
** same lines of the caches.
*/
typedef struct weft__stack_shape {
  size_t page;
  size_t guard;  /* bytes that fault below each stack */
  size_t usable; /* bytes asked for, in whole pages */
  size_t span;   /* usable and the page on top */
  size_t stride; /* guard and span */
} weft__stack_shape;

#define WEFT_STACK_MIN ((size_t)16 << 10)
#define WEFT_STACK_MAX ((size_t)1 << 30)

/* WEFT_INVALID for bytes outside WEFT_STACK_MIN to WEFT_STACK_MAX. */
weft_status weft__stack_shape_init(weft__stack_shape *shape, size_t bytes);

typedef struct weft__slab weft__slab;
struct weft__slab {
  weft__slab *next; /* for the owner */
  uint32_t used;    /* stacks handed out at least once, counted by the owner */
  uint32_t count;   /* stacks */
  weft_status cut;  /* why there are fewer than were asked for, or WEFT_OK */
  char *base;
  unsigned numbers[]; /* Valgrind's, one per stack */
};

/*
** Maps up to `count` stacks, fewer (but at least one) when the system does not give more.
** WEFT_NOSTACK, or WEFT_MAPCOUNT when guards have to be mappings of their own and
** the process has as many mappings as it may have. Nothing is left over after a failure.
*/
weft_status weft__slab_new(const weft__stack_shape *shape, uint32_t count, weft__slab **out);

/* Unmaps it. Memory that the system will not take back is left alone for ever, not reused. */
void weft__slab_delete(const weft__stack_shape *shape, weft__slab *slab);

/* The lowest usable byte of a stack; its end is `span` bytes above. */
char *weft__slab_stack(const weft__stack_shape *shape, const weft__slab *slab, uint32_t index);

/* Bytes of whole pages in [low, high) that are in memory, both on page bounds; and from the
   lowest such page to `high`. Pages that were swapped out may be missed. */
size_t weft__stack_resident(const weft__stack_shape *shape, char *low, char *high);
size_t weft__stack_depth(const weft__stack_shape *shape, char *low, char *high);

/* Gives the pages of [low, high) back; they read as zeroes then. False if the system refused. */
bool weft__stack_give_back(char *low, char *high);

#endif
