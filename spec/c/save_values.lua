-- SPDX-License-Identifier: MIT
--
-- Values for the specs of saves (save_values_body.h): random ones that are the same whenever they
-- are made, and whether what was read is the same as what was made.

local random = require "random_values"
local weft = require "weft"
local save = require "weft.save"

local generator, NUMBERS = random.generator, random.NUMBERS
local values = {}

local KINDS = { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64" }
local Meta = save.metatable("spec.Meta", {})

local makers = {}

function makers.number(r) return NUMBERS[r(#NUMBERS)] end
function makers.boolean(r) return r(2) == 1 end
function makers.string(r)
  local length = ({ 0, 1, 3, 39, 40, 41, 200 })[r(7)]
  return string.char(r(3) + 64):rep(length)
end

function makers.buffer(r)
  local buffer = weft.buffer(KINDS[r(#KINDS)], r(50) - 1)
  for i = 1, #buffer do buffer[i] = r(100) end
  if r(3) == 1 then return buffer:slice(1 + math.floor(#buffer / 2)) end
  return r(5) == 1 and buffer:shared() or buffer
end

function makers.columns(r)
  local cols, ids = weft.columns{ a = KINDS[r(#KINDS)], b = "f64" }, {}
  for i = 1, r(90) do ids[i] = cols:add{ a = r(100), b = r(100) / 8 } end
  for i = 1, #ids, r(4) do cols:remove(ids[i]) end
  return cols
end

local NAMES = { "number", "boolean", "string", "number", "string", "buffer", "columns" }

-- A value; in one case of four, one that was made before.
local function make(r, depth, made)
  if #made > 0 and r(4) == 1 then return made[r(#made)] end
  if depth > 5 or r(2) == 1 then
    local name = NAMES[r(depth > 3 and 5 or #NAMES)]
    local value = makers[name](r)
    if name == "buffer" or name == "columns" then made[#made + 1] = value end
    return value
  end
  local t = r(5) == 1 and setmetatable({}, Meta) or {}
  made[#made + 1] = t
  for i = 1, r(6) - 1 do t[i] = make(r, depth + 1, made) end
  for _ = 1, r(4) - 1 do
    local key = makers[NAMES[r(3)]](r)
    if key == key and type(key) ~= "cdata" then t[key] = make(r, depth + 1, made) end
  end
  if r(8) == 1 then t[t] = t end
  return t
end

---Sections, the same for a seed on each machine.
function values.make(seed)
  local r, made, sections = generator(seed), {}, {}
  for i = 1, r(3) do sections["section " .. i] = make(r, 1, made) end
  return sections
end

local function fail(path, text, ...)
  error(path .. ": " .. text:format(...), 0)
end

local same

local function sameTable(a, b, path, seen)
  if getmetatable(a) ~= getmetatable(b) then fail(path, "another metatable") end
  local count = 0
  for key, value in next, a do
    local there = rawget(b, rawequal(key, a) and b or key)
    if there == nil then fail(path, "no %s", tostring(key)) end
    same(value, there, path .. "[" .. tostring(key) .. "]", seen)
    count = count + 1
  end
  for key in next, b do
    if math.type and math.type(key) == "float" and math.floor(key) == key and key < 2 ^ 53
      and key > -2 ^ 53 then fail(path, "a key that is no integer") end
    count = count - 1
  end
  if count ~= 0 then fail(path, "%d keys more", -count) end
end

local function sameNumber(a, b, path)
  if not random.sameNumber(a, b) then fail(path, "%s became %s", tostring(a), tostring(b)) end
end

local function sameRows(a, b, path)
  for row = 1, a:count() do
    local slot = a._slots[row]
    local id = a._generations[slot] * 16777216 + slot
    if a:get(id, "b") ~= b:get(id, "b") or a:get(id, "a") ~= b:get(id, "a") then
      fail(path, "another row %d", row)
    end
  end
end

function same(a, b, path, seen)
  if type(a) ~= type(b) then fail(path, "a %s became a %s", type(a), type(b)) end
  if type(a) == "number" then return sameNumber(a, b, path) end
  if type(a) == "string" or type(a) == "boolean" then
    return a == b or fail(path, "%s became %s", tostring(a), tostring(b))
  end
  if seen[a] ~= nil then return seen[a] == b or fail(path, "it is another one") end
  seen[a] = b
  local described = tostring(a)
  local kind = described:match "^weft%.(%a+)"
  if not kind and type(a) == "table" then return sameTable(a, b, path, seen) end
  if described ~= tostring(b) then fail(path, "%s became %s", described, tostring(b)) end
  if kind == "Columns" then return sameRows(a, b, path) end
  if kind and a:string() ~= b:string() then fail(path, "another buffer") end
end

---Whether sections are those that a seed makes.
function values.check(seed, sections)
  same(values.make(seed), sections, "sections", {})
end

return values
