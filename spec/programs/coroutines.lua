-- SPDX-License-Identifier: MIT
-- A plain Lua program: coroutines in the ways that textbooks use them.

local unpack = table.unpack or unpack

local function line(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  print(table.concat(out, " "))
end

-- Producer, filter, consumer.
local function producer(lines)
  return coroutine.create(function()
    for _, text in ipairs(lines) do coroutine.yield(text) end
  end)
end
local function receive(co)
  local _, value = coroutine.resume(co)
  return value
end
local function filter(co)
  return coroutine.create(function()
    local n = 1
    while true do
      local text = receive(co)
      if not text then return end
      coroutine.yield(("%5d %s"):format(n, text))
      n = n + 1
    end
  end)
end
local source = filter(filter(producer { "first", "second", "third" }))
while true do
  local text = receive(source)
  if not text then break end
  line(text)
end

-- Permutations.
local function permgen(a, n)
  if n <= 1 then
    coroutine.yield(a)
  else
    for i = 1, n do
      a[n], a[i] = a[i], a[n]
      permgen(a, n - 1)
      a[n], a[i] = a[i], a[n]
    end
  end
end
local function permutations(a) return coroutine.wrap(function() permgen(a, #a) end) end
for p in permutations { "a", "b", "c" } do line("permutation", unpack(p)) end
local count = 0
for _ in permutations { 1, 2, 3, 4, 5, 6 } do count = count + 1 end
line("permutations of six", count)

-- A sieve in which each prime is a coroutine.
local function numbers(n)
  return coroutine.wrap(function() for i = 2, n do coroutine.yield(i) end end)
end
local function without(p, from)
  return coroutine.wrap(function()
    for n in from do if n % p ~= 0 then coroutine.yield(n) end end
  end)
end
local chain, primes = numbers(150), {}
while true do
  local n = chain()
  if not n then break end
  primes[#primes + 1] = n
  chain = without(n, chain)
end
line("sieve", unpack(primes))

-- A tree walk, and two trees compared leaf by leaf.
local function insert(tree, v)
  if not tree then return { value = v } end
  local side = v < tree.value and "left" or "right"
  tree[side] = insert(tree[side], v)
  return tree
end
local function walk(tree)
  if tree then
    walk(tree.left)
    coroutine.yield(tree.value)
    walk(tree.right)
  end
end
local function leaves(tree) return coroutine.wrap(function() walk(tree) end) end
local one, two
for _, v in ipairs { 5, 2, 8, 1, 9, 3 } do one = insert(one, v) end
for _, v in ipairs { 9, 8, 5, 3, 2, 1 } do two = insert(two, v) end
local same, left, right = true, leaves(one), leaves(two)
repeat
  local a, b = left(), right()
  same = same and a == b
until not a
line("same fringe", same)

-- A scheduler of its own, with sleeping tasks.
local tasks, clock, log = {}, 0, {}
local function sleep(n) coroutine.yield(clock + n) end
local function spawn(name, naps)
  tasks[#tasks + 1] = { wake = 0, co = coroutine.create(function()
    for _, n in ipairs(naps) do
      sleep(n)
      log[#log + 1] = name .. clock
    end
  end) }
end
spawn("a", { 3, 3, 1 })
spawn("b", { 1, 1, 1, 4 })
spawn("c", { 7 })
while #tasks > 0 do
  for i = #tasks, 1, -1 do
    local task = tasks[i]
    if task.wake <= clock then
      local ok, wake = coroutine.resume(task.co)
      if not ok then line("task failed", wake) end
      if coroutine.status(task.co) == "dead" then table.remove(tasks, i) else task.wake = wake end
    end
  end
  clock = clock + 1
end
line("tasks", unpack(log))

-- Values in and out, status, errors.
local echo = coroutine.create(function(...)
  local got = { n = select("#", ...), ... }
  while got.n > 0 do got = (function(...) return { n = select("#", ...), ... } end)(
    coroutine.yield(got.n, unpack(got, 1, got.n))) end
  return "over"
end)
line("echo", coroutine.resume(echo, 1, nil, 3))
line("echo", coroutine.resume(echo, nil))
line("echo", coroutine.resume(echo))
line("echo", coroutine.resume(echo))
line("status", coroutine.status(echo))

local outer
outer = coroutine.create(function()
  local inner = coroutine.create(function()
    line("inside", coroutine.status(outer), coroutine.isyieldable())
    coroutine.yield()
  end)
  line("before", coroutine.status(inner))
  coroutine.resume(inner)
  line("after", coroutine.status(inner), coroutine.status(coroutine.running()))
end)
coroutine.resume(outer)
line("self", select(2, coroutine.resume(coroutine.create(function()
  return coroutine.resume(coroutine.running())
end))))
line("error in a coroutine", coroutine.resume(coroutine.create(function() error("bad", 0) end)))
line("error in a wrap", pcall(coroutine.wrap(function() error("worse", 0) end)))
local broken = { "a table" }
local _, value = coroutine.resume(coroutine.create(function() error(broken) end))
line("error value", value == broken)
line("dead", coroutine.resume(coroutine.create(function() end)))
line("not a function", (pcall(coroutine.create, 42)), (pcall(coroutine.resume, 42)))

-- Yields across what may be in the way.
local across = coroutine.wrap(function()
  local ok, v = pcall(function() return coroutine.yield "in pcall" end)
  line("pcall", ok, v)
  local ok2, v2 = xpcall(function()
    coroutine.yield "in xpcall"
    error("after", 0)
  end, function(e) return "handled " .. e end)
  line("xpcall", ok2, v2)
  local object = setmetatable({}, {
    __index = function(_, k) return coroutine.yield(k) end,
    __add = function() return coroutine.yield "add" end,
    __lt = function() return coroutine.yield "lt" end,
    __concat = function() return coroutine.yield "concat" end,
    __call = function(_, x) return coroutine.yield("call" .. x) end,
  })
  line("meta", object.field, object + 1, object < object, object .. "x", object(7))
  local function each(_, last) return coroutine.yield(last or "start") end
  for v3 in each do line("iterator", v3) end
  return "end"
end)
for i = 1, 12 do
  local v = across(i < 10 and i or nil)
  line("got", v)
  if v == "end" then break end
end

local recursive = 0
local function deep(n)
  if n == 0 then return 0 end
  recursive = recursive + 1
  return 1 + coroutine.wrap(function() return deep(n - 1) end)()
end
line("nested", deep(40), recursive)

local busy = {}
for i = 1, 150 do
  busy[i] = coroutine.wrap(function()
    local total = 0
    for k = 1, 20 do
      total = total + k * i
      coroutine.yield(total)
    end
  end)
end
local grand = 0
for _ = 1, 20 do for i = 1, 150 do grand = grand + busy[i]() end end
line("many", grand)
