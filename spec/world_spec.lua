-- SPDX-License-Identifier: MIT
--
-- Making a world, its options, its figures and its clocks' starting point.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

describe("weft.world", function()
  it("makes a world without any options", function()
    local world = support.world()
    assert.equal(256, world:stats().capacity)
  end)

  it("takes all its options in one table", function()
    local world = support.world{
      capacity = 10, stackBytes = 512 * 1024, resumesPerTick = 4, postsPerTick = 8,
      fixedStep = 1 / 50,
    }
    assert.equal(10, world:stats().capacity)
    assert.is_true(world:stats().stackBytes >= 512 * 1024)
  end)

  it("gives each call a world of its own", function()
    local first, second = support.world(), support.world()
    assert.are_not.equal(first, second)
    first:tick(1)
    assert.equal(1, first.tickCount)
    assert.equal(0, second.tickCount)
  end)

  it("starts its clocks at zero", function()
    local world = support.world()
    assert.equal(0, world.simTime)
    assert.equal(0, world.realTime)
    assert.equal(0, world.tickCount)
  end)

  local badOptions = {
    { "a capacity of zero", { capacity = 0 } },
    { "a negative capacity", { capacity = -1 } },
    { "a fractional capacity", { capacity = 1.5 } },
    { "a capacity that is not a number", { capacity = "many" } },
    { "a capacity that is NaN", { capacity = 0 / 0 } },
    { "an infinite capacity", { capacity = math.huge } },
    { "a capacity beyond every limit", { capacity = 2 ^ 40 } },
    { "a negative resumesPerTick", { resumesPerTick = -1 } },
    { "a fractional resumesPerTick", { resumesPerTick = 0.5 } },
    { "a postsPerTick that is a string", { postsPerTick = "x" } },
    { "a negative postsPerTick", { postsPerTick = -3 } },
    { "a stack too small for Lua", { stackBytes = 160 * 1024 - 1 } },
    { "a stackBytes that is a table", { stackBytes = {} } },
    { "a negative stackBytes", { stackBytes = -1 } },
  }
  for _, case in ipairs(badOptions) do
    it("refuses " .. case[1], function()
      local ok, message = pcall(weft.world, case[2])
      assert.is_false(ok)
      assert.is_string(message)
    end)
  end

  it("refuses options that are not a table", function()
    assert.has_error(function() weft.world(12) end)
    assert.has_error(function() weft.world "x" end)
  end)

  it("names the option it refuses, at the caller's line", function()
    local _, message = pcall(function() weft.world{ capacity = -1 } end)
    assert.truthy(message:find("world_spec.lua:%d+:"))
    assert.truthy(message:find("capacity", 1, true))
  end)

  it("takes the smallest stack that Lua is allowed", function()
    local world = support.world{ capacity = 2, stackBytes = 160 * 1024 }
    assert.equal(7, support.inside(function() routine.wait(1) return 7 end))
    assert.is_true(world:stats().stackBytes >= 160 * 1024)
  end)

  it("takes a capacity of one", function()
    local world = support.world{ capacity = 1 }
    local first = world:start(function() end)
    assert.same({ nil, "capacity" }, { world:start(function() end) })
    world:tick(0)
    assert.equal("completed", first:status())
    assert.truthy(world:start(function() end))
  end)
end)

describe("a world's figures", function()
  it("have every documented name", function()
    local stats = support.world():stats()
    for name in ([[active sleeping ready pinned resumed capacity stackBytes stacks started
        completed cancelled failed rejected posts timers]]):gmatch "%S+" do
      assert.equal("number", type(stats[name]), name)
    end
  end)

  it("count the routines in each state", function()
    local world = support.world{ capacity = 8 }
    local function sleeper() routine.wait(100) end
    for _ = 1, 3 do world:start(sleeper) end
    local before = world:stats()
    assert.same({ 3, 0, 3 }, { before.active, before.sleeping, before.ready })
    world:tick(0)
    world:start(sleeper)
    local after = world:stats()
    assert.same({ 4, 3, 1 }, { after.active, after.sleeping, after.ready })
  end)

  it("count how routines ended", function()
    local world = support.world{ capacity = 8 }
    world:start(function() end)
    world:start(function() error "on purpose" end)
    local unstarted = world:start(function() end)
    local sleeping = world:start(function() routine.wait(9) end)
    unstarted:cancel()
    world:tick(0)
    sleeping:cancel()
    world:tick(0)
    local stats = world:stats()
    assert.equal(4, stats.started)
    assert.equal(1, stats.completed)
    assert.equal(1, stats.failed)
    assert.equal(2, stats.cancelled)
    assert.equal(0, stats.active)
    assert.equal(1, #support.reports())
  end)

  it("count what was rejected for want of room", function()
    local world = support.world{ capacity = 1 }
    world:start(function() end)
    world:start(function() end)
    world:start(function() end)
    assert.equal(2, world:stats().rejected)
    assert.equal(1, world:stats().started)
  end)

  it("count resumes over the world's life", function()
    local world = support.world()
    world:start(function() for _ = 1, 3 do routine.nextTick() end end)
    local sum = 0
    for _ = 1, 6 do sum = sum + world:tick(0) end
    assert.equal(4, sum)
    assert.equal(4, world:stats().resumed)
  end)

  it("tell a pinned wait from a compact one", function()
    local world = support.world()
    world:start(function() routine.wait(1) end)
    world:tick(0)
    assert.equal(0, world:stats().pinned)
    world:start(function()
      local list = { 2, 1 }
      table.sort(list, function(a, b) routine.wait(1) return a < b end)
    end)
    world:tick(0)
    assert.equal(1, world:stats().pinned)
    assert.is_true(world:stats().stacks >= 1)
    support.ticks(8)
    assert.equal(0, world:stats().pinned)
  end)

  it("count posts that wait", function()
    local world = support.world()
    world:post(function() end)
    world:post(function() end, "high")
    assert.equal(2, world:stats().posts)
    world:tick(0)
    assert.equal(0, world:stats().posts)
  end)

  it("are a table of the caller's own each time", function()
    local world = support.world()
    local stats = world:stats()
    stats.active = 99
    assert.equal(0, world:stats().active)
  end)
end)

describe("world:configure", function()
  it("changes the capacity", function()
    local world = support.world{ capacity = 1 }
    world:configure{ capacity = 3 }
    assert.equal(3, world:stats().capacity)
    for _ = 1, 3 do assert.truthy(world:start(function() end)) end
    assert.same({ nil, "capacity" }, { world:start(function() end) })
  end)

  it("changes the budget of resumes", function()
    local world = support.world()
    world:configure{ resumesPerTick = 2 }
    for _ = 1, 3 do world:start(function() end) end
    assert.equal(2, world:tick(0))
    assert.equal(1, world:tick(0))
  end)

  it("keeps the capacity when that is not what it sets", function()
    local world = support.world { capacity = 10000 }
    world:configure { resumesPerTick = 5 }
    assert.equal(10000, world:stats().capacity)
  end)

  it("raises while a routine is alive, and changes nothing", function()
    local world = support.world{ capacity = 4 }
    world:start(function() routine.wait(1) end)
    assert.has_error(function() world:configure{ capacity = 9 } end)
    world:tick(0)
    assert.has_error(function() world:configure{ capacity = 9 } end)
    assert.equal(4, world:stats().capacity)
    world:tick(1)
    world:configure{ capacity = 9 }
    assert.equal(9, world:stats().capacity)
  end)

  it("refuses what weft.world refuses, and changes nothing", function()
    local world = support.world{ capacity = 4 }
    assert.has_error(function() world:configure{ capacity = 0 } end)
    assert.has_error(function() world:configure{ stackBytes = 1024 } end)
    assert.has_error(function() world:configure(3) end)
    assert.equal(4, world:stats().capacity)
  end)

  it("keeps the clocks and the counters", function()
    local world = support.world{ capacity = 1 }
    world:start(function() end)
    world:start(function() end)
    world:tick(2.5)
    world:configure{ capacity = 7 }
    assert.equal(2.5, world.simTime)
    assert.equal(1, world.tickCount)
    local stats = world:stats()
    assert.same({ 1, 1, 1, 1 },
      { stats.started, stats.completed, stats.rejected, stats.resumed })
  end)

  it("leaves the handles of routines that ended before what they told", function()
    local world = support.world{ capacity = 2 }
    local handle = world:start(function() return 1 end)
    world:tick(0)
    world:configure{ capacity = 5 }
    assert.equal("completed", handle:status())
    assert.is_false(handle:cancel())
  end)

  it("also works through the routine module", function()
    assert.equal("function", type(routine.configure))
    assert.equal("table", type(routine.stats()))
  end)
end)

describe("a world object", function()
  it("lets nobody write its clocks", function()
    local world = support.world()
    assert.has_error(function() world.simTime = 5 end)
    assert.has_error(function() world.realTime = 5 end)
    assert.has_error(function() world.tickCount = 5 end)
    assert.equal(0, world.simTime)
  end)

  it("gives back the onError it was given", function()
    local world = support.world()
    local function onError() end
    world.onError = onError
    assert.equal(onError, world.onError)
  end)

  it("raises when its methods are called on something else", function()
    local world = support.world()
    for _, name in ipairs{ "tick", "start", "post", "on", "stats", "pause", "close" } do
      assert.equal("function", type(world[name]), name)
      assert.is_false(pcall(world[name], {}), name)
      assert.is_false(pcall(world[name]), name)
      assert.is_false(pcall(world[name], io.stdout), name)
    end
  end)
end)
