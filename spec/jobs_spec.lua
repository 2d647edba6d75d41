-- SPDX-License-Identifier: MIT
--
-- Jobs: how they begin, end, and are asked.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local weft = require "weft"
local routine = require "weft.routine"

local done, failure, raises = jobSupport.done, jobSupport.failure, support.raises

-- A job that runs until the barrier is released, on each worker; so what comes after is queued.
local function block(count)
  local barrier = jobs.barrier(1)
  local list = {}
  for i = 1, count do
    list[i] = jobs.run(function(b)
      while b:count() > 0 do end
      return true
    end, barrier)
    while list[i]:status() == "queued" do end
  end
  return barrier, list
end

local function release(barrier, list)
  barrier:release()
  for _, job in ipairs(list) do assert.is_true(done(job)) end
end

describe("jobs.run", function()
  it("runs a function with its arguments and gives back its results", function()
    assert.same({ 7, "x", nil, false }, { done(jobs.run(function(a, b)
      return a + b, "x", nil, false
    end, 3, 4)) })
    assert.equal(0, select("#", done(jobs.run(function() end))))
    assert.equal(3, select("#", done(jobs.run(function(...) return ... end, nil, nil, nil))))
  end)

  it("runs \"module.function\", looked for where package.path says now", function()
    local before = package.path
    package.path = "spec/jobs/?.lua;" .. before
    local job = jobs.run("numbers.add", 2, 3)
    package.path = before
    assert.equal(5, done(job))
    assert.truthy(failure(jobs.run("no_such_module.add")):find "module 'no_such_module' not found")
    package.path = "spec/jobs/?.lua;" .. before
    job = jobs.run("numbers.nothing")
    package.path = before
    assert.truthy(failure(job):find "\"numbers.nothing\" is no function, but nil")
  end)

  it("may wait while its module is loaded, and others run there", function()
    local before = package.path
    package.path = "spec/jobs/?.lua;" .. before
    for _ = 1, 20 do
      local job = jobs.parallelFor(1, "waits.part")
      local others = {}
      for i = 1, 20 do others[i] = jobs.run(function() end) end
      for i = 1, 20 do done(others[i]) end
      done(job)
    end
    package.path = before
  end)

  it("refuses what is no function", function()
    for _, value in ipairs { 5, {}, true } do
      raises("^[^:]+:%d+: jobs.run: a function or \"module.function\" expected, got ", function()
        jobs.run(value)
      end)
    end
    raises("got nil", jobs.run)
    raises("got \"add\"", jobs.run, "add")
  end)

  it("runs on another thread, whatever this one does", function()
    local job = jobs.run(function() return 5 end)
    while not job:isComplete() do end
    assert.equal(5, job:result())
  end)

  it("answers full when there are as many jobs as the capacity", function()
    local status, text = support.child [[
      local jobs = require "weft.jobs"
      jobs.configure{ workers = 1, capacity = 8 }
      local barrier = jobs.barrier(1)
      local list, why = {}, nil
      for i = 1, 20 do
        local job, reason = jobs.run(function(b) while b:count() > 0 do end return 1 end, barrier)
        if not job then why = reason break end
        list[i] = job
      end
      barrier:release()
      for _, job in ipairs(list) do job:wait() end
      local job = jobs.run(function() return "again" end)
      job:wait()
      io.write(why, " ", #list, " ", job:result())
    ]]
    assert.same({ 0, "full 8 again" }, { status, text })
  end)
end)

describe("a job", function()
  it("tells its state", function()
    local barrier, list = block(2)
    local queued = jobs.run(function() return 1 end)
    assert.equal("queued", queued:status())
    assert.is_false(queued:isComplete())
    assert.same({ nil, "pending" }, { queued:result() })
    assert.same({ nil, "timeout" }, { queued:wait(0) })
    assert.truthy(tostring(queued):find "^weft.Job: job %d+ %(queued%)$")
    release(barrier, list)
    assert.is_true(queued:wait())
    assert.equal("completed", queued:status())
    assert.equal(1, queued:result())
  end)

  it("fails with its error, a string's with the traceback of its thread", function()
    local function deep() error "broken" end
    local job = jobs.run(function() deep() end)
    local err = failure(job)
    assert.truthy(err:find "^spec/jobs_spec.lua:%d+: broken\nstack traceback:\n", err)
    assert.truthy(err:find "spec/jobs_spec.lua:%d+: in .*deep", err)
    assert.equal("failed", job:status())
    assert.same({ code = 5 }, failure(jobs.run(function() error { code = 5 } end)))
    assert.is_nil(failure(jobs.run(function() error(nil) end)))
    assert.equal(7, failure(jobs.run(function() error(7, 0) end)))
    assert.equal(err, failure(job))
  end)

  it("fails with a text where its error cannot come back", function()
    local err = failure(jobs.run(function() error(setmetatable({}, {
      __tostring = function() return "an object" end })) end))
    assert.truthy(err:find "^an object %(an error object, a table, that cannot come back", err)
    err = failure(jobs.run(function() error { deep = { io.stdout } } end))
    assert.truthy(err:find "a table, that cannot come back from a job: .*deep%[1%] ", err)
  end)

  it("fails cleanly where its stack or its memory ends", function()
    local function recurse(n) return 1 + recurse(n + 1) end
    assert.truthy(failure(jobs.run(function() return recurse(1) end)):find "stack overflow")
    local err = failure(jobs.run(function() return require("weft").buffer("f64", 2 ^ 31) end))
    assert.truthy(err:find "weft.buffer: count must be a whole number", err)
    assert.equal(1, done(jobs.run(function() return 1 end)))
  end)

  it("reads its results once", function()
    local job = jobs.run(function() local t = {} return t, t end)
    local a, b = done(job)
    assert.is_true(a == b and rawequal(a, (job:result())))
  end)

  it("may be cancelled as long as it has not begun", function()
    local barrier, list = block(2)
    local ran = jobs.run(function() return "ran" end)
    assert.is_true(ran:cancel())
    assert.is_false(ran:cancel())
    assert.equal("cancelled", ran:status())
    assert.is_true(ran:isComplete())
    assert.is_false(list[1]:cancel() and list[2]:cancel())
    local ok, err = pcall(ran.result, ran)
    assert.is_true(not ok and err == routine.Cancelled)
    release(barrier, list)
    assert.is_false(list[1]:cancel())
  end)

  it("is not needed by its job, nor kept by it", function()
    for i = 1, 50 do
      jobs.run(function(k) local s = 0 for q = 1, 1000 do s = s + q * k end return s end, i)
    end
    support.collect()
    assert.is_true(jobs.waitAll())
    local weak = setmetatable({ jobs.run(function() end) }, { __mode = "v" })
    assert.is_true(jobs.waitAll())
    support.collect()
    assert.is_nil(weak[1])
  end)

  it("is called something else by other objects", function()
    local job = jobs.run(function() end)
    for _, name in ipairs { "isComplete", "status", "result", "wait", "cancel", "await" } do
      raises("^[^:]+:%d+: job:" .. name .. ": a job expected, got table$", function()
        job[name]({})
      end)
    end
    raises("job:await: not inside a job; in a routine it is routine.await", job.await, job)
    raises("job:wait: timeout must be finite and >= 0, got %-1", job.wait, job, -1)
    done(job)
  end)
end)

describe("a job's globals", function()
  it("are gone after it", function()
    for _ = 1, 8 do
      done(jobs.run(function()
        leaked = 1 -- luacheck: ignore 111
        _G.leaked2 = 2
        pcall(function() string.rep = nil end) -- luacheck: ignore 122
        pcall(function() table.concat = function() return "hacked" end end) -- luacheck: ignore 122
        pcall(function() getmetatable("").__index = nil end)
        print = nil -- luacheck: ignore 121
        load "leaked3 = 3" ()
        assert(leaked == 1 and leaked2 == 2 and leaked3 == 3) -- luacheck: ignore 113
      end))
    end
    for _ = 1, 32 do
      assert.same({ a = "a", x = "xx", p = "function" }, done(jobs.run(function()
        assert(leaked == nil and leaked2 == nil and leaked3 == nil) -- luacheck: ignore 113
        return { a = table.concat { "a" }, x = ("x"):rep(2), p = type(print) }
      end)))
    end
  end)

  it("are gone after it whatever way leads to them", function()
    local needs, libraries = require, { "string", "table", "math" }
    for _ = 1, 8 do
      done(jobs.run(function()
        require("string").leaked = 1
        needs("table").leaked = 1
        package.loaded.math.leaked = 1
        package.loaded._G.leaked = 1
        package.loaded.io = nil
        package.path, package.cpath = "nowhere", "nowhere"
        local envOf, setEnv = _G.getfenv, _G.setfenv
        if envOf then
          envOf(0).leaked, envOf(1).leaked2, envOf(print).leaked3 = 1, 1, 1
          setEnv(1, {})
        end
      end))
    end
    for _ = 1, 32 do
      assert.same({ n = 0, path = package.path, cpath = package.cpath }, (done(jobs.run(function()
        local found = { n = 0, path = package.path, cpath = package.cpath }
        for _, name in ipairs(libraries) do
          if require(name).leaked then found.n = found.n + 1 end
        end
        for _, name in ipairs { "leaked", "leaked2", "leaked3" } do
          if _G[name] or package.loaded._G[name] then found.n = found.n + 1 end
        end
        if require "io" ~= io or package.loaded._G ~= _G then found.n = found.n + 1 end
        return found
      end))))
    end
  end)

  if support.vm == "luajit" then
    it("are no other table for the thread", function()
      local envOf, setEnv = _G.getfenv, _G.setfenv
      local err = failure(jobs.run(function() setEnv(0, {}) end))
      assert.truthy(err:find "^spec/jobs_spec.lua:%d+: setfenv: the globals of a thread cannot",
        err)
      assert.is_true(done(jobs.run(function()
        local function f() return x end -- luacheck: ignore 113
        setEnv(f, { x = 5 })
        return f() == 5 and envOf() == _G and envOf(0) == _G and envOf(f).x == 5
      end)))
    end)
  end

  it("are over the libraries, which a job has for itself", function()
    local library = string
    assert.same({ true, true }, { done(jobs.run(function()
      string.mine = 5 -- luacheck: ignore 142
      return library.mine == 5, rawequal(library, string) -- luacheck: ignore 143
    end)) })
  end)

  it("stay where modules set them", function()
    local before = package.path
    package.path = "spec/jobs/?.lua;" .. before
    for _ = 1, 4 do
      assert.equal("set by a module", done(jobs.run(function()
        require "sets_global"
        return aGlobalOfAModule -- luacheck: ignore 113
      end)))
    end
    package.path = before
  end)
end)

describe("inside a job", function()
  it("hooks are gone after it, too", function()
    for _ = 1, 12 do
      assert.equal(0, done(jobs.run(function()
        local count = select(3, debug.gethook()) or 0
        debug.sethook(function() error "a hook of another job" end, "", 50)
        return count
      end)))
      assert.equal(500500, done(jobs.run(function()
        local sum = 0
        for i = 1, 1000 do sum = sum + i end
        return sum
      end)))
    end
  end)

  it("there is no world", function()
    raises("weft.world: there is no world inside a job", error, failure(jobs.run(function()
      return (require "weft".world {})
    end)))
    for _, name in ipairs { "wait", "nextTick", "waitUntil" } do
      local err = failure(jobs.run(function()
        require("weft.routine")[name](1)
        return 1
      end))
      assert.truthy(err:find "inside a job" or err:find "a function expected", err)
    end
    assert.truthy(failure(jobs.run(function()
      require("weft.routine").start(print)
    end)):find "there is no world inside a job")
    assert.truthy(failure(jobs.run(function()
      return require("weft").default()
    end)):find "there is no world inside a job")
  end)

  it("other jobs may be started and awaited", function()
    local function fib(n)
      if n < 2 then return n end
      local job = jobs.run(fib, n - 1)
      local other = fib(n - 2)
      return job:await() + other
    end
    assert.equal(34, done(jobs.run(fib, 9)))
  end)

  it("one thread is enough, whatever waits in whatever", function()
    local status, text = support.child [[
      local jobs = require "weft.jobs"
      jobs.configure{ workers = 1, background = 0 }
      local function nest(depth)
        if depth == 0 then return 1 end
        local list, sum = {}, 0
        for i = 1, 3 do list[i] = jobs.run(nest, depth - 1) end
        for i = 1, 3 do sum = sum + list[i]:await() end
        local gate = jobs.barrier(2)
        jobs.parallelFor(2, function(first, last, below, d, g)
          for _ = first, last do
            if d > 1 then jobs.run(below, d - 1):await() end
            g:release()
          end
        end, { grain = 1, args = { nest, depth - 1, gate } }):await()
        gate:await()
        return sum
      end
      local job = jobs.run(nest, 3)
      job:wait()
      io.write(job:result())
    ]]
    assert.equal(0, status, text)
    assert.equal("27", text)
  end)

  it("an awaited job's error is raised", function()
    local ok, err = done(jobs.run(function()
      local job = jobs.run(function() error { 5 } end)
      local good, what = pcall(job.await, job)
      return good, what[1]
    end))
    assert.same({ false, 5 }, { ok, err })
  end)

  it("yield lets others have a turn", function()
    assert.equal(10, done(jobs.run(function()
      for _ = 1, 10 do jobs.yield() end
      for _ = 1, 3 do coroutine.yield() end
      return 10
    end)))
    raises("jobs.yield: not inside a job", jobs.yield)
  end)

  it("waits work under C functions and in coroutines", function()
    assert.equal("1,2,3,4", done(jobs.run(function()
      local list = { 3, 1, 4, 2 }
      table.sort(list, function(a, b)
        local job = jobs.run(function(x, y) return x < y end, a, b)
        return job:await()
      end)
      local text = ("x"):gsub("x", function()
        return jobs.run(function() return "" end):await()
      end)
      return coroutine.wrap(function()
        return jobs.run(function(l, t) return table.concat(l, ",") .. t end, list, text):await()
      end)()
    end)))
  end)

  if support.vm == "lua5.4" then
    it("to-be-closed variables are closed when it fails", function()
      local run = support.chunk54 [[
        return function()
          closed = { count = 0 }
          local ok = pcall(function()
            local x <close> = setmetatable({}, { __close = function() closed.count = 1 end })
            error "fails"
          end)
          return ok, closed.count
        end]]
      assert.same({ false, 1 }, { done(jobs.run(run)) })
    end)
  end

  it("the process cannot be ended", function()
    assert.truthy(failure(jobs.run(function() os.exit(3) end)):find "os.exit: not allowed inside")
  end)
end)

describe("jobs and barriers", function()
  it("cross to jobs, which wait for them", function()
    local first = jobs.run(function() return { 5 } end)
    local second = jobs.run(function(job) return job:await()[1] + 1, job:status() end, first)
    assert.same({ 6, "completed" }, { done(second) })
    assert.same({ 5 }, done(first))
    assert.equal(first, (done(jobs.run(function(job) return job end, first))))
  end)

  it("come back from jobs, which started them", function()
    local job = done(jobs.run(function() return (jobs.run(function() return 7 end)) end))
    assert.equal(7, done(job))
    assert.equal("completed", job:status())
  end)

  it("a barrier is released however a job ends", function()
    local barrier = jobs.barrier()
    assert.equal(0, barrier:count())
    assert.is_true(barrier:wait())
    local list = {}
    for i = 1, 6 do
      list[i] = jobs.schedule({ barrier = barrier, fn = function(k)
        if k % 2 == 0 then error "x" end
      end }, i)
    end
    assert.is_true(barrier:wait())
    assert.equal(0, barrier:count())
    for _, job in ipairs(list) do
      job:wait()
      pcall(job.result, job)
    end
  end)

  it("a barrier is added to and released by hand", function()
    local barrier = jobs.barrier(2)
    barrier:add(3)
    barrier:add()
    assert.equal(6, barrier:count())
    assert.same({ nil, "timeout" }, { barrier:wait(0) })
    local job = jobs.run(function(b)
      for _ = 1, 6 do b:release() end
      b:await()
      return b:count()
    end, barrier)
    assert.is_true(barrier:wait())
    assert.equal(0, done(job))
    raises("^[^:]+:%d+: barrier:release: there is nothing to release, the count is 0$", function()
      barrier:release()
    end)
    raises("barrier:add: the count must be a whole number from 1 to 1048575, got 0", barrier.add,
      barrier, 0)
    raises("jobs.barrier: the count must be a whole number from 0 to 1048575, got %-1",
      jobs.barrier, -1)
    raises("barrier:wait: a barrier expected, got table", barrier.wait, {})
  end)
end)

describe("jobs.schedule", function()
  it("takes names and priorities", function()
    for _, priority in ipairs { "critical", "normal", "background" } do
      local job = jobs.schedule({ priority = priority, name = "path", fn = function(x)
        return x
      end }, priority)
      assert.truthy(tostring(job):find "^weft.Job: job %d+ 'path' %(")
      assert.equal(priority, done(job))
    end
  end)

  it("refuses what is no option", function()
    local fn = function() end
    raises("^[^:]+:%d+: jobs.schedule: there is no option 'prio'$", function()
      jobs.schedule{ fn = fn, prio = 1 }
    end)
    raises("jobs.schedule: priority must be \"critical\", \"normal\" or \"background\", got high",
      jobs.schedule, { fn = fn, priority = "high" })
    raises("jobs.schedule: a table of options expected, got function", jobs.schedule, fn)
    raises("jobs.schedule: a function or \"module.function\" expected, got nil", jobs.schedule, {})
    raises("jobs.schedule: name must be a string, got 5", jobs.schedule, { fn = fn, name = 5 })
    raises("jobs.schedule: a barrier expected, got boolean", jobs.schedule,
      { fn = fn, barrier = true })
  end)
end)

describe("jobs.configure", function()
  it("refuses what is out of its range, and to come too late", function()
    raises("jobs.configure: workers must be a whole number from 1 to 64, got 0", jobs.configure,
      { workers = 0 })
    raises("jobs.configure: stackBytes must be a whole number from 320 KiB to 1 GiB, got 1000",
      jobs.configure, { stackBytes = 1000 })
    raises("jobs.configure: there is no option 'threads'", jobs.configure, { threads = 1 })
    raises("jobs.configure: a table of options expected, got nil", jobs.configure)
    done(jobs.run(function() end))
    raises("jobs.configure: the threads run already", jobs.configure, {})
  end)
end)

describe("jobs.stats", function()
  it("counts", function()
    assert.is_true(jobs.waitAll())
    local before = jobs.stats()
    done(jobs.run(function() end))
    failure(jobs.run(function() error "x" end))
    assert.is_true(jobs.waitAll())
    local after = jobs.stats()
    assert.equal(3, after.workers)
    assert.equal(1, after.completedJobs - before.completedJobs)
    assert.equal(1, after.failedJobs - before.failedJobs)
    for _, name in ipairs { "activeWorkers", "pendingJobs", "stolenJobs", "avgJobMs",
      "utilisation" } do
      assert.is_number(after[name])
    end
    assert.is_true(after.utilisation >= 0 and after.utilisation <= 1)
  end)
end)

describe("weft.jobs", function()
  it("is one module with weft's others", function()
    assert.equal(jobs, require "weft.jobs")
    assert.is_function(weft.world)
  end)
end)
