-- SPDX-License-Identifier: MIT
-- sleepers.lua - N sleepers with random deadlines for ten simulated minutes: each sleeps 0.1 to 60
-- seconds, over and over.
--
-- usage: sleepers.lua weft|heap N
--
-- The peer is a scheduler written in Lua alone, with every short cut that such a small one can
-- take: plain coroutines that yield their seconds, a heap in two arrays, no garbage, and the root
-- replaced in place by the sleeper's next deadline, so that a wake costs one sift and not a pop and
-- a push. Four children to a node beat two by a tenth on Lua 5.4 and are level on LuaJIT.
--
-- Deadlines never fall within 60 us of a tick, so that no rounding moves a wake to another tick;
-- the digest of the wakes of every tick must be the same on both sides.

local measure = require "measure"

local side, n = arg[1], tonumber(arg[2])
local dt, ticks = 1 / 64, 600 * 64
local wakes = 0

local function bodyOf(wait)
  return function(i)
    local state = i * 7919 % 2147483647
    while true do
      state = state * 16807 % 2147483647
      wait((state % 479200 * 125 + 100062) * 1e-6)
      wakes = wakes + 1
    end
  end
end

local sides = {}

function sides.weft()
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world { capacity = n }
  local body = bodyOf(routine.wait)
  for i = 1, n do assert(world:start(body, i)) end
  world:tick(0)
  return function() world:tick(dt) end
end

function sides.heap()
  local resume = coroutine.resume
  local keys, sleepers, now = {}, {}, 0

  -- The least of the last children, who are fewer than four.
  local function leastOfFew(first)
    local least = first
    for child = first + 1, n do
      if keys[child] < keys[least] then least = child end
    end
    return least, keys[least]
  end

  -- The hole at `i` goes down to where `key` belongs.
  local function settle(i, key, sleeper)
    local keys, sleepers, last = keys, sleepers, n - 3 -- luacheck: ignore 431
    local child = i * 4 - 2
    while child <= n do
      local least = keys[child]
      if child <= last then
        local other, second, third, fourth = child + 2, keys[child + 1], keys[child + 2],
          keys[child + 3]
        if second < least then child, least = child + 1, second end
        if fourth < third then other, third = other + 1, fourth end
        if third < least then child, least = other, third end
      else
        child, least = leastOfFew(child)
      end
      if key <= least then break end
      keys[i], sleepers[i] = least, sleepers[child]
      i, child = child, child * 4 - 2
    end
    keys[i], sleepers[i] = key, sleeper
  end

  local body = bodyOf(coroutine.yield)
  for i = 1, n do
    local sleeper = coroutine.create(body)
    local _, seconds = resume(sleeper, i)
    keys[i], sleepers[i] = seconds, sleeper
  end
  for i = math.floor((n + 2) / 4), 1, -1 do settle(i, keys[i], sleepers[i]) end

  return function()
    now = now + dt
    while keys[1] <= now do
      local sleeper = sleepers[1]
      local _, seconds = resume(sleeper)
      settle(1, now + seconds, sleeper)
    end
  end
end

local tick = sides[side]()
collectgarbage()
collectgarbage()
local digest = 0
local begin = os.clock()
for _ = 1, ticks do
  tick()
  digest = (digest * 31 + wakes) % 2147483647
end
local seconds = os.clock() - begin
measure.check(wakes > n * 15, "only %d wakes", wakes)
measure.print("digest", digest)
measure.print("wakes", wakes)
measure.print("ms", seconds * 1e3)
