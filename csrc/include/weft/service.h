/* SPDX-License-Identifier: MIT */
/*
** service.h - services: OS threads of their own that are sent letters; part of weft.h.
**
** A service runs `main` on its thread until that returns. It has an inbox of a fixed number of places,
** takes letters out of it one by one, and sleeps in the kernel while there are none. A letter is a post,
** which nobody waits for, or a call, which is answered. Sending never waits and never runs anything of
** the service on the thread that sends; it is refused when the inbox is full. After the start nothing
** here allocates. To reach a world, a service posts to its poster (`weft_poster_post`).
**
** Unless it says otherwise, a function here may be called from any thread, from inside jobs too. In a
** child of a fork the threads are gone: calls answer WEFT_STOPPED there, and `weft_service_drop` frees
** what the child has of the service itself. Timeouts are nanoseconds of the real clock from now; 0 only
** looks, negative is no limit.
*/
#ifndef WEFT_PUBLIC_SERVICE_H
#define WEFT_PUBLIC_SERVICE_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_service weft_service;
typedef struct weft_call weft_call;
typedef struct weft_gate weft_gate;

/* The most bytes that a letter or an answer carries; what needs more sends a pointer to them. */
#define WEFT_LETTER_BYTES 64
#define WEFT_MAX_INBOX 65536

/* --- Letters ------------------------------------------------------------------------------- */

typedef struct weft_letter {
  uint64_t data[WEFT_LETTER_BYTES / 8]; /* a copy of what was sent; the rest is zeroes */
  size_t size;
  weft_call *call; /* to be answered by `weft_service_reply`; NULL for a post */
} weft_letter;

/*
** A call on its way, in the memory of whoever makes it: it stays there until it has ended. It ends once,
** by an answer or without one: what is queued when a service ends, and what was received and not
** answered, ends with WEFT_STOPPED, or with what `main` returned if that was negative.
*/
struct weft_call {
  /* Called when it has ended, on the thread where that happened: most often the service's. It must not
     wait. The call is not touched any more once this was called: it may free it. NULL for none. */
  void (*ended)(weft_call *call);
  void *arg; /* for the hook */
  /* The rest is the library's. */
  weft_service *service;
  weft_call *next, *prev;
  uint32_t word;
  uint32_t place;
  weft_status status;
  size_t size;
  uint64_t data[WEFT_LETTER_BYTES / 8];
};

/* How it has ended, with the first `size` bytes of the answer: the status that it was answered with.
   WEFT_PENDING; WEFT_INVALID if there are fewer bytes. `data` may be NULL with 0. */
weft_status weft_call_result(const weft_call *call, void *data, size_t size);

/* Waits until it has ended: WEFT_OK, whatever its own status. WEFT_TIMEOUT; WEFT_OWN_THREAD on the
   thread that is to answer it; WEFT_STOPPED in a child of a fork. The service must be kept meanwhile. */
weft_status weft_call_wait(weft_call *call, int64_t timeout);

/* True if it had not been received: it never will be, and has ended with WEFT_CANCELLED. */
bool weft_call_cancel(weft_call *call);

/* --- Gates --------------------------------------------------------------------------------- */

/*
** A gate has a state, a number from 0 to 63, which whoever steers a game sets: it loads, runs, saves.
** A service that was started with a gate takes letters only in the states it names. What it has in its
** inbox already, it goes on with.
*/
weft_status weft_gate_new(uint32_t state, weft_gate **out); /* WEFT_INVALID, WEFT_NOMEM */
weft_gate *weft_gate_keep(weft_gate *gate);
void weft_gate_drop(weft_gate *gate); /* NULL is allowed */
weft_status weft_gate_set(weft_gate *gate, uint32_t state);
uint32_t weft_gate_state(const weft_gate *gate);

/* --- Life ---------------------------------------------------------------------------------- */

typedef struct weft_service_config {
  /* Runs on the service's thread. A negative status says that it has failed. */
  weft_status (*main)(weft_service *self, void *arg);
  void *arg;
  const char *name; /* of the thread, for debuggers, which see 15 bytes of it; may be NULL */
  int32_t
      inbox; /* letters that may wait, at most WEFT_MAX_INBOX; 0 means 64; negative none: then it
                    is a plain thread */
  weft_gate *gate; /* is kept; NULL for none */
  uint64_t states; /* bit n: letters are taken while the gate's state is n */
  /* A letter will not be received: frees what its bytes point to. On the thread where it was found out,
     before its call ends. May be NULL. */
  void (*dropped)(void *arg, const weft_letter *letter);
  /* `main` has returned and all calls have ended: the last that happens on the thread. May be NULL. */
  void (*ended)(void *arg, weft_status status);
} weft_service_config;

/* Starts a service, with one reference for the caller. WEFT_INVALID; WEFT_NOMEM, also when the system
   gives no thread. */
weft_status weft_service_start(const weft_service_config *config, weft_service **out);

/* References. Dropping the last one does not stop it: whoever wants that says so before. NULL is
   allowed. */
weft_service *weft_service_keep(weft_service *service);
void weft_service_drop(weft_service *service);

/*
** Closes its inbox. What waits there may still be received for `drain` nanoseconds from now (negative:
** without limit); what is left then is dropped. Then `weft_service_receive` answers WEFT_STOPPED, and
** `main` is expected to return. Asked again, the shorter time counts. Harmless for one that has ended.
*/
void weft_service_stop(weft_service *service, int64_t drain);

/*
** Waits until `main` has returned and the thread is gone; `status`, if not NULL, gets what it returned.
** Any number of threads may. Does not stop it; if it was told to stop, before or meanwhile, drops what is
** left in its inbox when the time of that is over. WEFT_TIMEOUT: it still runs; a thread is never ended
** by force. WEFT_OWN_THREAD, WEFT_STOPPED.
*/
weft_status weft_service_join(weft_service *service, int64_t timeout, weft_status *status);

/* The service whose thread this is, or NULL. */
weft_service *weft_service_self(void);

typedef struct weft_service_stats {
  bool stopping;     /* it was told to stop, or `main` has returned */
  bool ended;        /* `main` has returned and all calls have ended */
  uint32_t queued;   /* letters in the inbox */
  uint32_t open;     /* calls that were received and not answered */
  uint64_t received; /* since the start, as the two below */
  uint64_t refused;  /* letters: the inbox was full, or closed, or the gate shut */
  uint64_t sleeps;   /* how often its thread went to sleep for want of a letter */
} weft_service_stats;

void weft_service_stats_get(weft_service *service, weft_service_stats *out);

/* --- Sending ------------------------------------------------------------------------------- */

/* Sends a copy of `size` bytes (0 to WEFT_LETTER_BYTES). WEFT_FULL; WEFT_CLOSED once it was told to
   stop or has ended; WEFT_GATED; WEFT_INVALID, also for one without an inbox; WEFT_STOPPED. */
weft_status weft_service_try_post(weft_service *service, const void *data, size_t size);

/* The same for a call, in which `ended` and `arg` are set. Refused, it has not begun and does not end. */
weft_status weft_service_call(weft_service *service, weft_call *call, const void *data,
                              size_t size);

/* --- On the service's thread --------------------------------------------------------------- */

/* These answer WEFT_THREAD elsewhere. */

/* The oldest letter; sleeps until there is one. WEFT_TIMEOUT; WEFT_STOPPED when it was told to stop and
   nothing more is to be received. */
weft_status weft_service_receive(weft_service *self, int64_t timeout, weft_letter *out);

/* Answers a call that was received, with a status (positive ones are the host's) and a copy of `size`
   bytes. In any order; each once. WEFT_INVALID. */
weft_status weft_service_reply(weft_service *self, weft_call *call, weft_status status,
                               const void *data, size_t size);

/* Sleeps until the service is told to stop, letters or not: WEFT_STOPPED; or WEFT_TIMEOUT. */
weft_status weft_service_wait(weft_service *self, int64_t timeout);

/* Whether it was told to stop: for long work to look at now and then. Any thread. */
bool weft_service_stopping(const weft_service *service);

#ifdef __cplusplus
}
#endif

#endif
