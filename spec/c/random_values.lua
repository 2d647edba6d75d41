-- SPDX-License-Identifier: MIT
--
-- What the specs of values that cross and of values that are saved make theirs of.

local random = {}

---Numbers from 1 to what is asked for, the same for a seed on every machine.
function random.generator(seed)
  local state = seed % 2147483647
  if state == 0 then state = 1 end
  return function(most)
    state = state * 16807 % 2147483647
    return math.floor(state / 2147483647 * most) + 1
  end
end

---Numbers at the edges of what numbers can be, those of this machine alone at the end.
random.NUMBERS = { 0, -0.0, 1, -1, 63, 64, -64, -65, 127, 128, 0.1, 2 ^ 31, -2 ^ 31, 2 ^ 53,
  -2 ^ 53, 1e15, 2 ^ 63, -2 ^ 63, 5e-324, 2.2e-308, 1e308, 1 / 0, -1 / 0, 0 / 0 }
local own = rawget(_G, "jit") and loadstring [[return { 0LL, -1LL, 0x7fffffffffffffffLL,
    -0x8000000000000000LL, 0ULL, 0xffffffffffffffffULL, 9007199254740993LL }]]
  or load [[return { math.maxinteger, math.mininteger, (1 << 53) + 1, 3, 3.0 }]]
for _, number in ipairs(own()) do random.NUMBERS[#random.NUMBERS + 1] = number end

---Whether two numbers are the same to the last bit, and of one kind.
function random.sameNumber(a, b)
  local kindOf = rawget(math, "type")
  if kindOf and kindOf(a) ~= kindOf(b) then return false end
  return a == b and 1 / a == 1 / b or a ~= a and b ~= b
end

return random
