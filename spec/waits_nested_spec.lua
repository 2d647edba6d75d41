-- SPDX-License-Identifier: MIT
-- Ways to a wait inside one another: under each way of the catalogue, every other
-- way is taken, all of them at the same time in routines of one world. What each
-- computes is what it computes outside; errors and cancels come out of both.

local support = require "support"
local routine = require "weft.routine"
local drive = require "drive"
local ways = require "ways"

local LIMIT = 600

-- What others are nested in: see ways/init.lua for `concat`.
local outers = {}
for _, way in ipairs(ways) do
  if not (way.concat and support.vm == "lua5.4") then outers[#outers + 1] = way end
end

-- Runs `inner` in each pause of `outer`. The answers of both make up the result.
local function nested(outer, inner, pause)
  local answers = {}
  local answer = outer.run(function() answers[#answers + 1] = inner.run(pause) end)
  return answer .. " / " .. table.concat(answers, " / ")
end

-- Ticks without a collection each time: the products are many.
local function untilidle(world)
  for tick = 1, LIMIT do
    world:tick(1)
    if tick % 16 == 0 then collectgarbage() end
    if world:stats().active == 0 then return true end
  end
  return false
end

local function short(id)
  local count = 0
  return function()
    count = count + 1
    routine.wait((id + count * 5) % 3)
  end
end

describe("every way to wait", function()
  for _, outer in ipairs(outers) do
    it("works under " .. outer.name, function()
      local world = support.world { capacity = #ways }
      local got, expected = {}, {}
      for id, inner in ipairs(ways) do
        expected[inner.name] = nested(outer, inner, drive.nothing)
        world:start(function() got[inner.name] = nested(outer, inner, short(id)) end)
      end
      assert.is_true(untilidle(world))
      assert.same(expected, got)
      assert.equal(0, world:stats().pinned)
    end)
  end
end)

describe("an error under every way to wait", function()
  for _, outer in ipairs(outers) do
    it("passes through both it and " .. outer.name, function()
      local world = support.world { capacity = #ways }
      local got, expected = {}, {}
      local err = { "thrown" }
      local function attempt(inner, rest)
        local count = 0
        local ok, problem = pcall(nested, outer, inner, function()
          count = count + 1
          rest()
          if count == 2 then error(err, 0) end
        end)
        return tostring(ok) .. (problem == err and " the error" or "")
      end
      for id, inner in ipairs(ways) do
        expected[inner.name] = attempt(inner, drive.nothing)
        world:start(function()
          got[inner.name] = attempt(inner, short(id))
          assert(drive.hot() == drive.hotsum)
        end)
      end
      assert.is_true(untilidle(world))
      assert.same(expected, got)
    end)
  end
end)

describe("a cancel under every way to wait", function()
  for _, outer in ipairs(outers) do
    if not (outer.handler or outer.closing) then
      it("ends both it and " .. outer.name, function()
        local world = support.world { capacity = #ways }
        local handles, cleaned = {}, 0
        for id, inner in ipairs(ways) do
          if not (inner.handler or inner.closing) then
            local rest = short(id)
            handles[#handles + 1] = world:start(function()
              routine.defer(function() cleaned = cleaned + 1 end)
              nested(outer, inner, function()
                rest()
                routine.wait(1e6)
              end)
            end)
          end
        end
        for _ = 1, 4 do world:tick(1) end
        -- No hook fires inside a hook, so one nested in the other has run to its end.
        local waiting = 0
        for _, h in ipairs(handles) do if h:cancel() then waiting = waiting + 1 end end
        assert.is_true(waiting >= #handles - 2)
        world:tick(1)
        local cancelled = 0
        for _, h in ipairs(handles) do
          if h:status() == "cancelled" then cancelled = cancelled + 1 end
        end
        assert.equal(waiting, cancelled)
        assert.equal(#handles, cleaned)
        assert.equal(0, world:stats().pinned)
        collectgarbage()
      end)
    end
  end
end)
