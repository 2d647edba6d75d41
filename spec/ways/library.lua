-- SPDX-License-Identifier: MIT
-- Ways to a wait through functions of the standard library that are written in
-- C and call back into Lua. See ways/init.lua for what a way is.

local ways = {}

local function way(name, pinned, run)
  ways[#ways + 1] = { name = name, pinned = pinned, run = run }
end

-- Modules that the ways load get names of their own, so that no two routines
-- load the same one: sharing a module is the subject of require_spec.
local modules = 0
local function freshmodule()
  modules = modules + 1
  return "weft-spec-module-" .. modules
end

way("a table.sort comparator", true, function(pause)
  local list = { 3, 1, 2 }
  table.sort(list, function(a, b)
    pause()
    return a < b
  end)
  return table.concat(list, " ")
end)

way("table.sort by __lt", true, function(pause)
  local meta = {}
  meta.__lt = function(a, b)
    pause()
    return a.n < b.n
  end
  local list = {}
  for i, n in ipairs { 2, 3, 1 } do list[i] = setmetatable({ n = n }, meta) end
  table.sort(list)
  return list[1].n .. " " .. list[2].n .. " " .. list[3].n
end)

way("a string.gsub callback", true, function(pause)
  return (("abc"):gsub(".", function(letter)
    pause()
    return letter:upper()
  end))
end)

way("the __index of a string.gsub table", true, function(pause)
  local upper = setmetatable({}, {
    __index = function(_, letter)
      pause()
      return letter:upper()
    end,
  })
  return (("xyz"):gsub("%a", upper))
end)

way("a gsub callback in a gsub callback", true, function(pause)
  return (("ab"):gsub(".", function(outer)
    return (("12"):gsub(".", function(inner)
      pause()
      return outer .. inner
    end))
  end))
end)

local function shy(pause, text)
  return setmetatable({}, {
    __tostring = function()
      pause()
      return text
    end,
  })
end

way("tostring and __tostring", nil, function(pause)
  return tostring(shy(pause, "one")) .. tostring(shy(pause, "two"))
end)

way("string.format and __tostring", true, function(pause)
  return string.format("%s-%d-%s", shy(pause, "left"), 7, shy(pause, "right"))
end)

way("a reader of load", true, function(pause)
  local pieces, at = { "return ", "40 ", "+ 2" }, 0
  local chunk, err = load(function()
    at = at + 1
    pause()
    return pieces[at]
  end, "=pieces")
  if not chunk then error(err, 0) end
  return tostring(chunk())
end)

way("require of a preloaded module", true, function(pause)
  local name = freshmodule()
  package.preload[name] = function(given)
    pause()
    local module = { name = given == name }
    pause()
    return module
  end
  local module = require(name)
  local same = module == require(name)
  package.preload[name], package.loaded[name] = nil, nil
  return tostring(module.name) .. tostring(same)
end)

way("a package searcher and its loader", true, function(pause)
  local searchers = package.searchers or package.loaders
  local wanted = freshmodule()
  local function searcher(name)
    if name ~= wanted then return nil end
    pause()
    return function()
      pause()
      return "found"
    end
  end
  table.insert(searchers, 1, searcher)
  -- The list is shared by all: the searcher has to go however this ends.
  local ok, module = pcall(require, wanted)
  for i = #searchers, 1, -1 do
    if searchers[i] == searcher then table.remove(searchers, i) end
  end
  package.loaded[wanted] = nil
  if not ok then error(module, 0) end
  return module
end)

local CHUNK = [[
local pause = package.loaded["weft-spec-pause"]
pause()
local sum = 0
for i = 1, 3 do sum = sum + i; if i == 2 then pause() end end
return "sum " .. sum
]]

way("dofile", nil, function(pause)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(CHUNK)
  file:close()
  -- The chunk takes its pause before it first waits, so sharing the slot is safe.
  package.loaded["weft-spec-pause"] = pause
  local ok, answer = pcall(dofile, path)
  package.loaded["weft-spec-pause"] = nil
  os.remove(path)
  if not ok then error(answer, 0) end
  return answer
end)

way("the body of a loop over io.lines", false, function(pause)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write("one\ntwo\nthree\n")
  file:close()
  local read = {}
  local ok, err = pcall(function()
    for line in io.lines(path) do
      pause()
      read[#read + 1] = line:upper()
    end
  end)
  os.remove(path)
  if not ok then error(err, 0) end
  return table.concat(read, ",")
end)

return ways
