-- SPDX-License-Identifier: MIT
-- types_jobs.lua - for editors: `require "weft.jobs"`, work on other threads. Never loaded by the
-- library.
-- luacheck: ignore 212 241

---@meta weft.jobs

--- Options of `jobs.configure`. An unknown key raises.
---@class weft.JobsOptions
---@field workers? integer threads, 1 to 64; one less than processors unless given, at least 1
---@field background? integer threads for background jobs, 0 to 64; 1 unless given. With 0 the
--- workers run those when nothing else is to be done
---@field capacity? integer jobs that have not ended, 1 to 2^20; 4096 unless given
---@field stackBytes? integer of each fiber, 320 KiB to 1 GiB; 1 MiB, on LuaJIT 4 MiB: half of it is
--- always left for a job that another one runs while it waits
---@field fibers? integer jobs that may wait at once, 1 to 2^16; 256 unless given

---@alias weft.JobPriority "critical"|"normal"|"background"

--- Options of `jobs.schedule`. An unknown key raises.
---@class weft.JobOptions
---@field fn function|string|weft.Kernel as for `jobs.run`; a kernel is called for 0 up to 1
---@field priority? weft.JobPriority normal unless given
---@field barrier? weft.Barrier one is added to it now, and released when the job has ended in any
--- way
---@field name? string for messages

--- Options of `jobs.parallelFor`. An unknown key raises.
---@class weft.RangeOptions
---@field grain? integer the most indices that one call is given, >= 1; unless given, the pool
--- decides
---@field priority? weft.JobPriority normal unless given
---@field args? any[] what each call gets behind `first` and `last`; a field `n` may say how many
---@field name? string for messages

--- What `jobs.stats` gives; zeroes before the first use.
---@class weft.JobStats
---@field workers integer threads, background ones included
---@field activeWorkers integer of these, those that are at work now
---@field pendingJobs integer jobs that have not begun
---@field completedJobs integer since the threads were started, as the two below
---@field failedJobs integer
---@field stolenJobs integer taken out of the queue of another thread
---@field avgJobMs number time at work by ended jobs
---@field utilisation number time at work by time, of all threads: 0 to 1

---@alias weft.JobStatus "queued"|"running"|"suspended"|"completed"|"failed"|"cancelled"

--- A job. It goes on without this object, and may be given to other jobs. `routine.await(job)`
--- waits for it in a routine; `routine.any` and `routine.all` take it, and give its results, or
--- nil and its error.
---@class weft.Job
local Job = {}

--- Whether it has ended. Takes in what has ended meanwhile, so buffers may be touched again then.
---
---     if job:isComplete() then show(job:result()) end
---@return boolean
function Job:isComplete() end

--- Where it stands.
---
---     print(job:status())
---@return weft.JobStatus
function Job:status() end

--- Waits on this thread, which does nothing else meanwhile, but for kernels: without a time limit
--- what has not begun of a kernel that is waited for is run here. Lua functions, ranges too, run on
--- the threads of jobs alone: only these have Lua states for them, in which nothing of this one is
--- seen. In a routine use `routine.await`, in a job `job:await()`. Raises in a finalizer, for a
--- time limit over 0 inside a job, and there for a job that has lent this one buffers: it ends
--- later.
---
---     job:wait(0.5)
---@param timeout? number seconds of real time; 0 only looks
---@return true? ended
---@return nil|"timeout" reason
function Job:wait(timeout) end

--- Its results; the same ones each time. Raises the job's error, `routine.Cancelled` if it was
--- cancelled. A string's error ends with the traceback of the job's thread.
---
---     local path, cost = job:result()
---@return any ... the results; or nil, "pending"
function Job:result() end

--- Ends it, if it has not begun.
---
---     if not job:cancel() then job:wait() end
---@return boolean cancelled whether it had not begun
function Job:cancel() end

--- Inside a job: waits until the other one has ended, and gives its results as `result` does. The
--- job is suspended, and its thread goes on with others. Raises outside of jobs, and for a job that
--- has lent this one buffers. When the Lua state that the jobs belong to ends, this and all other
--- waits inside jobs raise `routine.Cancelled`.
---
---     local left = jobs.run(sort, values, 1, middle)
---     sort(values, middle + 1, #values)
---     left:await()
---@return any ...
function Job:await() end

--- A count that jobs release and anybody waits for to become 0. May be given to jobs.
---@class weft.Barrier
local Barrier = {}

--- Raises above 1048575.
---
---     barrier:add(3)
---@param count? integer 1 unless given
function Barrier:add(count) end

--- Takes one off; at 0 all who wait go on, and what is added later is a new round. Raises if there
--- is nothing to take off.
---
---     barrier:release()
function Barrier:release() end

--- What is left to be released.
---
---     print(barrier:count())
---@return integer
function Barrier:count() end

--- Waits on this thread until the count is 0; as `job:wait`.
---
---     barrier:wait()
---@param timeout? number seconds of real time
---@return true? through
---@return nil|"timeout" reason
function Barrier:wait(timeout) end

--- Waits in a job, which is suspended, or in a routine, which looks once a tick, until the count is
--- 0 or has been since the call.
---
---     barrier:await()
---@return true
function Barrier:await() end

--- A C function of a shared library, which jobs run without any Lua:
--- `void k(size_t first, size_t last, const weft_value *args, size_t nargs)`.
---@class weft.Kernel

--- `require "weft.jobs"`: functions that run on other threads, in Lua states of their own.
---
--- What goes to a job goes as a copy: nil, booleans, numbers and strings as they are; tables with
--- all that is in them, shared and cyclic as they were; Lua functions with copies of the locals
--- that they capture, shared ones shared. By reference go buffers, kernels, jobs and barriers.
--- Functions and tables of the standard library, and of weft, are those of the job's state. All
--- else raises before anything is queued, and says where it was found: threads, C functions,
--- userdata, tables with a metatable. The same holds for results, where it is the job's error. An
--- environment (`_ENV`, `setfenv`) does not go with a function: it finds the globals of its job.
---
--- What was lent to a job and what it has lent to jobs of its own is with those as long as they
--- need it: it does not end before them.
---
--- A failure that nobody has asked for goes to `onError` of the world that has started the job, two
--- ticks after its end was taken in there; that of a job which a job has started to the same, once
--- that one has ended, too.
---
--- A job's globals are its own, and gone after it; modules stay loaded in the state of each
--- thread, and are looked for where `package.path` and `cpath` said at dispatch. A job that asks
--- for what another one of its thread is loading waits for that; a ring raises. There is no world
--- there.
---@class weft.JobsModule
local jobs = {}

--- How many threads and the like. To be called before the first use of jobs; raises later, and for
--- options out of their range.
---
---     jobs.configure{ workers = 3 }
---@param options weft.JobsOptions
function jobs.configure(options) end

--- Queues a job; never runs it here. Raises for what cannot cross, and for a buffer that is on
--- loan.
---
---     local job = jobs.run(function(grid, a, b) return findPath(grid, a, b) end, grid, a, b)
---     local path = routine.await(job)
---@param fn function|string a Lua function, or "module.function"
---@param ... any its arguments
---@return weft.Job? job
---@return nil|"full" reason
function jobs.run(fn, ...) end

--- The same with options.
---
---     jobs.schedule({ fn = writeLog, priority = "background", name = "log" }, lines)
---@param options weft.JobOptions
---@param ... any arguments
---@return weft.Job? job
---@return nil|"full" reason
function jobs.schedule(options, ...) end

--- A job that calls `fn(first, last, ...)` for 1 to `count` in parts, on several threads at once,
--- each index in one part. What `fn` captures and is given is copied once for each thread. After
--- an error no further part begins, and the first one is the job's. A kernel gets its parts as
--- `first` up to `last`, from 0. Raises for a count or a grain out of its range.
---
---     jobs.parallelFor(#heights, function(first, last, h)
---       for i = first, last do h[i] = math.max(h[i], 0) end
---     end, { args = { heights } }):wait()
---@param count integer 0 to 2^53
---@param fn fun(first: integer, last: integer, ...)|string|weft.Kernel
---@param options? weft.RangeOptions
---@return weft.Job? job
---@return nil|"full" reason
function jobs.parallelFor(count, fn, options) end

--- Loads a kernel. Raises if the library or the function is not there. Its arguments are nil,
--- booleans, numbers (whole ones of 5.4 as integers), strings and buffers, as `weft_value` has
--- them.
---
---     local blur = jobs.kernel("./libblur.so", "blur")
---     jobs.parallelFor(height, blur, { args = { image:shared(), out, width } }):wait()
---@param library string as for dlopen
---@param symbol string
---@return weft.Kernel
function jobs.kernel(library, symbol) end

--- Makes a barrier.
---
---     local barrier = jobs.barrier()
---     for i = 1, 4 do jobs.schedule({ fn = load, barrier = barrier }, i) end
---     barrier:wait()
---@param count? integer what is to be released; 0 unless given
---@return weft.Barrier
function jobs.barrier(count) end

--- Inside a job: lets others have a turn. Raises elsewhere.
---
---     jobs.yield()
function jobs.yield() end

--- Waits on this thread until all jobs have ended. Raises inside a job.
---
---     jobs.waitAll()
---@param timeout? number seconds of real time
---@return true? ended
---@return nil|"timeout" reason
function jobs.waitAll(timeout) end

--- Numbers, in a new table.
---
---     print(jobs.stats().pendingJobs, "jobs wait")
---@return weft.JobStats
function jobs.stats() end

return { jobs = jobs, job = Job, barrier = Barrier }
