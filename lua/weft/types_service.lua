-- SPDX-License-Identifier: MIT
-- types_service.lua - for editors: services and threads. Never loaded by the library.
-- luacheck: ignore 212 241

---@meta weft.service

--- Options of `weft.service`. An unknown key raises.
---@class weft.ServiceOptions
---@field main function|string a Lua function; or the name of a module that returns a function, or
--- a table with a function `main`, or serves while it is loaded. It runs on the service's thread,
--- in a Lua state of its own; the service is over when it returns
---@field args? any[] what `main` is called with, unless a module serves while it is loaded; a field
--- `n` may say how many
---@field inbox? integer letters that may wait, 1 to 65536; 64 unless given
---@field name? string for messages; 15 bytes of it are the thread's for debuggers
---@field gate? string[] states of the world (`world:setState`) in which letters are taken; in
--- others they are refused, and what is in the inbox goes on
---@field drain? number seconds of real time, >= 0: how long a stop lets it receive what was sent
--- before; 5 unless given

--- What `service:stats` gives.
---@class weft.ServiceStats
---@field queued integer letters in the inbox
---@field open integer calls that were received and not answered
---@field received integer letters, since the start, as the two below
---@field refused integer letters: the inbox was full or closed, or the gate shut
---@field sleeps integer how often its thread went to sleep for want of a letter

---@alias weft.ServiceStatus "running"|"stopping"|"ended"|"failed"

--- A service. It goes on without this object until it is stopped or its world is closed, and may be
--- sent to jobs and other services.
---@class weft.Service
local Service = {}

--- Sends a letter that nobody waits for; never runs anything of the service here, never waits. What
--- cannot cross raises (see `weft.JobsModule`), with its path. Buffers go for good: nothing of them
--- may be touched here any more.
---
---     if not service:tryPost("save", slot, data) then warn "the disk is behind" end
---@param ... any
---@return boolean sent
---@return nil|"full"|"closed"|"gated" reason
function Service:tryPost(...) end

--- Sends a letter and gives what waits for its answer. The world that calls, outside of all worlds
--- the service's own, tells of it in stage 2 of a tick.
---
---     local ok = routine.await(service:call("check", name, password), 2)
---@param ... any
---@return weft.Call? call
---@return nil|"full"|"closed"|"gated" reason
function Service:call(...) end

--- Closes its inbox: what waits there may still be received for the time given, then it is dropped
--- and its calls fail. Then `service.receive` gives nil, "stopped". Asked again, the shorter time
--- counts. Does not wait.
---
---     service:stop()
---@param seconds? number of real time; the option `drain` unless given
function Service:stop(seconds) end

--- Waits until it has ended; does not stop it. In a routine that is a wait, in sim time, that looks
--- once a tick; elsewhere this thread does nothing else meanwhile, and the time is real. Who is
--- given the error of one that has failed is the one who knows: it is not reported then.
---
---     service:stop()
---     local ended, why, left = service:join(1)
---@param timeout? number seconds
---@return boolean? ended true; false if it has failed; nil if it still runs
---@return any error or "timeout"
---@return string? left what has not ended
function Service:join(timeout) end

--- Where it stands.
---
---     print(service:status())
---@return weft.ServiceStatus
function Service:status() end

--- Numbers, in a new table.
---
---     print(service:stats().queued, "letters wait")
---@return weft.ServiceStats
function Service:stats() end

--- A thread: a service without an inbox.
---@class weft.Thread
local Thread = {}

--- As `service:stop`.
---
---     thread:stop()
---@param seconds? number
function Thread:stop(seconds) end

--- As `service:join`.
---
---     thread:join()
---@param timeout? number seconds
---@return boolean? ended
---@return any error or "timeout"
---@return string? left
function Thread:join(timeout) end

--- As `service:status`.
---
---     print(thread:status())
---@return weft.ServiceStatus
function Thread:status() end

--- As `service:stats`.
---
---     print(thread:stats().sleeps)
---@return weft.ServiceStats
function Thread:stats() end

--- The answer of a service. `routine.await(call)` waits for it in a routine; `routine.any` and
--- `routine.all` take it as they take a job. One that its service never answers fails: when the
--- next letter is received, or with the error of the service when that dies.
---@class weft.Call
local Call = {}

--- Whether it has ended.
---
---     if call:isComplete() then show(call:result()) end
---@return boolean
function Call:isComplete() end

--- Where it stands.
---
---     print(call:status())
---@return "running"|"completed"|"failed"|"cancelled"
function Call:status() end

--- The answer; the same values each time. Raises the error of a call that has failed,
--- `routine.Cancelled` if it was taken back.
---
---     local rows = call:result()
---@return any ... the answer; or nil, "pending"
function Call:result() end

--- Waits on this thread, which does nothing else meanwhile. In a routine use `routine.await`.
---
---     call:wait(0.5)
---@param timeout? number seconds of real time
---@return true? ended
---@return nil|"timeout" reason
function Call:wait(timeout) end

--- Takes it back, if the service has not received it.
---
---     call:cancel()
---@return boolean cancelled
function Call:cancel() end

--- `require "weft.service"`: threads of their own that are sent letters, park in the kernel while
--- there are none, and answer calls. Called like a function it starts one; the rest is for use
--- inside a service, and raises elsewhere.
---
---     local service = weft.service{ name = "upper", main = function()
---       local service = require "weft.service"
---       for text in service.receive do service.reply(text:upper()) end
---     end }
---     routine.start(function() print(routine.await(service:call "hello")) end)
---
--- What crosses does so as with jobs, by copy; there is no world inside, but jobs may be used, on
--- threads of the service's own.
---@class weft.ServiceModule
---@overload fun(options: weft.ServiceOptions): weft.Service
local service = {}

--- Starts a service of the world that calls; `weft.service{...}` is the same. Raises if there is no
--- memory or no thread, in a job, and in a service.
---
---     local service = weft.service{ main = "game.accounts", inbox = 16 }
---@param options weft.ServiceOptions
---@return weft.Service
function service.start(options) end

--- The oldest letter; sleeps until there is one. Ends a `for` loop when the service is told to
--- stop, if letters begin with something that is not nil.
---
---     for what, name in service.receive do
---@param timeout? number seconds of real time
---@return any ... what was sent; or nil and "timeout" or "stopped"
function service.receive(timeout) end

--- Answers the call that was received last. Raises for what cannot cross, for a second answer, and
--- before the first letter.
---
---     service.reply(true, rows)
---@param ... any
---@return boolean asked false if it was a post, which nobody waits for
function service.reply(...) end

--- Posts to the world: in stage 2 of a tick, within its budget of posts, what `world:onPost` has
--- connected is called. At most 1024 of a service are under way.
---
---     service.post("progress", done / all)
---@param name string
---@param ... any
---@return boolean posted
---@return nil|"full"|"closed" reason
function service.post(name, ...) end

--- Sleeps until the service is told to stop.
---
---     while not service.wait(60) do writeStatistics() end
---@param timeout? number seconds of real time
---@return true? stopped
---@return nil|"timeout" reason
function service.wait(timeout) end

--- Whether it was told to stop: for long work to look at now and then.
---
---     if service.stopping() then return end
---@return boolean
function service.stopping() end

--- `require "weft.thread"`: services without an inbox. Called like a function it starts one.
---@class weft.ThreadModule
---@overload fun(fn: function, ...: any): weft.Thread
local thread = {}

--- Runs a function on a thread of its own; `weft.thread(fn, ...)` is the same.
---
---     local watcher = weft.thread(function(path)
---       local thread = require "weft.thread"
---       while not thread.wait(1) do thread.post("size", sizeOf(path)) end
---     end, "game.log")
---@param fn function
---@param ... any its arguments
---@return weft.Thread
function thread.start(fn, ...) end

--- As `service.post`.
---
---     thread.post("size", 5)
---@param name string
---@param ... any
---@return boolean posted
---@return nil|"full"|"closed" reason
function thread.post(name, ...) end

--- As `service.wait`.
---
---     thread.wait()
---@param timeout? number
---@return true? stopped
---@return nil|"timeout" reason
function thread.wait(timeout) end

--- As `service.stopping`.
---
---     while not thread.stopping() do step() end
---@return boolean
function thread.stopping() end

return { service = Service, thread = Thread, call = Call, services = service, threads = thread }
