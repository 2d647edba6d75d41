-- SPDX-License-Identifier: MIT
--
-- How services end: told to, by an error, with their world; and what becomes of who waits for them.

local support = require "support"
local services = require "support.services"
local jobs = require "weft.jobs"
local routine = require "weft.routine"

local serve = services.serve
local raises, run = support.raises, support.untilIdle

-- Answers with what it was sent, or does what it is told.
local function servant()
  local service = require "weft.service"
  for what, x in service.receive do
    if what == "wait" then x:wait() end
    if what == "break" then error(x) end
    if what == "leave" then return end
    if what ~= "silence" then service.reply(what, x) end
  end
end

-- It is at work on this, until the barrier is released.
local function hold(service)
  local gate = jobs.barrier(1)
  local call = service:call("wait", gate)
  while service:stats().open == 0 do end
  return gate, call
end

-- Ticks until there are so many reports.
local function reported(world, count)
  while #support.reports() < count do world:tick(0) end
  return support.reports()
end

describe("a service that is told to stop", function()
  it("receives what was sent before, and refuses what comes later", function()
    support.world{}
    local service = serve(servant)
    local gate, held = hold(service)
    local call = service:call("x")
    service:stop()
    assert.equal("stopping", service:status())
    assert.same({ false, "closed" }, { service:tryPost("y") })
    assert.same({ nil, "closed" }, { service:call("y") })
    gate:release()
    assert.is_true(service:join())
    assert.is_true(call:wait() and held:wait())
    assert.equal("x", (call:result()))
    assert.equal("ended", service:status())
    service:stop() -- harmless
    assert.is_true(service:join(0))
  end)

  it("drops what is left when the time is over, and join says what has not ended", function()
    support.world{}
    local service = serve(servant, { name = "slow" })
    local gate, held = hold(service)
    local call = service:call("x")
    service:stop(0)
    assert.same({ nil, "timeout", "service 'slow' still runs: 0 letters wait, 1 calls are open" },
      { service:join(0.001) })
    assert.is_true(call:wait())
    raises("weft.service: service 'slow' has ended without an answer", call.result, call)
    gate:release()
    assert.is_true(service:join())
    assert.is_true(held:wait())
    assert.equal("wait", (held:result()))
  end)

  it("tells its error to calls that were open, not to those that were dropped before", function()
    support.world{}
    local service = serve(function()
      local _, g = require("weft.service").receive()
      g:wait()
      error("late", 0)
    end)
    local gate, held = hold(service)
    local call = service:call("x")
    service:stop(0)
    assert.is_nil((service:join(0.001)))
    assert.is_true(call:wait())
    gate:release()
    assert.is_false((service:join()))
    raises("has ended without an answer", call.result, call)
    assert.is_true(held:wait())
    raises("late", held.result, held)
  end)

  it("may be stopped by itself, by a job, and from a routine of another world", function()
    local first = support.world{}
    local inner = serve(function()
      local own = require "weft.service"
      for other in own.receive do other:stop() end
    end)
    inner:tryPost(inner)
    assert.is_true(inner:join())
    local second = serve(servant)
    assert(jobs.run(function(s) s:stop() end, second)):wait()
    assert.is_true(second:join())
    local third = serve(servant)
    local other = support.world{}
    local answer
    other:start(function()
      third:stop()
      answer = { third:join() }
    end)
    run(other)
    assert.same({ true }, answer)
    first:tick(0)
  end)

  it("drops what is left also while a routine joins it", function()
    local world = support.world{}
    local service = serve(servant)
    local gate, held = hold(service)
    local call = service:call("x")
    local answer
    world:start(function() answer = { service:join() } end)
    world:tick(0)
    service:stop(0)
    for _ = 1, 2 do world:tick(0) end
    assert.equal("failed", call:status())
    assert.equal("running", held:status())
    gate:release()
    run(world)
    assert.same({ true }, answer)
  end)

  it("cannot be joined on its own thread", function()
    support.world{}
    local service = serve(function()
      local own = require "weft.service"
      for other in own.receive do own.reply(pcall(other.join, other)) end
    end)
    local call = service:call(service)
    assert(call:wait())
    local ok, err = call:result()
    assert.is_false(ok)
    assert.truthy(err:find "service:join: a service cannot wait for itself")
  end)

  it("is joined by a routine while its world ticks on", function()
    local world = support.world{}
    local service = serve(servant)
    local gate = hold(service)
    local answers = {}
    world:start(function() answers[1] = { service:join(1) } end)
    world:start(function() answers[2] = { service:join() } end)
    world:tick(0.5)
    assert.same({}, answers)
    world:tick(1)
    assert.equal("timeout", answers[1][2])
    service:stop()
    gate:release()
    run(world)
    assert.same({ true }, answers[2])
  end)
end)

describe("a service that fails", function()
  it("fails every open call with its error and traceback, and says so once", function()
    local world = support.world{}
    local service = serve(servant, { name = "db" })
    local gate, held = hold(service)
    local calls, errors = {}, {}
    for i = 1, 5 do
      calls[i] = service:call(i == 1 and "break" or i, "disk full")
      world:start(function() errors[i] = select(2, pcall(routine.await, calls[i])) end)
    end
    world:tick(0)
    gate:release()
    run(world)
    for i = 1, 5 do
      assert.truthy(errors[i]:find "service_ends_spec.lua:%d+: disk full\nstack traceback:\n")
    end
    assert.is_true(held:wait())
    assert.equal("wait", (held:result()))
    local reports = reported(world, 1)
    for _ = 1, 5 do world:tick(0) end
    assert.equal(1, #reports)
    assert.is_nil(reports[1].handle)
    assert.equal(errors[1], reports[1].err)
    assert.equal("failed", service:status())
    assert.same({ false, "closed" }, { service:tryPost(1) })
  end)

  it("tells who joins it, and then nobody else", function()
    local world = support.world{}
    local service = serve(servant)
    service:tryPost("break", { code = 5 })
    assert.same({ false, { code = 5 } }, { service:join() })
    for _ = 1, 5 do world:tick(0) end
    assert.equal(0, #support.reports())
  end)

  it("does so with an error that cannot leave it as text", function()
    support.world{}
    local service = serve(function()
      error(setmetatable({}, { __tostring = function() return "odd" end }))
    end)
    local ok, err = service:join()
    assert.is_false(ok)
    assert.equal("odd (an error object, a table, that cannot leave its service)", err)
  end)

  it("does so while its module is loaded, or without one", function()
    support.world{}
    local _, err = serve("services.breaks"):join()
    assert.truthy(err:find "services/breaks.lua:2: no such luck")
    _, err = serve("services.nothing"):join()
    assert.truthy(err:find "module 'services.nothing' must return a function, or a table")
    _, err = serve("services.not_there"):join()
    assert.truthy(err:find "module 'services.not_there' not found")
  end)

  it("is reported when its world closes, if it was not before", function()
    local world = support.world{}
    local service = serve(servant, { name = "db" })
    service:tryPost("break", "late")
    while service:status() ~= "failed" do end
    world:close()
    assert.equal(1, #support.reports())
    assert.truthy(support.reports()[1].err:find "late")
  end)
end)

describe("a call", function()
  it("that is not answered fails when the next letter is asked for", function()
    support.world{}
    local service = serve(servant, { name = "db" })
    local call = service:call "silence"
    assert(call:wait())
    raises("weft.service: service 'db' went on without a reply", call.result, call)
    assert.equal("failed", call:status())
  end)

  it("that is open when its service returns fails", function()
    support.world{}
    local service = serve(servant, { name = "db" })
    local call = service:call "leave"
    assert(call:wait())
    raises("weft.service: service 'db' has ended without an answer", call.result, call)
  end)

  it("can be taken back before it is received", function()
    support.world{}
    local service = serve(servant)
    local gate, held = hold(service)
    local call = service:call(1)
    assert.is_false(held:cancel())
    assert.is_true(call:cancel())
    assert.is_false(call:cancel())
    assert.equal("cancelled", call:status())
    local ok, err = pcall(call.result, call)
    assert.is_true(not ok and err == routine.Cancelled)
    gate:release()
    service:stop()
    assert.is_true(service:join())
    assert.equal(1, service:stats().received)
  end)

  it("is answered once, and a post not at all", function()
    support.world{}
    local service = serve(function()
      local own = require "weft.service"
      local answers = { tostring(select(2, pcall(own.reply, 1))) }
      own.receive()
      answers[2] = own.reply(1)
      own.receive()
      answers[3] = own.reply(1)
      answers[4] = tostring(select(2, pcall(own.reply, 2)))
      own.receive()
      own.reply(answers)
    end)
    service:tryPost(1)
    local first, second = service:call(1), service:call(1)
    assert(first:wait() and second:wait())
    assert.equal(1, first:result())
    local answers = second:result()
    assert.truthy(answers[1]:find "service.reply: nothing was received that could be answered")
    assert.is_false(answers[2])
    assert.is_true(answers[3])
    assert.truthy(answers[4]:find "service.reply: the call was answered already")
  end)

  it("is answered once also when a finalizer does it while the answer is written", function()
    support.world{}
    local service = serve(function()
      local own = require "weft.service"
      local writing, met = false, false
      local function finalize()
        if not writing or met then return end
        met = true
        own.reply "from a finalizer"
      end
      local function doomed()
        if rawget(_G, "newproxy") then
          getmetatable(newproxy(true)).__gc = finalize
        else
          setmetatable({}, { __gc = finalize })
        end
      end
      collectgarbage("setpause", 50)
      collectgarbage("setstepmul", 1000)
      local list = {}
      for i = 1, 200 do list[i] = { i } end
      for _ in own.receive do
        for _ = 1, 20 do doomed() end
        met, writing = false, true
        local ok, err = pcall(own.reply, list)
        writing = false
        if ok == met then error("an answer too many or too few", 0) end
        if met and not err:find "service.reply: the call was answered already" then
          error(err, 0)
        end
      end
    end, { name = "twice" })
    local met = 0
    for _ = 1, 2000 do
      local call = service:call(1)
      assert(call:wait())
      local answer = call:result()
      assert.is_true(answer == "from a finalizer" or #answer == 200)
      if type(answer) == "string" then met = met + 1 end
      if met == 3 then break end
    end
    assert.is_true(met > 0)
    service:stop()
    assert.is_true(service:join())
  end)

  it("is waited for as jobs are: with a time limit, by any and all", function()
    local world = support.world{}
    local service = serve(servant)
    local gate, held = hold(service)
    local got = {}
    world:start(function()
      got[1] = { routine.await(held, 1) }
      got[2] = { routine.any{ held, jobs.run(function() return "job" end) } }
      got[3] = { routine.all{ held, timeout = 1 } }
      gate:release()
      got[4] = routine.all{ held, service:call("x"), service:call("break", { 5 }) }
      assert.is_false(pcall(routine.await, held, -1))
    end)
    while not got[2] do world:tick(1) end
    while world:stats().active > 0 do world:tick(1) end
    assert.same({ nil, "timeout" }, got[1])
    assert.same({ 2, "job" }, got[2])
    assert.same({ nil, "timeout" }, got[3])
    assert.same({ n = 1, "wait" }, { n = 1, got[4][1][1] })
    assert.equal("x", got[4][2][1])
    assert.is_nil(got[4][3][1])
    assert.same({ 5 }, got[4][3][2])
    assert.equal(1, #reported(world, 1))
  end)

  it("whose routine is cancelled drops the late reply", function()
    local world = support.world{}
    local service = serve(servant)
    local gate, used = jobs.barrier(1), {}
    local handle = world:start(function()
      routine.await(service:call("wait", gate))
      used[1] = true
    end)
    while service:stats().open == 0 do world:tick(0) end
    handle:cancel()
    world:tick(0)
    assert.equal("cancelled", handle:status())
    support.collect()
    gate:release()
    service:stop()
    assert.is_true(service:join())
    for _ = 1, 3 do world:tick(0) end
    assert.same({}, used)
    assert.equal(0, world:stats().posts)
  end)

  it("of a world that closes is dropped, and told to who waits in another", function()
    local home = support.world{}
    local service = serve(servant)
    local gone, other = support.world{}, support.world{}
    local gate, call = jobs.barrier(1), nil
    gone:post(function() call = service:call("wait", gate) end)
    gone:tick(0)
    local got
    other:start(function() got = routine.await(call) end)
    other:tick(0)
    gone:close()
    gate:release()
    run(other)
    assert.equal("wait", got)
    home:tick(0)
  end)
end)

describe("world:close", function()
  it("lets list do what they were sent, and leaves no thread", function()
    local world = support.world{}
    local list, calls = {}, {}
    for i = 1, 10 do
      list[i] = serve(servant)
      calls[i] = list[i]:call(i)
    end
    world:close()
    for i = 1, 10 do
      assert.equal("ended", list[i]:status())
      assert.equal(i, (calls[i]:result()))
      assert.same({ false, "closed" }, { list[i]:tryPost(1) })
    end
    raises("world is closed", world.setState, world, "x")
    raises("world is closed", world.onPost, world, "x", print)
  end)

  it("names what does not end, and leaves it behind", function()
    local world = support.world{}
    local gate = jobs.barrier(1)
    local service = serve(servant, { name = "stuck", drain = 0 })
    service:tryPost("wait", gate)
    while service:stats().received == 0 do end
    world:close()
    assert.equal(1, #support.reports())
    assert.truthy(support.reports()[1].err:find "service 'stuck' still runs after world:close")
    gate:release()
    assert.is_true(service:join())
  end)

  it("does not wait for ever for an endless loop, nor does the end of the process", function()
    local status, text = support.child [[
      local weft = require "weft"
      local world = weft.default()
      world.onError = function(_, err) print(err) end
      local service = weft.service{ name = "spin", drain = 0, main = function()
        while true do end
      end }
      print(service:join(0.001))
      local call = service:call(1)
      world:close()
      print(pcall(call.result, call))
    ]]
    assert.truthy(text:find "^nil\ttimeout\tservice 'spin' still runs: 0 letters wait", text)
    assert.truthy(text:find "service 'spin' still runs after world:close", 1, true)
    assert.truthy(text:find "\nfalse\tweft.service: service 'spin' has ended without an answer\n$")
    assert.equal(0, status)
  end)

  it("is done without by the end of a Lua state", function()
    local status, text = support.child [[
      local weft = require "weft"
      for i = 1, 20 do
        weft.service{ main = function()
          local own = require "weft.service"
          for x in own.receive do own.reply(x) end
        end }:call(i)
      end
      local world = weft.world{}
      world:post(function()
        weft.thread(function() require("weft.thread").wait() end)
      end)
      world:tick(0)
      world = nil
      collectgarbage() collectgarbage()
      print "end"
    ]]
    assert.equal("end\n", text)
    assert.equal(0, status)
  end)
end)

describe("many services", function()
  -- A thousand where nothing else makes it slow.
  it("come and go", function()
    local world = support.world{}
    for _ = 1, support.stress and 3 or support.plain and 125 or 25 do
      local list = {}
      for i = 1, 8 do
        list[i] = serve(servant)
        list[i]:tryPost(i)
        if i % 2 == 0 then list[i]:stop(0) end
      end
      for i = 1, 8 do
        list[i]:stop()
        assert.is_true(list[i]:join())
      end
    end
    world:tick(0)
  end)

  it("work beside jobs and the world, all at once", function()
    local world = support.world{}
    local service, sum = serve(servant, { inbox = 8 }), 0
    for i = 1, 20 do
      world:start(function()
        for k = 1, 5 do
          local call, reason = service:call(i * k)
          while not call do
            assert.equal("full", reason)
            routine.nextTick()
            call, reason = service:call(i * k)
          end
          local x = routine.await(call)
          local y = routine.await(jobs.run(function(n) return n end, x))
          sum = sum + y
        end
      end)
    end
    run(world)
    assert.equal(210 * 15, sum)
  end)

  it("hold their memory when they are flooded", function()
    support.world{}
    local gate = jobs.barrier(1)
    local service = serve(function(g)
      local own = require "weft.service"
      g:wait()
      for x in own.receive do own.reply(#x) end
    end, { inbox = 4 }, gate)
    local text = ("x"):rep(1e5)
    local accepted = 0
    for _ = 1, 200 do accepted = accepted + (service:tryPost(text) and 1 or 0) end
    assert.equal(4, accepted)
    gate:release()
    service:stop()
    assert.is_true(service:join())
    assert.same({ 4, 196 }, { service:stats().received, service:stats().refused })
  end)
end)
