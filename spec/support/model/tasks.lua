-- SPDX-License-Identifier: MIT
--
-- Tasks: starting, ending, waking those that wait for it, slots, and the numbers about them.

return function(model)
  local methods = model.methods

  local function takeSlot(world)
    if #world.slots < world.capacity then return #world.slots + 1 end
    return table.remove(world.free, 1)
  end

  local function refusal(owner)
    if owner and owner.destroyed then return "destroyed" end
    while owner do
      if owner.disabled then return "disabled" end
      owner = owner.parent
    end
  end

  ---A task, or nil and why not. `fn(...)` is its body.
  function methods:start(owner, fn, ...)
    if self.closing then return nil, "closed" end
    local reason = refusal(owner)
    if reason then return nil, reason end
    local slot = takeSlot(self)
    if not slot then
      self.counts.rejected = self.counts.rejected + 1
      return nil, "capacity"
    end
    self.counts.started = self.counts.started + 1
    local task = {
      state = "queued", alive = true, entered = false, resumes = 0, owner = owner, slot = slot,
      asked = false, raises = 0, shields = 0, pinned = false, scopes = {},
      joiners = {},  -- who joins it, in that order
      watchers = {}, -- who waits for it among several: {waiter=, place= in its list}
    }
    task.thread = self:newLife(task, fn, ...)
    if self.slots[slot] then self.slots[slot].expired = true end
    self.slots[slot] = task
    self.ready[#self.ready + 1] = task
    if owner then owner.tasks[#owner.tasks + 1] = task end
    return task
  end

  ---Takes a task out of all that it waits in.
  function methods:detach(task)
    local pass = self.pass
    for _, list in ipairs { self.ready, self.urgent, self.sleepers, self.realSleepers, pass.ready,
      pass.urgent } do
      model.remove(list, task)
    end
    self:leaveJoins(task)
    task.deadline = nil
  end

  ---Lets go of those that it waits for.
  function methods.leaveJoins(_, task)
    if task.target then model.remove(task.target.joiners, task) end
    for _, entry in ipairs(task.several or {}) do
      local watchers = entry.target and entry.target.watchers or {}
      for i = #watchers, 1, -1 do
        if watchers[i].waiter == task then table.remove(watchers, i) end
      end
    end
    task.target, task.several, task.one = nil, nil, nil
  end

  function methods:makeReady(task)
    self:detach(task)
    task.state = "queued"
    self.ready[#self.ready + 1] = task
  end

  ---It has ended: those that join it are made ready, then those that wait for several.
  function methods:finish(task, state)
    task.state, task.alive, task.pinned = state, false, false
    self.counts[state] = self.counts[state] + 1
    while task.joiners[1] do
      local joiner = task.joiners[1]
      joiner.joined = state
      if self:isTold(joiner) then
        self:tellAgain(joiner)
      else
        self:makeReady(joiner)
      end
    end
    while task.watchers[1] do self:came(table.remove(task.watchers, 1), state) end
    if task.owner then self:lostOne(task.owner, task) end
    self:childEnded(task)
    self.free[#self.free + 1] = task.slot
  end

  ---As a script sees it.
  function methods:status(task)
    if task.expired or (self.closed and task.alive) then return "expired" end
    return task.alive and task.asked and "cancelling" or task.state
  end

  ---What join gives of a task that ended in `state`.
  function methods.result(_, task, state)
    if state == "expired" then return { n = 2, nil, "expired" } end
    if state == "completed" then
      local out = { n = task.results.n + 1, true }
      for i = 1, task.results.n do out[i + 1] = task.results[i] end
      return out
    end
    return { n = 2, false, state == "cancelled" and model.errors.Cancelled or task.err }
  end

  function methods:living()
    local list = {}
    for _, task in ipairs(self.slots) do
      if task.alive then list[#list + 1] = task end
    end
    return list
  end

  function methods:stats()
    local out = { active = 0, sleeping = 0, ready = 0, pinned = 0, capacity = self.capacity,
      posts = #self.posts.high + #self.posts.normal }
    for name, count in pairs(self.counts) do out[name] = count end
    for _, task in ipairs(self:living()) do
      out.active = out.active + 1
      if task.state == "sleeping" then out.sleeping = out.sleeping + 1 end
      if task.state == "queued" then out.ready = out.ready + 1 end
      if task.pinned then out.pinned = out.pinned + 1 end
    end
    return out
  end

  local function waitingOn(world, task)
    if not task.entered then return "start" end
    if task.one then return "signal" end
    if task.target or task.several then return "routine" end
    if task.deadline then return task.onRealTime and "realTime" or "time" end
    for _, other in ipairs(world.cancelled) do
      if other == task then return "cancel" end
    end
    return task.state == "sleeping" and "tick" or "turn"
  end

  ---Who is alive, in the order of slots. For between ticks.
  function methods:inspect()
    local list = {}
    for i, task in ipairs(self:living()) do
      list[i] = { id = task, status = self:status(task), waitingOn = waitingOn(self, task),
        wakesIn = self:wakesIn(task), owner = task.owner, resumes = task.resumes }
    end
    return list
  end
end
