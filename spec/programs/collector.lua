-- SPDX-License-Identifier: MIT
-- A plain Lua program: garbage, weak tables, finalizers, and the collector's own
-- controls. What it prints depends on full collections only.

local unpack = table.unpack or unpack
local modern = _VERSION == "Lua 5.4"

local function line(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  print(table.concat(out, " "))
end

local function full()
  collectgarbage()
  collectgarbage()
end

local function size(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- Weak tables of each kind.
local keep = {}
for _, mode in ipairs { "k", "v", "kv" } do
  local weak = setmetatable({}, { __mode = mode })
  for i = 1, 60 do
    local key, value = { i }, { -i }
    if i % 2 == 0 then keep[#keep + 1] = key end
    if i % 3 == 0 then keep[#keep + 1] = value end
    weak[key] = value
  end
  weak[1], weak.text = "string", "another"
  full()
  line("weak", mode, size(weak))
  keep = {}
  full()
  line("weak later", mode, size(weak))
end

local cache = setmetatable({}, { __mode = "v" })
local made = 0
local function get(key)
  local value = cache[key]
  if not value then
    made = made + 1
    value = { key = key }
    cache[key] = value
  end
  return value
end
local a = get "a"
line("cache", get "a" == a, get("b").key, made)
full()
line("cache later", cache.a == a, cache.b, get("b").key, made)

-- Chains through an ephemeron table: 5.4 collects them, LuaJIT does not.
if modern then
  local chain = setmetatable({}, { __mode = "k" })
  local head = {}
  local at = head
  for _ = 1, 50 do
    local following = {}
    chain[at] = following
    at = following
  end
  full()
  line("ephemerons", size(chain))
  head, at = nil, nil
  full()
  line("ephemerons later", size(chain), head, at)
end

-- Finalizers: order, resurrection, errors.
local function finalized(fn)
  if newproxy then
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = fn
    return proxy
  end
  return setmetatable({}, { __gc = fn })
end
local order = {}
do
  local objects = {}
  for i = 1, 8 do objects[i] = finalized(function() order[#order + 1] = i end) end
end
full()
table.sort(order)
line("finalized", unpack(order))
local saved
do
  local object = finalized(function(o) saved = o end)
  line("alive", object ~= nil)
end
full()
line("resurrected", saved ~= nil)
saved = nil
full()
local runs = 0
do
  local again
  again = function() if runs < 5 then runs = runs + 1; finalized(again) end end
  finalized(again)
end
for _ = 1, 10 do full() end
line("finalizers that make more", runs)
local closed = 0
for _ = 1, 500 do finalized(function() closed = closed + 1 end) end
full()
line("many", closed)

-- The controls.
line("running", modern and collectgarbage "isrunning" or true)
collectgarbage "stop"
line("stopped", modern and collectgarbage "isrunning" or false)
local before = collectgarbage "count"
local ballast = {}
for i = 1, 2000 do ballast[i] = { i, tostring(i) } end
line("grows", collectgarbage "count" > before)
collectgarbage "restart"
ballast = nil
full()
line("shrinks", collectgarbage "count" < before + 20, ballast)
for _ = 1, 300 do collectgarbage("step", 10) end
local pause = collectgarbage("setpause", 150)
local mul = collectgarbage("setstepmul", 300)
line("tuning", collectgarbage("setpause", pause), collectgarbage("setstepmul", mul))

-- A program that makes much garbage, under each kind of collector.
local function churn(rounds)
  local live, sum = {}, 0
  for i = 1, rounds do
    local node = { value = i, text = ("%d"):format(i), link = live[i % 50] }
    node.closure = function() return node.value end
    live[i % 50] = node
    if i % 7 == 0 then node.link = nil end
    sum = sum + live[i % 50].closure() + #node.text
  end
  return sum
end
line("churn", churn(6000))
if modern then
  line("generational", collectgarbage "generational")
  line("churn", churn(6000))
  local weak = setmetatable({}, { __mode = "v" })
  for i = 1, 40 do weak[i] = { i } end
  full()
  line("weak in generational", size(weak))
  local old = {}
  for i = 1, 500 do old[i] = { i } end
  full()
  for i = 1, 500 do old[i].young = { tostring(i) } end
  collectgarbage "step"
  full()
  local intact = true
  for i = 1, 500 do intact = intact and old[i].young[1] == tostring(i) end
  line("old to young", intact)
  line("incremental", collectgarbage "incremental")
  line("churn", churn(6000))
end

-- Coroutines as garbage.
local threads = setmetatable({}, { __mode = "k" })
for i = 1, 100 do
  local co = coroutine.create(function()
    local big = { i }
    coroutine.yield(big)
    return big
  end)
  coroutine.resume(co)
  threads[co] = true
end
full()
line("abandoned coroutines", size(threads))
