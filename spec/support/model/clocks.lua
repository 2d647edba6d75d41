-- SPDX-License-Identifier: MIT
--
-- Time: whole nanoseconds, the rest of each dt carried on. An owner has a clock of its own once a
-- scale was set for it or above it; it is moved along with sim time, tick by tick. The scales of
-- the specs are sums of few powers of two, so that these clocks are exact in doubles.

local SLACK = 999 -- what is less than a microsecond ahead is due

return function(model)
  local methods = model.methods

  local function advance(now, rest, seconds)
    local ns = seconds * 1e9 + rest
    local whole = math.floor(ns)
    return now + whole, ns - whole
  end

  function model.nanoseconds(seconds)
    return math.floor(seconds * 1e9 + 0.5)
  end

  ---Moves all clocks by one tick; those of sim time unless `paused`.
  function methods:advance(dt, paused)
    local before = self.simNow
    if not paused then
      self.simNow, self.simRest = advance(self.simNow, self.simRest, dt * self.timeScale)
    end
    self.realNow, self.realRest = advance(self.realNow, self.realRest, dt)
    for _, owner in ipairs(self.owners) do
      if owner.scaled then owner.time = owner.time + (self.simNow - before) * self:rate(owner) end
    end
  end

  ---How fast an owner's clock runs in sim time.
  function methods.rate(_, owner)
    local rate = 1
    while owner do
      rate, owner = rate * owner.scale, owner.parent
    end
    return rate
  end

  ---The sim clock of an owner, exactly.
  function methods:ownerTime(owner)
    return owner and owner.scaled and owner.time or self.simNow
  end

  ---The clock that the sim waits of a task run on, in whole nanoseconds.
  function methods:now(task)
    return math.floor(self:ownerTime(task.owner))
  end

  ---The sim time at which a task's own clock shows its deadline; what is due already is due now,
  ---also on a clock that stands still.
  function methods:place(task)
    local owner = task.owner
    if not (owner and owner.scaled) then
      task.deadline = task.due
    elseif task.due - self:now(task) <= SLACK then
      task.deadline = self.simNow
    else
      local rate = self:rate(owner)
      task.deadline = rate == 0 and math.huge
        or self.simNow + math.ceil((task.due - owner.time) / rate)
    end
  end

  ---Gives the running task a deadline, `ns` ahead.
  function methods:sleep(task, ns, list)
    self.armed = self.armed + 1
    task.sequence = self.armed
    task.due = task.since + ns
    if list == self.sleepers then
      self:place(task)
    else
      task.deadline = task.due
    end
    list[#list + 1] = task
  end

  local function earlier(a, b)
    if a.deadline ~= b.deadline then return a.deadline < b.deadline end
    return a.sequence < b.sequence
  end

  ---Takes out of a list of sleepers what is due, in the order of deadlines, then of arming.
  function methods.takeDue(_, sleepers, now)
    local due = {}
    for i = #sleepers, 1, -1 do
      if sleepers[i].deadline <= now + SLACK then due[#due + 1] = table.remove(sleepers, i) end
    end
    table.sort(due, earlier)
    return due
  end

  ---Whether a time of a task's clock has come.
  function methods:isDue(task, time)
    return self:now(task) + SLACK >= time
  end

  ---How many of the times first, first + period and so on have come; the first has.
  function methods:turnsDue(task, first, period)
    return 1 + math.floor((self:now(task) + SLACK - first) / period)
  end

  ---Seconds since the last wait of a task began, on the clock of that wait.
  function methods:slept(task)
    return ((task.onRealTime and self.realNow or self:now(task)) - task.since) / 1e9
  end

  ---Seconds until its deadline; nil without one.
  function methods:wakesIn(task)
    if not task.deadline then return nil end
    local left
    if task.onRealTime then
      left = task.due - self.realNow
    elseif task.owner and task.owner.scaled then
      left = task.due - self:now(task)
    else
      left = task.due - self.simNow
    end
    return math.max(left, 0) / 1e9
  end
end
