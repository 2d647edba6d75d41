-- SPDX-License-Identifier: MIT
--
-- Routines that are ended by force or by somebody's hand: what they leave behind in the coroutine,
-- its message handlers above all, must not reach the next routine that uses it.

local support = require "support"
local routine = require "weft.routine"

local function wait() routine.wait(1) end

local function messages()
  local out = {}
  for i, report in ipairs(support.reports()) do out[i] = tostring(report.err) end
  return out
end

-- Routines whose locals are all functions, where a handler left behind would find one to call.
local function fails(world, times)
  local calls = 0
  for _ = 1, times do
    world:start(function()
      local f = function(m)
        calls = calls + 1
        return m
      end
      local a, b, c, d, e = f, f, f, f, f
      error("plain", a and b and c and d and e and 0)
    end)
    world:tick(1)
  end
  return calls
end

describe("a routine ended by force", function()
  local ways = {
    ["under xpcall"] = function()
      while true do xpcall(wait, function(m) return m end) end
    end,
    ["under a shield"] = function()
      while true do pcall(routine.shield, wait) end
    end,
  }
  for _, name in ipairs { "under xpcall", "under a shield" } do
    it("leaves no message handler to the next one (" .. name .. ") #wait", function()
      local world = support.world()
      local h = world:start(ways[name])
      world:tick(1)
      assert.is_true(world:unload(15))
      assert.equal("cancelled", h:status())
      assert.equal(0, fails(world, 3))
      local told = messages()
      assert.equal(4, #told)
      assert.is_truthy(told[1]:find("ended by force", 1, true))
      assert.same({ "plain", "plain", "plain" }, { told[2], told[3], told[4] })
    end)
  end

  it("leaves none at a bare yield under xpcall either #wait", function()
    local world = support.world()
    local h = world:start(function() xpcall(coroutine.yield, debug.traceback) end)
    world:tick(1)
    h:cancel()
    world:tick(1)
    local value = { code = 42 }
    for _ = 1, 2 do
      world:start(function() error(value) end)
      world:tick(1)
    end
    local told = support.reports()
    assert.equal(3, #told)
    assert.equal(value, told[2].err)
    assert.equal(value, told[3].err)
  end)
end)

describe("a cleanup that is ended by force", function()
  -- Waits where no cancel can be raised; told to stop there, it is ended.
  local function yielding() routine.defer(function() coroutine.yield() end) end

  it("is reported, and what the body ended with stays #wait", function()
    local world = support.world()
    local answer
    local h = world:start(function()
      yielding()
      return "a result"
    end)
    world:start(function() answer = { h:join() } end)
    world:tick(1)
    h:cancel()
    support.ticks(2)
    assert.equal("completed", h:status())
    assert.same({ true, "a result" }, answer)
    local report = support.reports()[1]
    assert.equal(1, #support.reports())
    assert.equal(h, report.handle)
    assert.is_truthy(report.err:find("ended by force at a bare coroutine.yield()", 1, true))
    assert.is_truthy(report.trace:find("forced_end_spec", 1, true))
  end)

  it("is reported beside the error of the body #wait", function()
    local world = support.world()
    local h = world:start(function()
      yielding()
      error("first", 0)
    end)
    world:tick(1)
    h:cancel()
    world:tick(1)
    local told = messages()
    assert.equal("failed", h:status())
    assert.equal(2, #told)
    assert.is_truthy(told[1]:find("ended by force", 1, true))
    assert.equal("first", told[2])
  end)

  it("is reported once, however many of them there are, each told a tick later #wait", function()
    local world = support.world()
    local h = world:start(function()
      for _ = 1, 3 do yielding() end
    end)
    world:tick(1)
    h:cancel()
    for _ = 1, 3 do
      assert.equal("cancelling", h:status())
      world:tick(1)
    end
    assert.equal("completed", h:status())
    assert.equal(1, #support.reports())
  end)

  it("does not keep the report of a forced end before it from coming #wait", function()
    local world = support.world()
    local h = world:start(function()
      routine.defer(function() error("of the cleanup", 0) end)
      coroutine.yield()
    end)
    world:tick(1)
    h:cancel()
    world:tick(1)
    local told = messages()
    assert.equal("failed", h:status())
    assert.equal(2, #told)
    assert.is_truthy(told[1]:find("ended by force", 1, true))
    assert.equal("of the cleanup", told[2])
  end)
end)

describe("a routine that another resumes by hand", function()
  it("is failed if it waits under C frames there, and ticks go on #wait", function()
    local world = support.world()
    local co, handle, go
    local gate, resumed = false, nil
    world:start(function()
      while not gate do routine.nextTick() end
      go = true
      resumed = coroutine.resume(co)
    end)
    handle = world:start(function()
      co = coroutine.running()
      while not go do coroutine.yield() end
      handle:cancel()
      local list = {}
      for i = 1, 100 do list[i] = i * 7 % 13 end
      table.sort(list, function(a, b)
        routine.wait(0.2)
        return a < b
      end)
    end)
    support.ticks(3, 0.1)
    gate = true
    for _ = 1, 12 do
      world:tick(0.1)
      collectgarbage()
    end
    assert.equal("failed", handle:status())
    assert.is_truthy(messages()[1]:find("closed or run to its end by hand", 1, true))
    assert.is_nil(resumed)
  end)
end)

describe("a shield whose function was ended by force", function()
  it("does not hold cancels back from the cleanups #wait", function()
    local world = support.world()
    local raised = 0
    local h = world:start(function()
      routine.defer(function()
        -- Under a C function, where it cannot be ended: it outlives the unload.
        table.sort({ 1, 2 }, function(a, b)
          while raised < 5 do
            if not pcall(routine.wait, 100) then raised = raised + 1 end
          end
          return a < b
        end)
      end)
      routine.shield(function() pcall(coroutine.yield) end)
    end)
    world:tick(1)
    assert.is_false((world:unload(1)))
    local before = raised
    world:tick(1)
    assert.equal(before + 1, raised)
    support.ticks(5)
    assert.equal("cancelled", h:status())
    support.reports()
  end)
end)

describe("a shield in a coroutine of the script's own", function()
  it("is not left up when the coroutine is dropped in the middle #wait", function()
    local world = support.world()
    local h = world:start(function()
      local co = coroutine.create(function() routine.shield(coroutine.yield, 1) end)
      coroutine.resume(co)
      while true do routine.wait(1) end
    end)
    world:tick(1)
    h:cancel()
    support.ticks(2)
    assert.equal("cancelled", h:status())
  end)

  it("refuses to yield out of it, and lets waits through #wait", function()
    local world = support.world()
    local refused, done
    world:start(function()
      local co = coroutine.create(function() routine.shield(coroutine.yield, 1) end)
      refused = { coroutine.resume(co) }
      coroutine.wrap(function()
        routine.shield(wait)
        done = true
      end)()
    end)
    support.ticks(3)
    assert.is_false(refused[1])
    assert.is_truthy(tostring(refused[2]):find("yield across", 1, true))
    assert.is_true(done)
  end)

  it("cannot take one routine's shield into another #wait", function()
    local world = support.world()
    local gen = coroutine.wrap(function() routine.shield(coroutine.yield, 1) end)
    local a = world:start(function()
      pcall(gen)
      while true do routine.wait(1) end
    end)
    local finished
    local b = world:start(function()
      routine.shield(function()
        pcall(gen)
        routine.wait(1)
        finished = true
      end)
      routine.wait(1)
    end)
    world:tick(1)
    a:cancel()
    b:cancel()
    support.ticks(4)
    assert.equal("cancelled", a:status())
    assert.equal("cancelled", b:status())
    assert.is_true(finished)
  end)
end)

if support.vm == "lua5.4" then
  describe("a to-be-closed variable of a routine ended by force", function()
    it("has its errors handled by nobody that stood above it #wait", function()
      local calls = 0
      local body = support.chunk54([[
        local routine, wait, handler = ...
        return function()
          local guarded <close> = setmetatable({}, { __close = function() routine.wait(1) end })
          while true do xpcall(wait, handler) end
        end
      ]], routine, wait, function(m) calls = calls + 1 return m end)
      local world = support.world()
      local h = world:start(body)
      world:tick(1)
      h:cancel()
      support.ticks(12)
      assert.equal("cancelled", h:status())
      assert.equal(8, calls)
      assert.equal(1, #support.reports())
    end)
  end)

  describe("a coroutine closed by hand", function()
    it("takes the shields along that were up in it #wait", function()
      local world = support.world()
      local co, passed
      local h = world:start(function()
        co = coroutine.running()
        routine.defer(function()
          routine.wait(100)
          passed = true
        end)
        routine.shield(wait)
      end)
      world:tick(0)
      coroutine.close(co)
      world:tick(1)
      h:cancel()
      world:tick(1)
      assert.is_nil(passed)
      assert.equal("failed", h:status())
      support.reports()
    end)

    it("while its defers wait is told of, beside the error of the body #wait", function()
      local world = support.world()
      local co
      world:start(function()
        co = coroutine.running()
        routine.defer(function() routine.wait(5) end)
        error("first", 0)
      end)
      world:tick(1)
      coroutine.close(co)
      support.ticks(8)
      local told = messages()
      assert.equal(2, #told)
      assert.is_truthy(told[1]:find("closed or run to its end by hand", 1, true))
      assert.equal("first", told[2])
    end)
  end)
end
