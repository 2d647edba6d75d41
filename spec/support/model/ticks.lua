-- SPDX-License-Identifier: MIT
--
-- The order of a tick; unload, configure and close.

local CLOSE_PASSES = 8

return function(model)
  local methods = model.methods

  ---A function of the script's that is no routine.
  function methods:callback(fn, ...)
    local ok, err = pcall(fn, ...)
    if not ok and err ~= model.errors.Cancelled then self:report(nil, err) end
  end

  -- --- Posts and systems ----------------------------------------------------------------------

  function methods:post(fn, priority)
    if self.closing then return nil, "closed" end
    local list = self.posts[priority]
    list[#list + 1] = fn
    return true
  end

  local function runPosts(world)
    local budget = world.postsPerTick
    local counts = { high = #world.posts.high, normal = #world.posts.normal }
    for _, priority in ipairs { "high", "normal" } do
      for _ = 1, math.min(counts[priority], budget) do
        budget = budget - 1
        world:callback(table.remove(world.posts[priority], 1))
      end
    end
  end

  ---Gives a function that ends it.
  function methods:on(phase, fn)
    local list, entry = self.systems[phase], { fn = fn, on = true }
    list[#list + 1] = entry
    return function()
      local was = entry.on
      entry.on = false
      return was
    end
  end

  local function runSystems(world, phase, dt)
    local list = world.systems[phase]
    for i = 1, #list do
      if list[i].on then world:callback(list[i].fn, dt) end
    end
    for i = #list, 1, -1 do
      if not list[i].on then table.remove(list, i) end
    end
  end

  -- --- The pass -------------------------------------------------------------------------------

  local function append(list, more)
    for _, value in ipairs(more) do list[#list + 1] = value end
    return list
  end

  local function wake(world, task)
    task.timedOut = task.several ~= nil
    world:leaveJoins(task)
    task.deadline, task.state = nil, "queued"
  end

  local function beginPass(world, paused)
    local pass = { cancelled = world.cancelled, urgent = world.urgent, ready = {} }
    local due = world:takeDue(world.realSleepers, world.realNow)
    append(pass.urgent, due)
    if not paused then
      local dueSim = world:takeDue(world.sleepers, world.simNow)
      pass.ready = append(world.ready, dueSim)
      append(due, dueSim)
      world.ready = {}
    end
    world.cancelled, world.urgent, world.pass = {}, {}, pass
    local lost = {}
    for _, task in ipairs(due) do
      lost[#lost + 1] = task.several
      wake(world, task)
    end
    for _, entries in ipairs(lost) do world:giveBack(entries) end
    if not paused then
      append(pass.ready, world.ready)
      world.ready = {}
    end
  end

  local function tellCancelled(world)
    local list = world.pass.cancelled
    while list[1] do world:resume(table.remove(list, 1), true) end
  end

  local function setOf(list)
    local set = {}
    for _, task in ipairs(list) do set[task] = true end
    return set
  end

  -- What the budget left over stays first in line: of both lanes in turns, if there is some of the
  -- ready one and anything of the other.
  local function runLeftOver(world, budget)
    local pass, left = world.pass, world.leftOver
    local function first(list) return list[1] and left[list[1]] and list end
    if not (first(pass.ready) and pass.urgent[1]) then return budget end
    while budget > 0 do
      local urgent, ready = first(pass.urgent), first(pass.ready)
      local list = world.readyTurn and ready or urgent or ready
      if not list then break end
      world.readyTurn = list == urgent
      budget = budget - 1
      world:resume(table.remove(list, 1))
      tellCancelled(world)
    end
    return budget
  end

  local function runPass(world)
    local pass = world.pass
    world.early = true
    tellCancelled(world)
    local budget = runLeftOver(world, world.resumesPerTick)
    for _, list in ipairs { pass.urgent, pass.ready } do
      while list[1] and budget > 0 do
        budget = budget - 1
        world:resume(table.remove(list, 1))
        tellCancelled(world)
      end
      world.early = world.early and budget == 0
    end
    world.early = false
    world.leftOver = setOf(append(append({}, pass.urgent), pass.ready))
    world.urgent = append(pass.urgent, world.urgent)
    world.ready = append(pass.ready, world.ready)
    world.pass = { cancelled = {}, urgent = {}, ready = {} }
  end

  function methods:tick(dt)
    local before, paused = self.counts.resumed, self.paused
    self:advance(dt, paused)
    self.tickCount = self.tickCount + 1
    runPosts(self)
    runSystems(self, "preUpdate", dt)
    runSystems(self, "update", dt)
    beginPass(self, paused)
    runPass(self)
    runSystems(self, "postUpdate", dt)
    return self.counts.resumed - before
  end

  -- --- Ends -----------------------------------------------------------------------------------

  local function drain(world, passes)
    for pass = 1, passes do
      if #world:living() == 0 then break end
      world.force = pass == passes
      for _, task in ipairs(world:living()) do world:cancelFromAbove(task) end
      world.pass.cancelled, world.cancelled = world.cancelled, {}
      world.early = true
      tellCancelled(world)
      world.early = false
    end
    world.force = false
    return world:living()
  end

  ---Whether nobody is left, and who is.
  function methods:unload(passes)
    local left = drain(self, passes)
    return #left == 0, left
  end

  function methods:configure(options)
    if #self:living() > 0 then error(model.errors.alive, 0) end
    for name, value in pairs(options) do self[name] = value end
    self.slots, self.free = {}, {}
  end

  function methods:close()
    if self.closed then return end
    self.closing = true
    self:destroyAll()
    for _, task in ipairs(drain(self, CLOSE_PASSES)) do self:report(task, model.errors.left) end
    self.closed = true
  end
end
