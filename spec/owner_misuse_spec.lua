-- SPDX-License-Identifier: MIT
--
-- Owners used wrongly, and those whose world is closed.

local support = require "support"
local routine = require "weft.routine"

local here = "owner_misuse_spec.lua:%d+: "

local function raises(text, fn, ...)
  local ok, err = pcall(fn, ...)
  assert.is_false(ok)
  assert.truthy(tostring(err):find(here .. text), tostring(err))
end

describe("owners used wrongly", function()
  it("raise at the caller's line for what is no function", function()
    local owner = support.world():owner()
    raises("owner:start: a function expected, got nil", function() owner:start(nil) end)
    raises("routine.startOwned: a function expected, got 5", function()
      routine.startOwned(owner, 5)
    end)
    raises("owner:onDestroyed: a function expected, got string", function()
      owner:onDestroyed "x"
    end)
  end)

  it("raise for what is no owner", function()
    local world = support.world()
    local owner = world:owner()
    for _, wrong in ipairs { world, 5, "x", {}, world:start(function() end), io.stdout } do
      raises("world:owner: an owner expected, got ", function() world:owner(wrong) end)
      raises("routine.startOwned: an owner expected, got ", function()
        routine.startOwned(wrong, print)
      end)
      for _, name in ipairs { "start", "disable", "enable", "destroy", "alive", "setTimeScale",
        "onDestroyed" } do
        raises("owner:" .. name .. ": an owner expected, got ", function() owner[name](wrong) end)
      end
    end
    raises("routine.startOwned: an owner expected, got no value", function()
      routine.startOwned()
    end)
    raises("world:owner: a world expected", function() world.owner(owner) end)
    world:tick(0)
  end)

  it("raise for scales that are none", function()
    local owner = support.world():owner()
    for _, wrong in ipairs { -1, 0 / 0, 1 / 0, -1 / 0, "2", {} } do
      raises("owner:setTimeScale: scale must be finite and >= 0, got ", function()
        owner:setTimeScale(wrong)
      end)
    end
    raises("owner:setTimeScale: scale must be finite and >= 0, got no value", function()
      owner:setTimeScale()
    end)
  end)

  it("raise for a parent of another world", function()
    local first, second = support.world(), support.world()
    local owner = first:owner()
    raises("world:owner: the parent is of another world", function() second:owner(owner) end)
    owner:destroy()
    raises("world:owner: the parent is of another world", function() second:owner(owner) end)
  end)

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

  it("ask for the owner inside routines only", function()
    local world = support.world()
    raises("routine.owner: not inside a routine", function()
      local _ = routine.owner()
    end)
    local inSystem
    world:on("update", function() inSystem = pcall(routine.owner) end)
    world:tick(0)
    assert.is_false(inSystem)
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
  it("is not alive, may be destroyed once more, and raises for the rest", function()
    local world = support.world()
    local owner = world:owner()
    world:close()
    assert.is_false(owner:alive())
    assert.is_false(owner:destroy())
    assert.is_false(owner:disable())
    assert.is_false(owner:enable())
    raises("owner:start: world is closed", function() owner:start(print) end)
    raises("routine.startOwned: world is closed", function() routine.startOwned(owner, print) end)
    raises("owner:setTimeScale: world is closed", function() owner:setTimeScale(1) end)
    raises("owner:onDestroyed: world is closed", function() owner:onDestroyed(print) end)
    raises("world:owner: world is closed", function() world:owner() end)
    assert.truthy(tostring(owner):find "destroyed")
  end)

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
    world = nil
    support.collect()
    support.collect()
    assert.is_nil(world)
    assert.is_false(owner:alive())
    assert.is_false(owner:destroy())
  end)
end)
