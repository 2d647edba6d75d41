-- SPDX-License-Identifier: MIT
--
-- owner:onDestroyed: called once, when all that it owned has ended.

local support = require "support"
local routine = require "weft.routine"

describe("owner:onDestroyed", function()
  it("is called before destroy returns when nothing is left", function()
    local world = support.world()
    local owner = world:owner()
    local calls = 0
    owner:onDestroyed(function(...) calls = calls + 1 assert.equal(0, select("#", ...)) end)
    owner:start(function() end)
    owner:destroy()
    assert.equal(1, calls)
    owner:destroy()
    world:tick(1)
    assert.equal(1, calls)
  end)

  it("waits for the last routine, its cleanups that wait included", function()
    local world = support.world()
    local owner = world:owner()
    local log = {}
    owner:onDestroyed(function() log[#log + 1] = "over" end)
    owner:start(function()
      local handle = routine.self()
      routine.defer(function() log[#log + 1] = handle:status() end)
      routine.defer(function() pcall(routine.wait, 1) end)
      routine.wait(100)
    end)
    world:tick(0)
    owner:destroy()
    assert.same({}, log)
    support.settle(3)
    assert.same({ "cancelling", "over" }, log)
    assert.equal(0, world:stats().active)
  end)

  it("is called in the same tick, once the last one has ended", function()
    local world = support.world()
    local owner = world:owner()
    local log = {}
    for i = 1, 3 do
      owner:start(function()
        routine.defer(function() log[#log + 1] = i end)
        routine.wait(9)
      end)
    end
    owner:onDestroyed(function() log[#log + 1] = "over" end)
    world:tick(0)
    owner:destroy()
    world:tick(0)
    assert.same({ 1, 2, 3, "over" }, log)
  end)

  it("is called at once for one that is over", function()
    local world = support.world()
    local owner = world:owner()
    owner:destroy()
    world:tick(0)
    local calls = 0
    owner:onDestroyed(function() calls = calls + 1 end)
    assert.equal(1, calls)
  end)

  it("may be asked for between destroy and the end", function()
    local world = support.world()
    local owner = world:owner()
    owner:start(function() routine.wait(9) end)
    world:tick(0)
    owner:destroy()
    local calls = 0
    owner:onDestroyed(function() calls = calls + 1 end)
    assert.equal(0, calls)
    world:tick(0)
    assert.equal(1, calls)
  end)

  it("calls all functions in the order in which they were given", function()
    local world = support.world()
    local owner = world:owner()
    local log = {}
    for i = 1, 5 do owner:onDestroyed(function() log[#log + 1] = i end) end
    owner:destroy()
    assert.same({ 1, 2, 3, 4, 5 }, log)
  end)

  it("tells of children before their parents, in the order of their ends", function()
    local world = support.world()
    local log = {}
    local function named(name, parent)
      local owner = world:owner(parent)
      owner:onDestroyed(function() log[#log + 1] = name end)
      return owner
    end
    local top = named "top"
    local a = named("a", top)
    named("a1", a)
    local busy = named("a2", a)
    named("b", top)
    busy:start(function() routine.wait(9) end)
    world:tick(0)
    top:destroy()
    assert.same({ "a1", "b" }, log)
    world:tick(0)
    assert.same({ "a1", "b", "a2", "a", "top" }, log)
  end)

  it("waits for a child that is destroyed later by its own means", function()
    local world = support.world()
    local top = world:owner()
    local child = world:owner(top)
    local over = false
    top:onDestroyed(function() over = true end)
    child:start(function() routine.wait(9) end)
    world:tick(0)
    child:destroy()
    top:destroy()
    assert.is_false(over)
    world:tick(0)
    assert.is_true(over)
  end)

  it("reports a function that fails, and calls the others", function()
    local world = support.world()
    local owner = world:owner()
    local called = 0
    owner:onDestroyed(function() error "on purpose" end)
    owner:onDestroyed(function() called = called + 1 end)
    owner:destroy()
    assert.equal(1, called)
    local busy = world:owner()
    busy:onDestroyed(function() error { code = 7 } end)
    busy:onDestroyed(function() called = called + 1 end)
    busy:start(function() routine.wait(9) end)
    world:tick(0)
    busy:destroy()
    world:tick(0)
    assert.equal(2, called)
    local reports = support.reports()
    assert.equal(2, #reports)
    assert.is_nil(reports[1].handle)
    assert.truthy(reports[1].err:find "on purpose")
    assert.truthy(reports[1].trace:find "owner_end_spec")
    assert.same({ code = 7 }, reports[2].err)
  end)

  it("comes after the report of the routine that ended last", function()
    local world = support.world()
    local owner = world:owner()
    local before
    owner:onDestroyed(function() before = #support.reports() end)
    owner:start(function()
      owner:destroy()
      error "on purpose"
    end)
    world:tick(0)
    assert.equal(1, before)
  end)

  it("is a callback of the owner's world: no wait, no tick, no close", function()
    local world, other = support.world(), support.world()
    local owner = world:owner()
    local inside = {}
    owner:onDestroyed(function()
      inside.wait = select(2, pcall(routine.wait, 1))
      inside.self = routine.self() == nil
      inside.tick = select(2, pcall(world.tick, world, 0))
      inside.close = select(2, pcall(world.close, world))
      inside.yield = pcall(coroutine.yield)
      inside.started = routine.start(function() inside.world = routine.world() end)
    end)
    other:start(function() owner:destroy() end)
    other:tick(0)
    assert.truthy(inside.wait:find "not inside a routine")
    assert.is_true(inside.self)
    assert.truthy(inside.tick:find "not allowed inside a tick")
    assert.truthy(inside.close:find "not allowed inside a tick")
    assert.is_false(inside.yield)
    world:tick(0)
    assert.equal(world, inside.world)
  end)

  it("may destroy others, make new ones and start routines", function()
    local world = support.world()
    local log = {}
    local second = world:owner()
    second:onDestroyed(function() log[#log + 1] = "second" end)
    local first = world:owner()
    first:onDestroyed(function()
      second:destroy()
      log[#log + 1] = "first"
      local third = world:owner()
      third:start(function() log[#log + 1] = "third" end)
    end)
    first:destroy()
    world:tick(0)
    assert.same({ "second", "first", "third" }, log)
  end)

  it("works in a finalizer", function()
    local world = support.world()
    local calls = 0
    local function drop()
      local owner = world:owner()
      owner:onDestroyed(function() calls = calls + 1 end)
      support.doomed(function() owner:destroy() end)
    end
    drop()
    support.collect()
    assert.equal(1, calls)
  end)

  it("leaves nothing behind over ten thousand owners", function()
    local world = support.world()
    local calls = 0
    local count = support.stress and 500 or 10000
    local function turn()
      local owner = world:owner()
      owner:onDestroyed(function() calls = calls + 1 end)
      owner:start(function() routine.wait(9) end)
      world:tick(0)
      owner:destroy()
      world:tick(0)
    end
    for _ = 1, 100 do turn() end
    local runs = 0
    local grown = support.growth(function()
      for _ = 1, count do turn() end
      runs = runs + 1
    end)
    assert.equal(runs * count + 100, calls)
    assert.is_true(grown < 64)
  end)
end)
