/* SPDX-License-Identifier: MIT */
/*
** overruns.c - resumes that take too long, as scripts see them: told through world.onSlow with the line
** where they stood, and ended by an error.
**
** Nothing of this costs anything until the world's watch sees one. Then, in a signal handler in the
** middle of the routine, a debug hook is set that runs before the next instruction; what is to be
** done is done there.
*/
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

enum { WANTS_LINE = 1, WANTS_END = 2 };

/* --- Notes --------------------------------------------------------------------------------- */

/* The note of the resume that runs; NULL if there is none. */
static overrun *find(overruns *o, weft_handle id, uint32_t resumes)
{
  for (int i = 0; i < OVERRUNS_KEPT; i++)
    if (o->notes[i].id == id && o->notes[i].resumes == resumes) return &o->notes[i];
  return NULL;
}

static overrun *find_or_make(realm *R, const weft_routine *self)
{
  overruns *o = &R->overruns;
  weft_handle id = weft_routine_handle(R->world, self);
  uint32_t resumes = weft_routine_resumes(self);
  overrun *note = find(o, id, resumes);
  if (note) return note;
  note = &o->notes[o->next++ % OVERRUNS_KEPT];
  *note =
      (overrun){.id = id, .resumes = resumes, .slot = weft_routine_slot(R->world, self) + 1};
  return note;
}

/* --- In the routine ------------------------------------------------------------------------ */

/* Where the innermost function of a script's stands; "" if that is not known. */
static void find_line(lua_State *L, char *text, size_t size)
{
  lua_Debug ar;
  text[0] = '\0';
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Sl", &ar) || ar.currentline <= 0 || binding_is_ours(ar.source))
      continue;
    snprintf(text, size, "%s:%d", ar.short_src, ar.currentline);
    return;
  }
}

static void end_routine(lua_State *L, const realm *R, const overrun *note)
{
  char ms[32];
  snprintf(ms, sizeof ms, "%.14g", (double)R->config.max_resume_ns / 1e6);
  compat_before_throw(L);
  lua_pushfstring(
      L,
      "%s: this routine has run for over %s ms in one go (maxResumeMs); let it wait "
      "now and then, by routine.slice for instance",
      note->where[0] ? note->where : "?", ms);
  lua_error(L);
}

/* The hook, before an instruction of the routine, or of one that ran on the coroutine later. */
static void on_hook(lua_State *L, lua_Debug *ar)
{
  const weft_routine *self = weft_self();
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  if (!self || weft_routine_body(self) != routine_body) return;
  realm *R = weft_routine_arg(self);
  overrun *note =
      find(&R->overruns, weft_routine_handle(R->world, self), weft_routine_resumes(self));
  if (!note || !note->wants) return;
  int wants = note->wants;
  note->wants = note->tries = 0;
  if (!note->where[0] || (wants & WANTS_END)) find_line(L, note->where, sizeof note->where);
  if (wants & WANTS_END) end_routine(L, R, note);
}

bool overruns_hooks_in_use(lua_State *L)
{
  return compat_hooks_in_use(L) && lua_gethook(L) != on_hook;
}

/* In a signal handler. */
void overruns_seen(void *host, weft_routine *self, bool over)
{
  realm *R = host;
  if (weft_routine_body(self) != routine_body) return;
  const record *rec = weft_routine_record(self);
  if (!rec->thread) return;
  overrun *note = find_or_make(R, self);
  if (!over && note->where[0]) return;
  note->wants |= over ? WANTS_END : WANTS_LINE;
  compat_interrupt(rec->thread, note->tries++, over, on_hook);
}

/* --- Telling ------------------------------------------------------------------------------- */

typedef struct telling {
  realm *realm;
  weft_handle id;
  int64_t ns;
} telling;

/* -> its handle; nil if it has ended, and nobody holds one */
static void push_handle(lua_State *L, const telling *t, uint32_t slot)
{
  realm *R = t->realm;
  const weft_routine *routine = weft_routine_find(R->world, t->id);
  if (routine) {
    handle_of(L, R, routine);
    return;
  }
  const handle *known = slot > 0 ? handle_peek(R, slot - 1) : NULL;
  if (known) lua_xmove(R->store, L, 1);
  if (known && known->id == t->id) return;
  if (known) lua_pop(L, 1);
  lua_pushnil(L);
}

/* -> "file:line", else where it stands now, or nil */
static void push_where(lua_State *L, const telling *t, const char *where)
{
  const weft_routine *routine = weft_routine_find(t->realm->world, t->id);
  if (where[0])
    lua_pushstring(L, where);
  else if (routine)
    inspect_push_where(L, t->realm, weft_routine_record(routine));
  else
    lua_pushnil(L);
}

/* handle, ms, where -> ; as a world without onSlow tells */
static void print(lua_State *L)
{
  const char *who = lua_isnil(L, 1) ? "a routine" : handle_push_title(L, 1);
  const char *where = lua_tostring(L, 3);
  fprintf(stderr, "weft: %s ran for %.0f ms in one go%s%s\n", who, lua_tonumber(L, 2),
          where ? ", at " : "", where ? where : "");
}

static int tell(lua_State *L, void *context)
{
  const telling *t = context;
  realm *R = t->realm;
  overrun note = {.id = 0};
  for (int i = 0; i < OVERRUNS_KEPT; i++) {
    if (R->overruns.notes[i].id != t->id) continue;
    note = R->overruns.notes[i];
    R->overruns.notes[i].id = 0;
    break;
  }
  push_handle(L, t, note.slot);
  lua_pushnumber(L, (lua_Number)t->ns / 1e6);
  push_where(L, t, note.where);
  lua_pushvalue(R->store, STORE_ON_SLOW);
  lua_xmove(R->store, L, 1);
  if (lua_isnil(L, -1)) {
    print(L);
    return 0;
  }
  lua_insert(L, 1);
  systems_call(L, R, 3);
  return 0;
}

void overruns_tell(void *host, weft_handle id, int64_t ns)
{
  realm *R = host;
  lua_State *L = R->ticking;
  telling t = {R, id, ns};
  if (lua_gethook(L) == on_hook) lua_sethook(L, NULL, 0, 0); /* compiled code never ran it */
  if (binding_protect_on(L, R, tell, &t, 0, 0) != LUA_OK) report_failure(R, L);
}
