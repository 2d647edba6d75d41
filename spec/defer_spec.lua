-- SPDX-License-Identifier: MIT
--
-- Cleanups: `routine.defer`.

local support = require "support"
local log = require "support.log"
local routine = require "weft.routine"

local say, logged = log.say, log.text

before_each(log.clear)

-- The errors that a routine's end reports, in order.
local function reported(body)
  local world = support.world()
  world:start(body)
  world:tick(0)
  local texts = {}
  for _, report in ipairs(support.reports()) do
    texts[#texts + 1] = report.err
    assert.is_truthy(report.trace:find("defer_spec.lua", 1, true))
  end
  return texts
end

describe("a cleanup that fails", function()
  it("is reported once beside the error of the body, each with its trace", function()
    assert.same({ "cleanup", "body" }, reported(function()
      routine.defer(function() error("cleanup", 0) end)
      error("body", 0)
    end))
  end)

  it("is the routine's error if it is the first, and each further one is reported once", function()
    assert.same({ "second", "third", "first" }, reported(function()
      routine.defer(function() error("third", 0) end)
      routine.defer(function() error("second", 0) end)
      routine.defer(function() error("first", 0) end)
    end))
  end)
end)

describe("routine.defer #wait", function()
  it("runs the cleanups last in, first out, when the body returns", function()
    local world = support.world()
    world:start(function()
      for i = 1, 4 do routine.defer(say(i)) end
      say "body"()
    end)
    world:tick(0)
    assert.equal("body 4 3 2 1", logged())
  end)

  it("runs them when the body fails", function()
    local world = support.world()
    local handle = world:start(function()
      routine.defer(say "a")
      routine.defer(say "b")
      error("boom", 0)
    end)
    world:tick(0)
    assert.equal("b a", logged())
    assert.equal("failed", handle:status())
    assert.equal("boom", support.reports()[1].err)
  end)

  it("runs them when the routine is cancelled", function()
    local world = support.world()
    local handle = world:start(function()
      routine.defer(say "a")
      routine.defer(say "b")
      routine.wait(1e6)
    end)
    world:tick(0)
    assert.equal("", logged())
    handle:cancel()
    world:tick(0)
    assert.equal("b a", logged())
  end)

  it("runs all of them although one fails, and makes the routine failed", function()
    for _, how in ipairs{ "return", "error", "wait" } do
      log.clear()
      local world = support.world()
      local handle = world:start(function()
        routine.defer(say "a")
        routine.defer(function() say "b"() error("bad cleanup", 0) end)
        routine.defer(say "c")
        if how == "error" then error("boom", 0) end
        if how == "wait" then routine.wait(1e6) end
      end)
      world:tick(0)
      handle:cancel()
      world:tick(0)
      assert.equal("c b a", logged(), how)
      assert.equal("failed", handle:status(), how)
    end
    local messages = {}
    for _, report in ipairs(support.reports()) do messages[#messages + 1] = tostring(report.err) end
    local all = table.concat(messages, "; ")
    assert.truthy(all:find("bad cleanup", 1, true), all)
    assert.truthy(all:find("boom", 1, true), all)
  end)

  it("allows waits in a cleanup after a normal end", function()
    local world = support.world()
    local handle = world:start(function()
      routine.defer(say "last")
      routine.defer(function() say "before"() routine.wait(1) say "after"() end)
      return "result"
    end)
    world:tick(0)
    assert.equal("before", logged())
    assert.equal("sleeping", handle:status())
    world:tick(1)
    assert.equal("before after last", logged())
    assert.equal("completed", handle:status())
  end)

  it("allows waits in a cleanup after an error", function()
    local world = support.world()
    local handle = world:start(function()
      routine.defer(say "last")
      routine.defer(function() routine.wait(1) say "waited"() end)
      error("boom", 0)
    end)
    support.ticks(3)
    assert.equal("waited last", logged())
    assert.equal("failed", handle:status())
    assert.equal(1, #support.reports())
    assert.equal("boom", support.reports()[1].err)
  end)

  it("raises from a wait in a cleanup of a cancelled routine; the others still run", function()
    local world = support.world()
    local caught
    local handle = world:start(function()
      routine.defer(say "outer")
      routine.defer(function()
        local ok, err = pcall(routine.wait, 1)
        caught = not ok and err
      end)
      routine.defer(function() routine.wait(1) say "never"() end)
      routine.wait(100)
    end)
    world:tick(0)
    handle:cancel()
    support.ticks(5)
    assert.equal("outer", logged())
    assert.equal(routine.Cancelled, caught)
    assert.equal("cancelled", handle:status())
    assert.equal(0, #support.reports())
  end)

  it("raises at once in a cleanup when the cancel comes while it waits there", function()
    local world = support.world()
    local handle = world:start(function()
      routine.defer(say "outer")
      routine.defer(function() routine.wait(100) say "never"() end)
    end)
    world:tick(0)
    handle:cancel()
    support.ticks(3)
    assert.equal("outer", logged())
    assert.equal("completed", handle:status())
  end)

  it("runs what a cleanup defers, too", function()
    local world = support.world()
    world:start(function()
      routine.defer(say "first")
      routine.defer(function() routine.defer(say "nested") say "second"() end)
    end)
    world:tick(0)
    assert.equal("second nested first", logged())
  end)

  it("belongs to the routine, not to the coroutine that called it", function()
    local world = support.world()
    world:start(function()
      local inner = coroutine.wrap(function() routine.defer(say "cleanup") end)
      inner()
      routine.nextTick()
      say "body"()
    end)
    support.settle(2)
    assert.equal("body cleanup", logged())
  end)

  it("takes a thousand cleanups", function()
    local world = support.world()
    local sum, last = 0, nil
    world:start(function()
      for i = 1, 1000 do routine.defer(function() sum = sum + i last = i end) end
    end)
    world:tick(0)
    assert.equal(500500, sum)
    assert.equal(1, last)
  end)

  it("leaves nothing to the next user of the slot", function()
    local world = support.world{ capacity = 1 }
    for i = 1, 30 do
      local handle = world:start(function()
        routine.defer(say(i))
        if i % 3 == 0 then error("x", 0) end
        if i % 3 == 1 then routine.wait(1e6) end
      end)
      world:tick(0)
      handle:cancel()
      world:tick(0)
      assert.equal(i, #log)
      assert.equal(i, log[i])
    end
    assert.equal(10, #support.reports())
  end)

  it("gives the joiner its answer after the cleanups", function()
    local world = support.world()
    local target = world:start(function()
      routine.defer(function() routine.wait(2) say "cleaned"() end)
      return "value"
    end)
    local ok, value
    world:start(function() ok, value = routine.join(target) say "joined"() end)
    world:tick(0)
    world:tick(1)
    assert.is_nil(ok)
    support.ticks(2)
    assert.equal("cleaned joined", logged())
    assert.is_true(ok)
    assert.equal("value", value)
  end)
end)
