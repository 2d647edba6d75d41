-- SPDX-License-Identifier: MIT
-- pathfinding.lua - a hundred routines send A* searches to the worker threads and await them,
-- while the world ticks on.
--
--   weft exec examples/pathfinding.lua [MAP SCENARIOS]
--
-- Reads the grid maps and scenarios of the Moving AI Lab (N. R. Sturtevant, "Benchmarks for
-- Grid-Based Pathfinding", 2012): eight directions, a diagonal step is the square root of 2, and
-- corners are not cut. Each length is compared with the one that the scenario file gives; the
-- exit status is 1 if one differs.

local weft = require "weft"
local jobs = require "weft.jobs"
local routine = require "weft.routine"

local SEEKERS = 100

-- --- Files ------------------------------------------------------------------------------------

local here = arg[0]:match "^(.*)/" or "."
local mapPath = arg[1] or here .. "/maps/courtyard.map"
local scenarioPath = arg[2] or mapPath .. ".scen"

-- The map as one byte a cell, row by row: 1 where one can walk.
local function readMap(path)
  local file = assert(io.open(path))
  local header = file:read "*l" .. " " .. file:read "*l" .. " " .. file:read "*l"
  local height, width = header:match "^type octile height (%d+) width (%d+)"
  assert(height and file:read "*l" == "map", path .. " is not an octile map")
  local map = { width = tonumber(width), height = tonumber(height), rows = {} }
  map.cells = weft.buffer("u8", map.width * map.height)
  for y = 0, map.height - 1 do
    local row = file:read "*l"
    map.rows[y] = row
    for x = 0, map.width - 1 do
      if row:find("^[.GS]", x + 1) then map.cells[y * map.width + x + 1] = 1 end
    end
  end
  file:close()
  return map
end

local function readScenarios(path)
  local list = {}
  for line in io.lines(path) do
    local x, y, goalX, goalY, length =
      line:match "^%d+%s+%S+%s+%d+%s+%d+%s+(%d+)%s+(%d+)%s+(%d+)%s+(%d+)%s+(%S+)"
    if x then
      list[#list + 1] = { x = tonumber(x), y = tonumber(y), goalX = tonumber(goalX),
        goalY = tonumber(goalY), length = tonumber(length) }
    end
  end
  return list
end

-- --- The search, on a worker ------------------------------------------------------------------
-- What it captures goes with it: the two functions of the heap, and the constant.

local DIAGONAL = math.sqrt(2)

-- A binary heap: the places, each with its key; the smallest key is first.
local function push(heap, keys, place, key)
  local at = #heap + 1
  while at > 1 do
    local above = (at - at % 2) / 2
    if keys[above] <= key then break end
    heap[at], keys[at] = heap[above], keys[above]
    at = above
  end
  heap[at], keys[at] = place, key
end

local function pop(heap, keys)
  local first, last, count = heap[1], heap[#heap], #heap - 1
  local key = keys[count + 1]
  heap[count + 1], keys[count + 1] = nil, nil
  if count == 0 then return first end
  local at, child = 1, 2
  while child <= count do
    if child < count and keys[child + 1] < keys[child] then child = child + 1 end
    if keys[child] >= key then break end
    heap[at], keys[at] = heap[child], keys[child]
    at, child = child, child * 2
  end
  heap[at], keys[at] = last, key
  return first
end

-- The length of the shortest way and its places, or nil; places are y * width + x + 1.
local function search(cells, width, height, from, to)
  local goalX, goalY = (to - 1) % width, (to - 1 - (to - 1) % width) / width
  local length, before, closed = {}, {}, {} -- by place, filled so that they are plain arrays
  for place = 1, width * height do
    length[place], before[place], closed[place] = math.huge, 0, false
  end
  length[from] = 0
  local heap, keys = { from }, { 0 }

  -- No way is shorter than the one over an empty field.
  local function atLeast(x, y)
    local dx, dy = math.abs(x - goalX), math.abs(y - goalY)
    return math.max(dx, dy) + (DIAGONAL - 1) * math.min(dx, dy)
  end

  local function isFree(x, y)
    return x >= 0 and x < width and y >= 0 and y < height and cells[y * width + x + 1] == 1
  end

  local function visit(place, x, y, step)
    local there, way = y * width + x + 1, length[place] + step
    if not closed[there] and way < length[there] then
      length[there], before[there] = way, place
      push(heap, keys, there, way + atLeast(x, y))
    end
  end

  while heap[1] do
    local place = pop(heap, keys)
    if place == to then break end
    if not closed[place] then
      closed[place] = true
      local x = (place - 1) % width
      local y = (place - 1 - x) / width
      local east, west = isFree(x + 1, y), isFree(x - 1, y)
      local south, north = isFree(x, y + 1), isFree(x, y - 1)
      if east then visit(place, x + 1, y, 1) end
      if west then visit(place, x - 1, y, 1) end
      if south then visit(place, x, y + 1, 1) end
      if north then visit(place, x, y - 1, 1) end
      if east and south and isFree(x + 1, y + 1) then visit(place, x + 1, y + 1, DIAGONAL) end
      if east and north and isFree(x + 1, y - 1) then visit(place, x + 1, y - 1, DIAGONAL) end
      if west and south and isFree(x - 1, y + 1) then visit(place, x - 1, y + 1, DIAGONAL) end
      if west and north and isFree(x - 1, y - 1) then visit(place, x - 1, y - 1, DIAGONAL) end
    end
  end

  if length[to] == math.huge then return nil end
  local way, place = {}, to
  while place > 0 do
    way[#way + 1] = place
    place = before[place]
  end
  return length[to], way
end

-- --- The routines -----------------------------------------------------------------------------

local map, scenarios = readMap(mapPath), readScenarios(scenarioPath)
local world = weft.world { capacity = SEEKERS }
local cells = map.cells:shared() -- any number of jobs may read it at once
local begun, right, longest = 0, 0, { length = -1 }

-- A job like any other; where the pool has no room for it, a tick later.
local function find(task)
  local from = task.y * map.width + task.x + 1
  local to = task.goalY * map.width + task.goalX + 1
  repeat
    local job = jobs.run(search, cells, map.width, map.height, from, to)
    if job then return routine.await(job) end
    routine.nextTick()
  until false
end

local function seek()
  while begun < #scenarios do
    begun = begun + 1
    local task = scenarios[begun]
    local length, way = find(task)
    if not length or math.abs(length - task.length) > 0.001 then
      print(("%d,%d to %d,%d: found %s, the file says %s"):format(task.x, task.y, task.goalX,
        task.goalY, tostring(length), task.length))
    else
      right = right + 1
      if length > longest.length then longest = { length = length, way = way } end
    end
  end
end

for _ = 1, SEEKERS do world:start(seek) end
world:run { speed = "max" }

-- --- The report -------------------------------------------------------------------------------

-- A map that fits a terminal is shown with the longest way on it.
local function draw()
  local on = {}
  for _, place in ipairs(longest.way) do on[place] = true end
  for y = 0, map.height - 1 do
    local line = {}
    for x = 0, map.width - 1 do
      line[#line + 1] = on[y * map.width + x + 1] and "o" or map.rows[y]:sub(x + 1, x + 1)
    end
    print(table.concat(line))
  end
end

if map.width <= 100 and map.height <= 50 and longest.way then draw() end
print(("%s: %d of %d searches as long as published; the longest is %.3f"):format(
  mapPath:match "[^/]*$", right, #scenarios, longest.length))
world:close()
os.exit(right == #scenarios, true)
