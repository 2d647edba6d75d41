-- SPDX-License-Identifier: MIT
-- 17-slow-motion.lua - slow motion, and a display that does not slow down with it: the last blow of
-- a fight runs at a quarter of its speed, then the game is paused. The clock of the display counts
-- real time, so does the hand that ends the pause.
--
--   weft run --speed max examples/17-slow-motion.lua

local weft = require "weft"
local routine = require "weft.routine"
local timer = require "weft.timer"

local world = weft.default()

local function say(who, text)
  print(("%.2f s of the game, %.2f s of the player: %s %s"):format(world.simTime, world.realTime,
    who, text))
end

-- A timer in real time goes on at any time scale, and while the world is paused.
local clock = timer.every(0.5, function() say("clock", "ticks") end, { unscaled = true })

-- Where the sword is: in sim time, along a curve that swings past its end and back.
local function swing(seconds)
  routine.tween(seconds, function(x)
    if x == 0 or x == 1 then say("sword", ("at %d degrees"):format(120 * x)) end
  end, "backOut")
end

routine.start(function()
  swing(0.25)
  world:setTimeScale(0.25)
  say("world", "slows down")
  swing(0.25) -- a second for the player
  world:setTimeScale(1)
  world:pause()
  say("world", "is paused")
  timer.after(1, function()
    world:resume()
    say("player", "goes on")
  end, { unscaled = true })
  routine.wait(0.25)
  say("fight", "is over")
  clock:cancel()
end)

-- Output:
-- 0.02 s of the game, 0.02 s of the player: sword at 0 degrees
-- 0.27 s of the game, 0.27 s of the player: sword at 120 degrees
-- 0.27 s of the game, 0.27 s of the player: world slows down
-- 0.27 s of the game, 0.27 s of the player: sword at 0 degrees
-- 0.32 s of the game, 0.50 s of the player: clock ticks
-- 0.45 s of the game, 1.00 s of the player: clock ticks
-- 0.52 s of the game, 1.27 s of the player: sword at 120 degrees
-- 0.52 s of the game, 1.27 s of the player: world is paused
-- 0.52 s of the game, 1.50 s of the player: clock ticks
-- 0.52 s of the game, 2.00 s of the player: clock ticks
-- 0.52 s of the game, 2.27 s of the player: player goes on
-- 0.75 s of the game, 2.50 s of the player: clock ticks
-- 0.77 s of the game, 2.52 s of the player: fight is over
