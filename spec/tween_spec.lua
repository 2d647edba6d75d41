-- SPDX-License-Identifier: MIT
--
-- tween: each tick a number from exactly 0 to exactly 1, along a curve.

local support = require "support"
local routine = require "weft.routine"
local easing = require "weft.easing"

-- Starts a tween; returns the list that it fills, and its handle.
local function tween(world, seconds, ease)
  local seen = {}
  local handle = world:start(function()
    routine.tween(seconds, function(x) seen[#seen + 1] = x end, ease)
    seen.over = world.tickCount
  end)
  return seen, handle
end

describe("routine.tween #wait", function()
  it("has 0 at the call, 1 when its time is over, and each tick between", function()
    local world = support.world()
    local seen = tween(world, 1)
    world:tick(5)
    assert.same({ 0 }, seen)
    support.ticks(3, 0.25, world)
    assert.same({ 0, 0.25, 0.5, 0.75 }, seen)
    world:tick(0.25)
    assert.same({ 0, 0.25, 0.5, 0.75, 1, over = 5 }, seen)
  end)

  it("has 1 once, exactly, when a tick goes past its end or a microsecond is missing", function()
    local world = support.world()
    local seen = tween(world, 1)
    world:tick(0)
    support.ticks(2, 1 / 3, world)
    world:tick(1 / 3)
    assert.equal(4, #seen)
    assert.equal(1, seen[4])
    local long = tween(world, 0.5)
    world:tick(0)
    world:tick(100)
    assert.same({ 0, 1, over = world.tickCount }, long)
  end)

  it("of 0 seconds has its 1 in the next tick", function()
    local world = support.world()
    local seen = tween(world, 0)
    world:tick(0)
    assert.same({ 0 }, seen)
    world:tick(0)
    assert.same({ 0, 1, over = 2 }, seen)
  end)

  it("goes along the curve of a name or of a function", function()
    local world = support.world()
    local named = tween(world, 1, "quadOut")
    local own = tween(world, 1, function(x) return 7 * x end)
    world:tick(0)
    support.ticks(4, 0.25, world)
    assert.same({ 0, 0.4375, 0.75, 0.9375, 1, over = 5 }, named)
    assert.same({ 0, 1.75, 3.5, 5.25, 1, over = 5 }, own)
  end)

  it("runs on the clock of its owner, and stands at one number while that does", function()
    local world = support.world()
    local seen = {}
    local owner = world:owner()
    owner:start(function() routine.tween(1, function(x) seen[#seen + 1] = x end) end)
    owner:setTimeScale(0.5)
    world:tick(0)
    world:tick(1)
    owner:setTimeScale(0)
    world:tick(1)
    owner:setTimeScale(1)
    world:pause()
    world:tick(1)
    world:resume()
    world:tick(0.25)
    assert.same({ 0, 0.5, 0.5, 0.75 }, seen)
  end)

  it("ends when it is cancelled", function()
    local world = support.world()
    local seen, handle = tween(world, 1)
    world:tick(0)
    world:tick(0.5)
    handle:cancel()
    world:tick(0.25)
    assert.same({ 0, 0.5 }, seen)
    assert.equal("cancelled", handle:status())
  end)

  it("works under C frames and passes on what its function raises", function()
    local world = support.world()
    local seen = {}
    local handle = world:start(function()
      ("x"):gsub("x", function() routine.tween(1, function(x) seen[#seen + 1] = x end) end)
      routine.tween(1, function(x) if x > 0 then error("at " .. x, 0) end end)
    end)
    world:tick(0)
    support.ticks(2, 0.5, world)
    world:tick(0.5)
    assert.same({ 0, 0.5, 1 }, seen)
    assert.equal("at 0.5", handle:error())
    support.reports()
  end)

  it("is right after years of time", function()
    local world = support.world()
    world:tick(20 * 365 * 86400)
    local seen = tween(world, 1)
    world:tick(0)
    support.ticks(4, 0.25, world)
    assert.equal(5, #seen)
    assert.near(0.5, seen[3], 1e-6)
    assert.equal(1, seen[5])
  end)
end)

describe("the curves of weft.easing", function()
  local names = { "linear", "quadIn", "quadOut", "quadInOut", "cubicIn", "cubicOut",
    "cubicInOut", "quartIn", "quartOut", "quartInOut", "quintIn", "quintOut", "quintInOut",
    "sineIn", "sineOut", "sineInOut", "expoIn", "expoOut", "expoInOut", "circIn", "circOut",
    "circInOut", "backIn", "backOut", "backInOut", "elasticIn", "elasticOut", "elasticInOut",
    "bounceIn", "bounceOut", "bounceInOut" }

  it("are those that are named, and begin at 0 and end at 1", function()
    local count = 0
    for _ in pairs(easing) do count = count + 1 end
    assert.equal(#names, count)
    for _, name in ipairs(names) do
      assert.near(0, easing[name](0), 1e-3, name)
      assert.near(1, easing[name](1), 1e-3, name)
    end
  end)

  it("are their own mirror image, and meet in the middle", function()
    for _, name in ipairs(names) do
      local family = name:match "^(.*)InOut$"
      if family then
        local ease, back = easing[family .. "In"], easing[family .. "Out"]
        for i = 0, 20 do
          local x = i / 20
          assert.near(back(x), 1 - ease(1 - x), 1e-12, name)
          assert.near(easing[name](x), 1 - easing[name](1 - x), 1e-12, name)
        end
        assert.near(0.5, easing[name](0.5), 1e-9, name)
      end
    end
  end)

  it("have the values of their books", function()
    local expected = { quadIn = 0.0625, cubicIn = 0.015625, quartIn = 0.00390625,
      quintIn = 0.0009765625, sineIn = 0.076120467, expoIn = 0.005524272, circIn = 0.031754163,
      backIn = -0.064136563, elasticIn = -0.005524272, bounceIn = 0.02734375 }
    for name, value in pairs(expected) do assert.near(value, easing[name](0.25), 1e-8, name) end
    assert.near(1.0876975, easing.backOut(0.5), 1e-7)
    assert.near(0.765625, easing.bounceOut(0.5), 1e-12)
    assert.near(0.46875, easing.bounceIn(0.5) * 2, 1e-12)
  end)

  it("give the same numbers on every machine", function()
    local sum = 0
    for _, name in ipairs(names) do
      for i = 0, 64 do
        sum = (sum * 31 + math.floor(easing[name](i / 64) * 1e9 + 0.5)) % 1000000007
      end
    end
    assert.equal(436052919, sum)
  end)

  it("rise all the way, but for those that swing or bounce", function()
    for _, name in ipairs(names) do
      if not name:find "back" and not name:find "elastic" and not name:find "bounce" then
        local last = -1
        for i = 0, 100 do
          local y = easing[name](i / 100)
          assert.is_true(y >= last and y >= 0 and y <= 1, name)
          last = y
        end
      end
    end
  end)
end)
