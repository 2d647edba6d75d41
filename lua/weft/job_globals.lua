-- SPDX-License-Identifier: MIT
-- job_globals.lua - the globals of a job, in a thread's own Lua state. Loaded there alone.
--
-- Globals that a job sets stand in a table of its own over the state's. Libraries are copied into
-- it when they are first asked for, so that a job that changes one changes nothing for the next;
-- the ways around it, `package.loaded`, `require "string"`, `getfenv(0)`, lead to the same. What
-- modules set when they are loaded stays, as they do. Returns what makes such a table.
local core = require "weft.core"
local globals, package = _G, package
local rawset, setmetatable, type, next, rawequal = rawset, setmetatable, type, next, rawequal
local setfenv, getfenv = rawget(_G, "setfenv"), rawget(_G, "getfenv")

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

if setfenv then
  function loaders.getfenv(own)
    return function(of)
      if of == nil then of = 1 end
      local env = getfenv(type(of) == "number" and of > 0 and of + 1 or of)
      return rawequal(env, globals) and own or env
    end
  end

  function loaders.setfenv()
    return function(of, env)
      if of == 0 then
        error("setfenv: the globals of a thread cannot be replaced inside a job", 2)
      end
      local set = setfenv(type(of) == "number" and of + 1 or of, env)
      return set
    end
  end
end

local function libraryOf(own, name)
  if name == "_G" then return own end
  if libraries[name] or name == "package" then return own[name] end
end

function loaders.require(own)
  return function(name)
    local library = libraryOf(own, name)
    if library then return library end
    return basic.require(name)
  end
end

-- What a job sets there is set for all, but for libraries.
local function packageOf(own)
  local loaded = setmetatable({}, {
    __index = function(_, name) return libraryOf(own, name) or package.loaded[name] end,
    __newindex = function(_, name, value)
      if libraryOf(own, name) == nil then package.loaded[name] = value end
    end,
  })
  return setmetatable({ loaded = loaded }, { __index = package, __newindex = package })
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
  if rawequal(value, package) then
    value = packageOf(own)
  elseif libraries[name] == value then
    value = copyOf(value)
  elseif loaders[name] and basic[name] == value then
    value = loaders[name](own)
  elseif basic[name] ~= value then
    return value
  end
  rawset(own, name, value)
  return value
end

-- Where modules are looked for is as it was at dispatch, whatever a job before has set.
local paths = core.jobPaths

return function()
  if package.path ~= paths.path then package.path = paths.path end
  if package.cpath ~= paths.cpath then package.cpath = paths.cpath end
  local own = {}
  own._G = own
  return setmetatable(own, meta)
end
