-- SPDX-License-Identifier: MIT
-- start.lua - start and finish of a routine that does next to nothing, against coroutine.wrap.
--
-- usage: start.lua weft|wrap
--
-- A thousand are started, then a tick runs them to their ends. The collector runs as it always
-- does: garbage is part of the price.

local measure = require "measure"

local side, n = arg[1], 1000
local count, total = 0, 0
local function short(i) count = count + i end

local sides = {}

function sides.weft()
  local world = require "weft".world { capacity = n }
  return function(rounds)
    for _ = 1, rounds do
      for i = 1, n do world:start(short, i) end
      world:tick(1 / 60)
    end
  end
end

function sides.wrap()
  local wrap = coroutine.wrap
  return function(rounds)
    for _ = 1, rounds do
      for i = 1, n do wrap(short)(i) end
    end
  end
end

local run = sides[side]()
run(1)
measure.check(count == n * (n + 1) / 2, "the sum is %d", count)
count = 0
local ns = measure.loop(n, function(rounds)
  total = total + rounds
  run(rounds)
end, 0.06)
measure.check(count == total * n * (n + 1) / 2, "not every routine ran")
measure.print("ns", ns)
