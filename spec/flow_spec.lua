-- SPDX-License-Identifier: MIT
--
-- flow: timers, cooldowns, stopwatches and sequences that their caller advances.

local support = require "support"
local flow = require "weft.flow"

local nan, inf = 0 / 0, 1 / 0

describe("flow.timer", function()
  it("is true in the update that ends it, and in no other", function()
    local timer = flow.timer(1)
    assert.is_false(timer:update(0.5))
    assert.is_false(timer:done())
    assert.equal(0.5, timer:remaining())
    assert.is_true(timer:update(0.5))
    assert.is_true(timer:done())
    assert.equal(0, timer:remaining())
    assert.is_false(timer:update(0.5))
  end)

  it("begins anew by reset, whenever that comes", function()
    local timer = flow.timer(1)
    timer:update(0.75)
    timer:reset()
    assert.is_false(timer:update(0.75))
    assert.is_true(timer:update(100))
    timer:reset()
    assert.is_false(timer:done())
    assert.equal(1, timer:remaining())
    assert.is_true(timer:update(1))
  end)

  it("of 0 ends in the first update, also of 0", function()
    assert.is_true(flow.timer(0):update(0))
  end)

  it("ends after n updates of 1/n, for many n", function()
    for _, n in ipairs { 3, 7, 10, 49, 60, 144, 1000, 100000 } do
      local timer = flow.timer(1)
      for _ = 1, n - 1 do if timer:update(1 / n) then error("too early for " .. n) end end
      assert.is_true(timer:update(1 / n), "too late for " .. n)
    end
  end)

  it("keeps its grain in a long time", function()
    local timer = flow.timer(1e9)
    assert.is_false(timer:update(1e9 - 1))
    for i = 1, 999 do if timer:update(0.001) then error("too early at " .. i) end end
    assert.is_true(timer:update(0.001))
  end)
end)

describe("flow.cooldown", function()
  it("is ready, until it is used, and again after its time", function()
    local cooldown = flow.cooldown(2)
    assert.is_true(cooldown:ready())
    assert.equal(0, cooldown:remaining())
    assert.is_true(cooldown:use())
    assert.is_false(cooldown:ready())
    assert.is_false(cooldown:use())
    assert.equal(2, cooldown:remaining())
    assert.is_false(cooldown:update(1.5))
    assert.equal(0.5, cooldown:remaining())
    assert.is_true(cooldown:update(0.5))
    assert.is_false(cooldown:update(0.5))
    assert.is_true(cooldown:use())
  end)

  it("of 0 is always ready", function()
    local cooldown = flow.cooldown(0)
    assert.is_true(cooldown:use())
    assert.is_true(cooldown:use())
  end)
end)

describe("flow.stopwatch", function()
  it("shows the time that has passed since its reset", function()
    local watch = flow.stopwatch()
    assert.equal(0, watch:elapsed())
    watch:update(0.5)
    watch:update(0.25)
    assert.equal(0.75, watch:elapsed())
    watch:reset()
    assert.equal(0, watch:elapsed())
  end)

  it("does not drift under a million small updates", function()
    local watch = flow.stopwatch()
    local count = support.stress and 1e5 or 1e6
    for _ = 1, count do watch:update(0.1) end
    assert.equal(count / 10, watch:elapsed())
  end)
end)

describe("flow.sequence", function()
  it("waits and calls in turn, and is true once it is through", function()
    local log = {}
    local function say(word) return function() log[#log + 1] = word end end
    local sequence = flow.sequence { say "a", 1, say "b", say "c", 0.5, say "d" }
    assert.is_false(sequence:update(0))
    assert.same({ "a" }, log)
    assert.is_false(sequence:update(1))
    assert.same({ "a", "b", "c" }, log)
    assert.is_false(sequence:done())
    assert.is_true(sequence:update(0.5))
    assert.is_true(sequence:done())
    assert.same({ "a", "b", "c", "d" }, log)
    assert.is_true(sequence:update(1))
    assert.equal(4, #log)
  end)

  it("carries what is left of a dt to the next entry", function()
    local at, now = {}, 0
    local sequence
    local function note() at[#at + 1] = now end
    sequence = flow.sequence { 0.3, note, 0.3, note, 0.4, note }
    for i = 1, 10 do
      now = i
      assert.equal(i == 10, sequence:update(0.1))
    end
    assert.same({ 3, 6, 10 }, at)
    sequence:reset()
    now = "all"
    assert.is_true(sequence:update(1))
    assert.same({ 3, 6, 10, "all", "all", "all" }, at)
  end)

  it("begins anew in the next update when one of its functions says so", function()
    local n, sequence = 0, nil
    sequence = flow.sequence { function()
      n = n + 1
      sequence:reset()
    end }
    assert.is_false(sequence:update(1))
    assert.is_false(sequence:update(1))
    assert.equal(2, n)
  end)

  it("goes on behind a function that failed", function()
    local n = 0
    local sequence = flow.sequence { function() error("bad", 0) end, function() n = n + 1 end }
    assert.same({ false, "bad" }, { pcall(sequence.update, sequence, 0) })
    assert.is_true(sequence:update(0))
    assert.equal(1, n)
  end)

  it("is not changed by what becomes of its list", function()
    local list = { 1 }
    local sequence = flow.sequence(list)
    list[2] = error
    assert.is_true(sequence:update(1))
    assert.is_true(flow.sequence({}):update(0))
  end)

  it("may be advanced by its own functions", function()
    local n, sequence = 0, nil
    sequence = flow.sequence {
      function() assert.is_true(sequence:update(1)) end, 1, function() n = n + 1 end }
    assert.is_true(sequence:update(0))
    assert.equal(1, n)
  end)
end)

describe("flow", function()
  it("makes no garbage in updates", function()
    local timer, cooldown, watch = flow.timer(1e9), flow.cooldown(1e9), flow.stopwatch()
    local sequence = flow.sequence { 1e9 }
    local function step()
      timer:update(0.01)
      cooldown:update(0.01)
      watch:update(0.01)
      sequence:update(0.01)
    end
    cooldown:use()
    for _ = 1, 1000 do step() end
    support.collect()
    collectgarbage "stop"
    local before = collectgarbage "count"
    for _ = 1, 1000 do step() end
    local after = collectgarbage "count"
    collectgarbage "restart"
    assert.is_true(after - before < 8, after - before)
  end)

  it("raises at the caller's line for what is no time", function()
    local file = debug.getinfo(1, "S").short_src
    local function said(fn, text)
      local ok, message = pcall(fn)
      assert.is_false(ok)
      local where, rest = message:match "^(.-):%d+: (.*)$"
      assert.equal(file, where)
      assert.equal(text, rest)
    end
    local bad = {
      { -1, "must be finite and >= 0, got -1" }, { nan, "must be finite and >= 0, got nan" },
      { inf, "must be finite and >= 0, got inf" }, { 2e9, "must be at most 1e9, got 2000000000" },
      { "1", "must be a number, got string" }, { nil, "must be a number, got nil" } }
    for _, what in ipairs { "timer", "cooldown" } do
      for _, row in ipairs(bad) do
        said(function() local _ = flow[what](row[1]) end, "flow." .. what .. ": seconds " .. row[2])
      end
    end
    said(function() local _ = flow.sequence(3) end,
      "flow.sequence: a list of seconds and functions expected, got 3")
    said(function() local _ = flow.sequence { 1, "x" } end,
      "flow.sequence: entry 2 must be seconds or a function, got string")
    said(function() local _ = flow.sequence { -1 } end,
      "flow.sequence: seconds must be finite and >= 0, got -1")
    local all = { timer = flow.timer(1), cooldown = flow.cooldown(1),
      stopwatch = flow.stopwatch(), sequence = flow.sequence { 1 } }
    for name, object in pairs(all) do
      for _, row in ipairs { bad[1], bad[2], bad[3], bad[5], bad[6] } do
        said(function() object:update(row[1]) end, name .. ":update: dt " .. row[2])
      end
    end
  end)
end)
