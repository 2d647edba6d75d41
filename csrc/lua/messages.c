/* SPDX-License-Identifier: MIT */
/*
** messages.c - owner:on, world:send and world:broadcast. What is sent waits in cells of the world
** and is delivered in stage 3, to those who hear it then (ears.c).
*/
#include "lua/jobs.h"

/* As many as posts. */
#define MAX_MESSAGES (UINT32_C(1) << 20)

/* Addresses: the key of the subscriptions' metatable; what stands for nil in a cell, which may not
   hold one. */
static const char sub_key, nothing;

/* What `owner:on` gives. */
typedef struct subscription {
  uint32_t number; /* of the realm */
  uint32_t ear;    /* 0: none */
  uint64_t born;
} subscription;

static int refuse(lua_State *L, const char *reason)
{
  lua_pushnil(L);
  lua_pushstring(L, reason);
  return 2;
}

static void check_name(lua_State *L, int index, const char *who)
{
  if (lua_type(L, index) != LUA_TSTRING)
    binding_misuse(L, "%s: name must be a string, got %s", who, binding_got(L, index));
}

/* --- Sending ------------------------------------------------------------------------------- */

void messages_fini(lua_State *L, messages *m)
{
  if (m->items) binding_alloc(L, m->items, m->size * sizeof *m->items, 0);
  *m = (messages){.dropped = m->dropped};
}

/* Room for one more; what waits is put in a row. */
static void grow(lua_State *L, messages *m)
{
  uint32_t size = m->size > 0 ? m->size * 2 : 16;
  message *items = binding_alloc(L, NULL, 0, size * sizeof *items);
  if (!items) luaL_error(L, "not enough memory");
  for (uint32_t i = 0; i < m->count; i++) items[i] = m->items[(m->head + i) & (m->size - 1)];
  if (m->items) binding_alloc(L, m->items, m->size * sizeof *items, 0);
  m->items = items;
  m->size = size;
  m->head = 0;
}

/* The name at `first` and all values above it. */
static int send(lua_State *L, realm *R, weft_owner to, int first)
{
  messages *m = &R->messages;
  int count = lua_gettop(L) - first + 1;
  if (m->count >= MAX_MESSAGES) return refuse(L, "full");
  if (m->count == m->size) grow(L, m);
  values_reserve(L, R, (uint32_t)count);
  for (int i = first + 1; i < first + count; i++) {
    if (!lua_isnil(L, i)) continue;
    lua_pushlightuserdata(L, (void *)&nothing);
    lua_replace(L, i);
  }
  m->items[(m->head + m->count++) & (m->size - 1)] =
      (message){.to = to,
                .cells = values_put_range(R, L, first, first + count - 1),
                .count = (uint32_t)count};
  lua_pushboolean(L, 1);
  return 1;
}

int messages_send(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:send");
  uint32_t number;
  weft_owner to = owner_check(L, 2, "world:send", &number);
  check_name(L, 3, "world:send");
  if (number != R->number)
    return binding_misuse(L, "world:send: the owner is of another world");
  if (R->closing) return refuse(L, "closed");
  if (!weft_owner_alive(R->world, to)) return refuse(L, "destroyed");
  return send(L, R, to, 3);
}

int messages_broadcast(lua_State *L)
{
  realm *R = world_check_open(L, 1, "world:broadcast");
  check_name(L, 2, "world:broadcast");
  return R->closing ? refuse(L, "closed") : send(L, R, 0, 2);
}

/* --- Delivering ---------------------------------------------------------------------------- */

static message take(messages *m)
{
  message first = m->items[m->head];
  m->head = (m->head + 1) & (m->size - 1);
  m->count--;
  m->left--;
  return first;
}

/* -> name, values */
static void push_parts(lua_State *L, realm *R, const message *told)
{
  for (uint32_t cell = told->cells; cell;) {
    cell = values_take(R, L, cell);
    if (lua_touserdata(L, -1) != &nothing) continue;
    lua_pop(L, 1);
    lua_pushnil(L);
  }
}

static void tell(lua_State *L, realm *R, const message *told)
{
  int name = lua_gettop(L) + 1, nargs = (int)told->count - 1;
  push_parts(L, R, told);
  uint32_t number = ears_find_name(L, R, name), cell;
  if (!number) return;
  ears_begin(R, number, told->to);
  while ((cell = ears_next(R)) != 0) {
    lua_rawgeti(R->store, STORE_VALUES, (int)cell);
    lua_xmove(R->store, L, 1);
    for (int i = 1; i <= nargs; i++) lua_pushvalue(L, name + i);
    systems_call(L, R, nargs);
  }
  ears_end(R);
}

static int deliver(lua_State *L, void *context)
{
  realm *R = context;
  messages *m = &R->messages;
  while (m->left > 0) {
    message told = take(m);
    bool heard = !told.to || weft_owner_alive(R->world, told.to);
    bool room = heard && compat_grow(L, (int)told.count * 2 + LUA_MINSTACK);
    if (room)
      tell(L, R, &told);
    else
      values_drop(R, told.cells);
    if (!heard) m->dropped++;
    if (heard && !room) return luaL_error(L, "not enough memory");
    lua_settop(L, 0);
  }
  return 0;
}

/* Stage 3. What fails in the middle is told of and takes its own message along, not the others. */
void messages_deliver(void *host)
{
  realm *R = host;
  messages *m = &R->messages;
  jobs_stage(R);
  for (m->left = m->count; m->left > 0;)
    if (binding_protect_on(R->ticking, R, deliver, R, 0, 0) != LUA_OK)
      report_failure(R, R->ticking);
}

/* --- Hearing ------------------------------------------------------------------------------- */

static void push_sub_meta(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&sub_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* owner, name, function -> subscription */
int messages_on(lua_State *L)
{
  uint32_t number;
  weft_owner id = owner_check(L, 1, "owner:on", &number);
  check_name(L, 2, "owner:on");
  if (!lua_isfunction(L, 3))
    return binding_misuse(L, "owner:on: a function expected, got %s", binding_got(L, 3));
  lua_settop(L, 3);
  subscription *sub = lua_newuserdata(L, sizeof *sub);
  *sub = (subscription){.number = number};
  push_sub_meta(L);
  lua_setmetatable(L, -2);
  realm *R = owner_realm(L, number, "owner:on"); /* after what may run finalizers */
  if (!weft_owner_alive(R->world, id)) return refuse(L, "destroyed");
  sub->ear = ears_add(L, R, id, 2, 3);
  sub->born = R->ears.all[sub->ear].born;
  return 1;
}

/* True if it was on. */
static int sub_off(lua_State *L)
{
  const subscription *sub = binding_check_sub(L, &sub_key);
  realm *R = owner_find_realm(L, sub->number);
  bool was_on = R && sub->ear && R->ears.all[sub->ear].born == sub->born;
  if (was_on) ears_remove(R, sub->ear);
  lua_pushboolean(L, was_on);
  return 1;
}

static const luaL_Reg sub_methods[] = {{"off", sub_off}, {NULL, NULL}};

void messages_open(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&sub_key);
  lua_createtable(L, 0, 2);
  lua_newtable(L);
  binding_functions(L, sub_methods);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "weft.Subscription");
  lua_setfield(L, -2, "__name");
  lua_rawset(L, LUA_REGISTRYINDEX);
}
