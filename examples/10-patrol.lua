-- SPDX-License-Identifier: MIT
-- 10-patrol.lua - a guard who puts her targets in order with a comparator that waits: she has to
-- look at each of the two, and that takes time. table.sort is Lua's own, and C.
--
--   weft run --speed max examples/10-patrol.lua

local weft = require "weft"
local routine = require "weft.routine"

local world = weft.default()
local looks = 0

local function say(text, ...)
  print(("%.1f s  " .. text):format(world.simTime, ...))
end

-- A tenth of a second to a look; what she sees may have moved since the last time.
local function distance(target)
  routine.wait(0.1)
  looks = looks + 1
  return target.distance
end

local function isNearer(a, b)
  return distance(a) < distance(b)
end

local function patrol(targets)
  table.sort(targets, isNearer)
  say("in order after %d looks", looks)
  for _, target in ipairs(targets) do
    routine.wait(target.distance / 10)
    say("at the %s", target.name)
  end
end

local guard = routine.start(patrol, {
  { name = "mill", distance = 9 }, { name = "gate", distance = 2 }, { name = "well", distance = 5 },
})

-- The others go on meanwhile, and a cancel reaches her in the middle of the sort as anywhere.
routine.start(function()
  for _ in routine.every(0.25, 2) do say("the guard is %s", guard:status()) end
  say("after her rounds: %s", tostring(routine.join(guard)))
  local lost = routine.start(table.sort, { 3, 2, 1 }, function() routine.wait(3600) end)
  routine.wait(1)
  lost:cancel()
  routine.join(lost)
  say("a sort that was called off: %s", lost:status())
end)

-- Output:
-- 0.3 s  the guard is sleeping
-- 0.4 s  in order after 4 looks
-- 0.5 s  the guard is sleeping
-- 0.6 s  at the gate
-- 1.1 s  at the well
-- 2.0 s  at the mill
-- 2.0 s  after her rounds: true
-- 3.1 s  a sort that was called off: cancelled
