-- SPDX-License-Identifier: MIT
-- A plain Lua program: arithmetic and the math library.

local function line(...)
  local out = {}
  for i = 1, select("#", ...) do
    local v = (select(i, ...))
    out[i] = type(v) == "number" and ("%.14g"):format(v) or tostring(v)
  end
  print(table.concat(out, " "))
end

line("floor", math.floor(3.7), math.floor(-3.7), math.ceil(3.2), math.ceil(-3.2))
line("mod", 7 % 3, -7 % 3, 7 % -3, 5.5 % 2, math.fmod(-7, 3), math.fmod(7, -3))
line("modf", math.modf(3.25), math.modf(-3.25), math.modf(1 / 0))
line("power", 2 ^ 10, 2 ^ 0.5, (-8) ^ 2, 10 ^ -2)
line("max", math.max(3, 9, 4), math.min(3, 9, 4), math.abs(-5), math.huge, -math.huge)
line("trig", math.sin(1), math.cos(1), math.tan(1), math.asin(0.5), math.acos(0.5), math.atan(1))
line("exp", math.exp(1), math.log(10), math.sqrt(2), math.deg(math.pi), math.rad(180))
line("nan", 0 / 0 ~= 0 / 0, tostring(0 / 0):match "nan", 1 / 0 > 1e308)
line("tonumber", tonumber "0x10", tonumber "  12  ", tonumber "1e2", tonumber "z",
  tonumber("zz", 36), tonumber("101", 2), tonumber "", tonumber "0x1p4")
line("coercion", "10" + 5, "3" * "4", 10 .. 20, -"2")
line("compare", 1 < 2, "a" < "b", "10" < "9", 1 == 1.0, pcall(function() return 1 < "2" end))
for _, bad in ipairs { "x", "1e", "0x", "1 2", "--1" } do
  line("not a number", bad, tonumber(bad))
end

local function sieve(n)
  local composite, primes = {}, {}
  for i = 2, n do
    if not composite[i] then
      primes[#primes + 1] = i
      for k = i * i, n, i do composite[k] = true end
    end
  end
  return primes
end
local primes = sieve(5000)
line("primes", #primes, primes[#primes], primes[100])

local function gcd(a, b)
  while b ~= 0 do a, b = b, a % b end
  return a
end
local coprime = 0
for a = 1, 60 do for b = 1, 60 do if gcd(a, b) == 1 then coprime = coprime + 1 end end end
line("coprime pairs", coprime)

local best, length = 0, 0
for n = 1, 1500 do
  local steps, v = 0, n
  while v ~= 1 do
    v = v % 2 == 0 and v / 2 or 3 * v + 1
    steps = steps + 1
  end
  if steps > length then best, length = n, steps end
end
line("collatz", best, length)

-- Factorials with digits in a table.
local digits = { 1 }
for n = 2, 60 do
  local carry = 0
  for i = 1, #digits do
    local v = digits[i] * n + carry
    digits[i] = v % 10
    carry = math.floor(v / 10)
  end
  while carry > 0 do
    digits[#digits + 1] = carry % 10
    carry = math.floor(carry / 10)
  end
end
local factorial = {}
for i = #digits, 1, -1 do factorial[#factorial + 1] = ("%d"):format(digits[i]) end
line("60!", table.concat(factorial))

for y = -1.2, 1.2, 0.3 do
  local row = {}
  for x = -2, 0.6, 0.1 do
    local a, b, n = 0, 0, 0
    while a * a + b * b < 4 and n < 30 do
      a, b = a * a - b * b + x, 2 * a * b + y
      n = n + 1
    end
    row[#row + 1] = n == 30 and "#" or n > 5 and "+" or "."
  end
  print(table.concat(row))
end

local x = 0.5
for _ = 1, 2000 do x = 3.7 * x * (1 - x) end
line("logistic", x)
local sum = 0
for i = 1, 5000 do sum = sum + 1 / (i * i) end
line("basel", sum, math.abs(sum - math.pi ^ 2 / 6) < 1e-3)

math.randomseed(7)
local inrange = true
for _ = 1, 500 do
  local a, b, c = math.random(), math.random(6), math.random(-3, 3)
  inrange = inrange and a >= 0 and a < 1 and b >= 1 and b <= 6 and c >= -3 and c <= 3
end
math.randomseed(7)
local first = math.random(1000)
math.randomseed(7)
line("random", inrange, first == math.random(1000), (pcall(math.random, 2, 1)))

local function matrix(n, fn)
  local m = {}
  for i = 1, n do
    m[i] = {}
    for j = 1, n do m[i][j] = fn(i, j) end
  end
  return m
end
local function multiply(a, b)
  local n = #a
  return matrix(n, function(i, j)
    local s = 0
    for k = 1, n do s = s + a[i][k] * b[k][j] end
    return s
  end)
end
local m = matrix(12, function(i, j) return (i * j) % 7 end)
local p = m
for _ = 1, 4 do p = multiply(p, m) end
line("matrix", p[1][1], p[6][7], p[12][12])

for i = 3, 1, -1 do line("for", i) end
for i = 1, 2, 0.25 do line("for", i) end
line("zero step", (pcall(load("for i = 1, 2, 0 do break end"))))
