/* SPDX-License-Identifier: MIT */
/*
** save_desks.c - work on chunks, shared among threads. Who works on a chunk takes a desk: what zstd
** and the sorting of bytes need, made once and not for each chunk. A thread looks for its own one
** first, where it was before, so that in practice there is one for each.
*/
#define ZSTD_STATIC_LINKING_ONLY /* for the one call that tells zstd where memory comes from */
#include <zstd.h>

#include <stdatomic.h>

#include "core/save.h"
#include "platform/system.h"

/* As many threads as a pool can have, and some of others that take part in their waits. */
#define DESKS 136

typedef struct sharing {
  weft__save_piece piece;
  void *arg;
  uint32_t count;
  /* Relaxed, both: numbers are given out, and who waits for the range sees all that was done. */
  _Atomic(uint32_t) next;
  _Atomic(weft_status) failed;
  weft__save_desk desks[DESKS];
  _Atomic(bool) taken[DESKS];
} sharing;

/* --- Desks --------------------------------------------------------------------------------- */

static void *take(void *opaque, size_t size)
{
  (void)opaque;
  return weft__alloc(size);
}

static void give(void *opaque, void *block)
{
  (void)opaque;
  weft__free(block);
}

static const ZSTD_customMem memory = {take, give, NULL};

bool weft__desk_ready(weft__save_desk *desk, bool packs)
{
  for (int i = 0; i < 2; i++) {
    if (!desk->scratch[i]) desk->scratch[i] = weft__alloc(SAVE_CHUNK);
    if (!desk->scratch[i]) return false;
  }
  if (packs && !desk->packer) desk->packer = ZSTD_createCCtx_advanced(memory);
  if (!packs && !desk->unpacker) desk->unpacker = ZSTD_createDCtx_advanced(memory);
  return packs ? desk->packer != NULL : desk->unpacker != NULL;
}

static void desk_fini(weft__save_desk *desk)
{
  ZSTD_freeCCtx(desk->packer);
  ZSTD_freeDCtx(desk->unpacker);
  weft__free(desk->scratch[0]);
  weft__free(desk->scratch[1]);
}

/* --- Sharing ------------------------------------------------------------------------------- */

static uint32_t take_desk(sharing *all)
{
  uint32_t i = (uint32_t)(weft_job_worker() + 1) % DESKS;
  /* Acquire: what the last one has left there. Its partner is the release of giving it back. */
  while (atomic_exchange_explicit(&all->taken[i], true, memory_order_acquire))
    i = (i + 1) % DESKS;
  return i;
}

/* False if there is none left, or one has failed. */
static bool do_next(sharing *all)
{
  if (atomic_load_explicit(&all->failed, memory_order_relaxed)) return false;
  uint32_t number = atomic_fetch_add_explicit(&all->next, 1, memory_order_relaxed);
  if (number >= all->count) return false;
  uint32_t desk = take_desk(all);
  weft_status status = all->piece(all->arg, number, &all->desks[desk]);
  atomic_store_explicit(&all->taken[desk], false, memory_order_release);
  if (status) atomic_store_explicit(&all->failed, status, memory_order_relaxed);
  return true;
}

/* Which number a part has does not matter: the next chunk is the largest that is left. */
static weft_status do_part(size_t first, size_t last, void *arg)
{
  for (; first < last; first++)
    if (!do_next(arg)) break;
  return WEFT_OK;
}

weft_status weft__save_share(weft_pool *pool, weft_job_priority priority, uint32_t count,
                             weft__save_piece piece, void *arg)
{
  if (count == 0) return WEFT_OK;
  sharing *all = weft__calloc(1, sizeof *all);
  if (!all) return WEFT_NOMEM;
  all->piece = piece;
  all->arg = arg;
  all->count = count;
  weft_range range = {.count = count, .grain = 1, .fn = do_part, .arg = all};
  /* A pool that is stopped meanwhile does not do its part: what is left is done here. */
  if (pool && count > 1) (void)weft_range_run(pool, &range, priority);
  while (do_next(all)) continue;
  weft_status status = atomic_load_explicit(&all->failed, memory_order_relaxed);
  for (int i = 0; i < DESKS; i++) desk_fini(&all->desks[i]);
  weft__free(all);
  return status;
}
