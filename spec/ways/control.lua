-- SPDX-License-Identifier: MIT
-- Ways to a wait through protected calls, iterators, coroutines of the script's
-- own, deep Lua stacks, and mixtures of all of these. See ways/init.lua for what
-- a way is.

local ways = {}

local function way(name, pinned, run, traits)
  local entry = { name = name, pinned = pinned, run = run }
  for key, value in pairs(traits or {}) do entry[key] = value end
  ways[#ways + 1] = entry
end

-- Passes on the results of a protected call or its error, as it was.
local function unprotect(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

way("no other call at all", false, function(pause)
  local sum = 0
  for i = 1, 4 do
    sum = sum + i
    pause()
  end
  return tostring(sum)
end)

way("pcall", false, function(pause)
  local a, b = unprotect(pcall(function(x)
    pause()
    return x, x + 1
  end, 4))
  pause()
  return a .. " " .. b
end)

way("pcall called by pcall", false, function(pause)
  local function inner(n)
    if n == 0 then
      pause()
      return "bottom"
    end
    local text = unprotect(pcall(inner, n - 1))
    pause()
    return text .. n
  end
  return unprotect(pcall(inner, 3))
end)

way("xpcall", false, function(pause)
  return (unprotect(xpcall(function()
    pause()
    local me = coroutine.running()
    pause()
    return me == coroutine.running() and "same thread" or "another thread"
  end, function(err) return err end)))
end)

way("the handler of xpcall", true, function(pause)
  local ok, text = xpcall(function() error("lost", 0) end, function(err)
    pause()
    local seen = debug.traceback("", 1):find("traceback", 1, true)
    pause()
    return "handled " .. tostring(err) .. (seen and "" or " without a trace")
  end)
  return tostring(ok) .. " " .. tostring(text)
end, { handler = true })

way("an iterator function", false, function(pause)
  local function upto(limit)
    return function(_, i)
      pause()
      if i < limit then return i + 1, i * i end
    end, nil, 0
  end
  local out = {}
  for i, square in upto(3) do out[#out + 1] = i .. ":" .. square end
  return table.concat(out, " ")
end)

way("an iterator that is a callable table", false, function(pause)
  local countdown = setmetatable({ left = 3 }, {
    __call = function(self)
      pause()
      self.left = self.left - 1
      if self.left > 0 then return self.left end
    end,
  })
  local out = {}
  for n in countdown do out[#out + 1] = n end
  return table.concat(out, " ")
end)

way("coroutine.wrap", true, function(pause)
  local make = coroutine.wrap(function(a)
    pause()
    local b = coroutine.yield(a + 1)
    pause()
    return b * 10
  end)
  return make(1) .. " " .. make(7)
end)

way("coroutine.resume", true, function(pause)
  local co = coroutine.create(function(...)
    pause()
    local got = coroutine.yield(select("#", ...))
    pause()
    return got
  end)
  local count = unprotect(coroutine.resume(co, nil, nil, nil))
  local got = unprotect(coroutine.resume(co, "reply"))
  return count .. got .. coroutine.status(co)
end)

local function nest(depth, pause)
  return coroutine.wrap(function()
    pause()
    if depth > 1 then
      for v in nest(depth - 1, pause) do coroutine.yield(v .. depth) end
    else
      coroutine.yield("a")
      coroutine.yield("b")
    end
  end)
end

for _, case in ipairs { { 2, "two" }, { 3, "three" } } do
  way(case[2] .. " nested coroutines", true, function(pause)
    local out = {}
    for v in nest(case[1], pause) do
      pause()
      out[#out + 1] = v
    end
    return table.concat(out, " ")
  end)
end

way("sort in gsub in pcall in a coroutine", true, function(pause)
  local body = coroutine.wrap(function()
    coroutine.yield((unprotect(pcall(string.gsub, "ab", ".", function(letter)
      local list = { 2, 1 }
      table.sort(list, function(a, b)
        pause()
        return a < b
      end)
      return letter .. list[1] .. list[2]
    end))))
  end)
  return body()
end)

way("a coroutine in a sort comparator", true, function(pause)
  local list = { 3, 1, 2 }
  table.sort(list, function(a, b)
    local compare = coroutine.wrap(function()
      pause()
      coroutine.yield(a > b)
    end)
    return compare()
  end)
  return table.concat(list, " ")
end)

way("a long chain of tail calls", false, function(pause)
  local function loop(n, sum)
    if n == 0 then return tostring(sum) end
    if n % 40 == 0 then pause() end
    return loop(n - 1, sum + n)
  end
  return loop(120, 0)
end)

-- A deep stack is moved by the collector while its owner waits.
way("two thousand Lua frames", false, function(pause)
  local function descend(n)
    if n == 0 then
      pause()
      return 0
    end
    local below = descend(n - 1)
    return below + 1
  end
  local first = descend(2000)
  pause()
  return first .. " " .. descend(3)
end)

way("a call with two hundred arguments", false, function(pause)
  local args = {}
  for i = 1, 200 do args[i] = i end
  local function sum(...)
    pause()
    local total = 0
    for i = 1, select("#", ...) do total = total + (select(i, ...)) end
    pause()
    return total, ...
  end
  local unpack = table.unpack or unpack
  return tostring((sum(unpack(args)))) .. " " .. select("#", sum(unpack(args)))
end)

way("closures that share a local", false, function(pause)
  local count = 0
  local function up()
    local before = count
    pause()
    count = before + 1
  end
  local function twice()
    up()
    up()
    return count
  end
  return twice() .. " " .. count
end)

return ways
