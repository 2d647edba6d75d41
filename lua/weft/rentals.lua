-- SPDX-License-Identifier: MIT
-- rentals.lua - what pools of tables and of buffers share: options, numbers, and what owners have
-- rented, which is given back at their end.
local core = require "weft.core"

local isAlive = core.ownerMethods.alive

local rentals = {}

-- --- Words ----------------------------------------------------------------------------------

---A value as messages show it, alike on both machines.
function rentals.got(value)
  if type(value) ~= "number" then return type(value) end
  return value ~= value and "nan" or ("%.14g"):format(value)
end

---Where the script has called the method that asks.
function rentals.place()
  local info = debug.getinfo(3, "Sl")
  return ("%s:%d"):format(info.short_src, info.currentline)
end

-- --- Pools ----------------------------------------------------------------------------------

local function fits(value, kind)
  if type(value) ~= kind then return false end
  return kind ~= "number" or value >= 0 and value % 1 == 0
end

---Raises at the caller of who asks, unless each option is one of `known`, a name's type.
function rentals.checkOptions(options, known, who)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error(("%s: a table of options expected, got %s"):format(who, rentals.got(options)), 3)
  end
  for name, value in next, options do
    local kind = known[name]
    if not kind then error(("%s: unknown option '%s'"):format(who, tostring(name)), 3) end
    if not fits(value, kind) then
      local expected = kind == "number" and "whole number >= 0" or kind
      error(("%s: %s must be a %s, got %s"):format(who, name, expected, rentals.got(value)), 3)
    end
  end
  return options
end

---What all pools have. `takeBack(self, thing, where)` is called for what an owner leaves.
function rentals.new(options, debugging, takeBack)
  if options.debug ~= nil then debugging = options.debug end
  return {
    _debug = debugging, _rented = 0, _kept = 0, _made = 0, _dropped = 0,
    _out = setmetatable({}, { __mode = "k" }), -- what is rented, where that is to be known
    _lists = {}, _listOf = {}, _placeOf = {}, -- of what owners have
    _takeBack = takeBack,
  }
end

function rentals.stats(self)
  return { rented = self._rented, kept = self._kept, made = self._made, dropped = self._dropped }
end

-- --- Owners ---------------------------------------------------------------------------------
-- What an owner has rented stands in a list; each thing knows its list and its place there. The
-- things are in a table that has nothing else: LuaJIT, when it finds no memory for a table's other
-- part, loses what was to go from that to the places.

---Whether an owner may rent; raises at the caller of who asks if it is none.
function rentals.checkOwner(owner, who)
  local ok, alive = pcall(isAlive, owner)
  if not ok then
    error(("%s: an owner or nothing expected, got %s"):format(who, rentals.got(owner)), 3)
  end
  return alive
end

-- The last of the list takes the place of the one that leaves it.
local function unbind(self, thing)
  local list, at = self._listOf[thing], self._placeOf[thing]
  if not list then return end
  local things = list.things
  local last = things[#things]
  things[at], self._placeOf[last] = last, at
  things[#things], self._listOf[thing], self._placeOf[thing] = nil, nil, nil
end

---Leaves what is rented to the collector.
function rentals.drop(self, thing)
  unbind(self, thing)
  self._out[thing] = nil
  self._rented, self._dropped = self._rented - 1, self._dropped + 1
end

-- All of them go back, also if one cannot; the first error is raised then.
local function endList(self, list)
  local failed, err = false, nil
  local things = list.things
  self._lists[list.owner] = nil
  while #things > 0 do
    local thing = things[#things]
    local ok, problem = pcall(self._takeBack, self, thing, "the end of its owner")
    if not ok then
      rentals.drop(self, thing)
      if not failed then failed, err = true, problem end
    end
  end
  if failed then error(err, 0) end
end

local function listOf(self, owner)
  if self._lists[owner] then return self._lists[owner] end
  local list = { owner = owner, things = {} }
  owner:onDestroyed(function() endList(self, list) end)
  if not self._lists[owner] then self._lists[owner] = list end -- a finalizer may have made one
  return self._lists[owner]
end

local function append(self, owner, thing)
  local list = listOf(self, owner)
  local at = #list.things + 1
  self._listOf[thing], self._placeOf[thing] = list, at
  list.things[at] = thing
end

---Puts a thing that is rented into the list of an owner. Without memory it is dropped. False if
---the owner has ended meanwhile: what made the thing, or a finalizer, may have done that. Then the
---thing has gone back.
function rentals.bind(self, owner, thing)
  local ok, err = pcall(append, self, owner, thing)
  if not ok then
    -- LuaJIT makes room for a key also to set nil: only where it stands.
    if self._listOf[thing] then self._listOf[thing] = nil end
    if self._placeOf[thing] then self._placeOf[thing] = nil end
    rentals.drop(self, thing)
    error(err, 0)
  end
  if isAlive(owner) then return true end
  if self._listOf[thing] then endList(self, self._listOf[thing]) end
  return false
end

rentals.unbind = unbind

return rentals
