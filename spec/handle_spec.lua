-- SPDX-License-Identifier: MIT
--
-- A routine has one handle: its states, its identity, its expiry.

local support = require "support"
local routine = require "weft.routine"

describe("a handle", function()
  it("tells all eight states", function()
    local world = support.world{ capacity = 4 }
    local seen = {}
    local handle = world:start(function()
      seen.running = routine.status(routine.self())
      routine.wait(1)
    end)
    assert.equal("queued", handle:status())
    world:tick(0)
    assert.equal("running", seen.running)
    assert.equal("sleeping", handle:status())
    handle:cancel()
    assert.equal("cancelling", handle:status())
    world:tick(0)
    assert.equal("cancelled", handle:status())
    local done = world:start(function() end)
    local failed = world:start(function() error "on purpose" end)
    world:tick(0)
    assert.equal("completed", done:status())
    assert.equal("failed", failed:status())
    for _ = 1, 4 do world:start(function() end) end
    assert.equal("expired", handle:status())
    assert.equal(1, #support.reports())
  end)

  it("tells how its routine ended also when the world is closed", function()
    local world = support.world()
    local handles = {
      world:start(function() return 1 end),
      world:start(function() routine.wait(9) end),
      world:start(function() error "on purpose" end),
    }
    world:tick(0)
    handles[2]:cancel()
    world:tick(0)
    world:close()
    assert.equal("completed", handles[1]:status())
    assert.equal("cancelled", handles[2]:status())
    assert.equal("failed", handles[3]:status())
    assert.equal(routine.Cancelled, handles[2]:error())
    assert.equal(1, #support.reports())
  end)

  it("is queued when it is due but not yet resumed", function()
    local world = support.world{ resumesPerTick = 1 }
    local handles = {}
    for i = 1, 2 do handles[i] = world:start(function() routine.wait(1) end) end
    support.settle(2)
    world:tick(1)
    assert.equal("completed", handles[1]:status())
    assert.equal("queued", handles[2]:status())
  end)

  it("is sleeping in every kind of wait", function()
    local world = support.world()
    local other = world:start(function() routine.wait(50) end)
    local waits = {
      function() routine.nextTick() end, function() routine.wait(0) end,
      function() routine.waitUnscaled(1) end, function() routine.join(other) end,
      function() coroutine.yield() end,
      function() table.sort({ 1, 2 }, function() routine.wait(1) end) end,
    }
    for i, wait in ipairs(waits) do
      local handle = world:start(wait)
      world:tick(0)
      assert.equal("sleeping", handle:status(), i)
    end
  end)

  it("is one object wherever it is asked for", function()
    local world = support.world()
    local inside, reported
    world.onError = function(handle) reported = handle end
    local handle = world:start(function()
      inside = routine.self()
      routine.nextTick()
      assert(rawequal(inside, routine.self()))
      error "on purpose"
    end)
    support.settle(2)
    assert.is_true(rawequal(handle, inside))
    assert.is_true(rawequal(handle, reported))
  end)

  it("works as a table key", function()
    local world = support.world()
    local names = {}
    local first = world:start(function() names.found = names[routine.self()] end)
    local second = world:start(function() end)
    names[first], names[second] = "first", "second"
    world:tick(0)
    assert.equal("first", names.found)
    assert.equal("second", names[second])
    assert.are_not.equal(first, second)
  end)

  it("prints at any time", function()
    local world = support.world{ capacity = 1 }
    local handle = world:start(function() routine.wait(1) end)
    assert.is_string(tostring(handle))
    world:tick(0)
    assert.is_string(tostring(handle))
    world:tick(1)
    assert.is_string(tostring(handle))
    world:start(function() end)
    assert.equal("expired", handle:status())
    assert.is_string(tostring(handle))
  end)

  it("has the same methods as the routine module", function()
    local world = support.world()
    local handle = world:start(function() return 1, 2 end)
    assert.equal("queued", routine.status(handle))
    world:tick(0)
    assert.same({ true, 1, 2 }, { support.inside(function() return handle:join() end) })
    assert.same({ true, 1, 2 }, { support.inside(function() return routine.join(handle) end) })
    assert.is_false(routine.cancel(handle))
  end)

  it("does not keep its routine alive, nor does losing it stop the routine", function()
    local world = support.world()
    local done = 0
    for _ = 1, 10 do world:start(function() routine.wait(1) done = done + 1 end) end
    support.settle()
    support.collect()
    world:tick(0.5)
    support.collect()
    world:tick(0.5)
    assert.equal(10, done)
  end)

  it("can be asked for again after everybody lost it", function()
    local world = support.world()
    local seen
    world:start(function()
      routine.wait(1)
      seen = routine.self():status()
    end)
    support.settle()
    support.collect()
    world:tick(1)
    assert.equal("running", seen)
  end)

  it("gives the error of a failed routine, and nil otherwise", function()
    local world = support.world()
    local problem = { code = 42 }
    local good = world:start(function() return 1 end)
    local bad = world:start(function() error(problem) end)
    assert.is_nil(good:error())
    world:tick(0)
    assert.is_nil(good:error())
    assert.equal(problem, bad:error())
    assert.equal(1, #support.reports())
  end)

  it("has no metatable that a script could change", function()
    local world = support.world()
    local handle = world:start(function() end)
    local before = handle:status()
    assert.is_false((pcall(setmetatable, handle, {})))
    assert.is_false((pcall(function() handle.status = 5 end)))
    assert.equal(before, handle:status())
  end)
end)

describe("slots", function()
  it("are refused at capacity with a reason, and given again when one is free", function()
    local world = support.world{ capacity = 2 }
    local first = world:start(function() routine.wait(1) end)
    assert.truthy(world:start(function() routine.wait(2) end))
    assert.same({ nil, "capacity" }, { world:start(function() end) })
    world:tick(0)
    assert.same({ nil, "capacity" }, { world:start(function() end) })
    world:tick(1)
    assert.equal("completed", first:status())
    assert.truthy(world:start(function() end))
    assert.same({ nil, "capacity" }, { world:start(function() end) })
  end)

  it("are refused to routine.start inside a routine in the same way", function()
    local world = support.world{ capacity = 1 }
    local handle, reason
    world:start(function() handle, reason = routine.start(function() end) end)
    world:tick(0)
    assert.is_nil(handle)
    assert.equal("capacity", reason)
  end)

  it("are reused oldest finished first", function()
    local world = support.world{ capacity = 3 }
    local handles = {}
    for i, time in ipairs{ 2, 1, 3 } do
      handles[i] = world:start(function() routine.wait(time) end)
    end
    support.settle()
    support.ticks(3)
    local function states()
      return handles[1]:status() .. " " .. handles[2]:status() .. " " .. handles[3]:status()
    end
    assert.equal("completed completed completed", states())
    world:start(function() end)
    assert.equal("completed expired completed", states())
    world:start(function() end)
    assert.equal("expired expired completed", states())
    world:start(function() end)
    assert.equal("expired expired expired", states())
  end)

  it("count a cancel of an unstarted routine as its end", function()
    local world = support.world{ capacity = 2 }
    local first = world:start(function() end)
    local second = world:start(function() end)
    second:cancel()
    world:tick(0)
    world:start(function() end)
    assert.equal("expired", second:status())
    assert.equal("completed", first:status())
  end)

  it("never make an expired handle valid again", function()
    local world = support.world{ capacity = 1 }
    local first = world:start(function() return "mine" end)
    world:tick(0)
    for _ = 1, 3000 do
      local handle = world:start(function() end)
      assert.equal("expired", first:status())
      assert.is_false(first:cancel())
      assert.are_not.equal(first, handle)
      world:tick(0)
    end
    assert.is_nil(first:error())
  end)

  it("leave handles expired when the world is closed or configured anew", function()
    for _, ending in ipairs { "close", "configure" } do
      local world = support.world { capacity = 1 }
      local first = world:start(function() return "a result" end)
      world:tick(0)
      local second = world:start(function() return "another" end)
      world:tick(0)
      world[ending](world, {})
      assert.equal("expired", first:status())
      assert.equal("completed", second:status())
    end
  end)

  it("leave them expired also after a configure that was refused before they were", function()
    local world = support.world { capacity = 2 }
    local first = world:start(function() return "a result" end)
    world:tick(0)
    local busy = world:start(function() routine.wait(9) end)
    assert.is_false(pcall(world.configure, world, {}))
    world:start(function() end)
    assert.equal("expired", first:status())
    world:close()
    assert.equal("expired", first:status())
    assert.equal("cancelled", busy:status())
  end)

  it("keep the result until they are reused", function()
    local world = support.world{ capacity = 4 }
    local handle = world:start(function() return "kept" end)
    support.settle(5)
    support.collect()
    assert.same({ true, "kept" }, { support.inside(function() return handle:join() end) })
  end)
end)
