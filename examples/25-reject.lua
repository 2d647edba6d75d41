-- SPDX-License-Identifier: MIT
-- A service under more load than it can take says so at once: an inbox that grows without end
-- would only hide that, until there is no memory or nobody waits any more.
--
--   scripts/weft exec examples/25-reject.lua

local weft = require "weft"
local jobs = require "weft.jobs"
local routine = require "weft.routine"

local world = weft.world{}
local served = weft.signal()
local doors = jobs.barrier(1) -- holds the clerk back, so that this prints the same each time

world:post(function()
  local clerk = weft.service{
    name = "clerk", inbox = 3, gate = { "running" }, args = { doors },
    main = function(opened)
      local service = require "weft.service"
      opened:wait()
      for visitor in service.receive do service.reply("served " .. visitor) end
    end,
  }

  local function visit(visitor, patient)
    local call, reason = clerk:call(visitor)
    while not call and patient do
      print(visitor, reason .. ": waits outside")
      routine.waitFor(served)
      call, reason = clerk:call(visitor)
    end
    if not call then return print(visitor, reason .. ": goes home") end
    print(routine.await(call))
    served:fire()
  end

  for visitor = 1, 5 do routine.start(visit, visitor, visitor < 5) end
end)

world:tick(0)
doors:release()
repeat world:tick(0.5) until world:stats().active == 0

-- While the world is saved nothing new is begun.
world:setState "saving"
world:post(function()
  local printer = weft.service{ gate = { "running" }, main = function() end }
  print("saving:", printer:tryPost "page")
end)
world:tick(0)
world:close()

-- Output:
-- 4	full: waits outside
-- 5	full: goes home
-- served 1
-- served 2
-- served 3
-- served 4
-- saving:	false	gated
