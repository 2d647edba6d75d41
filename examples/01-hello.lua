-- SPDX-License-Identifier: MIT
-- 01-hello.lua - a routine is a function that may wait, and goes on with its locals as they were.
--
--   weft run examples/01-hello.lua
--
-- `weft run` runs the script, then ticks the default world until no routine is alive.

local routine = require "weft.routine"

local function greet(name)
  print("hello, " .. name)
  routine.wait(1)
  print("a second later " .. name .. " is still here")
  return name:upper()
end

-- Queued, never run on the spot: it begins in the next tick.
local greeting = routine.start(greet, "world")
print("the script goes on; the routine is " .. greeting:status())

-- Waits for the other one to end, and gets what it returned.
routine.start(function()
  local ok, result = routine.join(greeting)
  print("joined", ok, result)
end)

-- Output:
-- the script goes on; the routine is queued
-- hello, world
-- a second later world is still here
-- joined	true	WORLD
