-- SPDX-License-Identifier: MIT
--
-- What a cancel does to a routine in each of its states.

local support = require "support"
local routine = require "weft.routine"

describe("cancelling an unstarted routine", function()
  it("ends it at once and never enters its function", function()
    local world = support.world()
    local ran = false
    local handle = world:start(function() ran = true end)
    assert.equal("queued", handle:status())
    assert.is_true(handle:cancel())
    assert.equal("cancelled", handle:status())
    assert.equal(0, world:stats().active)
    support.settle(3)
    assert.is_false(ran)
  end)

  it("releases its function and its arguments", function()
    local world = support.world()
    local weak = setmetatable({}, { __mode = "k" })
    local handle
    do
      local value, owned = {}, {}
      weak[value], weak[owned] = true, true
      handle = world:start(function() return owned end, value)
    end
    support.collect()
    assert.is_not_nil(next(weak))
    handle:cancel()
    support.collect()
    assert.is_nil(next(weak))
    assert.equal("cancelled", handle:status())
  end)

  it("wakes a joiner that waits for it with Cancelled", function()
    local world = support.world{ resumesPerTick = 1 }
    local ok, err, target
    world:start(function() ok, err = routine.join(target) end)
    target = world:start(function() end)
    world:tick(0)
    assert.equal("queued", target:status())
    target:cancel()
    support.settle(2)
    assert.is_false(ok)
    assert.equal(routine.Cancelled, err)
  end)

  it("works inside the tick in which it was started", function()
    local world = support.world()
    local ran, status = false, nil
    world:start(function()
      local child = routine.start(function() ran = true end)
      child:cancel()
      status = child:status()
    end)
    support.settle(3)
    assert.equal("cancelled", status)
    assert.is_false(ran)
  end)

  it("runs no cleanup and makes no report", function()
    local world = support.world()
    world:start(function() end):cancel()
    support.settle(2)
    assert.equal(0, #support.reports())
  end)
end)

describe("cancelling a waiting routine", function()
  it("raises Cancelled from its wait in the next routine stage", function()
    local world = support.world()
    local ok, err
    local handle = world:start(function() ok, err = pcall(routine.wait, 5) end)
    world:tick(0)
    assert.is_true(handle:cancel())
    assert.equal("cancelling", handle:status())
    assert.is_nil(ok)
    world:tick(0)
    assert.is_false(ok)
    assert.equal(routine.Cancelled, err)
  end)

  it("takes it out of what it waited in before the call returns", function()
    local world = support.world()
    local handle = world:start(function() routine.wait(5) end)
    world:tick(0)
    assert.equal(1, world:stats().sleeping)
    handle:cancel()
    assert.equal(0, world:stats().sleeping)
    assert.equal(1, world:stats().active)
  end)

  it("wakes it once although its deadline comes in the same tick", function()
    local world = support.world()
    local wakes = 0
    local handle = world:start(function()
      while true do
        pcall(routine.wait, 1)
        wakes = wakes + 1
        if wakes == 3 then return end
      end
    end)
    world:tick(0)
    handle:cancel()
    world:tick(1)
    assert.equal(1, wakes)
  end)

  it("is felt by each kind of wait", function()
    local world = support.world()
    local other = world:start(function() routine.wait(1e6) end)
    local waits = {
      function() routine.wait(5) end, function() routine.wait(0) end,
      function() routine.nextTick() end, function() routine.waitUnscaled(5) end,
      function() routine.join(other) end, function() routine.join(other, 5) end,
    }
    for i, wait in ipairs(waits) do
      local ok, err
      local handle = world:start(function() ok, err = pcall(wait) end)
      world:tick(0)
      assert.equal("sleeping", handle:status(), i)
      handle:cancel()
      world:tick(0)
      assert.is_false(ok, i)
      assert.equal(routine.Cancelled, err, i)
    end
  end)

  it("comes before the sleepers of that tick", function()
    local world = support.world()
    local order = {}
    world:start(function() routine.wait(1) order[#order + 1] = "sleeper" end)
    local doomed = world:start(function()
      pcall(routine.wait, 9)
      order[#order + 1] = "doomed"
    end)
    world:tick(0)
    doomed:cancel()
    world:tick(1)
    assert.same({ "doomed", "sleeper" }, order)
  end)

  it("by another routine of the same tick takes effect in the next one", function()
    local world = support.world()
    local order = {}
    local doomed = world:start(function()
      pcall(routine.wait, 1)
      order[#order + 1] = "doomed at " .. world.tickCount
    end)
    world:start(function() routine.nextTick() doomed:cancel() end)
    support.settle(2)
    assert.same({}, order)
    support.settle()
    assert.same({ "doomed at 3" }, order)
  end)

  it("reaches it although its wake is under way already", function()
    local world = support.world{ resumesPerTick = 1 }
    local handles, caught = {}, nil
    for i = 1, 2 do
      handles[i] = world:start(function()
        local ok, err = pcall(routine.wait, 1)
        if i == 2 then caught = not ok and err end
      end)
    end
    support.settle(2)
    world:tick(1)
    assert.equal("queued", handles[2]:status())
    handles[2]:cancel()
    assert.equal("cancelling", handles[2]:status())
    assert.equal(1, world:tick(0))
    assert.equal(routine.Cancelled, caught)
  end)

  it("answers true when asked again, and raises once for each wait all the same", function()
    local world = support.world()
    local raised = 0
    local handle = world:start(function()
      if not pcall(routine.wait, 5) then raised = raised + 1 end
    end)
    world:tick(0)
    assert.is_true(handle:cancel())
    assert.is_true(handle:cancel())
    assert.is_true(routine.cancel(handle))
    world:tick(0)
    assert.equal(1, raised)
    assert.equal("completed", handle:status())
  end)

  it("does not touch the routine that uses its slot afterwards", function()
    local world = support.world{ capacity = 1 }
    local hits = 0
    local first = world:start(function() routine.wait(1) hits = hits + 1 end)
    world:tick(0)
    first:cancel()
    world:tick(0)
    local second = world:start(function() routine.wait(5) hits = hits + 10 end)
    world:tick(0)
    support.ticks(4)
    assert.equal(0, hits)
    assert.equal("sleeping", second:status())
    assert.equal("expired", first:status())
  end)

  it("leaves thousands of others as they were", function()
    local count = support.plain and 100000 or 5000
    local world = support.world{ capacity = count + 1 }
    local woken = 0
    local handles = {}
    for i = 1, count + 1 do
      handles[i] = world:start(function() routine.wait(1 + i % 7) woken = woken + 1 end)
    end
    world:tick(0)
    handles[count / 2]:cancel()
    assert.equal(count, world:stats().sleeping)
    assert.equal(1, world:tick(0))
    for _ = 1, 8 do world:tick(1) end
    assert.equal(count, woken)
    assert.equal("cancelled", handles[count / 2]:status())
    assert.equal(0, world:stats().active)
  end)
end)

describe("cancelling a routine from inside itself", function()
  it("raises from its next wait", function()
    local world = support.world()
    local before, after = false, false
    local handle = world:start(function()
      assert.is_true(routine.cancel(routine.self()))
      before = true
      routine.wait(1)
      after = true
    end)
    world:tick(0)
    assert.is_true(before)
    assert.is_false(after)
    assert.equal("cancelled", handle:status())
  end)

  it("is completed when it returns without waiting again", function()
    local world = support.world()
    local handle = world:start(function()
      routine.self():cancel()
      return "done"
    end)
    world:tick(0)
    assert.equal("completed", handle:status())
  end)
end)

describe("cancelling a routine that has ended", function()
  it("answers false and changes nothing", function()
    local world = support.world()
    local good = world:start(function() return 7 end)
    local bad = world:start(function() error("first", 0) end)
    local gone = world:start(function() routine.wait(9) end)
    world:tick(0)
    gone:cancel()
    world:tick(0)
    for _, handle in ipairs{ good, bad, gone } do assert.is_false(handle:cancel()) end
    assert.equal("completed", good:status())
    assert.equal("failed", bad:status())
    assert.equal("cancelled", gone:status())
    assert.equal("first", bad:error())
    assert.equal(1, #support.reports())
  end)

  it("answers false for an expired handle", function()
    local world = support.world{ capacity = 1 }
    local first = world:start(function() end)
    world:tick(0)
    local second = world:start(function() routine.wait(9) end)
    assert.equal("expired", first:status())
    assert.is_false(first:cancel())
    world:tick(0)
    assert.equal("sleeping", second:status())
  end)
end)
