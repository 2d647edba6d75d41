-- SPDX-License-Identifier: MIT
--
-- Resumes that take too long: told through onSlow, ended by maxResumeMs. Nothing here asserts how
-- long anything took: loops go on until they have been seen, or are ended by the limit itself.

local support = require "support"
local routine = require "weft.routine"

local lua54 = support.vm == "lua5.4"
local interpreted = lua54 or os.getenv "WEFT_JIT" == "off"

-- Without the look-up in a spec's environment, which is a call of busted's.
local clock = os.clock

local told

local function slowWorld(options)
  options.slowResumeMs = options.slowResumeMs or 2
  local world = support.world(options)
  world.onSlow = function(...) told[#told + 1] = { n = select("#", ...), ... } end
  return world
end

-- Goes on until the world has seen one slow resume more. On a busy machine this resume may have
-- been seen before it got here: then it ends by its own time, which is many times the limit.
local function spin(world)
  local before, start = world:stats().slow, clock()
  while world:stats().slow == before and clock() - start < 0.3 do local _ = 1 end
end

local function line() return debug.getinfo(2, "l").currentline end

-- How often the world told of one of these. A busy machine makes any other resume a slow one too.
local function timesTold(...)
  local count = 0
  for _, entry in ipairs(told) do
    for i = 1, select("#", ...) do
      if entry[1] == select(i, ...) then count = count + 1 end
    end
  end
  return count
end

before_each(function() told = {} end)

describe("world.onSlow", function()
  it("is told of a resume that takes long, once, when the routines have run", function()
    local world = slowWorld {}
    local handle = world:start(spin, world)
    local after
    world:start(function() after = #told end)
    world:tick(0)
    assert.equal(1, timesTold(handle))
    assert.equal(3, told[1].n)
    assert.equal(handle, told[1][1])
    assert.is_true(told[1][2] >= 2)
    assert.equal(0, after)
    local all = #told
    world:tick(0)
    assert.equal(all, #told)
    assert.equal(all, world:stats().slow)
  end)

  it("is told in the same tick, before the systems of postUpdate", function()
    local world = slowWorld {}
    local seen
    local handle = world:start(spin, world)
    world:on("postUpdate", function() seen = timesTold(handle) end)
    world:tick(0)
    assert.equal(1, seen)
  end)

  it("is told of each resume of a routine, and of several in a tick", function()
    local world = slowWorld {}
    local function twice()
      spin(world)
      routine.nextTick()
      spin(world)
    end
    local first, second = world:start(twice), world:start(twice)
    world:tick(0)
    world:tick(0)
    assert.same({ 2, 2, 4 }, { timesTold(first), timesTold(second), #told })
    for i = 1, 4 do assert.equal(i % 2 == 1 and first or second, told[i][1]) end
  end)

  if not interpreted then
    it("says where the routine stood, or waits if compiled code has not told", function()
      local world = slowWorld {}
      local waits
      world:start(function()
        spin(world)
        waits = line() + 1
        routine.wait(1)
      end)
      world:tick(0)
      local at = tonumber(told[1][3]:match "slow_spec.lua:(%d+)$")
      local loop, here = debug.getinfo(spin, "S"), at >= waits - 2 and at <= waits
      assert.is_true(here or at > loop.linedefined and at <= loop.lastlinedefined, told[1][3])
    end)
  end

  if interpreted then
    it("names the line where the routine stood", function()
      local world = slowWorld { slowResumeMs = 20 } -- ms in which a busy machine gets to the loop
      local first
      world:start(function()
        first = line() + 1
        while world:stats().slow == 0 do
          for _ = 1, 1000 do local _ = 1 end
        end
        -- The hook runs before the next instruction, which is one of these lines.
        for _ = 1, 10 do local _ = 1 end
      end)
      world:tick(0)
      local last = first + 5
      local file, at = told[1][3]:match "^(.*):(%d+)$"
      assert.truthy(file:find("slow_spec.lua", 1, true))
      assert.is_true(tonumber(at) >= first and tonumber(at) <= last, told[1][3])
    end)
  end

  it("gives the handle also of one that has ended, if somebody holds it", function()
    local world = slowWorld {}
    local handle = world:start(spin, world)
    world:tick(0)
    assert.equal(handle, told[1][1])
    assert.equal("completed", handle:status())
  end)

  it("gives nil for one that has ended and that nobody holds", function()
    local world = slowWorld {}
    world:start(spin, world)
    support.collect()
    world:tick(0)
    assert.equal(3, told[1].n)
    assert.is_nil(told[1][1])
  end)

  it("is told of slow cleanups while the world is unloaded", function()
    local world = slowWorld {}
    world:start(function()
      routine.defer(function() spin(world) end)
      routine.wait(9)
    end)
    world:tick(0)
    told = {}
    world:unload()
    assert.equal(1, #told)
  end)

  it("that fails is reported, and may start routines", function()
    local world = slowWorld {}
    local ran
    world.onSlow = function()
      routine.start(function() ran = true end)
      error("bad", 0)
    end
    world:start(spin, world)
    world:tick(0)
    assert.equal("bad", support.reports()[1].err)
    world:tick(0)
    assert.is_true(ran)
  end)

  it("can be read, replaced and taken away", function()
    local world = slowWorld {}
    local before = world.onSlow
    assert.equal("function", type(before))
    world.onSlow = nil
    assert.is_nil(world.onSlow)
    world.onSlow = before
    assert.equal(before, world.onSlow)
    local ok, err = pcall(function() world.onSlow = 5 end)
    assert.is_false(ok)
    assert.truthy(err:find("world.onSlow: a function or nil expected, got 5", 1, true))
  end)

  it("is not told of quick resumes, and without a limit of none", function()
    local world = slowWorld { slowResumeMs = 1e9 }
    for _ = 1, 100 do world:start(function() routine.nextTick() end) end
    support.settle(3)
    assert.equal(0, #told)
    local free = support.world()
    free.onSlow = world.onSlow
    free:start(function()
      local sum = 0
      for i = 1, 1e6 do sum = sum + i end
    end)
    free:tick(0)
    assert.equal(0, #told)
    assert.equal(0, free:stats().slow)
  end)

  it("writes to stderr where nobody listens", function()
    local status, text = support.child [[
      local weft = require "weft"
      local world = weft.world{ slowResumeMs = 2 }
      world:start(function() while world:stats().slow == 0 do local _ = 1 end end)
      world:tick(0)
    ]]
    assert.equal(0, status)
    assert.truthy(text:match "^weft: .* ran for %d+ ms in one go")
  end)

  it("watches a world that is configured to be watched, until it no longer is", function()
    local world = support.world()
    world.onSlow = function() told[#told + 1] = true end
    world:configure { slowResumeMs = 2 }
    world:start(spin, world)
    world:tick(0)
    assert.equal(1, #told)
    world:configure { slowResumeMs = 0 }
    local seen = world:stats().slow
    world:start(function() for _ = 1, 1e6 do local _ = 1 end end)
    world:tick(0)
    assert.equal(seen, world:stats().slow)
  end)
end)

describe("inspect", function()
  it("tells about how long each routine of a watched world has run", function()
    local world = slowWorld {}
    local busy = world:start(function()
      spin(world)
      routine.wait(5)
    end)
    world:start(function() routine.wait(5) end)
    world:tick(0)
    local list = world:inspect()
    assert.equal(busy, list[1].id)
    assert.is_true(list[1].cpuMs > 0)
    assert.is_true(list[1].cpuMs > list[2].cpuMs)
  end)

  it("tells how long by the clock, never less than the watch has seen", function()
    local world = slowWorld {}
    local inside
    world:start(function()
      spin(world)
      inside = world:inspect()[1].wallMs
      routine.wait(5)
    end)
    world:start(function() routine.wait(5) end, 1)
    world:start(function() routine.wait(5) end)
    world:tick(0)
    local list = world:inspect()
    assert.is_true(inside >= 2)
    assert.is_true(list[1].wallMs >= inside)
    assert.is_true(list[1].wallMs >= told[1][2])
    assert.is_true(list[2].wallMs >= 0)
    world:tick(0) -- nobody runs
    assert.equal(list[1].wallMs, world:inspect()[1].wallMs)
    world:start(function() end)
    assert.equal(0, world:inspect()[4].wallMs)
  end)

  it("does neither where nobody looks", function()
    local world = support.world()
    world:start(function() routine.wait(5) end)
    world:tick(0)
    assert.is_nil(world:inspect()[1].cpuMs)
    assert.is_nil(world:inspect()[1].wallMs)
    world:close()
    world = support.world { maxResumeMs = 1000 }
    world:start(function() routine.wait(5) end)
    world:tick(0)
    assert.is_nil(world:inspect()[1].wallMs)
  end)
end)

-- On LuaJIT the end comes in code that the compiler has left alone only.
if interpreted then
  describe("maxResumeMs", function()
    local function runaway(fn, options)
      options = options or {}
      options.maxResumeMs = options.maxResumeMs or 40
      local world = support.world(options)
      local handle = world:start(fn)
      world:tick(0)
      return handle, world
    end

    it("ends a loop without end by an error that names its line", function()
      local at
      local handle = runaway(function()
        at = line() + 1
        while true do local _ = 1 end
      end)
      assert.equal("failed", handle:status())
      local report = support.reports()[1]
      assert.equal(handle, report.handle)
      local file, where = report.err:match "^(.-):(%d+): this routine has run for over 40 ms"
      assert.truthy(file:find("slow_spec.lua", 1, true), report.err)
      assert.equal(at, tonumber(where))
      assert.truthy(report.trace:find("slow_spec.lua:" .. at, 1, true), report.trace)
    end)

    it("lets the others run, and cleanups", function()
      local cleaned, ran
      local handle, world = runaway(function()
        routine.defer(function() cleaned = true end)
        while true do local _ = 1 end
      end)
      world:start(function() ran = true end)
      world:tick(0)
      assert.is_true(cleaned and ran)
      assert.equal("failed", handle:status())
      support.reports()
    end)

    it("ends a loop in a function that is called, under C functions too", function()
      local function forever() while true do local _ = 1 end end
      for _, body in ipairs {
        function() forever() end,
        function() table.sort({ 1, 2 }, forever) end,
        function() return (("x"):gsub("x", forever)) end,
        function() setmetatable({}, { __index = forever }).x() end,
      } do
        local handle = runaway(body)
        assert.equal("failed", handle:status())
      end
      assert.equal(4, #support.reports())
      for _, report in ipairs(support.reports()) do
        assert.truthy(report.err:find("maxResumeMs", 1, true))
      end
    end)

    it("ends a loop in a coroutine of the routine's own", function()
      local function forever() while true do local _ = 1 end end
      local err
      local handle = runaway(function()
        local ok
        ok, err = coroutine.resume(coroutine.create(function()
          coroutine.wrap(forever)()
        end))
        assert(not ok)
      end)
      assert.equal("completed", handle:status())
      assert.truthy(err:find("slow_spec.lua:%d+: this routine has run for over"), err)
    end)

    it("goes on ending one that catches it", function()
      local caught = 0
      local handle = runaway(function()
        while caught < 3 do
          local ok = pcall(function() while true do local _ = 1 end end)
          assert(not ok)
          caught = caught + 1
        end
      end, { maxResumeMs = 40 }) -- long enough to be within the loop each time
      assert.equal(3, caught)
      assert.equal("completed", handle:status())
    end)

    it("leaves alone who waits in time", function()
      local handle, world = runaway(function()
        for _ = 1, 50 do routine.nextTick() end
      end, { maxResumeMs = 1000 })
      support.settle(60, world)
      assert.equal("completed", handle:status())
    end)

    it("leaves no hook behind", function()
      local world = support.world { maxResumeMs = 40 }
      local hook
      local function forever() while true do local _ = 1 end end
      world:start(function()
        pcall(forever)
        hook = debug.gethook()
      end)
      world:tick(0)
      assert.is_nil(hook)
      assert.is_nil(debug.gethook())
    end)

    it("ends a cleanup that never ends, and close with it", function()
      local world = support.world { maxResumeMs = 40 }
      local handle = world:start(function()
        routine.defer(function() while true do local _ = 1 end end)
        routine.wait(9)
      end)
      world:tick(0)
      world:close()
      assert.equal("failed", handle:status())
      assert.truthy(support.reports()[1].err:find("maxResumeMs", 1, true))
    end)

    it("also tells onSlow, where that has a limit", function()
      local handle, world
      world = slowWorld { slowResumeMs = 20, maxResumeMs = 60 }
      local at
      handle = world:start(function()
        at = line() + 1
        while true do local _ = 1 end
      end)
      world:tick(0)
      assert.equal(1, #told)
      assert.equal(handle, told[1][1])
      assert.equal(at, tonumber(told[1][3]:match ":(%d+)$"))
      assert.equal(1, #support.reports())
    end)
  end)
end

describe("misuse of the limits", function()
  local function says(text, options)
    local ok, err = pcall(support.world, options)
    assert.is_false(ok)
    assert.truthy(tostring(err):find(text, 1, true), err)
  end

  it("raises", function()
    says("weft.world: slowResumeMs must be a number from 0 (no limit) to 1e9, got -1",
      { slowResumeMs = -1 })
    says("weft.world: maxResumeMs must be a number from 0 (no limit) to 1e9, got string",
      { maxResumeMs = "5" })
    says("weft.world: maxResumeMs must be a number from 0 (no limit) to 1e9, got nan",
      { maxResumeMs = 0 / 0 })
  end)
end)
