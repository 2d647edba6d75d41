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
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local function pack(...) return { n = select("#", ...), ... } end

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

  it("bring what they capture now, however often they have crossed before", function()
    local k = 0
    local function get(n) return k + n end
    for i = 1, 5 do
      k = i * 10
      assert.equal(k + 1, done(jobs.run(get, 1)))
    end
  end)

  it("whose place in memory was another's are not taken for it", function()
    for i = 1, 300 do
      local fn = assert((loadstring or load)("return " .. i)) -- luacheck: ignore 113
      assert.equal(i, done(jobs.run(fn)))
      if i % 50 == 0 then support.collect() end
    end
  end)

  it("that capture nothing cross with any number of arguments, and of results", function()
    local function count(...) return select("#", ...), ... end
    local function first(a) return a end
    local many = {}
    for i = 0, 40 do
      if i > 0 then many[i] = i % 3 == 0 and i / 4 or i end
      assert.same({ i, unpack(many, 1, i) }, { done(jobs.run(count, unpack(many, 1, i))) })
      assert.equal(many[1], done(jobs.run(first, unpack(many, 1, i))))
    end
    for _, text in ipairs { "", "a\0b", ("x"):rep(40), ("y"):rep(90), ("z"):rep(200) } do
      assert.equal(text, done(jobs.run(first, text, 1, nil)))
    end
    assert.same({ n = 4, nil, false, true, nil }, pack(done(jobs.run(function(...)
      return ...
    end, nil, false, true, nil))))
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

describe("what a job has brought", function()
  it("is the same as often as it is asked for", function()
    local function three() return 1, nil, 2.5 end
    local job = jobs.run(three)
    for _ = 1, 3 do
      assert.same({ n = 3, 1, nil, 2.5 }, pack(done(job)))
      assert.equal("completed", job:status())
      assert.is_true(job:isComplete())
      assert.is_true(job:wait(0))
      assert.is_false(job:cancel())
      assert.truthy(tostring(job):find "^weft.Job: job %d+ %(completed%)$")
    end
  end)

  it("is there for other jobs, after it was asked for here", function()
    local job = jobs.run(function() return 7, 8 end)
    done(job)
    local text = tostring(job)
    local sum, name, back = done(jobs.run(function(other)
      local a, b = other:await()
      return a + b, tostring(other), other
    end, job))
    assert.equal(15, sum)
    assert.truthy(name:find "%(completed%)$")
    assert.equal(job, back)
    assert.equal(text, tostring(job))
    assert.same({ 7, 8 }, { done(job) })
  end)

  it("is read whole, whatever a finalizer asks of the job meanwhile", function()
    local function text(n) return "text " .. n end
    local job, others = nil, {}
    local function finalizer()
      if not job then return end
      pcall(job.result, job)
      others[#others + 1] = jobs.run(text, -1)
    end
    local function leave()
      local proxy = newproxy and newproxy(true) or setmetatable({}, { __gc = finalizer })
      if newproxy then getmetatable(proxy).__gc = finalizer end
    end
    for i = 1, 200 do
      local next = jobs.run(text, i)
      next:wait()
      for _ = 1, 10 do leave() end
      job = next
      for _ = 1, 3 do assert.equal("text " .. i, (job:result())) end
      job = nil
      for k, other in ipairs(others) do
        assert.equal("text -1", done(other))
        others[k] = nil
      end
    end
  end)

  it("is not the next one's", function()
    local function id(n) return n end
    local list = {}
    for i = 1, 100 do
      list[i] = jobs.run(id, i)
      done(list[i])
    end
    for i = 1, 100 do list[100 + i] = jobs.run(id, 100 + i) end
    for i = 1, 200 do assert.equal(i, done(list[i])) end
    for i = 1, 200 do assert.equal(i, done(list[i])) end
  end)
end)

describe("a lot of values", function()
  it("cross, whatever their number and size", function()
    local many = {}
    for i = 1, 200 do many[i] = i end
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
