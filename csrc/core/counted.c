/* SPDX-License-Identifier: MIT */
/*
** counted.c - objects that several threads hold. The only file that counts references; it knows
** nothing of what the objects are.
*/
#include <stdatomic.h>

#include "base/base.h"
#include "platform/system.h"

/* Stands in front of the object, which so has the alignment that malloc gives. */
typedef struct counted {
  _Alignas(16) _Atomic(uint32_t) holders;
  void (*end)(void *object);
} counted;

static counted *head_of(void *object)
{
  return (counted *)object - 1;
}

void *weft_counted_new(size_t size, void (*end)(void *object))
{
  if (size > SIZE_MAX - sizeof(counted)) return NULL;
  counted *head = weft__calloc(1, sizeof *head + size);
  if (!head) return NULL;
  atomic_init(&head->holders, 1);
  head->end = end;
  return head + 1;
}

void *weft_counted_keep(void *object)
{
  /* Relaxed: who keeps it has it already, or took it from one who has. */
  uint32_t before =
      atomic_fetch_add_explicit(&head_of(object)->holders, 1, memory_order_relaxed);
  WEFT_CHECK(before > 0 && before < UINT32_MAX);
  return object;
}

bool weft_counted_is_alone(const void *object)
{
  /* Acquire: the partner is the release of those who held it before. */
  return atomic_load_explicit(&((const counted *)object - 1)->holders, memory_order_acquire) ==
         1;
}

void weft_counted_drop(void *object)
{
  if (!object) return;
  counted *head = head_of(object);
  /* Release: what this holder did is over. The partner is the fence of the last one. */
  uint32_t before = atomic_fetch_sub_explicit(&head->holders, 1, memory_order_release);
  WEFT_CHECK(before > 0);
  if (before > 1) return;
  /* An acquiring load in place of a fence, which ThreadSanitizer does not know. */
  (void)atomic_load_explicit(&head->holders, memory_order_acquire);
  if (head->end) head->end(object);
  weft__free(head);
}
