-- SPDX-License-Identifier: MIT
-- hand.lua - the scheduler that one writes by hand over coroutines, as small as it can be and do
-- the work of lives.lua: a peer for the bench, with nothing that is not asked of it.
--
-- A task is a table around a coroutine. Sleepers stand in a binary heap; one that is cancelled
-- stays there as a dead entry, which costs nothing until its time comes. Coroutines are used again.
-- What a wait raises when its task was cancelled is `hand.Cancelled`.

local create, resume, yield, status =
  coroutine.create, coroutine.resume, coroutine.yield, coroutine.status

local hand = { Cancelled = setmetatable({}, { __tostring = function() return "cancelled" end }) }
local Cancelled = hand.Cancelled

local now = 0
local ready, nready = {}, 0
local keys, tasks, size = {}, {}, 0 -- the heap
local idle, nidle = {}, 0 -- coroutines whose task has ended
local current

local function makeReady(task)
  nready = nready + 1
  ready[nready] = task
end

local function push(key, task)
  size = size + 1
  local i = size
  while i > 1 do
    local parent = (i - i % 2) / 2
    if keys[parent] <= key then break end
    keys[i], tasks[i] = keys[parent], tasks[parent]
    i = parent
  end
  keys[i], tasks[i] = key, task
end

local function pop()
  local top, key, task = tasks[1], keys[size], tasks[size]
  tasks[size] = nil
  size = size - 1
  local i = 1
  while true do
    local child = i * 2
    if child > size then break end
    if child < size and keys[child + 1] < keys[child] then child = child + 1 end
    if key <= keys[child] then break end
    keys[i], tasks[i] = keys[child], tasks[child]
    i = child
  end
  if size > 0 then keys[i], tasks[i] = key, task end
  return top
end

-- What every wait ends with.
local function wake()
  if current.cancelled then error(Cancelled, 0) end
end

local function finish(task, ok, ...)
  local owner, joiner, latch = task.owner, task.joiner, task.latch
  task.result = { n = select("#", ...), ok, ... }
  task.state = ok and "completed" or (...) == Cancelled and "cancelled" or "failed"
  if owner then owner[task] = nil end
  if joiner then makeReady(joiner) end
  if latch then
    latch.left = latch.left - 1
    if latch.left == 0 then makeReady(latch.task) end
  end
end

local function ended(task, ...)
  local defers = task.defers
  if defers then
    for i = #defers, 1, -1 do defers[i]() end
  end
  finish(task, ...)
end

local function live(task, ...)
  ended(task, pcall(task.fn, ...))
  nidle = nidle + 1
  idle[nidle] = task.co
end

local function base(...)
  live(...)
  while true do live(yield()) end
end

function hand.start(fn, ...)
  local task = { state = "queued", fn = fn, ... }
  makeReady(task)
  return task
end

function hand.startOwned(owner, fn, ...)
  local task = hand.start(fn, ...)
  task.owner = owner
  owner[task] = true
  return task
end

function hand.defer(fn)
  local defers = current.defers
  if defers then
    defers[#defers + 1] = fn
  else
    current.defers = { fn }
  end
end

function hand.wait(seconds)
  current.state, current.due = "sleeping", now + seconds
  push(now + seconds, current)
  yield()
  wake()
end

local unpack = table.unpack or unpack -- luacheck: ignore 143

function hand.join(task)
  if not task.result then
    task.joiner = current
    current.state = "joining"
    yield()
    wake()
  end
  return unpack(task.result, 1, task.result.n + 1)
end

-- Waits for all of a list: the packed results.
function hand.all(list)
  local latch, results = { left = 0, task = current }, {}
  for i = 1, #list do
    if not list[i].result then
      latch.left = latch.left + 1
      list[i].latch = latch
    end
  end
  if latch.left > 0 then
    current.state = "joining"
    yield()
    wake()
  end
  for i = 1, #list do results[i] = list[i].result end
  return results
end

function hand.cancel(task)
  if task.cancelled or task.result then return task.result == nil end
  task.cancelled = true
  makeReady(task)
  return true
end

function hand.destroy(owner)
  for task in pairs(owner) do hand.cancel(task) end
end

local function run(task)
  if task.result then return end
  current = task
  task.state = "running"
  local ok, err
  if task.co then
    ok, err = resume(task.co)
  else
    local co = idle[nidle]
    if co then
      idle[nidle] = nil
      nidle = nidle - 1
    else
      co = create(base)
    end
    task.co = co
    ok, err = resume(co, task, unpack(task))
  end
  if not ok then error(err) end
  current = nil
end

function hand.tick(dt)
  now = now + dt
  while size > 0 and keys[1] <= now do
    local task = pop()
    if not (task.cancelled or task.result) then makeReady(task) end
  end
  local pass, count = ready, nready
  ready, nready = {}, 0
  for i = 1, count do run(pass[i]) end
end

-- Where a suspended coroutine stands, of what, and for how long.
function hand.inspect(list)
  local shown = {}
  for i = 1, #list do
    local task = list[i]
    local where
    for level = 0, 9 do
      local info = debug.getinfo(task.co, level, "Sl")
      if not info then break end
      if info.currentline > 0 and not info.short_src:find "hand.lua" then
        where = info.short_src .. ":" .. info.currentline
        break
      end
    end
    shown[i] = {
      id = task, status = task.state, where = where, waitingOn = "time",
      wakesIn = task.due - now, resumes = 1, alive = status(task.co) ~= "dead",
    }
  end
  return shown
end

return hand
