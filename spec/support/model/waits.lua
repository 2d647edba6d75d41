-- SPDX-License-Identifier: MIT
--
-- The waits that a body may call; times in seconds.

return function(model)
  local methods, nanoseconds = model.methods, model.nanoseconds

  function methods:nextTick()
    local task = self.running
    self:wait(task, function() self.ready[#self.ready + 1] = task end)
    return self:slept(task)
  end

  function methods:bareYield()
    local task = self.running
    self:wait(task, function() self.ready[#self.ready + 1] = task end, true)
    return self:slept(task)
  end

  function methods:sleepFor(seconds)
    local task = self.running
    if nanoseconds(seconds) == 0 then return self:nextTick() end
    self:wait(task, function() self:sleep(task, nanoseconds(seconds), self.sleepers) end)
    return self:slept(task)
  end

  function methods:sleepUnscaled(seconds)
    local task = self.running
    self:wait(task, function()
      task.onRealTime, task.since = true, self.realNow
      self:sleep(task, nanoseconds(seconds), self.realSleepers)
    end)
    return self:slept(task)
  end

  -- --- Rings ----------------------------------------------------------------------------------

  -- Whether a task cannot end before one of `stuck` does.
  local function hangsOn(task, stuck)
    for _, scope in ipairs(task.scopes) do
      for _, child in ipairs(scope.children) do
        if stuck[child] then return true end
      end
    end
    if task.target then return stuck[task.target] end
    if not task.several then return false end
    local free = 0
    for _, entry in ipairs(task.several) do
      if entry.target and not stuck[entry.target] then free = free + 1 end
    end
    return free < task.needs
  end

  ---Everybody who cannot end before `task` does, itself included.
  function methods:stuckOn(task)
    local stuck, more = { [task] = true }, true
    while more do
      more = false
      for _, other in ipairs(self:living()) do
        if not stuck[other] and hangsOn(other, stuck) then stuck[other], more = true, true end
      end
    end
    return stuck
  end

  -- --- Join -----------------------------------------------------------------------------------

  ---What join gives, packed.
  function methods:join(target, timeout)
    local task = self.running
    local state = self:status(target)
    if state == "expired" or not target.alive then return self:result(target, state) end
    if target == task then error(model.errors.self, 0) end
    if self:stuckOn(task)[target] then error(model.errors.ring, 0) end
    self:wait(task, function()
      task.target, task.joined = target, nil
      target.joiners[#target.joiners + 1] = task
      if timeout then self:sleep(task, nanoseconds(timeout), self.sleepers) end
    end)
    if not task.joined then return { n = 2, nil, "timeout" } end
    return self:result(target, task.joined)
  end

  -- --- Loops over waits -----------------------------------------------------------------------

  function methods:waitUntil(pred, timeout)
    local task = self.running
    local deadline = timeout and self:now(task) + nanoseconds(timeout)
    if pred() then return true end
    repeat
      self:nextTick()
      if pred() then return true end
    until deadline and self:isDue(task, deadline)
    return false, "timeout"
  end

  ---Turns at k * period after the call; those that have come since the last turn count as one.
  function methods:every(seconds, count)
    local task, period = self.running, nanoseconds(seconds)
    local nextTurn, left, lastTick = self:now(task) + period, count or math.huge, self.tickCount
    return function()
      if left == 0 then return nil end
      while self.tickCount == lastTick or (period > 0 and not self:isDue(task, nextTurn)) do
        self:sleepFor(period > 0 and math.max(nextTurn - self:now(task), 0) / 1e9 or 0)
      end
      lastTick = self.tickCount
      local turns = period > 0 and self:turnsDue(task, nextTurn, period) or 1
      nextTurn = nextTurn + turns * period
      turns = math.min(turns, left)
      left = left - turns
      return turns
    end
  end

  ---`count` calls are free in each tick; the last of them waits for the next.
  function methods:slice(count)
    local used, tick = 0, self.tickCount
    return function()
      if tick ~= self.tickCount then used, tick = 0, self.tickCount end
      used = used + 1
      if used < count then return end
      self:nextTick()
      if tick ~= self.tickCount then used, tick = 0, self.tickCount end
    end
  end
end
