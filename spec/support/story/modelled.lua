-- SPDX-License-Identifier: MIT
--
-- The model behind the calls that a story makes (see real.lua for the other one).

local model = require "support.model"

---@param options table capacity, resumesPerTick, postsPerTick, report(task, err)
return function(options)
  local world = model.new(options)
  local api = { name = "the model" }

  -- Waits, in a body.
  function api.wait(s) return world:sleepFor(s) end
  function api.nextTick() return world:nextTick() end
  function api.waitUnscaled(s) return world:sleepUnscaled(s) end
  function api.waitUntil(pred, timeout) return world:waitUntil(pred, timeout) end
  function api.join(task, timeout) return world:join(task, timeout) end
  function api.any(list, timeout) return world:any(list, timeout) end
  function api.all(list, timeout) return world:all(list, timeout) end
  function api.waitFor(signal, timeout) return world:waitFor(signal, timeout) end
  function api.every(s, count) return world:every(s, count) end
  function api.slice(count) return world:slice(count) end
  function api.bare() world:bareYield() end

  -- What a body does besides.
  function api.pcall(fn) return world:pcall(fn) end
  function api.letThrough(fn) return world:letThrough(fn) end
  function api.shield(fn) return world:shielded(fn) end
  function api.defer(fn) return world:defer(fn) end
  function api.guard(fn, cleanup) return world:guard(fn, cleanup) end
  function api.isCancelled() return world:isAsked(world.running), world.running.reason end
  function api.scope(fn) return world:scoped(fn) end
  function api.selfTask() return world.running end
  function api.owner() return world.running.owner end

  -- Ways that lead from the body to other code, and what stands in between.
  api.ways = {
    sort = function(fn) world:underC(fn) end,
    gsub = function(fn) world:underC(fn) end,
    index = function(fn) fn() end,
    iterator = function(fn) fn() end,
    wrap = function(fn) world:wrapped(fn) end,
    generator = function(fn) for _ = 1, 2 do world:wrapped(fn) end end,
  }

  -- From anywhere.
  function api.start(fn, ...) return world:start(nil, fn, ...) end
  function api.startOwned(owner, fn, ...) return world:start(owner, fn, ...) end
  function api.startIn(scope, fn, ...) return world:startIn(scope, fn, ...) end
  function api.cancelScope(scope) return world:cancelScope(scope) end
  function api.cancel(task, reason) return world:cancel(task, reason) end
  function api.status(task) return world:status(task) end
  function api.newOwner(parent) return world:newOwner(parent) end
  function api.disable(owner) return world:disable(owner) end
  function api.enable(owner) return world:enable(owner) end
  function api.destroy(owner) return world:destroy(owner) end
  function api.alive(owner) return world:ownerAlive(owner) end
  function api.setOwnerScale(owner, x) return world:setOwnerScale(owner, x) end
  function api.onDestroyed(owner, fn) return world:onDestroyed(owner, fn) end
  function api.post(fn, priority) return world:post(fn, priority) end
  function api.on(phase, fn) return world:on(phase, fn) end
  function api.newSignal() return world.newSignal() end
  function api.fire(signal, ...) return world:fire(signal, { n = select("#", ...), ... }) end
  function api.fireOne(signal, ...) return world:fireOne(signal, { n = select("#", ...), ... }) end
  function api.destroySignal(signal) return world:destroySignal(signal) end
  function api.waiting(signal) return #signal.watchers end
  function api.setPaused(on) world.paused = on end
  function api.setTimeScale(x) world.timeScale = x end
  function api.times() return world.simNow / 1e9, world.realNow / 1e9, world.tickCount end

  -- Between ticks.
  function api.tick(dt) return world:tick(dt) end
  function api.unload(passes) return world:unload(passes) end
  function api.configure(given) return pcall(world.configure, world, given) end
  function api.close() return world:close() end
  function api.stats() return world:stats() end
  function api.inspect() return world:inspect() end

  function api.describe(err) return tostring(err) end

  return api
end
