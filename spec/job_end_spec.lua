-- SPDX-License-Identifier: MIT
--
-- The end of a Lua state, or of the process, while jobs run or wait to.

local support = require "support"

-- What a child prints and how it ends.
local function child(source, status)
  local code, text = support.child("local jobs, weft = require 'weft.jobs', require 'weft'\n"
    .. "jobs.configure{ workers = 2 }\n" .. source)
  assert.equal(status or 0, code, text)
  return text
end

describe("a process that ends", function()
  it("lets jobs end that run, and drops those that have not begun", function()
    assert.equal("end", child [[
      for i = 1, 200 do
        jobs.run(function(k)
          local s = 0
          for q = 1, 20000 do s = s + q * k end
          return { s }
        end, i)
        if i % 50 == 0 then collectgarbage() end
      end
      io.write "end"
    ]])
  end)

  it("may end with os.exit, its state closed or not", function()
    for _, close in ipairs { "true", "false" } do
      assert.equal("end", child([[
        local buffer = weft.buffer("f32", 1000)
        for i = 1, 20 do jobs.run(function(b) return #b end, buffer:shared()) end
        io.write "end"
        io.stdout:flush()
        os.exit(3, ]] .. close .. ")", 3))
    end
  end)

  it("may end while jobs are suspended, and wait for what never comes", function()
    assert.equal("end", child [[
      local barrier, list = jobs.barrier(1), {}
      for i = 1, 5 do
        list[i] = jobs.run(function(b)
          local ok, err = pcall(b.await, b)
          return ok, err
        end, barrier)
      end
      list[6] = jobs.run(function(b) b:await() end, barrier)
      list[7] = jobs.run(function(j) j:await() end, list[1])
      list[8] = jobs.run(function() while true do jobs.yield() end end)
      list[9] = jobs.parallelFor(2, function(_, _, b) b:await() end, { args = { barrier } })
      local world = weft.world{}
      world:start(function() require "weft.routine".await(list[6]) end)
      for i = 1, 7 do
        while list[i]:status() ~= "suspended" do end
      end
      while list[8]:status() == "queued" or list[9]:status() == "queued" do end
      for _ = 1, 100 do world:tick(0) end
      io.write "end"
    ]])
  end)

  it("tells of the errors of jobs that go on with one of their own", function()
    local text = child [[
      local barrier = jobs.barrier(1)
      local job = jobs.schedule({ name = "own", fn = function(b)
        pcall(b.await, b)
        error "of its own"
      end }, barrier)
      while job:status() ~= "suspended" do end
    ]]
    assert.equal("weft: job 1 'own' failed, and nobody awaited it\n", text)
  end)

  it("says which failures nobody has heard of", function()
    local text = child [[
      jobs.schedule{ name = "lost", fn = function() error "x" end }
      jobs.waitAll()
    ]]
    assert.equal("weft: job 1 'lost' failed, and nobody awaited it\n", text)
  end)

  it("says it of jobs that jobs have started, too", function()
    local text = child [[
      jobs.run(function() jobs.schedule{ name = "lost", fn = function() error "x" end } end):wait()
      jobs.waitAll()
    ]]
    assert.equal("weft: job 1 'lost' failed, and nobody awaited it\n", text)
  end)

  if support.plain then -- it takes the five seconds that a job is given
    it("does not wait for ever for a job without end", function()
      local text = child [[
        local job = jobs.run(function() while true do end end)
        while job:status() == "queued" do end
        io.write "end\n"
      ]]
      assert.truthy(text:find "end\n", text)
      assert.truthy(text:find "a job runs on while the Lua state that started it ends", text)
    end)
  end

  it("may have used no job at all", function()
    assert.equal("end", child 'io.write "end"')
  end)
end)

describe("a world that closes", function()
  it("leaves the jobs to the others", function()
    assert.equal("5 false", child [[
      local world = weft.world{}
      local job
      world:start(function() job = jobs.run(function() return 5 end) end)
      world:tick(0)
      world:close()
      job:wait()
      io.write(job:result(), " ", tostring(pcall(world.tick, world, 0)))
    ]])
  end)
end)
