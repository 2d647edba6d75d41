-- SPDX-License-Identifier: MIT
-- timers.lua - N timers that are armed, each cancelled and armed anew in random order, and then all
-- expired within a hundred ticks.
--
-- usage: timers.lua weft|heap|luv N
--
-- The heap is the best one in Lua alone that we know: two arrays, four children to a node, the
-- place of each timer kept in it, so that a cancel takes it out at once. It keeps no order among
-- equal deadlines; the checks ask for none. libuv's timers are in real time: they get milliseconds,
-- and their expiry begins once all are due.

local measure = require "measure"

local side, n = arg[1], tonumber(arg[2])
local TICKS = 100

local fired, digest = 0, 0
local function fire(id)
  fired = fired + 1
  digest = (digest + id * (fired % 1000 == 0 and 3 or 1)) % 2147483647
end

-- Whole milliseconds from 1 to TICKS * 10, which are 10 to a tick.
local random = measure.random(12345)
local function deadline() return random(TICKS * 10) end

-- Each answers arm(id, ms) -> handle, cancel(handle), and tick(), which lets 10 ms pass.
local sides = {}

function sides.weft()
  local world = require "weft".world { timers = n }
  local owner = world:owner()
  return function(id, ms) return owner:after(ms / 1000, fire, id) end,
    function(handle) return handle:cancel() end,
    function() world:tick(0.01) end
end

function sides.heap()
  local keys, timers, count, now = {}, {}, 0, 0

  local function up(i, key, timer)
    local keys, timers = keys, timers -- luacheck: ignore 431
    while i > 1 do
      local parent = (i + 2 - (i + 2) % 4) / 4
      local above = keys[parent]
      if above <= key then break end
      local moved = timers[parent]
      keys[i], timers[i], moved.at = above, moved, i
      i = parent
    end
    keys[i], timers[i], timer.at = key, timer, i
  end

  local function down(i, key, timer)
    local keys, timers, count = keys, timers, count -- luacheck: ignore 431
    local child = i * 4 - 2
    while child <= count do
      local least = keys[child]
      for other = child + 1, child + 3 < count and child + 3 or count do
        if keys[other] < least then child, least = other, keys[other] end
      end
      if key <= least then break end
      local moved = timers[child]
      keys[i], timers[i], moved.at = least, moved, i
      i, child = child, child * 4 - 2
    end
    keys[i], timers[i], timer.at = key, timer, i
  end

  -- Closes the hole at `i` with the last one.
  local function fill(i)
    local key, timer = keys[count], timers[count]
    keys[count], timers[count] = nil, nil
    count = count - 1
    if i > count then return end
    if i > 1 and key < keys[(i + 2 - (i + 2) % 4) / 4] then
      up(i, key, timer)
    else
      down(i, key, timer)
    end
  end

  local function arm(id, ms)
    local timer = { fn = fire, id = id, at = 0 }
    count = count + 1
    up(count, now + ms, timer)
    return timer
  end

  local function cancel(timer)
    if timer.at == 0 then return false end
    fill(timer.at)
    timer.at = 0
    return true
  end

  local function tick()
    now = now + 10
    while count > 0 and keys[1] <= now do
      local timer = timers[1]
      timer.at = 0
      fill(1)
      timer.fn(timer.id)
    end
  end
  return arm, cancel, tick
end

function sides.luv()
  local uv = require "luv"
  local function arm(id, ms)
    local timer = uv.new_timer()
    timer:start(ms, 0, function()
      fire(id)
      timer:close()
    end)
    return timer
  end
  local function cancel(timer)
    timer:stop()
    timer:close()
    return true
  end
  return arm, cancel, function() uv.run "nowait" end
end

local arm, cancel, tick = sides[side]()

local function time(fn)
  local begin = os.clock()
  fn()
  return (os.clock() - begin) / n * 1e9
end

local handles, order = {}, measure.permutation(n, 777)
for i = 1, n do handles[i] = false end
collectgarbage()
collectgarbage()
measure.print("arm", time(function()
  for i = 1, n do handles[i] = arm(i, deadline()) end
end))
measure.print("cancel", time(function()
  for k = 1, n do
    local i = order[k]
    if not cancel(handles[i]) then error "it was not there" end
    handles[i] = arm(i, deadline())
  end
end))
if side == "luv" then
  local uv = require "luv"
  uv.sleep(TICKS * 10)
end
measure.print("expire", time(function()
  for _ = 1, TICKS do tick() end
end))
measure.check(fired == n, "%d of %d timers fired", fired, n)
