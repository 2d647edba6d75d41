-- SPDX-License-Identifier: MIT
-- keeper.lua - a module that jobs leave things in, which stays loaded as modules do.
return {}
