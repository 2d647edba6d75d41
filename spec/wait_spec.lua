-- SPDX-License-Identifier: MIT
--
-- wait, nextTick and waitUnscaled: when they end, what they return, what they refuse.

local support = require "support"
local routine = require "weft.routine"

describe("routine.wait #wait", function()
  it("returns the sim seconds that were slept", function()
    local world = support.world()
    local slept
    world:start(function() slept = routine.wait(1) end)
    support.settle()
    world:tick(0.75)
    assert.is_nil(slept)
    world:tick(0.75)
    assert.equal(1.5, slept)
  end)

  it("counts from the sim time of the call", function()
    local world = support.world()
    local slept = {}
    world:start(function()
      slept[1] = routine.wait(1)
      slept[2] = routine.wait(1)
    end)
    world:tick(0.5)
    world:tick(1.25)
    world:tick(0.5)
    assert.same({ 1.25 }, slept)
    world:tick(0.5)
    assert.same({ 1.25, 1 }, slept)
  end)

  it("of zero ends in the next tick, not in this one", function()
    local world = support.world()
    local turns, slept = 0, nil
    world:start(function() while true do turns = turns + 1 slept = routine.wait(0) end end)
    for tick = 1, 5 do
      assert.equal(1, world:tick(0.25))
      assert.equal(tick, turns)
    end
    assert.equal(0.25, slept)
  end)

  it("of next to nothing ends in the next tick, even when no time passes", function()
    local world = support.world()
    local turns = 0
    world:start(function() while true do turns = turns + 1 routine.wait(1e-12) end end)
    for tick = 1, 5 do
      world:tick(0)
      assert.equal(tick, turns)
    end
  end)

  it("keeps the order of deadlines, then the order of the calls", function()
    local world = support.world()
    local order = {}
    local times = { 0.5, 0.3, 0.5, 0.1, 0.3, 0.1, 0.5 }
    for i, time in ipairs(times) do
      world:start(function() routine.wait(time) order[#order + 1] = i end)
    end
    world:tick(0)
    world:tick(1)
    assert.same({ 4, 6, 2, 5, 1, 3, 7 }, order)
  end)

  it("keeps equal deadlines in the order of the calls through any removals", function()
    local world = support.world{ capacity = 256 }
    local order, junk = {}, {}
    for i = 1, 50 do
      junk[i] = world:start(function() routine.wait(0.5 + (i * 7 % 13) / 10) end)
      world:start(function() routine.wait(1) order[#order + 1] = i end)
    end
    world:tick(0)
    for i = 1, 50, 3 do junk[i]:cancel() end
    for _ = 1, 11 do world:tick(0.1) end
    assert.equal(50, #order)
    for i = 1, 50 do assert.equal(i, order[i]) end
  end)

  it("goes on unharmed after a refused wait", function()
    local world = support.world()
    local slept
    world:start(function()
      pcall(routine.wait, -1)
      pcall(routine.wait, "x")
      slept = routine.wait(2)
    end)
    world:tick(0)
    world:tick(1)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(2, slept)
  end)

  it("takes the longest time there is, and an integer as well as a float", function()
    local world = support.world()
    local handle = world:start(function() routine.wait(1) routine.wait(1e9) end)
    support.ticks(3)
    assert.equal("sleeping", handle:status())
  end)
end)

describe("routine.nextTick #wait", function()
  it("returns the sim seconds since it was called", function()
    local world = support.world()
    local passed
    world:start(function() passed = routine.nextTick() end)
    world:tick(1)
    assert.is_nil(passed)
    world:tick(0.125)
    assert.equal(0.125, passed)
  end)

  it("always means a later tick", function()
    local world = support.world()
    local turns = 0
    world:start(function() while true do turns = turns + 1 routine.nextTick() end end)
    for tick = 1, 10 do
      world:tick(0)
      assert.equal(tick, turns)
    end
  end)

  it("keeps the order of the routines", function()
    local world = support.world()
    local order = {}
    for i = 1, 3 do
      world:start(function()
        for _ = 1, 3 do order[#order + 1] = i routine.nextTick() end
      end)
    end
    support.settle(4)
    assert.same({ 1, 2, 3, 1, 2, 3, 1, 2, 3 }, order)
  end)

  it("measures scaled time", function()
    local world = support.world()
    world:setTimeScale(8)
    local passed
    world:start(function() passed = routine.nextTick() end)
    world:tick(0)
    world:tick(0.5)
    assert.equal(4, passed)
  end)
end)

describe("routine.waitUnscaled #wait", function()
  it("runs on real time and returns real seconds", function()
    local world = support.world()
    world:setTimeScale(0)
    local slept
    world:start(function() slept = routine.waitUnscaled(1) end)
    world:tick(0)
    world:tick(0.5)
    assert.is_nil(slept)
    world:tick(0.75)
    assert.equal(1.25, slept)
  end)

  it("runs on while the world is paused", function()
    local world = support.world()
    local slept
    world:start(function() slept = routine.waitUnscaled(1) end)
    world:tick(0)
    world:pause()
    assert.equal(0, world:tick(0.5))
    assert.equal(1, world:tick(0.5))
    assert.equal(1, slept)
  end)

  it("of zero ends in the next tick", function()
    local world = support.world()
    local turns = 0
    world:start(function() while true do turns = turns + 1 routine.waitUnscaled(0) end end)
    for tick = 1, 4 do
      world:tick(0)
      assert.equal(tick, turns)
    end
  end)
end)

describe("inside a routine #wait", function()
  it("self, world and isCancelled tell about the running one", function()
    local world = support.world()
    local seen
    local handle = world:start(function()
      seen = { routine.self(), routine.world(), (routine.isCancelled()) }
    end)
    world:tick(0)
    assert.equal(handle, seen[1])
    assert.equal(world, seen[2])
    assert.is_false(seen[3])
  end)
end)
