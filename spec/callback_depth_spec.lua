-- SPDX-License-Identifier: MIT
--
-- How deep a callback may recurse: `onError` goes on where the routine stands, so that its calls
-- and those of the routine share one limit and one stack. Each case has a process of its own; it
-- ends well, or (LuaJIT does not count C calls) with a message.

local support = require "support"

local PRELUDE = [[
  local weft = require "weft"
  local routine = weft.routine
  local function levels()
    local n = 0
    local function deeper()
      n = n + 1
      ;("x"):gsub("x", deeper)
    end
    local ok, err = pcall(deeper)
    return n, err
  end
  local function dig(n, bottom)
    if n == 0 then return bottom() end
    ("x"):gsub("x", function() dig(n - 1, bottom) end)
  end
  local function stubborn()
    for _ = 1, 100 do pcall(routine.wait, 1) end -- at the limit itself each only raises
  end
]]

local function run(program)
  local status, output = support.child(PRELUDE .. program .. "\nprint 'ok'\nos.exit(0)\n")
  if support.vm == "luajit" and status ~= 0 then
    assert.is_truthy(output:find("weft: stack overflow in ", 1, true), output:sub(-300))
    return nil
  end
  assert.equal(0, status, output:sub(-300))
  assert.is_truthy(output:find("ok\n", 1, true), output:sub(-300))
  return output
end

describe("a recursion without end in onError", function()
  it("ends before the stack does, on the smallest one", function()
    run [[
      local world = weft.world { stackBytes = 160 * 1024 }
      world.onError = function() print("levels", (levels())) end
      world:start(function() error "x" end)
      world:tick(0)
    ]]
  end)

  it("ends before the stack does, where the routine is deep already #wait", function()
    local output = run [[
      local world = weft.world {}
      world.onError = function() print("levels", (levels())) end
      local h = world:start(function() dig(150, stubborn) end)
      world:tick(1)
      h:cancel()
      for _ = 1, 15 do world:tick(1) end
    ]]
    if output then
      local left = tonumber(output:match "levels\t(%d+)")
      assert.is_true(left < 60, "levels left: " .. left)
    end
  end)
end)

if support.vm == "lua5.4" then
  describe("a report that comes too deep to be made", function()
    it("changes nothing for the callbacks of other worlds #wait", function()
      local output = run [[
        local one, two = weft.world { stackBytes = 256 * 1024 }, weft.world {}
        one.onError = function() end
        local deepest
        one:start(function() deepest = levels() end)
        one:tick(1)
        local seen = {}
        two.onError = function() seen[#seen + 1] = levels() end
        local function fail()
          two:start(function() error "later" end)
          two:start(function()
            routine.wait(1)
            return 1, 2, 3
          end)
          two:tick(1)
          two:tick(1)
        end
        fail()
        for back = 30, 1, -1 do
          local h = one:start(function() pcall(dig, deepest - back, stubborn) end)
          one:tick(1)
          h:cancel()
          for _ = 1, 12 do one:tick(1) end
          fail()
        end
        for i = 2, #seen do assert(seen[i] == seen[1], seen[i] .. " levels, not " .. seen[1]) end
        print(#seen, two:stats().failed, two:stats().completed)
      ]]
      assert.is_truthy(output:find("31\t31\t31\n", 1, true), output)
    end)

    it("harms nobody when a handler waits at the limit of C calls #wait", function()
      local output = run [[
        local world = weft.world { stackBytes = 256 * 1024 }
        world.onError = function(_, err) print(err) end
        local function endless() ("x"):gsub("x", endless) end
        local h = world:start(function()
          xpcall(endless, function(m)
            for _ = 1, 12 do pcall(routine.wait, 1) end
            return m
          end)
        end)
        world:tick(1)
        h:cancel()
        for _ = 1, 40 do world:tick(1) end
        for i = 1, 20 do
          world:start(function() error("later " .. i, 0) end)
          world:tick(1)
        end
        print(world:stats().failed)
      ]]
      for i = 1, 20 do
        assert.is_truthy(output:find("later " .. i .. "\n", 1, true), output)
      end
      assert.is_truthy(output:find("\n20\n", 1, true), output)
    end)
  end)
end
