-- SPDX-License-Identifier: MIT
-- types_timer.lua - for editors: what weft/core.so defines of `require "weft.timer"`. Never loaded
-- by the library.
-- luacheck: ignore 212 241

---@meta

--- Functions that are called later, by the timers' stage of the tick (the README has its order):
--- those due in real time first, then those due in sim time, each by deadline, and those of the
--- same deadline in the order in which they were made. What is due is collected before any is
--- called. What a callback does to other timers, also to those due in the same tick, takes effect
--- at once; a timer that is made inside a tick first fires in a later one, and its time counts
--- from that tick.
---
--- A callback is no routine: a wait in it raises, it may start one. An error in it goes to
--- `onError`, with nil for the handle, and the timer goes on.
---
--- The functions act on the world that is calling, outside of all on the default one. A world makes
--- room for timers as they are armed; `timers` of `weft.world` reserves it before. `world:run` does
--- not wait for timers, but for routines.
---@class weft.TimerModule
local timer = {}

--- Calls `fn(...)` once, when that much sim time has passed; 0 is the next tick. A table that has
--- the one field `unscaled` is no argument of `fn` if it comes right behind it: with `{ unscaled =
--- true }` the timer runs on real time, whether the world is paused or not.
---
--- Raises as `routine.wait` does, and if `fn` is no function.
---
---     timer.after(3, explode, bomb)
---     timer.after(0.2, fade, { unscaled = true }, menu)
---@param seconds number 0 to 1e9
---@param fn fun(...)
---@param ... any arguments of `fn`, perhaps with options before them
---@return weft.Timer? timer
---@return nil|"closed"|"capacity" reason the world is being closed; there are over 16 million
function timer.after(seconds, fn, ...) end

--- Calls `fn(n)` every so many seconds of sim time, at most once a tick: n is how many whole
--- intervals have passed since its last call. So it does not drift, a long tick brings one call
--- and not many, and nothing is lost. 0 is each tick, and n is 1.
---
--- Raises as `timer.after` does, and for options that are not there or out of their range.
---
---     timer.every(0.5, function(n) player.mana = player.mana + n end)
---     local waves = timer.every(10, spawnWave, { count = 5, delay = 3 })
---@param seconds number 0 to 1e9
---@param fn fun(n: integer)
---@param options? weft.TimerOptions
---@return weft.Timer? timer
---@return nil|"closed"|"capacity" reason as for `timer.after`
function timer.every(seconds, fn, options) end

---@class weft.TimerOptions
---@field count? integer ends it when the sum of its intervals is that; 1 or more
---@field delay? number seconds until the first call, in place of one interval
---@field unscaled? boolean runs on real time, whether the world is paused or not

--- Gives the timer a tag, by whose name it can be called together with others, in place of the one
--- it had; nil takes it. A name stands for one group in each world.
---
---     timer.tag(timer.every(2, roar), "wildlife")
---@param handle weft.Timer
---@param name? string
---@return boolean tagged false if the timer is over
function timer.tag(handle, name) end

--- Cancels all timers of a tag in the calling world; or those of an owner and of the owners below
--- it.
---
---     timer.cancelAll "wildlife"
---@param group string|weft.Owner
---@return integer count how many there were
function timer.cancelAll(group) end

--- Pauses them, as `pause` of each does.
---
---     timer.pauseAll(level)
---@param group string|weft.Owner
---@return integer count how many ran before
function timer.pauseAll(group) end

--- Lets those that are paused go on.
---
---     timer.resumeAll(level)
---@param group string|weft.Owner
---@return integer count how many were paused
function timer.resumeAll(group) end

--- A weak handle: dropping it stops nothing. Its methods do nothing, and answer false or 0, once
--- the timer is over: cancelled, ended with its owner or world, or in its last call.
---@class weft.Timer
local Timer = {}

--- Ends it. From its own callback too, and from that of another that is due in the same tick.
---
---     bomb.fuse:cancel()
---@return boolean cancelled false if it was over
function Timer:cancel() end

--- Stops it; what is left of its wait is kept.
---
---     waves:pause()
---@return boolean changed false if it was paused, or is over
function Timer:pause() end

--- Lets it go on with what was left: its later calls move by the length of the pause.
---
---     waves:resume()
---@return boolean changed false if it was not paused, or is over
function Timer:resume() end

--- Seconds of its clock until its next call; 0 if that is overdue, and once it is over.
---
---     hud.fuse = ("%.1f s"):format(bomb.fuse:remaining())
---@return number seconds
function Timer:remaining() end

--- Whether it is going to be called again, once it is not paused.
---
---     if not bomb.fuse:alive() then bomb:remove() end
---@return boolean
function Timer:alive() end

return { timer = timer, handle = Timer }
