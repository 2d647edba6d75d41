-- SPDX-License-Identifier: MIT
--
-- What is kept and what is let go: results, arguments, threads, slots.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

-- A table in a weak table: `held()` tells whether anything still holds it.
local function tracked()
  local value = {}
  local weak = setmetatable({ value }, { __mode = "v" })
  return value, function()
    support.collect()
    return weak[1] ~= nil
  end
end

describe("a routine that has ended", function()
  it("holds neither its function nor its arguments nor its locals", function()
    local world = support.world()
    local handles, checks = {}, {}
    for i, how in ipairs{ "return", "error", "cancel" } do
      local argument, argumentHeld = tracked()
      local upvalue, upvalueHeld = tracked()
      handles[i] = world:start(function(value)
        local mine = { value, upvalue }
        if how == "error" then error("x", 0) end
        if how == "cancel" then routine.wait(9) end
        return #mine > 5
      end, argument)
      checks[#checks + 1] = argumentHeld
      checks[#checks + 1] = upvalueHeld
    end
    world:tick(0)
    handles[3]:cancel()
    world:tick(0)
    for i, held in ipairs(checks) do assert.is_false(held(), i) end
    assert.equal(1, #support.reports())
  end)

  it("holds its result as long as its handle is held, and no longer", function()
    local world = support.world()
    local value, held = tracked()
    local box = { value }
    local handle = world:start(function() return table.remove(box) end)
    value = nil -- luacheck: ignore
    world:tick(0)
    assert.is_true(held())
    assert.equal("completed", handle:status())
    handle = nil -- luacheck: ignore
    assert.is_false(held())
  end)

  it("holds its error as long as its handle is held, and no longer", function()
    local world = weft.world{}
    world.onError = function() end
    local value, held = tracked()
    local box = { value }
    local handle = world:start(function() error(table.remove(box)) end)
    value = nil -- luacheck: ignore
    world:tick(0)
    assert.is_true(held())
    assert.equal("failed", handle:status())
    handle = nil -- luacheck: ignore
    assert.is_false(held())
    world:close()
  end)

  it("lets its cleanups and its cancel's reason go", function()
    local world = support.world()
    local reason, reasonHeld = tracked()
    local upvalue, upvalueHeld = tracked()
    local handle = world:start(function()
      routine.defer(function() return upvalue end)
      routine.wait(9)
    end)
    world:tick(0)
    handle:cancel(reason)
    world:tick(0)
    reason, upvalue = nil, nil -- luacheck: ignore
    assert.equal("cancelled", handle:status())
    assert.is_false(upvalueHeld())
    world:start(function() end)
    handle = nil -- luacheck: ignore
    assert.is_false(reasonHeld())
  end)
end)

describe("a waiting routine", function()
  it("is kept with all that it holds through any collection", function()
    local world = support.world()
    local sum = 0
    for i = 1, 50 do
      world:start(function(argument)
        local mine = { i }
        local weak = setmetatable({ mine }, { __mode = "v" })
        routine.wait(1)
        table.sort({ 1, 2 }, function(a, b) routine.wait(1) return a < b end)
        sum = sum + weak[1][1] + argument[1]
        return mine
      end, { i })
    end
    for _ = 1, 8 do
      support.collect()
      world:tick(0.5)
    end
    assert.equal(2 * 1275, sum)
  end)
end)

describe("a storm of starts and cancels", function()
  it("leaves the memory as it was", function()
    local world = support.world{ capacity = 2000 }
    local function round()
      for _ = 1, 300 do
        world:start(function() return ("x"):rep(1000) end)
        world:start(function() routine.wait(1e9) end)
      end
      local handles = {}
      for i = 1, 300 do handles[i] = world:start(function() routine.wait(1e9) end) end
      world:tick(0)
      for i = 1, 300 do handles[i]:cancel() end
      world:tick(1e9)
    end
    for _ = 1, 3 do round() end
    support.collect()
    local before = collectgarbage "count"
    for _ = 1, 5 do round() end
    support.collect()
    assert.equal(0, world:stats().active)
    assert.is_true(collectgarbage "count" - before < 150)
  end)

  it("leaves it as it was after failures, forced ends and pinned waits", function()
    local world = support.world{ capacity = 200 }
    world.onError = function() end
    local function round()
      local handles = {}
      for i = 1, 50 do
        handles[#handles + 1] = world:start(function()
          routine.defer(function() error("cleanup " .. i, 0) end)
          error("body " .. i, 0)
        end)
        handles[#handles + 1] = world:start(function()
          while true do pcall(routine.wait, 1) end
        end)
        handles[#handles + 1] = world:start(function()
          table.sort({ 1, 2, 3 }, function() routine.wait(9) end)
        end)
      end
      world:tick(0)
      for _, handle in ipairs(handles) do handle:cancel() end
      support.settle(10, world)
      assert.equal(0, world:stats().active)
      assert.equal(0, world:stats().pinned)
    end
    for _ = 1, 3 do round() end
    support.collect()
    local before = collectgarbage "count"
    for _ = 1, 5 do round() end
    support.collect()
    assert.is_true(collectgarbage "count" - before < 60)
  end)

  it("of worlds leaves nothing", function()
    local function round()
      local world = weft.world{ capacity = 16 }
      for _ = 1, 8 do
        world:start(function() table.sort({ 1, 2 }, function() routine.wait(9) end) end)
        world:start(function() routine.wait(9) end)
      end
      world:tick(0)
      world:close()
    end
    for _ = 1, 3 do round() end
    support.collect()
    local before = collectgarbage "count"
    for _ = 1, 30 do round() end
    support.collect()
    assert.is_true(collectgarbage "count" - before < 40)
  end)
end)

describe("a world that nobody holds", function()
  it("may be collected with its routines as they stand", function()
    local cleaned = 0
    do
      for _ = 1, 20 do
        local world = weft.world{ capacity = 4 }
        world:start(function()
          routine.defer(function() cleaned = cleaned + 1 end)
          routine.wait(9)
        end)
        world:start(function() table.sort({ 1, 2 }, function() routine.wait(9) end) end)
        world:tick(0)
      end
    end
    support.collect()
    support.collect()
    local world = support.world()
    assert.equal(3, support.inside(function() routine.wait(1) return 3 end))
    assert.equal(0, world:stats().active)
    assert.equal(0, cleaned)
  end)
end)

describe("a subscription", function()
  it("leaves nothing behind when it is off, however many there were", function()
    local world = support.world()
    local function comeAndGo()
      for i = 1, 5000 do
        world:on("update", function() end):off()
        if i % 100 == 0 then world:tick(0) end
      end
      support.collect()
      return collectgarbage "count"
    end
    local before = comeAndGo()
    assert.is_true(comeAndGo() - before < 20)
  end)

  it("has no fields that a script could write", function()
    local world = support.world()
    local sub = world:on("update", function() end)
    assert.is_false(pcall(function() sub[3] = 1e8 end))
    sub:off()
    world:tick(0)
  end)
end)

describe("thousands of arguments and results", function()
  it("all arrive, or are refused as too many for the memory of a coroutine", function()
    local world = support.world()
    local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
    local list, got = {}, nil
    for i = 1, 7985 do list[i] = i end
    local taker = world:start(function(...) got = select("#", ...) end, unpack(list))
    local giver = world:start(function() return unpack(list) end)
    world:tick(0)
    for _, report in ipairs(support.reports()) do
      assert.is_truthy(tostring(report.err):find("not enough memory", 1, true))
    end
    assert.equal(got and "completed" or "failed", taker:status())
    assert.is_true(got == nil or got == 7985)
    local after = world:start(function() return 1 end)
    world:tick(0)
    assert.equal("completed", after:status())
    assert.equal(got and "completed" or "failed", giver:status())
  end)
end)
