-- SPDX-License-Identifier: MIT
--
-- Owners beside worlds that are not theirs, full or closed. What raises is in
-- misuse_owners_spec.lua.

local support = require "support"
local routine = require "weft.routine"

describe("owners beside other worlds", function()
  it("start in their own world, whichever is calling", function()
    local first, second = support.world(), support.world()
    local owner = first:owner()
    local where
    second:start(function()
      routine.startOwned(owner, function() where = routine.world() end)
    end)
    second:tick(0)
    second:tick(0)
    assert.is_nil(where)
    first:tick(0)
    assert.equal(first, where)
  end)

  it("are refused at capacity, and count as rejected", function()
    local world = support.world{ capacity = 1 }
    local owner = world:owner()
    assert.truthy(owner:start(function() end))
    assert.same({ nil, "capacity" }, { owner:start(print) })
    assert.equal(1, world:stats().rejected)
    owner:disable()
    assert.same({ nil, "disabled" }, { owner:start(print) })
    assert.equal(1, world:stats().rejected)
  end)
end)

describe("an owner whose world is closed", function()
  it("was destroyed by the close, and refuses while that goes on", function()
    local world = support.world()
    local owner = world:owner()
    local child = world:owner(owner)
    local seen, order = {}, {}
    child:start(function()
      routine.defer(function()
        seen = { select(2, owner:start(print)), select(2, world:owner()), owner:alive() }
        order[#order + 1] = "cleanup"
      end)
      routine.wait(5)
    end)
    owner:onDestroyed(function() order[#order + 1] = "owner" end)
    child:onDestroyed(function() order[#order + 1] = "child" end)
    world:tick(0)
    world:close()
    assert.same({ "closed", "closed", false }, seen)
    assert.same({ "cleanup", "child", "owner" }, order)
  end)

  it("is nothing to a world that comes later", function()
    local world = support.world()
    local old = world:owner()
    world:close()
    local later = support.world()
    local owner = later:owner()
    assert.is_false(old:alive())
    assert.is_false(old:destroy())
    assert.is_true(owner:alive())
  end)

  it("goes with a world that is collected", function()
    local world = require("weft").world()
    local owner = world:owner()
    owner:onDestroyed(function() error "never" end)
    world = nil -- luacheck: ignore
    support.collect()
    support.collect()
    assert.is_false(owner:alive())
    assert.is_false(owner:destroy())
    assert.truthy(tostring(owner):find "destroyed")
  end)
end)
