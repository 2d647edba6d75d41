-- SPDX-License-Identifier: MIT
--
-- A cancel is lasting: scripts that catch it and wait again are told again, once a tick, and are
-- ended by force in the end.

local support = require "support"
local routine = require "weft.routine"

describe("a routine that swallows its cancel #wait", function()
  it("is told again at its next wait, a tick later", function()
    local world = support.world()
    local ticks = {}
    local handle = world:start(function()
      for i = 1, 3 do
        pcall(routine.wait, 100)
        ticks[i] = world.tickCount
      end
      routine.wait(100)
      ticks[4] = "lived on"
    end)
    world:tick(0)
    handle:cancel()
    support.ticks(6)
    assert.same({ 2, 3, 4 }, ticks)
    assert.equal("cancelled", handle:status())
  end)

  it("never hangs a tick, and is ended by force after eight", function()
    local world = support.world()
    local rounds = 0
    local handle = world:start(function()
      while true do
        pcall(routine.wait, 1)
        rounds = rounds + 1
      end
    end)
    world:tick(0)
    handle:cancel()
    for tick = 1, 7 do
      world:tick(1)
      assert.equal(tick, rounds)
      assert.equal("cancelling", handle:status())
    end
    world:tick(1)
    assert.equal(8, rounds)
    assert.equal("cancelled", handle:status())
    assert.equal(0, world:stats().active)
    assert.equal(1, #support.reports())
  end)

  it("is reported once, with its handle and a traceback that shows where it waits", function()
    local world = support.world()
    local function stubbornLoop()
      while true do pcall(routine.wait, 1) end
    end
    local handle = world:start(function() stubbornLoop() return 1 end)
    world:tick(0)
    handle:cancel()
    support.ticks(12)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.equal(handle, reports[1].handle)
    assert.truthy(reports[1].trace:find "stubbornLoop")
    assert.equal(1, world:stats().cancelled)
    assert.equal(0, world:stats().failed)
  end)

  it("may swallow eight times and end by itself", function()
    local world = support.world()
    local handle = world:start(function()
      for _ = 1, 8 do pcall(routine.wait, 1) end
      return "by itself"
    end)
    world:tick(0)
    handle:cancel()
    support.ticks(8)
    assert.equal("completed", handle:status())
  end)

  it("gets its cleanups run when it is ended by force", function()
    local world = support.world()
    local log = {}
    local handle = world:start(function()
      routine.defer(function() log[#log + 1] = "first" end)
      routine.defer(function() log[#log + 1] = "second" end)
      while true do pcall(routine.wait, 1) end
    end)
    world:tick(0)
    handle:cancel()
    support.ticks(8)
    assert.same({ "second", "first" }, log)
    assert.equal("cancelled", handle:status())
    assert.equal(1, #support.reports())
  end)

  it("wakes its joiners with Cancelled when it is ended by force", function()
    local world = support.world()
    local handle = world:start(function() while true do pcall(routine.wait, 1) end end)
    local ok, err
    world:start(function() ok, err = routine.join(handle) end)
    world:tick(0)
    handle:cancel()
    support.ticks(10)
    assert.is_false(ok)
    assert.equal(routine.Cancelled, err)
    support.reports()
  end)

  it("does so with every kind of wait", function()
    local waits = {
      function() routine.wait(0) end, function() routine.nextTick() end,
      function() routine.waitUnscaled(3) end,
    }
    for i, wait in ipairs(waits) do
      local world = support.world()
      local rounds = 0
      local handle = world:start(function()
        while true do pcall(wait) rounds = rounds + 1 end
      end)
      world:tick(0)
      handle:cancel()
      support.ticks(10)
      assert.equal(8, rounds, i)
      assert.equal("cancelled", handle:status(), i)
    end
    assert.equal(3, #support.reports())
  end)

  it("also with waits that it had not begun when it was cancelled", function()
    local world = support.world()
    local rounds = 0
    world:start(function()
      routine.self():cancel()
      while true do pcall(routine.wait, 1) rounds = rounds + 1 end
    end)
    support.ticks(12)
    assert.equal(8, rounds)
    assert.equal(1, #support.reports())
  end)

  it("can do so in an inner coroutine, which cannot be closed from outside", function()
    local world = support.world()
    local rounds = 0
    local handle = world:start(function()
      local inner = coroutine.wrap(function()
        while true do
          pcall(routine.wait, 1)
          rounds = rounds + 1
          coroutine.yield()
        end
      end)
      while true do inner() end
    end)
    world:tick(0)
    handle:cancel()
    support.ticks(20)
    assert.equal(20, rounds)
    assert.equal("cancelling", handle:status())
    assert.equal(1, #support.reports())
  end)
end)

describe("a swallower whose wait is under C frames #wait", function()
  it("is reported once and told again at each tick until it lets go", function()
    local world = support.world()
    local rounds, enough = 0, false
    local handle = world:start(function()
      table.sort({ 1, 2 }, function(a, b)
        while not enough do
          pcall(routine.wait, 1)
          rounds = rounds + 1
        end
        return a < b
      end)
      return "let go"
    end)
    world:tick(0)
    handle:cancel()
    for tick = 1, 20 do
      world:tick(1)
      assert.equal(tick, rounds)
    end
    assert.equal("cancelling", handle:status())
    assert.equal(1, #support.reports())
    assert.equal(handle, support.reports()[1].handle)
    enough = true
    support.ticks(3)
    assert.equal("completed", handle:status())
    assert.equal(0, world:stats().active)
    assert.equal(1, #support.reports())
  end)

  -- The eight are the routine's: none are given anew where a wait can be closed again.
  for depth = 1, 3 do
    it("is ended at its first wait outside of " .. depth, function()
      local world = support.world()
      local rounds, outside, enough, log = 0, 0, false, {}
      local function swallow(level)
        table.sort({ 1, 2 }, function(a, b)
          if level < depth then swallow(level + 1) end
          repeat
            pcall(routine.wait, 1)
            rounds = rounds + 1
          until enough
          return a < b
        end)
      end
      local handle = world:start(function()
        routine.defer(function() log[#log + 1] = pcall(routine.wait, 1) end)
        swallow(1)
        while true do
          pcall(routine.wait, 1)
          outside = outside + 1
        end
      end)
      world:tick(0)
      handle:cancel()
      support.ticks(11)
      assert.equal(11, rounds)
      enough = true
      support.ticks(depth)
      assert.equal(11 + depth, rounds)
      assert.equal("cancelled", handle:status())
      assert.equal(0, outside)
      assert.same({ false }, log)
      assert.equal(2, #support.reports()) -- that it was stuck, and where it was ended
    end)
  end

  it("does not keep the world from closing", function()
    local world = support.world()
    world:start(function()
      table.sort({ 1, 2 }, function() while true do pcall(routine.wait, 1) end end)
    end)
    world:tick(0)
    world:close()
    assert.is_false((pcall(world.stats, world)))
    assert.equal(2, #support.reports())
  end)
end)

describe("a routine cancelled at a bare coroutine.yield #wait", function()
  it("is ended by force, and its cleanups run", function()
    local world = support.world()
    local log = {}
    local handle = world:start(function()
      routine.defer(function() log[#log + 1] = "cleanup" end)
      while true do coroutine.yield() end
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.same({ "cleanup" }, log)
    assert.equal("cancelled", handle:status())
    assert.equal(1, #support.reports())
  end)

  it("cannot catch it", function()
    local world = support.world()
    local caught = false
    local handle = world:start(function()
      local ok = pcall(function() while true do coroutine.yield() end end)
      caught = not ok
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.is_false(caught)
    assert.equal("cancelled", handle:status())
    assert.equal(1, #support.reports())
  end)
end)
