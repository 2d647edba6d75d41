-- SPDX-License-Identifier: MIT
-- init.lua - `require "weft"`: worlds, and the way to the other modules.
local core = require "weft.core"
local routine = require "weft.routine"

return {
  version = core.version,
  world = core.world,
  default = core.default,
  routine = routine,
}
