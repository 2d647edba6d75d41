-- SPDX-License-Identifier: MIT
--
-- Signals, channels and locks while a debug hook lets other routines run between any two
-- instructions, or raises at one. In processes of their own: on LuaJIT there is one hook for the
-- whole VM.

local support = require "support"

local PRELUDE = [[
  if jit then jit.off() end
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world { capacity = 32 }
  world.onError = function(_, err)
    if err ~= "time is up" then print("reported", err) end
  end
  local signal, channel = weft.signal(), weft.channel(2)
  local mutex, chairs = weft.mutex(), weft.semaphore(2)
  local function interrupt()
    if routine.self() then routine.nextTick() end
  end
  local function drain(limit)
    for _ = 1, limit do
      if world:stats().active == 0 then break end
      world:tick(0.25)
    end
  end
]]

local function run(...)
  return support.program(PRELUDE, ...)
end

describe("a hook that waits #wait", function()
  for _, interval in ipairs { 1, 2, 3, 5, 7, 11 } do
    it("every " .. interval .. " instructions leaves turns and values as they are", function()
      local output = run([[
        local inside, worst, most, got, sitting, sums = 0, 0, 0, 0, {}, {}
        local function work(hooked, me)
          local mine = 0
          if hooked then debug.sethook(interrupt, "", %d) end
          for i = 1, 5 do
            assert(channel:put(i))
            mutex:lock()
            inside = inside + 1
            worst = math.max(worst, inside)
            routine.nextTick()
            inside = inside - 1
            mutex:unlock()
            chairs:acquire()
            sitting[me] = 1
            most = math.max(most, (sitting[1] or 0) + (sitting[2] or 0) + (sitting[3] or 0))
            routine.wait(0.25)
            sitting[me] = 0
            chairs:release()
            local value = channel:get()
            mine = mine + value
            local reason = select(2, signal:wait(0.5))
            if reason ~= "timeout" then got = got + 1 end
            local index = routine.any { signal, timeout = 0.5 }
            if index then got = got + 1 end
          end
          if hooked then debug.sethook() end
          sums[me] = mine
        end
        for i = 1, 3 do world:start(work, i == %d, i) end
        local firer = world:start(function()
          while true do routine.nextTick() signal:fire(nil, nil) end
        end)
        for _ = 1, 20000 do
          if world:stats().active == 1 then break end
          world:tick(0.25)
        end
        firer:cancel()
        drain(9)
        print(worst, most <= 2,
          sums[1] + sums[2] + sums[3], got > 0, world:stats().active, signal:waiting())
        print(mutex, chairs, channel)
      ]], interval, interval % 3 + 1)
      assert.equal("1\ttrue\t45\ttrue\t0\t0\nweft.Mutex (free, 0 waiting)\t"
        .. "weft.Semaphore (2 of 2 free, 0 waiting)\tweft.Channel (0 of 2)\n", output)
    end)
  end
end)

describe("a hook that would wait at the calls of a fire", function()
  it("leaves each fire its own listeners, values and end #wait", function()
    local output = run [[
      local log = {}
      local function fires(name, values)
        local mine = weft.signal()
        for i = 1, 3 do
          mine:connect(function(value)
            log[#log + 1] = name .. i .. value
            if i == 2 then error("listener " .. name, 0) end
          end)
        end
        for skip = 1, 12 do
          local calls, waited = 0, false
          debug.sethook(function()
            calls = calls + 1
            if calls < skip or waited or not routine.self() then return end
            waited = true
            routine.nextTick()
          end, "c")
          for _, value in ipairs(values) do mine:fire(value) end
          debug.sethook()
          routine.nextTick()
        end
      end
      world.onError = function(_, err) log[#log + 1] = err end
      for _, name in ipairs { "a", "b", "c" } do
        world:start(fires, name, { name .. "x", name .. "y" })
      end
      drain(400)
      for _, name in ipairs { "a", "b", "c" } do
        local seen = {}
        for _, entry in ipairs(log) do
          if entry:find(name .. "$") or entry:find("^" .. name) then seen[#seen + 1] = entry end
        end
        local expected = {}
        for _ = 1, 12 do
          for _, value in ipairs { name .. "x", name .. "y" } do
            for _, entry in ipairs { name .. "1" .. value, name .. "2" .. value,
                "listener " .. name, name .. "3" .. value } do
              expected[#expected + 1] = entry
            end
          end
        end
        print(name, table.concat(seen, " ") == table.concat(expected, " "))
      end
      print(world:stats().active, world:stats().completed)
    ]]
    assert.equal("a\ttrue\nb\ttrue\nc\ttrue\n0\t3\n", output)
  end)
end)

describe("a hook that raises", function()
  it("at any instruction of a wait leaves nobody in a line, and nothing held #wait", function()
    local output = run [[
      local raised = 0
      local waits = {
        function() signal:wait(5) end,
        function() routine.any { signal, timeout = 5 } end,
        function() mutex:lock(5) end,
        function() chairs:acquire(5) end,
        function() channel:get(5) end,
        function() for i = 1, 4 do channel:put(i, 5) end end,
      }
      for _, wait in ipairs(waits) do
        local holder = world:start(function()
          mutex:lock()
          chairs:acquire()
          chairs:acquire()
          if wait == waits[6] then channel:put(0) channel:put(0) end
          routine.wait(1e6)
        end)
        world:tick(0)
        for skip = 0, 40 do
          world:start(function()
            local count = 0
            local ok, err = pcall(function()
              debug.sethook(function()
                if not routine.self() then return end
                count = count + 1
                if count > skip then
                  debug.sethook()
                  error("time is up", 0)
                end
              end, "", 1)
              wait()
            end)
            debug.sethook()
            if not ok and err == "time is up" then raised = raised + 1 end
            routine.wait(0.1)
          end)
          for _ = 1, 100 do
            if world:stats().active == 1 then break end
            world:tick(0.25)
          end
          debug.sethook()
        end
        holder:cancel()
        drain(9)
        channel:close()
        while channel:get() do end
        channel = weft.channel(2)
      end
      print(raised > 0, world:stats().active, signal:waiting(), mutex, chairs)
    ]]
    assert.equal("true\t0\t0\tweft.Mutex (free, 0 waiting)\t"
      .. "weft.Semaphore (2 of 2 free, 0 waiting)\n", output)
  end)

  it("at every call out of a listener ends the fire all the same", function()
    local output = run [[
      local called, on = 0, true
      for _ = 1, 3 do signal:connect(function() called = called + 1 end) end
      world:start(function()
        debug.sethook(function()
          if on then error("time is up", 0) end
        end, "c")
        pcall(signal.fire, signal)
      end)
      pcall(world.tick, world, 0.1)
      on = false
      debug.sethook()
      called = 0
      signal:fire()
      print("called", called)
    ]]
    assert.matches("called\t3\n$", output)
  end)
end)
