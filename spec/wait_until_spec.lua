-- SPDX-License-Identifier: MIT
--
-- waitUntil: when the condition is asked, how a time limit ends it, what it refuses.

local support = require "support"
local routine = require "weft.routine"

local pack, doomed = support.pack, support.doomed

describe("routine.waitUntil #wait", function()
  it("returns true at once when the condition holds at the call", function()
    local world = support.world()
    local got, tick
    world:start(function()
      tick = world.tickCount
      got = pack(routine.waitUntil(function() return "yes" end))
      tick = world.tickCount - tick
    end)
    world:tick(1)
    assert.same({ n = 1, true }, got)
    assert.equal(0, tick)
  end)

  it("asks at the call, then once in each tick, and not again when it held", function()
    local world = support.world()
    local asked, got = {}, nil
    world:start(function()
      got = pack(routine.waitUntil(function()
        asked[#asked + 1] = world.tickCount
        return #asked == 4
      end))
    end)
    for _ = 1, 8 do world:tick(0.25) end
    assert.same({ 1, 2, 3, 4 }, asked)
    assert.same({ n = 1, true }, got)
  end)

  it("returns false and timeout in the first tick that is late enough", function()
    local world = support.world()
    local got, at
    world:start(function()
      got = pack(routine.waitUntil(function() return nil end, 1))
      at = world.simTime
    end)
    world:tick(0)
    support.ticks(3, 0.3)
    assert.is_nil(got)
    world:tick(0.3)
    assert.same({ n = 2, false, "timeout" }, got)
    assert.equal(1.2, at)
  end)

  it("counts a limit less than a microsecond ahead as reached, as wait does", function()
    local world = support.world()
    local got
    world:start(function() got = pack(routine.waitUntil(function() end, 1)) end)
    world:tick(0)
    support.ticks(3, 1 / 3)
    assert.same({ n = 2, false, "timeout" }, got)
  end)

  it("prefers the condition in the tick of the limit", function()
    local world = support.world()
    local got
    world:start(function()
      got = pack(routine.waitUntil(function() return world.simTime >= 2 end, 2))
    end)
    world:tick(0)
    support.ticks(2)
    assert.same({ n = 1, true }, got)
  end)

  it("asks once more in the tick after a limit of zero", function()
    local world = support.world()
    local asked, got = 0, {}
    local function never() asked = asked + 1 end
    world:start(function()
      got[1] = pack(routine.waitUntil(never, 0))
      got[2] = pack(routine.waitUntil(function() return world.tickCount == 3 end, 0))
    end)
    support.settle(1)
    assert.equal(1, asked)
    support.settle(2)
    assert.equal(2, asked)
    assert.same({ n = 2, false, "timeout" }, got[1])
    assert.same({ n = 1, true }, got[2])
  end)

  it("has its limit in sim time: scaled, and still in a pause", function()
    local world = support.world()
    local got, asked = nil, 0
    world:setTimeScale(0.5)
    world:start(function()
      got = pack(routine.waitUntil(function() asked = asked + 1 end, 2))
    end)
    world:tick(0)
    support.ticks(3)
    world:pause()
    support.ticks(9)
    assert.equal(4, asked)
    world:resume()
    assert.is_nil(got)
    world:tick(1)
    assert.same({ n = 2, false, "timeout" }, got)
  end)

  it("goes on asking at time scale zero, where no limit is reached", function()
    local world = support.world()
    local open, got = false, nil
    world:setTimeScale(0)
    world:start(function() got = pack(routine.waitUntil(function() return open end, 1)) end)
    support.ticks(5)
    assert.is_nil(got)
    open = true
    world:tick(1)
    assert.same({ n = 1, true }, got)
  end)

  it("takes a limit of a thousand million seconds", function()
    local world = support.world()
    local got
    world:start(function() got = pack(routine.waitUntil(function() end, 1e9)) end)
    world:tick(0)
    world:tick(999999999)
    assert.is_nil(got)
    world:tick(1)
    assert.same({ n = 2, false, "timeout" }, got)
  end)

  it("raises what the condition raises, at the call and later", function()
    local world = support.world()
    local problem, got = { code = 1 }, {}
    world:start(function()
      got[1] = pack(pcall(routine.waitUntil, function() error(problem) end))
      local turn = 0
      got[2] = pack(pcall(routine.waitUntil, function()
        turn = turn + 1
        if turn == 3 then error(problem) end
      end, 99))
      got.tick = world.tickCount
    end)
    support.ticks(5)
    assert.same({ n = 2, false, problem }, got[1])
    assert.equal(problem, got[2][2])
    assert.equal(3, got.tick)
  end)

  it("reports a condition that failed with the line that failed", function()
    local world = support.world()
    local handle = world:start(function()
      routine.waitUntil(function() return world.missing.field end)
    end)
    world:tick(0)
    assert.equal("failed", handle:status())
    local report = support.reports()[1]
    assert.truthy(report.err:find "wait_until_spec.lua:%d+: attempt to index")
    assert.truthy(report.trace:find("wait_until_spec.lua", 1, true))
  end)

  it("takes a condition that waits itself", function()
    local world = support.world()
    local asked, got = 0, nil
    world:start(function()
      got = pack(routine.waitUntil(function()
        asked = asked + 1
        routine.wait(2)
        return asked == 2
      end, 1))
      got.at = world.simTime
    end)
    world:tick(0)
    support.ticks(9)
    assert.same({ n = 1, true, at = 5 }, got)
  end)

  it("works under C functions and in coroutines", function()
    local world = support.world()
    local open, got = false, {}
    local function isOpen() return open end
    world:start(function()
      got[1] = (("x"):gsub("x", function() return tostring(routine.waitUntil(isOpen)) end))
    end)
    world:start(function()
      got[2] = coroutine.wrap(function() return routine.waitUntil(isOpen, 9) end)()
    end)
    world:start(function() got[3] = pack(pcall(routine.waitUntil, isOpen, 1)) end)
    world:tick(0)
    support.ticks(2)
    open = true
    world:tick(0)
    assert.same({ "true", true, { n = 3, true, false, "timeout" } }, got)
  end)

  it("may be the body of a routine", function()
    local world = support.world()
    local handle = world:start(routine.waitUntil, function() return world.tickCount == 3 end)
    support.settle(3)
    assert.equal("completed", handle:status())
    assert.same({ true, true }, { support.inside(routine.join, handle) })
  end)

  it("is ended by a cancel, and does not ask again", function()
    local world = support.world()
    local asked, handles = 0, {}
    local function never() asked = asked + 1 end
    handles[1] = world:start(function() routine.waitUntil(never) end)
    handles[2] = world:start(function() routine.waitUntil(never, 3) end)
    support.settle(2)
    assert.equal(4, asked)
    for i = 1, 2 do handles[i]:cancel() end
    world:tick(5)
    assert.equal(4, asked)
    for i = 1, 2 do assert.equal("cancelled", handles[i]:status()) end
  end)
end)

describe("routine.waitUntil refuses", function()
  local function refused(...)
    local arguments = pack(...)
    local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
    support.world()
    local ok, message = support.inside(function()
      return pcall(function() routine.waitUntil(unpack(arguments, 1, arguments.n)) end)
    end)
    assert.is_false(ok)
    assert.truthy(message:find "^spec/wait_until_spec.lua:%d+: routine.waitUntil: ", message)
    return (message:gsub("^.-: routine.waitUntil: ", ""))
  end

  it("what is no function", function()
    assert.equal("a function expected, got nil", refused())
    assert.equal("a function expected, got boolean", refused(true))
    assert.equal("a function expected, got table", refused({}))
  end)

  it("a limit that is no time", function()
    local function yes() return true end
    assert.equal("timeout must be a number, got string", refused(yes, "1"))
    assert.equal("timeout must be finite and >= 0, got -1", refused(yes, -1))
    assert.truthy(refused(yes, 0 / 0):find "finite and >= 0, got %-?nan")
    assert.truthy(refused(yes, 1 / 0):find "finite and >= 0, got inf")
    assert.truthy(refused(yes, 1.5e9):find "at most 1e9, got 1")
  end)

  it("to be called outside a routine, whatever the condition", function()
    local world = support.world()
    local asked = false
    local function yes() asked = true return true end
    local sentence = "routine.waitUntil: not inside a routine; start one with routine.start"
    local co = coroutine.create(function() routine.waitUntil(yes, 1) end)
    for _, call in ipairs {
      function() return pcall(function() routine.waitUntil(yes) end) end,
      function() return coroutine.resume(co) end,
    } do
      local ok, message = call()
      assert.is_false(ok)
      assert.truthy(message:find("wait_until_spec.lua:%d+: " .. sentence), message)
    end
    local ok, message
    world:on("update", function() ok, message = pcall(routine.waitUntil, yes) end)
    world:tick(0)
    assert.is_false(ok)
    assert.truthy(message:find(sentence, 1, true), message)
    assert.is_false(asked)
  end)

  it("to be called in a finalizer", function()
    local world = support.world()
    local ok, message
    world:start(function()
      doomed(function() ok, message = pcall(routine.waitUntil, function() return true end) end)
      support.collect()
    end)
    world:tick(0)
    assert.is_false(ok)
    assert.truthy(message:find("finalizer", 1, true) or message:find("__gc", 1, true), message)
  end)
end)
