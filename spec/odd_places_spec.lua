-- SPDX-License-Identifier: MIT
--
-- Legal but unusual: C functions as bodies, ticks from coroutines, handles of worlds that are
-- gone, very many values, very deep stacks.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function numbers(count)
  local list = {}
  for i = 1, count do list[i] = i end
  return list
end

describe("a routine may be #wait", function()
  local bodies = {
    { "a wait itself", { routine.wait, 1 }, { true, 1 } },
    { "a wait under pcall", { pcall, routine.wait, 1 }, { true, true, 1 } },
    { "coroutine.yield", { coroutine.yield, "x" }, { true, 1 } },
    { "nextTick", { routine.nextTick }, { true, 1 } },
    { "table.sort with a comparator that waits",
      { table.sort, { 3, 1, 2 }, function(a, b) routine.nextTick() return a < b end }, { true } },
    { "a coroutine that waits", { coroutine.wrap(function() return routine.wait(1) end) },
      { true, 1 } },
    { "print's kind of function", { tostring, 12 }, { true, "12" } },
  }
  for _, case in ipairs(bodies) do
    it(case[1], function()
      local world = support.world()
      local handle = world:start(unpack(case[2]))
      for _ = 1, 12 do world:tick(1) end
      assert.equal("completed", handle:status())
      local got = { support.inside(function() return routine.join(handle) end) }
      assert.same(case[3], got)
    end)
  end

  it("error", function()
    local world = support.world()
    local handle = world:start(error, "x", 0)
    world:tick(0)
    assert.equal("failed", handle:status())
    assert.equal("x", support.reports()[1].err)
  end)

  it("cleaned up by C functions that wait", function()
    local world = support.world()
    local handle = world:start(function()
      routine.defer(routine.nextTick)
      routine.defer(coroutine.yield)
      routine.defer(os.time)
    end)
    support.settle(4)
    assert.equal("completed", handle:status())
  end)
end)

describe("a world may be ticked", function()
  it("from a coroutine, from several, and from the main thread in turn", function()
    local world = support.world()
    local turns = 0
    world:start(function()
      for _ = 1, 6 do
        turns = turns + 1
        table.sort({ 1, 2 }, function() routine.wait(0) end)
      end
    end)
    for _ = 1, 2 do
      local co = coroutine.wrap(function()
        world:tick(0)
        coroutine.yield()
        world:tick(0)
      end)
      co()
      world:tick(0)
      co()
      support.collect()
    end
    assert.equal(6, turns)
  end)

  it("from a coroutine whose systems try to yield out of the tick", function()
    local world = support.world()
    world:on("update", function() coroutine.yield() end)
    local co = coroutine.create(function() world:tick(0) return "ended" end)
    local ok, value = coroutine.resume(co)
    assert.is_true(ok)
    assert.equal("ended", value)
    assert.equal(1, #support.reports())
    assert.equal(1, world.tickCount)
  end)

  it("while nothing else holds it", function()
    local function make()
      local world = weft.world{ capacity = 2 }
      world:start(function()
        routine.nextTick()
        support.collect()
      end)
      return world
    end
    make():tick(0)
    support.collect()
    assert.equal(1, make():tick(0))
  end)
end)

describe("handles of a world that was collected", function()
  it("are harmless", function()
    local ended, waiting
    do
      local world = weft.world{ capacity = 2 }
      ended = world:start(function() return 5 end)
      waiting = world:start(function() routine.wait(9) end)
      world:tick(0)
    end
    support.collect()
    support.collect()
    support.world()
    for _, handle in ipairs{ ended, waiting } do
      assert.equal("expired", handle:status())
      assert.truthy(tostring(handle):find "expired")
      assert.is_false(handle:cancel())
      assert.is_nil(handle:error())
    end
    local answer = { support.inside(function() return routine.join(waiting) end) }
    assert.same({ nil, "expired" }, answer)
  end)
end)

describe("there may be", function()
  it("200 arguments and 5,000 results", function()
    local world = support.world()
    local arguments
    local handle = world:start(function(...)
      arguments = select("#", ...)
      routine.wait(1)
      return unpack(numbers(5000))
    end, unpack(numbers(200)))
    local early, late
    world:start(function() early = { routine.join(handle) } end)
    support.ticks(4)
    world:start(function() late = { routine.join(handle) } end)
    support.settle()
    assert.equal(200, arguments)
    assert.equal(5001, #early)
    assert.equal(5000, early[5001])
    assert.equal(5001, #late)
  end)

  it("ten thousand Lua calls under a wait", function()
    local world = support.world()
    local function dig(n)
      if n == 0 then
        routine.wait(1)
        return 0
      end
      return 1 + dig(n - 1)
    end
    local depth
    world:start(function() depth = dig(10000) end)
    world:tick(0)
    support.collect()
    world:tick(1)
    assert.equal(10000, depth)
    assert.equal(0, world:stats().pinned)
  end)

  it("a stack overflow of the script, and waits afterwards", function()
    local world = support.world()
    local function endless(n) return 1 + endless(n + 1) end
    local ok, slept
    world:start(function()
      ok = pcall(endless, 1)
      slept = routine.wait(1)
    end)
    world:tick(0)
    world:tick(1)
    assert.is_false(ok)
    assert.equal(1, slept)
  end)
end)
