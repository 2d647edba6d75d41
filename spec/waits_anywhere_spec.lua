-- SPDX-License-Identifier: MIT
-- A wait works anywhere in a routine: each way of the catalogue gives the same
-- answer inside a routine as outside, alone and beside others whose waits end in
-- another order, with a full collection between resumes.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"
local ways = require "ways"

local LIMIT = 80 -- ticks by which every way is through, with room to spare

describe("a wait #wait", function()
  for _, way in ipairs(ways) do
    it("works under " .. way.name, function()
      local world = support.world { capacity = 8 }
      local expected = way.run(drive.nothing)
      local answers, handles = {}, {}
      for id = 1, 3 do
        handles[id] = world:start(function()
          answers[id] = way.run(drive.pause(id))
          assert(drive.hot() == drive.hotsum)
        end)
      end
      assert.is_true(drive.untilended(world, handles, LIMIT))
      for id = 1, 3 do
        assert.equal(expected, answers[id])
        assert.equal("completed", handles[id]:status())
      end
    end)
  end

  it("under any way is passed by waits under all the others", function()
    local world = support.world { capacity = #ways + 8 }
    local answers, handles = {}, {}
    for id, way in ipairs(ways) do
      handles[id] = world:start(function() answers[id] = way.run(drive.pause(id)) end)
    end
    assert.is_true(drive.untilended(world, handles, LIMIT))
    for id, way in ipairs(ways) do
      assert.equal(way.run(drive.nothing), answers[id], way.name)
    end
  end)

  it("in sort comparators ends in the order of the deadlines", function()
    local world = support.world { capacity = 4 }
    local order = {}
    for id = 1, 4 do
      world:start(function()
        table.sort({ 1, 2 }, function(a, b)
          routine.wait(5 - id)
          order[#order + 1] = id
          routine.wait(id * 10)
          return a < b
        end)
        order[#order + 1] = id * 10
      end)
    end
    drive.ticks(world, 60)
    assert.same({ 4, 3, 2, 1, 10, 20, 30, 40 }, order)
  end)

  it("keeps the values that C functions hold on the stack", function()
    local world = support.world { capacity = 2 }
    local weak = setmetatable({}, { __mode = "v" })
    local alive
    world:start(function()
      local function held()
        local keep = { "kept" }
        weak[1] = keep
        return keep
      end
      local out = (("x"):gsub("x", setmetatable({ held() }, {
        __index = function(list)
          routine.wait(3)
          return list[1][1]
        end,
      })))
      alive = out
    end)
    drive.ticks(world, 3)
    assert.is_table(weak[1])
    drive.ticks(world, 2)
    assert.equal("kept", alive)
    collectgarbage()
    assert.is_nil(weak[1])
  end)

  it("lets the routine be the same coroutine before and after", function()
    local world = support.world { capacity = 2 }
    local same
    world:start(function()
      local before = coroutine.running()
      table.sort({ 2, 1 }, function(a, b)
        routine.nextTick()
        return a < b
      end)
      routine.nextTick()
      same = coroutine.running() == before
    end)
    drive.ticks(world, 8)
    assert.is_true(same)
  end)

  it("gives the time slept also where C frames are in the way", function()
    local world = support.world { capacity = 2 }
    local slept
    world:start(function()
      ("x"):gsub("x", function() slept = routine.wait(2.5) end)
    end)
    drive.ticks(world, 5)
    assert.equal(3, slept)
  end)
end)

describe("stats().pinned", function()
  local function pinnedwhile(way)
    local world = support.world { capacity = 2 }
    local h = world:start(function() way.run(function() routine.wait(1) end) end)
    local pinned, sleeping = 0, 0
    world:tick(0)
    while h:status() == "sleeping" do
      sleeping = sleeping + 1
      pinned = pinned + world:stats().pinned
      world:tick(1)
    end
    return pinned, sleeping, world:stats().pinned
  end

  for _, way in ipairs(ways) do
    if way.pinned == true then
      it("counts a wait under " .. way.name, function()
        local pinned, sleeping, after = pinnedwhile(way)
        assert.is_true(sleeping > 0)
        assert.is_true(pinned > 0)
        assert.equal(0, after)
      end)
    elseif way.pinned == false then
      it("leaves out a wait under " .. way.name, function()
        local pinned, sleeping = pinnedwhile(way)
        assert.is_true(sleeping > 0)
        assert.equal(0, pinned)
      end)
    end
  end
end)
