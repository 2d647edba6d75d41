-- SPDX-License-Identifier: MIT
--
-- Modules that wait while they are loaded, in jobs: those of one thread load each once.

local support = require "support"

-- In a process with one thread for jobs. There, `provide` makes "slow" a module that waits at the
-- gate and fails some times, and "slow.loads" one that counts how often it is loaded.
local PRELUDE = [[
local jobs = require "weft.jobs"
jobs.configure{ workers = 1, background = 0 }

local function done(job)
  job:wait()
  return job:result()
end

local function failure(job)
  job:wait()
  local ok, err = pcall(job.result, job)
  assert(not ok)
  return err
end

local function untilSuspended(job)
  while job:status() ~= "suspended" do assert(not job:isComplete(), "it has not waited") end
  return job
end

local function provide(gate, failures)
  done(jobs.run(function(b, fails)
    local loads = { count = 0 }
    package.preload["slow.loads"] = function() return loads end
    package.preload.slow = function()
      loads.count = loads.count + 1
      b:await()
      if loads.count <= fails then error "no luck" end
      return { whole = true }
    end
  end, gate, failures or 0))
end

local function load()
  local module = require "slow"
  assert(module.whole and package.loaded.slow == module)
  return require "slow.loads".count
end
]]

local function child(source)
  local code, text = support.child(PRELUDE .. source .. "\nio.write 'fine'")
  assert.equal("fine", text)
  assert.equal(0, code)
end

describe("require in jobs of one thread", function()
  it("loads once a module that waits meanwhile, for all that ask", function()
    child [[
      local gate, list = jobs.barrier(1), {}
      provide(gate)
      for i = 1, 4 do list[i] = untilSuspended(jobs.run(load)) end
      assert(failure(jobs.run "slow.loads.none"):find "no function")
      gate:release()
      for i = 1, 4 do assert(done(list[i]) == 1) end
      assert(done(jobs.run(load)) == 1)
    ]]
  end)

  it("has the next one try again when it fails, and tells where that was", function()
    child [[
      local gate, list = jobs.barrier(1), {}
      provide(gate, 1)
      for i = 1, 3 do list[i] = untilSuspended(jobs.run(load)) end
      gate:release()
      local err = failure(list[1])
      local _, traces = err:gsub("stack traceback", "")
      assert(traces == 1 and err:find ":28: no luck\nstack traceback:.*:28:.*:35: ", err)
      for i = 2, 3 do assert(done(list[i]) == 2) end
    ]]
  end)

  it("gives the error to who catches it, and its trace to nobody else", function()
    child [[
      provide(jobs.barrier(), 1)
      local caught = done(jobs.run(function() return select(2, pcall(require, "slow")) end))
      assert(caught:find "no luck$", caught)
      local err = failure(jobs.run(function() error("later", 0) end))
      assert(err:find "^later\nstack traceback" and not err:find "require", err)
    ]]
  end)

  it("raises for a ring of modules, and for one over a job that is awaited", function()
    child [[
      local function told(text)
        return tostring(text):find "loop: '%a+' is being loaded by this job, or by one that waits"
      end
      local gate = jobs.barrier(1)
      local one = untilSuspended(jobs.run(function(b)
        package.preload.one = function() b:await() return { require "two" } end
        package.preload.two = function() b:await() return { require "one" } end
        return pcall(require, "one")
      end, gate))
      local two = untilSuspended(jobs.run(function() return pcall(require, "two") end))
      gate:release()
      local ok, err = done(one)
      local fine, wrong = done(two)
      assert(not ok and told(err) or not fine and told(wrong))

      ok, err = done(jobs.run(function()
        package.preload.three = function()
          local job = require "weft.jobs".run(function() return pcall(require, "three") end)
          return { job:await() }
        end
        local answer = require "three"
        return answer[1], answer[2]
      end))
      assert(not ok and told(err), err)
    ]]
  end)

  it("lets the process end while others wait", function()
    child [[
      local gate = jobs.barrier(1)
      provide(gate)
      for _ = 1, 4 do untilSuspended(jobs.run(load)) end
    ]]
  end)
end)
