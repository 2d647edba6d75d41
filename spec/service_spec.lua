-- SPDX-License-Identifier: MIT
--
-- Services: what they are sent and answer, and what is refused.

local support = require "support"
local services = require "support.services"
local weft = require "weft"
local jobs = require "weft.jobs"
local routine = require "weft.routine"

local serve, ask = services.serve, services.ask
local raises, run = support.raises, support.untilIdle

-- Answers with what it was sent.
local function echo()
  local service = require "weft.service"
  local function answer(...)
    if (...) == nil and select(2, ...) == "stopped" then return false end
    service.reply(...)
    return true
  end
  while answer(service.receive()) do end
end

-- Takes no letter before the barrier is released, and then answers.
local function held(gate)
  local service = require "weft.service"
  gate:wait()
  for x in service.receive do service.reply(x) end
end

describe("a service", function()
  it("answers calls, in a routine and on the thread", function()
    local world = support.world{}
    local service = serve(echo)
    assert.same({ 1, nil, "x", { y = 2 } }, { ask(service, 1, nil, "x", { y = 2 }) })
    local got
    world:start(function() got = { n = select("#", 1), routine.await(service:call("a", true)) } end)
    run(world)
    assert.same({ n = 1, "a", true }, got)
  end)

  it("runs a module that returns its main or a table with one, or serves as it loads", function()
    support.world{}
    assert.equal("hello you", ask(serve("services.echo", nil, "hello"), "you"))
    assert.equal(14, ask(serve("services.table_main"), 7))
    assert.equal(8, ask(serve("services.at_load"), 7))
  end)

  it("has a Lua state of its own, in which modules and globals stay", function()
    support.world{}
    local service = serve(function()
      local service = require "weft.service"
      for _ in service.receive do
        counter = (counter or 0) + 1 -- luacheck: ignore 111 113
        service.reply(counter, require "jobs.keeper") -- luacheck: ignore 113
      end
    end)
    assert.equal(1, (ask(service, true)))
    assert.equal(2, (ask(service, true)))
    assert.is_nil(rawget(_G, "counter"))
  end)

  it("receives posts and calls in the order in which they were sent", function()
    support.world{}
    local service = serve(function()
      local service = require "weft.service"
      local list = {}
      for what, x in service.receive do
        if what == "push" then list[#list + 1] = x else service.reply(list) end
      end
    end)
    local expected = {}
    for i = 1, 50 do
      assert.is_true(service:tryPost("push", i))
      expected[i] = i
    end
    assert.same(expected, ask(service, "list"))
  end)

  it("refuses what is too much for its inbox, and never runs it here", function()
    support.world{}
    local gate = jobs.barrier(1)
    local service = serve(held, { inbox = 2 }, gate)
    assert.is_true(service:tryPost(1))
    local call = service:call(2)
    assert.same({ false, "full" }, { service:tryPost(3) })
    assert.same({ nil, "full" }, { service:call(4) })
    assert.same({ nil, "pending" }, { call:result() })
    gate:release()
    assert.is_true(call:wait())
    assert.equal(2, call:result())
    assert.equal(2, service:stats().refused)
  end)

  it("is gated by the state of its world", function()
    local world = support.world{}
    local service = serve(echo, { gate = { "running", "saving" } })
    assert.equal("running", world:state())
    assert.equal(1, ask(service, 1))
    assert.equal("running", world:setState "loading")
    assert.same({ false, "gated" }, { service:tryPost(1) })
    assert.same({ nil, "gated" }, { service:call(1) })
    assert.equal("loading", world:setState "saving")
    assert.equal(2, ask(service, 2))
    assert.equal("saving", world:state())
  end)

  it("goes on without its object", function()
    local world = support.world{}
    local heard = {}
    world:onPost("done", function(x) heard[#heard + 1] = x end)
    serve(function()
      local service = require "weft.service"
      service.receive()
      service.post("done", 5)
    end):tryPost "go"
    support.collect()
    while #heard == 0 do world:tick(0) end
    assert.same({ 5 }, heard)
  end)

  it("may be told of to other services and to jobs", function()
    support.world{}
    local service = serve(echo)
    local relay = serve(function()
      local own = require "weft.service"
      for other, x in own.receive do
        local call = other:call(x)
        assert(call:wait())
        own.reply(call:result())
      end
    end)
    assert.equal("x", ask(relay, service, "x"))
    local job = jobs.run(function(other)
      local call = assert(other:call "y")
      return call:wait(), call:result()
    end, service)
    assert(job:wait())
    assert.same({ true, "y" }, { job:result() })
    assert.equal(service:stats().received, 2)
  end)

  it("may use jobs of its own", function()
    support.world{}
    local service = serve(function()
      local own, pool = require "weft.service", require "weft.jobs"
      pool.configure{ workers = 1, background = 0 }
      for x in own.receive do
        local job = pool.run(function(n) return n * n end, x)
        job:wait()
        own.reply(job:result())
      end
    end)
    assert.equal(49, ask(service, 7))
  end)

  it("says what it is", function()
    support.world{}
    local service = serve(echo, { name = "db" })
    assert.equal("weft.Service: service 'db' (running)", tostring(service))
    assert.equal("running", service:status())
    local call = service:call(1)
    assert(call:wait())
    assert.equal("weft.Call: to service 'db' (completed)", tostring(call))
    service:stop()
    assert.is_true(service:join())
    assert.equal("ended", service:status())
    assert.truthy(tostring(serve(echo)):find "^weft.Service: service %d+ %(running%)$")
  end)
end)

describe("what goes to a service", function()
  local function capture(value) return function() return value end end

  it("is refused before it is sent, with its path", function()
    support.world{}
    local service = serve(echo)
    raises("service_spec.lua:%d+: weft.service: argument 2.a.b %(thread%) cannot go to a service",
      function() service:tryPost(1, { a = { b = coroutine.create(print) } }) end)
    raises("weft.service: argument 1 %(table with a metatable%) cannot go to a service",
      function() service:call(setmetatable({}, {})) end)
    raises("captured local 'value' %(userdata%) cannot go to a service",
      function() serve(capture(io.stdout)) end)
    raises("weft.service: argument 1 %(userdata%) cannot go to a service: it is a FILE%*",
      function() serve(echo, nil, io.stdout) end)
    assert.equal(0, service:stats().received)
  end)

  it("is refused on the way back, where it may be caught", function()
    support.world{}
    local service = serve(function()
      local own = require "weft.service"
      for _ in own.receive do
        own.reply(select(2, pcall(own.reply, { f = print, co = coroutine.create(print) })))
      end
    end)
    assert.truthy(ask(service, 1):find
      "weft.service: argument 1.co %(thread%) cannot leave a service")
  end)

  it("takes buffers along for good", function()
    support.world{}
    local service = serve(function()
      local own = require "weft.service"
      for buffer in own.receive do
        buffer[1] = buffer[1] + 1
        own.reply(buffer, pcall(function() return buffer[1] end))
      end
    end)
    local buffer = weft.buffer("i32", 3)
    buffer[1] = 41
    local back = ask(service, buffer)
    raises("buffer is gone: it was sent to a service", function() return buffer[1] end)
    assert.equal(42, back[1])
    raises("service:call: argument 1: buffer is gone", function() service:call(buffer) end)
    assert.equal(43, ask(service, back)[1])
  end)

  it("leaves buffers where they are when it is refused", function()
    support.world{}
    local gate = jobs.barrier(1)
    local service = serve(held, { inbox = 1 }, gate)
    assert.is_true(service:tryPost(1))
    local buffer = weft.buffer("u8", 1)
    assert.same({ false, "full" }, { service:tryPost(buffer) })
    buffer[1] = 7
    assert.equal(7, buffer[1])
    gate:release()
    local job = jobs.run(function(b, w) w:wait() return b[1] end, buffer, jobs.barrier())
    raises("service:tryPost: argument 1: buffer is on loan to job", function()
      service:tryPost(buffer)
    end)
    job:wait()
  end)
end)

describe("weft.service", function()
  it("refuses what is no service", function()
    local world = support.world{}
    local function try(pattern, options)
      raises("service_spec.lua:%d+: " .. pattern, function()
        support.within(function() weft.service(options) end)
      end)
    end
    try("weft.service: a table of options expected, got nil", nil)
    try("weft.service: main: a function or the name of a module expected, got nil", {})
    try("weft.service: there is no option 'box'", { main = echo, box = 1 })
    for _, size in ipairs { 0, 65537, 1.5, "x" } do
      try("weft.service: inbox must be a whole number from 1 to 65536, got", {
        main = echo, inbox = size })
    end
    try("weft.service: name must be a string, got 5", { main = echo, name = 5 })
    try("weft.service: args must be a list, got 5", { main = echo, args = 5 })
    for _, n in ipairs { -1, 1.5, "2" } do
      try("weft.service: args.n must be a whole number >= 0, got", {
        main = echo, args = { n = n } })
    end
    for _, n in ipairs { 2 ^ 20, 2 ^ 31 - 1, 2 ^ 53 } do
      raises("too many arguments", weft.service, { main = echo, args = { n = n } })
    end
    try("weft.service: drain must be finite and >= 0, got %-1", { main = echo, drain = -1 })
    try("weft.service: gate must be a list of names of states, got string",
      { main = echo, gate = "x" })
    try("weft.service: gate must be a list of names of states, got an empty one",
      { main = echo, gate = {} })
    try("weft.service: the name of a state expected, got 1", { main = echo, gate = { 1 } })
    raises("world:setState: the name of a state must have 1 to 31 bytes", function()
      world:setState ""
    end)
    raises("a world has at most 64 states", function()
      for i = 1, 64 do world:setState("state " .. i) end
    end)
    for _, size in ipairs { 1, 65536 } do assert.truthy(serve(echo, { inbox = size })) end
  end)

  it("is of the default world outside of all worlds", function()
    local status, text = support.child [[
      local weft = require "weft"
      local service = weft.service{ main = function()
        local own = require "weft.service"
        for x in own.receive do own.post("heard", x) end
      end }
      local heard
      weft.default():onPost("heard", function(x) heard = x end)
      service:tryPost "x"
      while not heard do weft.default():tick(0) end
      print(heard)
      weft.default():close()
      print(service:status(), service:tryPost(1))
    ]]
    assert.equal("x\nended\tfalse\tclosed\n", text)
    assert.equal(0, status)
  end)

  it("refuses methods of others, and functions of a service outside of one", function()
    local world = support.world{}
    local service = serve(echo)
    raises("service:tryPost: a service expected, got table", service.tryPost, {})
    raises("service:stop: a service or a thread expected, got nil", service.stop)
    raises("service:stop: the time limit must be finite and >= 0, got %-1", function()
      service:stop(-1)
    end)
    raises("service:join: timeout must be a number, got string", service.join, service, "x")
    world:start(function()
      raises("^[^:]+service_spec.lua:%d+: service:join: a service or a thread expected, got 5",
        function() local _ = service.join(5) end)
      raises("^[^:]+service_spec.lua:%d+: service:join: timeout must be finite and >= 0, got %-1",
        function() local _ = service:join(-1) end)
    end)
    world:tick(0)
    for _, name in ipairs { "receive", "reply" } do
      raises("service." .. name .. ": not inside a service", weft.service[name])
    end
    for _, name in ipairs { "wait", "post", "stopping" } do
      raises("service." .. name .. ": not inside a service or a thread", weft.service[name])
    end
  end)

  it("refuses worlds, routines and services of its own inside", function()
    support.world{}
    local service = serve(function()
      local own = require "weft.service"
      for _ in own.receive do
        local errors = {}
        for i, fn in ipairs {
          weft.world, weft.default,
          function() routine.start(print) end, function() routine.wait(1) end,
          function() weft.service{ main = print } end, function() weft.thread(print) end,
          function() os.exit(0) end, function() own.receive(-1) end,
        } do
          errors[i] = tostring(select(2, pcall(fn)))
        end
        own.reply(errors)
      end
    end)
    local errors = ask(service, 1)
    assert.truthy(errors[1]:find "weft.world: there is no world inside a service")
    assert.truthy(errors[2]:find "there is no world inside a service")
    assert.truthy(errors[3]:find "there is no world inside a service")
    assert.truthy(errors[4]:find "routine.wait: there are no routines and no world inside a serv")
    assert.truthy(errors[5]:find "weft.service: there is no world inside a service")
    assert.truthy(errors[6]:find "weft.thread: there is no world inside a service")
    assert.truthy(errors[7]:find "os.exit: not allowed inside a service")
    assert.truthy(errors[8]:find "service.receive: timeout must be finite and >= 0, got %-1")
  end)
end)
