/* SPDX-License-Identifier: MIT */
/*
** service.c - the life of services: threads that are started, told to stop and joined, and the list of
** all, for forks.
*/
#include "core/service.h"

#include <string.h>

#include "platform/park.h"
#include "platform/system.h"

#define USUAL_INBOX 64

/* Whose thread this is. */
static WEFT_PER_THREAD weft_service *here;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static weft_service *services; /* all, under the lock */
static bool forks_watched;

/* --- Forks --------------------------------------------------------------------------------- */

static void fork_begins(void)
{
  pthread_mutex_lock(&list_lock);
}

static void fork_ends(void)
{
  pthread_mutex_unlock(&list_lock);
}

/* The threads are not in the child. What they held of their services is nobody's there. */
static void fork_in_child(void)
{
  for (weft_service *service = services; service; service = service->next) {
    service->gone = true;
    uint32_t references = atomic_load_explicit(&service->references, memory_order_relaxed);
    if (!service->ended && references > 1)
      atomic_store_explicit(&service->references, references - 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&list_lock);
}

static weft_status enlist(weft_service *service)
{
  weft_status status = WEFT_OK;
  pthread_mutex_lock(&list_lock);
  if (!forks_watched) status = weft__fork_watch(fork_begins, fork_ends, fork_in_child);
  if (!status) {
    forks_watched = true;
    service->next = services;
    if (services) services->prev = service;
    services = service;
  }
  pthread_mutex_unlock(&list_lock);
  return status;
}

static void delist(weft_service *service)
{
  pthread_mutex_lock(&list_lock);
  if (service->prev)
    service->prev->next = service->next;
  else
    services = service->next;
  if (service->next) service->next->prev = service->prev;
  pthread_mutex_unlock(&list_lock);
}

/* --- References ---------------------------------------------------------------------------- */

/* What others wait on in a child of a fork cannot be ended there. */
static void free_service(weft_service *service)
{
  if (!service->gone) {
    weft__cond_fini(&service->over);
    weft__cond_fini(&service->wake);
    weft__mutex_fini(&service->lock);
    weft_gate_drop(service->config.gate);
  }
  weft__free(service->places);
  weft__free(service);
}

weft_service *weft_service_keep(weft_service *service)
{
  /* Relaxed: who calls has a reference, which keeps the service as it is. */
  atomic_fetch_add_explicit(&service->references, 1, memory_order_relaxed);
  return service;
}

void weft_service_drop(weft_service *service)
{
  if (!service) return;
  /* Release, for what this thread did with it; acquire, in the last one, for what others did. */
  if (atomic_fetch_sub_explicit(&service->references, 1, memory_order_acq_rel) > 1) return;
  delist(service);
  bool own = here == service;
  if (own && !service->gone) weft__thread_detach(&service->thread);
  if (!own && !service->gone && !service->reaped) weft__thread_join(&service->thread);
  if (own) here = NULL;
  free_service(service);
}

/* --- The thread ---------------------------------------------------------------------------- */

static void set_stopping(weft_service *service, int64_t drained)
{
  if (!atomic_load_explicit(&service->stopping, memory_order_relaxed) ||
      drained < service->drained)
    service->drained = drained;
  /* Release: nothing hangs on it but that a look without the lock sees it some time. */
  atomic_store_explicit(&service->stopping, true, memory_order_release);
}

/* `main` has returned: nothing is taken any more, and whatever waits for an answer is told. */
static void close_down(weft_service *service, weft_status status)
{
  weft_status told = status < 0 ? status : WEFT_STOPPED;
  weft__mutex_lock(&service->lock);
  set_stopping(service, 0);
  weft__mutex_unlock(&service->lock);
  weft__service_drop_queued(service, told);
  weft__service_fail_open(service, told);
  if (service->config.ended) service->config.ended(service->config.arg, status);
  weft__mutex_lock(&service->lock);
  service->status = status;
  service->ended = true;
  WEFT_WALK(weft__service_valid(service));
  weft__mutex_unlock(&service->lock);
  weft__cond_signal_all(&service->over);
}

static void work(void *arg)
{
  weft_service *service = arg;
  here = service;
  weft__thread_settle(service->name);
  close_down(service, service->config.main(service, service->config.arg));
  weft_service_drop(service);
}

weft_service *weft_service_self(void)
{
  return here;
}

/* --- Starting ------------------------------------------------------------------------------ */

static weft_status make_parts(weft_service *service)
{
  int32_t asked = service->config.inbox;
  uint32_t size = asked < 0 ? 0 : asked ? (uint32_t)asked : USUAL_INBOX;
  weft_status status = weft__mutex_init(&service->lock);
  if (status) return status;
  if ((status = weft__cond_init(&service->wake))) goto fini_lock;
  if ((status = weft__cond_init(&service->over))) goto fini_wake;
  if ((status = weft__service_open_inbox(service, size))) goto fini_over;
  if (service->config.gate) weft_gate_keep(service->config.gate);
  return WEFT_OK;

fini_over:
  weft__cond_fini(&service->over);
fini_wake:
  weft__cond_fini(&service->wake);
fini_lock:
  weft__mutex_fini(&service->lock);
  return status;
}

static bool is_sound(const weft_service_config *config)
{
  return config && config->main && config->inbox <= WEFT_MAX_INBOX;
}

weft_status weft_service_start(const weft_service_config *config, weft_service **out)
{
  if (!is_sound(config)) return WEFT_INVALID;
  weft_service *service = weft__calloc(1, sizeof *service);
  if (!service) return WEFT_NOMEM;
  service->config = *config;
  strncpy(service->name, config->name ? config->name : "weft service",
          sizeof service->name - 1);
  service->config.name = service->name;
  weft_status status = make_parts(service);
  if (status) {
    weft__free(service);
    return status;
  }
  atomic_init(&service->references, 2); /* the caller's, the thread's */
  if ((status = enlist(service))) goto free_parts;
  status = weft__thread_start(&service->thread, work, service);
  if (status) goto leave_list;
  *out = service;
  return WEFT_OK;

leave_list:
  delist(service);
free_parts:
  free_service(service);
  return status;
}

/* --- Ending -------------------------------------------------------------------------------- */

void weft__service_drop_queued(weft_service *service, weft_status status)
{
  weft_letter letter;
  for (;;) {
    weft__mutex_lock(&service->lock);
    bool some = weft__service_take(service, &letter);
    weft__mutex_unlock(&service->lock);
    if (!some) return;
    if (service->config.dropped) service->config.dropped(service->config.arg, &letter);
    if (letter.call) weft__call_end(letter.call, status, NULL, 0);
  }
}

void weft_service_stop(weft_service *service, int64_t drain)
{
  if (service->gone) return;
  int64_t drained = weft__service_deadline(drain);
  weft__mutex_lock(&service->lock);
  set_stopping(service, drained);
  weft__mutex_unlock(&service->lock);
  weft__cond_signal_all(&service->wake);
  weft__cond_signal_all(
      &service->over); /* who joins it drops what is left when the time is over */
}

bool weft_service_stopping(const weft_service *service)
{
  return service->gone || atomic_load_explicit(&service->stopping, memory_order_acquire);
}

/* Under the lock: waits until it has ended. False when the time is over. */
static bool wait_ended(weft_service *service, int64_t deadline)
{
  while (!service->ended) {
    bool stopping = weft_service_stopping(service) && service->stats.queued > 0;
    int64_t until = stopping && service->drained < deadline ? service->drained : deadline;
    if (until == INT64_MAX) {
      weft__cond_wait(&service->over, &service->lock);
      continue;
    }
    if (weft__clock_ns() < until) {
      (void)weft__cond_wait_until(&service->over, &service->lock, until);
      continue;
    }
    if (until == deadline) return false;
    weft__mutex_unlock(&service->lock);
    weft__service_drop_queued(service, WEFT_STOPPED);
    weft__mutex_lock(&service->lock);
  }
  return true;
}

/* Under the lock, once it has ended: the thread is on its last steps, which nobody can hold up, and no
   limit counts for them. One joins it; the others wait for that one. */
static void wait_gone(weft_service *service)
{
  if (!service->reaped) {
    service->reaped = true;
    weft__mutex_unlock(&service->lock);
    weft__thread_join(&service->thread);
    weft__mutex_lock(&service->lock);
    service->joined = true;
    weft__cond_signal_all(&service->over);
  }
  while (!service->joined) weft__cond_wait(&service->over, &service->lock);
}

weft_status weft_service_join(weft_service *service, int64_t timeout, weft_status *status)
{
  if (service->gone) return WEFT_STOPPED;
  if (here == service) return WEFT_OWN_THREAD;
  int64_t deadline = weft__service_deadline(timeout);
  weft__mutex_lock(&service->lock);
  bool ended = wait_ended(service, deadline);
  if (ended) wait_gone(service);
  weft_status answer = service->status;
  weft__mutex_unlock(&service->lock);
  if (!ended) return WEFT_TIMEOUT;
  if (status) *status = answer;
  return WEFT_OK;
}

void weft_service_stats_get(weft_service *service, weft_service_stats *out)
{
  if (service->gone) {
    *out = (weft_service_stats){.stopping = true, .ended = true};
    return;
  }
  weft__mutex_lock(&service->lock);
  *out = service->stats;
  out->stopping = weft_service_stopping(service);
  out->ended = service->ended;
  weft__mutex_unlock(&service->lock);
}
