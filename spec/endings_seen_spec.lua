-- SPDX-License-Identifier: MIT
--
-- Who waits for a routine always hears of its end: whatever ended it, and what it ended with.

local support = require "support"
local routine = require "weft.routine"

local pack = support.pack

-- Three joiners of `target`, from before its end; what each is told.
local function joinThrice(world, target)
  local told = {}
  for i = 1, 3 do
    world:start(function() told[i] = pack(routine.join(target)) end)
  end
  world:tick(0)
  return told
end

describe("joiners hear", function()
  local cancelled = { n = 2, false, routine.Cancelled }

  it("that the owner of their routine is gone", function()
    for _, how in ipairs { "destroy", "disable" } do
      local world = support.world()
      local owner = world:owner()
      local target = owner:start(routine.wait, 1e6)
      local told = joinThrice(world, target)
      owner[how](owner)
      support.settle(2)
      assert.same({ cancelled, cancelled, cancelled }, told)
    end
  end)

  it("that the routine was ended by force, at a bare yield or at a wait", function()
    for _, wait in ipairs { coroutine.yield, function() pcall(routine.wait, 1) end } do
      local world = support.world()
      local target = world:start(function() while true do wait() end end)
      local told = joinThrice(world, target)
      target:cancel()
      support.settle(10)
      assert.same({ cancelled, cancelled, cancelled }, told)
      assert.equal(0, world:stats().active)
    end
    assert.equal(2, #support.reports())
  end)

  it("later, too, as long as the slot is not used again", function()
    local world = support.world { capacity = 2 }
    local target = world:start(routine.wait, 1e6)
    world:tick(0)
    target:cancel()
    world:tick(0)
    local told = pack(support.inside(function() return routine.join(target) end))
    assert.same(cancelled, told)
    world:start(function() end)
    world:start(function() end):cancel()
    assert.same({ n = 2, nil, "expired" },
      pack(support.inside(function() return routine.join(target) end)))
  end)
end)

describe("the error of a failed routine", function()
  it("has the trace with it, for a joiner as for onError", function()
    local world = support.world()
    local function culprit() error("deep", 0) end
    local function body()
      routine.wait(1)
      culprit()
    end
    local joined = world:start(body)
    local err
    world:start(function() err = select(2, routine.join(joined)) end)
    local lone = world:start(body)
    support.ticks(3)
    assert.equal("deep", err)
    local first, trace = joined:error()
    assert.equal("deep", first)
    assert.truthy(trace:find("in upvalue 'culprit'", 1, true), trace)
    assert.equal(1, #support.reports())
    assert.equal(lone, support.reports()[1].handle)
    assert.equal(support.reports()[1].trace, select(2, lone:error()))
  end)

  it("stays readable after a cancel that came too late", function()
    local world = support.world()
    local good = world:start(function() return 7 end)
    local bad = world:start(error, "first", 0)
    world:tick(0)
    assert.is_false(good:cancel())
    assert.is_false(bad:cancel())
    assert.equal("completed", good:status())
    assert.equal("first", (bad:error()))
    assert.same({ true, 7 }, { support.inside(function() return good:join() end) })
    assert.equal(1, #support.reports())
  end)
end)

describe("a protected call around a wait", function()
  it("gives its handler the whole stack, in the coroutine that runs", function()
    local world = support.world()
    local handled, same
    local function thrower()
      routine.wait(1)
      error("boom", 0)
    end
    world:start(function()
      local me = coroutine.running()
      handled = { xpcall(function()
        thrower()
        return "never"
      end, function(err)
        same = coroutine.running() == me
        return err .. debug.traceback()
      end) }
    end)
    support.ticks(3)
    assert.is_false(handled[1])
    assert.truthy(handled[2]:find("^boom"), handled[2])
    assert.truthy(handled[2]:find("thrower", 1, true), handled[2])
    assert.is_true(same)
  end)
end)
