-- SPDX-License-Identifier: MIT
-- numbers.lua - a module whose functions jobs are told by name.
return { add = function(a, b) return a + b end }
