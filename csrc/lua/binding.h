/* SPDX-License-Identifier: MIT */
/*
** binding.h - what the files of the Lua binding share.
**
** A `universe` is what one lua_State holds; a `realm` is one of its worlds: the C world, and beside
** it a Lua thread, the store, whose stack holds the tables that belong to the world. C code on a
** fiber reaches Lua values through the store, and does what may throw in a protected call on the
** universe's helper thread.
*/
#ifndef WEFT_LUA_BINDING_H
#define WEFT_LUA_BINDING_H

#include "lua/compat.h"
#include "weft.h"

typedef struct crew crew;
typedef struct worker worker;
typedef struct universe universe;
typedef struct realm realm;
typedef struct waitable waitable;
typedef struct gates gates; /* services_gates.c */

/* What stands where on the stack of a realm's store. */
enum {
  STORE_VALUES = 1, /* value cells (values.c) */
  STORE_HANDLES,    /* weak: handle objects by slot + 1 (handle.c) */
  STORE_SYSTEMS,    /* a list of subscriptions per phase */
  STORE_NAMES,      /* by slot + 1: string, or false */
  STORE_ON_ERROR,   /* function or nil */
  STORE_TRACE,      /* traceback of the error that is on its way */
  STORE_TRACED,     /* that error */
  STORE_HANDLE_META,
  STORE_CANCELLED,
  STORE_PROTECTED, /* what binding_protect calls */
  STORE_BODY,      /* compat.h: what stands under a routine's function on its coroutine */
  STORE_HANDLER,
  STORE_DONOR, /* threads.c: keeps the donor alive */
  STORE_SETS, /* by slot + 1, what it waits for by any or all (watches.c); nil before first use */
  STORE_OWNERS,  /* weak: owner objects by slot (owner.c) */
  STORE_EARS,    /* by the name of a message: its number (ears.c) */
  STORE_ON_SLOW, /* function or nil */
  STORE_TAGS,    /* timers' tags: number by name, name by number (timer.c) */
  STORE_POSTS, /* what services post: signals by name (services_news.c); nil before first use */
  STORE_TOP = STORE_POSTS
};

/* Phases of systems. */
#define PHASES (WEFT_POST_UPDATE + 1)

/* Cells for Lua values, linked in chains by C; 0 is no cell. */
typedef struct values {
  uint32_t *next; /* next[i] is the cell behind i, of a chain or of the free ones */
  uint32_t free, count, size, used;
} values;

/* Coroutines that nobody runs on, for routines to come; the one that ended last comes first. */
typedef struct idle_thread {
  lua_State *thread;
  uint32_t cell; /* that keeps it alive */
} idle_thread;

typedef struct threads {
  idle_thread *idle;
  uint32_t count, size;
} threads;

/* A function that hears messages. */
typedef struct ear {
  uint64_t born;       /* no other has it or had it; 0: there is none */
  uint32_t cell;       /* the function */
  uint32_t name;       /* its number */
  uint32_t owner;      /* its slot */
  uint32_t next, prev; /* of the same owner, the latest first; `next` also of the free ones */
} ear;

typedef struct hearing {
  uint64_t serial; /* of the owner */
  uint32_t ear;    /* 0: it is gone */
} hearing;

typedef struct heard_name {
  hearing *list; /* in the order of telling */
  uint32_t count, off, size;
  uint32_t cell; /* the name */
  uint32_t next; /* of the free ones */
} heard_name;

typedef struct ear_owner {
  weft_owner id;
  uint64_t serial; /* in the order of making */
  uint32_t first;  /* of its ears */
} ear_owner;

/* Who hears what (ears.c). Numbers count from 1. */
typedef struct ears {
  ear *all;
  heard_name *names;
  ear_owner *owners; /* by slot */
  uint32_t count, size, free, name_count, name_size, name_free, owner_size;
  uint64_t last_born, last_owner;
  /* While a message is told: its name, the next place of the list, who was there when it began, and
     whose ears alone are meant, or 0. */
  uint32_t telling, at;
  uint64_t born_before, only;
} ears;

typedef struct message {
  weft_owner to;  /* 0: all */
  uint32_t cells; /* name and values */
  uint32_t count;
} message;

typedef struct messages {
  message *items; /* a ring */
  uint32_t head, count, size;
  uint32_t left;    /* of those that are delivered in this tick */
  uint64_t dropped; /* whose owner had died */
} messages;

/* Lua values of no world that wait for their takers (parcels.c); 0 is no parcel. */
typedef struct parcel_cell {
  uint32_t next;        /* of the parcel, or of the free ones */
  uint32_t shares : 31; /* of the first: who is going to take the parcel */
  bool is_nil : 1;      /* which a cell may not hold (values.c) */
} parcel_cell;

typedef struct parcels {
  parcel_cell *cells;
  uint32_t free, count, size, used;
  lua_State *store;
} parcels;

/* Who holds what, or is to hold it (locks.c); 0 is none. */
typedef struct lock_node {
  struct lock *lock;
  uint32_t slot;       /* of the routine that holds it, plus 1; 0 while it waits for it */
  uint32_t next, prev; /* of that routine; `next` also of the free ones */
} lock_node;

typedef struct lock_nodes {
  lock_node *all;
  uint32_t free, count, size;
} lock_nodes;

#define OVERRUNS_KEPT 8

/* A resume that takes too long (overruns.c); id 0: none. Also written in a signal handler. */
typedef struct overrun {
  weft_handle id;
  uint32_t resumes; /* which of the routine's */
  uint32_t slot;    /* its, + 1 */
  volatile int wants;
  uint32_t tries; /* hooks set since one ran */
  char where[LUA_IDSIZE + 16];
} overrun;

typedef struct overruns {
  overrun notes[OVERRUNS_KEPT];
  uint32_t next;
} overruns;

/* How a routine stands and how it is going to end. In its slot, so it is kept small. */
typedef struct record {
  lua_State *thread; /* the coroutine it runs on; NULL before its first resume */
  uint32_t number;   /* the cell that keeps it; before its first resume: how many cells */
  uint32_t cells;    /* function and arguments before its first resume; then, if it failed, its
                        handle until that is reported; then why it was asked to stop */
  uint32_t defers;   /* cells: the latest first */
  uint8_t outcome;   /* enum outcome */
  bool armed;        /* a wait of ours is under way */
  bool bare;         /* a coroutine.yield of the script's is */
  bool must_close : 1; /* it yielded to be ended by force */
  bool reported : 1;   /* as one that cannot be ended */
  bool in_defer : 1;   /* the coroutine runs a cleanup */
  bool forced : 1;     /* it was ended by force */
  bool recorded : 1;   /* the first of the cells is the handle */
  bool has_reason : 1; /* the last of them is a reason */
  bool named : 1;      /* it has a name in the store */
  bool holds : 1;      /* it may hold locks */
} record;

typedef struct scope scope;           /* scope.c */
typedef struct scope_link scope_link; /* what a slot has to do with scopes */

struct realm {
  universe *universe;
  weft_world *world;  /* NULL once closed */
  const void *object; /* the userdata that scripts hold; its user value keeps the store alive */
  realm *next;        /* of the universe */
  uint32_t number;    /* of the realm in its universe */
  uint32_t serial;    /* what its handles remember; a new one when it is configured anew */
  lua_State *store;
  lua_State *ticking; /* the Lua thread that called tick; NULL outside */
  lua_State *donor;   /* whose depth of C calls routines start at, or NULL */
  values values;
  threads threads;
  uint32_t *holds; /* locks.c: by slot, the first lock that it holds; NULL before first use */
  ears ears;
  messages messages;
  overruns overruns;
  gates *gates;            /* services_gates.c; NULL before first use */
  scope_link *scope_links; /* by slot; NULL before first use */
  uint32_t looked;         /* routine_look_around: the next slot */
  weft_world_config config;
  uint64_t traced_at; /* report.c: when the trace in the store was kept */
  record report;      /* of a routine that has ended and is to be reported */
  bool has_report;
  bool closing;
  /* Cells: functions to be called for owners that have ended. */
  uint32_t ended_first, ended_last;
  /* The highest slot of an owner so far; how many have a place in the store. */
  uint32_t owner_slots, owner_places;
  uint32_t systems[PHASES]; /* subscriptions that are on, by phase */
  bool dirty[PHASES];       /* phases that hold subscriptions that are off */
  double last_times[3];     /* simTime, realTime, tickCount of a closed world */
};

struct universe {
  realm *realms;
  lua_State *helper; /* where C code on a fiber makes protected calls */
  realm *current;    /* whose tick runs */
  realm *fallback;   /* the default world, or NULL */
  uint32_t next_serial;
  const struct pending_call *pending; /* core.c: what binding_protect is about to call */
  int callbacks; /* > 0 while a callback runs that is no part of the running routine */
  const void *handle_meta, *cancelled;
  parcels parcels;
  waitable *waitables;    /* all of them */
  waitable *spare_blocks; /* memory of some that are gone, all of one size */
  uint32_t spare_block_count;
  const void *waitable_meta;        /* the metatable of one that was looked at last */
  uint32_t orphans;                 /* of those, without an object of a script's */
  struct watch_block *watch_blocks; /* watches.c: all of them */
  lock_nodes lock_nodes;
  struct fire *fire; /* signal.c: the innermost that calls listeners */
  bool hooked;       /* debug hooks were seen in use: compat.h says what for */
  bool closed;
  size_t buffer_limit;   /* buffer.c: with more bytes than this, garbage is looked for */
  struct crew *crew;     /* jobs.h; NULL before the first use of jobs */
  struct worker *worker; /* whose state this is, in a job's thread; else NULL */
  struct inbox *inbox;
  struct work *works;  /* that it has started and not taken in, or not reported */
  struct inbox *lost;  /* failures of jobs that its jobs have started; NULL in a job's thread */
  struct mail *losses; /* of those, what was taken out and not reported; the oldest first */
  struct mail **last_loss;
  struct work *spare; /* memory of some that are over, by `after` */
  uint32_t spare_count;
  uint64_t work_count;
  struct paths *paths;       /* of the last job that was started */
  const char *path_texts[2]; /* jobs_start.c: the strings that those were made from */
  struct codes *codes;       /* transfer_codes.c */
  struct servant *servant;   /* whose state this is, in a service's thread; else NULL */
  struct servant *servants;  /* services.h: those that it has started and that have not ended */
  struct service_call *calls; /* that it has made and that have not ended */
  uint64_t servant_count;
};

enum outcome { OUTCOME_NONE, OUTCOME_COMPLETED, OUTCOME_CANCELLED, OUTCOME_FAILED };

/* The object a script holds. What a routine ended with is its user value. */
typedef struct handle {
  weft_handle id;
  uint32_t serial; /* of the realm */
  uint8_t state;   /* weft_state it ended with, if it left something here, else 0 */
  uint8_t shape;   /* enum shape of the user value */
  uint8_t kept;    /* weft_state it had when the slots of its world went, 0 if it was expired */
} handle;

enum shape { SHAPE_NOTHING, SHAPE_VALUE, SHAPE_LIST, SHAPE_ERROR };

/* --- core.c --- */
#define binding_universe(L) ((universe *)lua_touserdata((L), lua_upvalueindex(1)))
/* Sets functions into the table on top; each gets the universe as its upvalue. */
void binding_functions(lua_State *L, const luaL_Reg *list);
/* The same with the handles' metatable as the second, for functions that start routines. */
void binding_starters(lua_State *L, const luaL_Reg *list);
void binding_push_universe(lua_State *L);
/* The calling world, else the default one, which is made if need be. */
realm *binding_realm_here(lua_State *L);
/* The running routine, or NULL. */
weft_routine *binding_self(const universe *U);
/* Calls fn(L, context) on the helper, protected, with `nargs` values that were pushed there. LUA_OK:
   `nresults` are on the helper; else the error is. */
int binding_protect(realm *R, int (*fn)(lua_State *L, void *context), void *context, int nargs,
                    int nresults);
/* The same where C calls are already nested as deep as on `from`. */
int binding_protect_from(lua_State *from, realm *R, int (*fn)(lua_State *L, void *context),
                         void *context, int nargs, int nresults);
/* The same on a thread that has room for four values more, and as part of what runs there. */
int binding_protect_on(lua_State *L, realm *R, int (*fn)(lua_State *L, void *context),
                       void *context, int nargs, int nresults);
/* Whether `L` runs a finalizer, where nothing may wait. Needs room for four values. */
bool binding_in_finalizer(lua_State *L, realm *R);
/* Raises at the line that called the public function. */
__attribute__((cold, noinline)) int binding_misuse(lua_State *L, const char *format, ...);
int binding_failed(lua_State *L, const char *who, weft_status status);
int binding_outside(lua_State *L, const char *who);          /* no routine is calling */
void binding_check_worlds(lua_State *L, const char *prefix); /* raises where there are none */
void binding_push_weak(lua_State *L, int size, const char *mode); /* -> table */
/* The subscription that `sub:off` was called on, whose metatable the registry has under `key`; nothing
   else is left on the stack. Raises. */
void *binding_check_sub(lua_State *L, const void *key);
/* What stands at `index`, for messages: "got -1", "got string". */
const char *binding_got(lua_State *L, int index);
/* Whether a chunk is one of weft's own that stand between a script and a public function. */
bool binding_is_ours(const char *source);
void *binding_alloc(lua_State *L, void *block, size_t old_size, size_t size);

/* --- values.c --- */
bool values_init(lua_State *L, values *v, uint32_t size);
void values_fini(lua_State *L, values *v);
void values_reserve(lua_State *L, realm *R, uint32_t count);            /* may throw */
uint32_t values_put(realm *R, lua_State *L, int index);                 /* reserved before */
uint32_t values_put_range(realm *R, lua_State *L, int first, int last); /* a chain */
uint32_t values_store(realm *R, int count);    /* the same, of values on the store -> */
uint32_t values_free(realm *R, uint32_t cell); /* the next cell */
uint32_t values_take(realm *R, lua_State *L, uint32_t cell); /* -> value; the next cell */
void values_drop(realm *R, uint32_t cell);                   /* frees a whole chain */

/* --- threads.c --- */
bool threads_init(lua_State *L, threads *t, uint32_t size);
void threads_fini(lua_State *L, threads *t);
bool threads_take(realm *R, record *rec); /* false: no memory, the error is on the helper */
void threads_give(realm *R, record *rec, bool reusable);
lua_State *threads_push_donor(lua_State *L, size_t stack_bytes); /* -> donor or nil */

/* --- routine.c --- */
weft_status routine_body(weft_routine *self, void *arg);
bool routine_loop(void *host, weft_world *world);
void routine_dropped(void *host, weft_routine *self);
void routine_ended(void *host, weft_routine *self, bool joined);
int routine_start(lua_State *L, realm *R, int first, const char *who);
/* The same for one that `owner` has; 0 is nobody. */
int routine_start_owned(lua_State *L, realm *R, weft_owner owner, int first, const char *who);
void routine_look(const realm *R, weft_routine *routine); /* whether it was closed by hand */
void routine_look_around(realm *R);                       /* the same, at one in turn */
void routine_push_parts(lua_State *L);                    /* -> body, handler */
void routine_open(lua_State *L);

/* --- inside.c --- */
void inside_push_halves(lua_State *L); /* table -> table */
void inside_open(lua_State *L);        /* table -> table */

/* --- waits.c --- */
/* Addresses that only the scheduler and waits.lua know: a wait is over; and: ask for it by a yield. */
#define WAKE_TOKEN(U) ((void *)(U))
#define ASK_TOKEN(U) ((void *)&(U)->helper)
/* What a coroutine is resumed with when a wait of ours is over; how many values. */
int waits_push_wake(realm *R, lua_State *co, const weft_routine *self, weft_status woken);
/* Whether a coroutine has yielded to ask for a wait; and doing that. */
bool waits_asked(const realm *R, lua_State *co);
weft_status waits_arm_asked(realm *R, weft_routine *self, lua_State *co);
/* The running routine, where it may wait; raises elsewhere. */
weft_routine *waits_self(lua_State *L, const char *who);
void waits_open(lua_State *L);

/* Waits for what `call` names (waitables.c), whose object stands at 1; also the end of the C function
   that does: what the wait gives is returned. */
struct wait_call;
int waits_for(lua_State *L, struct wait_call *call, const char *who);
/* scope, handler, results or an error of its function -> results; when no child is left */
int waits_in_scope(lua_State *L);

/* The values of a wait that is none, as the C function that would wait returns them. */
int waits_none(lua_State *L, const struct wait_call *call);
int waits_refuse(lua_State *L, const universe *U, const char *reason);

/* --- locks.c --- */
void locks_let_go(realm *R, const weft_routine *self); /* it has ended */
void locks_forget(lua_State *L, realm *R);             /* its routines are gone */
void locks_fini(lua_State *L, universe *U);

/* --- loops.c --- */
void loops_open(lua_State *L);

/* --- watches.c --- */
/* What a routine waits for by any or all; it stands at 1 of the stack. */
typedef struct watch_set watch_set;
void watches_new(lua_State *L, bool all); /* list -> set */
const char *watches_name(lua_State *L);   /* of the function that it was given to */
weft_status watches_arm(lua_State *L, realm *R, weft_routine *self, bool *done);
/* Some time after it was armed and disarmed again: what it waits for may have come since, or gone. */
weft_status watches_arm_again(realm *R, weft_routine *self,
                              bool *done);               /* set on the store -> */
void watches_forget(realm *R, const weft_routine *self); /* the wait is over */
int watches_push_answer(lua_State *L);                   /* what any or all returns */
void watches_open(lua_State *L);
void watches_fini(lua_State *L, universe *U);

/* --- parcels.c --- */
/* Fires inside one another. Each takes some levels of C calls, and stack. */
#define MAX_FIRES 32

/* What stands where on the stack of the store of parcels: the cells; signal.c: the traceback of an error
   outside of all worlds, and by the depth of the fire, from 1, the world of the listener that is
   called. */
enum { PARCELS_VALUES = 1, PARCELS_TRACE, PARCELS_WORLDS = PARCELS_TRACE };
void parcels_open(lua_State *L);
void parcels_fini(lua_State *L, universe *U);
void parcels_reserve(lua_State *L, universe *U, uint32_t count);       /* may throw */
uint32_t parcels_put(universe *U, lua_State *L, int first, int count); /* reserved before */
void parcels_share(universe *U, uint32_t parcel, uint32_t more);
/* One share. */
void parcels_drop(universe *U, uint32_t parcel);
/* The same -> its values; how many, or -1 and none if there is no memory for so many. */
int parcels_take(universe *U, lua_State *L, uint32_t parcel);

/* --- scope.c --- */
void scope_open(lua_State *L);
void scope_push_functions(lua_State *L);
void scope_fini(lua_State *L, realm *R);
scope *scope_check(lua_State *L, int index, const char *name);
/* Arms the wait for a child; `*done`: there is none left. */
weft_status scope_arm(weft_routine *self, scope *s, bool *done);
/* The host cannot wait for its children: they are cancelled and left to themselves. True if it has an
   error of its own to end with; else it is over. */
bool scope_gives_up(weft_routine *self, scope *s);
bool scope_is_done(const scope *s);
int scope_result(lua_State *L);
/* A routine that may be a child has ended, or was never entered. */
void scope_child_ended(realm *R, const weft_routine *child, record *rec);
void scope_host_cancelled(realm *R, const weft_routine *routine);
/* What runs on the host's coroutine has ended: so do the scopes that are open all the same. */
void scope_abandon(realm *R, weft_routine *host);
bool scope_interrupts(const realm *R, const weft_routine *self); /* one of its own does */

/* --- handle.c --- */
void handle_open(lua_State *L); /* -> metatable */
bool handle_test(lua_State *L, int index);
handle *handle_check(lua_State *L, int index, const char *who);
/* -> handle, not yet of a routine; its metatable is upvalue 2 of the function that calls */
handle *handle_new(lua_State *L, realm *R);
void handle_bind(realm *R, handle *h, weft_handle id,
                 uint32_t slot);              /* handle on the store -> */
handle *handle_peek(realm *R, uint32_t slot); /* -> handle on the store, or NULL and nothing */
void handle_of(lua_State *L, realm *R, const weft_routine *routine); /* -> handle; may throw */
void handle_complete(realm *R, weft_routine *self, lua_State *from, int count); /* values -> */
void handle_fail(realm *R, weft_routine *self, lua_State *from,
                 lua_State *traced); /* error -> */
int handle_push_result(lua_State *L, int index, const handle *h, weft_state state);
realm *handle_realm(lua_State *L, const handle *h);
weft_state handle_state(lua_State *L, const handle *h);
void handle_keep_states(realm *R, bool keep);
void binding_push_cancelled(lua_State *L); /* -> Cancelled */
const char *handle_state_name(weft_state state);
/* -> "routine 3.1 'name'", for messages */
const char *handle_push_title(lua_State *L, int index);

/* --- report.c --- */
int report_print(lua_State *L);
int report_push_on(lua_State *L, realm *R); /* handle or nil, error, traceback -> */
void report_routine(realm *R, const record *rec);
int report_traceback(lua_State *L); /* message handler: error -> error, its trace kept aside */
/* -> trace of the error at `index`: the one kept aside, or of `traced` if that is given */
void report_push_trace(lua_State *L, realm *R, int index, lua_State *traced);
/* error, trace or no string -> error: its trace is kept aside, it is about to be raised */
void report_keep_trace(lua_State *L, realm *R);
void report_forget_trace(realm *R);
void report_callback(realm *R, lua_State *L); /* error -> : of a system or a post */
void report_failure(realm *R, lua_State *L);  /* the same where nothing catches an error */

/* --- trace.c --- */
/* -> traceback of a thread from that level on; may throw. Takes a slot there, too. */
void trace_push(lua_State *L, const realm *R, lua_State *of, int level);

/* --- world.c --- */
void world_open(lua_State *L);
realm *world_check(lua_State *L, int index, const char *who);
realm *world_check_open(lua_State *L, int index, const char *who);
void world_check_idle(lua_State *L, const realm *R, const char *who); /* outside any tick */
void world_push_meta(lua_State *L, uint32_t number); /* -> metatable of that world */
void world_push_all(lua_State *L);                   /* -> userdata by number, weakly */
void world_push(lua_State *L, const realm *R);       /* -> userdata */
/* Both also for one that may be gone: not closed; and not being closed either. */
bool world_is_there(const universe *U, const realm *R);
bool world_is_open(const universe *U, const realm *R);
bool world_reachable(lua_State *L,
                     const realm *R); /* its userdata, and with it the store, lives */
int64_t binding_check_seconds(lua_State *L, int index, const char *who, const char *what);

/* --- life.c --- */
realm *world_fallback(lua_State *L); /* the default world */
void world_forget(lua_State *L, realm *R);
int life_new(lua_State *L);
int life_default(lua_State *L);
int life_here(lua_State *L);
int life_configure(lua_State *L);
int life_unload(lua_State *L);
int life_close(lua_State *L);
int life_gc(lua_State *L);

/* --- inspect.c --- */
void inspect_push_name(lua_State *L, const realm *R,
                       const weft_routine *routine); /* -> name or nil */
void inspect_forget_name(realm *R, const weft_routine *routine);
void inspect_push_where(lua_State *L, const realm *R, const record *rec); /* -> text or nil */
int inspect_push_list(lua_State *L, realm *R);                            /* -> list */
int inspect_name(lua_State *L);
int inspect_list(lua_State *L);

/* --- config.c --- */
weft_world_config config_default(realm *R);
/* What the table at `index` names is replaced, the rest stays. */
void config_read(lua_State *L, int index, const char *who, weft_world_config *config);

/* --- systems.c --- */
void systems_phase(void *host, weft_phase phase, double dt);
void systems_open(lua_State *L);
int systems_on(lua_State *L);
int systems_post(lua_State *L);
void systems_call(lua_State *L, realm *R, int nargs); /* function, arguments -> */

/* --- timer.c --- */
void timer_stage(void *host, weft_world *world);
void timer_ended(void *host, weft_timer timer, weft_timer_fn fn, void *arg);
void timer_open(lua_State *L);

/* --- owner.c --- */
void owner_open(lua_State *L);
int owner_new(lua_State *L); /* world:owner */
/* -> owner, or nothing and false if nobody owns the routine */
bool owner_push_of(lua_State *L, realm *R, const weft_routine *routine);
void owner_ended(void *host, weft_owner id, void *data);
/* Calls what is queued for owners that have ended; C calls are as deep as on `from`. */
void owner_tell(lua_State *from, realm *R);
bool owner_is(lua_State *L, int index);
/* The owner at `index`, and the number of its realm; raises for another value. */
weft_owner owner_check(lua_State *L, int index, const char *who, uint32_t *number);
/* The open world of that number: NULL if there is none; the other raises then. */
realm *owner_find_realm(lua_State *L, uint32_t number);
realm *owner_realm(lua_State *L, uint32_t number, const char *who);

/* --- ears.c --- */
void ears_fini(lua_State *L, ears *e);
void ears_reserve_owners(lua_State *L, realm *R,
                         uint32_t slots);       /* up to that one; may throw */
void ears_begin_owner(realm *R, weft_owner id); /* reserved before */
void ears_end_owner(realm *R, weft_owner id);
/* A living owner's function at `fn` hears the name at `name`. May throw, runs no finalizer. */
uint32_t ears_add(lua_State *L, realm *R, weft_owner id, int name, int fn);
void ears_remove(realm *R, uint32_t number);
uint32_t ears_find_name(lua_State *L, realm *R,
                        int index); /* its number, 0 if nobody hears it */
/* Goes through those who hear a name, or `to` alone: the cell of the next function, 0 at the end. */
void ears_begin(realm *R, uint32_t number, weft_owner to);
uint32_t ears_next(realm *R);
void ears_end(realm *R);

/* --- overruns.c --- */
void overruns_seen(void *host, weft_routine *self, bool over);
void overruns_tell(void *host, weft_handle id, int64_t ns);
/* Whether a debug hook is set that is not of this file. */
bool overruns_hooks_in_use(lua_State *L);

/* --- messages.c --- */
void messages_open(lua_State *L);
void messages_fini(lua_State *L, messages *m);
int messages_on(lua_State *L);        /* owner:on */
int messages_send(lua_State *L);      /* world:send */
int messages_broadcast(lua_State *L); /* world:broadcast */
void messages_deliver(void *host);

/* --- require.c --- */
void require_open(lua_State *L);

/* --- os.c --- */
void os_open(lua_State *L);

/* --- spans.c --- */
void spans_label(void *host, weft_routine *routine, char *text, size_t size);
void spans_open(lua_State *L);

/* --- probe.c --- */
void probe_prefetch(void *host, weft_routine *far, weft_routine *middle, weft_routine *near);
void probe_open(lua_State *L); /* learns where things are */
void probe_describe(void *host, weft_routine *self, char *text, size_t size);

#endif
