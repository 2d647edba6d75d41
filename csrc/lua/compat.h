/* SPDX-License-Identifier: MIT */
/*
** compat.h - where Lua 5.4 and LuaJIT 2.1 differ. No other file of the binding looks at a version.
*/
#ifndef WEFT_LUA_COMPAT_H
#define WEFT_LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#if LUA_VERSION_NUM >= 504

#if defined(LUA_VERSION_RELEASE_NUM) && LUA_VERSION_RELEASE_NUM < 50404
#error "weft needs Lua 5.4.4 or newer: earlier ones lose errors in coroutine.close"
#endif

#define WEFT_LUAJIT 0
/* Stack for 200 nested C calls and Lua's own error at the end of them. */
#define COMPAT_STACK_BYTES ((size_t)512 << 10)

static inline int compat_resume(lua_State *co, lua_State *from, int nargs, int *nresults)
{
  return lua_resume(co, from, nargs, nresults);
}

/* Values on top after it yielded. */
static inline int compat_yielded(lua_State *co, int nresults)
{
  (void)co;
  return nresults;
}

/* Calls a function with a light userdata, protected from the first request for memory on. Leaves an
   error, or nothing. */
static inline int compat_call_c(lua_State *L, lua_CFunction fn, void *data)
{
  lua_pushcfunction(L, fn);
  lua_pushlightuserdata(L, data);
  return lua_pcall(L, 1, 0, 0);
}

static inline void *compat_new_object(lua_State *L, size_t size) /* -> userdata */
{
  return lua_newuserdatauv(L, size, 1);
}

static inline void compat_set_value(lua_State *L, int index) /* value -> */
{
  lua_setiuservalue(L, index, 1);
}

static inline void compat_get_value(lua_State *L, int index) /* -> value */
{
  lua_getiuservalue(L, index, 1);
}

#define compat_raw_length lua_rawlen
#define compat_is_integer lua_isinteger
#define compat_push_globals lua_pushglobaltable
#define compat_dump(L, writer, context) lua_dump((L), (writer), (context), 0)

/* A function's environment is a captured local there, and travels as one. value -> */
static inline void compat_set_environment(lua_State *L, int function)
{
  (void)function;
  lua_pop(L, 1);
}

/* The type of numbers and buffers of LuaJIT that are cdata; nothing has it here. */
#define COMPAT_TCDATA (-2)

/* Makes room for `count` values more; false without memory. Never raises. */
static inline bool compat_grow(lua_State *L, int count)
{
  return lua_checkstack(L, count);
}

/* Finalizers that fail are warned of there and disturb nobody. */
static inline bool compat_hold_finalizers(lua_State *L)
{
  (void)L;
  return false;
}

static inline void compat_release_finalizers(lua_State *L, bool held)
{
  (void)L;
  (void)held;
}

/* C calls are counted, 200 at most, 220 while an error is handled. */
#define COMPAT_C_LEVELS 220

/* Cache lines of a coroutine that a resume touches. */
#define COMPAT_STATE_LINES 3

/* Whether a finalizer may be running; and whether it is, when it may be: then this raises. */
static inline bool compat_perhaps_in_finalizer(lua_State *L)
{
  return lua_gc(L, LUA_GCISRUNNING) == -1;
}

static inline void compat_refuse_finalizer(lua_State *L)
{
  lua_pushnil(L);
  lua_error(L);
}

static inline void compat_abort_recording(lua_State *L)
{
  (void)L;
}

/* Calls what is on `L`, which runs nothing, with its depth of C calls counted on from `from`'s. As
   lua_pcall, but that an error leaves nothing else on `L`. */
static inline int compat_call_from(lua_State *L, lua_State *from, int nargs, int nresults)
{
  int below = lua_gettop(L) - nargs - 1, count;
  int status = lua_resume(L, from, nargs, &count);
  if (status == LUA_OK)
    lua_settop(L, below + nresults);
  else if (lua_status(L) != LUA_OK)
    lua_resetthread(L);
  else
    lua_replace(L, below + 1); /* refused: too deep already */
  return status;
}

/* Ends a coroutine that failed or yielded; its to-be-closed variables run. LUA_OK, or the error
   is on its stack. */
static inline int compat_close(lua_State *co)
{
  return lua_resetthread(co);
}

#define COMPAT_CAN_CLOSE 1

/* Values between a routine's function and its arguments on its coroutine, after what stands under the
   function: here neither. */
#define COMPAT_BODY_ARGS 0

/* How the function ended: LUA_OK with `*count` results on top, or an error on top. */
static inline int compat_outcome(lua_State *co, int status, int nresults, int *count)
{
  (void)co;
  *count = nresults;
  return status;
}

/* A C function that waits yields with a continuation, which finishes the call. */
#define COMPAT_TOKENS 0
#define compat_yield(L, n, context, k) lua_yieldk((L), (n), (context), (k))

/* A protected call through which the callee may yield. */
#define compat_pcall(L, nargs, handler, k)                                                     \
  lua_pcallk((L), (nargs), LUA_MULTRET, (handler), 0, (k))

/* Nothing to mend before an error is thrown on a stack that was switched to. */
static inline void compat_before_throw(lua_State *L)
{
  (void)L;
}

/* The first word of a coroutine that probe.c may look at: behind the header and its padding. */
#define COMPAT_FIRST_WORD 2

/* The call record of a level of a suspended coroutine: public in lua_Debug, for the debug API. */
static inline const void *compat_call_record(lua_State *co, int level)
{
  lua_Debug ar;
  return lua_getstack(co, level, &ar) ? (const void *)ar.i_ci : NULL;
}

/* What trace.c asks of a frame. */
#define COMPAT_FRAME_INFO "Slnt"

static inline bool compat_is_tail_call(const lua_Debug *ar)
{
  return ar->istailcall;
}

static inline void compat_push_function(lua_State *L, lua_State *of, lua_Debug *ar)
{
  (void)of;
  lua_getinfo(L, "f", ar);
}

/* Hooks are a coroutine's own and do no harm to others. */
static inline int compat_hooks_in_use(lua_State *L)
{
  (void)L;
  return 0;
}

/* The coroutine that `L` has resumed, if its running function is one that resumes. */
static inline lua_State *compat_resumed_by(lua_State *L)
{
  lua_Debug ar;
  if (!lua_getstack(L, 0, &ar) || !lua_getinfo(L, "S", &ar) || ar.what[0] != 'C') return NULL;
  lua_State *inner = lua_tothread(L, 1);
  return inner ? inner : lua_tothread(L, lua_upvalueindex(1));
}

/* Lets `hook` run before the next instruction of the coroutine that is running, where that is `L` or
   one so many levels inside it; a hook of the script's own stays unless `force`d out. In a signal
   handler: what lua_sethook writes is written for that; a stack is looked at only if its owner has
   run nothing for long, for the levels above were tried before. */
static inline void compat_interrupt(lua_State *L, uint32_t level, bool force, lua_Hook hook)
{
  for (; level > 0; level--) {
    lua_State *inner = compat_resumed_by(L);
    if (!inner) break;
    L = inner;
  }
  if (force || !lua_gethook(L) || lua_gethook(L) == hook)
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
}

/* A reused coroutine starts without the hook of its last user. */
static inline void compat_clear_hook(lua_State *co)
{
  if (lua_gethook(co)) lua_sethook(co, NULL, 0, 0);
}

/* Where a job's function has ended that has run there. */
static inline void compat_clear_job_hook(lua_State *co)
{
  compat_clear_hook(co);
}

#else /* LuaJIT 2.1, with the API of Lua 5.1 */

#include <luajit.h>

#define WEFT_LUAJIT 1
/* No limit of C calls of its own: room, and a guard. */
#define COMPAT_STACK_BYTES ((size_t)2 << 20)

#ifndef LUA_OK
#define LUA_OK 0
#endif

typedef ptrdiff_t lua_KContext;

static inline int compat_resume(lua_State *co, lua_State *from, int nargs, int *nresults)
{
  (void)from;
  (void)nresults;
  return lua_resume(co, nargs);
}

static inline int compat_yielded(lua_State *co, int nresults)
{
  (void)nresults;
  return lua_gettop(co);
}

static inline int compat_call_c(lua_State *L, lua_CFunction fn, void *data)
{
  return lua_cpcall(L, fn, data);
}

static inline void *compat_new_object(lua_State *L, size_t size)
{
  return lua_newuserdata(L, size);
}

static int compat_grow_here(lua_State *L)
{
  int count = *(int *)lua_touserdata(L, 1);
  luaL_checkstack(L, count, NULL);
  return 0;
}

/* lua_checkstack itself raises there when memory is short: it is called where that is caught. */
static inline bool compat_grow(lua_State *L, int count)
{
  int room = count + LUA_MINSTACK;
  if (lua_cpcall(L, compat_grow_here, &room) == 0) return true;
  lua_pop(L, 1);
  return false;
}

/* A finalizer that fails raises out of whatever allocated: where an error is being put together the
   collector waits. */
static inline bool compat_hold_finalizers(lua_State *L)
{
  bool running = lua_gc(L, LUA_GCISRUNNING, 0) != 0;
  if (running) lua_gc(L, LUA_GCSTOP, 0);
  return running;
}

static inline void compat_release_finalizers(lua_State *L, bool held)
{
  if (held) lua_gc(L, LUA_GCRESTART, 0);
}

#define COMPAT_C_LEVELS 0

static inline int compat_call_from(lua_State *L, lua_State *from, int nargs, int nresults)
{
  (void)from;
  return lua_pcall(L, nargs, nresults, 0);
}
#define COMPAT_STATE_LINES 2

/* Only a table can stand beside a userdata here. */
static inline void compat_set_value(lua_State *L, int index)
{
  lua_setfenv(L, index);
}

static inline void compat_get_value(lua_State *L, int index)
{
  lua_getfenv(L, index);
}

#define compat_raw_length lua_objlen
#define compat_is_integer(L, index) ((void)(L), (void)(index), false)
#define compat_push_globals(L) lua_pushvalue((L), LUA_GLOBALSINDEX)
#define compat_dump(L, writer, context) lua_dump((L), (writer), (context))
#define compat_set_environment(L, function) ((void)lua_setfenv((L), (function)))

/* Not in its headers. */
#define COMPAT_TCDATA 10

/* The collector stands still while a finalizer runs, and where a script has stopped it. */
static inline bool compat_perhaps_in_finalizer(lua_State *L)
{
  return lua_gc(L, LUA_GCISRUNNING, 0) == 0;
}

static inline void compat_abort_recording(lua_State *L)
{
  luaJIT_setmode(L, 0, LUAJIT_MODE_DEBUG);
}

/* Aborting is what the machine refuses in a finalizer. */
static inline void compat_refuse_finalizer(lua_State *L)
{
  compat_abort_recording(L);
}

#define COMPAT_CAN_CLOSE 0

/* A routine's coroutine runs xpcall(function, handler, ...): it stays usable after an error, and
   the traceback is had while the stack still stands. Function and handler come before the arguments
   of the routine. */
#define COMPAT_BODY_ARGS 2

static inline int compat_outcome(lua_State *co, int status, int nresults, int *count)
{
  (void)nresults;
  if (status != LUA_OK) return status;
  if (!lua_toboolean(co, 1)) return LUA_ERRRUN;
  *count = lua_gettop(co) - 1;
  return LUA_OK;
}

#define compat_close(co) ((void)(co), LUA_ERRRUN)

/* No continuations: the C function ends with the yield, and the small Lua function that called it (in
   lua/weft/waits.lua) goes on with a token and what the wait gave. While a routine waits inside a
   debug hook, lua_yield takes every yield for one out of that hook: where hooks are in use nothing is
   armed in C, and the Lua function yields what it asks for, which costs some nanoseconds more. */
#define COMPAT_TOKENS 1
#define compat_yield(L, n, context, k) ((void)(context), (void)(k), lua_yield((L), (n)))

/* waits.lua has the one through which a callee may yield. */
#define compat_pcall(L, nargs, handler, k)                                                     \
  ((void)(k), lua_pcall((L), (nargs), LUA_MULTRET, (handler)))

static int compat_nop(lua_State *L)
{
  (void)L;
  return 0;
}

/* LuaJIT before 2023-09 takes the state that was entered last for the running one when it records
   after an error that C threw: entering and leaving a C function sets that right. */
static inline void compat_before_throw(lua_State *L)
{
  lua_pushcfunction(L, compat_nop);
  lua_call(L, 0, 0);
}

/* Behind the header and the collector's link. */
#define COMPAT_FIRST_WORD 4

static inline const void *compat_call_record(lua_State *co, int level)
{
  (void)co;
  (void)level;
  return NULL;
}

#define COMPAT_FRAME_INFO "Sln"

static inline bool compat_is_tail_call(const lua_Debug *ar)
{
  (void)ar;
  return false;
}

static inline void compat_push_function(lua_State *L, lua_State *of, lua_Debug *ar)
{
  lua_getinfo(of, "f", ar);
  if (of != L) lua_xmove(of, L, 1);
}

static inline int compat_hooks_in_use(lua_State *L)
{
  return lua_gethook(L) != NULL;
}

/* One hook serves all coroutines. Compiled code does not run it. */
static inline void compat_interrupt(lua_State *L, uint32_t level, bool force, lua_Hook hook)
{
  (void)level;
  if (force || !lua_gethook(L) || lua_gethook(L) == hook)
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
}

/* Hooks are the whole VM's there, not a coroutine's. */
static inline void compat_clear_hook(lua_State *co)
{
  (void)co;
}

/* A thread's state has no debugger of its own: what is set there is the job's, or a suspended one's. */
static inline void compat_clear_job_hook(lua_State *co)
{
  if (lua_gethook(co)) lua_sethook(co, NULL, 0, 0);
}

/* index -> text; may throw */
static inline const char *luaL_tolstring(lua_State *L, int index, size_t *length)
{
  if (luaL_callmeta(L, index, "__tostring")) {
    if (!lua_isstring(L, -1)) luaL_error(L, "'__tostring' must return a string");
  } else if (lua_type(L, index) == LUA_TNUMBER || lua_type(L, index) == LUA_TSTRING) {
    lua_pushvalue(L, index);
  } else if (lua_type(L, index) == LUA_TBOOLEAN) {
    lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
  } else if (lua_type(L, index) == LUA_TNIL) {
    lua_pushliteral(L, "nil");
  } else {
    lua_pushfstring(L, "%s: %p", luaL_typename(L, index), lua_topointer(L, index));
  }
  return lua_tolstring(L, -1, length);
}

static inline int lua_absindex(lua_State *L, int index)
{
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}

#endif

#endif
