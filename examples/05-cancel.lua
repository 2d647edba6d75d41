-- SPDX-License-Identifier: MIT
-- 05-cancel.lua - ending a routine from outside: what it hears of it, and what it still may do.
--
--   weft run examples/05-cancel.lua

local weft = require "weft"
local routine = require "weft.routine"

-- The wait that a cancel interrupts raises routine.Cancelled; the cleanups run, the latest first.
local function guard(name)
  routine.defer(function() print(name .. " hands in the key") end)
  routine.defer(function() print(name .. " puts out the lamp") end)
  routine.wait(3600)
  print "never printed"
end

-- A plain pcall catches the cancel as any error; routine.pcall lets it through.
local function stubborn()
  local ok, err = pcall(routine.wait, 3600)
  local asked, reason = routine.isCancelled()
  print("stubborn heard", ok, err == routine.Cancelled, asked, reason)
  routine.pcall(routine.wait, 3600) -- the next wait raises again
  print "never printed"
end

local function clumsy()
  error "stumbled"
end

-- Errors that nobody joins come here; without it they go to stderr. A cancel is no error.
weft.default().onError = function(handle, err)
  print("onError", handle:status(), (err:gsub("^.*:%d+: ", "")))
end

routine.start(function()
  local a, b = routine.start(guard, "Ann"), routine.start(stubborn)
  local unborn = routine.start(guard, "Bob")
  print("before its first tick", unborn:cancel(), unborn:status())
  routine.start(clumsy)
  routine.wait(1)

  print("cancel", a:cancel(), a:status())
  b:cancel("the siege is over")
  local ok, err = routine.join(a)
  print("joined", ok, err == routine.Cancelled, a:status(), a:cancel())
end)

-- Output:
-- before its first tick	true	cancelled
-- onError	failed	stumbled
-- cancel	true	cancelling
-- Ann puts out the lamp
-- Ann hands in the key
-- stubborn heard	false	true	true	the siege is over
-- joined	false	true	cancelled	false
