-- SPDX-License-Identifier: MIT
-- A plain Lua program: what the debug library tells and changes, but for hooks
-- and for how deep the stack is.

local function line(...)
  local out = {}
  for i = 1, select("#", ...) do
    out[i] = tostring((select(i, ...))):gsub("[^%s\"@]*debugging%.lua", "debugging.lua")
  end
  print(table.concat(out, " "))
end

local WHAT = _VERSION == "Lua 5.4" and "nSlutf" or "nSluf"

local function sample(a, b, ...)
  local c = a + b
  local info = debug.getinfo(1, WHAT)
  line("name", info.name, info.namewhat, info.what, info.short_src, info.currentline)
  line("defined", info.linedefined, info.lastlinedefined, info.nups, info.func == sample)
  line("parameters", info.nparams, info.isvararg, info.istailcall)
  for i = 1, 20 do
    local name, value = debug.getlocal(1, i)
    if not name then break end
    -- Temporaries hold whatever the VM left there.
    if type(value) == "number" and name:sub(1, 1) ~= "(" then line("local", i, name, value) end
  end
  line("vararg", debug.getlocal(1, -1))
  line("set", debug.setlocal(1, 1, 100), a, c)
  return (...)
end
line("returned", sample(1, 2, "extra", 4))

local function tail() return sample(3, 4) end
line("tail call", tail())

line("of a function", debug.getinfo(math.floor, "S").what,
  debug.getinfo(math.floor, "S").short_src)
line("current line", debug.getinfo(1, "l").currentline)
line("parameter names", debug.getlocal(sample, 1), debug.getlocal(sample, 2),
  debug.getlocal(sample, 3))
local lines = {}
for n in pairs(debug.getinfo(tail, "L").activelines) do lines[#lines + 1] = n end
table.sort(lines)
line("active lines", table.concat(lines, ","))
line("too deep", debug.getinfo(10000), (pcall(debug.getlocal, 10000, 1)))
line("bad option", (pcall(debug.getinfo, 1, "X")))

local up1, up2 = "one", "two"
local function reader() return up1, up2 end
local function other() return up2, up1 end
line("upvalue", debug.getupvalue(reader, 1))
line("upvalue", debug.getupvalue(reader, 2))
line("none", debug.getupvalue(reader, 3))
line("set upvalue", debug.setupvalue(reader, 1, "changed"), up1, other())
line("same upvalue", debug.upvalueid(reader, 1) == debug.upvalueid(other, 2))
local function counter()
  local n = 0
  return function()
    n = n + 1
    return n
  end
end
local c1, c2 = counter(), counter()
c1()
c1()
debug.upvaluejoin(c2, 1, c1, 1)
line("joined", c2(), c1(), c2())

local function levels(n)
  if n > 0 then
    local r = levels(n - 1)
    return r
  end
  local names = {}
  for level = 1, 6 do
    local info = debug.getinfo(level, "nl")
    names[level] = tostring(info.name) .. ":" .. info.currentline
  end
  return table.concat(names, " ")
end
local deep = levels(6)
line("levels", deep)

local object = {}
debug.setmetatable(object, { __index = { field = "by metatable" } })
line("metatable", object.field, debug.getmetatable(object).__index.field)
debug.setmetatable(nil, { __index = function(_, k) return "nil has no " .. k end })
local nothing
line("nil", nothing.field)
debug.setmetatable(nil, nil)
line("nil again", (pcall(function() return nothing.field end)))
debug.setmetatable(0, { __index = math, __call = function(n, m) return n * m end })
local four = 4
line("numbers", (-3.5):abs(), four(5))
debug.setmetatable(0, nil)
line("registry", type(debug.getregistry()))

local trace = debug.traceback("message", 1)
line("traceback", trace:match "^[^\n]*\n[^\n]*")
line("traceback value", debug.traceback(object) == object, debug.traceback(nil) == nil)
local co = coroutine.create(function(x)
  local inside = x * 2
  coroutine.yield(inside)
  error "in the coroutine"
end)
coroutine.resume(co, 21)
line("local of a coroutine", debug.getlocal(co, 1, 1))
line("local of a coroutine", debug.getlocal(co, 1, 2))
line("set there", debug.setlocal(co, 1, 2, 5))
line("trace of a coroutine", debug.traceback(co):match "\n%s*([^\n]*yield'?)")
line("info of a coroutine", debug.getinfo(co, 1, "l").currentline, debug.getinfo(co, 5))
line("failed", coroutine.resume(co))
line("trace of the dead", debug.traceback(co):match "\n%s*([^\n]*error'?)")

-- A walk through all that the debug library sees, again and again.
local seen = 0
for _ = 1, 300 do
  for level = 1, 3 do
    local info = debug.getinfo(level, "nSlu")
    if info then seen = seen + info.nups * 0 + 1 end
    local i = 1
    while info and debug.getlocal(level, i) do i = i + 1 end
  end
end
line("walked", seen >= 300)
