-- SPDX-License-Identifier: MIT
-- particles.lua - how busy 10,000 particles keep the threads of jobs.
--
-- The particles of each of four emitters are columns of their own, which go to jobs again as soon
-- as they are back, for 16 small steps at a time: nobody waits for a frame. This thread sleeps
-- until the oldest job is done. What is printed is the share of the time that the threads were at
-- work, as jobs.stats() has it.

local measure = require "measure"
local jobs = require "weft.jobs"
local uv = require "luv"
local weft = require "weft"

local PARTICLES, EMITTERS, STEPS, SECONDS, DT, WELL = 10000, 4, 16, 2, 1 / 960, 0.5

-- As move of examples/particles.lua, which is a program of its own and nothing to be required: what
-- it shows is what is measured, so keep them alike.
local function move(first, last, cols, dt, well)
  local age, seed, vx, vy, x, y = cols.age, cols.seed, cols.vx, cols.vy, cols.x, cols.y
  for i = first, last do
    local dx, dy = well - x[i], 1 - y[i]
    local pull = 2 / (dx * dx + dy * dy + 0.1)
    vx[i] = (vx[i] + pull * dx * dt) * 0.99
    vy[i] = (vy[i] + (pull * dy - 2) * dt) * 0.99
    x[i] = x[i] + vx[i] * dt
    y[i] = y[i] + vy[i] * dt
    if y[i] < 0 then y[i], vy[i] = -y[i], -vy[i] * 0.6 end
    age[i] = age[i] + dt
    if age[i] >= 3 then
      local one = seed[i] * 16807 % 2147483647
      local two = one * 16807 % 2147483647
      age[i], x[i], y[i], seed[i] = 0, 0, 0, two
      vx[i], vy[i] = one / 2147483647 * 2 - 1, two / 2147483647 * 2 + 2
    end
  end
end

local function newborn(i)
  return { age = 3 * i / PARTICLES, seed = i * 48271 % 2147483647, vx = 0, vy = 0, x = 0, y = 0 }
end

local TYPES = { age = "f64", seed = "u32", vx = "f64", vy = "f64", x = "f64", y = "f64" }

local function newEmitter(count)
  local cols, ids = weft.columns(TYPES), {}
  for i = 1, count do ids[i] = cols:add(newborn(i)) end
  return { cols = cols, ids = ids, steps = 0 }
end

local function moveOften(first, last, cols, dt, well, steps)
  for _ = 1, steps do move(first, last, cols, dt, well) end
end

local function start(emitter)
  emitter.job = emitter.cols:forEachParallel(moveOften, DT, WELL, STEPS)
  emitter.steps = emitter.steps + STEPS
end

local function finish(emitter)
  emitter.job:wait()
  emitter.job:result()
end

local list = {}
for i = 1, EMITTERS do list[i] = newEmitter(PARTICLES / EMITTERS) end
jobs.configure { workers = 2, background = 0 }
for _, emitter in ipairs(list) do start(emitter) end

local begin = uv.hrtime()
repeat
  for _, emitter in ipairs(list) do
    finish(emitter)
    start(emitter)
  end
until uv.hrtime() - begin > SECONDS * 1e9
local stats = jobs.stats()
for _, emitter in ipairs(list) do finish(emitter) end

-- The same steps by one thread on tables, for some of the rows: each particle is for itself.
local function check(emitter)
  local plain = {}
  for name in pairs(TYPES) do plain[name] = {} end
  for i = 1, 20 do
    for name, value in pairs(newborn(i)) do plain[name][i] = value end
  end
  for _ = 1, emitter.steps do move(1, 20, plain, DT, WELL) end
  for i = 1, 20 do
    for name in pairs(TYPES) do
      measure.check(emitter.cols:get(emitter.ids[i], name) == plain[name][i],
        "%s of particle %d after %d steps", name, i, emitter.steps)
    end
  end
end

for _, emitter in ipairs(list) do check(emitter) end
measure.print("percent", stats.utilisation * 100)
