/* SPDX-License-Identifier: MIT */
/*
** watches.c - the lists that `any` and `all` wait for: read, armed, answered. waits.c leaves with
** what is armed here and comes back for the answer.
**
** A list becomes one userdata, the set: a watch for each entry, and as its user value a copy of the
** handles, so that the script may do with its own list what it likes. The scheduler follows the
** watches while the wait lasts: until then the world keeps the set, whatever becomes of the
** coroutine.
*/
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

#define MAX_ENTRIES ((size_t)1 << 24)

struct watch_set {
  uint32_t count;
  bool all;
  int64_t timeout; /* ns; negative for none */
  weft_watch watches[];
};

static const char *name_of(const watch_set *set)
{
  return set->all ? "routine.all" : "routine.any";
}

/* --- Reading ------------------------------------------------------------------------------- */

static size_t check_list(lua_State *L, const char *who, bool all)
{
  if (!lua_istable(L, 1))
    binding_misuse(L, "%s: a list of routine handles expected, got %s", who, binding_got(L, 1));
  size_t count = compat_raw_length(L, 1);
  if (count == 0 && !all)
    binding_misuse(L, "%s: the list is empty, there is nothing to wait for", who);
  if (count > MAX_ENTRIES) binding_misuse(L, "%s: at most 2^24 handles, got more", who);
  return count;
}

/* -> table, a copy of the handles of the list at 1 */
static void push_handles(lua_State *L, const char *who, size_t count)
{
  char entry[48];
  lua_createtable(L, (int)count, 0);
  int copy = lua_gettop(L);
  for (size_t i = 1; i <= count; i++) {
    snprintf(entry, sizeof entry, "%s: entry %zu", who, i);
    lua_rawgeti(L, 1, (int)i);
    handle_check(L, copy + 1, entry);
    lua_rawseti(L, copy, (int)i);
  }
}

void watches_new(lua_State *L, bool all)
{
  const char *who = all ? "routine.all" : "routine.any";
  size_t count = check_list(L, who, all);
  lua_settop(L, 1);
  lua_pushliteral(L, "timeout");
  lua_rawget(L, 1);
  int64_t timeout = lua_isnil(L, 2) ? -1 : binding_check_seconds(L, 2, who, "timeout");
  lua_settop(L, 1);
  watch_set *set = compat_new_object(L, sizeof *set + count * sizeof *set->watches);
  *set = (watch_set){(uint32_t)count, all, timeout};
  memset(set->watches, 0, count * sizeof *set->watches);
  push_handles(L, who, count);
  compat_set_value(L, 2);
  lua_replace(L, 1);
}

/* --- Arming -------------------------------------------------------------------------------- */

/* A table with a place for each slot, made when it is first needed: nothing is allocated later. */
static void need_sets(lua_State *L, realm *R)
{
  if (lua_istable(R->store, STORE_SETS)) return;
  lua_createtable(L, (int)R->config.capacity, 0);
  lua_xmove(L, R->store, 1);
  lua_replace(R->store, STORE_SETS);
}

void watches_keep(realm *R, const weft_routine *self)
{
  lua_rawseti(R->store, STORE_SETS, (int)weft_routine_slot(R->world, self) + 1);
}

void watches_forget(realm *R, const weft_routine *self)
{
  if (!lua_istable(R->store, STORE_SETS)) return;
  lua_pushnil(R->store);
  watches_keep(R, self);
}

/* What is known of each handle here; the world knows nothing of those of other worlds. */
static void prepare(lua_State *L, const realm *R, watch_set *set)
{
  compat_get_value(L, 1);
  int handles = lua_gettop(L);
  for (uint32_t i = 0; i < set->count; i++) {
    lua_rawgeti(L, handles, (int)i + 1);
    const handle *h = lua_touserdata(L, -1);
    weft_state state = handle_state(L, h);
    bool ended = state >= WEFT_STATE_COMPLETED;
    if (!ended && handle_realm(L, h) != R)
      binding_misuse(L, "%s: entry %d: the routine is of another world, which does not run now",
                     name_of(set), (int)i + 1);
    set->watches[i].handle = h->id;
    set->watches[i].state = ended ? state : WEFT_STATE_QUEUED;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

const char *watches_name(lua_State *L)
{
  return name_of(lua_touserdata(L, 1));
}

weft_status watches_arm_set(realm *R, weft_routine *self, void *set, bool *done)
{
  watch_set *s = set;
  return weft_arm_any(R->world, self, s->watches, s->count, s->all ? s->count : 1, s->timeout,
                      done);
}

weft_status watches_arm(lua_State *L, realm *R, weft_routine *self, bool *done)
{
  watch_set *set = lua_touserdata(L, 1);
  need_sets(L, R);
  prepare(L, R, set);
  weft_status status = watches_arm_set(R, self, set, done);
  if (status == WEFT_OK && !*done) {
    lua_pushvalue(L, 1);
    lua_xmove(L, R->store, 1);
    watches_keep(R, self);
  }
  return status;
}

/* --- Answering ----------------------------------------------------------------------------- */

/* -> what join gives of one entry; how many values */
static int push_entry(lua_State *L, const watch_set *set, int handles, uint32_t i)
{
  weft_state state = set->watches[i].state;
  luaL_checkstack(L, 4, "results");
  if (state == WEFT_STATE_EXPIRED) {
    lua_pushnil(L);
    lua_pushliteral(L, "expired");
    return 2;
  }
  lua_rawgeti(L, handles, (int)i + 1);
  int index = lua_gettop(L);
  int count = handle_push_result(L, index, lua_touserdata(L, index), state);
  lua_remove(L, index);
  return count;
}

/* -> the same as a table with `n` */
static void push_packed(lua_State *L, const watch_set *set, int handles, uint32_t i)
{
  int count = push_entry(L, set, handles, i);
  luaL_checkstack(L, 3, "results");
  lua_createtable(L, count, 1);
  int table = lua_gettop(L) - count;
  lua_insert(L, table);
  lua_pushinteger(L, count);
  lua_setfield(L, table, "n");
  for (; count > 0; count--) lua_rawseti(L, table, count);
}

int watches_push_answer(lua_State *L)
{
  const watch_set *set = lua_touserdata(L, 1);
  uint32_t i = 0;
  lua_settop(L, 1);
  compat_get_value(L, 1);
  if (!set->all) {
    while (i < set->count - 1 && set->watches[i].state < WEFT_STATE_COMPLETED) i++;
    lua_pushinteger(L, (lua_Integer)i + 1);
    return 1 + push_entry(L, set, 2, i);
  }
  lua_createtable(L, (int)set->count, 0);
  for (; i < set->count; i++) {
    push_packed(L, set, 2, i);
    lua_rawseti(L, 3, (int)i + 1);
  }
  return 1;
}
