-- SPDX-License-Identifier: MIT
--
-- Routines that wait for jobs, and who is told of failures.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local weft = require "weft"
local routine = require "weft.routine"

local done, raises, run = jobSupport.done, support.raises, support.untilIdle

-- A job that ends when the barrier is released.
local function waiting(...)
  local barrier = jobs.barrier(1)
  local job = jobs.run(function(b, ...)
    b:await()
    return ...
  end, barrier, ...)
  return job, barrier
end

describe("routine.await", function()
  it("gives the results of a job, and the world ticks on", function()
    local world = support.world{}
    local job, barrier = waiting(1, nil, "x")
    local got
    world:start(function() got = { n = select("#", routine.await(job)), routine.await(job) } end)
    for _ = 1, 5 do world:tick(0.1) end
    assert.is_nil(got)
    assert.equal("sleeping", world:inspect()[1].status)
    barrier:release()
    run(world)
    assert.same({ n = 3, 1, nil, "x" }, got)
  end)

  it("gives them at once of a job that has ended", function()
    local world = support.world{}
    local job = jobs.run(function() return 5 end)
    done(job)
    local got
    world:start(function() got = routine.await(job) end)
    world:tick(0)
    assert.equal(5, got)
  end)

  it("raises the job's error, with the traceback of its thread", function()
    local world = support.world{}
    local text, value
    world:start(function()
      text = select(2, pcall(routine.await, jobs.run(function() error "broken" end)))
      value = select(2, pcall(routine.await, jobs.run(function() error { 5 } end)))
    end)
    run(world)
    assert.truthy(text:find "job_await_spec.lua:%d+: broken\nstack traceback:\n", text)
    assert.same({ 5 }, value)
    assert.equal(0, #support.reports())
  end)

  it("raises Cancelled for a job that was cancelled", function()
    local world = support.world{}
    local barrier = jobs.barrier(1)
    local list = {}
    for i = 1, 2 do
      list[i] = jobs.run(function(b) while b:count() > 0 do end end, barrier)
      while list[i]:status() == "queued" do end
    end
    local job = jobs.run(function() end)
    local ok, err
    world:start(function() ok, err = pcall(routine.await, job) end)
    world:tick(0)
    assert.is_true(job:cancel())
    world:tick(0)
    assert.is_true(ok == false and err == routine.Cancelled)
    barrier:release()
    for i = 1, 2 do done(list[i]) end
  end)

  it("has a time limit", function()
    local world = support.world{}
    local job, barrier = waiting(7)
    local got
    world:start(function()
      got = { routine.await(job, 1) }
      got[3] = routine.await(job)
    end)
    world:tick(0)
    world:tick(0.5)
    assert.is_nil(got)
    world:tick(0.5)
    assert.same({ nil, "timeout" }, got)
    barrier:release()
    run(world)
    assert.same({ nil, "timeout", 7 }, got)
  end)

  it("works under C functions", function()
    local world = support.world{}
    local text
    world:start(function()
      text = ("a-b"):gsub("%a", function(c)
        return routine.await(jobs.run(function(x) return x:upper() end, c))
      end)
      local list = { 3, 1, 2 }
      table.sort(list, function(a, b)
        return routine.await(jobs.run(function(x, y) return x < y end, a, b))
      end)
      text = text .. table.concat(list)
    end)
    run(world)
    assert.equal("A-B123", text)
  end)

  it("wakes any number of routines, in the order in which they came", function()
    local world = support.world{}
    local job, barrier = waiting { 1 }
    local order = {}
    for i = 1, 10 do
      world:start(function()
        local t = routine.await(job)
        order[#order + 1] = i * t[1]
      end)
    end
    world:tick(0)
    barrier:release()
    run(world)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order)
  end)

  it("refuses what is no job, and to be called outside routines", function()
    local world = support.world{}
    raises("routine.await: a job expected, got table", routine.await, {})
    local job = jobs.run(function() end)
    raises("routine.await: not inside a routine", routine.await, job)
    local err
    world:start(function() err = select(2, pcall(routine.await, job, -1)) end)
    world:tick(0)
    assert.truthy(err:find "routine.await: timeout must be finite and >= 0, got %-1", err)
    done(job)
  end)
end)

describe("a routine that awaits a job", function()
  it("may be cancelled: the job goes on, and its result is dropped", function()
    local world = support.world{}
    local job, barrier = waiting(5)
    local used
    local handle = world:start(function() used = routine.await(job) end)
    world:tick(0)
    assert.is_true(handle:cancel())
    world:tick(0)
    assert.equal("cancelled", handle:status())
    barrier:release()
    assert.equal(5, done(job))
    world:tick(0)
    assert.is_nil(used)
  end)

  it("may be cancelled in the tick in which the job is taken in", function()
    local world = support.world{}
    local job, barrier = waiting(5)
    local used
    local handle = world:start(function() used = routine.await(job) end)
    world:tick(0)
    barrier:release()
    done(job)
    handle:cancel()
    world:tick(0)
    assert.is_nil(used)
    assert.equal("cancelled", handle:status())
  end)

  it("ends with its owner, and that of a world", function()
    local world = support.world{}
    local owner = world:owner()
    local job, barrier = waiting(5)
    local used
    owner:start(function() used = routine.await(job) end)
    world:tick(0)
    owner:destroy()
    world:tick(0)
    local other = support.world{}
    other:start(function() used = routine.await(job) end)
    other:tick(0)
    other:close()
    barrier:release()
    done(job)
    world:tick(0)
    assert.is_nil(used)
  end)

  it("ends on an object that came while the finalizer of the one before was due", function()
    local world = support.world{}
    local gate = jobs.barrier(1)
    local job = jobs.run(function(b) b:await() return 5 end, gate)
    local bringer = jobs.run(function(j) return j end, job)
    bringer:wait()
    local back, got
    if newproxy then -- what was made last is finalized first
      getmetatable(newproxy(true)).__gc = function() back = bringer:result() end
    else
      setmetatable({}, { __gc = function() back = bringer:result() end })
    end
    job = nil -- luacheck: ignore 311
    support.collect()
    assert.is_truthy(back)
    world:start(function() got = routine.await(back) end)
    world:tick(0)
    gate:release()
    back:wait()
    for _ = 1, 3 do world:tick(0) end
    assert.equal(5, got)
  end)

  it("keeps the job's object", function()
    local world = support.world{}
    local got
    world:start(function()
      got = routine.await(jobs.run(function()
        local t = {}
        for i = 1, 100 do t[i] = { i } end
        return t
      end))
    end)
    world:tick(0)
    support.collect()
    run(world)
    assert.equal(100, #got)
  end)
end)

describe("any and all", function()
  it("take jobs among routines", function()
    local world = support.world{}
    local job, barrier = waiting("from a job", 2)
    local handle = world:start(function() routine.wait(100) end)
    local first, every
    world:start(function()
      first = { routine.any { handle, job } }
      every = routine.all { job, jobs.run(function() return 1 end), timeout = 1000 }
    end)
    world:tick(0)
    barrier:release()
    done(job)
    while not every do world:tick(0) end
    assert.same({ 2, "from a job", 2 }, first)
    assert.same({ { n = 2, "from a job", 2 }, { n = 1, 1 } }, every)
    handle:cancel()
    world:tick(0)
  end)

  it("give nil and the error of a job that failed", function()
    local world = support.world{}
    local every
    world:start(function()
      every = routine.all { jobs.run(function() error("no", 0) end),
        jobs.run(function() return 1 end) }
    end)
    run(world)
    assert.is_nil(every[1][1])
    assert.truthy(every[1][2]:find "^no\nstack traceback")
    assert.equal(1, every[2][1])
    for _ = 1, 4 do world:tick(0) end
    assert.equal(0, #support.reports())
  end)
end)

describe("a failed job that nobody awaits", function()
  local function settle(world)
    assert(jobs.waitAll())
    for _ = 1, 4 do world:tick(0) end
  end

  it("is reported once, by the world that started it", function()
    local other = support.world{}
    local world = support.world{}
    world:start(function() jobs.run(function() error "lost" end) end)
    run(world)
    assert(jobs.waitAll())
    for _ = 1, 4 do other:tick(0) end
    assert.equal(0, #support.reports())
    settle(world)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.truthy(reports[1].err:find "job_await_spec.lua:%d+: lost\nstack traceback")
    assert.equal(world, reports[1].world)
    assert.is_nil(reports[1].handle)
  end)

  it("is not reported when its error was asked for in time", function()
    local world = support.world{}
    local job
    world:start(function() job = jobs.run(function() error "asked" end) end)
    run(world)
    assert(jobs.waitAll())
    world:tick(0)
    assert.is_false(pcall(job.result, job))
    settle(world)
    assert.equal(0, #support.reports())
  end)

  it("is not reported when it ends because another one was cancelled", function()
    local world = support.world{}
    world:start(function()
      jobs.run(function()
        local gate = jobs.barrier(1)
        local blocker = jobs.run(function(g) g:await() end, gate)
        local job
        for _ = 1, 50 do -- until one has not begun when it is cancelled
          job = jobs.run(function() end)
          if job:cancel() then break end
        end
        gate:release()
        blocker:await()
        job:await()
        error(require "weft.routine".Cancelled)
      end)
    end)
    run(world)
    settle(world)
    assert.equal(0, #support.reports())
  end)

  it("may still be asked after it was reported", function()
    local world = support.world{}
    local job
    world:start(function() job = jobs.run(function() error { 1 } end) end)
    run(world)
    settle(world)
    assert.same({ 1 }, support.reports()[1].err)
    local ok, err = pcall(job.result, job)
    assert.is_true(not ok and err[1] == 1)
    settle(world)
    assert.equal(1, #support.reports())
  end)
end)

describe("a failed job that a job has started", function()
  -- Starts a job that starts one that fails when the gate is open, and goes on with `after`.
  local function family(world, gate, after)
    local parent
    world:start(function()
      parent = jobs.run(function(g, fn)
        local child = jobs.run(function(b)
          b:await()
          error "lost"
        end, g)
        if fn then return fn(child) end
        return child
      end, gate, after)
    end)
    run(world)
    return parent
  end

  local function settle(world)
    for _ = 1, 4 do world:tick(0) end
  end

  local function fail(gate)
    local before = jobs.stats().failedJobs
    gate:release()
    while jobs.stats().failedJobs == before do end
  end

  it("is reported once, by the world that started the other, after its end", function()
    local other, world = support.world{}, support.world{}
    local gate, stay = jobs.barrier(1), jobs.barrier(1)
    local parent = family(world, gate, function() stay:await() end)
    fail(gate)
    settle(world)
    assert.equal(0, #support.reports())
    stay:release()
    parent:wait()
    settle(other)
    assert.equal(0, #support.reports())
    settle(world)
    local reports = support.reports()
    assert.equal(1, #reports)
    assert.truthy(reports[1].err:find "job_await_spec.lua:%d+: lost\nstack traceback")
    assert.equal(world, reports[1].world)
    assert.is_nil(reports[1].handle)
  end)

  it("is reported when it ends after the other, on a thread that has nothing else to do", function()
    local world, gate = support.world{}, jobs.barrier(1)
    done(family(world, gate))
    fail(gate)
    assert(jobs.waitAll())
    settle(world)
    assert.equal(1, #support.reports())
  end)

  it("is reported whatever line of jobs has led to it", function()
    local world = support.world{}
    world:start(function()
      jobs.run(function()
        jobs.run(function()
          for _ = 1, 3 do jobs.run(function() error { "deep" } end) end
        end)
      end)
      jobs.parallelFor(4, function(first)
        if first == 4 then jobs.parallelFor(1, function() error { "deep" } end) end
      end, { grain = 1 })
    end)
    run(world)
    assert(jobs.waitAll())
    settle(world)
    local reports = support.reports()
    assert.equal(4, #reports)
    for i = 1, 4 do assert.same({ "deep" }, reports[i].err) end
  end)

  it("is not reported when the other has asked, late as it be", function()
    local world, gate, stay = support.world{}, jobs.barrier(1), jobs.barrier(1)
    local parent = family(world, gate, function(child)
      stay:await()
      return (pcall(child.await, child))
    end)
    fail(gate)
    settle(world)
    stay:release()
    parent:wait()
    settle(world)
    assert.is_false((done(parent)))
    assert.equal(0, #support.reports())
  end)

  it("is not reported when it is awaited elsewhere", function()
    local world, gate = support.world{}, jobs.barrier(1)
    local child = done(family(world, gate))
    local asker = jobs.run(function(job) return (pcall(job.await, job)) end, child)
    while asker:status() ~= "suspended" do end
    fail(gate)
    assert(jobs.waitAll())
    settle(world)
    assert.is_false((done(asker)))
    gate = jobs.barrier(1)
    child = done(family(world, gate))
    local heard
    world:start(function() heard = not pcall(routine.await, child) end)
    world:tick(0)
    fail(gate)
    assert(jobs.waitAll())
    settle(world)
    assert.is_true(heard)
    assert.equal(0, #support.reports())
  end)
end)

describe("barrier:await", function()
  it("gives back what was lent to the jobs that have released it", function()
    local world = support.world{}
    local buffer, barrier, gate = weft.buffer("i32", 1), jobs.barrier(), jobs.barrier(1)
    jobs.schedule({ fn = function(b, g) g:await() b[1] = 7 end, barrier = barrier }, buffer, gate)
    local got
    world:start(function()
      gate:release()
      while barrier:count() > 0 do end
      barrier:await()
      got = tonumber(buffer[1])
    end)
    world:tick(0)
    assert.equal(7, got)
  end)

  it("goes on after a round that has ended between two ticks", function()
    local world = support.world{}
    local barrier = jobs.barrier(1)
    local rounds = 0
    world:start(function()
      for _ = 1, 3 do
        barrier:await()
        rounds = rounds + 1
        routine.nextTick()
      end
    end)
    world:tick(0)
    for round = 1, 2 do
      barrier:release()
      barrier:add() -- those who wait now wait for another round
      world:tick(0)
      assert.equal(round, rounds)
      world:tick(0)
      assert.equal(round, rounds)
    end
    barrier:release()
    world:tick(0)
    assert.equal(3, rounds)
  end)

  it("waits in a routine as in a job", function()
    local world = support.world{}
    local barrier = jobs.barrier(1)
    local through = false
    world:start(function()
      barrier:await()
      through = true
    end)
    for _ = 1, 3 do world:tick(0) end
    assert.is_false(through)
    barrier:release()
    world:tick(0)
    assert.is_true(through)
  end)
end)
