-- SPDX-License-Identifier: MIT
-- What the specs about waits share: driving a world tick by tick with a full
-- collection in between, pauses of a set length, and a loop that is hot enough
-- to be compiled. Knows of worlds and routines, and of busted nothing.

local routine = require "weft.routine"

local drive = {}

-- Ticks `n` seconds of a second each, collecting everything between them, so
-- that what only a waiting stack refers to would be lost if it were not marked.
function drive.ticks(world, n)
  for _ = 1, n do
    world:tick(1)
    collectgarbage()
  end
end

-- Ticks until every handle has ended, at most `limit` times; true if they have.
function drive.untilended(world, handles, limit)
  for _ = 1, limit do
    local live = false
    for _, h in ipairs(handles) do
      local status = h:status()
      live = live or status == "queued" or status == "running"
        or status == "sleeping" or status == "cancelling"
    end
    if not live then return true end
    drive.ticks(world, 1)
  end
  return false
end

-- A pause for a way: routine number `id` waits 1 to 4 seconds, another length
-- each time and in each routine, so that routines wake in an order that differs
-- from the one in which they went to sleep. `before` is called with the count.
function drive.pause(id, before)
  local count = 0
  return function()
    count = count + 1
    if before then before(count) end
    local seconds = 1 + (id * 3 + count * (id + 1)) % 4
    local slept = routine.wait(seconds)
    if slept ~= seconds then error("slept " .. tostring(slept), 0) end
  end
end

-- The pause that specs give to a way outside a routine.
function drive.nothing() end

-- Arithmetic in a loop that any JIT compiler compiles at once. After a stack
-- switch that left the compiler in a wrong state this is where it shows.
function drive.hot()
  local sum = 0
  for i = 1, 400 do sum = (sum + i * 3) % 1009 end
  return sum
end

drive.hotsum = drive.hot()

return drive
