-- SPDX-License-Identifier: MIT
--
-- slice: long loops spread over ticks by a budget of iterations or of real time.

local support = require "support"
local routine = require "weft.routine"
local core = require "weft.core"

-- Starts a loop of `length` iterations with `step` after each; returns how many each tick had.
local function loop(world, step, length)
  local perTick = {}
  local handle = world:start(function()
    for _ = 1, length do
      local tick = world.tickCount
      perTick[tick] = (perTick[tick] or 0) + 1
      step()
    end
  end)
  return perTick, handle
end

-- Keeps the processor busy until the real clock has moved on by this much at least.
local function work(seconds)
  local start = core.clock()
  while core.clock() - start < seconds do end -- luacheck: ignore
end

describe("a step of routine.slice #wait", function()
  it("waits for the next tick when the count of iterations is reached", function()
    local world = support.world()
    local perTick = loop(world, routine.slice { count = 4 }, 11)
    for _ = 1, 4 do world:tick(1) end
    assert.same({ 4, 4, 3 }, perTick)
  end)

  it("lets one iteration pass in each tick with a count of one", function()
    local world = support.world()
    local perTick, handle = loop(world, routine.slice { count = 1 }, 3)
    support.settle(3)
    assert.same({ 1, 1, 1 }, perTick)
    assert.equal("sleeping", handle:status())
    world:tick(0)
    assert.equal("completed", handle:status())
  end)

  it("is free until then, also with a count beyond all loops", function()
    local world = support.world()
    local perTick, handle = loop(world, routine.slice { count = 1e300 }, 10000)
    world:tick(0)
    assert.same({ 10000 }, perTick)
    assert.equal("completed", handle:status())
  end)

  it("returns nothing", function()
    local world = support.world()
    local values
    world:start(function()
      local step = routine.slice { count = 2 }
      values = select("#", step()) + select("#", step())
    end)
    support.settle(2)
    assert.equal(0, values)
  end)

  it("lets one iteration pass in each tick when there is no real time at all", function()
    local world = support.world()
    local perTick = loop(world, routine.slice { ms = 0 }, 5)
    support.settle(6)
    assert.same({ 1, 1, 1, 1, 1 }, perTick)
  end)

  it("is free while the real time lasts", function()
    local world = support.world()
    local perTick = loop(world, routine.slice { ms = 1e12 }, 1000)
    support.settle(1)
    assert.same({ 1000 }, perTick)
  end)

  it("waits when the real time is over", function()
    local world = support.world()
    local turns = {}
    world:start(function()
      local step = routine.slice { ms = 1 }
      for i = 1, 3 do
        work(0.002)
        turns[i] = world.tickCount
        step()
      end
    end)
    support.settle(4)
    assert.same({ 1, 2, 3 }, turns)
  end)

  it("waits for whichever of count and ms comes first", function()
    local world = support.world()
    local byCount = loop(world, routine.slice { count = 2, ms = 1e12 }, 6)
    local byTime = loop(world, routine.slice { count = 1000, ms = 0 }, 3)
    support.settle(4)
    assert.same({ 2, 2, 2 }, byCount)
    assert.same({ 1, 1, 1 }, byTime)
  end)

  it("has its whole budget again after a wait of the body's own", function()
    local world = support.world()
    local ticks = {}
    world:start(function()
      local step = routine.slice { count = 3 }
      for i = 1, 8 do
        ticks[i] = world.tickCount
        if i == 2 then routine.nextTick() end
        step()
      end
    end)
    support.settle(4)
    assert.same({ 1, 1, 2, 2, 3, 3, 3, 4 }, ticks)
  end)

  it("may be shared: all have one budget, and each at least an iteration a tick", function()
    local world = support.world()
    local step = routine.slice { count = 4 }
    local perTick, handles = {}, {}
    for i = 1, 3 do perTick[i], handles[i] = loop(world, step, 3) end
    support.settle(3)
    assert.same({ { 3 }, { 1, 2 }, { 1, 2 } }, perTick)
    for i = 1, 3 do assert.equal("completed", handles[i]:status()) end
  end)

  it("may be shared by worlds, which have a budget each", function()
    local one, two = support.world(), support.world()
    local step = routine.slice { count = 2 }
    local first, second = loop(one, step, 4), loop(two, step, 4)
    for _ = 1, 3 do
      one:tick(0)
      two:tick(0)
    end
    assert.same({ 2, 2 }, first)
    assert.same({ 2, 2 }, second)
  end)

  it("works under C functions and in coroutines", function()
    local world = support.world()
    local sorted, made
    world:start(function()
      local step = routine.slice { count = 3 }
      local list = { 5, 3, 4, 1, 2 }
      table.sort(list, function(a, b)
        step()
        return a < b
      end)
      sorted = table.concat(list)
      local each = coroutine.wrap(function()
        for i = 1, 9 do
          step()
          coroutine.yield(i)
        end
      end)
      made = 0
      for _ = 1, 9 do made = made + each() end
    end)
    support.settle(9)
    assert.equal("12345", sorted)
    assert.equal(45, made)
  end)

  it("raises a cancel where it waits, and is free of it before", function()
    local world = support.world()
    local steps, err = 0, nil
    world:start(function()
      local step = routine.slice { count = 3 }
      routine.cancel(routine.self())
      local _, raised = pcall(function()
        while true do
          step()
          steps = steps + 1
        end
      end)
      err = raised
    end)
    world:tick(0)
    assert.equal(2, steps)
    assert.equal(routine.Cancelled, err)
  end)

  if not support.stress and support.vm == "lua5.4" then -- traces are garbage on LuaJIT
    it("makes no garbage", function()
      local world = support.world()
      loop(world, routine.slice { count = 5 }, 1e9)
      world:start(function()
        local step = routine.slice { count = 5 }
        while true do step() end
      end)
      support.settle(100)
      support.collect()
      local used
      world:start(function()
        local step = routine.slice { count = 5 }
        for _ = 1, 100 do step() end
        collectgarbage "stop"
        local before = collectgarbage "count"
        for _ = 1, 1000 do step() end
        used = collectgarbage "count" - before
        collectgarbage "restart"
      end)
      support.settle(300)
      assert.is_true(used < 12, used) -- a table for each wait would take more
    end)
  end
end)

describe("routine.slice refuses", function()
  local function refused(options)
    local ok, message = pcall(function() routine.slice(options) end)
    assert.is_false(ok)
    assert.truthy(message:find "^spec/slice_spec.lua:%d+: routine.slice: ", message)
    return (message:gsub("^.-: routine.slice: ", ""))
  end

  it("what is no table, and one that says neither", function()
    assert.equal("a table with count or ms expected, got nil", refused(nil))
    assert.equal("a table with count or ms expected, got 5", refused(5))
    assert.equal("count or ms needed", refused({}))
  end)

  it("options that it does not know", function()
    assert.equal("unknown option 'counts'; there are count and ms", refused { counts = 1 })
    assert.equal("unknown option 'number'; there are count and ms", refused { 1 })
    assert.truthy(refused { count = 1, MS = 2 }:find("unknown option 'MS'", 1, true))
  end)

  it("a count that is not whole or below one", function()
    for _, bad in ipairs { 0, -1, 1.5, "3", false, {} } do
      assert.truthy(refused { count = bad }:find "^count must be a whole number >= 1, got ")
    end
    for _, bad in ipairs { 0 / 0, 1 / 0, -1 / 0 } do
      assert.truthy(refused { count = bad }:find "^count must be a whole number >= 1, got ")
    end
  end)

  it("milliseconds that are no time", function()
    for _, bad in ipairs { -1, 1 / 0, -1 / 0, 0 / 0, 1.5e12, "3", true } do
      assert.truthy(refused { ms = bad }:find "^ms must be a number from 0 to 1e12, got ")
    end
  end)

  it("in its C half, what is no budget and no grid", function()
    support.world()
    for _, name in ipairs { "spend", "advance" } do
      local budget = core.loops.budget { count = 1 }
      for _, bad in ipairs { false, "x", io.stdout, routine.Cancelled, support.world(), budget } do
        local ok, message = support.inside(pcall, core.loops[name], bad)
        local fits = name == "spend" and bad == budget
        assert.equal(fits, ok)
        assert.truthy(fits or message:find "^a %l+ of routine.%l+ expected, got ", message)
      end
    end
  end)

  it("a step outside a routine, at once", function()
    support.world()
    local step = routine.slice { count = 100 }
    local ok, message = pcall(function() step() end)
    assert.is_false(ok)
    assert.truthy(message:find("slice_spec.lua:%d+: step of routine.slice: not inside a routine; "
      .. "start one with routine.start"), message)
  end)
end)
