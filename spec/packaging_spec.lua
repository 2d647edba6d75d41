-- SPDX-License-Identifier: MIT
-- What `make install`, pkg-config and LuaRocks put on a machine works there, from any folder, and
-- goes away again. All of it happens below a temporary folder.

local support = require "support"

local vm = support.vm
local abi = vm == "luajit" and "5.1" or "5.4"

-- The specs' own paths would let everything be found that was not installed.
local CLEAN = "env -u LUA_PATH -u LUA_CPATH "

local folder

-- Runs a command that has to succeed, `@` in it standing for the folder; returns its output.
local function must(command)
  local status, text = support.shell((command:gsub("@", folder)))
  assert(status == 0, command .. "\n" .. text)
  return text
end

local function makeFolder()
  local _, text = support.shell "mktemp -d"
  folder = text:match "%S+"
end

local function removeFolder()
  must "rm -r @"
end

local function install(prefix)
  return must("make --no-print-directory install DESTDIR=@ PREFIX=" .. prefix)
end

local function uninstall(prefix)
  return must("make --no-print-directory uninstall DESTDIR=@ PREFIX=" .. prefix)
end

local function writeScript()
  must [[cat >@/script.lua <<'END'
local routine = require "weft.routine"
local name = ...
routine.start(function() routine.wait(1) print(name .. " woke") end)
END]]
end

describe("what make install puts below /usr/local", function()
  setup(function()
    makeFolder()
    install "/usr/local"
    writeScript()
  end)
  teardown(removeFolder)

  it("is found by a Lua that looks where it always looks", function()
    local paths = must(CLEAN .. vm .. [[ -e 'print(package.path) print(package.cpath)']])
    paths = paths:gsub("/usr/local/", folder .. "/usr/local/")
    local path, cpath = paths:match "^(.-)\n(.-)\n"
    assert.equal("function\n", must(("cd / && LUA_PATH='%s' LUA_CPATH='%s' %s -e '%s'"):format(
      path, cpath, vm, [[print(type(require "weft".world))]])))
  end)

  it("has a command that runs scripts from any folder", function()
    assert.equal("Ann woke\n", must("cd @ && " .. CLEAN .. "usr/local/bin/weft --vm " .. vm
      .. " run --speed max script.lua -- Ann"))
  end)

  it("has a command that a link finds, and that takes its modules along when moved", function()
    must "ln -s usr/local/bin/weft @/link && mv @/usr/local @/usr/moved"
    must "mkdir @/bin && ln -s ../usr/moved/bin/weft @/bin/weft"
    local text = must("cd / && " .. CLEAN .. "@/bin/weft --vm " .. vm .. " version")
    must "mv @/usr/moved @/usr/local"
    assert.equal(text, must("cd / && " .. CLEAN .. "@/link --vm " .. vm .. " version"))
    assert.matches("^weft %d+%.%d+%.%d+ %(Lua", text)
  end)

  it("says where it looked when the module for a Lua is not there", function()
    local core = ("@/usr/local/lib/lua/%s/weft/core.so"):format(abi)
    must("mv " .. core .. " @/core.so")
    local status, text = support.shell(folder .. "/usr/local/bin/weft --vm " .. vm .. " version")
    must("mv @/core.so " .. core)
    assert.equal(1, status)
    assert.equal(("weft: the module for %s is not installed (%s)\n"):format(vm,
      (core:gsub("@", folder))), text)
  end)

  -- Compiles an example against what is installed; returns what it prints, run in the folder.
  local function compiled(source, package, before)
    must("export PKG_CONFIG_PATH=@/usr/local/lib/pkgconfig; "
      .. ("cc %s $(pkg-config --cflags --libs %s) -o @/program"):format(source, package))
    return must("cd @ && timeout 60 env " .. (before or "") .. " ./program")
  end

  it("lets pkg-config build a host without Lua", function()
    assert.equal(must "build/release/examples/07-host", compiled("examples/07-host.c", "weft"))
  end)

  it("lets pkg-config build a host that opens the module from the library", function()
    local modules = ("@/usr/local/share/lua/%s/"):format(abi)
    assert.equal(must("build/release/examples/08-embed-" .. vm), compiled("examples/08-embed.c",
      "weft-" .. vm, ("-u LUA_CPATH LUA_PATH='%s?.lua;%s?/init.lua'"):format(modules, modules)))
  end)

  it("tells pkg-config the version of the header, and where the module's Lua part is", function()
    local pc = "PKG_CONFIG_PATH=@/usr/local/lib/pkgconfig pkg-config "
    local version = must(pc .. "--modversion weft")
    assert.equal(must(CLEAN .. "@/usr/local/bin/weft version"):match "%d%S*", version:match "%S+")
    assert.equal(version, must(pc .. "--modversion weft-" .. vm))
    must("test -e $(" .. pc .. "--variable=luadir weft-" .. vm .. ")/weft/init.lua")
  end)

  it("has archives that another compiler can read", function()
    local sections = must "objdump -h @/usr/local/lib/*.a"
    assert.is_not_nil(sections:find("world.o", 1, true))
    assert.is_nil(sections:find("gnu.lto", 1, true))
  end)
end)

describe("make uninstall", function()
  before_each(makeFolder)
  after_each(removeFolder)

  it("leaves nothing", function()
    install "/opt/weft"
    uninstall "/opt/weft"
    assert.equal("", must "find @ -mindepth 1")
  end)

  it("leaves what is not weft's", function()
    local mine = { "bin/mine", "lib/mine.a", "lib/pkgconfig/mine.pc",
      "share/lua/5.1/weft/mine.lua", "share/lua/5.4/mine.lua" }
    install "/usr"
    for _, path in ipairs(mine) do must("touch @/usr/" .. path) end
    uninstall "/usr"
    assert.equal(table.concat(mine, "\n") .. "\n",
      must "cd @/usr && find * -type f | LC_ALL=C sort")
  end)

  it("is harmless where nothing is installed", function()
    uninstall "/opt/weft"
    assert.equal("", must "find @ -mindepth 1")
  end)
end)

describe("the rock", function()
  -- Debian's LuaRocks knows where Lua's headers are, but not those of LuaJIT.
  local headers = vm == "luajit" and " LUA_INCDIR=$(pkg-config --variable=includedir luajit)" or ""
  local luarocks = CLEAN .. ("HOME=@ luarocks --lua-version %s --tree=@/tree "):format(abi)

  setup(function()
    makeFolder()
    must(luarocks .. "make CFLAGS='-O0 -fno-lto'" .. headers) -- the optimiser takes long
    writeScript()
  end)
  teardown(removeFolder)

  it("is found on the paths that LuaRocks names", function()
    assert.equal("function\n", must(([[paths=$(%spath) && eval "$paths" && cd / &&
      %s -e 'print(type(require "weft".world))']]):format(luarocks, vm)))
  end)

  it("has the command, which finds the module beside it", function()
    assert.equal("Ann woke\n", must("cd @ && " .. CLEAN .. "tree/bin/weft --vm " .. vm
      .. " run --speed max script.lua -- Ann"))
  end)

  it("is removed with all that it brought", function()
    must(luarocks .. "remove weft")
    assert.equal("", must "find @/tree -name '*weft*'")
  end)
end)
