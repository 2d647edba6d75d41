-- SPDX-License-Identifier: MIT
-- start.lua - start and finish of a routine that does next to nothing, against coroutine.wrap.
--
-- usage: start.lua weft|wrap [argument]
--
-- A thousand are started, then a tick runs them to their ends. The collector runs as it always
-- does: garbage is part of the price.

local measure = require "measure"

local side, n = arg[1], 1000
local given = arg[2] == "argument"
local count, total = 0, 0
local each = given and n * (n + 1) / 2 or n -- what a thousand of them add to the count

local function short() count = count + 1 end
local function shortWith(i) count = count + i end

local sides = {}

function sides.weft()
  local world = require "weft".world { capacity = n }
  if given then
    return function(rounds)
      for _ = 1, rounds do
        for i = 1, n do world:start(shortWith, i) end
        world:tick(1 / 60)
      end
    end
  end
  return function(rounds)
    for _ = 1, rounds do
      for _ = 1, n do world:start(short) end
      world:tick(1 / 60)
    end
  end
end

function sides.wrap()
  local wrap = coroutine.wrap
  if given then
    return function(rounds)
      for _ = 1, rounds do
        for i = 1, n do wrap(shortWith)(i) end
      end
    end
  end
  return function(rounds)
    for _ = 1, rounds do
      for _ = 1, n do wrap(short)() end
    end
  end
end

local run = sides[side]()
run(1)
measure.check(count == each, "the count is %d", count)
count = 0
local ns = measure.loop(n, function(rounds)
  total = total + rounds
  run(rounds)
end, 0.06)
measure.check(count == total * each, "not every routine ran")
measure.print("ns", ns)
