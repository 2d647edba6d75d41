-- SPDX-License-Identifier: MIT
--
-- Waits for signals, channels and locks that end in unusual ways: with the world, by hand, with the
-- object gone, from finalizers.

local support = require "support"
local several = require "support.several"
local weft = require "weft"
local routine = require "weft.routine"

local collect, answer, doomed = several.collect, several.answer, support.doomed

describe("a world that is closed", function()
  it("does not wait for those that wait for what never comes", function()
    local world, log = support.world(), {}
    local function parked(name, fn)
      world:start(function()
        routine.defer(function() log[#log + 1] = name end)
        fn()
      end)
    end
    local mutex = weft.mutex()
    parked("signal", function() weft.signal():wait() end)
    parked("channel", function() weft.channel():get() end)
    parked("any", function() routine.any{ weft.signal(), weft.signal() } end)
    parked("holder", function() mutex:lock() weft.channel():put(1) end)
    parked("mutex", function() mutex:lock() end)
    support.settle(2)
    world:close()
    assert.same({ "signal", "channel", "any", "holder", "mutex" }, log)
    assert.same({}, support.reports())
  end)

  it("leaves a signal to the other worlds", function()
    local one, two, sig = weft.world(), support.world(), weft.signal()
    one:start(function() sig:wait() end)
    one:tick(0)
    local got = collect(two, function() return sig:wait() end)
    two:tick(0)
    one:close()
    assert.equal(1, sig:waiting())
    sig:fire "x"
    two:tick(0)
    assert.same({ n = 1, "x" }, answer(got))
  end)

  it("for want of a holder, not before its listener that runs has ended", function()
    local log = {}
    local function connected(fails)
      local sig, world = weft.signal(), weft.world{ capacity = 2 }
      world.onError = function(_, err) log[#log + 1] = err end
      world:post(function()
        sig:connect(function()
          for _ = 1, 3 do collectgarbage() end
          log[#log + 1] = type(routine.start(function() end))
          if fails then error("after it", 0) end
        end)
      end)
      world:tick(0)
      return sig
    end
    connected(false):fire()
    connected(true):fire()
    assert.same({ "userdata", "userdata", "after it" }, log)
    support.collect()
    support.collect()
  end)

  it("in a fire of a listener outside of all, ends nothing else", function()
    local world, sig, log = weft.world(), weft.signal(), {}
    world:start(function() sig:wait() end)
    world:tick(0)
    sig:connect(function() world:close() end)
    sig:connect(function() log[1] = "still called" end)
    sig:fire()
    assert.same({ "still called" }, log)
    assert.equal(0, sig:waiting())
  end)
end)

if support.vm == "lua5.4" then
  describe("a world whose finalizer was dropped", function()
    -- Lua 5.4 drops a finalizer that it meets at its limit of C calls: the world is lost with all
    -- that waits in it. What it waited for must not lead there.
    it("leaves signals, channels and locks sound", function()
      local status, output = support.child [[
        local weft = require "weft"
        local routine = require "weft.routine"
        local sig, other = weft.signal(), weft.signal()
        local mutex, channel = weft.mutex(), weft.channel(1)
        local function make()
          local world = weft.world()
          world.onError = function() end
          world:start(function() routine.any{ sig, other } end)
          world:start(function() routine.all{ sig, other } end)
          world:start(function() sig:wait() end)
          world:start(function() mutex:lock() routine.wait(1e6) end)
          world:start(function() mutex:lock() end)
          world:start(function() channel:get() end)
          for _ = 1, 2 do world:tick(0) end
        end
        local function deep(n)
          if n == 0 then
            collectgarbage()
            collectgarbage()
          else
            pcall(string.gsub, "x", "x", function() deep(n - 1) end)
          end
        end
        collectgarbage "stop" -- it comes where it is called alone
        make()
        for depth = 150, 199 do
          deep(depth)
          make()
        end
        print(sig:waiting() > 3) -- of those that are lost, and of the last one
        sig:fireOne("a", {})
        sig:fire({}, 2)
        channel:put {}
        other:fire(1)
        print(sig:waiting(), other:waiting())
        sig, other, mutex, channel = nil, nil, nil, nil
        collectgarbage()
        collectgarbage()
      ]]
      assert.equal(0, status)
      assert.equal("true\n0\t0\n", output)
    end)
  end)
end

describe("a fire between two ticks", function()
  -- The clock is not a stale one: what a listener starts waits its full time.
  it("starts routines that wait their full time", function()
    local world = support.world()
    local owner, sig, took = world:owner(), weft.signal(), nil
    support.ticks(100, 0.3)
    owner:connect(sig, function()
      routine.start(function()
        local from = world.simTime
        routine.wait(10)
        took = world.simTime - from
      end)
    end)
    sig:fire()
    support.settle(1)
    world:tick(9.9)
    assert.is_nil(took)
    world:tick(0.2)
    assert.is_true(took >= 10)
  end)
end)

if support.vm == "lua5.4" then
  describe("a coroutine closed by hand", function()
    -- Starts a routine that waits in `fn`; returns its handle and its coroutine.
    local function waiter(world, fn)
      local co
      local h = world:start(function()
        co = coroutine.running()
        fn()
      end)
      support.settle(1)
      return h, co
    end

    it("leaves the line of what it waited for", function()
      local world, sig = support.world(), weft.signal()
      local h, co = waiter(world, function() sig:wait() end)
      coroutine.close(co)
      assert.equal("queued", h:status())
      assert.equal(0, sig:waiting())
      support.settle(1)
      assert.equal("failed", h:status())
      assert.matches("closed or run to its end by hand", support.reports()[1].err)
    end)

    it("after it was given a turn passes it on", function()
      local world, sig = support.world(), weft.signal()
      local channel, mutex = weft.channel(1), weft.mutex()
      local holder = world:start(function() mutex:lock() routine.wait(1e6) end)
      support.settle(1)
      local waits = {
        function() return sig:wait() end,
        function() return channel:get() end,
        function() return mutex:lock() end,
      }
      local closed, got = {}, {}
      for i, wait in ipairs(waits) do
        local _
        _, closed[i] = waiter(world, wait)
        got[i] = collect(world, wait)
      end
      support.settle(1)
      sig:fireOne "turn"
      channel:put "value"
      holder:cancel()
      local sub = world:on("postUpdate", function() end)
      sub:off()
      for i = 1, 2 do coroutine.close(closed[i]) end
      support.settle(1) -- the holder ends, the third has the mutex
      coroutine.close(closed[3])
      support.settle(3)
      assert.same({ n = 1, "turn" }, answer(got[1]))
      assert.same({ n = 1, "value" }, answer(got[2]))
      assert.same({ n = 1, true }, answer(got[3]))
      assert.equal(3, #support.reports())
    end)

    it("with values of a fire for all leaves nothing of them", function()
      local world, sig = support.world(), weft.signal()
      local weak = setmetatable({}, { __mode = "v" })
      local _, co = waiter(world, function() sig:wait() end)
      weak[1] = {}
      sig:fire(weak[1])
      coroutine.close(co)
      support.settle(2)
      assert.equal(1, #support.reports())
      support.collect()
      assert.is_nil(weak[1])
    end)
  end)
end

describe("a coroutine resumed by hand in a wait for a signal #wait", function()
  it("waits on, and gets its values", function()
    local world, sig = support.world(), weft.signal()
    local co
    local got = collect(world, function()
      co = coroutine.running()
      return sig:wait()
    end)
    support.settle(1)
    for _ = 1, 3 do
      local _, first, reason = coroutine.resume(co, "junk", true, 1)
      assert.is_nil(first)
      assert.equal("belongs to a routine", reason)
    end
    sig:fire("a", nil)
    support.settle(1)
    assert.same({ n = 2, "a" }, answer(got))
  end)
end)

describe("a finalizer", function()
  it("may connect, fire and destroy, also while a signal is connected to", function()
    local sig, calls, fired = weft.signal(), 0, 0
    for i = 1, support.stress and 20 or 200 do
      doomed(function()
        fired = fired + 1
        sig:once(function() calls = calls + 1 end)
        weft.signal():destroy()
        sig:fire(i)
      end)
      local sub = sig:connect(function() end)
      if i % 2 == 0 then sub:off() end
      if i % 10 == 0 then collectgarbage() end
    end
    support.collect()
    assert.is_true(fired > 0)
    assert.equal(fired, calls)
  end)

  it("may destroy the very signal that is being connected to, which says so", function()
    local refused = 0
    for _ = 1, support.stress and 20 or 200 do
      local sig = weft.signal()
      doomed(function() sig:destroy() end)
      local ok, err = pcall(function()
        for _ = 1, 50 do sig:connect(function() return { sig } end) end
        collectgarbage()
        sig:connect(function() end)
      end)
      if not ok then
        refused = refused + 1
        assert.matches("signal:connect: the signal is destroyed$", err)
      end
    end
    assert.is_true(refused > 0)
  end)

  it("called by hand closes the object for good, and harms nobody", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    support.settle(1)
    local finalize = getmetatable(sig).__gc
    for _, bad in ipairs{ 1, "x", {}, io.stdout, world, true } do finalize(bad) end
    finalize(sig)
    finalize(sig)
    support.settle(1)
    assert.same({ n = 2, nil, "closed" }, answer(got))
    assert.is_false(pcall(sig.fire, sig))
  end)
end)
