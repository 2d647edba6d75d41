-- SPDX-License-Identifier: MIT
-- types_events.lua - for editors: signals, and what else routines wait on. Never loaded by the
-- library.
-- luacheck: ignore 212 241

---@meta

-- --- Signals --------------------------------------------------------------------------------

--- Something that happens again and again. A fire calls the listeners that are connected, and wakes
--- the routines that wait. It is not remembered: who waits hears the next fire and no other.
--- A signal is of no world: routines of several may wait for it, and it may be fired from anywhere.
--- It lives as long as somebody holds it or waits for it. After `destroy` all but `destroy` and
--- `waiting` raise.
---@class weft.Signal
local Signal = {}

--- From now on each fire calls `fn` with its values, after the functions that were connected
--- before. A fire calls those that were connected when it began and still are at their turn; one
--- that is connected during it hears the next. A function may be connected more than once.
---
--- A listener is a callback, no part of the routine that fires: it may start, connect, fire, do all
--- but wait, tick or close its world. Its world is the one inside which it was connected, else that
--- of the fire, outside of all the default one; when it fails that world's `onError` is told, and
--- the rest are called. `owner:connect` ties it to an owner. Raises if `fn` is no function.
---
---     local sub = door.opened:connect(function(who) print(who, "came in") end)
---@param fn fun(...)
---@return weft.Subscription? sub its `off` ends it, at once
---@return nil|"full" reason at 2^24 listeners
function Signal:connect(fn) end

--- The same for one fire: the listener is off before it is called.
---
---     boss.died:once(openTheGate)
---@param fn fun(...)
---@return weft.Subscription? sub
---@return nil|"full" reason
function Signal:once(fn) end

--- Waits for the next fire and returns its values, nils and trailing ones included. The same as
--- `routine.waitFor(signal, timeout)`, and works anywhere in a routine. If the time limit is due in
--- the tick of the fire, the fire wins if it comes before the routine stage. Raises outside a
--- routine, in a finalizer, for a timeout that is no number from 0 to 1e9, and after `destroy`.
---
---     local who, reason = door.opened:wait(10)
---     if reason == "timeout" then print "nobody came" end
---@param timeout? number seconds of sim time; 0 is until the next tick
---@return any ... the values; `nil, "timeout"`; `nil, "closed"` if it was destroyed meanwhile
function Signal:wait(timeout) end

--- Makes all routines that wait ready, in the order in which they began to wait, and then calls the
--- listeners in the order of connection; when it returns all have been called, and no routine has
--- run: each does in the next routine stage of its world. The values come to all unchanged, and are
--- not copied. A listener may fire, the same signal too, 32 fires deep; one more raises. Works
--- anywhere, outside of worlds as well.
---
---     door.opened:fire(hero, "the north gate")
---@param ... any
function Signal:fire(...) end

--- Wakes the routine alone that has waited longest; no listener is called. If it is cancelled
--- before it runs the next one gets the turn, values and all.
---
---     if not queue.free:fireOne(desk) then idle(desk) end
---@param ... any
---@return boolean waited whether anybody did
function Signal:fireOne(...) end

--- How many waits are under way, those of `routine.any` and `routine.all` included.
---
---     if door.opened:waiting() == 0 then door:lock() end
---@return integer
function Signal:waiting() end

--- Ends the signal: waits return `nil, "closed"`, listeners are off. Routines that were woken by a
--- fire before still get its values.
---
---     door.opened:destroy()
---@return boolean was false if it was destroyed before
function Signal:destroy() end

return { signal = Signal }
