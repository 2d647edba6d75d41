-- SPDX-License-Identifier: MIT
-- routine.lua - `require "weft.routine"`: what a script calls inside a routine and about routines.
local core = require "weft.core"

---@class weft.RoutineModule
local routine = core.routine

if core.halves then
  core.halves.Cancelled = core.Cancelled
  for name, fn in pairs(require "weft.waits"(core.halves)) do routine[name] = fn end
  local wait = require "weft.events"(core.halves)
  routine.waitFor = wait(routine.waitFor, 0)
  core.signalMethods.wait = wait(core.signalMethods.wait, 0)
  core.channelMethods.get = wait(core.channelMethods.get, 0)
  core.channelMethods.put = wait(core.channelMethods.put, 1, true)
  core.mutexMethods.lock = wait(core.mutexMethods.lock, 0)
  core.semaphoreMethods.acquire = wait(core.semaphoreMethods.acquire, 0)
end

for name, fn in next, require "weft.loops"(routine, core.loops) do routine[name] = fn end

routine.Cancelled = core.Cancelled
routine.cancel = core.handleMethods.cancel
routine.status = core.handleMethods.status
core.handleMethods.join = routine.join

-- Two routines that load the same waiting module get one module: require takes a lock per module.
rawset(_G, "require", core.locked(require, routine.nextTick))

--- Configures the calling world, else the default one; raises as `world:configure` does.
---
---     routine.configure{ capacity = 2000 }
---@param options weft.WorldOptions
function routine.configure(options)
  return core.here():configure(options)
end

--- Numbers of the calling world, else of the default one, as `world:stats` gives them.
---
---     print(routine.stats().active, "routines alive")
---@return weft.Stats
function routine.stats()
  return core.here():stats()
end

return routine
