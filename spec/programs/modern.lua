-- SPDX-License-Identifier: MIT
-- A plain Lua 5.4 program: integers and bits, to-be-closed variables, utf8,
-- string.pack, goto, and what else 5.4 added.

local function line(...)
  local out = table.pack(...)
  for i = 1, out.n do out[i] = tostring(out[i]) end
  print(table.concat(out, " "))
end

line("integers", 7 // 2, -7 // 2, 7 // -2, 7.5 // 2, 7 % -3, -7 % 3, 1 // 1.0)
line("wrap", math.maxinteger + 1 == math.mininteger, math.mininteger, math.maxinteger * 2)
line("kinds", math.type(1), math.type(1.0), math.type "1", 2 ^ 2, 10 / 2, 3 | 0)
line("bits", 0xF0 & 0x3C, 0xF0 | 0x0F, 0xFF ~ 0x0F, ~0, 1 << 62, 1 << 63, 1 << 64, -1 >> 60)
line("conversion", math.tointeger(3.0), math.tointeger(3.5), "10" // 3, 3.0 == 3, 2^53 == 2^53 + 1)
line("unsigned", math.ult(1, -1), ("%u"):format(3) == "3", string.format("%x", -1))
line("division", pcall(function() return 1 // 0 end))
line("modulo", pcall(function() return 1 % 0 end))
line("no integer", pcall(function() return 1.5 | 1 end))
line("for", (function() local n = 0; for _ = math.maxinteger - 2, math.maxinteger do n = n + 1 end
  return n end)())
line("floats", 1e15, 1e16, 0.1, -0.0, 1e100, 100 // 1e-300, 5 // 0.0, 0x.8p1)

-- To-be-closed variables: every way to leave a block.
local log = {}
local function guard(name)
  return setmetatable({}, { __close = function(_, e)
    log[#log + 1] = name .. (e and ":" .. tostring(e) or "")
  end })
end
do
  local a <close> = guard "a"
  local b <close> = guard "b"
  local c <const> = 5
  log[#log + 1] = "block" .. c
end
for i = 1, 3 do
  local g <close> = guard("loop" .. i)
  if i == 2 then break end
end
local function early()
  local g <close> = guard "early"
  return "value", #log
end
line("early", early())
line("error", pcall(function()
  local g <close> = guard "outer"
  local h <close> = guard "inner"
  error("thrown", 0)
end))
do
  local i = 0
  ::again::
  local g <close> = guard("goto" .. i)
  i = i + 1
  if i < 3 then goto again end
end
local co = coroutine.create(function()
  local g <close> = guard "coroutine"
  coroutine.yield(1)
end)
coroutine.resume(co)
line("close", coroutine.close(co), coroutine.status(co))
local failing = coroutine.create(function()
  local g <close> = setmetatable({}, { __close = function() error("in close", 0) end })
  coroutine.yield()
end)
coroutine.resume(failing)
line("failing close", coroutine.close(failing))
line("yields in close", pcall(coroutine.wrap(function()
  local g <close> = setmetatable({}, { __close = function() coroutine.yield "from close" end })
  return "done"
end)))
line("not closable", pcall(load "local x <close> = 42"))
line("log", table.concat(log, " "))

-- utf8.
local text = "na\u{EF}ve \u{20AC}5 \u{1F600}"
line("utf8", #text, utf8.len(text), utf8.codepoint(text, 1, 4), utf8.char(8364, 0x1F600))
for p, c in utf8.codes(text) do if c > 127 then line("code", p, c) end end
line("offsets", utf8.offset(text, 4), utf8.offset(text, -1), utf8.len("\xff"))
line("pattern", select(2, text:gsub(utf8.charpattern, "")))
line("invalid", pcall(function() for _ in utf8.codes "\xff" do end end))

-- string.pack.
local packed = string.pack("<i4 >I2 z s1 d n j", -2, 513, "zero", "len", 0.5, 1.25, -9)
line("pack", #packed, string.unpack("<i4 >I2 z s1 d n j", packed))
for size = 1, 8 do
  local bytes = string.pack("<I" .. size, 1 << (8 * size - 1))
  line("I" .. size, #bytes, (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)))
end
line("packsize", string.packsize "i4i8!8d", pcall(string.packsize, "s"))
line("too big", pcall(string.pack, "i1", 300))
line("truncated", pcall(string.unpack, "i8", "abc"))

line("move", table.unpack(table.move({ 1, 2, 3 }, 2, 3, 1)))
line("pack and unpack", table.pack(nil, nil).n, select("#", table.unpack({}, 1, 3)))
line("len", rawlen { 1, 2 }, #setmetatable({}, { __len = function() return 42 end }))
line("pairs", (function()
  local out = {}
  local t = setmetatable({}, { __pairs = function() return function(_, k)
    k = (k or 0) + 1
    if k <= 3 then return k, k * k end
  end end })
  for k, v in pairs(t) do out[#out + 1] = k .. "=" .. v end
  return table.concat(out, ",")
end)())
local env = { print = print }
load("x = 5; y = (x or 0) + 1", "=env", "t", env)()
line("env", env.x, env.y, x, load("return ...", "=args")(1, 2))
line("binary", load(string.dump(function(a) return a * 2 end), "=dumped", "b")(21),
  load("return 1", "=text", "b"))
line("rawequal", rawequal("a", "a"), rawequal({}, {}),
  rawget(setmetatable({}, { __index = env }), "x"))
line("coercion", "0x10" + 0, "1e1" * 1, 10 .. "", pcall(function() return "a" + 1 end))
warn "@off"
warn("not ", "shown")
local name <const>, other <const> = "const", "attribs"
line("attribs", name, other)

-- A random generator with integers of 64 bits, checked by its sum.
local state = 88172645463325252
local function xorshift()
  state = state ~ (state << 13)
  state = state ~ (state >> 7)
  state = state ~ (state << 17)
  return state
end
local sum = 0
for _ = 1, 4000 do sum = sum + (xorshift() & 0xFFFF) end
line("xorshift", sum, ("%016x"):format(state))

local crc = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = c & 1 == 1 and 0xEDB88320 ~ (c >> 1) or c >> 1 end
  crc[i] = c
end
local function crc32(s)
  local c = 0xFFFFFFFF
  for i = 1, #s do c = crc[(c ~ s:byte(i)) & 0xFF] ~ (c >> 8) end
  return c ~ 0xFFFFFFFF
end
line("crc32", ("%08x"):format(crc32 "123456789"), ("%08x"):format(crc32(("x"):rep(3000))))
