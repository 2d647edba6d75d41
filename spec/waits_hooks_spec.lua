-- SPDX-License-Identifier: MIT
--
-- Debug hooks that come between any two instructions of a wait: one that waits itself, and one that
-- raises, as a time limit for scripts does. In processes of their own: on LuaJIT there is one hook
-- for the whole VM.

local support = require "support"

local PRELUDE = [[
  local weft = require "weft"
  local routine = weft.routine
  local world = weft.world { capacity = 64 }
  local reported = 0
  world.onError = function(_, err)
    reported = reported + 1
    print("reported", err)
  end
  local function drain(limit)
    for _ = 1, limit do
      if world:stats().active == 0 then break end
      world:tick(0.1)
    end
  end
]]

local function run(...)
  return support.program(PRELUDE, ...)
end

describe("a hook inside a wait", function()
  for _, interval in ipairs { 1, 2, 3, 7 } do
    it("may wait, every " .. interval .. " instructions #wait", function()
      local output = run([[
        local function hook()
          if routine.self() then routine.nextTick() end
        end
        for k = 1, 3 do
          world:start(function()
            debug.sethook(hook, "", %d)
            for _ = 1, 20 do routine.wait(0.5 + k * 0.01) end
            debug.sethook()
          end)
        end
        drain(3000)
        debug.sethook()
        print(world:stats().completed, world:stats().active, world:stats().timers)
      ]], interval)
      assert.equal("3\t0\t0\n", output)
    end)
  end

  it("may raise at any instruction, and the routine waits on as before #wait", function()
    local output = run [[
      local raised = 0
      for skip = 0, 40 do
        world:start(function()
          local count = 0
          local ok, err = pcall(function()
            debug.sethook(function()
              if not routine.self() then return end
              count = count + 1
              if count > skip then
                debug.sethook()
                error("timeout", 0)
              end
            end, "", 1)
            routine.wait(5)
          end)
          debug.sethook()
          if not ok and err == "timeout" then raised = raised + 1 end
          routine.wait(0.1)
        end)
        drain(100)
        debug.sethook()
      end
      local stats = world:stats()
      print(raised > 0, stats.active, stats.timers, stats.pinned)
      print(stats.completed + reported)
    ]]
    assert.is_truthy(output:find("true\t0\t0\t0\n41\n", 1, true), output)
  end)

  it("for several may end one of them at any instruction #wait", function()
    local output = run [[
      local hung, closed, refused = 0, 0, 0
      for _, way in ipairs { "any", "all" } do
        for skip = 0, 60 do
          local signal, fired = weft.signal(), false
          local handle = world:start(function()
            local count = 0
            debug.sethook(function()
              count = count + 1
              if count <= skip or not routine.self() then return end
              debug.sethook()
              fired = true
              signal:destroy()
            end, "", 1)
            local ok, first, _, reason = pcall(routine[way], { signal })
            debug.sethook()
            if ok and way == "all" then reason = first[1][2] end
            if ok and reason == "closed" then closed = closed + 1 end
            if not ok and tostring(first):find "destroyed" then refused = refused + 1 end
          end)
          world:tick(0.1)
          world:tick(0.1)
          if fired and handle:status() ~= "completed" then hung = hung + 1 end
          signal:destroy()
          world:tick(0.1)
        end
      end
      debug.sethook()
      print(hung, closed + refused, closed > 0, refused > 0, world:stats().active)
    ]]
    assert.equal("0\t122\ttrue\ttrue\t0\n", output)
  end)

  it("that comes at every call may raise out of a callback, and ticks go on", function()
    local output = run [[
      local on = true
      world:start(function()
        debug.sethook(function()
          if on then error("from the hook", 0) end
        end, "c")
      end)
      pcall(world.tick, world, 0.1)
      on = false
      debug.sethook()
      local ran
      world:tick(0.1)
      world:start(function() ran = true end)
      world:tick(0.1)
      print("ran", ran)
    ]]
    assert.is_truthy(output:find("ran\ttrue\n", 1, true), output)
  end)
end)
