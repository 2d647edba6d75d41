-- SPDX-License-Identifier: MIT
--
-- Posts: functions that run in the next stage 2 of their world.

local support = require "support"
local routine = require "weft.routine"
local log = require "support.log"
local say, logged = log.say, log.read

before_each(log.clear)

describe("world:post", function()
  it("runs the function once, in the next tick", function()
    local world = support.world()
    world:post(say "x")
    assert.equal("", logged())
    support.settle(3)
    assert.equal("x", logged())
  end)

  it("keeps the order of the posts", function()
    local world = support.world()
    for i = 1, 100 do world:post(say(i)) end
    world:tick(0)
    for i = 1, 100 do assert.equal(i, log[i]) end
  end)

  it("runs high priority before normal, each oldest first", function()
    local world = support.world()
    world:post(say "n1")
    world:post(say "h1", "high")
    world:post(say "n2", "normal")
    world:post(say "h2", "high")
    world:tick(0)
    assert.equal("h1 h2 n1 n2", logged())
  end)

  it("runs at most postsPerTick of them a tick, high priority first", function()
    local world = support.world{ postsPerTick = 2 }
    for i = 1, 3 do world:post(say("n" .. i)) end
    for i = 1, 2 do world:post(say("h" .. i), "high") end
    world:tick(0)
    assert.equal("h1 h2", logged())
    world:tick(0)
    assert.equal("n1 n2", logged())
    assert.equal(1, world:stats().posts)
    world:tick(0)
    assert.equal("n3", logged())
  end)

  it("runs 128 a tick by default", function()
    local world = support.world()
    for i = 1, 129 do world:post(say(i)) end
    world:tick(0)
    assert.equal(128, #log)
    world:tick(0)
    assert.equal(129, #log)
  end)

  it("runs what a post posts in the next tick, so that a tick ends", function()
    local world = support.world()
    local runs = 0
    local function again()
      runs = runs + 1
      world:post(again)
    end
    world:post(again)
    for tick = 1, 5 do
      world:tick(0)
      assert.equal(tick, runs)
    end
  end)

  it("also with high priority", function()
    local world = support.world()
    local runs = 0
    local function again()
      runs = runs + 1
      world:post(again, "high")
    end
    world:post(again, "high")
    world:tick(0)
    assert.equal(1, runs)
  end)

  it("runs what routines and systems post in the next tick", function()
    local world = support.world()
    local sub
    sub = world:on("preUpdate", function() sub:off() world:post(say "from a system") end)
    world:start(function() world:post(say "from a routine") end)
    world:tick(0)
    assert.equal("", logged())
    world:tick(0)
    assert.equal("from a system from a routine", logged())
  end)

  it("survives a failing post", function()
    local world = support.world()
    world:post(say "a")
    world:post(function() error("bad", 0) end)
    world:post(say "b")
    world:tick(0)
    assert.equal("a b", logged())
    assert.equal(1, #support.reports())
  end)

  it("passes nothing to the function", function()
    local world = support.world()
    local count
    world:post(function(...) count = select("#", ...) end)
    world:tick(0)
    assert.equal(0, count)
  end)

  it("keeps the function alive until it ran, and no longer", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "k" })
    do
      local value = {}
      weak[value] = true
      world:post(function() value.ran = true end)
    end
    support.collect()
    assert.is_not_nil(next(weak))
    world:tick(0)
    support.collect()
    assert.is_nil(next(weak))
  end)

  it("is refused with a reason while its world is being closed, inspect still answers", function()
    local world = support.world()
    local answer, alive
    world:start(function()
      routine.defer(function()
        alive = #world:inspect()
        answer = { world:post(say "never") }
      end)
      routine.wait(5)
    end)
    world:tick(1)
    world:close()
    assert.equal(1, alive)
    assert.is_nil(answer[1])
    assert.equal("closed", answer[2])
    assert.equal("", logged())
  end)

  it("works from a coroutine of the script", function()
    local world = support.world()
    coroutine.wrap(function() world:post(say "x") end)()
    support.collect()
    world:tick(0)
    assert.equal("x", logged())
  end)

  it("acts on its world when it calls module functions", function()
    local world = support.world()
    local handle
    world:post(function() handle = routine.start(say "routine") end)
    world:tick(0)
    assert.equal("completed", handle:status())
    assert.equal("routine", logged())
    assert.equal(1, world:stats().completed)
  end)
end)

describe("module functions", function()
  it("act on the world whose system calls them", function()
    local first, second = support.world(), support.world()
    local capacity
    second:configure{ capacity = 77 }
    second:on("update", function() capacity = routine.stats().capacity end)
    first:tick(0)
    second:tick(0)
    assert.equal(77, capacity)
  end)

  it("act on the world whose routine calls them, in its inner coroutines as well", function()
    local world = support.world()
    support.world()
    world:start(function()
      routine.start(say "direct")
      coroutine.wrap(function() routine.start(say "inner") end)()
      routine.defer(function() routine.start(say "cleanup") end)
    end)
    world:tick(0)
    world:tick(0)
    assert.equal("direct inner cleanup", logged())
  end)

  it("act on the world whose onError calls them", function()
    local world = support.world()
    world.onError = function() routine.start(say "restarted") end
    world:start(function() error "x" end)
    world:tick(0)
    world:tick(0)
    assert.equal("restarted", logged())
  end)
end)
