-- SPDX-License-Identifier: MIT
-- 18-fixed-steps.lua - a spring that swings the same whatever the ticks are. What integrates forces
-- wants steps of one length: the world cuts its time into them and runs a phase for each, and a
-- routine can wait for some of them.
--
--   weft exec examples/18-fixed-steps.lua

local weft = require "weft"
local routine = require "weft.routine"

local STEP = 1 / 50

-- Two seconds of the spring, in ticks of those lengths, over and over.
local function play(name, ticks)
  local world = weft.world { fixedStep = STEP }
  local spring = { x = 1, v = 0, crossings = 0 }

  -- The physics: semi-implicit Euler, which needs its steps to be equal.
  world:on("fixedUpdate", function(dt)
    local before = spring.x
    spring.v = spring.v - 40 * spring.x * dt
    spring.x = spring.x + spring.v * dt
    if before * spring.x < 0 then spring.crossings = spring.crossings + 1 end
  end)

  -- A routine goes on once a tick at most, and is told how many steps there were by then.
  local third
  world:start(function() third = routine.waitFixed(33) end)
  world:tick(0)

  local i = 0
  while world.simTime < 2 - 1e-6 do
    i = i % #ticks + 1
    world:tick(math.min(ticks[i], 2 - world.simTime))
  end
  local stats = world:stats()
  print(("%s: x = %.9f after %d steps, through the middle %d times"):format(name, spring.x,
    stats.fixedSteps, spring.crossings))
  print(("  in %d ticks; a third of it was seen after %d steps"):format(world.tickCount, third))
  world:close()
end

play("a steady machine", { 1 / 60 })
play("a slow one", { 1 / 25 })
play("an uneven one", { 1 / 144, 1 / 30, 1 / 90, 1 / 20 })

-- Eight steps a tick at most: a machine that cannot keep up gets slower, and is told.
local world = weft.world { fixedStep = STEP }
world:on("fixedUpdate", function() end)
world:tick(1)
print(("a tick of a second: %d steps run, %d dropped"):format(world:stats().fixedSteps,
  world:stats().droppedSteps))
world:close()

-- Output:
-- a steady machine: x = 0.990074458 after 100 steps, through the middle 4 times
--   in 121 ticks; a third of it was seen after 33 steps
-- a slow one: x = 0.990074458 after 100 steps, through the middle 4 times
--   in 51 ticks; a third of it was seen after 34 steps
-- an uneven one: x = 0.990074458 after 100 steps, through the middle 4 times
--   in 81 ticks; a third of it was seen after 35 steps
-- a tick of a second: 8 steps run, 42 dropped
