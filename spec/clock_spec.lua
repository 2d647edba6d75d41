-- SPDX-License-Identifier: MIT
--
-- Time is whole nanoseconds with the rest of each dt carried on: it neither drifts nor gets
-- coarse, and what is not a time is refused.

local support = require "support"
local routine = require "weft.routine"

describe("the clock", function()
  it("ends wait(1) after three ticks of a third of a second", function()
    local world = support.world()
    local slept
    world:start(function() slept = routine.wait(1) end)
    world:tick(0)
    world:tick(1 / 3)
    world:tick(1 / 3)
    assert.is_nil(slept)
    world:tick(1 / 3)
    assert.near(1, slept, 1e-6)
  end)

  it("ends wait(1) after n ticks of 1/n for many n", function()
    for _, n in ipairs{ 3, 7, 9, 11, 13, 49, 60, 144, 1000 } do
      local world = support.world()
      local done = false
      world:start(function() routine.wait(1) done = true end)
      world:tick(0)
      for _ = 1, n - 1 do world:tick(1 / n) end
      assert.is_false(done, "too early for n = " .. n)
      world:tick(1 / n)
      assert.is_true(done, "late for n = " .. n)
    end
  end)

  it("counts a deadline less than a microsecond ahead as due", function()
    local world = support.world()
    local done = false
    world:start(function() routine.wait(1) done = true end)
    world:tick(0)
    world:tick(1 - 0.9e-6)
    assert.is_true(done)
  end)

  it("does not count a deadline two microseconds ahead as due", function()
    local world = support.world()
    local done = false
    world:start(function() routine.wait(1) done = true end)
    world:tick(0)
    world:tick(1 - 2e-6)
    assert.is_false(done)
    world:tick(2e-6)
    assert.is_true(done)
  end)

  it("keeps time over a million frames of 1/144 s", function()
    local world = support.world()
    for _ = 1, 1e6 do world:tick(1 / 144) end
    assert.near(1e6 / 144, world.simTime, 1e-6)
    assert.near(1e6 / 144, world.realTime, 1e-6)
  end)

  it("keeps time over 200 days of a dt with the fraction of 1/144", function()
    -- 24 s + 1/144 s loses as much per tick as 1/144 s does, and 200 days take few of them.
    local world = support.world()
    local dt = 24 + 1 / 144
    local ticks = math.floor(200 * 86400 / dt)
    for _ = 1, ticks do world:tick(dt) end
    assert.near(ticks * dt, world.simTime, 1e-5)
    assert.near(ticks * dt, world.realTime, 1e-5)
  end)

  it("carries the rest of a dt smaller than a nanosecond", function()
    local world = support.world()
    for _ = 1, 4096 do world:tick(2 ^ -32) end
    assert.near(2 ^ -20, world.simTime, 2e-9)
    assert.near(2 ^ -20, world.realTime, 2e-9)
  end)

  it("carries the rest of a scaled dt as well", function()
    local world = support.world()
    world:setTimeScale(1 / 3)
    for _ = 1, 30000 do world:tick(1 / 144) end
    assert.near(30000 / 144 / 3, world.simTime, 1e-6)
  end)

  it("wakes a ticking routine as often after a year as on the first day", function()
    local world = support.world()
    world:tick(365 * 86400)
    local turns, last = 0, world.simTime
    world:start(function() while true do turns = turns + 1 routine.wait(0.02) end end)
    for _ = 1, 1440 do
      world:tick(1 / 144)
      assert.is_true(world.simTime > last)
      last = world.simTime
    end
    assert.near(365 * 86400 + 10, world.simTime, 1e-4)
    assert.is_true(turns >= 470 and turns <= 501)
  end)

  it("measures a wait from the tick in which it was called", function()
    local world = support.world()
    for _ = 1, 100 do world:tick(0.3) end
    local took
    world:start(function()
      local from = world.simTime
      routine.wait(10)
      took = world.simTime - from
    end)
    world:tick(0)
    world:tick(9.9)
    assert.is_nil(took)
    world:tick(0.2)
    assert.is_true(took >= 10)
  end)

  it("gives every routine of a tick the same time", function()
    local world = support.world()
    local times = {}
    for i = 1, 5 do world:start(function() routine.wait(0.1 * i) times[i] = world.simTime end) end
    world:tick(0)
    world:tick(1)
    assert.same({ 1, 1, 1, 1, 1 }, times)
  end)

  it("ends one wait once, however late the tick is", function()
    local world = support.world()
    local log = {}
    world:start(function()
      for i = 1, 3 do log[i] = routine.wait(0.1) end
    end)
    world:tick(0)
    world:tick(60)
    assert.same({ 60 }, log)
    world:tick(60)
    assert.same({ 60, 60 }, log)
  end)

  it("lets a wait of the longest allowed time be neither early nor broken", function()
    local world = support.world()
    local done = false
    world:start(function() routine.wait(1e9) done = true end)
    world:tick(0)
    world:tick(1e9 - 1)
    assert.is_false(done)
    world:tick(1)
    assert.is_true(done)
  end)
end)

describe("the dt of a tick", function()
  it("may be zero, negative zero, tiny, and an integer", function()
    local world = support.world()
    world:tick(0)
    world:tick(-0.0)
    world:tick(5e-324)
    world:tick(2)
    assert.equal(2, world.simTime)
    assert.equal(4, world.tickCount)
  end)

  it("may be as large as 9e9 but must not overflow the clock", function()
    local world = support.world()
    world:tick(9e9)
    assert.equal(9e9, world.realTime)
    assert.has_error(function() world:tick(9e9) end)
    assert.equal(9e9, world.realTime)
    assert.equal(9e9, world.simTime)
    assert.equal(1, world.tickCount)
    world:tick(1)
    assert.equal(9e9 + 1, world.simTime)
  end)

  it("must not overflow the sim clock through the time scale", function()
    local world = support.world()
    world:setTimeScale(1e6)
    assert.has_error(function() world:tick(1e6) end)
    assert.equal(0, world.simTime)
    assert.equal(0, world.realTime)
    world:tick(1)
    assert.equal(1e6, world.simTime)
  end)

  it("leaves sleepers unharmed when it is refused", function()
    local world = support.world()
    local slept
    world:start(function() slept = routine.wait(2) end)
    world:tick(0)
    pcall(world.tick, world, 0 / 0)
    pcall(world.tick, world, -5)
    world:tick(1)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(2, slept)
  end)
end)
