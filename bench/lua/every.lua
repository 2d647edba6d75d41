-- SPDX-License-Identifier: MIT
-- every.lua - turns of routine.every, against the same grid kept by hand with routine.wait.
--
-- usage: every.lua every|wait N
--
-- N routines have a turn in each tick. The collector runs as it always does.

local measure = require "measure"
local weft = require "weft"
local routine = require "weft.routine"

local side, n = arg[1], tonumber(arg[2])
local dt = 1 / 64
local world = weft.world { capacity = n }
local turns = 0

local sides = {}

function sides.every()
  for passed in routine.every(dt) do turns = turns + passed end
end

function sides.wait()
  local wait, due = routine.wait, world.simTime
  while true do
    due = due + dt
    wait(due - world.simTime)
    turns = turns + 1
  end
end

for _ = 1, n do assert(world:start(sides[side])) end
world:tick(0)
local ticks = 0
local ns = measure.loop(n, function(rounds)
  for _ = 1, rounds do world:tick(dt) end
  ticks = ticks + rounds
end)
measure.check(turns == n * ticks, "%d turns of %d routines in %d ticks", turns, n, ticks)
measure.print("ns", ns)
