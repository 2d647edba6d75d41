/* SPDX-License-Identifier: MIT */
/*
** scope.c - weft.Scope: routines that end before the function they were started in returns.
**
** A scope stands in its host: the function runs on the host's coroutine, and when it has ended, in
** whatever way, the host waits until no child is left. The children hang on the scope by slot, in the
** order of their starts. A scope that fails or is cancelled is stopped: it takes no more children,
** those it has are cancelled, and its function is interrupted at its wait. waits.c leaves with what is
** armed here.
*/
#include <string.h>

#include "lua/binding.h"

/* Its address is the key of the metatable. */
static const char meta_key;

static const char who[] = "routine.scope";

#define NO_CHILD UINT32_MAX

/* Where its first error came from. */
enum failure { FAILURE_NONE, FAILURE_BODY, FAILURE_CHILD };

struct scope {
  weft_handle host;
  scope *outer;           /* of the same host */
  scope *earlier, *later; /* in the list of a stop under way */
  uint32_t number;        /* of the realm */
  uint32_t first, last;   /* children, by slot */
  uint32_t cells;         /* it itself; then the trace of its function's error, or false */
  uint32_t failed;        /* the cell of the handle of the child that failed first, or 0 */
  uint8_t shields;        /* that were up when it began */
  uint8_t failure;        /* enum failure */
  bool over : 1;
  bool in_body : 1;
  bool stopped : 1;    /* takes no more children; those it has were cancelled */
  bool cancelled : 1;  /* ends with Cancelled, if nothing failed */
  bool interrupts : 1; /* its function is told to stop */
};

struct scope_link {
  scope *of;  /* the scope that the routine was started in */
  scope *own; /* the innermost that it has open itself */
  weft_handle id;
  uint32_t next, prev; /* children of the same scope, by slot */
};

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

static realm *realm_of(const weft_routine *routine)
{
  return weft_routine_arg(routine);
}

static scope_link *link_of(const realm *R, const weft_routine *routine)
{
  return &R->scope_links[weft_routine_slot(R->world, routine)];
}

void scope_fini(lua_State *L, realm *R)
{
  size_t size = R->config.capacity * sizeof *R->scope_links;
  if (R->scope_links) binding_alloc(L, R->scope_links, size, 0);
  R->scope_links = NULL;
}

/* A place for each slot, made when it is first needed: nothing is allocated later. */
static void need_links(lua_State *L, realm *R)
{
  size_t size = R->config.capacity * sizeof *R->scope_links;
  if (R->scope_links) return;
  R->scope_links = binding_alloc(L, NULL, 0, size);
  if (!R->scope_links) binding_failed(L, who, WEFT_NOMEM);
  memset(R->scope_links, 0, size);
}

/* --- Children ------------------------------------------------------------------------------ */

static void add_child(realm *R, scope *s, weft_routine *child)
{
  uint32_t slot = weft_routine_slot(R->world, child);
  scope_link *links = R->scope_links;
  links[slot] = (scope_link){
      .of = s, .id = weft_routine_handle(R->world, child), .next = NO_CHILD, .prev = s->last};
  if (s->last == NO_CHILD)
    s->first = slot;
  else
    links[s->last].next = slot;
  s->last = slot;
  weft_adopt(R->world, weft_routine_find(R->world, s->host), child, s->shields);
}

static void remove_child(const realm *R, scope *s, uint32_t slot)
{
  scope_link *links = R->scope_links, *it = &links[slot];
  if (it->prev == NO_CHILD)
    s->first = it->next;
  else
    links[it->prev].next = it->next;
  if (it->next == NO_CHILD)
    s->last = it->prev;
  else
    links[it->next].prev = it->prev;
  it->of = NULL;
}

/* --- Stopping ------------------------------------------------------------------------------ */

/* Whether a cancel of the host comes through to it: a shield around it holds that back. */
static bool stops_with_host(const scope *s)
{
  return s->shields == 0 && !s->stopped && s->first != NO_CHILD;
}

/* Puts those that a routine has open behind `last` -> the last one then */
static scope *mark_own(scope *own, scope *last)
{
  for (; own; own = own->outer) {
    if (!stops_with_host(own)) continue;
    own->stopped = own->cancelled = true;
    own->earlier = last;
    own->later = NULL;
    last = last->later = own;
  }
  return last;
}

static void cancel_children(const realm *R, const scope *s)
{
  for (uint32_t slot = s->first, next; slot != NO_CHILD; slot = next) {
    next = R->scope_links[slot].next; /* one that was never entered is gone at once */
    weft_cancel(R->world, R->scope_links[slot].id);
  }
}

/* Cancels the children, and what they have in scopes of their own. No recursion: they may stand as deep
   in each other as there are slots. The deepest come first, so that those around find them ended. */
static void stop(realm *R, scope *first)
{
  if (first->stopped) return;
  first->stopped = true;
  first->earlier = first->later = NULL;
  scope *last = first;
  for (const scope *s = first; s; s = s->later)
    for (uint32_t slot = s->first; slot != NO_CHILD; slot = R->scope_links[slot].next)
      last = mark_own(R->scope_links[slot].own, last);
  for (; last; last = last->earlier) cancel_children(R, last);
}

void scope_host_cancelled(realm *R, const weft_routine *routine)
{
  if (!R->scope_links) return;
  for (scope *s = link_of(R, routine)->own; s; s = s->outer) {
    if (!stops_with_host(s)) continue;
    s->cancelled = true;
    stop(R, s);
  }
}

/* The innermost scope that interrupts has the most shields below it. */
static void set_interrupt(const realm *R, weft_routine *host)
{
  const scope *s = link_of(R, host)->own;
  while (s && !s->interrupts) s = s->outer;
  weft_interrupt(R->world, host, s ? s->shields + 1U : 0);
}

/* With all that it has opened since, but for what stands within a shield. */
static void interrupt_body(realm *R, scope *s)
{
  if (!s->in_body || s->interrupts) return;
  weft_routine *host = weft_routine_find(R->world, s->host);
  s->interrupts = true;
  set_interrupt(R, host);
  for (scope *inner = link_of(R, host)->own; inner != s; inner = inner->outer) {
    if (inner->shields > s->shields) continue;
    inner->cancelled = true;
    stop(R, inner);
  }
}

bool scope_interrupts(const realm *R, const weft_routine *self)
{
  const scope *s = R->scope_links ? link_of(R, self)->own : NULL;
  while (s && !s->interrupts) s = s->outer;
  return s != NULL;
}

/* The cell that keeps its handle goes over to the scope. */
static void take_failure(realm *R, scope *s, record *rec)
{
  s->failure = FAILURE_CHILD;
  if (!rec->recorded) return; /* there was no memory for its error */
  s->failed = rec->cells;
  rec->cells = R->values.next[s->failed];
  R->values.next[s->failed] = 0;
  rec->recorded = false;
}

void scope_child_ended(realm *R, const weft_routine *child, record *rec)
{
  scope *s = R->scope_links ? link_of(R, child)->of : NULL;
  if (!s) return;
  remove_child(R, s, weft_routine_slot(R->world, child));
  if (rec->outcome != OUTCOME_FAILED) return;
  if (s->failure == FAILURE_NONE) take_failure(R, s, rec);
  stop(R, s);
  interrupt_body(R, s);
}

/* --- Beginning and end --------------------------------------------------------------------- */

static void push_meta(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

scope *scope_check(lua_State *L, int index, const char *name)
{
  scope *s = lua_touserdata(L, index);
  if (s && lua_getmetatable(L, index)) {
    push_meta(L);
    bool ours = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    if (ours) return s;
  }
  binding_misuse(L, "%s: a scope expected, got %s", name, binding_got(L, index));
  return NULL;
}

/* -> scope, and its cells */
static scope *new_scope(lua_State *L, realm *R)
{
  scope *s = lua_newuserdata(L, sizeof *s);
  *s = (scope){.number = R->number, .first = NO_CHILD, .last = NO_CHILD, .over = true};
  push_meta(L);
  lua_setmetatable(L, -2);
  lua_pushboolean(L, 0);
  values_reserve(L, R, 2);
  s->cells = values_put_range(R, L, lua_gettop(L) - 1, lua_gettop(L));
  lua_pop(L, 1);
  return s;
}

/* function -> function, scope */
static void begin(lua_State *L, const weft_routine *self)
{
  realm *R = realm_of(self);
  need_links(L, R);
  scope *s = new_scope(L, R);
  s->host = weft_routine_handle(R->world, self);
  s->outer = link_of(R, self)->own;
  s->shields = (uint8_t)weft_shields(self);
  s->in_body = true;
  s->over = false;
  link_of(R, self)->own = s;
}

static void stop_interrupting(const realm *R, weft_routine *host, scope *s)
{
  if (!s->interrupts) return;
  s->interrupts = false;
  set_interrupt(R, host);
}

/* Nothing of it is left but the object, which takes no children any more. */
static void end(realm *R, weft_routine *host, scope *s)
{
  stop_interrupting(R, host, s);
  link_of(R, host)->own = s->outer;
  s->over = s->stopped = true;
  values_drop(R, s->failed);
  values_drop(R, s->cells);
}

/* The host cannot wait for them any more: they are cancelled and left to themselves. */
static void leave_children(realm *R, scope *s)
{
  stop(R, s);
  while (s->first != NO_CHILD) {
    weft_routine *child = weft_routine_find(R->world, R->scope_links[s->first].id);
    weft_adopt(R->world, NULL, child, 0);
    remove_child(R, s, s->first);
  }
}

/* The error that it took is raised nowhere: it is reported. */
static void abandon(realm *R, weft_routine *host, scope *s)
{
  record untold = {.cells = s->failed, .recorded = s->failed != 0};
  s->failed = 0;
  leave_children(R, s);
  end(R, host, s);
  if (s->failure != FAILURE_CHILD) return;
  report_routine(R, &untold);
  values_drop(R, untold.cells);
}

void scope_abandon(realm *R, weft_routine *host)
{
  scope *s;
  while (R->scope_links && (s = link_of(R, host)->own) != NULL) abandon(R, host, s);
}

/* --- When its function has ended ----------------------------------------------------------- */

/* error, trace -> */
static int report_apart(lua_State *L, void *context)
{
  handle_of(L, context, weft_self());
  lua_insert(L, 1);
  return report_push_on(L, context);
}

/* Its function raised what stands at `index`; an error that comes after another is told apart. */
static void note_error(lua_State *L, realm *R, scope *s, int index)
{
  if (lua_touserdata(L, index) == R->universe->cancelled) {
    s->cancelled = true;
    return;
  }
  bool first = s->failure == FAILURE_NONE;
  if (!first) lua_pushvalue(L, index);
  report_push_trace(L, R, index, NULL);
  if (first) {
    s->failure = FAILURE_BODY;
    if (lua_isnil(L, -1)) lua_pushboolean(L, 0), lua_replace(L, -2);
    lua_xmove(L, R->store, 1);
    lua_rawseti(R->store, STORE_VALUES, (int)R->values.next[s->cells]);
  } else {
    lua_State *helper = R->universe->helper;
    lua_xmove(L, helper, 2);
    if (binding_protect_from(L, R, report_apart, R, 2, 0) != LUA_OK) lua_pop(helper, 1);
  }
}

static void body_ended(lua_State *L, scope *s, bool ok, int index)
{
  weft_routine *self = weft_self();
  realm *R = realm_of(self);
  s->in_body = false;
  while (link_of(R, self)->own != s) abandon(R, self, link_of(R, self)->own);
  stop_interrupting(R, self, s);
  if (ok) return;
  stop(R, s); /* before anything that may fail */
  note_error(L, R, s, index);
}

weft_status scope_arm(weft_routine *self, scope *s, bool *done)
{
  realm *R = realm_of(self);
  bool told = weft_told(R->world, self);
  if (told && s->first != NO_CHILD) {
    s->cancelled = true;
    stop(R, s);
  }
  *done = s->first == NO_CHILD;
  if (*done) return WEFT_OK;
  weft_handle child = R->scope_links[s->first].id;
  if (!told) return weft_arm_join(R->world, self, child, -1, done);
  weft_status status = weft_arm_last_join(R->world, self, child, done);
  if (status != WEFT_FORCED) return status;
  leave_children(R, s); /* the last pass of an unload: they end in it, too */
  *done = true;
  return WEFT_OK;
}

bool scope_is_done(const scope *s)
{
  return s->first == NO_CHILD;
}

bool scope_gives_up(weft_routine *self, scope *s)
{
  leave_children(realm_of(self), s);
  if (s->failure != FAILURE_NONE) return true;
  end(realm_of(self), self, s);
  return false;
}

/* -> error, trace or false: of the child that failed */
static void push_failed(lua_State *L, const realm *R, const scope *s)
{
  if (s->failed == 0) {
    lua_pushliteral(L, "not enough memory");
    lua_pushboolean(L, 0);
    return;
  }
  lua_rawgeti(R->store, STORE_VALUES, (int)s->failed);
  lua_xmove(R->store, L, 1);
  compat_get_value(L, -1);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
}

/* What the scope ends with, when no child is left: raises, or returns. The error of its function, if
   that failed, stands at `index`. */
static void conclude(lua_State *L, scope *s, int index)
{
  weft_routine *self = weft_self();
  realm *R = realm_of(self);
  enum failure failure = s->failure;
  if (failure == FAILURE_NONE && !s->cancelled) {
    end(R, self, s);
    return;
  }
  if (failure == FAILURE_CHILD) {
    lua_settop(L, 1);
    push_failed(L, R, s);
  } else if (failure == FAILURE_BODY) {
    lua_settop(L, index);
    lua_rawgeti(R->store, STORE_VALUES, (int)R->values.next[s->cells]);
    lua_xmove(R->store, L, 1);
  }
  end(R, self, s);
  compat_before_throw(L);
  if (failure == FAILURE_NONE) {
    lua_pushvalue(R->store, STORE_CANCELLED);
    lua_xmove(R->store, L, 1);
  } else {
    report_keep_trace(L, R);
  }
  lua_error(L);
}

/* scope, handler, results or an error -> results */
int scope_result(lua_State *L)
{
  conclude(L, scope_check(L, 1, who), 3);
  return lua_gettop(L) - 2;
}

/* --- The whole, and its halves ------------------------------------------------------------- */

static weft_routine *check_call(lua_State *L)
{
  if (!lua_isfunction(L, 1))
    binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, 1));
  return waits_self(L, who);
}

static bool runs_on(lua_State *L, const weft_routine *self)
{
  const record *rec = weft_routine_record(self);
  return rec->thread == L;
}

/* A script that resumes the coroutine by hand at a bare yield brings it here with nobody to wait. The
   scope is left as it stands, until its routine goes on. */
static scope *check_host(lua_State *L)
{
  scope *s = scope_check(L, 1, who);
  const weft_routine *self = weft_self();
  bool runs = self && weft_routine_body(self) == routine_body &&
              realm_of(self)->number == s->number &&
              weft_routine_handle(realm_of(self)->world, self) == s->host;
  if (!runs)
    binding_misuse(L, "%s: the coroutine was resumed by hand and its routine does not run",
                   who);
  return s;
}

/* scope, handler, results or an error */
static int call_ended(lua_State *L, int status, lua_KContext context)
{
  (void)context;
  body_ended(L, check_host(L), status == LUA_OK || status == LUA_YIELD, 3);
  return waits_in_scope(L);
}

/* A coroutine of the script's own may not yield out of a scope: it could be dropped there, or go on
   in another routine. Waits work in it all the same. */
static int api_scope(lua_State *L)
{
  const weft_routine *self = check_call(L);
  bool own = runs_on(L, self);
  lua_settop(L, 1);
  begin(L, self);
  lua_insert(L, 1);
  binding_push_universe(L);
  lua_pushcclosure(L, report_traceback, 1); /* keeps the trace of an error that passes */
  lua_insert(L, 2);
  lua_pushvalue(L, 1);
  int status = own ? compat_pcall(L, 1, 2, call_ended) : lua_pcall(L, 1, LUA_MULTRET, 2);
  return call_ended(L, status, 0);
}

/* For waits.lua: a scope, or nil where this file takes the whole of it. It does, too, where debug hooks
   are in use: one that waits or raises between two instructions of waits.lua could leave it half
   ended. */
static int api_open(lua_State *L)
{
  const weft_routine *self = check_call(L);
  lua_settop(L, 1);
  if (runs_on(L, self) && !binding_universe(L)->hooked)
    begin(L, self);
  else
    lua_pushnil(L);
  return 1;
}

/* scope, whether its function returned, its error -> */
static int api_body_ended(lua_State *L)
{
  lua_settop(L, 3);
  body_ended(L, check_host(L), lua_toboolean(L, 2), 3);
  return 0;
}

/* scope, its function's error -> */
static int api_conclude(lua_State *L)
{
  lua_settop(L, 2);
  conclude(L, scope_check(L, 1, who), 2);
  return 0;
}

static int api_is_done(lua_State *L)
{
  lua_pushboolean(L, scope_is_done(scope_check(L, 1, who)));
  return 1;
}

/* --- Methods ------------------------------------------------------------------------------- */

/* The open world of a scope that is not over, or NULL. */
static realm *open_realm(lua_State *L, const scope *s)
{
  realm *R = binding_universe(L)->realms;
  while (R && R->number != s->number) R = R->next;
  if (s->over || !R || !R->world) return NULL;
  return R == R->universe->current || world_reachable(L, R) ? R : NULL;
}

/* Starting may run finalizers, which end routines and stop scopes as they like. */
static int start_child(lua_State *L, realm *R, scope *s, const weft_routine *host)
{
  weft_owner owner = weft_routine_owner(R->world, host);
  int count = routine_start_owned(L, R, owner, 2, "scope:start");
  if (count != 1) return count;
  const handle *h = lua_touserdata(L, -1);
  if (s->stopped) {
    weft_cancel(R->world, h->id);
    return refuse(L, "closed");
  }
  add_child(R, s, weft_routine_find(R->world, h->id));
  return 1;
}

static int api_start(lua_State *L)
{
  scope *s = scope_check(L, 1, "scope:start");
  if (!lua_isfunction(L, 2))
    return binding_misuse(L, "scope:start: a function expected, got %s", binding_got(L, 2));
  realm *R = open_realm(L, s);
  if (!R || s->stopped) return refuse(L, "closed");
  return start_child(L, R, s, weft_routine_find(R->world, s->host));
}

static int api_cancel(lua_State *L)
{
  scope *s = scope_check(L, 1, "scope:cancel");
  realm *R = open_realm(L, s);
  if (R) {
    s->cancelled = true;
    stop(R, s);
    interrupt_body(R, s);
  }
  lua_pushboolean(L, R != NULL);
  return 1;
}

static int scope_tostring(lua_State *L)
{
  const scope *s = scope_check(L, 1, "tostring");
  const char *how = !open_realm(L, s) ? "over" : s->stopped ? "stopped" : "open";
  lua_pushfstring(L, "weft.Scope: %p (%s)", (const void *)s, how);
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg whole[] = {{"scope", api_scope}, {NULL, NULL}};
static const luaL_Reg halves[] = {{"openScope", api_open},
                                  {"bodyEnded", api_body_ended},
                                  {"scopeIsDone", api_is_done},
                                  {"conclude", api_conclude},
                                  {NULL, NULL}};
static const luaL_Reg starters[] = {{"start", api_start}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"cancel", api_cancel}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", scope_tostring}, {NULL, NULL}};

/* table -> table: that of the halves, or of the routine module */
void scope_push_functions(lua_State *L)
{
  binding_functions(L, whole);
  if (COMPAT_TOKENS) binding_functions(L, halves);
}

/* Module table on top. */
void scope_open(lua_State *L)
{
  lua_createtable(L, 0, 4);
  binding_functions(L, metamethods);
  lua_pushliteral(L, "weft.Scope");
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 2);
  binding_functions(L, methods);
  binding_starters(L, starters);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_setfield(L, -3, "scopeMethods");
  lua_pushlightuserdata(L, (void *)&meta_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}
