-- SPDX-License-Identifier: MIT
--
-- Signals in routine.any and routine.all, mixed with routines.

local support = require "support"
local several = require "support.several"
local weft = require "weft"
local routine = require "weft.routine"

local sleeper, collect, answer = several.sleeper, several.collect, several.answer

describe("routine.any with signals #wait", function()
  it("returns the place of the first and what waiting for it would", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local got = collect(world, function() return routine.any{ a, b, timeout = 5 } end)
    support.settle(1)
    b:fire(nil, "x", nil)
    support.settle(1)
    assert.same({ n = 4, 2, nil, "x" }, answer(got))
    assert.equal(0, a:waiting() + b:waiting())
  end)

  it("takes routines and signals mixed", function()
    local world = support.world()
    local sig = weft.signal()
    local h = sleeper(world, 1, "slept")
    local first = collect(world, function() return routine.any{ sig, h } end)
    local second = collect(world, function() return routine.any{ h, sig } end)
    support.settle(1)
    assert.equal(2, sig:waiting())
    support.ticks(2)
    assert.same({ n = 3, 2, true, "slept" }, answer(first))
    assert.same({ n = 3, 1, true, "slept" }, answer(second))
    assert.equal(0, sig:waiting())
  end)

  it("lets go of the routines when a signal comes first", function()
    local world = support.world()
    local sig = weft.signal()
    local bad = world:start(function()
      routine.wait(1)
      error "nobody waited for me"
    end)
    local got = collect(world, function() return routine.any{ bad, sig } end)
    support.settle(1)
    sig:fire "now"
    support.ticks(2)
    assert.same({ n = 2, 2, "now" }, answer(got))
    assert.matches("nobody waited", support.reports()[1].err)
  end)

  it("returns nil and timeout, and lets go of all", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local got = collect(world, function() return routine.any{ a, b, timeout = 2 } end)
    support.settle(1)
    support.ticks(2)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
    assert.equal(0, a:waiting() + b:waiting())
  end)

  it("hears one fire of a signal that is in the list twice", function()
    local world = support.world()
    local sig = weft.signal()
    local got = collect(world, function() return routine.any{ sig, sig } end)
    support.settle(1)
    sig:fire(1)
    support.settle(1)
    assert.same({ n = 2, 1, 1 }, answer(got))
    assert.equal(0, sig:waiting())
  end)

  it("answers closed for a signal that is destroyed meanwhile", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local got = collect(world, function() return routine.any{ a, b } end)
    support.settle(1)
    b:destroy()
    support.settle(1)
    assert.same({ n = 3, 2, nil, "closed" }, answer(got))
  end)

  it("works under C functions", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local got = collect(world, function()
      return (("x"):gsub("x", function()
        local index, value = routine.any{ a, b }
        return index .. value
      end))
    end)
    support.settle(1)
    b:fire "!"
    support.settle(1)
    assert.equal("2!", got[1])
  end)

  it("stands in one line with those that wait for the signal alone", function()
    local world = support.world()
    local sig, log = weft.signal(), {}
    local function waiter(name, fn)
      world:start(function()
        fn()
        log[#log + 1] = name
      end)
    end
    waiter("any", function() routine.any{ sig } end)
    waiter("alone", function() sig:wait() end)
    waiter("all", function() routine.all{ sig } end)
    support.settle(1)
    for _ = 1, 3 do
      sig:fireOne()
      support.settle(1)
    end
    assert.same({ "any", "alone", "all" }, log)
  end)

  it("passes a turn on when it is cancelled with it", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local h = world:start(function() routine.any{ a, b } end)
    support.settle(1)
    local got = collect(world, function() return b:wait() end)
    support.settle(1)
    b:fireOne("turn", nil)
    h:cancel()
    support.settle(1)
    assert.same({ n = 2, "turn" }, answer(got))
    assert.equal("cancelled", h:status())
  end)

  it("keeps nothing of the values when it is cancelled or its world goes", function()
    local weak = setmetatable({}, { __mode = "v" })
    local sig = weft.signal()
    local world = support.world()
    local h = world:start(function() routine.any{ sig } end)
    support.settle(1)
    local lost = weft.world()
    lost:start(function() routine.all{ sig, sig } end)
    lost:tick(0)
    weak[1] = {}
    sig:fire(weak[1])
    h:cancel()
    support.settle(1)
    lost = nil -- luacheck: ignore
    support.collect()
    support.collect()
    support.collect()
    assert.is_nil(weak[1])
  end)
end)

describe("routine.all with signals #wait", function()
  it("takes one fire of each and gives what waiting for it would", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local h = sleeper(world, 1, "slept", nil)
    local got = collect(world, function() return routine.all{ a, h, b, timeout = 9 } end)
    support.settle(1)
    a:fire(1, nil)
    a:fire(2)
    support.ticks(2)
    assert.is_nil(got.n)
    b:fire()
    support.settle(1)
    assert.same({ { n = 2, 1 }, { n = 3, true, "slept" }, { n = 0 } }, got[1])
  end)

  it("answers closed for one that is destroyed", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    local got = collect(world, function() return routine.all{ a, b } end)
    support.settle(1)
    a:destroy()
    b:fire "x"
    support.settle(1)
    assert.same({ { n = 2, nil, "closed" }, { n = 1, "x" } }, got[1])
  end)

  it("gives back the turns that it took in vain", function()
    local world = support.world()
    local a, b = weft.signal(), weft.signal()
    for _, how in ipairs{ "timeout", "cancel" } do
      local h = world:start(function() routine.all{ a, b, timeout = 1 } end)
      support.settle(1)
      local got = collect(world, function() return a:wait() end)
      support.settle(1)
      a:fireOne(how)
      support.settle(1)
      assert.is_nil(got.n)
      if how == "cancel" then h:cancel() else support.ticks(1) end
      support.settle(1)
      assert.same({ n = 1, how }, answer(got))
    end
    assert.equal(0, b:waiting())
  end)

  it("keeps nothing of what it got in vain", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "v" })
    local a, b = weft.signal(), weft.signal()
    world:start(function() routine.all{ a, b, timeout = 1 } end)
    support.settle(1)
    weak[1] = {}
    a:fire(weak[1])
    support.ticks(2)
    support.collect()
    assert.is_nil(weak[1])
  end)

  it("waits for thousands of signals", function()
    local count = support.stress and 100 or 3000
    local world = support.world()
    local list = {}
    for i = 1, count do list[i] = weft.signal() end
    local got = collect(world, function() return routine.all(list) end)
    support.settle(1)
    for i = count, 1, -1 do list[i]:fire(i) end
    support.settle(1)
    assert.equal(count, #got[1])
    for i = 1, count do assert.same({ n = 1, i }, got[1][i]) end
  end)

  it("is no ring with a signal that can still come", function()
    local world = support.world()
    local sig = weft.signal()
    local one, two
    one = world:start(function() return routine.any{ two, sig } end)
    two = world:start(function() return routine.join(one) end)
    support.settle(2)
    sig:fire "way out"
    support.settle(3)
    assert.equal("completed", one:status())
    assert.equal("completed", two:status())
  end)
end)

describe("turns of waits whose time is over", function()
  it("go on in the order in which they were given #wait", function()
    local world = support.world()
    local sig, never = weft.signal(), weft.signal()
    for _ = 1, 2 do
      world:start(function() routine.all{ sig, never, timeout = 1 } end)
    end
    support.settle(1)
    sig:fireOne "first"
    sig:fireOne "second"
    local one = collect(world, function() return sig:wait() end)
    local two = collect(world, function() return sig:wait() end)
    support.settle(1)
    world:tick(1)
    assert.same({ "first", "second" }, { one[1], two[1] })
  end)
end)

describe("a list with signals", function()
  it("is refused with the entry that is wrong", function()
    local world = support.world()
    local gone = weft.signal()
    gone:destroy()
    local errs = {}
    world:start(function()
      for i, bad in ipairs{ 5, world, gone, io.stdout, "x" } do
        errs[i] = select(2, pcall(routine.any, { weft.signal(), bad }))
      end
    end)
    world:tick(0)
    local sentence = "routine.any: entry 2: a routine handle or a signal expected, got "
    assert.matches(sentence .. "5$", errs[1])
    assert.matches(sentence .. "userdata$", errs[2])
    assert.matches("routine.any: entry 2: the signal is destroyed$", errs[3])
    assert.matches(sentence .. "userdata$", errs[4])
    assert.matches(sentence .. "string$", errs[5])
  end)
end)
