-- SPDX-License-Identifier: MIT
-- Coroutines that a script runs itself, inside a routine: a wait in one makes the
-- whole routine wait, its consumer sees only its own values, and what Lua tells
-- about coroutines stays true.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"

-- A generator of `count` numbers that waits before each.
local function numbers(count, seconds)
  return coroutine.wrap(function()
    for i = 1, count do
      routine.wait(seconds)
      coroutine.yield(i)
    end
  end)
end

describe("a generator that waits #wait", function()
  it("gives its consumer its own values, each when its wait is over", function()
    local world = support.world { capacity = 2 }
    local seen = {}
    world:start(function()
      for v in numbers(3, 2) do seen[#seen + 1] = ("%d@%g"):format(v, world.simTime) end
    end)
    drive.ticks(world, 10)
    assert.same({ "1@3", "2@5", "3@7" }, seen)
  end)

  it("gives exactly the values yielded, and takes exactly those sent in", function()
    local world = support.world { capacity = 2 }
    local got = {}
    world:start(function()
      local echo = coroutine.wrap(function(...)
        local args = { n = select("#", ...), ... }
        while true do
          routine.nextTick()
          args = { n = select("#", coroutine.yield(args.n, args[1])), nil }
        end
      end)
      got[1] = { echo() }
      got[2] = { echo(nil, nil) }
      got[3] = { echo(1, 2, 3) }
    end)
    drive.ticks(world, 8)
    assert.equal(0, got[1][1])
    assert.equal(2, got[2][1])
    assert.equal(3, got[3][1])
    assert.is_nil(got[1][2])
  end)

  it("may be fed by another that waits, three deep", function()
    local world = support.world { capacity = 2 }
    local out = {}
    world:start(function()
      local function map(source, fn)
        return coroutine.wrap(function()
          for v in source do
            routine.wait(v % 2)
            coroutine.yield(fn(v))
          end
        end)
      end
      local squares = map(numbers(4, 1), function(v) return v * v end)
      for v in map(squares, function(v) return v + 1 end) do out[#out + 1] = v end
    end)
    drive.ticks(world, 30)
    assert.same({ 2, 5, 10, 17 }, out)
  end)

  it("runs beside the same generator in other routines", function()
    local world = support.world { capacity = 8 }
    local sums = {}
    for id = 1, 5 do
      world:start(function()
        local sum = 0
        for v in numbers(4, 6 - id) do sum = sum + v * id end
        sums[id] = sum
      end)
    end
    drive.ticks(world, 30)
    assert.same({ 10, 20, 30, 40, 50 }, sums)
  end)

  it("may be handed from one routine to another between its values", function()
    local world = support.world { capacity = 4 }
    local shared, seen = numbers(4, 1), {}
    for id = 1, 2 do
      world:start(function()
        routine.wait(id * 3)
        seen[#seen + 1] = id .. ":" .. shared()
        routine.wait(4)
        seen[#seen + 1] = id .. ":" .. shared()
      end)
    end
    drive.ticks(world, 16)
    assert.same({ "1:1", "2:2", "1:3", "2:4" }, seen)
  end)

  it("refuses a second routine while the first waits in it, and harms neither", function()
    local world = support.world { capacity = 4 }
    local shared, first, ok, err = numbers(2, 5), nil, nil, nil
    local one = world:start(function() first = shared() + shared() end)
    local two = world:start(function()
      routine.wait(2)
      ok, err = pcall(shared)
    end)
    drive.ticks(world, 14)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("resume", 1, true))
    assert.equal("completed", two:status())
    assert.equal("completed", one:status())
    assert.equal(3, first)
  end)

  it("made outside may be used inside, and one made inside raises outside", function()
    local world = support.world { capacity = 2 }
    local outside, inside = numbers(2, 1), nil
    local got = {}
    world:start(function()
      inside = numbers(3, 1)
      got[1] = outside() + outside()
      got[2] = inside()
    end)
    drive.ticks(world, 6)
    assert.same({ 3, 1 }, got)
    local ok, err = pcall(inside)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("not inside a routine", 1, true), tostring(err))
  end)

  it("that is left unfinished is collected after the routine", function()
    local world = support.world { capacity = 2 }
    local weak = setmetatable({}, { __mode = "v" })
    world:start(function()
      local co = coroutine.create(function()
        routine.wait(1)
        coroutine.yield(1)
      end)
      weak[1] = co
      coroutine.resume(co)
    end)
    drive.ticks(world, 4)
    support.collect()
    assert.is_nil(weak[1])
  end)

  it("passes its error to the consumer after a wait", function()
    local world = support.world { capacity = 2 }
    local ok, err, status
    world:start(function()
      local co = coroutine.create(function()
        routine.wait(1)
        error("dry", 0)
      end)
      ok, err = coroutine.resume(co)
      status = coroutine.status(co)
    end)
    drive.ticks(world, 4)
    assert.is_false(ok)
    assert.equal("dry", err)
    assert.equal("dead", status)
  end)
end)

describe("coroutine.status", function()
  it("is the same inside a routine as outside", function()
    local world = support.world { capacity = 2 }
    local told = {}
    world:start(function()
      local outer = coroutine.running()
      local inner
      inner = coroutine.create(function()
        told[1] = coroutine.status(inner) .. " " .. coroutine.status(outer)
        routine.wait(1)
        told[2] = coroutine.status(inner) .. " " .. coroutine.status(outer)
        coroutine.yield()
      end)
      told[3] = coroutine.status(inner)
      coroutine.resume(inner)
      told[4] = coroutine.status(inner) .. " " .. coroutine.status(outer)
      coroutine.resume(inner)
      told[5] = coroutine.status(inner)
    end)
    drive.ticks(world, 4)
    assert.same({ "running normal", "running normal", "suspended", "suspended running", "dead" },
      told)
  end)

  it("of a coroutine that waits is not suspended: nobody can resume it", function()
    local world = support.world { capacity = 2 }
    local inner
    local h = world:start(function()
      inner = coroutine.create(function() routine.wait(3) end)
      coroutine.resume(inner)
    end)
    world:tick(1)
    assert.equal("normal", coroutine.status(inner))
    local ok, err = coroutine.resume(inner)
    assert.is_false(ok)
    assert.is_string(err)
    drive.ticks(world, 4)
    assert.equal("dead", coroutine.status(inner))
    assert.equal("completed", h:status())
  end)
end)

describe("coroutine.isyieldable", function()
  it("tells where a bare yield would work, before and after waits", function()
    local world = support.world { capacity = 2 }
    local told = {}
    local function ask(key) told[key] = coroutine.isyieldable() end
    world:start(function()
      ask "body"
      routine.wait(1)
      ask "body after a wait"
      table.sort({ 1, 2 }, function()
        ask "comparator"
        routine.wait(1)
        ask "comparator after a wait"
        coroutine.wrap(function()
          ask "inner"
          routine.wait(1)
          ask "inner after a wait"
        end)()
        return false
      end)
      ask "body after the sort"
    end)
    drive.ticks(world, 8)
    assert.same({
      ["body"] = true,
      ["body after a wait"] = true,
      ["comparator"] = false,
      ["comparator after a wait"] = false,
      ["inner"] = true,
      ["inner after a wait"] = true,
      ["body after the sort"] = true,
    }, told)
  end)
end)
