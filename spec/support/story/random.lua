-- SPDX-License-Identifier: MIT
--
-- Random numbers that are the same on every machine.

local Random = {}
Random.__index = Random

---@param seed integer
local function new(seed)
  local self = setmetatable({ state = seed * 7919 % 2147483646 + 1 }, Random)
  for _ = 1, 3 do self:below(2) end
  return self
end

---A whole number from 0 to n - 1.
function Random:below(n)
  self.state = self.state * 16807 % 2147483647
  return self.state % n
end

---A whole number from `low` to `high`.
function Random:from(low, high)
  return low + self:below(high - low + 1)
end

---True once in `n` times.
function Random:once(n)
  return self:below(n) == 0
end

function Random:pick(list)
  return list[1 + self:below(#list)]
end

return new
