-- SPDX-License-Identifier: MIT
--
-- Messages: sent to owners by name, delivered in stage 3.

local support = require "support"
local routine = require "weft.routine"

local log

local function say(text)
  return function() log[#log + 1] = text end
end

local function logged()
  local text = table.concat(log, " ")
  log = {}
  return text
end

before_each(function() log = {} end)

local function raises(text, fn, ...)
  local ok, err = pcall(fn, ...)
  assert.is_false(ok)
  assert.truthy(tostring(err):find(text, 1, true), tostring(err))
end

describe("world:send", function()
  it("is heard once by its owner, in the next tick", function()
    local world = support.world()
    local owner, other = world:owner(), world:owner()
    owner:on("hit", say "owner")
    other:on("hit", say "other")
    assert.is_true(world:send(owner, "hit"))
    assert.equal("", logged())
    support.settle(3)
    assert.equal("owner", logged())
  end)

  it("is heard under its name alone", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("hit", say "hit")
    owner:on("heal", say "heal")
    world:send(owner, "heal")
    world:send(owner, "unheard")
    world:tick(0)
    assert.equal("heal", logged())
    assert.equal(0, world:stats().dropped)
  end)

  it("passes the values and not the name, nil and trailing nil as well", function()
    local world = support.world()
    local owner = world:owner()
    local got, count
    local function hear(...)
      count = select("#", ...)
      got = { ... }
    end
    owner:on("m", hear)
    local value = {}
    world:send(owner, "m", 1, nil, value, false, nil, nil)
    world:tick(0)
    assert.equal(6, count)
    assert.equal(1, got[1])
    assert.is_nil(got[2])
    assert.equal(value, got[3])
    assert.is_false(got[4])
    world:send(owner, "m")
    world:tick(0)
    assert.equal(0, count)
  end)

  it("carries hundreds of values", function()
    local world = support.world{ capacity = 1 }
    local owner = world:owner()
    local args, sum, count = {}, 0, nil
    for i = 1, 200 do args[i] = i % 2 == 0 and i or nil end
    owner:on("m", function(...)
      count = select("#", ...)
      for i = 1, count do sum = sum + (select(i, ...) or 0) end
    end)
    local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
    for _ = 1, 3 do world:send(owner, "m", unpack(args, 1, 200)) end
    world:tick(0)
    assert.equal(200, count)
    assert.equal(3 * 10100, sum)
  end)

  it("keeps the order of sending, across owners and names", function()
    local world = support.world()
    local owners = {}
    for i = 1, 3 do
      owners[i] = world:owner()
      for _, name in ipairs{ "a", "b" } do
        owners[i]:on(name, function(n) log[#log + 1] = i .. name .. n end)
      end
    end
    world:send(owners[2], "b", 1)
    world:send(owners[1], "a", 2)
    world:broadcast("b", 3)
    world:send(owners[2], "a", 4)
    world:tick(0)
    assert.equal("2b1 1a2 1b3 2b3 3b3 2a4", logged())
  end)

  it("calls all handlers of a name, in the order in which they came", function()
    local world = support.world()
    local owner = world:owner()
    for i = 1, 5 do owner:on("m", say(i)) end
    world:send(owner, "m")
    world:tick(0)
    assert.equal("1 2 3 4 5", logged())
  end)

  it("comes after posts and before systems and routines, pausing or not", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "message")
    world:on("preUpdate", say "system")
    world:start(say "routine")
    world:send(owner, "m")
    world:post(function()
      log[#log + 1] = "post"
      world:send(owner, "m")
    end)
    world:tick(0)
    assert.equal("post message message system routine", logged())
    world:pause()
    world:send(owner, "m")
    world:tick(1)
    assert.equal("message system", logged())
  end)

  it("waits for the next tick when it is sent by a handler", function()
    local world = support.world()
    local owner = world:owner()
    local count = 0
    owner:on("again", function()
      count = count + 1
      world:send(owner, "again")
      world:broadcast("again")
    end)
    world:send(owner, "again")
    for tick = 0, 4 do
      world:tick(0)
      assert.equal(2 ^ (tick + 1) - 1, count)
    end
  end)

  it("says that an owner is destroyed", function()
    local world = support.world()
    local parent = world:owner()
    local owner = world:owner(parent)
    owner:on("m", say "m")
    parent:destroy()
    for _, dead in ipairs{ owner, parent } do
      local sent, reason = world:send(dead, "m")
      assert.is_nil(sent)
      assert.equal("destroyed", reason)
    end
    world:tick(0)
    assert.equal("", logged())
    assert.equal(0, world:stats().dropped)
  end)

  it("is dropped, and counted, when its owner dies meanwhile", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "m")
    world:send(owner, "m")
    world:send(owner, "unheard")
    owner:destroy()
    world:tick(0)
    assert.equal("", logged())
    assert.equal(2, world:stats().dropped)
  end)

  it("is dropped when the message before it destroys its owner", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("die", function()
      log[#log + 1] = "die"
      owner:destroy()
    end)
    owner:on("die", say "never")
    owner:on("m", say "never")
    world:send(owner, "die")
    world:send(owner, "m")
    world:tick(0)
    assert.equal("die", logged())
    assert.equal(1, world:stats().dropped)
  end)

  it("does not reach the owner that got the slot of a dead one", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "old")
    world:send(owner, "m")
    owner:destroy()
    local heir = world:owner()
    heir:on("m", say "new")
    world:tick(0)
    assert.equal("", logged())
    assert.equal(1, world:stats().dropped)
    world:send(heir, "m")
    world:tick(0)
    assert.equal("new", logged())
  end)

  it("reaches a disabled owner: its handlers stay", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "m")
    owner:disable()
    owner:on("m", say "later")
    assert.is_true(world:send(owner, "m"))
    world:tick(0)
    assert.equal("m later", logged())
  end)

  it("does not reach a destroyed owner that still cleans up", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "m")
    owner:start(function()
      routine.shield(function() routine.wait(5) end)
    end)
    world:tick(0)
    world:send(owner, "m")
    world:broadcast("m")
    owner:destroy()
    assert.is_nil((world:send(owner, "m")))
    world:tick(0)
    assert.equal("", logged())
    assert.equal(1, world:stats().dropped)
    world:tick(9)
    world:tick(9)
  end)

  it("holds its values until they are delivered, and no longer", function()
    local world = support.world()
    local owner = world:owner()
    local weak = setmetatable({}, { __mode = "k" })
    owner:on("m", function(value) value.heard = true end)
    local function send()
      local value = {}
      weak[value] = true
      world:send(owner, "m", value)
    end
    send()
    support.collect()
    assert.is_not_nil(next(weak))
    world:tick(0)
    support.collect()
    assert.is_nil(next(weak))
    send()
    owner:destroy()
    world:tick(0)
    support.collect()
    assert.is_nil(next(weak))
  end)
end)

describe("world:broadcast", function()
  it("is heard in the order in which the owners were made", function()
    local world = support.world()
    local owners = {}
    for i = 1, 50 do owners[i] = world:owner(i % 7 == 0 and owners[i - 1] or nil) end
    for step = 0, 49 do
      local i = step * 17 % 50 + 1
      owners[i]:on("m", say(i))
    end
    owners[9]:on("m", say "9b")
    assert.is_true(world:broadcast("m"))
    world:tick(0)
    local expected = {}
    for i = 1, 50 do expected[#expected + 1] = i == 9 and "9 9b" or tostring(i) end
    assert.equal(table.concat(expected, " "), logged())
  end)

  it("takes an owner in a used slot for the young one that it is", function()
    local world = support.world()
    local first, second = world:owner(), world:owner()
    first:destroy()
    local third = world:owner()
    third:on("m", say "third")
    second:on("m", say "second")
    world:broadcast("m")
    world:tick(0)
    assert.equal("second third", logged())
  end)

  it("reaches who hears at delivery, not who did at sending", function()
    local world = support.world()
    local early, late = world:owner(), world:owner()
    local sub = early:on("m", say "early")
    world:broadcast("m")
    late:on("m", say "late")
    sub:off()
    world:tick(0)
    assert.equal("late", logged())
  end)

  it("leaves out who was destroyed by a handler before its turn", function()
    local world = support.world()
    local first, second, third = world:owner(), world:owner(), world:owner()
    first:on("m", function() log[#log + 1] = "first" second:destroy() end)
    second:on("m", say "second")
    third:on("m", say "third")
    world:broadcast("m")
    world:tick(0)
    assert.equal("first third", logged())
    assert.equal(0, world:stats().dropped)
  end)

  it("stays within its world", function()
    local world, other = support.world(), support.world()
    world:owner():on("m", say "this")
    other:owner():on("m", say "other")
    world:broadcast("m")
    other:tick(0)
    world:tick(0)
    assert.equal("this", logged())
  end)

  it("passes its values to every handler, whatever those do with theirs", function()
    local world = support.world()
    for _ = 1, 3 do
      world:owner():on("m", function(a, b, c)
        log[#log + 1] = tostring(a) .. tostring(b) .. tostring(c)
        a, b, c = 7, 8, 9
        return a, b, c
      end)
    end
    world:broadcast("m", 1, nil, "x")
    world:tick(0)
    assert.equal("1nilx 1nilx 1nilx", logged())
  end)
end)

describe("misuse of messages", function()
  it("says what is wrong, and sends nothing", function()
    local world, other = support.world(), support.world()
    local owner = world:owner()
    raises("world:send: an owner expected, got nil", world.send, world, nil, "m")
    raises("world:send: name must be a string, got nil", world.send, world, owner, nil)
    raises("world:send: name must be a string, got 5", world.send, world, owner, 5)
    raises("world:send: the owner is of another world", other.send, other, owner, "m")
    raises("world:broadcast: name must be a string, got table", world.broadcast, world, {})
    raises("owner:on: name must be a string, got nil", owner.on, owner, nil, print)
    raises("owner:on: a function expected, got nil", owner.on, owner, "m")
    raises("a world expected", world.send, owner, owner, "m")
    local sub = owner:on("m", say "m")
    raises("sub:off: a subscription expected, got nil", sub.off)
    raises("sub:off: a subscription expected, got userdata", sub.off, owner)
    world:tick(0)
    assert.equal("", logged())
  end)

  it("raises at the caller's line", function()
    local world = support.world()
    local _, err = pcall(function() world:broadcast(1) end)
    assert.truthy(err:match "message_spec.lua:%d+: world:broadcast")
  end)

  it("on a destroyed owner is refused with a reason", function()
    local world = support.world()
    local owner = world:owner()
    owner:destroy()
    local sub, reason = owner:on("m", say "m")
    assert.is_nil(sub)
    assert.equal("destroyed", reason)
  end)

  it("while the world is being closed is refused, after that raises", function()
    local world = support.world()
    local owner = world:owner()
    local sub = owner:on("m", say "m")
    local sent, cast
    world:send(owner, "m")
    world:start(function()
      routine.defer(function()
        sent = { world:send(owner, "m") }
        cast = { world:broadcast("m") }
      end)
      routine.wait(5)
    end)
    world:tick(0)
    logged()
    world:send(owner, "m")
    world:close()
    assert.is_nil(sent[1])
    assert.equal("closed", sent[2])
    assert.is_nil(cast[1])
    assert.equal("closed", cast[2])
    assert.equal("", logged())
    assert.is_false(sub:off())
    raises("world:send: world is closed", world.send, world, owner, "m")
    raises("world:broadcast: world is closed", world.broadcast, world, "m")
    raises("owner:on: world is closed", owner.on, owner, "m", print)
  end)
end)
