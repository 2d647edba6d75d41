/* SPDX-License-Identifier: MIT */
/*
** deque.h - a double-ended queue with one owner, who pushes and pops at the bottom, and any number
** of thieves, who take from the top. Knows 32-bit numbers, not what they stand for.
**
** The queue of Chase and Lev (Dynamic Circular Work-Stealing Deque, SPAA 2005) with the C11 orders
** that Lê, Pop, Cohen and Zappa Nardelli proved (Correct and Efficient Work-Stealing for Weak Memory
** Models, PPoPP 2013), but for three things. It does not grow: its user knows how many numbers there
** are. Their two fences are sequentially consistent accesses of `bottom` and `top` themselves: that
** is one locked exchange a pop on x86-64, where clang makes an `mfence` of the fence, eight times the
** price, and thread sanitizers understand it. Indices are signed and only grow, so that an empty pop at
** zero does not wrap and a thief is never fooled by an index that comes again.
*/
#ifndef WEFT_CORE_DEQUE_H
#define WEFT_CORE_DEQUE_H

#include <stdatomic.h>

#include "base/base.h"

/* The owner's and the thieves' index stand on lines of their own, or each steal would slow each
   push down. */
typedef struct weft__deque {
  _Alignas(64) _Atomic int64_t bottom; /* written by the owner */
  int64_t known_top;                   /* the owner's: `top` is at least this */
  _Atomic uint32_t *items;
  int64_t mask;                     /* size - 1 */
  _Alignas(64) _Atomic int64_t top; /* moved by who takes the oldest */
} weft__deque;

/* Room for at least `count` numbers. WEFT_NOMEM. */
weft_status weft__deque_init(weft__deque *deque, uint32_t count);
void weft__deque_fini(weft__deque *deque);

/* Debug walker, for a quiet queue. */
bool weft__deque_valid(const weft__deque *deque);

/* Anybody: how many there are, give or take what happens meanwhile. In sequential consistency, for
   those who look a last time before they sleep. */
static inline int64_t weft__deque_count(const weft__deque *deque)
{
  int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);
  int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_seq_cst);
  return bottom > top ? bottom - top : 0;
}

/*
** The owner: false if it is full. The release publishes the item and what stands behind it; its partner
** is the load of `bottom` in steal.
*/
static inline bool weft__deque_push(weft__deque *deque, uint32_t item)
{
  int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
  if (WEFT_UNLIKELY(bottom - deque->known_top > deque->mask)) {
    deque->known_top = atomic_load_explicit(&deque->top, memory_order_acquire);
    if (bottom - deque->known_top > deque->mask) return false;
  }
  atomic_store_explicit(&deque->items[bottom & deque->mask], item, memory_order_relaxed);
  atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
  return true;
}

/* The owner: the item that pop would give, if no thief comes first; false if there is none. */
static inline bool weft__deque_peek(const weft__deque *deque, uint32_t *item)
{
  int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
  if (bottom <= atomic_load_explicit(&deque->top, memory_order_relaxed)) return false;
  *item = atomic_load_explicit(&deque->items[(bottom - 1) & deque->mask], memory_order_relaxed);
  return true;
}

/* The owner: what may come up so many pops later, to be fetched ahead; anything else near the ends. */
static inline uint32_t weft__deque_ahead(const weft__deque *deque, int64_t pops)
{
  int64_t at = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1 - pops;
  return atomic_load_explicit(&deque->items[at & deque->mask], memory_order_relaxed);
}

/*
** The owner: takes the newest; false if there is none. The exchange of `bottom` and the load of `top`
** stand against the loads of a thief in the opposite order: one of the two sees the other. For the
** last item both ask `top`.
*/
static inline bool weft__deque_pop(weft__deque *deque, uint32_t *item)
{
  int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
  /* Empty, which is most often: `top` never goes back, so an old value proves it. */
  if (bottom < atomic_load_explicit(&deque->top, memory_order_relaxed)) return false;
  (void)atomic_exchange_explicit(&deque->bottom, bottom, memory_order_seq_cst);
  int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);
  if (top > bottom) {
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_relaxed);
    return false;
  }
  *item = atomic_load_explicit(&deque->items[bottom & deque->mask], memory_order_relaxed);
  if (top < bottom) return true;
  bool won = atomic_compare_exchange_strong_explicit(
      &deque->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed);
  atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_relaxed);
  return won;
}

/* Whether somebody wants an item. */
typedef bool weft__deque_fits(const void *pool, const void *group, uint32_t item);

/*
** Anybody but the owner: takes the oldest. False if there is none or another was faster; `*raced`
** is set then. The item is read before `top` is moved: after that its place may be filled anew.
** With `fits`, only an item for which that is true: it may be asked about one that is taken meanwhile.
*/
static inline bool weft__deque_steal_if(weft__deque *deque, weft__deque_fits *fits,
                                        const void *pool, const void *group, uint32_t *item,
                                        bool *raced)
{
  int64_t top = atomic_load_explicit(&deque->top, memory_order_seq_cst);
  /* Partner: the release in push, whose item and what it stands for are seen after this. */
  int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_seq_cst);
  if (top >= bottom) return false;
  uint32_t taken = atomic_load_explicit(&deque->items[top & deque->mask], memory_order_relaxed);
  if (fits && !fits(pool, group, taken)) return false;
  if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1, memory_order_seq_cst,
                                               memory_order_relaxed)) {
    *raced = true;
    return false;
  }
  *item = taken;
  return true;
}

static inline bool weft__deque_steal(weft__deque *deque, uint32_t *item, bool *raced)
{
  return weft__deque_steal_if(deque, NULL, NULL, NULL, item, raced);
}

#endif
