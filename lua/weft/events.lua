-- SPDX-License-Identifier: MIT
-- events.lua - the Lua half of waits for signals, channels and locks, where there has to be one
-- (LuaJIT).
--
-- As in waits.lua: the C half arms and yields, and what comes back is a token, then `true` and what
-- the wait gave; or `false` when its time was over, 1 when the object was closed, 0 when there was
-- no memory for the values, nil for a cancel. The values are on this stack before anything else can
-- run.
local yield = coroutine.yield
local error = error

---@param halves table the C halves, from weft.core
---@return fun(arm: function, act: integer, brings: boolean?): function makes a wait of a C half
return function(halves)
  local TOKEN, ASK, raise = halves.token, halves.ask, halves.raise

  local function came(object, timeout, act, value, token, given, ...)
    if token == TOKEN and given == true then return ... end
    if token == ASK then
      return came(object, timeout, act, value, yield(TOKEN, 5, object, timeout, act, value))
    end
    if token ~= TOKEN then
      return came(object, timeout, act, value, yield(nil, "belongs to a routine"))
    end
    if given == false then return nil, "timeout" end
    if given == 1 then return nil, "closed" end
    if given == 0 then error("not enough memory", 0) end
    if given == 2 then error("a routine cannot wait for itself", 0) end
    raise()
  end

  return function(arm, act, brings)
    if not brings then
      return function(object, timeout)
        return came(object, timeout, act, nil, arm(object, timeout))
      end
    end
    return function(object, value, timeout)
      return came(object, timeout, act, value, arm(object, value, timeout))
    end
  end
end
