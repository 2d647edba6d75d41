-- SPDX-License-Identifier: MIT
-- resume.lua - one resume + wait of each of N routines, over and over.
--
-- usage: resume.lua weft|plain ordered|shuffled N
--
-- "ordered" resumes in creation order, so memory streams. "shuffled" is how sleepers really wake:
-- the routines first sleep until random deadlines, so that they become ready in an order that has
-- nothing to do with where they lie in memory, and then keep that order from tick to tick. The
-- plain side is the cheapest loop there can be: coroutine.resume over an array, nothing checked.

local measure = require "measure"

local side, order, n = arg[1], arg[2], tonumber(arg[3])
local shuffled = order == "shuffled"
local checked = 3 -- rounds whose order is written down before the clock starts

local seen, count = {}, 0

-- The body is the same on both sides but for the function that waits.
local function bodyOf(wait)
  return function(i)
    for _ = 1, checked do
      seen[#seen + 1] = i
      wait()
    end
    while true do
      count = count + 1
      wait()
    end
  end
end

local sides = {}

function sides.weft()
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world { capacity = n }
  local body = bodyOf(routine.nextTick)
  local place = measure.permutation(n, 4711)
  for i = 1, n do
    assert(world:start(function()
      if shuffled then routine.wait(place[i] * 1e-3) end
      return body(i)
    end))
  end
  if shuffled then
    world:tick(0)
    world:tick(n * 1e-3 + 1)
  end
  return function(rounds)
    for _ = 1, rounds do world:tick(1 / 60) end
  end
end

function sides.plain()
  local resume = coroutine.resume
  local body = bodyOf(coroutine.yield)
  local made, list = {}, {}
  for i = 1, n do
    made[i] = coroutine.create(function()
      if shuffled then coroutine.yield() end
      return body(i)
    end)
    if shuffled then resume(made[i]) end
  end
  local place = measure.permutation(n, 4711)
  for i = 1, n do list[i] = made[shuffled and place[i] or i] end
  return function(rounds)
    for _ = 1, rounds do
      for i = 1, n do resume(list[i]) end
    end
  end
end

local run = sides[side]()
-- The tick that wakes the sleepers of the shuffled order was a round already.
run(checked - #seen / n)
measure.checkOrder(seen, n, #seen / n, shuffled)
seen = {}
local total = 0
local ns = measure.loop(n, function(rounds)
  total = total + rounds
  run(rounds)
end)
measure.check(count == total * n, "%d resumes were counted instead of %d", count, total * n)
measure.print("ns", ns)
