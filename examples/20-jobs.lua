-- SPDX-License-Identifier: MIT
-- Work on other threads: a routine waits for it, and the world ticks on.
--
--   scripts/weft exec examples/20-jobs.lua

local weft = require "weft"
local routine = require "weft.routine"
local jobs = require "weft.jobs"

local world = weft.world{}

-- Runs on another thread, in a Lua state of its own. What it is given and what it captures are
-- copies; what it returns is a copy, too.
local wall = "#"
local function countWalls(rows)
  local count = 0
  for _, row in ipairs(rows) do
    for _ in row:gmatch(wall) do count = count + 1 end
  end
  return count
end

world:start(function()
  local job = jobs.run(countWalls, { "#..#", "....", ".##." })
  print("walls:", routine.await(job)) -- the routine sleeps here, and nobody else

  -- An error is raised where the job is awaited, with the traceback of its thread.
  local _, err = pcall(routine.await, jobs.run(function() error("no map", 0) end))
  print("failed:", err:match "^[^\n]*")
end)
while world:stats().active > 0 do world:tick(1 / 60) end

-- A buffer is memory that jobs share. While one of them has it, touching it here raises.
local heights = weft.buffer("i32", 1000)
local job = jobs.parallelFor(#heights, function(first, last, h)
  for i = first, last do h[i] = i * i end
end, { args = { heights } })
local _, loan = pcall(function() return heights[2] end)
print(loan:match "buffer is on loan")
job:wait()
print("heights:", heights[2], heights[1000])

world:close()

-- Output:
-- walls:	4
-- failed:	no map
-- buffer is on loan
-- heights:	4	1000000
