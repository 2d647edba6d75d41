-- SPDX-License-Identifier: MIT
--
-- Scopes where little is left of the native stack.

local support = require "support"
local routine = require "weft.routine"

describe("a scope at the end of the native stack", function()
  -- Steps of two sizes come upon the last bytes that a wait may begin at. On 5.4 its count of
  -- C calls ends the recursion before.
  it("waits for its children, or does not begin #wait", function()
    local world = support.world{ stackBytes = 160 * 1024 }
    local function sorts(steps, attempt)
      if steps == 0 then return attempt() end
      local done
      table.sort({ 1, 2 }, function()
        if not done then
          done = true
          sorts(steps - 1, attempt)
        end
        return false
      end)
    end
    local function formats(steps, more, attempt)
      if steps == 0 then return sorts(more, attempt) end
      local function text()
        formats(steps - 1, more, attempt)
        return ""
      end
      string.format("%s", setmetatable({}, { __tostring = text }))
    end
    local room = 0
    local function dig()
      routine.nextTick()
      room = room + 1
      sorts(1, dig)
    end
    world:start(function() pcall(dig) end)
    repeat world:tick(0) until world:stats().active == 0
    local begun, states = 0, {}
    local cost = support.vm == "luajit" and 1 or 3 -- of a format, in sorts
    for few = 0, 15 do
      local least = math.max(room - few * cost - 2, 0)
      for more = least, least + 3 do
        world:start(function()
          pcall(formats, few, more, function()
            local child
            local ok = pcall(routine.scope, function(scope)
              child = scope:start(function() routine.wait(1) end)
              begun = begun + 1
            end)
            states[child and tostring(ok) .. child:status() or "not begun"] = true
          end)
        end)
        support.ticks(3)
      end
    end
    assert.is_true(begun > 0)
    states["not begun"] = nil
    assert.same({ truecompleted = true }, states)
  end)
end)
