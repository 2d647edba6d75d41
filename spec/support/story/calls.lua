-- SPDX-License-Identifier: MIT
--
-- What may be called from anywhere: starts, cancels, owners, posts, systems, the world's time.

local MAX_OWNERS, MAX_SYSTEMS = 24, 6

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

return function(act, number)
  local function start(self, who, which, owner, scope)
    local id = #self.tasks + 1
    if id > self.program.tasks then return end
    local body = self.program.bodies[1 + which % #self.program.bodies]
    local function fn(...)
      self:say(id, "begins %s", self:packed { n = select("#", ...), ... })
      self:run(id, body)
      self:say(id, "returns")
      return unpack({ id, nil, which }, 1, which % 4)
    end
    local task, reason
    if scope then
      task, reason = self.api.startIn(scope, fn, id, which)
    elseif owner then
      task, reason = self.api.startOwned(owner, fn, id, nil)
    else
      task, reason = self.api.start(fn, which)
    end
    if not task then return self:say(who, "start: %s", reason) end
    self.tasks[id], self.index[task] = task, id
    self:say(who, "starts %d", id)
  end

  function act.startChild(self, who, which, scope) start(self, who, which, nil, scope) end

  function act.start(self, who, s) start(self, who, s.which) end

  function act.startOwned(self, who, s)
    local owner = self:owner(s.owner)
    if owner then start(self, who, s.which, owner) end
  end

  function act.startIn(self, who, s)
    local scope = self:scope(s.scope)
    if scope then start(self, who, s.which, nil, scope) end
  end

  function act.cancelScope(self, who, s)
    local scope = self:scope(s.scope)
    if scope then self:say(who, "cancels a scope: %s", tostring(self.api.cancelScope(scope))) end
  end

  function act.cancel(self, who, s)
    local target = self:task(s.who)
    if not target then return end
    self:say(who, "cancels %d: %s", self.index[target],
      tostring(self.api.cancel(target, s.reason)))
  end

  function act.status(self, who, s)
    local target = self:task(s.who)
    if target then self:say(who, "%d is %s", self.index[target], self.api.status(target)) end
  end

  function act.newOwner(self, who, s)
    local id = #self.owners + 1
    if id > MAX_OWNERS then return end
    local owner, reason = self.api.newOwner(s.parent and self:owner(s.parent))
    if not owner then return self:say(who, "no owner: %s", reason) end
    self.owners[id], self.ownerIndex[owner] = owner, id
  end

  for _, op in ipairs { "disable", "enable", "destroy" } do
    act[op] = function(self, who, s)
      local owner = self:owner(s.owner)
      if not owner then return end
      self:say(who, "%s %d", op, self.ownerIndex[owner])
      local changed = self.api[op](owner)
      self:say(who, "%s: %s, alive %s", op, tostring(changed), tostring(self.api.alive(owner)))
    end
  end

  function act.setOwnerScale(self, who, s)
    local owner = self:owner(s.owner)
    if not owner then return end
    local ok, reason = self.api.setOwnerScale(owner, s.scale)
    self:say(who, "scale of %d: %s %s", self.ownerIndex[owner], tostring(ok), tostring(reason))
  end

  function act.onDestroyed(self, who, s)
    local owner = self:owner(s.owner)
    if not owner then return end
    local id = self.ownerIndex[owner]
    self:say(who, "asks for the end of %d", id)
    self.api.onDestroyed(owner, function()
      self:say("end of " .. id, "called")
      self:run("end of " .. id, s.body)
    end)
  end

  function act.post(self, who, s)
    self.posts = self.posts + 1
    local id = "post " .. self.posts
    local ok, reason = self.api.post(function()
      self:say(id, "called")
      self:run(id, s.body)
    end, s.high and "high" or "normal")
    self:say(who, "%s: %s %s", id, tostring(ok), tostring(reason))
  end

  function act.system(self, who, s)
    local id = "system " .. #self.subs + 1
    if #self.subs >= MAX_SYSTEMS then return end
    self.subs[#self.subs + 1] = self.api.on(s.phase, function(dt)
      self:say(id, "dt %s", number(dt))
      self:run(id, s.body)
    end)
    self:say(who, "%s in %s", id, s.phase)
  end

  function act.systemOff(self, who, s)
    local off = self.subs[1 + s.which % math.max(#self.subs, 1)]
    if off then self:say(who, "off: %s", tostring(off())) end
  end

  -- Fires are numbered; a number and nothing are what comes.
  function act.fire(self, who, s)
    local signal = self:signal(s.signal)
    self.fires = self.fires + 1
    local _, waited = pcall(self.api[s.one and "fireOne" or "fire"], signal, self.fires, nil)
    self:say(who, "fires %d: %s, %d wait", self.fires, self:value(waited),
      self.api.waiting(signal))
  end

  -- Another takes its place.
  function act.destroySignal(self, who, s)
    local place = 1 + s.signal % #self.signals
    local old = self.signals[place]
    self:say(who, "destroys a signal: %s", tostring(self.api.destroySignal(old)))
    self.signals[place] = s.replaced and self.api.newSignal() or old
  end

  function act.setPaused(self, _, s) self.api.setPaused(s.on) end
  function act.setTimeScale(self, _, s) self.api.setTimeScale(s.scale) end
end
