-- SPDX-License-Identifier: MIT
-- Errors pass through waits: thrown after a wait, from under each way of the
-- catalogue, an error comes to the same place and as the same value as it does
-- outside a routine, and nothing else notices.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"
local ways = require "ways"

local LIMIT = 80

-- A pause that rests first and then throws `err` at its `at`-th call.
local function thrower(rest, at, err)
  local count = 0
  return function()
    count = count + 1
    rest()
    if count == at then error(err, 0) end
  end
end

-- Error values differ by address from run to run, so a mark stands for ours.
local function outcome(err, ok, got)
  if got == err then return tostring(ok) .. " with the error itself" end
  return tostring(ok) .. " " .. (tostring(got):gsub("0x%x+", "address"))
end

describe("an error after a wait #wait", function()
  for _, way in ipairs(ways) do
    it("passes through " .. way.name, function()
      local world = support.world { capacity = 8 }
      local handles, got, expected = {}, {}, {}
      for at = 1, 2 do
        local err = { "thrown" }
        expected[at] = outcome(err, pcall(way.run, thrower(drive.nothing, at, err)))
        handles[at] = world:start(function()
          got[at] = outcome(err, pcall(way.run, thrower(drive.pause(at), at, err)))
          assert(drive.hot() == drive.hotsum)
        end)
      end
      local neighbour
      handles[3] = world:start(function() neighbour = way.run(drive.pause(3)) end)
      assert.is_true(drive.untilended(world, handles, LIMIT))
      assert.same(expected, got)
      assert.equal(way.run(drive.nothing), neighbour)
      for id = 1, 3 do assert.equal("completed", handles[id]:status()) end
    end)

    if not way.handler then
      it("that nobody catches fails the routine under " .. way.name, function()
        local world = support.world { capacity = 8 }
        local err, reported, cleaned = { "thrown" }, {}, 0
        world.onError = function(handle, value, trace)
          reported[#reported + 1] = { handle, value, type(trace) }
        end
        local h = world:start(function()
          routine.defer(function() cleaned = cleaned + 1 end)
          way.run(thrower(drive.pause(1), 1, err))
        end)
        local answer
        local other = world:start(function() answer = way.run(drive.pause(2)) end)
        assert.is_true(drive.untilended(world, { h, other }, LIMIT))
        assert.equal("failed", h:status())
        assert.equal(1, cleaned)
        assert.equal(1, #reported)
        assert.equal(h, reported[1][1])
        assert.equal(err, reported[1][2])
        assert.equal("string", reported[1][3])
        assert.equal(way.run(drive.nothing), answer)
      end)
    end
  end

  it("can be thrown and caught again and again beside other waits", function()
    local world = support.world { capacity = 8 }
    local caught, handles = 0, {}
    for id = 1, 4 do
      handles[id] = world:start(function()
        for round = 1, 12 do
          local ok, err = pcall(string.gsub, "abc", ".", function(letter)
            routine.wait((id + round) % 3)
            if letter == "b" then error(round, 0) end
          end)
          if not ok and err == round then caught = caught + 1 end
          assert(drive.hot() == drive.hotsum)
        end
      end)
    end
    assert.is_true(drive.untilended(world, handles, 120))
    assert.equal(48, caught)
  end)

  it("shows the functions of the script in the trace, through C frames", function()
    local world = support.world { capacity = 2 }
    local trace
    world.onError = function(_, _, text) trace = text end
    local function innermost()
      routine.wait(1)
      error "deep"
    end
    local function outermost()
      table.sort({ 1, 2 }, function()
        innermost()
        return false
      end)
      return true
    end
    world:start(function()
      outermost()
      return true
    end)
    drive.ticks(world, 4)
    assert.is_truthy(trace:find("innermost", 1, true))
    assert.is_truthy(trace:find("outermost", 1, true))
  end)

  it("does not shorten or prolong the waits after it", function()
    local world = support.world { capacity = 2 }
    local slept = {}
    world:start(function()
      for i = 1, 3 do
        pcall(function()
          routine.wait(1)
          error "caught"
        end)
        slept[i] = routine.wait(i)
      end
    end)
    drive.ticks(world, 14)
    assert.same({ 1, 2, 3 }, slept)
  end)
end)
