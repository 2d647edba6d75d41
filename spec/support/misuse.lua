-- SPDX-License-Identifier: MIT
--
-- What the specs of misuse share: the places where weft may be called, and the check of a table of
-- calls: where, what, the call, and the sentence that it raises at the caller's line, or the values
-- that it answers. Each has one answer, the same on both machines, and leaves the world as it was:
-- it ticks on and runs its routines.

local support = require "support"
local assert = require "luassert"
local busted = require "busted"
local weft = require "weft"
local routine = require "weft.routine"

local pack, doomed = support.pack, support.doomed
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function nothing() end

local misuse = {}

-- --- Where ----------------------------------------------------------------------------------

local function once(world, phase, fn)
  local sub
  sub = world:on(phase, function()
    sub:off()
    fn()
  end)
  world:tick(1)
end

-- Each calls `fn` once, in its place, with at most one tick.
local places = {
  outside = function(_, fn) fn() end,
  ["a plain coroutine"] = function(_, fn) coroutine.wrap(fn)() end,
  ["a finalizer"] = function(_, fn)
    doomed(fn)
    support.collect()
  end,
  ["onDestroyed outside a tick"] = function(world, fn)
    local owner = world:owner()
    owner:onDestroyed(fn)
    owner:destroy()
  end,
  ["a routine"] = function(world, fn)
    world:start(fn)
    world:tick(1)
  end,
  ["a coroutine of a routine"] = function(world, fn)
    world:start(function() coroutine.wrap(fn)() end)
    world:tick(1)
  end,
  ["a comparator of a routine"] = function(world, fn)
    local first = true
    world:start(function()
      table.sort({ 2, 1 }, function(a, b)
        if first then fn() end
        first = false
        return a < b
      end)
    end)
    world:tick(1)
  end,
  ["a finalizer of a routine"] = function(world, fn)
    world:start(function()
      doomed(fn)
      support.collect()
    end)
    world:tick(1)
  end,
  ["a cleanup"] = function(world, fn)
    world:start(function() routine.defer(fn) end)
    world:tick(1)
  end,
  ["a post"] = function(world, fn)
    world:post(fn)
    world:tick(1)
  end,
  ["a message"] = function(world, fn)
    world:owner():on("message", fn)
    world:broadcast "message"
    world:tick(1)
  end,
  ["a listener"] = function(world, fn)
    local signal = weft.signal()
    signal:connect(fn)
    world:start(signal.fire, signal)
    world:tick(1)
  end,
  ["a system"] = function(world, fn) once(world, "update", fn) end,
  ["a timer"] = function(world, fn)
    world:owner():after(1, function() fn() end)
    world:tick(1)
  end,
  ["a late system"] = function(world, fn) once(world, "postUpdate", fn) end,
  ["onError"] = function(world, fn)
    local before = world.onError
    world.onError = fn
    world:start(function() error "on purpose" end)
    world:tick(1)
    world.onError = before
  end,
  ["onDestroyed"] = function(world, fn)
    local owner = world:owner()
    owner:onDestroyed(fn)
    world:start(owner.destroy, owner)
    world:tick(1)
  end,
}

misuse.outside = { "outside" }
misuse.routines = { "a routine", "a coroutine of a routine", "a comparator of a routine" }
misuse.callbacks = { "a post", "a message", "a listener", "a timer", "a system", "a late system",
  "onError", "onDestroyed" }

function misuse.joined(...)
  local all = {}
  for i = 1, select("#", ...) do
    for _, place in ipairs((select(i, ...))) do all[#all + 1] = place end
  end
  return all
end

misuse.inTick = misuse.joined(misuse.routines, misuse.callbacks, { "a cleanup",
  "onDestroyed outside a tick" })
misuse.noRoutine = misuse.joined(misuse.outside, misuse.callbacks, { "a plain coroutine",
  "a finalizer", "onDestroyed outside a tick" })

-- --- Helpers of the rows --------------------------------------------------------------------

function misuse.ended(world, fn)
  local handle = world:start(fn or nothing)
  world:tick(0)
  return handle
end

-- Of a slot that was reused.
function misuse.expired(world)
  local handle = world:start(nothing)
  handle:cancel()
  for _ = 1, world:stats().capacity do world:start(nothing):cancel() end
  return handle
end

function misuse.sleeper(world)
  local handle = world:start(routine.wait, 1e6)
  world:tick(0)
  return handle
end

function misuse.closed()
  local world = weft.world {}
  world:close()
  return world
end

function misuse.full(world)
  for _ = 1, world:stats().capacity do world:start(nothing) end
end

-- Ends a routine whose cleanup is `cleanup`; the state and the errors that were reported.
function misuse.endWith(world, cleanup, how)
  local handle = world:start(function()
    routine.defer(cleanup)
    if how == "fail" then error("body", 0) end
    if how == "cancel" then routine.wait(1e6) end
  end)
  world:tick(0)
  if how == "cancel" then handle:cancel() end
  for _ = 1, 3 do world:tick(1) end
  local errors = {}
  for _, report in ipairs(support.reports()) do errors[#errors + 1] = report.err end
  return handle:status(), unpack(errors)
end

local nan, inf = 0 / 0, 1 / 0

---Seconds that nothing takes: what they are, the value, and what is said of it.
misuse.badSeconds = {
  { "below 0", -1, "must be finite and >= 0, got -1" },
  { "a little below 0", -0.5, "must be finite and >= 0, got -0.5" },
  { "NaN", nan, "must be finite and >= 0, got nan" },
  { "infinite", inf, "must be finite and >= 0, got inf" },
  { "minus infinity", -inf, "must be finite and >= 0, got -inf" },
  { "above 1e9", 1e9 + 1, "must be at most 1e9, got 1000000001" },
  { "1e10", 1e10, "must be at most 1e9, got 10000000000" },
  { "huge", 1e308, "must be at most 1e9, got 1e+308" },
  { "a string", "x", "must be a number, got string" },
  { "a string of digits", "1", "must be a number, got string" },
  { "a table", {}, "must be a number, got table" },
  { "a boolean", true, "must be a number, got boolean" },
}

-- --- The specs ------------------------------------------------------------------------------

-- Whether the message has the line of a place in `call` in front, and then says just that.
local function isSaid(message, call, text)
  local info = debug.getinfo(call, "S")
  if type(message) ~= "string" then return false end
  local file, line, rest = message:match "^(.-):(%d+): (.*)$"
  line = tonumber(line)
  return file == info.short_src and line >= info.linedefined and line <= info.lastlinedefined
    and rest == text
end

local function check(row, where)
  local world, other = support.world { capacity = 4 }, support.world { capacity = 4 }
  local call, expected, got = row[3], row[4], nil
  places[where](world, function() got = got or pack(pcall(call, world, other)) end)
  if type(expected) == "string" then
    assert.is_false(got[1])
    assert.is_true(isSaid(got[2], row.at or call, expected), tostring(got[2]))
    assert.equal(0, other.tickCount)
    assert.equal(4, world:stats().capacity)
  else
    assert.is_true(got[1], tostring(got[2]))
    assert.equal(math.max(#expected, expected.n or 0), got.n - 1)
    for i = 1, got.n - 1 do assert.equal(expected[i], got[i + 1]) end
  end
  support.reports()
  return world
end

local function checkSound(world)
  local ran
  world:unload()
  world:start(function() ran = routine.nextTick() end)
  world:tick(0)
  world:tick(0)
  assert.equal(0, ran)
end

---What the rows are of; the function that adds to it a list of rows
---{where, what, call, expected}: a sentence that the call raises, or a list of what it answers. A
---row of which nothing is expected is left out.
function misuse.rows()
  local rows = {}
  return rows, function(list)
    for _, row in ipairs(list) do rows[#rows + 1] = row end
  end
end

---Defines the specs of all rows, one for each place.
function misuse.specs(rows)
  for _, row in ipairs(rows) do
    for _, where in ipairs(row[4] and row[1] or {}) do
      local answers = type(row[4]) == "string" and "raises" or "has its answer"
      busted.it(("%s: %s %s"):format(where, row[2], answers), function()
        checkSound(check(row, where))
      end)
    end
  end
end

return misuse
