-- SPDX-License-Identifier: MIT
--
-- Buffers that are with jobs: who may touch them when. And loops over them on all threads.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local weft = require "weft"
local routine = require "weft.routine"

local done, failure, raises = jobSupport.done, jobSupport.failure, support.raises
local unpack = table.unpack or unpack

local function read(buffer, i) return tonumber(buffer[i]) end
local function write(buffer, i, value) buffer[i] = value end

-- A job that has what it is given until the barrier is released.
local function holder(...)
  local barrier = jobs.barrier(1)
  local job = jobs.run(function(b, ...)
    b:await()
    return ...
  end, barrier, ...)
  return job, function()
    barrier:release()
    return done(job)
  end
end

local TYPES = { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64" }

describe("a buffer that is with a job", function()
  it("is the same memory", function()
    for _, type in ipairs(TYPES) do
      local buffer = weft.buffer(type, 100):fill(1)
      done(jobs.run(function(b) for i = 1, #b do b[i] = b[i] + i end end, buffer))
      for i = 1, 100 do assert.equal(i + 1, read(buffer, i)) end
    end
  end)

  it("may not be touched, nor lent, before its end was taken in", function()
    local buffer = weft.buffer("f32", 4)
    local slice = buffer:slice(2, 3)
    local job, finish = holder({ deep = buffer })
    local loan = "buffer is on loan to job %d+$"
    raises("^[^:]+:%d+: " .. loan, function() return buffer[1] end)
    raises("^[^:]+:%d+: " .. loan, function() buffer[1] = 1 end)
    raises(loan, read, slice, 1)
    raises(loan, write, slice, 1, 1)
    raises("buffer:fill: " .. loan, buffer.fill, buffer, 1)
    raises("buffer:copy: " .. loan, buffer.copy, buffer)
    raises("buffer:string: " .. loan, buffer.string, buffer)
    raises("jobs.run: argument 1: " .. loan, jobs.run, read, buffer)
    raises("jobs.run: argument 2: " .. loan, jobs.run, read, 1, { slice })
    raises("jobs.run: argument 1: " .. loan, jobs.run, read, buffer:shared())
    if support.vm == "luajit" then raises("buffer:ptr: " .. loan, buffer.ptr, buffer) end
    assert.equal(4, #buffer)
    finish()
    buffer[1] = 5
    assert.equal(5, read(buffer, 1))
    assert.equal("completed", job:status())
  end)

  it("is named after the job", function()
    local barrier = jobs.barrier(1)
    local buffer = weft.buffer("u8", 1)
    local job = jobs.schedule({ name = "path", fn = function(_, b) b:await() end }, buffer, barrier)
    raises("buffer is on loan to job %d+ 'path'$", read, buffer, 1)
    barrier:release()
    done(job)
    assert.equal(0, read(buffer, 1))
  end)

  it("may be captured", function()
    local buffer = weft.buffer("u8", 1)
    local barrier = jobs.barrier(1)
    local job = jobs.run(function() barrier:await() buffer[1] = 3 end)
    raises("buffer is on loan", read, buffer, 1)
    raises("jobs.run: what the function captures: buffer is on loan to job %d+$", jobs.run,
      function() return buffer end)
    barrier:release()
    done(job)
    assert.equal(3, read(buffer, 1))
  end)

  it("is back in stage 2, by isComplete, wait, waitAll and await", function()
    local buffer = weft.buffer("u8", 1)
    local world = support.world{}
    local function lend()
      local job, finish = holder(buffer)
      raises("on loan", read, buffer, 1)
      return job, finish
    end
    local _, finish = lend()
    finish()
    assert.equal(0, read(buffer, 1))
    local job = jobs.run(function() end, buffer)
    while not job:isComplete() do end
    assert.equal(0, read(buffer, 1))
    jobs.run(function() end, buffer)
    assert.is_true(jobs.waitAll())
    assert.equal(0, read(buffer, 1))
    jobs.run(function() end, buffer)
    while jobs.stats().pendingJobs + jobs.stats().activeWorkers > 0 do end
    repeat
      world:tick(0)
    until pcall(read, buffer, 1)
    world:start(function()
      routine.await(jobs.run(function() end, buffer))
      assert(read(buffer, 1) == 0)
    end)
    repeat world:tick(0) until world:stats().active == 0
  end)

  it("is back when the job has failed or was cancelled, or was never queued", function()
    local buffer = weft.buffer("u8", 1)
    failure(jobs.run(function(b) error(tostring(b[1])) end, buffer))
    assert.equal(0, read(buffer, 1))
    pcall(jobs.run, print, buffer, io.stdout)
    assert.equal(0, read(buffer, 1))
    local barrier = jobs.barrier(1)
    local list = {}
    for i = 1, 2 do
      list[i] = jobs.run(function(b) while b:count() > 0 do end end, barrier)
      while list[i]:status() == "queued" do end
    end
    local job = jobs.run(function() end, buffer)
    raises("on loan", read, buffer, 1)
    assert.is_true(job:cancel())
    assert.equal(0, read(buffer, 1))
    barrier:release()
    for i = 1, 2 do done(list[i]) end
  end)

  it("may be with several jobs in parts", function()
    local buffer = weft.buffer("i32", 100)
    local first, finish = holder(buffer:slice(1, 50))
    local _, finishOther = holder(buffer:slice(51, 90))
    raises("on loan", read, buffer, 50)
    raises("on loan", read, buffer, 51)
    raises("on loan", buffer.string, buffer)
    buffer[91] = 5
    assert.equal(5, read(buffer, 91))
    raises("on loan", jobs.run, read, buffer:slice(50, 51))
    finish()
    assert.equal("completed", first:status())
    assert.equal(0, read(buffer, 50))
    raises("on loan", read, buffer, 51)
    finishOther()
    assert.equal(5 * 4, #buffer:slice(90, 94):string())
  end)

  it("comes back as the same memory when it is a result", function()
    local buffer = weft.buffer("i32", 4)
    local back, same = done(jobs.run(function(b) b[1] = 7 return b, b end, buffer))
    assert.equal(7, read(back, 1))
    assert.is_true(rawequal(back, same))
    back[2] = 8
    assert.equal(8, read(buffer, 2))
    local _, finish = holder(back)
    raises("on loan", read, buffer, 1)
    finish()
    assert.equal(8, read(buffer, 2))
  end)

  it("is not the job's any more when that has ended", function()
    local before = package.path
    package.path = "spec/jobs/?.lua;" .. before
    local buffer = weft.buffer("u8", 3)
    for _ = 1, 6 do done(jobs.run(function(b) require("keeper").kept = b end, buffer)) end
    local refused = 0
    for _ = 1, 6 do
      refused = refused + done(jobs.run(function()
        local kept = require("keeper").kept
        if not kept then return 1 end
        local ok, err = pcall(function() return kept[1] end)
        return not ok and err:find "buffer is of a job that has ended" and 1 or 0
      end))
    end
    package.path = before
    assert.equal(6, refused)
  end)
end)

describe("a shared buffer", function()
  it("may be read by any number of jobs, and here", function()
    local buffer = weft.buffer("f64", 3):fill(2)
    local list, sum = {}, 0
    local barrier = jobs.barrier(1)
    for i = 1, 8 do
      list[i] = jobs.run(function(b, gate)
        gate:await()
        local ok = pcall(function() b[1] = 9 end)
        return b[1] + b[2], ok
      end, buffer:shared(), barrier)
    end
    assert.equal(2, read(buffer, 1))
    raises("buffer is on loan to job %d+", write, buffer, 1, 1)
    raises("argument 1: buffer is on loan", jobs.run, read, buffer)
    barrier:release()
    for i = 1, 8 do
      local value, wrote = done(list[i])
      sum = sum + value
      assert.is_false(wrote)
    end
    assert.equal(32, sum)
    buffer[1] = 3
    assert.equal(3, read(buffer, 1))
  end)
end)

describe("a buffer that a job has made", function()
  it("is given with the result, and not the job's any more", function()
    local before = package.path
    package.path = "spec/jobs/?.lua;" .. before
    local buffer = done(jobs.run(function()
      local made = require("weft").buffer("f32", 3):fill(4)
      require("keeper").given = made
      return made
    end))
    assert.equal(4, read(buffer, 3))
    buffer[3] = 5
    for _ = 1, 6 do
      assert.is_true(done(jobs.run(function()
        local made = require("keeper").given
        return made == nil or not pcall(function() return made[1] end)
      end)))
    end
    package.path = before
  end)

  it("goes with the last one who holds it", function()
    local core = require "weft.core"
    support.collect()
    local before = core.bufferBytes()
    local kept = { done(jobs.run(function() return (require("weft").buffer("u8", 9000)) end)) }
    assert.is_true(core.bufferBytes() >= 9000)
    assert.equal(9000, #kept[1])
    kept[1] = nil
    for _ = 1, 1000 do -- until the thread that has made it has collected, whichever that is
      support.collect()
      if core.bufferBytes() <= before then break end
      done(jobs.run(function() collectgarbage() collectgarbage() end))
    end
    assert.is_true(core.bufferBytes() <= before)
  end)
end)

describe("jobs inside jobs", function()
  it("borrow from their own", function()
    local buffer = weft.buffer("i32", 10)
    local ok, err = done(jobs.run(function(b)
      local job = jobs.run(function(c) for i = 1, #c do c[i] = c[i] + 1 end end, b)
      local good, what = pcall(function() return b[1] end)
      job:await()
      b[1] = b[1] + 10
      return good, what
    end, buffer))
    assert.is_false(ok)
    assert.truthy(err:find "buffer is on loan to job", err)
    assert.equal(11, read(buffer, 1))
    assert.equal(1, read(buffer, 10))
  end)
end)

-- Lends on what it was lent, and is through with its function.
local LENDS = { "a job", function(b, gate)
  return jobs.run(function(lend, ...) lend(...) end, function(c, begun, g)
    jobs.run(function(d, start, h)
      start:release()
      h:await()
      d[1] = d[1] + 1
    end, c, begun, g)
  end, b, gate[1], gate[2])
end }
local LENDS_IN_PARTS = { "a range", function(b, gate)
  return jobs.parallelFor(1, function(_, _, c, begun, g)
    jobs.run(function(d, start, h)
      start:release()
      h:await()
      d[1] = d[1] + 1
    end, c, begun, g)
  end, { args = { b, gate[1], gate[2] } })
end }

describe("what a job has lent to others", function()
  for _, case in ipairs { LENDS, LENDS_IN_PARTS } do
    it("is on loan until these have ended: " .. case[1], function()
      local buffer = weft.buffer("i32", 4)
      local begun, gate = jobs.barrier(1), jobs.barrier(1)
      local job = case[2](buffer, { begun, gate })
      begun:wait()
      for _ = 1, 200 do done(jobs.run(function() end)) end
      assert.is_false(job:isComplete())
      raises("buffer is on loan to job", write, buffer, 1, 5)
      gate:release()
      done(job)
      assert.equal(1, read(buffer, 1))
    end)
  end
end)

describe("a job that has borrowed from another", function()
  it("cannot await it, which does not end before", function()
    local status, text = support.child [[
      local jobs, weft = require "weft.jobs", require "weft"
      jobs.configure{ workers = 1, background = 0 }
      local gate = jobs.barrier(1)
      local lender = jobs.schedule({ name = "lender", fn = function(b, g)
        return jobs.run(function(c, h)
          return jobs.run(function(_, k)
            k:await()
            local lender = package.loaded.lender
            local ok, err = pcall(lender.await, lender)
            return tostring(ok) .. " " .. err
          end, c, h):await()
        end, b, g):await()
      end }, weft.buffer("i32", 4), gate)
      assert(jobs.run(function(job) package.loaded.lender = job end, lender):wait())
      gate:release()
      lender:wait()
      io.write(lender:result())
    ]]
    assert.same({ 0, "false job:await: job 1 'lender' has lent buffers to this job, "
      .. "and ends after it: neither would end" }, { status, text })
  end)
end)

describe("jobs.parallelFor", function()
  it("does each index once", function()
    for _, count in ipairs { 0, 1, 2, 7, 1000, 12345 } do
      local buffer = weft.buffer("i32", count)
      local job = jobs.parallelFor(count, function(first, last, b, by)
        for i = first, last do b[i] = b[i] + by end
      end, { args = { buffer, 3 } })
      assert.equal(0, select("#", done(job)))
      for i = 1, count do assert.equal(3, read(buffer, i)) end
    end
  end)

  it("gives parts no longer than the grain", function()
    local counts = weft.buffer("i32", 1000)
    done(jobs.parallelFor(1000, function(first, last, b)
      for i = first, last do b[i] = last - first + 1 end
    end, { grain = 16, args = { counts } }))
    for i = 1, 1000 do assert.is_true(read(counts, i) >= 1 and read(counts, i) <= 16) end
  end)

  it("ends with the first error", function()
    local job = jobs.parallelFor(100000, function(first) error("part " .. first, 0) end,
      { grain = 1 })
    assert.truthy(failure(job):find "^part %d+\nstack traceback")
    assert.equal("failed", job:status())
  end)

  it("may wait inside", function()
    local buffer = weft.buffer("f64", 64)
    done(jobs.parallelFor(64, function(first, last, b)
      for i = first, last do
        b[i] = jobs.run(function(x) return x * x end, i):await()
      end
    end, { grain = 4, args = { buffer } }))
    for i = 1, 64 do assert.equal(i * i, read(buffer, i)) end
  end)

  it("lends what it is given until it has ended", function()
    local buffer = weft.buffer("f64", 64)
    local barrier = jobs.barrier(1)
    local job = jobs.parallelFor(2, function(_, _, _, gate) gate:await() end,
      { grain = 1, args = { buffer, barrier } })
    raises("buffer is on loan to job", read, buffer, 1)
    barrier:release()
    done(job)
    assert.equal(0, read(buffer, 1))
  end)

  it("refuses what makes no sense", function()
    local fn = function() end
    for _, count in ipairs { -1, 1.5, 1 / 0, "3", {} } do
      raises("jobs.parallelFor: count must be a whole number from 0 to 2%^53, got ",
        jobs.parallelFor, count, fn)
    end
    for _, grain in ipairs { 0, -1, 1.5 } do
      raises("jobs.parallelFor: grain must be a whole number from 1 to 2%^53, got ",
        jobs.parallelFor, 1, fn, { grain = grain })
    end
    raises("jobs.parallelFor: a function or \"module.function\" expected, got nil",
      jobs.parallelFor, 1)
    raises("jobs.parallelFor: args must be a list, got 5", jobs.parallelFor, 1, fn,
      { args = 5 })
    for _, n in ipairs { -1, 0.5, 1 / 0, "x" } do
      raises("jobs.parallelFor: args.n must be a whole number from 0 on, got ",
        jobs.parallelFor, 1, fn, { args = { n = n } })
    end
    for _, n in ipairs { 1000001, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 53 } do
      raises("jobs.parallelFor: args has too many values: more than 1000000",
        jobs.parallelFor, 1, fn, { args = { n = n } })
    end
    raises("jobs.parallelFor: there is no option 'grains'", jobs.parallelFor, 1, fn, { grains = 5 })
  end)
end)

describe("columns:forEachParallel", function()
  it("works on all rows", function()
    local cols, ids = weft.columns{ x = "f32", vx = "f32", hp = "i32" }, {}
    for i = 1, 1000 do ids[i] = cols:add{ x = i, vx = 2 } end
    local job = cols:forEachParallel(function(first, last, c, dt)
      local x, vx = c.x, c.vx
      assert(#x == 1000)
      for i = first, last do x[i] = x[i] + vx[i] * dt end
    end, 0.5)
    assert.equal(0, select("#", done(job)))
    for i = 1, 1000 do assert.equal(i + 1, cols:get(ids[i], "x")) end
  end)

  it("lends the columns", function()
    local cols = weft.columns{ x = "f32" }
    local id = cols:add{ x = 1 }
    local barrier = jobs.barrier(1)
    local job = cols:forEachParallel(function(_, _, _, gate) gate:await() end, barrier)
    raises("^[^:]+:%d+: columns:set: column 'x': buffer is on loan to job %d+$", function()
      cols:set(id, "x", 2)
    end)
    raises("columns:add: buffer is on loan to job", cols.add, cols, {})
    raises("columns:remove: buffer is on loan to job", cols.remove, cols, id)
    assert.is_true(cols:alive(id))
    barrier:release()
    done(job)
    assert.is_true(cols:remove(id))
    done(cols:forEachParallel(function() error "no rows" end))
  end)

  it("lends all rows that there are, whatever finalizers do meanwhile", function()
    local cols, ids, inside, met, refused, began
    local function add()
      ids[#ids + 1] = cols:add()
    end
    local function finalizer()
      began = true
      if not inside or #ids > 200 then return end
      met = met + 1
      local ok, err = pcall(add)
      if not ok then refused = err end
    end
    local function leave()
      local proxy = newproxy and newproxy(true) or setmetatable({}, { __gc = finalizer })
      if newproxy then getmetatable(proxy).__gc = finalizer end
    end
    local args = {} -- so many that more garbage is looked for
    for i = 1, 60 do args[i] = i end
    met = 0
    if support.vm ~= "luajit" then collectgarbage("incremental", 200, 40, 6) end -- in small steps
    for round = 1, 500 do -- until one has come while the job was started
      if round > 10 and refused then break end
      cols, ids, inside, began = weft.columns{ x = "f64", y = "f64" }, {}, false, false
      for _ = 1, 63 do add() end
      for _ = 1, 500 do leave() end
      while not began do collectgarbage("step", 0) end
      inside = true
      local job = cols:forEachParallel(function(first, last, c)
        assert(#c.x == #c.y)
        for i = first, last do c.x[i] = c.x[i] + 1 end
      end, unpack(args))
      inside = false
      done(job)
      for _, id in ipairs(ids) do assert.equal(1, cols:get(id, "x")) end
    end
    if support.vm ~= "luajit" then collectgarbage("incremental", 200, 100, 13) end
    assert.is_true(met > 0)
    assert.truthy(refused, "no finalizer came in time")
    assert.truthy(refused:find "columns:add: buffer is on loan to a job that is being started")
    add()
  end)

  it("has lent nothing when it raises", function()
    local cols = weft.columns{ x = "f32" }
    local id = cols:add{ x = 1 }
    raises("^[^:]+job_loans_spec.lua:%d+: weft.jobs: argument 2", function()
      cols:forEachParallel(function() end, coroutine.create(function() end))
    end)
    raises("jobs.parallelFor: a function or \"module.function\" expected",
      cols.forEachParallel, cols, 5)
    assert.is_true(cols:set(id, "x", 5))
    assert.is_truthy(cols:add())
  end)
end)
