-- SPDX-License-Identifier: MIT
-- 14-channel.lua - a dialogue: what is said goes through a channel to the box that types it out.
--
--   weft run examples/14-channel.lua

local weft = require "weft"
local routine = require "weft.routine"

-- At most one line waits to be typed. Who says the next one waits until there is room.
local lines = weft.channel(1)

local function say(who, text)
  assert(lines:put{ who = who, text = text })
end

local function at()
  return ("%.1f"):format(routine.world().simTime)
end

-- Types one letter in 1/20 s, from inside gsub, and goes on until the channel is closed.
local box = routine.start(function()
  for line in function() return lines:get() end do
    local typed = line.text:gsub(".", function(letter)
      routine.wait(0.05)
      return letter
    end)
    print(at(), line.who .. ": " .. typed)
  end
  print(at(), "(the box closes)")
end)

local innkeeper = routine.start(function()
  say("Innkeeper", "What will it be?")
  say("Innkeeper", "We have soup.")
end)

routine.start(function()
  routine.wait(0.4)
  say("Guest", "Soup, then.")
  print(at(), "Guest sits down")
  routine.join(innkeeper)
  lines:close() -- what is still in it is typed
  routine.join(box)
  print(at(), "put now gives", lines:put("too late"))
end)

-- Output:
-- 0.8	Innkeeper: What will it be?
-- 0.8	Guest sits down
-- 1.5	Innkeeper: We have soup.
-- 2.0	Guest: Soup, then.
-- 2.0	(the box closes)
-- 2.0	put now gives	nil	closed
