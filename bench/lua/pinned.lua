-- SPDX-License-Identifier: MIT
-- pinned.lua - one resume + wait of each of N routines that wait under a C frame, so that each
-- keeps its native stack.
--
-- usage: pinned.lua sort|gsub N
--
-- "sort" waits inside a table.sort comparator, "gsub" inside a string.gsub callback; neither ever
-- returns.

local measure = require "measure"
local weft, routine = require "weft", require "weft.routine"

local how, n = arg[1], tonumber(arg[2])
local seen, count = {}, 0
local nextTick = routine.nextTick

local function body(i)
  for _ = 1, 3 do
    seen[#seen + 1] = i
    nextTick()
  end
  while true do
    count = count + 1
    nextTick()
  end
end

local under = {}

function under.sort(i)
  table.sort({ 1, 2 }, function() return body(i) end)
end

function under.gsub(i)
  return (string.gsub("x", ".", function() return body(i) end))
end

local world = weft.world { capacity = n }
for i = 1, n do assert(world:start(under[how], i)) end

local function run(rounds)
  for _ = 1, rounds do world:tick(1 / 60) end
end

run(3)
measure.checkOrder(seen, n, 3, false)
local pinned = world:stats().pinned
measure.check(pinned == n, "%d of %d routines are pinned", pinned, n)
local total = 0
local ns = measure.loop(n, function(rounds)
  total = total + rounds
  run(rounds)
end)
measure.check(count == total * n, "%d resumes were counted instead of %d", count, total * n)
measure.print("ns", ns)
