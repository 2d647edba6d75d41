/* SPDX-License-Identifier: MIT */
/*
** service_letters.c - the inbox: letters are put into it, and taken out on the service's thread.
*/
#include <string.h>

#include "core/service.h"
#include "platform/system.h"

/* --- Places -------------------------------------------------------------------------------- */

weft_status weft__service_open_inbox(weft_service *service, uint32_t size)
{
  if (size == 0) return WEFT_OK;
  service->places = weft__calloc(size, sizeof *service->places);
  if (!service->places) return WEFT_NOMEM;
  service->size = size;
  for (uint32_t place = size; place > 0; place--) {
    service->places[place - 1].next = service->free;
    service->free = place;
  }
  return WEFT_OK;
}

static weft__envelope *at(const weft_service *service, uint32_t place)
{
  return &service->places[place - 1];
}

static void append(weft_service *service, const void *data, size_t size, weft_call *call)
{
  uint32_t place = service->free;
  weft__envelope *envelope = at(service, place);
  service->free = envelope->next;
  *envelope = (weft__envelope){.letter = {.size = size, .call = call}, .prev = service->last};
  if (size > 0) memcpy(envelope->letter.data, data, size);
  if (service->last)
    at(service, service->last)->next = place;
  else
    service->first = place;
  service->last = place;
  service->stats.queued++;
  if (call) call->place = place;
}

static void take_out(weft_service *service, uint32_t place, weft_letter *out)
{
  weft__envelope *envelope = at(service, place);
  *out = envelope->letter;
  if (envelope->prev)
    at(service, envelope->prev)->next = envelope->next;
  else
    service->first = envelope->next;
  if (envelope->next)
    at(service, envelope->next)->prev = envelope->prev;
  else
    service->last = envelope->prev;
  envelope->next = service->free;
  service->free = place;
  service->stats.queued--;
  if (out->call) out->call->place = 0;
}

bool weft__service_take(weft_service *service, weft_letter *out)
{
  if (!service->first) return false;
  take_out(service, service->first, out);
  return true;
}

/* --- Sending ------------------------------------------------------------------------------- */

static weft_status refusal(const weft_service *service)
{
  const weft_gate *gate = service->config.gate;
  if (service->size == 0) return WEFT_INVALID;
  if (atomic_load_explicit(&service->stopping, memory_order_relaxed)) return WEFT_CLOSED;
  if (gate && !(service->config.states >> weft_gate_state(gate) & 1)) return WEFT_GATED;
  return service->free ? WEFT_OK : WEFT_FULL;
}

static weft_status put(weft_service *service, const void *data, size_t size, weft_call *call)
{
  if (service->gone) return WEFT_STOPPED;
  if (size > WEFT_LETTER_BYTES || (size > 0 && !data)) return WEFT_INVALID;
  bool asleep = false;
  weft__mutex_lock(&service->lock);
  weft_status status = refusal(service);
  if (status == WEFT_OK) {
    if (call) weft__call_begin(call, service);
    append(service, data, size, call);
    asleep = service->sleep == WEFT_ASLEEP_FOR_LETTERS;
    if (asleep) service->sleep = WEFT_AWAKE; /* one wake is enough */
    WEFT_WALK(weft__service_valid(service));
  } else {
    service->stats.refused++;
  }
  weft__mutex_unlock(&service->lock);
  if (asleep) weft__cond_signal_all(&service->wake);
  return status;
}

weft_status weft_service_try_post(weft_service *service, const void *data, size_t size)
{
  return put(service, data, size, NULL);
}

weft_status weft_service_call(weft_service *service, weft_call *call, const void *data,
                              size_t size)
{
  return call ? put(service, data, size, call) : WEFT_INVALID;
}

bool weft_call_cancel(weft_call *call)
{
  weft_service *service = call->service;
  weft_letter letter;
  if (service->gone) return false;
  weft__mutex_lock(&service->lock);
  bool queued = weft_call_result(call, NULL, 0) == WEFT_PENDING && call->place;
  if (queued) take_out(service, call->place, &letter);
  weft__mutex_unlock(&service->lock);
  if (!queued) return false;
  if (service->config.dropped) service->config.dropped(service->config.arg, &letter);
  weft__call_end(call, WEFT_CANCELLED, NULL, 0);
  return true;
}

/* --- Receiving ----------------------------------------------------------------------------- */

static void open_call(weft_service *service, weft_call *call)
{
  call->prev = NULL;
  call->next = service->open;
  if (call->next) call->next->prev = call;
  service->open = call;
  service->stats.open++;
}

static void close_call(weft_service *service, weft_call *call)
{
  if (call->prev)
    call->prev->next = call->next;
  else
    service->open = call->next;
  if (call->next) call->next->prev = call->prev;
  service->stats.open--;
}

/* Under the lock: WEFT_OK with a letter, WEFT_STOPPED, or WEFT_PENDING if there is none as yet. */
static weft_status look(weft_service *service, weft_letter *out)
{
  bool stopping = weft_service_stopping(service);
  bool drained =
      stopping && service->drained != INT64_MAX && weft__clock_ns() >= service->drained;
  if (drained || !weft__service_take(service, out))
    return stopping ? WEFT_STOPPED : WEFT_PENDING;
  service->stats.received++;
  if (out->call) open_call(service, out->call);
  return WEFT_OK;
}

/* Under the lock: sleeps until woken; false when the time is over. */
static bool sleep_on(weft_service *service, weft__sleep sleep, int64_t deadline)
{
  bool in_time = true;
  service->sleep = sleep;
  service->stats.sleeps++;
  if (deadline == INT64_MAX)
    weft__cond_wait(&service->wake, &service->lock);
  else
    in_time = weft__clock_ns() < deadline &&
              weft__cond_wait_until(&service->wake, &service->lock, deadline);
  service->sleep = WEFT_AWAKE;
  return in_time;
}

weft_status weft_service_receive(weft_service *self, int64_t timeout, weft_letter *out)
{
  if (weft_service_self() != self) return WEFT_THREAD;
  int64_t deadline = weft__service_deadline(timeout);
  bool in_time = timeout != 0;
  weft__mutex_lock(&self->lock);
  weft_status status = look(self, out);
  while (status == WEFT_PENDING && in_time) {
    in_time = sleep_on(self, WEFT_ASLEEP_FOR_LETTERS, deadline);
    status = look(self, out);
  }
  weft__mutex_unlock(&self->lock);
  if (status == WEFT_STOPPED) weft__service_drop_queued(self, WEFT_STOPPED);
  return status == WEFT_PENDING ? WEFT_TIMEOUT : status;
}

weft_status weft_service_wait(weft_service *self, int64_t timeout)
{
  if (weft_service_self() != self) return WEFT_THREAD;
  int64_t deadline = weft__service_deadline(timeout);
  bool in_time = timeout != 0;
  weft__mutex_lock(&self->lock);
  while (!weft_service_stopping(self) && in_time)
    in_time = sleep_on(self, WEFT_ASLEEP_FOR_STOP, deadline);
  weft__mutex_unlock(&self->lock);
  return weft_service_stopping(self) ? WEFT_STOPPED : WEFT_TIMEOUT;
}

/* --- Answering ----------------------------------------------------------------------------- */

weft_status weft_service_reply(weft_service *self, weft_call *call, weft_status status,
                               const void *data, size_t size)
{
  if (weft_service_self() != self) return WEFT_THREAD;
  if (size > WEFT_LETTER_BYTES || (size > 0 && !data) || status == WEFT_PENDING)
    return WEFT_INVALID;
  if (!call || call->service != self || weft_call_result(call, NULL, 0) != WEFT_PENDING)
    return WEFT_INVALID;
  weft__mutex_lock(&self->lock);
  close_call(self, call);
  WEFT_WALK(weft__service_valid(self));
  weft__mutex_unlock(&self->lock);
  weft__call_end(call, status, data, size);
  return WEFT_OK;
}

void weft__service_fail_open(weft_service *service, weft_status status)
{
  weft_call *call;
  do {
    weft__mutex_lock(&service->lock);
    call = service->open;
    if (call) close_call(service, call);
    weft__mutex_unlock(&service->lock);
    if (call) weft__call_end(call, status, NULL, 0);
  } while (call);
}

/* --- The walker ---------------------------------------------------------------------------- */

static uint32_t count_free(const weft_service *service)
{
  uint32_t count = 0;
  for (uint32_t place = service->free; place && count <= service->size; count++)
    place = at(service, place)->next;
  return count;
}

bool weft__service_valid(const weft_service *service)
{
  uint32_t queued = 0, open = 0, prev = 0;
  for (uint32_t place = service->first; place; place = at(service, place)->next) {
    const weft__envelope *envelope = at(service, place);
    const weft_call *call = envelope->letter.call;
    if (envelope->prev != prev || ++queued > service->size) return false;
    if (call && (call->place != place || call->service != service)) return false;
    prev = place;
  }
  for (const weft_call *call = service->open; call; call = call->next) {
    if (call->next && call->next->prev != call) return false;
    if (call->service != service || call->place) return false;
    open++;
  }
  return prev == service->last && queued == service->stats.queued &&
         open == service->stats.open && count_free(service) + queued == service->size;
}
