/* SPDX-License-Identifier: MIT */
/*
** channel.c - weft.channel: values from routines that put to routines that get, in the order of putting.
**
** The queue is a list of items. What is handed to one that waits stays in it, reserved, until that one
** runs and takes it: should it be cancelled before, the item is at its old place for the next. Who waits
** to put brings its item with it. A channel of capacity 0 holds nothing: put and get meet.
*/
#include <math.h>

#include "lua/waitables.h"

#define MAX_CAPACITY (UINT32_C(1) << 24)

enum act { ACT_GET, ACT_PUT };

typedef struct item {
  uint32_t parcel;
  uint32_t next, prev; /* in the queue; `next` also of the free ones; 0 is none */
  bool reserved;
} item;

typedef struct channel {
  waitable base; /* those that get */
  line putters;
  item *items;
  uint32_t free_item, count, size; /* items that were ever used, and those there is room for */
  uint32_t first, last;
  uint32_t queued; /* not reserved */
  uint32_t capacity;
} channel;

static channel *channel_of(const weft_event *event)
{
  return (channel *)waitables_of(event);
}

static weft_event *getters(channel *c)
{
  return &c->base.line.event;
}

/* --- Items --------------------------------------------------------------------------------- */

static bool grow(channel *c)
{
  lua_State *L = c->base.universe->helper;
  uint32_t size = c->size > 0 ? c->size * 2 : 8;
  size_t old = c->size > 0 ? (c->size + 1) * sizeof(item) : 0;
  item *items = binding_alloc(L, c->items, old, (size + 1) * sizeof(item));
  if (!items) return false;
  c->items = items;
  c->size = size;
  return true;
}

/* 0 without memory. The value is in a parcel that was reserved. */
static uint32_t new_item(channel *c, lua_State *L, int index)
{
  uint32_t i = c->free_item;
  if (i) {
    c->free_item = c->items[i].next;
  } else {
    if (c->count == c->size && !grow(c)) return 0;
    i = ++c->count;
  }
  c->items[i] = (item){.parcel = parcels_put(c->base.universe, L, index, 1)};
  return i;
}

/* Its parcel is somebody else's now. */
static uint32_t free_item(channel *c, uint32_t i)
{
  uint32_t parcel = c->items[i].parcel;
  c->items[i] = (item){.next = c->free_item};
  c->free_item = i;
  return parcel;
}

static void append(channel *c, uint32_t i, bool reserved)
{
  c->items[i].prev = c->last;
  c->items[i].next = 0;
  c->items[i].reserved = reserved;
  if (c->last)
    c->items[c->last].next = i;
  else
    c->first = i;
  c->last = i;
  if (!reserved) c->queued++;
}

static void take_out(channel *c, uint32_t i)
{
  const item *it = &c->items[i];
  if (it->prev)
    c->items[it->prev].next = it->next;
  else
    c->first = it->next;
  if (it->next)
    c->items[it->next].prev = it->prev;
  else
    c->last = it->prev;
  if (!it->reserved) c->queued--;
}

static uint32_t first_free(const channel *c)
{
  uint32_t i = c->queued > 0 ? c->first : 0;
  while (i && c->items[i].reserved) i = c->items[i].next;
  return i;
}

/* --- Putting and getting ------------------------------------------------------------------- */

/* Whether the item found a place, or one that gets. */
static bool try_put(channel *c, uint32_t i)
{
  bool wanted = getters(c)->first != NULL;
  if (!wanted && c->queued >= c->capacity) return false;
  append(c, i, wanted);
  if (wanted) weft_event_fire_one(getters(c), i);
  return true;
}

/* There may be room for what the first of those brings that wait to put. */
static void refill(channel *c, uint32_t room)
{
  uint64_t i;
  while (c->queued < room && weft_event_first(&c->putters.event, &i)) {
    append(c, (uint32_t)i, false);
    weft_event_fire_one(&c->putters.event, 0);
  }
}

/* An item that nobody else is to have, 0 if there is none. It stays in the queue, to be taken. */
static uint32_t try_get(channel *c)
{
  if (c->capacity == 0) refill(c, 1);
  uint32_t i = first_free(c);
  if (!i) return 0;
  c->items[i].reserved = true;
  c->queued--;
  refill(c, c->capacity);
  return i;
}

/* Whoever was to get it does not come any more. */
static void lost_item(weft_event *event, uint64_t i)
{
  channel *c = channel_of(event);
  if (weft_event_fire_one(event, i)) return;
  c->items[i].reserved = false;
  c->queued++;
}

/* Whoever was to put it does not wait any more. */
static void left_item(weft_event *event, uint64_t i)
{
  channel *c = channel_of(event);
  parcels_drop(c->base.universe, free_item(c, (uint32_t)i));
}

/* What was put is in the queue, or with another, and stays there. */
static void lost_put(weft_event *event, uint64_t value)
{
  (void)event, (void)value;
}

static const weft_event_hooks getter_hooks = {.lost = lost_item};
static const weft_event_hooks putter_hooks = {.left = left_item, .lost = lost_put};

/* --- Waiting ------------------------------------------------------------------------------- */

static int reserve_parcel(lua_State *L, void *U)
{
  parcels_reserve(L, U, 1);
  return 0;
}

/* The item of a put; 0 without memory. Never raises in a routine. */
static uint32_t bring(const wait_call *call)
{
  universe *U = call->object->universe;
  if (!call->realm) {
    parcels_reserve(call->L, U, 1);
  } else if (U->parcels.count == U->parcels.used &&
             binding_protect(call->realm, reserve_parcel, U, 0, 0) != LUA_OK) {
    lua_pop(U->helper, 1);
    return 0;
  }
  return new_item((channel *)call->object, call->L, call->value);
}

static weft_status arm_put(wait_call *call)
{
  channel *c = (channel *)call->object;
  weft_status status = WEFT_OK;
  uint32_t i = bring(call);
  if (!i) return WEFT_NOMEM;
  call->done = try_put(c, i);
  if (call->done) return WEFT_OK;
  if (call->self)
    status =
        weft_arm_event(call->realm->world, call->self, &c->putters.event, i, call->timeout);
  /* A routine that was told to stop may be put aside without having been armed for the event. */
  bool waits = status == WEFT_OK && call->self &&
               weft_routine_event(call->realm->world, call->self) == &c->putters.event;
  if (!waits) left_item(&c->putters.event, i);
  return status;
}

static weft_status arm_get(wait_call *call)
{
  channel *c = (channel *)call->object;
  call->given = try_get(c);
  call->done = call->given != 0;
  if (call->done) return WEFT_OK;
  if (c->base.closed) return WEFT_CLOSED;
  if (!call->self) return WEFT_OK;
  return weft_arm_event(call->realm->world, call->self, getters(c), 0, call->timeout);
}

static weft_status arm(wait_call *call)
{
  if (call->act == ACT_GET) return arm_get(call);
  return call->object->closed ? WEFT_CLOSED : arm_put(call);
}

/* The item of a get is taken; a put gives true. */
static int push_item(lua_State *L, waitable *object, uint64_t i)
{
  channel *c = (channel *)object;
  if (i == 0) {
    lua_pushboolean(L, 1);
    return 1;
  }
  take_out(c, (uint32_t)i);
  return parcels_take(object->universe, L, free_item(c, (uint32_t)i));
}

/* --- From scripts -------------------------------------------------------------------------- */

static void close_channel(waitable *object)
{
  channel *c = (channel *)object;
  object->closed = true;
  weft_event_close(getters(c));
  weft_event_close(&c->putters.event);
}

static void fini_channel(lua_State *L, waitable *object)
{
  channel *c = (channel *)object;
  while (c->first) {
    uint32_t i = c->first;
    take_out(c, i);
    parcels_drop(object->universe, free_item(c, i));
  }
  if (c->items) binding_alloc(L, c->items, (c->size + 1) * sizeof(item), 0);
}

static bool is_idle(const waitable *object)
{
  const channel *c = (const channel *)object;
  const weft_event *get = &object->line.event, *put = &c->putters.event;
  return get->waiting + get->told + put->waiting + put->told == 0;
}

static const waitable_kind channel_kind = {
    .name = "channel",
    .a_name = "a channel",
    .arm = arm,
    .push = push_item,
    .close = close_channel,
    .fini = fini_channel,
    .idle = is_idle,
};

static channel *check(lua_State *L, const char *who)
{
  return (channel *)waitables_check(L, 1, &channel_kind, who);
}

/* Outside of routines nothing waits: what cannot be done at once is refused. */
static int begin(lua_State *L, wait_call *call, int timeout, const char *who)
{
  universe *U = call->object->universe;
  const weft_routine *self = binding_self(U);
  call->L = L;
  call->timeout =
      lua_isnoneornil(L, timeout) ? -1 : binding_check_seconds(L, timeout, who, "timeout");
  if (self && weft_routine_body(self) == routine_body) {
    waitables_bind(L, call->object, U->current, who);
    return waits_for(L, call, who);
  }
  weft_status status = arm(call);
  if (call->done) return waits_none(L, call);
  if (status == WEFT_CLOSED) return waits_refuse(L, U, "closed");
  if (status) return binding_failed(L, who, status);
  return waits_refuse(L, U, call->act == ACT_PUT ? "full" : "empty");
}

static int api_put(lua_State *L)
{
  wait_call call = {.object = &check(L, "channel:put")->base, .act = ACT_PUT, .value = 2};
  if (lua_isnone(L, 2)) lua_settop(L, 2);
  return begin(L, &call, 3, "channel:put");
}

static int api_get(lua_State *L)
{
  wait_call call = {.object = &check(L, "channel:get")->base, .act = ACT_GET};
  return begin(L, &call, 2, "channel:get");
}

/* True if it was open. */
static int api_close(lua_State *L)
{
  channel *c = check(L, "channel:close");
  bool was_open = !c->base.closed;
  close_channel(&c->base);
  lua_pushboolean(L, was_open);
  return 1;
}

static int api_new(lua_State *L)
{
  double capacity = lua_isnoneornil(L, 1)           ? 0
                    : lua_type(L, 1) == LUA_TNUMBER ? lua_tonumber(L, 1)
                                                    : NAN;
  if (!(capacity >= 0 && capacity <= MAX_CAPACITY) || capacity != floor(capacity))
    return binding_misuse(L, "weft.channel: n must be a whole number from 0 to %d, got %s",
                          (int)MAX_CAPACITY, binding_got(L, 1));
  channel *c = (channel *)waitables_new(L, &channel_kind, sizeof *c, "weft.channel");
  c->capacity = (uint32_t)capacity;
  c->base.line.event.hooks = &getter_hooks;
  c->putters.event.hooks = &putter_hooks;
  c->putters.object = &c->base;
  return 1;
}

static int channel_tostring(lua_State *L)
{
  const channel *c = check(L, "tostring");
  lua_pushfstring(L, "weft.Channel (%d of %d%s)", (int)c->queued, (int)c->capacity,
                  c->base.closed ? ", closed" : "");
  return 1;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {
    {"put", api_put}, {"get", api_get}, {"close", api_close}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", channel_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"channel", api_new}, {NULL, NULL}};

/* Module table on top. */
void channel_open(lua_State *L)
{
  binding_functions(L, functions);
  waitables_open_kind(L, &channel_kind, "weft.Channel", methods, metamethods);
  lua_setfield(L, -2, "channelMethods");
}
