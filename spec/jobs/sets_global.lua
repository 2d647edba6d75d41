-- SPDX-License-Identifier: MIT
-- sets_global.lua - a module that sets a global when it is loaded, as old ones do.
aGlobalOfAModule = "set by a module" -- luacheck: ignore 111
return true
