-- SPDX-License-Identifier: MIT
--
-- A slow, obvious model of signals, channels and locks: lines of routines in waiting order, and for
-- each routine that waits the answer that it has been given. Routines and objects are numbers.

local routine = require "weft.routine"

local model = {}
model.__index = model

local function new()
  return setmetatable({ routines = {}, count = 0, signals = { {}, {} }, channels = {},
    mutex = {}, semaphore = {} }, model)
end

function model:add(i, _, capacity, permits)
  self.channels[i] = { capacity = capacity, queue = {}, getters = {}, putters = {} }
  self.mutex[i] = { free = 1, line = {}, holders = {} }
  self.semaphore[i] = { free = permits, line = {}, holders = {} }
end

function model:start(r)
  self.routines[r] = { alive = true }
  self.count = math.max(self.count, r)
end

-- --- Waits ----------------------------------------------------------------------------------

local function takeOut(line, r)
  for i, entry in ipairs(line) do
    if entry.r == r then return table.remove(line, i) end
  end
end

-- Routine r begins to wait in the lines, or is told at once that it was cancelled.
function model:wait(r, lines, limit, now, entry)
  local it = self.routines[r]
  it.wait = { lines = lines, deadline = limit and now + limit }
  for _, line in ipairs(lines) do
    line[#line + 1] = setmetatable({ r = r }, { __index = entry })
  end
end

function model:leave(r)
  for _, line in ipairs(self.routines[r].wait.lines) do
    while takeOut(line, r) do end
  end
end

-- Ends the wait of r with an answer; `giveBack` undoes it if r is cancelled before it runs.
function model:grant(r, answer, giveBack)
  self:leave(r)
  local wait = self.routines[r].wait
  wait.answer, wait.giveBack, wait.deadline = answer, giveBack, nil
end

-- The same without a wait.
function model:grantAtOnce(r, answer, taken)
  self.routines[r].wait = { lines = {}, answer = answer, taken = taken }
end

function model:nextTick(r)
  self:grantAtOnce(r, { true })
end

-- What the wait that is over must have given.
function model:answer(r)
  local wait = self.routines[r].wait
  self.routines[r].wait = nil
  if wait.taken then wait.taken() end
  return wait.answer or { "it still waits" }
end

function model:timeOut(now)
  for r = 1, self.count do
    local wait = self.routines[r] and self.routines[r].wait
    if wait and wait.deadline and wait.deadline <= now and not wait.answer then
      self:grant(r, { true, nil, "timeout" })
    end
  end
end

-- For one that does not run: unstarted, waiting, or woken.
function model:cancel(r)
  local it = self.routines[r]
  if not it.alive or it.cancelled then return end
  it.cancelled = true
  local wait = it.wait
  if not wait then
    it.alive = false -- never begun
    return
  end
  local giveBack = wait.giveBack
  self:grant(r, { false, routine.Cancelled })
  wait.taken = nil
  if giveBack then giveBack() end
end

-- --- Signals --------------------------------------------------------------------------------

function model:waitSignals(r, list, limit, now, among)
  local lines = {}
  for i, s in ipairs(list) do lines[i] = self.signals[s] end
  self:wait(r, lines, limit, now)
  self.routines[r].wait.among = among and list
end

local function heard(wait, signal, value)
  if not wait.among then return { true, value } end
  return { true, wait.among[1] == signal and 1 or 2, value }
end

function model:fire(signal, value)
  local line = self.signals[signal]
  while line[1] do
    local r = line[1].r
    self:grant(r, heard(self.routines[r].wait, signal, value))
  end
end

function model:fireOne(signal, value)
  local first = self.signals[signal][1]
  if not first then return false end
  self:grant(first.r, heard(self.routines[first.r].wait, signal, value),
    function() self:fireOne(signal, value) end)
  return true
end

function model:waiting(signal)
  return #self.signals[signal]
end

-- --- Channels -------------------------------------------------------------------------------

local function firstFree(channel)
  for i, item in ipairs(channel.queue) do
    if not item.reserved then return item, i end
  end
end

local function freeCount(channel)
  local count = 0
  for _, item in ipairs(channel.queue) do count = count + (item.reserved and 0 or 1) end
  return count
end

local function remove(channel, item)
  for i, other in ipairs(channel.queue) do
    if other == item then return table.remove(channel.queue, i) end
  end
end

-- Hands an item of the queue to the one that has waited longest.
function model:hand(channel, item)
  local first = channel.getters[1]
  if not first then
    item.reserved = nil
    return
  end
  item.reserved = true
  self:grant(first.r, { true, item.value }, function() self:hand(channel, item) end)
  self.routines[first.r].wait.taken = function() remove(channel, item) end
end

function model:refill(channel, room)
  while freeCount(channel) < room and channel.putters[1] do
    local first = channel.putters[1]
    channel.queue[#channel.queue + 1] = { value = first.value }
    self:grant(first.r, { true, true })
  end
end

function model:tryPut(channel, value)
  local wanted = channel.getters[1]
  if not wanted and freeCount(channel) >= channel.capacity then return false end
  local item = { value = value }
  channel.queue[#channel.queue + 1] = item
  if wanted then self:hand(channel, item) end
  return true
end

function model:tryGet(channel)
  if channel.capacity == 0 then self:refill(channel, 1) end
  local item = firstFree(channel)
  if not item then return nil end
  remove(channel, item)
  self:refill(channel, channel.capacity)
  return item
end

function model:put(r, i, value, limit, now)
  local channel = self.channels[i]
  if self:tryPut(channel, value) then return self:grantAtOnce(r, { true, true }) end
  self:wait(r, { channel.putters }, limit, now, { value = value })
end

function model:get(r, i, limit, now)
  local channel = self.channels[i]
  local item = self:tryGet(channel)
  if item then return self:grantAtOnce(r, { true, item.value }) end
  self:wait(r, { channel.getters }, limit, now)
end

function model:putOutside(i, value)
  return self:tryPut(self.channels[i], value) or nil
end

function model:getOutside(i)
  local item = self:tryGet(self.channels[i])
  return item and item.value
end

-- What is in the queue when nobody waits any more.
function model:left(i)
  local list = {}
  for k, item in ipairs(self.channels[i].queue) do list[k] = item.value end
  return list
end

-- --- Locks ----------------------------------------------------------------------------------

function model:holds(r, kind, i)
  return self[kind][i].holders[r] or 0
end

-- A permit that is free goes to the one that has waited longest.
function model:handOver(lock)
  local first = lock.line[1]
  if not first then
    lock.free = lock.free + 1
    return
  end
  local r = first.r
  lock.holders[r] = (lock.holders[r] or 0) + 1
  self:grant(r, { true, true }, function()
    lock.holders[r] = lock.holders[r] - 1
    self:handOver(lock)
  end)
end

function model:acquire(r, kind, i, limit, now)
  local lock = self[kind][i]
  if lock.free > 0 then
    lock.free = lock.free - 1
    lock.holders[r] = (lock.holders[r] or 0) + 1
    return self:grantAtOnce(r, { true, true })
  end
  self:wait(r, { lock.line }, limit, now)
end

function model:release(r, kind, i)
  local lock = self[kind][i]
  lock.holders[r] = lock.holders[r] - 1
  self:handOver(lock)
end

function model:finish(r)
  self.routines[r].alive = false
  for i = 1, 2 do
    for _, kind in ipairs { "mutex", "semaphore" } do
      while self:holds(r, kind, i) > 0 do self:release(r, kind, i) end
    end
  end
end

return new
