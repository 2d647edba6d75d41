-- SPDX-License-Identifier: MIT
-- LuaJIT does not count nested C calls: there a recursion may reach the end of
-- the native stack. Then the process ends with a message that names the routine;
-- it never goes on with damaged memory. Each case runs in a process of its own,
-- which ends in one of two ways: the recursion became an error and all neighbours
-- computed what they should, or the message was printed and the process died.

local support = require "support"
local recursion = require "recursion"

local PROGRAM = [[
local weft = require "weft"
local routine = require "weft.routine"
local recursion = require "recursion"

local world = weft.world { capacity = 8, stackBytes = %d }
local answers = {}
local function neighbour(id)
  world:start(function()
    local text = ("abc"):gsub(".", function(c)
      routine.wait(id)
      return c .. id
    end)
    answers[#answers + 1] = text
  end)
end

-- Each sort and each format moves the frames below it by another distance.
local function shifted(sorts, formats, body)
  if sorts > 0 then
    local out
    table.sort({ 1, 2 }, function()
      out = out or shifted(sorts - 1, formats, body)
      return false
    end)
    return out
  elseif formats > 0 then
    local out
    string.format("%%s", setmetatable({}, { __tostring = function()
      out = shifted(0, formats - 1, body)
      return ""
    end }))
    return out
  end
  return body()
end

for id = 1, 3 do neighbour(id) end
local h = world:start(function()
  routine.nextTick()
  local ok, err = pcall(shifted, %d, %d, recursion[%q].run)
  print("raised: " .. tostring(err):sub(-200))
end)
for id = 5, 7 do neighbour(id) end
for _ = 1, 40 do world:tick(1) end
table.sort(answers)
print(h:status(), table.concat(answers, " "))
os.exit(0)
]]

local NEIGHBOURS = "completed\ta1b1c1 a2b2c2 a3b3c3 a5b5c5 a6b6c6 a7b7c7"
local SEGV = 128 + 11

local function overflow(size, sorts, formats, name)
  return support.child(PROGRAM:format(size, sorts, formats, name))
end

-- What a child may do; a message if it did anything else.
local function complaint(status, output)
  if status == 0 then
    if not output:find("raised: ", 1, true) then return "no error: " .. output end
    if not output:find(NEIGHBOURS, 1, true) then return "neighbours harmed: " .. output end
    return nil
  end
  if status ~= SEGV then return "status " .. tostring(status) .. ": " .. output end
  local message = output:match "weft: stack overflow in routine[^\n]*"
  if not message then return "died without a message: " .. output end
  if not message:find ":%d+" then return "no file and line: " .. message end
  return nil
end

if support.vm == "luajit" then
  describe("on LuaJIT, recursion without end", function()
    for _, endless in ipairs(recursion) do
      it("through " .. endless.name .. " is an error or the named message", function()
        assert.is_nil(complaint(overflow(2048 * 1024, 0, 0, endless.name)))
      end)
    end

    it("through gsub is an error or the named message on the smallest stack", function()
      assert.is_nil(complaint(overflow(160 * 1024, 0, 0, "gsub")))
    end)

    it("never jumps over the guard, at any step of alignment", function()
      for step = 0, 35 do
        local sorts, formats = step % 6, math.floor(step / 6)
        local said = complaint(overflow(160 * 1024, sorts, formats, "gsub"))
        assert.is_nil(said, "step " .. step)
      end
    end)
  end)

  describe("the message of an overflow", function()
    it("names the file and line, the size, and what to raise", function()
      local status, output = support.child [[
        local weft, recursion = require "weft", require "recursion"
        local world = weft.world { capacity = 2, stackBytes = 256 * 1024 }
        world:start(function() return recursion.gsub.run() end)
        world.onError = function(_, err) print("raised: " .. tostring(err)) end
        world:tick(0)
        os.exit(0)
      ]]
      if status == 0 then
        assert.is_truthy(output:find("stack overflow", 1, true), output)
      else
        assert.equal(SEGV, status)
        local message = output:match "weft: stack overflow in routine.*"
        assert.is_truthy(message, output)
        assert.is_truthy(message:find ":%d+", message)
        assert.is_truthy(message:find("256 KiB", 1, true) or message:find("262144", 1, true),
          message)
        assert.is_truthy(message:find("stackBytes", 1, true), message)
      end
    end)

    it("says so where the body is in a coroutine of its own, whose lines cannot be read", function()
      local status, output = support.child [[
        local weft, recursion = require "weft", require "recursion"
        local world = weft.world { capacity = 2 }
        world:start(function() return coroutine.wrap(recursion.gsub.run)() end)
        world.onError = function(_, err) print("raised: " .. tostring(err)) end
        world:tick(0)
        os.exit(0)
      ]]
      if status ~= 0 then
        local message = output:match "weft: stack overflow in routine[^\n]*"
        assert.is_truthy(message, output)
        assert.is_truthy(message:find("in a coroutine of its own", 1, true), message)
      end
    end)

    it("is not printed for an overflow outside of routines", function()
      local status, output = support.child [[
        local weft, recursion = require "weft", require "recursion"
        local world = weft.world { capacity = 2 }
        world:start(function() table.sort({ 1, 2 }, require("weft.routine").nextTick) end)
        world:tick(0)
        recursion.gsub.run()
      ]]
      assert.equal(SEGV, status)
      assert.is_nil(output:find("weft:", 1, true), output)
    end)
  end)
end

describe("ordinary modules", function()
  local LOAD = [[
    local weft = require "weft"
    local routine = require "weft.routine"
    local world = weft.world { capacity = 2, stackBytes = %s }
    local names = { "pl.List", "pl.tablex", "pl.stringx", "pl.template", "pl.lexer", "pl.pretty",
      "pl.data", "pl.path", "pl.class", "pl.OrderedMap", "pl.Set", "pl.seq", "pl.func", "pl.text",
      "pl.sip", "pl.xml", "pl.Date", "pl.comprehension", "pl.lapp", "pl.test", "pl.url",
      "pl.array2d", "pl.permute", "pl.config", "pl.stringio", "argparse", "dkjson", "luassert",
      "say" }
    local loaded = 0
    local h = world:start(function()
      for _, name in ipairs(names) do
        require(name)
        routine.nextTick()
        loaded = loaded + 1
      end
    end)
    for _ = 1, 40 do world:tick(0) end
    print(h:status(), loaded == #names)
    os.exit(0)
  ]]

  it("load on the smallest stack", function()
    local status, output = support.child(LOAD:format "160 * 1024")
    assert.equal("completed\ttrue\n", output)
    assert.equal(0, status)
  end)

  it("load on a stack of the default size", function()
    local status, output = support.child(LOAD:format "nil")
    assert.equal("completed\ttrue\n", output)
    assert.equal(0, status)
  end)
end)
