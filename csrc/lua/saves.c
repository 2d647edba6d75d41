/* SPDX-License-Identifier: MIT */
/*
** saves.c - weft.save: what a script calls, and the job that a save is.
**
** A save is copied where it is asked for; then it is a job in C, which any thread may run: also the
** one that waits for it, and at the end of the Lua state the one that ends it.
*/
#include <stdio.h>
#include <string.h>

#include "lua/jobs.h"
#include "lua/saves.h"

/* One save on its way: a counted object, which its work holds. */
typedef struct writing {
  weft_save *save;
  weft_save_options options;
  weft_save_report report;
  int64_t begun;
  double pause_ms, total_ms;
  char *path;
  char wrong[sizeof((weft_save_report *)0)->text + 32];
} writing;

/* Their addresses are keys: of names by metatable, weakly; of metatables by name; of the metatable
   of columns, and the functions that take them apart and make them. */
static const char names_key, metas_key, columns_key, parts_key, assemble_key;

/* And that of the metatable of droppers. */
static const char dropper_key;

/* --- Metatables ---------------------------------------------------------------------------- */

static void push_kept(lua_State *L, const char *key)
{
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* value -> */
static void keep(lua_State *L, const char *key)
{
  lua_pushlightuserdata(L, (void *)key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

void saves_push_name(lua_State *L, int meta)
{
  push_kept(L, &names_key);
  lua_pushvalue(L, meta);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

void saves_push_meta(lua_State *L, const char *name, size_t length)
{
  push_kept(L, &metas_key);
  lua_pushlstring(L, name, length);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

const void *saves_columns(lua_State *L)
{
  push_kept(L, &columns_key);
  const void *meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  return meta;
}

void saves_push_parts(lua_State *L)
{
  push_kept(L, &parts_key);
}

void saves_push_assemble(lua_State *L)
{
  push_kept(L, &assemble_key);
}

/* name, metatable -> metatable */
static int api_metatable(lua_State *L)
{
  static const char who[] = "save.metatable";
  if (lua_type(L, 1) != LUA_TSTRING || lua_tostring(L, 1)[0] == '\0')
    return binding_misuse(L, "%s: a name expected, got %s", who, binding_got(L, 1));
  if (!lua_istable(L, 2))
    return binding_misuse(L, "%s: a metatable expected, got %s", who, binding_got(L, 2));
  lua_settop(L, 2);
  push_kept(L, &names_key);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_rawset(L, 3);
  push_kept(L, &metas_key);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_rawset(L, 4);
  lua_settop(L, 2);
  return 1;
}

/* metatable of columns, function that takes them apart, function that makes them -> */
static int register_columns(lua_State *L)
{
  lua_settop(L, 3);
  keep(L, &assemble_key);
  keep(L, &parts_key);
  keep(L, &columns_key);
  return 0;
}

/* --- Writing ------------------------------------------------------------------------------- */

static void writing_end(void *object)
{
  writing *w = object;
  weft_counted_drop(w->save);
  weft_counted_drop(w->path);
}

static weft_status run_writing(void *data)
{
  work *w = *(work **)data;
  writing *mine = w->load;
  weft_status status =
      weft_save_write(mine->save, w->crew->pool, &mine->options, &mine->report);
  weft_counted_drop(mine->save); /* what was copied is needed no more */
  mine->save = NULL;
  mine->total_ms = (double)(weft_clock() - mine->begun) / 1e6;
  if (status == WEFT_OK) return WEFT_OK;
  snprintf(mine->wrong, sizeof mine->wrong, "weft.save.write: %s", mine->report.text);
  w->wrong = mine->wrong;
  return WEFT_FAILED;
}

static void set_number(lua_State *L, const char *name, double value)
{
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool value)
{
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

/* Whole on 5.4, too. */
static void set_bytes(lua_State *L, const weft_save_report *report)
{
  lua_pushinteger(L, (lua_Integer)report->bytes);
  lua_setfield(L, -2, "bytes");
  lua_pushinteger(L, (lua_Integer)report->raw_bytes);
  lua_setfield(L, -2, "rawBytes");
}

/* -> what the await of a save gives */
static int push_result(lua_State *L, const void *load)
{
  const writing *mine = load;
  lua_createtable(L, 0, 8);
  lua_pushstring(L, mine->path);
  lua_setfield(L, -2, "path");
  set_bytes(L, &mine->report);
  set_number(L, "pauseMs", mine->pause_ms);
  set_number(L, "totalMs", mine->total_ms);
  set_flag(L, "kept", mine->report.kept);
  set_flag(L, "superseded", mine->report.superseded);
  return 1;
}

static const char *check_path(lua_State *L, const char *who)
{
  size_t length;
  if (lua_type(L, 1) != LUA_TSTRING)
    binding_misuse(L, "%s: path must be a string, got %s", who, binding_got(L, 1));
  const char *path = lua_tolstring(L, 1, &length);
  if (length == 0) binding_misuse(L, "%s: path must not be empty", who);
  if (strlen(path) != length)
    binding_misuse(L, "%s: path must not have a zero byte in it", who);
  return path;
}

static weft_job_priority check_priority(lua_State *L, const char *who)
{
  static const char *const names[] = {"normal", "critical", "background"};
  if (lua_isnil(L, -1)) return WEFT_PRIORITY_BACKGROUND;
  for (int i = 0; i < 3 && lua_type(L, -1) == LUA_TSTRING; i++)
    if (strcmp(lua_tostring(L, -1), names[i]) == 0) return (weft_job_priority)i;
  binding_misuse(L, "%s: priority must be \"background\", \"normal\" or \"critical\", got %s",
                 who,
                 lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : binding_got(L, -1));
  return WEFT_PRIORITY_BACKGROUND;
}

static bool check_compress(lua_State *L, const char *who)
{
  if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
    binding_misuse(L, "%s: compress must be true or false, got %s", who, binding_got(L, -1));
  return lua_isnil(L, -1) || lua_toboolean(L, -1);
}

static void check_options(lua_State *L, const char *who, weft_save_options *options)
{
  *options = (weft_save_options){.priority = WEFT_PRIORITY_BACKGROUND};
  if (lua_isnoneornil(L, 3)) return;
  if (!lua_istable(L, 3))
    binding_misuse(L, "%s: a table of options expected, got %s", who, binding_got(L, 3));
  lua_pushnil(L);
  while (lua_next(L, 3)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    if (strcmp(name, "compress") == 0)
      options->plain = !check_compress(L, who);
    else if (strcmp(name, "priority") == 0)
      options->priority = check_priority(L, who);
    else
      binding_misuse(L, "%s: there is no option '%s'; there are compress and priority", who,
                     name);
    lua_pop(L, 1);
  }
}

/* -> userdata that drops a counted object when an error leaves it behind */
static void **push_dropper(lua_State *L)
{
  void **slot = lua_newuserdata(L, sizeof *slot);
  *slot = NULL;
  push_kept(L, &dropper_key);
  lua_setmetatable(L, -2);
  return slot;
}

static int dropper_gc(lua_State *L)
{
  void **slot = lua_touserdata(L, 1);
  weft_counted_drop(*slot);
  *slot = NULL;
  return 0;
}

/* Its copy of the path, for the result. */
static writing *new_writing(lua_State *L, const char *path, const char *who)
{
  void **slot = push_dropper(L);
  writing *mine = *slot = weft_counted_new(sizeof *mine, writing_end);
  if (mine) mine->path = weft_counted_new(strlen(path) + 1, NULL);
  weft_status status = mine && mine->path ? weft_save_new(path, &mine->save) : WEFT_NOMEM;
  if (status) binding_failed(L, who, status);
  strcpy(mine->path, path);
  return mine;
}

/* path, sections, options -> job; or nil and "full" */
static int api_write(lua_State *L)
{
  static const char who[] = "weft.save.write";
  static const native_work native = {run_writing, push_result};
  weft_save_options options;
  int64_t begun = weft_clock();
  const char *path = check_path(L, who);
  if (!lua_istable(L, 2))
    return binding_misuse(L, "%s: a table of sections expected, got %s", who,
                          binding_got(L, 2));
  check_options(L, who, &options);
  if (binding_universe(L)->worker) return binding_misuse(L, "%s: not inside a job", who);
  lua_settop(L, 2);
  writing *mine = new_writing(L, path, who); /* 3: keeps it */
  mine->options = options;
  mine->begun = begun;
  if (!saves_write(L, mine->save, 2)) return binding_misuse(L, "%s", lua_tostring(L, -1));
  int64_t copied = weft_clock();
  mine->pause_ms = (double)(copied - begun) / 1e6;
  weft_trace_span("save: copy", begun, copied);
  return jobs_start_native(L, &native, mine, options.priority, who, "save");
}

void saves_fini(universe *U)
{
  for (work *w = U->works, *next; w; w = next) {
    next = w->after;
    if (w->kind == WORK_NATIVE && !w->taken) weft_job_wait(w->crew->pool, w->job, -1);
  }
}

/* --- Reading ------------------------------------------------------------------------------- */

static const char *reason_of(weft_status status)
{
  switch (status) {
  case WEFT_MISSING:
    return "missing";
  case WEFT_DAMAGED:
    return "damaged";
  case WEFT_NEWER:
    return "newer";
  case WEFT_OLDER:
    return "older";
  default:
    return "unreadable";
  }
}

/* -> nil, reason, text */
static int refuse(lua_State *L, weft_status status, const char *text)
{
  lua_pushnil(L);
  lua_pushstring(L, reason_of(status));
  lua_pushstring(L, text);
  return 3;
}

/* path, sections on top -> sections, info */
static int finish(lua_State *L, const char *path, const weft_save_report *report)
{
  lua_createtable(L, 0, 6);
  lua_pushfstring(L, report->kept ? "%s.kept" : "%s", path);
  lua_setfield(L, -2, "file");
  set_bytes(L, report);
  set_flag(L, "kept", report->kept);
  if (report->kept) {
    lua_pushstring(L, report->text);
    lua_setfield(L, -2, "why");
  }
  return 2;
}

/* A file read into C, that an error does not leave behind. */
typedef struct reading {
  weft_loaded *loaded;
} reading;

static void end_reading(void *object)
{
  weft_loaded_delete(((reading *)object)->loaded);
}

static weft_status load(lua_State *L, reading *r, const char *path, weft_save_report *report)
{
  weft_pool *pool = crew_of(L, binding_universe(L), "weft.save.read")->pool;
  weft_loaded_delete(r->loaded);
  r->loaded = NULL;
  weft_status status = weft_save_read(path, pool, &r->loaded, report);
  if (status != WEFT_NOMEM) return status;
  lua_gc(L, LUA_GCCOLLECT, 0);
  status = weft_save_read(path, pool, &r->loaded, report);
  if (status == WEFT_NOMEM) binding_misuse(L, "weft.save.read: %s", report->text);
  return status;
}

/* The bytes were those that were written, and mean nothing: the kept file may be better. What was kept
   of that one, as a save of its own, is no save of this path.
   text on top -> sections, info; or nil, reason, text */
static int read_kept(lua_State *L, reading *r, const char *path, weft_save_report *report)
{
  weft_save_report second;
  snprintf(report->text, sizeof report->text, "%s is damaged: %s", path, lua_tostring(L, -1));
  if (report->kept) return refuse(L, WEFT_DAMAGED, report->text);
  const char *kept = lua_pushfstring(L, "%s.kept", path);
  if (load(L, r, kept, &second) != WEFT_OK || second.kept)
    return refuse(L, WEFT_DAMAGED, report->text);
  enum saves_outcome outcome = saves_read(L, r->loaded);
  if (outcome == SAVES_FAILED)
    return binding_misuse(L, "weft.save.read: %s: %s", kept, lua_tostring(L, -1));
  if (outcome != SAVES_READ) return refuse(L, WEFT_DAMAGED, report->text);
  report->kept = true;
  report->bytes = second.bytes;
  report->raw_bytes = second.raw_bytes;
  return finish(L, path, report);
}

/* path -> sections, info; or nil, reason, text */
static int api_read(lua_State *L)
{
  static const char who[] = "weft.save.read";
  weft_save_report report;
  const char *path = check_path(L, who);
  if (binding_universe(L)->worker) return binding_misuse(L, "%s: not inside a job", who);
  lua_settop(L, 1);
  void **slot = push_dropper(L);
  reading *r = *slot = weft_counted_new(sizeof *r, end_reading);
  if (!r) return binding_failed(L, who, WEFT_NOMEM);
  weft_status status = load(L, r, path, &report);
  if (status) return refuse(L, status, report.text);
  enum saves_outcome outcome = saves_read(L, r->loaded);
  if (outcome == SAVES_FAILED)
    return binding_misuse(L, "%s: %s: %s", who, path, lua_tostring(L, -1));
  int count = outcome == SAVES_READ ? finish(L, path, &report) : read_kept(L, r, path, &report);
  weft_counted_drop(*slot);
  *slot = NULL;
  return count;
}

/* --- Opening ------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"write", api_write},
                                     {"read", api_read},
                                     {"metatable", api_metatable},
                                     {"registerColumns", register_columns},
                                     {NULL, NULL}};

/* Module table on top. */
void saves_open(lua_State *L)
{
  saves_write_open(L);
  saves_read_open(L);
  binding_push_weak(L, 0, "k");
  keep(L, &names_key);
  lua_newtable(L);
  keep(L, &metas_key);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, dropper_gc);
  lua_setfield(L, -2, "__gc");
  keep(L, &dropper_key);
  lua_createtable(L, 0, 4);
  binding_functions(L, functions);
  lua_setfield(L, -2, "saves");
}
