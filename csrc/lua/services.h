/* SPDX-License-Identifier: MIT */
/*
** services.h - services and threads of Lua: what the files about them share.
**
** A `servant` is a service of the core with a Lua state of its own, which its thread alone touches.
** Who has started it sends it parcels; what it answers and posts comes back to a world as posts do, in
** stage 2 of a tick.
*/
#ifndef WEFT_LUA_SERVICES_H
#define WEFT_LUA_SERVICES_H

#include "lua/jobs.h"

typedef struct servant servant;
typedef struct service_call service_call;

/* What it has posted and no tick has taken in as yet, at most. */
#define SERVICE_MAX_POSTS 1024

/* A counted object: of the objects that scripts have, of its thread, and of what is under way. */
struct servant {
  weft_service *core;
  weft_poster *poster; /* of the world that it belongs to */
  char name[64];       /* "service 'db'" */
  bool is_thread;
  int64_t drain;
  parcel *input; /* main, and what it is called with */
  paths *paths;
  /* How it has failed, from before the first call is told of it: a parcel, or where there was no memory
     for one a text. */
  parcel *death;
  const char *wrong;
  char wrong_text[160];
  _Atomic(uint32_t) posts; /* under way */
  /* Of the state that has started it. */
  servant *next, *prev;  /* of those that have not ended, as far as it knows */
  realm *world;          /* may be gone */
  const universe *owner; /* that state's */
  bool listed;
  bool told; /* somebody knows how it has failed */
  bool left; /* it was waited for, and still ran */
  /* Of its thread. */
  weft_service *self;
  parcel *incoming;      /* the letter that is being read */
  service_call *current; /* its call, until it is answered */
  enum { LETTER_NONE, LETTER_POST, LETTER_CALL, LETTER_ANSWERED } letter;
};

/* A counted object: of the letter, then of the post that tells of its end; and of a script's object. */
struct service_call {
  weft_call base;
  servant *servant;
  weft_poster *poster; /* of the world that is told; NULL: nobody is */
  parcel *output;      /* the answer, or the error */
  const char *wrong;   /* the error where there is no parcel */
  _Atomic(bool) claimed;
  /* Of the state that has made it. */
  service_call *next, *prev; /* of those that are under way */
  universe *universe;
  const realm *world;
  waitable *object; /* what the script holds, or NULL */
  bool listed;
  bool arrived; /* its own state knows that it has ended */
  bool adrift;  /* its world is gone: nobody tells of its end */
};

/* For reports: of what, by which world. */
typedef struct ending {
  realm *realm;
  const servant *servant;
} ending;

/* In the registry of a servant's state before the module is opened there. */
#define SERVICES_SERVANT_KEY "weft.servant"

/* --- services.c --- */
void services_open(lua_State *L);
servant *services_test(lua_State *L, int index); /* NULL if it is no service and no thread */
void services_push(lua_State *L, servant *s);    /* -> service or thread */
/* -> the same, of nothing as yet: it drops what is put into it */
servant **services_push_empty(lua_State *L, bool is_thread);

/* --- services_letters.c --- */
/* The values from `first` on, as a parcel whose buffers may be given away; raises. */
parcel *services_write(lua_State *L, int first, enum transfer_what what, bool has_function,
                       const char *who);
/* They are given away: nothing of them may be touched here any more. */
void services_give(const parcel *p, const char *why);
int services_try_post(lua_State *L);
int services_call(lua_State *L);
/* -> the error that it has failed with; or that it has ended without an answer */
void services_push_death(lua_State *L, const servant *s);

/* --- services_call.c --- */
/* -> call, still of nothing; what goes to its service keeps it from when it is listed */
service_call *services_new_call(lua_State *L, servant *s, const char *who);
void services_list_call(universe *U, service_call *c);
void services_unlist_call(service_call *c);
void services_set_adrift(service_call *c); /* its world goes */
void services_arrive(service_call *c);     /* its world tells that it has ended */
void services_open_calls(lua_State *L);

/* --- services_life.c --- */
int services_new(lua_State *L);        /* options -> service, or nil and a reason */
int services_new_thread(lua_State *L); /* function, arguments -> thread */
/* The end of a world: its services are told to stop and waited for. */
void services_close(realm *R);
/* The same without waiting: nobody tells of their end any more. */
void services_leave(realm *R);
void services_fini(universe *U); /* of the Lua state */

/* --- services_inside.c --- */
weft_status services_main(weft_service *self, void *arg);
void services_open_inside(lua_State *L); /* module table on top */

/* --- services_news.c --- */
void services_dropped(void *arg, const weft_letter *letter);
void services_ended(void *arg, weft_status status);
void services_call_ended(weft_call *base);
bool services_post_starts(servant *s); /* false: there are as many as there may be */
void services_post_ends(servant *s);
int services_post(lua_State *L);    /* service.post */
int services_on_post(lua_State *L); /* world:onPost */
/* Takes note, on the thread of the state that has started it, that it has ended. */
void services_forget(universe *U, servant *s);
void services_report(realm *R, servant *s); /* how it has failed, unless somebody knows */
bool services_claim(service_call *c);       /* whether this is the first to read the answer */

/* --- services_gates.c --- */
weft_gate *services_gate(lua_State *L, realm *R, const char *who); /* may raise */
uint64_t services_state_bit(lua_State *L, realm *R, int index, const char *who);
int services_set_state(lua_State *L); /* world:setState */
int services_state(lua_State *L);     /* world:state */

#endif
