-- SPDX-License-Identifier: MIT
-- waits.lua - the Lua half of waits where a C function cannot continue after a yield (LuaJIT).
--
-- The C half arms the wait and yields, or switches stacks and returns; either way what comes back
-- is a token that only the scheduler has, and what the wait gave. Where debug hooks are in use the
-- C half arms nothing and asks for a yield instead: lua_yield takes itself for one out of a hook
-- while another routine waits inside one, and a hook may run between arming and any yield. Anything
-- but a token is a resume by hand: it is told whose coroutine this is and changes nothing. No state
-- is kept here: a hook may switch between any two instructions.
local yield, floor = coroutine.yield, math.floor

---@param halves table the C halves, from weft.core
---@return table functions by name
return function(halves)
  local TOKEN, ASK = halves.token, halves.ask
  local raise, result = halves.raise, halves.result
  local armWait, armUnscaled = halves.wait, halves.waitUnscaled
  local armNext, armJoin = halves.nextTick, halves.join
  local armFd = halves.waitFd
  local armFixed = halves.waitFixed
  local makeSet, armSet = halves.set, halves.waitForSet
  local answer, forget = halves.answer, halves.forget

  local function foreign()
    local token, given
    repeat token, given = yield(nil, "belongs to a routine") until token == TOKEN
    return given
  end

  local waits = {}

  function waits.wait(seconds)
    local token, given = armWait(seconds)
    if token == ASK then token, given = yield(TOKEN, 1, seconds) end
    if token ~= TOKEN then given = foreign() end
    if given then return given end
    raise()
  end

  function waits.waitUnscaled(seconds)
    local token, given = armUnscaled(seconds)
    if token == ASK then token, given = yield(TOKEN, 2, seconds) end
    if token ~= TOKEN then given = foreign() end
    if given then return given end
    raise()
  end

  function waits.nextTick()
    local token, given = armNext()
    if token == ASK then token, given = yield(TOKEN, 0) end
    if token ~= TOKEN then given = foreign() end
    if given then return given end
    raise()
  end

  -- The steps come as all waits give time, by 1e9.
  function waits.waitFixed(n)
    local token, given = armFixed(n)
    if token == ASK then token, given = yield(TOKEN, 7, n) end
    if token ~= TOKEN then given = foreign() end
    if given then return floor(given * 1e9 + 0.5) end
    raise()
  end

  function waits.join(handle, timeout)
    local token, given = armJoin(handle, timeout)
    if token == ASK then token, given = yield(TOKEN, 3, handle, timeout) end
    if token ~= TOKEN then given = foreign() end
    if given == false then return nil, "timeout" end
    if given == true then return nil, "expired" end
    if given then return result(handle) end
    raise()
  end

  function waits.waitFd(fd, mode, timeout)
    local token, given = armFd(fd, mode, timeout)
    if token == ASK then token, given = yield(TOKEN, 6, fd, mode, timeout) end
    if token ~= TOKEN then given = foreign() end
    if given == false then return nil, "timeout" end
    if given == 1 then return nil, "closed" end
    if given then return true end
    raise()
  end

  local function waitForSet(set)
    local token, given = armSet(set)
    if token == ASK then token, given = yield(TOKEN, 4, set) end
    if token ~= TOKEN then given = foreign() end
    if given then return answer(set) end
    forget()
    if given == false then return nil, "timeout" end
    raise()
  end

  function waits.any(list)
    return waitForSet(makeSet(list, false))
  end

  function waits.all(list)
    return waitForSet(makeSet(list, true))
  end

  local function passCancelled(ok, ...)
    if not ok and (...) == halves.Cancelled then raise() end
    return ok, ...
  end

  local shieldUp, shieldDown, shield = halves.shieldUp, halves.shieldDown, halves.shield
  local handler = halves.handler
  local pcall, xpcall, error = pcall, xpcall, error

  local function lowered(ok, ...)
    shieldDown()
    if not ok then error((...), 0) end
    return ...
  end

  function waits.shield(fn, ...)
    if shieldUp(fn) then return shield(fn, ...) end
    return lowered(xpcall(fn, handler, ...))
  end

  local openScope, wholeScope, bodyEnded = halves.openScope, halves.scope, halves.bodyEnded
  local waitInScope, scopeIsDone = halves.waitInScope, halves.scopeIsDone
  local conclude = halves.conclude

  local function ended(scope, ok, ...)
    bodyEnded(scope, ok, (...))
    while not scopeIsDone(scope) do
      local token = waitInScope(scope)
      if token == ASK then token = yield(TOKEN, 8, scope) end
      if token ~= TOKEN then foreign() end
    end
    conclude(scope, (...))
    return ...
  end

  function waits.scope(fn)
    local scope = openScope(fn)
    if not scope then return wholeScope(fn) end
    return ended(scope, xpcall(fn, handler, scope))
  end

  function waits.pcall(...)
    if select("#", ...) == 0 then
      error("routine.pcall: a function expected, got no value", 2)
    end
    return passCancelled(pcall(...))
  end

  local sethook = debug and debug.sethook
  if sethook then
    function debug.sethook(...)
      halves.hooked()
      return sethook(...)
    end
  end

  return waits
end
