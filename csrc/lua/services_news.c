/* SPDX-License-Identifier: MIT */
/*
** services_news.c - what comes back from a service: answers, posts, and the news of its end. With
** jobs_inbox.c the only file of the binding with atomics.
*/
#include <stdatomic.h>
#include <stdio.h>

#include "lua/services.h"

/* --- Counting ------------------------------------------------------------------------------ */

bool services_claim(service_call *c)
{
  /* Relaxed: nothing is read because of it. */
  return !atomic_exchange_explicit(&c->claimed, true, memory_order_relaxed);
}

bool services_post_starts(servant *s)
{
  /* Relaxed, as below: it is a number. */
  uint32_t before = atomic_fetch_add_explicit(&s->posts, 1, memory_order_relaxed);
  if (before < SERVICE_MAX_POSTS) return true;
  services_post_ends(s);
  return false;
}

void services_post_ends(servant *s)
{
  atomic_fetch_sub_explicit(&s->posts, 1, memory_order_relaxed);
}

/* --- Letters and calls --------------------------------------------------------------------- */

/* Of one that is not received. */
void services_dropped(void *arg, const weft_letter *letter)
{
  (void)arg;
  weft_counted_drop((parcel *)(uintptr_t)letter->data[0]);
}

/* In stage 2 of a tick. */
static void arrive(void *arg)
{
  services_arrive(arg);
}

/* The world goes; whoever waits elsewhere was told (services_leave). */
static void drop_arrival(void *arg)
{
  service_call *c = arg;
  c->arrived = true;
  services_unlist_call(c);
}

/* On the thread of the service most often. What the letter held of the call goes to the post. */
void services_call_ended(weft_call *base)
{
  service_call *c = base->arg;
  weft_status status = WEFT_CLOSED;
  if (c->poster)
    status = weft_poster_post_reserved(c->poster, arrive, drop_arrival, c, WEFT_NORMAL);
  /* Where the world is gone its thread has taken the call from the list (services_leave). */
  if (status) weft_counted_drop(c);
}

/* --- Posts --------------------------------------------------------------------------------- */

/* A counted object. */
typedef struct news {
  servant *servant;
  parcel *values; /* a name, and what comes with it */
} news;

static void news_end(void *object)
{
  news *n = object;
  weft_counted_drop(n->values);
  weft_counted_drop(n->servant);
}

static void drop_news(void *arg)
{
  news *n = arg;
  services_post_ends(n->servant);
  weft_counted_drop(n);
}

/* -> the signal of that name in the world, or nothing */
static bool push_signal(lua_State *L, realm *R, int name)
{
  lua_pushvalue(R->store, STORE_POSTS);
  lua_xmove(R->store, L, 1);
  if (lua_istable(L, -1)) {
    lua_pushvalue(L, name);
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

typedef struct telling {
  realm *realm;
  const news *news;
} telling;

static int tell(lua_State *L, void *context)
{
  const telling *t = context;
  luaL_checkstack(L, LUA_MINSTACK, "values");
  int first = lua_gettop(L) + 1;
  int count = transfer_read(L, t->news->values, &(transfer_side){0});
  if (!push_signal(L, t->realm, first)) {
    t->realm->messages.dropped++;
    return 0;
  }
  lua_replace(L, first); /* signal, values */
  lua_getfield(L, first, "fire");
  lua_insert(L, first);
  lua_call(L, count, 0);
  return 0;
}

/* In stage 2 of a tick. */
static void deliver(void *arg)
{
  realm *R = weft_world_host(weft_world_ticking());
  telling t = {R, arg};
  if (binding_protect_on(R->ticking, R, tell, &t, 0, 0) != LUA_OK)
    report_failure(R, R->ticking);
  drop_news(arg);
}

/* name, values -> true; or false and a reason */
int services_post(lua_State *L)
{
  static const char who[] = "service.post";
  servant *s = binding_universe(L)->servant;
  if (!s) return binding_misuse(L, "%s: not inside a service or a thread", who);
  if (lua_type(L, 1) != LUA_TSTRING)
    return binding_misuse(L, "%s: a name expected, got %s", who, binding_got(L, 1));
  parcel *p = services_write(L, 1, TRANSFER_ANSWER, false, who);
  news *n = weft_counted_new(sizeof *n, news_end);
  if (!n) {
    weft_counted_drop(p);
    return luaL_error(L, "%s: not enough memory", who);
  }
  n->values = weft_counted_keep(p);
  n->servant = weft_counted_keep(s);
  bool room = services_post_starts(s);
  weft_status status =
      room ? weft_poster_post(s->poster, deliver, drop_news, n, WEFT_NORMAL) : WEFT_FULL;
  if (status == WEFT_OK) services_give(p, "gone: it was posted to a world");
  weft_counted_drop(p);
  if (status && room) services_post_ends(s);
  if (status) weft_counted_drop(n);
  lua_pushboolean(L, status == WEFT_OK);
  if (status == WEFT_OK) return 1;
  if (status == WEFT_NOMEM) return luaL_error(L, "%s: not enough memory", who);
  lua_pushstring(L, status == WEFT_FULL ? "full" : "closed");
  return 2;
}

/* -> the world's table of signals */
static void push_signals(lua_State *L, realm *R)
{
  lua_pushvalue(R->store, STORE_POSTS);
  lua_xmove(R->store, L, 1);
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_xmove(L, R->store, 1);
  lua_replace(R->store, STORE_POSTS);
}

/* world, name, function -> subscription */
int services_on_post(lua_State *L)
{
  static const char who[] = "world:onPost";
  realm *R = world_check_open(L, 1, who);
  if (lua_type(L, 2) != LUA_TSTRING)
    return binding_misuse(L, "%s: a name expected, got %s", who, binding_got(L, 2));
  if (!lua_isfunction(L, 3))
    return binding_misuse(L, "%s: a function expected, got %s", who, binding_got(L, 3));
  lua_settop(L, 3);
  push_signals(L, R); /* 4 */
  lua_pushvalue(L, 2);
  lua_rawget(L, 4);
  if (lua_isnil(L, 5)) {
    lua_settop(L, 4);
    signal_push(L);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 5);
    lua_rawset(L, 4);
  }
  lua_pushvalue(L, 3);
  lua_replace(L, 2);
  lua_replace(L, 1);
  lua_settop(L, 2); /* signal, function */
  return signal_connect_in(L, R, who);
}

/* --- Ends ---------------------------------------------------------------------------------- */

void services_forget(universe *U, servant *s)
{
  if (!s->listed) return;
  s->listed = false;
  if (s->prev)
    s->prev->next = s->next;
  else
    U->servants = s->next;
  if (s->next) s->next->prev = s->prev;
  s->next = s->prev = NULL;
  weft_counted_drop(s);
}

static int push_report(lua_State *L, void *context)
{
  const ending *e = context;
  lua_pushnil(L);
  services_push_death(L, e->servant);
  lua_pushnil(L);
  return report_push_on(L, e->realm);
}

void services_report(realm *R, servant *s)
{
  ending e = {R, s};
  bool failed = s->death || s->wrong;
  if (!failed || s->told) return;
  s->told = true;
  if (binding_protect(R, push_report, &e, 0, 0) == LUA_OK) return;
  fprintf(stderr, "weft: %s failed, and there was no memory to say how\n", s->name);
  lua_pop(R->universe->helper, 1);
}

/* In stage 2 of a tick. */
static void hear_end(void *arg)
{
  servant *s = arg;
  realm *R = weft_world_host(weft_world_ticking());
  services_report(R, s);
  services_forget(R->universe, s);
  weft_counted_drop(s);
}

static void drop_end(void *arg)
{
  weft_counted_drop(arg);
}

/* On the thread of the service, last. What the thread held of it goes to the post. */
void services_ended(void *arg, weft_status status)
{
  servant *s = arg;
  (void)status;
  if (weft_poster_post_reserved(s->poster, hear_end, drop_end, s, WEFT_NORMAL))
    weft_counted_drop(s);
}
