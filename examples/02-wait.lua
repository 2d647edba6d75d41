-- SPDX-License-Identifier: MIT
-- 02-wait.lua - a world of your own, ticked by hand, and the waits it has.
--
--   weft exec examples/02-wait.lua
--
-- `weft exec` is plain Lua with weft on its path: here the script ticks, as a game's loop would.

local weft = require "weft"
local routine = require "weft.routine"

local world = weft.world { capacity = 16 }

local function say(text, ...)
  print(("%.1f s  " .. text):format(world.realTime, ...))
end

world:start(function()
  say("nextTick: %.1f s later", routine.nextTick())
end)

-- Seconds of the game's time. A wait ends in the first tick that is late enough, and says how
-- long it was.
world:start(function()
  say("wait(0.6): %.1f s later", routine.wait(0.6))
end)

world:start(function()
  routine.wait(1.5)
  say "wait(1.5): the world stood still for a second of it"
end)

-- Seconds of the player's time: for menus, tips and whatever goes on in a pause.
world:start(function()
  routine.waitUnscaled(2)
  say("waitUnscaled(2): paused is %s", tostring(world:isPaused()))
end)

-- Five seconds of play at two ticks a second; dt is yours to give.
for tick = 1, 10 do
  if tick == 4 then world:pause() end
  if tick == 6 then world:resume() end
  world:tick(0.5)
end
say("the game's own clock shows %.1f s, after %d ticks", world.simTime, world.tickCount)
world:close()

-- Output:
-- 1.0 s  nextTick: 0.5 s later
-- 1.5 s  wait(0.6): 1.0 s later
-- 2.5 s  waitUnscaled(2): paused is true
-- 3.0 s  wait(1.5): the world stood still for a second of it
-- 5.0 s  the game's own clock shows 4.0 s, after 10 ticks
