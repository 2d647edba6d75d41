-- SPDX-License-Identifier: MIT
-- 04-anywhere.lua - waits where a plain coroutine cannot yield: inside table.sort, gsub and
-- tostring; and in a coroutine that the routine runs itself.
--
--   weft run examples/04-anywhere.lua

local weft = require "weft"
local routine = require "weft.routine"

-- The player is asked which of two is better; each answer takes its time.
local function rank()
  local cards = { 3, 13, 7, 14 }
  table.sort(cards, function(a, b) routine.wait(0.2) return a > b end)
  print("sorted", table.concat(cards, " "))
end

-- Text that appears letter by letter, made by gsub.
local function typewriter()
  print("typed", (("wait here"):gsub("%a", function(letter)
    routine.wait(0.3)
    return letter:upper()
  end)))
end

-- A value that is not there yet: whoever asks for its text waits.
local function portrait()
  local late = setmetatable({}, { __tostring = function()
    routine.wait(3)
    return "a portrait, loaded at last"
  end })
  print("shown", tostring(late))
end

-- A generator with pauses of its own; the whole routine waits.
local function patrol()
  local steps = coroutine.wrap(function()
    for _, place in ipairs { "gate", "tower", "well" } do
      routine.wait(2)
      coroutine.yield(place)
    end
  end)
  for place in steps do print("at the", place) end
end

for _, fn in ipairs { rank, typewriter, portrait, patrol } do routine.start(fn) end

routine.start(function()
  routine.wait(0.1)
  print("some sleep on a stack of their own", weft.default():stats().pinned > 0)
end)

-- Output:
-- some sleep on a stack of their own	true
-- sorted	14 13 7 3
-- at the	gate
-- typed	WAIT HERE
-- shown	a portrait, loaded at last
-- at the	tower
-- at the	well
