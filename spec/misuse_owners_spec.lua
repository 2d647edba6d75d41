-- SPDX-License-Identifier: MIT
--
-- What may be called wrongly on owners and timers.

local misuse = require "support.misuse"
local routine = require "weft.routine"
local timer = require "weft.timer"

local rows, add = misuse.rows()
local outside, badSeconds = misuse.outside, misuse.badSeconds
local nan, inf = 0 / 0, 1 / 0

local function nothing() end

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

describe("misuse", function() misuse.specs(rows) end)
