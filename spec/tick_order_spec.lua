-- SPDX-License-Identifier: MIT
--
-- The order of one tick, which is API.

local support = require "support"
local log = require "support.log"
local routine = require "weft.routine"

local say, logged = log.say, log.text
local world

before_each(log.clear)

describe("one tick", function()
  it("runs posts, systems, routines and late systems in this order", function()
    world = support.world()
    world:on("postUpdate", say "postUpdate")
    world:on("update", say "update")
    world:on("preUpdate", say "preUpdate")
    world:start(say "routine")
    world:post(say "post")
    world:tick(0)
    assert.equal("post preUpdate update routine postUpdate", logged())
  end)

  it("advances the clocks before anything runs", function()
    world = support.world()
    world:setTimeScale(2)
    world:post(function()
      assert.equal(0.5, world.simTime)
      assert.equal(0.25, world.realTime)
      assert.equal(1, world.tickCount)
      log[1] = "looked"
    end)
    world:tick(0.25)
    assert.equal("looked", logged())
  end)

  it("returns how many routines it resumed", function()
    world = support.world()
    assert.equal(0, world:tick(0))
    for _ = 1, 3 do world:start(function() routine.wait(1) end) end
    assert.equal(3, world:tick(0))
    assert.equal(0, world:tick(0.5))
    assert.equal(3, world:tick(0.5))
    assert.equal(0, world:tick(0))
  end)

  it("counts a cancelled routine among the resumed", function()
    world = support.world()
    local handle = world:start(function() routine.wait(9) end)
    world:tick(0)
    handle:cancel()
    assert.equal(1, world:tick(0))
  end)

  it("runs a routine that a post started in the same tick", function()
    world = support.world()
    world:post(function() world:start(say "routine") end)
    world:tick(0)
    assert.equal("routine", logged())
  end)

  it("runs a routine that an early system started in the same tick", function()
    world = support.world()
    local sub
    sub = world:on("update", function()
      world:start(say "routine")
      sub:off()
    end)
    world:tick(0)
    assert.equal("routine", logged())
  end)

  it("runs a routine that a late system started in the next tick", function()
    world = support.world()
    local sub
    sub = world:on("postUpdate", function()
      world:start(say "routine")
      sub:off()
    end)
    world:tick(0)
    assert.equal("", logged())
    world:tick(0)
    assert.equal("routine", logged())
  end)

  it("runs a routine that a routine started in the next tick", function()
    world = support.world()
    local generations = 0
    local function breed()
      generations = generations + 1
      routine.start(breed)
    end
    world:start(breed)
    for tick = 1, 5 do
      world:tick(0.016)
      assert.equal(tick, generations)
    end
  end)

  it("never runs a routine inside start", function()
    world = support.world()
    world:start(say "routine")
    assert.equal("", logged())
  end)

  it("starts routines in the order of their start calls", function()
    world = support.world()
    for i = 1, 20 do world:start(say(i)) end
    world:tick(0)
    for i = 1, 20 do assert.equal(i, log[i]) end
  end)

  it("passes the arguments of start, nils included", function()
    world = support.world()
    local got
    world:start(function(...) got = { n = select("#", ...), ... } end, nil, "b", nil)
    world:tick(0)
    assert.same({ n = 3, nil, "b", nil }, got)
  end)
end)

describe("systems", function()
  it("run in the order in which they were added", function()
    world = support.world()
    for i = 1, 5 do world:on("update", say(i)) end
    world:tick(0)
    assert.equal("1 2 3 4 5", logged())
  end)

  it("get the raw dt and the world", function()
    world = support.world()
    world:setTimeScale(3)
    local dt, owner
    world:on("update", function(...) dt, owner = ... end)
    world:tick(0.125)
    assert.equal(0.125, dt)
    assert.equal(world, owner)
  end)

  it("run in every tick until they are switched off", function()
    world = support.world()
    local sub = world:on("postUpdate", say "x")
    support.ticks(3)
    sub:off()
    support.ticks(3)
    assert.equal("x x x", logged())
  end)

  it("may be switched off twice", function()
    world = support.world()
    local sub = world:on("update", say "x")
    sub:off()
    sub:off()
    world:tick(0)
    assert.equal("", logged())
  end)

  it("are not called any more once another system switched them off", function()
    world = support.world()
    local second
    world:on("update", function() second:off() end)
    second = world:on("update", say "second")
    world:on("update", say "third")
    world:tick(0)
    assert.equal("third", logged())
  end)

  it("may switch themselves off without skipping their neighbour", function()
    world = support.world()
    local first
    first = world:on("update", function() say "first"() first:off() end)
    world:on("update", say "second")
    support.ticks(2)
    assert.equal("first second second", logged())
  end)

  it("added in their own stage are first called in the next tick", function()
    world = support.world()
    local sub
    sub = world:on("update", function()
      sub:off()
      world:on("update", say "late")
    end)
    world:tick(0)
    assert.equal("", logged())
    world:tick(0)
    assert.equal("late", logged())
  end)

  it("are kept alive by the world alone", function()
    world = support.world()
    world:on("update", say "x")
    support.collect()
    world:tick(0)
    assert.equal("x", logged())
  end)
end)
