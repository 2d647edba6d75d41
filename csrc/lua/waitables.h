/* SPDX-License-Identifier: MIT */
/*
** waitables.h - objects that routines wait on: signals, channels, locks. What they share: how a script
** holds them, how a wait for them begins and ends, how they end.
**
** The object is a userdata that holds a pointer to a block of our own, first in which is a `waitable`.
** The block outlives the userdata while it is still waited on, and ends with the Lua state at the
** latest: Lua may drop a finalizer, and collects in any order.
*/
#ifndef WEFT_LUA_WAITABLES_H
#define WEFT_LUA_WAITABLES_H

#include "lua/binding.h"

/* An event of a waitable, which may have several. */
typedef struct line {
  weft_event event;
  waitable *object;
} line;

/* A wait that begins. */
typedef struct wait_call {
  waitable *object;
  int64_t timeout; /* ns; negative for none */
  int act;         /* what is waited for, where an object has several */
  lua_State *L;    /* where the value stands that it brings, */
  int value;       /* and at which index; 0 for none */
  realm *realm;
  weft_routine *self;
  bool done; /* nothing to wait for: as if it had been fired with */
  uint64_t given;
} wait_call;

typedef struct waitable_kind {
  const char *name;   /* "signal", for inspect */
  const char *a_name; /* "a signal", for messages */
  bool many;          /* scripts make them by the thousand: memory is kept for the next */
  /* Arms the wait, as `weft_arm_event` answers; also WEFT_CLOSED. Never raises. */
  weft_status (*arm)(wait_call *call);
  /* -> what a wait gives that ended with `value`; how many values, -1 without memory. Never raises. */
  int (*push)(lua_State *L, waitable *object, uint64_t value);
  /* Nobody takes the `value` that it was fired with. NULL where `any` and `all` do not take the object. */
  void (*drop)(universe *U, uint64_t value);
  /* Nobody waits any more and nothing is held any more; the userdata is gone. */
  void (*close)(waitable *object);
  /* Frees what the block points to. */
  void (*fini)(lua_State *L, waitable *object);
  bool (*idle)(const waitable *object); /* closed, and nobody may come back to it */
  /* Whether what is waited for has come already, for ever. NULL where it never has. */
  bool (*come)(const waitable *object);
  /* For what `routine.await` takes, else NULL: what it gives once that has come, or its error, raised;
     and whether nobody is told of its end, so that one has to look. */
  int (*result)(lua_State *L, waitable *object);
  bool (*foreign)(const waitable *object);
} waitable_kind;

struct waitable {
  line line; /* the first; `any` and `all` wait for it */
  const waitable_kind *kind;
  universe *universe;
  uint32_t number;       /* waitables_bind: of the realm whose routines use it; 0 for any */
  size_t size;           /* of the block */
  waitable *next, *prev; /* of the universe */
  bool closed;           /* nothing works any more */
  bool orphan;           /* its userdata is gone */
};

/* -> methods; once for each kind */
void waitables_open_kind(lua_State *L, const waitable_kind *kind, const char *title,
                         const luaL_Reg *methods, const luaL_Reg *metamethods);
/* -> object; the rest of the block is zeroed */
waitable *waitables_new(lua_State *L, const waitable_kind *kind, size_t size, const char *who);
/* Raises unless it is an object of that kind. */
waitable *waitables_check(lua_State *L, int index, const waitable_kind *kind, const char *who);
/* An object of any kind, or NULL. */
waitable *waitables_test(lua_State *L, int index);
/* For an object between routines of one world: that which uses it first, until it is closed. Raises in
   another. */
void waitables_bind(lua_State *L, waitable *object, const realm *R, const char *who);
/* At the end of the Lua state. */
void waitables_fini(lua_State *L, universe *U);

static inline waitable *waitables_of(const weft_event *event)
{
  return ((const line *)event)->object;
}

/* --- locks.c, channel.c --- */
void locks_open(lua_State *L);
void channel_open(lua_State *L);

/* --- signal.c --- */
extern const waitable_kind signal_kind;
void signal_push(lua_State *L); /* -> signal */
/* signal, function -> subscription, whose errors are that world's */
int signal_connect_in(lua_State *L, const realm *R, const char *who);
void signal_open(lua_State *L);
int signal_connect_owned(lua_State *L); /* owner:connect */
int signal_once_owned(lua_State *L);

#endif
