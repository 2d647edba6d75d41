-- SPDX-License-Identifier: MIT
--
-- Waiting for another routine to end.

local support = require "support"
local routine = require "weft.routine"

local pack = support.pack

describe("routine.join #wait", function()
  it("returns true and all results", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1) return 1, nil, "three", nil end)
    local got
    world:start(function() got = pack(routine.join(target)) end)
    world:tick(0)
    assert.is_nil(got)
    support.ticks(2)
    assert.same({ n = 5, true, 1, nil, "three", nil }, got)
  end)

  it("returns true alone for a routine without results", function()
    local world = support.world()
    local target = world:start(function() end)
    local got = pack(support.inside(function() return routine.join(target) end))
    assert.same({ n = 1, true }, got)
    assert.equal("completed", target:status())
    assert.is_true(world.tickCount >= 1)
  end)

  it("returns false and the error of one that failed", function()
    local world = support.world()
    local problem = { code = 1 }
    local target = world:start(function() routine.wait(1) error(problem) end)
    local got
    world:start(function() got = pack(routine.join(target)) end)
    support.ticks(4)
    assert.same({ n = 2, false, problem }, got)
    assert.equal(problem, got[2])
  end)

  it("returns false and Cancelled of one that was cancelled", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1e6) end)
    local got = {}
    for i = 1, 3 do
      world:start(function() got[i] = pack(routine.join(target)) end)
    end
    world:tick(0)
    target:cancel()
    support.settle(3)
    for i = 1, 3 do assert.same({ n = 2, false, routine.Cancelled }, got[i]) end
  end)

  it("returns at once, without a tick, when the routine has ended", function()
    local world = support.world()
    local done = world:start(function() return "x" end)
    local gone = world:start(function() end)
    gone:cancel()
    world:tick(0)
    local got, tick = {}, nil
    world:start(function()
      tick = world.tickCount
      got[1] = pack(routine.join(done))
      got[2] = pack(routine.join(gone))
      tick = world.tickCount - tick
    end)
    world:tick(0)
    assert.equal(0, tick)
    assert.same({ n = 2, true, "x" }, got[1])
    assert.same({ n = 2, false, routine.Cancelled }, got[2])
  end)

  it("returns nil and expired for a handle whose slot was reused", function()
    local world = support.world{ capacity = 1 }
    local old = world:start(function() end)
    world:tick(0)
    local got
    world:start(function() got = pack(routine.join(old)) end)
    world:tick(0)
    assert.same({ n = 2, nil, "expired" }, got)
  end)

  it("gives any number of joiners the same answer", function()
    local world = support.world{ capacity = 200 }
    local value = {}
    local target = world:start(function() routine.wait(1) return value end)
    local got = 0
    for _ = 1, 100 do
      world:start(function()
        local ok, result = routine.join(target)
        if ok and result == value then got = got + 1 end
      end)
    end
    world:tick(0)
    support.ticks(2)
    assert.equal(100, got)
  end)

  it("wakes joiners in the order in which they asked", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1) end)
    local order = {}
    for i = 1, 5 do
      world:start(function() routine.join(target) order[#order + 1] = i end)
    end
    world:tick(0)
    support.ticks(2)
    assert.same({ 1, 2, 3, 4, 5 }, order)
  end)

  it("times out with nil and timeout, and harms nobody", function()
    local world = support.world()
    local target = world:start(function() routine.wait(5) return "late" end)
    local got, at = {}, nil
    world:start(function()
      got[1] = pack(routine.join(target, 2))
      at = world.simTime
      got[2] = pack(routine.join(target))
    end)
    world:tick(0)
    support.ticks(8)
    assert.same({ n = 2, nil, "timeout" }, got[1])
    assert.equal(2, at)
    assert.same({ n = 2, true, "late" }, got[2])
  end)

  it("with a timeout leaves no trace in the next wait", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1) end)
    local slept
    world:start(function()
      routine.join(target, 3)
      slept = routine.wait(10)
    end)
    world:tick(0)
    support.ticks(11)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(10, slept)
  end)

  it("answers once when the end and the timeout fall into one tick", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1) return "x" end)
    local answers = {}
    world:start(function()
      answers[#answers + 1] = pack(routine.join(target, 1))
      answers.slept = routine.wait(5)
    end)
    world:tick(0)
    support.ticks(4)
    assert.equal(1, #answers)
    assert.is_nil(answers.slept)
    support.ticks(4)
    assert.is_true(answers.slept >= 5)
    assert.truthy(answers[1][1] == true or answers[1][2] == "timeout")
  end)

  it("does not time out before the timeout of zero's next tick", function()
    local world = support.world()
    local target = world:start(function() routine.wait(5) end)
    local got
    world:start(function() got = pack(routine.join(target, 0)) end)
    support.settle(2)
    assert.same({ n = 2, nil, "timeout" }, got)
  end)

  it("works in a pinned wait", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1) return "upper" end)
    local result
    world:start(function()
      result = ("x"):gsub("x", function() return (select(2, routine.join(target))) end)
    end)
    world:tick(0)
    support.ticks(2)
    assert.equal("upper", result)
  end)

  it("keeps its joiner alive without any handle held", function()
    local world = support.world()
    local got
    do
      local target = world:start(function() routine.wait(2) return {} end)
      world:start(function() got = pack(target:join()) end)
    end
    world:tick(0)
    support.collect()
    support.ticks(3)
    assert.equal("table", type(got[2]))
  end)
end)

describe("joins that could never end #wait", function()
  it("raise at the call that closes a ring", function()
    local world = support.world()
    local handles, result = {}, {}
    for i = 1, 3 do
      handles[i] = world:start(function()
        result[i] = pack(pcall(routine.join, handles[i % 3 + 1]))
        return "end " .. i
      end)
    end
    support.settle(5)
    assert.is_false(result[3][1])
    assert.truthy(result[3][2]:find("routine.join", 1, true), result[3][2])
    assert.same({ n = 3, true, true, "end 3" }, result[2])
    assert.same({ n = 3, true, true, "end 2" }, result[1])
  end)

  it("do not include two routines that join a third", function()
    local world = support.world()
    local third = world:start(function() routine.wait(1) return 3 end)
    local second = world:start(function() return select(2, routine.join(third)) end)
    local value
    world:start(function()
      value = select(2, routine.join(third)) + select(2, routine.join(second))
    end)
    world:tick(0)
    support.ticks(4)
    assert.equal(6, value)
  end)

  it("do not include a join of the past", function()
    local world = support.world()
    local second, answer
    local first = world:start(function()
      routine.join(second, 1)
      routine.wait(5)
      return "first"
    end)
    second = world:start(function()
      routine.wait(2)
      answer = pack(routine.join(first))
    end)
    world:tick(0)
    support.ticks(10)
    assert.same({ n = 2, true, "first" }, answer)
  end)
end)
