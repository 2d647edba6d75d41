-- SPDX-License-Identifier: MIT
-- types_owner.lua - for editors: the methods of the owners that `world:owner` gives. Never loaded
-- by the library.
-- luacheck: ignore 212 241

---@meta

--- Stands for an actor, a scene, a component, a script: the routines it owns end with it. It is a
--- weak handle, usable as a table key: it lives until it is destroyed, whether anybody holds it or
--- not, and a destroyed one stays destroyed, for ever. What an owned routine starts by
--- `routine.start` is not owned. Every world destroys its owners when it closes; after that they
--- are not alive, `destroy`, `disable` and `enable` do nothing, and the rest raises.
---@class weft.Owner
local Owner = {}

--- Queues a routine that the owner owns, in the owner's world; never runs it inline. Raises if
--- `fn` is no function.
---
---     local handle, reason = guard:start(patrol, "north gate")
---@param fn fun(...): ...
---@param ... any arguments of `fn`
---@return weft.Routine? handle
---@return nil|"destroyed"|"disabled"|"capacity"|"closed" reason why there is none
function Owner:start(fn, ...) end

--- Cancels the routines and timers that it and the owners below it own, and lets none of them
--- start any until `enable`. The owners below count as disabled as long as one above them is. May
--- be called from anywhere, from its own routine too, which ends at its next wait.
---
---     guard:disable()
---@return boolean changed false if it was disabled or destroyed before
function Owner:disable() end

--- Lets it start routines again, and those below it that are not disabled themselves. It restarts
--- nothing.
---
---     guard:enable()
---@return boolean changed false if it was not disabled, or is destroyed
function Owner:enable() end

--- Cancels the routines that it owns, in the order in which they were started, then those of its
--- children, which are destroyed with it. May be called from anywhere, from its own routine too,
--- which ends at its next wait.
---
---     level:destroy()
---@return boolean was whether it was alive
function Owner:destroy() end

--- Whether it is not destroyed. Its routines may still be running their cleanups when it is not.
---
---     if target:alive() then chase(target) end
---@return boolean
function Owner:alive() end

--- From now on sim time runs `scale` times as fast for what it owns and for the owners below it,
--- on top of the scales of its parents and of the world. Waits and time limits run on that clock,
--- those under way included, and `wait` and `nextTick` return its seconds. At 0 it stands still:
--- what was left of a wait is left later, and `nextTick` and `waitUnscaled` go on. Raises unless
--- the scale is finite and >= 0.
---
---     boss:setTimeScale(0.5)
---@param scale number 1 at first
---@return true? set
---@return nil|"destroyed" reason
function Owner:setTimeScale(scale) end

--- From now on `fn` hears the messages of that name that are sent to this owner or broadcast. It is
--- called with their values, in stage 3 of a tick, after the functions of that name that the owner
--- had before; a message that is being told when it is added does not reach it. It is a callback of
--- the world, and may do all but wait, tick and close; when it fails, the world's `onError` is told
--- and the others hear. A disabled owner hears, too; once it is destroyed nothing does. Raises if
--- the name is no string or `fn` no function.
---
---     guard:on("noise", function(where) guard:start(lookAt, where) end)
---@param name string
---@param fn fun(...)
---@return weft.Subscription? sub its `off` ends it, at once
---@return nil|"destroyed" reason
function Owner:on(name, fn) end

--- Connects `fn` to a signal as `signal:connect` does, until the owner is destroyed; a disabled
--- owner hears, too. The listener is a callback of the owner's world, and fails there. Raises if
--- `signal` is none or is destroyed, or if `fn` is no function.
---
---     guard:connect(alarm, function(where) guard:start(run, where) end)
---@param signal weft.Signal
---@param fn fun(...)
---@return weft.Subscription? sub its `off` ends it, at once
---@return nil|"destroyed"|"full" reason
function Owner:connect(signal, fn) end

--- The same for one fire.
---
---     guard:once(alarm, function() guard:start(wakeUp) end)
---@param signal weft.Signal
---@param fn fun(...)
---@return weft.Subscription? sub
---@return nil|"destroyed"|"full" reason
function Owner:once(signal, fn) end

--- Calls `fn()` once, when the owner has been destroyed and all that it and those below it owned
--- has ended, cleanups included: before `destroy` returns if nothing is left, at once if that is
--- long past, else in the tick in which the last routine ends. Functions are called in the order
--- in which they were given, children's before their parents'. They are callbacks of the owner's
--- world: they may start, cancel and destroy, but not wait, tick or close. Raises if `fn` is no
--- function.
---
---     level:onDestroyed(function() unloadTextures("level 1") end)
---@param fn fun()
function Owner:onDestroyed(fn) end

--- Calls `fn(...)` once, as `timer.after` does, on this owner's clock; with the owner it ends,
--- untold.
---
---     guard:after(2, guard.turn, guard, "left")
---@param seconds number 0 to 1e9
---@param fn fun(...)
---@param ... any arguments of `fn`, perhaps with options before them
---@return weft.Timer? timer
---@return nil|"destroyed"|"disabled"|"closed"|"capacity" reason
function Owner:after(seconds, fn, ...) end

--- Calls `fn(n)` at an interval, as `timer.every` does, on this owner's clock; with the owner it
--- ends.
---
---     guard:every(30, function() guard:yawn() end, { delay = 5 })
---@param seconds number 0 to 1e9
---@param fn fun(n: integer)
---@param options? weft.TimerOptions
---@return weft.Timer? timer
---@return nil|"destroyed"|"disabled"|"closed"|"capacity" reason
function Owner:every(seconds, fn, options) end

return { owner = Owner }
