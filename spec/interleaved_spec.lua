-- SPDX-License-Identifier: MIT
--
-- What C functions hold while a routine waits in them, and what others do meanwhile.

local support = require "support"
local routine = require "weft.routine"

describe("a list that others change while table.sort waits in its comparator #wait", function()
  -- The sort may find its comparator inconsistent, and says so; nothing else comes of it.
  local function sortWhile(change)
    local world = support.world()
    local list, answer = {}, nil
    for i = 1, 12 do list[i] = i * 7 % 13 end
    local handle = world:start(function()
      answer = { pcall(table.sort, list, function(a, b)
        routine.nextTick()
        return (a or 0) < (b or 0)
      end) }
    end)
    for tick = 1, 200 do
      world:tick(0)
      change(list, tick)
    end
    assert.equal("completed", handle:status())
    if not answer[1] then
      assert.truthy(tostring(answer[2]):find("invalid order function", 1, true), answer[2])
    end
    return answer[1]
  end

  it("is sorted when nothing is changed", function()
    assert.is_true(sortWhile(function() end))
  end)

  it("may get other values", function()
    sortWhile(function(list, tick) list[tick % 12 + 1] = tick * 5 % 11 end)
  end)

  it("may lose values", function()
    sortWhile(function(list, tick) list[tick % 12 + 1] = nil end)
  end)

  it("may grow and be collected from", function()
    sortWhile(function(list, tick)
      list[12 + tick] = tick
      if tick % 20 == 0 then support.collect() end
    end)
  end)
end)

-- Hardened C libraries abort when a long jump goes to another stack than it was meant for.
describe("errors thrown through many protected calls that wait side by side #wait", function()
  it("are each caught on the stack that they were thrown on", function()
    local world = support.world()
    local bad = 0
    for i = 1, 16 do
      world:start(function()
        for k = 1, 50 do
          local ok, err = pcall(function()
            local inner = pcall(function()
              routine.wait(i % 3)
              error("in", 0)
            end)
            if inner then bad = bad + 1 end
            table.sort({ 2, 1 }, function()
              routine.nextTick()
              error(k, 0)
            end)
          end)
          if ok or err ~= k then bad = bad + 1 end
        end
      end)
    end
    support.ticks(400)
    assert.equal(0, bad)
    assert.equal(16, world:stats().completed)
  end)
end)

describe("routines that each start the next", function()
  it("are one a tick, also in ticks in which no time passes", function()
    local world = support.world { capacity = 4 }
    local born = 0
    local function breed()
      born = born + 1
      routine.start(breed)
    end
    world:start(breed)
    for tick = 1, 50 do
      assert.equal(1, world:tick(tick % 2))
      assert.equal(tick, born)
    end
  end)

  it("wait from the tick in which they run, however long it was", function()
    local world = support.world()
    local woke = {}
    world:start(function()
      routine.wait(1)
      routine.start(function()
        routine.wait(1)
        woke[#woke + 1] = world.simTime
      end)
      routine.wait(1)
      woke[#woke + 1] = world.simTime
    end)
    world:tick(0)
    world:tick(50)
    assert.same({}, woke)
    world:tick(1)
    assert.same({ 51 }, woke)
    world:tick(1)
    assert.same({ 51, 52 }, woke)
  end)
end)

describe("waits on and beside the edges of powers of two and of minutes", function()
  it("end in the first tick that reaches them, whoever is cancelled", function()
    local unit, dt, count = 0.001, 0.4, support.stress and 300 or 3000
    local world = support.world { capacity = count }
    local seed = 7
    local function random(n)
      seed = (seed * 16807) % 2147483647
      return seed % n
    end
    local due, woke, handles, dead = {}, {}, {}, {}
    for i = 1, count do
      due[i] = (2 ^ random(17) + random(3) - 1) * unit
      if i % 5 == 0 then due[i] = 60 * (1 + random(3)) + (random(3) - 1) * unit end
      handles[i] = world:start(function()
        routine.wait(due[i])
        woke[i] = world.tickCount
      end)
    end
    world:tick(0)
    for i = 1, count, 7 do dead[i] = handles[i]:cancel() end
    for _ = 1, 500 do world:tick(dt) end
    for i = 1, count do
      -- Ticks are 400 units long: whole numbers tell which one comes first.
      local tick = math.max(1, math.ceil(math.floor(due[i] / unit + 0.5) / 400)) + 1
      assert.equal(not dead[i] and tick or nil, woke[i])
    end
  end)

  it("never end early, however long they are", function()
    local world = support.world()
    local early, normal = 0, false
    for _, seconds in ipairs { 1e9, 2 ^ 29, 2 ^ 24 + 0.5, 1e9 - 1e-3 } do
      world:start(function()
        routine.wait(seconds)
        early = early + 1
      end)
    end
    world:start(function()
      routine.wait(1)
      normal = true
    end)
    world:tick(0)
    for _ = 1, 100 do world:tick(0.1) end
    assert.equal(0, early)
    assert.is_true(normal)
    world:tick(1e9)
    assert.equal(4, early)
  end)
end)
