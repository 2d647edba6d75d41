-- SPDX-License-Identifier: MIT
-- tarantool.lua - the work of resume.lua and pinned.lua on Tarantool's fibers.
--
-- usage: tarantool tarantool.lua compact|pinned N
--
-- fiber.yield() lets every other ready fiber run once. "pinned" yields inside a string.gsub
-- callback that never returns; to Tarantool that is the same thing, for each of its fibers keeps
-- its native stack.

local fiber = require "fiber"
local measure = require "measure"

local how, n = arg[1], tonumber(arg[2])
local seen, count = {}, 0
local yield = fiber.yield

local function body(i)
  for _ = 1, 2 do
    seen[#seen + 1] = i
    yield()
  end
  while true do
    count = count + 1
    yield()
  end
end

for i = 1, n do
  if how == "pinned" then
    fiber.create(function() return (string.gsub("x", ".", function() body(i) end)) end)
  else
    fiber.create(body, i)
  end
end
-- A fiber runs as soon as it is made, and a round does not begin and end where the main fiber's
-- does; so what is counted are the turns that the fibers had.
for _ = 1, 8 do yield() end
measure.checkTurns(seen, n, 2)
local before, total = count, 0
local ns = measure.loop(n, function(rounds)
  total = total + rounds
  for _ = 1, rounds do yield() end
end, nil, function() return count end)
measure.check(math.abs(count - before - total * n) <= 2 * n, "%d turns were counted instead of %d",
  count - before, total * n)
measure.print("ns", ns)
os.exit(0)
