/* SPDX-License-Identifier: MIT */
/*
** save_jobs_lua54_spec.c - saves, jobs and a world at once, under the tools that watch threads:
** nothing that two of them touch is left unguarded, nothing is left behind when the state closes.
*/
#define _GNU_SOURCE
#include "support/saves.h"

#include "lua_state.h"
#include "support/random.h"

static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  prepare_state(L);
  lua_pushinteger(L, unit_scaled(30));
  lua_setglobal(L, "rounds");
  lua_pushstring(L, saves_path);
  lua_setglobal(L, "path");
  return L;
}

static const char prelude[] = "weft, jobs = require 'weft', require 'weft.jobs'\n"
                              "routine, save = weft.routine, weft.save\n"
                              "jobs.configure{ workers = 2, background = 2 }\n";

static void run_whole(const char *source)
{
  lua_State *L = open_state();
  must_run(L, prelude);
  must_run(L, source);
  lua_close(L);
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

/* A buffer that jobs write in one tick and a save copies in the next, over and over. */
static void saves_go_on_beside_jobs_and_a_world(void **state)
{
  (void)state;
  run_whole("local world, saved, list = weft.world(), 0, {}\n"
            "local b, cols = weft.buffer('i32', 30000), weft.columns{ x = 'f32' }\n"
            "for i = 1, 500 do cols:add{ x = i } end\n"
            "local function add(buf, n) for i = 1, #buf do buf[i] = buf[i] + n end end\n"
            "local function shift(first, last, c)\n"
            "  for i = first, last do c.x[i] = c.x[i] + 1 end\n"
            "end\n"
            "local function round(i)\n"
            "  local job, other = jobs.run(add, b, 1), cols:forEachParallel(shift)\n"
            "  routine.await(job) routine.await(other)\n"
            "  list[i] = save.write(path, { i = i, b = b, cols = cols, t = { { 'x' } } },\n"
            "    { priority = i % 3 == 0 and 'normal' or nil })\n"
            "end\n"
            "world:start(function() for i = 1, rounds do round(i) end saved = true end)\n"
            "while saved ~= true do world:tick(0.001) end\n"
            "for i = 1, rounds do assert(list[i]:wait()) assert(list[i]:result()) end\n"
            "local s = assert(save.read(path))\n"
            "assert(s.i == rounds and s.b[1] == rounds and s.b[30000] == rounds)\n"
            "world:close()");
}

static void reads_go_on_beside_saves(void **state)
{
  (void)state;
  run_whole("local b = weft.buffer('f64', 400000)\n"
            "assert(save.write(path, { n = 0, b = b }):wait())\n"
            "for i = 1, rounds do\n"
            "  b:fill(i)\n"
            "  local job = save.write(path, { n = i, b = b })\n"
            "  local s, info = assert(save.read(path))\n"
            "  assert(not info.kept and s.b[1] == s.n and s.b[400000] == s.n)\n"
            "  assert(s.n == i or s.n == i - 1)\n"
            "  assert(job:wait())\n"
            "end");
}

static void a_state_that_closes_finishes_its_saves(void **state)
{
  (void)state;
  run_whole("local b = weft.buffer('u16', 300000):fill(7)\n"
            "jobs.schedule({ priority = 'background', fn = function(p)\n"
            "  for i = 1, 1000 do io.open(p) end end }, path)\n"
            "for i = 1, 5 do save.write(path, { n = i, b = b }) end");
  run_whole("local s = assert(save.read(path)) assert(s.n == 5 and s.b[300000] == 7)");
}

/* A save whose bytes are right and mean nothing. */
static void write_nonsense(void)
{
  weft_save *save;
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  assert_int_equal(weft_save_section(save, "a", 1), WEFT_OK);
  assert_int_equal(weft_save_put(save, "\xFF", 1), WEFT_OK);
  assert_int_equal(weft_save_write(save, NULL, NULL, NULL), WEFT_OK);
  weft_counted_drop(save);
}

static void what_means_nothing_is_read_from_the_kept_file_and_no_other(void **state)
{
  (void)state;
  run_whole("assert(save.write(path, { n = 1 }):wait())");
  write_nonsense();
  run_whole("local s, info = assert(save.read(path))\n"
            "assert(s.n == 1 and info.kept and info.file == path .. '.kept')\n"
            "assert(info.why:find(path .. ' is damaged', 1, true))\n"
            /* The kept file becomes a path of its own, with a kept one, and goes. */
            "assert(save.write(path .. '.kept', { n = 2 }):wait())\n"
            "assert(os.remove(path .. '.kept'))\n"
            "assert(io.open(path .. '.kept.kept')):close()\n"
            "local none, reason, text = save.read(path)\n"
            "assert(none == nil and reason == 'damaged' and text:find(path, 1, true))\n"
            "assert(save.read(path .. '.kept').n == 1)\n"
            "assert(os.remove(path .. '.kept.kept'))");
}

static int make_folder(void **state)
{
  (void)state;
  return make_saves_folder();
}

static int drop_folder(void **state)
{
  (void)state;
  return drop_saves_folder();
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
  const struct CMUnitTest specs[] = {
      SPEC(saves_go_on_beside_jobs_and_a_world),
      SPEC(reads_go_on_beside_saves),
      SPEC(a_state_that_closes_finishes_its_saves),
      SPEC(what_means_nothing_is_read_from_the_kept_file_and_no_other),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
