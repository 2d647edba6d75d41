-- SPDX-License-Identifier: MIT
-- types.lua - for editors: what the C half gives, worlds first. Never loaded by the library. The
-- functions of routines stand in types_routine.lua.
-- luacheck: ignore 212 241

---@meta weft.core

-- --- Options and numbers --------------------------------------------------------------------

--- Options of `weft.world`, `world:configure` and `routine.configure`. An unknown key raises.
---@class weft.WorldOptions
---@field capacity? integer routines alive at once, 1 to 2^24; 256 unless given
---@field resumesPerTick? integer the budget of one tick; no limit unless given. What is left over
---comes first in the next one, real time and ready in turns, so that nobody waits for ever
---@field postsPerTick? integer posts that one tick runs; 128 unless given
---@field stackBytes? integer of each native stack, 160 KiB to 1 GiB; 512 KiB, on LuaJIT 2 MiB
---@field timers? integer to reserve memory for, at most 2^24; more get it as they are armed
---@field fixedStep? number seconds, 1e-6 to 1e9, of each `fixedUpdate`; no such steps unless given
---@field slowResumeMs? number `onSlow` is told of a longer resume; 0, as at first, is no limit
---@field maxResumeMs? number a longer one ends by an error that names its line; 0 is no limit

--- What `world:stats` and `routine.stats` give.
---@class weft.Stats
---@field active integer routines alive
---@field sleeping integer of those, how many are in a wait of any kind, `nextTick` included
---@field ready integer of those, how many are queued to be resumed
---@field pinned integer of those, how many keep a native stack while they wait
---@field capacity integer how many may be alive at once
---@field stackBytes integer usable bytes of each native stack
---@field stacks integer native stacks mapped so far
---@field resumed integer resumes since the world was made
---@field started integer routines started since then
---@field completed integer of those, how many returned
---@field cancelled integer of those, how many were cancelled
---@field failed integer of those, how many ended with an error
---@field rejected integer starts refused for want of capacity
---@field posts integer posts that wait to be run
---@field slow integer resumes over `slowResumeMs` that were seen
---@field dropped integer messages whose owner died before they were told, and posts of services
--- that nobody heard
---@field timers integer timers that are not over, paused ones too
---@field fixedSteps integer fixed steps run since the world was made
---@field droppedSteps integer fixed steps not run, because a tick was over more than 8 of them

--- `event` is what a routine of C waits for.
---@alias weft.Waiting "start"|"turn"|"tick"|"time"|"realTime"|"routine"|"signal"|"channel"
---| "mutex"|"semaphore"|"event"|"fixedSteps"|"cancel"

--- What `inspect` tells of a routine.
---@class weft.Inspection
---@field id weft.Routine its handle
---@field name? string as given by `routine.name`
---@field status weft.Status
---@field where? string "file:line" where it stands, or where its function begins
---@field waitingOn? weft.Waiting nil for the running one
---@field wakesIn? number seconds until its deadline, on the clock that it waits on
---@field owner? weft.Owner who owns it
---@field resumes integer how often it was resumed
---@field cpuMs? number about how long it has run, by samples; in a watched world (`slowResumeMs`)
---@field wallMs? number how long its resumes have taken by the clock: all of them with
--- `slowResumeMs`, else those while `weft.trace` ran

---@alias weft.Phase "preUpdate"|"fixedUpdate"|"update"|"postUpdate"

--- Is told of a resume that took longer than `slowResumeMs`, once, after the routines of the tick:
--- about how long, and where the routine stood, or where it waits now if that is not known.
---
--- With `slowResumeMs` or `maxResumeMs` a thread looks about four times in each limit whether still
--- the same resume is running, so one that is over a limit by less than a quarter may be missed.
--- With `slowResumeMs` the clock is read at each resume as well, for `wallMs` of `inspect`.
---
--- The line is that of the first instruction after such a look. Code that LuaJIT has compiled does
--- not stop for a look: there the line may be missing, and `maxResumeMs` ends interpreted code only
--- (`jit.off` for what is not trusted). A C function is never ended in the middle; a `pcall` may
--- catch the end, and then the next look ends it again. Nothing of this is done for callbacks. The
--- thread sends SIGURG to the world's; a handler that was there before gets those of others.
---
---     world:configure{ slowResumeMs = 50, maxResumeMs = 2000 }
---     world.onSlow = function(handle, ms, where) print(handle, ms, where) end
---@alias weft.SlowHandler fun(handle: weft.Routine?, ms: number, where: string?)

---@alias weft.ErrorHandler fun(handle: weft.Routine?, err: any, traceback: string?)

-- --- Worlds ---------------------------------------------------------------------------------

--- Owns routines and the clock they live by. It belongs to the OS thread that made it. After
--- `close` every call but another `close` raises "world is closed"; the clocks can still be read.
---@class weft.World
---@field simTime number seconds of game time, read-only
---@field realTime number seconds of all dt, paused and unscaled time included, read-only
---@field tickCount integer ticks so far, read-only
---@field onError? weft.ErrorHandler errors that nobody catches; nil, as at first, writes to stderr
---@field onSlow? weft.SlowHandler slow resumes; nil, as at first, writes to stderr
---@field run fun(self: weft.World, options?: weft.RunOptions): integer ticks on; see run.lua
local World = {}

--- One simulation tick, its stages in the order that the README lists.
---
--- Raises inside a tick of any world, in a finalizer, and for a dt that is no number, below 0, not
--- finite, over 9e9 or beyond the clock's end. Errors of what it runs go to
--- `onError`, never through here.
---
---     world:tick(1 / 60)
---@param dt number seconds, >= 0
---@return integer resumed how many routines were resumed
function World:tick(dt) end

--- Queues a routine; never runs it inline. Raises if `fn` is no function.
---
---     local handle, reason = world:start(patrol, guard, "north gate")
---@param fn fun(...): ...
---@param ... any arguments of `fn`
---@return weft.Routine? handle
---@return nil|"capacity"|"closed" reason why there is none
function World:start(fn, ...) end

--- Calls `fn(dt, world)` in each tick, with the dt that the tick was given, paused or not. Systems
--- of a phase run in the order in which they were added; one that is added while its phase runs
--- begins in the next tick. They are no routines: a wait in one raises. One that fails stays, and
--- is reported in each tick in which it does. Raises for another phase and if `fn` is no function.
---
--- Those of `fixedUpdate` run once for each whole `fixedStep` of sim time that is over, at most 8
--- times a tick, and get the fixed step for dt; what a tick has beyond that is dropped, and
--- counted in `stats().droppedSteps`. Without `fixedStep` they do not run.
---
---     local sub = world:on("postUpdate", function(dt) draw(dt) end)
---@param phase weft.Phase
---@param fn fun(dt: number, world: weft.World)
---@return weft.Subscription
function World:on(phase, fn) end

--- Runs `fn` in the posts stage of the next tick, outside any routine; those of high priority come
--- first. From this Lua state only; C code on other threads has `weft_world_post`. Raises for
--- another priority and if `fn` is no function.
---
---     world:post(function() reloadScripts() end, "high")
---@param fn fun()
---@param priority? "high"|"normal" normal unless given
---@return true? queued
---@return nil|"full" reason over a million posts are waiting
function World:post(fn, priority) end

--- Makes an owner, or a child of one: a part of the game that ends with all that it has started.
--- See types_owner.lua. Raises if the parent is no owner, or one of another world.
---
---     local level = world:owner()
---     local guard = world:owner(level)
---@param parent? weft.Owner
---@return weft.Owner? owner
---@return nil|"destroyed"|"closed"|"capacity" reason the parent is destroyed; the world is closing;
--- there are over 16 million
function World:owner(parent) end

--- Sends a message to an owner: in stage 3 of the next tick the functions that it has for that name
--- by then (`owner:on`) are called with the values, nil included. Messages are told in the order in
--- which they were sent; one that is sent while others are told waits for the next tick. Paused
--- worlds tell them, too. If the owner dies before, nobody hears, and `stats().dropped` counts it.
--- Raises if the name is no string, or for an owner of another world.
---
---     world:send(guard, "noise", where, 40)
---@param owner weft.Owner
---@param name string
---@param ... any what the functions get
---@return true? sent
---@return nil|"destroyed"|"closed"|"full" reason the owner is destroyed; the world is closing; over
--- a million messages wait
function World:send(owner, name, ...) end

--- The same to all owners that hear the name when it is told, in the order in which the owners were
--- made.
---
---     world:broadcast("night falls")
---@param name string
---@param ... any
---@return true? sent
---@return nil|"closed"|"full" reason
function World:broadcast(name, ...) end

--- Has a function called for what services and threads post under a name (`service.post`), in the
--- posts stage of a tick, outside any routine. Those of one name hear it in the order in which they
--- were connected; one that fails is reported, and the others hear it all the same. What nobody
--- hears is counted in `stats().dropped`.
---
---     world:onPost("progress", function(share) bar:set(share) end)
---@param name string
---@param fn fun(...: any)
---@return weft.Subscription
function World:onPost(name, fn) end

--- Says what state the world is in, which services may be gated by (`weft.ServiceOptions`): they
--- refuse what is sent in a state that they do not name. "running" at first; at most 64 names.
---
---     local before = world:setState "saving"
---@param name string 1 to 31 bytes
---@return string before the state that it was in
function World:setState(name) end

--- The state that it is in.
---
---     assert(world:state() == "running")
---@return string
function World:state() end

--- Lets sim time and the routines stand still from the next tick on. Posts, systems, waits of
--- `routine.waitUnscaled` and cancels go on.
---
---     world:pause()
function World:pause() end

--- Ends a pause from the next tick on.
---
---     world:resume()
function World:resume() end

--- Whether `pause` was called last.
---
---     if not world:isPaused() then showClock() end
---@return boolean
function World:isPaused() end

--- From the next tick on, sim time advances by dt times `scale`. At 0 it stands still, and
--- `routine.nextTick` goes on. Raises unless the scale is finite and >= 0.
---
---     world:setTimeScale(0.25)
---@param scale number 1 at first
function World:setTimeScale(scale) end

--- Replaces the options that are named, the others stay; so do clocks, counters, owners and timers.
--- Raises while a routine is alive, inside a tick, and for options out of their range; then nothing
--- has changed.
---
---     world:configure{ capacity = 10000, resumesPerTick = 1024 }
---@param options weft.WorldOptions
function World:configure(options) end

--- Numbers of this world, in a new table.
---
---     print(world:stats().active, "routines alive")
---@return weft.Stats
function World:stats() end

--- Who waits for what: an entry for each live routine, in the order of slots. A walk over all of
--- them, for a person or a debugger, not for each tick.
---
---     for _, entry in ipairs(world:inspect()) do print(entry.id, entry.where, entry.waitingOn) end
---@return weft.Inspection[]
function World:inspect() end

--- Cancels every timer and routine and runs retirement passes until none is left, at most
--- `maxPasses`; no time passes. In the last one shields do not count, and who goes on waiting is
--- ended by force. Raises inside a tick.
---
---     local ok, stuck = world:unload()
---@param maxPasses? integer 8 unless given
---@return boolean done false if somebody is still alive
---@return weft.Inspection[]? stuck who that is
function World:unload(maxPasses) end

--- Destroys every owner, cancels every routine, lets their cleanups run in at most 8 passes, and
--- frees the world. What even then waits under C frames is dropped, and reported. No time passes. A
--- second close does nothing. Raises inside a tick.
---
---     world:close()
function World:close() end

--- What `world:on` gives.
---@class weft.Subscription
local Subscription = {}

--- Ends it, at once: also for the rest of a phase that is under way. Harmless when repeated.
---
---     sub:off()
---@return boolean was whether it was on
function Subscription:off() end

-- --- The module weft.core -------------------------------------------------------------------

--- The C half as `require "weft.core"` gives it. Scripts use `weft` and `weft.routine`.
---@class weft.Core
---@field version string
---@field Cancelled weft.Cancelled
---@field routine weft.RoutineModule
---@field worldMethods weft.World
---@field handleMethods weft.Routine
---@field ownerMethods weft.Owner
---@field halves? table C halves of the waits, for waits.lua, where it is needed
---@field loops table C halves of waitUntil, every and slice, for loops.lua
local core = {}

--- Makes a world. Raises for options out of their range, with the range; and when the system
--- refuses the memory.
---
---     local world = weft.world{ capacity = 10000, resumesPerTick = 1024 }
---@param options? weft.WorldOptions
---@return weft.World
function core.world(options) end

--- The default world, made on first use and anew after it was closed. Module functions act on it
--- when no world is calling.
---
---     weft.default():tick(1 / 60)
---@return weft.World
function core.default() end

--- The calling world, else the default one.
---@return weft.World
function core.here() end

--- Why a tick of the world would be refused now, if it would.
---@param world weft.World
---@return string?
function core.refusal(world) end

--- A `require` that takes a lock for each module while a routine, or a job, loads it.
---@param require fun(name: string): any the one that was there
---@param nextTick fun(): number
---@return fun(name: string): any
function core.locked(require, nextTick) end

--- Seconds of the machine's monotonic clock.
---@return number
function core.clock() end

--- Routines alive in a world, without the walk that `stats` takes.
---
---     while core.active(world) > 0 do world:tick(1 / 60) end
---@param world weft.World
---@return integer
function core.active(world) end

--- Routines alive in all the worlds of this Lua state that are open.
---@return integer
function core.allActive() end

--- Writes to stderr what a world without `onError` would.
---
---     world.onError = function(...) core.report(...) failures = failures + 1 end
---@param handle weft.Routine?
---@param err any
---@param traceback string?
function core.report(handle, err, traceback) end

--- Sleeps until `core.clock()` shows these seconds, or until a descriptor that a routine of the
--- world waits for has something to tell.
---@param seconds number
---@param world? weft.World
---@return boolean early whether it was a descriptor
function core.sleepUntil(seconds, world) end

--- From now on the first Ctrl-C is only counted; the second ends the process.
function core.catchInterrupt() end

--- How many Ctrl-C were counted.
---@return integer
function core.interrupted() end

core.worldMethods = World

return core
