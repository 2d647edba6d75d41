-- SPDX-License-Identifier: MIT
--
-- A body from its first resume to its last cleanup, and what catches errors on the way.
--
-- `task.pins` counts the C functions that stand between the running code and the base of its
-- routine; a catcher is what an error may be caught by: a pcall, a shield, a coroutine.wrap.

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function pack(...)
  return { n = select("#", ...), ... }
end

return function(model)
  local methods = model.methods

  -- An end by force passes every catcher: {force = true, left = an error of a cleanup}.
  local function isForce(err)
    return type(err) == "table" and rawget(err, "force") ~= nil
  end

  ---Ends what the running task runs, its body or a cleanup. A task is told of so once: at its end
  ---if that made it a cancelled one, else at once.
  function methods:endByForce(task, text)
    task.outcome = task.outcome or "cancelled"
    if not task.wasForced then
      task.wasForced = true
      if task.outcome == "cancelled" then
        task.forced = text
      else
        self:report(task, text)
      end
    end
    self:shield(task, -task.shields)
    error({ force = true }, 0)
  end

  -- --- Bodies ---------------------------------------------------------------------------------

  -- What an error means for the routine.
  local function note(world, task, err)
    if err == model.errors.Cancelled then
      task.outcome = task.outcome or "cancelled"
    elseif task.outcome == "failed" then
      world:report(task, err) -- the first error is the routine's, this one is told apart
    else
      if task.forced then world:report(task, task.forced) end
      task.outcome, task.err, task.forced = "failed", err, nil
    end
  end

  local function ended(world, task, err)
    if not isForce(err) then
      if not rawequal(err, task.noted) then note(world, task, err) end
      return
    end
    if err.left ~= nil then note(world, task, err.left) end
  end

  -- The body, or a cleanup that was deferred.
  local function phase(world, task, fn, isBody)
    task.pins, task.unwind, task.catchers = 0, 1, 0
    task.noted, task.closing = nil, false
    local out = pack(pcall(fn))
    if not out[1] then
      ended(world, task, out[2])
    elseif isBody then
      task.outcome = "completed"
      task.results = { n = out.n - 1, unpack(out, 2, out.n) }
    end
    world:abandonScopes(task)
  end

  function methods:newLife(task, fn, ...)
    local args = pack(...)
    task.defers = {}
    return coroutine.create(function()
      phase(self, task, function() return fn(unpack(args, 1, args.n)) end, true)
      while task.defers[1] do phase(self, task, table.remove(task.defers), false) end
    end)
  end

  ---Lets a task run until it waits or has ended.
  function methods:resume(task, told)
    self.running = task
    task.entered, task.resumes, task.given = true, task.resumes + 1, nil
    task.state = self:isAsked(task) and "cancelling" or "running"
    self.counts.resumed = self.counts.resumed + 1
    local ok, err = coroutine.resume(task.thread, told and "cancelled")
    self.running = nil
    if not ok then error("the model is wrong: " .. tostring(err), 0) end
    if coroutine.status(task.thread) ~= "dead" then return end
    local joined = task.joiners[1] or task.watchers[1] or task.scope
    self:finish(task, task.outcome)
    if task.forced then self:report(task, task.forced) end
    if task.outcome == "failed" and not joined then self:report(task, task.err) end
    self:tellOwners()
  end

  function methods:defer(fn)
    local task = self.running
    task.defers[#task.defers + 1] = fn
  end

  -- --- Catchers -------------------------------------------------------------------------------

  -- Calls `fn` below a catcher that stands under `pins` C functions.
  local function catch(task, pins, fn)
    local before, unwind, catchers = task.pins, task.unwind, task.catchers
    task.unwind, task.catchers = pins, catchers + 1
    local ok, err = pcall(fn)
    task.pins, task.unwind, task.catchers = before, unwind, catchers
    return ok, err
  end

  model.catch, model.isForce = catch, isForce

  ---Lua's pcall, which cannot catch an end by force.
  function methods:pcall(fn)
    local ok, err = catch(self.running, self.running.pins, fn)
    if not ok and isForce(err) then error(err, 0) end
    return ok, err
  end

  ---The same, with Cancelled let through.
  function methods:letThrough(fn)
    local ok, err = self:pcall(fn)
    if not ok and err == model.errors.Cancelled then error(err, 0) end
    return ok, err
  end

  function methods:shielded(fn)
    local task = self.running
    self:shield(task, 1)
    local ok, err = catch(task, task.pins, fn)
    if not isForce(err) then self:shield(task, -1) end
    if not ok then error(err, 0) end
  end

  ---Calls `fn` under a C function that cannot be left by a yield.
  function methods:underC(fn)
    local task = self.running
    task.pins = task.pins + 1
    fn()
    task.pins = task.pins - 1
  end

  ---Calls `fn` in a coroutine of its own, by coroutine.wrap.
  function methods:wrapped(fn)
    local task = self.running
    local ok, err = catch(task, task.pins + 1, function()
      task.pins = task.pins + 1
      fn()
    end)
    if not ok then error(err, 0) end
  end

  -- --- To-be-closed variables -----------------------------------------------------------------

  -- An error is on its way: the frames up to its catcher are gone already, and without a catcher
  -- the coroutine is being closed, which is a C function.
  local function unwinding(world, task, err)
    if isForce(err) then
      task.pins, task.unwind, task.catchers, task.closing = 1, 1, 0, true
      return
    end
    task.pins = task.unwind
    if task.catchers == 0 and not task.closing then
      task.closing, task.noted = true, err
      note(world, task, err)
    end
  end

  ---Calls `fn()` with a to-be-closed variable that runs `cleanup`.
  function methods:guard(fn, cleanup)
    local task = self.running
    local ok, err = pcall(fn)
    if not ok then unwinding(self, task, err) end
    local fine, second = pcall(cleanup)
    if not fine then
      if ok or not isForce(err) or isForce(second) then error(second, 0) end
      err.left = second
    end
    if not ok then error(err, 0) end
  end
end
