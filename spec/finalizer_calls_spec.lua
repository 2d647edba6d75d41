-- SPDX-License-Identifier: MIT
--
-- Finalizers that call weft. Any call that makes an object may let the collector run, and with it
-- finalizers that start, cancel and close while that call is half done.

local support = require "support"
local routine = require "weft.routine"
local timer = require "weft.timer"

local doomed = support.doomed

local function sleeper() routine.wait(1) end

local pause, stepmul

before_each(function()
  support.collect()
  pause, stepmul = collectgarbage("setpause", 100), collectgarbage("setstepmul", 1000)
end)

after_each(function()
  collectgarbage("setpause", pause)
  collectgarbage("setstepmul", stepmul)
end)

-- `call` runs under a finalizer that closes the world, in other places each time of the collector's
-- round; whatever comes of it, the world is closed once and nothing else breaks.
local function closesduring(call)
  local refused
  local during = 0 -- rounds in which it came within a call
  for round = 1, 30 do
    local world, closed = support.world { capacity = 400 }, false
    for _ = 1, 200 do world:start(sleeper) end
    support.collect()
    doomed(function()
      world:close()
      closed = true
    end)
    for i = 1, round * 20 do refused = { i } end
    for _ = 1, 20000 do
      if closed then break end
      local ok, err = pcall(call, world)
      if closed then during = during + 1 end
      if not ok then refused = tostring(err) end
    end
    if not closed then world:close() end
    local ok, err = pcall(world.start, world, sleeper)
    assert.is_false(ok)
    assert.is_truthy(err:find("world is closed", 1, true))
    if type(refused) == "string" then
      assert.is_truthy(refused:find("world is closed", 1, true), refused)
    end
  end
  assert.is_true(during > 0)
end

describe("a finalizer that comes while a call is half done", function()
  it("may start routines in a start, and each gets its own arguments", function()
    local world = support.world { capacity = 20000 }
    local started, ran, wrong = 0, 0, 0
    local function body(...)
      local a, b, c = ...
      ran = ran + 1
      if select("#", ...) ~= 3 or a ~= "a" or b ~= "b" or c ~= "c" then wrong = wrong + 1 end
    end
    local function start()
      if world:start(body, "a", "b", "c") then started = started + 1 end
    end
    for i = 1, 6000 do
      doomed(start)
      start()
      if i % 64 == 0 then world:tick(0.1) end
    end
    support.collect()
    for _ = 1, 200 do
      if world:stats().active == 0 then break end
      world:tick(0.1)
    end
    assert.is_true(started > 6000)
    assert.equal(started, ran)
    assert.equal(0, wrong)
  end)

  it("may close the world in a start", function()
    closesduring(function(world) world:start(function() end) end)
  end)

  it("may close the world in an inspect", function()
    closesduring(function(world) world:inspect() end)
  end)

  it("may close the world in a post", function()
    closesduring(function(world) world:post(function() end) end)
  end)

  it("may close the world while a timer is armed or tagged", function()
    closesduring(function(world)
      local owner = world:owner()
      local handle = owner and owner:after(9, sleeper, "a", "b")
      if handle then timer.tag(handle, "name " .. world:stats().timers) end
      if owner then owner:every(9, sleeper, { count = 3 }) end
    end)
  end)

  it("may inspect while the coroutine of a routine is just being made", function()
    local status, output = support.child [[
      local weft = require "weft"
      local seen = 0
      local function sleeper() weft.routine.wait(1) end
      for round = 0, 7 do
        local world, on = weft.world { capacity = 600 }, true
        local look
        local function doomed()
          if newproxy then
            getmetatable(newproxy(true)).__gc = look
          else
            setmetatable({}, { __gc = look })
          end
        end
        function look()
          if not on then return end
          on = false
          seen = seen + #world:inspect()
          on = true
          doomed()
        end
        for _ = 1, 3 do doomed() end
        for _ = 1, 500 - round do world:start(sleeper) end
        world:tick(1)
        on = false
        assert(world:stats().failed == 0)
        assert(world:stats().active == 500 - round)
      end
      print(seen > 0)
    ]]
    assert.equal("true\n", output)
    assert.equal(0, status)
  end)

  it("may cancel in an inspect, which shows whole entries alone", function()
    local world = support.world { capacity = 200 }
    local handles, hits = {}, 0
    if support.vm == "lua5.4" then -- there the usual pace comes upon it
      collectgarbage("setpause", pause)
      collectgarbage("setstepmul", stepmul)
    end
    for round = 1, 60 do
      local on, inside = true, false
      for i = 1, 200 do handles[i] = world:start(sleeper) end
      collectgarbage()
      collectgarbage "step"
      doomed(function()
        if not on then return end
        if inside then hits = hits + 1 end
        for i = 1, 200 do handles[i]:cancel() end
      end)
      local junk
      for i = 1, round * 40 do junk = { i, junk and {} } end
      inside = true
      local entries = world:inspect()
      inside = false
      for _, entry in ipairs(entries) do
        assert.equal("queued", entry.status)
        assert.is_truthy(entry.where)
        assert.equal(0, entry.resumes)
      end
      on = false
      for i = 1, 200 do handles[i]:cancel() end
    end
    assert.is_true(hits > 0)
    assert.equal(0, world:stats().active)
  end)
end)

describe("options that would close the world while they are read", function()
  it("are read without asking their metatable", function()
    local world = support.world()
    local asked
    local options = setmetatable({ capacity = 7 }, { __index = function()
      asked = true
      world:close()
    end })
    world:configure(options)
    world:tick(0)
    assert.is_nil(asked)
    assert.equal(7, world:stats().capacity)
  end)
end)

describe("a finalizer that fails", function()
  it("is not taken for the end of the routine that is just ending", function()
    local status, output = support.child [[
      local weft = require "weft"
      local world = weft.world { capacity = 1000 }
      local blamed, calls = 0, 0
      world.onError = function() end
      local function doomed()
        local function fail() error("fin", 0) end
        calls = calls + 1
        -- So that it comes at any place of the round.
        for _ = 1, calls % 37 do fail = function() error("fin", 0) end end
        if newproxy then getmetatable(newproxy(true)).__gc = fail end
        setmetatable({}, { __gc = fail })
      end
      local function one(fails)
        local h = world:start(function()
          pcall(doomed)
          if fails then error("the true error", 0) end
          return 1
        end)
        pcall(world.tick, world, 0.1)
        local state, err = h:status(), h:error()
        if fails then
          if state ~= "failed" or err ~= "the true error" then blamed = blamed + 1 end
        elseif state ~= "completed" then
          blamed = blamed + 1
        end
      end
      collectgarbage("setpause", 100)
      collectgarbage("setstepmul", 400)
      for i = 1, 2000 do pcall(one, i % 2 == 0) end
      collectgarbage "stop"
      print("blamed", blamed)
      io.stdout:flush()
      os.exit(0)
    ]]
    assert.is_truthy(output:find("blamed\t0\n", 1, true), output:sub(-300))
    assert.equal(0, status)
  end)
end)
