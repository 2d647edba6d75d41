-- SPDX-License-Identifier: MIT
--
-- Scopes while a debug hook lets other routines run between any two of their instructions, or
-- raises there. In processes of their own: a hook is a matter of the whole VM on LuaJIT.

local support = require "support"

local PRELUDE = [[
  if jit then jit.off() end
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world { capacity = 64 }
  local reported = 0
  world.onError = function() reported = reported + 1 end

  local function drain(limit)
    for _ = 1, limit do
      if world:stats().active == 0 then break end
      world:tick(0.25)
    end
  end

  local function body()
    local answers = {}
    local function child(seconds, problem)
      routine.wait(seconds)
      if problem then error(problem, 0) end
      answers[#answers + 1] = seconds
    end
    local a, b = routine.scope(function(scope)
      scope:start(child, 1)
      local inner = routine.scope(function(within)
        within:start(child, 0.5)
        return "in"
      end)
      return inner, "out"
    end)
    local ok, err = pcall(routine.scope, function(scope)
      scope:start(child, 0.5, "boom")
      scope:start(child, 99)
      routine.wait(99)
    end)
    table.sort(answers)
    return table.concat(answers, " ") .. " " .. a .. b .. tostring(ok) .. err
  end
]]

local function run(...)
  return support.program(PRELUDE, ...)
end

describe("a hook inside a scope", function()
  for _, interval in ipairs { 1, 2, 3, 5, 7, 11, 50 } do
    it("may wait, every " .. interval .. " instructions #wait", function()
      local output = run([[
        local function hook()
          if routine.self() then routine.nextTick() end
        end
        for i = 1, 3 do
          world:start(function()
            if i == 2 then debug.sethook(hook, "", %d) end
            local answer = body()
            if i == 2 then debug.sethook() end
            print(answer)
          end)
        end
        drain(20000)
        print(world:stats().active, reported)
      ]], interval)
      assert.equal(("0.5 1 inoutfalseboom\n"):rep(3) .. "0\t0\n", output)
    end)
  end

  it("may raise at any instruction: no child outlives its routine #wait", function()
    local output = run [[
      local raised, outlived = 0, 0
      for skip = 0, 120 do
        local host
        host = world:start(function()
          local count = 0
          local ok, err = pcall(function()
            debug.sethook(function()
              if routine.self() ~= host then return end
              count = count + 1
              if count > skip then
                debug.sethook()
                error("timeout", 0)
              end
            end, "", 1)
            body()
          end)
          debug.sethook()
          if not ok and err == "timeout" then raised = raised + 1 end
          routine.wait(0.5)
        end)
        for _ = 1, 100 do
          world:tick(0.25)
          if host:status() == "completed" or host:status() == "failed" then break end
        end
        world:tick(0.25)
        outlived = outlived + world:stats().active
      end
      debug.sethook()
      print(raised > 30, outlived, world:stats().pinned)
    ]]
    assert.equal("true\t0\t0\n", output)
  end)
end)
