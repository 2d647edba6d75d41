-- SPDX-License-Identifier: MIT
-- jobs.lua - `require "weft.jobs"`: work on other threads. See types_jobs.lua for what is in C.
local core = require "weft.core"
local routine = require "weft.routine"
require "weft.factories"

local jobs, halves = core.jobs, core.jobHalves

-- What every state has crosses by its name.
core.takeNames()
core.named = true
if core.module then core.ownModule(core.module, "weft") end
core.ownModule(routine, "weft.routine")
core.ownModule(jobs, "weft.jobs")

local wait, hasEnded, result = halves.await, halves.hasEnded, halves.endAwait
local isForeign = halves.isForeign
if core.halves then wait = require "weft.events"(core.halves)(wait, 0) end

-- A job that another job has started: its end is told there, and here one looks in each tick.
local nextTick = routine.nextTick
local function waitUntil(isOver, object, timeout)
  routine.waitUntil(function() return isOver(object) end, timeout)
end

--- Waits in a routine until a job has ended, and gives its results. Raises the job's error, with
--- the traceback of its thread if it is a string; `Cancelled` if the job was cancelled.
---
---     local path = routine.await(jobs.run(findPath, grid, from, to))
---@param job weft.Job
---@param timeout? number seconds of sim time
---@return any ... the job's results
function routine.await(job, timeout)
  wait(job, timeout)
  if isForeign(job) then waitUntil(hasEnded, job, timeout) end
  if not hasEnded(job) then return nil, "timeout" end
  return result(job)
end

local await = core.barrierMethods.await

-- A barrier does not know of routines: they look in each tick, for a later round, too.
function core.barrierMethods.await(barrier)
  local open, round = await(barrier)
  while not open do
    nextTick()
    open = await(barrier, round)
  end
  return true
end

return jobs
