-- SPDX-License-Identifier: MIT
-- 06-coroutines.lua - a script that was written for plain coroutines, moved in as it is.
--
--   weft run examples/06-coroutines.lua

local routine = require "weft.routine"

-- --- The old script, not a letter changed ---------------------------------------------------

-- Yields once a frame, as scripts for a loop of coroutine.resume do.
local function fadeOut(name)
  for alpha = 3, 0, -1 do
    print(name .. " fades", alpha)
    coroutine.yield()
  end
end

-- Walks a tree of rooms with a coroutine of its own.
local function visit(room)
  coroutine.yield(room.name)
  for _, door in ipairs(room) do visit(door) end
end

local function rooms(first)
  local co = coroutine.create(visit)
  return function()
    local _, name = coroutine.resume(co, first)
    return name
  end
end

-- --- What is new ----------------------------------------------------------------------------

-- A bare coroutine.yield in a routine's own body means nextTick; in a coroutine of its own it goes
-- to whoever resumed that, as ever.
local fading = routine.start(fadeOut, "the moon")

routine.start(function()
  routine.join(fading)
  local castle = { name = "hall", { name = "stairs", { name = "tower" } }, { name = "cellar" } }
  for name in rooms(castle) do
    routine.wait(0.1) -- the loop over the old generator may wait now
    print("searched", name)
  end
end)

-- Output:
-- the moon fades	3
-- the moon fades	2
-- the moon fades	1
-- the moon fades	0
-- searched	hall
-- searched	stairs
-- searched	tower
-- searched	cellar
