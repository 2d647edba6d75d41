-- SPDX-License-Identifier: MIT
--
-- every: turns on a grid that does not drift, what is missed, how it ends, what it refuses.

local support = require "support"
local routine = require "weft.routine"

-- Starts a loop over routine.every; returns the list of { n, tick = , at = } that it fills.
local function loop(world, seconds, count)
  local turns = {}
  local handle = world:start(function()
    for n in routine.every(seconds, count) do
      turns[#turns + 1] = { n, tick = world.tickCount, at = world.simTime }
    end
    turns.over = world.tickCount
  end)
  return turns, handle
end

local function sum(turns)
  local total = 0
  for _, turn in ipairs(turns) do total = total + turn[1] end
  return total
end

local function counts(turns)
  local list = {}
  for i, turn in ipairs(turns) do list[i] = turn[1] end
  return list
end

describe("routine.every #wait", function()
  it("has its first turn one interval after the call", function()
    local world = support.world()
    local turns = loop(world, 0.5)
    world:tick(9)
    world:tick(0.25)
    assert.same({}, turns)
    world:tick(0.25)
    assert.same({ { 1, tick = 3, at = 9.5 } }, turns)
  end)

  it("does not drift: its turns are as many as the time has intervals", function()
    local world = support.world()
    local turns = loop(world, 0.1)
    world:tick(0)
    for _ = 1, 1000 do world:tick(0.016) end
    assert.equal(160, #turns)
    assert.equal(160, sum(turns))
    for i, turn in ipairs(turns) do
      assert.is_true(turn.at >= i * 0.1 - 1e-6 and turn.at < i * 0.1 + 0.016, i)
    end
  end)

  it("stays on the grid when its body waits", function()
    local world = support.world()
    local at = {}
    world:start(function()
      for _ in routine.every(1) do
        at[#at + 1] = world.simTime
        routine.wait(0.75)
      end
    end)
    world:tick(0)
    support.ticks(40, 0.25)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, at)
  end)

  it("gives one turn after a stall, with all that it missed, and is back on the grid", function()
    local world = support.world()
    local turns = loop(world, 0.25)
    world:tick(0)
    world:tick(0.25)
    world:tick(60.125)
    support.ticks(4, 0.125)
    assert.same({ 1, 240, 1, 1 }, counts(turns))
    assert.equal(60.5, turns[3].at)
    assert.equal(60.75, turns[4].at)
  end)

  it("gives what its body has slept through at once, but one turn in a tick at most", function()
    local world = support.world()
    local seen = {}
    world:start(function()
      for n in routine.every(1) do
        seen[#seen + 1] = n .. "@" .. world.simTime
        if #seen % 2 == 1 then routine.wait(2.5) end
      end
    end)
    world:tick(0)
    support.ticks(16, 0.5)
    local text = table.concat(seen, " "):gsub("%.0", "")
    assert.equal("1@1 2@3.5 1@4 2@6.5 1@7", text)
  end)

  it("counts a turn less than a microsecond ahead as due, as wait does", function()
    local world = support.world()
    local turns = loop(world, 1)
    world:tick(0)
    support.ticks(300, 1 / 3)
    assert.equal(100, #turns)
    assert.equal(100, sum(turns))
    local twice = loop(world, 0.5)
    world:tick(0)
    support.ticks(300, 1 / 3)
    assert.equal(200, sum(twice))
  end)

  it("turns in each tick at an interval of zero", function()
    local world = support.world()
    local turns = loop(world, 0, 4)
    for _, dt in ipairs { 1, 0, 0.5, 0, 7, 1 } do world:tick(dt) end
    assert.same({ 1, 1, 1, 1 }, counts(turns))
    assert.equal(2, turns[1].tick)
    assert.equal(5, turns[4].tick)
    assert.equal(5, turns.over)
  end)

  it("turns in each tick at an interval of zero also when its body waits for it", function()
    local world = support.world()
    local ticks = {}
    world:start(function()
      for _ in routine.every(0) do
        ticks[#ticks + 1] = world.tickCount
        routine.nextTick()
      end
    end)
    support.settle(5)
    assert.same({ 2, 3, 4, 5 }, ticks)
  end)

  it("takes intervals below a nanosecond as zero, and short ones without a storm", function()
    local world = support.world()
    local zero, short = loop(world, 1e-12), loop(world, 1e-9)
    world:tick(0)
    for _ = 1, 10 do world:tick(0.001) end
    support.settle(10)
    assert.equal(20, #zero)
    assert.is_true(#short >= 10 and #short <= 11)
    assert.is_true(sum(short) >= 1e7 and sum(short) < 1e7 + 1000)
  end)

  it("ends when the sum of its intervals is the count, the last turn cut to fit", function()
    local world = support.world()
    local turns, handle = loop(world, 1, 5)
    world:tick(0)
    for _, dt in ipairs { 1, 2.5, 0.25, 4, 1 } do world:tick(dt) end
    assert.same({ 1, 2, 2 }, counts(turns))
    assert.equal(5, turns.over)
    assert.equal("completed", handle:status())
  end)

  it("ends after one turn with a count of one, and stays ended without a wait", function()
    local world = support.world()
    local got
    world:start(function()
      local turn = routine.every(1, 1)
      got = { turn(), tostring(turn()), tostring(turn()), world.tickCount }
    end)
    world:tick(0)
    support.ticks(3)
    assert.same({ 1, "nil", "nil", 2 }, got)
  end)

  it("takes a count beyond all time", function()
    local world = support.world()
    local turns, long = loop(world, 1e-9, 1e300), loop(world, 1e9, 2 ^ 53)
    world:tick(0)
    world:tick(3600)
    world:tick(9e8)
    assert.is_true(sum(turns) >= 9.000036e17)
    assert.equal(0, #long)
    world:tick(1e8)
    world:tick(7e9)
    assert.same({ 1, 7 }, counts(long))
  end)

  it("gives whole numbers", function()
    local world = support.world()
    local turns = loop(world, 0.25)
    world:tick(0)
    world:tick(2)
    assert.equal("8", tostring(turns[1][1]))
  end)

  it("runs on sim time: scaled, still in a pause and at scale zero", function()
    local world = support.world()
    local turns, zero = loop(world, 1), loop(world, 0)
    world:setTimeScale(0.5)
    world:tick(0)
    support.ticks(4)
    world:pause()
    support.ticks(5)
    world:resume()
    assert.same({ 1, 1 }, counts(turns))
    assert.equal(4, #zero)
    world:setTimeScale(0)
    support.ticks(5)
    assert.equal(2, #turns)
    assert.equal(9, #zero)
    world:setTimeScale(4)
    world:tick(1)
    assert.equal(6, sum(turns))
  end)

  it("agrees with whole-number arithmetic for any ticks", function()
    local world = support.world { capacity = 64 }
    local seed = 12345
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return math.floor(seed / 65536) % n
    end
    local loops = {}
    for i = 1, 40 do
      local period = (1 + random(1000)) / 1000
      loops[i] = { turns = loop(world, period), period = math.floor(period * 1e9 + 0.5) }
    end
    world:tick(0)
    for _ = 1, support.stress and 200 or 2000 do
      world:tick(({ 0, 1 / 3, 1 / 60, 1e-9, 0.4, 2.5 })[1 + random(6)])
      local now = math.floor(world.simTime * 1e9 + 0.5)
      for _, it in ipairs(loops) do
        assert.equal(math.floor((now + 999) / it.period), sum(it.turns))
        it.turns[1] = { sum(it.turns) }
        for k = #it.turns, 2, -1 do it.turns[k] = nil end
      end
    end
  end)

  it("keeps its rate after a simulated year", function()
    local world = support.world()
    world:tick(365 * 86400)
    local fast, slow = loop(world, 0.005), loop(world, 1)
    world:tick(0)
    for _ = 1, 1440 do world:tick(1 / 144) end
    assert.equal(2000, sum(fast))
    assert.equal(10, #slow)
  end)

  it("works under C functions and in coroutines, and from several at once", function()
    local world = support.world()
    local got
    world:start(function()
      local seconds, halves = routine.every(1), routine.every(0.5)
      local log = {}
      table.sort({ 2, 1 }, function(a, b)
        log[#log + 1] = "c" .. seconds() .. "@" .. world.simTime
        return a < b
      end)
      coroutine.wrap(function()
        log[#log + 1] = "w" .. halves() .. "@" .. world.simTime
        log[#log + 1] = "w" .. halves() .. "@" .. world.simTime
      end)()
      got = table.concat(log, " "):gsub("%.0", "")
    end)
    world:tick(0)
    support.ticks(8, 0.5)
    assert.truthy(got:find "^c1@1 ", got)
    assert.truthy(got:find "w%d@[%d.]+ w1@[%d.]+$", got)
  end)

  it("shows the script's line, and when it wakes, to world:inspect", function()
    local world = support.world()
    loop(world, 0.5)
    world:start(function() routine.waitUntil(function() end) end)
    world:tick(0)
    world:tick(0.25)
    local list = world:inspect()
    assert.truthy(list[1].where:find("every_spec.lua", 1, true), list[1].where)
    assert.equal(0.25, list[1].wakesIn)
    assert.truthy(list[2].where:find("every_spec.lua", 1, true), list[2].where)
    assert.equal("tick", list[2].waitingOn)
  end)

  it("is ended by a cancel in its wait, and its loop's cleanups run", function()
    local world = support.world()
    local log = {}
    local handle = world:start(function()
      routine.defer(function() log[#log + 1] = "cleaned" end)
      for _ in routine.every(1) do log[#log + 1] = "turn" end
      log[#log + 1] = "never"
    end)
    world:tick(0)
    world:tick(1)
    handle:cancel()
    world:tick(5)
    assert.same({ "turn", "cleaned" }, log)
    assert.equal("cancelled", handle:status())
  end)

  it("may be left and begun anew", function()
    local world = support.world()
    local at = {}
    world:start(function()
      for _ = 1, 3 do
        for _ in routine.every(0.5) do
          at[#at + 1] = world.simTime
          if world.simTime > 0.5 then break end
        end
      end
    end)
    world:tick(0)
    support.ticks(6, 0.75)
    assert.same({ 0.75, 1.5, 2.25 }, at)
  end)

  if not support.stress and support.vm == "lua5.4" then -- traces are garbage on LuaJIT
    it("makes no garbage as it turns", function()
      local world = support.world()
      world:start(function() for _ in routine.every(0.5) do end end) -- luacheck: ignore
      support.ticks(100)
      support.collect()
      collectgarbage "stop"
      local before = collectgarbage "count"
      for _ = 1, 1000 do world:tick(1) end
      local after = collectgarbage "count"
      collectgarbage "restart"
      assert.equal(before, after)
    end)
  end
end)

describe("routine.every refuses", function()
  local function refused(...)
    local arguments, count = { ... }, select("#", ...)
    local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
    support.world()
    local ok, message = support.inside(function()
      return pcall(function() routine.every(unpack(arguments, 1, count)) end)
    end)
    assert.is_false(ok)
    assert.truthy(message:find "^spec/every_spec.lua:%d+: routine.every: ", message)
    return (message:gsub("^.-: routine.every: ", ""))
  end

  it("seconds that are no time, as wait does", function()
    assert.equal("seconds must be a number, got nil", refused())
    assert.equal("seconds must be a number, got string", refused("1"))
    assert.equal("seconds must be finite and >= 0, got -1", refused(-1))
    assert.truthy(refused(0 / 0):find "finite and >= 0, got %-?nan")
    assert.truthy(refused(1 / 0):find "finite and >= 0, got inf")
    assert.truthy(refused(-1 / 0):find "finite and >= 0, got %-inf")
    assert.truthy(refused(1.5e9):find "at most 1e9, got 1")
  end)

  it("a count that is not whole or below one", function()
    assert.equal("count must be a whole number >= 1, got 0", refused(1, 0))
    assert.equal("count must be a whole number >= 1, got -1", refused(1, -1))
    assert.equal("count must be a whole number >= 1, got 1.5", refused(1, 1.5))
    assert.truthy(refused(1, 0 / 0):find "whole number >= 1, got %-?nan")
    assert.truthy(refused(1, 1 / 0):find "whole number >= 1, got inf")
    assert.equal("count must be a whole number >= 1, got string", refused(1, "3"))
  end)

  it("to be called outside a routine", function()
    support.world()
    local ok, message = pcall(function() routine.every(1) end)
    assert.is_false(ok)
    assert.truthy(message:find("every_spec.lua:%d+: routine.every: not inside a routine; "
      .. "start one with routine.start"), message)
  end)

  it("turns outside a routine, and in another than its own", function()
    local world = support.world()
    local turn, mine, other
    world:start(function()
      turn = routine.every(1)
      mine = turn()
      routine.wait(1)
    end)
    world:start(function() other = { pcall(function() turn() end) } end)
    world:tick(0)
    world:tick(1)
    assert.equal(1, mine)
    local outside = { pcall(function() turn() end) }
    assert.is_false(other[1])
    assert.truthy(other[2]:find("every_spec.lua:%d+: the iterator of routine.every: it belongs to "
      .. "the routine that called routine.every"), other[2])
    assert.is_false(outside[1])
    assert.truthy(outside[2]:find("every_spec.lua:%d+: the iterator of routine.every: "
      .. "not inside a routine"), outside[2])
  end)
end)
