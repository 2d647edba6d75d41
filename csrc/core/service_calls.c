/* SPDX-License-Identifier: MIT */
/*
** service_calls.c - how a call ends and is waited for; and gates.
*/
#include <string.h>

#include "core/service.h"
#include "platform/park.h"

/* The word of a call. */
enum { CALL_NONE, CALL_PENDING, CALL_WAITED_FOR, CALL_ENDED };

_Static_assert(sizeof(atomic_uint) == sizeof(uint32_t),
               "weft_call has the word as a plain one");

static atomic_uint *word_of(const weft_call *call)
{
  return (atomic_uint *)(void *)(uintptr_t)&call->word;
}

/* --- Ending -------------------------------------------------------------------------------- */

void weft__call_begin(weft_call *call, weft_service *service)
{
  call->service = service;
  call->next = call->prev = NULL;
  call->status = WEFT_PENDING;
  call->size = 0;
  atomic_store_explicit(word_of(call), CALL_PENDING, memory_order_relaxed);
}

/* Once the word says so, whoever waits may let the call go: all that is needed of it is taken before.
   Only with a hook does it stay until that is called. */
void weft__call_end(weft_call *call, weft_status status, const void *data, size_t size)
{
  void (*ended)(weft_call * call) = call->ended;
  atomic_uint *word = word_of(call);
  call->status = status;
  call->size = size;
  if (size > 0) memcpy(call->data, data, size);
  /* Release: status and answer. Its partners are the acquiring loads of those who look. */
  unsigned before = atomic_exchange_explicit(word, CALL_ENDED, memory_order_acq_rel);
  if (before == CALL_WAITED_FOR) weft__park_wake(word, INT32_MAX);
  if (ended) ended(call);
}

weft_status weft_call_result(const weft_call *call, void *data, size_t size)
{
  if (atomic_load_explicit(word_of(call), memory_order_acquire) != CALL_ENDED)
    return WEFT_PENDING;
  if (size > call->size) return WEFT_INVALID;
  if (size > 0) memcpy(data, call->data, size);
  return call->status;
}

weft_status weft_call_wait(weft_call *call, int64_t timeout)
{
  atomic_uint *word = word_of(call);
  int64_t deadline = weft__service_deadline(timeout);
  unsigned seen = atomic_load_explicit(word, memory_order_acquire);
  if (seen == CALL_ENDED) return WEFT_OK;
  if (call->service == weft_service_self()) return WEFT_OWN_THREAD;
  if (call->service->gone) return WEFT_STOPPED;
  while (seen != CALL_ENDED) {
    if (deadline != INT64_MAX && weft__clock_ns() >= deadline) return WEFT_TIMEOUT;
    /* Acquire, for when it fails: the call has ended. Whoever ends it sees that somebody sleeps. */
    if (seen == CALL_PENDING &&
        !atomic_compare_exchange_strong_explicit(word, &seen, CALL_WAITED_FOR,
                                                 memory_order_acquire, memory_order_acquire))
      continue;
    weft__park(word, CALL_WAITED_FOR, deadline);
    seen = atomic_load_explicit(word, memory_order_acquire);
  }
  return WEFT_OK;
}

/* --- Gates --------------------------------------------------------------------------------- */

struct weft_gate {
  _Atomic uint32_t state;
};

#define GATE_STATES 64

weft_status weft_gate_new(uint32_t state, weft_gate **out)
{
  if (state >= GATE_STATES) return WEFT_INVALID;
  weft_gate *gate = weft_counted_new(sizeof *gate, NULL);
  if (!gate) return WEFT_NOMEM;
  atomic_init(&gate->state, state);
  *out = gate;
  return WEFT_OK;
}

weft_gate *weft_gate_keep(weft_gate *gate)
{
  return weft_counted_keep(gate);
}

void weft_gate_drop(weft_gate *gate)
{
  weft_counted_drop(gate);
}

/* Who has set it finds, by whatever way another thread learns of that, that this one sees it too. */
weft_status weft_gate_set(weft_gate *gate, uint32_t state)
{
  if (state >= GATE_STATES) return WEFT_INVALID;
  atomic_store_explicit(&gate->state, state, memory_order_release);
  return WEFT_OK;
}

uint32_t weft_gate_state(const weft_gate *gate)
{
  return atomic_load_explicit(&gate->state, memory_order_acquire);
}
