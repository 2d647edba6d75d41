-- SPDX-License-Identifier: MIT
--
-- A slow, obvious model of a world: plain lists, sorted when needed, plain coroutines. It says
-- in which order routines run; the specs hold the real scheduler against it. It knows no C, no
-- owners and no native stacks. Its times are whole milliseconds, so that they are exact.

local model = {}
model.__index = model

---The value that the model's waits raise in a cancelled routine.
model.Cancelled = setmetatable({}, { __tostring = function() return "model: cancelled" end })

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local MICROSECOND = 0.001

function model.new(options)
  return setmetatable({
    simTime = 0, realTime = 0, tickCount = 0, scale = 1, paused = false,
    limit = options.resumesPerTick or math.huge,
    queue = {},     -- the tick's, then what the budget left over: first in line
    ready = {},     -- started, or woken, in this order
    cancelled = {}, -- to be told so
    sim = {}, real = {}, sequence = 0,
  }, model)
end

local function remove(list, value)
  for i = 1, #list do
    if list[i] == value then return table.remove(list, i) end
  end
end

local function byDeadline(a, b)
  if a.deadline ~= b.deadline then return a.deadline < b.deadline end
  return a.sequence < b.sequence
end

function model:start(fn, ...)
  local task = { state = "queued", waiters = {}, args = { ... } }
  task.thread = coroutine.create(fn)
  self.ready[#self.ready + 1] = task
  return task
end

-- Takes a task out of all that it waits in.
function model:detach(task)
  for _, list in ipairs{ self.queue, self.ready, self.sim, self.real, self.cancelled } do
    remove(list, task)
  end
  if task.target then remove(task.target.waiters, task) end
  task.target = nil
end

local function ended(task)
  return task.state == "completed" or task.state == "failed" or task.state == "cancelled"
end

function model:finish(task, state)
  task.state = state
  for _, waiter in ipairs(task.waiters) do
    waiter.target = nil
    remove(self.sim, waiter)
    waiter.answer = "ended"
    self.ready[#self.ready + 1] = waiter
  end
  task.waiters = {}
end

function model:cancel(task)
  if ended(task) then return false end
  if task.asked then return true end
  task.asked = true
  if task == self.running then return true end
  self:detach(task)
  if task.state == "queued" and not task.entered then
    self:finish(task, "cancelled")
  else
    self.cancelled[#self.cancelled + 1] = task
  end
  return true
end

-- Whether `task` waits, through any number of joins, for `goal`.
local function waitsFor(task, goal)
  while task do
    if task == goal then return true end
    task = task.target
  end
  return false
end

-- What a routine asked for when it yielded; times in milliseconds.
local requests = {}

function requests:wait(task, seconds)
  if seconds == 0 then return requests.nextTick(self, task) end
  task.deadline = self.simTime + seconds
  self.sim[#self.sim + 1] = task
end

function requests:nextTick(task)
  self.ready[#self.ready + 1] = task
end

-- A bare coroutine.yield, at which a cancel cannot be raised.
function requests:bare(task)
  task.bare = true
  requests.nextTick(self, task)
end

-- The wait of a routine that swallowed its cancel: it is told again in the next tick.
function requests:again(task)
  self.cancelled[#self.cancelled + 1] = task
end

function requests:waitUnscaled(task, seconds)
  task.deadline = self.realTime + seconds
  self.real[#self.real + 1] = task
end

function requests:join(task, target, timeout)
  task.target = target
  target.waiters[#target.waiters + 1] = task
  if timeout then
    task.deadline = self.simTime + timeout
    self.sim[#self.sim + 1] = task
  end
end

function model:resume(task, ...)
  self.running, task.entered, task.state = task, true, "running"
  task.bare = false
  local ok, request, a, b = coroutine.resume(task.thread, ...)
  self.running = nil
  if coroutine.status(task.thread) == "dead" then
    local state = ok and "completed" or request == model.Cancelled and "cancelled" or "failed"
    return self:finish(task, state)
  end
  task.state = "sleeping"
  self.sequence = self.sequence + 1
  task.sequence = self.sequence
  requests[request](self, task, a, b)
end

-- Moves what is due from a list of sleepers to the end of `queue`.
local function moveDue(sleepers, now, queue)
  table.sort(sleepers, byDeadline)
  while sleepers[1] and sleepers[1].deadline < now + MICROSECOND do
    local task = table.remove(sleepers, 1)
    if task.target then
      remove(task.target.waiters, task)
      task.target, task.answer = nil, "timeout"
    end
    task.state = "queued"
    queue[#queue + 1] = task
  end
end

local function append(list, more)
  for _, value in ipairs(more) do list[#list + 1] = value end
end

-- Lists what may run in this tick, in its order; what the budget left over comes first. While
-- the world is paused that is what is due in real time; the others keep their places behind it.
function model:collect()
  local queue, kept = {}, self.queue
  moveDue(self.real, self.realTime, queue)
  if not self.paused then
    append(queue, kept)
    append(queue, self.ready)
    self.ready, kept = {}, {}
    moveDue(self.sim, self.simTime, queue)
  end
  for _, task in ipairs(queue) do task.turn = self.tickCount end
  append(queue, kept)
  self.queue = queue
end

function model:tick(dt)
  self.tickCount = self.tickCount + 1
  self.realTime = self.realTime + dt
  if not self.paused then self.simTime = self.simTime + dt * self.scale end
  local told, resumed = self.cancelled, 0
  self.cancelled = {}
  self:collect()
  for _, task in ipairs(told) do
    if task.bare then self:finish(task, "cancelled") else self:resume(task, "cancelled") end
    resumed = resumed + 1
  end
  local budget = self.limit
  while budget > 0 and self.queue[1] and self.queue[1].turn == self.tickCount do
    local task = table.remove(self.queue, 1)
    budget, resumed = budget - 1, resumed + 1
    if task.entered then self:resume(task) else self:resume(task, unpack(task.args)) end
  end
  return resumed
end

---The calls that a routine's body makes, as `weft.routine` has them.
function model:api()
  local world, api = self, { Cancelled = model.Cancelled }
  local function yield(...)
    local task = world.running
    task.answer = nil
    local told = task.asked and not task.raised
      or coroutine.yield(task.asked and "again" or ..., select(2, ...)) == "cancelled"
    if told then
      task.raised = true
      error(model.Cancelled, 0)
    end
    return task.answer
  end
  for name in pairs(requests) do
    api[name] = function(...) return yield(name, ...) end
  end
  function api.join(target, timeout)
    if ended(target) then return "ended" end
    if waitsFor(target, world.running) then error("ring", 0) end
    return yield("join", target, timeout)
  end
  function api.start(...) return world:start(...) end
  function api.cancel(task) return world:cancel(task) end
  function api.self() return world.running end
  function api.isCancelled() return world.running.asked end
  api.pinned = api.wait
  return api
end

return model
