-- SPDX-License-Identifier: MIT
--
-- Cancels. Who was asked to stop is told by its waits: first at once or in the next pass, then, if
-- it goes on waiting, once a tick; after eight times it is ended by force, where that can be done.

local MAX_SWALLOWED = 8

return function(model)
  local methods = model.methods

  local function isInLane(world, task)
    for _, list in ipairs { world.cancelled, world.pass.cancelled } do
      for _, other in ipairs(list) do
        if other == task then return true end
      end
    end
    return false
  end

  local function tellLater(world, task)
    task.state = "cancelling"
    world.cancelled[#world.cancelled + 1] = task
  end

  ---Ends the wait that it is in; one that runs is told by its next.
  function methods:tell(task)
    if task == self.running then
      task.state = "cancelling"
    elseif not isInLane(self, task) then
      local entries = task.several or task.given
      self:detach(task)
      task.given = nil
      tellLater(self, task)
      self:giveBack(entries)
    end
  end

  ---One that was told already, and waited for a child, is told of its end: in the same pass, as
  ---long as that is still about cancels or about who is due in real time.
  function methods:tellAgain(task)
    self:detach(task)
    task.state = "cancelling"
    local list = self.early and self.pass.cancelled or self.cancelled
    list[#list + 1] = task
  end

  ---The children of a scope are told so, and all tasks by their cancels.
  function methods:tellToStop(task)
    if not task.alive then return end
    local again = task.asked and task.shields == 0
    task.asked = true
    if not self.force and (task.shields > 0 or again) then return end
    if task.entered then return self:tell(task) end
    self:detach(task)
    self:finish(task, "cancelled")
  end

  ---True if the task was alive.
  function methods:cancel(task, reason)
    if not task.alive or task.expired or self.closed then return false end
    if task.entered and not task.asked then task.reason = reason end
    self:cancelScopes(task)
    self:tellToStop(task)
    return true
  end

  ---What its owner or the world does; a shield around a scope holds that back for the children.
  function methods:cancelFromAbove(task)
    if not task.sheltered or self.force then self:tellToStop(task) end
  end

  ---What a wait meets that begins now: "wait", or that it is told to stop: "raise" at once, in the
  ---next pass ("again"), or by an end by "force".
  local function meet(world, task)
    if not world:isTold(task) then return "wait" end
    if task.raises == 0 then
      task.raises = 1
      return "raise"
    end
    if world.force or task.raises >= MAX_SWALLOWED then
      task.raises = 0 -- its cleanups count anew
      return "force"
    end
    return "again"
  end

  -- Under C frames nobody can be ended: it is told of once, and goes on.
  local function force(world, task, bare)
    if task.pins == 0 or bare then
      world:endByForce(task, bare and model.errors.forcedYield or model.errors.forced)
    end
    task.raises = MAX_SWALLOWED
    if not task.reportedStuck then
      task.reportedStuck = true
      world:report(task, model.errors.stuck)
    end
  end

  function methods:beginWait(task)
    task.onRealTime, task.since = false, self:now(task)
    task.state, task.pinned = "sleeping", task.pins > 0
  end

  ---Waits, by what `arm` sets up, until the world resumes the task. Raises what a cancel raises.
  ---`bare` is a coroutine.yield of the script's, where nothing can be raised.
  function methods:wait(task, arm, bare)
    local met = meet(self, task)
    if met == "raise" and bare then met = "force" end
    if met == "raise" then error(model.errors.Cancelled, 0) end
    if met == "force" then force(self, task, bare) end
    self:beginWait(task)
    if met == "wait" then arm() else tellLater(self, task) end
    if coroutine.yield() ~= "cancelled" then return end
    task.raises = task.raises + 1
    if bare then self:endByForce(task, model.errors.forcedYield) end
    error(model.errors.Cancelled, 0)
  end

  ---One more shield, or one less.
  function methods:shield(task, by)
    task.shields = task.shields + by
    task.state = self:isAsked(task) and "cancelling" or "running"
  end
end
