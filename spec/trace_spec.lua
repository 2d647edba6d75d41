-- SPDX-License-Identifier: MIT
--
-- Whose traceback a report shows: the one of its own error, never one that was kept for an equal
-- error somebody caught, and none rather than a wrong one.

local support = require "support"
local routine = require "weft.routine"

local function has(report, text)
  return (report.trace or ""):find(text, 1, true) ~= nil
end

describe("the trace of a report", function()
  it("is not that of an equal error which another routine caught under a shield #wait", function()
    local world = support.world()
    local function firstCaught()
      routine.shield(function() error("boom", 0) end)
    end
    local function secondReal()
      routine.nextTick()
      error("boom", 0)
    end
    world:start(function()
      pcall(firstCaught)
      routine.wait(5)
    end)
    world:tick(1)
    world:start(function() secondReal() end)
    support.ticks(2)
    local report = support.reports()[1]
    assert.is_true(has(report, "secondReal"))
    assert.is_false(has(report, "firstCaught"))
  end)

  it("is not that of an equal error of a require which was caught #wait", function()
    local world = support.world()
    local function firstCaught() return (require "no.such") end
    local function secondReal()
      routine.nextTick()
      local module = require "no.such"
      return module
    end
    world:start(function()
      pcall(firstCaught)
      routine.wait(5)
    end)
    world:tick(1)
    world:start(function()
      local module = secondReal()
      return module
    end)
    support.ticks(2)
    local report = support.reports()[1]
    assert.is_true(has(report, "secondReal"))
    assert.is_false(has(report, "firstCaught"))
  end)

  it("shows the inside of a module that fails while it loads", function()
    local world = support.world()
    package.preload["trace.bad"] = function()
      local function innermost() error "bad module" end
      innermost()
    end
    world:start(function() require "trace.bad" end)
    world:tick(0)
    package.preload["trace.bad"] = nil
    assert.is_true(has(support.reports()[1], "innermost"))
  end)

  it("is a system's own when a routine caught the same error before", function()
    local world = support.world()
    world:start(function()
      pcall(routine.shield, function() error("boom", 0) end)
    end)
    local function failing()
      if world.tickCount == 2 then error("boom", 0) end
    end
    local sub = world:on("update", failing)
    support.ticks(2)
    sub:off()
    local report = support.reports()[1]
    assert.equal(1, #support.reports())
    assert.is_true(has(report, "tick"))
    assert.is_false(has(report, "shield"))
  end)

  it("is not left over from the system that failed before", function()
    local world = support.world()
    local function first() error "one" end
    local sub = world:on("update", first)
    world:tick(0)
    sub:off()
    world:on("update", function() error(routine.Cancelled) end)
    world:tick(0)
    for i = 2, #support.reports() do
      assert.is_false(has(support.reports()[i], "one"))
      assert.is_false(has(support.reports()[i], "first"))
    end
    assert.equal(1, #support.reports())
  end)

  if support.vm == "lua5.4" then
    it("is missing where a coroutine was closed by hand, whatever was caught before", function()
      local world = support.world()
      local co
      world:start(function()
        pcall(routine.shield, function() error "some caught error" end)
        routine.wait(50)
      end)
      world:start(function()
        co = coroutine.running()
        routine.wait(5)
      end)
      world:tick(1)
      coroutine.close(co)
      support.ticks(10)
      assert.is_nil(support.reports()[1].trace)
    end)
  end
end)

describe("a report on stderr", function()
  it("calls the routine by its name", function()
    local _, output = support.child [[
      local weft = require "weft"
      local world = weft.world {}
      world:start(function()
        weft.routine.name "door"
        error("x", 0)
      end)
      world:tick(1)
    ]]
    assert.is_truthy(output:find("routine 0.1 'door' failed: x", 1, true), output)
  end)
end)
