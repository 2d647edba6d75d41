-- SPDX-License-Identifier: MIT
-- ffi.lua - `require "weft.ffi"` (LuaJIT): what of the core may be called through the FFI.
--
-- The declarations are those of csrc/include/weft/ffi.h, which the module holds as text.
-- Only leaf calls are here: a switch of stacks under a compiled FFI call would crash the machine,
-- so nothing that waits for a routine or inside a job goes this way.
local core = require "weft.core"

local halves = core.ffiHalves
if not halves then error("weft.ffi: there is no FFI in this Lua; it is for LuaJIT", 2) end

local ffi = require "ffi"

ffi.cdef(halves.declarations)

--- The core through the FFI.
---
---     local wffi = require "weft.ffi"
---     local args, count = wffi.arguments(points, 0.5)
---     wffi.C.weft_parallel_for(wffi.pool(), #points, 0, wffi.kernel(scale), args, count)
---@class weft.FfiModule
---@field C table functions of weft/ffi.h, as C has them
local wffi = {}

local addresses = halves.addresses()
wffi.C = {
  weft_version = ffi.cast("const char *(*)(void)", addresses.weft_version),
  weft_status_name = ffi.cast("const char *(*)(weft_status)", addresses.weft_status_name),
  weft_status_text = ffi.cast("const char *(*)(weft_status)", addresses.weft_status_text),
  weft_parallel_for = ffi.cast([[weft_status (*)(weft_pool *, size_t, size_t, weft_kernel,
    const weft_value *, size_t)]], addresses.weft_parallel_for),
}

--- The threads of jobs, started if need be. Raises inside a job: there `weft_parallel_for` would
--- wait.
---
---     local pool = wffi.pool()
---@return ffi.cdata* pool a `weft_pool *`
function wffi.pool()
  return ffi.cast("weft_pool *", halves.pool())
end

--- A kernel's C function. It must be one of C: functions of Lua cannot run on other threads.
---
---     local scale = wffi.kernel(jobs.kernel("./libscale.so", "scale"))
---@param kernel weft.Kernel it must be held as long as the pointer is
---@return ffi.cdata* fn a `weft_kernel`
function wffi.kernel(kernel)
  return ffi.cast("weft_kernel", halves.kernel(kernel))
end

local kinds = { i8 = 0, u8 = 1, i16 = 2, u16 = 3, i32 = 4, u32 = 5, i64 = 6, f32 = 7, f64 = 8 }

local function setArgument(slot, value, i)
  if value == nil then
    slot.kind = ffi.C.WEFT_VALUE_NIL
  elseif type(value) == "boolean" then
    slot.kind, slot.as.integer = ffi.C.WEFT_VALUE_BOOLEAN, value and 1 or 0
  elseif type(value) == "number" then
    slot.kind, slot.as.number = ffi.C.WEFT_VALUE_NUMBER, value
  elseif type(value) == "string" then
    slot.kind, slot.size, slot.as.string = ffi.C.WEFT_VALUE_STRING, #value, value
  elseif type(value) == "cdata" and halves.isBuffer(value) then
    slot.kind, slot.size = ffi.C.WEFT_VALUE_BUFFER, #value
    slot.element = kinds[tostring(value):match "x (%w+)"]
    slot.as.data = ffi.cast("void *", value:ptr())
  elseif ffi.istype("int64_t", value) then
    slot.kind, slot.as.integer = ffi.C.WEFT_VALUE_INTEGER, value
  else
    error(("weft.ffi: argument %d (%s) cannot go to a kernel"):format(i, type(value)), 3)
  end
end

--- Values as a kernel gets them. Strings and buffers must be held as long as they are used.
---
---     local args, count = wffi.arguments(points, 0.5)
---@param ... any nil, booleans, numbers, int64 cdata, strings, buffers
---@return ffi.cdata* args a `weft_value[?]`
---@return integer count
function wffi.arguments(...)
  local count = select("#", ...)
  local args = ffi.new("weft_value[?]", math.max(count, 1))
  for i = 1, count do setArgument(args[i - 1], (select(i, ...)), i) end
  return args, count
end

return wffi
