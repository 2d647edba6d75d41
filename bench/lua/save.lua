-- SPDX-License-Identifier: MIT
-- save.lua - a world that is saved and read again: many entities as columns, many tables. The peers
-- encode tables and write the file on the one thread that they have.
--
-- usage: save.lua weft|cjson|messagepack columns|tables N FILE
--
-- Times are those of the clock on the wall, since a save goes on on other threads. The world stands
-- still for `pause` ms; after `total` ms the file is there, of `bytes` bytes; `read` ms bring it
-- back. What is read is held against what was saved, each time.

local measure = require "measure"
local clock = require("weft.core").clock

local side, what, n, path = arg[1], arg[2], tonumber(arg[3]), arg[4]

local random = measure.random(7)

-- Numbers that a text with 14 digits holds.
local function place() return random(8000) / 8 end

local function makeLists()
  local x, y, hp = {}, {}, {}
  for i = 1, n do x[i], y[i], hp[i] = place(), place(), random(100) end
  return { x = x, y = y, hp = hp }
end

local states = { "idle", "walks", "fights", "flees" }

local function makeTables()
  local list = {}
  for i = 1, n do
    list[i] = { id = i, name = "unit " .. random(5000), x = place(), y = place(), hp = random(100),
      state = states[random(4)] }
  end
  return list
end

local function checkList(a, b, name)
  measure.check(#a == #b, "%s has %d entries instead of %d", name, #b, #a)
  for i = 1, #a do measure.check(a[i] == b[i], "%s[%d]", name, i) end
end

local checks = {}

function checks.tables(list, back)
  measure.check(#back == #list, "%d tables instead of %d", #back, #list)
  for i = 1, n do
    for key, value in pairs(list[i]) do
      measure.check(back[i][key] == value, "%s of table %d", key, i)
    end
  end
end

function checks.columns(lists, back)
  for name, list in pairs(lists) do checkList(list, back[name], name) end
end

local function writeFile(text)
  local file = assert(io.open(path .. ".new", "wb"))
  assert(file:write(text))
  file:close()
  assert(os.rename(path .. ".new", path))
  return #text
end

local function readFile()
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- Each: `save(data)` gives the pause, if it is not all of it, and the bytes; `load()` the data.
local sides = {}

function sides.cjson()
  local cjson = require "cjson"
  return function(data) return nil, writeFile(cjson.encode(data)) end,
    function() return cjson.decode(readFile()) end
end

-- Debian has it for versions up to 5.3; it is the same for 5.4.
function sides.messagepack()
  package.path = package.path .. ";/usr/share/lua/5.3/?.lua"
  local messagepack = require "MessagePack"
  return function(data) return nil, writeFile(messagepack.pack(data)) end,
    function() return messagepack.unpack(readFile()) end
end

function sides.weft()
  local weft = require "weft"
  require("weft.jobs").configure { workers = 1, background = 1 }
  return function(data)
    local job = weft.save.write(path, { data = data })
    assert(job:wait())
    local result = job:result()
    return result.pauseMs, result.bytes
  end, function() return weft.save.read(path).data end
end

-- Columns for weft: the same numbers as those of the lists.
local function asColumns(lists)
  local cols, ids = require("weft").columns { x = "f32", y = "f32", hp = "i32" }, {}
  for i = 1, n do ids[i] = cols:add { x = lists.x[i], y = lists.y[i], hp = lists.hp[i] } end
  return cols, function(_, back)
    for i = 1, n, 7 do
      for name, list in pairs(lists) do
        measure.check(back:get(ids[i], name) == list[i], "%s of row %d", name, i)
      end
    end
  end
end

local data, check = what == "tables" and makeTables() or makeLists(), checks[what]
if what == "columns" and side == "weft" then data, check = asColumns(data) end

local save, load = sides[side]()
local samples = { pause = {}, total = {}, read = {} }
local size

local function round()
  collectgarbage()
  local begin = clock()
  local pause, bytes = save(data)
  local total = (clock() - begin) * 1000
  begin = clock()
  local back = load()
  local read = (clock() - begin) * 1000
  check(data, back)
  size = bytes
  for key, value in pairs { pause = pause or total, total = total, read = read } do
    table.insert(samples[key], value)
  end
end

for _ = 1, 3 do round() end
for key, list in pairs(samples) do
  table.sort(list)
  measure.print(key, list[2])
end
measure.print("bytes", size)
os.remove(path)
os.remove(path .. ".kept")
