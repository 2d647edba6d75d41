-- SPDX-License-Identifier: MIT
--
-- Fixed steps: how many a tick runs, what they are given, what is dropped; routines that count
-- them.

local support = require "support"
local routine = require "weft.routine"

-- A world with steps of that many seconds, and the list of what each was given.
local function stepping(seconds)
  local world, given = support.world { fixedStep = seconds }, {}
  world:on("fixedUpdate", function(dt) given[#given + 1] = dt end)
  return world, given
end

describe("fixedUpdate", function()
  it("runs once for each step that is over, and is given the step", function()
    local world, given = stepping(0.25)
    world:tick(0.2)
    assert.same({}, given)
    world:tick(0.05)
    assert.same({ 0.25 }, given)
    world:tick(0.6)
    assert.same({ 0.25, 0.25, 0.25 }, given)
    world:tick(0.15)
    assert.equal(4, #given)
    assert.equal(4, world:stats().fixedSteps)
  end)

  it("runs between preUpdate and update, before routines", function()
    local world = support.world { fixedStep = 0.5 }
    local log = {}
    for _, phase in ipairs { "postUpdate", "update", "fixedUpdate", "preUpdate" } do
      world:on(phase, function(dt, of)
        assert.equal(world, of)
        log[#log + 1] = ("%s %g"):format(phase, dt)
      end)
    end
    world:start(function() log[#log + 1] = "routine" end)
    world:tick(1)
    assert.same({ "preUpdate 1", "fixedUpdate 0.5", "fixedUpdate 0.5", "update 1", "routine",
      "postUpdate 1" }, log)
  end)

  it("runs at most 8 times a tick, and what is beyond is dropped and counted", function()
    local world, given = stepping(0.125)
    world:tick(1)
    assert.equal(8, #given)
    assert.equal(0, world:stats().droppedSteps)
    world:tick(1.125)
    assert.equal(16, #given)
    assert.equal(1, world:stats().droppedSteps)
    world:tick(3600)
    assert.equal(24, #given)
    assert.equal(28793, world:stats().droppedSteps)
    world:tick(0.125)
    assert.equal(25, #given)
  end)

  it("comes once in each tick of its own length, for ever", function()
    for _, hz in ipairs { 30, 50, 60, 144, 7 } do
      local world, given = stepping(1 / hz)
      for i = 1, support.stress and 50 or 20000 do
        world:tick(1 / hz)
        if #given ~= i then error(("%d steps in %d ticks of 1/%d s"):format(#given, i, hz)) end
      end
    end
  end)

  it("has as many steps as sim time, whatever the ticks are", function()
    local world, given = stepping(1 / 60)
    world:tick(200 * 86400)
    local before = #given
    for _ = 1, 144 * 10 do world:tick(1 / 144) end
    assert.equal(600, #given - before)
  end)

  it("follows the time scale and stands still in a paused world", function()
    local world, given = stepping(0.5)
    world:setTimeScale(0.5)
    world:tick(1)
    assert.equal(1, #given)
    world:pause()
    world:tick(10)
    assert.equal(1, #given)
    world:resume()
    world:setTimeScale(0)
    world:tick(10)
    assert.equal(1, #given)
  end)

  it("does not run in a world without a step", function()
    local world = support.world()
    local ran = false
    world:on("fixedUpdate", function() ran = true end)
    world:tick(100)
    assert.is_false(ran)
    assert.equal(0, world:stats().fixedSteps)
  end)

  it("may be switched off from within, and one that fails is reported each time", function()
    local world = support.world { fixedStep = 1 }
    local n, sub = 0, nil
    sub = world:on("fixedUpdate", function()
      n = n + 1
      if n == 2 then sub:off() end
    end)
    local failing = world:on("fixedUpdate", function() error("bad", 0) end)
    world:tick(3)
    assert.equal(2, n)
    assert.equal(3, #support.reports())
    failing:off()
    world:tick(1)
    assert.equal(3, #support.reports())
  end)

  it("begins anew with another step, and keeps its count otherwise", function()
    local world, given = stepping(1)
    world:tick(0.75)
    world:configure { capacity = 9 }
    world:tick(0.25)
    assert.equal(1, #given)
    world:tick(0.75)
    world:configure { fixedStep = 0.5 }
    world:tick(0.25)
    assert.equal(1, #given)
    world:tick(0.25)
    assert.equal(2, #given)
    assert.equal(2, world:stats().fixedSteps)
  end)

  it("has steps from a microsecond to 1e9 s", function()
    local world, given = stepping(1e-6)
    world:tick(5e-6)
    assert.equal(5, #given)
    world, given = stepping(1e9)
    world:tick(1e9 - 1)
    assert.equal(0, #given)
    world:tick(1)
    assert.equal(1, #given)
  end)
end)

describe("routine.waitFixed #wait", function()
  -- Starts a routine that waits for those numbers of steps; the list of what it was told.
  local function waiter(world, ...)
    local told, counts = {}, { ... }
    local handle = world:start(function()
      for _, n in ipairs(counts) do told[#told + 1] = routine.waitFixed(n) end
      told.over = world.tickCount
    end)
    return told, handle
  end

  it("goes on in the tick in which the steps are over, and tells how many passed", function()
    local world = support.world { fixedStep = 0.25 }
    local told = waiter(world, 1, 2, 1)
    world:tick(5)
    world:tick(0.25)
    assert.same({ 1 }, told)
    world:tick(0.25)
    assert.same({ 1 }, told)
    world:tick(0.75)
    assert.same({ 1, 4 }, told)
    world:tick(0)
    assert.same({ 1, 4 }, told)
    world:tick(0.25)
    assert.same({ 1, 4, 1, over = 6 }, told)
  end)

  it("counts one step without an argument", function()
    local world = support.world { fixedStep = 1 }
    local got
    world:start(function() got = routine.waitFixed() end)
    world:tick(0)
    world:tick(1)
    assert.equal(1, got)
  end)

  it("gives whole numbers, however many", function()
    local world = support.world { fixedStep = 0.125 }
    local sum, turns = 0, 0
    world:start(function()
      while true do
        local n = routine.waitFixed()
        assert.equal(math.floor(n), n)
        sum, turns = sum + n, turns + 1
      end
    end)
    world:tick(0)
    for i = 1, 200 do world:tick(i % 9 / 8) end
    assert.equal(world:stats().fixedSteps, sum)
    assert.is_true(turns < sum and turns > 100)
  end)

  it("does not count steps that were dropped", function()
    local world = support.world { fixedStep = 0.5 }
    local told = waiter(world, 10)
    world:tick(0)
    world:tick(3600)
    assert.same({}, told)
    world:tick(3600)
    assert.equal(16, told[1])
  end)

  it("waits on in a paused world, and at time scale 0", function()
    local world = support.world { fixedStep = 1 }
    local told, handle = waiter(world, 1)
    world:tick(0)
    world:pause()
    world:tick(5)
    world:resume()
    world:setTimeScale(0)
    world:tick(5)
    assert.same({}, told)
    assert.equal("sleeping", handle:status())
    assert.equal("fixedSteps", world:inspect()[1].waitingOn)
    assert.is_nil(world:inspect()[1].wakesIn)
    world:setTimeScale(1)
    world:tick(1)
    assert.equal(1, told[1])
  end)

  it("works under C frames and in coroutines of the routine", function()
    local world = support.world { fixedStep = 1 }
    local told = {}
    world:start(function()
      ("x"):gsub("x", function() told[1] = routine.waitFixed(2) end)
      coroutine.wrap(function() told[2] = routine.waitFixed() end)()
      table.sort({ 2, 1 }, function(a, b)
        told[3] = routine.waitFixed(1)
        return a < b
      end)
    end)
    world:tick(0)
    world:tick(2)
    world:tick(1)
    support.ticks(9, 1, world)
    assert.same({ 2, 1, 1 }, told)
    assert.equal(0, world:stats().active)
  end)

  it("is ended by a cancel", function()
    local world = support.world { fixedStep = 1 }
    local caught
    local handle = world:start(function()
      local ok, err = pcall(routine.waitFixed, 5)
      caught = not ok and err
      error(err, 0)
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.equal(routine.Cancelled, caught)
    assert.equal("cancelled", handle:status())
  end)

  it("wakes those of one tick by their steps, then as they were armed, before sleepers", function()
    local world = support.world { fixedStep = 1 }
    local log = {}
    local function add(name, fn, n)
      world:start(function()
        fn(n)
        log[#log + 1] = name
      end)
    end
    add("sleeper", routine.wait, 1)
    add("third", routine.waitFixed, 3)
    add("first", routine.waitFixed, 1)
    add("second", routine.waitFixed, 1)
    world:tick(0)
    world:tick(3)
    assert.same({ "first", "second", "third", "sleeper" }, log)
  end)

  it("works where debug hooks are in use", function()
    local world = support.world { fixedStep = 1 }
    local told
    local count = 0
    world:start(function()
      debug.sethook(function() count = count + 1 end, "", 1)
      told = routine.waitFixed(2)
      debug.sethook()
    end)
    world:tick(0)
    support.ticks(2, 1, world)
    debug.sethook()
    assert.equal(2, told)
    assert.is_true(count > 0)
  end)
end)
