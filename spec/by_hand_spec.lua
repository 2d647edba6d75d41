-- SPDX-License-Identifier: MIT
--
-- What the debug library and stale threads may do to routines by hand: nothing that harms.

local support = require "support"
local routine = require "weft.routine"

describe("a local of a waiting routine #wait", function()
  it("may be read and set from outside", function()
    local world = support.world()
    local co, result
    world:start(function()
      co = coroutine.running()
      local treasure = "copper"
      routine.wait(1)
      result = treasure
    end)
    world:tick(0)
    local found
    for level = 0, 8 do
      if not debug.getinfo(co, level, "l") then break end
      for index = 1, 20 do
        local name, value = debug.getlocal(co, level, index)
        if not name then break end
        if name == "treasure" then
          found = value
          debug.setlocal(co, level, index, "gold")
        end
      end
    end
    world:tick(1)
    assert.equal("copper", found)
    assert.equal("gold", result)
  end)

  it("may be spoiled on every level without a crash", function()
    local world = support.world()
    local co
    world:start(function()
      co = coroutine.running()
      local one, two = 1, 2
      pcall(function()
        local three = 3
        routine.wait(1)
        return one + two + three
      end)
    end)
    world:tick(0)
    for level = 0, 8 do
      if not debug.getinfo(co, level, "l") then break end
      for index = 1, 20 do
        local name = debug.getlocal(co, level, index)
        if not name then break end
        -- Spoiling temporaries crashes plain LuaJIT too: they are the VM's own.
        if name:sub(1, 1) ~= "(" then debug.setlocal(co, level, index, nil) end
      end
    end
    world:tick(1)
    world:tick(1)
    assert.equal(0, world:stats().active)
  end)
end)

if support.vm == "lua5.4" then
  describe("a hook that a routine set on itself #wait", function()
    it("is gone when another routine runs", function()
      local world = support.world{ capacity = 1 }
      local inherited, lines = "none", 0
      for _, how in ipairs{ "return", "error", "cancel" } do
        local first = world:start(function()
          debug.sethook(function() lines = lines + 1 end, "l")
          if how == "error" then error("on purpose", 0) end
          if how == "cancel" then routine.wait(9) end
        end)
        world:tick(0)
        first:cancel()
        world:tick(0)
        world:start(function() inherited = debug.gethook() end)
        world:tick(0)
        assert.is_nil(inherited, how)
      end
      assert.is_true(lines > 0)
      assert.equal(1, #support.reports())
    end)
  end)
end

describe("the thread of a routine that has ended #wait", function()
  it("is dead or at least harmless, and its slot goes on", function()
    local world = support.world{ capacity = 1 }
    local threads = {}
    for i = 1, 20 do
      local done
      world:start(function()
        threads[i] = coroutine.running()
        routine.nextTick()
        done = true
      end)
      support.settle(2)
      assert.is_true(done)
      for k = 1, i do
        coroutine.resume(threads[k], "junk")
        if coroutine.close then pcall(coroutine.close, threads[k]) end
        debug.traceback(threads[k])
      end
    end
    assert.equal(20, world:stats().completed)
  end)

  it("may be resumed while its next user waits there", function()
    local world = support.world{ capacity = 1 }
    local old, slept
    world:start(function() old = coroutine.running() end)
    world:tick(0)
    world:start(function() slept = routine.wait(5) end)
    world:tick(0)
    coroutine.resume(old)
    coroutine.resume(old, true, 5)
    world:tick(4)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(5, slept)
  end)
end)

describe("a routine at a bare yield that a script resumes by hand", function()
  -- Runs `body` until it yields, then resumes it within the shield of another routine, or outside
  -- of all. Its handle, the error it raised, and whether the other's shield still held then.
  local function byHand(inside, body)
    local world = support.world()
    local co, problem, held
    world.onError = function() end
    local function resume()
      local _, first, second = coroutine.resume(co)
      problem = tostring(second or first)
    end
    if inside then
      world:start(function()
        routine.wait(0)
        routine.shield(function()
          resume()
          routine.cancel(routine.self())
          held = pcall(routine.wait, 0)
        end)
      end)
    end
    local handle = world:start(function()
      co = coroutine.running()
      body()
    end)
    world:tick(0)
    if not inside then resume() end
    support.ticks(3)
    return handle, problem, held
  end

  for _, inside in ipairs { false, true } do
    local where = inside and "in another one" or "outside of all"
    it("fails at the end of its scope, " .. where, function()
      local child
      local handle, problem = byHand(inside, function()
        routine.scope(function(scope)
          child = scope:start(function() routine.wait(100) end)
          coroutine.yield()
        end)
      end)
      assert.matches("routine.scope: the coroutine was resumed by hand", problem)
      assert.equal("failed", handle:status())
      assert.equal("cancelled", child:status())
    end)

    it("fails at the end of its shield, " .. where, function()
      local handle, problem = byHand(inside, function()
        routine.shield(function() coroutine.yield() end)
      end)
      assert.matches("routine.shield: the coroutine was resumed by hand", problem)
      assert.equal("failed", handle:status())
    end)
  end

  it("leaves the shield of the one that resumes it alone", function()
    local _, _, held = byHand(true, function()
      pcall(routine.shield, function() coroutine.yield() end)
    end)
    assert.is_true(held)
  end)
end)
