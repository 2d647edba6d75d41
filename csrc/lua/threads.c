/* SPDX-License-Identifier: MIT */
/*
** threads.c - the coroutines that routines run on, and the donor that their depth is counted from.
**
** A routine takes a coroutine at its first resume and gives it back at its end; the one that was
** given back last is taken first, while its memory is still in the cache. A queued routine has
** none, so no script can hold one whose function has not begun.
*/
#include "lua/binding.h"

/* Lua 5.4 allows 200 nested C calls and runs error handling up to 220; the dearest of them, a gsub
   callback, takes 2.2 KiB of native stack a level, and 16 KiB are kept for what C libraries do. */
#define MAX_DEPTH 220
#define LEVEL_BYTES 2253
#define KEPT_BYTES ((size_t)16 << 10)

bool threads_init(lua_State *L, threads *t, uint32_t size)
{
  *t = (threads){.size = size};
  t->of = binding_alloc(L, NULL, 0, size * sizeof *t->of);
  t->idle = binding_alloc(L, NULL, 0, size * sizeof *t->idle);
  if (t->of && t->idle) return true;
  threads_fini(L, t);
  return false;
}

void threads_fini(lua_State *L, threads *t)
{
  if (t->of) binding_alloc(L, t->of, t->size * sizeof *t->of, 0);
  if (t->idle) binding_alloc(L, t->idle, t->size * sizeof *t->idle, 0);
  *t = (threads){0};
}

/* thread table -> ; makes the coroutine of a number */
static int make_thread(lua_State *L, void *context)
{
  threads *t = &((realm *)context)->threads;
  uint32_t number = t->idle_count > 0 ? t->idle[t->idle_count - 1] : t->count;
  lua_State *thread = lua_newthread(L);
  lua_rawseti(L, 1, (int)number + 1);
  t->of[number] = thread;
  return 0;
}

bool threads_take(realm *R, record *rec)
{
  threads *t = &R->threads;
  bool idle = t->idle_count > 0;
  uint32_t number = idle ? t->idle[t->idle_count - 1] : t->count;
  if (!idle || !t->of[number]) {
    lua_pushvalue(R->store, STORE_THREADS);
    lua_xmove(R->store, R->universe->helper, 1);
    if (binding_protect(R, make_thread, R, 1, 0) != LUA_OK) return false;
  }
  if (idle)
    t->idle_count--;
  else
    t->count++;
  rec->thread = t->of[number];
  rec->number = number;
  return true;
}

void threads_give(realm *R, record *rec, bool reusable)
{
  threads *t = &R->threads;
  uint32_t number = rec->number;
  if (!rec->thread) return;
  if (reusable) {
    compat_clear_hook(rec->thread);
  } else {
    lua_pushboolean(R->store, 0);
    lua_rawseti(R->store, STORE_THREADS, (int)number + 1);
    t->of[number] = NULL;
  }
  rec->thread = NULL;
  t->idle[t->idle_count++] = number;
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
  if (WEFT_LUAJIT || levels >= MAX_DEPTH) {
    lua_pushnil(L);
    return NULL;
  }
  lua_State *donor = lua_newthread(L), *other = lua_newthread(L);
  for (size_t depth = 0; depth < MAX_DEPTH - levels; depth++) {
    int nresults;
    lua_State *next = other;
    lua_pushcfunction(next, do_nothing);
    compat_resume(next, donor, 0, &nresults);
    other = donor;
    donor = next;
  }
  /* Both are on the stack; the shallower one goes. */
  if (lua_tothread(L, -1) == donor) lua_remove(L, -2);
  else lua_pop(L, 1);
  return donor;
}
