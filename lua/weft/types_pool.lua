-- SPDX-License-Identifier: MIT
-- types_pool.lua - for editors: pools of tables and buffers. Never loaded by the library.
-- luacheck: ignore 212 241

---@meta weft.pool

--- `require "weft.pool"`: tables and buffers that are rented and given back, so that a game that
--- has run for a while gives the collector nothing to do.
---
--- `debug` is what pools take that are made without an option of that name. In debug a table or a
--- buffer is rented once and no more: touching it after it was given back raises and says where
--- that was, and so does giving it back twice. The collector has its work then. Of a table the raw
--- functions are not caught (`rawget`, `next`), on LuaJIT neither `#`, `pairs` and `table.insert`.
---@class weft.PoolModule
---@field debug boolean false unless set
local pool = {}

---@class weft.TablePoolOptions
---@field keep? integer how many wait to be rented at most, 1024 unless given; the rest is garbage
---@field ready? integer how many are made at once, 0 unless given; in debug none
---@field new? fun(): table makes a table; an empty one without it
---@field reset? fun(t: table) called for one that is given back, instead of emptying it
---@field debug? boolean `pool.debug` unless given

---@class weft.BufferPoolOptions
---@field keepBytes? integer bytes of those that wait to be rented at most, 64 MiB unless given:
--- sizes that nobody has rented for the longest time make room
---@field clear? boolean whether elements are 0 when it is rented; true unless given
---@field debug? boolean `pool.debug` unless given

---@class weft.PoolStats
---@field rented integer not given back so far
---@field kept integer wait to be rented
---@field made integer ever
---@field dropped integer not kept: left to the collector

---@class weft.BufferPoolStats: weft.PoolStats
---@field keptBytes integer of the elements of those that wait

--- Tables that are rented. `weft.pool.tables` makes them.
---
--- One that is never given back is garbage when nobody has it, as any other; only `rented` is one
--- too high then. Without debug a pool does not look for what was given back before: such a table
--- may be rented by two at once. It raises if it was the last one given back, or if nothing is
--- rented. A debug hook that waits must not do so inside of these functions.
---@class weft.TablePool
local TablePool = {}

--- Rents a table: empty and without a metatable, or as `new` made it and `reset` left it. With an
--- owner it is given back by itself once the owner is destroyed and all that it owned has ended.
---
---     local hit = hits:rent()
---     hit.x, hit.y, hit.damage = x, y, 5
---@param owner? weft.Owner
---@return table? t
---@return nil|"destroyed" reason
function TablePool:rent(owner) end

--- Gives a table back: it is emptied, and its metatable goes. Keep nothing that leads to it. Raises
--- for what is no table, and if it was given back before, as far as that is known. An error of
--- `reset` is raised, and the table is still rented then.
---
---     hits:giveBack(hit)
---@param t table
function TablePool:giveBack(t) end

--- Leaves those that wait to the collector, as at the end of a level.
---
---     hits:trim()
function TablePool:trim() end

--- Numbers, in a new table.
---
---     print(hits:stats().rented, "hits under way")
---@return weft.PoolStats
function TablePool:stats() end

--- Makes a pool of tables. Raises for an option that is unknown or out of its range.
---
---     local hits = weft.pool.tables{ keep = 200 }
---@param options? weft.TablePoolOptions
---@return weft.TablePool
function pool.tables(options) end

--- Buffers that are rented, by type and count. `weft.pool.buffers` makes them.
---
--- In debug or not: touching a buffer that is not rented raises `buffer is given back to its pool`,
--- through slices of it, too. Only a pointer that was kept from `ptr` goes unseen.
---@class weft.BufferPool
local BufferPool = {}

--- Rents a buffer, zeroed unless the pool was told not to. With an owner it is given back by itself
--- once the owner is destroyed and all that it owned has ended; if a job has it then, it ends with
--- the job. Raises as `weft.buffer` does.
---
---     local costs = scratch:rent("f32", width * height)
---@param type weft.ElementType
---@param count integer
---@param owner? weft.Owner
---@return weft.Buffer? buffer
---@return nil|"destroyed" reason
function BufferPool:rent(type, count, owner) end

--- Gives a buffer back: the one that was rented, not a slice. Raises for one that is not rented
--- here, and while any of it is on loan to a job.
---
---     scratch:giveBack(costs)
---@param buffer weft.Buffer
function BufferPool:giveBack(buffer) end

--- Leaves those that wait to the collector.
---
---     scratch:trim()
function BufferPool:trim() end

--- Numbers, in a new table.
---
---     print(scratch:stats().keptBytes / 2 ^ 20, "MiB wait")
---@return weft.BufferPoolStats
function BufferPool:stats() end

--- Makes a pool of buffers. Raises for an option that is unknown or out of its range.
---
---     local scratch = weft.pool.buffers{ keepBytes = 2 ^ 24 }
---@param options? weft.BufferPoolOptions
---@return weft.BufferPool
function pool.buffers(options) end

return { pool = pool, tables = TablePool, buffers = BufferPool }
