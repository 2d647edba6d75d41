-- SPDX-License-Identifier: MIT
--
-- Scopes that end with their world, by force, by hand; rings through them; what they leave.

local support = require "support"
local scopes = require "support.scopes"
local several = require "support.several"
local routine = require "weft.routine"

local child = scopes.child
local pack, collect, answer = several.pack, several.collect, several.answer

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
    local seen = {}
    world:start(function()
      for i = 1, 4 do -- the last one, for the error before it is remembered with its trace
        pcall(routine.scope, function(scope)
          if i == 4 then error "x" end
          seen[i] = scope
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
    assert.equal(3, #seen)
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
