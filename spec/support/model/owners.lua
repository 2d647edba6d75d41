-- SPDX-License-Identifier: MIT
--
-- Owners: a tree, who is disabled or destroyed, and who is told when nothing is left.

return function(model)
  local methods = model.methods

  function methods:newOwner(parent)
    if self.closing then return nil, "closed" end
    if parent and parent.destroyed then return nil, "destroyed" end
    local owner = {
      parent = parent, children = {}, tasks = {}, callbacks = {},
      scale = 1, scaled = parent and parent.scaled or false,
      time = math.floor(self:ownerTime(parent)), -- it begins with what its parent's clock shows
      disabled = false, destroyed = false, over = false,
    }
    self.owners[#self.owners + 1] = owner
    if parent then parent.children[#parent.children + 1] = owner end
    return owner
  end

  -- It and all below it, parents first, children in the order in which they were made.
  local function family(owner, list)
    list = list or {}
    list[#list + 1] = owner
    for _, child in ipairs(owner.children) do family(child, list) end
    return list
  end

  local function cancelAll(world, owners)
    for _, owner in ipairs(owners) do
      local tasks = {}
      for i, task in ipairs(owner.tasks) do tasks[i] = task end
      for _, task in ipairs(tasks) do world:cancelFromAbove(task) end
    end
  end

  function methods:disable(owner)
    if self.closed or owner.disabled or owner.destroyed then return false end
    owner.disabled = true
    cancelAll(self, family(owner))
    return true
  end

  function methods:enable(owner)
    if self.closed or not owner.disabled or owner.destroyed then return false end
    owner.disabled = false
    return true
  end

  -- Whether nothing is left of a destroyed one; its children are let go of once they were told.
  local function checkOver(world, owner)
    if not owner.destroyed or owner.over or owner.tasks[1] or owner.children[1] then return end
    owner.over = true
    world.over[#world.over + 1] = owner
  end

  ---A task of it has ended.
  function methods:lostOne(owner, task)
    model.remove(owner.tasks, task)
    checkOver(self, owner)
  end

  local function markDestroyed(world, owner)
    local owners = family(owner)
    for _, each in ipairs(owners) do each.destroyed = true end
    for _, each in ipairs(owners) do checkOver(world, each) end
    cancelAll(world, owners)
  end

  -- Takes those that are over out of the tree; their functions are to be called.
  local function takeOver(world)
    while world.over[1] do
      local owner = table.remove(world.over, 1)
      model.remove(world.owners, owner)
      for _, fn in ipairs(owner.callbacks) do world.told[#world.told + 1] = fn end
      if owner.parent then
        model.remove(owner.parent.children, owner)
        checkOver(world, owner.parent)
      end
    end
  end

  ---Calls the functions of those that are over; one that destroys others gets theirs called, too.
  function methods:tellOwners()
    takeOver(self)
    while self.told[1] do self:callback(table.remove(self.told, 1)) end
  end

  function methods:destroy(owner)
    if self.closed or owner.destroyed then return false end
    markDestroyed(self, owner)
    self:tellOwners()
    return true
  end

  function methods:destroyAll()
    local i = 1
    while self.owners[i] do
      local owner = self.owners[i]
      if not owner.destroyed then markDestroyed(self, owner) end
      takeOver(self)
      i = self.owners[i] == owner and i + 1 or 1
    end
    self:tellOwners()
  end

  function methods:onDestroyed(owner, fn)
    if owner.over then
      self.told[#self.told + 1] = fn
      self:tellOwners()
    else
      owner.callbacks[#owner.callbacks + 1] = fn
    end
  end

  function methods:ownerAlive(owner)
    return not self.closed and not owner.destroyed
  end

  ---The clocks of it and of those below it go on from where they stand.
  function methods:setOwnerScale(owner, scale)
    if owner.destroyed then return nil, "destroyed" end
    local owners = family(owner)
    for _, each in ipairs(owners) do
      each.time, each.scaled = self:ownerTime(each), true
    end
    owner.scale = scale
    for _, each in ipairs(owners) do
      for _, task in ipairs(each.tasks) do
        if task.deadline and not task.onRealTime then self:place(task) end
      end
    end
    return true
  end
end
