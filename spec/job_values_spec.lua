-- SPDX-License-Identifier: MIT
--
-- What crosses to jobs and back, and what is refused before anything is queued.

local support = require "support"
local jobSupport = require "support.jobs"
local jobs = require "weft.jobs"
local weft = require "weft"
local routine = require "weft.routine"

local done, failure, raises = jobSupport.done, jobSupport.failure, support.raises
local jit = support.vm == "luajit"

local function echo(...) return ... end

describe("numbers", function()
  it("are the same to the last bit, there and back", function()
    local list = { 1, -0.0, 2 ^ 53, 5e-324, 2.2e-308, 1 / 0, -1 / 0, 0.1, 1e15, 2 ^ 63 }
    local kindOf = rawget(math, "type") or type
    local more = support.chunk54 "return { 1.0, (1 << 53) + 1, math.maxinteger, math.mininteger }"
    for _, value in ipairs(more or {}) do list[#list + 1] = value end
    for _, value in ipairs(list) do
      local back, kind = done(jobs.run(function(v)
        return v, (rawget(math, "type") or type)(v) -- luacheck: ignore 143
      end, value))
      assert.equal(value, back)
      assert.equal(kindOf(value), kindOf(back))
      assert.equal(kindOf(value), kind)
      assert.equal(1 / value, 1 / back)
    end
    local nan = done(jobs.run(echo, 0 / 0))
    assert.is_true(nan ~= nan)
  end)

  if jit then
    it("of 64 bits stay what they are", function()
      local long, unsigned = loadstring "return 0x7fffffffffffffffLL, 0xffffffffffffffffULL" ()
      local a, b = done(jobs.run(echo, long, unsigned))
      assert.is_true(a == long and b == unsigned)
      assert.equal(tostring(unsigned), tostring(b))
    end)
  end
end)

describe("tables", function()
  it("keep their shape: shared, cyclic, as keys", function()
    local t = { 1 }
    t.me, t.twins = t, { t, t }
    t[t.twins] = "key"
    assert.same({ true, true, "key" }, { done(jobs.run(function(x)
      return x.me == x, x.twins[1] == x and x.twins[2] == x, x[x.twins]
    end, t)) })
    local back = done(jobs.run(function() local q = {} q.q = q return q end))
    assert.equal(back, back.q)
    local a, b = done(jobs.run(function() local q = {} return q, q end))
    assert.equal(a, b)
  end)

  it("may be nested deep, and are refused where they are deeper", function()
    local deep = {}
    for _ = 2, 100000 do deep = { n = deep } end
    assert.equal(100000, done(jobs.run(function(x)
      local d = 1
      while x.n do x, d = x.n, d + 1 end
      return d
    end, deep)))
    raises("weft.jobs: argument 1 is nested too deep to cross: more than 100000 levels", jobs.run,
      echo, { deep })
    assert.equal(1, done(jobs.run(function() return 1 end)))
  end)

  it("are copies: what a job changes, it changes for itself", function()
    local t = { 1 }
    done(jobs.run(function(x) x[1] = 2 t[1] = 3 end, t))
    assert.equal(1, t[1])
  end)
end)

describe("functions", function()
  it("bring copies of what they capture", function()
    local k, name = 3, "x"
    local function outer(v) return v * k end
    assert.same({ 42, "x" }, { done(jobs.run(function(n) return outer(n), name end, 14)) })
    local count = 0
    done(jobs.run(function() count = count + 1 end))
    assert.equal(0, count)
  end)

  it("that share a captured local share its copy", function()
    local n = 1
    local function up() n = n + 1 end
    local function get() return n end
    assert.equal(3, done(jobs.run(function() up() up() return get() end)))
    assert.equal(3, done(jobs.run(function(a, b) a() a() return b() end, up, get)))
  end)

  it("come back", function()
    local make = done(jobs.run(function(a)
      return function(b) return a .. b end
    end, "from there "))
    assert.equal("from there to here", make "to here")
  end)

  it("of the standard library and of weft cross as themselves", function()
    local concat, wait, m = table.concat, routine.wait, math
    assert.same({ "a,b", true, true, true }, { done(jobs.run(function(f)
      local here = require "weft.routine"
      return concat({ "a", "b" }, ","), wait == here.wait, f == print, m.pi == math.pi
    end, print)) })
    assert.is_true(done(jobs.run(function() return jobs == require "weft.jobs" end)))
    assert.equal(print, done(jobs.run(function() return print end)))
    assert.equal(routine.Cancelled, done(jobs.run(echo, routine.Cancelled)))
  end)

  it("that a script has put into a library cross as others do", function()
    assert.same({ 0, "x x" }, { support.child [[
      string.trimmed = function(s) return (s:gsub("^ +", "")) end
      local jobs = require "weft.jobs"
      local trimmed = string.trimmed
      local job = jobs.run(function(s, f) return trimmed(s) .. " " .. f(s) end, "  x", trimmed)
      job:wait()
      io.write(job:result())
    ]] })
  end)

  it("with an environment of their own find the job's globals", function()
    local own = { x = 1 }
    local fn = support.chunk54("local own = ... return load('return x', 'c', 't', own)", own)
      or setfenv(function() return x end, own) -- luacheck: ignore 113
    assert.is_nil(done(jobs.run(fn)))
    x = 5 -- luacheck: ignore 111
    assert.is_nil(done(jobs.run(function() return x end))) -- luacheck: ignore 113
    x = nil -- luacheck: ignore 111
  end)
end)

describe("what cannot cross", function()
  it("is refused with its path, and nothing is queued", function()
    local before = jobs.stats()
    local bads = { coroutine.create(echo), io.stdout, setmetatable({}, {
      __pairs = function() error "boom" end, __index = function() error "boom" end }),
      coroutine.wrap(echo) }
    local kinds = { "thread", "userdata", "table with a metatable", "C function" }
    for i, bad in ipairs(bads) do
      raises("^[^:]+:%d+: weft.jobs: argument 2.cfg.sock %(" .. kinds[i]
        .. "%) cannot go to a job", function() jobs.run(echo, 1, { cfg = { sock = bad } }) end)
      raises("weft.jobs: argument 1%[2%] %(" .. kinds[i], jobs.run, echo, { 1, bad })
    end
    local player = io.stdout
    raises("^[^:]+:%d+: weft.jobs: captured local 'player' %(userdata%) cannot go to a job",
      function() jobs.run(function() return player end) end)
    raises("captured by the function at spec/job_values_spec.lua:%d+$", jobs.run,
      function() return player end)
    raises("weft.jobs: argument 2 %(table with a metatable%) cannot go to a job", jobs.run, echo,
      1, bads[3])
    raises("weft.jobs: argument 1 %(userdata%) cannot go to a job: it is a weft.World", jobs.run,
      echo, support.world{})
    local after = jobs.stats()
    assert.equal(before.completedJobs, after.completedJobs)
    assert.equal(5, done(jobs.run(function() return 5 end)))
  end)

  it("is the job's error where it is a result", function()
    assert.truthy(failure(jobs.run(function() return 1, io.stdout end)):find
      "^weft.jobs: result 2 %(userdata%) cannot come back from a job: it is a FILE%*")
    assert.truthy(failure(jobs.run(function() return { a = { coroutine.create(print) } } end)):find
      "^weft.jobs: result 1.a%[1%] %(thread%) cannot come back from a job")
    assert.equal(5, done(jobs.run(function() return 5 end)))
  end)
end)

describe("a lot of values", function()
  it("cross, whatever their number and size", function()
    local many = {}
    for i = 1, 200 do many[i] = i end
    local unpack = rawget(table, "unpack") or unpack
    assert.equal(200, select("#", done(jobs.run(echo, unpack(many)))))
    local long = ("x"):rep(2 ^ 20)
    assert.equal(long, (done(jobs.run(echo, long))))
    assert.equal(20000, #done(jobs.run(function()
      local t = {}
      for i = 1, 20000 do t[i] = { i, tostring(i) } end
      return t
    end)))
  end)

  it("leave nothing behind", function()
    local function round()
      for i = 1, 50 do
        done(jobs.run(function(t) return t, #t end, { i, { i }, tostring(i) }))
        pcall(jobs.run, echo, { ("x"):rep(1000) }, io.stdout)
        failure(jobs.run(function() error { 1 } end))
      end
    end
    for _ = 1, 3 do round() end
    support.collect()
    local before = collectgarbage "count"
    for _ = 1, 5 do round() end
    support.collect()
    assert.is_true(collectgarbage "count" - before < 300)
    assert.is_function(weft.world)
  end)
end)
