/* SPDX-License-Identifier: MIT */
/*
** locks.c - weft.mutex and weft.semaphore: so many may hold it at once, and who comes first is served
** first. A mutex is a semaphore of one that knows better sentences.
**
** Who waits brings the node that notes what it holds, so that handing over needs no memory: it is
** entered with the new holder at once, and nobody can push in between. A world keeps the nodes of each
** routine by slot, and gives back what a routine holds when it ends in any way.
*/
#include <math.h>

#include "lua/waitables.h"

#define MAX_PERMITS (UINT32_C(1) << 24)

typedef struct lock {
  waitable base;
  uint32_t permits, free;
  realm *realm; /* valid while one of its routines holds it or waits */
} lock;

/* --- Nodes --------------------------------------------------------------------------------- */

static lock_node *node_at(const universe *U, uint32_t node)
{
  return &U->lock_nodes.all[node];
}

static bool grow_nodes(lock_nodes *h, lua_State *L)
{
  uint32_t size = h->size > 0 ? h->size * 2 : 16;
  size_t old = h->size > 0 ? (h->size + 1) * sizeof(lock_node) : 0;
  lock_node *all = binding_alloc(L, h->all, old, (size + 1) * sizeof(lock_node));
  if (!all) return false;
  h->all = all;
  h->size = size;
  return true;
}

/* 0 without memory. */
static uint32_t new_node(universe *U, lock *of)
{
  lock_nodes *h = &U->lock_nodes;
  uint32_t node = h->free;
  if (node) {
    h->free = h->all[node].next;
  } else {
    if (h->count == h->size && !grow_nodes(h, U->helper)) return 0;
    node = ++h->count;
  }
  h->all[node] = (lock_node){.lock = of};
  return node;
}

static void free_node(universe *U, uint32_t node)
{
  *node_at(U, node) = (lock_node){.next = U->lock_nodes.free};
  U->lock_nodes.free = node;
}

void locks_fini(lua_State *L, universe *U)
{
  lock_nodes *h = &U->lock_nodes;
  if (h->all) binding_alloc(L, h->all, (h->size + 1) * sizeof(lock_node), 0);
  *h = (lock_nodes){0};
}

/* --- Holders ------------------------------------------------------------------------------- */

/* A place for each slot, made when the first lock of a world is used. */
static bool need_places(realm *R)
{
  size_t size = (size_t)R->config.capacity * sizeof *R->holds;
  if (R->holds) return true;
  R->holds = binding_alloc(R->universe->helper, NULL, 0, size);
  for (uint32_t slot = 0; R->holds && slot < R->config.capacity; slot++) R->holds[slot] = 0;
  return R->holds != NULL;
}

static void enter_holder(realm *R, weft_routine *routine, uint32_t node)
{
  universe *U = R->universe;
  uint32_t slot = weft_routine_slot(R->world, routine);
  record *rec = weft_routine_record(routine);
  lock_node *it = node_at(U, node);
  it->slot = slot + 1;
  it->next = R->holds[slot];
  if (it->next) node_at(U, it->next)->prev = node;
  R->holds[slot] = node;
  rec->holds = true;
}

/* The node is free then. */
static void leave_holder(realm *R, uint32_t node)
{
  universe *U = R->universe;
  const lock_node *it = node_at(U, node);
  if (it->prev)
    node_at(U, it->prev)->next = it->next;
  else
    R->holds[it->slot - 1] = it->next;
  if (it->next) node_at(U, it->next)->prev = it->prev;
  free_node(U, node);
}

/* The latest of the nodes by which a routine holds it, or 0; how many there are. */
static uint32_t find_hold(const realm *R, const weft_routine *self, const lock *l,
                          uint32_t *count)
{
  uint32_t found = 0, node;
  *count = 0;
  if (!R->holds) return 0;
  node = R->holds[weft_routine_slot(R->world, self)];
  for (; node; node = node_at(R->universe, node)->next) {
    if (node_at(R->universe, node)->lock != l) continue;
    if (!found) found = node;
    ++*count;
  }
  return found;
}

/* A permit is free: for the one that has waited longest. */
static void hand_over(lock *l)
{
  uint64_t node = 0;
  weft_handle next = weft_event_first(&l->base.line.event, &node);
  if (!next) {
    l->free++;
    return;
  }
  enter_holder(l->realm, weft_routine_find(l->realm->world, next), (uint32_t)node);
  weft_event_fire_one(&l->base.line.event, node);
}

void locks_let_go(realm *R, const weft_routine *self)
{
  uint32_t slot = weft_routine_slot(R->world, self);
  while (R->holds[slot]) {
    lock *l = node_at(R->universe, R->holds[slot])->lock;
    leave_holder(R, R->holds[slot]);
    hand_over(l);
  }
}

/* Nobody of this world waits any more: what they held is free. */
void locks_forget(lua_State *L, realm *R)
{
  uint32_t capacity = R->config.capacity;
  if (!R->holds) return;
  for (uint32_t slot = 0; slot < capacity; slot++) {
    while (R->holds[slot]) {
      node_at(R->universe, R->holds[slot])->lock->free++;
      leave_holder(R, R->holds[slot]);
    }
  }
  binding_alloc(L, R->holds, capacity * sizeof *R->holds, 0);
  R->holds = NULL;
}

/* --- Waiting ------------------------------------------------------------------------------- */

static void left(weft_event *event, uint64_t node)
{
  free_node(waitables_of(event)->universe, (uint32_t)node);
}

/* Handed over to one that does not come any more. */
static void lost(weft_event *event, uint64_t node)
{
  lock *l = (lock *)waitables_of(event);
  leave_holder(l->realm, (uint32_t)node);
  hand_over(l);
}

static const weft_event_hooks hooks = {.left = left, .lost = lost};

static weft_status arm(wait_call *call)
{
  lock *l = (lock *)call->object;
  universe *U = l->base.universe;
  uint32_t held, node = need_places(call->realm) ? new_node(U, l) : 0;
  if (!node) return WEFT_NOMEM;
  find_hold(call->realm, call->self, l, &held);
  weft_status status = held == l->permits ? WEFT_SELF : WEFT_OK;
  call->done = status == WEFT_OK && l->free > 0;
  if (call->done) {
    l->free--;
    enter_holder(call->realm, call->self, node);
  } else if (status == WEFT_OK) {
    status = weft_arm_event(call->realm->world, call->self, &l->base.line.event, node,
                            call->timeout);
  }
  /* A routine that was told to stop may be put aside without having been armed for the event. */
  bool waits = status == WEFT_OK && !call->done &&
               weft_routine_event(call->realm->world, call->self) == &l->base.line.event;
  if (!call->done && !waits) free_node(U, node);
  return status;
}

static int push_true(lua_State *L, waitable *object, uint64_t value)
{
  (void)object, (void)value;
  lua_pushboolean(L, 1);
  return 1;
}

/* --- From scripts -------------------------------------------------------------------------- */

static void close_lock(waitable *object)
{
  object->closed = true;
  weft_event_close(&object->line.event);
}

static void fini_lock(lua_State *L, waitable *object)
{
  (void)L, (void)object;
}

static bool is_idle(const waitable *object)
{
  const lock *l = (const lock *)object;
  const weft_event *event = &object->line.event;
  return l->free == l->permits && event->waiting == 0 && event->told == 0;
}

#define LOCK_KIND(word)                                                                        \
  {                                                                                            \
    .name = word, .a_name = "a " word, .arm = arm, .push = push_true, .close = close_lock,     \
    .fini = fini_lock, .idle = is_idle                                                         \
  }
static const waitable_kind mutex_kind = LOCK_KIND("mutex");
static const waitable_kind semaphore_kind = LOCK_KIND("semaphore");

static lock *new_lock(lua_State *L, const waitable_kind *kind, uint32_t permits,
                      const char *who)
{
  lock *l = (lock *)waitables_new(L, kind, sizeof *l, who);
  l->base.line.event.hooks = &hooks;
  l->permits = l->free = permits;
  return l;
}

/* The running routine, in a world that may use the lock. */
static weft_routine *check_self(lua_State *L, lock *l, const char *who)
{
  const universe *U = binding_universe(L);
  weft_routine *self = binding_self(U);
  if (!self || weft_routine_body(self) != routine_body) binding_outside(L, who);
  waitables_bind(L, &l->base, U->current, who);
  l->realm = U->current;
  return self;
}

static lock *check_mutex(lua_State *L, const char *who)
{
  return (lock *)waitables_check(L, 1, &mutex_kind, who);
}

static lock *check_semaphore(lua_State *L, const char *who)
{
  return (lock *)waitables_check(L, 1, &semaphore_kind, who);
}

static int wait_for(lua_State *L, lock *l, const char *who)
{
  wait_call call = {.object = &l->base, .timeout = -1};
  if (!lua_isnoneornil(L, 2)) call.timeout = binding_check_seconds(L, 2, who, "timeout");
  return waits_for(L, &call, who);
}

static int api_lock(lua_State *L)
{
  uint32_t held;
  lock *l = check_mutex(L, "mutex:lock");
  const weft_routine *self = check_self(L, l, "mutex:lock");
  if (find_hold(l->realm, self, l, &held))
    return binding_misuse(
        L, "mutex:lock: this routine holds it already and would wait for itself");
  return wait_for(L, l, "mutex:lock");
}

/* Whether it is this routine's now; never waits. */
static int api_try_lock(lua_State *L)
{
  lock *l = check_mutex(L, "mutex:tryLock");
  bool free = (check_self(L, l, "mutex:tryLock"), l->free > 0);
  if (free) {
    wait_call call = {.object = &l->base, .realm = l->realm};
    call.self = waits_self(L, "mutex:tryLock");
    weft_status status = arm(&call);
    if (status) return binding_failed(L, "mutex:tryLock", status);
  }
  lua_pushboolean(L, free);
  return 1;
}

static int give_up(lua_State *L, lock *l, uint32_t node)
{
  (void)L;
  leave_holder(l->realm, node);
  hand_over(l);
  return 0;
}

static int api_unlock(lua_State *L)
{
  uint32_t held;
  lock *l = check_mutex(L, "mutex:unlock");
  const weft_routine *self = check_self(L, l, "mutex:unlock");
  uint32_t node = find_hold(l->realm, self, l, &held);
  if (node) return give_up(L, l, node);
  if (l->free > 0) return binding_misuse(L, "mutex:unlock: it is not locked");
  return binding_misuse(L, "mutex:unlock: another routine holds it");
}

static int api_acquire(lua_State *L)
{
  uint32_t held;
  lock *l = check_semaphore(L, "semaphore:acquire");
  const weft_routine *self = check_self(L, l, "semaphore:acquire");
  find_hold(l->realm, self, l, &held);
  if (held == l->permits)
    return binding_misuse(
        L, "semaphore:acquire: this routine holds all %d permits and would wait for itself",
        (int)held);
  return wait_for(L, l, "semaphore:acquire");
}

static int api_release(lua_State *L)
{
  uint32_t held;
  lock *l = check_semaphore(L, "semaphore:release");
  const weft_routine *self = check_self(L, l, "semaphore:release");
  uint32_t node = find_hold(l->realm, self, l, &held);
  if (node) return give_up(L, l, node);
  return binding_misuse(L, "semaphore:release: this routine holds none of its permits");
}

static int api_new_mutex(lua_State *L)
{
  new_lock(L, &mutex_kind, 1, "weft.mutex");
  return 1;
}

static int api_new_semaphore(lua_State *L)
{
  double permits = lua_type(L, 1) == LUA_TNUMBER ? lua_tonumber(L, 1) : NAN;
  if (!(permits >= 1 && permits <= MAX_PERMITS) || permits != floor(permits))
    return binding_misuse(L, "weft.semaphore: n must be a whole number from 1 to %d, got %s",
                          (int)MAX_PERMITS, binding_got(L, 1));
  new_lock(L, &semaphore_kind, (uint32_t)permits, "weft.semaphore");
  return 1;
}

static int mutex_tostring(lua_State *L)
{
  const lock *l = check_mutex(L, "tostring");
  lua_pushfstring(L, "weft.Mutex (%s, %d waiting)", l->free > 0 ? "free" : "locked",
                  (int)l->base.line.event.waiting);
  return 1;
}

static int semaphore_tostring(lua_State *L)
{
  const lock *l = check_semaphore(L, "tostring");
  lua_pushfstring(L, "weft.Semaphore (%d of %d free, %d waiting)", (int)l->free,
                  (int)l->permits, (int)l->base.line.event.waiting);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg mutex_methods[] = {
    {"lock", api_lock}, {"tryLock", api_try_lock}, {"unlock", api_unlock}, {NULL, NULL}};
static const luaL_Reg mutex_metamethods[] = {{"__tostring", mutex_tostring}, {NULL, NULL}};
static const luaL_Reg semaphore_methods[] = {
    {"acquire", api_acquire}, {"release", api_release}, {NULL, NULL}};
static const luaL_Reg semaphore_metamethods[] = {{"__tostring", semaphore_tostring},
                                                 {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"mutex", api_new_mutex}, {"semaphore", api_new_semaphore}, {NULL, NULL}};

/* Module table on top. */
void locks_open(lua_State *L)
{
  binding_functions(L, functions);
  waitables_open_kind(L, &mutex_kind, "weft.Mutex", mutex_methods, mutex_metamethods);
  lua_setfield(L, -2, "mutexMethods");
  waitables_open_kind(L, &semaphore_kind, "weft.Semaphore", semaphore_methods,
                      semaphore_metamethods);
  lua_setfield(L, -2, "semaphoreMethods");
}
