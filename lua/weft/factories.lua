-- SPDX-License-Identifier: MIT
-- factories.lua - functions that arrive as code share what the compiler makes of them (LuaJIT).
--
-- LuaJIT compiles for a prototype, and loading code makes a new one each time: a job's function
-- would be cold for ever. So its code is put inside that of a small function which makes closures
-- of it, as `return function ... end` does, and that is loaded once. The code is a dump
-- (lj_bcdump.h): a head, prototypes with the inner ones first, a zero; a prototype takes its inner
-- ones off a stack.
local core = require "weft.core"

if not core.registerFactory then return end

local byte, char, sub = string.byte, string.char, string.sub
local band, bor, rshift = bit.band, bit.bor, bit.rshift
local load = loadstring

local STRIPPED, LOCAL, IMMUTABLE = 2, 0x8000, 0x4000

-- Numbers in groups of 7 bits, the lowest first. Returns the number and where the next thing is.
local function readNumber(code, at)
  local number, factor = 0, 1
  while true do
    local b = byte(code, at)
    number, at = number + band(b, 127) * factor, at + 1
    if b < 128 then return number, at end
    factor = factor * 128
  end
end

-- Where the first prototype is, and whether there is no debug information.
local function readHead(code)
  local flags, at = readNumber(code, 5)
  if band(flags, STRIPPED) ~= 0 then return at, true end
  local length
  length, at = readNumber(code, at)
  return at + length, false
end

-- Where the last prototype is: at its length, at its content, and behind it.
local function findLast(code, at)
  while true do
    local length, content = readNumber(code, at)
    local behind = content + length
    if byte(code, behind) == 0 then return at, content, behind end
    at = behind
  end
end

-- Where the list of captured locals of a prototype is, and how many they are.
local function findCaptured(code, at, stripped)
  local count = byte(code, at + 3)
  local instructions, _
  _, at = readNumber(code, at + 4)
  _, at = readNumber(code, at)
  instructions, at = readNumber(code, at)
  if not stripped then
    local debugLength
    debugLength, at = readNumber(code, at)
    if debugLength > 0 then
      _, at = readNumber(code, at)
      _, at = readNumber(code, at)
    end
  end
  return at + 4 * instructions, count
end

-- The list with each captured local being a local of the function around it.
local function localized(code, at, count)
  local list = {}
  for i = 0, count - 1 do
    local high = byte(code, at + 2 * i + 1)
    local value = bor(LOCAL, band(high * 256, IMMUTABLE), i)
    list[i + 1] = char(band(value, 255), rshift(value, 8))
  end
  return table.concat(list)
end

-- The prototype of a function with `count` locals that makes a closure which captures them all.
local outers = {}
local function outer(count, stripped)
  local key = count * 2 + (stripped and 1 or 0)
  if not outers[key] then
    local names = {}
    for i = 1, count do names[i] = "u" .. i end
    local list = table.concat(names, ",")
    local source = (count > 0 and "local " .. list .. "; " or "")
      .. "return function() return " .. list .. " end"
    -- What fails here is always memory, and the machine does not say so.
    local dumped, code = pcall(string.dump, assert(load(source, "=job")), stripped)
    if not dumped then error("not enough memory", 0) end
    local first = readHead(code)
    local at, _, behind = findLast(code, first)
    outers[key] = sub(code, at, behind - 1)
  end
  return outers[key]
end

local function factory(code)
  local first, stripped = readHead(code)
  local _, content, behind = findLast(code, first)
  local at, count = findCaptured(code, content, stripped)
  return assert(load(sub(code, 1, at - 1) .. localized(code, at, count)
    .. sub(code, at + 2 * count, behind - 1) .. outer(count, stripped) .. "\0", "=job"))
end

-- Other versions may write dumps in another way: then functions are loaded as they come.
local function works()
  local a, b = 1, { 2 }
  local function sample(x) a = a + x return function() return a, b, x end end
  local make = factory(string.dump(sample))
  local one, two = make(), make()
  debug.setupvalue(one, 1, 10)
  debug.setupvalue(one, 2, b)
  debug.setupvalue(two, 1, 20)
  local x, y, z = one(5)()
  return x == 15 and y == b and z == 5 and two(1)() == 21 and one(1)() == 16
end

local ok, answer = pcall(works)
if ok and answer then core.registerFactory(factory) end
