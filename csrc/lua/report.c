/* SPDX-License-Identifier: MIT */
/*
** report.c - errors nobody caught: to the world's onError, else to stderr; once, never lost.
*/
#include <stdio.h>

#include "lua/binding.h"

/* error -> text; may throw: a __tostring of a script's */
static int to_text(lua_State *L)
{
  luaL_tolstring(L, 1, NULL);
  return 1;
}

static void print_value(lua_State *L, int index)
{
  index = lua_absindex(L, index);
  lua_pushcfunction(L, to_text);
  lua_pushvalue(L, index);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK || !lua_isstring(L, -1))
    fprintf(stderr, "(error object is a %s value)", luaL_typename(L, index));
  else
    fprintf(stderr, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
}

/* Who reports: a handle, or nil for a callback. A routine that has not ended yet, or was cancelled,
   tells of something else than its failure. */
static void print_title(lua_State *L, int what)
{
  if (lua_isnil(L, what)) {
    fprintf(stderr, "weft: a callback failed: ");
    return;
  }
  int top = lua_gettop(L);
  weft_state state = handle_state(L, handle_check(L, what, "report"));
  const char *title = handle_push_title(L, what);
  if (state == WEFT_STATE_FAILED)
    fprintf(stderr, "weft: %s failed: ", title);
  else
    fprintf(stderr, "weft: %s (%s): ", title, handle_state_name(state));
  lua_settop(L, top);
}

/* handle or nil, error, traceback at the three last places */
static void print_report(lua_State *L, int what)
{
  print_title(L, what);
  print_value(L, what + 1);
  if (lua_isstring(L, what + 2)) fprintf(stderr, "\n%s", lua_tostring(L, what + 2));
  fputc('\n', stderr);
  fflush(stderr);
}

/* handle or nil, error, traceback -> ; as a world without onError reports */
int report_print(lua_State *L)
{
  lua_settop(L, 3);
  print_report(L, 1);
  return 0;
}

int report_push_on(lua_State *L, realm *R)
{
  universe *U = R->universe;
  int what = lua_gettop(L) - 2;
  luaL_checkstack(L, LUA_MINSTACK, "report");
  lua_pushvalue(R->store, STORE_ON_ERROR);
  lua_xmove(R->store, L, 1);
  if (lua_isnil(L, -1)) {
    print_report(L, what);
  } else {
    for (int i = 0; i < 3; i++) lua_pushvalue(L, what + i);
    U->callbacks++;
    int status = lua_pcall(L, 3, 0, 0);
    U->callbacks--;
    if (status != LUA_OK) {
      print_report(L, what);
      fprintf(stderr, "weft: and onError failed: ");
      print_value(L, -1);
      fputc('\n', stderr);
    }
  }
  lua_settop(L, what - 1);
  return 0;
}

/* handle or nothing -> ; reports what the handle holds */
static int report_handle(lua_State *L, void *context)
{
  if (lua_isuserdata(L, 1)) {
    compat_get_value(L, 1);
    lua_rawgeti(L, 2, 1);
    lua_rawgeti(L, 2, 2);
    lua_remove(L, 2);
  } else {
    lua_pushnil(L);
    lua_pushliteral(L, "not enough memory");
    lua_pushnil(L);
  }
  return report_push_on(L, context);
}

void report_routine(realm *R, const record *rec)
{
  lua_State *helper = R->universe->helper;
  if (rec->recorded) {
    lua_rawgeti(R->store, STORE_VALUES, (int)rec->cells);
    lua_xmove(R->store, helper, 1);
  }
  if (binding_protect(R, report_handle, R, rec->recorded, 0) == LUA_OK) return;
  fprintf(stderr, "weft: a routine failed, and there was no memory to say how\n");
  lua_pop(helper, 1);
}

/* --- Message handlers ---------------------------------------------------------------------- */

/* Who runs: a trace is kept for an error on its way through one resume, or one callback. */
static uint64_t moment(const realm *R)
{
  const weft_routine *self = weft_self();
  if (!self) return weft_world_tick_count(R->world) << 1;
  uint64_t slot = weft_routine_slot(R->world, self);
  return (slot << 32 | weft_routine_resumes(self)) << 1 | 1;
}

/* Whether the trace that is kept aside is of the error at `index`, raised on. */
static bool is_kept(lua_State *L, const realm *R, int index)
{
  lua_State *store = R->store;
  if (lua_isnil(store, STORE_TRACE) || R->traced_at != moment(R)) return false;
  lua_pushvalue(L, index);
  lua_xmove(L, store, 1);
  bool same = lua_rawequal(store, -1, STORE_TRACED);
  lua_pop(store, 1);
  return same;
}

/* -> trace of the stack below the message handler */
static int make_trace(lua_State *L, void *context)
{
  trace_push(L, context, L, 2);
  return 1;
}

/* error, trace -> */
static void keep_trace(lua_State *L, realm *R)
{
  lua_xmove(L, R->store, 2);
  lua_replace(R->store, STORE_TRACE);
  lua_replace(R->store, STORE_TRACED);
  R->traced_at = moment(R);
}

int report_traceback(lua_State *L)
{
  const universe *U = binding_universe(L);
  realm *R = U->current;
  if (!R || lua_touserdata(L, 1) == U->cancelled || is_kept(L, R, 1)) return 1;
  bool held = compat_hold_finalizers(L);
  if (binding_protect_on(L, R, make_trace, R, 0, 1) != LUA_OK) {
    lua_pop(L, 1); /* no memory for a trace: the error goes on without */
    lua_pushnil(L);
  }
  compat_release_finalizers(L, held);
  lua_pushvalue(L, 1);
  lua_insert(L, -2);
  keep_trace(L, R);
  lua_settop(L, 1);
  return 1;
}

void report_keep_trace(lua_State *L, realm *R)
{
  if (!lua_isstring(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  lua_pushvalue(L, -2);
  lua_insert(L, -2);
  keep_trace(L, R);
}

void report_push_trace(lua_State *L, realm *R, int index, lua_State *traced)
{
  if (is_kept(L, R, index)) {
    lua_pushvalue(R->store, STORE_TRACE);
    lua_xmove(R->store, L, 1);
  } else if (traced) {
    trace_push(L, R, traced, 0);
  } else {
    lua_pushnil(L);
  }
  report_forget_trace(R);
}

void report_forget_trace(realm *R)
{
  lua_pushnil(R->store);
  lua_replace(R->store, STORE_TRACE);
  lua_pushnil(R->store);
  lua_replace(R->store, STORE_TRACED);
}

/* error -> */
void report_callback(realm *R, lua_State *L)
{
  if (lua_touserdata(L, -1) == R->universe->cancelled) {
    lua_pop(L, 1);
    return;
  }
  lua_pushnil(L);
  lua_insert(L, -2);
  report_push_trace(L, R, lua_gettop(L), NULL);
  report_push_on(L, R);
}

static int report_raised(lua_State *L, void *context)
{
  report_callback(context, L);
  return 0;
}

void report_failure(realm *R, lua_State *L)
{
  lua_State *helper = R->universe->helper;
  lua_xmove(L, helper, 1);
  if (binding_protect(R, report_raised, R, 1, 0) == LUA_OK) return;
  fprintf(stderr, "weft: a callback failed, and there was no memory to say how\n");
  lua_pop(helper, 1);
}
