-- SPDX-License-Identifier: MIT
-- Lua 5.4 and LuaJIT read each other's saves. Each of them saves, the other one reads, saves what
-- it has read, and the first reads that: all the way there and back.

local support = require "support"
local saves = require "support.saves"
local save = require "weft.save"

local OTHER = support.vm == "luajit" and "lua5.4" or "luajit"

-- Runs source on the other machine, with the same modules.
local function onOther(source)
  local path = saves.path "program"
  saves.store(source, "program")
  local cpath = package.cpath:gsub(support.vm:gsub("%.", "%%."), (OTHER:gsub("%%", "%%%%")))
  local status, text = support.shell(("LUA_PATH='%s' LUA_CPATH='%s' LD_PRELOAD= %s %s"):format(
    package.path, cpath, OTHER, path))
  assert.equal("", text)
  assert.equal(0, status)
end

-- Machines that need another runtime around them are left alone.
local it = os.getenv "LD_PRELOAD" and pending or it

local SAVE = [[
  local weft = require "weft"
  local save = weft.save
  local buffer, cols = weft.buffer("i64", 3), weft.columns{ x = "f32", n = "u16" }
  buffer[1] = 2 ^ 40
  for i = 1, 100 do cols:add{ x = i / 2, n = i } end
  cols:remove(cols:add{ x = 1 })
  local shared = { "\0\255 bytes" }
  local list = { 1, -1, 127, 128, 2 ^ 31, -2 ^ 53, 0.5, -0.0, 1 / 0, -1 / 0, 5e-324, true, false }
  local t = { list = list, shared, shared, [-7] = "minus", [2.5] = "half", buffer = buffer,
    part = buffer:slice(1, 2), cols = cols }
  t.ring = t
  assert(save.write(%q, { t = t, shared = shared })):wait()
]]

local function check(sections)
  local t = sections.t
  assert.same({ 1, -1, 127, 128, 2 ^ 31, -2 ^ 53, 0.5, -0.0, 1 / 0, -1 / 0, 5e-324, true, false },
    t.list)
  assert.equal(-1 / 0, 1 / t.list[8])
  assert.equal("\0\255 bytes", t[1][1])
  assert.equal(t[1], t[2])
  assert.equal(t[1], sections.shared)
  assert.equal("minus", t[-7])
  assert.equal("half", t[2.5])
  assert.equal(t, t.ring)
  assert.equal(2 ^ 40, tonumber(t.buffer[1]))
  t.part[2] = 5
  assert.equal(5, tonumber(t.buffer[2]))
  assert.equal("weft.Columns: 100 x n, x", tostring(t.cols))
  local id = t.cols:add{ n = 1 }
  assert.equal(2 * 16777216 + 101, id) -- the slot of the row that was removed
end

describe("a save of the other machine", function()
  after_each(saves.clean)

  it("is read here", function()
    onOther(SAVE:format(saves.path()))
    check(assert(save.read(saves.path())))
  end)

  it("that was one of this machine first comes back", function()
    assert((loadstring or load)(SAVE:format(saves.path())))()
    onOther(([[
      local save = require "weft.save"
      local sections = assert(save.read(%q))
      assert(save.write(%q, sections)):wait()
    ]]):format(saves.path(), saves.path "again"))
    check(assert(save.read(saves.path "again")))
  end)

  if support.vm == "luajit" then
    it("keeps whole numbers of 64 bits, as cdata where a double would round them", function()
      onOther(([[
        local save = require "weft.save"
        local t = { 2^53|0, (2^53|0) + 1, math.mininteger, [math.maxinteger] = "far" }
        assert(save.write(%q, t and { t = t })):wait()
      ]]):format(saves.path()))
      local t = save.read(saves.path()).t
      assert.equal(2 ^ 53, t[1])
      assert.equal("9007199254740993LL", tostring(t[2]))
      assert.equal("-9223372036854775808LL", tostring(t[3]))
      local key
      for k, v in pairs(t) do if v == "far" then key = k end end
      assert.equal("9223372036854775807LL", tostring(key))
    end)
  else
    it("keeps whole numbers of 64 bits, as integers", function()
      onOther(([[
        local save = require "weft.save"
        local t = { 3, 3.5, 2^53 + 1LL, -1LL, 0xffffffffffffffffULL, 7LL }
        assert(save.write(%q, t and { t = t })):wait()
      ]]):format(saves.path()))
      local t = save.read(saves.path()).t
      assert.equal("3 3.5 9007199254740993 -1 -1 7", table.concat(t, " "))
    end)
  end
end)
