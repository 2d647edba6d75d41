-- SPDX-License-Identifier: MIT
--
-- Time scales of owners: what they own waits on their own clocks.

local support = require "support"
local routine = require "weft.routine"

-- Ticks until the routine has ended; the sim time that took.
local function run(world, handle, dt)
  local from = world.simTime
  for _ = 1, 10000 do
    local status = handle:status()
    if status ~= "queued" and status ~= "sleeping" then break end
    world:tick(dt)
  end
  assert.equal("completed", handle:status())
  return world.simTime - from
end

describe("owner:setTimeScale", function()
  it("makes waits shorter and longer, and returns true", function()
    local world = support.world()
    for _, case in ipairs { { 2, 4 }, { 0.5, 16 }, { 1, 8 }, { 8, 1 }, { 0.25, 32 } } do
      local owner = world:owner()
      local slept
      local handle = owner:start(function() slept = routine.wait(8) end)
      world:tick(0)
      assert.is_true(owner:setTimeScale(case[1]))
      assert.equal(case[2], run(world, handle, 0.5))
      assert.equal(8, slept)
    end
  end)

  it("leaves all others alone", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(10)
    local handle = world:start(function() return routine.wait(2) end)
    local sibling = world:owner():start(function() return routine.wait(2) end)
    world:tick(0)
    assert.equal(2, run(world, handle, 0.25))
    assert.equal("completed", sibling:status())
  end)

  it("multiplies down the tree, and with the world's", function()
    local world = support.world()
    local top = world:owner()
    local child = world:owner(top)
    local slept
    local handle = child:start(function() slept = routine.wait(12) end)
    world:tick(0)
    top:setTimeScale(2)
    child:setTimeScale(3)
    world:setTimeScale(2)
    world:tick(0.5)
    assert.equal("sleeping", handle:status())
    world:tick(0.5)
    assert.equal("completed", handle:status())
    assert.equal(12, slept)
    local late = world:owner(child):start(function() slept = routine.wait(6) end)
    world:tick(0)
    world:tick(0.5)
    assert.equal("completed", late:status())
    assert.equal(6, slept)
  end)

  it("may change at any time in a wait, any number of times", function()
    local world = support.world()
    local owner = world:owner()
    local slept
    local handle = owner:start(function() slept = routine.wait(10) end)
    world:tick(0)
    world:tick(4)
    owner:setTimeScale(2)
    world:tick(1)
    owner:setTimeScale(0.5)
    world:tick(6)
    owner:setTimeScale(1)
    world:tick(0.5)
    assert.equal("sleeping", handle:status())
    world:tick(0.5)
    assert.equal("completed", handle:status())
    assert.equal(10, slept)
  end)

  it("at 0 freezes waits, and what was left is left later", function()
    local world = support.world()
    local owner = world:owner()
    local slept
    local handle = owner:start(function() slept = routine.wait(3) end)
    world:tick(0)
    world:tick(1)
    owner:setTimeScale(0)
    support.ticks(100, 10)
    assert.equal("sleeping", handle:status())
    owner:setTimeScale(1)
    world:tick(1.5)
    assert.equal("sleeping", handle:status())
    world:tick(0.5)
    assert.equal("completed", handle:status())
    assert.equal(3, slept)
  end)

  it("at 0 lets nextTick and real time go on", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(0)
    local turns, real, passed = 0, nil, nil
    owner:start(function() while turns < 5 do passed = routine.nextTick() turns = turns + 1 end end)
    owner:start(function() real = routine.waitUnscaled(3) end)
    local begun
    local asleep = owner:start(function() begun = true routine.wait(0.5) end)
    support.ticks(6)
    assert.equal(5, turns)
    assert.equal(0, passed)
    assert.equal(3, real)
    assert.is_true(begun)
    assert.equal("sleeping", asleep:status())
  end)

  it("at 0 leaves wait(0) the next tick", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(0)
    local handle = owner:start(function() return routine.wait(0) end)
    support.settle(2)
    assert.equal("completed", handle:status())
  end)

  it("at 0 still lets them be cancelled and destroyed", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(0)
    local over = false
    owner:onDestroyed(function() over = true end)
    local first = owner:start(function() routine.wait(1) end)
    owner:start(function() routine.wait(1) end)
    world:tick(0)
    first:cancel()
    world:tick(0)
    assert.equal("cancelled", first:status())
    owner:destroy()
    world:tick(0)
    assert.is_true(over)
  end)

  it("is the clock of time limits", function()
    local world = support.world()
    local owner = world:owner()
    local long = world:start(function() routine.wait(1000) end)
    local got
    owner:setTimeScale(0)
    owner:start(function() got = { routine.join(long, 4) } end)
    support.ticks(20)
    assert.is_nil(got)
    owner:setTimeScale(2)
    world:tick(1)
    assert.is_nil(got)
    world:tick(1)
    assert.same({ nil, "timeout" }, got)
  end)

  it("does not keep a join from its end", function()
    local world = support.world()
    local owner = world:owner()
    local done = world:start(function() routine.wait(1) return "done" end)
    local got
    owner:setTimeScale(0)
    owner:start(function() got = { routine.join(done, 4) } end)
    support.ticks(4)
    assert.same({ true, "done" }, got)
  end)

  it("gives nextTick the seconds of the owner's clock", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(0.5)
    local sum = 0
    owner:start(function() while true do sum = sum + routine.nextTick() end end)
    support.ticks(9, 0.25)
    assert.equal(1, sum)
  end)

  it("stands still while the world is paused", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(4)
    local handle = owner:start(function() routine.wait(4) end)
    world:tick(0)
    world:pause()
    support.ticks(10)
    assert.equal("sleeping", handle:status())
    world:resume()
    world:tick(1)
    assert.equal("completed", handle:status())
  end)

  it("does not drift over many odd ticks and changes", function()
    local world = support.world()
    local owner = world:owner()
    local wakes, total = 0, 0
    owner:start(function()
      while true do
        total = total + routine.wait(1)
        wakes = wakes + 1
      end
    end)
    world:tick(0)
    local n = support.stress and 300 or 30000
    for i = 1, n do
      owner:setTimeScale(i % 2 == 0 and 1 / 3 or 5 / 3)
      world:tick(0.1)
    end
    -- A wake comes at the first tick that is due, 0.1 s late on average.
    assert.is_true(math.abs(n / 10 - total) < 1.2)
    assert.is_true(wakes > n / 10 * 0.8)
  end)

  it("wakes after thirds as the world does", function()
    local world = support.world()
    for _, scale in ipairs { 1, 2, 0.5, 3, 7 } do
      local owner = world:owner()
      owner:setTimeScale(scale)
      local handle = owner:start(function() routine.wait(1) end)
      world:tick(0)
      for _ = 1, 2 do world:tick(1 / 3 / scale) end
      assert.equal("sleeping", handle:status())
      world:tick(1 / 3 / scale)
      assert.equal("completed", handle:status())
    end
  end)

  it("does not wake fast clocks ahead of their time", function()
    local world = support.world()
    local owner = world:owner()
    owner:setTimeScale(1e6)
    local handle = owner:start(function() routine.wait(0.9) end)
    world:tick(0)
    world:tick(0)
    assert.equal("sleeping", handle:status())
    world:tick(1e-6)
    assert.equal("completed", handle:status())
  end)

  it("takes scales from end to end", function()
    local world = support.world()
    local owner = world:owner()
    local handle = owner:start(function() routine.wait(1e9) end)
    world:tick(0)
    for _, scale in ipairs { 1e-300, 0, 1e300, 1e-300, 1, 1e18, 0 } do
      owner:setTimeScale(scale)
      world:tick(1)
    end
    assert.equal("completed", handle:status())
  end)

  it("keeps deadlines that fall together in the order in which they were armed", function()
    local world = support.world()
    local a, b = world:owner(), world:owner()
    local log = {}
    for i = 1, 6 do
      local owner = i % 2 == 1 and a or b
      owner:start(function() routine.wait(3) log[#log + 1] = i end)
    end
    world:tick(0)
    b:setTimeScale(0)
    a:setTimeScale(2)
    world:tick(1)
    b:setTimeScale(3)
    a:setTimeScale(1)
    world:tick(1)
    assert.same({ 1, 2, 3, 4, 5, 6 }, log)
  end)

  it("counts from the call when set from inside", function()
    local world = support.world()
    local owner = world:owner()
    local slept
    local handle = owner:start(function()
      owner:setTimeScale(4)
      slept = routine.wait(4)
    end)
    world:tick(5)
    world:tick(1)
    assert.equal("completed", handle:status())
    assert.equal(4, slept)
  end)

  it("is the clock of every and of waitUntil's time limit", function()
    local world = support.world()
    local owner = world:owner()
    local turns, met = 0, nil
    owner:start(function() for n in routine.every(1) do turns = turns + n end end)
    owner:start(function() met = { routine.waitUntil(function() return false end, 4) } end)
    owner:setTimeScale(2)
    world:tick(0)
    world:tick(1)
    world:tick(0.5)
    assert.equal(3, turns)
    assert.is_nil(met)
    owner:setTimeScale(0)
    support.ticks(10)
    assert.equal(3, turns)
    owner:setTimeScale(0.5)
    support.ticks(2)
    assert.equal(4, turns)
    assert.same({ false, "timeout" }, met)
  end)

  it("agrees with a slow obvious model", function()
    local world = support.world()
    local seed = 12345
    local function random(n)
      seed = (seed * 16807) % 2147483647
      return seed % n + 1
    end
    local scales = { 0, 0.25, 0.5, 1, 2, 4 }
    for _ = 1, support.stress and 5 or 100 do
      local top = world:owner()
      local owners, model = { top, world:owner(top), world:owner(top) }, {}
      local scale = { 1, 1, 1 }
      for i = 1, 3 do
        for _ = 1, 3 do
          local seconds = random(40) / 4
          local entry = { owner = i, left = seconds }
          entry.handle = owners[i]:start(function() entry.slept = routine.wait(seconds) end)
          entry.seconds = seconds
          model[#model + 1] = entry
        end
      end
      world:tick(0)
      for _ = 1, 40 do
        local which = random(6)
        if which <= 3 then
          scale[which] = scales[random(6)]
          owners[which]:setTimeScale(scale[which])
        end
        local dt = random(8) / 8
        world:tick(dt)
        for _, entry in ipairs(model) do
          local rate = scale[1] * (entry.owner > 1 and scale[entry.owner] or 1)
          if entry.left > 0 then
            entry.left = entry.left - dt * rate
            if entry.left <= 0 then
              assert.equal("completed", entry.handle:status())
              assert.equal(entry.seconds - entry.left, entry.slept)
            else
              assert.equal("sleeping", entry.handle:status())
            end
          end
        end
      end
      top:destroy()
      world:tick(0)
    end
  end)
end)
