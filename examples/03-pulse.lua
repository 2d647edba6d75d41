-- SPDX-License-Identifier: MIT
-- 03-pulse.lua - an effect that puts back what it changed, however it ends.
--
--   weft run examples/03-pulse.lua

local routine = require "weft.routine"

local function pulse(actor)
  local before = actor.scale
  routine.defer(function() actor.scale = before end) -- or a 5.4 `<close>` variable
  actor.scale = 2
  routine.wait(0.5)
  actor.scale = 0.5
  routine.wait(0.5)
end

local actor = { scale = 1 }

routine.start(function()
  local beat = routine.start(pulse, actor)
  routine.wait(0.25)
  print("grown", actor.scale)
  routine.wait(0.5)
  print("shrunk", actor.scale)
  routine.join(beat)
  print("after a whole pulse", actor.scale, beat:status())

  beat = routine.start(pulse, actor)
  routine.wait(0.75)
  routine.cancel(beat)
  print("half-way, asked to stop", actor.scale, beat:status())
  routine.join(beat)
  print("after its cleanup", actor.scale, beat:status())
end)

-- Output:
-- grown	2
-- shrunk	0.5
-- after a whole pulse	1	completed
-- half-way, asked to stop	0.5	cancelling
-- after its cleanup	1	cancelled
