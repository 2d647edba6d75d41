-- SPDX-License-Identifier: MIT
-- init.lua - `require "weft"`: worlds, and the way to the other modules.
local core = require "weft.core"
local routine = require "weft.routine"
local run = require "weft.run"

core.worldMethods.run = run.run

return {
  version = core.version,
  world = core.world,
  default = core.default,
  routine = routine,
}
