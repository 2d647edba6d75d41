-- SPDX-License-Identifier: MIT
-- Lua 5.4 counts nested C calls and raises its own error before a native stack
-- ends: at every size that a world accepts, whatever function the recursion goes
-- through, and beside other routines whose stacks lie next to it.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"
local drive = require "drive"
local recursion = require "recursion"

local KIB = 1024
local SIZES = { 160, 192, 256, 384, 512, 1024 }

-- Keeps a stack in use some frames deep while others run. Its answer is wrong if
-- anything wrote over that stack.
local function neighbour(world, id, answers)
  local function nest(n)
    if n == 0 then
      routine.wait(4)
      return "<" .. id .. ">"
    end
    return (("-"):gsub("-", function() return n .. nest(n - 1) end))
  end
  return world:start(function() answers[id] = nest(8) end)
end

local UNHARMED = "87654321"

-- Runs `body` between neighbours on both sides; returns what pcall said of it.
local function between(size, body)
  local world = support.world { capacity = 8, stackBytes = size and size * KIB }
  local answers, outcome, handles = {}, nil, {}
  for id = 1, 3 do handles[id] = neighbour(world, id, answers) end
  handles[4] = world:start(function()
    routine.nextTick()
    outcome = { pcall(body) }
  end)
  for id = 5, 7 do handles[id] = neighbour(world, id, answers) end
  assert.is_true(drive.untilended(world, handles, 12))
  assert.equal("completed", handles[4]:status())
  for _, id in ipairs { 1, 2, 3, 5, 6, 7 } do
    assert.equal(UNHARMED .. "<" .. id .. ">", answers[id])
  end
  return outcome[1], outcome[2]
end

local function isluasown(err)
  local text = tostring(err)
  return text:find("stack overflow", 1, true) ~= nil
    or text:find("error in error handling", 1, true) ~= nil
    or text:find("too many C levels", 1, true) ~= nil
end

describe("stackBytes", function()
  it("is refused below 160 KiB, with a sentence", function()
    for _, bytes in ipairs { 160 * KIB - 1, 128 * KIB, 64 * KIB, 1, 0 } do
      local ok, err = pcall(weft.world, { stackBytes = bytes })
      assert.is_false(ok)
      assert.is_truthy(tostring(err):find("stackBytes", 1, true), tostring(err))
      assert.is_truthy(tostring(err):find("160", 1, true), tostring(err))
    end
  end)

  it("is refused below 160 KiB by configure, which changes nothing then", function()
    local world = support.world { capacity = 2, stackBytes = 256 * KIB }
    assert.is_false((pcall(world.configure, world, { stackBytes = 100 * KIB })))
    assert.equal(256 * KIB, world:stats().stackBytes)
  end)

  it("of exactly 160 KiB is taken", function()
    local world = support.world { capacity = 2, stackBytes = 160 * KIB }
    assert.equal(160 * KIB, world:stats().stackBytes)
    local h = world:start(function() table.sort({ 2, 1 }, function() routine.wait(1) end) end)
    drive.ticks(world, 4)
    assert.equal("completed", h:status())
  end)
end)

if support.vm ~= "lua5.4" then return end

for _, size in ipairs(SIZES) do
  describe("with stacks of " .. size .. " KiB, recursion without end", function()
    for _, endless in ipairs(recursion) do
      it("through " .. endless.name .. " ends in Lua's own error", function()
        local ok, err = between(size, endless.run)
        assert.is_true(isluasown(err), tostring(err):sub(1, 200))
        assert.is_true(ok == true or ok == false)
      end)
    end
  end)
end

-- C functions whose own frames are large, or that recurse in C without counting,
-- called at every level of the way down: at the deepest one they must still fit.
local HEAVY = {
  ["a pattern that backtracks deeply"] = function()
    return (("a"):rep(190)):find(("a?"):rep(190))
  end,
  ["formatting of a large float"] = function() return ("%.99f %99.99g"):format(1e300, 1e-300) end,
  ["os.date"] = function() return os.date("!%c %x %X", 0) end,
  ["a package that is not there"] = function() return package.searchpath("none", "./?.none") end,
  ["a C library that is not there"] = function() return package.loadlib("/none.so", "none") end,
  ["tonumber and tostring"] = function() return tostring(tonumber "0x1.fffffffp+100") end,
  ["a traceback"] = function() return #debug.traceback("text") end,
  ["sorting of two hundred items"] = function()
    local list = {}
    for i = 1, 200 do list[i] = i * 7919 % 211 end
    table.sort(list)
    return list[1]
  end,
}

local heavynames = {}
for name in pairs(HEAVY) do heavynames[#heavynames + 1] = name end
table.sort(heavynames)

for _, size in ipairs(SIZES) do
  describe("with stacks of " .. size .. " KiB, the last level before the error", function()
    for _, name in ipairs(heavynames) do
      it("still has room for " .. name, function()
        local heavy = HEAVY[name]
        local function dig()
          heavy()
          return (("ab"):gsub("b", dig))
        end
        local ok, err = between(size, dig)
        assert.is_false(ok)
        assert.is_true(isluasown(err), tostring(err):sub(1, 200))
      end)
    end
  end)
end

describe("steps of alignment", function()
  -- Each kind of level moves the frames below it by another distance.
  local function shifted(pcalls, tostrings, sorts, body)
    if pcalls > 0 then
      return select(-1, pcall(shifted, pcalls - 1, tostrings, sorts, body))
    elseif tostrings > 0 then
      local out
      tostring(setmetatable({}, { __tostring = function()
        out = shifted(0, tostrings - 1, sorts, body)
        return ""
      end }))
      return out
    elseif sorts > 0 then
      local out
      table.sort({ 1, 2 }, function()
        out = shifted(0, 0, sorts - 1, body)
        return false
      end)
      return out
    end
    local _, err = pcall(body)
    return err
  end

  for _, name in ipairs { "gsub", "format" } do
    it("of the stack never let " .. name .. " harm a neighbour", function()
      for step = 0, 63 do
        local a, b, c = step % 4, math.floor(step / 4) % 4, math.floor(step / 16)
        local ok, err = between(160, function()
          error(shifted(a, b, c, recursion[name].run), 0)
        end)
        assert.is_false(ok)
        assert.is_true(isluasown(err), step .. ": " .. tostring(err):sub(1, 200))
      end
    end)
  end
end)

describe("a stack of the default size", function()
  it("allows as many nested C calls as Lua does outside", function()
    local function depth()
      local levels = 0
      local function dig()
        levels = levels + 1
        return (("b"):gsub("b", dig))
      end
      pcall(dig)
      return levels
    end
    local inside
    between(nil, function() inside = depth() end)
    assert.is_true(inside >= 0.9 * depth(), inside .. " levels")
  end)

  it("serves a routine after another overflowed on it, many times over", function()
    local world = support.world { capacity = 1 }
    for _ = 1, 20 do
      local ok
      local h = world:start(function() ok = pcall(recursion.gsub.run) end)
      drive.ticks(world, 2)
      assert.is_false(ok)
      assert.equal("completed", h:status())
    end
  end)
end)

describe("a wait as deep as Lua allows", function()
  -- Calls `bottom` under `n` nested gsubs.
  local function nest(n, bottom)
    if n == 0 then return bottom() end
    return (("b"):gsub("b", function() return nest(n - 1, bottom) end)) .. n % 10
  end

  for _, size in ipairs(SIZES) do
    it("keeps a stack of " .. size .. " KiB", function()
      local deepest, answer
      between(size, function()
        local depth = 0
        while depth < 200 and pcall(nest, depth + 1, function() return "." end) do
          depth = depth + 1
        end
        deepest = depth - 3
        answer = nest(deepest, function() return ":" .. routine.wait(2) end)
      end)
      assert.is_true(deepest > 20, deepest .. " levels")
      local expected = { ":2" }
      for n = 1, deepest do expected[n + 1] = n % 10 end
      assert.equal(table.concat(expected), (answer:gsub("%.0", "")))
    end)
  end
end)
