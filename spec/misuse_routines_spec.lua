-- SPDX-License-Identifier: MIT
--
-- What may be called wrongly in and on routines: waits, cancels, joins, scopes, cleanups.

local misuse = require "support.misuse"
local routine = require "weft.routine"

local rows, add = misuse.rows()
local outside, routines, callbacks = misuse.outside, misuse.routines, misuse.callbacks
local joined, noRoutine, badSeconds = misuse.joined, misuse.noRoutine, misuse.badSeconds
local ended, expired = misuse.ended, misuse.expired
local sleeper, endWith = misuse.sleeper, misuse.endWith
local nan, inf = 0 / 0, 1 / 0
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function nothing() end

-- Waiting.
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

describe("misuse", function() misuse.specs(rows) end)
