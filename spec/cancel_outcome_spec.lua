-- SPDX-License-Identifier: MIT
--
-- How a routine ends that was asked to stop, and what it knows about it.

local support = require "support"
local routine = require "weft.routine"

describe("a routine that was asked to stop", function()
  it("knows it, and the reason", function()
    local world = support.world()
    local seen = {}
    local handle = world:start(function()
      seen.before = routine.isCancelled()
      pcall(routine.wait, 9)
      seen.after, seen.reason = routine.isCancelled()
    end)
    world:tick(0)
    handle:cancel("the door closed")
    world:tick(0)
    assert.is_false(seen.before)
    assert.is_true(seen.after)
    assert.equal("the door closed", seen.reason)
  end)

  it("gets the reason of routine.cancel as well, whatever its type", function()
    local world = support.world()
    local why, reason = { "why" }, nil
    local handle = world:start(function()
      pcall(routine.wait, 9)
      reason = select(2, routine.isCancelled())
    end)
    world:tick(0)
    routine.cancel(handle, why)
    world:tick(0)
    assert.equal(why, reason)
  end)

  it("is completed if it returns all the same", function()
    local world = support.world()
    local handle = world:start(function() pcall(routine.wait, 9) return "ready" end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.equal("completed", handle:status())
    assert.equal(1, world:stats().completed)
  end)

  it("is failed, and reported, if another error comes on the way", function()
    local world = support.world()
    local handle = world:start(function()
      pcall(routine.wait, 9)
      error("on the way", 0)
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.equal("failed", handle:status())
    assert.equal("on the way", support.reports()[1].err)
    assert.equal(1, #support.reports())
  end)

  it("is cancelled, and not reported, if Cancelled goes through", function()
    local world = support.world()
    local handle = world:start(function()
      local ok, err = pcall(routine.wait, 9)
      if not ok then error(err) end
    end)
    world:tick(0)
    handle:cancel()
    world:tick(0)
    assert.equal("cancelled", handle:status())
    assert.equal(0, #support.reports())
  end)
end)

describe("Cancelled", function()
  it("is one value, in whichever world it is raised, that prints as a word", function()
    for _ = 1, 2 do
      local world, err = support.world(), nil
      local handle = world:start(function() err = select(2, pcall(routine.wait, 9)) end)
      world:tick(0)
      handle:cancel()
      world:tick(0)
      assert.is_true(rawequal(routine.Cancelled, err))
    end
    assert.truthy(tostring(routine.Cancelled):lower():find "cancel")
  end)

  it("raised by a body that nobody cancelled ends it as cancelled", function()
    local world = support.world()
    local handle = world:start(function() error(routine.Cancelled) end)
    world:tick(0)
    assert.equal("cancelled", handle:status())
    assert.equal(0, #support.reports())
  end)
end)
