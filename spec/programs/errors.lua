-- SPDX-License-Identifier: MIT
-- A plain Lua program: errors, how they are raised, caught, changed, passed on.

local unpack = table.unpack or unpack

-- Paths of the chunk differ with where it is started; only its name is shown.
local function line(...)
  local out = {}
  for i = 1, select("#", ...) do
    out[i] = tostring((select(i, ...))):gsub("[^%s\"]*errors%.lua", "errors.lua")
  end
  print(table.concat(out, " | "))
end

line("plain", pcall(error, "text"))
line("level 0", pcall(function() error("no place", 0) end))
line("level 1", pcall(function() error "here" end))
line("level 2", pcall(function() local function f() error("there", 2) end f() end))
line("nothing", pcall(error))
line("nil", select("#", pcall(error, nil)))
line("number", pcall(error, 42))
local object = setmetatable({ code = 7 }, { __tostring = function(o) return "code " .. o.code end })
local ok, err = pcall(error, object)
line("object", ok, err == object, tostring(err))
line("assert", pcall(assert, false, "asserted"))
line("assert default", pcall(assert, nil))
line("assert value", pcall(assert, false, object))
line("assert passes", assert(1, 2, 3))

local cases = {
  "local t = nil; return t.x", "local t = {}; t.x.y = 1", "return 1 + nil", "return {} .. 'x'",
  "return #5", "return -{}", "return 1 < 'x'", "return {} < {}", "undefinedfunction()",
  "local s = 'x'; s:nomethod()", "return ('x')()", "local a; a.b.c()", "for i = 'a', 2 do end",
  "return 2 ^ {}", "t = setmetatable({}, 5)", "return math.floor('x')",
  "return ('x'):rep(-1, 2, 3)",
  "return tostring()", "return setmetatable(1, {})", "string.rep()", "return table.concat({{}})",
  "return select(0)", "return ipairs()", "local a <const> = 1; a = 2", "goto nowhere", "x = = 1",
  "return 'unfinished", "break", "for", "return ...", "local function f() return ... end",
}
for _, source in ipairs(cases) do
  local chunk, problem = load(source, "=case")
  if chunk then line(source, pcall(chunk)) else line(source, "syntax", problem) end
end

-- Handlers.
line("handler", xpcall(function() error("raw", 0) end, function(e) return "<" .. e .. ">" end))
line("handler sees", xpcall(function() local x = nil; return x.y end, function(e)
  return e:match "attempt to .*"
end))
line("arguments", xpcall(function(...) return select("#", ...), ... end, print, 1, nil, 3))
line("trace", (xpcall(function() error "x" end, function() return debug.traceback() end)))
local _, trace = xpcall(function() error "deep" end, debug.traceback)
line("trace head", trace:match "^[^\n]*", trace:find("stack traceback:", 1, true) ~= nil)
line("handler fails", (xpcall(error, function() error "again" end)))

-- Errors through nested calls, rethrown with more said each time.
local function layer(n)
  if n == 0 then error({ path = {} }) end
  local fine, problem = pcall(layer, n - 1)
  if not fine then
    problem.path[#problem.path + 1] = n
    error(problem, 0)
  end
end
local _, collected = pcall(layer, 12)
line("layers", unpack(collected.path))

local function try(body, catch, finally)
  local results = { pcall(body) }
  if not results[1] and catch then results = { pcall(catch, results[2]) } end
  if finally then finally() end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end
local log = {}
line("try", try(function() error("one", 0) end, function(e) return "caught " .. e end,
  function() log[#log + 1] = "finally" end))
line("try again", pcall(try, function() error("two", 0) end, function(e) error(e .. "!", 0) end,
  function() log[#log + 1] = "finally" end))
line("log", unpack(log))

-- Errors through C functions and metamethods.
line("sort", pcall(table.sort, { 3, 2, 1 }, function() error("in sort", 0) end))
line("gsub", pcall(string.gsub, "abc", ".", function() error("in gsub", 0) end))
line("gsub value", pcall(string.gsub, "abc", ".", function() return {} end))
line("index", pcall(function() return setmetatable({}, { __index = function(_, k)
  error("no field " .. k, 0)
end }).missing end))
line("tostring", pcall(tostring, setmetatable({}, { __tostring = function() error("shy", 0) end })))
line("not a string", (pcall(tostring, setmetatable({}, { __tostring = function() return 1 end }))))
line("require", (pcall(require, "no.such.module")))
-- What handler the interpreter has set adds a trace here: the first line is ours.
line("load", (select(2, load(function() error("in reader", 0) end)):match "^[^\n]*"))
line("load value", pcall(load, function() return {} end))
line("coroutine", coroutine.resume(coroutine.create(function() local x = {} return x.a.b end)))

local function runaway(n) return runaway(n + 1) + 1 end
local _, overflow = pcall(runaway, 1)
line("overflow", overflow:match "stack overflow")
local _, again = pcall(function()
  local t = setmetatable({}, {})
  getmetatable(t).__index = function(s, k) return s[k .. "x"] end
  return t.a
end)
line("index overflow", tostring(again):match "stack overflow")

local caught = 0
for i = 1, 3000 do
  local fine, problem = pcall(function(n)
    if n % 3 == 0 then error(n) end
    if n % 3 == 1 then error { n = n } end
    return n
  end, i)
  if not fine then caught = caught + (type(problem) == "table" and problem.n or 1) end
end
line("many", caught)

local depth = 0
local function nested(n)
  depth = math.max(depth, n)
  if n == 100 then error("bottom", 0) end
  local fine, problem = pcall(nested, n + 1)
  error(fine and "fine" or problem, 0)
end
line("nested", pcall(nested, 1))
line("depth", depth)
