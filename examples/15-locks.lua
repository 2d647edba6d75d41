-- SPDX-License-Identifier: MIT
-- 15-locks.lua - two chairs and five guests: who comes first sits first, and who leaves in any way
-- leaves the chair.
--
--   weft run examples/15-locks.lua

local weft = require "weft"
local routine = require "weft.routine"

local chairs = weft.semaphore(2)
local mirror = weft.mutex()

local function say(...)
  print(("%.1f"):format(routine.world().simTime), ...)
end

local function guest(name, seconds, patience)
  if not chairs:acquire(patience) then return say(name, "does not wait any longer") end
  say(name, "sits down")
  routine.wait(seconds)
  if mirror:tryLock() then
    say(name, "has the mirror")
    routine.wait(0.5)
    mirror:unlock()
  end
  if name == "Bob" then error("the chair breaks", 0) end
  chairs:release() -- without it: at the end of the routine
end

weft.default().onError = function(_, err) print("", "error", err) end

routine.start(guest, "Ann", 2)
routine.start(guest, "Bob", 2)
local cem = routine.start(guest, "Cem", 1)
routine.start(guest, "Dan", 1, 1.5)
routine.start(guest, "Eve", 1)

routine.start(function()
  routine.wait(1)
  say("Cem", "is called away")
  cem:cancel() -- out of the line, before his turn
end)

-- Output:
-- 0.0	Ann	sits down
-- 0.0	Bob	sits down
-- 1.0	Cem	is called away
-- 1.5	Dan	does not wait any longer
-- 2.0	Ann	has the mirror
-- 	error	the chair breaks
-- 2.0	Eve	sits down
-- 3.0	Eve	has the mirror
