-- SPDX-License-Identifier: MIT
--
-- What may be called wrongly, in one table: where, what, the call, and the sentence that it raises
-- at the caller's line, or the values that it answers. Each has one answer, the same on both
-- machines, and leaves the world as it was: it ticks on and runs its routines.

local support = require "support"
local weft = require "weft"
local routine = require "weft.routine"
local timer = require "weft.timer"

local pack, doomed = support.pack, support.doomed

local nan, inf = 0 / 0, 1 / 0
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function nothing() end

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

local outside = { "outside" }
local routines = { "a routine", "a coroutine of a routine", "a comparator of a routine" }
local callbacks = { "a post", "a message", "a listener", "a timer", "a system", "a late system",
  "onError", "onDestroyed" }

local function joined(...)
  local all = {}
  for i = 1, select("#", ...) do
    for _, place in ipairs((select(i, ...))) do all[#all + 1] = place end
  end
  return all
end

local inTick = joined(routines, callbacks, { "a cleanup", "onDestroyed outside a tick" })
local noRoutine = joined(outside, callbacks, { "a plain coroutine", "a finalizer",
  "onDestroyed outside a tick" })

-- --- Helpers of the rows --------------------------------------------------------------------

local function ended(world, fn)
  local handle = world:start(fn or nothing)
  world:tick(0)
  return handle
end

-- Of a slot that was reused.
local function expired(world)
  local handle = world:start(nothing)
  handle:cancel()
  for _ = 1, world:stats().capacity do world:start(nothing):cancel() end
  return handle
end

local function sleeper(world)
  local handle = world:start(routine.wait, 1e6)
  world:tick(0)
  return handle
end

local function closed()
  local world = weft.world {}
  world:close()
  return world
end

local function full(world)
  for _ = 1, world:stats().capacity do world:start(nothing) end
end

-- Ends a routine whose cleanup is `cleanup`; the state and the errors that were reported.
local function endWith(world, cleanup, how)
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

-- --- The table ------------------------------------------------------------------------------

-- {where, what, call, expected}: a sentence that the call raises, or a list of what it answers.
local rows = {}

local function add(list)
  for _, row in ipairs(list) do rows[#rows + 1] = row end
end

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

-- Waiting.
local badSeconds = {
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
for _, bad in ipairs(badSeconds) do
  local what, value, text = bad[1], bad[2], bad[3]
  add {
    { routines, "a wait of " .. what, function() routine.wait(value) end,
      "routine.wait: seconds " .. text },
    { routines, "a waitUnscaled of " .. what, function() routine.waitUnscaled(value) end,
      "routine.waitUnscaled: seconds " .. text },
    { routines, "a join with a timeout of " .. what,
      function(w) routine.join(w:start(nothing), value) end, "routine.join: timeout " .. text },
    { routines, "a tween of " .. what, function() routine.tween(value, nothing) end,
      "routine.tween: seconds " .. text },
    { outside, "a time scale of " .. what, function(w) w:setTimeScale(value) end,
      not (type(value) == "number" and value > 0 and value < inf) and
      "world:setTimeScale: scale must be finite and >= 0, got "
      .. text:match "got (.*)$" or nil },
  }
end
add {
  { routines, "a wait of nil", function() routine.wait(nil) end,
    "routine.wait: seconds must be a number, got nil" },
  { routines, "a wait of nothing", function() routine.wait() end,
    "routine.wait: seconds must be a number, got nil" },
  { routines, "a waitUnscaled of nothing", function() routine.waitUnscaled() end,
    "routine.waitUnscaled: seconds must be a number, got nil" },
}

for _, bad in ipairs { { 0, "0" }, { -1, "-1" }, { 1.5, "1.5" }, { nan, "nan" }, { inf, "inf" },
  { "1", "string" } } do
  add { { routines, "a waitFixed of " .. bad[2], function() routine.waitFixed(bad[1]) end,
    "routine.waitFixed: n must be a whole number >= 1, got " .. bad[2] } }
end
add {
  { routines, "a waitFixed in a world without fixed steps", function() routine.waitFixed(1) end,
    "routine.waitFixed: this world has no fixed steps; give it a fixedStep" },
  { routines, "a tween without a function", function() routine.tween(1) end,
    "routine.tween: a function expected, got nil" },
  { routines, "a tween of an unknown easing", function() routine.tween(1, nothing, "fast") end,
    "routine.tween: unknown easing 'fast'; there are linear, and In, Out and InOut of quad, cubic, "
    .. "quart, quint, sine, expo, circ, back, elastic and bounce" },
  { routines, "a tween of an easing that is a table", function() routine.tween(1, nothing, {}) end,
    "routine.tween: unknown easing table; there are linear, and In, Out and InOut of quad, cubic, "
    .. "quart, quint, sine, expo, circ, back, elastic and bounce" },
}

local inRoutineOnly = {
  wait = function() routine.wait(1) end,
  nextTick = function() routine.nextTick() end,
  waitUnscaled = function() routine.waitUnscaled(1) end,
  waitUntil = function() routine.waitUntil(function() return true end) end,
  join = function(w) routine.join(w:start(nothing)) end,
  any = function(w) routine.any { w:start(nothing) } end,
  all = function(w) routine.all { w:start(nothing) } end,
  every = function() routine.every(1)() end,
  waitFixed = function() routine.waitFixed() end,
  tween = function() routine.tween(1, nothing) end,
  defer = function() routine.defer(nothing) end,
  shield = function() routine.shield(nothing) end,
  scope = function() routine.scope(nothing) end,
  name = function() routine.name "x" end,
  owner = function() local _ = routine.owner() end,
  world = function() local _ = routine.world() end,
  isCancelled = function() local _ = routine.isCancelled() end,
}
for _, name in ipairs { "wait", "nextTick", "waitUnscaled", "waitUntil", "join", "any", "all",
  "every", "waitFixed", "tween", "defer", "shield", "scope", "name", "owner", "world",
  "isCancelled" } do
  add { { noRoutine, "routine." .. name, inRoutineOnly[name],
    "routine." .. name .. ": not inside a routine; start one with routine.start" } }
end
for _, name in ipairs { "wait", "nextTick", "waitUnscaled", "join", "any", "all", "every",
  "waitFixed", "tween", "scope" } do
  add { { { "a finalizer of a routine" }, "routine." .. name, inRoutineOnly[name],
    "routine." .. name .. ": not allowed in a finalizer (__gc); start a routine there" } }
end
add { { noRoutine, "routine.self", function() return routine.self() end, { n = 1 } } }

-- Signals.
local function destroyed()
  local signal = weft.signal()
  signal:destroy()
  return signal
end
for _, name in ipairs { "connect", "once", "wait", "fire", "fireOne", "waiting", "destroy" } do
  local function call() weft.signal()[name](io.stdout) end
  add { { outside, "signal:" .. name .. " of what is no signal", call,
    "signal:" .. name .. ": a signal expected, got userdata" } }
end
for _, name in ipairs { "connect", "once", "wait", "fire", "fireOne" } do
  add { { outside, "signal:" .. name .. " of a destroyed one",
    function() destroyed()[name](destroyed(), nothing) end,
    "signal:" .. name .. ": the signal is destroyed" } }
end
for _, bad in ipairs(badSeconds) do
  add { { routines, "a wait for a signal with a timeout of " .. bad[1],
    function() weft.signal():wait(bad[2]) end, "signal:wait: timeout " .. bad[3] } }
end
add {
  { noRoutine, "signal:wait", function() weft.signal():wait() end,
    "signal:wait: not inside a routine; start one with routine.start" },
  { noRoutine, "routine.waitFor", function() routine.waitFor(weft.signal(), 1) end,
    "routine.waitFor: not inside a routine; start one with routine.start" },
  { { "a finalizer of a routine" }, "signal:wait", function() weft.signal():wait() end,
    "signal:wait: not allowed in a finalizer (__gc); start a routine there" },
  { routines, "routine.waitFor of a handle", function(w) routine.waitFor(w:start(nothing)) end,
    "routine.waitFor: a signal expected, got userdata" },
  { routines, "routine.waitFor of nothing", function() routine.waitFor() end,
    "routine.waitFor: a signal expected, got nil" },
  { outside, "connecting a string", function() weft.signal():connect "x" end,
    "signal:connect: a function expected, got string" },
  { outside, "connecting nothing", function() weft.signal():connect() end,
    "signal:connect: a function expected, got nil" },
  { outside, "connecting an owner's number", function(w) w:owner():connect(weft.signal(), 3) end,
    "owner:connect: a function expected, got 3" },
  { outside, "connecting an owner to a table", function(w) w:owner():connect({}, nothing) end,
    "owner:connect: a signal expected, got table" },
  { outside, "connecting an owner to a destroyed signal",
    function(w) w:owner():once(destroyed(), nothing) end,
    "owner:once: the signal is destroyed" },
  { outside, "off of a table", function() weft.signal():connect(nothing).off {} end,
    "sub:off: a subscription expected, got table" },
  { outside, "off of nothing", function() weft.signal():connect(nothing).off() end,
    "sub:off: a subscription expected, got nil" },
  { outside, "destroying twice", function() return destroyed():destroy() end, { false } },
  { outside, "who waits for a destroyed signal", function() return destroyed():waiting() end,
    { 0 } },
}

-- Channels and locks.
local newOf = {
  channel = function() return weft.channel(1) end,
  mutex = function() return weft.mutex() end,
  semaphore = function() return weft.semaphore(1) end,
}
local methodsOf = {
  channel = { "put", "get", "close" }, mutex = { "lock", "tryLock", "unlock" },
  semaphore = { "acquire", "release" },
}
for _, kind in ipairs { "channel", "mutex", "semaphore" } do
  for _, name in ipairs(methodsOf[kind]) do
    add { { outside, kind .. ":" .. name .. " of a table",
      function() newOf[kind]()[name] {} end,
      kind .. ":" .. name .. ": a " .. kind .. " expected, got table" } }
    if kind ~= "channel" then
      add {
        { noRoutine, kind .. ":" .. name, function() newOf[kind]()[name](newOf[kind]()) end,
          kind .. ":" .. name .. ": not inside a routine; start one with routine.start" },
      }
    end
  end
end
for _, bad in ipairs(badSeconds) do
  local what, value, text = bad[1], bad[2], bad[3]
  add {
    { routines, "a lock with a timeout of " .. what, function() weft.mutex():lock(value) end,
      "mutex:lock: timeout " .. text },
    { routines, "an acquire with a timeout of " .. what,
      function() weft.semaphore(1):acquire(value) end, "semaphore:acquire: timeout " .. text },
    { joined(routines, outside), "a put with a timeout of " .. what,
      function() weft.channel(1):put(1, value) end, "channel:put: timeout " .. text },
    { joined(routines, outside), "a get with a timeout of " .. what,
      function() weft.channel(1):get(value) end, "channel:get: timeout " .. text },
  }
end
for _, size in ipairs { { -1, "-1" }, { 1.5, "1.5" }, { nan, "nan" }, { 2 ^ 24 + 1, "16777217" },
  { "x", "string" } } do
  add {
    { outside, "a channel of " .. size[2], function() weft.channel(size[1]) end,
      "weft.channel: n must be a whole number from 0 to 16777216, got " .. size[2] },
    { outside, "a semaphore of " .. size[2], function() weft.semaphore(size[1]) end,
      "weft.semaphore: n must be a whole number from 1 to 16777216, got " .. size[2] },
  }
end
add {
  { outside, "a semaphore of 0", function() weft.semaphore(0) end,
    "weft.semaphore: n must be a whole number from 1 to 16777216, got 0" },
  { outside, "a semaphore of nothing", function() weft.semaphore() end,
    "weft.semaphore: n must be a whole number from 1 to 16777216, got nil" },
  { outside, "a semaphore and a channel at their limits",
    function()
      return weft.semaphore(2 ^ 24) and weft.channel(2 ^ 24):put(1), weft.channel(0):get()
    end, { true, nil, "empty", n = 3 } },
  { routines, "a mutex that is locked twice",
    function()
      local mutex = weft.mutex()
      mutex:lock()
      mutex:lock()
    end, "mutex:lock: this routine holds it already and would wait for itself" },
  { routines, "a mutex that is unlocked twice",
    function()
      local mutex = weft.mutex()
      mutex:lock()
      mutex:unlock()
      mutex:unlock()
    end, "mutex:unlock: it is not locked" },
  { routines, "a semaphore that is acquired once too often",
    function()
      local semaphore = weft.semaphore(2)
      for _ = 1, 3 do semaphore:acquire() end
    end,
    "semaphore:acquire: this routine holds all 2 permits and would wait for itself" },
  { routines, "a semaphore that is released without a permit",
    function() weft.semaphore(2):release() end,
    "semaphore:release: this routine holds none of its permits" },
  { { "a finalizer of a routine" }, "mutex:lock of one that is held", function()
    local mutex = weft.mutex()
    mutex:tryLock()
  end, "mutex:tryLock: not allowed in a finalizer (__gc); start a routine there" },
  { { "a finalizer of a routine" }, "channel:get", function() weft.channel(1):get() end,
    "channel:get: not allowed in a finalizer (__gc); start a routine there" },
  { routines, "any of a mutex", function() routine.any { weft.mutex() } end,
    "routine.any: entry 1: a routine handle or a signal expected, got userdata" },
  { routines, "all of a channel", function() routine.all { weft.channel() } end,
    "routine.all: entry 1: a routine handle or a signal expected, got userdata" },
}

-- Timers.
for _, bad in ipairs(badSeconds) do
  local what, value, text = bad[1], bad[2], bad[3]
  add {
    { outside, "timer.after of " .. what, function() timer.after(value, nothing) end,
      "timer.after: seconds " .. text },
    { outside, "timer.every of " .. what, function() timer.every(value, nothing) end,
      "timer.every: seconds " .. text },
    { outside, "owner:after of " .. what, function(w) w:owner():after(value, nothing) end,
      "owner:after: seconds " .. text },
    { outside, "a delay of " .. what, function(w)
      w:owner():every(1, nothing, { delay = value })
    end, "owner:every: delay " .. text },
  }
end
for _, bad in ipairs { { 0, "0" }, { -1, "-1" }, { 1.5, "1.5" }, { nan, "nan" }, { inf, "inf" },
  { "3", "string" } } do
  add { { outside, "a count of a timer of " .. bad[2], function()
    timer.every(1, nothing, { count = bad[1] })
  end, "timer.every: count must be a whole number >= 1, got " .. bad[2] } }
end
add {
  { outside, "timer.after of nothing", function() timer.after() end,
    "timer.after: seconds must be a number, got nil" },
  { outside, "timer.after without a function", function() timer.after(1) end,
    "timer.after: a function expected, got nil" },
  { outside, "timer.every of a table that can be called",
    function() timer.every(1, setmetatable({}, { __call = print })) end,
    "timer.every: a function expected, got table" },
  { outside, "options of a timer that are a number", function() timer.every(1, nothing, 3) end,
    "timer.every: a table of options expected, got 3" },
  { outside, "an unknown option of a timer",
    function() timer.every(1, nothing, { times = 3 }) end,
    "timer.every: unknown option 'times'; there are count, delay and unscaled" },
  { outside, "unscaled that is a number", function() timer.every(1, nothing, { unscaled = 1 }) end,
    "timer.every: unscaled must be true or false, got 1" },
  { outside, "unscaled of after that is a string",
    function() timer.after(1, nothing, { unscaled = "yes" }) end,
    "timer.after: unscaled must be true or false, got string" },
  { outside, "owner:after of a world", function(w) w:owner().after(w, 1, nothing) end,
    "owner:after: an owner expected, got userdata" },
  { outside, "owner:every of nothing", function(w) w:owner().every() end,
    "owner:every: an owner expected, got nil" },
  { outside, "owner:after in a closed world", function(_, other)
    local owner = other:owner()
    other:close()
    owner:after(1, nothing)
  end, "owner:after: world is closed" },
  { outside, "owner:every in a closed world", function(_, other)
    local owner = other:owner()
    other:close()
    owner:every(1, nothing)
  end, "owner:every: world is closed" },
  { outside, "a tag of a number", function(w)
    timer.tag(w:owner():after(1, nothing), 5)
  end, "timer.tag: a string or nil expected, got 5" },
  { outside, "a tag for no timer", function() timer.tag("x", "y") end,
    "timer.tag: a timer expected, got string" },
  { outside, "cancelAll of a number", function() timer.cancelAll(5) end,
    "timer.cancelAll: a tag's name or an owner expected, got 5" },
  { outside, "pauseAll of nothing", function() timer.pauseAll() end,
    "timer.pauseAll: a tag's name or an owner expected, got nil" },
  { outside, "resumeAll of a world", function(w) timer.resumeAll(w) end,
    "timer.resumeAll: a tag's name or an owner expected, got userdata" },
}
for _, name in ipairs { "cancel", "pause", "resume", "remaining", "alive" } do
  add { { outside, "timer:" .. name .. " of an owner", function(w)
    local owner = w:owner()
    owner:after(1, nothing)[name](owner)
  end, "timer:" .. name .. ": a timer expected, got userdata" } }
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

-- Cancelling and joining.
add {
  { { "a routine" }, "a cancel of oneself", function()
    return routine.cancel(routine.self()), routine.self():status()
  end, { true, "cancelling" } },
  { outside, "a cancel of a finished routine", function(w) return ended(w):cancel() end,
    { false } },
  { outside, "a cancel of an expired handle", function(w) return expired(w):cancel() end,
    { false } },
  { outside, "a second cancel", function(w)
    local handle = sleeper(w)
    return handle:cancel(), handle:cancel(), handle:status()
  end, { true, true, "cancelling" } },
  { joined(routines, callbacks), "a cancel of another world's routine", function(_, other)
    local handle = other:start(nothing)
    return routine.cancel(handle), routine.cancel(handle), handle:status()
  end, { true, false, "cancelled" } },
  { outside, "a cancel of a handle whose world is closed", function(_, other)
    local handle = sleeper(other)
    other:close()
    return handle:cancel(), handle:status()
  end, { false, "cancelled" } },
  { outside, "a cancel of a number", function() routine.cancel(5) end,
    "routine.cancel: a routine handle expected, got 5" },
  { outside, "a cancel of nothing", function() routine.cancel() end,
    "routine.cancel: a routine handle expected, got nil" },
  { outside, "a cancel of a world", function(w) routine.cancel(w) end,
    "routine.cancel: a routine handle expected, got userdata" },
  { outside, "the status of a table", function() local _ = routine.status {} end,
    "routine.status: a routine handle expected, got table" },
  { outside, "the error of a string", function(w) w:start(nothing).error "x" end,
    "handle:error: a routine handle expected, got string" },
  { routines, "a join of oneself", function() routine.join(routine.self()) end,
    "routine.join: a routine cannot join itself" },
  { routines, "a join of a finished routine", function(w)
    local handle = w:start(nothing)
    handle:cancel()
    return routine.join(handle)
  end, { false, routine.Cancelled } },
  { routines, "a join of an expired handle", function(_, other)
    return routine.join(expired(other))
  end, { nil, "expired" } },
  { routines, "a join of another world's routine", function(_, other)
    routine.join(other:start(nothing))
  end, "routine.join: the routine is of another world, which does not run now" },
  { routines, "a join of another world's finished routine", function(_, other)
    local handle = other:start(nothing)
    handle:cancel()
    return routine.join(handle)
  end, { false, routine.Cancelled } },
  { routines, "a join of a table", function() routine.join {} end,
    "routine.join: a routine handle expected, got table" },
  { routines, "a join of nothing", function() routine.join() end,
    "routine.join: a routine handle expected, got nil" },
  { routines, "routine.pcall of nothing", function() routine.pcall() end,
    "routine.pcall: a function expected, got no value" },
  { routines, "routine.pcall of nil", function() return (routine.pcall(nil)) end, { false } },
  { routines, "a scope of a number", function() routine.scope(5) end,
    "routine.scope: a function expected, got 5" },
  { routines, "a scope of nothing", function() routine.scope() end,
    "routine.scope: a function expected, got nil" },
  { routines, "a child that is no function", function()
    routine.scope(function(scope) scope:start "x" end)
  end, "scope:start: a function expected, got string" },
  { routines, "a start without a scope", function()
    routine.scope(function(scope) scope.start(nothing) end)
  end, "scope:start: a scope expected, got function" },
  { routines, "a cancel without a scope", function()
    routine.scope(function(scope) scope.cancel() end)
  end, "scope:cancel: a scope expected, got nil" },
  { routines, "a child of a scope that is over", function()
    local over
    routine.scope(function(scope) over = scope end)
    return over:start(nothing)
  end, { nil, "closed", n = 2 } },
  { routines, "a shield of a number", function() routine.shield(5) end,
    "routine.shield: a function expected, got 5" },
  { routines, "a cleanup that is a table", function() routine.defer {} end,
    "routine.defer: a function expected, got table" },
  { routines, "a cleanup that is not there", function() routine.defer() end,
    "routine.defer: a function expected, got nil" },
  { routines, "a name that is a number", function() routine.name(5) end,
    "routine.name: a string expected, got 5" },
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

-- Owners.
for _, name in ipairs { "start", "disable", "enable", "destroy", "alive", "setTimeScale",
  "onDestroyed" } do
  add { { outside, "owner:" .. name .. " of a world", function(w) w:owner()[name](w) end,
    "owner:" .. name .. ": an owner expected, got userdata" } }
end
for _, bad in ipairs { -1, nan, inf, -inf, "2", {} } do
  local got = type(bad) == "number" and (bad ~= bad and "nan" or ("%.14g"):format(bad))
  add { { outside, "an owner's time scale of " .. (got or type(bad)),
    function(w) w:owner():setTimeScale(bad) end,
    "owner:setTimeScale: scale must be finite and >= 0, got " .. (got or type(bad)) } }
end
add {
  { outside, "an owner's time scale of nothing", function(w) w:owner():setTimeScale() end,
    "owner:setTimeScale: scale must be finite and >= 0, got nil" },
  { outside, "an owner's onDestroyed of a string", function(w) w:owner():onDestroyed "x" end,
    "owner:onDestroyed: a function expected, got string" },
  { outside, "an owner of another world", function(w, other) w:owner(other:owner()) end,
    "world:owner: the parent is of another world" },
  { outside, "a destroyed owner of another world", function(w, other)
    local owner = other:owner()
    owner:destroy()
    w:owner(owner)
  end, "world:owner: the parent is of another world" },
  { outside, "an owner of a routine", function(w) w:owner(w:start(nothing)) end,
    "world:owner: an owner expected, got userdata" },
  { outside, "an owner of a string", function(w) w:owner "x" end,
    "world:owner: an owner expected, got string" },
  { outside, "startOwned of nothing", function() routine.startOwned() end,
    "routine.startOwned: an owner expected, got nil" },
  { outside, "world:owner of an owner", function(w) w.owner(w:owner()) end,
    "world:owner: a world expected, got userdata; call it as world:method(...)" },
  { outside, "a child of a destroyed owner", function(w)
    local owner = w:owner()
    owner:destroy()
    return w:owner(owner)
  end, { nil, "destroyed" } },
  { outside, "a start by a destroyed owner", function(w)
    local owner = w:owner()
    owner:destroy()
    return owner:start(nothing)
  end, { nil, "destroyed" } },
  { outside, "a start by a disabled owner", function(w)
    local owner = w:owner()
    owner:disable()
    return owner:start(nothing)
  end, { nil, "disabled" } },
  { outside, "a second destroy", function(w)
    local owner = w:owner()
    return owner:destroy(), owner:destroy(), owner:alive()
  end, { true, false, false } },
  { outside, "a destroy from its own routine", function(w)
    local owner, went = w:owner(), nil
    local handle = owner:start(function()
      went = { owner:destroy(), owner:destroy() }
      routine.nextTick()
      went = "on"
    end)
    w:tick(0)
    return went[1], went[2], handle:status()
  end, { true, false, "cancelled" } },
  { outside, "a destroy from a sibling in the same tick", function(w)
    local owner, ran = w:owner(), 0
    local sleeping = owner:start(function() pcall(routine.wait, 1) ran = ran + 1 end)
    w:tick(0)
    owner:start(function() owner:destroy() end)
    local unstarted = owner:start(function() ran = ran + 10 end)
    w:tick(1)
    w:tick(0)
    return ran, sleeping:status(), unstarted:status()
  end, { 1, "completed", "cancelled" } },
}

-- Cleanups.
add {
  { outside, "a cleanup that fails after a return",
    function(w) return endWith(w, function() error("cleanup", 0) end) end,
    { "failed", "cleanup" } },
  { outside, "a cleanup that fails after a cancel",
    function(w) return endWith(w, function() error("cleanup", 0) end, "cancel") end,
    { "failed", "cleanup" } },
  { outside, "a cleanup that fails after a failure",
    function(w) return endWith(w, function() error("cleanup", 0) end, "fail") end,
    { "failed", "cleanup", "body" } },
  { outside, "a cleanup that waits after a return",
    function(w) return endWith(w, function() routine.wait(1) end) end, { "completed" } },
  { outside, "a cleanup that waits after a failure",
    function(w) return endWith(w, function() routine.wait(1) end, "fail") end,
    { "failed", "body" } },
  { outside, "a cleanup that waits after a cancel",
    function(w) return endWith(w, function() routine.wait(1) end, "cancel") end,
    { "cancelled" } },
  { outside, "a cleanup that starts routines", function(w)
    local ran
    local status = endWith(w, function() routine.start(function() ran = true end) end, "cancel")
    return status, ran
  end, { "cancelled", true } },
  { outside, "a cleanup that cancels its own routine",
    function(w) return endWith(w, function() routine.self():cancel() end) end, { "completed" } },
  { outside, "a cleanup that destroys its owner", function(w)
    local owner, log = w:owner(), {}
    local handle = owner:start(function()
      routine.defer(function() log[#log + 1] = "last" end)
      routine.defer(function() log[#log + 1] = owner:destroy() end)
      routine.wait(9)
    end)
    owner:onDestroyed(function() log[#log + 1] = "over" end)
    w:tick(0)
    handle:cancel()
    w:tick(0)
    return handle:status(), unpack(log)
  end, { "cancelled", true, "last", "over" } },
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

describe("misuse", function()
  for _, row in ipairs(rows) do
    for _, where in ipairs(row[4] and row[1] or {}) do
      local answers = type(row[4]) == "string" and "raises" or "has its answer"
      it(("%s: %s %s"):format(where, row[2], answers), function()
        checkSound(check(row, where))
      end)
    end
  end
end)
