-- SPDX-License-Identifier: MIT
-- easing.lua - `require "weft.easing"`: curves from 0 to 1, by name.
--
-- They are Robert Penner's ("Programming Macromedia Flash MX", 2002, chapter 7), each given as its
-- "In"; "Out" is the same seen from the end, "InOut" both halves in turn. Powers are products and
-- exponentials are math.exp, so that both machines give the same numbers.

local sin, sqrt, exp, pi = math.sin, math.sqrt, math.exp, math.pi
local LN2 = 0.693147180559945309417
local OVERSHOOT = 1.70158 -- of back: a tenth of the way

local ins = {}

function ins.quad(x) return x * x end

function ins.cubic(x) return x * x * x end

function ins.quart(x) return x * x * (x * x) end

function ins.quint(x) return x * x * (x * x) * x end

function ins.sine(x) return 1 - sin((1 - x) * (pi / 2)) end

function ins.expo(x) return x <= 0 and 0 or exp(10 * LN2 * (x - 1)) end

function ins.circ(x) return 1 - sqrt(1 - x * x) end

function ins.back(x) return x * x * ((OVERSHOOT + 1) * x - OVERSHOOT) end

function ins.elastic(x)
  if x <= 0 or x >= 1 then return x end
  return -exp(10 * LN2 * (x - 1)) * sin((x - 1.075) * (2 * pi / 0.3))
end

-- Four bounces off the floor, each as high as a parabola through its ends.
local function bounceOut(x)
  if x < 4 / 11 then return 7.5625 * x * x end
  local rest, floor = x - 6 / 11, 0.75
  if x >= 10 / 11 then
    rest, floor = x - 21 / 22, 0.984375
  elseif x >= 8 / 11 then
    rest, floor = x - 9 / 11, 0.9375
  end
  return 7.5625 * rest * rest + floor
end

function ins.bounce(x) return 1 - bounceOut(1 - x) end

local function outOf(curve)
  return function(x) return 1 - curve(1 - x) end
end

local function inOutOf(curve)
  return function(x)
    if x < 0.5 then return curve(2 * x) / 2 end
    return 1 - curve(2 - 2 * x) / 2
  end
end

--- Curves by name: `linear`, and `In`, `Out` and `InOut` of quad, cubic, quart, quint, sine, expo,
--- circ, back, elastic and bounce. Each takes 0 to 1 and gives 0 at 0 and 1 at 1; those of back and
--- elastic leave that range in between.
---
---     local easing = require "weft.easing"
---     hud.alpha = easing.quadOut(age / 2)
---@class weft.Easing
---@field [string] fun(x: number): number
local easing = { linear = function(x) return x end }

for name, curve in next, ins do
  easing[name .. "In"] = curve
  easing[name .. "Out"] = name == "bounce" and bounceOut or outOf(curve)
  easing[name .. "InOut"] = inOutOf(curve)
end

return easing
