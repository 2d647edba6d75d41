-- SPDX-License-Identifier: MIT
--
-- What the specs of scopes share.

local routine = require "weft.routine"

local scopes = {}

---A child that notes its name when it ends, in whatever way, and returns it.
function scopes.child(order, name, seconds, problem)
  return function()
    routine.defer(function() order[#order + 1] = name end)
    routine.wait(seconds)
    if problem then error(problem, 0) end
    return name
  end
end

return scopes
