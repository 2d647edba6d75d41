-- SPDX-License-Identifier: MIT
-- Runs several programs at once, each in a routine of its own:
--
--   weft run several.lua -- FOLDER PROGRAM...
--
-- Each waits a tick at each of its prints, so that they take turns. When the last
-- has ended, what each printed is printed, in the order in which they were named.

local routine = require "weft.routine"

local folder = arg[1]
local outputs, left = {}, #arg - 1

local function printer(out)
  return function(...)
    local words = { n = select("#", ...), ... }
    for i = 1, words.n do words[i] = tostring(words[i]) end
    out[#out + 1] = table.concat(words, "\t", 1, words.n) .. "\n"
    routine.nextTick()
  end
end

local function loadin(path, env)
  if not setfenv then return assert(loadfile(path, "t", env)) end
  return setfenv(assert(loadfile(path)), env)
end

local function run(i)
  outputs[i] = {}
  local env = setmetatable({ print = printer(outputs[i]) }, { __index = _G })
  loadin(folder .. arg[i] .. ".lua", env)()
  left = left - 1
  if left > 0 then return end
  for k = 2, #arg do io.write("-- ", arg[k], "\n", table.concat(outputs[k])) end
end

for i = 2, #arg do routine.start(run, i) end
