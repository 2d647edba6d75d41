-- SPDX-License-Identifier: MIT
-- types_events.lua - for editors: signals, channels, mutexes and semaphores. Never loaded by the
-- library.
-- luacheck: ignore 212 241

---@meta

-- --- Signals --------------------------------------------------------------------------------

--- Something that happens again and again. A fire calls the listeners that are connected, and
--- wakes the routines that wait. It is not remembered: who waits hears the next fire and no other.
--- A signal is of no world: routines of several may wait for it, and it may be fired from
--- anywhere. It lives as long as somebody holds it or waits for it. After `destroy` all but
--- `destroy` and `waiting` raise.
---@class weft.Signal
local Signal = {}

--- From now on each fire calls `fn` with its values, after the functions that were connected
--- before. A fire calls those that were connected when it began and still are at their turn; one
--- that is connected during it hears the next. A function may be connected more than once.
---
--- A listener is a callback, no part of the routine that fires: it may start, connect, fire, do
--- all but wait, tick or close its world. Its world is the one inside which it was connected, else
--- that of the fire, outside of all the default one; when it fails that world's `onError` is told,
--- and the rest are called. `owner:connect` ties it to an owner. Raises if `fn` is no function.
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
--- `routine.waitFor(signal, timeout)`, and works anywhere in a routine. If the time limit is due
--- in the tick of the fire, the fire wins if it comes before the routine stage. Raises outside a
--- routine, in a finalizer, for a timeout that is no number from 0 to 1e9, and after `destroy`.
---
---     local who, reason = door.opened:wait(10)
---     if reason == "timeout" then print "nobody came" end
---@param timeout? number seconds of sim time; 0 is until the next tick
---@return any ... the values; `nil, "timeout"`; `nil, "closed"` if it was destroyed meanwhile
function Signal:wait(timeout) end

--- Makes all routines that wait ready, in the order in which they began to wait, and then calls
--- the listeners in the order of connection; when it returns all have been called, and no routine
--- has run: each does in the next routine stage of its world. The values come to all unchanged,
--- and are not copied. A listener may fire, the same signal too, 32 fires deep; one more raises.
--- Works anywhere, outside of worlds as well.
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

-- --- Channels -------------------------------------------------------------------------------

--- A queue of at most so many values between routines of one world: who puts waits while it is
--- full, who gets waits while it is empty, both first come, first served. With capacity 0, which
--- is what `weft.channel()` makes, nothing is kept: a put waits for its get. A value is of any
--- kind, nil too. What is handed to a routine that is cancelled before it runs goes to the next
--- one that waits, else back to its place. Routines of a second world raise until the first is
--- closed.
---
--- Outside of routines, in systems, listeners, posts or the host, nothing waits: what cannot be
--- done at once gives nil and `"full"` or `"empty"`.
---@class weft.Channel
local Channel = {}

--- Puts one value at the end. Raises in a finalizer of a routine, and for a timeout that is no
--- number from 0 to 1e9.
---
---     local ok, reason = orders:put("two teas", 5)
---@param value any
---@param timeout? number seconds of sim time; 0 is until the next tick
---@return true? put
---@return nil|"timeout"|"closed"|"full" reason why it was not put
function Channel:put(value, timeout) end

--- Takes the first value. After `close` it gives what is left, then `nil, "closed"`. Raises as
--- `put` does.
---
---     for order in function() return orders:get() end do serve(order) end -- until it is closed
---@param timeout? number seconds of sim time
---@return any value
---@return nil|"timeout"|"closed"|"empty" reason why there is none
function Channel:get(timeout) end

--- Lets nothing in any more: puts, those that wait too, give `nil, "closed"`; gets have what is
--- left.
---
---     orders:close()
---@return boolean was false if it was closed before
function Channel:close() end

-- --- Locks ----------------------------------------------------------------------------------

--- Held by one routine at a time, of one world. Unlocking hands it to the one that has waited
--- longest, at once: nobody can take it in between. A holder that ends in any way lets go, after
--- its cleanups; a turn that is cancelled goes to the next. Routines of a second world raise until
--- the first is closed.
---@class weft.Mutex
local Mutex = {}

--- Waits until the mutex is this routine's. Raises if it is already, which would never end;
--- outside a routine, in a finalizer, and for a timeout that is no number from 0 to 1e9.
---
---     door:lock()
---     walkThrough(door)
---     door:unlock()
---@param timeout? number seconds of sim time; 0 is until the next tick
---@return true? locked
---@return nil|"timeout" reason
function Mutex:lock(timeout) end

--- Takes the mutex if it is free; never waits. Raises outside a routine and in a finalizer.
---
---     if not door:tryLock() then findAnotherWay() end
---@return boolean locked false if a routine holds it, this one too
function Mutex:tryLock() end

--- Lets go. Raises unless this routine holds it.
---
---     door:unlock()
function Mutex:unlock() end

--- Held by at most so many at once: `weft.semaphore(n)` has n permits, 1 to 2^24. For the rest it
--- is as a mutex: first come, first served, and who ends gives back all that it has. A routine may
--- have several permits.
---@class weft.Semaphore
local Semaphore = {}

--- Waits for a permit. Raises if this routine has all of them; outside a routine, in a finalizer,
--- and for a timeout that is no number from 0 to 1e9.
---
---     chairs:acquire()
---@param timeout? number seconds of sim time; 0 is until the next tick
---@return true? acquired
---@return nil|"timeout" reason
function Semaphore:acquire(timeout) end

--- Gives back one permit of this routine. Raises if it has none.
---
---     chairs:release()
function Semaphore:release() end

return { signal = Signal, channel = Channel, mutex = Mutex, semaphore = Semaphore }
