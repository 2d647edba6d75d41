/* SPDX-License-Identifier: MIT */
/*
** probe.c - looks into coroutines without running them: to warm the cache before a resume, and to
** name a routine in the overflow message.
*/
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

/* --- Where things are ---------------------------------------------------------------------- */

/*
** What a resume touches first hangs off the coroutine by pointers that no API shows: the top of its
** stack and, on Lua 5.4, its chain of call records. Their places are not assumed but found, once, by
** watching which word of a coroutine changes when a value is pushed, and which one equals the
** record that the debug API gives. What is not found without doubt is not used. The pointers are
** only prefetched, or read from memory that belongs to a living coroutine.
*/
static struct {
  size_t top;      /* in the coroutine: offsets in bytes, 0 for unknown */
  size_t call;     /* in the coroutine */
  size_t previous; /* in the call record */
} place;

/* The words of a coroutine and of a call record that are looked at: inside both on every build, and
   initialised. */
#define FIRST_WORD COMPAT_FIRST_WORD
#define STATE_WORDS 8
#define CALL_WORDS 4

static const void *word_at(const void *object, size_t offset)
{
  const void *word;
  memcpy(&word, (const char *)object + offset, sizeof word);
  return word;
}

/* The only word of `object` that equals `value`; 0 for none or several. */
static size_t find_word(const void *object, size_t first, size_t words, const void *value)
{
  size_t found = 0, count = 0;
  for (size_t i = first; value && i < words; i++) {
    if (word_at(object, i * sizeof(void *)) != value) continue;
    found = i * sizeof(void *);
    count++;
  }
  return count == 1 ? found : 0;
}

/* The only word that grows by the size of a slot with each of three pushes. */
static size_t find_top(lua_State *co)
{
  uintptr_t before[STATE_WORDS];
  size_t steps[STATE_WORDS] = {0}, found = 0, count = 0;
  memcpy(before, co, sizeof before);
  for (int push = 1; push <= 3; push++) {
    lua_pushnil(co);
    for (size_t i = FIRST_WORD; i < STATE_WORDS; i++) {
      uintptr_t now = (uintptr_t)word_at(co, i * sizeof(void *));
      size_t grown = (size_t)(now - before[i]);
      steps[i] += grown == 8u * (unsigned)push || grown == 16u * (unsigned)push;
    }
  }
  lua_pop(co, 3);
  for (size_t i = FIRST_WORD; i < STATE_WORDS; i++) {
    if (steps[i] != 3) continue;
    found = i * sizeof(void *);
    count++;
  }
  return count == 1 ? found : 0;
}

static int yield_now(lua_State *L)
{
  return lua_yield(L, 0);
}

void probe_open(lua_State *L)
{
  int nresults;
  lua_State *co = lua_newthread(L);
  place.top = find_top(co);
  if (luaL_loadstring(co, "local f = ... f() f()") == LUA_OK) {
    lua_pushcfunction(co, yield_now);
    if (compat_resume(co, NULL, 1, &nresults) == LUA_YIELD) {
      const void *call = compat_call_record(co, 0);
      place.call = find_word(co, FIRST_WORD, STATE_WORDS, call);
      if (call) place.previous = find_word(call, 1, CALL_WORDS, compat_call_record(co, 1));
    }
  }
  lua_pop(L, 1);
}

/* Its words, and the cache lines that they are in. */
static inline void prefetch_object(const void *object)
{
  __builtin_prefetch(object);
  __builtin_prefetch((const char *)object + 64);
}

void probe_prefetch(void *host, weft_routine *far, weft_routine *middle, weft_routine *near)
{
  const lua_State *co = ((const record *)weft_routine_record(far))->thread;
  (void)host;
  for (int line = 0; line < COMPAT_STATE_LINES; line++)
    __builtin_prefetch((const char *)co + line * 64);
  co = ((const record *)weft_routine_record(middle))->thread;
  if (co && place.top) {
    const char *top = word_at(co, place.top);
    __builtin_prefetch(top - 64);
    __builtin_prefetch(top);
    if (place.call) prefetch_object(word_at(co, place.call));
  }
  co = ((const record *)weft_routine_record(near))->thread;
  if (co && place.call && place.previous)
    prefetch_object(word_at(word_at(co, place.call), place.previous));
}

/* --- The overflow message ------------------------------------------------------------------ */

/* The outermost level of a stack that may be very deep: by doubling, then by halving. */
static int last_level(lua_State *L)
{
  lua_Debug ar;
  int low = 0, high = 1;
  while (lua_getstack(L, high, &ar)) {
    low = high;
    high *= 2;
  }
  while (low + 1 < high) {
    int middle = (low + high) / 2;
    if (lua_getstack(L, middle, &ar))
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* In a signal handler, on a stack that has just overflowed: reads, and allocates nothing. */
void probe_describe(void *host, weft_routine *self, char *text, size_t size)
{
  const record *rec = weft_routine_record(self);
  const realm *R = host;
  unsigned number = weft_routine_slot(R->world, self);
  char name[64] = "";
  lua_Debug ar;
  if (!rec->thread) {
    snprintf(text, size, "routine %u, which has not begun", number);
    return;
  }
  if (rec->named) {
    lua_rawgeti(R->store, STORE_NAMES, (int)number + 1);
    snprintf(name, sizeof name, " '%.50s'", lua_tostring(R->store, -1));
    lua_pop(R->store, 1);
  }
  for (int level = last_level(rec->thread); level >= 0; level--) {
    if (!lua_getstack(rec->thread, level, &ar) || !lua_getinfo(rec->thread, "S", &ar)) continue;
    if (ar.linedefined < 0) continue;
    snprintf(text, size, "routine %u%s (%s:%d)", number, name, ar.short_src, ar.linedefined);
    return;
  }
  snprintf(text, size, "routine %u%s (in a coroutine of its own or a C function)", number,
           name);
}
