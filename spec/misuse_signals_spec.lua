-- SPDX-License-Identifier: MIT
--
-- What may be called wrongly on signals, channels and locks.

local misuse = require "support.misuse"
local weft = require "weft"
local routine = require "weft.routine"

local rows, add = misuse.rows()
local outside, routines, joined = misuse.outside, misuse.routines, misuse.joined
local noRoutine, badSeconds = misuse.noRoutine, misuse.badSeconds
local nan = 0 / 0

local function nothing() end

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

describe("misuse", function() misuse.specs(rows) end)
