-- SPDX-License-Identifier: MIT
-- A spec file whose tests wait wherever a test runs code of its own; run by a
-- busted that itself runs inside a routine.

local routine = require "weft.routine"

describe("tests that wait", function()
  local world

  setup(function()
    routine.nextTick()
    world = { ticks = 0 }
  end)
  before_each(function() routine.wait(0.02) end)
  after_each(function() routine.nextTick() end)

  for id = 1, 3 do
    it("sleep and go on, number " .. id, function()
      local slept = routine.wait(0.1 * id)
      world.ticks = world.ticks + 1
      assert.is_true(slept >= 0.1 * id - 1e-6)
    end)
  end

  it("wait in a matcher, a spy and a message", function()
    local spied = spy.new(function(x)
      routine.nextTick()
      return x
    end)
    assert.equal(4, spied(4))
    assert.spy(spied).was.called_with(4)
    local meta = { __eq = function(a, b)
      routine.nextTick()
      return a.n == b.n
    end }
    assert.equal(setmetatable({ n = 1 }, meta), setmetatable({ n = 1 }, meta))
  end)

  it("wait before an error that is expected", function()
    assert.has_error(function()
      routine.nextTick()
      error("late", 0)
    end, "late")
  end)

  it("wait in cleanup", function()
    finally(function() routine.nextTick() end)
    routine.nextTick()
  end)

  it("start routines and join them", function()
    local h = routine.start(function()
      routine.wait(0.05)
      return "joined"
    end)
    local ok, value = routine.join(h)
    assert.is_true(ok)
    assert.equal("joined", value)
    assert.equal(3, world.ticks)
  end)
end)
