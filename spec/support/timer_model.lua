-- SPDX-License-Identifier: MIT
--
-- A slow, obvious model of a world's timers: one list, sorted when a tick needs it. It says which
-- timer is called in which tick, in which order and with how many intervals; the specs hold the
-- real ones against it. Its times are whole milliseconds and its scales powers of two, so that
-- they are exact.

local model = {}
model.__index = model

function model.new()
  return setmetatable({
    sim = 0, real = 0, scale = 1, paused = false, tickCount = 0,
    timers = {}, posts = {}, systems = {}, sequence = 0, due = {},
  }, model)
end

-- --- Owners ---------------------------------------------------------------------------------

local owners = {}
owners.__index = owners

function model:owner(parent)
  local owner = setmetatable({ world = self, parent = parent, own = 1, alive = true,
    enabled = true, sim0 = self.sim, local0 = parent and parent:now() or self.sim,
    clocked = parent and parent.clocked or false, children = {} }, owners)
  if parent then parent.children[#parent.children + 1] = owner end
  return owner
end

function owners:rate()
  return self.own * (self.parent and self.parent:rate() or 1)
end

function owners:now()
  if not self.clocked then return self.world.sim end
  return self.local0 + (self.world.sim - self.sim0) * self.rate0
end

function owners:usable()
  if self.parent and not self.parent:usable() then return false end
  return self.alive and self.enabled
end

function owners:each(fn)
  fn(self)
  for _, child in ipairs(self.children) do child:each(fn) end
end

function owners:setScale(scale)
  self.own = scale
  self:each(function(owner)
    owner.local0, owner.sim0 = owner:now(), self.world.sim
    owner.rate0, owner.clocked = owner:rate(), true
  end)
  self:each(function(owner)
    for _, t in ipairs(self.world.timers) do
      if t.owner == owner and not t.unscaled and t.key then self.world:place(t) end
    end
  end)
end

function owners:cancelAll()
  self:each(function(owner)
    for _, t in ipairs(self.world:copy()) do
      if t.owner == owner then t:cancel() end
    end
  end)
end

-- --- Timers ---------------------------------------------------------------------------------

local timers = {}
timers.__index = timers

function model:copy()
  local list = {}
  for i, t in ipairs(self.timers) do list[i] = t end
  return list
end

function timers:now()
  if self.unscaled then return self.world.real end
  return self.owner and self.owner:now() or self.world.sim
end

-- When a timer comes, in the time of the world: for ever if its clock stands still.
function model:place(t)
  local now = t:now()
  local clock = not t.unscaled and t.owner and t.owner.clocked and t.owner
  if not clock then
    t.key = t.at
  elseif t.at <= now then
    t.key = self.sim
  else
    t.key = clock.rate0 == 0 and math.huge or self.sim + (t.at - now) / clock.rate0
  end
end

function model:start(fn, options)
  if options.owner and not options.owner:usable() then return nil end
  self.sequence = self.sequence + 1
  local t = setmetatable({ world = self, fn = fn, sequence = self.sequence, owner = options.owner,
    unscaled = options.unscaled, period = options.period, left = options.count,
    born = self.inTick and self.tickCount }, timers)
  t.at = t:now() + options.delay
  self:place(t)
  self.timers[#self.timers + 1] = t
  return t
end

function timers:cancel()
  for i, t in ipairs(self.world.timers) do
    if t == self then
      table.remove(self.world.timers, i)
      self.over = true
      return true
    end
  end
  return false
end

function timers:pause()
  if self.over or self.rest then return false end
  self.rest, self.key, self.isDue = self.at - self:now(), nil, false
  return true
end

function timers:resume()
  if self.over or not self.rest then return false end
  self.at, self.rest = self:now() + self.rest, nil
  self.world:place(self)
  return true
end

function timers:remaining()
  return self.over and 0 or math.max(0, self.rest or self.at - self:now())
end

function timers:fire()
  local now = self:now()
  local n = self.period > 0 and math.floor((now - self.at) / self.period) + 1 or 1
  self.at = self.period > 0 and self.at + n * self.period or now
  n = math.min(n, self.left)
  self.left, self.isDue = self.left - n, false
  if self.left > 0 then self.world:place(self) else self:cancel() end
  self.fn(n)
end

-- --- The tick -------------------------------------------------------------------------------

function model:collect(unscaled, now)
  local list = {}
  for _, t in ipairs(self.timers) do
    local isOld = t.born ~= self.tickCount
    if t.key and t.unscaled == unscaled and t.key <= now and isOld then list[#list + 1] = t end
  end
  table.sort(list, function(a, b)
    if a.key ~= b.key then return a.key < b.key end
    return a.sequence < b.sequence
  end)
  for _, t in ipairs(list) do
    t.isDue, t.key = true, nil
    self.due[#self.due + 1] = t
  end
end

function model:tick(ms)
  local paused = self.paused
  self.tickCount = self.tickCount + 1
  if not paused then self.sim = self.sim + ms * self.scale end
  self.real = self.real + ms
  self.inTick = true
  local posts = self.posts
  self.posts = {}
  for _, fn in ipairs(posts) do fn() end
  self.due = {}
  self:collect(true, self.real)
  if not paused then self:collect(false, self.sim) end
  for _, t in ipairs(self.due) do
    if t.isDue and not t.over then t:fire() end
  end
  for _, fn in ipairs(self.systems) do fn() end
  self.inTick = false
end

return model
