-- SPDX-License-Identifier: MIT
--
-- Values for the specs of transfer (transfer_body.h): random ones that two states can make alike,
-- and whether what has arrived is the same as what was made here.

local random = require "random_values"
local core = require "weft.core"
local weft = require "weft"

local generator, NUMBERS = random.generator, random.NUMBERS
local values = {}

local SHARED = { print, string.format, math, table, _G, core.Cancelled, weft, weft.routine.wait,
  coroutine.yield, string }

local makers = {}

function makers.number(r) return NUMBERS[r(#NUMBERS)] end
function makers.boolean(r) return r(2) == 1 end
function makers.shared(r) return SHARED[r(#SHARED)] end

function makers.string(r)
  local length = ({ 0, 1, 3, 40, 41, 300, 5000 })[r(7)]
  local bytes = {}
  for i = 1, length do bytes[i] = string.char(r(256) - 1) end
  return table.concat(bytes)
end

function makers.known(r, known)
  return known[r(#known + 1)]
end

function makers.buffer(r, known)
  local buffer = weft.buffer(({ "i8", "f32", "i64" })[r(3)], r(20))
  for i = 1, #buffer do buffer[i] = r(100) end
  if r(3) == 1 then buffer = buffer:slice(r(#buffer)) end
  if r(3) == 1 then buffer = buffer:shared() end
  known[#known + 1] = buffer
  return buffer
end

makers["function"] = function(r, known, make)
  local a, b = make(r), make(r)
  local kind = r(3)
  local fn
  if kind == 1 then
    fn = function(...) return a, b, ... end
  elseif kind == 2 then
    fn = function() return tostring(math.pi), select("#", a, b) end
  else
    local count = 0
    local function add() count = count + 1 return count, b end
    known[#known + 1] = add
    fn = function() return count, add, a end
  end
  known[#known + 1] = fn
  return fn
end

function makers.table(r, known, make)
  local made = {}
  known[#known + 1] = made
  for i = 1, r(6) - 1 do made[i] = make(r) end
  for _ = 1, r(6) - 1 do
    local key = make(r)
    if key ~= nil and key == key and type(key) ~= "cdata" then made[key] = make(r) end
  end
  return made
end

local ORDER = { "number", "boolean", "shared", "string", "known", "table", "table", "function",
  "buffer", "number" }

---A list of up to six random values, the same for the same seed.
function values.make(seed)
  local r, known, budget = generator(seed), {}, 60
  local function make()
    budget = budget - 1
    local kind = budget > 0 and ORDER[r(#ORDER)] or "number"
    return makers[kind](r, known, make)
  end
  local list = { n = r(6) }
  for i = 1, list.n do list[i] = make(r) end
  return list
end

-- --- Comparing ------------------------------------------------------------------------------

local same

local function sameNumber(a, b)
  if type(a) == "cdata" then return a == b and tostring(a) == tostring(b) end
  return random.sameNumber(a, b)
end

local function sameBuffer(a, b)
  return tostring(a) == tostring(b) and a:string() == b:string()
end

-- Whether captured local `i` of two functions is shared with others in the same way.
local function sharedAlike(a, b, i, partners)
  local idA, idB = debug.upvalueid(a, i), debug.upvalueid(b, i)
  local known = partners[idA]
  partners[idA] = idB
  return not known or known == idB
end

local function sameFunction(a, b, partners)
  local i = 1
  while true do
    local nameA, valueA = debug.getupvalue(a, i)
    local nameB, valueB = debug.getupvalue(b, i)
    if nameA ~= nameB then return false end
    if not nameA then break end
    if nameA ~= "_ENV" then
      if not same(valueA, valueB, partners) or not sharedAlike(a, b, i, partners) then
        return false
      end
    end
    i = i + 1
  end
  local infoA, infoB = debug.getinfo(a, "S"), debug.getinfo(b, "S")
  return infoA.source == infoB.source and infoA.linedefined == infoB.linedefined
end

-- Keys that are objects have no order that both sides know: they are only counted.
local function sameTable(a, b, partners)
  local count = 0
  for key, value in next, a do
    count = count + 1
    local kind = type(key)
    if kind == "number" or kind == "string" or kind == "boolean" then
      if not same(value, rawget(b, key), partners) then return false end
    end
  end
  for _ in next, b do count = count - 1 end
  return count == 0
end

local function isShared(value)
  for _, shared in ipairs(SHARED) do
    if rawequal(value, shared) then return true end
  end
  return false
end

-- Whether two values are the same, where `partners` tells which object is whose counterpart.
same = function(a, b, partners)
  local kind = type(a)
  if kind ~= type(b) then return false end
  if kind == "number" then return sameNumber(a, b) end
  if kind == "string" or kind == "boolean" or kind == "nil" or isShared(a) or isShared(b) then
    return rawequal(a, b)
  end
  if partners[a] then return rawequal(partners[a], b) end
  if kind == "cdata" and not pcall(function() return a.string end) then return sameNumber(a, b) end
  partners[a] = b
  if kind == "table" then return sameTable(a, b, partners) end
  if kind == "function" then return sameFunction(a, b, partners) end
  return sameBuffer(a, b)
end

---Raises unless the values are those that `make` gives for the seed.
function values.check(seed, ...)
  local made = values.make(seed)
  assert(select("#", ...) == made.n, "another number of values")
  local partners = {}
  for i = 1, made.n do
    if not same(made[i], (select(i, ...)), partners) then
      error(("value %d of seed %d has changed"):format(i, seed))
    end
  end
end

return values
