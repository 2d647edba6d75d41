-- SPDX-License-Identifier: MIT
--
-- world:run, at the speed that waits for no clock.

local support = require "support"
local routine = require "weft.routine"

describe("world:run", function()
  it("runs so many ticks of 1/hz and returns their number", function()
    local world = support.world()
    assert.equal(5, world:run{ hz = 50, ticks = 5, speed = "max" })
    assert.equal(5, world.tickCount)
    assert.near(0.1, world.simTime, 1e-6)
  end)

  it("is blamed on its caller when it is called without a world", function()
    local world = support.world()
    local _, err = pcall(function() world.run() end)
    assert.is_truthy(err:find("run_spec.lua:%d+: world:run: a world expected"), err)
  end)

  it("runs 60 ticks a second unless told otherwise", function()
    local world = support.world()
    world:run{ ticks = 60, speed = "max" }
    assert.near(1, world.simTime, 1e-6)
  end)

  it("ends when no routine is alive, without ticks or stopWhen", function()
    local world = support.world()
    local done = 0
    for i = 1, 3 do world:start(function() routine.wait(i) done = done + 1 end) end
    local ticks = world:run{ hz = 10, speed = "max" }
    assert.equal(3, done)
    assert.equal(ticks, world.tickCount)
    assert.is_true(ticks >= 30 and ticks <= 32)
    assert.equal(0, world:stats().active)
  end)

  it("ends when stopWhen says so, whoever is alive", function()
    local world = support.world()
    local turns = 0
    world:start(function() while true do turns = turns + 1 routine.nextTick() end end)
    world:run{ speed = "max", stopWhen = function() return turns >= 7 end }
    assert.equal(7, turns)
    assert.equal(1, world:stats().active)
  end)

  it("runs its ticks although no routine is alive", function()
    local world = support.world()
    local calls = 0
    world:on("update", function() calls = calls + 1 end)
    assert.equal(4, world:run{ ticks = 4, speed = "max" })
    assert.equal(4, calls)
    assert.equal(0, world:run{ ticks = 0, speed = "max" })
  end)

  it("may be called again", function()
    local world = support.world()
    world:run{ ticks = 2, speed = "max" }
    world:run{ ticks = 3, speed = "max" }
    assert.equal(5, world.tickCount)
  end)

  it("lets an error of stopWhen through and can be called again", function()
    local world = support.world()
    local ok, err = pcall(world.run, world,
      { speed = "max", stopWhen = function() error("stop", 0) end })
    assert.is_false(ok)
    assert.equal("stop", err)
    assert.equal(1, world:run{ ticks = 1, speed = "max" })
  end)

  local bad = {
    { "a rate of zero", { hz = 0 } }, { "a negative rate", { hz = -60 } },
    { "a rate that is NaN", { hz = 0 / 0 } }, { "an infinite rate", { hz = math.huge } },
    { "a negative number of ticks", { ticks = -1 } },
    { "a fractional number of ticks", { ticks = 1.5 } },
    { "ticks that are a string", { ticks = "many" } },
    { "a stopWhen that is no function", { stopWhen = true } },
    { "a speed that does not exist", { speed = "fast" } },
  }
  for _, case in ipairs(bad) do
    it("refuses " .. case[1] .. ", at the caller's line", function()
      local world = support.world()
      local ok, message = pcall(function() world:run(case[2]) end)
      assert.is_false(ok)
      assert.truthy(message:find("run_spec.lua:%d+: world:run: "), message)
      assert.equal(0, world.tickCount)
    end)
  end
end)
