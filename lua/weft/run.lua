-- SPDX-License-Identifier: MIT
-- run.lua - the loop behind world:run: when to tick, with which dt, and when to stop.
-- Knows a world by its public methods only, and the clock of the core.

local core = require "weft.core"

-- The longest dt that a late tick may have: after a hitch or a stop in a debugger the
-- simulation goes on from there and does not leap.
local LONGEST_DT = 0.25

local OPTIONS = { hz = true, ticks = true, stopWhen = true, speed = true }

local function describe(value)
  if type(value) == "string" then return ("%q"):format(value) end
  return tostring(value)
end

-- Raises at the line that called world:run.
local function misuse(name, expected, value)
  error(("world:run: %s must be %s, got %s"):format(name, expected, describe(value)), 4)
end

local function isPositive(value)
  return type(value) == "number" and value > 0 and value < math.huge
end

local function isCount(value)
  return type(value) == "number" and value >= 0 and value % 1 == 0 and value < math.huge
end

local function check(options)
  if type(options) ~= "table" then misuse("options", "a table", options) end
  for name in next, options do
    if not OPTIONS[name] then
      misuse("each option", "one of hz, ticks, stopWhen, speed", name)
    end
  end
  local hz, ticks, stop, speed = options.hz, options.ticks, options.stopWhen, options.speed
  if hz ~= nil and not isPositive(hz) then misuse("hz", "finite and > 0", hz) end
  if ticks ~= nil and not isCount(ticks) then misuse("ticks", "a whole number >= 0", ticks) end
  if stop ~= nil and type(stop) ~= "function" then misuse("stopWhen", "a function", stop) end
  if speed ~= nil and speed ~= "real" and speed ~= "max" then
    misuse("speed", '"real" or "max"', speed)
  end
end

local function noneAlive(world)
  return core.active(world) == 0
end

-- Returns a function that waits for the next tick and returns its dt. Ticks stay on the grid
-- start + n * period, so lateness of one never adds to the next; a tick that comes late gets the
-- time that really passed, and the turns it missed are not made up for. A thousandth of a period
-- before a turn counts as that turn, so that rounding makes no tick of no length. A descriptor that
-- a routine waits for makes a tick of its own between two turns.
local function realPacer(world, period, beforeSleep, afterSleep)
  local longest = math.max(LONGEST_DT, period)
  local start, turn = core.clock(), 0
  local last = start
  return function()
    beforeSleep()
    local early = core.sleepUntil(start + (turn + 1) * period, world)
    afterSleep()
    local now = core.clock()
    local dt = now - last
    last = now
    turn = math.max(early and turn or turn + 1, math.floor((now - start) / period + 0.001))
    return math.min(dt, longest)
  end
end

local function maxPacer(_, period, beforeSleep, afterSleep)
  return function()
    beforeSleep()
    afterSleep()
    return period
  end
end

local function nothing() end

-- The loop itself. `hooks` are for the command line: `beforeSleep` and `afterSleep` stand around
-- the pause between two ticks, `stop` ends the loop when it answers true.
local function loop(world, options, hooks)
  local pacer = options.speed == "max" and maxPacer or realPacer
  local nextDt = pacer(world, 1 / (options.hz or 60), hooks.beforeSleep or nothing,
    hooks.afterSleep or nothing)
  local limit, stopWhen, stop = options.ticks or math.huge, options.stopWhen, hooks.stop or nothing
  if not stopWhen and not options.ticks then stopWhen = noneAlive end
  local ticks = 0
  while ticks < limit and not stop() and not (stopWhen and stopWhen(world)) do
    local dt = nextDt()
    if stop() then break end
    world:tick(dt)
    ticks = ticks + 1
  end
  return ticks
end

local run = {}

---@class weft.RunOptions
---@field hz? number ticks a second, over 0; 60 unless given
---@field ticks? integer how many ticks to run at most
---@field stopWhen? fun(world: weft.World): boolean asked before each tick
---@field speed? "real"|"max" paced by the clock, as it is unless given, or as fast as it goes

--- Ticks a world until it is done, 60 times a second unless told otherwise.
---
--- At speed "real" each dt is the time that passed, at most 0.25 s (or one period, if that is
--- longer), and a descriptor that a routine waits for (`routine.waitFd`) ends the sleep between two
--- ticks early, by a tick of its own; at "max" each dt is exactly 1/hz and nothing waits. Ends
--- after `ticks` ticks or when `stopWhen(world)`, asked before each tick, is true; with neither,
--- when no routine is alive.
---
---     world:run{ hz = 30, speed = "max", stopWhen = function() return winner end }
---
--- Raises for options that are not of this kind, inside a tick, in a finalizer, and on a closed
--- world.
---@param world weft.World
---@param options? weft.RunOptions
---@return integer ticks how many were run
function run.run(world, options)
  local refusal = core.refusal(world)
  if refusal then error("world:run: " .. refusal, 2) end
  if options == nil then options = {} end
  check(options)
  return loop(world, options, {})
end

run.loop = loop

return run
