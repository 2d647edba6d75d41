-- SPDX-License-Identifier: MIT
--
-- Holds weft against the model: both tell the same program, step by step, and every line must be
-- the same. A program on which they differ is made as small as can be and printed.

local tell = require "support.story.tell"
local real = require "support.story.real"
local modelled = require "support.story.modelled"

local duel = {}

local SHRINK_RUNS = 600

local function difference(expected, got)
  for i = 1, math.max(#expected, #got) do
    if expected[i] ~= got[i] then return i end
  end
end

local function describe(step, expected, got, at)
  local out = { ("in step %s, line %d:"):format(step, at) }
  for i = math.max(1, at - 6), at - 1 do out[#out + 1] = "           " .. expected[i] end
  for i = at, at + 2 do
    out[#out + 1] = "  expected " .. tostring(expected[i])
    out[#out + 1] = "  got      " .. tostring(got[i])
  end
  return table.concat(out, "\n")
end

---Nil if both tell the same; else what differed, in words. `onLines` gets the lines of each step.
function duel.run(program, onLines)
  local theirs = tell(program, modelled)
  local ours = tell(program, real)
  local problem
  local function compare(step, expected, got)
    local at = difference(expected, got)
    if at then problem = describe(step, expected, got, at) end
    if onLines then onLines(got) end
  end
  local ok, err = pcall(function()
    for i, step in ipairs(program.steps) do
      compare(i, theirs:step(step), ours:step(step))
      if problem then break end
    end
    if not problem then compare("close", theirs:close(), ours:close()) end
  end)
  if not ok then problem = "raised: " .. tostring(err) end
  if problem then pcall(ours.close, ours) end
  return problem
end

-- --- Making it smaller -------------------------------------------------------------------------

-- All lists of statements in a program.
local function lists(program)
  local out = { program.steps, program.onError }
  for _, body in ipairs(program.bodies) do out[#out + 1] = body end
  local i = 1
  while out[i] do
    for _, statement in ipairs(out[i]) do
      if statement.body then out[#out + 1] = statement.body end
      if statement.cleanup then out[#out + 1] = statement.cleanup end
    end
    i = i + 1
  end
  return out
end

-- Whether weft and the model still differ; an error out of a step would be another problem.
local function differs(program)
  return (duel.run(program) or ""):find "^in step" ~= nil
end

-- Takes `count` statements out of a list; true if the difference stays, else they are put back.
local function tryWithout(program, list, at, count)
  local taken = {}
  for i = 1, count do taken[i] = table.remove(list, at) end
  if differs(program) then return true end
  for i = count, 1, -1 do table.insert(list, at, taken[i]) end
  return false
end

-- Puts what stands in a statement in its place.
local function tryUnwrapped(program, list, at)
  local statement = list[at]
  if not statement.body or #statement.body ~= 1 then return false end
  list[at] = statement.body[1]
  if differs(program) then return true end
  list[at] = statement
  return false
end

---Takes away what can be taken away without the difference going away.
function duel.shrink(program)
  if not differs(program) then return program end
  local runs, size, again = 0, 16, true
  while runs < SHRINK_RUNS and (again or size > 1) do
    if not again then size = math.floor(size / 2) end
    again = false
    for _, list in ipairs(lists(program)) do
      local at = #list
      while at > 0 and runs < SHRINK_RUNS do
        local count = math.min(size, #list - at + 1)
        runs = runs + 1
        if tryWithout(program, list, at, count) or tryUnwrapped(program, list, at) then
          again = true
        end
        at = at - 1
      end
    end
  end
  return program
end

-- --- Printing ----------------------------------------------------------------------------------

local function write(out, value, indent)
  if type(value) ~= "table" then
    out[#out + 1] = type(value) == "string" and ("%q"):format(value)
      or type(value) == "number" and ("%.17g"):format(value) or tostring(value)
    return
  end
  local keys = {}
  for key in pairs(value) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  out[#out + 1] = "{"
  for _, item in ipairs(value) do
    if type(item) == "table" then out[#out + 1] = "\n" .. indent .. "  " end
    write(out, item, indent .. "  ")
    out[#out + 1] = ", "
  end
  for _, key in ipairs(keys) do
    out[#out + 1] = key .. " = "
    write(out, value[key], indent .. "  ")
    out[#out + 1] = ", "
  end
  out[#out + 1] = "}"
end

---The program as a Lua table.
function duel.print(program)
  local out = {}
  write(out, program, "")
  return table.concat(out)
end

return duel
