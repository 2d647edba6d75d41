-- SPDX-License-Identifier: MIT
-- world:run at the speed of the clock, which here is one that the spec moves by hand.

local support = require "support"
local core = require "weft.core"

local clock, sleepUntil = core.clock, core.sleepUntil

-- A clock that only sleeping moves, and what `tick(n)` says the nth tick takes. Returns the list of
-- dts and the list of times at which the ticks began.
local function run(options, tick)
  local now, dts, times = 1000, {}, {}
  core.clock = function() return now end
  core.sleepUntil = function(t) now = math.max(now, t) end
  local world = support.world()
  world:on("preUpdate", function(dt)
    dts[#dts + 1], times[#times + 1] = dt, now - 1000
    now = now + (tick and tick(#dts) or 0)
  end)
  world:run(options)
  return dts, times, world
end

local function near(expected, list)
  assert.equal(#expected, #list)
  for i, value in ipairs(expected) do assert.near(value, list[i], 1e-9) end
end

describe("world:run at real speed", function()
  after_each(function() core.clock, core.sleepUntil = clock, sleepUntil end)

  it("ticks once a period, the first time after one", function()
    local dts, times = run { hz = 10, ticks = 4 }
    near({ 0.1, 0.1, 0.1, 0.1 }, dts)
    near({ 0.1, 0.2, 0.3, 0.4 }, times)
  end)

  it("is not moved off its grid by what a tick takes", function()
    local dts, times = run({ hz = 10, ticks = 4 }, function() return 0.07 end)
    near({ 0.1, 0.1, 0.1, 0.1 }, dts)
    near({ 0.1, 0.2, 0.3, 0.4 }, times)
  end)

  it("does not drift in an hour", function()
    local dts, times, world = run({ hz = 60, ticks = 216000 }, function(n) return n % 7 / 500 end)
    assert.equal(216000, #dts)
    assert.near(3600, times[#times], 1e-6)
    assert.near(3600, world.simTime, 1e-3)
  end)

  it("gives a late tick the time that passed, and makes up for none", function()
    local dts, times = run({ hz = 10, ticks = 4 }, function(n) return n == 2 and 0.23 or 0 end)
    near({ 0.1, 0.1, 0.23, 0.07 }, dts)
    near({ 0.1, 0.2, 0.43, 0.5 }, times)
  end)

  it("gives no tick more than a quarter of a second", function()
    local dts, times = run({ hz = 10, ticks = 3 }, function(n) return n == 1 and 60 or 0 end)
    near({ 0.1, 0.25, 0.1 }, dts)
    near({ 0.1, 60.1, 60.2 }, times)
  end)

  it("gives a slow world its whole period", function()
    near({ 2, 2 }, (run { hz = 0.5, ticks = 2 }))
  end)
end)
