-- SPDX-License-Identifier: MIT
--
-- What the specs of any and all share.

local support = require "support"
local routine = require "weft.routine"

local several = {}

several.pack = support.pack

---Starts a routine that sleeps and then returns the other arguments.
function several.sleeper(world, seconds, ...)
  return world:start(function(...)
    routine.wait(seconds)
    return ...
  end, ...)
end

---Starts a routine that calls `fn`. What that returned comes into the list, and its time as `at`.
function several.collect(world, fn)
  local got = {}
  world:start(function()
    local answer = several.pack(fn())
    got.at = world.simTime
    for i = 1, answer.n do got[i] = answer[i] end
    got.n = answer.n
  end)
  return got
end

---The answer alone.
function several.answer(got)
  got.at = nil
  return got
end

return several
