-- SPDX-License-Identifier: MIT
-- pool_buffers.lua - `weft.pool.buffers`: buffers that are rented by type and count.
--
-- A bin has the buffers of one type and count, in a table of their own (rentals.lua says why). What
-- waits in one is sealed: the counts that guard loans (csrc/lua/loans.c) refuse each touch, also
-- through slices, and also in compiled code.
local core = require "weft.core"
local rentals = require "weft.rentals"

local newBuffer, fill, isBuffer = core.buffer, core.bufferMethods.fill, core.isBuffer
local seal, unseal = core.sealBuffer, core.unsealBuffer
local error, getmetatable, setmetatable = error, getmetatable, setmetatable
local bind, unbind, checkOwner = rentals.bind, rentals.unbind, rentals.checkOwner

local KEEP_BYTES = 2 ^ 26
local BYTES = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, i64 = 8, f32 = 4, f64 = 8 }

---@class weft.BufferPool
local BufferPool = {}
local meta = { __index = BufferPool, __name = "weft.BufferPool", __metatable = "weft.BufferPool" }

local function check(self, who)
  if getmetatable(self) ~= "weft.BufferPool" then
    error(("buffers:%s: a pool of buffers expected, got %s"):format(who, rentals.got(self)), 3)
  end
end

-- --- Bins -----------------------------------------------------------------------------------

local function binOf(self, kind, count)
  local ofKind = self._bins[kind]
  return ofKind and ofKind[count]
end

-- It stands in both or, without memory, in neither.
local function addBin(self, bin)
  local ofKind, place = self._bins[bin.kind], #self._list + 1
  ofKind[bin.count] = false
  self._list[place] = bin
  ofKind[bin.count], bin.place = bin, place
  return bin
end

-- Also lets go of the bin: of sizes that were rented once nothing is left.
local function dropBin(self, bin)
  local last = self._list[#self._list]
  self._list[bin.place], last.place = last, bin.place
  self._list[#self._list] = nil
  self._bins[bin.kind][bin.count] = nil
  self._keptBytes = self._keptBytes - bin.kept * bin.bytes
  self._kept, self._dropped = self._kept - bin.kept, self._dropped + bin.kept
  for i = 1, bin.kept do bin.things[i] = nil end
  bin.kept = 0
end

-- What was not rented from for the longest time makes room; false if there is nothing else.
local function makeRoom(self, without)
  local idlest
  for _, bin in ipairs(self._list) do
    if bin ~= without and bin.kept > 0 and (not idlest or bin.used < idlest.used) then
      idlest = bin
    end
  end
  if idlest then dropBin(self, idlest) end
  return idlest ~= nil
end

local function hasRoom(self, bin)
  if bin.bytes > self._keepBytes then return false end
  while self._keptBytes + bin.bytes > self._keepBytes do
    if not makeRoom(self, bin) then return false end
  end
  return true
end

-- Where a buffer of that bin can be put without asking for memory again; false if there is no room.
-- The bin may have been let go of meanwhile.
local function makePlace(self, bin)
  bin = binOf(self, bin.kind, bin.count) or addBin(self, bin)
  if not hasRoom(self, bin) then return false end
  local at = bin.kept + 1
  if bin.things[at] == nil then bin.things[at] = false end
  return bin
end

-- --- Renting --------------------------------------------------------------------------------

local function make(self, kind, count)
  local ok, buffer = pcall(newBuffer, kind, count)
  if not ok then
    error("buffers:rent: " .. (tostring(buffer):match "weft%.buffer: (.*)$" or buffer), 3)
  end
  self._made = self._made + 1
  if binOf(self, kind, #buffer) then return buffer, binOf(self, kind, #buffer) end
  local bin = {
    kind = kind, count = #buffer, bytes = #buffer * BYTES[kind], things = {}, kept = 0, used = 0,
    place = 0,
  }
  return buffer, binOf(self, kind, #buffer) or addBin(self, bin) -- a finalizer may have added one
end

local function take(self, bin)
  local buffer = bin.things[bin.kept]
  bin.things[bin.kept] = nil
  bin.kept = bin.kept - 1
  self._kept, self._keptBytes = self._kept - 1, self._keptBytes - bin.bytes
  unseal(buffer)
  return buffer
end

function BufferPool:rent(kind, count, owner)
  check(self, "rent")
  if owner ~= nil and not checkOwner(owner, "buffers:rent") then return nil, "destroyed" end
  local buffer
  local bin = binOf(self, kind, count)
  if bin and bin.kept > 0 then
    self._out[bin.things[bin.kept]] = bin -- asks for memory, so it comes first
    buffer = take(self, bin)
  else
    buffer, bin = make(self, kind, count)
    self._out[buffer] = bin
  end
  self._rented, self._clock = self._rented + 1, self._clock + 1
  bin.used = self._clock
  if owner ~= nil and not bind(self, owner, buffer) then return nil, "destroyed" end
  return buffer
end

local returnedAt = setmetatable({}, { __mode = "k" }) -- in debug

-- Raises while a job has any of it, and without memory: then it is rented still, as it was. So what
-- may raise comes first; what follows the seal asks for no memory, not even for a deeper call.
local function giveBack(self, buffer, where)
  local why = "given back to its pool" .. (where and ", at " .. where or "")
  local bin = not self._debug and makePlace(self, self._out[buffer])
  if self._debug then returnedAt[buffer] = false end
  if self._clear then fill(buffer, 0) end
  seal(buffer, why)
  -- A finalizer may have let go of the bin, or put so much into others that there is no room.
  local fits = bin and self._bins[bin.kind][bin.count] == bin
    and self._keptBytes + bin.bytes <= self._keepBytes
  unbind(self, buffer)
  self._out[buffer] = nil
  self._rented = self._rented - 1
  if not fits then
    if self._debug then returnedAt[buffer] = where end
    self._dropped = self._dropped + 1
    return
  end
  bin.kept = bin.kept + 1
  bin.things[bin.kept] = buffer
  self._kept, self._keptBytes = self._kept + 1, self._keptBytes + bin.bytes
end

-- At the end of its owner a job may have it still, and nobody else: it ends with the job.
local function takeBack(self, buffer, where)
  if pcall(giveBack, self, buffer, self._debug and where) then return end
  rentals.drop(self, buffer)
end

local function refuse(buffer)
  local where = buffer ~= nil and returnedAt[buffer]
  if where then
    error("buffers:giveBack: the buffer was given back before, at " .. where, 3)
  end
  error(("buffers:giveBack: a buffer that is rented here expected, got %s"):format(
    isBuffer(buffer) and "one that is not" or rentals.got(buffer)), 3)
end

function BufferPool:giveBack(buffer)
  check(self, "giveBack")
  if buffer == nil or not self._out[buffer] then refuse(buffer) end
  local ok, err = pcall(giveBack, self, buffer, self._debug and rentals.place())
  if not ok then
    error("buffers:giveBack: " .. (tostring(err):match "buffer is .*" or tostring(err)), 2)
  end
end

function BufferPool:trim()
  check(self, "trim")
  for i = #self._list, 1, -1 do dropBin(self, self._list[i]) end
end

function BufferPool:stats()
  check(self, "stats")
  local stats = rentals.stats(self)
  stats.keptBytes = self._keptBytes
  return stats
end

local OPTIONS = { keepBytes = "number", clear = "boolean", debug = "boolean" }

local buffers = { methods = BufferPool }

function buffers.new(options, debugging)
  options = rentals.checkOptions(options, OPTIONS, "weft.pool.buffers")
  local self = rentals.new(options, debugging, takeBack)
  self._keepBytes, self._clear = options.keepBytes or KEEP_BYTES, options.clear ~= false
  self._bins, self._list, self._keptBytes, self._clock = {}, {}, 0, 0
  for kind in next, BYTES do self._bins[kind] = {} end
  return setmetatable(self, meta)
end

return buffers
