-- SPDX-License-Identifier: MIT
-- job_globals.lua - the globals of a job, in a thread's own Lua state. Loaded there alone.
--
-- Globals that a job sets stand in a table of its own over the state's. Libraries are copied into
-- it when they are first asked for, so that a job that changes one changes nothing for the next.
-- What modules set when they are loaded stays, as they do. Returns what makes such a table.
local globals = _G
local rawset, setmetatable, type, next = rawset, setmetatable, type, next
local setfenv = rawget(_G, "setfenv")

require "weft"
require "weft.jobs"

local LIBRARIES = { "string", "table", "math", "io", "os", "debug", "coroutine", "utf8", "bit" }
local libraries, basic = {}, {}

os.exit = function() -- luacheck: ignore 122
  error("os.exit: not allowed inside a job: the process is not its own", 2)
end

for _, name in ipairs(LIBRARIES) do libraries[name] = rawget(globals, name) end
for name, value in next, globals do
  if type(value) == "function" then basic[name] = value end
end

local strings = getmetatable ""
if type(strings) == "table" then strings.__metatable = "string" end

-- Code that a job loads finds the job's globals.
local loaders = {}

function loaders.load(own)
  return function(chunk, name, mode, ...)
    if select("#", ...) > 0 then return basic.load(chunk, name, mode, ...) end
    if not setfenv then return basic.load(chunk, name, mode, own) end
    local fn, err = basic.load(chunk, name, mode)
    return fn and setfenv(fn, own), err
  end
end

function loaders.loadfile(own)
  return function(name, mode, ...)
    if select("#", ...) > 0 then return basic.loadfile(name, mode, ...) end
    if not setfenv then return basic.loadfile(name, mode, own) end
    local fn, err = basic.loadfile(name, mode)
    return fn and setfenv(fn, own), err
  end
end

if basic.loadstring then
  function loaders.loadstring(own)
    return function(...)
      local fn, err = basic.loadstring(...)
      return fn and setfenv(fn, own), err
    end
  end
end

function loaders.dofile(own)
  return function(name)
    local fn, err = own.loadfile(name)
    if not fn then error(err, 2) end
    return fn()
  end
end

local function copyOf(library)
  local copy = {}
  for name, value in next, library do copy[name] = value end
  return copy
end

local meta = { __metatable = "weft.JobGlobals" }

function meta.__index(own, name)
  local value = globals[name]
  if value == nil then return nil end
  if libraries[name] == value then
    value = copyOf(value)
  elseif loaders[name] and basic[name] == value then
    value = loaders[name](own)
  elseif basic[name] ~= value then
    return value
  end
  rawset(own, name, value)
  return value
end

return function()
  local own = {}
  own._G = own
  return setmetatable(own, meta)
end
