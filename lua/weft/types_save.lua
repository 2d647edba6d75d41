-- SPDX-License-Identifier: MIT
-- types_save.lua - for editors: `require "weft.save"`, the state of a world in files. Never loaded
-- by the library.
-- luacheck: ignore 212 241

---@meta weft.save

--- What can be saved: booleans, numbers of all kinds, strings of any bytes, tables with what can be
--- saved in keys and values, buffers, columns. A table, buffer or columns that is met in several
--- places, in several sections too, is one when it is read; tables may hold themselves. A table
--- with a metatable is saved if that has a name (`save.metatable`). All else is refused by its
--- path: functions, userdata, coroutines.
---
--- Handles of routines, owners, timers and jobs are userdata: they do not outlive the process. Save
--- what a script needs to go on, such as the step it is at and the time that is left, and start
--- routines and timers anew from that after reading: examples/23-save.lua does.
---
--- Lua 5.4 and LuaJIT read each other's files. LuaJIT saves a number without a fraction, up to
--- 2^53, as an integer, which 5.4 reads as one; an integer of 5.4 beyond 2^53 is int64_t cdata on
--- LuaJIT, with all its bits, and as a key of a table is found there by `pairs` alone. A uint64_t
--- from 2^63 on becomes the integer of 5.4 that has the same bits.
---@class weft.SaveModule
local save = {}

--- Options of `save.write`. An unknown key raises.
---@class weft.SaveOptions
---@field compress? boolean true unless given
---@field priority? weft.JobPriority of the job: background unless given, so that it takes no
--- thread that the game wants

--- What the await of a save gives.
---@class weft.SaveResult
---@field path string as it was given
---@field bytes integer of the file; 0 if it was superseded
---@field rawBytes integer of what is in it
---@field pauseMs number how long `save.write` has held up its caller
---@field totalMs number from the call until all was on the disk
---@field kept boolean the file before is `PATH.kept` now
---@field superseded boolean a save of this path that was asked for later was written before: that
--- one is in the file

--- What `save.read` tells beside the sections.
---@class weft.SaveInfo
---@field file string that was read: the path, or `PATH.kept`
---@field kept boolean it was the latter
---@field why? string why, then: what is wrong with the file at the path
---@field bytes integer of the file
---@field rawBytes integer of what is in it

--- Saves sections, values by name, to a file. They are copied now, as they are in this moment,
--- buffers and columns too; what is changed later is not saved. The rest is a job on threads of the
--- pool: buffers and columns, and all else, are compressed in parts of 1 MiB, the file is written
--- beside the old one, synced, put in its place, and the folder synced. So at each moment the file
--- is there whole, the old or the new one, whatever ends the process. The file before stays as
--- `PATH.kept`, unless it is damaged.
---
--- It need not be awaited: a failure that nobody awaits goes to `world.onError`, and the end of the
--- Lua state waits for what was begun; `os.exit` ends the process without that, unless it is told
--- to close the state. A cancel of who awaits it does not stop it; `job:cancel`
--- does, until it has begun. Of saves to one path that are on their way at once the one that was
--- asked for last stays; saves to different paths do not wait for each other.
---
--- Raises for what cannot be saved, with its path; while a job has one of the buffers for writing;
--- for want of memory for the copy; inside a job. Nothing has happened then. Awaiting raises when
--- the file could not be written: the old one is as it was. A symbolic link at the path is
--- replaced.
---
---     local result = routine.await(save.write("slot1", { world = state, bodies = bodies }))
---     print(result.bytes, "bytes, held up for", result.pauseMs, "ms")
---@param path string
---@param sections table<string, any>
---@param options? weft.SaveOptions
---@return weft.Job? job whose result is a `weft.SaveResult`
---@return nil|"full" reason there are as many jobs as the pool has room for
function save.write(path, sections, options) end

--- Reads a file that `save.write` has written; checks all of it. If it is not there, cannot be read
--- or is damaged anywhere, reads `PATH.kept` instead, and says so. The caller waits, and its thread
--- takes part: it is meant for loading screens. Raises for want of memory, inside a job, and if an
--- object's metatable has no name here (yet).
---
---     local sections, info = save.read "slot1"
---     if not sections then return newGame(info) end
---     if info.kept then warn(info.why) end
---@param path string
---@return table<string, any>? sections
---@return weft.SaveInfo|"missing"|"damaged"|"newer"|"older"|"unreadable" info or, if neither file
--- can be read, what is wrong with the first: `newer` and `older` are versions of the format
---@return string? text then: all of it, in words
function save.read(path) end

--- Gives a metatable a name, by which tables that have it are saved, and get it when they are read.
--- To be called wherever the metatable is made, before reading. A metatable that is given a name
--- that another one had takes its place for reading; tables with either are saved by it.
---
---     local Actor = save.metatable("game.Actor", { __index = methods })
---@param name string not empty
---@param metatable table
---@return table metatable the same
function save.metatable(name, metatable) end

return save
