-- SPDX-License-Identifier: MIT
--
-- What the collector gets to do in a game that has run for a while, counted to the byte: a start
-- leaves its handle, and nothing else leaves anything.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

local capacity = 64

local rounds = 101

-- The bytes that `fn` leaves to the collector, which stands still meanwhile: in most rounds, after
-- some in which room is made, or code compiled.
local function bytesOf(fn, ...)
  local bytes = {}
  support.collect()
  collectgarbage "stop"
  for round = -rounds, rounds do
    local before = collectgarbage "count"
    fn(...)
    bytes[math.max(round, 1)] = (collectgarbage "count" - before) * 1024
  end
  collectgarbage "restart"
  table.sort(bytes)
  return bytes[(rounds + 1) / 2]
end

local function nothing() end

local function sleep()
  routine.wait(1)
  routine.nextTick()
  routine.waitUnscaled(1)
end

local list = { 3, 1, 2 }
local function slowly(a, b)
  routine.nextTick()
  return a > b
end
local function sort()
  table.sort(list, slowly)
end

local function yield()
  coroutine.yield()
end

local function clean()
  routine.defer(nothing)
  routine.wait(1)
end

local function wait()
  routine.wait(1e6)
end

local handles = {}
local function start(world, count, body)
  for i = 1, count do handles[i] = world:start(body, i, true) end
end

local function startOwned(owner, count, body)
  for _ = 1, count do owner:start(body) end
end

local function ticks(world, count)
  for _ = 1, count do world:tick(1) end
end

local function cancelAll(count)
  for i = 1, count do handles[i]:cancel() end
end

-- Each leaves `count` handles, however many waits and ends there are.
local starts = {
  ["that end at once"] = function(world, count)
    start(world, count, nothing)
    ticks(world, 1)
  end,
  ["that wait"] = function(world, count)
    start(world, count, sleep)
    ticks(world, 5)
  end,
  ["that wait under C functions"] = function(world, count)
    start(world, count, sort)
    ticks(world, 16)
  end,
  ["that yield"] = function(world, count)
    start(world, count, yield)
    ticks(world, 2)
  end,
  ["that clean up"] = function(world, count)
    start(world, count, clean)
    ticks(world, 3)
  end,
  ["that are cancelled before they begin"] = function(world, count)
    start(world, count, wait)
    cancelAll(count)
  end,
  ["that are cancelled as they wait"] = function(world, count)
    start(world, count, clean)
    ticks(world, 1)
    cancelAll(count)
    ticks(world, 1)
  end,
  ["of an owner"] = function(world, count, owner)
    startOwned(owner, count, sleep)
    ticks(world, 5)
  end,
}

local function sortedNames(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return names
end

describe("starts", function()
  for _, name in ipairs(sortedNames(starts)) do
    it(name .. " leave a handle each, and nothing else", function()
      local world = weft.world { capacity = capacity }
      local owner = world:owner()
      local one = bytesOf(starts["that end at once"], world, 1, owner)
      assert.is_true(one > 0 and one <= 80, one)
      for _, count in ipairs { 1, 10, capacity } do
        assert.equal(count * one, bytesOf(starts[name], world, count, owner))
      end
      assert.equal(0, world:stats().active)
      handles = {}
      world:close()
    end)
  end
end)

-- Each leaves nothing at all.
local function joins(world)
  world:start(function()
    while true do
      routine.wait(1)
      routine.join(handles[1])
    end
  end)
end

local lasting = {
  ["waits"] = function(world)
    world:start(function() while true do sleep() end end)
  end,
  ["waits under C functions"] = function(world)
    world:start(function() while true do sort() end end)
  end,
  ["waits in a coroutine of the routine's own"] = function(world)
    world:start(function() coroutine.wrap(function() while true do sleep() end end)() end)
  end,
  ["yields"] = function(world)
    world:start(function() while true do coroutine.yield() end end)
  end,
  ["joins of who has ended"] = joins,
  ["protected calls"] = function(world)
    world:start(function() while true do routine.pcall(routine.wait, 1) end end)
  end,
  ["shields"] = function(world)
    world:start(function() while true do routine.shield(routine.wait, 1) end end)
  end,
  ["systems"] = function(world) world:on("update", nothing) end,
}

describe("a tick", function()
  for _, name in ipairs(sortedNames(lasting)) do
    it("of " .. name .. " leaves nothing", function()
      local world = weft.world { capacity = capacity }
      handles[1] = world:start(nothing)
      world:tick(0)
      for _ = 1, 10 do lasting[name](world) end
      assert.equal(0, bytesOf(ticks, world, 10))
      handles = {}
      world:close()
    end)
  end
end)
