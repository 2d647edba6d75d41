-- SPDX-License-Identifier: MIT
-- signals.lua - what a fire costs each that hears it, against a loop over a table.
--
-- usage: signals.lua weft|plain listeners|waiters N
--
-- Listeners are called, waiters resumed, with two values; the plain side calls what is in a table,
-- or resumes the coroutines in it, and checks nothing.

local measure = require "measure"

local side, what, n = arg[1], arg[2], tonumber(arg[3])
local count, sum = 0, 0

local function listener(a, b)
  count = count + 1
  sum = sum + a + b
end

-- Waits for two values again and again.
local function bodyOf(wait)
  return function()
    while true do
      local a, b = wait()
      count = count + 1
      sum = sum + a + b
    end
  end
end

local sides = { weft = {}, plain = {} }

function sides.weft.listeners()
  local signal = require("weft").signal()
  for _ = 1, n do signal:connect(listener) end
  return function(rounds)
    for i = 1, rounds do signal:fire(i, 1) end
  end
end

function sides.weft.waiters()
  local weft = require "weft"
  local world, signal = weft.world { capacity = n }, weft.signal()
  local body = bodyOf(function() return signal:wait() end)
  for _ = 1, n do assert(world:start(body)) end
  world:tick(0)
  return function(rounds)
    for i = 1, rounds do
      signal:fire(i, 1)
      world:tick(0)
    end
  end
end

function sides.plain.listeners()
  local list = {}
  for i = 1, n do list[i] = listener end
  return function(rounds)
    for i = 1, rounds do
      for k = 1, #list do list[k](i, 1) end
    end
  end
end

function sides.plain.waiters()
  local list, resume = {}, coroutine.resume
  local body = bodyOf(coroutine.yield)
  for i = 1, n do
    list[i] = coroutine.create(body)
    resume(list[i])
  end
  return function(rounds)
    for i = 1, rounds do
      for k = 1, #list do resume(list[k], i, 1) end
    end
  end
end

local run = sides[side][what]()
local fires, total = 0, 0
local ns = measure.loop(n, function(rounds)
  fires = fires + rounds
  total = total + (rounds * (rounds + 1) / 2 + rounds) * n
  run(rounds)
end)
measure.check(count == fires * n, "%d were heard, not %d", count, fires * n)
measure.check(sum == total, "the values add up to %d, not %d", sum, total)
measure.print("ns", ns)
