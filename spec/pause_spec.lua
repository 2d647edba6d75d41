-- SPDX-License-Identifier: MIT
--
-- Worlds that are paused, and worlds whose time runs faster, slower or not at all.

local support = require "support"
local routine = require "weft.routine"

local world, log

local function say(text)
  return function() log[#log + 1] = text end
end

local function logged()
  return table.concat(log, " ")
end

before_each(function()
  log = {}
end)

describe("a paused world", function()
  it("runs posts and systems, but no routines", function()
    world = support.world()
    world:on("preUpdate", say "pre")
    world:on("postUpdate", say "post")
    world:post(say "posted")
    world:start(say "routine")
    world:pause()
    assert.equal(0, world:tick(1))
    assert.equal("posted pre post", logged())
  end)

  it("stops sim time and lets real time go on", function()
    world = support.world()
    world:tick(1)
    world:pause()
    support.ticks(3)
    assert.equal(1, world.simTime)
    assert.equal(4, world.realTime)
    assert.equal(4, world.tickCount)
  end)

  it("says whether it is paused", function()
    world = support.world()
    assert.is_false(world:isPaused())
    world:pause()
    world:pause()
    assert.is_true(world:isPaused())
    world:resume()
    assert.is_false(world:isPaused())
  end)

  it("goes on where it stood", function()
    world = support.world()
    world:start(function() routine.wait(2) say "woke"() end)
    support.ticks(2)
    world:pause()
    support.ticks(10)
    assert.equal("", logged())
    world:resume()
    world:tick(1)
    assert.equal("woke", logged())
  end)

  it("pauses from the next tick on when a system asks for it", function()
    world = support.world()
    local sub
    sub = world:on("preUpdate", function() world:pause() sub:off() end)
    world:start(say "routine")
    world:tick(1)
    assert.equal("routine", logged())
    world:start(say "late")
    world:tick(1)
    assert.equal("routine", logged())
    assert.equal(1, world.simTime)
  end)

  it("holds nextTick back", function()
    world = support.world()
    local turns = 0
    world:start(function() while true do turns = turns + 1 routine.nextTick() end end)
    world:tick(0)
    world:pause()
    support.ticks(4)
    assert.equal(1, turns)
    world:resume()
    world:tick(0)
    assert.equal(2, turns)
  end)

  it("still delivers a cancel", function()
    world = support.world()
    local handle = world:start(function()
      routine.defer(say "cleanup")
      routine.wait(9)
    end)
    world:tick(0)
    world:pause()
    handle:cancel()
    world:tick(0)
    assert.equal("cleanup", logged())
    assert.equal("cancelled", handle:status())
  end)

  it("runs the waits of real time", function()
    world = support.world()
    world:start(function() routine.waitUnscaled(2) say "woke"() end)
    world:tick(0)
    world:pause()
    world:tick(1)
    assert.equal("", logged())
    world:tick(1)
    assert.equal("woke", logged())
  end)
end)

describe("a time scale", function()
  it("multiplies sim time and leaves real time alone", function()
    world = support.world()
    world:setTimeScale(0.5)
    support.ticks(4)
    assert.equal(2, world.simTime)
    assert.equal(4, world.realTime)
  end)

  it("makes waits shorter or longer in real time", function()
    world = support.world()
    world:setTimeScale(4)
    local slept
    world:start(function() slept = routine.wait(8) end)
    world:tick(0)
    world:tick(1)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(8, slept)
  end)

  it("does not touch waits of real time", function()
    world = support.world()
    world:setTimeScale(100)
    local slept
    world:start(function() slept = routine.waitUnscaled(2) end)
    support.settle()
    world:tick(1)
    assert.is_nil(slept)
    world:tick(1)
    assert.equal(2, slept)
  end)

  it("of zero stops sim time but is no pause: nextTick goes on", function()
    world = support.world()
    world:setTimeScale(0)
    local turns, woke, slept = 0, false, nil
    world:start(function()
      while turns < 5 do turns = turns + 1 slept = routine.nextTick() end
    end)
    world:start(function() routine.wait(0.001) woke = true end)
    support.ticks(6)
    assert.is_false(world:isPaused())
    assert.equal(5, turns)
    assert.equal(0, slept)
    assert.is_false(woke)
    assert.equal(0, world.simTime)
  end)

  it("of zero lets wait(0) go on, and unstarted routines begin", function()
    world = support.world()
    world:setTimeScale(0)
    world:start(function() say "a"() routine.wait(0) say "b"() end)
    support.ticks(2)
    assert.equal("a b", logged())
  end)

  it("takes effect on waits that have begun", function()
    world = support.world()
    world:start(function() routine.wait(10) say "woke"() end)
    support.settle()
    world:setTimeScale(10)
    world:tick(1)
    assert.equal("woke", logged())
  end)

  it("refuses what is no finite number of at least zero, and changes nothing", function()
    world = support.world()
    for _, bad in ipairs{ -1, 0 / 0, math.huge, -math.huge, "2", {} } do
      assert.has_error(function() world:setTimeScale(bad) end)
    end
    assert.has_error(function() world:setTimeScale() end)
    world:tick(1)
    assert.equal(1, world.simTime)
  end)
end)
