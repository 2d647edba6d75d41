-- SPDX-License-Identifier: MIT
-- columns.lua - `weft.columns`: rows of numbers, a buffer for each column.
--
-- Rows are dense: the last one moves into the place of one that is removed. What a script holds is
-- an id, a slot's number and its generation, and the slot knows the row. A slot is never used again
-- once its generations are used up, so an id means one row or none, for ever.
local core = require "weft.core"

local buffer, refill = core.buffer, core.refillBuffer
local unpack = table.unpack or unpack

-- An id is generation * SLOTS + slot; both are whole numbers that a double holds.
local SLOTS, GENERATIONS, FIRST_ROWS = 16777216, 536870912, 64

local columns = {}

---@class weft.Columns
local methods = {}
local meta = { __index = methods, __name = "weft.Columns", __metatable = "weft.Columns" }

local function misuse(text, ...)
  error(text:format(...), 3)
end

local function describe(value)
  if type(value) == "number" then return ("%.14g"):format(value) end
  return type(value)
end

local function check(self, who)
  if getmetatable(self) ~= "weft.Columns" then
    error(("columns:%s: columns expected, got %s"):format(who, describe(self)), 3)
  end
end

-- The row of an id, or nil if it is gone.
local function rowOf(self, id, who)
  if type(id) ~= "number" then
    error(("columns:%s: an id expected, got %s"):format(who, describe(id)), 3)
  end
  local slot = id % SLOTS
  if self._generations[slot] ~= (id - slot) / SLOTS then return nil end
  return self._rows[slot]
end

local function columnOf(self, name, who)
  local column = self._columns[name]
  if not column then
    error(("columns:%s: there is no column '%s'"):format(who, tostring(name)), 3)
  end
  return column
end

-- What a buffer says, without where and without its name.
local function withoutPlace(err)
  err = tostring(err)
  return err:match "buffer: (.*)$" or err:match "(buffer is .*)$" or err
end

local function columnMisuse(who, name, err)
  error(("columns:%s: column '%s': %s"):format(who, name, withoutPlace(err)), 3)
end

local function write(column, row, value) column[row] = value end

-- Raises while a job has the rows: all columns are lent at once, so one tells of all.
local function touch(column) column[1] = column[1] end
local function checkLoan(self, who)
  if self._lending then
    error(("columns:%s: buffer is on loan to a job that is being started"):format(who), 3)
  end
  if self._count == 0 then return end
  local ok, err = pcall(touch, self._columns[self._names[1]])
  if not ok then error(("columns:%s: %s"):format(who, withoutPlace(err)), 3) end
end

-- Larger buffers; nothing has changed if one of them cannot be had. To make them runs finalizers,
-- which may add and remove rows: the rows are looked at when all is made.
local function grow(self)
  local capacity, larger = self._capacity * 2, {}
  for _, name in ipairs(self._names) do larger[name] = buffer(self._types[name], capacity) end
  if self._capacity >= capacity then return end
  for _, name in ipairs(self._names) do refill(self._columns[name], larger[name]) end
  for _, name in ipairs(self._names) do self._columns[name] = larger[name] end
  self._capacity = capacity
end

-- A slot for one row more, not yet taken; nil if there are none left.
local function nextSlot(self)
  if self._freeCount > 0 then return self._free[self._freeCount] end
  local slot = self._used + 1
  if slot >= SLOTS then return nil end
  self._generations[slot], self._rows[slot] = 1, 0
  return slot
end

local function takeSlot(self, slot, row)
  if slot > self._used then self._used = slot else self._freeCount = self._freeCount - 1 end
  self._rows[slot] = row
end

--- Adds a row. What is not named is 0. Raises for a name that is no column's and for a value that
--- does not fit, and has then changed nothing; also while a job has the columns.
---
---     local id = bodies:add{ x = 3, hp = 100 }
---@param values? table<string, number>
---@return integer? id of this row alone, for ever
---@return nil|"full" reason there are over 16 million rows
function methods:add(values)
  check(self, "add")
  if values == nil then values = {} end
  if type(values) ~= "table" then
    misuse("columns:add: a table of values expected, got %s", describe(values))
  end
  for name in next, values do columnOf(self, name, "add") end
  checkLoan(self, "add")
  while self._count == self._capacity do grow(self) end
  local row, slot = self._count + 1, nextSlot(self)
  if not slot then return nil, "full" end
  for _, name in ipairs(self._names) do
    local value = values[name]
    if value == nil then value = 0 end
    local ok, err = pcall(write, self._columns[name], row, value)
    if not ok then columnMisuse("add", name, err) end
  end
  self._slots[row] = slot
  takeSlot(self, slot, row)
  self._count = row
  return self._generations[slot] * SLOTS + slot
end

-- Moves the last row into the place of another.
local function moveLast(self, row)
  local last = self._count
  for _, name in ipairs(self._names) do
    local column = self._columns[name]
    column[row] = column[last]
  end
  local slot = self._slots[last]
  self._slots[row], self._slots[last] = slot, nil
  self._rows[slot] = row
  self._count = last - 1
end

--- Removes a row. The last one takes its place: rows are no places to remember, ids are. Raises
--- while a job has the columns.
---
---     bodies:remove(id)
---@param id integer
---@return true? removed
---@return nil|"gone" reason it was removed before
function methods:remove(id)
  check(self, "remove")
  if self._lending then checkLoan(self, "remove") end
  local row = rowOf(self, id, "remove")
  if not row then return nil, "gone" end
  local slot = self._slots[row]
  self._free[self._freeCount + 1] = slot
  local ok, err = pcall(moveLast, self, row)
  if not ok then misuse("columns:remove: %s", withoutPlace(err)) end
  local generation = self._generations[slot] + 1
  self._generations[slot] = generation
  if generation < GENERATIONS then self._freeCount = self._freeCount + 1 end
  return true
end

--- Whether the row of an id is there.
---
---     if bodies:alive(target) then aim(target) end
---@param id integer
---@return boolean
function methods:alive(id)
  check(self, "alive")
  return rowOf(self, id, "alive") ~= nil
end

--- One value of a row. Raises for a name that is no column's.
---
---     local hp = bodies:get(id, "hp")
---@param id integer
---@param name string
---@return number? value
---@return nil|"gone" reason the row was removed
function methods:get(id, name)
  check(self, "get")
  local column, row = columnOf(self, name, "get"), rowOf(self, id, "get")
  if not row then return nil, "gone" end
  return column[row]
end

--- Writes one value of a row. Raises as `add` does.
---
---     bodies:set(id, "hp", bodies:get(id, "hp") - 5)
---@param id integer
---@param name string
---@param value number
---@return true? written
---@return nil|"gone" reason the row was removed
function methods:set(id, name, value)
  check(self, "set")
  local column, row = columnOf(self, name, "set"), rowOf(self, id, "set")
  if not row then return nil, "gone" end
  local ok, err = pcall(write, column, row, value)
  if not ok then columnMisuse("set", name, err) end
  return true
end

-- The rows that there are, as buffers.
local function rowsOf(self)
  local rows = {}
  for _, name in ipairs(self._names) do rows[name] = self._columns[name]:slice(1, self._count) end
  return rows
end

local function pack(...)
  return { n = select("#", ...), ... }
end

-- To start a job makes tables, and so runs finalizers: from here on they find the rows on loan, and
-- what is lent is what there is.
local function start(self, jobs, fn, args)
  self._lending = true
  local rows = rowsOf(self)
  if type(fn) ~= "userdata" then
    local all = { n = args.n + 1, rows, unpack(args, 1, args.n) }
    return jobs.parallelFor(self._count, fn, { args = all })
  end
  local values = { n = #self._names + args.n }
  for i, name in ipairs(self._names) do values[i] = rows[name] end
  for i = 1, args.n do values[#self._names + i] = args[i] end
  return jobs.parallelFor(self._count, fn, { args = values })
end

-- Called in place of its caller: level 2 is who has called that.
local function started(self, ok, ...)
  self._lending = false
  if ok then return ... end
  local err = ...
  if type(err) ~= "string" then error(err, 0) end
  error(err:gsub("^[^\n]*columns%.lua:%d+: ", "", 1), 2)
end

--- Calls a function, or runs a kernel, for all rows in parts, on the threads of jobs: a job, as
--- `jobs.parallelFor` gives it. `fn(first, last, cols, ...)` has each column as a buffer in
--- `cols`, and works on rows `first` to `last` of them; what else it gets are copies. A kernel gets
--- the columns in the order of their names, then the other arguments. The columns are on loan to
--- the job until its end was taken in: meanwhile what touches a row raises, and what adds one.
---
---     local job = bodies:forEachParallel(function(first, last, cols, dt)
---       local x, vx = cols.x, cols.vx
---       for i = first, last do x[i] = x[i] + vx[i] * dt end
---     end, dt)
---     job:wait()
---@param fn fun(first: integer, last: integer, cols: table<string, weft.Buffer>, ...)|weft.Kernel
---@param ... any
---@return weft.Job? job
---@return nil|"full" reason
function methods:forEachParallel(fn, ...)
  check(self, "forEachParallel")
  local jobs, args = require "weft.jobs", pack(...)
  if self._lending then checkLoan(self, "forEachParallel") end
  return started(self, pcall(start, self, jobs, fn, args))
end

--- How many rows there are.
---
---     print(bodies:count(), "bodies")
---@return integer
function methods:count()
  check(self, "count")
  return self._count
end

meta.__tostring = function(self)
  return ("weft.Columns: %d x %s"):format(self._count, table.concat(self._names, ", "))
end

local function makeColumns(types)
  local names, made, kinds = {}, {}, {}
  for name, kind in next, types do
    if type(name) ~= "string" then
      error(("weft.columns: the name of a column must be a string, got %s"):format(
        describe(name)), 3)
    end
    local ok, column = pcall(buffer, kind, FIRST_ROWS)
    if not ok then
      error(("weft.columns: column '%s': %s"):format(name, withoutPlace(column)), 3)
    end
    names[#names + 1], made[name], kinds[name] = name, column, kind
  end
  table.sort(names)
  return names, made, kinds
end

--- Makes columns of numbers, one buffer each: the rows of many things that are alike, for loops
--- over all of them. Raises unless `types` names the type of one column at least.
---
---     local bodies = weft.columns{ x = "f32", y = "f32", hp = "i32" }
---@param types table<string, weft.ElementType>
---@return weft.Columns
function columns.columns(types)
  if type(types) ~= "table" or next(types) == nil then
    error(("weft.columns: a table of types by name expected, got %s"):format(
      type(types) == "table" and "an empty one" or describe(types)), 2)
  end
  local names, made, kinds = makeColumns(types)
  return setmetatable({
    _names = names, _columns = made, _types = kinds, _count = 0, _capacity = FIRST_ROWS,
    _slots = {}, _rows = {}, _generations = {}, _free = {}, _freeCount = 0, _used = 0,
  }, meta)
end

-- What a save holds of columns, and columns of what one held (save.lua).
columns.meta = meta

columns.parts = function(self)
  return self._names, self._columns, self._count, self._slots, self._generations, self._used,
    self._free, self._freeCount
end

columns.assemble = function(names, made, kinds, count, slots, generations, free)
  local rows, capacity = {}, math.max(count, FIRST_ROWS)
  for slot = 1, #generations do rows[slot] = 0 end
  for row = 1, count do rows[slots[row]] = row end
  for _, name in ipairs(count < capacity and names or {}) do
    local larger = buffer(kinds[name], capacity)
    refill(made[name], larger)
    made[name] = larger
  end
  return setmetatable({
    _names = names, _columns = made, _types = kinds, _count = count, _capacity = capacity,
    _slots = slots, _rows = rows, _generations = generations, _free = free, _freeCount = #free,
    _used = #generations,
  }, meta)
end

columns.methods = methods

return columns
