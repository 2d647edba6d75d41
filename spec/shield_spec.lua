-- SPDX-License-Identifier: MIT
--
-- routine.shield: a cancel is held back until the function returns.

local support = require "support"
local routine = require "weft.routine"

describe("routine.shield", function()
  it("holds a cancel back until the function has returned #wait", function()
    local world = support.world()
    local log = {}
    local handle = world:start(function()
      local result = routine.shield(function(a, b)
        routine.wait(1)
        log[#log + 1] = routine.isCancelled()
        routine.wait(1)
        return a .. b
      end, "do", "ne")
      log[#log + 1] = result
      log[#log + 1] = "between"
      routine.wait(1)
      log[#log + 1] = "never"
    end)
    world:tick(0)
    assert.is_true(handle:cancel())
    assert.is_true(handle:cancel())
    assert.equal("cancelling", handle:status())
    world:tick(1)
    world:tick(1)
    assert.same({ true, "done", "between" }, log)
    assert.equal("cancelled", handle:status())
  end)

  it("passes all results and arguments on, nil among them", function()
    local world = support.world()
    local got
    world:start(function()
      local function pack(...) return { n = select("#", ...), ... } end
      got = pack(routine.shield(function(...) return nil, ... end, nil, 2, nil))
    end)
    world:tick(0)
    assert.same({ n = 4, nil, nil, 2, nil }, got)
  end)

  it("nests, and works under C frames #wait", function()
    local world = support.world()
    local log = {}
    local handle = world:start(function()
      routine.shield(function()
        routine.shield(routine.wait, 1)
        local text = ("ab"):gsub(".", function(c)
          routine.wait(1)
          log[#log + 1] = c
        end)
        log[#log + 1] = text
      end)
      log[#log + 1] = "out"
      routine.nextTick()
      log[#log + 1] = "never"
    end)
    world:tick(0)
    handle:cancel()
    for _ = 1, 4 do world:tick(1) end
    assert.same({ "a", "b", "ab", "out" }, log)
    assert.equal("cancelled", handle:status())
  end)

  it("lets an error through with its trace, and is down then", function()
    local world = support.world()
    local caught
    local handle = world:start(function()
      caught = { pcall(routine.shield, function()
        routine.nextTick()
        error("inside", 0)
      end) }
      routine.wait(1)
    end)
    world:start(function()
      routine.shield(function()
        local function innermost() error "outside" end
        innermost()
      end)
    end)
    world:tick(0)
    local report = support.reports()[1]
    assert.is_truthy(report.trace:find("innermost", 1, true))
    world:tick(0)
    assert.same({ false, "inside" }, caught)
    handle:cancel()
    world:tick(0)
    assert.equal("cancelled", handle:status())
  end)

  it("raises outside a routine, for what is no function, and when 63 are up", function()
    local ok, err = pcall(routine.shield, function() end)
    assert.is_false(ok)
    assert.is_truthy(err:find("not inside a routine", 1, true))
    local world = support.world()
    local wrong, deepest, depth = nil, nil, 0
    local function dig()
      depth = depth + 1
      routine.shield(dig)
    end
    world:start(function()
      wrong = { pcall(routine.shield, 7) }
      deepest = { pcall(dig) }
    end)
    world:tick(0)
    assert.is_truthy(wrong[2]:find("a function expected, got 7", 1, true))
    assert.is_truthy(deepest[2]:find("too deep", 1, true))
    assert.equal(64, depth)
  end)
end)
