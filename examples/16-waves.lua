-- SPDX-License-Identifier: MIT
-- 16-waves.lua - waves of attackers, and the bookkeeping around them, by timers: functions that are
-- called later. Where a script only has to be called again, a timer is less to write than a routine
-- that loops and waits, and it costs less.
--
--   weft run --speed max examples/16-waves.lua

local weft = require "weft"
local routine = require "weft.routine"
local timer = require "weft.timer"

local world = weft.default()
local battle = world:owner()
local attackers, gold = 0, 0

local function say(text, ...)
  print(("%4.1f s: " .. text):format(world.simTime, ...))
end

-- Three waves, the first after 2 seconds, then every 5: each spawns its attackers half a second
-- apart, with a timer of its own that ends by itself.
local wave = 0
battle:every(5, function()
  wave = wave + 1
  say("wave %d", wave)
  battle:every(0.5, function(n) attackers = attackers + n end, { count = 2 + wave })
end, { count = 3, delay = 2 })

-- Twice a second, whatever the ticks are: a tick that is late brings one call, for n half seconds.
battle:every(0.5, function(n) gold = gold + 5 * n end)

-- Timers with a tag are stopped and started together.
local horn = battle:every(3, function() say "a horn in the distance" end)
timer.tag(horn, "sounds")
timer.after(4, function()
  say("%d sound goes quiet", timer.pauseAll "sounds")
  timer.after(6, function() say("%d comes back", timer.resumeAll "sounds") end)
end)

-- A fuse that somebody cuts in time.
local fuse = battle:after(9, say, "the gate blows up")
battle:after(8, function() say("fuse cut at %.1f s: %s", fuse:remaining(), fuse:cancel()) end)

-- The routine that all this is for.
routine.start(function()
  routine.waitUntil(function() return attackers >= 12 end)
  say("%d attackers, %d gold", attackers, gold)
  routine.wait(1)
  battle:destroy() -- and with it every timer that is its own
  say("%d timers left", world:stats().timers)
end)

-- Output:
--  2.0 s: wave 1
--  3.0 s: a horn in the distance
--  4.0 s: 1 sound goes quiet
--  7.0 s: wave 2
--  8.0 s: fuse cut at 1.0 s: true
-- 10.0 s: 1 comes back
-- 12.0 s: wave 3
-- 12.0 s: a horn in the distance
-- 14.5 s: 12 attackers, 145 gold
-- 15.0 s: a horn in the distance
-- 15.5 s: 0 timers left
