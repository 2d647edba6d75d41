-- SPDX-License-Identifier: MIT
--
-- Errors that nobody catches: reported exactly once, with the trace of the script.

local support = require "support"
local routine = require "weft.routine"

describe("a failing routine", function()
  it("is reported once, with its handle, its error and a traceback", function()
    local world = support.world()
    local handle = world:start(function() error("boom", 0) end)
    support.settle(3)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.equal(handle, reports[1].handle)
    assert.equal("boom", reports[1].err)
    assert.is_string(reports[1].trace)
    assert.equal("failed", handle:status())
  end)

  it("shows the script's functions in the traceback", function()
    local world = support.world()
    local function innerFunction() error "deep" end
    local function middleFunction() innerFunction() return 1 end
    world:start(function() routine.wait(0) middleFunction() return 2 end)
    support.settle(3)
    local trace = support.reports()[1].trace
    assert.truthy(trace:find("innerFunction", 1, true), trace)
    assert.truthy(trace:find("middleFunction", 1, true), trace)
    assert.truthy(trace:find("error_spec.lua", 1, true), trace)
  end)

  it("keeps the position in the message", function()
    local world = support.world()
    world:start(function() error "where" end)
    world:tick(0)
    assert.truthy(support.reports()[1].err:find("error_spec.lua:%d+: where"))
  end)

  it("disturbs nobody else in the tick", function()
    local world = support.world()
    local alive = 0
    world:start(function() error "bad" end)
    world:on("update", function() error "bad system" end)
    world:post(function() error "bad post" end)
    world:start(function() while true do alive = alive + 1 routine.wait(1) end end)
    local late = 0
    world:on("update", function() late = late + 1 end)
    world:on("postUpdate", function() late = late + 1 end)
    for _ = 1, 5 do world:tick(1) end
    assert.equal(5, alive)
    assert.equal(10, late)
    assert.equal(7, #support.reports())
  end)

  it("is reported for errors of the machine, too", function()
    local world = support.world()
    world:start(function() local none = nil; return none.field end)
    world:start(function() return 1 + {} end)
    world:tick(0)
    local reports = support.reports()
    assert.equal(2, #reports)
    assert.truthy(reports[1].err:find("index", 1, true))
    assert.truthy(reports[2].err:find("arithmetic", 1, true))
  end)

  it("is reported out of a pinned wait with the whole trace", function()
    local world = support.world()
    local function comparator()
      routine.wait(1)
      error("in sort", 0)
    end
    world:start(function() table.sort({ 1, 2, 3 }, comparator) end)
    support.ticks(3)
    assert.equal("in sort", support.reports()[1].err)
    assert.truthy(support.reports()[1].trace:find("sort", 1, true))
  end)

  it("leaves the value as it is, whatever it is", function()
    local world = support.world()
    local object = { code = 42 }
    local evil = setmetatable({}, { __tostring = function() error "no" end })
    local values = { object, evil, 12, false, "text", print, io.stdout }
    for i = 1, #values do
      local handle = world:start(function() error(values[i], 0) end)
      world:tick(0)
      local report = support.reports()[i]
      assert.is_true(rawequal(values[i], report.err), i)
      assert.is_string(report.trace)
      assert.equal("failed", handle:status())
      assert.is_true(rawequal(values[i], handle:error()), i)
    end
    assert.equal(#values, #support.reports())
  end)

  it("may fail with nil, and is still failed", function()
    local world = support.world()
    local handle = world:start(function() error() end)
    local second = world:start(function() error(nil) end)
    local got
    world:tick(0)
    world:start(function()
      got = { n = select("#", routine.join(second)), routine.join(second) }
    end)
    world:tick(0)
    assert.equal("failed", handle:status())
    assert.equal(2, #support.reports())
    assert.is_nil(support.reports()[1].err)
    assert.same({ n = 2, false, nil }, got)
  end)
end)

describe("a report", function()
  it("is not made when a joiner was waiting: it got the error", function()
    local world = support.world()
    local target = world:start(function() routine.wait(1) error("for the joiner", 0) end)
    local err
    world:start(function() err = select(2, routine.join(target)) end)
    world:tick(0)
    support.ticks(2)
    assert.equal("for the joiner", err)
    assert.equal(0, #support.reports())
  end)

  it("is made when the joiner came later", function()
    local world = support.world()
    local target = world:start(function() error("early", 0) end)
    world:tick(0)
    local err = support.inside(function() return select(2, routine.join(target)) end)
    assert.equal("early", err)
    assert.equal(1, #support.reports())
  end)

  it("is made when the joiner had timed out or was cancelled", function()
    local world = support.world()
    local target = world:start(function() routine.wait(5) error("alone", 0) end)
    local joiner = world:start(function() routine.join(target) end)
    world:start(function() routine.join(target, 1) end)
    world:tick(0)
    joiner:cancel()
    support.ticks(6)
    assert.equal(1, #support.reports())
    assert.equal("alone", support.reports()[1].err)
  end)

  it("is never made for Cancelled", function()
    local world = support.world()
    local first = world:start(function() routine.wait(9) end)
    local second = world:start(function() routine.defer(function() end) routine.wait(9) end)
    world:start(function() error(routine.Cancelled) end)
    world:tick(0)
    first:cancel()
    second:cancel()
    support.settle(2)
    assert.equal(0, #support.reports())
  end)

  it("has no handle for a post and for a system", function()
    local world = support.world()
    world:post(function() error("post", 0) end)
    local sub = world:on("preUpdate", function() error("system", 0) end)
    world:tick(0)
    sub:off()
    local reports = support.reports()
    assert.equal(2, #reports)
    assert.same({ "post", "system" }, { reports[1].err, reports[2].err })
    for i = 1, 2 do
      assert.is_nil(reports[i].handle)
      assert.is_string(reports[i].trace)
    end
  end)

  it("is made again each time a system fails, and the system stays", function()
    local world = support.world()
    world:on("update", function() error "again" end)
    support.settle(3)
    assert.equal(3, #support.reports())
  end)

  it("goes to the onError that is set at that time", function()
    local world = support.world()
    local first, second = 0, 0
    world.onError = function() first = first + 1 end
    world:start(function() error "x" end)
    world:tick(0)
    world.onError = function() second = second + 1 end
    world:start(function() error "x" end)
    world:tick(0)
    assert.same({ 1, 1 }, { first, second })
  end)

  it("goes to the world of the routine, not to another", function()
    local first, second = support.world(), support.world()
    second:start(function() error("second's", 0) end)
    first:tick(0)
    second:tick(0)
    assert.equal(1, #support.reports())
    assert.equal(second, support.reports()[1].world)
  end)

  it("may start routines, post and cancel", function()
    local world = support.world()
    local log = {}
    local other = world:start(function() routine.wait(9) end)
    world.onError = function()
      world:start(function() log[#log + 1] = "restarted" end)
      world:post(function() log[#log + 1] = "posted" end)
      other:cancel()
    end
    world:start(function() error "x" end)
    support.settle(3)
    assert.same({ "posted", "restarted" }, log)
    assert.equal("cancelled", other:status())
  end)

  it("may start a routine again in a world that was full", function()
    local world = support.world { capacity = 1 }
    local got
    world.onError = function() world:start(function(...) got = { ... } end, 1, 2, 3) end
    world:start(function() error "x" end)
    support.settle(2)
    assert.same({ 1, 2, 3 }, got)
  end)

  it("is made before the next routine of the tick runs", function()
    local world = support.world()
    local order = {}
    world.onError = function() order[#order + 1] = "report" end
    world:start(function() error "x" end)
    world:start(function() order[#order + 1] = "next" end)
    world:tick(0)
    assert.same({ "report", "next" }, order)
  end)
end)

describe("routine.pcall", function()
  it("is like pcall", function()
    local problem = {}
    assert.same({ true, 1, nil, 3 }, { routine.pcall(function(...) return ... end, 1, nil, 3) })
    local ok, err = routine.pcall(error, problem)
    assert.is_false(ok)
    assert.equal(problem, err)
    assert.same({ false, nil }, { routine.pcall(error) })
    assert.is_false((routine.pcall(nil)))
    assert.equal(1, select("#", routine.pcall(function() end)))
    assert.equal(3, select("#", routine.pcall(function() return nil, nil end)))
  end)

  it("lets waits through, and results of all kinds", function()
    local world = support.world()
    local got
    world:start(function()
      got = { routine.pcall(function(a, b) routine.wait(1) return a, b end, "a", "b") }
    end)
    world:tick(0)
    world:tick(1)
    assert.same({ true, "a", "b" }, got)
  end)

  it("lets Cancelled go through", function()
    local world = support.world()
    local passed = false
    local handle = world:start(function()
      routine.pcall(function() routine.wait(9) end)
      passed = true
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.is_false(passed)
    assert.equal("cancelled", handle:status())
    assert.equal(0, #support.reports())
  end)

  it("lets Cancelled through plain and protected calls inside each other", function()
    local world = support.world()
    local outer
    local handle = world:start(function()
      outer = { pcall(function()
        routine.pcall(function() routine.pcall(routine.wait, 9) end)
      end) }
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.same({ false, routine.Cancelled }, outer)
  end)
end)
