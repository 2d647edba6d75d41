-- SPDX-License-Identifier: MIT
-- 13-signals.lua - a door that tells everybody who opened it, and a guard who waits for that.
--
--   weft run examples/13-signals.lua

local weft = require "weft"
local routine = require "weft.routine"

local door = { opened = weft.signal(), bell = weft.signal() }

local function say(...)
  print(("%.1f"):format(routine.world().simTime), ...)
end

-- A listener is called inside the fire. It cannot wait, but it may start what can.
door.opened:connect(function(who, how)
  routine.start(say, "the hinges creak for", who, how)
end)

-- A routine waits for the next fire, and gets its values.
routine.start(function()
  for _ = 1, 2 do
    local who, how = door.opened:wait(2)
    if who then
      say("guard: good evening,", who, how)
    else
      say("guard: nobody", how)
    end
  end
end)

-- The first of several signals, and of a routine too.
routine.start(function()
  local nap = routine.start(routine.wait, 4)
  local place, value = routine.any{ door.bell, door.opened, nap }
  say("dog: woken by", ({ "the bell", "the door", "itself" })[place], value)
end)

routine.start(function()
  routine.wait(1)
  say("two listen", door.opened:waiting())
  door.opened:fire("Ann", "quietly")
  routine.wait(4)
  door.opened:destroy()
end)

-- Output:
-- 1.0	two listen	2
-- 1.0	guard: good evening,	Ann	quietly
-- 1.0	dog: woken by	the door	Ann
-- 1.0	the hinges creak for	Ann	quietly
-- 3.0	guard: nobody	timeout
