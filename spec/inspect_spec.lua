-- SPDX-License-Identifier: MIT
--
-- routine.name and world:inspect: who waits for what, where it stands, and for how long.

local support = require "support"
local routine = require "weft.routine"

local HERE = "spec/inspect_spec.lua:%d+$"

-- The entry of a handle in what inspect gives.
local function entryOf(world, handle)
  for _, entry in ipairs(world:inspect()) do
    if entry.id == handle then return entry end
  end
end

describe("world:inspect", function()
  it("is an empty list where no routine lives", function()
    local world = support.world()
    world:start(function() end)
    world:tick(0)
    assert.same({}, world:inspect())
  end)

  it("tells of each live routine once, under its handle", function()
    local world = support.world { capacity = 8 }
    local handles = {}
    for i = 1, 5 do handles[i] = world:start(routine.wait, 5) end
    world:tick(0)
    handles[2]:cancel()
    world:tick(0)
    local seen = {}
    for _, entry in ipairs(world:inspect()) do seen[#seen + 1] = entry.id end
    assert.same({ handles[1], handles[3], handles[4], handles[5] }, seen)
  end)

  it("tells what kind of wait each is in, and how long that lasts #wait", function()
    local world = support.world { capacity = 8 }
    local target = world:start(function() routine.wait(4) end)
    local real = world:start(function() routine.waitUnscaled(3) end)
    local ticks = world:start(function() while true do routine.nextTick() end end)
    local joins = world:start(function() routine.join(target) end)
    local limited = world:start(function() routine.join(target, 2) end)
    world:tick(0)
    world:tick(1)
    local new = world:start(function() end)
    local told = {}
    for _, h in ipairs { target, real, ticks, joins, limited, new } do
      local entry = entryOf(world, h)
      told[#told + 1] = { entry.waitingOn, entry.wakesIn, entry.status }
    end
    assert.same({
      { "time", 3, "sleeping" }, { "realTime", 2, "sleeping" }, { "tick", nil, "sleeping" },
      { "routine", nil, "sleeping" }, { "routine", 1, "sleeping" }, { "start", nil, "queued" },
    }, told)
    target:cancel()
    assert.equal("cancel", entryOf(world, target).waitingOn)
    assert.equal("cancelling", entryOf(world, target).status)
  end)

  it("names file and line, of the wait or of the function that has not begun #wait", function()
    local world = support.world { capacity = 4 }
    local compact = world:start(function() routine.wait(1) end)
    local pinned = world:start(function() table.sort({ 2, 1 }, function(a, b)
      routine.wait(1)
      return a < b
    end) end)
    world:tick(0)
    local new = world:start(function() end)
    for _, h in ipairs { compact, pinned, new } do
      assert.is_truthy(entryOf(world, h).where:find(HERE), entryOf(world, h).where)
    end
  end)

  it("counts resumes", function()
    local world = support.world()
    local handle = world:start(function() while true do routine.nextTick() end end)
    for n = 0, 4 do
      assert.equal(n, entryOf(world, handle).resumes)
      world:tick(0)
    end
  end)

  it("may be asked inside a routine, which it shows running", function()
    local world = support.world()
    local entry
    local handle = world:start(function() entry = world:inspect()[1] end)
    world:tick(0)
    assert.equal(handle, entry.id)
    assert.equal("running", entry.status)
    assert.is_nil(entry.waitingOn)
  end)
end)

describe("routine.name", function()
  it("shows in inspect and in the text of the handle while the routine lives", function()
    local world = support.world()
    local handle = world:start(function()
      routine.name "the door"
      routine.wait(1)
    end)
    assert.is_nil(entryOf(world, handle).name)
    world:tick(0)
    assert.equal("the door", entryOf(world, handle).name)
    assert.is_truthy(tostring(handle):find("'the door'", 1, true))
    world:tick(1)
    assert.is_nil(tostring(handle):find("the door", 1, true))
  end)

  it("can be changed, and is not handed on to the slot's next user", function()
    local world = support.world { capacity = 1 }
    world:start(function()
      routine.name "first"
      routine.name "second"
      routine.nextTick()
    end)
    world:tick(0)
    assert.equal("second", world:inspect()[1].name)
    world:tick(0)
    world:start(function() routine.nextTick() end)
    world:tick(0)
    assert.is_nil(world:inspect()[1].name)
  end)

  it("raises outside a routine and for what is no string", function()
    local ok, err = pcall(routine.name, "x")
    assert.is_false(ok)
    assert.is_truthy(err:find("not inside a routine", 1, true))
    for _, bad in ipairs { 1, {}, true } do
      ok, err = pcall(routine.name, bad)
      assert.is_false(ok)
      assert.is_truthy(err:find("a string expected", 1, true))
    end
  end)
end)
