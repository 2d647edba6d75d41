-- SPDX-License-Identifier: MIT
--
-- weft behind the calls that a story makes (see modelled.lua for the other one).

local support = require "support"
local routine = require "weft.routine"
local weft = require "weft"

-- What weft raises or reports in words, as the model calls it.
local SENTENCES = {
  { "a routine cannot join itself", "<joins itself>" },
  { "would close a ring of routines", "<ring>" },
  { "the signal is destroyed", "<the signal is destroyed>" },
  { "ended by force: it went on waiting", "<forced>" },
  { "ended by force at a bare coroutine.yield()", "<forced at a yield>" },
  { "goes on waiting under C frames", "<stuck under C frames>" },
  { "still waits under C frames at world:close", "<dropped by close>" },
  { "not allowed while a routine is alive", "<routines are alive>" },
}

local ways = {}

function ways.sort(fn)
  local called = false
  table.sort({ 2, 1 }, function(a, b)
    if not called then
      called = true
      fn()
    end
    return a < b
  end)
end

function ways.gsub(fn)
  ("x"):gsub("x", function() fn() end)
end

function ways.index(fn)
  return setmetatable({}, { __index = function() fn() return 1 end }).anything
end

function ways.iterator(fn)
  for _ in function(_, done)
    if done then return nil end
    fn()
    return true
  end do end
end

function ways.wrap(fn)
  coroutine.wrap(function() fn() end)()
end

function ways.generator(fn)
  for _ in coroutine.wrap(function()
    for turn = 1, 2 do
      fn()
      coroutine.yield(turn)
    end
  end) do end
end

-- fn, cleanup -> ; nil where the language has no to-be-closed variables
local guard = support.chunk54 [[
  return function(fn, cleanup)
    local guarded <close> = setmetatable({}, { __close = function() cleanup() end })
    fn()
  end
]]

local function pack(...)
  return { n = select("#", ...), ... }
end

local function packedList(list, reason)
  if type(list) ~= "table" then return list, reason end
  return list
end

local function anyOf(place, ...)
  if place then return place, pack(...) end
  return place, (...)
end

local function withTimeout(list, timeout)
  local copy = { timeout = timeout }
  for i, task in ipairs(list) do copy[i] = task end
  return copy
end

---@param options table capacity, resumesPerTick, postsPerTick, report(task, err)
return function(options)
  local world = support.world {
    capacity = options.capacity, resumesPerTick = options.resumesPerTick,
    postsPerTick = options.postsPerTick,
  }
  world.onError = function(handle, err) options.report(handle, err) end
  local api = { name = "weft", ways = ways, guard = guard }

  function api.wait(s) return routine.wait(s) end
  function api.nextTick() return routine.nextTick() end
  function api.waitUnscaled(s) return routine.waitUnscaled(s) end
  function api.waitUntil(pred, timeout) return routine.waitUntil(pred, timeout) end
  function api.join(task, timeout) return pack(routine.join(task, timeout)) end
  function api.any(list, timeout) return anyOf(routine.any(withTimeout(list, timeout))) end
  function api.all(list, timeout) return packedList(routine.all(withTimeout(list, timeout))) end
  function api.waitFor(signal, timeout) return pack(routine.waitFor(signal, timeout)) end
  function api.every(s, count) return routine.every(s, count) end
  function api.slice(count) return routine.slice { count = count } end
  function api.bare() coroutine.yield() end

  function api.pcall(fn) return pcall(fn) end
  function api.letThrough(fn) return routine.pcall(fn) end
  function api.shield(fn) return routine.shield(fn) end
  function api.defer(fn) return routine.defer(fn) end
  function api.isCancelled() return routine.isCancelled() end
  function api.scope(fn) routine.scope(fn) end
  function api.selfTask() return routine.self() end
  function api.owner() return routine.owner() end

  function api.start(fn, ...) return world:start(fn, ...) end
  function api.startOwned(owner, fn, ...) return owner:start(fn, ...) end
  function api.startIn(scope, fn, ...) return scope:start(fn, ...) end
  function api.cancelScope(scope) return scope:cancel() end
  function api.cancel(task, reason) return task:cancel(reason) end
  function api.status(task) return task:status() end
  function api.newOwner(parent) return world:owner(parent) end
  function api.disable(owner) return owner:disable() end
  function api.enable(owner) return owner:enable() end
  function api.destroy(owner) return owner:destroy() end
  function api.alive(owner) return owner:alive() end
  function api.setOwnerScale(owner, x) return owner:setTimeScale(x) end
  function api.onDestroyed(owner, fn) return owner:onDestroyed(fn) end
  function api.post(fn, priority) return world:post(fn, priority) end
  function api.on(phase, fn)
    local sub = world:on(phase, function(dt) fn(dt) end)
    return function() return sub:off() end
  end
  function api.newSignal() return weft.signal() end
  function api.fire(signal, ...) return signal:fire(...) end
  function api.fireOne(signal, ...) return signal:fireOne(...) end
  function api.destroySignal(signal) return signal:destroy() end
  function api.waiting(signal) return signal:waiting() end
  function api.setPaused(on) if on then world:pause() else world:resume() end end
  function api.setTimeScale(x) world:setTimeScale(x) end
  function api.times() return world.simTime, world.realTime, world.tickCount end

  function api.tick(dt) return world:tick(dt) end
  function api.unload(passes)
    local done, list = world:unload(passes)
    local left = {}
    for i, entry in ipairs(list or {}) do left[i] = entry.id end
    return done, left
  end
  function api.configure(given) return pcall(world.configure, world, given) end
  function api.close() return world:close() end
  function api.stats() return world:stats() end
  function api.inspect() return world:inspect() end

  function api.describe(err)
    if err == routine.Cancelled then return "Cancelled" end
    if type(err) ~= "string" then return tostring(err) end
    for _, sentence in ipairs(SENTENCES) do
      if err:find(sentence[1], 1, true) then return sentence[2] end
    end
    return err
  end

  return api
end
