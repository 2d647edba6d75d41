-- SPDX-License-Identifier: MIT
-- Modules whose chunks wait: routines that require one that is being loaded wait
-- for it, and a load that fails or is cancelled leaves the module unloaded.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"

local NAME = "weft-spec-slow-module"

local function provide(name, loader)
  package.preload[name] = loader
end

local function forget(...)
  for i = 1, select("#", ...) do
    local name = (select(i, ...))
    package.preload[name], package.loaded[name] = nil, nil
  end
end

describe("require of a module whose chunk waits", function()
  after_each(function() forget(NAME, NAME .. "-a", NAME .. "-b", NAME .. "-c") end)

  it("loads it once for all the routines that ask meanwhile", function()
    local world = support.world { capacity = 8 }
    local loads, got = 0, {}
    provide(NAME, function()
      loads = loads + 1
      routine.wait(3)
      return { whole = true }
    end)
    for id = 1, 4 do
      world:start(function()
        routine.wait(id - 1)
        got[id] = require(NAME)
      end)
    end
    drive.ticks(world, 3)
    assert.same({}, got)
    drive.ticks(world, 6)
    assert.equal(1, loads)
    assert.is_true(got[1].whole)
    for id = 2, 4 do assert.is_true(rawequal(got[1], got[id])) end
    assert.is_true(rawequal(got[1], package.loaded[NAME]))
  end)

  it("gives the routine that waited what require gives at once later", function()
    local world = support.world { capacity = 4 }
    local late
    provide(NAME, function() routine.wait(2) end)
    world:start(function() require(NAME) end)
    world:start(function() late = require(NAME) end)
    drive.ticks(world, 5)
    assert.is_true(late)
  end)

  it("lets another routine try again when the load failed", function()
    local world = support.world { capacity = 4 }
    local loads, got, failed = 0, nil, nil
    provide(NAME, function()
      loads = loads + 1
      routine.wait(2)
      if loads == 1 then error("no luck", 0) end
      return "second try"
    end)
    world:start(function() failed = { pcall(require, NAME) } end)
    world:start(function()
      routine.wait(1)
      local ok
      ok, got = pcall(require, NAME)
      if not ok then got = require(NAME) end
    end)
    drive.ticks(world, 10)
    assert.is_false(failed[1])
    assert.is_truthy(tostring(failed[2]):find("no luck", 1, true))
    assert.equal("second try", got)
    assert.equal(2, loads)
  end)

  it("leaves it unloaded when the loading routine is cancelled", function()
    local world = support.world { capacity = 4 }
    local loads, got = 0, nil
    provide(NAME, function()
      loads = loads + 1
      routine.wait(5)
      return "loaded " .. loads
    end)
    local h = world:start(function() require(NAME) end)
    drive.ticks(world, 2)
    h:cancel()
    drive.ticks(world, 1)
    assert.equal("cancelled", h:status())
    assert.is_nil(package.loaded[NAME])
    world:start(function() got = require(NAME) end)
    drive.ticks(world, 8)
    assert.equal("loaded 2", got)
  end)

  it("hands the load on when the loader is cancelled while others wait", function()
    local world = support.world { capacity = 4 }
    local loads, got = 0, nil
    provide(NAME, function()
      loads = loads + 1
      routine.wait(3)
      return "loaded " .. loads
    end)
    local loader = world:start(function() require(NAME) end)
    world:start(function()
      routine.wait(1)
      got = require(NAME)
    end)
    drive.ticks(world, 2)
    loader:cancel()
    drive.ticks(world, 8)
    assert.equal("loaded 2", got)
  end)

  it("can be cancelled while it waits for another routine's load", function()
    local world = support.world { capacity = 4 }
    local got
    provide(NAME, function()
      routine.wait(4)
      return "whole"
    end)
    world:start(function() got = require(NAME) end)
    local waiter = world:start(function() require(NAME) end)
    drive.ticks(world, 2)
    waiter:cancel()
    drive.ticks(world, 1)
    assert.equal("cancelled", waiter:status())
    drive.ticks(world, 4)
    assert.equal("whole", got)
  end)

  it("raises when two routines would wait for each other's modules", function()
    local world = support.world { capacity = 4 }
    local outcome = {}
    provide(NAME .. "-a", function()
      routine.wait(1)
      return { require(NAME .. "-b") }
    end)
    provide(NAME .. "-b", function()
      routine.wait(1)
      return { require(NAME .. "-a") }
    end)
    local one = world:start(function() outcome[1] = pcall(require, NAME .. "-a") end)
    local two = world:start(function() outcome[2] = pcall(require, NAME .. "-b") end)
    assert.is_true(drive.untilended(world, { one, two }, 12))
    assert.is_false(outcome[1] and outcome[2])
  end)

  it("loads modules that require others in any nesting", function()
    local world = support.world { capacity = 4 }
    local got = {}
    provide(NAME .. "-a", function()
      routine.wait(1)
      return "a" .. require(NAME .. "-b") .. require(NAME .. "-c")
    end)
    provide(NAME .. "-b", function()
      routine.wait(2)
      return "b" .. require(NAME .. "-c")
    end)
    provide(NAME .. "-c", function()
      routine.wait(3)
      return "c"
    end)
    for id, letter in ipairs { "a", "b", "c" } do
      world:start(function() got[id] = require(NAME .. "-" .. letter) end)
    end
    drive.ticks(world, 20)
    assert.same({ "abcc", "bc", "c" }, got)
  end)

  it("still names what is missing", function()
    local world = support.world { capacity = 2 }
    local ok, err
    world:start(function() ok, err = pcall(require, NAME .. "-none") end)
    drive.ticks(world, 2)
    assert.is_false(ok)
    assert.is_truthy(err:find(NAME .. "-none", 1, true))
  end)
end)
