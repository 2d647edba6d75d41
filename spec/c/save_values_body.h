/* SPDX-License-Identifier: MIT */
/*
** save_values_body.h - Lua values in saves, at their limits: random values, bytes that somebody has
** changed, memory that is missing. The same specs for both machines: save_values_lua54_spec.c and
** save_values_luajit_spec.c are nothing but this.
**
** Lua calls `put(sections)` and `get()`; between them the bytes of sections may be changed. No pool
** is in use: all happens on this thread.
*/
#define _GNU_SOURCE
#include "support/saves.h"

#include "lua/saves.h"
#include "lua_memory.h"
#include "support/random.h"

static lua_State *state_here;

/* --- A state -------------------------------------------------------------------------------- */

/* What an error has left behind here. */
static weft_save *writing;
static weft_loaded *loading;

static void forget(void)
{
  weft_counted_drop(writing);
  weft_loaded_delete(loading);
  writing = NULL;
  loading = NULL;
}

/* sections -> */
static int api_put(lua_State *L)
{
  forget();
  if (weft_save_new(saves_path, &writing) != WEFT_OK) return luaL_error(L, "not enough memory");
  if (!saves_write(L, writing, 1)) return lua_error(L);
  if (weft_save_write(writing, NULL, NULL, &report)) return luaL_error(L, "%s", report.text);
  forget();
  return 0;
}

/* -> sections; or nil and whether they are damaged */
static int api_get(lua_State *L)
{
  forget();
  if (weft_save_read(saves_path, NULL, &loading, &report))
    return luaL_error(L, "%s", report.text);
  enum saves_outcome outcome = saves_read(L, loading);
  forget();
  if (outcome == SAVES_FAILED) return lua_error(L);
  if (outcome == SAVES_READ) return 1;
  lua_pushnil(L);
  lua_pushboolean(L, 1);
  return 2;
}

static const luaL_Reg functions[] = {{"put", api_put}, {"get", api_get}, {NULL, NULL}};

static const char prelude[] = "weft, save = require 'weft', require 'weft.save'\n"
                              "values = require 'save_values'\n";

static int open_state(void **state)
{
  (void)state;
  lua_State *L = state_here = lua_newstate(lua_memory, NULL);
  if (!L || make_saves_folder() != 0) return -1;
  prepare_state(L);
  /* LuaJIT does not survive that code which it has compiled gets no memory: all is interpreted
     here. */
  must_run(state_here, "if jit then jit.off() end");
  must_run(state_here, prelude);
  compat_push_globals(L);
  binding_functions(L, functions);
  lua_settop(L, 0);
  return 0;
}

static int close_state(void **state)
{
  (void)state;
  lua_close(state_here);
  forget();
  return weft_buffer_all_bytes() == 0 ? drop_saves_folder() : -1;
}

/* --- Random values -------------------------------------------------------------------------- */

static const char *random_values_come_back(uint64_t seed)
{
  must_run_with(state_here, "put(values.make(...))", seed);
  must_run_with(state_here, "values.check(..., get())", seed);
  return NULL;
}

static void all_that_may_be_saved_comes_back(void **state)
{
  (void)state;
  unit_for_seeds(600, random_values_come_back);
}

/* --- Changed bytes -------------------------------------------------------------------------- */

/* What was in the file, so that it can be written anew with other bytes. */
static weft_loaded *load_seed(uint64_t seed)
{
  weft_loaded *loaded;
  must_run_with(state_here, "put(values.make(...))", seed);
  assert_int_equal(weft_save_read(saves_path, NULL, &loaded, &report), WEFT_OK);
  return loaded;
}

static void change(uint8_t *bytes, size_t size, unit_random *random)
{
  for (uint32_t changes = 1 + unit_random_below(random, 3); size && changes > 0; changes--) {
    size_t at = unit_random_below(random, (uint32_t)size);
    if (unit_random_chance(random, 30))
      bytes[at] = (uint8_t)unit_random_below(random, 16); /* a tag */
    else if (unit_random_chance(random, 30) && size - at >= 4)
      memset(bytes + at, unit_random_chance(random, 50) ? 255 : 127, 4);
    else
      bytes[at] ^= (uint8_t)(1u << unit_random_below(random, 8));
  }
}

static size_t add_changed_section(weft_save *save, const weft_loaded *loaded, uint32_t i,
                                  unit_random *random)
{
  size_t size, length;
  const void *data = weft_loaded_data(loaded, i, &size);
  const char *name = weft_loaded_name(loaded, i, &length);
  assert_int_equal(weft_save_section(save, name, length), WEFT_OK);
  uint8_t *bytes = malloc(size + 1);
  if (size) memcpy(bytes, data, size);
  size_t kept =
      unit_random_chance(random, 20) ? unit_random_below(random, (uint32_t)size + 1) : size;
  change(bytes, kept, random);
  assert_int_equal(weft_save_put(save, bytes, kept), WEFT_OK);
  free(bytes);
  return kept;
}

static size_t write_changed(const weft_loaded *loaded, unit_random *random)
{
  weft_save *save;
  size_t bytes = 0;
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  for (uint32_t i = 0; i < weft_loaded_sections(loaded); i++)
    bytes += add_changed_section(save, loaded, i, random);
  for (uint32_t i = 0; i < weft_loaded_arrays(loaded); i++) {
    uint64_t first;
    const weft_buffer *b = weft_loaded_array(loaded, i, &first);
    add_array(save, weft_buffer_type(b), weft_buffer_data(b), weft_buffer_count(b), first);
    bytes += weft_buffer_count(b) * weft_type_bytes(weft_buffer_type(b));
  }
  assert_int_equal(weft_save_write(save, NULL, NULL, &report), WEFT_OK);
  weft_counted_drop(save);
  return bytes;
}

/* What Lua may need for each byte that stands for something: an entry of a table, and as much again
   while tables grow. */
#define BYTES_PER_BYTE 200
#define BYTES_ANYHOW 200000

static const char *changed_bytes_do_no_harm(uint64_t seed)
{
  unit_random random = {seed};
  weft_loaded *loaded = load_seed(1 + seed % 40);
  const char *wrong = NULL;
  for (int i = 0; i < 20 && !wrong; i++) {
    size_t bytes = write_changed(loaded, &random);
    must_run(state_here, "collectgarbage()");
    size_t before = fault.most = fault.bytes;
    (void)luaL_dostring(state_here, "get()");
    lua_settop(state_here, 0);
    if (fault.most - before > bytes * BYTES_PER_BYTE + BYTES_ANYHOW)
      wrong = "it took too much memory";
  }
  weft_loaded_delete(loaded);
  return wrong;
}

static void changed_bytes_are_no_danger(void **state)
{
  (void)state;
  unit_for_seeds(100, changed_bytes_do_no_harm);
}

/* Sections whose bytes are given; whether they are refused as damaged. */
static bool refused(const void *bytes, size_t size)
{
  weft_save *save;
  assert_int_equal(weft_save_new(saves_path, &save), WEFT_OK);
  weft_save_section(save, "a", 1);
  weft_save_put(save, bytes, size);
  add_array(save, WEFT_U32, (const uint32_t[]){1, 1, 5}, 3, 10);
  add_array(save, WEFT_U32, NULL, 0, 0);
  assert_int_equal(weft_save_write(save, NULL, NULL, &report), WEFT_OK);
  weft_counted_drop(save);
  lua_State *L = state_here;
  if (luaL_dostring(L, "return select(2, get())")) fail_msg("%s", lua_tostring(L, -1));
  bool damaged = lua_toboolean(L, -1);
  lua_settop(L, 0);
  return damaged;
}

#define REFUSED(...)                                                                           \
  assert_true(refused((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}))
#define READ(...)                                                                              \
  assert_false(refused((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}))

static void bytes_that_mean_nothing_are_refused(void **state)
{
  (void)state;
  assert_true(refused("", 0));
  READ(1);
  REFUSED(0);    /* a nil */
  REFUSED(1, 1); /* something behind it */
  REFUSED(14);   /* no tag */
  REFUSED(3, 128);
  READ(3, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1);
  REFUSED(3, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1);
  REFUSED(4, 0, 0, 0);
  REFUSED(5, 2, 'a');
  REFUSED(6, 0); /* no such string */
  REFUSED(8, 0); /* no such object */
  READ(7, 0, 0, 0, 0, 0, 0, 0, 0);
  REFUSED(7, 1, 0, 0, 0, 0, 0, 0, 0);
  REFUSED(7, 255, 255, 255, 127, 0, 0, 0, 0);
  REFUSED(7, 0, 0, 0, 0, 255, 255, 255, 255);
  READ(7, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1);
  REFUSED(7, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F, 1); /* NaN for a key */
  REFUSED(9, 1, 0, 0, 0, 0, 0, 0, 0, 0);                                  /* no name */
}

static void buffers_that_are_not_there_are_refused(void **state)
{
  (void)state;
  READ(12, 0, 10, 3, 0);
  READ(12, 0, 12, 1, 1);
  READ(12, 0, 99, 0, 0);
  REFUSED(12, 2, 0, 0, 0);
  REFUSED(12, 0, 9, 1, 0);
  REFUSED(12, 0, 10, 4, 0);
  REFUSED(12, 0, 13, 1, 0);
  REFUSED(12, 0, 10, 3, 2);
  REFUSED(12, 0, 10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0);
}

static void columns_that_cannot_be_are_refused(void **state)
{
  (void)state;
  READ(13, 0, 1, 5, 1, 'x', 0, 10, 1, 1, 1);
  REFUSED(13, 0, 0, 1, 1, 1);
  REFUSED(13, 3, 1, 5, 1, 'x', 0, 10, 0, 0, 1); /* two rows with one slot */
  REFUSED(13, 1, 1, 5, 1, 'x', 0, 10, 1, 1, 1); /* a row without a slot */
  REFUSED(13, 0, 1, 5, 1, 'x', 0, 10, 1, 1, 0); /* free slots that never were */
  REFUSED(13, 0, 1, 5, 1, 'x', 2, 10, 1, 1, 1);
}

/* --- Missing memory ------------------------------------------------------------------------- */

static void missing_memory_is_told_and_costs_nothing(void **state)
{
  failing_install();
  assert_int_equal(open_state(state), 0);
  must_run(
      state_here,
      "local Meta = save.metatable('spec.Some', {})\n"
      "local b, cols = weft.buffer('u8', 10), weft.columns{ x = 'f32' }\n"
      "local t = { b, ('x'):rep(6000), { { {} } }, b:slice(2), cols, setmetatable({}, Meta) }\n"
      "for i = 1, 100 do t['key ' .. i] = { i } cols:add{ x = i } end\n"
      "function go() put{ a = t, b = t } end\n"
      "function back() return assert(get()) end");
  for (int core = 0; core < 2; core++) {
    try_without_memory(state_here, "go()", core);
    try_without_memory(state_here, "back()", core);
    must_run(state_here, "local t = back().b assert(#t[1] == 10 and t['key 100'][1] == 100)");
    must_run(state_here, "assert(collectgarbage 'isrunning' ~= false)");
  }
  assert_int_equal(close_state(state), 0);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, open_state, close_state)
  const struct CMUnitTest specs[] = {
      SPEC(all_that_may_be_saved_comes_back),
      SPEC(changed_bytes_are_no_danger),
      SPEC(bytes_that_mean_nothing_are_refused),
      SPEC(buffers_that_are_not_there_are_refused),
      SPEC(columns_that_cannot_be_are_refused),
      cmocka_unit_test(missing_memory_is_told_and_costs_nothing),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
