-- SPDX-License-Identifier: MIT
--
-- How many routines one tick resumes, in which order, and who is first in the next one.

local support = require "support"
local log = require "support.log"
local routine = require "weft.routine"

local logged = log.read

before_each(log.clear)

local function spinner(name)
  return function()
    while true do
      log[#log + 1] = name
      routine.nextTick()
    end
  end
end

describe("the budget of resumes", function()
  it("serves 100,000 ready routines at 1,024 a tick once each in 98 ticks", function()
    local count = 100000
    local world = support.world{ capacity = count, resumesPerTick = 1024 }
    local turns, twice = {}, 0
    for i = 1, count do
      turns[i] = 0
      world:start(function()
        while true do
          turns[i] = turns[i] + 1
          if turns[i] == 2 then twice = twice + 1 end
          routine.nextTick()
        end
      end)
    end
    for _ = 1, 97 do assert.equal(1024, world:tick(0)) end
    assert.equal(0, twice)
    assert.equal(1024, world:tick(0))
    local served = 0
    for i = 1, count do if turns[i] >= 1 then served = served + 1 end end
    assert.equal(count, served)
    assert.equal(98 * 1024 - count, twice)
  end)

  it("puts what is left over first in the next tick", function()
    local world = support.world{ resumesPerTick = 2 }
    for _, name in ipairs{ "a", "b", "c" } do world:start(spinner(name)) end
    world:tick(0)
    assert.equal("a b", logged())
    world:tick(0)
    assert.equal("c a", logged())
    world:tick(0)
    assert.equal("b c", logged())
  end)

  it("puts what is left over before what starts later", function()
    local world = support.world{ resumesPerTick = 1 }
    for _, name in ipairs{ "a", "b" } do world:start(spinner(name)) end
    world:tick(0)
    world:start(spinner "new")
    world:tick(0)
    world:tick(0)
    world:tick(0)
    world:tick(0)
    assert.equal("a b a new b", logged())
  end)

  it("serves everybody equally often", function()
    local world = support.world{ resumesPerTick = 10 }
    local turns = {}
    for i = 1, 100 do
      turns[i] = 0
      world:start(function()
        while true do turns[i] = turns[i] + 1 routine.nextTick() end
      end)
    end
    for _ = 1, 205 do world:tick(0.016) end
    for i = 1, 100 do assert.is_true(turns[i] == 20 or turns[i] == 21, i) end
  end)

  it("lets sleepers that are due wait for their turn, in order", function()
    local world = support.world{ resumesPerTick = 2 }
    for _, name in ipairs{ "a", "b", "c", "d", "e" } do
      world:start(function() routine.wait(1) log[#log + 1] = name end)
    end
    for _ = 1, 3 do world:tick(0) end
    world:tick(2)
    assert.equal("a b", logged())
    world:tick(0)
    assert.equal("c d", logged())
    world:tick(0)
    assert.equal("e", logged())
  end)

  it("runs what is ready before what becomes due", function()
    local world = support.world()
    world:start(function() routine.wait(1) log[#log + 1] = "due" end)
    world:tick(0)
    world:start(function() log[#log + 1] = "ready" end)
    world:tick(1)
    assert.equal("ready due", logged())
  end)

  it("runs the cancelled, then real time, then the ready, then the due", function()
    local world = support.world()
    world:start(function() routine.wait(1) log[#log + 1] = "due" end)
    world:start(function() routine.waitUnscaled(1) log[#log + 1] = "real" end)
    local doomed = world:start(function()
      routine.defer(function() log[#log + 1] = "cancelled" end)
      routine.wait(1)
    end)
    world:tick(0)
    world:start(function() log[#log + 1] = "ready" end)
    doomed:cancel()
    world:tick(1)
    assert.equal("cancelled real ready due", logged())
  end)

  it("does not hold back the cancelled", function()
    local world = support.world{ resumesPerTick = 1 }
    local handles = {}
    for i = 1, 5 do
      handles[i] = world:start(function()
        routine.defer(function() log[#log + 1] = i end)
        routine.wait(9)
      end)
    end
    support.settle(5)
    world:start(function() log[#log + 1] = "ready" end)
    for i = 1, 5 do handles[i]:cancel() end
    assert.equal(6, world:tick(0))
    assert.equal("1 2 3 4 5 ready", logged())
  end)

  it("holds for the waits of real time as well", function()
    local world = support.world{ resumesPerTick = 2 }
    for i = 1, 3 do
      world:start(function() routine.waitUnscaled(1) log[#log + 1] = "real" .. i end)
    end
    support.settle(2)
    world:start(function() log[#log + 1] = "ready" end)
    world:tick(1)
    assert.equal("real1 real2", logged())
    world:tick(0)
    assert.equal("real3 ready", logged())
  end)

  -- Each lane with somebody who comes back at once: nobody else may wait for ever for that.
  for _, budget in ipairs { 1, 2, 3 } do
    it("of " .. budget .. " lets no lane starve another", function()
      local world = support.world{ resumesPerTick = budget }
      local turns, told = {}, 0
      local doomed = world:start(function()
        while true do pcall(routine.wait, 9) told = told + 1 end
      end)
      local function forever(name, wait)
        turns[name] = 0
        world:start(function()
          while true do
            turns[name] = turns[name] + 1
            wait()
          end
        end)
      end
      for i = 1, 4 do forever("real " .. i, function() routine.waitUnscaled(0) end) end
      for i = 1, 4 do forever("tick " .. i, routine.nextTick) end
      for i = 1, 4 do forever("time " .. i, function() routine.wait(0.001) end) end
      forever("bare", coroutine.yield)
      for _ = 1, 14 do world:tick(0.01) end
      doomed:cancel()
      for _ = 1, 130 do world:tick(0.01) end
      assert.equal(8, told) -- outside of the budget
      for name, count in pairs(turns) do assert.is_true(count >= 5 * budget, name) end
      assert.equal(1, #support.reports())
    end)
  end

  it("serves what is left over before what has become due in real time", function()
    local world = support.world{ resumesPerTick = 2 }
    world:start(function() routine.waitUnscaled(1) log[#log + 1] = "real" end)
    world:tick(0)
    for _, name in ipairs{ "a", "b", "c", "d" } do world:start(spinner(name)) end
    world:tick(0)
    world:tick(1)
    assert.equal("a b c d", logged())
    world:tick(0)
    assert.equal("real a", logged())
  end)

  it("serves what two lanes have left over in turns", function()
    local world = support.world{ resumesPerTick = 2 }
    for i = 1, 4 do
      world:start(function() routine.waitUnscaled(1) log[#log + 1] = "real" .. i end)
    end
    support.settle(2)
    for _, name in ipairs{ "a", "b", "c" } do world:start(spinner(name)) end
    world:tick(1)
    world:tick(0)
    assert.equal("real1 real2 real3 a", logged())
    world:tick(0)
    assert.equal("real4 b", logged())
    world:tick(0)
    assert.equal("c a", logged())
  end)

  it("is without limit when none is given", function()
    local world = support.world{ capacity = 5000 }
    for _ = 1, 5000 do world:start(function() routine.wait(1) end) end
    assert.equal(5000, world:tick(0))
    assert.equal(5000, world:tick(1))
  end)

  it("stands at exactly one when it is one", function()
    local world = support.world{ resumesPerTick = 1 }
    for _ = 1, 3 do world:start(function() end) end
    assert.equal(1, world:tick(0))
    assert.equal(1, world:tick(0))
    assert.equal(1, world:tick(0))
    assert.equal(0, world:tick(0))
  end)

  it("never resumes a routine twice in one tick", function()
    local world = support.world()
    local most = 0
    for i = 1, 20 do
      world:start(function()
        while true do
          local tick = world.tickCount
          if i % 2 == 0 then routine.wait(0) else routine.nextTick() end
          most = math.max(most, 1)
          if world.tickCount == tick then most = 2 end
        end
      end)
    end
    support.ticks(20, 0.016)
    assert.equal(1, most)
  end)

  it("finds a routine that is left over still queued, and can cancel it", function()
    local world = support.world{ resumesPerTick = 1 }
    world:start(spinner "a")
    local second = world:start(spinner "b")
    local third = world:start(spinner "c")
    world:tick(0)
    assert.equal("queued", second:status())
    assert.is_true(second:cancel())
    assert.equal("cancelled", second:status())
    world:tick(0)
    assert.equal("a c", logged())
    assert.equal("sleeping", third:status())
  end)
end)

describe("random sleeps and cancels", function()
  -- The order against which the scheduler is held: a list sorted by deadline, then by call.
  it("wake in the order of a sorted list", function()
    local world = support.world{ capacity = 3000 }
    local seed = 12345
    local function random(n)
      seed = seed * 16807 % 2147483647
      return seed % n
    end
    local unit, expected, woken, handles = 0.001, {}, {}, {}
    for i = 1, 3000 do
      local delay = (2 ^ random(14) + random(3) - 1) * unit
      if i % 5 == 0 then delay = 60 * (1 + random(3)) + (random(3) - 1) * unit end
      expected[i] = { delay = math.floor(delay * 1e9 + 0.5), index = i }
      handles[i] = world:start(function() routine.wait(delay) woken[#woken + 1] = i end)
    end
    world:tick(0)
    for i = 1, 3000, 7 do
      handles[i]:cancel()
      expected[i].dead = true
    end
    table.sort(expected, function(a, b)
      if a.delay ~= b.delay then return a.delay < b.delay end
      return a.index < b.index
    end)
    for _ = 1, 500 do world:tick(0.4) end
    local n = 0
    for _, entry in ipairs(expected) do
      if not entry.dead then
        n = n + 1
        assert.equal(entry.index, woken[n])
      end
    end
    assert.equal(n, #woken)
    assert.equal(0, world:stats().active)
  end)
end)
