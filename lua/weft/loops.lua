-- SPDX-License-Identifier: MIT
-- loops.lua - waits that come again and again: for a condition, by a clock, in a long loop.
--
-- Each is a loop over the plain waits. What is counted from tick to tick is kept in C, by
-- functions that answer and change it in one go: a debug hook may let other routines run between
-- any two instructions here. They are documented in types_routine.lua.

local easing = require "weft.easing"

-- Its curve, for the name of one, for nil and for a function.
local function curveOf(given)
  if given == nil then return easing.linear end
  if type(given) == "function" then return given end
  local curve = type(given) == "string" and easing[given]
  if curve then return curve end
  error(("routine.tween: unknown easing %s; there are linear, and In, Out and InOut of quad, "
    .. "cubic, quart, quint, sine, expo, circ, back, elastic and bounce"):format(
    type(given) == "string" and "'" .. given .. "'" or type(given)), 3)
end

---@param routine weft.RoutineModule with its plain waits
---@param halves table the C halves, from weft.core
---@return table functions by name
return function(routine, halves)
  local wait, nextTick = routine.wait, routine.nextTick
  local deadlineOf, isDue = halves.deadline, halves.isDue
  local gridOf, advance = halves.grid, halves.advance
  local budgetOf, spend = halves.budget, halves.spend
  local beginOf, progress = halves.begin, halves.progress

  local loops = {}

  -- In a tick that is also the deadline the condition comes first.
  function loops.waitUntil(pred, timeout)
    local deadline = deadlineOf(pred, timeout)
    if pred() then return true end
    repeat
      nextTick()
      if pred() then return true end
    until deadline and isDue(deadline)
    return false, "timeout"
  end

  function loops.every(seconds, count)
    local grid = gridOf(seconds, count)
    return function()
      local n, ahead = advance(grid)
      while ahead do
        wait(ahead)
        n, ahead = advance(grid)
      end
      return n
    end
  end

  function loops.tween(seconds, fn, ease)
    local begin, duration = beginOf(seconds, fn)
    local curve = curveOf(ease)
    local x
    fn(0)
    repeat
      nextTick()
      x = progress(begin, duration)
      fn((x == 0 or x == 1) and x or curve(x))
    until x == 1
  end

  function loops.slice(options)
    local budget = budgetOf(options)
    return function()
      if spend(budget) then
        nextTick()
        spend(budget, true)
      end
    end
  end

  return loops
end
