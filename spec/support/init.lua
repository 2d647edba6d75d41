-- SPDX-License-Identifier: MIT
--
-- The ground that every spec stands on: fresh worlds, a clean-up after each spec, and what the
-- two virtual machines need to run the same source.
--
--   local support = require "support"
--   local world = support.world{ capacity = 8 }   -- closed after the spec
--   support.settle(2)                             -- two ticks in which no time passes
--
-- Requiring this module from a spec file is enough: it hooks itself in before and after each
-- spec of that file. After a spec it closes the worlds, and fails the spec if one would not
-- close, if a report of `onError` came that the spec did not look at, if a routine is alive in
-- another world, if the process has another number of threads than before, or if a global
-- appeared.
--
-- Environment:
--   WEFT_JIT=off        LuaJIT without its compiler
--   WEFT_HOTLOOP=n      LuaJIT compiles a loop after n turns
--   WEFT_GC=stress      a full collection twice in every tick, and an eager collector between
--   WEFT_GC=generational  the generational collector (Lua 5.4)

local support = {}

---The machine that runs the specs: "lua5.4" or "luajit".
support.vm = rawget(_G, "jit") and "luajit" or "lua5.4"

---Whether the collector is made to work all the time; specs that repeat much repeat less then.
support.stress = os.getenv "WEFT_GC" == "stress"

---Whether this is the release build on a machine as it comes: what takes long is done there alone.
support.plain = os.getenv "WEFT_MODE" == "release" and not os.getenv "WEFT_GC"
  and not os.getenv "WEFT_JIT" and not os.getenv "WEFT_HOTLOOP"

local function setUpVm()
  if support.vm == "luajit" then
    if os.getenv "WEFT_JIT" == "off" then require("jit").off() end
    local hot = os.getenv "WEFT_HOTLOOP"
    if hot then require("jit.opt").start("hotloop=" .. hot) end
  end
  if support.stress then
    collectgarbage("setpause", 50)
    collectgarbage("setstepmul", 1000)
  elseif os.getenv "WEFT_GC" == "generational" and support.vm == "lua5.4" then
    collectgarbage "generational"
  end
end

-- Busted forgets, after each file, the modules that the file loaded, and the globals it set. A
-- program loads weft once, so its modules, and the `require` it puts in, are kept and put back.
local kept = rawget(package, "weftSpecModules") or {}
rawset(package, "weftSpecModules", kept)

local function keepModules()
  for name, module in pairs(package.loaded) do
    if name == "weft" or name:match "^weft%." then kept[name] = module end
  end
  rawset(package, "weftSpecRequire", require)
end

local function putBackModules()
  for name, module in pairs(kept) do package.loaded[name] = module end
  local locked = rawget(package, "weftSpecRequire")
  if locked then rawset(_G, "require", locked) end
end

setUpVm()
putBackModules()
local weft = require "weft"
local core = require "weft.core"
require "weft.routine"
keepModules()

local worlds, reports, globals, threads, alive = {}, {}, {}, 0, 0
local reportsRead = false

-- Full collections in every tick would make long simulations endless: past the first ticks, or
-- with a large heap, they come in every so-many-th one.
local function collector()
  local calls = 0
  return function()
    calls = calls + 1
    local every = calls <= 200 and 1 or 4999
    if collectgarbage "count" > 32 * 1024 then every = math.max(every, 16) end
    if calls % every == 0 then collectgarbage() end
  end
end

---Makes a world that is closed after the spec. Its `onError` collects reports.
---@param options table? as for `weft.world`
function support.world(options)
  local world = weft.world(options or {})
  world.onError = function(handle, err, trace)
    reports[#reports + 1] = { handle = handle, err = err, trace = trace, world = world }
  end
  if support.stress then
    world:on("preUpdate", collector())
    world:on("postUpdate", collector())
  end
  worlds[#worlds + 1] = world
  return world
end

---What `onError` of the spec's worlds was told so far: a list of {handle, err, trace, world}.
---A spec that expects a report must ask; reports nobody asked for fail the spec.
function support.reports()
  reportsRead = true
  return reports
end

---Lets queued routines run: `n` ticks (default 1) of the newest world in which no time passes.
function support.settle(n, world)
  world = world or worlds[#worlds]
  for _ = 1, n or 1 do world:tick(0) end
end

---Ticks in which no time passes, until no routine of the world is alive.
function support.untilIdle(world)
  while world:stats().active > 0 do world:tick(0) end
end

---`n` ticks of `dt` seconds each (defaults: 1 and 1) of the newest world.
function support.ticks(n, dt, world)
  world = world or worlds[#worlds]
  for _ = 1, n or 1 do world:tick(dt or 1) end
end

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

---All that is given, nil too: a list with its length as `n`.
function support.pack(...)
  return { n = select("#", ...), ... }
end

local pack = support.pack

---Runs `fn(...)` in a routine of the newest world until it ends, at most 100 ticks of 1 s.
---Raises what the routine raised; returns what it returned.
function support.inside(fn, ...)
  local world = worlds[#worlds]
  local args, out = pack(...), nil
  local handle = world:start(function() out = pack(pcall(fn, unpack(args, 1, args.n))) end)
  for _ = 1, 100 do
    if out then break end
    world:tick(1)
  end
  if not out then error("the routine did not end, it is " .. handle:status(), 2) end
  if not out[1] then error(out[2], 0) end
  return unpack(out, 2, out.n)
end

---Runs `fn(...)` in a post of the newest world, in a tick in which no time passes: there the
---functions of modules act on that world. Raises what it raised; returns what it returned.
function support.within(fn, ...)
  local world = worlds[#worlds]
  local args, out = pack(...), nil
  world:post(function() out = pack(pcall(fn, unpack(args, 1, args.n))) end)
  world:tick(0)
  if not out[1] then error(out[2], 0) end
  return unpack(out, 2, out.n)
end

---Calls what must raise an error in which the pattern is; the error.
function support.raises(pattern, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, "it did not raise")
  assert(tostring(err):find(pattern), tostring(err))
  return err
end

---Makes garbage whose finalizer calls `fn`.
function support.doomed(fn)
  local newproxy = rawget(_G, "newproxy")
  if newproxy then
    getmetatable(newproxy(true)).__gc = fn
  else
    setmetatable({}, { __gc = fn })
  end
end

---Two full collections: what only a finalizer kept is gone after the second.
function support.collect()
  collectgarbage()
  collectgarbage()
end

---The KB that stay when `fn` has run and all garbage is collected. What a compiler or a cache keeps
---once is none of it: the least of up to five runs.
---@param fn fun()
---@return number
function support.growth(fn)
  local least = math.huge
  for _ = 1, 5 do
    support.collect()
    local before = collectgarbage "count"
    fn()
    support.collect()
    least = math.min(least, collectgarbage "count" - before)
    if least < 1 then break end
  end
  return least
end

---Compiles Lua 5.4 source (`<close>`, `//`, `&`) to a function; nil on LuaJIT.
---@param source string
---@param ... any upvalues for the chunk, which reads them as `...`
function support.chunk54(source, ...)
  if support.vm ~= "lua5.4" then return nil end
  return assert(load(source, "=chunk54"))(...)
end

-- Child processes ------------------------------------------------------------------------------

local function interpreter()
  local lowest = 0
  local argv = rawget(_G, "arg") or {}
  while argv[lowest - 1] do lowest = lowest - 1 end
  return lowest < 0 and argv[lowest] or support.vm
end

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

---Runs a shell command; returns its exit status and all that it printed, errors included.
function support.shell(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>&1; echo \"status:$?\""))
  local text = pipe:read "*a"
  pipe:close()
  local output, status = text:match "^(.*)status:(%d+)\n$"
  return tonumber(status), output
end

---Runs Lua source in a process of its own, on the same machine and with the same modules.
---Returns its exit status and what it printed. A death by signal n gives 128 + n. The shell that
---starts it runs `before` first, if given.
function support.child(source, before)
  local file = os.tmpname()
  local out = assert(io.open(file, "w"))
  out:write(source)
  out:close()
  local status, text = support.shell((before and before .. "\n" or "") .. table.concat({
    "LUA_PATH=" .. quoted(package.path), "LUA_CPATH=" .. quoted(package.cpath),
    "timeout 60", quoted(interpreter()), quoted(file) }, " "))
  os.remove(file)
  return status, text
end

---Runs a program, whose lines may have the places of string.format, with a prelude before it, in a
---process of its own, which must end well; what it printed.
function support.program(prelude, program, ...)
  local status, output = support.child(prelude .. program:format(...) .. "\nos.exit(0)\n")
  assert(status == 0, output)
  return output
end

-- Before and after each spec -------------------------------------------------------------------

-- Of the operating system, in this process.
local function countThreads()
  local status = io.open "/proc/self/status"
  if not status then return 0 end
  local count = tonumber(status:read("*a"):match "\nThreads:%s*(%d+)")
  status:close()
  return count
end

local function begin()
  worlds, reports, globals, reportsRead = {}, {}, {}, false
  threads, alive = countThreads(), core.allActive()
  for name in pairs(_G) do globals[name] = true end
end

local function checkGlobals()
  for name in pairs(_G) do
    if not globals[name] then error("the spec left a new global: " .. tostring(name), 0) end
  end
end

-- Worlds that a spec made without `support.world` and lost are still to be collected.
local function checkAlive()
  if core.allActive() > alive then support.collect() end
  local left = core.allActive() - alive
  if left > 0 then error(("the spec left %d routines alive"):format(left), 0) end
  local now = countThreads()
  -- Linux counts a thread that has been joined for a moment longer.
  for _ = 1, 10000 do
    if now <= threads then break end
    now = countThreads()
  end
  if now ~= threads then
    error(("there were %d threads before the spec, now there are %d"):format(threads, now), 0)
  end
end

-- A world that closes ends its routines; one that cannot be ended is reported by `onError`.
local function closeWorld(world)
  if not pcall(world.stats, world) then return end
  world:close()
  if pcall(world.stats, world) then error "the world did not close" end
end

local function finish()
  local ok, problem = true, nil
  for i = #worlds, 1, -1 do
    local closed, err = pcall(closeWorld, worlds[i])
    if not closed then ok, problem = false, err end
  end
  keepModules()
  local unread = not reportsRead and reports[1]
  worlds, reports = {}, {}
  if not ok then error("after the spec: " .. tostring(problem), 0) end
  if unread then
    error("nobody looked at this report: " .. tostring(unread.err) .. "\n"
      .. tostring(unread.trace), 0)
  end
  checkAlive()
  checkGlobals()
end

local found, busted = pcall(require, "busted")
if found and busted.before_each then
  busted.before_each(begin)
  busted.after_each(finish)
end

return support
