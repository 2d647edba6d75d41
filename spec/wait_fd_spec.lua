-- SPDX-License-Identifier: MIT
--
-- Waits for file descriptors, of LuaSocket and of luaposix. What is sent over a local socket is
-- there when the sender goes on, so ticks decide what happens when, and nothing sleeps.

local support = require "support"
local routine = require "weft.routine"
local core = require "weft.core"
local socket = require "socket"
local local_socket = require "socket.unix"
local hasPosix, unistd = pcall(require, "posix.unistd")

-- Two ends of one connection.
local function connection()
  local path = os.tmpname()
  os.remove(path)
  local server, here = assert(local_socket.stream()), assert(local_socket.stream())
  assert(server:bind(path))
  assert(server:listen())
  assert(here:connect(path))
  local there = assert(server:accept())
  server:close()
  os.remove(path)
  here:settimeout(0)
  there:settimeout(0)
  finally(function()
    here:close()
    there:close()
  end)
  return here, there
end

-- Starts a routine that waits; returns a table with its handle and, in the end, what it got.
local function waiter(world, fd, mode, timeout)
  local entry = {}
  entry.handle = world:start(function()
    local function done(...) entry.n, entry[1], entry[2] = select("#", ...), ... end
    done(routine.waitFd(fd, mode, timeout))
    entry.tick = world.tickCount
  end)
  return entry
end

describe("routine.waitFd", function()
  it("waits until there is something to read", function()
    local world = support.world()
    local here, there = connection()
    local got = waiter(world, here:getfd(), "r")
    support.ticks(3)
    assert.equal("sleeping", got.handle:status())
    there:send("x")
    world:tick(0)
    assert.equal(1, got.n)
    assert.is_true(got[1])
    assert.equal("completed", got.handle:status())
  end)

  it("takes a tick also for what is ready already", function()
    local world = support.world()
    local here, there = connection()
    there:send("x")
    local got = waiter(world, here:getfd(), "r")
    world:tick(0)
    assert.is_nil(got.n)
    world:tick(0)
    assert.is_true(got[1])
  end)

  it("waits until there is room to write", function()
    local world = support.world()
    local here, there = connection()
    local block = ("x"):rep(65536)
    local filled = 0
    repeat
      local _, err, sent = here:send(block)
      filled = filled + (sent or #block)
    until err
    local got = waiter(world, here:getfd(), "w")
    support.settle(3)
    assert.is_nil(got.n)
    local drained = 0
    while drained < filled do
      local data, _, partial = there:receive(65536)
      drained = drained + #(data or partial)
    end
    world:tick(0)
    assert.is_true(got[1])
  end)

  it("is told when the other side is gone", function()
    local world = support.world()
    local here, there = connection()
    local got = waiter(world, here:getfd(), "r")
    world:tick(0)
    there:close()
    world:tick(0)
    assert.is_true(got[1])
    assert.equal("closed", select(2, here:receive()))
  end)

  it("gives nil and a reason when its descriptor is closed meanwhile, or was before", function()
    local world = support.world()
    local here = connection()
    local fd = here:getfd()
    local got, other = waiter(world, fd, "r"), waiter(world, fd, "r", 5)
    world:tick(0)
    here:close()
    world:tick(0)
    for _, entry in ipairs{ got, other } do
      assert.equal(2, entry.n)
      assert.is_nil(entry[1])
      assert.equal("closed", entry[2])
    end
    local late = waiter(world, fd, "w")
    world:tick(0)
    assert.equal("closed", late[2])
    assert.is_nil(late[1])
  end)

  it("ends at its time limit, in the time of the world", function()
    local world = support.world()
    local here, there = connection()
    local got, other = waiter(world, here:getfd(), "r", 2), waiter(world, here:getfd(), "r", 9)
    world:tick(0)
    world:setTimeScale(0.5)
    world:tick(2)
    assert.is_nil(got.n)
    world:tick(2)
    assert.equal(2, got.n)
    assert.is_nil(got[1])
    assert.equal("timeout", got[2])
    there:send("x")
    world:tick(0)
    assert.is_true(other[1])
  end)

  it("takes a limit of no time for the next tick", function()
    local world = support.world()
    local here = connection()
    local got = waiter(world, here:getfd(), "r", 0)
    world:tick(0)
    world:tick(0)
    assert.equal("timeout", got[2])
  end)

  it("wakes all that wait for one, in the order in which they came", function()
    local world = support.world()
    local here, there = connection()
    local log = {}
    for i = 1, 4 do
      world:start(function()
        routine.waitFd(here:getfd(), i == 3 and "w" or "r")
        log[#log + 1] = i
      end)
    end
    world:tick(0)
    there:send("x")
    world:tick(0)
    assert.equal("1 2 4 3", table.concat(log, " "))
  end)

  it("is cancelled as any wait", function()
    local world = support.world()
    local here, there = connection()
    local cleaned, err
    local handle = world:start(function()
      routine.defer(function() cleaned = true end)
      local ok
      ok, err = pcall(routine.waitFd, here:getfd(), "r")
      assert(not ok)
      error(err, 0)
    end)
    world:tick(0)
    handle:cancel()
    there:send("x")
    world:tick(0)
    assert.is_true(cleaned)
    assert.equal(routine.Cancelled, err)
    assert.equal("cancelled", handle:status())
  end)

  it("is ended by unload and close", function()
    local world = support.world()
    local here = connection()
    local got = waiter(world, here:getfd(), "r")
    world:tick(0)
    assert.is_true(world:unload())
    assert.equal("cancelled", got.handle:status())
    waiter(world, here:getfd(), "r")
    world:tick(0)
  end)

  it("works anywhere in a routine", function()
    local world = support.world()
    local here, there = connection()
    local fd, log = here:getfd(), {}
    world:start(function()
      table.sort({ 1, 2 }, function(a, b)
        log[#log + 1] = tostring(routine.waitFd(fd, "r"))
        return a < b
      end)
      local _ = ("x"):gsub("x", function()
        log[#log + 1] = select(2, routine.waitFd(fd, "r", 1))
      end)
      coroutine.wrap(function() log[#log + 1] = tostring(routine.waitFd(fd, "w")) end)()
      log[#log + 1] = tostring(select(2, pcall(routine.waitFd, fd, "w")))
    end)
    support.settle(2)
    there:send("x")
    world:tick(0)
    assert.equal(1, #log)
    here:receive(1)
    support.ticks(2, 1)
    support.settle(3)
    assert.equal("true timeout true true", table.concat(log, " "))
  end)

  it("works while debug hooks are in use", function()
    local world = support.world()
    local here, there = connection()
    local got = {}
    debug.sethook(function() end, "", 1)
    finally(function() debug.sethook() end)
    for i, limit in ipairs{ false, 1 } do
      world:start(function() got[i] = { routine.waitFd(here:getfd(), "r", limit or nil) } end)
    end
    world:start(function() got[3] = { routine.waitFd(98765, "r") } end)
    support.ticks(2, 1)
    there:send("x")
    world:tick(0)
    debug.sethook()
    assert.same({ { true }, { nil, "timeout" }, { nil, "closed" } }, got)
  end)

  it("changes nothing when its coroutine is resumed by hand", function()
    local world = support.world()
    local here, there = connection()
    local co, got
    world:start(function()
      co = coroutine.running()
      got = { routine.waitFd(here:getfd(), "r") }
    end)
    world:tick(0)
    local _, first, reason = coroutine.resume(co)
    assert.is_nil(first)
    assert.equal("belongs to a routine", reason)
    there:send("x")
    world:tick(0)
    assert.same({ true }, got)
  end)

  it("tells a routine in a paused world when that goes on", function()
    local world = support.world()
    local here, there = connection()
    local got = waiter(world, here:getfd(), "r")
    world:tick(0)
    world:pause()
    there:send("x")
    support.ticks(2)
    assert.is_nil(got.n)
    world:resume()
    world:tick(0)
    assert.is_true(got[1])
  end)

  it("is asked for after the posts, before the messages", function()
    local world = support.world()
    local here, there = connection()
    local owner, status = world:owner(), nil
    local got = waiter(world, here:getfd(), "r")
    owner:on("look", function() status = got.handle:status() end)
    world:tick(0)
    world:post(function() there:send("x") end)
    world:send(owner, "look")
    world:tick(0)
    assert.equal("queued", status)
    assert.is_true(got[1])
  end)

  it("is seen by inspect, and mixes with other waits", function()
    local world = support.world()
    local here, there = connection()
    local signal, log = require("weft").signal(), {}
    local function say(...) log[#log + 1] = tostring((...)) end
    world:start(function()
      say(routine.waitFd(here:getfd(), "r"))
      say(routine.waitFor(signal))
      say(routine.waitFd(here:getfd(), "w"))
      say(routine.waitFor(signal, 1))
    end)
    world:tick(0)
    local entry = world:inspect()[1]
    assert.equal("event", entry.waitingOn)
    there:send("x")
    world:tick(0)
    signal:fire "fired"
    support.settle(2)
    world:tick(1)
    assert.equal("true fired true nil", table.concat(log, " "))
  end)

  it("serves several at once, in several worlds", function()
    local first, second = support.world(), support.world()
    local pairs_, got = {}, {}
    for i = 1, 40 do
      pairs_[i] = { connection() }
      got[i] = waiter(i % 2 == 0 and first or second, pairs_[i][1]:getfd(), "r")
    end
    for _ = 1, 2 do first:tick(0) second:tick(0) end
    for i = 1, 40, 3 do pairs_[i][2]:send("x") end
    first:tick(0)
    second:tick(0)
    for i = 1, 40 do assert.equal(i % 3 == 1 or nil, got[i][1]) end
  end)

  if hasPosix then
    it("waits for pipes of luaposix", function()
      local world = support.world()
      local out, into = unistd.pipe()
      finally(function() unistd.close(out) end)
      local got = waiter(world, out, "r")
      support.settle(2)
      assert.is_nil(got.n)
      unistd.write(into, "bytes")
      world:tick(0)
      assert.is_true(got[1])
      assert.equal("bytes", unistd.read(out, 10))
      local ended = waiter(world, out, "r")
      world:tick(0)
      unistd.close(into)
      world:tick(0)
      assert.is_true(ended[1])
      assert.equal("", unistd.read(out, 10))
    end)
  end
end)

describe("misuse of routine.waitFd", function()
  local function says(text, ...)
    local args = { n = select("#", ...), ... }
    local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
    support.world()
    local ok, err = pcall(support.inside, function()
      local ready = routine.waitFd(unpack(args, 1, args.n))
      return ready
    end)
    assert.is_false(ok)
    assert.truthy(err:match("wait_fd_spec.lua:%d+: (.*)") == text, err)
  end

  it("raises with what was expected", function()
    says("routine.waitFd: fd must be a whole number >= 0, got -1", -1, "r")
    says("routine.waitFd: fd must be a whole number >= 0, got 1.5", 1.5, "r")
    says("routine.waitFd: fd must be a whole number >= 0, got table", {}, "r")
    says("routine.waitFd: fd must be a whole number >= 0, got string", "3", "r")
    says("routine.waitFd: fd must be a whole number >= 0, got 2147483648", 2147483648, "r")
    says("routine.waitFd: mode must be 'r' or 'w', got rw", 0, "rw")
    says("routine.waitFd: mode must be 'r' or 'w', got nil", 0)
    says("routine.waitFd: timeout must be finite and >= 0, got -1", 0, "r", -1)
    says("routine.waitFd: timeout must be a number, got string", 0, "r", "1")
  end)

  it("outside a routine raises", function()
    local ok, err = pcall(routine.waitFd, 0, "r")
    assert.is_false(ok)
    assert.truthy(err:find("routine.waitFd: not inside a routine", 1, true))
  end)
end)

describe("world:run", function()
  local clock, sleepUntil = core.clock, core.sleepUntil
  after_each(function() core.clock, core.sleepUntil = clock, sleepUntil end)

  it("ticks when a descriptor is ready, and stays on its grid", function()
    local world = support.world()
    local now, wakes, times, dts = 1000, { 1000.03, 1000.05, 1000.12 }, {}, {}
    core.clock = function() return now end
    core.sleepUntil = function(t, which)
      assert.equal(world, which)
      local early = wakes[1] and wakes[1] < t
      now = early and table.remove(wakes, 1) or math.max(now, t)
      return early or false
    end
    world:on("preUpdate", function(dt)
      times[#times + 1], dts[#dts + 1] = math.floor((now - 1000) * 1000 + 0.5), dt
    end)
    world:run{ hz = 10, ticks = 6 }
    assert.same({ 30, 50, 100, 120, 200, 300 }, times)
    local sum = 0
    for _, dt in ipairs(dts) do sum = sum + dt end
    assert.near(0.3, sum, 1e-9)
  end)

  it("sleeps no longer than until the first descriptor is ready", function()
    local world = support.world()
    local here, there = connection()
    there:send("x")
    local got = waiter(world, here:getfd(), "r")
    -- At this pace the second tick would come in an hour.
    core.clock = function() return clock() end
    local asked = 0
    core.sleepUntil = function(t, which)
      asked = asked + 1
      return asked == 1 or sleepUntil(t, which)
    end
    world:run{ hz = 1 / 3600 }
    assert.is_true(got[1])
    assert.equal(2, world.tickCount)
  end)

  -- Were it taken for one that is over the descriptor would not be asked for, at a later time.
  it("sleeps however far away the next tick is", function()
    local world = support.world()
    local server = assert(socket.bind("127.0.0.1", 0))
    local _, port = server:getsockname()
    local caller = assert(io.popen(
      "bash -c 'sleep 0.1; exec 3<>/dev/tcp/127.0.0.1/" .. port .. "'"))
    finally(function()
      caller:close()
      server:close()
    end)
    waiter(world, server:getfd(), "r")
    world:tick(0)
    for _, seconds in ipairs { 9e9, 1e300 } do
      assert.is_true(core.sleepUntil(seconds, world))
    end
    world:tick(0)
  end)
end)
