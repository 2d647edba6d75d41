-- SPDX-License-Identifier: MIT
-- particles.lua - ten thousand particles as columns, moved by a loop in Lua and by a kernel in C,
-- on one thread and on all: they end at the same places, to the last bit, on both machines.
--
--   make examples    # the kernel, particles-kernel.c
--   scripts/weft exec examples/particles.lua [--no-timings]

local weft = require "weft"
local jobs = require "weft.jobs"
local routine = require "weft.routine"

local COUNT, TICKS, DT = 10000, 30, 1 / 20
local here = arg[0]:match "^(.*)/" or "."
local mode = os.getenv "WEFT_MODE" or "release"
local kernel = jobs.kernel(here .. "/../build/" .. mode .. "/examples/particles-kernel.so",
  "particles_move")

-- --- One step -------------------------------------------------------------------------------

-- Rows `first` to `last` of `cols`, whose columns are buffers or tables: it does not matter here.
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

-- Where the well is that pulls them.
local function wellAt(tick)
  return tick / TICKS * 4 - 2
end

-- A first row: all of them come out of the ground at once, but not with one age.
local function newborn(i)
  return { age = 3 * i / COUNT, seed = i * 48271 % 2147483647, vx = 0, vy = 0, x = 0, y = 0 }
end

-- --- Four ways ------------------------------------------------------------------------------

local TYPES = { age = "f64", seed = "u32", vx = "f64", vy = "f64", x = "f64", y = "f64" }

-- Columns of one table each, filled in.
local function lists(make)
  local cols = {}
  for name, kind in pairs(TYPES) do cols[name] = make(kind) end
  for i = 1, COUNT do
    for name, value in pairs(newborn(i)) do cols[name][i] = value end
  end
  return cols, function(name, i) return cols[name][i] end
end

local function byLoop()
  local cols, get = lists(function() return {} end)
  return function(tick) move(1, COUNT, cols, DT, wellAt(tick)) end, get
end

-- A grain of all of it is one part, on one thread.
local function byKernel()
  local b, get = lists(function(kind) return weft.buffer(kind, COUNT) end)
  return function(tick)
    local job = jobs.parallelFor(COUNT, kernel, { grain = COUNT,
      args = { b.age, b.seed, b.vx, b.vy, b.x, b.y, DT, wellAt(tick) } })
    routine.await(job)
  end, get
end

local function byColumns(how)
  return function()
    local particles, ids = weft.columns(TYPES), {}
    for i = 1, COUNT do ids[i] = particles:add(newborn(i)) end
    local function get(name, i) return particles:get(ids[i], name) end
    return function(tick)
      routine.await(particles:forEachParallel(how, DT, wellAt(tick)))
    end, get
  end
end

-- --- What came of it ------------------------------------------------------------------------

local function digest(get)
  local sum = 0
  for i = 1, COUNT do
    sum = (sum * 31 + math.floor(get("x", i) * 65536)) % 2147483647
    sum = (sum * 31 + math.floor(get("y", i) * 65536)) % 2147483647
  end
  return ("%d"):format(sum)
end

local SHADES = { [0] = " ", ".", ".", ":", ":", "+", "+", "*", "*", "#" }

local function draw(get)
  local seen = {}
  for i = 1, COUNT do
    local column, row = math.floor((get("x", i) + 3) * 12), math.floor(get("y", i) * 7)
    local place = row * 72 + column
    if column >= 0 and column < 72 then seen[place] = (seen[place] or 0) + 1 end
  end
  for row = 13, 0, -1 do
    local line = {}
    for column = 0, 71 do
      local many = (seen[row * 72 + column] or 0) / 4
      line[#line + 1] = SHADES[math.min(math.ceil(many), #SHADES)]
    end
    print((table.concat(line):gsub(" +$", "")))
  end
end

local world = weft.world{}

local function run(name, make)
  local step, get = make()
  local begin = os.clock()
  world:start(function()
    for tick = 1, TICKS do step(tick) end
  end)
  while world:stats().active > 0 do
    world:tick(DT)
    jobs.waitAll() -- nothing else goes on in this world
  end
  local ms = (os.clock() - begin) * 1000
  local timing = arg[1] ~= "--no-timings" and ("%8.1f ms of the processors"):format(ms) or ""
  print(("%-20s %s%s"):format(name, digest(get), timing))
  return get
end

run("Lua, one thread", byLoop)
run("C, one thread", byKernel)
run("Lua, all threads", byColumns(move))
draw(run("C, all threads", byColumns(kernel)))
world:close()

-- Output:
-- Lua, one thread      572597620
-- C, one thread        572597620
-- Lua, all threads     572597620
-- C, all threads       572597620
--                   .............:+++++::+:+:::::::..
--                   ...........:::+::::++*+++:+::::..
--                    ..........:.:+*+*+*++++:++::::..
--                     ........:.::**+++++*+**++:::...
--                       .........::++****++:::::....
--                            .....***+++:*+++:....
--                                .:+++****++:.....
--                                .:****++*++:..
--                                 .+*##**+...
--                                 .+#***#+..
--                                  :####+.
--                                   +##*.
--                                   .##:
--                                 #  ##
