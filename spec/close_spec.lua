-- SPDX-License-Identifier: MIT
--
-- `<close>` variables of routines, on Lua 5.4.

local support = require "support"
local log = require "support.log"
local routine = require "weft.routine"

local say, logged = log.say, log.text

before_each(log.clear)

if support.vm == "lua5.4" then
  describe("a <close> variable of a routine #wait", function()
    local problem

    local function closing(name)
      return setmetatable({}, { __close = function(_, err)
        log[#log + 1] = name
        problem = err
      end })
    end

    local source = [[
      local closing, say, routine, how = ...
      return function()
        local outer <close> = closing "outer"
        routine.defer(say "defer")
        local inner <close> = closing "inner"
        if how() == "error" then error("boom", 0) end
        if how() == "wait" then routine.wait(1e6) end
        if how() == "swallow" then while true do pcall(routine.wait, 1) end end
        if how() == "yield" then while true do coroutine.yield() end end
      end]]

    for _, how in ipairs{ "return", "error", "wait", "swallow", "yield" } do
      it("is closed before the defers run (" .. how .. ")", function()
        local world = support.world()
        local handle = world:start(support.chunk54(source, closing, say, routine,
          function() return how end))
        world:tick(0)
        handle:cancel()
        support.ticks(10)
        assert.equal("inner outer defer", logged())
        if how == "wait" then assert.equal(routine.Cancelled, problem) end
        if how == "error" then assert.equal("boom", problem) end
        support.reports()
      end)
    end

    it("may wait after a normal end and after an error", function()
      for _, fails in ipairs{ false, true } do
        log.clear()
        local world = support.world()
        local handle = world:start(support.chunk54([[
          local routine, say, fails = ...
          return function()
            local x <close> = setmetatable({}, { __close = function()
              routine.wait(1)
              say "closed"()
            end })
            if fails then error("boom", 0) end
          end]], routine, say, fails))
        support.ticks(3)
        assert.equal("closed", logged())
        assert.equal(fails and "failed" or "completed", handle:status())
      end
      assert.equal(1, #support.reports())
    end)

    it("raises from a wait in the closing of a cancelled routine", function()
      local world = support.world()
      local handle = world:start(support.chunk54([[
        local routine, say = ...
        return function()
          local a <close> = setmetatable({}, { __close = say "a" })
          local b <close> = setmetatable({}, { __close = function()
            routine.wait(1)
            say "never"()
          end })
          routine.wait(1e6)
        end]], routine, say))
      world:tick(0)
      handle:cancel()
      support.ticks(4)
      assert.equal("a", logged())
      assert.equal("cancelled", handle:status())
      assert.equal(0, #support.reports())
    end)

    it("that fails makes the routine failed, and the others are still closed", function()
      for _, how in ipairs{ "return", "wait" } do
        log.clear()
        local world = support.world()
        local handle = world:start(support.chunk54([[
          local routine, say, how = ...
          return function()
            routine.defer(say "defer")
            local a <close> = setmetatable({}, { __close = say "a" })
            local b <close> = setmetatable({}, { __close = function() error("bad close", 0) end })
            if how == "wait" then routine.wait(1e6) end
          end]], routine, say, how))
        world:tick(0)
        handle:cancel()
        world:tick(0)
        assert.equal("a defer", logged(), how)
        assert.equal("failed", handle:status(), how)
        assert.equal("bad close", handle:error(), how)
      end
      assert.equal(2, #support.reports())
    end)

    it("sees waits and cancels of inner coroutines go through it", function()
      local world = support.world()
      local handle = world:start(support.chunk54([[
        local routine, say = ...
        return function()
          local outer <close> = setmetatable({}, { __close = say "outer" })
          local inner = coroutine.wrap(function()
            local mine <close> = setmetatable({}, { __close = say "inner" })
            routine.wait(1e6)
          end)
          inner()
        end]], routine, say))
      world:tick(0)
      handle:cancel()
      world:tick(0)
      assert.equal("inner outer", logged())
      assert.equal("cancelled", handle:status())
      assert.equal(0, #support.reports())
    end)
  end)
end
