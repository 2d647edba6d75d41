-- SPDX-License-Identifier: MIT
-- Runs a program that knows nothing of weft inside a routine:
--
--   weft run inside.lua -- MODE PROGRAM args...
--
-- MODE is a list of words joined by "+": `prints` waits a tick before each print
-- and io.write; `hook` waits a tick every 1,000 instructions (Lua 5.4), in each
-- coroutine of the program too. `plain` does neither. Two other routines wait
-- beside it, one of them under a C function, until the program has ended; then
-- the number of ticks goes to the standard error.

local routine = require "weft.routine"

local hotloop = os.getenv "WEFT_HOTLOOP"
if jit and hotloop then require("jit.opt").start("hotloop=" .. hotloop) end
if jit and os.getenv "WEFT_JIT" == "off" then jit.off() end

local mode, program = arg[1], arg[2]

local function wanted(word) return ("+" .. mode .. "+"):find("+" .. word .. "+", 1, true) end

local function slowprints()
  local print_, write = print, io.write
  function print(...)
    routine.nextTick()
    return print_(...)
  end
  function io.write(...)
    routine.nextTick()
    return write(...)
  end
end

-- A hook set from Lua belongs to one coroutine, so each new one gets its own.
local function hookeverywhere()
  local create, wrap, sethook = coroutine.create, coroutine.wrap, debug.sethook
  local nexttick = routine.nextTick
  local function hook() nexttick() end
  local function hooked(fn)
    if type(fn) ~= "function" then return fn end
    return function(...)
      sethook(hook, "", 1000)
      return fn(...)
    end
  end
  function coroutine.create(fn) return create(hooked(fn)) end
  function coroutine.wrap(fn) return wrap(hooked(fn)) end
  sethook(hook, "", 1000)
end

local running = true

local function beside()
  local ticks = 0
  while running do
    routine.nextTick()
    ticks = ticks + 1
  end
  return ticks
end

local unpack = table.unpack or unpack

routine.start(function()
  routine.defer(function() running = false end)
  if wanted "prints" then slowprints() end
  arg = { [0] = program, unpack(arg, 3) }
  local chunk = assert(loadfile(program))
  if wanted "hook" then hookeverywhere() end
  chunk(unpack(arg))
  if wanted "hook" then debug.sethook() end
end)
routine.start(function()
  local ticks = beside()
  io.stdout:flush()
  io.stderr:write("ticks ", ticks, "\n")
end)
routine.start(function()
  table.sort({ 1, 2 }, function()
    beside()
    return false
  end)
end)
