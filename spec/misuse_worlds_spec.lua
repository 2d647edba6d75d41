-- SPDX-License-Identifier: MIT
--
-- What may be called wrongly on worlds: ticks, limits, starts, systems, posts, closed ones.

local misuse = require "support.misuse"
local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"

local rows, add = misuse.rows()
local outside, routines, inTick = misuse.outside, misuse.routines, misuse.inTick
local joined, sleeper = misuse.joined, misuse.sleeper
local closed, full = misuse.closed, misuse.full
local pack = support.pack
local nan, inf = 0 / 0, 1 / 0
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function nothing() end

-- Ticking.
add {
  { outside, "a dt below 0", function(w) w:tick(-1) end,
    "world:tick: dt must be finite and >= 0, got -1" },
  { outside, "the smallest dt below 0", function(w) w:tick(-5e-324) end,
    "world:tick: dt must be finite and >= 0, got -4.9406564584125e-324" },
  { outside, "a dt of NaN", function(w) w:tick(nan) end,
    "world:tick: dt must be finite and >= 0, got nan" },
  { outside, "an infinite dt", function(w) w:tick(inf) end,
    "world:tick: dt must be finite and >= 0, got inf" },
  { outside, "a dt of minus infinity", function(w) w:tick(-inf) end,
    "world:tick: dt must be finite and >= 0, got -inf" },
  { outside, "a dt above 9e9", function(w) w:tick(9e9 + 1) end,
    "world:tick: dt must be at most 9e9 and not run over the clock, got 9000000001" },
  { outside, "a huge dt", function(w) w:tick(1e308) end,
    "world:tick: dt must be at most 9e9 and not run over the clock, got 1e+308" },
  { outside, "a dt beyond the clock's end", function(w) w:tick(9e9) w:tick(9e9) end,
    "world:tick: dt must be at most 9e9 and not run over the clock, got 9000000000" },
  { outside, "a scaled dt beyond the clock's end",
    function(w) w:setTimeScale(1e6) w:tick(1e6) end,
    "world:tick: dt must be at most 9e9 and not run over the clock, got 1000000" },
  { outside, "a dt that is a string", function(w) w:tick "1" end,
    "world:tick: dt must be a number, got string" },
  { outside, "a dt that is a table", function(w) w:tick {} end,
    "world:tick: dt must be a number, got table" },
  { outside, "a dt that is a boolean", function(w) w:tick(true) end,
    "world:tick: dt must be a number, got boolean" },
  { outside, "a dt that is nil", function(w) w:tick(nil) end,
    "world:tick: dt must be a number, got nil" },
  { outside, "a tick without a dt", function(w) w:tick() end,
    "world:tick: dt must be a number, got nil" },
  { outside, "a tick of nothing", function(w) w.tick() end,
    "world:tick: a world expected, got nil; call it as world:method(...)" },
  { outside, "a tick of what is no world", function(w) w.tick(io.stdout, 1) end,
    "world:tick: a world expected, got userdata; call it as world:method(...)" },
  { { "a finalizer" }, "a tick", function(w) w:tick(0) end,
    "world:tick: not allowed in a finalizer (__gc)" },
  { { "a finalizer" }, "a run", function(w) w:run { ticks = 1, speed = "max" } end,
    "world:run: not allowed in a finalizer (__gc)" },
  { { "a finalizer" }, "an unload", function(w) return w:unload() end, { true } },
}

local insideTick = {
  tick = function(w) w:tick(1) end,
  run = function(w) w:run { ticks = 1, speed = "max" } end,
  unload = function(w) w:unload() end,
  close = function(w) w:close() end,
  configure = function(w) w:configure { capacity = 9 } end,
}
for _, name in ipairs { "tick", "run", "unload", "close", "configure" } do
  local call = insideTick[name]
  local message = "world:" .. name .. ": not allowed inside a tick"
  add {
    { joined(inTick, { "a finalizer of a routine" }), name, call, message },
    { joined(inTick, { "a finalizer of a routine" }), name .. " of another world",
      function(_, other) call(other) end, message, at = call },
  }
end

-- Configuring.
add {
  { outside, "configure while a routine sleeps",
    function(w) sleeper(w) w:configure { capacity = 9 } end,
    "world:configure: not allowed while a routine is alive" },
  { outside, "configure while a routine has not begun",
    function(w) w:start(nothing) w:configure { capacity = 9 } end,
    "world:configure: not allowed while a routine is alive" },
  { outside, "configure by a number", function(w) w:configure(3) end,
    "world:configure: a table of options expected, got 3" },
  { outside, "configure by nothing", function(w) w:configure() end,
    "world:configure: a table of options expected, got nil" },
  { outside, "routine.configure by a string", function() routine.configure "x" end,
    "world:configure: a table of options expected, got string" },
  { outside, "an unknown option", function(w) w:configure { size = 3 } end,
    "world:configure: unknown option 'size'; there are capacity, stackBytes, resumesPerTick, "
    .. "postsPerTick, timers, fixedStep, slowResumeMs and maxResumeMs" },
  { outside, "a number of timers below 0", function(w) w:configure { timers = -1 } end,
    "world:configure: timers must be a whole number from 0 to 16777216, got -1" },
  { outside, "too many timers", function(w) w:configure { timers = 2 ^ 24 + 1 } end,
    "world:configure: timers must be a whole number from 0 to 16777216, got 16777217" },
  { outside, "a fixedStep of 0", function(w) w:configure { fixedStep = 0 } end,
    "world:configure: fixedStep must be seconds from 1e-6 to 1e9, got 0" },
  { outside, "a fixedStep that is too short", function(w) w:configure { fixedStep = 9.9e-7 } end,
    "world:configure: fixedStep must be seconds from 1e-6 to 1e9, got 9.9e-07" },
  { outside, "a fixedStep that is too long", function(w) w:configure { fixedStep = 2e9 } end,
    "world:configure: fixedStep must be seconds from 1e-6 to 1e9, got 2000000000" },
  { outside, "a fixedStep that is a string", function(w) w:configure { fixedStep = "1" } end,
    "world:configure: fixedStep must be seconds from 1e-6 to 1e9, got string" },
  { outside, "a capacity of 0", function(w) w:configure { capacity = 0 } end,
    "world:configure: capacity must be a whole number from 1 to 16777216, got 0" },
}

-- Starting.
add {
  { outside, "starting nothing", function(w) w:start() end,
    "world:start: a function expected, got nil" },
  { outside, "starting a number", function(w) w:start(5) end,
    "world:start: a function expected, got 5" },
  { outside, "starting a name", function(w) w:start "print" end,
    "world:start: a function expected, got string" },
  { outside, "starting a table that can be called",
    function(w) w:start(setmetatable({}, { __call = print })) end,
    "world:start: a function expected, got table" },
  { routines, "routine.start of nothing", function() routine.start() end,
    "routine.start: a function expected, got nil" },
  { outside, "owner:start of nil", function(w) w:owner():start(nil) end,
    "owner:start: a function expected, got nil" },
  { outside, "startOwned of a number", function(w) routine.startOwned(w:owner(), 5) end,
    "routine.startOwned: a function expected, got 5" },
  { outside, "starting in a full world", function(w) full(w) return w:start(nothing) end,
    { nil, "capacity" } },
  { routines, "routine.start in a full world",
    function(w) while w:start(nothing) do end return routine.start(nothing) end,
    { nil, "capacity" } },
  { outside, "starting in a closed world", function() closed():start(nothing) end,
    "world:start: world is closed" },
  { outside, "starting while the world closes", function(_, other)
    local got
    other:start(function()
      routine.defer(function() got = pack(other:start(nothing)) end)
      routine.wait(9)
    end)
    other:tick(0)
    other:close()
    return unpack(got, 1, got.n)
  end, { nil, "closed" } },
}

-- Systems, posts, onError.
add {
  { outside, "a phase that there is not", function(w) w:on("draw", nothing) end,
    "world:on: phase must be 'preUpdate', 'fixedUpdate', 'update' or 'postUpdate', got draw" },
  { outside, "a phase that is a number", function(w) w:on(1, nothing) end,
    "world:on: phase must be 'preUpdate', 'fixedUpdate', 'update' or 'postUpdate', got 1" },
  { outside, "a system that is nil", function(w) w:on("update", nil) end,
    "world:on: a function expected, got nil" },
  { outside, "off of a table", function(w) w:on("update", nothing).off {} end,
    "sub:off: a subscription expected, got table" },
  { outside, "a post of a string", function(w) w:post "x" end,
    "world:post: a function expected, got string" },
  { outside, "a post of another priority", function(w) w:post(nothing, "low") end,
    "world:post: priority must be 'high' or 'normal', got low" },
  { outside, "an onError that is a number", function(w) w.onError = 5 end,
    "world.onError: a function or nil expected, got 5" },
  { outside, "setting a clock", function(w) w.simTime = 5 end,
    "world.simTime cannot be set; onError and onSlow can" },
}

-- Closed worlds.
local onClosed = {
  tick = function(w) w:tick(1) end, start = function(w) w:start(nothing) end,
  on = function(w) w:on("update", nothing) end, post = function(w) w:post(nothing) end,
  owner = function(w) w:owner() end, pause = function(w) w:pause() end,
  resume = function(w) w:resume() end, isPaused = function(w) local _ = w:isPaused() end,
  setTimeScale = function(w) w:setTimeScale(1) end,
  configure = function(w) w:configure { capacity = 4 } end,
  stats = function(w) local _ = w:stats() end, inspect = function(w) local _ = w:inspect() end,
  unload = function(w) w:unload() end, run = function(w) w:run { ticks = 1 } end,
}
for _, name in ipairs { "tick", "start", "on", "post", "owner", "pause", "resume", "isPaused",
  "setTimeScale", "configure", "stats", "inspect", "unload", "run" } do
  add { { outside, name .. " of a closed world", function() onClosed[name](closed()) end,
    "world:" .. name .. ": world is closed", at = onClosed[name] } }
end
add {
  { outside, "close of a closed world", function() return closed():close() end, {} },
  { outside, "onError of a closed world", function() closed().onError = nothing end,
    "world: world is closed" },
  { outside, "the clocks of a closed world", function(_, other)
    other:tick(2)
    other:close()
    return other.simTime, other.realTime, other.tickCount
  end, { 2, 2, 1 } },
  { outside, "owners of a closed world", function(_, other)
    local owner = other:owner()
    other:close()
    return owner:alive(), owner:destroy(), owner:disable(), owner:enable()
  end, { false, false, false, false } },
}
add { { outside, "owner:connect in a closed world", function(_, other)
  local owner = other:owner()
  other:close()
  owner:connect(weft.signal(), nothing)
end, "owner:connect: world is closed" } }
for _, name in ipairs { "start", "setTimeScale", "onDestroyed" } do
  add { { outside, "owner:" .. name .. " in a closed world", function(_, other)
    local owner, argument = other:owner(), name == "setTimeScale" and 1 or nothing
    other:close()
    owner[name](owner, argument)
  end, "owner:" .. name .. ": world is closed" } }
end

describe("misuse", function() misuse.specs(rows) end)
