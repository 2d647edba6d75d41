-- SPDX-License-Identifier: MIT
-- channels.lua - values handed from routine to routine through queues of four places.
--
-- usage: channels.lua weft|cqueues N
--
-- N pairs, each with a queue of its own. The cqueues side is a Lua table with two of its
-- conditions, as its manual has it.

local measure = require "measure"

local side, n = arg[1], tonumber(arg[2])
local places = 4
local got, sum = 0, 0
local sides = {}

function sides.weft()
  local weft = require "weft"
  local world = weft.world { capacity = 2 * n }
  for _ = 1, n do
    local channel = weft.channel(places)
    world:start(function()
      local i = 0
      while true do
        i = i + 1
        channel:put(i)
      end
    end)
    world:start(function()
      local last = 0
      while true do
        local value = channel:get()
        got = got + 1
        sum = sum + value - last
        last = value
      end
    end)
  end
  return function(rounds)
    for _ = 1, rounds do world:tick(0) end
  end
end

function sides.cqueues()
  local cqueues, condition = require "cqueues", require "cqueues.condition"
  local loop = cqueues.new()
  for _ = 1, n do
    local queue, first, count = {}, 0, 0
    local filled, emptied = condition.new(), condition.new()
    loop:wrap(function()
      local i = 0
      while true do
        i = i + 1
        while count == places do emptied:wait() end
        queue[(first + count) % places] = i
        count = count + 1
        filled:signal(1)
      end
    end)
    loop:wrap(function()
      local last = 0
      while true do
        while count == 0 do filled:wait() end
        local value = queue[first]
        first, count = (first + 1) % places, count - 1
        emptied:signal(1)
        got = got + 1
        sum = sum + value - last
        last = value
      end
    end)
  end
  return function(rounds)
    for _ = 1, rounds do assert(loop:step(0)) end
  end
end

local ns = measure.loop(n, sides[side](), nil, function() return got end)
measure.check(got > 0 and sum == got, "%d values arrived, %d in order", got, sum)
measure.print("ns", ns)
