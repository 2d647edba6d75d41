-- SPDX-License-Identifier: MIT
--
-- A slow, obvious model of a world and its routines, written from the contract alone. It knows no
-- heap, no ring and no native stack: who waits stands in plain lists, which each tick goes through
-- from end to end, and a routine is a plain coroutine. The real world is held against it, step by
-- step (duel.lua).
--
--   clocks.lua   time, and when a wait is due
--   tasks.lua    starting, ending, who is told of it; slots and handles; the numbers
--   cancel.lua   what a cancel does, and what a wait meets that begins after one
--   waits.lua    the waits that a body may call
--   several.lua  any, all, and signals
--   scopes.lua   scopes: what stops them, what they wait for, how they end
--   life.lua     a body from its first resume to its last cleanup
--   owners.lua   owners
--   ticks.lua    the order of a tick, unload, configure, close
--
-- Its errors are values of its own with the names of what weft raises.

local model = { methods = {} }

local function named(name)
  return setmetatable({}, { __tostring = function() return name end })
end

---The values that the model raises or reports; tostring gives what they are called in a story.
model.errors = {
  Cancelled = named "Cancelled",
  self = named "<joins itself>",
  ring = named "<ring>",
  destroyed = named "<the signal is destroyed>",
  forced = named "<forced>",
  forcedYield = named "<forced at a yield>",
  stuck = named "<stuck under C frames>",
  left = named "<dropped by close>",
  alive = named "<routines are alive>",
}

---@param options table capacity, resumesPerTick, postsPerTick, report(task, err)
function model.new(options)
  local world = setmetatable({
    capacity = options.capacity or 256,
    resumesPerTick = options.resumesPerTick or math.huge,
    postsPerTick = options.postsPerTick or 128,
    report = function(_, task, err) options.report(task, err) end,
    paused = false,  -- as asked for; a tick looks once, at its beginning
    closing = false, -- or closed
    force = false,   -- in the last pass of an unload
    tickCount = 0, timeScale = 1,
    simNow = 0, realNow = 0, simRest = 0, realRest = 0, -- ns; the rests are fractions of one
    armed = 0,       -- waits with a deadline so far: equal deadlines keep that order
    cancelled = {},  -- to be told to stop
    early = false,   -- a pass is about those, or about who is due in real time
    urgent = {},     -- due in real time
    ready = {},      -- unstarted, woken, or waiting for the next tick
    sleepers = {},   -- with a deadline on a sim clock
    realSleepers = {},
    leftOver = {},   -- a set: of the last pass
    pass = { cancelled = {}, urgent = {}, ready = {} }, -- what the running pass has left
    slots = {}, free = {}, -- tasks by slot; slots that ended ones left, the first first
    owners = {}, over = {}, told = {},
    posts = { high = {}, normal = {} },
    systems = { preUpdate = {}, update = {}, postUpdate = {} },
    counts = { resumed = 0, started = 0, completed = 0, cancelled = 0, failed = 0, rejected = 0 },
  }, { __index = model.methods })
  return world
end

---Removes a value from a list, if it is there.
function model.remove(list, value)
  for i = 1, #list do
    if list[i] == value then return table.remove(list, i) end
  end
end

-- LuaJIT's compiler finds nothing here but short lists and yields: left on, it makes this slower.
local jit = rawget(_G, "jit")

local PARTS = { "clocks", "tasks", "cancel", "waits", "several", "life", "scopes", "owners",
  "ticks" }

for _, part in ipairs(PARTS) do
  local define = require("support.model." .. part)
  if jit then jit.off(define, true) end
  define(model)
end

return model
