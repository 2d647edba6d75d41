-- SPDX-License-Identifier: MIT
-- buffers.lua - buffers as FFI types, so that compiled code touches elements by itself (LuaJIT).
--
-- The fields are those of `view` and `hold` in csrc/lua/buffer.h. What is right at first sight is
-- done here; all else goes to the C half, which looks again, does it, or says what is wrong.
local core = require "weft.core"

local halves, methods = core.bufferHalves, core.bufferMethods
if not halves or methods.ptr then return end

local ffi = require "ffi"
local type, istype, cast = type, ffi.istype, ffi.cast
local slow = core.bufferMeta
local slowIndex, slowNewIndex, checkPointer = slow.__index, slow.__newindex, halves.checkPointer

-- In the order of weft_type: name, C type, the least and the most that a whole number may be there.
local TYPES = {
  { "i8", "int8_t", -2 ^ 7, 2 ^ 7 - 1 }, { "u8", "uint8_t", 0, 2 ^ 8 - 1 },
  { "i16", "int16_t", -2 ^ 15, 2 ^ 15 - 1 }, { "u16", "uint16_t", 0, 2 ^ 16 - 1 },
  { "i32", "int32_t", -2 ^ 31, 2 ^ 31 - 1 }, { "u32", "uint32_t", 0, 2 ^ 32 - 1 },
  { "i64", "int64_t" }, { "f32", "float" }, { "f64", "double" },
}

local LAYOUT = [[struct {
  %s *_data;
  struct { const uint32_t noRead, noWrite; } *_hold;
  int32_t _count; uint8_t _type; bool _readOnly;
}]]

local function len(buffer) return buffer._count end

local function index(buffer, i)
  if type(i) == "number" then
    local place = i - 1
    if place >= 0 and place < buffer._count and place % 1 == 0 and buffer._hold.noRead == 0 then
      return buffer._data[place]
    end
    return slowIndex(buffer, i)
  end
  return methods[i] or slowIndex(buffer, i)
end

local function newIndexWhole(least, most)
  return function(buffer, i, value)
    if type(i) == "number" and type(value) == "number" then
      local place = i - 1
      if place >= 0 and place < buffer._count and place % 1 == 0
        and value >= least and value <= most and value % 1 == 0
        and buffer._hold.noWrite == 0 and not buffer._readOnly then
        buffer._data[place] = value
        return
      end
    end
    slowNewIndex(buffer, i, value)
  end
end

local newIndexNumber = newIndexWhole(-2 ^ 53, 2 ^ 53) -- above, doubles leave whole numbers out

local function newIndexFloat(buffer, i, value)
  if type(i) == "number" and type(value) == "number" then
    local place = i - 1
    if place >= 0 and place < buffer._count and place % 1 == 0
      and buffer._hold.noWrite == 0 and not buffer._readOnly then
      buffer._data[place] = value
      return
    end
  end
  slowNewIndex(buffer, i, value)
end

local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

-- As for whole numbers; what was read from such a buffer is an int64, and fits.
local function newIndexInt64(buffer, i, value)
  if type(i) == "number" and type(value) == "cdata" and istype(int64, value) then
    local place = i - 1
    if place >= 0 and place < buffer._count and place % 1 == 0
      and buffer._hold.noWrite == 0 and not buffer._readOnly then
      buffer._data[place] = value
      return
    end
  end
  newIndexNumber(buffer, i, value)
end

local makers, pointers = {}, {}

for i, entry in ipairs(TYPES) do
  makers[i] = ffi.metatype(ffi.typeof(LAYOUT:format(entry[2])), {
    __index = index,
    __newindex = entry[3] and newIndexWhole(entry[3], entry[4])
      or entry[1] == "i64" and newIndexInt64 or newIndexFloat,
    __len = len, __tostring = slow.__tostring, __gc = slow.__gc,
  })
  pointers[i] = ffi.typeof(("const %s *"):format(entry[2]))
end

-- What sort of cdata a value is: an int64, a uint64, a buffer, or none of these (0).
local function kindOf(value)
  if istype(int64, value) then return 1 end
  for i = 1, #makers do
    if istype(makers[i], value) then return 3 end
  end
  return istype(uint64, value) and 2 or 0
end

halves.registerNumbers(kindOf, function(unsigned)
  return unsigned and uint64() or int64()
end)
halves.register(function(kind) return makers[kind + 1]() end)

function methods.ptr(buffer)
  checkPointer(buffer)
  if buffer._readOnly then return cast(pointers[buffer._type + 1], buffer._data) end
  return buffer._data
end
