/* SPDX-License-Identifier: MIT */
/*
** services_gates.c - the state of a world, which services may be gated by.
*/
#include <string.h>

#include "lua/services.h"

#define STATES 64
#define NAME_BYTES 32

/* A counted object, made when a state is first spoken of. Names get their numbers in the order in which
   they are met; 0 is what a world is in before it is told another. */
struct gates {
  weft_gate *gate;
  uint32_t count;
  char names[STATES][NAME_BYTES];
};

static void gates_end(void *object)
{
  gates *g = object;
  weft_gate_drop(g->gate);
}

static gates *gates_of(lua_State *L, realm *R, const char *who)
{
  if (R->gates) return R->gates;
  gates *g = weft_counted_new(sizeof *g, gates_end);
  if (!g || weft_gate_new(0, &g->gate) != WEFT_OK) {
    weft_counted_drop(g);
    luaL_error(L, "%s: not enough memory", who);
  }
  strcpy(g->names[0], "running");
  g->count = 1;
  return R->gates = g;
}

weft_gate *services_gate(lua_State *L, realm *R, const char *who)
{
  return gates_of(L, R, who)->gate;
}

static uint32_t number_of(lua_State *L, realm *R, int index, const char *who)
{
  gates *g = gates_of(L, R, who);
  size_t length = 0;
  const char *name =
      lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &length) : NULL;
  if (!name)
    binding_misuse(L, "%s: the name of a state expected, got %s", who, binding_got(L, index));
  if (length == 0 || length >= NAME_BYTES || strlen(name) != length)
    binding_misuse(L, "%s: the name of a state must have 1 to %d bytes", who, NAME_BYTES - 1);
  for (uint32_t i = 0; i < g->count; i++)
    if (strcmp(g->names[i], name) == 0) return i;
  if (g->count == STATES)
    binding_misuse(L, "%s: a world has at most %d states, '%s' would be one more", who, STATES,
                   name);
  memcpy(g->names[g->count], name, length + 1);
  return g->count++;
}

uint64_t services_state_bit(lua_State *L, realm *R, int index, const char *who)
{
  return UINT64_C(1) << number_of(L, R, index, who);
}

static const char *state_of(const realm *R)
{
  return R->gates ? R->gates->names[weft_gate_state(R->gates->gate)] : "running";
}

/* The state that it was in. */
int services_set_state(lua_State *L)
{
  static const char who[] = "world:setState";
  realm *R = world_check_open(L, 1, who);
  uint32_t number = number_of(L, R, 2, who);
  lua_pushstring(L, state_of(R));
  (void)weft_gate_set(R->gates->gate, number);
  return 1;
}

int services_state(lua_State *L)
{
  lua_pushstring(L, state_of(world_check_open(L, 1, "world:state")));
  return 1;
}
