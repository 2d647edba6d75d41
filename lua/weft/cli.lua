-- SPDX-License-Identifier: MIT
-- cli.lua - what `weft run` and `weft version` do once a Lua is there. Run by scripts/weft, which
-- has set the paths; never required by the library.

local core = require "weft.core"
local weft = require "weft"
local loop = require "weft.run".loop

local EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

local function leave(status)
  io.stdout:flush()
  os.exit(status, true)
end

local function refuse(text, ...)
  io.stderr:write("weft: ", text:format(...), "\n")
  leave(EXIT_USAGE)
end

-- --- Arguments ------------------------------------------------------------------------------

local readers = {}

function readers.hz(text)
  local hz = tonumber(text)
  if not hz or not (hz > 0 and hz < math.huge) then
    refuse("--hz must be a number over 0, got '%s'", text)
  end
  return hz
end

function readers.ticks(text)
  local ticks = tonumber(text)
  if not ticks or ticks < 0 or ticks % 1 ~= 0 then
    refuse("--ticks must be a whole number of at least 0, got '%s'", text)
  end
  return ticks
end

function readers.speed(text)
  if text ~= "real" and text ~= "max" then
    refuse("--speed is real or max, got '%s'", text)
  end
  return text
end

function readers.trace(text)
  if text == "" then refuse("--trace needs the path of a file") end
  return text
end

-- Takes "--name value" or "--name=value" at words[i]; returns where the next word is.
local function readOption(words, i, options)
  local name, value = words[i]:match("^%-%-([%w-]+)=(.*)$")
  name = name or words[i]:match("^%-%-([%w-]+)$")
  local reader = name and readers[name]
  if not reader then refuse("run knows no option '%s'; try 'weft help'", words[i]) end
  if not value then
    i = i + 1
    value = words[i]
    if not value then refuse("--%s needs a value", name) end
  end
  options[name] = reader(value)
  return i + 1
end

-- Returns the script, the options, and the script's own arguments (what follows "--").
local function readRun(words)
  local script, options, rest = nil, {}, {}
  local i = 1
  while i <= #words and words[i] ~= "--" do
    if words[i]:find("^%-.") then
      i = readOption(words, i, options)
    elseif not script then
      script, i = words[i], i + 1
    else
      refuse("one script at a time; arguments for '%s' follow '--'", script)
    end
  end
  for k = i + 1, #words do rest[#rest + 1] = words[k] end
  if not script then refuse("run needs a script; try 'weft help'") end
  return script, options, rest
end

-- --- The progress line ----------------------------------------------------------------------

-- On a terminal that the script writes to as well (`shared`) the line stands only while the loop
-- sleeps, so that the script's lines start on an empty one; at speed max there is no such time.
-- On one of its own it stays until the next one replaces it.
local function progressLine(world, terminal)
  local shown, nextTime = false, 0
  local line = {}

  function line.clear()
    if shown then io.stderr:write("\r\27[K") end
    shown = false
  end

  function line.show()
    local now = core.clock()
    if now < nextTime then return end
    nextTime = now + (terminal == "shared" and 0 or 0.1)
    local stats = world:stats()
    io.stderr:write(("\r\27[K%.1f s, tick %d: %d routines, %d asleep, %d pinned\r"):format(
      world.simTime, world.tickCount, stats.active, stats.sleeping, stats.pinned))
    shown = true
  end

  function line.beforeTick()
    if terminal == "shared" then line.clear() end
  end
  return line
end

-- --- Running a script -----------------------------------------------------------------------

local function textOf(err)
  local ok, text = pcall(tostring, err)
  if ok and type(text) == "string" then return text end
  return ("(an error object, a %s, that has no text)"):format(type(err))
end

-- A Ctrl-C while the script's own chunk runs is raised in it by the interpreter.
local function isInterrupt(text)
  return text:find("interrupted!", 1, true) ~= nil
end

-- Runs the script's chunk as the interpreter would, with `arg` and `...`.
local function runChunk(script, arguments)
  local chunk, why = loadfile(script)
  if not chunk then return false, why end
  arguments[0] = script
  _G.arg = arguments
  local unpack = table.unpack or unpack
  return xpcall(function() return chunk(unpack(arguments)) end, function(err)
    return debug.traceback(textOf(err), 2)
  end)
end

-- Reports as the world does by itself, and remembers that something failed. A handler that the
-- script has set goes on being called in its place.
local function watchErrors(world)
  local seen = { failed = false }
  local theirs = world.onError
  world.onError = function(handle, err, traceback)
    seen.failed = true
    if theirs then return theirs(handle, err, traceback) end
    core.report(handle, err, traceback)
  end
  return seen
end

-- A start beyond the capacity is refused with a reason that many scripts do not look at.
local function tellRefused(world)
  local stats = world:stats()
  if stats.rejected == 0 then return end
  io.stderr:write(("weft: %d starts were refused: the capacity is %d; raise it with "
    .. "routine.configure{ capacity = ... } before the first start\n"):format(
    stats.rejected, stats.capacity))
end

-- True if there was nothing to write, or it is written.
local function writeTrace(path)
  if not path then return true end
  weft.trace.stop()
  local ok, why = weft.trace.write(path)
  if not ok then io.stderr:write("weft: the trace is not written: ", why, "\n") end
  return ok
end

local function interrupted()
  return core.interrupted() > 0
end

local function runWorld(world, options, terminal)
  local hooks = { stop = interrupted }
  local line
  if terminal == "own" or terminal == "shared" and options.speed ~= "max" then
    line = progressLine(world, terminal)
    hooks.beforeSleep, hooks.afterSleep = line.show, line.beforeTick
  end
  local ok, err = xpcall(loop, function(err)
    return debug.traceback(textOf(err), 2)
  end, world, options, hooks)
  if line then line.clear() end
  if not ok then io.stderr:write("weft: ", err, "\n") end
  return ok
end

local function run(terminal, words)
  local script, options, arguments = readRun(words)
  local world = weft.default()
  if options.trace then weft.trace.start() end
  local ok, err = runChunk(script, arguments)
  if not ok then
    io.stderr:write("weft: ", err, "\n")
    world:close()
    writeTrace(options.trace)
    leave(isInterrupt(err) and EXIT_INTERRUPTED or EXIT_FAILED)
  end
  if core.refusal(world) then -- the script ran its world itself, and closed it
    leave(writeTrace(options.trace) and 0 or EXIT_FAILED)
  end
  core.catchInterrupt()
  local seen = watchErrors(world)
  ok = runWorld(world, options, terminal)
  local stopped = interrupted()
  tellRefused(world)
  world:close()
  local written = writeTrace(options.trace)
  if stopped then leave(EXIT_INTERRUPTED) end
  leave(ok and written and not seen.failed and 0 or EXIT_FAILED)
end

local function version()
  print(("weft %s (%s)"):format(core.version, jit and jit.version or _VERSION))
end

local words = { ... }
local first = table.remove(words, 1)
if first == "version" then
  version()
else
  run(first, words)
end
