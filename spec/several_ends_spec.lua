-- SPDX-License-Identifier: MIT
--
-- Waits for several routines that end in another way, or that are refused: cancels, rings, misuse.

local support = require "support"
local several = require "support.several"
local routine = require "weft.routine"

local pack, sleeper, collect, answer =
  several.pack, several.sleeper, several.collect, several.answer

describe("a cancel of who waits for several #wait", function()
  for _, name in ipairs{ "any", "all" } do
    it("raises Cancelled there and lets go of every one: " .. name, function()
      local world = support.world()
      local list, err, cleaned = { sleeper(world, 3), sleeper(world, 4) }, nil, false
      list[3] = world:start(function() routine.wait(1) error "nobody waits" end)
      local waiter = world:start(function()
        routine.defer(function() cleaned = true end)
        local _, problem = pcall(routine[name], list)
        err = problem
        error(problem, 0)
      end)
      world:tick(0)
      waiter:cancel()
      support.ticks(1)
      assert.equal(routine.Cancelled, err)
      assert.is_true(cleaned)
      assert.equal("cancelled", waiter:status())
      support.ticks(4)
      assert.equal(1, #support.reports())
      assert.equal("completed", list[1]:status())
    end)

    it("comes first though one has just ended: " .. name, function()
      local world = support.world()
      local waiter
      local target = world:start(function()
        routine.wait(1)
        waiter:cancel()
      end)
      local ok, err
      waiter = world:start(function() ok, err = pcall(routine[name], { target }) end)
      world:tick(0)
      support.ticks(3)
      assert.is_false(ok)
      assert.equal(routine.Cancelled, err)
    end)

    it("may come while its target ends in the same tick: " .. name, function()
      local world = support.world()
      local target = sleeper(world, 1)
      local ok, err
      local waiter = world:start(function() ok, err = pcall(routine[name], { target }) end)
      world:tick(0)
      support.ticks(1)
      assert.equal("queued", waiter:status())
      waiter:cancel()
      support.settle(1)
      assert.is_false(ok)
      assert.equal(routine.Cancelled, err)
    end)

    it("takes a tick for each raise that is swallowed, then ends it: " .. name, function()
      local world = support.world()
      local target, raises = sleeper(world, 1e6), 0
      local waiter = world:start(function()
        while true do
          if not pcall(routine[name], { target }) then raises = raises + 1 end
        end
      end)
      world:tick(0)
      waiter:cancel()
      support.settle(12)
      assert.equal("cancelled", waiter:status())
      assert.equal(8, raises)
      assert.equal(1, #support.reports())
      assert.equal("sleeping", target:status())
    end)
  end

  if support.vm == "lua5.4" then
    it("leaves nothing to a coroutine that is closed by hand", function()
      local world = support.world()
      local target, co = sleeper(world, 30), nil
      local waiter = world:start(function()
        co = coroutine.running()
        routine.any{ target, sleeper(world, 20) }
      end)
      world:tick(0)
      assert.is_true(rawget(coroutine, "close")(co))
      support.collect()
      assert.equal("queued", waiter:status())
      support.ticks(40)
      assert.equal("failed", waiter:status())
      assert.equal(1, #support.reports())
    end)
  end

  it("at the close of the world ends those that wait", function()
    local world = support.world()
    local errors = {}
    for _, name in ipairs{ "any", "all" } do
      world:start(function()
        local _, err = pcall(routine[name], { sleeper(world, 9), timeout = 5 })
        errors[#errors + 1] = err
        error(err, 0)
      end)
    end
    world:tick(0)
    world:close()
    assert.same({ routine.Cancelled, routine.Cancelled }, errors)
  end)
end)

describe("several that could never end #wait", function()
  local function raises(fn)
    local ok, message = pcall(fn)
    assert(not ok, "it did not raise")
    assert(message:find "^[^:]*several_ends_spec.lua:%d+: routine%.", message)
    return message
  end

  for _, name in ipairs{ "any", "all" } do
    it("raise for the routine itself, also beside others: " .. name, function()
      local world = support.world()
      local other, done = sleeper(world, 1), world:start(function() end)
      world:tick(0)
      local message, alive
      world:start(function()
        message = raises(function() routine[name]{ other, routine.self() } end)
        raises(function() routine[name]{ done, routine.self() } end)
        routine.nextTick()
        alive = true
      end)
      support.settle(3)
      assert.truthy(message:find("routine." .. name .. ": a routine cannot join itself", 1, true))
      assert.is_true(alive)
    end)
  end

  it("raise for all at the call that closes a ring", function()
    local world = support.world()
    local handles, results = {}, {}
    for i = 1, 3 do
      handles[i] = world:start(function()
        results[i] = pack(pcall(routine.all, { sleeper(world, 1), handles[i % 3 + 1] }))
      end)
    end
    support.ticks(8)
    assert.is_true(results[1][1])
    assert.is_true(results[2][1])
    assert.is_false(results[3][1])
    assert.truthy(results[3][2]:find("ring", 1, true), results[3][2])
  end)

  it("raise for join where it closes a ring through all", function()
    local world = support.world()
    local second, message
    local first = world:start(function() routine.all{ sleeper(world, 1), second } end)
    second = world:start(function() message = raises(function() routine.join(first) end) end)
    support.ticks(4)
    assert.truthy(message:find("ring", 1, true))
  end)

  it("raise for any only where none of the list could end", function()
    local world = support.world()
    local target, ok, message, got
    local one = world:start(function() routine.join(target) end)
    local two = world:start(function() routine.all{ target, sleeper(world, 1) } end)
    target = world:start(function()
      ok, message = pcall(routine.any, { one, two })
      got = pack(routine.any{ one, two, sleeper(world, 1, "out") })
    end)
    support.ticks(5)
    assert.is_false(ok)
    assert.truthy(message:find("ring", 1, true))
    assert.same({ n = 3, 3, true, "out" }, got)
  end)

  it("do not include an any with a way out", function()
    local world = support.world()
    local second
    local first = world:start(function() return (routine.any{ second, sleeper(world, 2) }) end)
    local got
    second = world:start(function() got = pack(routine.join(first)) end)
    support.ticks(6)
    assert.same({ n = 2, true, 2 }, got)
  end)

  it("do not include waits of the past", function()
    local world = support.world()
    local second, got
    local first = world:start(function()
      routine.all{ second, timeout = 1 }
      routine.wait(5)
      return "first"
    end)
    second = world:start(function()
      routine.wait(2)
      got = pack(routine.all{ first })
    end)
    support.ticks(12)
    assert.same({ n = 1, { { n = 2, true, "first" } } }, got)
  end)

  it("are found in a mesh of thousands at once", function()
    local world = support.world{ capacity = 3000 }
    local layers, refused = {}, nil
    local last = world:start(function()
      routine.nextTick()
      refused = not pcall(routine.any, layers[1000])
    end)
    for i = 1, 1000 do
      layers[i] = {}
      for k = 1, 2 do
        layers[i][k] = world:start(function()
          routine[i % 2 == 0 and "any" or "all"](layers[i - 1] or { last })
        end)
      end
    end
    support.settle(2)
    assert.is_true(refused)
  end)
end)

describe("misuse of any and all", function()
  for _, name in ipairs{ "any", "all" } do
    local function message(...)
      local ok, text = pcall(function(...) routine[name](...) end, ...)
      assert(not ok, "it did not raise")
      assert(text:find "^[^:]*several_ends_spec.lua:%d+: routine%.", text)
      return text
    end

    it("raises for what is no list of handles: " .. name, function()
      local world = support.world()
      local handle, wrong = sleeper(world, 1), {}
      support.inside(function()
        for _, bad in ipairs{ 1, "x", false, handle, print } do
          wrong[#wrong + 1] = message(bad)
        end
        wrong[#wrong + 1] = message(nil)
        wrong[#wrong + 1] = message{ "x" }
        wrong[#wrong + 1] = message{ handle, 5 }
        wrong[#wrong + 1] = message{ nil, "capacity" }
      end)
      assert.equal(9, #wrong)
      assert.truthy(
        wrong[8]:find("entry 2: a routine handle or a signal expected, got 5", 1, true), wrong[8])
    end)

    it("raises for a timeout that is no time: " .. name, function()
      local world = support.world()
      local handle = sleeper(world, 1)
      support.inside(function()
        for _, bad in ipairs{ -1, 0 / 0, math.huge, 1e10, "x", "1", {}, false } do
          assert.truthy(message{ handle, timeout = bad }:find("timeout must be", 1, true))
        end
      end)
    end)

    it("raises outside a routine: " .. name, function()
      local world = support.world()
      local handle = sleeper(world, 1)
      assert.truthy(message{ handle }:find("not inside a routine", 1, true))
      local text
      world:on("update", function() text = message{ handle } end)
      world:tick(0)
      assert.truthy(text:find("not inside a routine", 1, true))
    end)

    it("raises for a live routine of another world, as join does: " .. name, function()
      local other = support.world()
      local dead = other:start(function() return "there" end)
      local alive = sleeper(other, 1e6)
      other:tick(0)
      local world = support.world()
      local text
      local got = collect(world, function()
        text = message{ dead, alive }
        return routine[name]{ dead }
      end)
      world:tick(0)
      assert.truthy(text:find("entry 2: the routine is of another world", 1, true), text)
      assert.same(name == "any" and { n = 3, 1, true, "there" }
        or { n = 1, { { n = 2, true, "there" } } }, answer(got))
    end)
  end
end)
