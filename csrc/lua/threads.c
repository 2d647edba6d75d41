/* SPDX-License-Identifier: MIT */
/*
** threads.c - the coroutines that routines run on, and the donor that their depth is counted from.
**
** A routine takes a coroutine at its first resume and gives it back at its end; the one that was
** given back last is taken first, while its memory is still in the cache. A queued routine has
** none, so no script can hold one whose function has not begun.
*/
#include "lua/binding.h"

/* The dearest of the C calls that Lua counts, a gsub callback, takes 2.2 KiB of native stack a level;
   16 KiB are kept for what C libraries do. */
#define LEVEL_BYTES 2253
#define KEPT_BYTES ((size_t)16 << 10)

bool threads_init(lua_State *L, threads *t, uint32_t size)
{
  *t = (threads){.size = size};
  t->idle = binding_alloc(L, NULL, 0, size * sizeof *t->idle);
  return t->idle != NULL;
}

void threads_fini(lua_State *L, threads *t)
{
  if (t->idle) binding_alloc(L, t->idle, t->size * sizeof *t->idle, 0);
  *t = (threads){0};
}

/* -> ; a new coroutine, kept alive by a cell */
static int make_thread(lua_State *L, void *context)
{
  realm *R = context;
  threads *t = &R->threads;
  lua_State *thread = lua_newthread(L);
  values_reserve(L, R, 1); /* last: the other may run finalizers, which take cells */
  t->idle[t->count++] = (idle_thread){thread, values_put(R, L, -1)};
  return 0;
}

bool threads_take(realm *R, record *rec)
{
  threads *t = &R->threads;
  if (t->count == 0 && binding_protect(R, make_thread, R, 0, 0) != LUA_OK) return false;
  idle_thread taken = t->idle[--t->count];
  rec->thread = taken.thread;
  rec->number = taken.cell;
  /* A script may have kept the coroutine, which looked dead to it, and set a hook. */
  compat_clear_hook(taken.thread);
  return true;
}

void threads_give(realm *R, record *rec, bool reusable)
{
  threads *t = &R->threads;
  if (!rec->thread) return;
  if (reusable)
    t->idle[t->count++] = (idle_thread){rec->thread, rec->number};
  else
    values_drop(R, rec->number);
  rec->thread = NULL;
}

/* --- The donor ----------------------------------------------------------------------------- */

static int do_nothing(lua_State *L)
{
  (void)L;
  return 0;
}

/* Resuming starts at the depth of the thread it comes from, plus one, and a thread keeps the depth
   of its last resume: two that resume each other in turn climb to any depth without nesting. */
lua_State *threads_push_donor(lua_State *L, size_t stack_bytes)
{
  size_t levels = (stack_bytes - KEPT_BYTES) / LEVEL_BYTES;
  if (levels + 1 > COMPAT_C_LEVELS) {
    lua_pushnil(L);
    return NULL;
  }
  lua_State *donor = lua_newthread(L), *other = lua_newthread(L);
  for (size_t depth = 0; depth < COMPAT_C_LEVELS - levels; depth++) {
    int nresults;
    lua_State *next = other;
    lua_pushcfunction(next, do_nothing);
    compat_resume(next, donor, 0, &nresults);
    other = donor;
    donor = next;
  }
  /* Both are on the stack; the shallower one goes. */
  if (lua_tothread(L, -1) == donor)
    lua_remove(L, -2);
  else
    lua_pop(L, 1);
  return donor;
}
