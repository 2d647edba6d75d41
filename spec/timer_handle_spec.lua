-- SPDX-License-Identifier: MIT
--
-- Handles of timers, their owners and groups, and how they end with a world.

local support = require "support"
local routine = require "weft.routine"
local timer = require "weft.timer"
local weft = require "weft"

local within = support.within

local function nothing() end

describe("a timer's handle", function()
  it("tells what remains, and that nothing does once it is over", function()
    local world = support.world()
    local handle = within(timer.after, 2, nothing)
    world:tick(0.5)
    assert.equal(1.5, handle:remaining())
    assert.is_true(handle:alive())
    world:tick(2)
    assert.is_false(handle:alive())
    assert.equal(0, handle:remaining())
  end)

  it("stops for a pause and goes on with what was left", function()
    local world = support.world()
    local n = 0
    local handle = within(timer.every, 1, function(k) n = n + k end)
    world:tick(0.75)
    assert.is_true(handle:pause())
    assert.is_false(handle:pause())
    world:tick(100)
    assert.equal(0.25, handle:remaining())
    assert.is_true(handle:alive())
    assert.is_true(handle:resume())
    assert.is_false(handle:resume())
    world:tick(0.25)
    assert.equal(1, n)
    world:tick(1)
    assert.equal(2, n)
  end)

  it("of a paused timer can be cancelled", function()
    local world = support.world()
    local handle = within(timer.after, 1, nothing)
    handle:pause()
    assert.is_true(handle:cancel())
    assert.is_false(handle:resume())
    assert.equal(0, world:stats().timers)
  end)

  it("is harmless when it is stale, also after its slot is used again", function()
    local world = support.world()
    local old = within(timer.after, 1, nothing)
    assert.is_true(old:cancel())
    for _ = 1, 200 do
      local new = within(timer.after, 1, nothing)
      assert.is_false(old:alive() or old:cancel() or old:pause() or old:resume())
      assert.is_false(timer.tag(old, "x"))
      assert.equal(0, old:remaining())
      assert.is_true(new:cancel())
    end
    assert.equal("weft.Timer", tostring(old):match "^[%w.]+")
    assert.truthy(tostring(old):find("over", 1, true))
    world:close()
    assert.is_false(old:alive() or old:cancel() or old:pause() or old:resume())
  end)

  it("keeps nothing alive, and dropping it stops nothing", function()
    local world = support.world()
    local done = 0
    local weak = setmetatable({}, { __mode = "v" })
    within(timer.after, 1, function() done = done + 1 end)
    local handle = within(function()
      local big = {}
      weak[1] = big
      return timer.after(1, function() return big end)
    end)
    support.collect()
    assert.truthy(weak[1])
    handle:cancel()
    support.collect()
    assert.is_nil(weak[1])
    world:tick(1)
    assert.equal(1, done)
  end)

  it("lets go of the function and its arguments after the last call", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "v" })
    within(function()
      weak[1] = {}
      timer.after(1, nothing, weak[1])
      local of = {}
      weak[2] = of
      timer.every(1, function() return of end, { count = 2 })
    end)
    support.collect()
    assert.truthy(weak[1] and weak[2])
    support.ticks(2, 1, world)
    support.collect()
    assert.is_nil(weak[1])
    assert.is_nil(weak[2])
  end)

  it("may be made and cancelled for ever without a trace", function()
    local world = support.world()
    support.collect()
    local base = collectgarbage "count"
    for _ = 1, support.stress and 2 or 20 do
      within(function()
        local list = {}
        for i = 1, 500 do list[i] = timer.after(1e9, function() return list end, list) end
        for i = 1, 500 do list[i]:cancel() end
      end)
    end
    assert.equal(0, world:stats().timers)
    support.collect()
    assert.is_true(collectgarbage "count" - base < 500)
  end)
end)

describe("an owner's timers", function()
  it("end with it and with those above it", function()
    local world = support.world()
    local n = 0
    local function count() n = n + 1 end
    local level = world:owner()
    local guard = world:owner(level)
    assert.truthy(guard:every(1, count))
    assert.truthy(level:after(1, count))
    within(timer.after, 1, count)
    level:destroy()
    assert.equal(1, world:stats().timers)
    world:tick(1)
    assert.equal(1, n)
    local handle, reason = guard:after(1, count)
    assert.is_nil(handle)
    assert.equal("destroyed", reason)
    assert.same({ nil, "destroyed" }, { guard:every(1, count) })
  end)

  it("end when it is disabled, and start none until it is enabled", function()
    local world = support.world()
    local n = 0
    local actor = world:owner()
    local handle = actor:every(1, function() n = n + 1 end)
    actor:disable()
    assert.is_false(handle:alive())
    assert.same({ nil, "disabled" }, { actor:after(1, nothing) })
    actor:enable()
    world:tick(1)
    assert.equal(0, n)
    assert.truthy(actor:after(1, nothing))
  end)

  it("get their arguments and options as those of nobody", function()
    local world = support.world()
    local got = {}
    local owner = world:owner()
    owner:after(1, function(...) got[#got + 1] = { ... } end, 1, 2)
    owner:after(1, function(...) got[#got + 1] = { ... } end, { unscaled = true }, 3)
    owner:every(1, function(...) got[#got + 1] = { ... } end, { count = 1, delay = 2 })
    support.ticks(2, 1, world)
    assert.same({ { 3 }, { 1, 2 }, { 1 } }, got)
  end)

  it("run on its clock, times those above it; unscaled ones do not", function()
    local world = support.world()
    local log = {}
    local level = world:owner()
    local guard = world:owner(level)
    guard:every(1, function(n) log[#log + 1] = "guard*" .. n end)
    level:after(1, function() log[#log + 1] = "level" end)
    guard:after(1, function() log[#log + 1] = "real" end, { unscaled = true })
    local late = guard:after(0.5, function() log[#log + 1] = "late" end)
    level:setTimeScale(0.5)
    guard:setTimeScale(0.5)
    world:tick(1)
    assert.equal(0.25, late:remaining())
    world:tick(1)
    level:setTimeScale(0)
    world:tick(1000)
    level:setTimeScale(2)
    world:tick(10)
    assert.same({ "real", "level", "late", "guard*10" }, log)
  end)

  it("of 0 go on in each tick when its clock stands still", function()
    local world = support.world()
    local n = 0
    local owner = world:owner()
    owner:every(0, function() n = n + 1 end)
    owner:setTimeScale(0)
    owner:after(0, function() n = n + 100 end)
    owner:after(1, function() n = n + 1000 end)
    support.ticks(3, 1, world)
    assert.equal(103, n)
  end)

  it("may destroy it from a callback, and the others that are due with them do not run", function()
    local world = support.world()
    local log = {}
    local owner = world:owner()
    owner:onDestroyed(function() log[#log + 1] = "destroyed" end)
    owner:every(1, function()
      log[#log + 1] = "first"
      owner:destroy()
    end)
    owner:after(1, function() log[#log + 1] = "never" end)
    support.ticks(2, 1, world)
    assert.same({ "first", "destroyed" }, log)
    assert.equal(0, world:stats().timers)
  end)

  it("do not fire twice after scripts were loaded anew", function()
    local world = support.world()
    local n, script = 0, nil
    for _ = 1, 5 do
      if script then script:destroy() end
      script = world:owner()
      script:every(1, function() n = n + 1 end)
      script:start(function() while true do n = n + 1 routine.wait(1) end end)
    end
    world:tick(0)
    n = 0
    support.ticks(3, 1, world)
    assert.equal(6, n)
  end)
end)

describe("groups of timers", function()
  local function hear(log, name)
    return function() log[#log + 1] = name end
  end

  it("are paused, resumed and cancelled by the name of their tag", function()
    local world = support.world()
    local log = {}
    within(function()
      local a, b = timer.every(1, hear(log, "a")), timer.every(1, hear(log, "b"))
      timer.every(1, hear(log, "free"))
      assert.is_true(timer.tag(a, "enemies"))
      assert.is_true(timer.tag(b, "enemies"))
      assert.equal(2, timer.pauseAll "enemies")
      assert.equal(0, timer.pauseAll "enemies")
      assert.equal(0, timer.pauseAll "nobody")
    end)
    world:tick(1)
    within(function() assert.equal(2, timer.resumeAll "enemies") end)
    world:tick(1)
    within(function() assert.equal(2, timer.cancelAll "enemies") end)
    world:tick(1)
    assert.same({ "free", "a", "b", "free", "free" }, log)
  end)

  it("have a timer in one of them at a time", function()
    support.world()
    within(function()
      local handle = timer.after(1, nothing)
      timer.tag(handle, "a")
      timer.tag(handle, "b")
      assert.equal(0, timer.pauseAll "a")
      assert.equal(1, timer.pauseAll "b")
      assert.is_true(timer.tag(handle, nil))
      assert.equal(0, timer.cancelAll "b")
      assert.equal(0, timer.cancelAll "a")
      assert.is_true(handle:alive())
    end)
  end)

  it("may have new names for ever", function()
    local world = support.world()
    within(function()
      for i = 1, support.stress and 500 or 20000 do
        local handle = timer.after(1, nothing)
        timer.tag(handle, "name " .. i)
        assert.equal(1, timer.cancelAll("name " .. i))
        assert.equal(0, timer.cancelAll("name " .. i))
      end
      local kept = timer.after(1, nothing)
      timer.tag(kept, "kept")
      for i = 1, 100 do timer.tag(timer.after(1, nothing), "again " .. i) end
      for i = 100, 1, -1 do assert.equal(1, timer.cancelAll("again " .. i)) end
      assert.equal(1, timer.cancelAll "kept")
    end)
    assert.equal(0, world:stats().timers)
  end)

  it("are those of an owner and of the owners below it, too", function()
    local world = support.world()
    local log = {}
    local level = world:owner()
    local guard = world:owner(level)
    guard:every(1, hear(log, "guard"))
    level:every(1, hear(log, "level"))
    assert.equal(2, timer.pauseAll(level))
    world:tick(1)
    assert.equal(1, timer.resumeAll(guard))
    world:tick(1)
    assert.equal(2, timer.cancelAll(level))
    world:tick(1)
    assert.same({ "guard" }, log)
    level:destroy()
    assert.equal(0, timer.cancelAll(level))
  end)

  it("of a name are each world's own", function()
    local world = support.world()
    local other = weft.world {}
    local mine
    within(function()
      mine = timer.after(1, nothing)
      timer.tag(mine, "x")
    end)
    other:post(function() timer.cancelAll "x" end)
    other:tick(0)
    assert.is_true(mine:alive())
    other:close()
    assert.is_true(world:stats().timers == 1)
  end)
end)

describe("the end of a world's timers", function()
  it("comes with unload, also for those that cleanups arm", function()
    local world = support.world()
    local n = 0
    within(timer.every, 1, function() n = n + 1 end)
    world:start(function()
      routine.defer(function() timer.after(1, function() n = n + 1 end) end)
      routine.wait(100)
    end)
    world:tick(0)
    assert.is_true(world:unload())
    assert.equal(0, world:stats().timers)
    support.ticks(3, 1, world)
    assert.equal(0, n)
  end)

  it("comes with close, during which none can be armed", function()
    local world = support.world()
    local got
    local handle = within(timer.after, 1, nothing)
    world:start(function()
      routine.defer(function() got = { timer.after(1, nothing) } end)
      routine.wait(100)
    end)
    world:tick(0)
    world:close()
    assert.same({ nil, "closed" }, got)
    assert.is_false(handle:alive())
  end)

  it("does not come with configure", function()
    local world = support.world()
    local n = 0
    local handle = within(timer.every, 1, function() n = n + 1 end)
    timer.tag(handle, "kept")
    world:configure { capacity = 8, timers = 1000 }
    world:tick(1)
    assert.equal(1, n)
    within(function() assert.equal(1, timer.cancelAll "kept") end)
  end)

  it("is no routine's: inspect and active know nothing of them", function()
    local world = support.world()
    within(timer.every, 1, nothing)
    assert.same({}, world:inspect())
    assert.equal(0, world:stats().active)
    assert.equal(1, world:stats().timers)
  end)

  it("may come while thousands wait, and after as many as there were never before", function()
    local world = support.world { timers = 10 }
    local n, count = 0, support.stress and 200 or 5000
    within(function()
      for i = 1, count do timer.after(i % 10, function() n = n + 1 end) end
    end)
    assert.equal(count, world:stats().timers)
    support.ticks(9, 1, world)
    assert.equal(count, n)
  end)
end)
