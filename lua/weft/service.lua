-- SPDX-License-Identifier: MIT
-- service.lua - `require "weft.service"`: threads of their own that are sent letters and answer
-- calls. See types_service.lua for what is in C.
local core = require "weft.core"
local routine = require "weft.routine"
require "weft.jobs" -- what crosses does so as with jobs, and calls are awaited as jobs are

local inside, isOver = core.inside, core.serviceIsOver

-- A service does not know of routines: they look in each tick.
local function joinFor(join)
  return function(service, timeout)
    if not routine.self() then return join(service, timeout) end
    if not isOver(service, timeout) then
      routine.waitUntil(function() return isOver(service) end, timeout)
    end
    return join(service, 0)
  end
end

core.serviceMethods.join = joinFor(core.serviceMethods.join)
core.threadMethods.join = joinFor(core.threadMethods.join)

local service = {
  start = core.service,
  receive = inside.receive,
  reply = inside.reply,
  post = inside.post,
  wait = inside.wait,
  stopping = inside.stopping,
}

local thread = {
  start = core.thread,
  post = inside.post,
  wait = inside.wait,
  stopping = inside.stopping,
}

core.ownModule(service, "weft.service")
core.ownModule(thread, "weft.thread")

local start, startThread = core.service, core.thread

-- A module is called like the function that starts one.
setmetatable(service, { __call = function(_, options) return start(options) end })
setmetatable(thread, { __call = function(_, ...) return startThread(...) end })

core.threadModule = thread

return service
