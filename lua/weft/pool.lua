-- SPDX-License-Identifier: MIT
-- pool.lua - `require "weft.pool"`: pools of tables, and the way to pools of buffers. See
-- types_pool.lua for what scripts see.
--
-- What waits to be rented stands in a stack: what was given back last is still in the cache. In
-- debug nothing is rented twice, so that who still holds what was given back is told so for ever.
-- Where memory is asked for finalizers may run, and rent and give back here: what is read before
-- is not believed afterwards.
local buffers = require "weft.pool_buffers"
local rentals = require "weft.rentals"

local error, getmetatable, next, rawequal = error, getmetatable, next, rawequal
local setmetatable, type = setmetatable, type
local bind, unbind, checkOwner = rentals.bind, rentals.unbind, rentals.checkOwner

-- LuaJIT's clears as fast as memory goes; both keep the room.
local found, clear = pcall(require, "table.clear")
if not found then
  clear = function(t) for key in next, t do t[key] = nil end end
end

---@class weft.TablePool
local TablePool = {}
local meta = { __index = TablePool, __name = "weft.TablePool", __metatable = "weft.TablePool" }

local function check(self, who)
  if getmetatable(self) ~= "weft.TablePool" then
    error(("tables:%s: a pool of tables expected, got %s"):format(who, rentals.got(self)), 3)
  end
end

-- --- In debug -------------------------------------------------------------------------------

local returnedAt = setmetatable({}, { __mode = "k" }) -- where, of tables of all pools
local seals = {} -- metatables that say so, by place

local SEALED = "index newindex len pairs ipairs call concat unm add sub mul div mod pow idiv band "
  .. "bor bxor shl shr bnot lt le"

local function sealOf(where)
  if seals[where] then return seals[where] end
  local function refuse()
    error(("weft.pool: this table was given back at %s; rent another one"):format(where), 2)
  end
  local seal = { __metatable = "weft.pool: given back" }
  for name in SEALED:gmatch "%a+" do seal["__" .. name] = refuse end
  seals[where] = seal
  return seal
end

-- Raises for one that is not out.
local function checkOut(self, t)
  if self._out[t] then return end
  local where = returnedAt[t]
  error(("tables:giveBack: the table was %s"):format(
    where and "given back before, at " .. where or "not rented here"), 3)
end

-- For good: what is left of it refuses all that metamethods can.
local function retire(self, t, where)
  local seal = sealOf(where)
  returnedAt[t] = where
  self._out[t] = nil
  if pcall(setmetatable, t, nil) then
    clear(t)
    setmetatable(t, seal)
  end
  self._dropped = self._dropped + 1
end

-- --- Renting --------------------------------------------------------------------------------

local function newTable(self)
  local t = {}
  if self._new then t = self._new() end
  if type(t) ~= "table" then
    error(("tables:rent: new must return a table, got %s"):format(rentals.got(t)), 3)
  end
  if self._debug then self._out[t] = true end
  self._made = self._made + 1
  return t
end

function TablePool:rent(owner)
  check(self, "rent")
  if owner ~= nil and not checkOwner(owner, "tables:rent") then return nil, "destroyed" end
  local t = self._free[self._kept]
  if t then
    self._free[self._kept] = nil
    self._kept = self._kept - 1
  else
    t = newTable(self)
  end
  self._rented = self._rented + 1
  if owner ~= nil and not bind(self, owner, t) then return nil, "destroyed" end
  return t
end

-- As it was when it was new: also without the renter's metatable.
local function empty(self, t)
  if self._reset then return self._reset(t) end
  if getmetatable(t) ~= nil and not pcall(setmetatable, t, nil) then
    error("tables:giveBack: the table's metatable is protected; the pool needs a reset", 0)
  end
  clear(t)
end

local function keep(self, t)
  if self._kept >= self._keep then
    self._dropped = self._dropped + 1
    return
  end
  self._free[self._kept + 1] = t
  self._kept = self._kept + 1
end

local function takeBack(self, t, where)
  empty(self, t)
  if self._debug then retire(self, t, where) else keep(self, t) end
  unbind(self, t)
  self._rented = self._rented - 1
end

function TablePool:giveBack(t)
  check(self, "giveBack")
  if type(t) ~= "table" then
    error(("tables:giveBack: a table that was rented here expected, got %s"):format(
      rentals.got(t)), 2)
  end
  local where
  if self._debug then
    where = rentals.place()
    sealOf(where)
    checkOut(self, t)
  end
  if rawequal(t, self._free[self._kept]) then
    error("tables:giveBack: the table was given back before", 2)
  end
  if self._rented == 0 then error("tables:giveBack: nothing is rented", 2) end
  takeBack(self, t, where)
end

function TablePool:trim()
  check(self, "trim")
  self._free, self._kept, self._dropped = {}, 0, self._dropped + self._kept
end

function TablePool:stats()
  check(self, "stats")
  return rentals.stats(self)
end

local OPTIONS = { keep = "number", ready = "number", debug = "boolean", new = "function",
  reset = "function" }

local pool = { debug = false }

function pool.tables(options)
  options = rentals.checkOptions(options, OPTIONS, "weft.pool.tables")
  local self = rentals.new(options, pool.debug, takeBack)
  self._keep, self._new, self._reset = options.keep or 1024, options.new, options.reset
  self._free = {}
  for _ = 1, self._debug and 0 or options.ready or 0 do keep(self, newTable(self)) end
  return setmetatable(self, meta)
end

function pool.buffers(options)
  return buffers.new(options, pool.debug)
end

-- For those who check that types_pool.lua names what there is.
pool.methods = { tables = TablePool, buffers = buffers.methods }

return pool
