-- SPDX-License-Identifier: MIT
-- Programs that were not written for weft give the same output inside a routine
-- as outside: plain Lua over the whole standard library, Penlight, busted with
-- luassert. Waits come in at each print, and on Lua 5.4 from a count hook every
-- 1,000 instructions, wherever the program is at that moment.

local support = require "support"

local HERE = "spec/programs/"
local PROGRAMS = { "strings", "tables", "numbers", "files", "coroutines", "errors", "collector",
  "debugging", "penlight" }

local function plain(program)
  return support.shell(("timeout 60 %s %s%s.lua"):format(support.vm, HERE, program))
end

local function inside(mode, path, arguments)
  return support.shell(("timeout 120 scripts/weft --vm %s run %sinside.lua --speed max -- %s %s %s")
    :format(support.vm, HERE, mode, path, arguments or ""))
end

-- Output and the number of ticks that the program took.
local function outputof(mode, program)
  local status, output = inside(mode, HERE .. program .. ".lua")
  local text, ticks = output:match "^(.*)ticks (%d+)\n$"
  assert.is_truthy(text, output)
  assert.equal(0, status, text)
  return text, tonumber(ticks)
end

local function same(program, mode, leastticks)
  local status, expected = plain(program)
  assert.equal(0, status, expected)
  local text, ticks = outputof(mode, program)
  assert.equal(expected, text)
  assert.is_true(ticks >= leastticks, ticks .. " ticks")
end

describe("inside a routine", function()
  for _, program in ipairs(PROGRAMS) do
    it("the program " .. program .. " prints what it prints alone", function()
      same(program, "plain", 0)
    end)

    it("the program " .. program .. " may wait at each print", function()
      same(program, "prints", 15)
    end)
  end
end)

if support.vm == "lua5.4" then
  describe("with a wait every 1,000 instructions", function()
    for _, program in ipairs { "modern", unpack and unpack(PROGRAMS) or table.unpack(PROGRAMS) } do
      it("the program " .. program .. " prints what it prints alone", function()
        same(program, "hook", 5)
      end)

      it("the program " .. program .. " may wait at each print too", function()
        same(program, "hook+prints", 20)
      end)
    end
  end)
end

-- Times differ from run to run, and busted's own frames below ours do not matter.
local function normal(output)
  return (output:gsub("%d+%.%d+ seconds", "some seconds"):gsub("ticks %d+\n", "")
    :gsub("0x%x+", "an address"))
end

describe("busted inside a routine", function()
  local ARGUMENTS = "-C . -o plainTerminal --no-auto-insulate --suppress-pending %s"

  local function busted(file)
    return ARGUMENTS:format(HERE .. file)
  end

  it("runs a spec file of luassert with the same results", function()
    local arguments = busted "sample_tests.lua"
    local status, expected = support.shell(
      ("timeout 60 %s /usr/bin/busted %s"):format(support.vm, arguments))
    local modes = { "plain", "prints", support.vm == "lua5.4" and "hook" or nil }
    for _, mode in ipairs(modes) do
      local got, output = inside(mode, "/usr/bin/busted", arguments)
      assert.equal(normal(expected), normal(output))
      assert.equal(status, got)
    end
    assert.is_truthy(expected:find("an error of its own", 1, true), expected)
  end)

  it("runs tests that wait", function()
    local status, output = inside("plain", "/usr/bin/busted", busted "sample_waiting_tests.lua")
    assert.is_truthy(output:find("7 successes / 0 failures / 0 errors", 1, true), output)
    assert.equal(0, status)
  end)
end)

describe("several programs at once", function()
  it("do not mix with one another", function()
    local source = ([[
      local routine = require "weft.routine"
      local real = print
      local current, outputs, left = nil, {}, 0
      local function run(name)
        local out = {}
        outputs[name] = out
        local env = setmetatable({}, { __index = _G })
        function env.print(...)
          local words = { n = select("#", ...), ... }
          for i = 1, words.n do words[i] = tostring(words[i]) end
          out[#out + 1] = table.concat(words, "\t") .. "\n"
          routine.nextTick()
        end
        local file = io.open("%s" .. name .. ".lua")
        local chunk = assert(loadstring and loadstring(file:read "*a", "@" .. name .. ".lua")
          or load(file:read "*a", "@" .. name .. ".lua", "t", env))
        file:close()
        if setfenv then setfenv(chunk, env) end
        left = left + 1
        chunk()
        left = left - 1
        if left == 0 then
          for _, key in ipairs { "strings", "tables", "numbers", "coroutines" } do
            real(key .. "\n" .. table.concat(outputs[key]))
          end
        end
      end
      for _, name in ipairs { "coroutines", "numbers", "tables", "strings" } do
        routine.start(run, name)
      end
    ]]):format(HERE)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(source)
    file:close()
    local status, output = support.shell(("timeout 120 scripts/weft --vm %s run %s --speed max")
      :format(support.vm, path))
    os.remove(path)
    assert.equal(0, status, output)
    for _, program in ipairs { "strings", "tables", "numbers", "coroutines" } do
      local _, expected = plain(program)
      assert.is_truthy(output:find(program .. "\n" .. expected, 1, true), program)
    end
  end)
end)
