-- SPDX-License-Identifier: MIT
-- A wait in a finalizer raises: the collector stands still while one runs, so it
-- may not be left. The collector and everyone else go on as before.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"

local doomed = support.doomed

-- A weak table tells whether the collector still collects.
local function collects()
  local weak = setmetatable({ {} }, { __mode = "v" })
  support.collect()
  return weak[1] == nil
end

local function tryall(log)
  for _, name in ipairs { "wait", "nextTick", "waitUnscaled" } do
    local ok, err = pcall(routine[name], 1)
    log[#log + 1] = { name, ok, err }
  end
end

local INSIDE = "not allowed in a finalizer (__gc); start a routine there"
local OUTSIDE = "not inside a routine; start one with routine.start"

local function checkrefused(log, why)
  assert.equal(3, #log)
  for _, entry in ipairs(log) do
    assert.is_false(entry[2], entry[1])
    assert.truthy(tostring(entry[3]):find("routine." .. entry[1] .. ": " .. why, 1, true), entry[3])
  end
end

describe("a wait in a finalizer", function()
  it("raises inside a routine, and the routine and the collector go on", function()
    local world = support.world { capacity = 4 }
    local log, answer = {}, nil
    local h = world:start(function()
      doomed(function() tryall(log) end)
      support.collect()
      routine.wait(1)
      answer = drive.hot()
    end)
    drive.ticks(world, 4)
    checkrefused(log, INSIDE)
    assert.equal("completed", h:status())
    assert.equal(drive.hotsum, answer)
    assert.is_true(collects())
  end)

  it("raises outside a routine", function()
    support.world { capacity = 1 }
    local log = {}
    doomed(function() tryall(log) end)
    support.collect()
    checkrefused(log, OUTSIDE)
    assert.is_true(collects())
  end)

  it("raises in a coroutine that the finalizer runs", function()
    local world = support.world { capacity = 4 }
    local ok, err
    local h = world:start(function()
      doomed(function()
        local co = coroutine.create(function() routine.wait(1) end)
        ok, err = coroutine.resume(co)
      end)
      support.collect()
      routine.wait(1)
    end)
    drive.ticks(world, 4)
    assert.is_false(ok)
    assert.truthy(tostring(err):find(INSIDE, 1, true), err)
    assert.equal("completed", h:status())
    assert.is_true(collects())
  end)

  it("raises while other routines are pinned, and harms none of them", function()
    local world = support.world { capacity = 4 }
    local log, out = {}, nil
    world:start(function()
      out = (("abc"):gsub(".", function(c)
        routine.wait(2)
        return c .. c
      end))
    end)
    world:start(function()
      table.sort({ 1, 2 }, function(a, b)
        doomed(function() tryall(log) end)
        support.collect()
        routine.wait(1)
        return a < b
      end)
    end)
    drive.ticks(world, 10)
    checkrefused({ log[1], log[2], log[3] }, INSIDE)
    assert.equal("aabbcc", out)
    assert.is_true(collects())
  end)

  it("raises when garbage is collected step by step within a busy routine", function()
    local world = support.world { capacity = 2 }
    local refused, passed, inside = 0, 0, 0
    local h = world:start(function()
      for i = 1, 200 do
        doomed(function()
          if routine.self() then inside = inside + 1 end
          if pcall(routine.nextTick) then passed = passed + 1 else refused = refused + 1 end
        end)
        collectgarbage("step", 200)
        if i % 50 == 0 then routine.nextTick() end
      end
    end)
    drive.ticks(world, 8)
    support.collect()
    assert.equal("completed", h:status())
    assert.equal(0, passed)
    assert.equal(200, refused)
    assert.is_true(inside > 0)
  end)
end)

-- On LuaJIT a finalizer runs as a debug hook does: a yield there is taken for one out of the hook.
describe("a world closed in a finalizer", function()
  it("runs the cleanups and ends those that go on waiting, as ever", function()
    local world = support.world { capacity = 4 }
    local log = {}
    world:start(function()
      routine.defer(function() log[#log + 1] = "cleanup" end)
      while true do pcall(routine.wait, 1) end
    end)
    world:start(function()
      routine.defer(function() log[#log + 1] = "pinned" end)
      table.sort({ 2, 1 }, function() routine.wait(1) end)
    end)
    world:start(function()
      routine.defer(function() log[#log + 1] = "yielded" end)
      while true do coroutine.yield() end
    end)
    world:tick(0)
    doomed(function()
      world:close()
      log[#log + 1] = "closed"
    end)
    support.collect()
    table.sort(log)
    assert.same({ "cleanup", "closed", "pinned", "yielded" }, log)
    assert.equal(2, #support.reports())
    assert.is_true(collects())
    local after = support.world()
    assert.equal(3, support.inside(function() routine.wait(1) return 3 end))
    assert.equal(0, after:stats().active)
  end)
end)

describe("a finalizer inside a routine", function()
  it("may start a routine, which then waits", function()
    local world = support.world { capacity = 4 }
    local later
    world:start(function()
      doomed(function()
        world:start(function()
          routine.wait(1)
          later = true
        end)
      end)
      support.collect()
    end)
    drive.ticks(world, 5)
    assert.is_true(later)
  end)

  it("may cancel the routine that is being collected in", function()
    local world = support.world { capacity = 4 }
    local h
    h = world:start(function()
      routine.nextTick()
      doomed(function() h:cancel() end)
      support.collect()
      routine.wait(100)
    end)
    drive.ticks(world, 5)
    assert.equal("cancelled", h:status())
  end)
end)

-- Lua 5.4 drops a finalizer that it cannot run: at the C call limit, even a C function fails.
if support.vm == "lua5.4" then
  describe("a world whose finalizer could not run", function()
    it("does no harm to the worlds that are left, nor to the end of the process", function()
      local status, output = support.child [[
        local weft = require "weft"
        local function nest(n, bottom)
          if n == 0 then return bottom() end
          return (("b"):gsub("b", function() return nest(n - 1, bottom) end))
        end
        local depth = 0
        while pcall(nest, depth + 1, function() return "" end) do depth = depth + 1 end
        local kept, handles = weft.world { capacity = 2 }, {}
        for back = 0, 3 do
          handles[back + 1] = weft.world { capacity = 2 }:start(function() end)
          pcall(nest, depth - back, function()
            collectgarbage()
            return ""
          end)
        end
        for i = 1, 2000 do local _ = { ("x"):rep(i % 300) } end
        collectgarbage()
        local ended
        local h = kept:start(function() ended = true end)
        kept:tick(0)
        print(ended, h:status())
        for i = 1, #handles do
          handles[i]:cancel()
          print(handles[i]:status())
        end
      ]]
      assert.equal("true\tcompleted\n" .. ("expired\n"):rep(4), output)
      assert.equal(0, status)
    end)

    it("leaves handles that are expired, and may be used as any other", function()
      local status, output = support.child [[
        local weft = require "weft"
        local handles = {}
        local function collectdeep()
          local function deeper()
            pcall(string.gsub, "x", "x", deeper)
            collectgarbage()
          end
          pcall(deeper)
        end
        for _ = 1, 5 do
          for _ = 1, 3 do
            handles[#handles + 1] = weft.world { capacity = 4 }:start(function() end)
          end
          collectdeep()
        end
        collectgarbage()
        collectgarbage()
        local expired = 0
        for i = 1, #handles do
          if handles[i]:status() == "expired" then expired = expired + 1 end
          handles[i]:cancel()
        end
        print(expired, #handles)
      ]]
      assert.equal("15\t15\n", output)
      assert.equal(0, status)
    end)
  end)
end
