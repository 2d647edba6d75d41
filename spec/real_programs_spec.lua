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
    for _, program in ipairs { "modern", table.unpack(PROGRAMS) } do
      it("the program " .. program .. " prints what it prints alone", function()
        same(program, "hook", 5)
      end)

      it("the program " .. program .. " may wait at each print too", function()
        same(program, "hook+prints", 20)
      end)
    end
  end)
end

-- Times and addresses differ from run to run.
local function normal(output)
  return (output:gsub("%d+%.%d+ seconds", "some seconds"):gsub("0x%x+", "an address"))
end

describe("busted inside a routine", function()
  local function busted(file)
    return "-C . -o plainTerminal --no-auto-insulate --suppress-pending " .. HERE .. file
  end

  -- Where a test fails, busted ends a LuaJIT by an error: only its own output is compared.
  it("runs a spec file of luassert with the same results", function()
    local arguments = busted "sample_tests.lua 2>/dev/null"
    local status, expected = support.shell(
      ("timeout 60 %s /usr/bin/busted %s"):format(support.vm, arguments))
    assert.equal(1, status)
    assert.is_truthy(expected:find("11 successes / 1 failure / 1 error", 1, true), expected)
    local modes = { "plain", "prints", support.vm == "lua5.4" and "hook" or nil }
    for _, mode in ipairs(modes) do
      local got, output = inside(mode, "/usr/bin/busted", arguments)
      assert.equal(normal(expected), normal(output))
      assert.equal(status, got)
    end
  end)

  it("runs tests that wait", function()
    local status, output = inside("plain", "/usr/bin/busted", busted "sample_waiting_tests.lua")
    assert.is_truthy(output:find("7 successes / 0 failures / 0 errors", 1, true), output)
    assert.equal(0, status)
  end)
end)

describe("several programs at once", function()
  it("do not mix with one another", function()
    local names = { "strings", "tables", "numbers", "coroutines", "errors" }
    local expected = {}
    for _, program in ipairs(names) do
      local _, output = plain(program)
      expected[#expected + 1] = "-- " .. program .. "\n" .. output
    end
    local status, output = support.shell(
      ("timeout 120 scripts/weft --vm %s run %sseveral.lua --speed max -- %s %s")
        :format(support.vm, HERE, HERE, table.concat(names, " ")))
    assert.equal(0, status, output)
    assert.equal(table.concat(expected), output)
  end)
end)
