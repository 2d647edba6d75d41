-- SPDX-License-Identifier: MIT
-- 12-scope.lua - routines that belong together: none of them outlives the function that started it.
--
--   weft run examples/12-scope.lua

local routine = require "weft.routine"

local function say(...)
  print(("%.1f"):format(routine.world().simTime), ...)
end

-- Takes what it can carry, and puts it down whatever happens.
local function carry(what, seconds)
  routine.defer(function() say("puts down", what) end)
  say("carries", what)
  routine.wait(seconds)
  return what
end

local function stumble(seconds)
  routine.wait(seconds)
  error("stumbled", 0)
end

routine.start(function()
  -- It returns when all of them are there.
  local count = routine.scope(function(scope)
    for i, what in ipairs{ "the chest", "the lamp", "the rope" } do scope:start(carry, what, i) end
    return 3
  end)
  say("all there", count)

  -- One fails: the others are cancelled and put down what they have, then the error is raised here.
  say(pcall(routine.scope, function(scope)
    scope:start(carry, "the mirror", 10)
    scope:start(stumble, 1)
    routine.wait(60)
    say("never said")
  end))

  -- The first one wins, and the scope returns what its function does.
  say(routine.scope(function(scope)
    local left, right = scope:start(carry, "the bread", 1), scope:start(carry, "the wine", 5)
    local _, _, what = routine.any{ left, right }
    right:cancel()
    return what
  end))
end)

-- Output:
-- 0.0	carries	the chest
-- 0.0	carries	the lamp
-- 0.0	carries	the rope
-- 1.0	puts down	the chest
-- 2.0	puts down	the lamp
-- 3.0	puts down	the rope
-- 3.0	all there	3
-- 3.1	carries	the mirror
-- 4.1	puts down	the mirror
-- 4.1	false	stumbled
-- 4.1	carries	the bread
-- 4.1	carries	the wine
-- 5.1	puts down	the bread
-- 5.1	puts down	the wine
-- 5.1	the bread
