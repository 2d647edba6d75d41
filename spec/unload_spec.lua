-- SPDX-License-Identifier: MIT
--
-- world:unload: everything is cancelled and retired in a bounded number of passes.

local support = require "support"
local routine = require "weft.routine"

describe("world:unload", function()
  it("cancels what waits and what has not begun, runs the cleanups, and moves no time", function()
    local world = support.world { capacity = 8 }
    local log = {}
    local handles = {}
    for i = 1, 3 do
      handles[i] = world:start(function()
        routine.defer(function() log[#log + 1] = i end)
        routine.wait(100)
      end)
    end
    world:tick(1)
    handles[4] = world:start(function() log[#log + 1] = "begun" end)
    assert.is_true(world:unload())
    assert.same({ 1, 2, 3 }, log)
    for i = 1, 4 do assert.equal("cancelled", handles[i]:status()) end
    assert.equal(1, world.simTime)
    assert.equal(1, world.tickCount)
    assert.equal(0, world:stats().active)
  end)

  it("leaves the world as good as new", function()
    local world = support.world { capacity = 2 }
    world:start(routine.wait, 9)
    world:tick(0)
    assert.is_true(world:unload())
    local ran
    world:start(function() ran = true end)
    world:tick(0)
    assert.is_true(ran)
  end)

  it("takes in what cleanups start meanwhile", function()
    local world = support.world { capacity = 4 }
    local ran
    world:start(function()
      routine.defer(function() world:start(function() ran = true end) end)
      routine.wait(9)
    end)
    world:tick(0)
    assert.is_true(world:unload())
    assert.is_nil(ran)
    assert.equal(0, world:stats().active)
  end)

  it("ends a swallower by force in its last pass", function()
    local world = support.world { capacity = 2 }
    local cleaned
    local handle = world:start(function()
      routine.defer(function() cleaned = true end)
      while true do pcall(routine.wait, 1) end
    end)
    world:tick(0)
    assert.is_true(world:unload(2))
    assert.is_true(cleaned)
    assert.equal("cancelled", handle:status())
    assert.equal(1, #support.reports())
  end)

  -- A swallower is told once in each pass; in the last its next wait ends it.
  it("has eight passes unless told otherwise, as close has", function()
    for name, passes in pairs { unload = 8, close = 8, three = 3 } do
      local world = support.world { capacity = 2 }
      local told = 0
      world:start(function()
        while true do
          pcall(routine.wait, 1)
          told = told + 1
        end
      end)
      world:tick(0)
      if name == "close" then
        world:close()
      else
        assert.is_true(world:unload(name == "three" and 3 or nil))
      end
      assert.equal(passes, told, name)
    end
    assert.equal(3, #support.reports())
  end)

  it("goes through shields in its last pass, not before", function()
    local world = support.world { capacity = 2 }
    local told = 0
    local handle = world:start(function()
      routine.shield(function()
        while true do
          pcall(routine.wait, 1)
          told = told + 1
        end
      end)
    end)
    world:tick(0)
    assert.is_true(world:unload(3))
    assert.equal(1, told)
    assert.equal(1, #support.reports())
    assert.equal("cancelled", handle:status())
  end)

  it("names those that it could not end, as inspect shows them", function()
    local world = support.world { capacity = 2 }
    local release = false
    local handle = world:start(function()
      table.sort({ 2, 1 }, function()
        while not release do pcall(routine.wait, 1) end
        return false
      end)
    end)
    world:tick(0)
    local ok, list = world:unload(3)
    assert.is_false(ok)
    assert.equal(1, #list)
    assert.equal(handle, list[1].id)
    assert.equal("cancelling", list[1].status)
    assert.is_truthy(list[1].where:find("unload_spec.lua:%d+"))
    assert.equal(1, #support.reports())
    release = true
    world:tick(0)
    assert.equal("completed", handle:status())
  end)

  it("raises inside a tick, on a closed world and for other than whole passes", function()
    local world = support.world { capacity = 2 }
    local inside
    world:start(function() inside = { pcall(world.unload, world) } end)
    world:tick(0)
    assert.is_false(inside[1])
    assert.is_truthy(inside[2]:find("inside a tick", 1, true))
    for _, bad in ipairs { 0, -1, 1.5, 0 / 0, 1 / 0, "3", {} } do
      local ok, err = pcall(world.unload, world, bad)
      assert.is_false(ok)
      assert.is_truthy(err:find("maxPasses must be a whole number", 1, true))
    end
    world:close()
    assert.is_false((pcall(world.unload, world)))
  end)
end)
