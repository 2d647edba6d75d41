-- SPDX-License-Identifier: MIT
--
-- Waits for several at once, for the first or for every one: tasks, which end, and signals, which
-- are fired. A wait for one signal is a wait for several, too.
--
-- An entry is {task=} or {signal=}; `target` is the same as long as it is waited for, and `ended`
-- what has come: a state, "fired" or "closed".

return function(model)
  local methods = model.methods

  -- --- Signals --------------------------------------------------------------------------------

  function methods.newSignal()
    return { isSignal = true, watchers = {}, closed = false }
  end

  ---What a watched entry waited for has come.
  function methods:came(watch, ended, values, turn)
    local waiter = watch.waiter
    local entry = waiter.several[watch.place]
    entry.target, entry.ended, entry.values, entry.turn = nil, ended, values, turn
    waiter.needs = waiter.needs - 1
    if waiter.needs > 0 then return end
    local entries = waiter.several
    self:makeReady(waiter)
    waiter.given = entries -- until it runs
  end

  local function checkOpen(signal)
    if signal.closed then error(model.errors.destroyed, 0) end
  end

  function methods:fire(signal, values)
    checkOpen(signal)
    while signal.watchers[1] do self:came(table.remove(signal.watchers, 1), "fired", values) end
  end

  function methods:fireOne(signal, values)
    checkOpen(signal)
    local watch = table.remove(signal.watchers, 1)
    if watch then self:came(watch, "fired", values, true) end
    return watch ~= nil
  end

  function methods:destroySignal(signal)
    local was = not signal.closed
    signal.closed = true
    while signal.watchers[1] do self:came(table.remove(signal.watchers, 1), "closed") end
    return was
  end

  ---The turns that a task was given and has not taken go to who waits next.
  function methods:giveBack(entries)
    for _, entry in ipairs(entries or {}) do
      local next = entry.turn and table.remove(entry.signal.watchers, 1)
      entry.turn = nil
      if next then self:came(next, "fired", entry.values, true) end
    end
  end

  -- --- Waiting --------------------------------------------------------------------------------

  -- The entries of a list; and how many of them have not come.
  local function entriesOf(world, list)
    local entries, open = {}, 0
    for i, target in ipairs(list) do
      local state = target.isSignal and "open" or world:status(target)
      local over = not target.isSignal and (not target.alive or state == "expired")
      if target.isSignal then checkOpen(target) end
      entries[i] = { task = not target.isSignal and target or nil,
        signal = target.isSignal and target or nil, target = not over and target or nil,
        ended = over and state or nil }
      open = open + (over and 0 or 1)
    end
    return entries, open
  end

  local function checkRing(world, task, entries, needs)
    local stuck, free = world:stuckOn(task), 0
    for _, entry in ipairs(entries) do
      if entry.target == task then error(model.errors.self, 0) end
      if entry.target and not stuck[entry.target] then free = free + 1 end
    end
    if free < needs then error(model.errors.ring, 0) end
  end

  local function valuesOf(world, entry)
    if entry.task then return world:result(entry.task, entry.ended) end
    return entry.ended == "fired" and entry.values or { n = 2, nil, "closed" }
  end

  local function answer(world, entries, all)
    local out = {}
    for i, entry in ipairs(entries) do
      local packed = entry.ended and valuesOf(world, entry)
      if packed and not all then return i, packed end
      out[i] = packed
    end
    return out
  end

  local function waitForSeveral(world, list, timeout, all, one)
    local task = world.running
    local entries, open = entriesOf(world, list)
    local needs = all and open or (open == #list and 1 or 0)
    checkRing(world, task, entries, needs)
    if needs == 0 then return answer(world, entries, all) end
    world:wait(task, function()
      task.several, task.needs, task.timedOut, task.one = entries, needs, false, one
      for i, entry in ipairs(entries) do
        local watchers = entry.target and entry.target.watchers
        if watchers then watchers[#watchers + 1] = { waiter = task, place = i } end
      end
      if timeout then world:sleep(task, model.nanoseconds(timeout), world.sleepers) end
    end)
    if task.timedOut then return nil, "timeout" end
    return answer(world, entries, all)
  end

  ---Its place and what join or waitFor gives of it, packed; or nil and "timeout".
  function methods:any(list, timeout) return waitForSeveral(self, list, timeout, false) end

  ---What join or waitFor gives of each, packed.
  function methods:all(list, timeout) return waitForSeveral(self, list, timeout, true) end

  ---The values, packed.
  function methods:waitFor(signal, timeout)
    local place, reason = waitForSeveral(self, { signal }, timeout, false, true)
    return place and reason or { n = 2, nil, reason }
  end
end
