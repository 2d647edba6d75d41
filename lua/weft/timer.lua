-- SPDX-License-Identifier: MIT
-- timer.lua - `require "weft.timer"`: functions that are called later; see types_timer.lua.
return require "weft.core".timer
