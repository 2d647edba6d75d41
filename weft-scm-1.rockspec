-- SPDX-License-Identifier: MIT
-- The rock, for the Lua that LuaRocks builds for. `luarocks make` in this folder makes it;
-- the sources are those beside it, fetched from nowhere.
rockspec_format = "3.0"
package = "weft"
version = "scm-1"
source = { url = "." }
description = {
  summary = "Gameplay routines that may wait anywhere",
  detailed = "Straight-line scripts that wait in the middle, also under C functions: in a "
    .. "comparator, a metamethod, an iterator. One source for Lua 5.4 and LuaJIT 2.1, on Linux.",
  license = "MIT",
}
supported_platforms = { "linux" }
-- 5.1 stands for LuaJIT, whose headers LUA_INCDIR names.
dependencies = { "lua >= 5.1, ~= 5.2, ~= 5.3, < 5.5" }
build = {
  type = "make",
  build_target = "rock",
  build_variables = { CFLAGS = "$(CFLAGS)", LUA_INCDIR = "$(LUA_INCDIR)" },
  install_target = "install-rock",
  install_variables = {
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)", LIBDIR = "$(LIBDIR)", BINDIR = "$(BINDIR)",
  },
}
-- The command is a shell script that finds its modules by itself.
deploy = { wrap_bin_scripts = false }
