/* SPDX-License-Identifier: MIT */
/*
** services_inside.c - the thread of a service: its Lua state, its main function, and what that calls.
*/
#include <stdio.h>
#include <string.h>

#include <lualib.h>

#include "lua/services.h"

/* --- Failing ------------------------------------------------------------------------------- */

static void note_wrong(servant *s, const char *text)
{
  snprintf(s->wrong_text, sizeof s->wrong_text, "weft.service: %s: %s", s->name,
           text ? text : "not enough memory");
  s->wrong = s->wrong_text;
}

/* error -> error, a string's with its traceback */
static int add_trace(lua_State *L)
{
  if (lua_type(L, 1) == LUA_TSTRING) luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

/* servant, error -> ; as text, if it cannot cross */
static int write_death(lua_State *L)
{
  servant *s = lua_touserdata(L, 1);
  s->death = transfer_write(L, 2, 1, TRANSFER_ANSWER, false);
  return 0;
}

static int write_death_text(lua_State *L)
{
  luaL_tolstring(L, 2, NULL);
  lua_pushfstring(L, "%s (an error object, a %s, that cannot leave its service)",
                  lua_tostring(L, -1), luaL_typename(L, 2));
  lua_replace(L, 2);
  lua_settop(L, 2);
  return write_death(L);
}

static bool try_death(lua_State *L, lua_CFunction write, servant *s)
{
  binding_push_universe(L);
  lua_pushcclosure(L, write, 1);
  lua_pushlightuserdata(L, s);
  lua_pushvalue(L, -3);
  if (lua_pcall(L, 2, 0, 0) == LUA_OK) return true;
  lua_pop(L, 1);
  return false;
}

/* error on top; may raise for want of memory */
static void fail(lua_State *L, servant *s)
{
  if (!lua_checkstack(L, LUA_MINSTACK) ||
      (!try_death(L, write_death, s) && !try_death(L, write_death_text, s)))
    note_wrong(s, NULL);
}

/* --- The state ----------------------------------------------------------------------------- */

static int refuse_exit(lua_State *L)
{
  return luaL_error(L, "os.exit: not allowed inside a service: the process is not its own");
}

static void open_parts(lua_State *L, servant *s)
{
  crew_prepare(L, s->paths, SERVICES_SERVANT_KEY, s);
  lua_getglobal(L, "os");
  lua_pushcfunction(L, refuse_exit);
  lua_setfield(L, -2, "exit");
  lua_getglobal(L, "require");
  lua_pushliteral(L, "weft");
  lua_call(L, 1, 0);
}

/* A module's name on top -> the function that is to run, or nothing if the module has run it. */
static bool find_main(lua_State *L)
{
  int at = lua_gettop(L);
  const char *name = lua_tostring(L, at);
  lua_getglobal(L, "require");
  lua_pushvalue(L, at);
  lua_call(L, 1, 1);
  if (lua_istable(L, -1)) lua_getfield(L, -1, "main");
  bool ran = lua_type(L, -1) == LUA_TBOOLEAN;
  if (!ran && !lua_isfunction(L, -1))
    luaL_error(L,
               "weft.service: module '%s' must return a function, or a table with a function "
               "'main', or serve while it is loaded",
               name);
  lua_replace(L, at);
  lua_settop(L, ran ? at - 1 : at);
  return !ran;
}

/* Runs main; in a protected call. */
static int run(lua_State *L)
{
  const servant *s = binding_universe(L)->servant;
  int count = transfer_read(L, s->input, &(transfer_side){0});
  if (lua_type(L, 1) == LUA_TSTRING) {
    lua_pushvalue(L, 1);
    if (!find_main(L)) return 0;
    lua_replace(L, 1);
  }
  lua_call(L, count - 1, 0);
  return 0;
}

/* servant -> ; what it takes to run main, and to tell how that has failed, may find no memory */
static int serve(lua_State *L)
{
  servant *s = lua_touserdata(L, 1);
  open_parts(L, s);
  lua_settop(L, 0);
  lua_pushcfunction(L, add_trace);
  binding_push_universe(L);
  lua_pushcclosure(L, run, 1);
  if (lua_pcall(L, 0, 0, 1) != LUA_OK) fail(L, s);
  return 0;
}

weft_status services_main(weft_service *self, void *arg)
{
  servant *s = arg;
  s->self = self;
  lua_State *L = luaL_newstate();
  if (!L) {
    note_wrong(s, NULL);
    return WEFT_NOMEM;
  }
  if (compat_call_c(L, serve, s) != LUA_OK) note_wrong(s, lua_tostring(L, -1));
  lua_close(L);
  weft_counted_drop(s->incoming);
  s->incoming = NULL;
  return s->death || s->wrong ? WEFT_FAILED : WEFT_OK;
}

/* --- What a service calls ------------------------------------------------------------------ */

static servant *check_inside(lua_State *L, bool service, const char *who)
{
  servant *s = binding_universe(L)->servant;
  if (!s) binding_misuse(L, "%s: not inside a service%s", who, service ? "" : " or a thread");
  if (service && s->is_thread) binding_misuse(L, "%s: a thread has no inbox", who);
  return s;
}

static int64_t check_timeout(lua_State *L, const char *who)
{
  return lua_isnoneornil(L, 1) ? -1 : binding_check_seconds(L, 1, who, "timeout");
}

/* The call that was not answered is told so: nobody would wait for ever. */
static void end_letter(servant *s)
{
  service_call *c = s->current;
  weft_counted_drop(s->incoming);
  s->incoming = NULL;
  s->current = NULL;
  s->letter = LETTER_NONE;
  if (!c) return;
  c->wrong = "went on without a reply";
  (void)weft_service_reply(s->self, &c->base, WEFT_FAILED, NULL, 0);
}

/* -> values; or nil and a reason */
static int inside_receive(lua_State *L)
{
  static const char who[] = "service.receive";
  servant *s = check_inside(L, true, who);
  int64_t timeout = check_timeout(L, who);
  weft_letter letter;
  (void)jobs_leave(L, NULL, who);
  end_letter(s);
  weft_status status = weft_service_receive(s->self, timeout, &letter);
  if (status) {
    lua_pushnil(L);
    lua_pushstring(L, status == WEFT_TIMEOUT ? "timeout" : "stopped");
    return 2;
  }
  s->incoming = (parcel *)(uintptr_t)letter.data[0];
  s->current = letter.call ? letter.call->arg : NULL;
  s->letter = letter.call ? LETTER_CALL : LETTER_POST;
  return transfer_read(L, s->incoming, &(transfer_side){0});
}

static void check_letter(lua_State *L, const servant *s, const char *who)
{
  if (s->letter == LETTER_NONE)
    binding_misuse(L, "%s: nothing was received that could be answered", who);
  if (s->letter == LETTER_ANSWERED) binding_misuse(L, "%s: the call was answered already", who);
}

/* values -> whether somebody had asked */
static int inside_reply(lua_State *L)
{
  static const char who[] = "service.reply";
  servant *s = check_inside(L, true, who);
  check_letter(L, s, who);
  parcel *p = services_write(L, 1, TRANSFER_ANSWER, false, who);
  if (s->letter == LETTER_ANSWERED) weft_counted_drop(p); /* by a finalizer, meanwhile */
  check_letter(L, s, who);
  service_call *c = s->current;
  if (c) {
    c->output = p;
    services_give(p, "gone: a service has replied with it");
    s->current = NULL;
    s->letter = LETTER_ANSWERED;
    (void)weft_service_reply(s->self, &c->base, WEFT_OK, NULL, 0);
  } else {
    weft_counted_drop(p);
  }
  lua_pushboolean(L, c != NULL);
  return 1;
}

/* True when it was told to stop; or nil, "timeout". */
static int inside_wait(lua_State *L)
{
  static const char who[] = "service.wait";
  const servant *s = check_inside(L, false, who);
  int64_t timeout = check_timeout(L, who);
  (void)jobs_leave(L, NULL, who);
  if (weft_service_wait(s->self, timeout) == WEFT_STOPPED) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushnil(L);
  lua_pushliteral(L, "timeout");
  return 2;
}

static int inside_stopping(lua_State *L)
{
  const servant *s = check_inside(L, false, "service.stopping");
  lua_pushboolean(L, weft_service_stopping(s->self));
  return 1;
}

static const luaL_Reg service_functions[] = {
    {"receive", inside_receive},   {"reply", inside_reply}, {"wait", inside_wait},
    {"stopping", inside_stopping}, {"post", services_post}, {NULL, NULL}};

/* Table of functions on top. */
void services_open_inside(lua_State *L)
{
  binding_functions(L, service_functions);
}
