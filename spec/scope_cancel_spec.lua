-- SPDX-License-Identifier: MIT
--
-- Scopes that are cancelled: with their routine, by themselves, behind shields, with their owner.

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
