-- SPDX-License-Identifier: MIT
-- routine.lua - `require "weft.routine"`: what a script calls inside a routine and about routines.
local core = require "weft.core"

local routine = core.routine

if core.halves then
  core.halves.Cancelled = core.Cancelled
  for name, fn in pairs(require "weft.waits"(core.halves)) do routine[name] = fn end
end

routine.Cancelled = core.Cancelled
routine.cancel = core.handleMethods.cancel
routine.status = core.handleMethods.status
core.handleMethods.join = routine.join

--- Configures the current world: the calling one, else the default one. See `world:configure`.
function routine.configure(options)
  return core.here():configure(options)
end

--- Numbers of the current world. See `world:stats`.
function routine.stats()
  return core.here():stats()
end

return routine
