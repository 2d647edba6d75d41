-- SPDX-License-Identifier: MIT
-- cutscene.lua - the scene that opens the README, with the cast and the stage it needs.
--
--   weft run examples/cutscene.lua

local weft = require "weft"
local routine = require "weft.routine"

local function note(...)
  print(("%.1f s"):format(weft.default().simTime), ...)
end

-- --- Cast and stage -------------------------------------------------------------------------

local actor = {}
actor.__index = actor

-- A letter at a time: the routine waits inside gsub.
function actor:say(text)
  text:gsub(".", function() routine.wait(0.04) end)
  note(self.name, text)
end

function actor:walkTo(place)
  note(self.name, "(sets out for " .. place .. ")")
  routine.wait(2.5)
  note(self.name, "(is at " .. place .. ")")
end

local function rain()
  routine.defer(function() note("rain", "(stops)") end)
  while true do
    note("rain", "(drums on the shields)")
    routine.wait(2)
  end
end

local hud = {}
function hud.hide() note("hud", "(hides score and map)") end
function hud.show() note("hud", "(shows them again)") end

local guard = setmetatable({ name = "guard" }, actor)
local hero = setmetatable({ name = "hero" }, actor)

-- --- The scene ------------------------------------------------------------------------------

local function atTheGate()
  hud.hide()
  routine.defer(hud.show) -- however the scene ends
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
-- 0.0 s	hud	(hides score and map)
-- 0.0 s	rain	(drums on the shields)
-- 1.1 s	guard	Halt! Who goes there?
-- 1.6 s	hero	(sets out for the gate)
-- 2.0 s	rain	(drums on the shields)
-- 2.8 s	hero	A friend, and a wet one.
-- 4.0 s	rain	(drums on the shields)
-- 4.1 s	hero	(is at the gate)
-- 5.2 s	guard	Then come in out of it.
-- 5.2 s	hud	(shows them again)
-- 5.3 s	rain	(stops)
