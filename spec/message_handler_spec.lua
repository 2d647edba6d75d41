-- SPDX-License-Identifier: MIT
--
-- Handlers of messages: who is told when they come and go, fail, and end with their owner.

local support = require "support"
local routine = require "weft.routine"
local log = require "support.log"
local say, logged = log.say, log.read

before_each(log.clear)

describe("a handler", function()
  it("that is off is not called any more; off tells whether it was on", function()
    local world = support.world()
    local owner = world:owner()
    local sub = owner:on("m", say "m")
    owner:on("m", say "n")
    world:send(owner, "m")
    assert.is_true(sub:off())
    assert.is_false(sub:off())
    world:tick(0)
    assert.equal("n", logged())
  end)

  it("may be turned off by one before it, by one after it and by itself", function()
    local world = support.world()
    local owner = world:owner()
    local subs = {}
    local function hear(i, ends)
      subs[i] = owner:on("m", function()
        log[#log + 1] = i
        for _, k in ipairs(ends) do subs[k]:off() end
      end)
    end
    hear(1, { 3 })
    hear(2, { 1, 2 })
    hear(3, {})
    hear(4, {})
    world:send(owner, "m")
    world:send(owner, "m")
    world:tick(0)
    assert.equal("1 2 4 4", logged())
  end)

  it("that is added by a handler hears the messages after the one that is being told", function()
    local world = support.world()
    local first, second = world:owner(), world:owner()
    local added = false
    second:on("m", function()
      log[#log + 1] = "second"
      if added then return end
      added = true
      second:on("m", say "new of second")
      first:on("m", say "new of first")
      world:owner():on("m", say "new owner")
    end)
    second:on("m", say "last")
    world:broadcast("m")
    world:broadcast("m")
    world:tick(0)
    assert.equal("second last new of first second last new of second new owner", logged())
  end)

  it("that fails is reported, and the others are called", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "a")
    owner:on("m", function() error("bad", 0) end)
    owner:on("m", say "b")
    world:send(owner, "m")
    world:send(owner, "m")
    world:tick(0)
    assert.equal("a b a b", logged())
    local reports = support.reports()
    assert.equal(2, #reports)
    assert.is_nil(reports[1].handle)
    assert.equal("bad", reports[1].err)
    assert.truthy(reports[1].trace:find("message_handler_spec.lua", 1, true))
  end)

  it("cannot wait, and may do all that a post may", function()
    local world = support.world()
    local owner = world:owner()
    local err
    owner:on("m", function() err = select(2, pcall(routine.wait, 1)) end)
    owner:on("m", function() routine.start(say "routine") end)
    world:send(owner, "m")
    world:tick(0)
    assert.truthy(tostring(err):find "not inside a routine")
    assert.equal("routine", logged())
  end)

  it("acts on its world, also in one of another world's owners", function()
    local first, second = support.world(), support.world{ capacity = 77 }
    local capacity
    second:owner():on("m", function() capacity = routine.stats().capacity end)
    second:broadcast("m")
    first:tick(0)
    second:tick(0)
    assert.equal(77, capacity)
  end)

  -- A handler of an owner that holds a value, and a weak table with that value as its only key.
  local function holder(owner)
    local value = {}
    local weak = setmetatable({ [value] = true }, { __mode = "k" })
    return owner:on("m", function() return value end), weak
  end

  it("is gone when its owner has ended, with what it holds", function()
    local owner = support.world():owner()
    local sub, weak = holder(owner)
    support.collect()
    assert.is_not_nil(next(weak))
    owner:destroy()
    support.collect()
    assert.is_nil(next(weak))
    assert.is_false(sub:off())
  end)

  it("is let go when it is turned off", function()
    local sub, weak = holder(support.world():owner())
    sub:off()
    support.collect()
    assert.is_nil(next(weak))
  end)

  it("stays when nobody holds its subscription or its owner", function()
    local world = support.world()
    world:owner():on("m", say "m")
    support.collect()
    world:broadcast("m")
    world:tick(0)
    assert.equal("m", logged())
  end)

  it("stays through another configuration, as messages do", function()
    local world = support.world()
    local owner = world:owner()
    owner:on("m", say "m")
    world:send(owner, "m")
    world:configure{ capacity = 500 }
    world:tick(0)
    assert.equal("m", logged())
  end)
end)

describe("messages", function()
  it("leave the memory as it was, names that are used once as well", function()
    local world = support.world()
    local keeper = world:owner()
    keeper:on("tick", function() end)
    local function round()
      for i = 1, 200 do
        local owner = world:owner()
        local name = "name " .. math.random(1e9)
        owner:on(name, function() end)
        owner:on("tick", function() end)
        local sub = keeper:on("tick", function() end)
        world:send(owner, name, i, nil)
        world:broadcast("tick", i)
        if i % 10 == 0 then world:tick(0) end
        owner:destroy()
        sub:off()
      end
      world:tick(0)
      support.collect()
      return collectgarbage "count"
    end
    for _ = 1, 3 do round() end
    local before = round()
    for _ = 1, support.stress and 1 or 5 do round() end
    assert.is_true(round() < before + 64, "grew")
  end)

  it("agree with a plain model over random programs", function()
    for seed = 1, support.stress and 5 or 60 do
      math.randomseed(seed)
      local world = support.world()
      local owners, subs, queue, expected, seen = {}, {}, {}, {}, {}
      local serial = 0
      local function hear(o)
        serial = serial + 1
        local sub = { name = "n" .. math.random(3), id = serial, owner = o }
        sub.sub = o.owner:on(sub.name, function(v) seen[#seen + 1] = sub.id .. ":" .. v end)
        subs[#subs + 1] = sub
      end
      local function tick()
        for _, m in ipairs(queue) do
          for i, o in ipairs(owners) do
            for _, s in ipairs(subs) do
              if s.owner == o and s.name == m.name and (not m.to or m.to == i) and not o.dead then
                expected[#expected + 1] = s.id .. ":" .. m.value
              end
            end
          end
        end
        queue = {}
        world:tick(0)
      end
      for step = 1, 150 do
        local what = math.random(10)
        local pick = #owners > 0 and math.random(#owners)
        if what <= 2 or not pick then
          owners[#owners + 1] = { owner = world:owner() }
        elseif what <= 5 then
          if not owners[pick].dead then hear(owners[pick]) end
        elseif what == 6 then
          local at = #subs > 0 and math.random(#subs)
          if at then table.remove(subs, at).sub:off() end
        elseif what == 7 then
          if math.random(3) == 1 then
            owners[pick].owner:destroy()
            owners[pick].dead = true
          end
        elseif what == 8 then
          local name = "n" .. math.random(3)
          world:broadcast(name, step)
          queue[#queue + 1] = { name = name, value = step }
        elseif what == 9 then
          local name = "n" .. math.random(3)
          if world:send(owners[pick].owner, name, step) then
            queue[#queue + 1] = { name = name, value = step, to = pick }
          end
        else
          tick()
        end
      end
      tick()
      assert.same(expected, seen, "seed " .. seed)
      world:close()
    end
  end)
end)
