-- SPDX-License-Identifier: MIT
-- types_buffer.lua - for editors: buffers. Never loaded by the library.
-- luacheck: ignore 212 241

---@meta weft.core

---@alias weft.ElementType "i8"|"u8"|"i16"|"u16"|"i32"|"u32"|"i64"|"f32"|"f64"

--- Elements of one type in memory, numbered from 1: `buf[i]` reads one, `buf[i] = v` writes one,
--- `#buf` says how many there are. `weft.buffer` makes them.
---
--- Reading or writing raises for an index that is no whole number from 1 to `#buf`. Writing raises
--- for a value that is no number and, where the elements are whole, for one that has a fraction or
--- does not fit; nothing is wrapped or cut. An f32 element rounds. On LuaJIT i64 elements are read
--- as int64 cdata, and buffers are cdata themselves, as fast in compiled code as plain FFI arrays.
---
--- The memory ends with the last object that shows it, in whatever thread. While it is on loan to a
--- job, touching it raises.
---@class weft.Buffer
---@field [integer] number|integer
---@operator len: integer
local Buffer = {}

--- Writes `v` into the elements `i` to `j`, without them into all. Raises as writing one does, and
--- for a range that is not within the buffer; `j` may be `i - 1`, for none.
---
---     heights:fill(0)
---@param v number
---@param i? integer 1 unless given
---@param j? integer `#self` unless given
---@return weft.Buffer self
function Buffer:fill(v, i, j) end

--- A buffer with memory of its own and the same elements.
---
---     local before = heights:copy()
---@return weft.Buffer
function Buffer:copy() end

--- A view of elements `i` to `j`: the same memory, numbered from 1 again. It keeps the memory
--- alive. Raises as `fill` does for the range.
---
---     local row = grid:slice((y - 1) * width + 1, y * width)
---@param i? integer 1 unless given
---@param j? integer `#self` unless given
---@return weft.Buffer
function Buffer:slice(i, j) end

--- Its bytes, in the order of this machine.
---
---     file:write(heights:string())
---@return string
function Buffer:string() end

--- A view of all of it that cannot be written. Given to jobs it is lent to read: any number of them
--- may have it at once, and reading goes on here.
---
---     for i = 1, 8 do jobs.run(scan, terrain:shared(), i) end
---@return weft.Buffer
function Buffer:shared() end

--- LuaJIT only: a C pointer to the first element, for FFI code, where elements are numbered from 0.
--- It is outside all checks and keeps nothing alive. Of a read-only view it is a pointer to const.
--- Raises while any of the buffer is on loan.
---
---     ffi.copy(points:ptr(), bytes, #bytes)
---@return ffi.cdata*
function Buffer:ptr() end

local core = {}

--- Makes a buffer of `count` zeroed elements. Raises for another type or count, and without memory.
---
---     local heights = weft.buffer("f32", width * height)
---@param type weft.ElementType
---@param count integer 0 to 2^31 - 1
---@return weft.Buffer
function core.buffer(type, count) end

--- Bytes of the elements of all buffers in the process.
---
---     print(core.bufferBytes() / 2 ^ 20, "MiB in buffers")
---@return number
function core.bufferBytes() end

return { core = core, buffer = Buffer }
