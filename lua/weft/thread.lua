-- SPDX-License-Identifier: MIT
-- thread.lua - `require "weft.thread"`: services without an inbox. See types_service.lua.
require "weft.service"
return require("weft.core").threadModule
