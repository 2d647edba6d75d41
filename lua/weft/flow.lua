-- SPDX-License-Identifier: MIT
-- flow.lua - `require "weft.flow"`: time that the caller counts, without a world: timers,
-- cooldowns, stopwatches, sequences. Each is advanced by `:update(dt)`, which makes no garbage.
--
-- Seconds are summed with the rounding error of each addition carried to the next (W. Kahan,
-- "Further remarks on reducing truncation errors", CACM 8(1), 1965): the sum of a hundred million
-- small ones is as good as that of one. As in worlds, a microsecond early counts as over.

---@class weft.FlowModule
local flow = {}

local EARLY = 1e-6
local MAX = 1e9

-- --- Checks ---------------------------------------------------------------------------------

-- A value as messages show it, alike on both machines.
local function got(value)
  if type(value) ~= "number" then return type(value) end
  return value ~= value and "nan" or ("%.14g"):format(value)
end

local function checkSeconds(seconds, who)
  if type(seconds) ~= "number" then
    error(("%s: seconds must be a number, got %s"):format(who, got(seconds)), 3)
  end
  if not (seconds >= 0 and seconds < math.huge) then
    error(("%s: seconds must be finite and >= 0, got %s"):format(who, got(seconds)), 3)
  end
  if seconds > MAX then
    error(("%s: seconds must be at most 1e9, got %s"):format(who, got(seconds)), 3)
  end
  return seconds
end

local function refuseDt(dt, who)
  local rule = type(dt) == "number" and "finite and >= 0" or "a number"
  error(("%s:update: dt must be %s, got %s"):format(who, rule, got(dt)), 3)
end

local function isDt(dt)
  return type(dt) == "number" and dt >= 0 and dt < math.huge
end

-- --- Sums -----------------------------------------------------------------------------------

-- Adds to `sum`; what rounding added too much is in `lost`.
local function advance(self, dt)
  local term = dt - self.lost
  local sum = self.sum + term
  self.lost = (sum - self.sum) - term
  self.sum = sum
end

local function left(self)
  local rest = (self.seconds - self.sum) + self.lost
  return rest > 0 and rest or 0
end

local function isOver(self)
  return (self.seconds - self.sum) + self.lost < EARLY
end

-- --- Timer ----------------------------------------------------------------------------------

---@class weft.FlowTimer
local Timer = {}
Timer.__index = Timer

--- Lets time pass. Raises for a dt that is no number, below 0 or not finite, as all updates do.
---
---     if fuse:update(dt) then explode() end
---@param dt number seconds
---@return boolean over true in the update that ends it, and in no other
function Timer:update(dt)
  if not isDt(dt) then refuseDt(dt, "timer") end
  if self.over then return false end
  advance(self, dt)
  self.over = isOver(self)
  return self.over
end

--- Whether it has ended.
---
---     if fuse:done() then bomb.visible = false end
---@return boolean
function Timer:done()
  return self.over
end

--- Seconds until it ends.
---
---     print(("%.1f s"):format(fuse:remaining()))
---@return number
function Timer:remaining()
  return self.over and 0 or left(self)
end

--- Begins anew.
---
---     fuse:reset()
function Timer:reset()
  self.sum, self.lost, self.over = 0, 0, false
end

--- A timer that ends once, in the update in which so many seconds have passed; of 0, in the first.
---
---     local fuse = flow.timer(3)
---@param seconds number 0 to 1e9
---@return weft.FlowTimer
function flow.timer(seconds)
  local timer = { seconds = checkSeconds(seconds, "flow.timer") }
  Timer.reset(timer)
  return setmetatable(timer, Timer)
end

-- --- Cooldown -------------------------------------------------------------------------------

---@class weft.Cooldown
local Cooldown = {}
Cooldown.__index = Cooldown

--- Lets time pass.
---
---     fireball:update(dt)
---@param dt number seconds
---@return boolean ready true in the update that makes it ready again
function Cooldown:update(dt)
  if not isDt(dt) then refuseDt(dt, "cooldown") end
  if self.over then return false end
  advance(self, dt)
  self.over = isOver(self)
  return self.over
end

--- Whether it may be used.
---
---     icon.grey = not fireball:ready()
---@return boolean
function Cooldown:ready()
  return self.over
end

--- Uses it, if it is ready; then it is not for its time.
---
---     if fireball:use() then cast() end
---@return boolean used
function Cooldown:use()
  if not self.over then return false end
  self.sum, self.lost = 0, 0
  self.over = self.seconds == 0
  return true
end

--- Seconds until it is ready.
---
---     icon.angle = fireball:remaining() / 8
---@return number
function Cooldown:remaining()
  return self.over and 0 or left(self)
end

--- What may be used once in so many seconds; ready at first. Of 0 it always is.
---
---     local fireball = flow.cooldown(8)
---@param seconds number 0 to 1e9
---@return weft.Cooldown
function flow.cooldown(seconds)
  return setmetatable({ seconds = checkSeconds(seconds, "flow.cooldown"), sum = 0, lost = 0,
    over = true }, Cooldown)
end

-- --- Stopwatch ------------------------------------------------------------------------------

---@class weft.Stopwatch
local Stopwatch = {}
Stopwatch.__index = Stopwatch

--- Lets time pass.
---
---     lap:update(dt)
---@param dt number seconds
function Stopwatch:update(dt)
  if not isDt(dt) then refuseDt(dt, "stopwatch") end
  advance(self, dt)
end

--- Seconds that have passed.
---
---     hud.time = ("%.2f"):format(lap:elapsed())
---@return number
function Stopwatch:elapsed()
  return self.sum - self.lost
end

--- Begins anew.
---
---     lap:reset()
function Stopwatch:reset()
  self.sum, self.lost = 0, 0
end

--- Counts the time that passes.
---
---     local lap = flow.stopwatch()
---@return weft.Stopwatch
function flow.stopwatch()
  return setmetatable({ sum = 0, lost = 0 }, Stopwatch)
end

-- --- Sequence -------------------------------------------------------------------------------

---@class weft.Sequence
local Sequence = {}
Sequence.__index = Sequence

--- Lets time pass, and calls the functions that it passes, in their order. What one entry leaves of
--- dt goes to the next, so the whole takes the sum of its seconds, however the time is cut.
---
---     if intro:update(dt) then startGame() end
---@param dt number seconds
---@return boolean done true once all is through, from then on always
function Sequence:update(dt)
  if not isDt(dt) then refuseDt(dt, "sequence") end
  if self.at <= #self then advance(self, dt) end
  while self.at <= #self do
    local entry = self[self.at]
    if type(entry) == "number" then
      self.seconds = entry
      if not isOver(self) then return false end
      self.at = self.at + 1
      self.sum = self.sum - entry
    else
      self.at = self.at + 1
      self.anew = false
      entry()
      if self.anew then return false end
    end
  end
  return true
end

--- Whether all is through.
---
---     skip.visible = not intro:done()
---@return boolean
function Sequence:done()
  return self.at > #self
end

--- Begins anew; if one of its own functions calls this, with the next update.
---
---     intro:reset()
function Sequence:reset()
  self.at, self.sum, self.lost, self.anew = 1, 0, 0, true
end

--- Seconds to wait and functions to call, one after the other. A function that fails raises out of
--- `update`, which goes on behind it when it is called again.
---
---     local intro = flow.sequence { 1, showLogo, 2.5, hideLogo, showMenu }
---@param list (number|fun())[]
---@return weft.Sequence
function flow.sequence(list)
  if type(list) ~= "table" then
    error(("flow.sequence: a list of seconds and functions expected, got %s"):format(got(list)),
      2)
  end
  local sequence = { seconds = 0 }
  for i = 1, #list do
    local entry = list[i]
    if type(entry) ~= "function" then
      if type(entry) ~= "number" then
        error(("flow.sequence: entry %d must be seconds or a function, got %s"):format(i,
          got(entry)), 2)
      end
      checkSeconds(entry, "flow.sequence")
    end
    sequence[i] = entry
  end
  Sequence.reset(sequence)
  return setmetatable(sequence, Sequence)
end

return flow
