-- SPDX-License-Identifier: MIT
-- memory.lua - resident bytes per sleeper, of N, everything that grows with N counted: the world's
-- slots, the coroutines and what the allocator rounds up.
--
-- usage: memory.lua weft|plain N

local measure = require "measure"

local side, n = arg[1], tonumber(arg[2])
local awake = 0
local sides = {}

function sides.weft()
  local weft, routine = require "weft", require "weft.routine"
  local function body()
    awake = awake + 1
    routine.wait(1e6)
    error("woken")
  end
  weft.world { capacity = 1 }:close()
  return function()
    local world = weft.world { capacity = n }
    for _ = 1, n do assert(world:start(body)) end -- no handle is kept
    world:tick(1 / 60)
    local stats = world:stats()
    measure.check(stats.sleeping == n and stats.pinned == 0, "%d sleep, %d are pinned",
      stats.sleeping, stats.pinned)
    return world
  end
end

function sides.plain()
  local function body()
    awake = awake + 1
    coroutine.yield(1e6)
    error("woken")
  end
  return function()
    local list = {}
    for i = 1, n do
      list[i] = coroutine.create(body)
      coroutine.resume(list[i])
    end
    return list
  end
end

local make = sides[side]()
collectgarbage()
collectgarbage()
local before = measure.resident()
local kept = make()
collectgarbage()
collectgarbage()
local bytes = (measure.resident() - before) / n
measure.check(kept ~= nil and awake == n, "%d of %d began to sleep", awake, n)
measure.print("bytes", bytes)
