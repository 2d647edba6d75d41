-- SPDX-License-Identifier: MIT
-- crowd.lua - many jobs from Lua at once, and one that is in a hurry.
--
-- usage: crowd.lua jobs|range|critical
--
-- jobs: 10,000 from the first start to the last result. range: a parallelFor over a million
-- indices, with one Lua function for them. critical: from the start of a critical job until it
-- runs, behind 20 background jobs of 200 ms each, with the pool as it is without jobs.configure.
-- Times are those of the clock on the wall; luv is here for its clock.

local uv = require "luv"
local jobs = require "weft.jobs"
local weft = require "weft"
local measure = require "measure"

local JOBS, INDICES, POSTS = 10000, 1000000, 200

local function result(job)
  job:wait()
  return job:result()
end

-- The median of `count` turns in milliseconds, after some that nobody counts.
local function median(count, turn)
  local taken = {}
  for i = -2, count do
    local begin = uv.hrtime()
    turn()
    taken[math.max(i, 1)] = (uv.hrtime() - begin) / 1e6
  end
  table.sort(taken)
  return taken[math.ceil(count / 2)]
end

local ways = {}

function ways.jobs()
  jobs.configure { workers = 2, background = 0, capacity = JOBS }
  local function add(a, b) return a + b end
  local list = {}
  measure.print("ms", median(15, function()
    for i = 1, JOBS do list[i] = assert(jobs.run(add, i, 1)) end
    for i = 1, JOBS do measure.check(result(list[i]) == i + 1, "job %d", i) end
  end))
end

function ways.range()
  jobs.configure { workers = 2, background = 0 }
  local sums = weft.buffer("f64", INDICES)
  local options = { args = { sums } }
  local function part(first, last, out)
    local sum = 0
    for i = first, last do sum = sum + i end
    out[first] = sum
  end
  measure.print("ms", median(25, function() result(jobs.parallelFor(INDICES, part, options)) end))
  sums:fill(0)
  result(jobs.parallelFor(INDICES, part, options))
  local sum = 0
  for i = 1, INDICES do sum = sum + sums[i] end
  measure.check(sum == INDICES * (INDICES + 1) / 2, "the sum is %g", sum)
end

function ways.critical()
  local function work()
    local clock = require("luv").hrtime
    local finish = clock() + 200e6
    while clock() < finish do end -- luacheck: ignore 542
  end
  local function begun() return (require("luv").hrtime()) end
  local urgent = { fn = begun, priority = "critical" }
  result(jobs.schedule(urgent))
  for _ = 1, 20 do jobs.schedule { fn = work, priority = "background" } end
  local delays = {}
  for i = 1, POSTS do
    uv.sleep(i % 2 == 0 and 2 or 3)
    local posted = uv.hrtime()
    delays[i] = (result(jobs.schedule(urgent)) - posted) / 1e6
  end
  measure.check(jobs.stats().pendingJobs > 0, "it was behind nothing")
  table.sort(delays)
  for _, share in ipairs { 50, 90, 99, 100 } do
    measure.print("p" .. share, delays[POSTS * share / 100])
  end
  os.exit(0) -- without what is left of the four seconds
end

ways[arg[1]]()
