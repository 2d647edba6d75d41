-- SPDX-License-Identifier: MIT
-- A plain Lua program: tables, the table library, and algorithms on them.

local unpack = table.unpack or unpack
local pack = table.pack or function(...) return { n = select("#", ...), ... } end

local function line(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  print(table.concat(out, " "))
end

-- A generator of its own, so that every run sees the same numbers.
local seed = 42
local function random(n)
  seed = (seed * 16807) % 2147483647
  return seed % n + 1
end

local list = {}
for i = 1, 300 do list[i] = random(1000) end
local function sorted(t, less)
  for i = 2, #t do
    if less and less(t[i], t[i - 1]) or not less and t[i] < t[i - 1] then return false end
  end
  return true
end
local copy = { unpack(list) }
table.sort(copy)
line("sort", sorted(copy), copy[1], copy[150], copy[300])
local function descending(a, b) return a > b end
table.sort(copy, descending)
line("sort descending", sorted(copy, descending), copy[1], copy[300])
local function always() return true end
line("invalid order", (pcall(table.sort, { 3, 1, 2, 5, 4, 9, 7, 8, 6 }, always)))
line("not comparable", (pcall(table.sort, { 1, "x", {} })))

local q = {}
for i = 1, 10 do table.insert(q, i) end
table.insert(q, 1, "front")
table.insert(q, 6, "middle")
line("insert", unpack(q))
line("remove", table.remove(q), table.remove(q, 1), table.remove(q, 5), #q)
line("concat", table.concat(q, ","), table.concat(q, "-", 2, 4), table.concat({}, "x"))
line("pack", pack(nil, 2, nil).n, select("#", unpack({ 1, nil, 3 }, 1, 3)))
line("select", select(-1, 1, 2, 3), select("#"), (select(2, "a", "b", "c")))
line("bad insert", (pcall(table.insert, q, 100, "x")), (pcall(table.insert, q, 1, 2, 3)))

local keys = {}
for k in pairs { a = 1, b = 2, c = 3, 10, 20, 30 } do keys[#keys + 1] = tostring(k) end
table.sort(keys)
line("pairs", unpack(keys))
local t = {}
for i = 1, 200 do t[i] = i end
for k, v in pairs(t) do if v % 3 ~= 0 then t[k] = nil end end
local count, sum = 0, 0
for _, v in pairs(t) do count, sum = count + 1, sum + v end
line("removal while traversing", count, sum, next({}))
line("bad next", (pcall(next, {}, "nothing")))

-- Queens, the game of life, a knapsack, a graph.
local function queens(n)
  local solutions, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then
      solutions = solutions + 1
      return
    end
    for c = 1, n do
      if not (columns[c] or up[row + c] or down[row - c + n]) then
        columns[c], up[row + c], down[row - c + n] = true, true, true
        place(row + 1)
        columns[c], up[row + c], down[row - c + n] = nil, nil, nil
      end
    end
  end
  place(1)
  return solutions
end
for n = 4, 7 do line("queens", n, queens(n)) end

local grid = {}
for y = 1, 16 do
  grid[y] = {}
  for x = 1, 16 do grid[y][x] = 0 end
end
for _, cell in ipairs { { 2, 1 }, { 3, 2 }, { 1, 3 }, { 2, 3 }, { 3, 3 } } do
  grid[cell[2]][cell[1]] = 1
end
local function evolve(old)
  local new = {}
  for y = 1, 16 do
    new[y] = {}
    for x = 1, 16 do
      local around = 0
      for dy = -1, 1 do
        for dx = -1, 1 do
          if dx ~= 0 or dy ~= 0 then
            around = around + old[(y + dy - 1) % 16 + 1][(x + dx - 1) % 16 + 1]
          end
        end
      end
      new[y][x] = (around == 3 or around == 2 and old[y][x] == 1) and 1 or 0
    end
  end
  return new
end
for _ = 1, 12 do grid = evolve(grid) end
for y = 1, 16 do
  local row = table.concat(grid[y])
  if row:find "1" then line("life", y, row) end
end

local function topological(edges)
  local incoming, nodes, order = {}, {}, {}
  for from, tos in pairs(edges) do
    nodes[from] = true
    for _, to in ipairs(tos) do
      nodes[to] = true
      incoming[to] = (incoming[to] or 0) + 1
    end
  end
  while true do
    local ready = {}
    for node in pairs(nodes) do if (incoming[node] or 0) == 0 then ready[#ready + 1] = node end end
    if #ready == 0 then return order end
    table.sort(ready)
    order[#order + 1] = ready[1]
    nodes[ready[1]] = nil
    for _, to in ipairs(edges[ready[1]] or {}) do incoming[to] = incoming[to] - 1 end
  end
end
line("order", unpack(topological {
  shirt = { "tie", "belt" }, tie = { "jacket" }, pants = { "shoes", "belt" },
  belt = { "jacket" }, socks = { "shoes" },
}))

local heap, size = {}, 0
local function push(v)
  size = size + 1
  local i = size
  while i > 1 and heap[math.floor(i / 2)] > v do
    heap[i] = heap[math.floor(i / 2)]
    i = math.floor(i / 2)
  end
  heap[i] = v
end
local function pop()
  local top, last = heap[1], heap[size]
  heap[size] = nil
  size = size - 1
  local i = 1
  while 2 * i <= size do
    local child = 2 * i
    if child < size and heap[child + 1] < heap[child] then child = child + 1 end
    if heap[child] >= last then break end
    heap[i], i = heap[child], child
  end
  if size > 0 then heap[i] = last end
  return top
end
for _ = 1, 200 do push(random(5000)) end
local drained = {}
while size > 0 do drained[#drained + 1] = pop() end
line("heap", sorted(drained), drained[1], drained[100], drained[200])

local memo = setmetatable({}, { __mode = "k" })
local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, Point) end
Point.__eq = function(a, b) return a.x == b.x and a.y == b.y end
Point.__lt = function(a, b) return a.x < b.x or a.x == b.x and a.y < b.y end
Point.__le = function(a, b) return not (b < a) end
Point.__tostring = function(p) return "(" .. p.x .. ";" .. p.y .. ")" end
Point.__concat = function(a, b) return tostring(a) .. tostring(b) end
Point.__call = function(p, k) return p[k] end
function Point.new(x, y) return setmetatable({ x = x, y = y }, Point) end
local points, total = {}, Point.new(0, 0)
for i = 1, 60 do
  points[i] = Point.new(random(9), random(9))
  memo[points[i]] = i
  total = total + points[i]
end
table.sort(points)
line("points", points[1], points[30], points[60], total, memo[points[1]] ~= nil)
line("metamethods", Point.new(1, 2) == Point.new(1, 2), Point.new(1, 2) <= Point.new(1, 3),
  points[1] .. points[2], total "x")
local proxy = setmetatable({}, {
  __index = function(_, k) return k .. "?" end,
  __newindex = function(s, k, v) rawset(s, k, v .. "!") end,
})
proxy.a = "x"
line("proxy", proxy.a, proxy.b, rawget(proxy, "b"), rawequal(proxy, proxy))
