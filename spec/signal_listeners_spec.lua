-- SPDX-License-Identifier: MIT
--
-- Listeners of a signal: who is called by which fire, while others come, go, fail and fire.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

-- A listener that writes a word down.
local function writer(log, word)
  return function() log[#log + 1] = word end
end

describe("listeners", function()
  it("are called inside the fire, in the order of connection, with its values", function()
    local sig, log = weft.signal(), {}
    for i = 1, 3 do
      sig:connect(function(...) log[#log + 1] = { i, select("#", ...), ... } end)
    end
    sig:fire("a", nil)
    assert.same({ { 1, 2, "a" }, { 2, 2, "a" }, { 3, 2, "a" } }, log)
  end)

  it("are called once by each fire, as often as they were connected", function()
    local sig, log = weft.signal(), {}
    local listener = writer(log, "x")
    local sub = sig:connect(listener)
    sig:connect(listener)
    sig:fire()
    assert.equal(2, #log)
    sub:off()
    sig:fire()
    assert.equal(3, #log)
  end)

  it("are not called any more after off, which says whether they were", function()
    local sig, log = weft.signal(), {}
    local sub = sig:connect(writer(log, "x"))
    assert.is_true(sub:off())
    assert.is_false(sub:off())
    sig:fire()
    assert.same({}, log)
  end)

  it("connected by once are called once", function()
    local sig, log = weft.signal(), {}
    local sub = sig:once(writer(log, "once"))
    local other = sig:once(writer(log, "never"))
    assert.is_true(other:off())
    sig:fire()
    sig:fire()
    assert.same({ "once" }, log)
    assert.is_false(sub:off())
  end)

  it("connected by once are called once, also when they fire themselves", function()
    local sig, log = weft.signal(), {}
    sig:once(function(n)
      log[#log + 1] = n
      sig:fire(n + 1)
    end)
    sig:fire(1)
    assert.same({ 1 }, log)
  end)

  -- A fire calls those that were connected when it began and still are at their turn.
  it("may take others away and connect new ones while they are called", function()
    local sig, log = weft.signal(), {}
    local second
    sig:connect(function()
      log[#log + 1] = 1
      second:off()
      if #log == 1 then sig:connect(writer(log, 4)) end
    end)
    second = sig:connect(writer(log, 2))
    sig:connect(writer(log, 3))
    sig:fire()
    assert.equal("13", table.concat(log))
    sig:fire()
    assert.equal("13134", table.concat(log))
  end)

  it("may take themselves away while they are called, and skip nobody by that", function()
    local sig, log, subs = weft.signal(), {}, {}
    for i = 1, 10 do
      subs[i] = sig:connect(function()
        log[#log + 1] = i
        subs[i]:off()
      end)
    end
    sig:fire()
    assert.equal("12345678910", table.concat(log))
    sig:fire()
    assert.equal(10, #log)
  end)

  it("may be taken away by hundreds and connected again in a fire", function()
    local sig, calls, subs = weft.signal(), 0, {}
    local function count() calls = calls + 1 end
    for i = 1, 100 do subs[i] = sig:connect(count) end
    local first = true
    sig:once(function()
      for i = 1, 100 do subs[i]:off() end
      for _ = 1, 200 do sig:connect(count) end
      assert(first)
      first = false
    end)
    sig:fire()
    assert.equal(100, calls)
    sig:fire()
    assert.equal(300, calls)
  end)

  it("may fire the same signal, which calls all of them before the rest goes on", function()
    local sig, log = weft.signal(), {}
    sig:connect(function(word)
      log[#log + 1] = "a" .. word
      if word == 1 then sig:fire(2) end
    end)
    sig:connect(function(word) log[#log + 1] = "b" .. word end)
    sig:fire(1)
    assert.same({ "a1", "a2", "b2", "b1" }, log)
  end)

  it("may fire inside one another 32 deep, and fail with a sentence one deeper", function()
    support.world()
    local function deep(limit)
      local sig, depth, err = weft.signal(), 0, nil
      sig:connect(function()
        depth = depth + 1
        if depth == limit then return end
        local ok, problem = pcall(sig.fire, sig)
        if not ok then err = problem end
      end)
      sig:fire()
      return depth, err
    end
    local depth, err = deep(32)
    assert.equal(32, depth)
    assert.is_nil(err)
    depth, err = deep(33)
    assert.equal(32, depth)
    assert.matches("signal:fire: depth: 32 fires inside one another are the limit", err)
  end)

  it("are not called any more once one of them has destroyed the signal", function()
    local sig, log = weft.signal(), {}
    sig:connect(writer(log, 1))
    sig:connect(function() sig:destroy() end)
    sig:connect(writer(log, 3))
    sig:fire()
    assert.same({ 1 }, log)
  end)

  it("are outside of the routine that fires: what they start is a routine of its own", function()
    local world, sig, log = support.world(), weft.signal(), {}
    sig:connect(function()
      log.self = routine.self()
      log.ok, log.err = pcall(routine.wait, 1)
      routine.start(function()
        routine.wait(1)
        log[#log + 1] = "one second later"
      end)
    end)
    world:start(function()
      local before = world.tickCount
      sig:fire()
      assert(world.tickCount == before and routine.self())
      log[#log + 1] = "fired"
    end)
    support.settle(2)
    support.ticks(1)
    assert.is_nil(log.self)
    assert.is_false(log.ok)
    assert.matches("routine.wait: not inside a routine", log.err)
    assert.same({ "fired", "one second later" }, { log[1], log[2] })
  end)

  it("are called after those that wait were made ready", function()
    local world, sig, log = support.world(), weft.signal(), {}
    world:start(function()
      local value = sig:wait()
      log[#log + 1] = value
    end)
    support.settle(1)
    sig:connect(function(value)
      if value == 1 then sig:fire(2) end
      log.waiting = sig:waiting()
    end)
    sig:fire(1)
    support.settle(1)
    assert.equal(0, log.waiting)
    assert.same({ 1 }, { log[1] })
  end)

  it("keep their function alive until they are off, and no longer", function()
    local sig, calls = weft.signal(), 0
    local weak = setmetatable({}, { __mode = "v" })
    local function connect()
      local big = {}
      weak[1] = big
      return sig:connect(function() calls = calls + #big + 1 end)
    end
    local sub = connect()
    support.collect()
    sig:fire()
    assert.equal(1, calls)
    sub:off()
    support.collect()
    assert.is_nil(weak[1])
  end)

  it("come and go in thousands without leaving anything", function()
    local sig = weft.signal()
    local function storm()
      for _ = 1, 100 do
        local subs = {}
        for i = 1, 30 do subs[i] = sig:connect(function() end) end
        for i = 1, 30 do subs[i]:off() end
      end
    end
    storm()
    assert.is_true(support.growth(function() for _ = 1, 10 do storm() end end) < 8)
    assert.equal("weft.Signal (0 listeners, 0 waiting)", tostring(sig))
  end)
end)

describe("a listener that fails", function()
  it("goes to onError of the world, with its traceback, and the rest run", function()
    local world, sig, log = support.world(), weft.signal(), {}
    local problem = {}
    sig:connect(writer(log, 1))
    sig:connect(function() error(problem) end)
    sig:connect(writer(log, 3))
    local function failing() error "in a function of its own" end
    sig:connect(function() failing() end)
    sig:connect(writer(log, 5))
    world:start(function() sig:fire() end)
    support.settle(1)
    assert.same({ 1, 3, 5 }, log)
    local reports = support.reports()
    assert.equal(2, #reports)
    assert.is_nil(reports[1].handle)
    assert.equal(problem, reports[1].err)
    assert.matches("signal_listeners_spec.lua:%d+", reports[1].trace)
    assert.matches("in a function of its own", reports[2].err)
    assert.matches("failing", reports[2].trace)
  end)

  it("does not fail the routine, and leaves its waits as they are", function()
    local world, sig = support.world(), weft.signal()
    sig:connect(function() error "boom" end)
    local h = world:start(function()
      sig:fire()
      routine.wait(1)
      return "fine"
    end)
    support.settle(1)
    support.ticks(1)
    assert.equal("completed", h:status())
    assert.equal(1, #support.reports())
  end)

  it("is reported to its own world, the one it was connected in, whoever fires", function()
    local one, two = support.world(), support.world()
    local sig = weft.signal()
    one:start(function() sig:connect(function() error "of one" end) end)
    one:tick(0)
    two:start(function() sig:fire() end)
    two:tick(0)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.equal(one, reports[1].world)
  end)

  it("acts on its own world", function()
    local one, two = support.world(), support.world()
    local sig, seen = weft.signal(), nil
    one:start(function()
      sig:connect(function() routine.start(function() seen = routine.world() end) end)
    end)
    one:tick(0)
    two:start(function() sig:fire() end)
    two:tick(0)
    two:tick(0)
    assert.is_nil(seen)
    one:tick(0)
    assert.equal(one, seen)
  end)

  it("is reported by the default world when nothing runs at all", function()
    local status, text = support.child [[
      local weft = require "weft"
      local sig = weft.signal()
      local function deep() error "nobody's" end
      sig:connect(function() deep() end)
      sig:connect(function() print "still called" end)
      sig:fire()
      weft.default().onError = function(h, err, trace) print(h, err, trace ~= nil) end
      sig:fire()
    ]]
    assert.equal(0, status)
    assert.matches("a callback failed: .-nobody's\n", text)
    assert.matches("'?deep'?", text)
    assert.matches("still called\n", text)
    assert.matches("nil\t[^\n]*nobody's\ttrue\n", text)
  end)

  it("may fail by every fire of a deep row, and each is told of once", function()
    support.world()
    local world = support.world()
    local sig = weft.signal()
    sig:connect(function(n)
      if n < 5 then sig:fire(n + 1) end
      error(n, 0)
    end)
    world:start(function() sig:fire(1) end)
    world:tick(0)
    local errs = {}
    for i, report in ipairs(support.reports()) do errs[i] = report.err end
    assert.same({ 5, 4, 3, 2, 1 }, errs)
  end)

  it("with Cancelled is no failure", function()
    local world, sig = support.world(), weft.signal()
    sig:connect(function() error(routine.Cancelled, 0) end)
    sig:fire()
    world:start(function() sig:fire() end)
    world:tick(0)
    assert.same({}, support.reports())
  end)
end)

describe("owner:connect", function()
  it("connects until the owner is destroyed", function()
    local world, sig, log = support.world(), weft.signal(), {}
    local owner = world:owner()
    owner:connect(sig, function(word) log[#log + 1] = word end)
    sig:fire "a"
    owner:destroy()
    sig:fire "b"
    assert.same({ "a" }, log)
  end)

  it("ends with a parent too, and in the middle of a fire", function()
    local world, sig, log = support.world(), weft.signal(), {}
    local parent = world:owner()
    local child = world:owner(parent)
    sig:connect(function() parent:destroy() end)
    child:connect(sig, writer(log, "child"))
    sig:connect(writer(log, "rest"))
    sig:fire()
    assert.same({ "rest" }, log)
  end)

  it("stays while the owner is disabled: handlers stay", function()
    local world, sig, log = support.world(), weft.signal(), {}
    local owner = world:owner()
    owner:connect(sig, writer(log, "x"))
    owner:disable()
    sig:fire()
    assert.same({ "x" }, log)
  end)

  it("gives a subscription, and once as well", function()
    local world, sig, log = support.world(), weft.signal(), {}
    local owner = world:owner()
    local sub = owner:connect(sig, writer(log, "never"))
    assert.is_true(sub:off())
    owner:once(sig, writer(log, "once"))
    sig:fire()
    sig:fire()
    assert.same({ "once" }, log)
  end)

  it("gives nil and destroyed for an owner that is", function()
    local world, sig = support.world(), weft.signal()
    local owner = world:owner()
    owner:destroy()
    local sub, reason = owner:connect(sig, function() end)
    assert.is_nil(sub)
    assert.equal("destroyed", reason)
  end)

  it("acts on the owner's world and reports to it", function()
    local one, two = support.world(), support.world()
    local sig = weft.signal()
    local owner, seen = one:owner(), nil
    owner:connect(sig, function()
      routine.start(function() seen = routine.world() end)
      error "of one"
    end)
    two:start(function() sig:fire() end)
    two:tick(0)
    sig:fire()
    one:tick(0)
    assert.equal(one, seen)
    local reports = support.reports()
    assert.same({ one, one }, { reports[1].world, reports[2].world })
    assert.matches("signal_listeners_spec", reports[2].trace)
  end)

  it("ends with the world of the owner", function()
    local world, sig, log = weft.world(), weft.signal(), {}
    world:owner():connect(sig, writer(log, "x"))
    sig:connect(writer(log, "y"))
    world:close()
    sig:fire()
    assert.same({ "y" }, log)
  end)

  it("leaves nothing of owners that come and go without a fire", function()
    local world, sig = support.world(), weft.signal()
    local function storm(n)
      for _ = 1, n do
        local owner = world:owner()
        owner:connect(sig, function() return {} end)
        owner:destroy()
      end
    end
    storm(200)
    assert.is_true(support.growth(function() storm(3000) end) < 8)
  end)
end)
