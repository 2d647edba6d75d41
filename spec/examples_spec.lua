-- SPDX-License-Identifier: MIT
-- What a reader is shown runs, and says what is printed below it: each file of examples/ that ends
-- with its output, and the code in the README.

local support = require "support"
local weft = require "weft"
require "support.jobs" -- threads that an example starts are there before

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function names(pattern)
  local _, text = support.shell("ls " .. pattern)
  local list = {}
  for name in text:gmatch "%S+" do list[#list + 1] = name end
  return list
end

-- The lines below "Output:", without the marks of a comment.
local function pinned(path)
  local text = read(path):match "Output:\n(.*)$"
  return text and text:gsub("%*/\n$", ""):gsub("^%-%- ", ""):gsub("\n%-%- ", "\n")
end

local function isOver(world)
  return world:stats().active == 0 or world.tickCount >= 1e6
end

-- Runs source as `weft run --speed max` would, on a default world of its own; returns the output.
local function run(source, name)
  local lines = {}
  local arguments = { [0] = name, "--no-timings" }
  local environment = setmetatable({ arg = arguments, print = function(...)
    local words = { ... }
    for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
    lines[#lines + 1] = table.concat(words, "\t") .. "\n"
  end }, { __index = _G })
  local chunk = assert(load(source, "@" .. name, "t", environment))
  weft.default():close()
  weft.default().onError = function(_, err) lines[#lines + 1] = "failed: " .. tostring(err) end
  chunk()
  weft.default():run { speed = "max", stopWhen = isOver }
  weft.default():close()
  return table.concat(lines)
end

describe("the example", function()
  for _, path in ipairs(names "examples/*.lua") do
    if pinned(path) then
      it(path .. " prints what stands at its end", function()
        assert.equal(pinned(path), run(read(path), path))
      end)
    end
  end

  for _, path in ipairs(names "examples/[0-9]*.c") do
    it(path .. " prints what stands at its end", function()
      local program = "build/" .. (os.getenv "WEFT_MODE" or "release") .. "/"
        .. path:gsub("%.c$", "")
      if path:find "embed" then program = program .. "-" .. support.vm end
      local status, text = support.shell("timeout 60 " .. program)
      assert(status ~= 127, program .. " is not there; make examples builds it")
      assert.equal(pinned(path), text)
      assert.equal(0, status)
    end)
  end
end)

describe("the README", function()
  local shown = { lua = {}, c = {} }
  for language, block in read("README.md"):gmatch "\n```(%l+)\n(.-)```" do
    if shown[language] then table.insert(shown[language], block) end
  end

  it("opens with the scene of examples/cutscene.lua", function()
    assert.truthy(read("examples/cutscene.lua"):find(shown.lua[1], 1, true))
  end)

  for i = 2, #shown.lua do
    it("shows Lua that runs: block " .. i, function()
      assert.is_nil(run(shown.lua[i], "README.md"):find "failed:")
    end)
  end

  it("shows no C but that of the examples", function()
    local examples = ""
    for _, path in ipairs(names "examples/*.c") do examples = examples .. read(path) end
    for _, block in ipairs(shown.c) do assert.truthy(examples:find(block, 1, true), block) end
  end)
end)
