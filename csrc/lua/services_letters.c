/* SPDX-License-Identifier: MIT */
/*
** services_letters.c - what goes to a service.
**
** What is to go is written before it is sent: what cannot go is refused on this thread, and nothing has
** happened then. Buffers go for good, for nobody could tell when a loan would be over.
*/
#include "lua/services.h"

static int refuse(lua_State *L, bool is_call, const char *reason)
{
  if (is_call)
    lua_pushnil(L);
  else
    lua_pushboolean(L, 0);
  lua_pushstring(L, reason);
  return 2;
}

/* --- Writing ------------------------------------------------------------------------------- */

/* Raises if something of a buffer is lent, or is not this state's to give. */
static void check_buffers(lua_State *L, parcel *p, bool has_function, const char *who)
{
  for (uint32_t i = 0; i < p->lending_count; i++) {
    const lending *l = &p->lendings[i];
    const hold *h = p->references[l->reference].object;
    const char *why = h->origin ? "on loan here" : hold_refusal(h, l->first, l->end, true);
    if (!why) continue;
    int root = (int)l->root - (has_function ? 1 : 0);
    weft_counted_drop(p);
    if (root == 0) binding_misuse(L, "%s: what the function captures: buffer is %s", who, why);
    binding_misuse(L, "%s: argument %d: buffer is %s", who, root, why);
  }
}

parcel *services_write(lua_State *L, int first, enum transfer_what what, bool has_function,
                       const char *who)
{
  int count = lua_gettop(L) - first + 1;
  parcel *p = transfer_write(L, first, count, what, has_function);
  if (p->lending_count > 0) check_buffers(L, p, has_function, who);
  return p;
}

void services_give(const parcel *p, const char *why)
{
  for (uint32_t i = 0; i < p->reference_count; i++)
    if (p->references[i].kind == REFERENCE_BUFFER) hold_end(p->references[i].object, why);
}

/* --- Sending ------------------------------------------------------------------------------- */

static const char *reason_of(weft_status status)
{
  switch (status) {
  case WEFT_FULL:
    return "full";
  case WEFT_GATED:
    return "gated";
  case WEFT_CLOSED:
  case WEFT_STOPPED:
    return "closed";
  default:
    return NULL;
  }
}

static servant *check_service(lua_State *L, const char *who)
{
  servant *s = services_test(L, 1);
  if (!s || s->is_thread)
    binding_misuse(L, "%s: a service expected, got %s", who,
                   s ? "a thread, which has no inbox" : binding_got(L, 1));
  return s;
}

/* Sends the parcel, with a reference of its own. */
static weft_status send(servant *s, parcel *p, service_call *c)
{
  weft_counted_keep(p);
  weft_status status = c ? weft_service_call(s->core, &c->base, &p, sizeof p)
                         : weft_service_try_post(s->core, &p, sizeof p);
  if (status == WEFT_OK)
    services_give(p, "gone: it was sent to a service");
  else
    weft_counted_drop(p);
  return status;
}

/* True; or false and a reason. */
int services_try_post(lua_State *L)
{
  static const char who[] = "service:tryPost";
  servant *s = check_service(L, who);
  parcel *p = services_write(L, 2, TRANSFER_LETTER, false, who);
  weft_status status = send(s, p, NULL);
  weft_counted_drop(p);
  const char *reason = reason_of(status);
  if (reason) return refuse(L, false, reason);
  if (status) return binding_failed(L, who, status);
  lua_pushboolean(L, 1);
  return 1;
}

/* Call; or nil and a reason. */
int services_call(lua_State *L)
{
  static const char who[] = "service:call";
  servant *s = check_service(L, who);
  service_call *c = services_new_call(L, s, who);
  lua_insert(L, 1); /* call, service, arguments */
  lua_remove(L, 2);
  parcel *p = services_write(L, 2, TRANSFER_LETTER, false, who);
  weft_status status = c->poster ? weft_poster_reserve(c->poster, WEFT_NORMAL) : WEFT_OK;
  bool reserved = c->poster && status == WEFT_OK;
  if (status == WEFT_OK) {
    services_list_call(binding_universe(L), c);
    status = send(s, p, c);
    if (status) services_unlist_call(c);
    if (status && reserved) weft_poster_unreserve(c->poster, WEFT_NORMAL);
  }
  weft_counted_drop(p);
  const char *reason = reason_of(status);
  if (reason) return refuse(L, true, reason);
  if (status) return binding_failed(L, who, status);
  lua_settop(L, 1);
  return 1;
}

/* --- Deaths -------------------------------------------------------------------------------- */

void services_push_death(lua_State *L, const servant *s)
{
  if (s->death) {
    (void)transfer_read(L, s->death, &(transfer_side){.second = true});
  } else if (s->wrong) {
    lua_pushstring(L, s->wrong);
  } else {
    lua_pushfstring(L, "weft.service: %s has ended without an answer", s->name);
  }
}
