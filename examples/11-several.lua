-- SPDX-License-Identifier: MIT
-- 11-several.lua - a scene that waits for several things at once, and not for ever.
--
--   weft run examples/11-several.lua

local routine = require "weft.routine"

local function say(...)
  print(("%.1f"):format(routine.world().simTime), ...)
end

local function walk(name, seconds)
  routine.wait(seconds)
  say(name, "is there")
  return name
end

local function key()
  routine.wait(5)
  return "skipped"
end

routine.start(function()
  local hero, squire = routine.start(walk, "hero", 2), routine.start(walk, "squire", 3)

  -- The first of them; the others go on.
  local _, ok, name = routine.any{ hero, squire }
  say("first", ok, name)

  -- Every one of them: what join gives of each, in the order of the list.
  for place, result in ipairs(routine.all{ hero, squire }) do
    say(place, result[1], result[2])
  end

  -- The player has a second to skip the speech.
  local skip = routine.start(key)
  say(routine.any{ skip, timeout = 1 })
  skip:cancel()

  -- What fails does not end the wait for the others; it is told here and nowhere else.
  local door = routine.start(function() routine.wait(0.5) error("the door sticks", 0) end)
  local results = routine.all{ door, routine.start(walk, "dog", 1) }
  say(results[1][1], results[1][2])
  say(results[2][1], results[2][2])
end)

-- Output:
-- 2.0	hero	is there
-- 2.0	first	true	hero
-- 3.0	squire	is there
-- 3.0	1	true	hero
-- 3.0	2	true	squire
-- 4.0	nil	timeout
-- 5.1	dog	is there
-- 5.1	false	the door sticks
-- 5.1	true	dog
