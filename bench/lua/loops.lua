-- SPDX-License-Identifier: MIT
-- loops.lua - the work of resume.lua, in order, on event loops that others made.
--
-- usage: loops.lua cqueues|cqueues-bare|luv N
--
-- Each routine waits in the way its library offers that comes nearest to "until the next turn of
-- the loop": a time-out of zero, armed anew each time. "cqueues-bare" is cqueues.poll() with
-- nothing to wait for, which hands the turn over without a timer.

local measure = require "measure"

local side, n = arg[1], tonumber(arg[2])
local seen, count = {}, 0
local sides = {}

function sides.cqueues(bare)
  local cqueues = require "cqueues"
  local poll, loop = cqueues.poll, cqueues.new()
  for i = 1, n do
    loop:wrap(function()
      for _ = 1, 2 do
        seen[#seen + 1] = i
        if bare then poll() else poll(0) end
      end
      if bare then
        while true do
          count = count + 1
          poll()
        end
      end
      while true do
        count = count + 1
        poll(0)
      end
    end)
  end
  local function run(rounds)
    for _ = 1, rounds do assert(loop:step(0)) end
  end
  run(2)
  measure.checkTurns(seen, n, 2)
  return run
end

sides["cqueues-bare"] = function() return sides.cqueues(true) end

-- A luv timer that is armed with a time-out of zero inside its callback is due again in the same
-- uv.run, behind the others: one uv.run is as many rounds as the routines are told to make.
function sides.luv()
  local uv = require "luv"
  local yield = coroutine.yield
  local turns, resumers = 0, {}
  for i = 1, n do
    local timer, resume = uv.new_timer(), nil
    resume = coroutine.wrap(function()
      for _ = 1, 2 do
        seen[#seen + 1] = i
        timer:start(0, 0, resume)
        yield()
      end
      while true do
        yield()
        for _ = 1, turns do
          timer:start(0, 0, resume)
          yield()
          count = count + 1
        end
      end
    end)
    resumers[i] = resume
    resume()
  end
  uv.run()
  measure.checkOrder(seen, n, 2, false)
  return function(rounds)
    turns = rounds
    for i = 1, n do resumers[i]() end
    uv.run()
  end
end

local run = sides[side]()
local total = 0
local ns = measure.loop(n, function(rounds)
  total = total + rounds
  run(rounds)
end)
measure.check(count == total * n, "%d resumes were counted instead of %d", count, total * n)
measure.print("ns", ns)
