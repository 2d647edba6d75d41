-- SPDX-License-Identifier: MIT
--
-- What may be done with other worlds inside a tick, and what a closed world has done. What raises
-- is in misuse_worlds_spec.lua.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

describe("inside a tick", function()
  it("a world may still be made", function()
    local world = support.world()
    local made
    world:start(function() made = support.world{ capacity = 2 } end)
    world:tick(0)
    assert.equal(0, made.tickCount)
    made:tick(1)
    assert.equal(1, made.tickCount)
  end)

  it("a routine may be started, posted to and cancelled in another world", function()
    local other = support.world()
    local world = support.world()
    local log = {}
    local sleeper = other:start(function() routine.wait(9) end)
    other:tick(0)
    world:start(function()
      other:start(function() log[#log + 1] = "started" end)
      other:post(function() log[#log + 1] = "posted" end)
      sleeper:cancel()
    end)
    world:tick(0)
    assert.same({}, log)
    other:tick(0)
    assert.same({ "posted", "started" }, log)
    assert.equal("cancelled", sleeper:status())
  end)

  it("a refused tick from onError does no harm", function()
    local world = support.world()
    local ok
    world.onError = function() ok = pcall(world.tick, world, 1) end
    world:start(function() error "on purpose" end)
    world:tick(1)
    assert.is_false(ok)
    assert.equal(1, world.tickCount)
  end)
end)

describe("a closed world", function()
  it("has cancelled its routines and run their cleanups", function()
    local world = support.world()
    local log = {}
    local sleeping = world:start(function()
      routine.defer(function() log[#log + 1] = "cleaned" end)
      routine.wait(1e6)
    end)
    local unstarted
    world:tick(0)
    unstarted = world:start(function() log[#log + 1] = "never" end)
    world:close()
    assert.same({ "cleaned" }, log)
    for _, handle in ipairs{ sleeping, unstarted } do
      assert.equal("cancelled", handle:status())
    end
  end)

  it("has ended pinned routines as well", function()
    local world = support.world()
    local cleaned = 0
    for _ = 1, 3 do
      world:start(function()
        routine.defer(function() cleaned = cleaned + 1 end)
        table.sort({ 1, 2, 3 }, function(a, b) routine.wait(5) return a < b end)
      end)
    end
    world:tick(0)
    world:close()
    assert.equal(3, cleaned)
  end)

  it("refused new routines while it unloaded", function()
    local world = support.world()
    local results = {}
    world:start(function()
      routine.defer(function()
        results[1] = { world:start(function() results.ran = true end) }
        results[2] = { routine.start(function() results.ran = true end) }
      end)
      routine.wait(9)
    end)
    world:tick(0)
    world:close()
    assert.same({ nil, "closed" }, results[1])
    assert.same({ nil, "closed" }, results[2])
    assert.is_nil(results.ran)
  end)

  it("keeps its handles harmless", function()
    local world = support.world()
    local handle = world:start(function() return 1 end)
    world:tick(0)
    world:close()
    assert.is_string(tostring(handle))
    assert.equal("completed", handle:status())
    assert.truthy(tostring(handle):find "completed")
    assert.is_false(handle:cancel())
    assert.is_false(routine.cancel(handle))
  end)

  it("is closed in finite time around a routine that swallows its cancel", function()
    local world = support.world()
    world:start(function() while true do pcall(routine.wait, 1) end end)
    world:start(function()
      routine.defer(function() while not pcall(routine.wait, 1e6) do end end)
      routine.wait(1e6)
    end)
    world:tick(0)
    world:close()
    local reports = support.reports()
    assert.equal(2, #reports)
    for _, report in ipairs(reports) do assert.is_string(report.trace) end
  end)

  it("raises at every tick and close that onError tries while it is being closed", function()
    local world = support.world()
    local tries, errs = 0, {}
    world:start(function()
      table.sort({ 1, 2, 3 }, function()
        while tries < 40 do
          tries = tries + 1
          pcall(routine.wait, 1)
        end
        return false
      end)
    end)
    world:tick(0)
    world.onError = function()
      errs[#errs + 1] = select(2, pcall(world.tick, world, 0))
      errs[#errs + 1] = select(2, pcall(world.close, world))
    end
    world:close()
    assert.is_true(#errs >= 2)
    for _, err in ipairs(errs) do
      assert.is_truthy(err:find("not allowed inside a tick", 1, true), err)
    end
    assert.is_false(pcall(world.tick, world, 0))
  end)

  it("lets go of all that it held", function()
    local weak = setmetatable({}, { __mode = "k" })
    do
      local world = weft.world{ capacity = 8 }
      local function hold(value)
        weak[value] = true
        return function() return value end
      end
      world:start(hold{})
      world:on("update", hold{})
      world:post(hold{})
      world:tick(0)
      world:start(function(arg) routine.wait(9) return arg end, hold{})
      world:tick(0)
      world:close()
    end
    support.collect()
    assert.is_nil(next(weak))
  end)
end)
