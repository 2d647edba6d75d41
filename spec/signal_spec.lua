-- SPDX-License-Identifier: MIT
--
-- Waiting for a signal: who hears which fire, in which order, with which values, and for how long.

local support = require "support"
local several = require "support.several"
local weft = require "weft"
local routine = require "weft.routine"

local pack, collect, answer = several.pack, several.collect, several.answer

describe("signal:wait #wait", function()
  it("returns what the signal was fired with, nils and trailing nils kept", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    world:tick(0)
    sig:fire(nil, "x", nil, nil)
    world:tick(0)
    assert.same({ n = 4, nil, "x" }, answer(got))
  end)

  it("returns nothing for a fire without values", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    world:tick(0)
    sig:fire()
    world:tick(0)
    assert.same({ n = 0 }, answer(got))
  end)

  it("hands hundreds of values over, the same ones to all", function()
    local world, sig = support.world(), weft.signal()
    local values, got = {}, {}
    for i = 1, 200 do values[i] = { i } end
    for i = 1, 3 do got[i] = collect(world, function() return sig:wait() end) end
    world:tick(0)
    sig:fire((rawget(table, "unpack") or rawget(_G, "unpack"))(values, 1, 200))
    world:tick(0)
    for i = 1, 3 do
      assert.equal(200, got[i].n)
      for k = 1, 200 do assert.equal(values[k], got[i][k]) end
    end
  end)

  it("is over in the next routine stage, never inside the fire", function()
    local world, sig = support.world(), weft.signal()
    local log = {}
    world:start(function()
      sig:wait()
      log[#log + 1] = "woken"
    end)
    world:tick(0)
    sig:fire()
    assert.same({}, log)
    world:tick(0)
    assert.same({ "woken" }, log)
  end)

  it("wakes in waiting order, in the same tick when fired before the routines", function()
    local world, sig = support.world(), weft.signal()
    local log = {}
    for i = 1, 5 do
      world:start(function()
        routine.wait(5 - i)
        local value = sig:wait()
        log[#log + 1] = i .. ":" .. value
      end)
    end
    support.settle(1)
    support.ticks(4)
    local sub = world:on("update", function() sig:fire "go" end)
    world:tick(0)
    sub:off()
    assert.same({ "5:go", "4:go", "3:go", "2:go", "1:go" }, log)
  end)

  it("ends a tick later when another routine fires", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    world:start(function() sig:fire(world.tickCount) end)
    world:tick(0)
    assert.is_nil(got.n)
    world:tick(0)
    assert.equal(1, got[1])
  end)

  it("hears exactly the fire after it began to wait", function()
    local world, sig = support.world(), weft.signal()
    local log = {}
    sig:fire "too early"
    world:start(function()
      for i = 1, 3 do
        local value = sig:wait()
        log[i] = value
      end
    end)
    world:tick(0)
    sig:fire "first"
    sig:fire "nobody waits"
    world:tick(0)
    sig:fire "second"
    world:tick(0)
    sig:fire "third"
    world:tick(0)
    assert.same({ "first", "second", "third" }, log)
  end)

  it("gives each waiter the values of its own fire", function()
    local world, sig = support.world(), weft.signal()
    local first = collect(world, function() return sig:wait() end)
    world:tick(0)
    local second
    sig:fire(1, "one")
    world:pause()
    second = collect(world, function() return sig:wait() end)
    world:resume()
    world:tick(0)
    sig:fire(2, "two")
    world:tick(0)
    assert.same({ n = 2, 1, "one" }, answer(first))
    assert.same({ n = 2, 2, "two" }, answer(second))
  end)

  it("works under C functions as well", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function()
      local text = ("ab"):gsub(".", function(c) return c .. sig:wait() end)
      local ok, value = pcall(sig.wait, sig)
      return text, ok, value
    end)
    support.settle(1)
    for i = 1, 3 do
      sig:fire(i)
      support.settle(1)
    end
    assert.same({ n = 3, "a1b2", true, 3 }, answer(got))
  end)

  it("is what routine.waitFor is", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return routine.waitFor(sig) end)
    local late = collect(world, function() return routine.waitFor(sig, 1) end)
    support.settle(1)
    support.ticks(1)
    sig:fire("a", nil)
    support.settle(1)
    assert.same({ n = 2, "a" }, answer(got))
    assert.same({ n = 2, nil, "timeout" }, answer(late))
  end)

  it("waits with thousands of others", function()
    local count = support.stress and 300 or 5000
    local world, sig = support.world{ capacity = count }, weft.signal()
    local sum, order = 0, true
    for i = 1, count do
      world:start(function()
        local value = sig:wait()
        sum = sum + value
        order = order and sum == i * 3
      end)
    end
    world:tick(0)
    assert.equal(count, sig:waiting())
    sig:fire(3)
    assert.equal(0, sig:waiting())
    world:tick(0)
    assert.equal(3 * count, sum)
    assert.is_true(order)
  end)

  it("is shown by inspect", function()
    local world, sig = support.world(), weft.signal()
    world:start(function() sig:wait(3) end)
    support.settle(1)
    support.ticks(1)
    local entry = world:inspect()[1]
    assert.equal("sleeping", entry.status)
    assert.equal("signal", entry.waitingOn)
    assert.equal(2, entry.wakesIn)
    assert.matches("signal_spec.lua:%d+$", entry.where)
  end)

  it("lets routines of several worlds wait for one signal", function()
    local one, two = support.world(), support.world()
    local sig = weft.signal()
    local got = {}
    for i, world in ipairs{ one, two, one } do
      got[i] = collect(world, function() return sig:wait() end)
      one:tick(0)
      two:tick(0)
    end
    sig:fire("x", nil)
    two:tick(0)
    assert.equal("x", got[2][1])
    assert.is_nil(got[1].n)
    one:tick(0)
    for i = 1, 3 do assert.same({ n = 2, "x" }, answer(got[i])) end
  end)

  it("does not stand still while its world is paused: it ends once that goes on", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    world:tick(0)
    world:pause()
    sig:fire(1)
    support.settle(2)
    assert.is_nil(got.n)
    world:resume()
    world:tick(0)
    assert.equal(1, got[1])
  end)
end)

describe("a time limit of a signal #wait", function()
  it("returns nil and timeout on the tick on which it is over", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait(2) end)
    support.settle(1)
    support.ticks(1)
    assert.is_nil(got.n)
    support.ticks(1)
    assert.equal(2, got.at)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
    assert.equal(0, sig:waiting())
  end)

  it("of 0 ends in the next tick", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait(0) end)
    support.settle(1)
    assert.is_nil(got.n)
    support.settle(1)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
  end)

  -- A wait has one winner, and leaves nothing that could end the next one.
  it("loses to a fire before the routines of the same tick, and leaves no deadline", function()
    local world, sig = support.world(), weft.signal()
    local log = {}
    world:start(function()
      log[1] = sig:wait(1)
      local from = world.simTime
      log[2] = select(2, sig:wait(5))
      log[3] = world.simTime - from
    end)
    support.settle(1)
    local sub = world:on("update", function() sig:fire "x" end)
    world:tick(1)
    sub:off()
    support.ticks(6)
    assert.same({ "x", "timeout", 5 }, log)
    assert.equal(0, sig:waiting())
  end)

  it("wins over a fire by a routine of the same tick, and leaves no waiter", function()
    local world, sig = support.world(), weft.signal()
    local log = {}
    world:start(function()
      routine.wait(1)
      sig:fire "late"
    end)
    world:start(function()
      log[1] = select(2, sig:wait(1))
      log[2] = sig:wait(1) or "nothing"
    end)
    support.settle(1)
    support.ticks(3)
    assert.same({ "timeout", "nothing" }, log)
  end)

  it("runs on the clock of the owner", function()
    local world, sig = support.world(), weft.signal()
    local slow = world:owner()
    slow:setTimeScale(0.5)
    local at
    slow:start(function()
      sig:wait(1)
      at = world.simTime
    end)
    support.settle(1)
    support.ticks(3)
    assert.equal(2, at)
  end)
end)

describe("a cancel in a wait for a signal #wait", function()
  it("takes the waiter out before it returns", function()
    local world, sig = support.world(), weft.signal()
    local err
    local h = world:start(function()
      local ok
      ok, err = pcall(sig.wait, sig)
      if not ok then error(err, 0) end
    end)
    support.settle(1)
    assert.is_true(h:cancel())
    assert.equal(0, sig:waiting())
    sig:fire()
    support.settle(1)
    assert.equal(routine.Cancelled, err)
    assert.equal("cancelled", h:status())
  end)

  it("comes before a fire that is under way", function()
    local world, sig = support.world(), weft.signal()
    local hits = 0
    local h = world:start(function() sig:wait() hits = hits + 1 end)
    support.settle(1)
    sig:fire()
    h:cancel()
    support.settle(3)
    assert.equal(0, hits)
    assert.equal("cancelled", h:status())
  end)

  it("leaves nothing of the values of a fire", function()
    local world, sig = support.world(), weft.signal()
    local weak = setmetatable({}, { __mode = "v" })
    local h = world:start(function() sig:wait() end)
    local other = world:start(function() sig:wait() end)
    support.settle(1)
    weak[1] = {}
    sig:fire(weak[1], 2)
    h:cancel()
    support.settle(1)
    assert.equal("completed", other:status())
    support.collect()
    assert.is_nil(weak[1])
  end)

  it("leaves nothing when the world is closed, or goes, with a fire under way", function()
    local weak, worlds = setmetatable({}, { __mode = "v" }), {}
    local sig = weft.signal()
    for i = 1, 2 do
      worlds[i] = weft.world()
      worlds[i]:start(function() sig:wait() end)
      worlds[i]:tick(0)
    end
    weak[1] = {}
    sig:fire(weak[1])
    worlds[1]:close()
    worlds[2] = nil
    support.collect()
    support.collect()
    assert.is_nil(weak[1])
    assert.equal(0, sig:waiting())
  end)
end)

describe("signal:fireOne #wait", function()
  it("wakes the one that has waited longest, and says whether there was one", function()
    local world, sig = support.world(), weft.signal()
    local log = {}
    for i = 1, 2 do
      world:start(function()
        local values = pack(sig:wait())
        log[#log + 1] = { i, values }
      end)
    end
    assert.is_false(sig:fireOne "nobody")
    support.settle(1)
    assert.is_true(sig:fireOne("a", nil))
    assert.equal(1, sig:waiting())
    support.settle(1)
    assert.is_true(sig:fireOne "b")
    assert.is_false(sig:fireOne "c")
    support.settle(1)
    assert.same({ { 1, { n = 2, "a" } }, { 2, { n = 1, "b" } } }, log)
  end)

  it("calls no listener", function()
    local sig = weft.signal()
    sig:connect(function() error "called" end)
    assert.is_false(sig:fireOne())
  end)

  it("goes to the next when the one that had it is cancelled, values and all", function()
    local world, sig = support.world(), weft.signal()
    local log, handles = {}, {}
    for i = 1, 3 do
      handles[i] = world:start(function()
        local values = pack(sig:wait())
        log[#log + 1] = { i, values }
      end)
    end
    support.settle(1)
    sig:fireOne("turn", nil)
    handles[1]:cancel()
    handles[2]:cancel()
    assert.equal(0, sig:waiting())
    support.settle(1)
    assert.same({ { 3, { n = 2, "turn" } } }, log)
  end)

  it("is gone, values and all, when nobody is left to take it", function()
    local world, sig = support.world(), weft.signal()
    local weak = setmetatable({}, { __mode = "v" })
    local h = world:start(function() sig:wait() end)
    support.settle(1)
    weak[1] = {}
    sig:fireOne(weak[1])
    h:cancel()
    support.settle(1)
    support.collect()
    assert.is_nil(weak[1])
    local got = collect(world, function() return sig:wait(1) end)
    support.settle(1)
    support.ticks(1)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
  end)

  it("goes on when the owner of the one that had it is destroyed", function()
    local world, sig = support.world(), weft.signal()
    local owner = world:owner()
    owner:start(function() sig:wait() end)
    support.settle(1)
    local got = collect(world, function() return sig:wait() end)
    support.settle(1)
    sig:fireOne(7)
    owner:destroy()
    support.settle(1)
    assert.equal(7, got[1])
  end)
end)

describe("signal:destroy #wait", function()
  it("ends all waits with nil and closed", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    local pinned = collect(world, function()
      local out
      table.sort({ 1, 2 }, function() out = out or pack(sig:wait(9)) return false end)
      return out[1], out[2]
    end)
    support.settle(1)
    assert.is_true(sig:destroy())
    assert.is_false(sig:destroy())
    assert.equal(0, sig:waiting())
    support.settle(1)
    assert.same({ n = 2, nil, "closed" }, answer(got))
    assert.same({ n = 2, nil, "closed" }, answer(pinned))
  end)

  it("does not take back a fire before it", function()
    local world, sig = support.world(), weft.signal()
    local got = collect(world, function() return sig:wait() end)
    support.settle(1)
    sig:fire "last"
    sig:destroy()
    support.settle(1)
    assert.same({ n = 1, "last" }, answer(got))
  end)
end)

describe("a signal", function()
  it("is kept by those that wait for it, and by nothing else", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "k" })
    local function make()
      local sig = weft.signal()
      weak[sig] = true
      sig:connect(function() end)
      return sig
    end
    local h = world:start(function(sig) sig:wait() end, make())
    make()
    support.settle(1)
    support.collect()
    support.collect()
    local left = 0
    for sig in pairs(weak) do
      left = left + 1
      sig:fire()
    end
    assert.equal(1, left)
    support.settle(1)
    assert.equal("completed", h:status())
    support.collect()
    support.collect()
    assert.is_nil(next(weak))
  end)

  it("has a name for people", function()
    local world, sig = support.world(), weft.signal()
    sig:connect(function() end)
    world:start(function() sig:wait() end)
    support.settle(1)
    assert.equal("weft.Signal (1 listeners, 1 waiting)", tostring(sig))
    sig:destroy()
    assert.equal("weft.Signal (destroyed)", tostring(sig))
  end)

  it("leaves no garbage behind that grows with the number of fires", function()
    local world, sig = support.world(), weft.signal()
    for _ = 1, 10 do
      world:start(function() while true do sig:wait() end end)
    end
    local h = world:start(function() while true do sig:wait() end end)
    local function storm(n)
      for i = 1, n do
        sig:fire(i, "x", nil)
        world:tick(0)
      end
    end
    storm(50)
    assert.is_true(support.growth(function() storm(500) end) < 8)
    h:cancel()
  end)
end)
