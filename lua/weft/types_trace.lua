-- SPDX-License-Identifier: MIT
-- types_trace.lua - for editors: what weft/core.so defines of `weft.trace`. Never loaded by the
-- library.
-- luacheck: ignore 212 241

---@meta

--- What ran when, as a file in the Trace Event Format, which chrome://tracing and Perfetto
--- (https://ui.perfetto.dev) open: ticks, their stages, each resume of a routine by its name or
--- where its function is defined, jobs, for each worker of a job pool when it was at work, and how
--- long a save held up its caller.
---
--- There is one trace in a process, of all its worlds and pools; jobs and services may call these
--- functions too. While one runs a resume takes two looks at the clock more, some 50 ns; without a
--- trace nothing is measured. Times are of the real clock, from the start of the trace on.
---
---     weft.trace.start()
---     world:run{ ticks = 600 }
---     weft.trace.stop()
---     assert(weft.trace.write "trace.json")
---@class weft.TraceModule
local trace = {}

--- Begins a trace, and forgets the one before. It keeps the first `spans` spans, 1 to 16,777,216,
--- 262,144 unless told otherwise, 64 bytes each; those that come later are counted only. A world
--- takes part from its next tick on. Raises when there is no memory.
---@param spans? integer
---@return true? ok nil while a trace runs
---@return "running"? reason
function trace.start(spans) end

--- Ends it; what was recorded stays until the next start. Harmless when none runs.
---@return integer kept how many spans there are
---@return integer dropped how many found no room
function trace.stop() end

--- Whether a trace runs.
---@return boolean
function trace.isOn() end

--- Writes what was recorded so far, over a file that is there; the trace may go on. The file of no
--- trace at all has no events.
---@param path string
---@return true? ok
---@return string? reason such as "trace.json: No such file or directory"
function trace.write(path) end
