-- SPDX-License-Identifier: MIT
-- A cancel finds a routine wherever it waits: under each way of the catalogue
-- the wait raises Cancelled, that very value, cleanups run, and others that wait
-- in the same manner go on unharmed.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"
local ways = require "ways"

local LIMIT = 80

-- The ticks after which a cancelled routine has ended, if it waits `more` times on the way out.
-- A wait after a caught cancel takes a tick. Lua 5.4 asks a failing handler about its own error,
-- again and again: that takes many, and is reported.
local function ticksfor(way, more)
  if way.handler then return 260 end
  return 1 + more + (way.closing and 2 or 0)
end

-- Starts a routine under `way` that waits for ever at its `at`-th pause.
local function victim(world, way, at, seen)
  local count = 0
  return world:start(function()
    routine.defer(function() seen.cleaned = (seen.cleaned or 0) + 1 end)
    local ok, err = pcall(way.run, function()
      count = count + 1
      routine.wait(count == at and 1e6 or 1)
    end)
    seen.ok, seen.err = ok, err
    seen.hot = drive.hot()
    routine.wait(1) -- a cancel lasts: this raises as well
    seen.lived = true
  end)
end

describe("a cancel", function()
  for _, way in ipairs(ways) do
    for at = 1, 2 do
      it("ends wait " .. at .. " under " .. way.name, function()
        local world = support.world { capacity = 8 }
        local seen, answer = {}, nil
        local h = victim(world, way, at, seen)
        local other = world:start(function() answer = way.run(drive.pause(2)) end)
        drive.ticks(world, 6)
        assert.equal("sleeping", h:status())
        assert.is_true(h:cancel())
        drive.ticks(world, ticksfor(way, 1))
        if way.handler then support.reports() end
        assert.equal("cancelled", h:status())
        assert.equal(1, seen.cleaned)
        assert.is_nil(seen.lived)
        if not way.handler then
          assert.is_false(seen.ok)
          assert.is_true(rawequal(seen.err, routine.Cancelled))
          assert.equal(drive.hotsum, seen.hot)
        end
        assert.is_true(drive.untilended(world, { other }, LIMIT))
        assert.equal(way.run(drive.nothing), answer)
      end)
    end

    if not way.handler then
      it("that nobody catches is not an error, under " .. way.name, function()
        local world = support.world { capacity = 8 }
        local reports, order = 0, {}
        world.onError = function() reports = reports + 1 end
        local h = world:start(function()
          routine.defer(function() order[#order + 1] = "first" end)
          routine.defer(function() order[#order + 1] = "second" end)
          way.run(function() routine.wait(1e6) end)
        end)
        drive.ticks(world, 1)
        h:cancel()
        drive.ticks(world, ticksfor(way, 0))
        assert.equal("cancelled", h:status())
        assert.same({ "second", "first" }, order)
        assert.equal(0, reports)
        assert.equal(0, world:stats().pinned)
      end)
    end
  end

  it("goes through routine.pcall under C frames, and through C frames under it", function()
    local world = support.world { capacity = 2 }
    local after
    local h = world:start(function()
      routine.pcall(string.gsub, "x", "x", function()
        routine.pcall(table.sort, { 1, 2 }, function() routine.wait(1e6) end)
        after = true
      end)
      after = true
    end)
    drive.ticks(world, 1)
    h:cancel()
    drive.ticks(world, 1)
    assert.equal("cancelled", h:status())
    assert.is_nil(after)
  end)

  it("is told from an error by identity, in a nested coroutine as well", function()
    local world = support.world { capacity = 2 }
    local seen = {}
    local h = world:start(function()
      local co = coroutine.create(function()
        seen.inner, seen.innererr = pcall(routine.wait, 1e6)
        error(seen.innererr, 0)
      end)
      seen.outer, seen.outererr = coroutine.resume(co)
      seen.status = coroutine.status(co)
    end)
    drive.ticks(world, 1)
    h:cancel()
    drive.ticks(world, 1)
    assert.is_false(seen.inner)
    assert.is_false(seen.outer)
    assert.is_true(rawequal(seen.innererr, routine.Cancelled))
    assert.is_true(rawequal(seen.outererr, routine.Cancelled))
    assert.equal("dead", seen.status)
    assert.equal("completed", h:status())
  end)

  it("from one routine of another pinned one takes effect in the same stage", function()
    local world = support.world { capacity = 4 }
    local log = {}
    local h = world:start(function()
      routine.defer(function() log[#log + 1] = "cleaned" end)
      table.sort({ 1, 2 }, function() routine.wait(1e6) end)
    end)
    world:start(function()
      table.sort({ 1, 2 }, function(a, b)
        routine.wait(2)
        log[#log + 1] = tostring(h:cancel())
        return a < b
      end)
      routine.wait(1)
      log[#log + 1] = h:status()
    end)
    drive.ticks(world, 8)
    assert.equal("true", log[1])
    assert.equal("cleaned", log[2])
    assert.equal("cancelled", log[#log])
  end)

  it("of all of many pinned routines empties the world at once", function()
    local world = support.world { capacity = #ways }
    local handles = {}
    for id, way in ipairs(ways) do
      if not (way.handler or way.closing) then
        handles[#handles + 1] = world:start(function() way.run(drive.pause(id)) end)
      end
    end
    drive.ticks(world, 1)
    for _, h in ipairs(handles) do h:cancel() end
    drive.ticks(world, 1)
    for _, h in ipairs(handles) do assert.equal("cancelled", h:status()) end
    assert.equal(0, world:stats().active)
  end)
end)

if support.vm == "lua5.4" then
  describe("a cancel with to-be-closed variables", function()
    local chunk = assert(load([[
      local log, wait = ...
      local function closer(name)
        return setmetatable({}, { __close = function(_, err) log[#log + 1] = { name, err } end })
      end
      local a <close> = closer "outer"
      local co = coroutine.wrap(function()
        local b <close> = closer "inner"
        table.sort({ 1, 2 }, function()
          local c <close> = closer "innermost"
          wait(1e6)
        end)
      end)
      co()
    ]], "=closing"))

    it("closes them innermost first and tells them why", function()
      local world = support.world { capacity = 2 }
      local log = {}
      local h = world:start(function()
        routine.defer(function() log[#log + 1] = { "deferred" } end)
        chunk(log, routine.wait)
      end)
      drive.ticks(world, 1)
      h:cancel()
      drive.ticks(world, 1)
      local names = {}
      for i, entry in ipairs(log) do names[i] = entry[1] end
      assert.same({ "innermost", "inner", "outer", "deferred" }, names)
      for i = 1, 3 do assert.is_true(rawequal(log[i][2], routine.Cancelled)) end
    end)
  end)
end
