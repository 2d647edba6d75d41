-- SPDX-License-Identifier: MIT
--
-- Waiting for several routines: the first of them (any), every one of them (all).

local support = require "support"
local several = require "support.several"
local routine = require "weft.routine"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local pack, sleeper, collect, answer =
  several.pack, several.sleeper, several.collect, several.answer

describe("routine.any #wait", function()
  it("returns the place of the first to end, and what join would", function()
    local world = support.world()
    local list = { sleeper(world, 3), sleeper(world, 1, "x", nil, "z", nil), sleeper(world, 2) }
    local got = collect(world, function() return routine.any(list) end)
    world:tick(0)
    support.ticks(2)
    assert.same({ n = 6, 2, true, "x", nil, "z", nil }, answer(got))
  end)

  it("wakes as early as join", function()
    local world = support.world()
    local target, other = sleeper(world, 1), sleeper(world, 9)
    local joined = collect(world, function() return routine.join(target) end)
    local first = collect(world, function() return routine.any{ other, target } end)
    local every = collect(world, function() return routine.all{ target } end)
    world:tick(0)
    support.ticks(4)
    assert.equal(joined.at, first.at)
    assert.equal(joined.at, every.at)
  end)

  it("returns false and the error of one that failed", function()
    local world = support.world()
    local problem = {}
    local bad = world:start(function() routine.wait(1) error(problem) end)
    local got = collect(world, function() return routine.any{ sleeper(world, 5), bad } end)
    world:tick(0)
    support.ticks(3)
    assert.equal(problem, got[3])
    assert.same({ n = 3, 2, false, problem }, answer(got))
  end)

  it("returns false and Cancelled of one that was cancelled", function()
    local world = support.world()
    local target = sleeper(world, 1e6)
    local got = collect(world, function() return routine.any{ target } end)
    world:tick(0)
    target:cancel()
    support.settle(3)
    assert.same({ n = 3, 1, false, routine.Cancelled }, answer(got))
  end)

  it("returns at once, without a tick, the first that has ended already", function()
    local world = support.world()
    local slow, done = sleeper(world, 1e6), world:start(function() return "x" end)
    local later = world:start(function() return "y" end)
    world:tick(0)
    local ticks
    local got = collect(world, function()
      local before = world.tickCount
      local result = pack(routine.any{ slow, done, later })
      ticks = world.tickCount - before
      return unpack(result, 1, result.n)
    end)
    world:tick(0)
    assert.equal(0, ticks)
    assert.same({ n = 3, 2, true, "x" }, answer(got))
  end)

  it("answers for an expired handle at once, as join does", function()
    local world = support.world{ capacity = 2 }
    local old = world:start(function() end)
    world:tick(0)
    for _ = 1, 2 do
      world:start(function() end)
      support.settle(1)
    end
    local slow = sleeper(world, 9)
    local got = collect(world, function() return routine.any{ slow, old } end)
    assert.equal("expired", old:status())
    world:tick(0)
    assert.same({ n = 3, 2, nil, "expired" }, answer(got))
  end)

  it("gives the place of the first of two that end in one tick", function()
    local world = support.world()
    local one, two = sleeper(world, 1, "one"), sleeper(world, 1, "two")
    local got = collect(world, function() return routine.any{ two, one } end)
    world:tick(0)
    support.ticks(2)
    assert.same({ n = 3, 2, true, "one" }, answer(got))
  end)

  it("takes the lower of the places of a handle that is there twice", function()
    local world = support.world()
    local target = sleeper(world, 1, "x")
    local got = collect(world, function() return routine.any{ target, target } end)
    world:tick(0)
    support.ticks(2)
    assert.same({ n = 3, 1, true, "x" }, answer(got))
  end)

  it("times out with nil and timeout, at the time and in the clock of join", function()
    local world = support.world()
    local target = sleeper(world, 5, "late")
    local got = collect(world, function() return routine.any{ target, timeout = 2 } end)
    world:tick(0)
    support.ticks(1)
    assert.is_nil(got.n)
    support.ticks(1)
    assert.equal(2, got.at)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
    local again = collect(world, function() return routine.any{ target } end)
    support.ticks(6)
    assert.same({ n = 3, 1, true, "late" }, answer(again))
  end)

  it("with a timeout leaves no trace in the next wait", function()
    local world = support.world()
    local target = sleeper(world, 1)
    local slept
    world:start(function()
      routine.any{ target, timeout = 3 }
      slept = routine.wait(10)
    end)
    world:tick(0)
    support.ticks(11)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(10, slept)
  end)

  it("lets go of the losers at once: one that fails later is reported", function()
    local world = support.world()
    local first = sleeper(world, 1)
    local loser = world:start(function() routine.wait(1) error "too late" end)
    collect(world, function() return routine.any{ loser, first } end)
    collect(world, function() return routine.any{ first, loser } end)
    world:tick(0)
    support.ticks(3)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.equal(loser, reports[1].handle)
  end)

  it("is the joiner of each while it waits: the first failure is not reported", function()
    local world = support.world()
    local bad = world:start(function() routine.wait(1) error "told to the waiter" end)
    local got = collect(world, function() return routine.any{ sleeper(world, 3), bad } end)
    world:tick(0)
    support.ticks(3)
    assert.equal(2, got[1])
    assert.is_false(got[2])
    assert.equal(0, #support.reports())
  end)

  it("raises for an empty list", function()
    support.world()
    local ok, message = support.inside(function() return pcall(function() routine.any{} end) end)
    assert.is_false(ok)
    assert.truthy(message:find("several_spec.lua:%d+: routine.any: the list is empty"), message)
  end)
end)

describe("routine.all #wait", function()
  it("returns a list with what join would give of each", function()
    local world = support.world()
    local problem = {}
    local gone = sleeper(world, 1e6)
    local list = {
      sleeper(world, 2, "a", nil, 3, nil),
      world:start(function() routine.wait(1) error(problem) end),
      gone, sleeper(world, 0),
    }
    local got = collect(world, function() return routine.all(list) end)
    world:tick(0)
    gone:cancel()
    support.ticks(4)
    assert.equal(1, got.n)
    assert.same({ { n = 5, true, "a", nil, 3, nil }, { n = 2, false, problem },
      { n = 2, false, routine.Cancelled }, { n = 1, true } }, got[1])
    assert.equal(problem, got[1][2][2])
  end)

  it("does not fail fast", function()
    local world = support.world()
    local bad = world:start(function() error "at once" end)
    local got = collect(world, function() return routine.all{ bad, sleeper(world, 3) } end)
    world:tick(0)
    support.ticks(2)
    assert.is_nil(got.n)
    support.ticks(4)
    assert.is_false(got[1][1][1])
    assert.same({ n = 1, true }, got[1][2])
    support.reports() -- it failed before anybody waited
  end)

  it("returns an empty list at once for an empty one", function()
    local world = support.world()
    local got = collect(world, function() return routine.all{} end)
    world:tick(0)
    assert.same({ n = 1, {} }, answer(got))
  end)

  it("returns at once, without a tick, when every one has ended", function()
    local world = support.world()
    local one, two = world:start(function() return 1 end), world:start(function() end)
    two:cancel()
    world:tick(0)
    local got = collect(world, function() return routine.all{ one, two } end)
    world:tick(0)
    assert.same({ n = 1, { { n = 2, true, 1 }, { n = 2, false, routine.Cancelled } } },
      answer(got))
  end)

  it("is resumed once, however many it waits for", function()
    local world = support.world{ capacity = 200 }
    local list = {}
    for i = 1, 100 do list[i] = sleeper(world, i % 7, i) end
    local resumed
    world:start(function()
      local before = world:stats().resumed
      local results = routine.all(list)
      resumed = world:stats().resumed - before
      for i = 1, 100 do assert(results[i][2] == i) end
    end)
    world:tick(0)
    support.ticks(9)
    assert.equal(101, resumed)
  end)

  it("gives a handle that is there twice two entries", function()
    local world = support.world()
    local target = sleeper(world, 1, "x")
    local got = collect(world, function() return routine.all{ target, target } end)
    world:tick(0)
    support.ticks(2)
    assert.same({ { n = 2, true, "x" }, { n = 2, true, "x" } }, got[1])
  end)

  it("knows how each ended though slots are reused meanwhile", function()
    local world = support.world{ capacity = 4 }
    local problem = {}
    local short, bad = sleeper(world, 1, "short"), world:start(function()
      routine.wait(1) error(problem)
    end)
    local got = collect(world, function() return routine.all{ short, bad, sleeper(world, 6) } end)
    world:tick(0)
    support.ticks(2)
    for _ = 1, 3 do
      world:start(function() end)
      world:start(function() end)
      support.ticks(1)
    end
    assert.equal("expired", short:status())
    assert.equal("expired", bad:status())
    support.ticks(4)
    assert.same({ { n = 2, true, "short" }, { n = 2, false, problem }, { n = 1, true } }, got[1])
  end)

  it("times out with nil and timeout; a failure until then stays in its handle", function()
    local world = support.world()
    local bad = world:start(function() routine.wait(1) error "kept" end)
    local got = collect(world, function()
      return routine.all{ bad, sleeper(world, 9), timeout = 3 }
    end)
    world:tick(0)
    support.ticks(3)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
    assert.truthy(bad:error():find "kept")
    assert.equal(0, #support.reports())
  end)

  it("times out in the next tick with a timeout of zero", function()
    local world = support.world()
    local got = collect(world, function() return routine.all{ sleeper(world, 5), timeout = 0 } end)
    support.settle(2)
    assert.same({ n = 2, nil, "timeout" }, answer(got))
  end)
end)

describe("waiting for several #wait", function()
  it("is done with its list at the call", function()
    local world = support.world()
    local list = { sleeper(world, 1, "x"), sleeper(world, 2, "y"), timeout = 9 }
    local got = collect(world, function() return routine.all(list) end)
    world:tick(0)
    list[1], list[2], list.timeout = nil, nil, 0
    support.collect()
    support.ticks(4)
    assert.same({ { n = 2, true, "x" }, { n = 2, true, "y" } }, got[1])
  end)

  it("needs no handle held but its own", function()
    local world = support.world()
    local got = collect(world, function()
      return routine.all{ sleeper(world, 1, {}), sleeper(world, 2, {}) }
    end)
    world:tick(0)
    support.collect()
    support.ticks(4)
    assert.equal("table", type(got[1][1][2]))
    assert.equal("table", type(got[1][2][2]))
  end)

  it("keeps no handle once it is over, whichever way", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "k" })
    local function list(...)
      local made = { ... }
      for _, handle in ipairs(made) do weak[handle] = true end
      made.timeout = 2
      return made
    end
    local waiter = world:start(function()
      routine.any(list(sleeper(world, 1), sleeper(world, 1)))
      routine.all(list(sleeper(world, 1), sleeper(world, 1)))
      routine.any(list(sleeper(world, 3)))
      pcall(routine.any, list(sleeper(world, 3)))
      routine.pcall(routine.wait, 1e6)
    end)
    world:tick(0)
    support.ticks(8)
    assert.equal("sleeping", waiter:status())
    support.collect()
    assert.is_nil(next(weak))
  end)

  it("works in pinned waits", function()
    local world = support.world()
    local got = {}
    world:start(function()
      ("x"):gsub("x", function()
        got[1] = pack(routine.any{ sleeper(world, 9), sleeper(world, 1, "any") })
        got[2] = pack(routine.all{ sleeper(world, 1, "all") })
        got[3] = pack(routine.any{ sleeper(world, 9), timeout = 1 })
        got[4] = pack(routine.all{})
      end)
    end)
    world:tick(0)
    support.ticks(9)
    assert.same({ { n = 3, 2, true, "any" }, { n = 1, { { n = 2, true, "all" } } },
      { n = 2, nil, "timeout" }, { n = 1, {} } }, got)
  end)

  it("works in a coroutine of the script's own", function()
    local world = support.world()
    local got
    world:start(function()
      local inner = coroutine.wrap(function()
        got = pack(routine.any{ sleeper(world, 9), sleeper(world, 1, "inner") })
      end)
      inner()
    end)
    world:tick(0)
    support.ticks(3)
    assert.same({ n = 3, 2, true, "inner" }, got)
  end)

  it("changes nothing when its coroutine is resumed by hand", function()
    local world = support.world()
    local co, got
    world:start(function()
      co = coroutine.running()
      got = pack(routine.any{ sleeper(world, 2, "x"), timeout = 5 })
    end)
    world:tick(0)
    for _ = 1, 2 do coroutine.resume(co, "by hand") end
    support.ticks(4)
    assert.same({ n = 3, 1, true, "x" }, got)
  end)

  it("may be waited for itself", function()
    local world = support.world()
    local inner = world:start(function()
      return #routine.all{ sleeper(world, 1), sleeper(world, 2) }
    end)
    local outer = world:start(function() return routine.any{ inner, sleeper(world, 9) } end)
    local got = collect(world, function() return routine.all{ inner, outer } end)
    world:tick(0)
    support.ticks(8)
    assert.same({ { n = 2, true, 2 }, { n = 4, true, 1, true, 2 } }, got[1])
  end)

  it("shows as a wait for a routine, with the time that is left", function()
    local world = support.world()
    local target = sleeper(world, 9)
    world:start(function() routine.any{ target, timeout = 4 } end)
    world:start(function() routine.all{ target, target } end)
    world:tick(0)
    world:tick(1)
    local _, any, all = unpack(world:inspect())
    assert.same({ "routine", 3 }, { any.waitingOn, any.wakesIn })
    assert.same({ "routine" }, { all.waitingOn, all.wakesIn })
  end)

  it("wakes those that join before those that wait for several, each in turn", function()
    local world = support.world()
    local target, order = sleeper(world, 1), {}
    local function note(name, fn)
      world:start(function() fn() order[#order + 1] = name end)
    end
    note("any", function() routine.any{ target } end)
    note("join", function() routine.join(target) end)
    note("all", function() routine.all{ target } end)
    note("join 2", function() routine.join(target) end)
    world:tick(0)
    support.ticks(3)
    assert.same({ "join", "join 2", "any", "all" }, order)
  end)

  it("gives any number of them their answers", function()
    local world = support.world{ capacity = 200 }
    local target, right = sleeper(world, 1, "x"), 0
    for i = 1, 100 do
      world:start(function()
        local result = i % 2 == 0 and select(3, routine.any{ target, sleeper(world, 50) })
          or routine.all{ target }[1][2]
        if result == "x" then right = right + 1 end
      end)
    end
    world:tick(0)
    support.ticks(3)
    assert.equal(100, right)
  end)
end)
