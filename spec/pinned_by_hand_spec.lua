-- SPDX-License-Identifier: MIT
-- What a script does by hand to the coroutine of a routine that waits under C
-- frames, or to a coroutine that such a routine runs: nothing of it crashes, and
-- what the routine does afterwards is what it would have done.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"

-- Starts a routine that is pinned in a sort in a coroutine of its own, and shows
-- both threads. `made.answer` is right if nothing disturbed it.
local function pinned(world)
  local made = {}
  made.handle = world:start(function()
    made.outer = coroutine.running()
    local inner = coroutine.create(function(x)
      made.inner = coroutine.running()
      local list = { 3, 1, 2 }
      local visible = "local"
      table.sort(list, function(a, b)
        routine.wait(2)
        return a < b
      end)
      return table.concat(list) .. x .. visible
    end)
    local ok, text = coroutine.resume(inner, "x")
    local other = ("ab"):gsub(".", function(c)
      routine.wait(1)
      return c .. c
    end)
    made.answer = tostring(ok) .. text .. other
  end)
  world:tick(1)
  assert.equal("sleeping", made.handle:status())
  assert.equal(1, world:stats().pinned)
  return made
end

local function goeson(world, made, expected)
  assert.is_true(drive.untilended(world, { made.handle }, 120))
  assert.equal("completed", made.handle:status())
  assert.equal(expected or "true123xlocalaabb", made.answer)
end

-- Runs `act` on both threads, from the main thread and from another routine.
local function frombothsides(act)
  local world = support.world { capacity = 8 }
  local made = pinned(world)
  act(made.outer, made.inner)
  local acted
  local other = world:start(function()
    act(made.outer, made.inner)
    acted = true
  end)
  drive.ticks(world, 1)
  assert.is_true(acted, other:status())
  goeson(world, made)
end

describe("the coroutine of a pinned routine #wait", function()
  it("cannot be resumed by hand", function()
    frombothsides(function(outer, inner)
      for _, co in ipairs { outer, inner } do
        local ok, err = coroutine.resume(co, "junk")
        assert.is_false(ok)
        assert.is_string(err)
      end
    end)
  end)

  it("is told apart from a suspended one by its status", function()
    frombothsides(function(outer, inner)
      assert.equal("normal", coroutine.status(outer))
      assert.equal("normal", coroutine.status(inner))
    end)
  end)

  it("shows a traceback in which the waiting function appears", function()
    frombothsides(function(outer, inner)
      assert.is_string(debug.traceback(outer))
      local trace = debug.traceback(inner)
      assert.is_truthy(trace:find("sort", 1, true), trace)
      assert.is_truthy(trace:find("pinned_by_hand_spec", 1, true), trace)
    end)
  end)

  it("may be looked at frame by frame", function()
    frombothsides(function(outer, inner)
      for _, co in ipairs { outer, inner } do
        local level = 0
        while true do
          local info = debug.getinfo(co, level)
          if not info then break end
          for slot = 1, 12 do debug.getlocal(co, level, slot) end
          level = level + 1
        end
        assert.is_true(level > 1)
        assert.is_nil(debug.getinfo(co, 1000))
      end
    end)
  end)

  it("lets locals of its Lua functions be set, and sees them", function()
    local world = support.world { capacity = 4 }
    local made = pinned(world)
    local done
    for level = 0, 20 do
      local info = debug.getinfo(made.inner, level, "S")
      if not info then break end
      for slot = 1, 20 do
        local name = debug.getlocal(made.inner, level, slot)
        if name == "visible" then
          debug.setlocal(made.inner, level, slot, "changed")
          done = true
        end
      end
    end
    assert.is_true(done)
    goeson(world, made, "true123xchangedaabb")
  end)

  it("takes a hook by hand, and lets it be taken off again", function()
    frombothsides(function(outer, inner)
      local function count() end
      for _, co in ipairs { outer, inner } do
        debug.sethook(co, count, "", 100)
        debug.gethook(co)
        debug.sethook(co)
      end
    end)
  end)

  it("cannot be run by a generator's consumer either", function()
    local world = support.world { capacity = 4 }
    local gen, ok, err
    local h = world:start(function()
      gen = coroutine.wrap(function() table.sort({ 1, 2 }, function()
        routine.wait(3)
        return false
      end) end)
      gen()
    end)
    world:tick(1)
    ok, err = pcall(gen)
    assert.is_false(ok)
    assert.is_string(err)
    assert.is_true(drive.untilended(world, { h }, 10))
    assert.equal("completed", h:status())
  end)

  it("may be given to every function that takes a coroutine", function()
    frombothsides(function(outer, inner)
      for _, co in ipairs { outer, inner } do
        tostring(co)
        pcall(coroutine.isyieldable, co)
        pcall(debug.getregistry)
        pcall(debug.traceback, co, "message", 2)
        pcall(debug.traceback, co, {}, 2)
        pcall(debug.getinfo, co, 0, "nSluf")
        pcall(coroutine.wrap, co)
        pcall(coroutine.create, co)
        pcall(table.sort, { co, co })
        collectgarbage()
      end
    end)
  end)

  it("outlives its routine as a dead coroutine", function()
    local world = support.world { capacity = 4 }
    local made = pinned(world)
    goeson(world, made)
    assert.equal("dead", coroutine.status(made.inner))
    local ok = coroutine.resume(made.inner)
    assert.is_false(ok)
    assert.is_string(debug.traceback(made.inner))
    assert.is_string(debug.traceback(made.outer))
  end)
end)

describe("the coroutine of a routine that was pinned", function()
  it("resumed by hand while its next wait is compact is not woken", function()
    local world = support.world { capacity = 4 }
    local co, woke
    local h = world:start(function()
      co = coroutine.running()
      table.sort({ 1, 2 }, function() routine.wait(1) end)
      routine.wait(10)
      woke = world.simTime
    end)
    drive.ticks(world, 3)
    for _ = 1, 3 do
      local answer = { coroutine.resume(co, true, "junk") }
      assert.is_true(answer[1] == false or answer[2] == nil)
      assert.equal("sleeping", h:status())
    end
    assert.is_nil(woke)
    drive.ticks(world, 12)
    assert.is_number(woke)
    assert.equal("completed", h:status())
  end)
end)

if support.vm == "lua5.4" then
  describe("coroutine.close", function()
    it("refuses the threads of a pinned routine", function()
      frombothsides(function(outer, inner)
        assert.is_false((pcall(coroutine.close, outer)))
        assert.is_false((pcall(coroutine.close, inner)))
      end)
    end)

    it("of the other coroutines of a pinned routine works as ever", function()
      local world = support.world { capacity = 4 }
      local spare, answer
      world:start(function()
        spare = coroutine.create(function() coroutine.yield() end)
        coroutine.resume(spare)
        table.sort({ 1, 2 }, function() routine.wait(2) end)
        answer = coroutine.status(spare)
      end)
      world:tick(1)
      assert.is_true(coroutine.close(spare))
      drive.ticks(world, 4)
      assert.equal("dead", answer)
    end)
  end)

  describe("a hook set by hand on a pinned routine", function()
    it("may wait itself, when it fires there", function()
      local world = support.world { capacity = 4 }
      local made = pinned(world)
      local fired = 0
      debug.sethook(made.inner, function()
        fired = fired + 1
        routine.nextTick()
      end, "", 5)
      goeson(world, made)
      assert.is_true(fired > 0)
    end)

    it("may end it by an error", function()
      local world = support.world { capacity = 4 }
      local made = pinned(world)
      debug.sethook(made.outer, function()
        debug.sethook()
        error("hooked", 0)
      end, "", 1)
      world.onError = function(_, err) made.err = err end
      assert.is_true(drive.untilended(world, { made.handle }, 120))
      assert.equal("failed", made.handle:status())
      assert.equal("hooked", made.err)
    end)
  end)
end
