-- SPDX-License-Identifier: MIT
--
-- Scopes: children that end before the function that they were started in returns.
--
-- `task.scopes` are those that it has open, the innermost last; `task.scope` is the one that it was
-- started in. A scope that interrupts tells its host to stop while fewer shields are up than
-- there were when it began and one more.

return function(model)
  local methods = model.methods

  -- --- Who is told ----------------------------------------------------------------------------

  -- The innermost scope of a task that interrupts.
  local function interrupting(task)
    for i = #task.scopes, 1, -1 do
      if task.scopes[i].interrupts then return task.scopes[i] end
    end
  end

  ---Whether a task was asked to stop, be it by a scope of its own, and though shields are up.
  function methods.isAsked(_, task)
    return task.asked or interrupting(task) ~= nil
  end

  ---Whether its next wait tells it.
  function methods:isTold(task)
    local scope = interrupting(task)
    return task.asked and (task.shields == 0 or self.force)
      or scope ~= nil and scope.shields >= task.shields
  end

  -- --- Stopping -------------------------------------------------------------------------------

  local function stopsWithHost(scope)
    return scope.shields == 0 and not scope.stopped and scope.children[1] ~= nil
  end

  -- Cancels the children, and what they have in scopes of their own: the deepest first, so that
  -- those around find them ended.
  local function stop(world, first)
    if first.stopped then return end
    first.stopped = true
    local list, at = { first }, 1
    while list[at] do
      for _, child in ipairs(list[at].children) do
        for i = #child.scopes, 1, -1 do
          local own = child.scopes[i]
          if stopsWithHost(own) then
            own.stopped, own.cancelled = true, true
            list[#list + 1] = own
          end
        end
      end
      at = at + 1
    end
    for i = #list, 1, -1 do
      local children = {}
      for k, child in ipairs(list[i].children) do children[k] = child end
      for _, child in ipairs(children) do world:tellToStop(child) end
    end
  end

  ---A cancel of a task comes through to its scopes.
  function methods:cancelScopes(task)
    for i = #task.scopes, 1, -1 do
      local scope = task.scopes[i]
      if stopsWithHost(scope) then
        scope.cancelled = true
        stop(self, scope)
      end
    end
  end

  -- With all that its function has opened since, but for what stands within a shield.
  local function interrupt(world, scope)
    if not scope.inBody or scope.interrupts then return end
    local host = scope.host
    scope.interrupts = true
    if world:isTold(host) then world:tell(host) end
    for i = #host.scopes, 1, -1 do
      local inner = host.scopes[i]
      if inner == scope then break end
      if inner.shields <= scope.shields then
        inner.cancelled = true
        stop(world, inner)
      end
    end
  end

  local function stopInterrupting(world, scope)
    local host = scope.host
    if not scope.interrupts then return end
    local before = interrupting(host).shields
    scope.interrupts = false
    local left = interrupting(host)
    if left and left.shields >= before or world:isAsked(host) then return end
    host.state, host.raises = "running", 0 -- it was told of something that is over
  end

  -- --- Children -------------------------------------------------------------------------------

  ---A task, or nil and why not.
  function methods:startIn(scope, fn, ...)
    if scope.stopped or self.closed then return nil, "closed" end
    local task, reason = self:start(scope.host.owner, fn, ...)
    if not task then return nil, reason end
    scope.children[#scope.children + 1] = task
    task.scope, task.host = scope, scope.host
    task.sheltered = scope.shields > 0 or scope.host.sheltered
    return task
  end

  ---True if it was open.
  function methods:cancelScope(scope)
    if scope.over or self.closed then return false end
    scope.cancelled = true
    stop(self, scope)
    interrupt(self, scope)
    return true
  end

  ---A task has ended; its scope, if it is in one, fails with it.
  function methods:childEnded(task)
    local scope = task.scope
    if not scope then return end
    model.remove(scope.children, task)
    task.scope, task.host, task.sheltered = nil, nil, nil
    if task.state ~= "failed" then return end
    if not scope.failure then scope.failure, scope.failed, scope.err = "child", task, task.err end
    stop(self, scope)
    interrupt(self, scope)
  end

  -- The host cannot wait for them any more.
  local function leaveChildren(world, scope)
    stop(world, scope)
    for _, child in ipairs(scope.children) do
      child.scope, child.host, child.sheltered = nil, nil, nil
    end
    scope.children = {}
  end

  -- --- A scope from its beginning to its end --------------------------------------------------

  local function over(world, scope)
    stopInterrupting(world, scope)
    model.remove(scope.host.scopes, scope)
    scope.over, scope.stopped = true, true
  end

  ---What a task runs was ended by force: so are its scopes.
  function methods:abandonScopes(task)
    while task.scopes[1] do
      local scope = task.scopes[#task.scopes]
      leaveChildren(self, scope)
      over(self, scope)
      if scope.failure == "child" then self:report(scope.failed, scope.err) end
    end
  end

  -- Waits for the children, one after the other, whatever the host is told meanwhile.
  local function waitForChildren(world, task, scope)
    while true do
      local told = world:isTold(task)
      if told and scope.children[1] then
        scope.cancelled = true
        stop(world, scope)
      end
      if not scope.children[1] then return end
      if told and world.force then return leaveChildren(world, scope) end
      if told and task.raises > 0 then task.raises = task.raises - 1 end
      world:beginWait(task)
      task.target, task.joined = scope.children[1], nil
      local joiners = task.target.joiners
      joiners[#joiners + 1] = task
      if coroutine.yield() == "cancelled" then task.raises = task.raises + 1 end
    end
  end

  -- An error that comes after another is told apart.
  local function noteError(world, scope, err)
    if err == model.errors.Cancelled then
      scope.cancelled = true
    elseif scope.failure then
      world:report(scope.host, err)
    else
      scope.failure, scope.err = "body", err
    end
  end

  ---Calls `fn(scope)`.
  function methods:scoped(fn)
    local task = self.running
    local scope = { host = task, children = {}, shields = task.shields, inBody = true }
    task.scopes[#task.scopes + 1] = scope
    local ok, err = model.catch(task, task.pins, function() fn(scope) end)
    if not ok and model.isForce(err) then error(err, 0) end
    scope.inBody = false
    stopInterrupting(self, scope)
    if not ok then
      noteError(self, scope, err)
      stop(self, scope)
    end
    waitForChildren(self, task, scope)
    over(self, scope)
    if scope.failure then error(scope.err, 0) end
    if scope.cancelled then error(model.errors.Cancelled, 0) end
  end
end
