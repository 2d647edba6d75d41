-- SPDX-License-Identifier: MIT
-- cutscene.lua - the scene that opens the README, with the cast and the stage it needs.
--
--   weft run examples/cutscene.lua

local weft = require "weft"
local routine = require "weft.routine"

local function note(text, ...)
  print(("%4.1f s  " .. text):format(weft.default().simTime, ...))
end

-- --- Cast and stage -------------------------------------------------------------------------

local actor = {}
actor.__index = actor

-- Letter by letter, from inside gsub: the routine waits there.
function actor:say(text)
  local begun = weft.default().simTime
  text:gsub(".", function() routine.wait(0.04) end)
  note("%s (for %.0f s): %s", self.name, weft.default().simTime - begun, text)
end

function actor:walkTo(place)
  note("%s sets out for %s", self.name, place)
  routine.wait(2.5)
  note("%s is at %s", self.name, place)
end

local function rain()
  routine.defer(function() note "the rain stops" end)
  while true do
    note "rain"
    routine.wait(1)
  end
end

local hud = { hide = function() note "the screen is bare" end, show = function() note "score and map are back" end }
local guard, hero = setmetatable({ name = "guard" }, actor), setmetatable({ name = "hero" }, actor)

-- --- The scene ------------------------------------------------------------------------------

local function atTheGate()
  hud:hide()
  routine.defer(function() hud:show() end) -- however the scene ends
  local weather = routine.start(rain)
  guard:say "Halt! Who goes there?"
  routine.wait(0.5)
  local steps = routine.start(hero.walkTo, hero, "the gate")
  hero:say "A friend, and a wet one."
  routine.join(steps)
  guard:say "Then come in out of it."
  routine.cancel(weather)
end

routine.start(atTheGate)

-- Output:
