-- SPDX-License-Identifier: MIT
-- init.lua - `require "weft"`: worlds, and the way to the other modules.
local core = require "weft.core"
local routine = require "weft.routine"
local run = require "weft.run"
require "weft.buffers"
local timer = require "weft.timer"
local flow = require "weft.flow"
local columns = require "weft.columns"
local pool = require "weft.pool"
local save = require "weft.save"
local service = require "weft.service"
local thread = require "weft.thread"

core.worldMethods.run = run.run

--- Worlds, and the way to the other modules; see types.lua for `world` and `default`.
---
---     local weft = require "weft"
---     local world = weft.world{ capacity = 1000 }
---@class weft.Module
---@field version string such as "0.1.0"
---@field routine weft.RoutineModule the same as `require "weft.routine"`
---@field signal fun(): weft.Signal see types_events.lua
---@field channel fun(capacity?: integer): weft.Channel
---@field mutex fun(): weft.Mutex
---@field semaphore fun(permits: integer): weft.Semaphore
---@field buffer fun(type: weft.ElementType, count: integer): weft.Buffer see types_buffer.lua
---@field timer weft.TimerModule the same as `require "weft.timer"`
---@field flow weft.FlowModule the same as `require "weft.flow"`
---@field service weft.ServiceModule the same as `require "weft.service"`; see types_service.lua
---@field thread weft.ThreadModule the same as `require "weft.thread"`
---@field trace weft.TraceModule see types_trace.lua
---@field columns fun(types: table<string, weft.ElementType>): weft.Columns see columns.lua
---@field pool weft.PoolModule the same as `require "weft.pool"`
---@field save weft.SaveModule the same as `require "weft.save"`
local weft = {
  version = core.version,
  world = core.world,
  default = core.default,
  signal = core.signal,
  channel = core.channel,
  mutex = core.mutex,
  semaphore = core.semaphore,
  routine = routine,
  buffer = core.buffer,
  timer = timer,
  flow = flow,
  trace = core.trace,
  columns = columns.columns,
  pool = pool,
  save = save,
  service = service,
  thread = thread,
}

-- For weft.jobs, which may have been loaded before.
core.module = weft
if core.named then core.ownModule(weft, "weft") end

return weft
