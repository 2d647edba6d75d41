-- SPDX-License-Identifier: MIT
--
-- timer.after and timer.every: when they fire, in which order, what a callback may do to others.

local support = require "support"
local routine = require "weft.routine"
local timer = require "weft.timer"
local weft = require "weft"

local within = support.within

-- A world and a list that timers write into.
local function story()
  local log = {}
  local function say(word) log[#log + 1] = word end
  return support.world(), log, say
end

local function told(log)
  local text = table.concat(log, " ")
  for i = #log, 1, -1 do log[i] = nil end
  return text
end

describe("timer.after", function()
  it("calls once, with its arguments, when the time has come", function()
    local world = support.world()
    local got = {}
    within(timer.after, 1, function(...) got[#got + 1] = { select("#", ...), ... } end, "a", nil, 3)
    support.ticks(9, 0.1)
    assert.same({}, got)
    world:tick(0.1)
    support.ticks(50, 0.1)
    assert.same({ { 3, "a", nil, 3 } }, got)
    assert.equal(0, world:stats().timers)
  end)

  it("counts three ticks of 1/3 s as a second", function()
    local world, log, say = story()
    within(timer.after, 1, say, "now")
    support.ticks(2, 1 / 3, world)
    assert.equal("", told(log))
    world:tick(1 / 3)
    assert.equal("now", told(log))
  end)

  it("of 0 comes in the next tick, also if no time passes, whoever arms it", function()
    local world, log, say = story()
    within(timer.after, 0, say, "post")
    world:tick(0)
    assert.equal("post", told(log))
    world:start(function() timer.after(0, say, "routine") end)
    local sub
    sub = world:on("update", function()
      sub:off()
      timer.after(1e-12, say, "system")
    end)
    world:tick(5)
    assert.equal("", told(log))
    world:tick(0)
    assert.equal("system routine", told(log))
  end)

  it("hands on any number of arguments", function()
    local got
    local many = {}
    for i = 1, 3000 do many[i] = i end
    local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
    support.world()
    within(function() timer.after(0, function(...) got = { ... } end, unpack(many)) end)
    support.settle()
    assert.same(many, got)
  end)

  it("of a callback counts from that tick and fires in a later one, however long it was", function()
    local world, log, say = story()
    within(timer.after, 2, function()
      say "outer"
      for i = 1, 5 do timer.after(i * 0.25, say, i) end
    end)
    world:tick(2)
    assert.equal("outer", told(log))
    world:tick(0.125)
    assert.equal("", told(log))
    world:tick(0.125)
    assert.equal("1", told(log))
    world:tick(1)
    assert.equal("2 3 4 5", told(log))
    within(timer.after, 1, function() timer.after(1, say, "late") end)
    world:tick(50)
    assert.equal("", told(log))
    world:tick(1)
    assert.equal("late", told(log))
  end)

  it("that arms itself anew with 0 runs once a tick", function()
    local world = support.world()
    local n, tiny = 0, 0
    local function again()
      n = n + 1
      timer.after(0, again)
    end
    local function small()
      tiny = tiny + 1
      timer.after(1e-12, small)
    end
    within(timer.after, 0, again)
    world:tick(4e6)
    within(timer.after, 1e-12, small)
    for _ = 1, 10 do world:tick(0.016) end
    assert.equal(12, n)
    assert.equal(10, tiny)
  end)

  it("acts on the world that calls, outside of all on the default one", function()
    local world, log, say = story()
    local handle = timer.after(1, say, "default")
    within(timer.after, 1, say, "world")
    assert.equal(1, weft.default():stats().timers)
    world:tick(1)
    assert.equal("world", told(log))
    assert.is_true(handle:cancel())
    assert.equal(timer, weft.timer)
  end)

  it("takes a table of unscaled alone for options, any other for an argument", function()
    local world = support.world()
    local got = {}
    local function note(...) got[#got + 1] = { ... } end
    within(function()
      timer.after(1, note, { unscaled = true }, "x")
      timer.after(1, note, { unscaled = true, more = 1 })
      timer.after(1, note, {})
      timer.after(1, note, { unscaled = false }, "y")
    end)
    world:pause()
    world:tick(1)
    assert.same({ { "x" } }, got)
    world:resume()
    world:tick(1)
    assert.same({ { "x" }, { { unscaled = true, more = 1 } }, { {} }, { "y" } }, got)
  end)
end)

describe("timer.every", function()
  it("does not drift", function()
    local world = support.world()
    local n, sum = 0, 0
    within(timer.every, 0.1, function(k) n, sum = n + 1, sum + k end)
    for i = 1, 1000 do
      world:tick(0.016)
      assert.equal(math.floor(i * 0.016 / 0.1 + 1e-6), sum)
    end
    assert.equal(160, n)
  end)

  it("is called once after a stall, told of all that it missed, and is back on its grid", function()
    local world = support.world()
    local calls = {}
    within(timer.every, 0.01, function(n) calls[#calls + 1] = n end)
    world:tick(0.01)
    world:tick(3600)
    assert.same({ 1, 360000 }, calls)
    for _ = 1, 10 do world:tick(0.01) end
    assert.equal(12, #calls)
  end)

  it("ends when the sum of its intervals is its count", function()
    local world = support.world()
    local calls = {}
    local handle = within(timer.every, 1, function(n) calls[#calls + 1] = n end, { count = 5 })
    world:tick(2)
    world:tick(1)
    world:tick(50)
    assert.same({ 2, 1, 2 }, calls)
    assert.is_false(handle:alive())
    assert.is_false(handle:cancel())
  end)

  it("tells a single call its interval too", function()
    local world = support.world()
    local got
    within(timer.every, 1, function(...) got = { ... } end, { count = 1 })
    world:tick(10)
    assert.same({ 1 }, got)
  end)

  it("has its first call after its delay, and the next ones from there", function()
    local world = support.world()
    local at = {}
    within(timer.every, 1, function() at[#at + 1] = world.simTime end, { delay = 0.25 })
    within(timer.every, 1, function() at[#at + 1] = -world.simTime end, { delay = 0 })
    for _ = 1, 10 do world:tick(0.25) end
    assert.same({ -0.25, 0.25, -1, 1.25, -2, 2.25 }, at)
  end)

  it("of 0 is called in each tick, and not while the world is paused", function()
    local world = support.world()
    local sum = 0
    local handle = within(timer.every, 0, function(n) sum = sum + n end)
    for _ = 1, 10 do world:tick(0.5) end
    assert.equal(10, sum)
    world:pause()
    world:tick(1)
    assert.equal(10, sum)
    world:resume()
    world:setTimeScale(0)
    world:tick(1)
    assert.equal(11, sum)
    handle:cancel()
    world:tick(1)
    assert.equal(11, sum)
  end)

  it("of 0 with a count is that many ticks", function()
    local world = support.world()
    local n = 0
    within(timer.every, 0, function() n = n + 1 end, { count = 3 })
    support.ticks(9, 1, world)
    assert.equal(3, n)
  end)

  it("never overlaps itself: a tick inside a callback is refused", function()
    local world = support.world()
    local runs, depth, worst, nested = 0, 0, 0, nil
    within(timer.after, 1, function() nested = { pcall(world.tick, world, 1) } end)
    within(timer.every, 1, function()
      depth, runs = depth + 1, runs + 1
      worst = math.max(worst, depth)
      pcall(world.tick, world, 1)
      depth = depth - 1
    end)
    support.ticks(3, 1, world)
    assert.is_false(nested[1])
    assert.equal(3, runs)
    assert.equal(1, worst)
    assert.equal(3, world.simTime)
  end)
end)

describe("the order of timers", function()
  it("is by deadline, then by creation, whatever is armed and cancelled around them", function()
    local world, log, say = story()
    local junk = {}
    within(function()
      for i = 1, 50 do
        junk[i] = timer.after(0.5 + (i * 7 % 13) / 10, function() end)
        timer.after(1, say, i)
      end
    end)
    for i = 1, 50, 3 do assert.is_true(junk[i]:cancel()) end
    support.ticks(10, 0.1, world)
    local expected = {}
    for i = 1, 50 do expected[i] = i end
    assert.same(expected, log)
  end)

  it("lets a repeating timer keep the place of its creation", function()
    local world, log, say = story()
    within(function()
      timer.every(0.5, function() say "a" end)
      timer.every(1, function() say "b" end)
      timer.after(2, say, "c")
      timer.every(0.25, function() say "d" end, { delay = 2 })
    end)
    support.ticks(4, 0.5, world)
    assert.equal("a a b a a b c d", told(log))
  end)

  it("is by deadline also when one tick is past them all", function()
    local world, log, say = story()
    within(function()
      timer.after(3, say, "third")
      timer.after(1, say, "first")
      timer.every(2, function(n) say("second*" .. n) end)
    end)
    world:tick(10)
    assert.equal("first second*5 third", told(log))
  end)

  it("has those in real time first, and all before the systems and the routines", function()
    local world, log, say = story()
    world:on("preUpdate", function() say "system" end)
    world:start(function() routine.wait(1) say "routine" end)
    world:tick(0)
    told(log)
    within(function()
      timer.after(1, say, "sim")
      timer.after(1, say, { unscaled = true }, "real")
      world:post(function() say "post" end)
    end)
    told(log)
    world:tick(1)
    assert.equal("post real sim system routine", told(log))
  end)
end)

describe("a timer's callback", function()
  it("may cancel its own timer", function()
    local world, log, say = story()
    local handle
    handle = within(timer.every, 1, function()
      say "x"
      assert.is_true(handle:alive())
      assert.is_true(handle:cancel())
      assert.is_false(handle:alive())
    end)
    support.ticks(3, 1, world)
    assert.equal("x", told(log))
  end)

  it("finds a timer over in its last call", function()
    local world = support.world()
    local handle, alive
    handle = within(timer.after, 1, function() alive = handle:alive() or handle:cancel() end)
    world:tick(1)
    assert.is_false(alive)
  end)

  it("stops others that are due in the same tick at once", function()
    local world, log, say = story()
    local dead, paused
    within(function()
      timer.every(1, function() say "first" end)
      timer.after(1, function()
        assert.is_true(dead:cancel())
        assert.is_false(dead:cancel())
        assert.is_true(paused:pause())
      end)
      dead = timer.after(1, say, "dead")
      paused = timer.every(1, function() say "paused" end)
      timer.after(1, say, "last")
    end)
    world:tick(1)
    assert.equal("first last", told(log))
    assert.equal(0, paused:remaining())
    assert.is_true(paused:resume())
    world:tick(1)
    assert.equal("paused first", told(log))
  end)

  it("may put a new timer in the place of its own", function()
    local world, log, say = story()
    local handle
    local function arm(name)
      handle = timer.every(1, function()
        say(name)
        handle:cancel()
        arm(name .. "'")
      end)
    end
    within(arm, "t")
    support.ticks(3, 1, world)
    assert.equal("t t' t''", told(log))
    assert.equal(1, world:stats().timers)
  end)

  it("that fails is reported, the others run, and its timer goes on", function()
    local world, log, say = story()
    within(timer.every, 1, function(n) error("bad " .. n, 0) end)
    within(timer.every, 1, function() say "good" end)
    support.ticks(3, 1, world)
    assert.equal("good good good", told(log))
    local reports = support.reports()
    assert.equal(3, #reports)
    assert.equal("bad 1", reports[3].err)
    assert.is_nil(reports[3].handle)
    assert.truthy(reports[3].trace:find("timer_spec.lua", 1, true))
  end)

  it("comes before the time limits of its tick: who is woken is not timed out", function()
    local world, log, say = story()
    local signal = weft.signal()
    world:start(function()
      say(tostring(routine.waitFor(signal, 1)))
      say(select(2, routine.waitFor(signal, 5)))
      say(world.simTime)
    end)
    world:tick(0)
    within(timer.after, 0.999, function() signal:fire "fired" end)
    world:tick(1)
    support.ticks(6, 1, world)
    assert.equal("fired timeout 6", (told(log):gsub("6%.0", "6")))
  end)

  it("may start routines and send posts, which wait for their stage", function()
    local world, log, say = story()
    within(timer.after, 1, function()
      routine.start(say, "routine")
      world:post(function() say "post" end)
    end)
    world:tick(1)
    assert.equal("routine", told(log))
    world:tick(0)
    assert.equal("post", told(log))
  end)
end)

describe("the time of timers", function()
  it("stands still in a paused world, and goes on where it was", function()
    local world, log, say = story()
    within(timer.after, 1, say, "sim")
    within(timer.every, 1, function(n) say("real*" .. n) end, { unscaled = true })
    world:tick(0.5)
    world:pause()
    support.ticks(4, 1, world)
    assert.equal("real*1 real*1 real*1 real*1", told(log))
    world:resume()
    world:tick(0.25)
    assert.equal("", told(log))
    world:tick(0.25)
    assert.equal("real*1 sim", told(log))
  end)

  it("is scaled with the world's, unscaled ones aside", function()
    local world, log, say = story()
    within(timer.after, 1, say, "sim")
    within(timer.after, 1, say, { unscaled = true }, "real")
    world:setTimeScale(0.25)
    world:tick(1)
    assert.equal("real", told(log))
    support.ticks(3, 1, world)
    assert.equal("sim", told(log))
  end)

  it("keeps its grain after a year and 200 days of ticks of 1/144 s", function()
    local world = support.world()
    world:tick(565 * 86400)
    local n, seconds = 0, 0
    within(timer.every, 0.005, function(k) n = n + k end)
    within(timer.every, 1, function() seconds = seconds + 1 end)
    local took
    for i = 1, 1440 do
      if i == 1430 then
        local before = world.simTime
        within(timer.after, 0.02, function() took = world.simTime - before end)
      end
      world:tick(1 / 144)
    end
    assert.equal(2000, n)
    assert.equal(10, seconds)
    assert.is_true(took >= 0.02 - 1e-6 and took <= 3 / 144 + 1e-6)
  end)

  it("is measured from the clock of the moment, also outside of ticks", function()
    local world, log, say = story()
    for _ = 1, 100 do world:tick(0.3) end
    world:owner():after(10, say, "now")
    world:tick(9.9)
    assert.equal("", told(log))
    world:tick(0.1)
    assert.equal("now", told(log))
  end)

  it("of delays around 2^k and 60 k is that of a sorted list", function()
    local world = support.world()
    local seed = 7
    local function below(n)
      seed = (seed * 16807) % 2147483647
      return seed % n
    end
    local count, fired, due, handles, dead = support.stress and 300 or 3000, {}, {}, {}, {}
    within(function()
      for i = 1, count do
        local d = (2 ^ below(17) + below(3) - 1) * 0.001
        if i % 5 == 0 then d = 60 * (1 + below(3)) + (below(3) - 1) * 0.001 end
        due[i] = d
        handles[i] = timer.after(d, function() fired[i] = world.simTime end)
      end
    end)
    for i = 1, count, 7 do dead[i] = handles[i]:cancel() end
    for _ = 1, 500 do world:tick(0.4) end
    for i = 1, count do
      if dead[i] then
        assert.is_nil(fired[i])
      else
        assert.is_true(fired[i] >= due[i] - 1e-6 and fired[i] <= due[i] + 0.4 + 1e-6, i)
      end
    end
  end)
end)
