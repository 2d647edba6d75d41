-- SPDX-License-Identifier: MIT
--
-- What only a routine's body does: waits, what catches errors, cleanups.

-- What bodies raise: one value for each number, the same for both tellers.
local errors = {}
for n = 0, 8 do
  errors[n] = setmetatable({}, { __tostring = function() return "E" .. n end })
end

-- What a random program may do wrong.
local REFUSED = {
  ["<ring>"] = true, ["<joins itself>"] = true, ["<the signal is destroyed>"] = true,
}

return function(act, number)
  for _, op in ipairs { "wait", "waitUnscaled" } do
    act[op] = function(self, who, s)
      self:say(who, "%s %s", op, number(s.seconds))
      self:say(who, "slept %s", number(self.api[op](s.seconds)))
    end
  end

  function act.nextTick(self, who)
    self:say(who, "nextTick")
    self:say(who, "passed %s", number(self.api.nextTick()))
  end

  function act.bare(self, who)
    self:say(who, "yield")
    self.api.bare()
    self:say(who, "after the yield")
  end

  function act.waitUntil(self, who, s)
    local calls = 0
    local met, reason = self.api.waitUntil(function()
      calls = calls + 1
      self:say(who, "asked %d", calls)
      self:run(who, s.body)
      return calls >= s.calls
    end, s.timeout)
    self:say(who, "until %s %s", tostring(met), tostring(reason))
  end

  -- Calls what may be misused by a random program; what that raises is told, the rest goes on.
  local function trying(self, who, fn)
    local ok, err = self.api.pcall(fn)
    if ok then return true end
    local text = self:value(err)
    if not REFUSED[text] then error(err, 0) end
    self:say(who, "refused: %s", text)
    return false
  end

  function act.join(self, who, s)
    local target, got = self:task(s.who), nil
    if not target then return end
    self:say(who, "join %s", self.index[target])
    if trying(self, who, function() got = self.api.join(target, s.timeout) end) then
      self:say(who, "joined %s", self:packed(got))
    end
  end

  local function listOf(self, numbers)
    local list = {}
    for i, n in ipairs(numbers) do list[i] = n < 0 and self:signal(-n) or self:task(n) end
    return list
  end

  function act.waitFor(self, who, s)
    local got
    self:say(who, "waits for a signal")
    local function wait() got = self.api.waitFor(self:signal(s.signal), s.timeout) end
    if trying(self, who, wait) then self:say(who, "heard %s", self:packed(got)) end
  end

  function act.any(self, who, s)
    local list, place, got = listOf(self, s.list), nil, nil
    if #list == 0 then return end
    if trying(self, who, function() place, got = self.api.any(list, s.timeout) end) then
      self:say(who, "any %s %s", tostring(place), place and self:packed(got) or tostring(got))
    end
  end

  function act.all(self, who, s)
    local list, got, reason = listOf(self, s.list), nil, nil
    local answered = trying(self, who, function() got, reason = self.api.all(list, s.timeout) end)
    if not answered then return end
    if not got then return self:say(who, "all %s", reason) end
    local out = {}
    for i = 1, #list do out[i] = self:packed(got[i]) end
    self:say(who, "all %s", table.concat(out, ", "))
  end

  function act.every(self, who, s)
    local turns = 0
    for n in self.api.every(s.seconds, s.count) do
      self:say(who, "turn %s", number(n))
      self:run(who, s.body)
      turns = turns + 1
      if turns == s.turns then break end
    end
    self:say(who, "no more turns")
  end

  function act.slice(self, who, s)
    local step = self.api.slice(s.count)
    for turn = 1, s.turns do
      step()
      self:say(who, "step %d", turn)
    end
  end

  function act.through(self, who, s)
    self.api.ways[s.way](function() self:run(who, s.body) end)
    self:say(who, "through %s", s.way)
  end

  for _, op in ipairs { "pcall", "letThrough" } do
    act[op] = function(self, who, s)
      local ok, err = self.api[op](function() self:run(who, s.body) end)
      if not ok then self:say(who, "caught %s", self:value(err)) end
    end
  end

  function act.swallow(self, who, s)
    for _ = 1, s.turns do act.pcall(self, who, s) end
  end

  function act.loop(self, who, s)
    for _ = 1, s.turns do self:run(who, s.body) end
  end

  function act.shield(self, who, s)
    self.api.shield(function() self:run(who, s.body) end)
    self:say(who, "shield down")
  end

  -- It begins with children, by the bodies that they run; the rest may start others.
  function act.scope(self, who, s)
    self:say(who, "opens a scope")
    self.api.scope(function(scope)
      self.scopes[#self.scopes + 1] = scope
      for _, which in ipairs(s.children) do act.startChild(self, who, which, scope) end
      self:run(who, s.body)
      self:say(who, "waits for its children")
    end)
    self:say(who, "the scope is over")
  end

  function act.guard(self, who, s)
    self.api.guard(function() self:run(who, s.body) end, function()
      self:say(who, "closing")
      self:run(who, s.cleanup)
    end)
  end

  function act.defer(self, who, s)
    self.api.defer(function()
      self:say(who, "cleanup")
      self:run(who, s.body)
      self:say(who, "clean")
    end)
  end

  function act.isCancelled(self, who)
    local asked, reason = self.api.isCancelled()
    self:say(who, "asked to stop: %s %s", tostring(asked), self:value(reason))
  end

  function act.owned(self, who)
    local owner = self.api.owner()
    self:say(who, "owner %s", tostring(owner and self.ownerIndex[owner]))
  end

  function act.cancelSelf(self, who)
    self:say(who, "cancels itself %s", tostring(self.api.cancel(self.api.selfTask())))
  end

  function act.raise(self, who, s)
    self:say(who, "raises E%d", s.error)
    error(errors[s.error], 0)
  end
end
