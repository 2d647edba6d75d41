-- SPDX-License-Identifier: MIT
--
-- Cancels. Who was asked to stop is told by its waits: first at once or in the next pass, then, if
-- it goes on waiting, once a tick; after eight times it is ended by force, where that can be done.

local MAX_SWALLOWED = 8

return function(model)
  local methods = model.methods

  local function tellLater(world, task)
    task.state = "cancelling"
    world.cancelled[#world.cancelled + 1] = task
  end

  local function isTold(world, task)
    for _, list in ipairs { world.cancelled, world.pass.cancelled } do
      for _, other in ipairs(list) do
        if other == task then return true end
      end
    end
    return false
  end

  ---True if the task was alive.
  function methods:cancel(task, reason)
    if not task.alive or task.expired or self.closed then return false end
    local first = not task.asked
    if first and task.entered then task.reason = reason end
    task.asked = true
    if task.shields > 0 and not self.force then return true end
    if not first and (task.shields == 0 or isTold(self, task)) then return true end
    if task == self.running then
      task.state = "cancelling"
      return true
    end
    local entries = task.several or task.given
    self:detach(task)
    task.given = nil
    if task.entered then
      tellLater(self, task)
    else
      self:finish(task, "cancelled")
    end
    self:giveBack(entries)
    return true
  end

  ---What a wait meets that begins now: "wait", or that it is told to stop: "raise" at once, in the
  ---next pass ("again"), or by an end by "force".
  local function meet(world, task)
    if not task.asked or (task.shields > 0 and not world.force) then return "wait" end
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
    if not task.reportedStuck then
      task.reportedStuck = true
      world:report(task, model.errors.stuck)
    end
  end

  ---Waits, by what `arm` sets up, until the world resumes the task. Raises what a cancel raises.
  ---`bare` is a coroutine.yield of the script's, where nothing can be raised.
  function methods:wait(task, arm, bare)
    local met = meet(self, task)
    if met == "raise" and bare then met = "force" end
    if met == "raise" then error(model.errors.Cancelled, 0) end
    if met == "force" then force(self, task, bare) end
    task.onRealTime, task.since = false, self:now(task)
    task.state = "sleeping"
    if met == "wait" then arm() else tellLater(self, task) end
    task.pinned = task.pins > 0
    if coroutine.yield() ~= "cancelled" then return end
    task.raises = task.raises + 1
    if bare then self:endByForce(task, model.errors.forcedYield) end
    error(model.errors.Cancelled, 0)
  end

  ---One more shield, or one less.
  function methods.shield(_, task, by)
    task.shields = task.shields + by
    task.state = task.asked and "cancelling" or "running"
  end
end
