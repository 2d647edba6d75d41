-- SPDX-License-Identifier: MIT
-- save.lua - `require "weft.save"`: files that are written whole or not at all. See types_save.lua
-- for what is in C.
local core = require "weft.core"
local columns = require "weft.columns"
require "weft.buffers"

local saves = core.saves
local write = saves.write

saves.registerColumns(columns.meta, columns.parts, columns.assemble)

local save = { read = saves.read, metatable = saves.metatable }

-- A save is a job, and `routine.await` comes with those.
function save.write(path, sections, options)
  require "weft.jobs"
  return write(path, sections, options)
end

return save
