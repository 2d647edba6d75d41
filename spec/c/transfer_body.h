/* SPDX-License-Identifier: MIT */
/*
** transfer_body.h - values that cross from one Lua state to another. The same specs for both
** machines: transfer_lua54_spec.c and transfer_luajit_spec.c are nothing but this.
**
** Two states stand side by side. Lua in the first calls `send(...)`, Lua in the second `receive()`;
** between them the parcel may be cut, have bits turned, or lose its memory.
*/
#include "lua_memory.h"

#include "lua/transfer.h"
#include "support/random.h"

static lua_State *from, *to;
static parcel *sent;

/* --- Two states ----------------------------------------------------------------------------- */

static void forget(void)
{
  weft_counted_drop(sent);
  sent = NULL;
}

static int api_send(lua_State *L)
{
  forget();
  sent = transfer_write(L, 1, lua_gettop(L), TRANSFER_ARGUMENTS, false);
  return 0;
}

/* As a job does: the first is the function. */
static int api_send_job(lua_State *L)
{
  forget();
  sent = transfer_write(L, 1, lua_gettop(L), TRANSFER_ARGUMENTS, true);
  return 0;
}

static int api_send_results(lua_State *L)
{
  forget();
  sent = transfer_write(L, 1, lua_gettop(L), TRANSFER_RESULTS, false);
  return 0;
}

static int api_receive(lua_State *L)
{
  lua_settop(L, 0);
  return transfer_read(L, sent, &(transfer_side){.lent = true});
}

static const luaL_Reg functions[] = {{"send", api_send},
                                     {"sendJob", api_send_job},
                                     {"sendResults", api_send_results},
                                     {"receive", api_receive},
                                     {NULL, NULL}};

static const char prelude[] = "weft, routine = require 'weft', require 'weft.routine'\n"
                              "local core = require 'weft.core'\n"
                              "require 'weft.factories'\n"
                              "core.takeNames()\n"
                              "core.ownModule(weft, 'weft')\n"
                              "core.ownModule(routine, 'weft.routine')\n"
                              "values = require 'transfer_values'\n";

static lua_State *open_state(void)
{
  lua_State *L = lua_newstate(lua_memory, NULL);
  prepare_state(L);
  must_run(L, prelude);
  compat_push_globals(L);
  binding_functions(L, functions);
  lua_settop(L, 0);
  return L;
}

static int open_both(void **state)
{
  (void)state;
  from = open_state();
  to = open_state();
  return 0;
}

static int close_both(void **state)
{
  (void)state;
  forget();
  lua_close(from);
  lua_close(to);
  assert_int_equal(weft_buffer_all_bytes(), 0);
  return 0;
}

/* What `source` raises in the first state. */
static const char *error_of(const char *source)
{
  if (!luaL_dostring(from, source)) fail_msg("'%s' did not raise", source);
  return lua_tostring(from, -1);
}

static void assert_raises(const char *source, const char *text)
{
  const char *error = lua_pushfstring(from, "%s$", error_of(source));
  if (!strstr(error, text)) fail_msg("%s\nand not: %s", error, text);
  lua_settop(from, 0);
}

/* --- What arrives --------------------------------------------------------------------------- */

static void what_crosses_arrives_as_it_was(void **state)
{
  (void)state;
  must_run(from, "send()");
  must_run(to, "assert(select('#', receive()) == 0)");
  must_run(from, "send(nil, 1, nil)");
  must_run(to, "assert(select('#', receive()) == 3 and select(2, receive()) == 1)");
  must_run(from,
           "local t = { 1, 2, nil, 4, x = { 'y' } }; t.me = t; t[t] = t; send(t, t.x, t)");
  must_run(to, "local t, x, u = receive()\n"
               "assert(t == u and t.me == t and t[t] == t and t.x == x and x[1] == 'y')\n"
               "assert(t[1] == 1 and t[2] == 2 and t[3] == nil and t[4] == 4)");
}

static void functions_bring_copies_of_what_they_capture(void **state)
{
  (void)state;
  must_run(from, "local n, t = 1, { 5 }\n"
                 "local function up() n = n + 1; return n end\n"
                 "local function get() return n, t end\n"
                 "local function rec(i) return i == 0 and 0 or 1 + rec(i - 1) end\n"
                 "send(up, get, t, rec)\n"
                 "up()");
  must_run(to, "local up, get, t, rec = receive()\n"
               "local n, u = get()\n"
               "assert(n == 1 and u == t and up() == 2 and get() == 2 and rec(7) == 7)");
}

static void functions_find_the_globals_of_where_they_arrive(void **state)
{
  (void)state;
  must_run(from, "where = 'here'\n"
                 "send(function() return where, _G.where, string.format('%d', 3) end, _G)");
  must_run(to, "where = 'there'\n"
               "local f, g = receive()\n"
               "local a, b, c = f()\n"
               "assert(a == 'there' and b == 'there' and c == '3' and g == _G)");
  must_run(from, "local own = { where = 'own' }\n"
                 "local f = setfenv and setfenv(function() return where end, own)\n"
                 "  or load('return where', '=x', 't', own)\n"
                 "send(f)");
  must_run(to, "assert(receive()() == 'there')");
}

static void what_every_state_has_crosses_as_itself(void **state)
{
  (void)state;
  must_run(from,
           "send(print, string.rep, math, { table.concat }, weft, routine, routine.wait,\n"
           "  weft.world, routine.Cancelled, coroutine.wrap, string)");
  must_run(to,
           "local p, rep, m, t, w, r, wait, world, c, wrap, s = receive()\n"
           "assert(p == print and rep == string.rep and m == math and t[1] == table.concat)\n"
           "assert(w == weft and r == routine and wait == routine.wait)\n"
           "assert(world == weft.world and c == routine.Cancelled)\n"
           "assert(wrap == coroutine.wrap and s == string)");
}

static void the_same_code_arrives_as_many_functions(void **state)
{
  (void)state;
  must_run(to, "all = {}");
  for (int i = 0; i < 5; i++) {
    must_run(from, "i = (i or 0) + 1\n"
                   "local mine = i\n"
                   "send(function(more) mine = mine + more return mine end)");
    must_run(to, "all[#all + 1] = receive()");
  }
  must_run(to, "for i, f in ipairs(all) do assert(f(10) == i + 10) end\n"
               "for i, f in ipairs(all) do assert(f(10) == i + 20) end");
}

static void buffers_are_the_same_memory(void **state)
{
  (void)state;
  must_run(from, "b = weft.buffer('f32', 6)\n"
                 "b[2] = 5\n"
                 "send(b, b, b:slice(2, 3), b:shared(), { b })");
  must_run(to, "local b, c, s, r, t = receive()\n"
               "assert(#b == 6 and b[2] == 5 and s[1] == 5 and #s == 2 and r[2] == 5)\n"
               "assert(not pcall(function() r[1] = 1 end))\n"
               "b[3] = 7\n"
               "assert(s[2] == 7 and t[1][3] == 7 and c == b and t[1] == b)\n"
               "kept = s");
  must_run(from, "assert(b[3] == 7); b = nil; collectgarbage(); collectgarbage()");
  forget();
  must_run(to, "collectgarbage(); collectgarbage(); assert(kept[2] == 7); kept = nil");
  must_run(to, "collectgarbage(); collectgarbage()");
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

static void long_lists_and_many_values_cross(void **state)
{
  (void)state;
  must_run(from,
           "local t = {}\n"
           "for i = 1, 20000 do t[i] = { i, tostring(i), f = function() return i end } end\n"
           "send(t)");
  must_run(to, "local t = receive()\n"
               "for i = 1, 20000 do\n"
               "  assert(t[i][1] == i and t[i][2] == tostring(i) and t[i].f() == i)\n"
               "end");
  must_run(from, "local t = {}\n"
                 "for i = 1, 200 do t[i] = i end\n"
                 "send((table.unpack or unpack)(t))");
  must_run(to, "assert(select('#', receive()) == 200 and select(200, receive()) == 200)");
}

/* --- What is refused ------------------------------------------------------------------------ */

static void what_cannot_cross_is_named(void **state)
{
  (void)state;
  assert_raises("send(1, { weapon = { mesh = coroutine.create(print) } })",
                ":1: weft.jobs: argument 2.weapon.mesh (thread) cannot go to a job$");
  assert_raises("send(io.stdout)", "weft.jobs: argument 1 (userdata) cannot go to a job");
  assert_raises("send(io.stdout)", "FILE*");
  assert_raises("send(1, setmetatable({}, {}))",
                "weft.jobs: argument 2 (table with a metatable) cannot go to a job");
  assert_raises("send{ { 1, 2, { ['a b'] = { setmetatable({}, {}) } } } }",
                "argument 1[1][3]['a b'][1] (table with a metatable) cannot go to a job");
  assert_raises("send{ [true] = io.stdout }", "argument 1[a boolean] (userdata)");
  assert_raises("send{ x = { [io.stdout] = 1 } }", "argument 1.x, a key (userdata)");
  assert_raises("send{ [2.5] = io.stdout }", "argument 1[2.5] (userdata)");
  assert_raises("send(coroutine.wrap(print))", "argument 1 (C function) cannot go to a job");
  assert_raises("sendResults(1, { f = io.stdout })",
                "weft.jobs: result 2.f (userdata) cannot come back from a job");
  assert_raises("send(weft.world{})",
                "argument 1 (userdata) cannot go to a job: it is a weft.World");
}

static void captured_locals_are_named(void **state)
{
  (void)state;
  assert_raises("local player = io.stdout\n"
                "sendJob(function() return player end)",
                ":2: weft.jobs: captured local 'player' (userdata) cannot go to a job");
  assert_raises("local player = io.stdout\n"
                "local function help() return player end\n"
                "sendJob(function() return help end)",
                "captured local 'help', captured local 'player' (userdata) cannot");
  assert_raises("local player = io.stdout\n"
                "local function help() return player end\n"
                "sendJob(function() return help end)",
                ", captured by the function at [string \"local player = io.stdout...\"]:2");
  assert_raises("local cfg = { file = io.stdout }\n"
                "sendJob(function() return cfg end)",
                "weft.jobs: captured local 'cfg'.file (userdata) cannot go to a job");
  assert_raises("local x = io.stdout\n"
                "sendJob(function() end, 5, { f = function() return x end })",
                "weft.jobs: argument 2.f, captured local 'x' (userdata) cannot go to a job");
  assert_raises("sendJob(coroutine.wrap(print))",
                "weft.jobs: the function (C function) cannot");
}

static void tables_may_be_nested_to_the_limit_and_no_deeper(void **state)
{
  (void)state;
  must_run(from,
           "function nest(n) local t = {} for _ = 2, n do t = { n = t } end return t end\n"
           "send(nest(100000))");
  must_run(to, "local t, d = receive(), 1\n"
               "while t.n do t, d = t.n, d + 1 end\n"
               "assert(d == 100000)");
  assert_raises("send(5, nest(100001))",
                "weft.jobs: argument 2 is nested too deep to cross: more than 100000 levels");
  assert_raises("local t = nest(100001) sendJob(function() return t end)", "nested too deep");
  assert_raises("local t = { n = io.stdout } for _ = 1, 50 do t = { n = t } end send(t)",
                "argument 1.n.n.n.n.n.n.n.n.(...).n.n.n.n.n.n.n.n.n (userdata)");
}

static void nothing_is_left_of_what_was_refused(void **state)
{
  (void)state;
  must_run(from, "local b = weft.buffer('u8', 10)\n"
                 "for _ = 1, 100 do\n"
                 "  pcall(send, b, { ('x'):rep(5000) }, io.stdout)\n"
                 "end");
  must_run(from, "collectgarbage(); collectgarbage()");
  assert_int_equal(weft_buffer_all_bytes(), 0);
}

/* --- Random values -------------------------------------------------------------------------- */

static const char send_seed[] = "local list = values.make(...)\n"
                                "send((table.unpack or unpack)(list, 1, list.n))";

static const char *random_values_cross(uint64_t seed)
{
  must_run_with(from, send_seed, seed);
  must_run_with(to, "values.check(..., receive())", seed);
  return NULL;
}

static void all_that_may_cross_arrives_unchanged(void **state)
{
  (void)state;
  unit_for_seeds(2000, random_values_cross);
}

/* --- Damage --------------------------------------------------------------------------------- */

/* A copy that borrows the references. */
static parcel *copy_of(const parcel *p, size_t size)
{
  parcel *copy = weft_counted_new(sizeof *copy + size, NULL);
  assert_non_null(copy);
  *copy = *p;
  copy->size = size;
  memcpy(copy->bytes, p->bytes, size < p->size ? size : p->size);
  return copy;
}

/* Reads what is sent in place of the whole; anything but a crash is right. True if it is refused. */
static bool refused(parcel *damaged)
{
  parcel *whole = sent;
  sent = damaged;
  bool raised = luaL_dostring(to, "receive()") != 0;
  lua_settop(to, 0);
  sent = whole;
  weft_counted_drop(damaged);
  return raised;
}

static const char *truncations_are_refused(uint64_t seed)
{
  must_run_with(from, send_seed, seed);
  size_t step = 1 + sent->size / 300;
  for (size_t size = 0; size < sent->size; size += step)
    if (!refused(copy_of(sent, size))) return "a parcel that was cut was read";
  if (!refused(copy_of(sent, sent->size + 1))) return "a parcel that is too long was read";
  return NULL;
}

static void every_truncation_is_refused(void **state)
{
  (void)state;
  unit_for_seeds(100, truncations_are_refused);
}

static const char *flips_do_no_harm(uint64_t seed)
{
  unit_random random = {seed};
  must_run_with(from, send_seed, seed);
  for (int i = 0; i < 100 && sent->size > 0; i++) {
    parcel *damaged = copy_of(sent, sent->size);
    for (uint32_t flips = 1 + unit_random_below(&random, 4); flips > 0; flips--)
      damaged->bytes[unit_random_below(&random, (uint32_t)sent->size)] ^=
          (uint8_t)(1u << unit_random_below(&random, 8));
    refused(damaged);
  }
  return NULL;
}

static void turned_bits_do_no_harm(void **state)
{
  (void)state;
  unit_for_seeds(200, flips_do_no_harm);
}

static const char *noise_does_no_harm(uint64_t seed)
{
  unit_random random = {seed};
  must_run_with(from, send_seed, 1 + seed % 50);
  for (int i = 0; i < 50; i++) {
    parcel *damaged = copy_of(sent, sent->size + 40);
    for (size_t at = 0; at < damaged->size; at++)
      damaged->bytes[at] = (uint8_t)unit_random_below(&random, i % 2 ? 256 : 18);
    refused(damaged);
  }
  return NULL;
}

static void noise_is_no_danger(void **state)
{
  (void)state;
  unit_for_seeds(100, noise_does_no_harm);
}

/* --- Memory --------------------------------------------------------------------------------- */

static void missing_memory_is_told_and_costs_nothing(void **state)
{
  (void)state;
  failing_install();
  open_both(NULL);
  /* LuaJIT does not survive that code which it has compiled gets no memory: all is interpreted here. */
  must_run(from, "if jit then jit.off() end");
  must_run(to, "if jit then jit.off() end");
  must_run(from, "local b = weft.buffer('u8', 10)\n"
                 "local t = { b, ('x'):rep(600), { { {} } }, b:slice(2) }\n"
                 "for i = 1, 40 do t[i + 4] = { function() return t, b end } end\n"
                 "function go() send(t, go, print) end");
  for (int core = 0; core < 2; core++) {
    try_without_memory(from, "go()", core);
    try_without_memory(to, "receive()", core);
    must_run(to, "local t = receive() assert(#t[1] == 10 and select(2, t[7][1]()) == t[1])");
  }
  close_both(NULL);
  assert_int_equal(failing_blocks(), 0);
  failing_remove();
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)
  const struct CMUnitTest specs[] = {
      SPEC(what_crosses_arrives_as_it_was),
      SPEC(functions_bring_copies_of_what_they_capture),
      SPEC(functions_find_the_globals_of_where_they_arrive),
      SPEC(what_every_state_has_crosses_as_itself),
      SPEC(the_same_code_arrives_as_many_functions),
      SPEC(buffers_are_the_same_memory),
      SPEC(long_lists_and_many_values_cross),
      SPEC(what_cannot_cross_is_named),
      SPEC(captured_locals_are_named),
      SPEC(tables_may_be_nested_to_the_limit_and_no_deeper),
      SPEC(nothing_is_left_of_what_was_refused),
      SPEC(all_that_may_cross_arrives_unchanged),
      SPEC(every_truncation_is_refused),
      SPEC(turned_bits_do_no_harm),
      SPEC(noise_is_no_danger),
      cmocka_unit_test(missing_memory_is_told_and_costs_nothing),
  };
  return cmocka_run_group_tests(specs, NULL, NULL);
}
