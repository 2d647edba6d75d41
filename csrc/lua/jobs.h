/* SPDX-License-Identifier: MIT */
/*
** jobs.h - jobs of Lua: what the files about them share.
**
** A `crew` is the pool of one Lua state and, for each of its threads, a Lua state of the thread's own,
** a `worker`. A `work` is one job on its way: it begins in the state that starts it, runs on a
** thread of the pool, and comes back through the `inbox` of that state, which takes it in. Jobs
** start jobs: a worker's state has an inbox, too.
*/
#ifndef WEFT_LUA_JOBS_H
#define WEFT_LUA_JOBS_H

#include "lua/transfer.h"
#include "lua/waitables.h"

typedef struct work work;
typedef struct inbox inbox;

/* A kernel of a shared library: a counted object. */
typedef struct kernel {
  void *library;
  weft_kernel fn;
} kernel;

/* Where modules are looked for, as it was at dispatch. */
typedef struct paths {
  const char *path, *cpath;
  char text[];
} paths;

/* Two coroutines of a thread's state, for one job at a time; `kept` is their place in the registry. */
typedef struct pair {
  lua_State *aide, *co;
  int kept;
} pair;

/* One run of a work's function; those of a thread are linked. */
typedef struct job_run {
  struct job_run *next, *prev;
  worker *me;
  work *work;
  const work *awaits; /* whose end it waits for now, or NULL */
  pair pair;
  int views; /* in the registry: the list of the first views of its holds; LUA_NOREF for none */
  int count; /* values on the aide, */
  bool direct; /* or on the coroutine already */
  size_t first, last;
} job_run;

/* Idle pairs that are kept. */
#define MAX_PAIRS 16

/* The Lua state of one thread of the pool, which alone touches it. */
struct worker {
  crew *crew;
  lua_State *L; /* NULL before the first job */
  universe *universe;
  paths *paths;         /* that are set there */
  struct range *ranges; /* whose functions are kept for parts to come */
  job_run *running;     /* of those under way here the one that does not wait */
  job_run *runs;        /* all of these */
  lua_State *donor;
  /* What the protected call that begins is to do. */
  int (*fn)(lua_State *L, void *context);
  void *context;
  int call, globals; /* in its registry: the function for that, what makes globals */
  pair idle[MAX_PAIRS];
  uint32_t idle_count;
};

/* A counted object. */
struct crew {
  weft_pool *pool; /* NULL before the first use, and when it is stopped */
  inbox *lost;     /* where the failures of jobs go that jobs have started */
  weft_pool_config config;
  worker *workers; /* by thread */
  uint32_t count;
};

/* In the registry of a thread's state before the module is opened there: its worker. */
#define JOBS_WORKER_KEY "weft.worker"

enum work_kind { WORK_FUNCTION, WORK_RANGE, WORK_KERNEL, WORK_NATIVE };

/* A job in C that is none of a script's making, such as a save. */
typedef struct native_work {
  weft_job_fn run;                             /* gets the address of the work's */
  int (*push)(lua_State *L, const void *load); /* -> results; how many */
} native_work;

/* A place in an inbox. */
typedef struct mail {
  struct mail *next;
  work *work;
} mail;

/* Whether a job has ended, for those that it has started: a counted object, that of the job would keep
   all of its line. */
typedef struct family family;

/* A counted object: held by the pool, then the inbox; and by the object that a script has. */
struct work {
  mail back; /* on its way to the state that has started it */
  mail
      lost; /* of one that a job has started: its failure, on its way to the crew's own state */
  work *after,
      *prev; /* of those of its state that have not been taken in, or not been reported */
  crew *crew;
  inbox *inbox;
  weft_job job;
  enum work_kind kind;
  parcel *input;
  parcel *output;    /* results, or an error; NULL if there was no memory */
  const char *wrong; /* the error where there is no parcel */
  char *wrong_text;  /* a counted object that it may stand in */
  loan *loans;
  uint32_t loan_count;
  paths *paths;
  kernel *kernel;
  weft_value *values; /* arguments of a kernel */
  size_t value_count;
  const native_work *native;
  void *load;       /* of that: counted */
  waitable *object; /* what the script holds, or NULL; for its own thread */
  _Atomic(bool) ended, claimed;
  weft_job_state state;     /* how it has ended, once it is in the inbox */
  _Atomic(bool) failed;     /* set by the part of a range that fails first */
  _Atomic(bool) asked;      /* somebody, in any state, has been told, or waits */
  _Atomic(family *) family; /* NULL before it has started a job */
  family *parents;          /* of the one that has started it, or NULL */
  bool inner;               /* a thread of the pool has started it */
  bool taken;               /* its own state knows that it has ended */
  bool quiet;               /* Cancelled is its error, which is not reported */
  uint8_t age;              /* ticks since it was taken in */
  realm *world;             /* who hears of an error that nobody awaits; may be gone */
  uint64_t number;          /* of those that this state has started */
  char *title;              /* as a script has called it: a counted object; or NULL */
  char *borrower;           /* "on loan to job 3 'path'": a counted object; or NULL */
  parcel_room in, out;
};

/* Results of so many bytes are kept without the work. */
#define JOB_KEPT 30

/* What a script holds. */
typedef struct job_object {
  waitable base;
  work *work;
  bool foreign; /* another state has started it: this one is not told of its end, and looks */
  bool claimed; /* it reads the output first; again, if there was no memory the first time */
  bool adopted; /* it is among the objects that this state knows by their work */
  int values; /* in the registry, once they were asked for: a list of the results, or of the error */
  /* What is left of one that has completed, once its few results were asked for: then `work` is NULL. */
  uint64_t number;
  uint8_t count, size, bytes[JOB_KEPT];
} job_object;

/* --- jobs_inbox.c --- */
inbox *inbox_new(void);             /* a counted object */
void inbox_put(inbox *in, mail *m); /* on any thread; takes over one reference of the work */
mail *inbox_take_all(inbox *in);    /* the oldest first, linked by `next` */
void work_set_ended(work *w);
bool work_has_ended(const work *w); /* on any thread: state and output are there */
bool work_asked(const work *w);
void work_set_asked(work *w, bool asked);
family *work_family(work *w); /* for one that it starts; NULL if there is no memory */
void work_end_family(work *w);
bool family_has_ended(const family *f); /* true for NULL */
bool work_claim(work *w);               /* whether this is the first to read the output */
bool work_fails_first(work *w);         /* whether this part of a range is the first to fail */

/* --- jobs_crew.c --- */
crew *crew_of(lua_State *L, universe *U, const char *who); /* with its threads; may raise */
int crew_configure(lua_State *L);
/* The thread's own, with its Lua state; NULL with the reason in the work. */
worker *crew_worker(work *w);
/* Runs fn(L, context) protected, with arguments that were pushed. As lua_pcall. */
int worker_protect(worker *me, lua_State *L, int (*fn)(lua_State *L, void *context),
                   void *context, int nargs, int nresults);
void crew_fini(universe *U);
/* Opens what every state of a thread has: libraries, which are looked for at `p`, and the core, which
   finds `value` in the registry. -> */
void crew_prepare(lua_State *L, const paths *p, const char *key, void *value);

/* --- jobs_run.c --- */
weft_status run_function(void *data);
weft_status run_part(size_t first, size_t last, void *arg);
/* Forgets the functions of all ranges but that of `but`, or NULL, unless they run. */
void run_forget_ranges(worker *me, const work *but);
/* Whether the run waits for the end of a work, itself or by others of its thread. */
bool run_awaits(const job_run *r, const work *w);
/* An error's trace, from where it was raised: a handler for lua_pcall where it is raised again. */
int run_keep_trace(lua_State *L);

/* --- jobs_work.c --- */
work *work_new(universe *U, crew *c, inbox *in);
/* As weft_counted_drop, on the thread of the state; its memory may serve again. */
void work_give_back(universe *U, work *w);
/* What messages call it, "job 3 'path'"; `room` is where that may be written. */
typedef struct work_name {
  char text[64];
} work_name;
const char *work_name_of(const work *w, work_name *room);
void work_ended(void *arg, weft_job job); /* the pool's hook */
void work_drop_loans(work *w);
void work_take_in(lua_State *L, universe *U); /* what has ended meanwhile */
void work_unlink(universe *U, work *w);
void work_report(realm *R); /* failures that nobody has asked for; in stage 2 */
void work_fini(universe *U);

/* --- jobs_barrier.c --- */
weft_barrier *barrier_check(lua_State *L, int index, const char *who);
void *barrier_test(lua_State *L, int index);    /* what is counted, or NULL */
void barrier_push(lua_State *L, void *counted); /* -> barrier */
/* -> barrier, with the count */
weft_barrier *barrier_make(lua_State *L, crew *c, uint32_t count, const char *who);
void barrier_open(lua_State *L);

/* --- jobs_kernel.c --- */
kernel *kernel_test(lua_State *L, int index); /* NULL if it is none */
void kernel_push(lua_State *L, kernel *k);    /* -> kernel */
/* The values from `first` on as a kernel's arguments, into the work. */
void kernel_set_arguments(lua_State *L, work *w, int first, const char *who);
void kernel_open(lua_State *L);

/* --- ffi.c --- */
void ffi_open(lua_State *L);

/* --- jobs_leave.c --- */
/* Before this thread sleeps or this job is suspended, perhaps until a job has ended, else NULL: raises
   where it must not be. The running job, NULL outside of jobs. */
job_run *jobs_leave(lua_State *L, const work *for_end_of, const char *who);
/* And after that: raises for what is no outcome of a wait; Cancelled in a job at the end of the pool. */
void jobs_return(lua_State *L, job_run *mine, weft_status status, const char *who);

/* --- jobs_object.c --- */
bool job_has_ended(const job_object *o);
/* -> job, with its work; nothing of it has begun */
job_object *job_new(lua_State *L, universe *U, crew *c, const char *who);
job_object *job_check(lua_State *L, int index, const char *who);
/* -> results; how many. Raises the error of one that has ended badly. */
int job_result(lua_State *L, waitable *object);
/* The counted object behind a job, barrier or kernel, or NULL; and an object for one. -> object */
void *jobs_find_counted(lua_State *L, int index, enum reference_kind *kind);
void jobs_push_counted(lua_State *L, enum reference_kind kind, void *object);
void jobs_open_kinds(lua_State *L, const luaL_Reg *methods,
                     const luaL_Reg *metamethods); /* -> methods */

/* --- jobs_start.c --- */
/* Where modules are looked for now, with a reference; the same object as last time if it is the same. */
paths *jobs_take_paths(lua_State *L, universe *U, const char *who);
/* -> job; or nil and a reason. Keeps the load, a counted object. */
int jobs_start_native(lua_State *L, const native_work *native, void *load,
                      weft_job_priority priority, const char *who, const char *name);
void jobs_push_starts(lua_State *L); /* module -> module */

/* --- jobs.c --- */
int jobs_refuse(lua_State *L, const char *reason); /* -> nil, reason */
void jobs_open(lua_State *L);
void jobs_stage(realm *R); /* in stage 2 of a tick */

#endif
