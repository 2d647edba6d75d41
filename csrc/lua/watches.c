/* SPDX-License-Identifier: MIT */
/*
** watches.c - the lists that `any` and `all` wait for: read, armed, answered. waits.c leaves with
** what is armed here and comes back for the answer.
**
** A list becomes one userdata, the set: a watch for each entry, and as its user value a copy of the
** entries, so that the script may do with its own list what it likes. The scheduler follows the
** watches while the wait lasts: until then the world keeps the set, whatever becomes of the
** coroutine. Watches on signals stand in a block of our own, which is there as long as a signal could
** still lead to it, whatever Lua collects first.
*/
#include <stdio.h>
#include <string.h>

#include "lua/waitables.h"

#define MAX_ENTRIES ((size_t)1 << 24)

/* Its address is the key of the metatable of sets that have a block. */
static const char block_key;

typedef struct watch_block {
  struct watch_block *next, *prev; /* of the universe */
  universe *universe;
  size_t size;
  const waitable_kind **kinds; /* by entry, NULL for handles; behind the watches */
  weft_watch watches[];
} watch_block;

struct watch_set {
  uint32_t count;
  bool all;
  int64_t timeout;    /* ns; negative for none */
  watch_block *block; /* NULL where there are handles alone */
  weft_watch *watches;
  weft_watch own[];
};

static const char *name_of(const watch_set *set)
{
  return set->all ? "routine.all" : "routine.any";
}

/* --- Reading ------------------------------------------------------------------------------- */

static size_t check_list(lua_State *L, const char *who, bool all)
{
  if (!lua_istable(L, 1))
    binding_misuse(L, "%s: a list of routine handles and signals expected, got %s", who,
                   binding_got(L, 1));
  size_t count = compat_raw_length(L, 1);
  if (count == 0 && !all)
    binding_misuse(L, "%s: the list is empty, there is nothing to wait for", who);
  if (count > MAX_ENTRIES) binding_misuse(L, "%s: at most 2^24 entries, got more", who);
  return count;
}

/* Whether it is one of those with an event; raises if it is nothing to wait for. */
static bool check_entry(lua_State *L, int index, const char *who, size_t i)
{
  if (handle_test(L, index)) return false;
  const waitable *object = waitables_test(L, index);
  if (!object || !object->kind->drop)
    binding_misuse(L, "%s: entry %d: a routine handle or a signal expected, got %s", who,
                   (int)i, binding_got(L, index));
  if (object->closed)
    binding_misuse(L, "%s: entry %d: the %s is destroyed", who, (int)i, object->kind->name);
  return true;
}

/* -> table, a copy of the entries of the list at 1; whether there are others than handles */
static bool push_entries(lua_State *L, const char *who, size_t count)
{
  bool on_events = false;
  lua_createtable(L, (int)count, 0);
  int copy = lua_gettop(L);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, (int)i);
    on_events |= check_entry(L, copy + 1, who, i);
    lua_rawseti(L, copy, (int)i);
  }
  return on_events;
}

static void link_block(universe *U, watch_block *block)
{
  block->universe = U;
  block->next = U->watch_blocks;
  if (block->next) block->next->prev = block;
  U->watch_blocks = block;
}

static void free_block(lua_State *L, watch_block *block)
{
  if (block->prev)
    block->prev->next = block->next;
  else
    block->universe->watch_blocks = block->next;
  if (block->next) block->next->prev = block->prev;
  binding_alloc(L, block, block->size, 0);
}

/* entries, set -> entries, set */
static void add_block(lua_State *L, watch_set *set, const char *who)
{
  size_t each = sizeof(weft_watch) + sizeof(waitable_kind *);
  size_t size = sizeof(watch_block) + set->count * each;
  lua_pushlightuserdata(L, (void *)&block_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  watch_block *block = binding_alloc(L, NULL, 0, size);
  if (!block) binding_failed(L, who, WEFT_NOMEM);
  memset(block, 0, size);
  block->size = size;
  block->kinds = (const waitable_kind **)(block->watches + set->count);
  link_block(binding_universe(L), block);
  set->block = block;
  set->watches = block->watches;
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
  bool on_events = push_entries(L, who, count);
  size_t own = on_events ? 0 : count * sizeof(weft_watch);
  watch_set *set = compat_new_object(L, sizeof *set + own);
  *set = (watch_set){.count = (uint32_t)count, .all = all, .timeout = timeout};
  set->watches = set->own;
  memset(set->own, 0, own);
  if (on_events) add_block(L, set, who);
  lua_insert(L, 2);
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

static void keep(realm *R, const weft_routine *self)
{
  lua_rawseti(R->store, STORE_SETS, (int)weft_routine_slot(R->world, self) + 1);
}

void watches_forget(realm *R, const weft_routine *self)
{
  if (!lua_istable(R->store, STORE_SETS)) return;
  lua_pushnil(R->store);
  keep(R, self);
}

/* A signal may have been destroyed since the list was read. */
static void prepare_event(watch_set *set, uint32_t i, waitable *object)
{
  set->block->kinds[i] = object->kind;
  set->watches[i].event = &object->line.event;
  set->watches[i].state = object->closed ? WEFT_STATE_EXPIRED : WEFT_STATE_QUEUED;
  if (object->kind->come && object->kind->come(object))
    set->watches[i].state = WEFT_STATE_COMPLETED;
}

/* What is known of a handle here; the world knows nothing of those of other worlds. */
static void prepare_handle(lua_State *L, const realm *R, watch_set *set, uint32_t i)
{
  const handle *h = lua_touserdata(L, -1);
  weft_state state = handle_state(L, h);
  bool ended = state >= WEFT_STATE_COMPLETED;
  if (!ended && handle_realm(L, h) != R)
    binding_misuse(L, "%s: entry %d: the routine is of another world, which does not run now",
                   name_of(set), (int)i + 1);
  set->watches[i].handle = h->id;
  set->watches[i].state = ended ? state : WEFT_STATE_QUEUED;
}

static void prepare(lua_State *L, const realm *R, watch_set *set)
{
  compat_get_value(L, 1);
  int entries = lua_gettop(L);
  for (uint32_t i = 0; i < set->count; i++) {
    lua_rawgeti(L, entries, (int)i + 1);
    if (handle_test(L, -1))
      prepare_handle(L, R, set, i);
    else
      prepare_event(set, i, waitables_test(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

const char *watches_name(lua_State *L)
{
  return name_of(lua_touserdata(L, 1));
}

static weft_status arm_set(realm *R, weft_routine *self, watch_set *set, bool *done)
{
  return weft_arm_any(R->world, self, set->watches, set->count, set->all ? set->count : 1,
                      set->timeout, done);
}

weft_status watches_arm(lua_State *L, realm *R, weft_routine *self, bool *done)
{
  watch_set *set = lua_touserdata(L, 1);
  need_sets(L, R);
  prepare(L, R, set);
  weft_status status = arm_set(R, self, set, done);
  if (status == WEFT_OK && !*done) {
    lua_pushvalue(L, 1);
    lua_xmove(L, R->store, 1);
    keep(R, self);
  }
  return status;
}

static int prepare_again(lua_State *L, void *context)
{
  prepare(L, context, lua_touserdata(L, 1));
  return 0;
}

weft_status watches_arm_again(realm *R, weft_routine *self, bool *done)
{
  lua_State *helper = R->universe->helper;
  void *set = lua_touserdata(R->store, -1);
  lua_pushvalue(R->store, -1);
  lua_xmove(R->store, helper, 1);
  if (binding_protect(R, prepare_again, R, 1, 0) != LUA_OK) lua_pop(helper, 1);
  keep(R, self);
  return arm_set(R, self, set, done);
}

/* --- Answering ----------------------------------------------------------------------------- */

/* -> what waiting for a signal gives; how many values */
static int push_fired(lua_State *L, const watch_set *set, const waitable *object, uint32_t i)
{
  weft_watch *watch = &set->watches[i];
  uint64_t value = watch->value;
  if (watch->state == WEFT_STATE_EXPIRED) {
    lua_pushnil(L);
    lua_pushliteral(L, "closed");
    return 2;
  }
  set->block->kinds[i] = NULL; /* taken */
  int count = object->kind->push(L, (waitable *)object, value);
  return count >= 0 ? count : luaL_error(L, "not enough memory");
}

/* -> what join gives of one entry, or the wait for a signal; how many values */
static int push_entry(lua_State *L, const watch_set *set, int entries, uint32_t i)
{
  weft_state state = set->watches[i].state;
  luaL_checkstack(L, LUA_MINSTACK, "results");
  if (state == WEFT_STATE_EXPIRED && !set->watches[i].event) {
    lua_pushnil(L);
    lua_pushliteral(L, "expired");
    return 2;
  }
  lua_rawgeti(L, entries, (int)i + 1);
  int index = lua_gettop(L);
  int count = set->watches[i].event
                  ? push_fired(L, set, waitables_test(L, index), i)
                  : handle_push_result(L, index, lua_touserdata(L, index), state);
  lua_remove(L, index);
  return count;
}

/* -> the same as a table with `n` */
static void push_packed(lua_State *L, const watch_set *set, int entries, uint32_t i)
{
  int count = push_entry(L, set, entries, i);
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

/* --- Ending -------------------------------------------------------------------------------- */

/* Its world was lost together with it, with the wait not over: it goes at the end. */
static bool is_in_use(const watch_block *block, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (block->watches[i].next || block->watches[i].told) return true;
  return false;
}

/* What it was told and nobody has taken, for whatever reason, goes. */
static int set_gc(lua_State *L)
{
  universe *U = binding_universe(L);
  watch_set *set = lua_touserdata(L, 1);
  watch_block *block = set->block;
  set->block = NULL;
  if (!block || U->closed || is_in_use(block, set->count)) return 0;
  for (uint32_t i = 0; i < set->count; i++) {
    const weft_watch *watch = &block->watches[i];
    if (block->kinds[i] && watch->state == WEFT_STATE_COMPLETED)
      block->kinds[i]->drop(U, watch->value);
  }
  free_block(L, block);
  return 0;
}

void watches_fini(lua_State *L, universe *U)
{
  while (U->watch_blocks) free_block(L, U->watch_blocks);
}

void watches_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&block_key);
  lua_createtable(L, 0, 2);
  binding_push_universe(L);
  lua_pushcclosure(L, set_gc, 1);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "weft.Several");
  lua_setfield(L, -2, "__name");
  lua_rawset(L, LUA_REGISTRYINDEX);
}
