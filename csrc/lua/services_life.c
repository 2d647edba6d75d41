/* SPDX-License-Identifier: MIT */
/*
** services_life.c - services and threads begin and end, by themselves and with their world.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/services.h"

/* How long a stop, and the end of a world, wait for what was sent before, in ns. */
#define USUAL_DRAIN INT64_C(5000000000)
#define USUAL_INBOX 64

/* How it is to begin. */
typedef struct plan {
  const char *who, *name;
  realm *realm;
  bool is_thread;
  int32_t inbox;
  int64_t drain;
  uint64_t states; /* 0: no gate */
  int first;       /* where main stands; what is behind it goes with it */
} plan;

/* --- Beginning ----------------------------------------------------------------------------- */

static void servant_end(void *object)
{
  servant *s = object;
  weft_service_drop(s->core);
  weft_poster_release(s->poster);
  weft_counted_drop(s->input);
  weft_counted_drop(s->paths);
  weft_counted_drop(s->death);
}

static void set_name(universe *U, servant *s, const plan *p)
{
  const char *kind = p->is_thread ? "thread" : "service";
  if (p->name)
    snprintf(s->name, sizeof s->name, "%s '%s'", kind, p->name);
  else
    snprintf(s->name, sizeof s->name, "%s %llu", kind, (unsigned long long)++U->servant_count);
}

static void link_servant(universe *U, servant *s, realm *R)
{
  weft_counted_keep(s);
  s->world = R;
  s->listed = true;
  s->next = U->servants;
  if (s->next) s->next->prev = s;
  U->servants = s;
}

/* The place of the news of its end is reserved. */
static weft_status start_core(servant *s, const plan *p, weft_gate *gate)
{
  weft_service_config config = {.main = services_main,
                                .arg = s,
                                .name = p->name ? p->name : s->name,
                                .inbox = p->inbox,
                                .gate = gate,
                                .states = p->states,
                                .dropped = services_dropped,
                                .ended = services_ended};
  weft_status status = weft_poster_reserve(s->poster, WEFT_NORMAL);
  if (status) return status;
  weft_counted_keep(s); /* the thread's */
  status = weft_service_start(&config, &s->core);
  if (status == WEFT_OK) return WEFT_OK;
  weft_counted_drop(s);
  weft_poster_unreserve(s->poster, WEFT_NORMAL);
  return status;
}

/* -> service or thread */
static int begin(lua_State *L, const plan *p)
{
  universe *U = binding_universe(L);
  servant **slot =
      services_push_empty(L, p->is_thread); /* so it has an end, whatever is raised */
  servant *s = *slot = weft_counted_new(sizeof *s, servant_end);
  if (!s) luaL_error(L, "%s: not enough memory", p->who);
  s->is_thread = p->is_thread;
  s->drain = p->drain;
  s->owner = U;
  set_name(U, s, p);
  lua_insert(L, 1);
  weft_gate *gate = p->states ? services_gate(L, p->realm, p->who) : NULL;
  s->input = services_write(L, p->first + 1, TRANSFER_LETTER, true, p->who);
  s->paths = jobs_take_paths(L, U, p->who);
  if (!world_is_open(U, p->realm)) binding_misuse(L, "%s: world is closed", p->who);
  s->poster = weft_world_poster(p->realm->world);
  weft_status status = start_core(s, p, gate);
  if (status) binding_failed(L, p->who, status);
  services_give(s->input, "gone: it was given to a service");
  link_servant(U, s, p->realm);
  lua_settop(L, 1);
  return 1;
}

/* The world that is calling; there is none in a job or a service. */
static realm *world_of(lua_State *L, const char *who)
{
  const universe *U = binding_universe(L);
  if (U->worker || U->servant)
    binding_misuse(L, "%s: there is no world inside a %s that could have it", who,
                   U->worker ? "job" : "service");
  return binding_realm_here(L);
}

static void check_main(lua_State *L, int index, bool or_module, const char *who)
{
  bool module = or_module && lua_type(L, index) == LUA_TSTRING;
  if (module || lua_isfunction(L, index)) return;
  binding_misuse(L, "%s: %s expected, got %s", who,
                 or_module ? "main: a function or the name of a module" : "a function",
                 binding_got(L, index));
}

/* function, arguments */
int services_new_thread(lua_State *L)
{
  plan p = {.who = "weft.thread", .is_thread = true, .inbox = -1, .drain = USUAL_DRAIN};
  p.realm = world_of(L, p.who);
  p.first = 1;
  check_main(L, 1, false, p.who);
  return begin(L, &p);
}

/* --- Options ------------------------------------------------------------------------------- */

static const char *const option_names[] = {"main", "args", "inbox", "name", "gate", "drain"};
enum { MAIN = 2, ARGS, INBOX, NAME, GATE, DRAIN, OPTIONS_END };

/* options -> options, and their values behind them */
static void read_options(lua_State *L, const char *who)
{
  if (!lua_istable(L, 1))
    binding_misuse(L, "%s: a table of options expected, got %s", who, binding_got(L, 1));
  lua_settop(L, 1);
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    bool known = false;
    for (int i = 0; i < OPTIONS_END - MAIN; i++)
      known = known || strcmp(option_names[i], name) == 0;
    if (!known) binding_misuse(L, "%s: there is no option '%s'", who, name);
    lua_pop(L, 1);
  }
  for (int i = 0; i < OPTIONS_END - MAIN; i++) lua_getfield(L, 1, option_names[i]);
}

static int32_t check_inbox(lua_State *L, const char *who)
{
  int64_t size;
  if (lua_isnil(L, INBOX)) return USUAL_INBOX;
  if (!element_whole(L, INBOX, &size) || size < 1 || size > WEFT_MAX_INBOX)
    binding_misuse(L, "%s: inbox must be a whole number from 1 to %d, got %s", who,
                   WEFT_MAX_INBOX, binding_got(L, INBOX));
  return (int32_t)size;
}

static uint64_t check_gate(lua_State *L, realm *R, const char *who)
{
  uint64_t states = 0;
  if (lua_isnil(L, GATE)) return 0;
  int count = lua_istable(L, GATE) ? (int)compat_raw_length(L, GATE) : 0;
  if (count == 0)
    binding_misuse(L, "%s: gate must be a list of names of states, got %s", who,
                   lua_istable(L, GATE) ? "an empty one" : binding_got(L, GATE));
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, GATE, i);
    states |= services_state_bit(L, R, lua_gettop(L), who);
    lua_pop(L, 1);
  }
  return states;
}

/* More than any Lua stack holds, which says so itself. */
#define MOST_ARGS 1000000

static int count_args(lua_State *L, const char *who)
{
  int64_t count;
  lua_getfield(L, ARGS, "n");
  if (lua_isnil(L, -1))
    count = (int64_t)compat_raw_length(L, ARGS);
  else if (!element_whole(L, -1, &count) || count < 0)
    binding_misuse(L, "%s: args.n must be a whole number >= 0, got %s", who,
                   binding_got(L, -1));
  lua_pop(L, 1);
  return count < MOST_ARGS ? (int)count : MOST_ARGS;
}

/* The values of the list of arguments, on top. */
static void push_args(lua_State *L, const char *who)
{
  if (lua_isnil(L, ARGS)) return;
  if (!lua_istable(L, ARGS))
    binding_misuse(L, "%s: args must be a list, got %s", who, binding_got(L, ARGS));
  int count = count_args(L, who);
  luaL_checkstack(L, count + LUA_MINSTACK, "too many arguments");
  for (int i = 1; i <= count; i++) lua_rawgeti(L, ARGS, i);
}

int services_new(lua_State *L)
{
  plan p = {.who = "weft.service", .drain = USUAL_DRAIN};
  p.realm = world_of(L, p.who);
  read_options(L, p.who);
  check_main(L, MAIN, true, p.who);
  p.inbox = check_inbox(L, p.who);
  if (!lua_isnil(L, NAME) && lua_type(L, NAME) != LUA_TSTRING)
    return binding_misuse(L, "%s: name must be a string, got %s", p.who, binding_got(L, NAME));
  p.name = lua_tostring(L, NAME);
  p.states = check_gate(L, p.realm, p.who);
  if (!lua_isnil(L, DRAIN)) p.drain = binding_check_seconds(L, DRAIN, p.who, "drain");
  p.first = lua_gettop(L) + 1;
  lua_pushvalue(L, MAIN);
  push_args(L, p.who);
  return begin(L, &p);
}

/* --- Ending -------------------------------------------------------------------------------- */

/* What a thread that was told to stop is given after its drain, before it is left behind. */
#define GRACE INT64_C(1000000000)

static void stop_all(universe *U, const realm *R, bool drain)
{
  for (servant *s = U->servants; s; s = s->next)
    if (!R || s->world == R) weft_service_stop(s->core, drain ? s->drain : 0);
}

static int report_left(lua_State *L, void *context)
{
  const ending *e = context;
  lua_pushnil(L);
  lua_pushfstring(L,
                  "weft.service: %s still runs after world:close, which has waited for it; "
                  "it is left behind",
                  e->servant->name);
  lua_pushnil(L);
  return report_push_on(L, e->realm);
}

void services_close(realm *R)
{
  universe *U = R->universe;
  int64_t since = weft_clock();
  stop_all(U, R, true);
  for (servant *s = U->servants, *next; s; s = next) {
    next = s->next;
    if (s->world != R) continue;
    int64_t left = s->drain + GRACE - (weft_clock() - since);
    if (weft_service_join(s->core, left > 0 ? left : 0, NULL) == WEFT_TIMEOUT) {
      ending e = {R, s};
      s->left = true;
      if (binding_protect(R, report_left, &e, 0, 0) != LUA_OK) lua_pop(U->helper, 1);
    } else {
      services_report(R, s);
      services_forget(U, s);
    }
  }
}

void services_leave(realm *R)
{
  universe *U = R->universe;
  for (service_call *c = U->calls, *next; c; c = next) {
    next = c->next;
    if (c->world == R) services_set_adrift(c);
  }
  stop_all(U, R, false);
  for (servant *s = U->servants; s; s = s->next)
    if (s->world == R) s->world = NULL;
  weft_counted_drop(R->gates);
  R->gates = NULL;
}

/* All of them have the same time to end, not one after the other. */
void services_fini(universe *U)
{
  int64_t since = weft_clock();
  stop_all(U, NULL, false);
  while (U->servants) {
    servant *s = U->servants;
    int64_t left = USUAL_DRAIN - (weft_clock() - since);
    if (left < 0) left = 0;
    if (!s->left && weft_service_join(s->core, left, NULL) == WEFT_TIMEOUT)
      fprintf(stderr, "weft: %s runs on while the Lua state that started it ends\n", s->name);
    services_forget(U, s);
  }
}
