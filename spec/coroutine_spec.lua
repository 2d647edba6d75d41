-- SPDX-License-Identifier: MIT
--
-- Plain coroutine code inside routines, and what a script can do by hand to the thread of a
-- routine that waits.

local support = require "support"
local routine = require "weft.routine"

describe("a bare coroutine.yield in a routine's body #wait", function()
  it("means nextTick", function()
    local world = support.world()
    local turns = 0
    local handle = world:start(function()
      for _ = 1, 3 do turns = turns + 1 coroutine.yield() end
    end)
    for tick = 1, 3 do
      world:tick(0)
      assert.equal(tick, turns)
      assert.equal("sleeping", handle:status())
    end
    world:tick(0)
    assert.equal("completed", handle:status())
  end)

  it("does so whatever it yields", function()
    local world = support.world()
    local done = false
    world:start(function()
      coroutine.yield(nil)
      coroutine.yield(1, "x", {}, false)
      coroutine.yield(routine.Cancelled)
      done = true
    end)
    support.settle(4)
    assert.is_true(done)
  end)

  it("may be mixed with waits, and works under pcall", function()
    local world = support.world()
    local log = {}
    world:start(function()
      coroutine.yield()
      log[1] = routine.wait(1)
      local ok, value = pcall(function() coroutine.yield() return "in" end)
      log[2], log[3] = ok, value
      coroutine.yield()
      log[4] = routine.nextTick()
    end)
    for _ = 1, 8 do world:tick(1) end
    assert.same({ 1, true, "in", 1 }, log)
  end)

  it("in an inner coroutine goes to whoever resumed that", function()
    local world = support.world()
    local got = {}
    world:start(function()
      local gen = coroutine.wrap(function()
        for i = 1, 3 do routine.wait(1) coroutine.yield(i) end
      end)
      for value in gen do got[#got + 1] = value end
    end)
    world:tick(0)
    world:tick(1)
    assert.same({ 1 }, got)
    support.ticks(4)
    assert.same({ 1, 2, 3 }, got)
  end)
end)

describe("coroutine functions inside a routine #wait", function()
  it("tell the truth", function()
    local world = support.world()
    local seen = {}
    world:start(function()
      local co, main = coroutine.running()
      seen.type, seen.main = type(co), main
      seen.status = coroutine.status(co)
      if coroutine.isyieldable then seen.yieldable = coroutine.isyieldable() end
      routine.nextTick()
      seen.same = coroutine.running() == co
      pcall(function() routine.nextTick() seen.samein = coroutine.running() == co end)
    end)
    support.settle(3)
    assert.equal("thread", seen.type)
    assert.is_true(not seen.main)
    assert.equal("running", seen.status)
    assert.is_true(seen.yieldable == nil or seen.yieldable == true)
    assert.is_true(seen.same)
    assert.is_true(seen.samein)
  end)

  it("are the machine's own", function()
    for name, fn in pairs(coroutine) do
      local info = debug.getinfo(fn, "S")
      assert.equal("C", info.what, name)
    end
  end)
end)

-- Starts a routine whose wait is compact or pinned; returns its handle and its thread.
local ways = {
  compact = function(world, body)
    local co
    local handle = world:start(function()
      co = coroutine.running()
      body(function() return routine.wait(10) end)
    end)
    world:tick(0)
    return handle, co
  end,
  pinned = function(world, body)
    local co
    local handle = world:start(function()
      co = coroutine.running()
      body(function()
        local slept
        local text = ("x"):gsub("x", function() slept = routine.wait(10) return "y" end)
        return text == "y" and slept
      end)
    end)
    world:tick(0)
    return handle, co
  end,
}

for _, way in ipairs{ "compact", "pinned" } do
  describe("the thread of a routine in a " .. way .. " wait #wait", function()
    local world, handle, co, slept

    before_each(function()
      slept = nil
      world = support.world()
      handle, co = ways[way](world, function(wait) slept = wait() end)
    end)

    local function stillSleepsTenSeconds()
      assert.equal("sleeping", handle:status())
      world:tick(9)
      assert.is_nil(slept)
      world:tick(1)
      assert.equal(10, slept)
      assert.equal("completed", handle:status())
      assert.equal(0, #support.reports())
    end

    it("cannot be resumed by hand", function()
      local ok, first, second = coroutine.resume(co, "junk", routine.Cancelled)
      if ok then
        assert.same({ nil, "belongs to a routine" }, { first, second })
      else
        assert.is_not_nil(first)
      end
      stillSleepsTenSeconds()
    end)

    it("cannot be woken by a thousand resumes", function()
      for i = 1, 1000 do
        local ok, first = coroutine.resume(co, i, true)
        assert.is_true(not ok or first == nil)
      end
      stillSleepsTenSeconds()
    end)

    it("cannot be resumed by another routine", function()
      local ok, first
      world:start(function() ok, first = coroutine.resume(co) end)
      world:tick(0)
      assert.is_true(not ok or first == nil)
      stillSleepsTenSeconds()
    end)

    it("has a status and a traceback", function()
      assert.is_string(coroutine.status(co))
      assert.are_not.equal("dead", coroutine.status(co))
      local trace = debug.traceback(co)
      assert.truthy(trace:find("coroutine_spec.lua", 1, true), trace)
      assert.is_string(debug.traceback(co, "message", 1))
      stillSleepsTenSeconds()
    end)

    it("survives full collections and debug.getinfo at every level", function()
      for level = 0, 12 do debug.getinfo(co, level) end
      support.collect()
      stillSleepsTenSeconds()
    end)

    it("survives hooks set on it", function()
      local lines = 0
      debug.sethook(co, function() lines = lines + 1 end, "crl", 1)
      stillSleepsTenSeconds()
      debug.sethook(co)
      debug.sethook()
    end)

    it("is cancelled as ever after somebody resumed it", function()
      coroutine.resume(co)
      handle:cancel()
      coroutine.resume(co)
      world:tick(0)
      assert.equal("cancelled", handle:status())
      assert.is_nil(slept)
      assert.is_false((coroutine.resume(co)) and true)
    end)

    if coroutine.close then
      it("closed by hand makes the routine fail with a sentence, or refuses", function()
        local ok = pcall(coroutine.close, co)
        if not ok then return stillSleepsTenSeconds() end
        support.ticks(12)
        assert.is_nil(slept)
        assert.equal("failed", handle:status())
        assert.equal(1, #support.reports())
        assert.equal(handle, support.reports()[1].handle)
        assert.truthy(#support.reports()[1].err > 20)
        assert.equal(0, world:stats().active)
      end)
    end
  end)
end
