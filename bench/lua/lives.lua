-- SPDX-License-Identifier: MIT
-- lives.lua - what a routine's life costs beside its waits: joins, cancels with and without
-- cleanups, the end of an owner, waiting for all of many, a look at them. The peer is hand.lua.
--
-- usage: lives.lua weft|hand WHAT N
--
-- Only the part that a row names is timed: what it needs is made before, in each round. The
-- collector runs as it always does.

local measure = require "measure"

local side, what, n = arg[1], arg[2], tonumber(arg[3])
local ended = 0

local api = {}

if side == "weft" then
  local weft, routine = require "weft", require "weft.routine"
  local world = weft.world { capacity = n + 1 }
  api.start = function(fn, ...) return world:start(fn, ...) end
  for _, name in ipairs { "wait", "join", "all", "defer", "cancel" } do
    api[name] = routine[name]
  end
  api.tick = function(dt) world:tick(dt) end
  api.owner = function() return world:owner() end
  api.startOwned = function(owner, fn) return owner:start(fn) end
  api.destroy = function(owner) owner:destroy() end
  api.inspect = function() return world:inspect() end
  api.left = function() return world:stats().active end
else
  local hand = require "hand"
  for name, fn in pairs(hand) do api[name] = fn end
  api.owner = function() return {} end
  api.left = function() return 0 end
end

local wait, defer = api.wait, api.defer
local function clean() ended = ended + 1 end

-- How the sleepers of a row end: they count.
local bodies = {
  plain = function() wait(1e6) end,
  defer = function()
    defer(clean)
    wait(1e6)
  end,
}
if not rawget(_G, "jit") then
  local cleaner = setmetatable({}, { __close = clean })
  bodies.close = load([[local wait, cleaner = ...
    return function()
      local guard <close> = cleaner
      wait(1e6)
    end]])(wait, cleaner)
end

local handles = {}

local function startSleepers(body)
  return function()
    for i = 1, n do handles[i] = api.start(body) end
    api.tick(0)
  end
end

local function cancelAll()
  for i = 1, n do api.cancel(handles[i]) end
  api.tick(0)
end

local function nothing() end
local function short() ended = ended + 1 end

local rows = {}

for how, body in pairs(bodies) do
  rows["cancel-" .. how] = {
    prepare = startSleepers(body), run = cancelAll,
    counts = how == "plain" and 0 or 1,
  }
end

-- One routine that starts the others and joins each of them.
rows.join = {
  prepare = nothing,
  run = function()
    api.start(function()
      for i = 1, n do handles[i] = api.start(short) end
      for i = 1, n do assert(api.join(handles[i])) end
      ended = ended + 1
    end)
    for _ = 1, 3 do api.tick(0) end
    ended = ended - 1
  end,
  counts = 1,
}

rows.all = {
  prepare = nothing,
  run = function()
    api.start(function()
      for i = 1, n do handles[i] = api.start(short) end
      local results = api.all(handles)
      if #results == n and results[n][1] then ended = ended + 1 end
    end)
    for _ = 1, 3 do api.tick(0) end
    ended = ended - 1
  end,
  counts = 1,
}

local owner
rows.destroy = {
  prepare = function()
    owner = api.owner()
    for _ = 1, n do api.startOwned(owner, bodies.plain) end
    api.tick(0)
  end,
  run = function()
    api.destroy(owner)
    api.tick(0)
  end,
  counts = 0,
}

local shown
rows.inspect = {
  once = startSleepers(bodies.plain),
  prepare = function() shown = nil end,
  run = function() shown = api.inspect(handles) end,
  counts = 0,
  check = function()
    measure.check(#shown == n, "%d are shown instead of %d", #shown, n)
    for i = 1, n do
      local entry = shown[i]
      measure.check(entry.status == "sleeping" and entry.waitingOn == "time"
        and entry.wakesIn == 1e6 and entry.where:find "lives.lua:%d+$", "entry %d is wrong", i)
    end
  end,
}

local row = rows[what]
if row.once then row.once() end
local rounds = 0
local ns = measure.part(n, row.prepare, function()
  row.run()
  rounds = rounds + 1
end)
if row.check then
  row.check()
else
  measure.check(ended == rounds * n * row.counts, "%d ends instead of %d", ended,
    rounds * n * row.counts)
  measure.check(api.left() == 0, "%d are left", api.left())
end
measure.print("ns", ns)
