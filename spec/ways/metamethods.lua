-- SPDX-License-Identifier: MIT
-- Ways to a wait through metamethods that the VM itself calls, on both VMs.
-- See ways/init.lua for what a way is.

local ways = {}

local function way(name, run)
  ways[#ways + 1] = { name = name, pinned = false, run = run }
end

-- One that waits in `__concat`. Lua 5.4.4 keeps a pointer into its stack over the call of that
-- metamethod and crashes, in plain coroutines as well, if the stack grows or shrinks meanwhile.
local function concatenation(name, run)
  way(name, run)
  ways[#ways].concat = true
end

way("an __index function", function(pause)
  local object = setmetatable({}, {
    __index = function(_, key)
      pause()
      return key .. "!"
    end,
  })
  return object.left .. object.right .. object[3]
end)

way("a chain of __index tables", function(pause)
  local base = setmetatable({}, {
    __index = function(_, key)
      pause()
      return key == "hp" and 10 or nil
    end,
  })
  local object = base
  for _ = 1, 5 do object = setmetatable({}, { __index = object }) end
  return tostring(object.hp) .. tostring(object.mp)
end)

way("a method found by __index", function(pause)
  local class = {}
  function class.hit(self, by)
    pause()
    self.hp = self.hp - by
    return self
  end
  local object = setmetatable({ hp = 9 }, {
    __index = function(_, key)
      pause()
      return class[key]
    end,
  })
  return tostring(object:hit(2):hit(3).hp)
end)

way("__newindex", function(pause)
  local log = {}
  local object = setmetatable({}, {
    __newindex = function(self, key, value)
      pause()
      rawset(self, key, value * 2)
      log[#log + 1] = key
    end,
  })
  object.a, object.b = 1, 2
  object.c = 3
  table.sort(log)
  return object.a + object.b + object.c .. table.concat(log)
end)

way("__eq", function(pause)
  local meta = {}
  meta.__eq = function(a, b)
    pause()
    return a.n == b.n
  end
  local function make(n) return setmetatable({ n = n }, meta) end
  local answer = {}
  answer[1] = tostring(make(1) == make(1))
  answer[2] = tostring(make(1) == make(2))
  answer[3] = make(3) ~= make(3) and "unequal" or "equal"
  return table.concat(answer, " ")
end)

way("__lt and __le", function(pause)
  local meta = {}
  meta.__lt = function(a, b)
    pause()
    return a.n < b.n
  end
  meta.__le = function(a, b)
    pause()
    return a.n <= b.n
  end
  local function make(n) return setmetatable({ n = n }, meta) end
  local count = 0
  if make(1) < make(2) then count = count + 1 end
  if make(2) <= make(2) then count = count + 10 end
  local greater = make(1) > make(2)
  if not greater then count = count + 100 end
  return tostring(count)
end)

-- Makes the stack large enough beforehand.
local function grow(n) return n == 0 and 0 or 1 + grow(n - 1) end

concatenation("__concat", function(pause)
  local meta = {}
  grow(20)
  local function text(v) return type(v) == "table" and v.text or v end
  meta.__concat = function(a, b)
    pause()
    return setmetatable({ text = text(a) .. text(b) }, meta)
  end
  local object = setmetatable({ text = "o" }, meta)
  return (("a" .. object .. "b" .. "c") .. object).text
end)

way("__call", function(pause)
  local callable = setmetatable({}, {
    __call = function(_, a, b, ...)
      pause()
      return a + b, select("#", ...)
    end,
  })
  local sum, rest = callable(1, 2, nil, nil)
  local second = select(2, callable(1, 2))
  return sum .. " " .. rest .. " " .. second
end)

way("the arithmetic metamethods", function(pause)
  local meta = {}
  local function value(v) return type(v) == "table" and v.n or v end
  local function operation(fn)
    return function(a, b)
      pause()
      return setmetatable({ n = fn(value(a), value(b)) }, meta)
    end
  end
  meta.__add = operation(function(a, b) return a + b end)
  meta.__sub = operation(function(a, b) return a - b end)
  meta.__mul = operation(function(a, b) return a * b end)
  meta.__div = operation(function(a, b) return a / b end)
  meta.__mod = operation(function(a, b) return a % b end)
  meta.__pow = operation(function(a, b) return a ^ b end)
  meta.__unm = operation(function(a) return -a end)
  local x = setmetatable({ n = 6 }, meta)
  local y = -((x + 2) * 3 - x) / 2 % 5 ^ x
  return ("%.3f"):format(y.n)
end)

way("__unm", function(pause)
  local meta = {}
  meta.__unm = function(v)
    pause()
    return setmetatable({ n = -v.n }, meta)
  end
  return tostring((-(-(-setmetatable({ n = 4 }, meta)))).n)
end)

concatenation("metamethods that call each other", function(pause)
  local meta = {}
  grow(20)
  meta.__lt = function(a, b)
    pause()
    return a.weight < b.weight
  end
  meta.__index = function(self, key)
    if key ~= "weight" then return nil end
    pause()
    return #(self .. "")
  end
  meta.__concat = function(self, text)
    pause()
    return self.name .. text
  end
  local light = setmetatable({ name = "ab" }, meta)
  local heavy = setmetatable({ name = "abcd" }, meta)
  return tostring(light < heavy) .. tostring(heavy < light)
end)

return ways
