-- SPDX-License-Identifier: MIT
-- driver.lua - runs the sides of each bench row in turn and prints the table; bench/run starts it.
--
-- Every run is a fresh process, so that neither side inherits the other's memory. The sides of a
-- group alternate, forwards and backwards, and each value is the median of its runs; a ratio only
-- ever compares values of one group. Results also go to bench/results/latest.tsv and latest.svg.

package.path = "bench/?.lua;" .. package.path
local chart = require "chart"
local spec = require "rows"

local mode = arg[1] or "release"
local pattern = (os.getenv "ROWS" or ""):lower()
local runs = tonumber(os.getenv "RUNS" or nil)
local results, failures = {}, 0

local function succeeds(command)
  return (os.execute(command .. " >/dev/null 2>&1"))
end

-- One-thread rows stay on one processor: the last, which interrupts disturb least.
local function pinner()
  local pipe = io.popen "nproc --all 2>/dev/null"
  local last = (tonumber(pipe:read "l" or "") or 1) - 1
  pipe:close()
  local pin = ("taskset -c %d "):format(last)
  return succeeds(pin .. "true") and pin or ""
end

local pin = pinner()

local function command(side)
  local pin = side.free and "" or pin -- luacheck: ignore 431
  local words = { pin .. "timeout 300" }
  if side.vm then
    local abi = side.vm == "lua5.4" and "lua5.4" or "luajit"
    words = {
      'LUA_PATH="bench/lua/?.lua;lua/?.lua;lua/?/init.lua;;"',
      ('LUA_CPATH="build/%s/%s/?.so;;"'):format(mode, abi),
      pin .. "timeout 300", side.vm,
    }
  end
  words[#words + 1] = side.program
  for _, value in ipairs(side.args) do words[#words + 1] = tostring(value) end
  return table.concat(words, " ")
end

-- Runs a side once; adds what it printed to side.values[key]. A failure is kept in side.failed.
local function once(side)
  local pipe = assert(io.popen(command(side)))
  for line in pipe:lines() do
    local key, number = line:match "^(%w+) (%S+)$"
    if key then
      side.values[key] = side.values[key] or {}
      table.insert(side.values[key], tonumber(number))
    end
  end
  if not pipe:close() then
    side.failed = true
    io.stderr:write("bench: failed: ", command(side), "\n")
  end
end

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

local known = {}

-- The package that a side lacks, or nil.
local function lacks(side)
  local peer = spec.peers[side.needs]
  if not peer then return nil end
  local probe = peer.probe:format(side.vm)
  if known[probe] == nil then known[probe] = succeeds(probe) end
  return not known[probe] and peer.package or nil
end

local function wanted(row)
  local line = ("%s %s %s"):format(row.name, row.vm, row.peer or ""):lower()
  return line:find(pattern, 1, true) ~= nil
end

-- The sides that the wanted rows need, in a fixed order.
local function chosen(group)
  local names, used = {}, {}
  local function use(name)
    if name and not used[name] then
      used[name] = true
      names[#names + 1] = name
    end
  end
  for _, row in ipairs(group.rows) do
    if wanted(row) then
      use "weft"
      use(row.peer)
    end
  end
  return names
end

-- The values that must be equal on both sides are; else the row has failed.
local function agreeing(group, ours, theirs)
  for _, key in ipairs(group.agree or {}) do
    for _, side in ipairs { ours, theirs } do
      for _, value in ipairs(side.values[key] or {}) do
        if value ~= ours.values[key][1] then
          io.stderr:write(("bench: %s differs: %s\n"):format(key, command(side)))
          return false
        end
      end
    end
  end
  return true
end

local function verdict(row, ours, ratio)
  if row.bar then return ratio <= row.bar and "ok" or "MISS" end
  if row.limit then return ours <= row.limit and "ok" or "MISS" end
  if row.least then return ours >= row.least and "ok" or "MISS" end
  return ""
end

local function barText(row)
  if row.bar then return ("%gx"):format(row.bar) end
  if row.limit then return ("%g %s"):format(row.limit, row.unit) end
  if row.least then return (">= %g"):format(row.least) end
  return ""
end

local function number(value)
  if not value then return "-" end
  if value == math.floor(value) then return ("%d"):format(value) end
  return (value >= 100 and "%.0f" or value >= 10 and "%.1f" or "%.2f"):format(value)
end

local layout = "%-44s %-7s %9s  %-20s %9s %6s  %-8s %s\n"

local function heading()
  io.write(layout:format("row", "vm", "ours", "peer", "its value", "ratio", "bar", ""))
end

local function show(result)
  local row = result.row
  io.write(layout:format(row.name, row.vm, number(result.ours) .. " " .. row.unit, row.peer or "-",
    number(result.theirs), result.ratio and ("%.2f"):format(result.ratio) or "-", barText(row),
    result.verdict))
  io.flush()
end

-- What a row comes to, once the sides of its group have run.
local function judge(group, row)
  local ours, theirs = group.sides.weft, group.sides[row.peer]
  local key = row.key or "ns"
  row.unit = row.unit or key
  local result = { row = row }
  local lacking = lacks(ours)
  local missing = lacking or theirs and lacks(theirs)
  local compared = theirs and not missing
  if ours.failed or compared and (theirs.failed or not agreeing(group, ours, theirs)) then
    failures = failures + 1
    result.verdict = "FAILED"
    return result
  end
  if not lacking then result.ours = median(ours.values[key]) end
  if missing then
    result.verdict = "missing: package " .. missing
    return result
  end
  if theirs then
    result.theirs = median(theirs.values[key])
    result.ratio = result.ours / result.theirs
  end
  result.verdict = verdict(row, result.ours, result.ratio)
  return result
end

local function runGroup(group)
  local names = chosen(group)
  if #names == 0 then return end
  for _, name in ipairs(names) do
    group.sides[name].values = {}
    group.sides[name].free = group.sides[name].free or group.free
  end
  local count = group.runs and math.min(group.runs, runs or group.runs) or runs or 7
  for turn = 1, count do
    for i = 1, #names do
      local side = group.sides[names[turn % 2 == 1 and i or #names + 1 - i]]
      if not side.failed and not lacks(side) then once(side) end
    end
  end
  for _, row in ipairs(group.rows) do
    if wanted(row) then
      local result = judge(group, row)
      results[#results + 1] = result
      show(result)
    end
  end
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function tsv()
  local lines = { "row\tvm\tours\tpeer\tpeer_value\tratio\tunit" }
  local function field(value) return value and ("%.6g"):format(value) or "-" end
  for _, result in ipairs(results) do
    local row = result.row
    lines[#lines + 1] = table.concat({ row.name, row.vm, field(result.ours), row.peer or "-",
      field(result.theirs), field(result.ratio), row.unit }, "\t")
  end
  return table.concat(lines, "\n") .. "\n"
end

local function summary(seconds)
  local count = { ok = 0, MISS = 0, FAILED = 0 }
  for _, result in ipairs(results) do
    if count[result.verdict] then count[result.verdict] = count[result.verdict] + 1 end
  end
  print(("%d rows in %d s: %d within their bars, %d above, %d failed"):format(#results, seconds,
    count.ok, count.MISS, count.FAILED))
end

local begin = os.time()
heading()
for _, group in ipairs(spec.groups) do runGroup(group) end
if #results == 0 then
  io.stderr:write(("bench: no row contains %q\n"):format(pattern))
  os.exit(1)
end
write("bench/results/latest.tsv", tsv())
write("bench/results/latest.svg", chart.draw(results))
summary(os.time() - begin)
os.exit(failures == 0 and 0 or 1)
