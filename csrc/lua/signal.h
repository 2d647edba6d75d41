/* SPDX-License-Identifier: MIT */
/*
** signal.h - what the files of signals share.
*/
#ifndef WEFT_LUA_SIGNAL_H
#define WEFT_LUA_SIGNAL_H

#include "lua/waitables.h"

typedef struct listener {
  uint64_t id;      /* ascending */
  weft_owner owner; /* or 0 */
  uint32_t number;  /* of its realm; 0: whoever fires */
  bool on, once;
} listener;

typedef struct signal {
  waitable base;
  listener *listeners;
  uint32_t count, size; /* with those that are off */
  uint32_t on;
  uint32_t firing;
  uint64_t last_id;
} signal;

/* A parcel that one alone is to have. */
#define TURN (UINT64_C(1) << 32)

signal *signal_check_open(lua_State *L, int index, const char *who);

/* --- signal_listeners.c --- */
/* table of functions at `functions` */
void signal_turn_off(lua_State *L, signal *s, uint32_t i, int functions);
/* The world that a listener is called in. False if it is not there any more, and its owner with it. */
bool signal_find_realm(lua_State *L, const listener *it, realm *current, realm **out);
/* Closes the holes, with those whose owners are gone. Only while nobody fires; the signal stands at 1. */
void signal_close_holes(lua_State *L, signal *s);
void signal_open_subscriptions(lua_State *L);
void signal_push_connects(lua_State *L); /* methods -> methods */

/* --- signal_fire.c --- */
void signal_push_fires(lua_State *L); /* methods -> methods */

#endif
