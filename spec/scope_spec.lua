-- SPDX-License-Identifier: MIT
--
-- routine.scope: children that end before the function returns; what it returns and raises.

local support = require "support"
local scopes = require "support.scopes"
local several = require "support.several"
local weft = require "weft"
local routine = require "weft.routine"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local child = scopes.child
local pack, collect, answer = several.pack, several.collect, several.answer

-- Runs `fn` as `routine.scope(fn)` and collects what pcall gives of it, and when.
local function scoped(world, fn)
  return collect(world, function()
    local answers = pack(pcall(routine.scope, fn))
    return unpack(answers, 1, answers.n)
  end)
end

describe("routine.scope #wait", function()
  it("returns all that its function returns, nil among it, without a tick", function()
    local world = support.world()
    local got, ticks = nil, nil
    world:start(function()
      local before = world.tickCount
      got = pack(routine.scope(function(scope) return nil, scope ~= nil, nil end))
      ticks = world.tickCount - before
    end)
    world:tick(0)
    assert.same({ n = 3, nil, true, nil }, got)
    assert.equal(0, ticks)
  end)

  it("waits for its children before it returns", function()
    local world, order = support.world(), {}
    local got = scoped(world, function(scope)
      scope:start(child(order, "slow", 3))
      scope:start(child(order, "quick", 1))
      order[#order + 1] = "body"
      return "x", nil
    end)
    support.settle(2)
    support.ticks(3)
    assert.is_nil(got.at)
    support.ticks(1)
    assert.equal(4, got.at)
    assert.same({ "body", "quick", "slow" }, order)
    assert.same({ n = 3, true, "x", nil }, answer(got))
  end)

  it("wakes as early as one that joins the last of them", function()
    local world, order = support.world(), {}
    local last
    local got = scoped(world, function(scope)
      scope:start(child(order, "a", 1))
      last = scope:start(child(order, "b", 5))
      scope:start(child(order, "c", 4))
    end)
    support.settle(2)
    local joined = collect(world, function() return last:join() end)
    support.ticks(8)
    assert.equal(joined.at, got.at)
  end)

  it("starts children as world:start does: queued, with arguments, a handle each", function()
    local world = support.world()
    local seen, statuses, handles = {}, {}, {}
    scoped(world, function(scope)
      for i = 1, 2 do
        handles[i] = scope:start(function(...)
          seen[i] = pack(...)
          return i
        end, i, nil, "x", nil)
        statuses[i] = handles[i]:status()
      end
      assert.same({ true, 2 }, { handles[2]:join() })
    end)
    support.ticks(3)
    assert.same({ "queued", "queued" }, statuses)
    assert.same({ { n = 4, 1, nil, "x", nil }, { n = 4, 2, nil, "x", nil } }, seen)
    assert.equal("completed", handles[1]:status())
  end)

  it("takes more children than a call of Lua has places", function()
    local world, ended = support.world{ capacity = 600 }, 0
    local got = scoped(world, function(scope)
      for i = 1, 500 do
        scope:start(function()
          routine.wait(i % 7)
          ended = ended + 1
        end)
      end
    end)
    support.settle(2)
    support.ticks(9)
    assert.equal(500, ended)
    assert.is_true(got[1])
  end)

  it("takes children from its children, also while it waits for them", function()
    local world, order = support.world(), {}
    local got = scoped(world, function(scope)
      scope:start(function()
        routine.wait(2)
        scope:start(child(order, "second", 2))
        order[#order + 1] = "first"
      end)
    end)
    support.settle(2)
    support.ticks(7)
    assert.same({ "first", "second" }, order)
    assert.equal(6, got.at)
  end)

  it("takes children from other routines, systems and from outside", function()
    local world, order = support.world(), {}
    local open
    local got = scoped(world, function(scope)
      open = scope
      routine.wait(2)
    end)
    world:tick(0)
    open:start(child(order, "outside", 3))
    world:start(function() open:start(child(order, "routine", 4)) end)
    local sub = world:on("update", function() open:start(child(order, "system", 6)) end)
    world:tick(0)
    sub:off()
    support.settle(1)
    support.ticks(8)
    assert.same({ "outside", "routine", "system" }, order)
    assert.equal(7, got.at)
  end)

  it("gives nil and capacity when the world is full, and goes on", function()
    local world = support.world{ capacity = 2 }
    local refusal, order = nil, {}
    local got = scoped(world, function(scope)
      scope:start(child(order, "one", 1))
      refusal = pack(scope:start(child(order, "two", 1)))
    end)
    world:tick(0)
    support.ticks(3)
    assert.same({ n = 2, nil, "capacity" }, refusal)
    assert.same({ "one" }, order)
    assert.is_true(got[1])
  end)

  it("gives nil and closed once it is over", function()
    local world = support.world()
    local over
    scoped(world, function(scope) over = scope end)
    world:tick(0)
    assert.same({ n = 2, nil, "closed" }, pack(over:start(print)))
    assert.is_false(over:cancel())
    assert.truthy(tostring(over):find "^weft%.Scope: .*%(over%)$")
    world:close()
    assert.same({ n = 2, nil, "closed" }, pack(over:start(print)))
    assert.is_false(over:cancel())
  end)

  it("stands in scopes of its own kind, each with its own children", function()
    local world, order = support.world(), {}
    local got = scoped(world, function(outer)
      outer:start(child(order, "outer", 4))
      local inner = routine.scope(function(scope)
        scope:start(child(order, "inner", 2))
        return "in"
      end)
      order[#order + 1] = inner
      outer:start(child(order, "late", 3))
    end)
    support.settle(2)
    support.ticks(9)
    assert.same({ "inner", "in", "outer", "late" }, order)
    assert.equal(8, got.at)
  end)

  for place, run in pairs{
    ["a comparator of sort"] = function(fn)
      table.sort({ 1, 2 }, function(a, b) fn() return a < b end)
    end,
    ["a callback of gsub"] = function(fn) string.gsub("x", ".", function() fn() end) end,
    ["a coroutine of the script's"] = function(fn) coroutine.wrap(fn)() end,
    ["pcall"] = function(fn) assert(pcall(fn)) end,
  } do
    it("works in " .. place, function()
      local world, order = support.world(), {}
      world:start(function()
        local calls = 0
        run(function()
          calls = calls + 1
          if calls > 1 then return end
          local result = routine.scope(function(scope)
            for i = 1, 30 do
              scope:start(function()
                routine.wait(i % 5)
                table.sort({ 1, 2 }, function(a, b) routine.wait(1) return a < b end)
              end)
            end
            scope:start(child(order, "child", 9))
            routine.wait(1)
            return "done"
          end)
          order[#order + 1] = result
          local ok, err = pcall(routine.scope, function(scope)
            scope:start(child(order, "bad", 1, "boom"))
            scope:start(child(order, "good", 99))
            routine.wait(99)
          end)
          order[#order + 1] = tostring(ok) .. " " .. err
        end)
      end)
      support.settle(2)
      support.ticks(20)
      assert.same({ "child", "done", "bad", "good", "false boom" }, order)
      assert.equal(0, world:stats().active)
      assert.equal(0, world:stats().pinned)
    end)
  end

  it("shows the host as waiting for a routine, at the line of the scope", function()
    local world = support.world()
    scoped(world, function(scope) scope:start(child({}, "x", 9)) end)
    world:tick(0)
    local entry = world:inspect()[1]
    assert.equal("sleeping", entry.status)
    assert.equal("routine", entry.waitingOn)
    assert.truthy(entry.where:find("spec.lua:%d+$"), entry.where)
  end)
end)

describe("a child that fails #wait", function()
  it("ends the scope with its error: the others are cancelled and waited for", function()
    local world, order = support.world(), {}
    local problem = {}
    local other
    local got = scoped(world, function(scope)
      scope:start(child(order, "bad", 2, problem))
      other = scope:start(child(order, "other", 99))
      scope:start(function()
        routine.shield(routine.wait, 4)
        order[#order + 1] = "shielded"
        routine.wait(1)
      end)
    end)
    support.settle(2)
    support.ticks(6)
    assert.same({ "bad", "other", "shielded" }, order)
    assert.equal("cancelled", other:status())
    assert.equal(problem, got[2])
    assert.is_false(got[1])
    assert.equal(5, got.at)
    assert.equal(0, #support.reports())
  end)

  it("is told to the scope though it fails at once, or while the function waits", function()
    local world = support.world()
    local got = scoped(world, function(scope)
      scope:start(error, "at once", 0)
      routine.wait(50)
    end)
    support.settle(3)
    assert.same({ n = 2, false, "at once" }, answer(got))
  end)

  for name, wait in pairs{
    wait = function() routine.wait(99) end,
    nextTick = function() while true do routine.nextTick() end end,
    waitUnscaled = function() routine.waitUnscaled(99) end,
    waitUntil = function() routine.waitUntil(function() return false end) end,
    every = function() for _ in routine.every(3) do end end, -- luacheck: ignore 542
    join = function(other) other:join() end,
    any = function(other) routine.any{ other, timeout = 99 } end,
    all = function(other) routine.all{ other } end,
    waitFor = function() routine.waitFor(weft.signal()) end,
    anyOfMixed = function(other) routine.any{ weft.signal(), other } end,
    pinned = function()
      table.sort({ 1, 2 }, function(a, b) routine.wait(99) return a < b end)
    end,
    scope = function() routine.scope(function(scope) scope:start(routine.wait, 99) end) end,
    routinePcall = function() routine.pcall(routine.wait, 99) end,
  } do
    it("interrupts the function of the scope in " .. name, function()
      local world = support.world()
      local other = several.sleeper(world, 99)
      local caught, asked
      local got = scoped(world, function(scope)
        scope:start(child({}, "bad", 1.5, "boom"))
        local ok, err = pcall(wait, other)
        caught, asked = not ok and err, routine.isCancelled()
        error(err, 0)
      end)
      support.settle(2)
      support.ticks(4)
      assert.equal(routine.Cancelled, caught)
      assert.is_true(asked)
      assert.same({ n = 2, false, "boom" }, answer(got))
      assert.equal("sleeping", other:status())
    end)
  end

  it("leaves no trace in the routine that has caught its error", function()
    local world = support.world()
    local slept, asked, host
    host = world:start(function()
      for i = 1, 20 do
        local ok, err = pcall(routine.scope, function(scope)
          scope:start(error, i, 0)
          routine.wait(50)
        end)
        assert(not ok and err == i)
      end
      asked = routine.isCancelled()
      slept = routine.wait(3)
    end)
    support.settle(41)
    support.ticks(3)
    assert.is_false(asked)
    assert.equal(3, slept)
    assert.equal("completed", host:status())
  end)

  it("is raised though the function swallowed the cancel and returned", function()
    local world = support.world()
    local got = scoped(world, function(scope)
      scope:start(error, "boom", 0)
      pcall(routine.wait, 9)
      return "fine"
    end)
    support.settle(3)
    assert.same({ n = 2, false, "boom" }, answer(got))
  end)

  it("is reported once, with its own trace, if nobody catches it", function()
    local world = support.world()
    local bad
    local host = world:start(function()
      routine.scope(function(scope)
        bad = scope:start(function()
          local function innermost() error "boom" end
          routine.wait(1)
          innermost()
        end)
      end)
    end)
    world:tick(0)
    support.ticks(3)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.equal(host, reports[1].handle)
    assert.truthy(reports[1].err:find("boom", 1, true))
    assert.truthy(reports[1].trace:find("innermost", 1, true), reports[1].trace)
    assert.equal("failed", bad:status())
    assert.equal((bad:error()), (host:error()))
  end)

  it("after another is in its handle, and told nowhere else", function()
    local world = support.world()
    local second
    local got = scoped(world, function(scope)
      second = scope:start(function()
        routine.defer(function() error("second", 0) end)
        routine.wait(9)
      end)
      scope:start(error, "first", 0)
      routine.wait(9)
    end)
    support.settle(4)
    assert.same({ n = 2, false, "first" }, answer(got))
    assert.equal("second", (second:error()))
    assert.equal(0, #support.reports())
  end)

  it("refuses more children while it is waited for", function()
    local world = support.world()
    local refusals = {}
    scoped(world, function(scope)
      scope:start(function()
        routine.defer(function() refusals[#refusals + 1] = pack(scope:start(print)) end)
        routine.wait(9)
      end)
      scope:start(error, "boom", 0)
      pcall(routine.wait, 9)
      refusals[#refusals + 1] = pack(scope:start(print))
    end)
    support.settle(4)
    assert.same({ { n = 2, nil, "closed" }, { n = 2, nil, "closed" } }, refusals)
  end)

  it("may be joined by others all the same", function()
    local world = support.world()
    local bad
    local got = scoped(world, function(scope)
      bad = scope:start(child({}, "bad", 2, "boom"))
    end)
    support.settle(2)
    local joined = collect(world, function() return bad:join() end)
    support.ticks(4)
    assert.same({ n = 2, false, "boom" }, answer(joined))
    assert.same({ n = 2, false, "boom" }, answer(got))
  end)
end)

describe("a function of a scope that fails #wait", function()
  it("has its error raised when the children, cancelled, have ended", function()
    local world, order = support.world(), {}
    local problem = {}
    local got = scoped(world, function(scope)
      scope:start(child(order, "one", 9))
      scope:start(child(order, "two", 9))
      routine.wait(1)
      error(problem)
    end)
    support.settle(2)
    support.ticks(3)
    assert.same({ "one", "two" }, order)
    assert.equal(problem, got[2])
    assert.equal(0, #support.reports())
  end)

  it("is reported with its own trace, though children were waited for between", function()
    local world = support.world()
    world:start(function()
      routine.scope(function(scope)
        scope:start(child({}, "x", 9))
        local function innermost() error "boom" end
        routine.wait(1)
        innermost()
      end)
    end)
    world:tick(0)
    support.ticks(3)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.truthy(reports[1].trace:find("innermost", 1, true), reports[1].trace)
  end)

  it("after a child did is told apart", function()
    local world = support.world()
    local host
    local got = collect(world, function()
      host = routine.self()
      return pcall(routine.scope, function(scope)
        scope:start(error, "first", 0)
        pcall(routine.wait, 9)
        local function innermost() error("second", 0) end
        innermost()
      end)
    end)
    support.settle(4)
    assert.same({ n = 2, false, "first" }, answer(got))
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.equal(host, reports[1].handle)
    assert.equal("second", reports[1].err)
    assert.truthy(reports[1].trace:find("innermost", 1, true), reports[1].trace)
  end)

  it("drops children that were never entered", function()
    local world = support.world()
    local entered = false
    local got = scoped(world, function(scope)
      scope:start(function() entered = true end)
      error("boom", 0)
    end)
    world:tick(0)
    assert.same({ n = 2, false, "boom" }, answer(got))
    support.settle(2)
    assert.is_false(entered)
    assert.equal(1, world:stats().cancelled)
  end)
end)

describe("a child that is cancelled alone #wait", function()
  it("does not fail the scope", function()
    local world, order = support.world(), {}
    local first
    local got = scoped(world, function(scope)
      first = scope:start(child(order, "first", 9))
      scope:start(child(order, "second", 3))
      scope:start(function() error(routine.Cancelled) end)
      local never = scope:start(child(order, "never", 3))
      never:cancel()
      return "fine"
    end)
    support.settle(2)
    first:cancel()
    support.ticks(5)
    assert.same({ "first", "second" }, order)
    assert.same({ n = 2, true, "fine" }, answer(got))
  end)

  it("by the function of the scope lets the first of several win", function()
    local world, order = support.world(), {}
    local got = scoped(world, function(scope)
      local list = { scope:start(child(order, "slow", 9)), scope:start(child(order, "quick", 2)) }
      local place, _, name = routine.any(list)
      list[3 - place]:cancel()
      return name
    end)
    support.settle(2)
    support.ticks(5)
    assert.same({ n = 2, true, "quick" }, answer(got))
    assert.same({ "quick", "slow" }, order)
  end)
end)
