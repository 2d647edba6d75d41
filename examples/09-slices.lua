-- SPDX-License-Identifier: MIT
-- 09-slices.lua - a loop too long for one tick, spread over many, and the waits that come again.
--
--   weft run --speed max examples/09-slices.lua

local routine = require "weft.routine"

local SIDE = 30
local map = { cells = 0 }

-- The cells to the right of one and below it.
local function neighbours(cell)
  local list = {}
  if cell % SIDE < SIDE - 1 then list[#list + 1] = cell + 1 end
  if cell < SIDE * (SIDE - 1) then list[#list + 1] = cell + SIDE end
  return list
end

-- Floods a cave from its corner: how many steps away each cell is. The loop is written as if it
-- had all the time of the world; `step` waits for the next tick when a tick's share is used.
-- With { ms = 2 } the share would be two milliseconds of real time.
local function flood()
  local step = routine.slice { count = 100 }
  local distance, queue = { [0] = 0 }, { 0 }
  while map.cells < #queue do
    map.cells = map.cells + 1
    local cell = queue[map.cells]
    for _, there in ipairs(neighbours(cell)) do
      if not distance[there] then
        distance[there] = distance[cell] + 1
        queue[#queue + 1] = there
      end
    end
    step()
  end
  map.farthest = distance[queue[#queue]]
end

-- Turns at 0.05 s, 0.10 s, 0.15 s, whatever the ticks are; n is more than 1 after a late one.
local function watch()
  local seconds = 0
  for n in routine.every(0.05, 3) do
    seconds = seconds + n * 0.05
    print(("%.2f s: %d cells"):format(seconds, map.cells))
  end
end

routine.start(flood)
routine.start(watch)
routine.start(function()
  local ready, reason = routine.waitUntil(function() return map.farthest end, 0.08)
  print("at first", ready, reason)
  print("then", routine.waitUntil(function() return map.farthest end))
  print(("%d cells, the farthest %d steps away, after %d ticks"):format(map.cells, map.farthest,
    routine.world().tickCount))
end)

-- Output:
-- 0.05 s: 400 cells
-- at first	false	timeout
-- 0.10 s: 700 cells
-- then	true
-- 900 cells, the farthest 58 steps away, after 10 ticks
-- 0.15 s: 900 cells
