-- SPDX-License-Identifier: MIT
--
-- What the specs of failing memory try with jobs (oom_jobs_lua54_spec.c).
--
-- Each scenario is a function that is called while memory may fail. It returns "complete" when all
-- that it asked for happened, "told" when a call refused with a reason; or it raises. Each job that
-- `start` was given ends once: a barrier counts it.

local weft, routine, jobs = require "weft", require "weft.routine", require "weft.jobs"
local report = rawget(_G, "report") -- counts

jobs.configure{ workers = 1, background = 0, capacity = 64 }
assert(jobs.run(function() end):wait())

local world = weft.world{ capacity = 8 }
world.onError = report

local scenarios, ends, list = {}, jobs.barrier(), {}

local function scenario(name, act)
  scenarios[#scenarios + 1] = { name = name, act = act }
end

-- A job that is counted.
local function start(fn, ...)
  local job = jobs.schedule({ fn = fn, barrier = ends }, ...)
  if job then list[#list + 1] = job end
  return job
end

local function done(job)
  job:wait()
  return job:result()
end

local buffer = weft.buffer("f64", 100)
local columns = weft.columns{ x = "f32" }
for i = 1, 70 do columns:add{ x = i } end

scenario("arguments and results", function()
  local job = start(function(t, n) t.n = n return t, "text" .. n, #t end, { 1, { 2 } }, 3)
  if not job then return "told" end
  local t, text, count = done(job)
  return t.n == 3 and t[2][1] == 2 and text == "text3" and count == 2 and job:result() == t
    and "complete"
end)

scenario("a routine that awaits", function()
  local sum = 0
  local function body(k)
    local job = start(function(n) return { n } end, k)
    local n = job and routine.await(job)[1] or 100
    sum = sum + n
  end
  if not (world:start(body, 1) and world:start(body, 2)) then return "told" end
  for _ = 1, 4 do
    world:tick(0)
    jobs.waitAll()
  end
  return (sum == 3 or sum > 100) and "complete" or "sum " .. sum
end)

scenario("an error", function()
  local job = start(function() error { "mine" } end)
  if not job then return "told" end
  local ok, err = pcall(done, job)
  if type(err) == "table" and not ok then return err[1] == "mine" and "complete" end
  error(err, 0)
end)

scenario("errors that nobody awaits", function()
  if not start(function() error "mine" end) then return "told" end
  local parent = start(function()
    local own = require "weft.jobs"
    own.run(function() error { "inner" } end)
  end)
  if not parent then return "told" end
  jobs.waitAll()
  local count = 0
  world.onError = function() count = count + 1 report() end
  for _ = 1, 4 do world:tick(0) end
  world.onError = report
  if count < 2 then return done(parent) and "" end -- or the parent has failed
  return count == 2 and "complete"
end)

scenario("a range", function()
  local job = jobs.parallelFor(#buffer, function(first, last, b)
    for i = first, last do b[i] = b[i] + 1 end
  end, { grain = 30, args = { buffer } })
  if not job then return "told" end
  list[#list + 1] = job
  done(job)
  return "complete"
end)

scenario("columns", function()
  local job = columns:forEachParallel(function(first, last, c)
    for i = first, last do c.x[i] = c.x[i] + 1 end
  end)
  if not job then return "told" end
  list[#list + 1] = job
  done(job)
  return columns:remove(columns:add{}) and "complete"
end)

-- Whatever fails meanwhile, who waits is let go.
scenario("barriers", function()
  local gate = jobs.barrier(1)
  local function body(b) b:await() return true end
  local ok, one, two = pcall(function() return start(body, gate), start(body, gate) end)
  gate:release()
  if not ok then error(one, 0) end
  if not (one and two) then return "told" end
  return done(one) and done(two) and "complete"
end)

scenario("a cancel", function()
  local gate = jobs.barrier(1)
  local ok, answer = pcall(function()
    local holder = start(function(b) while b:count() > 0 do end end, gate)
    if not holder then return "told" end
    while holder:status() == "queued" do end
    local job = start(function() return 1 end)
    if not job then return "told" end
    if holder:status() == "running" then assert(job:cancel()) else job:cancel() end
    local fine, err = pcall(done, job)
    return (fine or err == routine.Cancelled or error(err, 0)) and "complete"
  end)
  gate:release()
  return ok and answer or error(answer, 0)
end)

scenario("jobs in jobs", function()
  local job = start(function(b)
    local own = require "weft.jobs"
    local function part(x, from) return { x, b[from] } end
    local one, two = own.run(part, 1, 1), own.run(part, 2, 2)
    local failing = own.run(function() error("inner", 0) end)
    local ok, err = pcall(failing.await, failing)
    if ok or not err:find "inner" then error(err, 0) end
    return one:await()[1] + two:await()[1]
  end, buffer:shared())
  if not job then return "told" end
  return done(job) == 3 and "complete"
end)

scenario("a module that waits as it is loaded", function()
  local function body()
    package.loaded.slow = nil
    package.preload.slow = package.preload.slow or function()
      require "weft.jobs".yield()
      return { 5 }
    end
    return require "slow"[1]
  end
  local one, two = start(body), start(body)
  if not (one and two) then return "told" end
  return done(one) + done(two) == 10 and "complete"
end)

scenario("a buffer that a job has made", function()
  local job = start(function()
    local b = require "weft".buffer("u8", 1000):fill(3)
    return b, b:slice(2, 3)
  end)
  if not job then return "told" end
  local whole, part = done(job)
  part[1] = 4
  return whole[2] == 4 and #part == 2 and "complete"
end)

local function settle()
  for _ = 1, 6 do
    assert(jobs.waitAll())
    world:tick(0)
  end
  assert(world:stats().active == 0, "a routine never ends")
end

local endings = { completed = true, failed = true, cancelled = true }

local function works()
  assert(ends:count() == 0, "a job has not ended once")
  local stats = jobs.stats()
  assert(stats.pendingJobs == 0 and stats.activeWorkers <= 1)
  for i, job in ipairs(list) do
    assert(endings[job:status()], "a job has not ended")
    list[i] = nil
  end
  buffer[1] = buffer[1] -- not on loan any more
  columns:remove(columns:add{})
  local answer = done(jobs.run(function(t) return { t[1] + 1 } end, { 1 }))
  assert(answer[1] == 2, "jobs do not work any more")
end

return function(index)
  local chosen = scenarios[index]
  if not chosen then
    world:close()
    return nil
  end
  chosen.act() -- what is made at the first use is there
  settle()
  works()
  return { name = chosen.name, act = chosen.act, settle = settle, works = works }
end
