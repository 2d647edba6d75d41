-- SPDX-License-Identifier: MIT
-- types_routine.lua - for editors: the functions of `require "weft.routine"` and the methods of the
-- handles it gives. Never loaded by the library.
-- luacheck: ignore 212 241

---@meta

--- `queued` is unstarted, or woken and not yet resumed; `sleeping` is every kind of wait. Slots are
--- reused, the one that ended first first; then the handle is `expired`, for ever.
---@alias weft.Status
---| "queued"
---| "running"
---| "sleeping"
---| "cancelling"
---| "completed"
---| "cancelled"
---| "failed"
---| "expired"

--- The one error value that a cancel raises; compare with `==`.
---@class weft.Cancelled: userdata

-- --- Handles --------------------------------------------------------------------------------

--- One routine has one handle, usable as a table key. It does not keep the routine alive; what the
--- routine ended with is kept in it.
---@class weft.Routine
local Routine = {}

--- Asks the routine to stop. Unstarted, it is cancelled at once and never entered; waiting, its
--- wait raises `routine.Cancelled` in the next routine stage and its cleanups run; running, its
--- next wait raises. May be called from anywhere. Raises if this is no handle.
---
---     handle:cancel("out of range")
---@param reason? any what `routine.isCancelled` tells the routine; the first one stays
---@return boolean alive false if it had ended before
function Routine:cancel(reason) end

--- How the routine stands. May be called from anywhere.
---
---     if handle:status() == "failed" then print(handle:error()) end
---@return weft.Status
function Routine:status() end

--- What a failed routine raised, and where; `routine.Cancelled` of a cancelled one; else nothing.
---
---     local err, traceback = handle:error()
---@return any err
---@return string? traceback
function Routine:error() end

--- The same as `routine.join(handle, timeout)`.
---
---     local ok, path = search:join()
---@param timeout? number seconds of sim time
---@return boolean? ok
---@return any ... results, error or reason
function Routine:join(timeout) end

--- Routines and signals to wait for. The list is read at the call; one may be in it twice.
---@class weft.Several
---@field [integer] weft.Routine|weft.Signal
---@field timeout? number seconds of sim time, as for `join`

-- --- Scopes ---------------------------------------------------------------------------------

--- What `routine.scope` gives to its function.
---@class weft.Scope
local Scope = {}

--- Queues a child: a routine that ends before the scope does. It has the owner, and with it the
--- clock, of the routine that opened the scope. May be called from anywhere while the scope is
--- open, by its children too. Refused with "closed" once the scope has failed, was cancelled or
--- is over. Raises if `fn` is no function.
---
---     scope:start(patrol, "north gate")
---@param fn fun(...): ...
---@param ... any arguments of `fn`
---@return weft.Routine? handle
---@return nil|"closed"|"capacity"|"destroyed"|"disabled" reason why there is none
function Scope:start(fn, ...) end

--- Cancels the children and interrupts the function at its wait; when they have ended
--- `routine.scope` raises `routine.Cancelled`, if nothing failed. The routine itself is not
--- cancelled. May be called from anywhere.
---
---     if alarm then scope:cancel() end
---@return boolean open false if it was over before
function Scope:cancel() end

-- --- The module -----------------------------------------------------------------------------

--- Options of `routine.slice`; one of them is needed. An unknown key raises.
---@class weft.SliceOptions
---@field count? integer iterations in a tick, at least 1
---@field ms? number milliseconds of real time in a tick, 0 to 1e12; at 0 one iteration passes

--- What a script calls inside routines and about them. Functions act on the world that is calling,
--- outside all worlds on the default one.
---@class weft.RoutineModule
---@field Cancelled weft.Cancelled
local routine = {}

--- Queues a routine; never runs it inline. Raises if `fn` is no function.
---
---     local handle, reason = routine.start(pulse, actor)
---@param fn fun(...): ...
---@param ... any arguments of `fn`
---@return weft.Routine? handle
---@return nil|"capacity"|"closed" reason why there is none
function routine.start(fn, ...) end

--- The same as `owner:start(fn, ...)`.
---
---     routine.startOwned(guard, patrol, "north gate")
---@param owner weft.Owner
---@param fn fun(...): ...
---@param ... any arguments of `fn`
---@return weft.Routine? handle
---@return nil|"destroyed"|"disabled"|"capacity"|"closed" reason why there is none
function routine.startOwned(owner, fn, ...) end

--- Waits in sim time, to the first tick at which that much has passed; 0 is the next tick. Like all
--- waits it works anywhere in a routine. Raises outside a routine, in a finalizer, for seconds that
--- are no number, below 0, over 1e9 or not finite; and `routine.Cancelled` when cancelled.
---
---     routine.wait(0.5)
---@param seconds number
---@return number slept sim seconds
function routine.wait(seconds) end

--- Waits for n fixed steps from now, in a world that has a `fixedStep`. It goes on in the routines'
--- stage of the tick in which the last of them was run, so once a tick at most; steps that were
--- dropped do not count. Raises in a world without, for n that is no whole number from 1, and as
--- `wait` does.
---
---     while true do integrate(body, routine.waitFixed() * STEP) end
---@param n? integer 1 unless given
---@return integer passed how many steps were run since the call, n or more
function routine.waitFixed(n) end

--- Waits until a later tick, also at time scale 0. Raises as `wait` does.
---
---     x = x + speed * routine.nextTick()
---@return number passed sim seconds since the call
function routine.nextTick() end

--- Waits in real time: goes on while the world is paused or scaled. Raises as `wait` does.
---
---     routine.waitUnscaled(3)
---@param seconds number
---@return number slept real seconds
function routine.waitUnscaled(seconds) end

--- Waits until a file descriptor can be read or written without blocking, or is at its end or
--- broken, which reading and writing will tell. The world asks the system once a tick, in stage 2
--- after the posts, so this takes a tick at least; all that wait for one descriptor are woken, so
--- reads and writes should be non-blocking. `world:run` sleeps until the next tick or the first
--- descriptor. `nil, "closed"` for one that is not open, or is closed while somebody waits; who
--- closes one should end its waits first, for the system may give the number to another. Raises as
--- `wait` does, and for a descriptor that is no whole number >= 0 (-1 is what a closed LuaSocket
--- has) and another mode than "r" and "w".
---
---     repeat
---       local line, err = client:receive()
---       if err == "timeout" then routine.waitFd(client:getfd(), "r") end
---     until line or err ~= "timeout"
---@param fd integer
---@param mode "r"|"w"
---@param timeout? number seconds of sim time
---@return true? ready
---@return nil|"timeout"|"closed" reason
function routine.waitFd(fd, mode, timeout) end

--- Waits until another routine has ended. Gives `true` and its results; `false` and its error,
--- which is `routine.Cancelled` if it was cancelled; `nil, "timeout"`; or `nil, "expired"`. The
--- error of a routine that somebody joins does not go to `onError`. Those that join go on in the
--- order in which they began to wait, and those that wait for several after them. Raises as `wait`
--- does, and for the routine itself, for a ring of joins, and for a live routine of another world.
---
---     local ok, path = routine.join(search, 2)
---@param handle weft.Routine
---@param timeout? number seconds of sim time
---@return boolean? ok
---@return any ... results, error or reason
function routine.join(handle, timeout) end

--- Waits until `pred()` is true: asks at the call, and then once in each tick, before the time
--- limit is looked at. So a condition that holds in the tick of the limit, or in the one after a
--- limit of 0, is found. The condition may wait; what it raises is raised here. Raises as `wait`
--- does, if `pred` is no function, and for a timeout that is no time.
---
---     if not routine.waitUntil(function() return door.open end, 5) then kick(door) end
---@param pred fun(): any
---@param timeout? number seconds of sim time
---@return boolean met
---@return nil|"timeout" reason
function routine.waitUntil(pred, timeout) end

--- Calls `fn(x)` at once with 0, then in each tick with how much of the time is over, as the easing
--- curves it, and at last with 1; both are exact. Its time is that of `wait`; 0 seconds end in the
--- next tick. What `fn` raises ends it.
---
---     routine.tween(0.5, function(x) door.angle = 90 * x end, "bounceOut")
---
--- Easings are named in easing.lua: `linear`, as without one, and `In`, `Out` and `InOut` of quad,
--- cubic, quart, quint, sine, expo, circ, back, elastic and bounce; or give a function from 0..1 to
--- a number. Raises as `wait` does, if `fn` is no function, and for an unknown easing.
---@param seconds number
---@param fn fun(x: number)
---@param easing? string|fun(x: number): number
function routine.tween(seconds, fn, easing) end

--- An iterator that waits for its next turn. Turns lie on the grid call + k * `seconds`, in sim
--- time: they do not drift, whatever the ticks are and however long the body of the loop waits.
--- There is at most one turn in a tick; `n` is how many intervals have passed since the turn
--- before, so that none is lost, and a turn that was missed comes at once. With `seconds` 0 there
--- is a turn in each tick, and `n` is 1. The loop ends, without a wait, when the sum of all `n` is
--- `count`; the last one is cut to fit.
---
---     for n in routine.every(0.1) do fuel = fuel - n * burn end
---
--- The iterator belongs to the routine that asked for it. Raises as `wait` does, and for a count
--- that is not whole or below 1.
---@param seconds number
---@param count? integer at least 1; no end unless given
---@return fun(): integer? turn
function routine.every(seconds, count) end

--- For long loops: gives a function to call after each iteration. It is free until the budget of
--- the tick is used, by so many iterations or by so much real time, whichever comes first; then it
--- waits for the next tick. At least one iteration passes in a tick. The budget is anew in each
--- tick: real time counts from where the step went on, or from its first call in a tick that the
--- body waited for by itself. Routines that share a step share its budget, and worlds have one
--- each. May be called anywhere, the step in routines only. Raises for options that are not of this
--- kind.
---
---     local step = routine.slice{ ms = 2 }
---     for _, cell in ipairs(grid) do update(cell) step() end
---@param options weft.SliceOptions
---@return fun() step
function routine.slice(options) end

--- Waits for the first of several: routines that end, signals that are fired. Gives its place in
--- the list (the lowest, if some have ended before) and what `join` or `waitFor` gives of it; or
--- `nil, "timeout"`. The others are let go of at once: an error of the one that is answered for is
--- told here alone, one that another ends with later is reported as if nobody had waited. Raises as
--- `join` does, for a ring only if none of the list could end before the caller; and for an empty
--- list, an entry that is neither handle nor signal, and a signal that is destroyed.
---
---     local who, ok, winner = routine.any{ left, right, timeout = 5 }
---@param list weft.Several
---@return integer? index
---@return any ... what `join` or `waitFor` gives of it, or the reason
function routine.any(list) end

--- Waits until every one of several has come: routines have ended, also if some fail, and signals
--- have been fired once. Gives a list with what `join` or `waitFor` gives of each, packed with `n`;
--- or `nil, "timeout"`. An empty list gives one at once. Errors of those that it waits for are told
--- here alone; after a timeout they are still in the handles. Raises as `join` does, for a ring if
--- any of the list could end only after the caller; and for an entry that `any` does not take.
---
---     local results = routine.all{ left, right }
---     print(results[1][1], results[2].n)
---@param list weft.Several
---@return table[]? results
---@return nil|"timeout" reason
function routine.all(list) end

--- The same as `signal:wait(timeout)`: waits for the next fire and returns its values.
---
---     local who = routine.waitFor(door.opened, 10)
---@param signal weft.Signal
---@param timeout? number seconds of sim time
---@return any ... the values, or `nil` and `"timeout"` or `"closed"`
function routine.waitFor(signal, timeout) end

--- Calls `fn(scope)` in the running routine; whatever it starts by `scope:start` ends before this
--- returns, in whatever way. When `fn` returns, the children are waited for and its results
--- returned.
---
--- When a child fails, or `fn` itself, the other children are cancelled, in the order of their
--- starts, and `fn` is interrupted: its wait raises `routine.Cancelled`, as the next ones do, and
--- `isCancelled` is true, but the routine is not cancelled. When all have ended the first error is
--- raised, with the traceback that it came with. Later errors of children are in their handles, one
--- of `fn` goes to `onError`. A child that was cancelled alone does not fail the scope.
---
--- When the routine is cancelled its scopes are, with all that is in them; if children were left,
--- `routine.Cancelled` is raised in the end, or what one of them failed with on the way out. A
--- shield around a scope holds that back, for the children too, also where it comes from their
--- owner; a shield within `fn` or a child holds the scope's own cancel back until it is over. At
--- a bare `coroutine.yield()` nothing is interrupted: the next wait is. In the last pass of
--- `world:unload`, and when the routine is ended by force, the children are cancelled and not
--- waited for.
---
--- The scope joins each child from its start: a child that waits for the end of its host closes a
--- ring, which raises. A coroutine of the script's own may not yield out of a scope; waits work
--- everywhere. Raises outside a routine, in a finalizer, and if `fn` is no function.
---
---     local left, right = routine.scope(function(scope)
---       local a, b = scope:start(scan, "left"), scope:start(scan, "right")
---       return select(2, a:join()), select(2, b:join())
---     end)
---@param fn fun(scope: weft.Scope): ...
---@return ... any results of `fn`
function routine.scope(fn) end

--- Calls `fn(...)` as Lua's `pcall` does, but lets `routine.Cancelled` through.
---
---     local ok, err = routine.pcall(loadLevel, name)
---@param fn fun(...): ...
---@param ... any
---@return boolean ok
---@return any ... results or the error
function routine.pcall(fn, ...) end

--- Runs `fn()` when the routine ends in any way: the latest first, all of them even if one fails.
--- They may wait, after a cancel once and again by the same rules as its body; one that is ended by
--- force is reported, and what the body ended with stays. Raises outside a routine, and if `fn` is
--- no function.
---
---     routine.defer(function() door.locked = false end)
---@param fn fun()
function routine.defer(fn) end

--- The same as `handle:cancel(reason)`.
---
---     routine.cancel(beat)
---@param handle weft.Routine
---@param reason? any
---@return boolean alive
function routine.cancel(handle, reason) end

--- The same as `handle:status()`.
---
---     print(routine.status(beat))
---@param handle weft.Routine
---@return weft.Status
function routine.status(handle) end

--- The running routine; nil outside.
---
---     active[routine.self()] = true
---@return weft.Routine?
function routine.self() end

--- Whether the running routine was asked to stop, or a scope that it is in, and the reason that was
--- given for the former. Raises outside.
---
---     if routine.isCancelled() then return end
---@return boolean asked
---@return any reason
function routine.isCancelled() end

--- Names the running routine, for `world:inspect`, reports and the overflow message. Raises outside
--- a routine and for what is no string.
---
---     routine.name("door of " .. room.name)
---@param name string
function routine.name(name) end

--- Calls a function with cancels held back: it waits as if nobody had asked the routine to stop,
--- and the next wait after it returned is told. `world:unload` ends it all the same, in its last
--- pass. Raises outside a routine, for what is no function, and at 63 shields one in the other.
---
---     routine.shield(account.transfer, account, amount)
---@param fn fun(...): ...
---@param ... any arguments of `fn`
---@return ... any its results
function routine.shield(fn, ...) end

--- The owner of the running routine; nil if nobody owns it. Raises outside.
---
---     routine.owner():onDestroyed(save)
---@return weft.Owner?
function routine.owner() end

--- The world of the running routine. Raises outside.
---
---     routine.world():post(save)
---@return weft.World
function routine.world() end

-- routine.configure and routine.stats are Lua, and documented in routine.lua.

return { routine = routine, handle = Routine, scope = Scope }
