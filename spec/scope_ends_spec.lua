-- SPDX-License-Identifier: MIT
--
-- Scopes that end in another way: cancels, shields, owners, unload, forced ends; rings and misuse.

local support = require "support"
local several = require "support.several"
local routine = require "weft.routine"

local pack, collect, answer = several.pack, several.collect, several.answer

-- A child that notes its name when it ends, in whatever way.
local function child(order, name, seconds, problem)
  return function()
    routine.defer(function() order[#order + 1] = name end)
    routine.wait(seconds)
    if problem then error(problem, 0) end
  end
end

-- A child that swallows each cancel that it is told of.
local function swallower()
  while true do pcall(routine.wait, 1) end
end

-- The same under C frames, where nothing can end it.
local function pinned()
  while true do
    pcall(table.sort, { 1, 2 }, function(a, b) routine.wait(1) return a < b end)
  end
end

describe("a cancel of the routine that has a scope #wait", function()
  it("cancels its children at once, and itself when they have ended", function()
    local world, order = support.world(), {}
    local one, unstarted
    local host = world:start(function()
      routine.defer(function() order[#order + 1] = "defer" end)
      local _, err = pcall(routine.scope, function(scope)
        one = scope:start(child(order, "one", 9))
        scope:start(function()
          routine.shield(routine.wait, 3)
          order[#order + 1] = "shielded"
        end)
        routine.nextTick()
        routine.nextTick()
        unstarted = scope:start(print)
        routine.defer(function() order[#order + 1] = "inner defer" end)
        routine.wait(9)
      end)
      order[#order + 1] = tostring(err)
      error(err, 0)
    end)
    support.settle(3)
    host:cancel()
    assert.same({ "cancelling", "cancelled" }, { one:status(), unstarted:status() })
    world:tick(1)
    assert.equal("cancelling", host:status())
    support.ticks(4)
    assert.same({ "one", "shielded", "routine cancelled", "inner defer", "defer" }, order)
    assert.equal("cancelled", host:status())
  end)

  it("while it waits for children does the same", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      routine.scope(function(scope)
        scope:start(child(order, "one", 9))
        scope:start(child(order, "two", 9))
      end)
    end)
    support.settle(2)
    host:cancel()
    support.settle(2)
    assert.same({ "one", "two" }, order)
    assert.equal("cancelled", host:status())
    assert.equal(0, world:stats().active)
  end)

  it("while children swallow waits for the end of them, and has swallowed nothing", function()
    local world, raises = support.world(), 0
    local host = world:start(function()
      routine.defer(function()
        for _ = 1, 3 do
          if not pcall(routine.nextTick) then raises = raises + 1 end
        end
      end)
      routine.scope(function(scope) scope:start(swallower) end)
    end)
    support.settle(2)
    host:cancel()
    support.settle(8)
    assert.equal("cancelling", host:status())
    support.settle(6)
    assert.equal("cancelled", host:status())
    assert.equal(3, raises)
    assert.equal(1, #support.reports()) -- the swallower's forced end
  end)

  it("tells who swallows it once a tick, and the host in the tick of the last end", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      routine.defer(function() order[#order + 1] = "host" end)
      routine.scope(function(scope) scope:start(child(order, "one", 9)) end)
    end)
    local other = world:start(function()
      for i = 1, 2 do
        pcall(routine.wait, 9)
        order[#order + 1] = "told " .. i
      end
    end)
    support.settle(2)
    other:cancel()
    host:cancel()
    world:tick(0)
    assert.same({ "told 1", "one", "host" }, order)
    world:tick(0)
    assert.equal("told 2", order[4])
  end)

  it("comes through in a paused world", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      routine.scope(function(scope)
        scope:start(child(order, "one", 9))
        routine.wait(9)
      end)
    end)
    support.settle(2)
    world:pause()
    host:cancel()
    support.ticks(3)
    assert.same({ "one" }, order)
    assert.equal("cancelled", host:status())
  end)

  it("by itself is told at the next wait", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      routine.scope(function(scope)
        scope:start(child(order, "one", 9))
        routine.nextTick()
        routine.nextTick()
        routine.self():cancel()
        order[#order + 1] = "on"
        routine.nextTick()
        order[#order + 1] = "never"
      end)
    end)
    support.settle(5)
    assert.same({ "on", "one" }, order)
    assert.equal("cancelled", host:status())
  end)

  it("makes it fail if a child fails on the way out", function()
    local world = support.world()
    local host = world:start(function()
      routine.scope(function(scope)
        scope:start(function()
          routine.defer(function() error("cleanup", 0) end)
          routine.wait(9)
        end)
      end)
    end)
    support.settle(2)
    host:cancel()
    support.settle(2)
    assert.equal("failed", host:status())
    assert.equal("cleanup", (host:error()))
    assert.equal(1, #support.reports())
  end)

  it("finds a scope without children as it would any function", function()
    local world = support.world()
    local host = world:start(function()
      local result = routine.scope(function()
        pcall(routine.wait, 9)
        return "swallowed"
      end)
      return result
    end)
    world:tick(0)
    host:cancel()
    support.settle(1)
    assert.equal("completed", host:status())
  end)

  it("reaches scopes in scopes a thousand deep in one tick", function()
    local world, ended = support.world{ capacity = 1001 }, 0
    local function nest(depth)
      routine.defer(function() ended = ended + 1 end)
      routine.scope(function(scope)
        if depth > 1 then scope:start(nest, depth - 1) end
        routine.wait(1e6)
      end)
    end
    local host = world:start(nest, 1000)
    support.settle(1000)
    assert.equal(1000, world:stats().sleeping)
    host:cancel()
    local states = {}
    for _, entry in ipairs(world:inspect()) do
      states[entry.status] = (states[entry.status] or 0) + 1
    end
    assert.same({ cancelling = 1000 }, states)
    support.settle(1)
    assert.equal(0, world:stats().active)
    assert.equal(1000, ended)
  end)
end)

describe("scope:cancel #wait", function()
  for _, place in ipairs{ "inside", "child", "outside" } do
    it("ends the scope with Cancelled, called from " .. place, function()
      local world, order = support.world(), {}
      local open, alive
      local function cancel() alive = open:cancel() end
      local got = collect(world, function()
        local ok, err = pcall(routine.scope, function(scope)
          open = scope
          scope:start(child(order, "one", 9))
          if place == "child" then scope:start(function() routine.wait(1) cancel() end) end
          routine.nextTick()
          routine.nextTick()
          if place == "inside" then cancel() end
          routine.wait(9)
          order[#order + 1] = "never"
        end)
        routine.wait(1) -- it was the scope that was cancelled
        return ok, err, routine.isCancelled()
      end)
      support.settle(3)
      if place == "outside" then cancel() end
      support.ticks(4)
      assert.same({ "one" }, order)
      assert.same({ n = 3, false, routine.Cancelled, false }, answer(got))
      assert.is_true(alive)
      assert.is_false(open:cancel())
    end)
  end

  it("while it waits for its children ends it with Cancelled, too", function()
    local world, order = support.world(), {}
    local open
    local got = collect(world, function()
      return pcall(routine.scope, function(scope)
        open = scope
        scope:start(child(order, "one", 9))
        return "fine"
      end)
    end)
    support.settle(2)
    assert.is_true(open:cancel())
    assert.is_true(open:cancel())
    assert.truthy(tostring(open):find("(stopped)", 1, true))
    support.settle(2)
    assert.same({ "one" }, order)
    assert.same({ n = 2, false, routine.Cancelled }, answer(got))
  end)

  it("of an outer scope cancels the children of the inner ones at once", function()
    local world, order = support.world(), {}
    local open, inner
    local got = collect(world, function()
      return pcall(routine.scope, function(scope)
        open = scope
        routine.scope(function(within)
          inner = within:start(child(order, "inner", 9))
          routine.wait(9)
        end)
        order[#order + 1] = "never"
      end)
    end)
    support.settle(2)
    open:cancel()
    assert.equal("cancelling", inner:status())
    support.settle(2)
    assert.same({ "inner" }, order)
    assert.same({ n = 2, false, routine.Cancelled }, answer(got))
  end)

  it("of an inner scope leaves the outer one alone", function()
    local world, order = support.world(), {}
    local got = collect(world, function()
      return routine.scope(function(scope)
        scope:start(child(order, "outer", 4))
        local ok = pcall(routine.scope, function(inner)
          inner:start(child(order, "inner", 9))
          inner:start(function() routine.wait(1) inner:cancel() end)
          routine.wait(9)
        end)
        routine.wait(1)
        return ok
      end)
    end)
    support.settle(2)
    support.ticks(6)
    assert.same({ "inner", "outer" }, order)
    assert.same({ n = 1, false }, answer(got))
  end)
end)

describe("a scope and shields #wait", function()
  it("within one goes on though its routine was cancelled", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      routine.shield(routine.scope, function(scope)
        scope:start(child(order, "one", 3))
        routine.wait(1)
        order[#order + 1] = "body"
        scope:start(child(order, "two", 1))
      end)
      order[#order + 1] = "after"
      routine.wait(1)
      order[#order + 1] = "never"
    end)
    support.settle(2)
    host:cancel()
    support.ticks(6)
    assert.same({ "body", "one", "two", "after" }, order)
    assert.equal("cancelled", host:status())
  end)

  it("within one still ends with the error of a child", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      routine.shield(function()
        local ok, err = pcall(routine.scope, function(scope)
          scope:start(child(order, "bad", 1, "boom"))
          scope:start(child(order, "other", 9))
          routine.wait(9)
        end)
        order[#order + 1] = tostring(ok) .. " " .. tostring(err)
        routine.wait(1)
        order[#order + 1] = "held"
      end)
      routine.wait(1)
    end)
    support.settle(2)
    host:cancel()
    support.ticks(5)
    assert.same({ "bad", "other", "false boom", "held" }, order)
    assert.equal("cancelled", host:status())
  end)

  it("within one is spared what its owner does", function()
    local world, order = support.world(), {}
    local owner = world:owner()
    local host = owner:start(function()
      routine.shield(routine.scope, function(scope)
        scope:start(function()
          routine.scope(function(inner) inner:start(child(order, "inner", 2)) end)
        end)
        scope:start(child(order, "one", 3))
      end)
    end)
    support.settle(3)
    owner:onDestroyed(function() order[#order + 1] = "destroyed" end)
    owner:destroy()
    support.ticks(6)
    assert.same({ "inner", "one", "destroyed" }, order)
    assert.equal("completed", host:status())
  end)

  it("around one hold what its scope does back", function()
    local world, order = support.world(), {}
    local got = collect(world, function()
      return pcall(routine.scope, function(scope)
        scope:start(child(order, "bad", 1, "boom"))
        routine.shield(routine.wait, 3)
        order[#order + 1] = "shield"
        routine.wait(1)
        order[#order + 1] = "never"
      end)
    end)
    support.settle(2)
    support.ticks(5)
    assert.same({ "bad", "shield" }, order)
    assert.same({ n = 2, false, "boom" }, answer(got))
  end)

  it("within both, each as it stands", function()
    local world, order = support.world(), {}
    local host = world:start(function()
      local ok, err = pcall(routine.scope, function(outer)
        outer:start(child(order, "outer", 9))
        routine.shield(routine.scope, function(inner)
          inner:start(child(order, "inner", 3))
        end)
        order[#order + 1] = "down"
      end)
      order[#order + 1] = tostring(ok) .. " " .. tostring(err)
    end)
    support.settle(2)
    host:cancel()
    support.ticks(6)
    assert.same({ "outer", "inner", "down", "false routine cancelled" }, order)
    assert.equal("completed", host:status())
  end)
end)

describe("a scope and its owner #wait", function()
  it("share it: the children are owned, and on its clock", function()
    local world = support.world()
    local owner = world:owner()
    local owned, slept
    owner:setTimeScale(0.5)
    owner:start(function()
      routine.scope(function(scope)
        scope:start(function()
          owned = routine.owner()
          slept = routine.wait(1)
        end)
      end)
    end)
    support.settle(2)
    world:tick(1)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(owner, owned)
    assert.equal(1, slept)
  end)

  for _, how in ipairs{ "destroy", "disable" } do
    it("end with it, and start nothing more: " .. how, function()
      local world, order = support.world(), {}
      local owner = world:owner()
      local refusal
      local host = owner:start(function()
        routine.defer(function() order[#order + 1] = "host" end)
        routine.scope(function(scope)
          scope:start(child(order, "one", 9))
          scope:start(child(order, "two", 9))
          local _, err = pcall(routine.wait, 9)
          refusal = pack(scope:start(print))
          error(err, 0)
        end)
      end)
      support.settle(2)
      owner[how](owner)
      support.settle(2)
      assert.same({ "one", "two", "host" }, order)
      assert.same({ n = 2, nil, how == "destroy" and "destroyed" or "disabled" }, refusal)
      assert.equal("cancelled", host:status())
      assert.equal(0, world:stats().active)
    end)
  end
end)

describe("the end of a world #wait", function()
  it("unloads scopes with all that is in them", function()
    local world, order = support.world(), {}
    for i = 1, 3 do
      world:start(function()
        routine.defer(function() order[#order + 1] = "host" end)
        routine.scope(function(scope)
          scope:start(child(order, "one", 9))
          scope:start(function()
            routine.scope(function(inner)
              inner:start(child(order, "two", 9))
              if i == 2 then routine.wait(9) end
            end)
          end)
          if i == 3 then table.sort({ 1, 2 }, function() routine.wait(9) end) end
        end)
      end)
    end
    support.settle(3)
    assert.is_true(world:unload())
    assert.equal(9, #order)
    assert.equal(0, #support.reports())
  end)

  it("in its last pass does not wait for who swallows, or hides under C frames", function()
    local world = support.world()
    world:start(function()
      table.sort({ 1, 2 }, function()
        routine.scope(function(scope)
          scope:start(swallower)
          scope:start(pinned)
        end)
      end)
    end)
    world:start(function()
      routine.shield(routine.scope, function(scope) scope:start(routine.wait, 99) end)
    end)
    support.settle(2)
    local ok, left = world:unload()
    assert.is_false(ok)
    assert.equal(1, #left)
    assert.truthy(left[1].where:find("scope_ends_spec.lua:%d+"))
    assert.truthy(#support.reports() >= 1)
  end)

  it("unloads in two passes what only has to be told", function()
    local world, order = support.world(), {}
    world:start(function()
      routine.scope(function(scope) scope:start(child(order, "one", 9)) end)
    end)
    support.settle(2)
    assert.is_true(world:unload(2))
    assert.same({ "one" }, order)
    assert.equal(0, #support.reports())
  end)
end)

describe("a routine that is ended by force in a scope #wait", function()
  it("cancels its children, and does not wait for them", function()
    local world, order = support.world(), {}
    local bad
    local host = world:start(function()
      routine.defer(function() order[#order + 1] = "host" end)
      routine.scope(function(scope)
        scope:start(child(order, "one", 9))
        bad = scope:start(function()
          routine.defer(function() error("late", 0) end)
          routine.wait(9)
        end)
        while true do coroutine.yield() end
      end)
    end)
    support.settle(3)
    host:cancel()
    support.settle(2)
    assert.equal("cancelled", host:status())
    assert.same({ "one", "host" }, order)
    assert.equal("failed", bad:status())
    assert.equal(0, world:stats().active)
    assert.truthy(#support.reports() >= 1)
  end)

  it("is one that swallows what its scope tells it, eight times", function()
    local world, raises = support.world(), 0
    local bad, slept
    local host = world:start(function()
      routine.defer(function() slept = routine.wait(2) end)
      routine.scope(function(scope)
        bad = scope:start(error, "boom", 0)
        while true do
          if not pcall(routine.wait, 99) then raises = raises + 1 end
        end
      end)
    end)
    support.settle(14)
    support.ticks(3)
    assert.equal(8, raises)
    assert.equal(2, slept) -- nobody has cancelled the routine
    assert.equal("cancelled", host:status())
    local reports = support.reports()
    assert.equal(2, #reports) -- the error that it would have raised, and its end
    assert.equal(bad, reports[1].handle)
    assert.equal("boom", reports[1].err)
  end)

  it("is not one at a bare yield, if it was only its scope that failed", function()
    local world = support.world()
    local yields = 0
    local got = collect(world, function()
      return pcall(routine.scope, function(scope)
        scope:start(function() routine.wait(1) error("boom", 0) end)
        for _ = 1, 5 do
          coroutine.yield()
          yields = yields + 1
        end
        routine.wait(9)
      end)
    end)
    support.settle(2)
    support.ticks(8)
    assert.equal(5, yields)
    assert.same({ n = 2, false, "boom" }, answer(got))
  end)

  if support.vm == "lua5.4" then
    it("is one whose coroutine is closed by hand", function()
      local world, order = support.world(), {}
      local co
      local host = world:start(function()
        co = coroutine.running()
        routine.scope(function(scope) scope:start(child(order, "one", 9)) end)
      end)
      support.settle(2)
      assert.is_true(rawget(coroutine, "close")(co))
      assert.equal("queued", host:status())
      support.settle(3)
      assert.same({ "one" }, order)
      assert.equal("failed", host:status())
      assert.equal(1, #support.reports())
    end)
  end
end)

describe("a resume by hand of one that waits for its children #wait", function()
  it("changes nothing", function()
    local world = support.world()
    local co
    local got = collect(world, function()
      co = coroutine.running()
      return routine.scope(function(scope)
        scope:start(routine.wait, 3)
        return 1, 2, 3, 4
      end)
    end)
    support.settle(2)
    for _ = 1, 3 do
      assert.same({ n = 3, true, nil, "belongs to a routine" },
        pack(coroutine.resume(co, 7, 8, 9, 10, 11, 12)))
      assert.is_true((coroutine.resume(co)))
    end
    assert.is_nil(got.n)
    support.ticks(4)
    assert.same({ n = 4, 1, 2, 3, 4 }, answer(got))
  end)
end)

describe("a ring through a scope #wait", function()
  local function ring(fn)
    local ok, message = pcall(fn)
    assert(not ok, "it did not raise")
    assert(message:find("ring", 1, true), message)
    return message
  end

  it("raises in the child that would join its host, while the function runs, and after", function()
    local world = support.world()
    local messages = {}
    local host
    host = world:start(function()
      routine.scope(function(scope)
        for i, wait in ipairs{ 0, 2 } do
          scope:start(function()
            routine.wait(wait)
            messages[i] = ring(function() host:join() end)
            ring(function() routine.all{ host } end)
            ring(function() routine.any{ host } end)
          end)
        end
        routine.wait(1)
      end)
    end)
    support.settle(2)
    support.ticks(5)
    assert.equal(2, #messages)
    assert.truthy(messages[1]:find("scope_ends_spec.lua:%d+: routine.join: "), messages[1])
    assert.equal("completed", host:status())
  end)

  it("raises where others stand between", function()
    local world = support.world()
    local host, between, refused
    host = world:start(function()
      routine.scope(function(scope)
        scope:start(function()
          routine.scope(function(inner)
            inner:start(function()
              routine.nextTick()
              refused = ring(function() between:join() end)
            end)
          end)
        end)
      end)
    end)
    between = world:start(function() host:join() end)
    support.settle(8)
    assert.is_string(refused)
    assert.equal("completed", between:status())
  end)

  it("is none where siblings join each other, or the host its child", function()
    local world = support.world()
    local got = collect(world, function()
      return routine.scope(function(scope)
        local one = scope:start(function() routine.wait(1) return "one" end)
        local two = scope:start(function() return select(2, one:join()) end)
        return select(2, two:join())
      end)
    end)
    support.settle(2)
    support.ticks(4)
    assert.same({ n = 1, "one" }, answer(got))
  end)
end)

describe("a coroutine of the script's", function()
  it("may not yield out of a scope", function()
    support.world()
    local ok = support.inside(function()
      return (pcall(coroutine.wrap(function()
        routine.scope(function() coroutine.yield() end)
      end)))
    end)
    assert.is_false(ok)
  end)
end)

describe("a scope that is over", function()
  it("keeps nothing alive, however it ended #wait", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "v" })
    local scopes = {}
    world:start(function()
      for i = 1, 4 do -- the last one, for the error before it is remembered with its trace
        pcall(routine.scope, function(scope)
          if i == 4 then error "x" end
          scopes[i] = scope
          weak[#weak + 1] = {}
          local value = weak[#weak]
          if i == 2 then
            local problem = setmetatable({}, {})
            weak[#weak + 1] = problem
            scope:start(function() error(problem) end)
          end
          if i == 3 then error(value) end
          return value
        end)
      end
      routine.wait(1e6)
    end)
    support.settle(6)
    assert.equal(3, #scopes)
    support.collect()
    for i = 1, 4 do assert.is_nil(weak[i], i) end
  end)

  it("leaves slots and memory as they were, a thousand times", function()
    local world = support.world{ capacity = 16 }
    local rounds = support.stress and 50 or 1000
    world:start(function()
      for i = 1, rounds do
        pcall(routine.scope, function(scope)
          for k = 1, 10 do
            scope:start(function()
              if k == i % 12 then error("x", 0) end
              routine.nextTick()
            end)
          end
          if i % 3 == 0 then routine.nextTick() end
        end)
      end
    end)
    support.settle(rounds * 5)
    local stats = world:stats()
    assert.equal(0, stats.active)
    assert.equal(0, stats.rejected)
    assert.equal(1 + 10 * rounds, stats.started)
    world:configure{ capacity = 3 }
    local got = collect(world, function()
      return routine.scope(function(scope)
        scope:start(routine.nextTick)
        scope:start(routine.nextTick)
        return "again"
      end)
    end)
    support.settle(5)
    assert.same({ n = 1, "again" }, answer(got))
  end)
end)
